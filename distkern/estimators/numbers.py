"""Real targets that users give to ``fit``, brought to one form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import Rows, SparseRows, converted
from distkern.core.types import Block
from distkern.estimators.data import (
    ArraySource,
    TrainingData,
    check_task,
    checked_weights,
    merged,
    of_positive_weight,
)
from distkern.passes import Reduce
from distkern.storage.dataset import Split

_NO_CLASSES = np.empty(0)


def numbers_from_split(split: Split) -> TrainingData:
    """The training split of a data set for regression."""
    check_task(split.dataset, "regression")
    totals = np.array([float(split.n_rows)])
    return TrainingData(split, _NO_CLASSES, totals, np.ones(1), split.dataset.scaling)


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


def _describe(block: Block, _: None) -> NDArray[np.float64]:
    """Total and largest weight."""
    weights = checked_weights(block)
    return np.array([weights.sum(), weights.max(initial=0.0)])


def _merge(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([first[0] + second[0], max(first[1], second[1])])


#: one pass that finds the weights of real targets, and refuses numbers that are not finite
DESCRIBE_NUMBERS = Reduce("describe", _describe, _merge)


def numbers_from_described(source: Any, described: NDArray[np.float64]) -> TrainingData:
    """A Dask array source, once a pass has described it."""
    return TrainingData(source, _NO_CLASSES, described[:1], described[1:])
