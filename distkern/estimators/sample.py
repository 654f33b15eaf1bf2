"""A bounded sample of the rows of a source, divided into training rows and held-out rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.choices import Compared
from distkern.core.held_out import Keys, Sides, are_independent, keys_of, places_of
from distkern.core.rng import Purpose, stream
from distkern.core.scores import by_group, log_losses, row_log_losses
from distkern.core.sparse import SparseRows
from distkern.core.types import AbstractSource, Array, Block, Floats
from distkern.engine.executors import open_executor
from distkern.maths.maps.mapping import RowMap
from distkern.runs.spooled import whole_blocks

#: most rows, bytes and blocks of a sample; fewest rows that allow a choice
MOST_ROWS, _MOST_BYTES, _MOST_BLOCKS, LEAST_ROWS = 10_000, 32 * 2**20, 16, 60
#: number of folds; folds are held out in turn until there are this many held-out rows
_FOLDS, _ENOUGH_HELD_OUT = 5, 2000
#: indices of the random streams of the sample and its anchors
_TRIAL, _ANCHORS = 16, 17
#: rows near all anchors together; fewest and most anchors
_ALL_NEAR, _LEAST_ANCHORS, _MOST_ANCHORS = 24_000, 3, 12
#: share of these rows that is held out; most rows read to find them, and rows read at a time
_HELD_OUT_NEAR, _MOST_READ, _STRIP = 0.15, 10**7, 4096


@dataclass(frozen=True)
class FoldedSample:
    """Sampled rows in the order of the source, with the fold of each.

    Attributes
    ----------
    rows : with class codes or real targets
    keys : (n_rows,) keys of the rows, of which one is in one fold
    folds : (n_rows,)
    classes : labels of the codes; None for real targets
    apart : whether equal rows are independent observations; then each row has a key of its own, by its place
    """

    rows: Block
    keys: Keys
    folds: NDArray[np.intp]
    classes: NDArray[Any] | None
    apart: bool

    @classmethod
    def of(
        cls,
        source: AbstractSource,
        classes: NDArray[Any] | None,
        seed: int,
        shares: Array | None = None,
        *,
        together: bool = False,
        n_rows: int | None = None,
    ) -> FoldedSample:
        """Draw rows by the seed from blocks spread evenly over the source.

        Rare classes are oversampled until half of the sample is divided equally among the classes. Their rows
        weigh less in return, so that weighted sums estimate the sums over an even sample.

        Parameters
        ----------
        shares : (n_classes,) share of each class in the rows; None for real targets
        together : equal rows share a fold in any case
        n_rows : most rows; None: see :func:`most_rows`
        """
        chosen = sorted({source.n_blocks * place // _MOST_BLOCKS for place in range(_MOST_BLOCKS)})
        n_available = sum(source.block_rows[index] for index in chosen)
        most = most_rows(source) if n_rows is None else n_rows
        rates = drawn_shares(min(1.0, most / n_available), shares, n_available)
        parts, places = [], []
        for index in chosen:
            block = _block(source, index)
            drawn = _drawn(block, rates, stream(seed, Purpose.SAMPLE, _TRIAL, index))
            parts.append(block.take(drawn))
            places.append(places_of(index, drawn))
        rows = Block.joined(parts)
        keys = keys_of(rows)
        apart = not (together or source.has_groups) and are_independent(keys, rows.targets, rows.weights)
        keys = np.concatenate(places) if apart else keys
        if np.ptp(rates) > 1e-12 * rates.max():
            weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
            rows = replace(rows, weights=weights * (rates.max() / rates[np.asarray(rows.targets)]))
        codes = None if classes is None else rows.targets
        cuts = tuple(number / _FOLDS for number in range(1, _FOLDS))
        return cls(rows, keys, Sides.of_few(cuts, seed, keys, codes).of(keys), classes, apart)

    @property
    def n_train(self) -> int:
        """Number of training rows of the first pair."""
        return int((self.folds != 0).sum())

    @property
    def variance(self) -> float:
        """The variance of real targets, which is the unit of their losses; 1 for classes."""
        is_real = self.classes is None
        return float(np.var(np.asarray(self.rows.targets, np.float64))) or 1.0 if is_real else 1.0

    def constant(self, class_totals: NDArray[np.float64]) -> Compared:
        """Return the best constant prediction with its loss; ``class_totals`` are the weights of classes."""
        if self.classes is None:
            return Compared("the mean", self.variance)
        shares = class_totals[class_totals > 0] / class_totals.sum()
        return Compared("the class shares", float(-(shares * np.log(shares)).sum()))

    @property
    def tells(self) -> bool:
        """Whether the sample has enough rows to choose by, with varying targets in every part."""
        if self.n_train < LEAST_ROWS:
            return False
        targets = np.asarray(self.rows.targets)
        sides = [side for pair in self.parts() for side in pair]
        return all(len(side) and np.ptp(targets[side]) > 0 for side in sides)

    def parts(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the numbers of training rows and of a held-out fifth; several pairs if there are few rows."""
        for fold in range(min(_FOLDS, math.ceil(_FOLDS * _ENOUGH_HELD_OUT / self.rows.n_rows))):
            yield np.flatnonzero(self.folds != fold), np.flatnonzero(self.folds == fold)

    def losses(self, model: Any) -> NDArray[np.float64]:
        """Fit a model to the training rows of each pair, and return its losses on the held-out rows.

        They are log losses of its probabilities, or of its decision values if it has none, or squared errors
        divided by :attr:`variance`.
        """
        return np.concatenate([self._losses(model, *part) for part in self.parts()])

    def _losses(self, model: Any, train: NDArray[np.intp], held_out: NDArray[np.intp]) -> Array:
        train_rows, held_out_rows = self.rows.take(train), self.rows.take(held_out)
        train_targets, held_out_targets = (
            np.asarray(part.targets if self.classes is None else self.classes[part.targets])
            for part in (train_rows, held_out_rows)
        )
        keys = train_rows.group_keys
        groups = keys if keys is not None and np.ptp(keys) > 0 else None
        model.fit(_array(train_rows), train_targets, sample_weight=train_rows.weights, groups=groups)
        weights, codes = held_out_rows.weights, np.asarray(held_out_rows.targets)
        shares = np.ones(len(codes)) if weights is None else weights / weights.mean()
        if self.classes is None:
            predictions = np.asarray(model.predict(_array(held_out_rows)))
            losses = np.asarray(shares * np.square(predictions - held_out_targets) / self.variance)
        elif hasattr(model, "predict_proba"):
            probabilities = np.zeros((len(codes), len(self.classes)))
            known = np.searchsorted(self.classes, model.classes_)
            probabilities[:, known] = np.asarray(model.predict_proba(_array(held_out_rows)))
            losses = shares * row_log_losses(probabilities, codes)
        else:
            values = np.asarray(model.decision_function(_array(held_out_rows))).reshape(len(codes), -1)
            values = of_all_classes(values, model.classes_, self.classes)
            losses = log_losses(values, codes, weights, by_sign=True)
        return by_group(losses, held_out_rows.group_keys)


def neighbourhoods(
    source: AbstractSource,
    sample: FoldedSample,
    mapping: RowMap,
    n_near: int,
    seed: int,
    n_anchors: int | None = None,
) -> list[tuple[Block, Block]]:
    """Return training and held-out rows near each anchor row, in the coordinates of a map.

    The seed draws ``n_anchors`` from the sample; None: 3 to 12, so that about 24,000 rows lie near them. The
    neighbours of an anchor are the ``n_near`` rows at the smallest Euclidean distance, among up to ten
    million rows of the source; 15 % of them are held out. No held-out row, no row of its group and, unless
    the sample keeps them apart, no equal row is a training row, neither here nor in the first pair of the
    sample.
    """
    n_anchors = _n_anchors(n_near) if n_anchors is None else n_anchors
    anchors = stream(seed, Purpose.SAMPLE, _ANCHORS).choice(sample.rows.n_rows, n_anchors, replace=False)
    points = mapping.apply(np.asarray(sample.rows.take(np.sort(anchors)).features))
    train_keys = sample.keys[next(sample.parts())[0]]
    most = min(n_near, _MOST_BYTES // (source.row_numbers * source.dtype.itemsize * n_anchors))
    near: list[list[tuple[Floats, Block]]] = [[] for _ in points]
    for index in _spread_blocks(source):
        block = _block(source, index)
        if sample.apart:
            block = replace(block, group_keys=places_of(index, np.arange(block.n_rows)))
        for of_point, distances in zip(near, _distances(block, points, mapping), strict=True):
            nearest = np.sort(np.argsort(distances, kind="stable")[:most])
            of_point.append((distances[nearest], block.take(nearest)))
    pairs = []
    for of_point in near:
        distances = np.concatenate([part for part, _ in of_point])
        rows = Block.joined([part for _, part in of_point])
        rows = rows.take(np.sort(np.argsort(distances, kind="stable")[:most]))
        keys = keys_of(rows)
        # places are no groups
        rows = replace(rows, group_keys=None) if sample.apart else rows
        classes = None if sample.classes is None else np.asarray(rows.targets).astype(np.intp)
        is_new = ~np.isin(keys, train_keys)
        is_held_out = is_new & _are_drawn(is_new, keys, classes, seed)
        is_train = ~np.isin(keys, keys[is_held_out])
        if is_held_out.any() and is_train.any():
            train, held_out = (rows.take(np.flatnonzero(side)) for side in (is_train, is_held_out))
            if classes is not None:
                held_out = _with_class_shares(held_out, rows)
            pairs.append((train, held_out))
    return pairs


def _are_drawn(
    is_new: NDArray[np.bool_], keys: Keys, codes: NDArray[np.intp] | None, seed: int
) -> NDArray[np.bool_]:
    """Draw rows, of which the new ones are 15 % of the rows of each class, or all new ones if they are fewer.

    A sample takes more rows of rare classes, so that fewer of them are new.
    """
    of_class = np.zeros(len(keys), dtype=np.intp) if codes is None else codes
    share_new = np.bincount(of_class, is_new) / np.maximum(np.bincount(of_class), 1)
    shares = _HELD_OUT_NEAR / np.maximum(share_new, _HELD_OUT_NEAR)
    return Sides.of_few((), seed, keys, codes).places_of(keys) < shares[of_class]


def _with_class_shares(held_out: Block, rows: Block) -> Block:
    """Return held-out rows with weights that give each of their classes its share of the rows."""
    codes, of_all = (np.asarray(part.targets).astype(np.intp) for part in (held_out, rows))
    n_classes = int(of_all.max()) + 1
    before = np.bincount(codes, held_out.weights, n_classes)
    wanted = np.bincount(of_all, rows.weights, n_classes)
    weights = np.ones(held_out.n_rows) if held_out.weights is None else held_out.weights
    factors = wanted / np.where(before > 0, before, 1.0)
    return replace(held_out, weights=weights * factors[codes])


def _distances(block: Block, points: Floats, mapping: RowMap) -> Floats:
    """Compute squared Euclidean distances (n_points, n_rows) of mapped rows, a strip of rows at a time."""
    distances = np.empty((len(points), block.n_rows), dtype=np.float32)
    for start in range(0, block.n_rows, _STRIP):
        strip = slice(start, start + _STRIP)
        mapped = mapping.apply(np.asarray(block.features[strip]))
        for of_point, point in zip(distances, points, strict=True):
            of_point[strip] = np.square(mapped - point).sum(axis=1)
    return distances


def _n_anchors(n_near: int) -> int:
    return min(max(_ALL_NEAR // n_near, _LEAST_ANCHORS), _MOST_ANCHORS)


def neighbourhood_bytes(source: AbstractSource, n_near: int) -> int:
    """Return the bytes of :func:`neighbourhoods`, as read and joined; 0 if all rows fit in one cell."""
    row_bytes = source.row_numbers * source.dtype.itemsize
    held = min(_MOST_BYTES, _n_anchors(n_near) * n_near * row_bytes)
    return 3 * held if source.n_rows > n_near else 0


def _spread_blocks(source: AbstractSource) -> list[int]:
    """Return evenly spaced blocks of a source with about ten million rows."""
    n_blocks = max(1, min(source.n_blocks, source.n_blocks * _MOST_READ // source.n_rows))
    return sorted({source.n_blocks * place // n_blocks for place in range(n_blocks)})


def of_all_classes(values: Array, known: NDArray[Any], classes: NDArray[Any]) -> Array:
    """Expand decision values (n_rows, n_outputs) over the classes ``known`` to all ``classes``.

    A class that the model has not seen is as unlikely as the least likely class.
    """
    if len(known) == len(classes):
        return values
    if values.shape[1] == 1:
        values = np.hstack([-values, values])
    expanded = np.repeat(values.min(axis=1, keepdims=True), len(classes), axis=1)
    expanded[:, np.searchsorted(classes, known)] = values
    return expanded


def drawn_shares(rate: float, shares: Array | None, n_rows: int) -> Array:
    """Return the sampling rate of each class, (n_classes,), for an overall ``rate``.

    Half of the sample follows the class shares; the other half is divided equally among the classes as far as
    their rows allow.
    """
    if shares is None or rate >= 1.0:
        return np.full(1 if shares is None else len(shares), rate)
    counts = np.maximum(shares * n_rows, 1.0)
    equal = rate * n_rows / len(shares)
    drawn = np.minimum(0.5 * rate * counts + 0.5 * np.minimum(equal, counts), counts)
    return np.asarray(drawn / counts)


def _drawn(block: Block, rates: Array, generator: np.random.Generator) -> NDArray[np.intp]:
    """Draw a share of the rows of each class; return their ascending positions."""
    order = generator.permutation(block.n_rows)
    codes = np.asarray(block.targets) if len(rates) > 1 else np.zeros(block.n_rows, dtype=np.intp)
    of_classes = [order[codes[order] == code] for code in range(len(rates))]
    drawn = [rows[: math.ceil(rate * len(rows))] for rate, rows in zip(rates, of_classes, strict=True)]
    return np.sort(np.concatenate(drawn))


def most_rows(source: AbstractSource) -> int:
    """Return the largest number of rows in a sample of a source.

    A sample has at most 10,000 rows and 32 MiB of features, or 120 rows if these are larger.
    """
    row_bytes = source.row_numbers * source.dtype.itemsize
    return min(source.n_rows, MOST_ROWS, max(_MOST_BYTES // row_bytes, 2 * LEAST_ROWS))


def _block(source: AbstractSource, index: int) -> Block:
    if not source.is_graph:
        return source.reader(index)()
    # a source that is still a Dask graph has a single block
    with open_executor("synchronous") as executor:
        return next(block for place, block in enumerate(whole_blocks(source, executor)) if place == index)


def _array(block: Block) -> Any:
    rows = block.features
    return rows.to_scipy() if isinstance(rows, SparseRows) else rows
