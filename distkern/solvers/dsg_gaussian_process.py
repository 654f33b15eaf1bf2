"""Gaussian process regression by doubly stochastic gradients (Dai et al. 2014, Section 4 and Appendix D)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.common.choices import Choices
from distkern.common.errors import InputError
from distkern.common.parameters import AUTO, NOTHING, POSITIVE, Parameter, Words, parameter, redeclared
from distkern.features.kernel_choice import GAMMA
from distkern.features.random import SAMPLER, footprint_of_random
from distkern.solvers._dsg.evidence import Posterior, evidence_outline, gamma_of_evidence
from distkern.solvers._dsg.polish import GRAMS
from distkern.solvers._dsg.settings import DSGSettings, DSGState
from distkern.solvers._dsg.unpolished import UnpolishedDSG
from distkern.solvers.base import Measures, Outline, Problem, Steps
from distkern.solvers.measuring import Model
from distkern.solvers.targets import TargetScale, scaled_risk

Array = NDArray[np.float64]

MOST_FEATURES = 4096
#: what the noise is until it is known
_FIRST_NOISE = 0.1


@dataclass(frozen=True)
class GaussianProcessState(DSGState):
    """A state of DSG; after the last stage the mean of the posterior, and

    Attributes
    ----------
    noise : standard deviation of the noise, in that of the prior; NaN before the last stage, as what follows
    nu : noise^2 / n
    spread : (n_features, n_features), D: the variance of f(x) is |z(x)' D|^2; (0, 0) before the last stage
    evidence : log of the marginal likelihood of the scaled targets
    """

    noise: float = math.nan
    nu: float = math.nan
    spread: Array = field(default_factory=lambda: np.zeros((0, 0)))
    evidence: float = math.nan


@dataclass(frozen=True)
class DSGGaussianProcess(UnpolishedDSG):
    """The posterior of a Gaussian process with independent normal noise, over random features.

    y = f(x) + e, f of prior covariance k and e of variance s^2, in units in which the targets have mean 0 and
    variance 1. The mean of f's posterior minimises mean_i 1/2 (f(x_i) - y_i)^2 + nu/2 |f|^2 with nu = s^2 / n
    (the paper's 2 s^2 goes with a sum without the 1/2), so that it is found as in
    :class:`~distkern.solvers.dsg.DSG`. Its variance is k(x, x) - z(x)' A z(x), A = C (C + nu I)^-1 the
    operator of (10), C = mean_i z(x_i) z(x_i)'.

    The paper approaches A by functional gradients as well, in a matrix over two streams of features, which
    takes the square of their number (Appendix D), or by a function for each point that is known in advance.
    Here steps are for the mean alone: a last stage sums C over all rows, and the rest is linear algebra, so
    that mean and operator are exact for the features in use, at any point. The variance is computed as
    nu z' (C + nu I)^-1 z, which is the same where z' z is k(x, x), and cannot be negative.

    A row that weighs w counts as w equal ones. The noise, unless it is given, is that of the largest marginal
    likelihood, which C, Z'y and y'y determine; the width, unless it is given, that of the largest one of the
    kernel itself on a few rows, see :func:`~distkern.solvers._dsg.evidence.gamma_of_evidence`.

    Parameters
    ----------
    nu : s^2 / n, of the ``noise`` or a first guess of it
    those of :class:`~distkern.solvers.dsg.DSG`, but for polishing; at most 4,096 features

    Raises
    ------
    InputError
        If there are more.
    """

    noise: float | None = parameter(
        None,
        POSITIVE,
        NOTHING,
        help="standard deviation of the noise, in that of the targets; none: of the largest marginal "
        "likelihood",
        tried=Choices(0.1, (0.01, 0.03, 0.3)),
    )
    n_features: int = redeclared(DSGSettings, "n_features", 2048)
    block_size: int = redeclared(DSGSettings, "block_size", 256)
    nu: float = 0.0

    # features take the place of the kernel itself: their error, half as large (measured), is the model's
    choices: ClassVar[Mapping[str, Parameter]] = {
        **UnpolishedDSG.choices,
        "gamma": replace(
            GAMMA,
            default=AUTO,
            kinds=(*GAMMA.kinds, Words(AUTO)),
            help=f"{GAMMA.help}; auto: of the largest marginal likelihood of 512 rows, of sparse ones "
            "'scale'",
        ),
        "sampler": replace(SAMPLER, default="quasi_monte_carlo"),
    }
    name = "dsg_gaussian_process"
    cost_of_pass = "a step B (r d + r k), r the features so far; of the last stage n r^2"
    memory = "r^2 numbers with the driver; features are made from seeds"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block_size * self.most_blocks > MOST_FEATURES:
            raise InputError(
                f"the variances are of matrices for at most {MOST_FEATURES} features, not "
                f"{self.block_size * self.most_blocks}",
                where="n_features",
                mend=f"use {MOST_FEATURES} or fewer",
            )

    def state_type(self) -> type[GaussianProcessState]:
        return GaussianProcessState

    def for_rows(self, n_rows: float) -> DSGGaussianProcess:
        """The solver for so many rows, each counted as often as it weighs."""
        return replace(self, nu=(self.noise or _FIRST_NOISE) ** 2 / n_rows)

    def choose_gamma(self, problem: Problem, targets: TargetScale) -> Steps[float]:
        if not self._seeks_gamma:
            return (yield from super().choose_gamma(problem, targets))
        risk = scaled_risk(self.risk, targets.center, targets.scale)
        return (yield from gamma_of_evidence(problem, self.kernel, risk, self.noise))

    def gamma_outline(self, problem: Problem) -> list[Outline]:
        if not self._seeks_gamma:
            return super().gamma_outline(problem)
        return evidence_outline(problem, self.kernel)

    @property
    def _seeks_gamma(self) -> bool:
        return self.kernel.gamma == AUTO and self.kernel.has_gamma

    def strength_at(self, state: DSGState) -> float:
        assert isinstance(state, GaussianProcessState)
        return self.strength if math.isnan(state.nu) else state.nu * self.most_blocks

    def measures(self, state: DSGState) -> Measures:
        assert isinstance(state, GaussianProcessState)
        measures = super().measures(state)
        if math.isnan(state.noise):
            return measures
        more = {"noise": state.noise, "log_marginal_likelihood": state.evidence}
        return replace(measures, extra=measures.extra | more)

    def outline(self, problem: Problem) -> list[Outline]:
        matrix = self.block_size * self.most_blocks, self.block_size * self.most_blocks, 8
        last = GRAMS.outline(problem, footprint_of_random(problem, self.basis(problem, 1.0)))
        held = {"the matrix, its eigenvectors, what they are made with, and D": (5, *matrix)}
        cost = last.step.cost.holding(driver=held)
        return [*super().outline(problem), replace(last, step=replace(last.step, cost=cost))]

    def _completed(self, problem: Problem, state: DSGState) -> Steps[DSGState]:
        if not (state.step and self.finished(state)):
            return state
        assert isinstance(state, GaussianProcessState)
        # those who ask for the names of algorithms do not wait for it
        from scipy.linalg import eigh

        basis = self.basis(problem, state.gamma, state.n_blocks)
        start = Model(basis, np.zeros((basis.size, 1), dtype=basis.dtype), self.risk_at(state))
        (gram,), sums = yield from GRAMS.matrices(problem, start, footprint_of_random(problem, basis))
        gram /= problem.n_rows
        levels, vectors = eigh(gram, overwrite_a=True, check_finite=False)
        n_rows = problem.n_rows * self.risk.mean_weight
        posterior = Posterior(
            np.maximum(levels, 0.0),
            -vectors.T @ sums.mean_gradient[:, 0],
            2.0 * sums.losses / problem.n_rows,
            n_rows,
            self.most_blocks,
        )
        noise = posterior.best_noise() if self.noise is None else self.noise
        nu = noise**2 / n_rows
        shrunk = posterior.levels + nu * self.most_blocks
        coefficients = np.zeros_like(state.coefficients)
        coefficients[: basis.size] = vectors @ (posterior.products / shrunk)[:, None]
        rows = len(GRAMS.strips(basis.size)) * problem.n_rows
        return replace(
            state,
            coefficients=coefficients,
            scale=1.0,
            sweeps=1,
            polish_gap=0.0,
            accesses=state.accesses + rows * problem.n_features,
            accesses_nonzero=state.accesses_nonzero + rows * problem.row_accesses,
            noise=noise,
            nu=nu,
            spread=vectors * np.sqrt(nu / shrunk),
            evidence=posterior.evidence(noise),
        )
