"""Prediction on rows of features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core import blas
from distkern.core.errors import InputError
from distkern.core.sparse import Rows, SparseRows, converted, sum_is_finite
from distkern.core.types import Floats
from distkern.data.scaling import Preparation
from distkern.maths.bases.base import AbstractBasis


def predict_rows(
    bases: Sequence[AbstractBasis],
    coefficients: Floats,
    n_features: int,
    preparation: Preparation | None,
    answer: Callable[[Floats], NDArray[Any]],
    features: Any,
) -> NDArray[Any]:
    """Compute decision values, labels or probabilities in the rows' own precision, with one BLAS thread.

    Parameters
    ----------
    bases : the basis in each precision that prepared rows may have
    coefficients : (size, n_outputs)
    n_features : number of columns that rows must have
    preparation : preparation of the rows; None if they are prepared
    answer : function of Phi coef, see :func:`answer_of`
    features : (n_rows, n_features)
    """
    basis, rows = _prepared(bases, n_features, preparation, features)
    with blas.single_threaded():
        combined = basis.combine(rows, coefficients)
    return answer(combined)


def deviations_of_rows(
    bases: Sequence[AbstractBasis],
    spread: Floats,
    n_features: int,
    preparation: Preparation | None,
    features: Any,
) -> NDArray[np.float64]:
    """Compute |phi(x)' D| of each row, (n_rows,), for D (size, size); otherwise as :func:`predict_rows`."""
    basis, rows = _prepared(bases, n_features, preparation, features)
    found, narrow = np.empty(rows.shape[0]), spread.astype(basis.dtype)
    with blas.single_threaded():
        for tile in basis.tiles(rows):
            products = tile.values @ narrow
            found[tile.rows] = np.sqrt(np.einsum("ij,ij->i", products, products, dtype=np.float64))
    return found


def _prepared(
    bases: Sequence[AbstractBasis], n_features: int, preparation: Preparation | None, features: Any
) -> tuple[AbstractBasis, Rows]:
    """Return the basis for the precision of the rows, and the rows prepared for it."""
    values: Rows = features if isinstance(features, SparseRows) else np.asarray(features)
    dtype = values.dtype if values.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    if values.ndim != 2 or values.shape[1] != n_features:
        raise InputError(
            f"X has {values.shape[-1]} features, but the model expects {n_features} features", where="X"
        )
    numbers = values.data if isinstance(values, SparseRows) else values
    if not (sum_is_finite(values) or np.isfinite(numbers).all()):
        # rows in memory were validated before; blocks of Dask arrays are checked here
        raise InputError("Input X contains NaN or infinity", where="X", hint="fill the values in")
    if preparation is not None:
        values = preparation.apply_rows(values, dtype)
        dtype = values.dtype
    # blocks of a Dask array may have a precision other than its dtype
    basis = next((one for one in bases if one.dtype == dtype), bases[-1])
    return basis, converted(values.astype(basis.dtype), sparse=isinstance(values, SparseRows))


def rearranged(
    levels: tuple[float, ...], answer: Callable[[Floats], NDArray[Any]], combined: Floats
) -> NDArray[Any]:
    """Return predicted quantiles, (n_rows, n_levels), in the order of their levels; a single quantile stays
    as it is.

    Each row's quantiles are sorted. Where they crossed, the sorted ones are closer to the true quantiles and
    their loss is no larger (Chernozhukov, Fernandez-Val and Galichon 2010, Proposition 4).
    """
    return in_order(levels, answer(combined))


def in_order(levels: tuple[float, ...], quantiles: NDArray[Any]) -> NDArray[Any]:
    """Return the quantiles of each row, sorted as their levels are."""
    if quantiles.ndim == 1:
        return quantiles
    found = np.empty_like(quantiles)
    found[:, np.argsort(levels, kind="stable")] = np.sort(quantiles, axis=1)
    return found


def side_of(intercept: Floats, output: str, combined: Floats) -> NDArray[Any]:
    """Return the side of a threshold on which rows lie, from Phi coef (n_rows, 1) and the negative threshold
    (1,).

    Returns
    -------
    (n_rows,): for "decision" the float64 distance above the threshold; for "label" +1 at or above it and -1
    below
    """
    decision: NDArray[np.float64] = combined.astype(np.float64)[:, 0] + intercept[0]
    if output == "decision":
        return decision
    return np.where(decision >= 0, 1, -1).astype(np.int64)


def answer_of(
    intercept: Floats,
    classes: NDArray[Any] | None,
    output: str,
    chances: Callable[[Floats], NDArray[np.float64]] | None,
    cut: float | NDArray[np.float64] | None,
    combined: Floats,
) -> NDArray[Any]:
    """Return decision values, labels or probabilities from Phi coef.

    Parameters
    ----------
    intercept : (n_outputs,)
    classes : label values; None for real targets
    output : "decision", "label" or "probability"
    chances : function of decision values (n_rows, n_outputs); None without probabilities
    cut : see :func:`codes_of`
    combined : (n_rows, n_outputs)

    Returns
    -------
    (n_rows, n_outputs) float64 decision values, (n_rows,) for one output or two classes; (n_rows,) labels; or
    (n_rows, n_classes) probabilities
    """
    decision = combined.astype(np.float64)
    # adding zero would change the sign of negative zeros
    if intercept.any():
        decision += intercept
    if output == "probability":
        if chances is None:
            raise InputError(
                "was fitted without probabilities", where="the model", hint="fit it again with probabilities"
            )
        return chances(decision)
    if output == "label" and classes is not None:
        labels: NDArray[Any] = classes[codes_of(decision, chances, cut)]
        return labels
    if decision.shape[1] == 1:
        decision = decision[:, 0]
    elif classes is not None and len(classes) == 2:
        # two competing classes: the second minus the first
        decision = decision[:, 1] - decision[:, 0]
    return decision


def unweighted(
    chances: Callable[[Floats], NDArray[np.float64]], weights: NDArray[np.float64], decision: Floats
) -> NDArray[np.float64]:
    """Return probabilities p_c of rows as they occur, (n_rows, n_classes), from probabilities of weighted
    classes.

    A machine whose losses weigh w_c learns q_c, proportional to w_c p_c, so p_c is proportional to q_c / w_c
    (Elkan 2001). A class of weight 0 was not learned and keeps its q_c.

    Parameters
    ----------
    chances : q of decision values (n_rows, n_outputs)
    weights : w, (n_classes,)
    """
    shares = chances(decision) / np.where(weights > 0, weights, 1.0)
    found: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
    return found


def codes_of(
    decision: Floats,
    chances: Callable[[Floats], NDArray[np.float64]] | None,
    cut: float | NDArray[np.float64] | None,
) -> NDArray[np.intp]:
    """Return codes of the predicted classes, (n_rows,), from decision values (n_rows, n_outputs).

    Parameters
    ----------
    chances : probabilities of decision values, or None
    cut : probability from which the second of two classes is predicted; or (n_classes,) weights w_c: the
        class with the largest w_c p_c; None: the largest decision value, or for a single output the second
        class if it is > 0
    """
    if cut is not None:
        if chances is None:
            raise InputError("needs probabilities", where="threshold", hint="leave it out")
        found = chances(decision)
        if isinstance(cut, np.ndarray):
            largest: NDArray[np.intp] = (found * cut).argmax(axis=1)
            return largest
        return (found[:, 1] >= cut).astype(np.intp)
    return (decision[:, 0] > 0).astype(np.intp) if decision.shape[1] == 1 else decision.argmax(axis=1)
