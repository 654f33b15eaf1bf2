"""Probabilities, labels and sorted quantiles of decision values, as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.maths.losses.base import AbstractLoss
from distkern.maths.losses.classes import Logistic, Softmax
from distkern.model.export.graph import Value
from distkern.model.export.kernels import refusal


def probabilities(loss: AbstractLoss, decision: Value, weights: NDArray[np.float64] | None) -> Value:
    """(n, n_classes) of decision values (n, n_outputs), as ``predict_proba``; ``weights`` of the classes are
    taken out, see :func:`~distkern.model.prediction.unweighted`.

    Raises
    ------
    InputError
        If the loss has no formula in ONNX.
    """
    if isinstance(loss, Logistic):
        found = _of_logistic(decision)
    elif isinstance(loss, Softmax):
        found = decision.apply("Softmax", axis=1)
    else:
        raise refusal(f"the probabilities of loss {loss.name!r} have no formula in ONNX")
    if weights is None:
        return found
    return _normalized(found * (1.0 / np.where(weights > 0, weights, 1.0)))


def _of_logistic(decision: Value) -> Value:
    graph, chances = decision.graph, decision.apply("Sigmoid")
    n_outputs = graph.n_outputs
    if n_outputs == 1:
        return graph.concatenated([1.0 - chances, chances])
    totals = chances.reduced("Sum", 1, keep=True)
    # far from every class, every class is as likely
    is_some = totals.apply("Greater", 0.0)
    return (chances / totals.where(is_some, 1.0)).where(is_some, 1.0 / n_outputs)


def _normalized(shares: Value) -> Value:
    return shares / shares.reduced("Sum", 1, keep=True)


def codes(decision: Value, chances: Value | None, cut: float | NDArray[np.float64] | None) -> Value:
    """Codes (n,) of the predicted classes, as :func:`~distkern.model.prediction.codes_of` finds them."""
    if cut is not None and chances is not None:
        if isinstance(cut, np.ndarray):
            return (chances * cut).apply("ArgMax", axis=1, keepdims=0)
        return chances.columns([1]).without_axis(1).apply("GreaterOrEqual", float(cut)).cast("INT64")
    if decision.graph.n_outputs == 1:
        return decision.without_axis(1).apply("Greater", 0.0).cast("INT64")
    return decision.apply("ArgMax", axis=1, keepdims=0)


def labels(found: Value, classes: NDArray[Any]) -> tuple[Value, str]:
    """The labels (n,) of codes, and their type in ONNX; dates become texts."""
    graph = found.graph
    if classes.dtype.kind == "b":
        return graph.op("Gather", graph.constant(classes.astype(bool)), found), "BOOL"
    if classes.dtype.kind in "iu":
        return graph.op("Gather", graph.whole(classes), found), "INT64"
    if classes.dtype.kind == "f":
        return graph.op("Gather", graph.constant(classes.astype(np.float64)), found), "DOUBLE"
    texts = np.array([str(label) for label in classes.tolist()], dtype=object)
    return graph.op("Gather", graph.constant(texts), found), "STRING"


def in_order(quantiles: Value, levels: tuple[float, ...]) -> Value:
    """Predicted quantiles (n, n_levels), sorted in each row as their levels are."""
    graph = quantiles.graph
    ascending = graph.sorted_rows(quantiles, len(levels))
    return ascending.columns(np.argsort(np.argsort(levels, kind="stable"), kind="stable"))
