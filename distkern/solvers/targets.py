"""Centre and scale of real targets, the unit of regression losses."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.types import Array, Block
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.risk import Risk

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
