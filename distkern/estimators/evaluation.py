"""Exact figures of a model on a split, in one pass and constant memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.core import blas
from distkern.core.errors import InputError
from distkern.core.types import Block, Floats
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog, Listener
from distkern.engine.executors import AbstractExecutor
from distkern.estimators.regression_figures import regression_figures, residuals_pass
from distkern.passes import Cost, Reduce
from distkern.storage.dataset import Split
from distkern.storage.preparation import Preparation

_SCORE_BITS = 18


@dataclass(frozen=True)
class Counts:
    """Sums over rows.

    Attributes
    ----------
    confusion : (n_classes of the data, n_classes of the model): rows by true and predicted label
    losses : sum of s_i l_i over rows and outputs
    scores : (2, 2^18) histogram of the decision values of the two classes; empty for more classes
    """

    confusion: NDArray[np.int64]
    losses: float
    scores: NDArray[np.int64]

    @staticmethod
    def add(first: Counts, second: Counts) -> Counts:
        """The sums over the rows of both."""
        return Counts(
            first.confusion + second.confusion, first.losses + second.losses, first.scores + second.scores
        )


@dataclass(frozen=True)
class _Evaluated:
    basis: AbstractBasis
    coefficients: Floats
    intercept: NDArray[np.float64]
    losses: Callable[[Floats, Block], float]
    preparation: Preparation | None
    codes: NDArray[np.int64]
    n_classes: int


def score_bins(scores: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """Order-preserving bin numbers of float32 values: their leading 18 bits, 9 of them exponent and sign.

    Values in one bin differ by less than 1 part in 2^9, and count as ties for the area under the curve.
    """
    bits = np.ascontiguousarray(scores, dtype=np.float32).view(np.uint32).astype(np.int64)
    ordered = np.where(bits >> 31, 0xFFFFFFFF - bits, bits + 0x80000000)
    return ordered >> (32 - _SCORE_BITS)


def area_under_curve(scores: NDArray[np.int64]) -> float:
    """Probability that a row of class 1 scores above one of class 0, ties counting one half."""
    negative, positive = scores[0].astype(np.float64), scores[1].astype(np.float64)
    below = np.concatenate([[0.0], np.cumsum(negative)[:-1]])
    pairs = negative.sum() * positive.sum()
    return float(np.sum(positive * (below + 0.5 * negative)) / pairs)


def _evaluate(block: Block, operand: _Evaluated) -> Counts:
    features = block.features
    if operand.preparation is not None:
        features = operand.preparation.apply_rows(features, features.dtype)
    predictions = operand.basis.combine(features, operand.coefficients)
    if operand.intercept.any():
        predictions = predictions.astype(np.float64) + operand.intercept
    n_outputs = predictions.shape[1]
    binary = n_outputs == 1
    predicted = (predictions[:, 0] > 0).astype(np.int64) if binary else predictions.argmax(axis=1)
    assert block.targets is not None
    n_model = 2 if binary else n_outputs
    cells = block.targets.astype(np.int64) * n_model + predicted
    confusion = np.bincount(cells, minlength=operand.n_classes * n_model).reshape(operand.n_classes, n_model)
    codes = operand.codes[block.targets]
    known = codes >= 0
    rows = Block(features[known], codes[known], None if block.weights is None else block.weights[known])
    losses = operand.losses(predictions[known], rows)
    scores = np.zeros((2, 2**_SCORE_BITS if binary else 0), dtype=np.int64)
    if binary:
        bins = score_bins(predictions[:, 0])
        for code in (0, 1):
            scores[code] = np.bincount(bins[codes == code], minlength=scores.shape[1])
    return Counts(confusion, losses, scores)


def evaluate_split(
    model: Any, split: Split, executor: AbstractExecutor, listeners: tuple[Listener, ...] = ()
) -> dict[str, Any]:
    """n, error, accuracy, balanced accuracy, AUC (two classes), objective and seconds of a model on a split;
    of a regressor what :func:`~distkern.estimators.regression_figures.regression_figures` gives.

    Labels of the split are matched to the model's by value; rows of a label the model does not know count
    as errors and are left out of objective and AUC.

    Raises
    ------
    InputError
        If the split has other features, another scaling or no label in common.
    """
    started = time.perf_counter()
    step = evaluation_pass(model, split)
    driver = Driver({"test": split}, executor, EventLog(listeners))
    with blas.single_threaded():
        sums = driver.measure(step)
    seconds = time.perf_counter() - started
    if model.task == "regression":
        return regression_figures(model, sums, seconds)
    return _figures(model, sums, step.operand.codes, seconds)


def evaluation_pass(model: Any, split: Split) -> Reduce[Any]:
    """The pass of :func:`evaluate_split`, to be planned or run; raises what that raises."""
    if split.dataset.task != model.task:
        raise InputError(
            f"is a data set of task {split.dataset.task!r}, and {type(model).__name__} is for {model.task}",
            where=str(split.dataset.path), mend=f"shard it with --task {model.task}",
        )  # fmt: skip
    return residuals_pass(model, split) if model.task == "regression" else _counting_pass(model, split)


def _counting_pass(model: Any, split: Split) -> Reduce[Counts]:
    preparation = model.preparation_for(split)
    known = model.classes_.tolist()
    assert split.dataset.classes is not None
    labels = split.dataset.classes.tolist()
    codes = np.array([known.index(label) if label in known else -1 for label in labels], dtype=np.int64)
    if (codes < 0).all():
        raise InputError(
            f"its labels {labels[:5]} are none of the model's {known[:5]}", where=str(split.dataset.path),
            mend="evaluate on data with the labels of the training data",
        )  # fmt: skip
    n_outputs = model.n_outputs(len(known))
    basis = model.basis(split.dtype)
    operand = _Evaluated(
        basis, model.coef_, model.intercept_, model.losses(), preparation, codes, len(labels)
    )  # fmt: skip
    rows = max(split.block_rows)
    cost = Cost(
        workspace_bytes=basis.combining_bytes(split.row_numbers)
        + 2 * model.coef_.nbytes
        + rows * (8 * n_outputs + 4 * split.row_numbers + 64),
        result_bytes=16 * 2**_SCORE_BITS if n_outputs == 1 else 8 * len(labels) * n_outputs,
        process_bytes=basis.process_bytes,
    )
    return Reduce("evaluate", _evaluate, Counts.add, operand, "test", cost=cost)


def _figures(model: Any, counts: Counts, codes: NDArray[np.int64], seconds: float) -> dict[str, Any]:
    n_rows = int(counts.confusion.sum())
    right = np.array([counts.confusion[row, code] if code >= 0 else 0 for row, code in enumerate(codes)])
    per_class = counts.confusion.sum(axis=1)
    present = per_class > 0
    n_known = int(per_class[codes >= 0].sum())
    figures: dict[str, Any] = {
        "n": n_rows,
        "error": 1.0 - float(right.sum()) / n_rows,
        "accuracy": float(right.sum()) / n_rows,
        "balanced_accuracy": float(np.mean(right[present] / per_class[present])),
    }
    if counts.scores.size and counts.scores.sum(axis=1).all():
        figures["auc"] = area_under_curve(counts.scores)
    figures["objective"] = model.objective_value(counts.losses, n_known)
    figures["seconds"] = round(seconds, 4)
    return figures
