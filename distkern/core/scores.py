"""Proper scores per held-out row, and the comparison of two settings by them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.types import Array

#: largest loss of a row
_MOST_LOST = 50.0
_STEPS, _ENOUGH = 50, 1e-8


def row_log_losses(probabilities: Array, codes: NDArray[Any]) -> Array:
    """Return -log p(y_i) (n_rows,) for probabilities (n_rows, n_classes) and class codes (n_rows,)."""
    own = probabilities[np.arange(len(codes)), codes]
    losses: Array = -np.log(np.clip(own, np.finfo(np.float64).eps, 1.0))
    return losses


def log_losses(
    values: Array, codes: NDArray[Any], weights: NDArray[Any] | None = None, *, by_sign: bool = False
) -> Array:
    """Return -s_i log p(y_i | f_i) (n_rows,) under the best calibrated probabilities of decision values.

    The probabilities are p = 1 / (1 + exp(-(a f + b))) for one output and softmax(a f) for several, with a
    and b of maximum likelihood on these very rows (Platt 1999; Guo et al. 2017). With only two fitted
    numbers, machines of any loss are comparable and none gains by overconfidence.

    Parameters
    ----------
    values : (n_rows, n_outputs) decision values; a row with a NaN gets the largest loss
    codes : (n_rows,) class codes
    weights : (n_rows,) s_i >= 0, divided by their mean; None: all 1
    by_sign : the sign of one output determines the class: b is 0, so that a wrong offset costs
    """
    shares = np.ones(len(values)) if weights is None else weights * (len(weights) / weights.sum())
    usable: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(axis=1))
    known = np.where(usable[:, None], values, 0.0)
    # Newton's method converges faster on normalised values
    known = known / (float(np.abs(known).max(initial=0.0)) or 1.0)
    if values.shape[1] == 1 and by_sign:
        lost = _of_softmax(np.hstack([-known, known]), (np.asarray(codes) > 0).astype(np.intp), shares)
    elif values.shape[1] == 1:
        positive: NDArray[np.bool_] = np.asarray(codes) > 0
        lost = _of_sigmoid(known[:, 0], positive, shares)
    else:
        lost = _of_softmax(known, np.asarray(codes), shares)
    return shares * np.where(usable, np.minimum(lost, _MOST_LOST), _MOST_LOST)


def _of_sigmoid(values: Array, positive: NDArray[np.bool_], shares: Array) -> Array:
    n_positive, n_others = shares[positive].sum(), shares[~positive].sum()
    # Platt's targets keep the slope finite if all rows are classified correctly
    aims = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_others + 2.0))
    line = sigmoid_line(values, aims, shares, np.log((n_positive + 1.0) / (n_others + 1.0)))
    return _line_losses(line, values, positive.astype(np.float64))


def sigmoid_line(values: Array, aims: Array, shares: Array, offset: float) -> Array:
    """Return the a and b of maximum likelihood of 1 / (1 + exp(-(a f + b))) for values f of size 1.

    Parameters
    ----------
    values, aims, shares : (n_rows,) f, probabilities to approach, and weights
    offset : the b to start from
    """
    line = np.array([0.0, offset])
    now = float(shares @ _line_losses(line, values, aims))
    for _ in range(_STEPS):
        chances = 1.0 / (1.0 + np.exp(-np.clip(line[0] * values + line[1], -_MOST_LOST, _MOST_LOST)))
        pulls, bends = shares * (chances - aims), shares * np.maximum(chances * (1.0 - chances), 1e-12)
        bent = bends * values
        low, mixed, high = float(bent @ values), float(bent.sum()), float(bends.sum())
        least = 1e-10 * (low + high)
        low, high = low + least, high + least
        across, along = float(pulls @ values), float(pulls.sum())
        step = np.array([high * across - mixed * along, low * along - mixed * across])
        step /= low * high - mixed * mixed
        line, now, is_done = _shorter(
            line, step, now, lambda at: float(shares @ _line_losses(at, values, aims))
        )
        if is_done:
            break
    return line


def _line_losses(line: Array, values: Array, aims: Array) -> Array:
    margins = line[0] * values + line[1]
    # log(1 + exp(m)) - t m, without overflow
    losses: Array = np.log1p(np.exp(-np.abs(margins))) + np.maximum(margins, 0.0) - aims * margins
    return losses


def _of_softmax(values: Array, codes: NDArray[Any], shares: Array) -> Array:
    return _softmax_losses(temperature(values, codes, shares), values, codes)


def temperature(values: Array, codes: NDArray[Any], shares: Array) -> float:
    """Return the a of maximum likelihood of softmax(a f) on rows with these weights (Guo et al. 2017)."""
    own, least = values[np.arange(len(values)), codes], values.max(axis=1, keepdims=True)
    known = values - least

    def objective(slope: Array) -> float:
        return float(shares @ _softmax_losses(float(slope[0]), values, codes))

    at = np.zeros(1)
    now = objective(at)
    for _ in range(_STEPS):
        chances = np.exp(at[0] * known)
        chances /= chances.sum(axis=1, keepdims=True)
        mean = (chances * known).sum(axis=1)
        slope = float(shares @ (mean - (own - least[:, 0])))
        curve = float(shares @ ((chances * np.square(known)).sum(axis=1) - np.square(mean)))
        at, now, is_done = _shorter(at, np.array([slope / max(curve, 1e-12)]), now, objective)
        if is_done:
            break
    return float(at[0])


def _softmax_losses(slope: float, values: Array, codes: NDArray[Any]) -> Array:
    least = values.max(axis=1)
    own = values[np.arange(len(values)), codes] - least
    return np.asarray(np.log(np.exp(slope * (values - least[:, None])).sum(axis=1)) - slope * own)


def _shorter(at: Array, step: Array, now: float, objective: Any) -> tuple[Array, float, bool]:
    """Return the Newton step, halved until the objective falls, the objective, and whether it has
    converged.
    """
    for _ in range(_STEPS):
        there = at - step
        found = objective(there)
        if found <= now:
            return there, found, now - found <= _ENOUGH * abs(now)
        step = step / 2.0
    return at, now, True


def by_group(losses: Array, group_keys: NDArray[np.uint64] | None) -> Array:
    """Return the mean loss (..., n_groups) of each group, for losses (..., n_rows); unchanged without groups.

    Rows of a group are alike, so each group counts once where significance is judged.

    Parameters
    ----------
    group_keys : (n_rows,) as in :class:`~distkern.core.types.Block`
    """
    if group_keys is None or not len(group_keys):
        return losses
    _, inverse = np.unique(group_keys, return_inverse=True)
    sums = np.apply_along_axis(lambda each: np.bincount(inverse, weights=each), -1, losses)
    return np.asarray(sums * (sums.shape[-1] / len(group_keys)))


def mean_difference(losses: Array, others: Array) -> tuple[float, float]:
    """Return the mean difference between losses of the same rows, and its standard error."""
    differences = losses - others
    if len(differences) == 1:
        # one group says nothing about the variance
        return float(differences[0]), np.inf
    return float(differences.mean()), float(differences.std() / np.sqrt(len(differences)))
