"""Labels or targets of arrays, splits and Dask arrays, brought to one form for training."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.held_out import MERGED_ROWS, Keys, groups_of
from distkern.core.names import kind_of, plain_labels
from distkern.core.python_words import warn
from distkern.core.sparse import Rows, SparseRows, converted, distinct
from distkern.core.targets import refuse_one_group, refuse_unknown
from distkern.core.types import AbstractSource, Block, Floats
from distkern.data.dataset import Dataset, Split
from distkern.data.labels import refuse_many_numbers
from distkern.data.scaling import Scaling
from distkern.data.table import Table
from distkern.passes import Reduce
from distkern.runs.sources import ArraySource
from distkern.solvers.base import Problem

_NO_CLASSES = np.empty(0)
#: scikit-learn warns of many classes among more rows
_FEW_ROWS = 20


@dataclass(frozen=True)
class TrainingData:
    """A source with the facts about its targets and weights that training needs.

    Attributes
    ----------
    source : its targets are class codes or real numbers
    classes : labels in the order of the codes; empty for real targets
    class_totals : (n_classes,) sum of the row weights of each class; (1,) over all rows for real targets
    class_largest : (n_classes,) largest row weight of each class; (1,) over all rows for real targets
    scaling : scaling of the stored features, also applied to rows that are predicted later
    has_means : some features are means of the targets of other training rows, which equal rows may share
    multiplicity : see :class:`~distkern.maths.maps.transform.Transform`
    """

    source: AbstractSource
    classes: NDArray[Any]
    class_totals: NDArray[np.float64]
    class_largest: NDArray[np.float64]
    scaling: Scaling | None = None
    has_means: bool = False
    multiplicity: tuple[int, ...] = ()

    @property
    def is_scaled(self) -> bool:
        """Whether the rows are stored scaled."""
        return self.scaling is not None and self.scaling.kind != "none"

    def of_table(self, table: Table | None) -> TrainingData:
        """Return the data with what a table says about its features."""
        if table is None:
            return self
        return replace(self, has_means=table.has_means, multiplicity=table.multiplicity)

    def mean_weight(self, class_weights: NDArray[np.float64] | None = None) -> float:
        """Return the mean weight of a row's loss: the row's weight times its class's, 1 if not given."""
        return float(self.class_totals @ self._factors(class_weights)) / self.source.n_rows

    def problem(
        self,
        n_outputs: int,
        has_test: bool,
        seed: int,
        class_weights: NDArray[np.float64] | None = None,
        **more: Any,
    ) -> Problem:
        source, largest = self.source, self.class_largest * self._factors(class_weights)
        return Problem(
            source.block_rows,
            source.n_features,
            source.dtype,
            seed,
            n_outputs=n_outputs,
            has_test=has_test,
            max_relative_weight=float(largest.max()) / self.mean_weight(class_weights),
            sparse_numbers=source.row_numbers if source.is_sparse else None,
            has_groups=source.has_groups,
            multiplicity=self.multiplicity,
            **more,
        )

    def _factors(self, class_weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        return np.ones(len(self.class_totals)) if class_weights is None else class_weights


def check_task(dataset: Dataset, task: str, hint: str | None = None) -> None:
    """Refuse a data set of another task than ``task``; without ``hint``, name the algorithms for its task.

    Task "none" accepts any data set because it ignores the targets.
    """
    from distkern.runs.algorithms import algorithms

    if task in (dataset.task, "none"):
        return
    takers = [name for name, kind in algorithms().items() if getattr(kind, "task", None) == dataset.task]
    if hint is None:
        hint = f"shard it again with --task {task}"
        if takers:
            names = ", ".join(name.removesuffix("_regressor") for name in takers)
            hint = f"use an algorithm for {dataset.task} ({names}), or {hint}"
    raise InputError(
        f"the data set is for task {dataset.task!r}, not {task}", where=str(dataset.path), hint=hint
    )


def from_split(split: Split, task: str) -> TrainingData:
    """Return the training split of a data set for a task."""
    dataset = split.dataset
    check_task(dataset, task)
    totals, largest = np.array([float(split.n_rows)]), np.ones(1)
    if split.weight_totals is not None and split.largest_weights is not None:
        totals, largest = split.weight_totals, split.largest_weights
    elif split.class_counts is not None:
        totals = split.class_counts.astype(np.float64)
        largest = (totals > 0).astype(np.float64)
    classes = _NO_CLASSES if dataset.classes is None else dataset.classes
    return TrainingData(split, classes, totals, largest, dataset.scaling).of_table(dataset.table)


def from_arrays(
    features: Rows,
    targets: NDArray[Any],
    weights: NDArray[np.float64] | None,
    task: str = "classification",
    group_keys: Keys | None = None,
) -> TrainingData:
    """Return validated arrays as training data without rows of weight 0.

    With few rows, equal rows of one group become one row with their total weight, in sorted order. The
    objective does not change, and weighting a row is then exactly equal to repeating it.
    """
    numbers = task == "regression"
    if group_keys is not None and weights is not None:
        group_keys = group_keys[weights > 0]
    features, targets, weights = of_positive_weight(features, targets, weights)
    values = np.asarray(targets, dtype=np.float64) if numbers else targets
    classes, inverse = np.unique(values, return_inverse=True)
    codes: NDArray[np.int32] = inverse.astype(np.int32)
    features, codes, weights, group_keys = merged(features, codes, weights, group_keys)
    totals, largest = _by_class(None if numbers else codes, len(classes), weights, len(codes))
    rows = converted(features, sparse=isinstance(features, SparseRows))
    source = ArraySource(rows, classes[codes] if numbers else codes, weights, group_keys)
    return TrainingData(source, _NO_CLASSES if numbers else classes, totals, largest)


def _by_class(
    codes: NDArray[Any] | None, n_classes: int, weights: NDArray[Any] | None, n_rows: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum and the largest of the weights of each class, or of all rows."""
    row_weights = np.ones(n_rows) if weights is None else weights
    if codes is None:
        return np.array([row_weights.sum()]), np.array([row_weights.max(initial=0.0)])
    largest = np.zeros(n_classes)
    np.maximum.at(largest, codes, row_weights)
    return np.bincount(codes, weights=row_weights, minlength=n_classes).astype(np.float64), largest


def of_positive_weight(
    features: Rows, targets: NDArray[Any], weights: NDArray[np.float64] | None
) -> tuple[Rows, NDArray[Any], NDArray[np.float64] | None]:
    """Return the rows with positive weight; :class:`InputError` for a negative weight or no positive one."""
    if weights is None:
        return features, targets, None
    if np.any(weights < 0):
        raise InputError("has negative weights", where="sample_weight", hint="give weights >= 0")
    kept = weights > 0
    if not kept.any():
        raise InputError(
            "all sample weights are zero", where="sample_weight", hint="give some rows a positive weight"
        )
    return features[kept], targets[kept], weights[kept]


def merged(
    features: Rows, codes: NDArray[np.int32], weights: NDArray[np.float64] | None, group_keys: Keys | None
) -> tuple[Rows, NDArray[np.int32], NDArray[np.float64] | None, Keys | None]:
    """Return rows in sorted order, where equal rows of one code and group are one row with their total
    weight.

    More than 1,024 rows are returned unchanged. Weights (n,) are None if all are 1.
    """
    if len(features) > MERGED_ROWS:
        return features, codes, weights, group_keys
    labels = codes if group_keys is None else codes * len(codes) + groups_of(group_keys)
    first, inverse = distinct(features, labels)
    row_weights = np.ones(len(codes)) if weights is None else weights
    totals: NDArray[np.float64] = np.bincount(inverse, weights=row_weights, minlength=len(first)).astype(
        np.float64
    )
    kept = None if group_keys is None else group_keys[first]
    return features[first], codes[first], None if np.all(totals == 1.0) else totals, kept


@dataclass(frozen=True)
class _Described:
    """Labels of targets, and their weights.

    Attributes
    ----------
    labels : (n_labels,) sorted; None for other targets
    totals, largest : (n_labels,), or (1,) for all rows: sum and largest of the weights
    keys : keys of up to two groups, if there are groups
    """

    labels: NDArray[Any] | None
    totals: NDArray[np.float64]
    largest: NDArray[np.float64]
    keys: Keys | None


def checked_weights(block: Block) -> Floats:
    """Return the weights of a block of Dask arrays; :class:`InputError` for invalid numbers in the block."""
    # blocks of Dask arrays are dense
    features = np.asarray(block.features)
    if not np.isfinite(features).all():
        row = int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
        where, hint = f"X, block {block.index}, row {row}", "impute it, or fit to write_dataset(X, y, path)"
        raise InputError("Input X contains NaN or infinity", where=where, hint=hint)
    targets = block.targets
    if targets is not None and targets.dtype.kind == "f" and not np.isfinite(targets).all():
        raise InputError("Input y contains NaN or infinity", where=f"y, block {block.index}")
    weights: Floats = np.ones(block.n_rows) if block.weights is None else block.weights
    if np.any(weights < 0) or not np.isfinite(weights).all():
        what = "negative sample weights" if np.any(weights < 0) else "sample weights are NaN or infinite"
        raise InputError(what, where=f"sample_weight, block {block.index}")
    return weights


def _describe(block: Block, task: str) -> _Described:
    weights = checked_weights(block)
    labels = codes = None
    if task == "classification" and block.targets is not None:
        refuse_unknown(block.targets, f"y, block {block.index}")
        labels, codes = np.unique(block.targets, return_inverse=True)
    totals, largest = _by_class(codes, 1 if labels is None else len(labels), weights, len(weights))
    keys = None if block.group_keys is None else np.unique(block.group_keys)[:2]
    return _Described(labels, totals, largest, keys)


def _merge_described(first: _Described, second: _Described) -> _Described:
    keys = None
    if first.keys is not None and second.keys is not None:
        keys = np.union1d(first.keys, second.keys)[:2]
    if first.labels is None or second.labels is None:
        totals, largest = first.totals + second.totals, np.maximum(first.largest, second.largest)
        return _Described(None, totals, largest, keys)
    if not len(first.labels) or not len(second.labels):
        return first if len(first.labels) else second
    kinds = kind_of(first.labels), kind_of(second.labels)
    if kinds[0] != kinds[1]:
        what = f"some blocks have labels of kind {kinds[0]}, and others of kind {kinds[1]}"
        raise InputError(what, where="y", hint="give labels of one type")
    labels = np.union1d(first.labels, second.labels)
    totals, largest = np.zeros(len(labels)), np.zeros(len(labels))
    for known, part in ((first.labels, first), (second.labels, second)):
        places = np.searchsorted(labels, known)
        totals[places] += part.totals
        largest[places] = np.maximum(largest[places], part.largest)
    return _Described(labels, totals, largest, keys)


def refuse_continuous(labels: NDArray[Any]) -> None:
    """Refuse labels as scikit-learn does, without its warning of many classes: see :func:`check_classes`."""
    from sklearn.utils.multiclass import check_classification_targets

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")
        check_classification_targets(labels)


def check_classes(classes: NDArray[Any], n_rows: int) -> None:
    """Refuse numbers that are probably a quantity, and warn where scikit-learn does."""
    if len(classes) <= min(_FEW_ROWS, n_rows // 2):
        return
    refuse_many_numbers(plain_labels(classes), n_rows, "y")
    if n_rows > _FEW_ROWS and 2 * len(classes) > n_rows:
        hint = "use a regressor if y is a quantity, or another y if it holds ids or texts"
        warn(f"y has {len(classes):,} classes for {n_rows:,} rows; {hint}")


def describing(task: str) -> Reduce[Any]:
    """Return the pass that finds labels and weights of Dask arrays and refuses non-finite numbers."""
    return Reduce("describe", _describe, _merge_described, task)


def from_described(source: Any, described: _Described) -> TrainingData:
    """Return the training data of a Dask array source and its description."""
    if described.keys is not None:
        refuse_one_group(described.keys)
    classes, totals = _NO_CLASSES, described.totals
    if described.labels is not None:
        classes = described.labels
        if classes.dtype.kind == "O":
            classes = np.array(classes.tolist(), dtype=str)
        refuse_continuous(classes)
        check_classes(classes, source.n_rows)
        source = source.with_classes(classes)
    if not source.n_rows:
        raise InputError("has no rows", where="X", hint="give rows to learn from")
    if not totals.sum():
        raise InputError(
            "all rows have weight 0", where="sample_weight", hint="give some rows a positive weight"
        )
    return TrainingData(source, classes, totals, described.largest)
