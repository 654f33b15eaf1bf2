"""Which rows are held out for choosing: each class in its share, and rows that belong together on one side.

These are rows of one group, or equal rows where there are no groups: :func:`keys_of` says which, for all.
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

#: whose bits are stirred at a time
_NUMBERS_AT_ONCE = 2**17
#: what that takes
STIRRED_BYTES = 8 * 2**20


def keys_of(block: Block) -> Keys:
    """The number (n_rows,) that rows have in common if they belong together: the key of their group, or else
    that of what is in them."""
    return row_keys(block.features) if block.group_keys is None else block.group_keys


def row_keys(rows: Rows) -> Keys:
    """A number (n_rows,) for each row: the same for equal rows, and for others but by a chance of 2^-64.

    It is the sum over the columns of the stirred bits of the float64 value times an odd factor that is the
    column's, modulo 2^64. A zero adds nothing, so a row has the same key dense or sparse, in float32 or in
    float64.
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
    """On which of some sides each row lies: by its key alone (:func:`keys_of`), so that rows that belong
    together lie on one.

    A row has a place in [0, 1), and side s has the places from ``cuts[s - 1]`` to ``cuts[s]``. The place is
    drawn by the seed and the row's key. So each class has its share on each side but for chance: of n rows
    and a share p the standard deviation is sqrt(n p (1 - p)). For a few keys the place is looked up
    (:meth:`of_few`).

    Attributes
    ----------
    cuts : increasing, in (0, 1); one less than there are sides
    seed : of the draws
    keys, places : where it is looked up: keys in ascending order, and the place of each
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
        """Sides that have each class in its share, to about a group: places are ranks in a stratified order.

        Rows of one key count in the class of the first one, and lie where their middle lies.

        Parameters
        ----------
        keys, codes : (n_rows,) of all rows; without classes None
        counts : how many rows each key stands for, where keys are distinct; None: one
        """
        if counts is None:
            first, counts = _firsts(keys)
            keys, codes = keys[first], None if codes is None else codes[first]
        order = stratified_order(codes, len(keys), seed)
        middles = np.cumsum(counts[order]) - counts[order] / 2
        by_key = np.argsort(keys[order])
        return cls(cuts, seed, keys[order][by_key], middles[by_key] / counts.sum())

    @property
    def n_sides(self) -> int:
        return len(self.cuts) + 1

    def of(self, keys: Keys) -> NDArray[np.intp]:
        """The side (n_rows,) of each row."""
        if self.keys is None or self.places is None:
            salt = stream(self.seed, Purpose.VALIDATION).integers(0, 2**64, dtype=np.uint64)
            places = (_mixed(keys ^ salt) >> np.uint64(11)) * 2.0**-53
        else:
            places = self.places[np.searchsorted(self.keys, keys)]
        return np.searchsorted(self.cuts, places, side="right")


def groups_of(keys: Keys) -> NDArray[np.intp]:
    """The group (n_rows,) of each row: those of one key, numbered in the order of their first rows."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    numbers = np.empty(len(first), dtype=np.intp)
    numbers[np.argsort(first)] = np.arange(len(first))
    return numbers[inverse]


def _firsts(keys: Keys) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The first position of each key, ascending, and how many rows have it."""
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order], counts[order].astype(np.int64)


def stratified_order(
    codes: NDArray[Any] | None, n_rows: int, seed: int, groups: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """A random order of rows in which every run of rows holds each class in about its share.

    Parameters
    ----------
    codes : (n_rows,) class codes; None: any random order
    groups : (n_rows,) of :func:`groups_of`, whose rows then follow each other, in the first one's class
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
    """A :func:`stratified_order` of rows in which those of one key follow each other, and which is one of
    keys: it does not depend on the order of the rows before, nor on how often each is there.
    """
    by_key = np.argsort(keys, kind="stable")
    own = None if codes is None else codes[by_key]
    return by_key[stratified_order(own, len(keys), seed, groups_of(keys[by_key]))]


def parted(
    keys: Keys, codes: NDArray[Any] | None, seed: int, n_learned: int, n_held_out: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to learn from and others that are held out, each ascending; see :func:`parts_in_order`."""
    groups = groups_of(keys)
    order = stratified_order(codes, len(groups), seed, groups)
    learned, held_out = parts_in_order(keys[order], n_learned, n_held_out)
    return np.sort(order[learned]), np.sort(order[held_out])


def parts_in_order(keys: Keys, n_learned: int, n_held_out: int) -> tuple[slice, slice]:
    """The first rows to learn from, and the last ones that are held out, no more than so many.

    No row that is held out has the key of one that is learned from: where the border between the two would
    cut rows of one key apart, those behind it are in neither part, or, if none were left, all of that key are
    held out. None are if all rows have one key.

    Parameters
    ----------
    keys : (n_rows,), those of one key one after the other
    """
    n_rows, first = len(keys), n_learned
    if 0 < n_learned < n_rows:
        own = np.flatnonzero(keys == keys[n_learned - 1])
        first = int(own[-1]) + 1
        if first == n_rows and own[0] > 0:
            first = n_learned = int(own[0])
    return slice(n_learned), slice(max(first, n_rows - n_held_out), n_rows)


def stirred_bits(values: NDArray[Any]) -> Keys:
    """The bits of numbers, of their shape, mixed: equal numbers have the same, those of others look drawn."""
    # a negative zero is a zero
    exact = np.ascontiguousarray(values.astype(np.float64) + 0.0)
    # small whole numbers differ in their first bits alone, of which a product modulo 2^64 would keep few
    return _mixed(exact.view(np.uint64))


def _factors(columns: NDArray[np.integer[Any]]) -> Keys:
    return _mixed(columns.astype(np.uint64) + np.uint64(1)) | np.uint64(1)


def _mixed(sums: Keys) -> Keys:
    """Mix the bits of 64-bit numbers (the finaliser of SplitMix64), so that all of them look drawn."""
    found = sums
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
    return found ^ (found >> np.uint64(31))
