"""Draw held-out rows: each class in proportion, and rows that belong together on one side.

Rows belong together if they are in one group or, without groups, if they are equal (:func:`keys_of`). Where
algorithms are compared, equal rows that are :func:`are_independent` observations are held out one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.rng import Purpose, stream
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Block

Keys = NDArray[np.uint64]

#: numbers hashed at a time, and the memory for them
_NUMBERS_AT_ONCE = 2**17
STIRRED_BYTES = 8 * 2**20
#: up to this many rows in memory, equal ones are merged
MERGED_ROWS = 1024
#: see :func:`are_independent`
_LEAST_EQUAL = 0.1
_LEAST_DIFFERENCE, _LEAST_DIFFERENCE_OF_CODES = 0.5, 0.1


def keys_of(block: Block) -> Keys:
    """Return keys (n_rows,), equal for rows that belong together: of groups, or else :func:`row_keys`."""
    return row_keys(block.features) if block.group_keys is None else block.group_keys


def are_independent(keys: Keys, targets: NDArray[Any] | None, weights: NDArray[Any] | None) -> bool:
    """Return whether equal rows are independent observations, so that a new row may equal a training row.

    They are if D >= D0 / 2, or D >= D0 / 10 for class codes. D is the share of pairs with different targets,
    mean_g [1 - sum_t n_gt (n_gt - 1) / (n_g (n_g - 1))] over the sets g of n_g >= 2 equal rows, of which n_gt
    have the target t, and D0 = 1 - sum_t (n_t / n)^2 that of random pairs. Copies have D = 0, and classes
    with little noise nearly. Never independent are rows that may stand for several: rows with different
    weights, and up to 1,024 rows, which are merged. Nor are equal rows if less than a tenth of the rows
    repeat others, which hardly changes a score.

    Parameters
    ----------
    keys, targets, weights : (n_rows,) as :func:`row_keys` and :class:`~distkern.core.types.Block` have them
    """
    if targets is None or len(keys) <= MERGED_ROWS or (weights is not None and np.ptp(weights) > 0):
        return False
    _, of_row, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    _, codes, counts = np.unique(targets, return_inverse=True, return_counts=True)
    if len(sizes) > (1 - _LEAST_EQUAL) * len(keys) or len(counts) == 1:
        return False
    pairs, alike = np.unique(of_row * len(counts) + codes, return_counts=True)
    same = np.bincount(pairs // len(counts), weights=alike * (alike - 1.0), minlength=len(sizes))
    several = sizes > 1
    differ = 1 - (same / np.maximum(sizes * (sizes - 1.0), 1))[several].mean()
    least = _LEAST_DIFFERENCE if targets.dtype.kind == "f" else _LEAST_DIFFERENCE_OF_CODES
    return bool(differ > least * (1 - np.square(counts / len(keys)).sum()))


def places_of(index: int, positions: NDArray[np.intp]) -> Keys:
    """Return a key for each of some rows of a block by its position, which no other row has."""
    return _mixed(positions.astype(np.uint64) + np.uint64(index) * np.uint64(2**32))


def row_keys(rows: Rows) -> Keys:
    """Return a key (n_rows,) per row: equal for equal rows, different for others except with probability
    2^-64.

    The key is sum_j hash(x_j) factor_j modulo 2^64, with an odd factor for each column. Zeros add nothing and
    values are taken in float64, so the key depends neither on sparsity nor on precision.
    """
    n_rows, n_columns = rows.shape
    if isinstance(rows, SparseRows):
        n_numbers, factors = rows.data.size, _factors(np.arange(0))
    else:
        n_numbers, factors = rows.size, _factors(np.arange(n_columns))
    found, step = np.empty(n_rows, dtype=np.uint64), max(1, _NUMBERS_AT_ONCE * n_rows // max(n_numbers, 1))
    for start in range(0, n_rows, step):
        piece = rows[start : start + step]
        if isinstance(piece, SparseRows):
            ends = np.cumsum(stirred_bits(piece.data) * _factors(piece.indices), dtype=np.uint64)
            sums = np.concatenate([np.zeros(1, dtype=np.uint64), ends])[piece.indptr]
            found[start : start + step] = sums[1:] - sums[:-1]
        else:
            found[start : start + step] = stirred_bits(piece) @ factors
    return _mixed(found)


@dataclass(frozen=True, slots=True)
class Sides:
    """Assigns each row to a side by its key (:func:`keys_of`), so that rows that belong together share a
    side.

    A row has a place in [0, 1), drawn from the seed and its key; side s has the places from ``cuts[s - 1]``
    to ``cuts[s]``. Each class has its share on each side up to chance: for n rows and a share p the standard
    deviation is sqrt(n p (1 - p)). For a few keys the places are stored instead (:meth:`of_few`).

    Attributes
    ----------
    cuts : increasing, in (0, 1); one fewer than the sides
    seed : seed of the draws
    keys, places : stored places: ascending keys, and the place of each
    """

    cuts: tuple[float, ...]
    seed: int
    keys: Keys | None = field(default=None, repr=False, compare=False)
    places: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of_few(
        cls,
        cuts: tuple[float, ...],
        seed: int,
        keys: Keys,
        codes: NDArray[Any] | None,
        counts: NDArray[np.int64] | None = None,
    ) -> Sides:
        """Return sides with each class in its share to within about one group: places are ranks in a
        stratified order.

        A group counts in the class of its first row and lies where its middle lies.

        Parameters
        ----------
        keys, codes : (n_rows,) of all rows; codes are None without classes
        counts : rows of each key, if keys are distinct; None: one each
        """
        if counts is None:
            _, first, sizes = np.unique(keys, return_index=True, return_counts=True)
            by_row = np.argsort(first)
            first, counts = first[by_row], sizes[by_row].astype(np.int64)
            keys, codes = keys[first], None if codes is None else codes[first]
        order = stratified_order(codes, len(keys), seed)
        middles = np.cumsum(counts[order]) - counts[order] / 2
        by_key = np.argsort(keys[order])
        return cls(cuts, seed, keys[order][by_key], middles[by_key] / counts.sum())

    @property
    def n_sides(self) -> int:
        return len(self.cuts) + 1

    def places_of(self, keys: Keys) -> NDArray[np.float64]:
        """Return the place (n_rows,) of each row in [0, 1)."""
        if self.keys is None or self.places is None:
            salt = stream(self.seed, Purpose.VALIDATION).integers(0, 2**64, dtype=np.uint64)
            return np.asarray((_mixed(keys ^ salt) >> np.uint64(11)) * 2.0**-53)
        return self.places[np.searchsorted(self.keys, keys)]

    def of(self, keys: Keys) -> NDArray[np.intp]:
        """Return the side (n_rows,) of each row."""
        return np.searchsorted(self.cuts, self.places_of(keys), side="right")


def groups_of(keys: Keys) -> NDArray[np.intp]:
    """Return the group (n_rows,) of each row by its key, numbered by first appearance."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    numbers = np.empty(len(first), dtype=np.intp)
    numbers[np.argsort(first)] = np.arange(len(first))
    return numbers[inverse]


def stratified_order(
    codes: NDArray[Any] | None, n_rows: int, seed: int, groups: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Return a random order of rows in which every run of rows has about the overall share of each class.

    Parameters
    ----------
    codes : (n_rows,) class codes; None: any random order
    groups : (n_rows,) as :func:`groups_of` numbers them; rows of a group stay adjacent and count in the class
        of its first row
    """
    if groups is not None and len(groups) and groups.max() + 1 < n_rows:
        first = np.unique(groups, return_index=True)[1]
        order = stratified_order(None if codes is None else codes[first], len(first), seed)
        place = np.empty(len(first), dtype=np.intp)
        place[order] = np.arange(len(first))
        return np.argsort(place[groups], kind="stable")
    generator = stream(seed, Purpose.VALIDATION)
    order = generator.permutation(n_rows)
    if codes is None:
        return order
    keys = np.empty(n_rows)
    for code in np.unique(codes):
        mine = order[codes[order] == code]
        keys[mine] = (np.arange(len(mine)) + generator.random()) / len(mine)
    return np.argsort(keys, kind="stable")


def order_of_keys(keys: Keys, codes: NDArray[Any] | None, seed: int) -> NDArray[np.intp]:
    """Return a :func:`stratified_order` with rows of one key adjacent that depends only on the set of keys:
    neither on the order of the rows nor on their multiplicity.
    """
    by_key = np.argsort(keys, kind="stable")
    own = None if codes is None else codes[by_key]
    return by_key[stratified_order(own, len(keys), seed, groups_of(keys[by_key]))]


def parted(
    keys: Keys, codes: NDArray[Any] | None, seed: int, n_learned: int, n_held_out: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return ascending positions of at most ``n_learned`` training rows and at most ``n_held_out`` held-out
    rows.

    They are the first and the last rows of a :func:`stratified_order`. No held-out row shares a key with a
    training row: if the border would split a key, the rest of the key is in neither part; if nothing would
    then be held out, the whole key is. If all rows have one key, none is held out.
    """
    groups = groups_of(keys)
    order = stratified_order(codes, len(groups), seed, groups)
    n_rows, first = len(keys), n_learned
    if 0 < n_learned < n_rows:
        own = np.flatnonzero(keys[order] == keys[order[n_learned - 1]])
        first = int(own[-1]) + 1
        if first == n_rows and own[0] > 0:
            first = n_learned = int(own[0])
    return np.sort(order[:n_learned]), np.sort(order[max(first, n_rows - n_held_out) :])


def stirred_bits(values: NDArray[Any]) -> Keys:
    """Return a 64-bit hash of each number, in the shape of ``values``; equal numbers have equal hashes."""
    # adding 0.0 turns -0.0 into 0.0
    exact = np.ascontiguousarray(values.astype(np.float64) + 0.0)
    # small integers differ only in the high bits, few of which a product modulo 2^64 would keep
    return _mixed(exact.view(np.uint64))


def _factors(columns: NDArray[np.integer[Any]]) -> Keys:
    return _mixed(columns.astype(np.uint64) + np.uint64(1)) | np.uint64(1)


def _mixed(sums: Keys) -> Keys:
    """Apply the finaliser of SplitMix64 to 64-bit numbers."""
    found = sums
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
    return found ^ (found >> np.uint64(31))
