"""Offsets of classes: constants that make mean probabilities equal the shares of the classes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from distkern.core.types import Array, Block
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Problem, Steps
from distkern.solvers.measuring import Model
from distkern.solvers.risk import Risk
from distkern.solvers.sample import SampledModel, sample_of_every_block
from distkern.solvers.targets import class_shares

#: most scored rows, and most scores over all outputs
_MOST_ROWS, _MOST_SCORES = 2**16, 2**20
#: first index of the streams of drawn rows
_SAMPLE = 12
#: most steps, the longest one, and the gap at which they end, as a share of a class
_STEPS, _LONGEST, _ENOUGH = 100, 2.0, 1e-9


@dataclass(frozen=True)
class Scores:
    """Scores f (n_rows, k), targets (n_rows, k) from 0 to 1, and weights s (n_rows,) of some rows."""

    values: Array
    targets: Array
    weights: Array

    @staticmethod
    def joined(first: Scores, second: Scores) -> Scores:
        """The scores of the rows of both."""
        return Scores(
            np.concatenate([first.values, second.values]),
            np.concatenate([first.targets, second.targets]),
            np.concatenate([first.weights, second.weights]),
        )


def offsets_of_scores(problem: Problem, model: Model, cost: Cost) -> Steps[Array]:
    """Return the shift b, (k,), of a model's predictions that minimises mean_i s_i l(f(x_i) + b, y_i).

    There the mean probabilities of the outputs equal the shares of their classes. Scores come from all rows
    up to 2^16 (fewer with many classes), or from about as many sampled ones.

    Parameters
    ----------
    model : its loss has probabilities
    cost : cost of predicting a block
    """
    found: Scores = yield offsets_pass(problem, model, cost)
    shares = class_shares(problem, model.risk)
    weights = found.weights / found.weights.sum()
    if shares is None or problem.n_rows <= _n_rows(problem):
        shares = weights @ found.targets
        if not np.all((shares > 0.0) & (shares < 1.0)):
            # a class without rows has no best offset
            return np.zeros(len(shares))
    return fitted_offsets(found.values, weights, shares, competing=model.risk.loss.target_kind == "classes")


def offsets_pass(problem: Problem, model: Model | None, cost: Cost) -> Reduce[Scores]:
    """The pass over the scores."""
    sample, outputs = None, problem.n_outputs
    if problem.n_rows > _n_rows(problem):
        sample = sample_of_every_block(problem, _n_rows(problem), _SAMPLE)
    rows = problem.most_rows if sample is None else min(sample.rows_per_block, problem.most_rows)
    n_rows = problem.n_rows if sample is None else min(problem.n_rows, rows * len(problem.block_rows))
    cost = replace(cost, result_bytes=0).holding(
        task={"drawn rows": (0 if sample is None else rows, problem.row_bytes)},
        joined={"scores": (n_rows, 2 * outputs + 1, 8)},
        driver={"probabilities": (n_rows, 3 * outputs, 8)},
    )
    operand = None if model is None else SampledModel(model, sample)
    return Reduce("scores", _scores, Scores.joined, operand, cost=cost)


def _n_rows(problem: Problem) -> int:
    return min(_MOST_ROWS, _MOST_SCORES // problem.n_outputs)


def _scores(block: Block, operand: SampledModel) -> Scores:
    rows, model = operand.rows(block), operand.model
    risk: Risk = model.risk
    parts = [risk.shifted(model.predictions(one.features).astype(np.float64)) for one in model.strips(rows)]
    return Scores(
        np.concatenate(parts) if parts else np.zeros((0, risk.n_outputs)),
        np.maximum(risk.targets(rows).astype(np.float64), 0.0),
        risk.all_weights(rows),
    )


def fitted_offsets(scores: Array, weights: Array, shares: Array, *, competing: bool) -> Array:
    """Return b, (k,), such that mean probabilities of scores + b equal ``shares``, by Newton's method.

    Parameters
    ----------
    scores : (n_rows, k)
    weights : (n_rows,), with sum 1
    shares : (k,)
    competing : the outputs compete (softmax), and b sums to 0; else each has its own probability
    """
    offsets, reach, before = np.zeros(len(shares)), np.full(len(shares), _LONGEST), np.zeros(len(shares))
    for _ in range(_STEPS):
        chances = _chances(scores + offsets, competing=competing)
        gap = weights @ chances - shares
        if np.all(np.abs(gap) <= _ENOUGH * shares):
            break
        bends = np.diag(weights @ chances)
        if competing:
            # a constant shared by all outputs has no curvature
            bends -= (chances.T * weights) @ chances - 1.0 / len(shares)
            step = np.linalg.lstsq(bends, -gap, rcond=None)[0]
        else:
            bend = weights @ (chances * (1.0 - chances))
            step = -gap / np.maximum(bend, np.finfo(float).tiny)
        # steps that reverse were too long
        reach = np.where(step * before < 0, 0.5 * reach, reach)
        before = np.clip(step, -reach, reach)
        offsets = offsets + before
    return np.asarray(offsets - offsets.mean()) if competing else offsets


def _chances(scores: Array, *, competing: bool) -> Array:
    if not competing:
        # no exponent is positive, so nothing overflows
        return np.asarray(np.exp(np.minimum(scores, 0.0)) / (1.0 + np.exp(-np.abs(scores))))
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
