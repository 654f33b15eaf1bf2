"""Limited-memory BFGS in a metric that is factorised once (Nocedal 1980)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from distkern.core.types import Array
from distkern.maths.bases.coordinates import Coordinates
from distkern.solvers.base import Steps
from distkern.solvers.gram import Solve
from distkern.solvers.measuring import Sums

_MEMORY = 20
#: a step must reach this share of the decrease predicted by the slope; relative rounding of objectives
_DESCENT, _ROUNDING = 0.1, 1e-7
#: least and largest factor that shortens a step
_SHORTER = (0.1, 0.6)
_SHORTEST = 1e-3


@dataclass(frozen=True)
class Point:
    """Coefficients (r, k) with the objective and its gradient (r, k) there.

    ``sums`` come from the pass that measured the point, None if an earlier stage made it; ``balance`` (2, k)
    is their :attr:`~distkern.solvers.measuring.Sums.mean_balance`.
    """

    at: Array
    value: float
    gradient: Array
    sums: Sums | None
    balance: Array = field(default_factory=partial(np.zeros, (2, 0)))

    def is_lower_than(self, other: Point, dtype: np.dtype[Any]) -> bool:
        """Whether the objective is lower by more than its rounding, for features of this precision."""
        rounding = _ROUNDING if dtype.itemsize == 4 else 0.0
        return self.value < other.value - rounding * abs(other.value)


def point_of(nu: float, coordinates: Coordinates, at: Array, sums: Sums, gradient: Array) -> Point:
    """Return the point at coefficients ``at`` from a pass's sums and the gradient of the mean loss."""
    metric = coordinates.basis.metric_product(at)
    regulariser = 0.5 * nu * float(np.einsum("ij,ij->", at, metric))
    return Point(at, sums.losses / sums.n_rows + regulariser, gradient + nu * metric, sums, sums.mean_balance)


class BoundedMetric:
    """The inverse Hessian: a bound, corrected by the last steps.

    Parameters
    ----------
    inverse : g -> B g for the bound B
    shift : added to the diagonal of the inverted matrix, as rounding required
    apart : the objective is a sum over outputs, so each output is corrected separately
    """

    def __init__(self, inverse: Solve, shift: float = 0.0, *, apart: bool = False) -> None:
        self._inverse, self.shift, self.apart = inverse, shift, apart
        self._axes = "ij,ij->j" if apart else "ij,ij->"
        self._pairs: list[tuple[Array, Array, Array]] = []

    @property
    def is_plain(self) -> bool:
        """Whether no step corrects the bound."""
        return not self._pairs

    def plain(self, gradient: Array) -> Array:
        """B g, without the corrections."""
        return self._inverse(gradient)

    def decrement(self, gradient: Array) -> float:
        """g . B g / 2: the height above the minimum of a parabola with this gradient and the bound."""
        return 0.5 * _inner(gradient, self._inverse(gradient))

    def forget(self) -> None:
        """Go back to the bound."""
        self._pairs.clear()

    def learn(self, step: Array, change: Array) -> None:
        """Add a step and its gradient change as a correction, unless they show no curvature."""
        bent = np.asarray(np.einsum(self._axes, step, change))
        if np.any(bent > 0):
            weights = np.where(bent > 0, 1.0 / np.where(bent > 0, bent, 1.0), 0.0)
            self._pairs = [*self._pairs, (step, change, weights)][-_MEMORY:]

    def solve(self, gradient: Array) -> Array:
        """The inverse Hessian times the gradient, by the two loops of Nocedal."""
        q, shares = gradient.copy(), []
        for step, change, weights in reversed(self._pairs):
            share = weights * np.einsum(self._axes, step, q)
            q -= share * change
            shares.append(share)
        q = self._inverse(q)
        for (step, change, weights), share in zip(self._pairs, reversed(shares), strict=True):
            q += (share - weights * np.einsum(self._axes, change, q)) * step
        return q


@dataclass(frozen=True)
class Descent:
    """Where the steps ended.

    Attributes
    ----------
    bound : bound of the objective above its minimum at the last point
    steps : steps taken
    passes : passes made; shortening a step takes further ones
    """

    point: Point
    bound: float
    steps: int
    passes: int


def descend(
    measure: Callable[[Array], Steps[Point]],
    start: Point,
    metric: BoundedMetric,
    most: int,
    tolerance: float,
    zero: float,
    decrement: Callable[[Array], float] | None = None,
    bound: Callable[[Point], float] | None = None,
) -> Steps[Descent]:
    """Make at most ``most`` steps, until -g . d / 2 <= ``tolerance`` (``zero`` - f) for the next step d.

    -g . d / 2 is the decrease of a parabola whose Hessian is the metric. A ``decrement`` of gradients must
    also be that small; with a ``bound`` of f - min f at a point, only that. Each step is one pass unless it
    is too long; then shorter ones are tried, at the minimum of the cubic through the values and slopes at
    both ends, and finally steps of the bound alone.
    """
    best, steps, passes = start, 0, 0

    def counted(at: Array) -> Steps[Point]:
        nonlocal passes
        passes += 1
        return (yield from measure(at))

    def is_far() -> bool:
        left = -0.5 * _inner(best.gradient, direction) if bound is None else bound(best)
        if bound is None and decrement is not None:
            left = max(left, decrement(best.gradient))
        return left > tolerance * (zero - best.value)

    direction = -metric.solve(best.gradient)
    while steps < most and (steps == 0 or is_far()):
        tried = yield from low_enough(counted, best, direction, apart=metric.apart)
        if tried is None:
            if metric.is_plain:
                break
            metric.forget()
        else:
            metric.learn(tried.at - best.at, tried.gradient - best.gradient)
            best, steps = tried, steps + 1
        direction = -metric.solve(best.gradient)
    return Descent(best, -0.5 * _inner(best.gradient, direction), steps, passes)


def low_enough(
    measure: Callable[[Array], Steps[Point]], start: Point, direction: Array, *, apart: bool = False
) -> Steps[Point | None]:
    """Return the first point along a direction with enough decrease, or None.

    The full length is tried first, then the minimum of the cubic through the values and slopes at both ends.
    With ``apart`` outputs, only those that went too far are shortened, to the zero of the line through both
    slopes.
    """
    slopes = _inner_of_outputs(start.gradient, direction)
    # corrections may turn a separate output uphill
    lengths = (slopes < 0).astype(float) if apart else np.ones_like(slopes)
    while lengths.any():
        tried = yield from measure(start.at + lengths * direction)
        slope = float(lengths @ slopes)
        if tried.value <= start.value + _DESCENT * slope + _ROUNDING * abs(start.value):
            return tried
        ends = _inner_of_outputs(tried.gradient, direction)
        far = (ends > 0) & (lengths > 0)
        if apart and len(ends) > 1 and far.any() and np.isfinite(ends).all():
            lengths[far] *= np.clip(slopes[far] / (slopes[far] - ends[far]), *_SHORTER)
        else:
            lengths *= _shorter(start.value, tried.value, slope, float(lengths @ ends))
        lengths[lengths < _SHORTEST] = 0.0
    return None


def _inner_of_outputs(left: Array, right: Array) -> Array:
    found: Array = np.einsum("ij,ij->j", left, right)
    return found


def _inner(left: Array, right: Array) -> float:
    return float(np.einsum("ij,ij->", left, right))


def _shorter(start: float, end: float, slope: float, end_slope: float) -> float:
    """The minimum in [0, 1], within bounds, of the cubic with these values and slopes at 0 and 1."""
    if not math.isfinite(end + end_slope):
        return _SHORTER[0]
    both = slope + end_slope - 3.0 * (end - start)
    root = math.sqrt(max(both * both - slope * end_slope, 0.0))
    below = end_slope - slope + 2.0 * root
    place = 1.0 - (end_slope + root - both) / below if below else _SHORTER[1]
    return min(max(place, _SHORTER[0]), _SHORTER[1])
