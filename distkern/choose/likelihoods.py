"""Machines over features with their own loss, for several weights of the regulariser.

A machine minimises, over n rows of weights s_i,

    F(w, b) = ridge/2 |w|^2 + sum_i s_i l(w' z(x_i) + b, y_i)

where l is the default loss of :class:`~distkern.NewtonClassifier` and :class:`~distkern.NewtonRegressor`:
logistic for two classes, softmax for more, (f - y)^2 / 2 for real targets. The intercept b is not
regularised, so a large ridge gives the shares of the classes or the mean of the targets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from distkern.choose.machines import SampleRows
from distkern.core.types import Array, Floats

#: a Newton step must promise this share of the objective, and this one of that of the constants; most steps
_TOLERANCE, _OF_CONSTANTS, _MOST_STEPS = 5e-4, 5e-6, 30
#: share of a residual that conjugate gradients leave; most products, and products that ask for a new factor
_LEFT, _MOST_PRODUCTS, _MANY_PRODUCTS = 0.1, 40, 12
#: shares of the mean diagonal that are added to a matrix until it has a factor
_LEAST = (1e-7, 1e-5, 1e-3)
#: a step must reach this share of the promised decrease, or it is shortened by this factor
_DESCENT, _SHORTER, _SHORTEST = 0.1, 0.4, 1e-3
#: rows of a matrix that are weighted at a time
_STRIP = 1024


class Likelihood:
    """The losses of some rows.

    Attributes
    ----------
    weights : (n,) s_i, of mean 1
    group_keys : (n,) as in :class:`~distkern.core.types.Block`, or None
    wanted : (n, k) 0 and 1, k = 1 for two classes; or standardised real targets
    """

    def __init__(self, rows: SampleRows) -> None:
        self.weights, self.group_keys, self.is_real = rows.weights, rows.group_keys, rows.codes is None
        if rows.codes is None:
            self.wanted = np.asarray(rows.targets, dtype=np.float64)
        else:
            n_outputs = rows.targets.shape[1]
            first = 1 if n_outputs == 1 else 0
            self.wanted = (rows.codes[:, None] == np.arange(first, first + n_outputs)).astype(np.float64)

    @property
    def n_outputs(self) -> int:
        """k."""
        return int(self.wanted.shape[1])

    @property
    def constants(self) -> Array:
        """The best constants b (k,): means, or log-odds and logarithms of the shares."""
        mean = (self.weights @ self.wanted) / self.weights.sum()
        if self.is_real:
            return np.asarray(mean)
        # a class without rows has a finite constant
        mean = np.clip(mean, 0.5 / len(self.wanted), 1.0 - 0.5 / len(self.wanted))
        return np.asarray(np.log(mean) - (np.log1p(-mean) if self.n_outputs == 1 else 0.0))

    def losses(self, decisions: Array) -> Array:
        """s_i l_i (n,) of decision values (n, k)."""
        if self.is_real:
            found = 0.5 * np.square(decisions - self.wanted).sum(axis=1)
        elif self.n_outputs == 1:
            found = (np.logaddexp(0.0, decisions) - decisions * self.wanted)[:, 0]
        else:
            found = np.logaddexp.reduce(decisions, axis=1) - (decisions * self.wanted).sum(axis=1)
        return np.asarray(self.weights * found)

    def scores(self, decisions: Array) -> Array:
        """Proper scores (n,) of decision values (n, k): the losses, or squared errors times the weights."""
        return (2.0 if self.is_real else 1.0) * self.losses(decisions)

    def chances(self, decisions: Array) -> Array:
        """Predictions (n, k) of ``wanted``: probabilities, or the decision values of real targets."""
        if self.is_real:
            return decisions
        if self.n_outputs == 1:
            return 1.0 / (1.0 + np.exp(-np.clip(decisions, -700.0, 700.0)))
        found = np.exp(decisions - decisions.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def slopes(self, chances: Array) -> Array:
        """s_i dl/df (n, k)."""
        return np.asarray(self.weights[:, None] * (chances - self.wanted))

    def curvatures(self, chances: Array) -> Array:
        """s_i d2l/df2 (n,), of several outputs the mean times k / (k - 1), as they are coupled."""
        if self.is_real:
            return np.asarray(self.weights)
        k = self.n_outputs
        coupling = k / (k - 1.0) if k > 1 else 1.0
        return np.asarray(self.weights * (chances * (1.0 - chances)).mean(axis=1) * coupling)

    def products(self, chances: Array, directions: Array) -> Array:
        """s_i times the Hessian of each row times its direction (n, k)."""
        if self.is_real:
            return np.asarray(self.weights[:, None] * directions)
        if self.n_outputs > 1:
            directions = directions - (chances * directions).sum(axis=1, keepdims=True)
            return np.asarray(self.weights[:, None] * chances * directions)
        return np.asarray(self.weights[:, None] * chances * (1.0 - chances) * directions)


@dataclass
class RidgePath:
    """Machines over the same features, each found from the coefficients of the one before.

    Attributes
    ----------
    learned, asked : (n, m + 1) features of rows to learn from and of held-out rows, the last one 1, in
        single precision, which products take half the time in
    likelihood : of the rows to learn from
    coefficients : (m + 1, k) of the last machine
    """

    learned: Floats
    asked: Floats
    likelihood: Likelihood
    coefficients: Array = field(init=False)

    def __post_init__(self) -> None:
        self.coefficients = np.zeros((self.learned.shape[1], self.likelihood.n_outputs))
        self.coefficients[-1] = self.likelihood.constants

    def of_first(self, n_features: int) -> RidgePath:
        """Machines over the first features, which depend on the first centres alone: the factor of the
        centres' kernel matrix is triangular."""
        kept = np.r_[:n_features, -1]
        return RidgePath(self.learned[:, kept], self.asked[:, kept], self.likelihood)

    def decisions(self, ridge: float) -> Array:
        """Decision values (n_asked, k) of held-out rows by the machine with this ridge."""
        self._descend(ridge)
        return _times(self.asked, self.coefficients)

    def _descend(self, ridge: float) -> None:
        """Newton's method, with steps by preconditioned conjugate gradients."""
        rows, likelihood, at = self.learned, self.likelihood, self.coefficients
        regulariser = np.full((rows.shape[1], 1), ridge)
        regulariser[-1] = 0.0
        solve: Callable[[Array], Array] | None = None

        def objective(decisions: Array, at: Array) -> float:
            return float(likelihood.losses(decisions).sum()) + 0.5 * float(
                (regulariser * np.square(at)).sum()
            )

        decisions = _times(rows, at)
        now = objective(decisions, at)
        # losses of classes that are nearly apart are tiny, and their last digits choose nothing
        enough = _OF_CONSTANTS * float(
            likelihood.losses(likelihood.constants + np.zeros_like(decisions)).sum()
        )
        for _ in range(_MOST_STEPS):
            chances = likelihood.chances(decisions)
            gradient = _times(rows.T, likelihood.slopes(chances)) + regulariser * at
            if solve is None:
                solve = _inverse(rows, likelihood.curvatures(chances), regulariser[:, 0])

            def product(along: Array, chances: Array = chances) -> Array:
                bent = _times(rows.T, likelihood.products(chances, _times(rows, along)))
                return np.asarray(bent + regulariser * along)

            step, n_products = _conjugate_gradients(product, solve, -gradient)
            promised = -0.5 * float((gradient * step).sum())
            if promised <= max(_TOLERANCE * abs(now), enough):
                break
            if n_products > _MANY_PRODUCTS:
                solve = None
            ahead, length = _times(rows, step), 1.0
            there = objective(decisions + ahead, at + step)
            while there > now - _DESCENT * length * promised and length > _SHORTEST:
                length *= _SHORTER
                there = objective(decisions + length * ahead, at + length * step)
            if there >= now:
                break
            at, decisions, now = at + length * step, decisions + length * ahead, there
        self.coefficients = at


def _times(matrix: Floats, values: Array) -> Array:
    """Their product, in the precision of the matrix."""
    return np.asarray(matrix @ values.astype(matrix.dtype), dtype=np.float64)


def _inverse(rows: Floats, curvatures: Array, regulariser: Array) -> Callable[[Array], Array]:
    """g -> (Z' diag(curvatures) Z + diag(regulariser))^-1 g."""
    from scipy.linalg import LinAlgError, cho_factor

    matrix, roots = np.zeros((rows.shape[1], rows.shape[1])), np.sqrt(curvatures).astype(rows.dtype)
    for start in range(0, len(rows), _STRIP):
        weighted = rows[start : start + _STRIP] * roots[start : start + _STRIP, None]
        matrix += weighted.T @ weighted
    diagonal, mean = np.diag_indices(len(matrix)), float(np.trace(matrix)) / len(matrix)
    matrix[diagonal] += regulariser
    for least in _LEAST:
        # sums of single precision may be rounding in some directions, and the matrix only preconditions
        matrix[diagonal] += least * mean
        try:
            factor, _ = cho_factor(matrix, lower=True)
        except LinAlgError:
            continue
        return partial(_solved, factor)
    scales = 1.0 / matrix.diagonal()
    return lambda right: scales[:, None] * right


def _solved(factor: Array, right: Array) -> Array:
    """The solution (m, k) for a lower triangular factor."""
    from scipy.linalg import cho_solve, get_blas_funcs

    if right.shape[1] > 1:
        return np.asarray(cho_solve((factor, True), right))
    # which for a single vector is several times as fast
    (substitute,) = get_blas_funcs(("trsv",), (factor,))
    forth = substitute(factor, right[:, 0], lower=True)
    return np.asarray(substitute(factor, forth, lower=True, trans=1)[:, None])


def _conjugate_gradients(
    product: Callable[[Array], Array], solve: Callable[[Array], Array], right: Array
) -> tuple[Array, int]:
    """About the solution of H x = right, for all outputs together, and the number of products."""
    found, left = np.zeros_like(right), right
    along = ahead = solve(left)
    first = size = float((left * ahead).sum())
    n_products = 0
    while n_products < _MOST_PRODUCTS and size > _LEFT**2 * first:
        bent = product(along)
        n_products += 1
        curvature = float((along * bent).sum())
        if not curvature > 0.0:
            break
        found = found + (size / curvature) * along
        left = left - (size / curvature) * bent
        ahead = solve(left)
        before, size = size, float((left * ahead).sum())
        along = ahead + (size / before) * along
    return found, n_products
