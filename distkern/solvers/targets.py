"""Centre and scale of real targets, by which the losses of regressors are measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from distkern.core.errors import InputError
from distkern.core.types import Array, Block
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.risk import Risk

#: most points of a summary. Each shortening moves the ranks of quantiles by at most 2 / 2^14 of the weight;
#: large data sets shorten about ten times, fewer targets than these never
_MOST_POINTS = 2**14
#: the spread of normal numbers between their deciles 1 and 9
_DECILES = 2.5631031310892007


@dataclass(frozen=True)
class TargetSummary:
    """Moments and ranks of weighted targets.

    Attributes
    ----------
    weight, mean, spread : sum of w, mean of y, sum of w (y - mean)^2
    least, largest : targets
    points, masses : sorted targets that stand for ``masses`` of the weight; all of them, if there are few
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
        """The summary of targets (n,) with weights (n,), none of which is zero."""
        if not len(targets):
            return TargetSummary(0.0, 0.0, 0.0, math.inf, -math.inf, targets, weights)
        weight, first = float(weights.sum()), float(targets[0])
        # relative to one of them, so that a common offset costs no digits
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
        """The summary of the targets of both summaries (Chan et al. 1979 for the moments)."""
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
        """The least point that a share ``level`` of the weight does not exceed."""
        place = np.searchsorted(np.cumsum(self.masses), level * float(self.masses.sum()))
        return float(self.points[min(int(place), len(self.points) - 1)])


def _shortened(points: Array, masses: Array) -> tuple[Array, Array]:
    """At most 2^14 sorted points: in a run of equal weight, the middle one stands for all."""
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
    center : (n_outputs,); quantiles have one each
    scale : > 0
    variances : (2,) of the targets of the training and of the held-out rows; NaN where there are none
    """

    center: Array
    scale: float
    variances: Array

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a state that hold it."""
        return {"center": self.center, "target_scale": self.scale, "variances": self.variances}

    @classmethod
    def none(cls, n_outputs: int) -> TargetScale:
        """Centre 0 and scale 1, for targets that are not scaled."""
        return cls(np.zeros(n_outputs), 1.0, np.full(2, math.nan))


def target_scale(problem: Problem, risk: Risk, earlier: TargetSummary | None = None) -> Steps[TargetScale]:
    """Centre and scale of a problem with real targets, from one pass over each split, and what is known of
    ``earlier`` targets.

    The square loss is centred at the mean and scaled by the standard deviation, others at the quantiles that
    minimise them (the median) and by the spread between deciles 1 and 9, divided by that of a normal
    distribution of variance 1. Where eight in ten targets are equal the standard deviation is taken, and
    where all are equal their modulus, or 1 if that is 0. Classes have the scale 1, and the centre at which a
    loss with probabilities gives all rows the shares of the classes; others 0.

    Raises
    ------
    InputError
        If the squares of targets are not finite, or the loss has constants that do not suit the scale.
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
            f"targets from {summary.least:.3g} to {summary.largest:.3g} are too large for their squares to "
            "be numbers",
            where="y",
            hint="divide them by a power of ten",
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
    """Share of the weight of all rows that each output has as its class, (n_outputs,); None if not known.

    It is half a row at least, and leaves as much to the others.
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


class Scaled(Protocol):
    """A state with a :class:`TargetScale` and errors of the training and of the held-out rows."""

    @property
    def center(self) -> Array: ...
    @property
    def target_scale(self) -> float: ...
    @property
    def variances(self) -> Array: ...
    @property
    def train_error(self) -> float: ...
    @property
    def test_error(self) -> float | None: ...
    @property
    def absolute_errors(self) -> Array: ...


def scaled_risk(risk: Risk, center: Array, scale: float) -> Risk:
    """The risk of targets that are centred and scaled, or of classes whose predictions are centred."""
    if not risk.is_real:
        return replace(risk, center=center) if center.any() else risk
    return replace(risk, loss=risk.loss.scaled(scale), center=center, scale=scale)


def figures_of_targets(state: Scaled) -> dict[str, float]:
    """Root mean squared and mean absolute errors and R^2 of a state, in the units of the targets."""
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
