"""What users give to ``fit`` and ``predict``, brought to one form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import Rows, SparseRows, converted, distinct
from distkern.core.types import AbstractSource, Block, Floats, GroupOpener, Reader
from distkern.estimators.array_group import ArrayGroup, OpenGroup
from distkern.passes import Reduce
from distkern.storage.dataset import Dataset, Split
from distkern.storage.scaling import Scaling

_BLOCK_BYTES = 4 * 2**20
_FEW_ROWS = 1024


class ArraySource(AbstractSource):
    """Rows of arrays in this process, in blocks that threads can share out.

    More than one block of rows is put in random order first, as a data set's rows are when it is sharded,
    for a block of sorted rows may hold one class only. The order is an index of 8 bytes a row, drawn from
    the number of rows alone; a block's rows are gathered when it is read.
    """

    in_memory = True

    def __init__(
        self, features: Rows, targets: NDArray[Any] | None, weights: NDArray[np.float64] | None
    ) -> None:
        self._block = Block(features, targets, weights)
        n_rows, self.n_features = features.shape
        self.dtype = features.dtype
        self.is_sparse = isinstance(features, SparseRows)
        self._row_numbers = self.n_features
        if isinstance(features, SparseRows):
            self._row_numbers = 2 + 2 * features.n_entries // max(n_rows, 1)
        size = int(np.clip(_BLOCK_BYTES // (self._row_numbers * self.dtype.itemsize), _FEW_ROWS, 65_536))
        self._starts = list(range(0, n_rows, size))
        self.block_rows = tuple(min(size, n_rows - start) for start in self._starts)
        self.fingerprint = ""
        self._order: NDArray[np.intp] | None = None
        if len(self.block_rows) > 1:
            self._order = stream(0, Purpose.SHUFFLE).permutation(n_rows)
        self._groups: dict[int, ArrayGroup] = {}

    @property
    def row_numbers(self) -> int:
        return self._row_numbers

    def reader(self, index: int) -> Reader:
        return _Part(self._block, self._rows((index,)), index)

    def _rows(self, blocks: tuple[int, ...]) -> NDArray[np.intp] | slice:
        """Where the rows of consecutive blocks are."""
        start, rows = self._starts[blocks[0]], sum(self.block_rows[block] for block in blocks)
        part = slice(start, start + rows)
        return part if self._order is None else self._order[part]

    def group(self, index: int) -> GroupOpener:
        found = self._groups.get(index)
        if found is None:
            blocks = self.groups[index]
            rows = tuple(self.block_rows[block] for block in blocks)
            found = ArrayGroup(self._block, self._rows(blocks), rows, blocks[0])
            # kept, because so is the transposed copy of its sparse rows
            self._groups[index] = found
        return OpenGroup(found)


@dataclass(frozen=True)
class _Part:
    """Gathers some rows of an array when it is called, or when it goes to another process."""

    whole: Block
    rows: NDArray[np.intp] | slice
    index: int

    def __call__(self) -> Block:
        return replace(self.whole.take(self.rows), index=self.index)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Part, (self(), slice(None), self.index)


@dataclass(frozen=True)
class TrainingData:
    """A source with what the estimator has to know of its targets and weights.

    Attributes
    ----------
    source : targets are class codes, or real numbers
    classes : label values in the order of the codes; empty for real numbers
    class_totals : (n_classes,) sum of the row weights of each class; of all rows for real numbers
    class_largest : (n_classes,) largest row weight of each class; of all rows for real numbers
    scaling : how the features were scaled when they were sharded, applied to what is predicted later
    """

    source: AbstractSource
    classes: NDArray[Any]
    class_totals: NDArray[np.float64]
    class_largest: NDArray[np.float64]
    scaling: Scaling | None = None


def check_task(dataset: Dataset, task: str) -> None:
    """Refuse a data set of another task than ``task``, naming the algorithms that learn from it."""
    from distkern.estimators.names import algorithms

    if dataset.task == task:
        return
    mend = f"shard it again with --task {task}"
    takers = [name for name, kind in algorithms().items() if getattr(kind, "task", None) == dataset.task]
    if takers:
        names = ", ".join(name.removesuffix("_regressor") for name in takers)
        mend = f"use an algorithm for {dataset.task} ({names}), or {mend}"
    raise InputError(
        f"the data set is for task {dataset.task!r}, not {task}", where=str(dataset.path), mend=mend
    )


def from_split(split: Split) -> TrainingData:
    """The training split of a data set."""
    dataset = split.dataset
    check_task(dataset, "classification")
    counts = np.asarray(split.class_counts, dtype=np.float64)
    assert dataset.classes is not None
    return TrainingData(split, dataset.classes, counts, (counts > 0).astype(np.float64), dataset.scaling)


def from_arrays(features: Rows, labels: NDArray[Any], weights: NDArray[np.float64] | None) -> TrainingData:
    """Validated arrays; rows of weight 0 are left out.

    With few rows, identical ones are merged into one that carries their weights, in sorted order: the
    objective is the same, and weighting a row is then exactly the same as repeating it.
    """
    features, labels, weights = of_positive_weight(features, labels, weights)
    classes, inverse = np.unique(labels, return_inverse=True)
    codes: NDArray[np.int32] = inverse.astype(np.int32)
    features, codes, weights = merged(features, codes, weights)
    row_weights = np.ones(len(codes)) if weights is None else weights
    largest = np.zeros(len(classes))
    np.maximum.at(largest, codes, row_weights)
    totals = np.bincount(codes, weights=row_weights, minlength=len(classes))
    rows = converted(features, sparse=isinstance(features, SparseRows))
    source = ArraySource(rows, codes, weights)
    return TrainingData(source, classes, totals.astype(np.float64), largest)


def of_positive_weight(
    features: Rows, targets: NDArray[Any], weights: NDArray[np.float64] | None
) -> tuple[Rows, NDArray[Any], NDArray[np.float64] | None]:
    """The rows whose weight is not zero; :class:`InputError` for a negative weight or none but zeros."""
    if weights is None:
        return features, targets, None
    if np.any(weights < 0):
        raise InputError("negative sample weights", where="sample_weight", mend="weights must be 0 or more")
    kept = weights > 0
    if not kept.any():
        raise InputError("all sample weights are zero", where="sample_weight", mend="give some rows weight")
    return features[kept], targets[kept], weights[kept]


def merged(
    features: Rows, codes: NDArray[np.int32], weights: NDArray[np.float64] | None
) -> tuple[Rows, NDArray[np.int32], NDArray[np.float64] | None]:
    """Of few rows, equal ones with equal codes made one that carries their weights, in sorted order."""
    if len(features) > _FEW_ROWS:
        return features, codes, weights
    first, inverse = distinct(features, codes)
    row_weights = np.ones(len(codes)) if weights is None else weights
    totals: NDArray[np.float64] = np.bincount(inverse, weights=row_weights, minlength=len(first)).astype(
        np.float64
    )
    return features[first], codes[first], None if np.all(totals == 1.0) else totals


@dataclass(frozen=True)
class _Described:
    """Per label: total weight, largest weight."""

    totals: dict[Any, float]
    largest: dict[Any, float]


def checked_weights(block: Block) -> Floats:
    """The weights of a block of Dask arrays; :class:`InputError` if any number in it is not usable."""
    assert block.targets is not None
    # blocks of Dask arrays are dense
    features = np.asarray(block.features)
    if not np.isfinite(features).all():
        row = int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
        raise InputError("Input X contains NaN or infinity", where=f"X, block {block.index}, row {row}")
    if block.targets.dtype.kind == "f" and not np.isfinite(block.targets).all():
        raise InputError("Input y contains NaN or infinity", where=f"y, block {block.index}")
    weights: Floats = np.ones(block.n_rows) if block.weights is None else block.weights
    if np.any(weights < 0):
        raise InputError("negative sample weights", where=f"sample_weight, block {block.index}")
    return weights


def _describe(block: Block, _: None) -> _Described:
    weights = checked_weights(block)
    assert block.targets is not None
    labels, codes = np.unique(block.targets, return_inverse=True)
    totals = np.bincount(codes, weights=weights, minlength=len(labels))
    largest = np.zeros(len(labels))
    np.maximum.at(largest, codes, weights)
    names = labels.tolist()
    return _Described(
        dict(zip(names, totals.tolist(), strict=True)), dict(zip(names, largest.tolist(), strict=True))
    )


def _merge_described(first: _Described, second: _Described) -> _Described:
    totals, largest = dict(first.totals), dict(first.largest)
    for label, total in second.totals.items():
        totals[label] = totals.get(label, 0.0) + total
        largest[label] = max(largest.get(label, 0.0), second.largest[label])
    return _Described(totals, largest)


#: one pass that finds labels and weights, and refuses numbers that are not finite
DESCRIBE = Reduce("describe", _describe, _merge_described)


def from_described(source: Any, described: _Described) -> TrainingData:
    """A Dask array source, once a pass has described it."""
    labels = sorted(described.totals)
    classes = np.asarray(labels)
    return TrainingData(
        source.with_classes(classes),
        classes,
        np.array([described.totals[label] for label in labels]),
        np.array([described.largest[label] for label in labels]),
    )
