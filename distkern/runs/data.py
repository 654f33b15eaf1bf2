"""What users give to ``fit``, brought to one form: labels or real targets of arrays, splits, Dask arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.sparse import Rows, SparseRows, converted, distinct
from distkern.common.types import AbstractSource, Block, Floats
from distkern.passes import Reduce
from distkern.runs.arrays import ArraySource
from distkern.storage.dataset import Dataset, Split
from distkern.storage.scaling import Scaling

#: of which equal ones are merged
_FEW_ROWS = 1024
_NO_CLASSES = np.empty(0)


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
    from distkern.runs.algorithms import algorithms

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
    totals, largest = counts, (counts > 0).astype(np.float64)
    if split.weight_totals is not None and split.largest_weights is not None:
        totals, largest = split.weight_totals, split.largest_weights
    assert dataset.classes is not None
    return TrainingData(split, dataset.classes, totals, largest, dataset.scaling)


def from_arrays(
    features: Rows, labels: NDArray[Any], weights: NDArray[np.float64] | None, *, merge: bool = True
) -> TrainingData:
    """Validated arrays; rows of weight 0 are left out.

    With few rows, identical ones are merged into one that carries their weights, in sorted order, unless
    ``merge`` says that rows have none: the objective is the same, and weighting a row is then exactly the
    same as repeating it.
    """
    features, labels, weights = of_positive_weight(features, labels, weights)
    classes, inverse = np.unique(labels, return_inverse=True)
    codes: NDArray[np.int32] = inverse.astype(np.int32)
    if merge:
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


def numbers_from_split(split: Split) -> TrainingData:
    """The training split of a data set for regression."""
    check_task(split.dataset, "regression")
    totals, largest = np.array([float(split.n_rows)]), np.ones(1)
    if split.weight_totals is not None and split.largest_weights is not None:
        totals, largest = split.weight_totals, split.largest_weights
    return TrainingData(split, _NO_CLASSES, totals, largest, split.dataset.scaling)


def numbers_from_arrays(
    features: Rows, targets: NDArray[Any], weights: NDArray[np.float64] | None
) -> TrainingData:
    """Validated arrays; rows of weight 0 are left out, and of few rows equal ones merged, as for classes."""
    features, targets, weights = of_positive_weight(features, targets, weights)
    values, inverse = np.unique(np.asarray(targets, dtype=np.float64), return_inverse=True)
    features, codes, weights = merged(features, inverse.astype(np.int32), weights)
    row_weights = np.ones(len(codes)) if weights is None else weights
    rows = converted(features, sparse=isinstance(features, SparseRows))
    source = ArraySource(rows, values[codes], weights)
    totals = np.array([row_weights.sum()])
    return TrainingData(source, _NO_CLASSES, totals, np.array([row_weights.max()]))


def _describe_numbers(block: Block, _: None) -> NDArray[np.float64]:
    """Total and largest weight."""
    weights = checked_weights(block)
    return np.array([weights.sum(), weights.max(initial=0.0)])


def _merge_numbers(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([first[0] + second[0], max(first[1], second[1])])


#: one pass that finds the weights of real targets, and refuses numbers that are not finite
DESCRIBE_NUMBERS = Reduce("describe", _describe_numbers, _merge_numbers)


def numbers_from_described(source: Any, described: NDArray[np.float64]) -> TrainingData:
    """A Dask array source, once a pass has described it."""
    return TrainingData(source, _NO_CLASSES, described[:1], described[1:])
