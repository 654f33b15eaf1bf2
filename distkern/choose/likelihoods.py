"""Machines over given features, trained on their own loss for several ridges.

A machine minimises, over n rows with weights s_i,

    F(w, b) = ridge/2 |w|^2 + sum_i s_i l(w' z(x_i) + b, y_i)

where l is the default loss of :class:`~distkern.NewtonClassifier` and :class:`~distkern.NewtonRegressor`:
logistic for two classes, softmax for more, (f - y)^2 / 2 for real targets. The intercept b is not
regularised, so a large ridge yields the class shares or the mean target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from functools import partial

import numpy as np

from distkern.choose.machines import SampleRows
from distkern.core.types import Array, Floats

#: a Newton step must promise these shares of the objective and of the constants' loss
_TOLERANCE, _CONSTANTS_TOLERANCE = 5e-4, 2e-5
_MOST_STEPS = 30
#: conjugate gradients: relative residual, most products, and products that renew the preconditioner
_RESIDUAL, _MOST_PRODUCTS, _MANY_PRODUCTS = 0.1, 40, 12
#: shares of the mean diagonal added to a matrix, in turn, until it has a Cholesky factor
_JITTERS = (1e-7, 1e-5, 1e-3)
#: line search: required share of the promised decrease, factor between steps, and shortest step
_DESCENT, _SHORTER, _SHORTEST = 0.1, 0.4, 1e-3
#: rows weighted at a time
_STRIP = 1024


class Likelihood:
    """The losses of some rows.

    Attributes
    ----------
    weights : (n,) s_i, mean 1
    group_keys : (n,) as in :class:`~distkern.core.types.Block`, or None
    targets : (n, k) 0 and 1, with k = 1 for two classes; or standardised real targets
    """

    def __init__(self, rows: SampleRows) -> None:
        self.weights, self.group_keys, self.is_real = rows.weights, rows.group_keys, rows.codes is None
        if rows.codes is None:
            self.targets = np.asarray(rows.targets, dtype=np.float64)
        else:
            n_outputs = rows.targets.shape[1]
            first = 1 if n_outputs == 1 else 0
            self.targets = (rows.codes[:, None] == np.arange(first, first + n_outputs)).astype(np.float64)

    @property
    def n_outputs(self) -> int:
        """k."""
        return int(self.targets.shape[1])

    @property
    def constants(self) -> Array:
        """The best constants b (k,): means, log-odds, or logarithms of the class shares."""
        mean = (self.weights @ self.targets) / self.weights.sum()
        if self.is_real:
            return np.asarray(mean)
        # keep the constant of a class without rows finite
        mean = np.clip(mean, 0.5 / len(self.targets), 1.0 - 0.5 / len(self.targets))
        return np.asarray(np.log(mean) - (np.log1p(-mean) if self.n_outputs == 1 else 0.0))

    def losses(self, decisions: Array) -> Array:
        """Return s_i l_i (n,) for decision values (n, k)."""
        if self.is_real:
            losses = 0.5 * np.square(decisions - self.targets).sum(axis=1)
        elif self.n_outputs == 1:
            losses = (np.logaddexp(0.0, decisions) - decisions * self.targets)[:, 0]
        else:
            losses = np.logaddexp.reduce(decisions, axis=1) - (decisions * self.targets).sum(axis=1)
        return np.asarray(self.weights * losses)

    def constant_losses(self) -> Array:
        """Return s_i l_i (n,) for the best constants."""
        return self.losses(self.constants + np.zeros_like(self.targets))

    def scores(self, decisions: Array) -> Array:
        """Return proper scores (n,) of decision values (n, k): weighted log losses or squared errors."""
        return (2.0 if self.is_real else 1.0) * self.losses(decisions)

    def predictions(self, decisions: Array) -> Array:
        """Return predicted targets (n, k): probabilities, or the decision values for real targets."""
        if self.is_real:
            return decisions
        if self.n_outputs == 1:
            return 1.0 / (1.0 + np.exp(-np.clip(decisions, -700.0, 700.0)))
        powers = np.exp(decisions - decisions.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def slopes(self, predictions: Array) -> Array:
        """Return s_i dl/df (n, k)."""
        return np.asarray(self.weights[:, None] * (predictions - self.targets))

    def curvatures(self, predictions: Array) -> Array:
        """Return s_i d2l/df2 (n,); for several outputs, their mean times k / (k - 1) for the coupling."""
        if self.is_real:
            return np.asarray(self.weights)
        k = self.n_outputs
        coupling = k / (k - 1.0) if k > 1 else 1.0
        return np.asarray(self.weights * (predictions * (1.0 - predictions)).mean(axis=1) * coupling)

    def hessian_products(self, predictions: Array, directions: Array) -> Array:
        """Return s_i times the Hessian of l_i times the direction of row i, (n, k)."""
        if self.is_real:
            return np.asarray(self.weights[:, None] * directions)
        if self.n_outputs > 1:
            directions = directions - (predictions * directions).sum(axis=1, keepdims=True)
            return np.asarray(self.weights[:, None] * predictions * directions)
        return np.asarray(self.weights[:, None] * predictions * (1.0 - predictions) * directions)


@dataclass
class RidgePath:
    """Machines over the same features for several ridges, each started from the previous coefficients.

    Attributes
    ----------
    train, held_out : (n, m + 1) features, the last one 1; in single precision, which halves the time of
        products
    likelihood : of the training rows
    start : (m' + 1, k) coefficients of a machine over the first m' features or over more, the intercept last;
        the first ridge starts from them. None: from the constants
    coefficients : (m + 1, k) of the last machine
    """

    train: Floats
    held_out: Floats
    likelihood: Likelihood
    start: InitVar[Array | None] = None
    coefficients: Array = field(init=False)
    _gram: Array | None = field(init=False, default=None, repr=False)

    def __post_init__(self, start: Array | None) -> None:
        self.coefficients = np.zeros((self.train.shape[1], self.likelihood.n_outputs))
        if start is None:
            self.coefficients[-1] = self.likelihood.constants
        else:
            n_shared = min(len(start), len(self.coefficients)) - 1
            self.coefficients[:n_shared], self.coefficients[-1] = start[:n_shared], start[-1]

    @property
    def n_functions(self) -> int:
        """m."""
        return int(self.train.shape[1]) - 1

    def over_first(self, n_functions: int) -> RidgePath:
        """Return a path that uses only the first features.

        They are the features that the first centres alone would have, since the factor of the centres' kernel
        matrix is triangular.
        """
        kept = np.r_[:n_functions, -1]
        return RidgePath(self.train[:, kept], self.held_out[:, kept], self.likelihood, self.coefficients)

    def decisions(self, ridge: float) -> Array:
        """Train with a ridge and return the decision values (n_held_out, k) of the held-out rows."""
        self._train(ridge)
        return _times(self.held_out, self.coefficients)

    def _train(self, ridge: float) -> None:
        """Minimise F by Newton's method with preconditioned conjugate gradients."""
        rows, likelihood, coefficients = self.train, self.likelihood, self.coefficients
        regulariser = np.full((rows.shape[1], 1), ridge)
        regulariser[-1] = 0.0
        # curvatures differ little between ridges, and a preconditioner need not be exact
        gram, precondition = self._gram, None

        def objective(decisions: Array, coefficients: Array) -> float:
            penalty = 0.5 * float((regulariser * np.square(coefficients)).sum())
            return float(likelihood.losses(decisions).sum()) + penalty

        decisions = _times(rows, coefficients)
        value = objective(decisions, coefficients)
        # where classes are nearly separable, losses are tiny and their last digits decide nothing
        least_decrease = _CONSTANTS_TOLERANCE * float(likelihood.constant_losses().sum())
        for _ in range(_MOST_STEPS):
            predictions = likelihood.predictions(decisions)
            gradient = _times(rows.T, likelihood.slopes(predictions)) + regulariser * coefficients
            if gram is None:
                self._gram = gram = _weighted_gram(rows, likelihood.curvatures(predictions))
                precondition = None
            if precondition is None:
                precondition = _inverse(gram, regulariser[:, 0])

            def product(direction: Array, predictions: Array = predictions) -> Array:
                curved = likelihood.hessian_products(predictions, _times(rows, direction))
                return np.asarray(_times(rows.T, curved) + regulariser * direction)

            step, n_products = _conjugate_gradients(product, precondition, -gradient)
            promised = -0.5 * float((gradient * step).sum())
            if promised <= max(_TOLERANCE * abs(value), least_decrease):
                break
            if n_products > _MANY_PRODUCTS:
                gram = None
            change, length = _times(rows, step), 1.0
            reached = objective(decisions + change, coefficients + step)
            while reached > value - _DESCENT * length * promised and length > _SHORTEST:
                length *= _SHORTER
                reached = objective(decisions + length * change, coefficients + length * step)
            if reached >= value:
                break
            coefficients, decisions = coefficients + length * step, decisions + length * change
            value = reached
        self.coefficients = coefficients


def _times(matrix: Floats, values: Array) -> Array:
    """Return the product, computed in the precision of the matrix."""
    n_rows, n_columns = values.shape
    # BLAS multiplies a multiple of four columns faster than a few less
    width = -(-n_columns // 4) * 4 if n_columns > 2 else n_columns
    padded = np.zeros((n_rows, width), dtype=matrix.dtype)
    padded[:, :n_columns] = values
    return np.asarray((matrix @ padded)[:, :n_columns], dtype=np.float64)


def _weighted_gram(rows: Floats, curvatures: Array) -> Array:
    """Return Z' diag(curvatures) Z."""
    gram, roots = np.zeros((rows.shape[1], rows.shape[1])), np.sqrt(curvatures).astype(rows.dtype)
    for start in range(0, len(rows), _STRIP):
        weighted = rows[start : start + _STRIP] * roots[start : start + _STRIP, None]
        gram += weighted.T @ weighted
    return gram


def _inverse(gram: Array, regulariser: Array) -> Callable[[Array], Array]:
    """Return the function g -> (gram + diag(regulariser))^-1 g."""
    from scipy.linalg import LinAlgError, cho_factor

    mean = float(np.trace(gram)) / len(gram)
    for jitter in _JITTERS:
        # the transpose is the same matrix in LAPACK's order, which is factorised in place
        matrix = gram.T.copy(order="K")
        # single-precision sums can be indefinite by rounding
        matrix[np.diag_indices(len(gram))] += regulariser + jitter * mean
        try:
            factor, _ = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return partial(_solve, factor)
    scales = 1.0 / (gram.diagonal() + regulariser + _JITTERS[-1] * mean)
    return lambda right: scales[:, None] * right


def _solve(factor: Array, right: Array) -> Array:
    """Solve L L' x = right (m, k) for a lower triangular factor L."""
    from scipy.linalg import cho_solve, get_blas_funcs

    if right.shape[1] > 1:
        return np.asarray(cho_solve((factor, True), right, check_finite=False))
    # trsv is several times as fast for a single vector
    (substitute,) = get_blas_funcs(("trsv",), (factor,))
    forward = substitute(factor, right[:, 0], lower=True)
    return np.asarray(substitute(factor, forward, lower=True, trans=1)[:, None])


def _conjugate_gradients(
    product: Callable[[Array], Array], precondition: Callable[[Array], Array], right: Array
) -> tuple[Array, int]:
    """Solve H x = right approximately, for all outputs together; return x and the number of products."""
    solution, residual = np.zeros_like(right), right
    direction = preconditioned = precondition(residual)
    first = size = float((residual * preconditioned).sum())
    n_products = 0
    while n_products < _MOST_PRODUCTS and size > _RESIDUAL**2 * first:
        curved = product(direction)
        n_products += 1
        curvature = float((direction * curved).sum())
        if not curvature > 0.0:
            break
        solution = solution + (size / curvature) * direction
        residual = residual - (size / curvature) * curved
        preconditioned = precondition(residual)
        previous, size = size, float((residual * preconditioned).sum())
        direction = preconditioned + (size / previous) * direction
    return solution, n_products
