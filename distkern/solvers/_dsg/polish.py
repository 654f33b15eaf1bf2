"""The optimum over a model's random features."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from distkern.core.errors import InputError
from distkern.core.types import Array
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.features.random import footprint_of_random
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.descent import BoundedMetric
from distkern.solvers.gram import Grams, inverted, with_slopes
from distkern.solvers.measuring import Model, gradient_pass
from distkern.solvers.risk import Risk

MOST_EXACT_FEATURES = 8192
_MOST_PASSES = 150
#: relative distance of the objective to its minimum after an exact polish
TOLERANCE = 1e-7
#: share of the predicted decrease that a step must reach, relative rounding of the objective, and the
#: shortest step before falling back to the bound alone
_DESCENT, _ROUNDING, _SHORTEST = 1e-4, 1e-9, 0.05
#: the metric of an exact polish, and the gradient where it starts
GRAMS = Grams(weigh=with_slopes, strip_bytes=128 * 2**20)


def check_polish(polish: str | None, risk: Risk, n_features: int) -> None:
    """Refuse an impossible polish.

    Raises
    ------
    InputError
        If the loss has no curvature, or there are too many features for one matrix.
    """
    if polish is None:
        return
    if not math.isfinite(risk.loss.curvature):
        raise InputError(
            f"{risk.loss.name!r} has a slope that jumps, so Newton steps have no bound",
            where="polish",
            hint="use polish=None, or a smooth loss such as 'squared_hinge', 'logistic' or 'huber'",
        )
    if n_features > MOST_EXACT_FEATURES:
        raise InputError(
            f"supports at most {MOST_EXACT_FEATURES} features, and there are {n_features}",
            where="polish",
            hint="use newton with features='random' and hessian='products', which needs no matrix of them",
        )


def exact_polish(
    problem: Problem, risk: Risk, basis: RandomFeatureBasis, start: Array, strength: float
) -> Steps[tuple[Array, int, float]]:
    """Return the minimiser over all features of the basis of mean s l + strength/2 sum_j |A_j|^2.

    Limited-memory BFGS (Nocedal 1980) in the metric H = c Z^T S Z / n + strength I, which bounds the Hessian:
    the curvature is at most c, for softmax at most c per output. One pass (a few for many features) sums H
    and the first gradient, one more is made per step. A step that does not descend is shortened, then
    replaced by a step with H alone, which does. For the square loss the first step is the solution.

    Returns
    -------
    coefficients, number of passes, and an estimate of (F - min F) / F there: half the last step's decrement
    """
    # workers use coefficients in the dtype of the features, so search among those
    point = start.astype(basis.dtype).astype(np.float64)
    model = Model(basis, point.astype(basis.dtype), risk)
    footprint = footprint_of_random(problem, basis)
    (gram,), sums = yield from GRAMS.matrices(problem, model, footprint)
    gram *= risk.loss.curvature / problem.n_rows
    metric = BoundedMetric(inverted(gram, strength))
    first = len(GRAMS.strips(basis.size))
    tolerance = TOLERANCE if basis.dtype == np.float32 else 0.01 * TOLERANCE
    value, gradient, best, length = math.inf, point, point, 1.0
    direction = np.zeros_like(point)
    for n_passes in range(first, first + _MOST_PASSES):
        if n_passes > first:
            operand = replace(model, coefficients=point.astype(basis.dtype))
            sums = yield gradient_pass(problem, operand, footprint)
        here = sums.losses / problem.n_rows + 0.5 * strength * float(np.einsum("ij,ij->", point, point))
        descent = -length * float(np.einsum("ij,ij->", gradient, direction))
        if here > value - _DESCENT * descent + _ROUNDING * abs(value):
            # a step with the bound alone descends at every length, up to rounding
            if metric.is_plain:
                return best, n_passes, 0.5 * descent / max(value, np.finfo(float).tiny)
            length *= 0.3
            if length < _SHORTEST:
                metric.forget()
                direction, length = -metric.solve(gradient), 1.0
        else:
            before, value, slope = gradient, here, sums.mean_gradient + strength * point
            metric.learn(point - best, slope - before)
            best, gradient, length = point, slope, 1.0
            direction = -metric.solve(gradient)
            decrement = -float(np.einsum("ij,ij->", gradient, direction))
            if risk.loss.is_quadratic:
                return best + direction, n_passes, 0.0
            if 0.5 * decrement <= tolerance * value:
                return best, n_passes, 0.5 * decrement / max(value, np.finfo(float).tiny)
        point = (best + length * direction).astype(basis.dtype).astype(np.float64)
    return best, first + _MOST_PASSES - 1, max(0.5 * decrement / value, 2 * TOLERANCE)


def polish_outline(problem: Problem, risk: Risk, basis: RandomFeatureBasis) -> list[Outline]:
    """The passes of polishing, for the planner."""
    footprint = footprint_of_random(problem, basis)
    steps = [Outline(gradient_pass(problem, None, footprint), _MOST_PASSES / 3)]
    return [GRAMS.outline(problem, footprint), *(() if risk.loss.is_quadratic else steps)]
