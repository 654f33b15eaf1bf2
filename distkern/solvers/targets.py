"""Centre and scale of real targets, the unit of regression losses, and offsets of classes.

Offsets are constants that make mean probabilities equal the shares of the classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.types import Array, Block
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.measuring import Model
from distkern.solvers.risk import Risk
from distkern.solvers.sample import SampledModel, sample_of_every_block

#: most points of a summary. Each compression moves the ranks of quantiles by at most 2 / 2^14 of the weight;
#: large data sets are compressed about ten times, fewer targets than this never
_MOST_POINTS = 2**14
#: the distance between deciles 1 and 9 of a standard normal distribution
_DECILES = 2.5631031310892007


@dataclass(frozen=True)
class TargetSummary:
    """Moments and ranks of weighted targets.

    Attributes
    ----------
    weight, mean, spread : sum of w, mean of y, sum of w (y - mean)^2
    least, largest : targets
    points, masses : sorted targets and the weight each represents; all targets if there are few
    """

    weight: float
    mean: float
    spread: float
    least: float
    largest: float
    points: Array
    masses: Array

    @staticmethod
    def of(targets: Array, weights: Array) -> TargetSummary:
        """The summary of targets (n,) with positive weights (n,)."""
        if not len(targets):
            return TargetSummary(0.0, 0.0, 0.0, math.inf, -math.inf, targets, weights)
        weight, first = float(weights.sum()), float(targets[0])
        # relative to the first target, so that a common offset costs no digits
        mean = first + float(weights @ (targets - first)) / weight
        order = np.argsort(targets, kind="stable")
        points, masses = _shortened(targets[order], weights[order])
        return TargetSummary(
            weight,
            mean,
            float(weights @ np.square(targets - mean)),
            float(targets.min()),
            float(targets.max()),
            points,
            masses,
        )

    @staticmethod
    def add(first: TargetSummary, second: TargetSummary) -> TargetSummary:
        """The summary over the targets of both (Chan et al. 1979 for the moments)."""
        if not (first.weight and second.weight):
            return first if first.weight else second
        weight, apart = first.weight + second.weight, second.mean - first.mean
        points = np.concatenate([first.points, second.points])
        order = np.argsort(points, kind="stable")
        points, masses = _shortened(points[order], np.concatenate([first.masses, second.masses])[order])
        return TargetSummary(
            weight,
            first.mean + apart * (second.weight / weight),
            first.spread + second.spread + apart**2 * (first.weight * (second.weight / weight)),
            min(first.least, second.least),
            max(first.largest, second.largest),
            points,
            masses,
        )

    @property
    def variance(self) -> float:
        """Mean of (y - mean)^2; 0 for a constant, whatever the rounding of its mean."""
        return self.spread / self.weight if self.largest > self.least else 0.0

    def quantile(self, level: float) -> float:
        """The least point with a share ``level`` of the weight at or below it."""
        place = np.searchsorted(np.cumsum(self.masses), level * float(self.masses.sum()))
        return float(self.points[min(int(place), len(self.points) - 1)])


def _shortened(points: Array, masses: Array) -> tuple[Array, Array]:
    """Compress to at most 2^14 points: the middle of each run of equal weight represents the run."""
    if len(points) <= _MOST_POINTS:
        return points, masses
    ends = np.cumsum(masses)
    run = np.minimum((ends - masses / 2) * (_MOST_POINTS / ends[-1]), _MOST_POINTS - 1).astype(np.int64)
    starts = np.flatnonzero(np.diff(run, prepend=-1))
    totals = np.add.reduceat(masses, starts)
    middle = np.searchsorted(ends, np.cumsum(totals) - totals / 2)
    return points[np.minimum(middle, len(points) - 1)], totals


def _summary(block: Block, _: None) -> TargetSummary:
    targets = np.asarray(block.targets, dtype=np.float64)
    if block.weights is None:
        return TargetSummary.of(targets, np.ones(len(targets)))
    weights = np.asarray(block.weights, dtype=np.float64)
    return TargetSummary.of(targets[weights > 0], weights[weights > 0])


def _target_pass(problem: Problem, split: str = "train") -> Reduce[TargetSummary]:
    cost = Cost().holding(
        task={"sorted targets": (problem.most_rows + _MOST_POINTS, 64)}, result={"points": (_MOST_POINTS, 16)}
    )
    name = "targets" if split == "train" else "held-out targets"
    return Reduce(name, _summary, TargetSummary.add, split=split, cost=cost)


@dataclass(frozen=True)
class TargetScale:
    """The unit of targets: (y - center) / scale.

    Attributes
    ----------
    center : (n_outputs,), one for each quantile
    scale : > 0
    variances : (2,) of the targets of the training and held-out rows, NaN if there are none
    """

    center: Array
    scale: float
    variances: Array

    @property
    def fields(self) -> dict[str, Any]:
        """The corresponding fields of a state."""
        return {"center": self.center, "target_scale": self.scale, "variances": self.variances}

    @classmethod
    def none(cls, n_outputs: int) -> TargetScale:
        """Centre 0 and scale 1, for targets that are not scaled."""
        return cls(np.zeros(n_outputs), 1.0, np.full(2, math.nan))


def target_scale(problem: Problem, risk: Risk, earlier: TargetSummary | None = None) -> Steps[TargetScale]:
    """Return centre and scale of the targets, from one pass over each split and the ``earlier`` summary.

    The square loss is centred at the mean and scaled by the standard deviation. Other losses are centred at
    the quantiles that minimise them (the median) and scaled by the distance between deciles 1 and 9, divided
    by that of a standard normal distribution. If the deciles are equal the standard deviation is used, and
    for constant targets their modulus, or 1 if that is 0. Classes have scale 1; a loss with probabilities
    centres them where all rows get the shares of the classes, other losses at 0.

    Raises
    ------
    InputError
        If the squares of targets overflow, or the loss has constants that do not suit the scale.
    """
    if not problem.real_targets:
        return replace(TargetScale.none(risk.n_outputs), center=_log_odds(problem, risk))
    summary: TargetSummary = yield _target_pass(problem)
    summary = summary if earlier is None else TargetSummary.add(earlier, summary)
    variances = np.array([summary.variance, math.nan])
    if problem.has_test:
        held_out: TargetSummary = yield _target_pass(problem, "test")
        variances[1] = held_out.variance
    if not math.isfinite(summary.variance):
        raise InputError(
            f"targets from {summary.least:.3g} to {summary.largest:.3g} are too large to be squared",
            where="y",
            hint="divide the targets by a power of ten",
        )
    levels = risk.loss.levels
    center = np.array([summary.mean] if levels is None else [summary.quantile(level) for level in levels])
    if summary.largest == summary.least:
        center[:] = summary.least
    decile_scale = 0.0 if levels is None else (summary.quantile(0.9) - summary.quantile(0.1)) / _DECILES
    scale = decile_scale or math.sqrt(summary.variance) or abs(summary.least) or 1.0
    if summary.variance:
        risk.loss.check_scale(scale)
    return TargetScale(center, scale, variances)


def class_shares(problem: Problem, risk: Risk) -> Array | None:
    """Share of the total weight that each output has as its class, (n_outputs,); None if unknown.

    Shares are clipped to half a row at least, and at most one minus that.
    """
    if not problem.class_shares:
        return None
    totals = np.asarray(problem.class_shares)
    if risk.class_weights is not None:
        totals = totals * risk.class_weights
    shares = totals / totals.sum()
    least = 0.5 / max(problem.n_rows, 1)
    shares = np.clip(shares, least, 1.0 - least)
    found: Array = shares[1:] if risk.n_outputs == 1 else shares
    return found


def _log_odds(problem: Problem, risk: Risk) -> Array:
    shares = class_shares(problem, risk) if risk.loss.has_probabilities else None
    if shares is None:
        return np.zeros(risk.n_outputs)
    if risk.loss.target_kind == "classes":
        logs = np.log(shares)
        return np.asarray(logs - logs.mean())
    return np.log(shares / (1.0 - shares))


def target_outline(problem: Problem) -> list[Outline]:
    """The passes of :func:`target_scale`."""
    if not problem.real_targets:
        return []
    splits = ("train", "test") if problem.has_test else ("train",)
    return [Outline(_target_pass(problem, split), 1) for split in splits]


def scaled_risk(risk: Risk, center: Array, scale: float) -> Risk:
    """The risk for centred and scaled targets, or for classes with centred predictions."""
    if not risk.is_real:
        return replace(risk, center=center) if center.any() else risk
    return replace(risk, loss=risk.loss.scaled(scale), center=center, scale=scale)


def figures_of_targets(state: Any) -> dict[str, float]:
    """Root mean squared and mean absolute errors and R^2 of a state with a :class:`TargetScale`, in the units
    of the targets.
    """
    errors = (state.train_error, math.nan if state.test_error is None else state.test_error)
    figures = {}
    for place, split in enumerate(("train", "test")):
        if math.isnan(state.absolute_errors[place]):
            continue
        figures[f"{split}_rmse"] = math.sqrt(errors[place])
        figures[f"{split}_mae"] = float(state.absolute_errors[place])
        if state.variances[place] > 0:
            figures[f"{split}_r2"] = 1.0 - errors[place] / float(state.variances[place])
    return figures


# -- offsets of classes

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
