"""Gaussian process regression by doubly stochastic gradients (Dai et al. 2014, Section 4 and Appendix D).

The prior has covariance k, the noise variance s^2. The paper, with its misprints corrected (see
:class:`DSGGaussianProcess`), is on the left, our code on the right:

    nu <- s^2 / n                                          DSGGaussianProcess.for_rows
    f <- the steps of Algorithm 1 with                     DSG.stage, of the Growth of dsg.py
        l' = f(x_i) - y_i
    A <- steps of functional gradients to                  DSGGaussianProcess._completed: the eigenvectors of
        C (C + nu I)^-1, C = mean_i z(x_i) z(x_i)'             C, which one pass sums; f is solved with them
    mean <- f(x)                                           FeatureState.coefficients
    variance <- k(x, x) - z(x)' A z(x)                     GaussianProcessState.spread: |z(x)' D|^2

The paper takes s and the width of k as given; here they maximise the marginal likelihood unless they are set
(Posterior.best_noise, gamma_of_evidence).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from distkern.core.choices import Choices
from distkern.core.errors import InputError
from distkern.core.parameters import AUTO, NOTHING, POSITIVE, Parameter, Words, parameter, redeclared
from distkern.core.types import Array, Block
from distkern.maths.features.base import GAMMA, KernelChoice
from distkern.maths.features.random import SAMPLER, footprint_of_random
from distkern.maths.kernels.bandwidth import gamma_from_width, width_from_gamma
from distkern.maths.kernels.base import AbstractKernel, AbstractScaledKernel, AbstractTileKernel
from distkern.passes import Reduce
from distkern.solvers._dsg.polish import GRAMS
from distkern.solvers._dsg.settings import DSGSettings, DSGState
from distkern.solvers.base import Measures, Outline, Problem, Steps
from distkern.solvers.dsg import UnpolishedDSG
from distkern.solvers.measuring import Model
from distkern.solvers.risk import Risk
from distkern.solvers.sample import sample_of, sampling
from distkern.solvers.targets import TargetScale, scaled_risk

MOST_FEATURES = 4096
#: first guess of the noise
_FIRST_NOISE = 0.1


@dataclass(frozen=True, kw_only=True)
class GaussianProcessState(DSGState):
    """A state of DSG; the last one holds the posterior, in fields that are empty or NaN before.

    Attributes
    ----------
    noise : standard deviation of the noise, in units of the prior's
    nu : noise^2 / n
    spread : (n_features, n_features), D: the variance of f(x) is |z(x)' D|^2
    evidence : log of the marginal likelihood of the scaled targets
    """

    noise: float = math.nan
    nu: float = math.nan
    spread: Array = field(default_factory=lambda: np.zeros((0, 0)))
    evidence: float = math.nan


@dataclass(frozen=True)
class DSGGaussianProcess(UnpolishedDSG):
    """The posterior of a Gaussian process with independent normal noise, over random features.

    y = f(x) + e with prior covariance k of f and variance s^2 of e, in units in which the targets have mean 0
    and variance 1. The mean of f's posterior minimises mean_i 1/2 (f(x_i) - y_i)^2 + nu/2 |f|^2 with nu = s^2
    / n (the paper's 2 s^2 belongs to a sum without the 1/2), so it is found as in
    :class:`~distkern.solvers.dsg.DSG`. Its variance is k(x, x) - z(x)' A z(x), with the operator A = C (C +
    nu I)^-1 of (10), C = mean_i z(x_i) z(x_i)'.

    The paper also finds A by functional gradients (Appendix D). Here gradient steps find the mean only, and a
    last stage sums C over all rows, so that mean and operator are exact for the features in use. The variance
    is computed as nu z' (C + nu I)^-1 z, which is equal if z' z = k(x, x) and cannot be negative.

    A row of weight w counts as w equal rows. Unless they are set, noise and width maximise marginal
    likelihoods: the noise over all rows, by C, Z'y and y'y; the width, with the kernel itself, over a few
    rows, see :func:`gamma_of_evidence`.

    Parameters
    ----------
    nu : s^2 / n, from ``noise`` or a first guess
    others : as in :class:`~distkern.solvers.dsg.DSG`, without polishing

    Raises
    ------
    InputError
        If there are more than 4,096 features.
    """

    noise: float | None = parameter(
        None,
        POSITIVE,
        NOTHING,
        help="standard deviation of the noise, relative to that of the targets; none: maximise the marginal "
        "likelihood",
        tried=Choices(0.1, (0.01, 0.03, 0.3)),
    )
    n_features: int = redeclared(DSGSettings, "n_features", 2048)
    block_size: int = redeclared(DSGSettings, "block_size", 256)
    nu: float = 0.0

    # features replace the kernel, and their error, halved by this sampler (measured), is the model's
    choices: ClassVar[Mapping[str, Parameter]] = {
        **UnpolishedDSG.choices,
        "gamma": replace(
            GAMMA,
            default=AUTO,
            kinds=(*GAMMA.kinds, Words(AUTO)),
            help=f"{GAMMA.help}; auto: maximise the marginal likelihood of 512 rows; sparse rows: 'scale'",
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
                f"variances need matrices, for at most {MOST_FEATURES} features, and there are "
                f"{self.block_size * self.most_blocks}",
                where="n_features",
                hint=f"use {MOST_FEATURES} or fewer",
            )

    def state_type(self) -> type[GaussianProcessState]:
        return GaussianProcessState

    def for_rows(self, n_rows: float) -> DSGGaussianProcess:
        """The solver for ``n_rows`` rows, counted by weight."""
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
        return [*super().outline(problem), replace(last, step=last.step.changed(cost=cost))]

    def _completed(self, problem: Problem, state: DSGState) -> Steps[DSGState]:
        if not (state.step and self.finished(state)):
            return state
        assert isinstance(state, GaussianProcessState)
        # slow to import
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
        noise = posterior.best_noise(np.finfo(problem.dtype).eps) if self.noise is None else self.noise
        nu = noise**2 / n_rows
        shrunk = posterior.levels + nu * self.most_blocks
        coefficients = np.zeros_like(state.coefficients)
        coefficients[: basis.size] = vectors @ (posterior.products / shrunk)[:, None]
        rows = len(GRAMS.strips(basis.size)) * problem.n_rows
        return replace(
            state,
            coefficients=coefficients,
            scale=1.0,
            polish_gap=0.0,
            **state.seen(problem, rows),
            noise=noise,
            nu=nu,
            spread=vectors * np.sqrt(nu / shrunk),
            evidence=posterior.evidence(noise),
        )


#: search range of the noise
_NOISES = (1e-3, 3.0)
#: rows of the sample; twice as many took five times as long for widths at most a step away (measured)
_SAMPLE_ROWS = 512
_SAMPLE_BYTES = 16 * 2**20
#: divisors of the width of "scale"
_DIVISORS = tuple(2.0 ** (power / 2) for power in range(-2, 5))


@dataclass(frozen=True)
class Posterior:
    """Sums that determine the posterior, with z' z / J = k for the features z of J blocks.

    Attributes
    ----------
    levels, products : (r,) eigenvalues of mean z z', and mean y z in its eigenvectors
    square : mean y^2
    n_rows, n_blocks : n and J
    """

    levels: Array
    products: Array
    square: float
    n_rows: float
    n_blocks: int

    @classmethod
    def of(cls, matrix: Array, targets: Array, weights: Array) -> Posterior:
        """The posterior for a matrix K of kernel values, targets and weights (n_rows,)."""
        # slow to import
        from scipy.linalg import eigh

        roots, n_rows = np.sqrt(weights), float(weights.sum())
        levels, vectors = eigh(matrix * roots * roots[:, None], overwrite_a=True, check_finite=False)
        levels = np.maximum(levels, 0.0)
        shares = vectors.T @ (roots * targets)
        square = float(weights @ np.square(targets)) / n_rows
        return cls(levels / n_rows, np.sqrt(levels) * shares / n_rows, square, n_rows, 1)

    def evidence(self, noise: float) -> float:
        """log p(y) = -1/2 (y' (K + s^2 I)^-1 y + log det(K + s^2 I) + n log(2 pi)), K = Z Z' / J."""
        variance, n = noise**2, self.n_rows
        shrunk = self.levels + variance / n * self.n_blocks
        residual = self.square - float((self.products**2 / shrunk).sum())
        logarithms = float(np.log(shrunk * (n / self.n_blocks)).sum())
        determinant = logarithms + (n - len(self.levels)) * math.log(variance)
        return -0.5 * (n / variance * residual + determinant + n * math.log(2 * math.pi))

    def best_noise(self, rounding: float = 0.0) -> float:
        """The noise s from 0.001 to 3 that maximises the evidence.

        It is at least the noise at which ``rounding``, a share of the matrix's largest eigenvalue, would
        dominate the evidence and the deviations.
        """
        from scipy.optimize import minimize_scalar

        least = math.sqrt(rounding * float(self.levels.max(initial=0.0)) * self.n_rows / self.n_blocks)
        tried = np.geomspace(min(max(_NOISES[0], least), 0.5 * _NOISES[1]), _NOISES[1], 60)
        place = int(np.argmax([self.evidence(noise) for noise in tried]))
        ends = tried[max(place - 1, 0)], tried[min(place + 1, len(tried) - 1)]
        found = minimize_scalar(
            lambda logarithm: -self.evidence(math.exp(logarithm)), bounds=np.log(ends), method="bounded"
        )
        return math.exp(float(found.x))


def gamma_of_evidence(
    problem: Problem, kernel: KernelChoice, risk: Risk, noise: float | None
) -> Steps[float]:
    """Return the gamma that maximises the marginal likelihood of the targets of about 512 sampled rows.

    log p(y) = -1/2 (y' (K + s^2 I)^-1 y + log det(K + s^2 I) + n log(2 pi)) (Rasmussen and Williams 2006,
    (2.30)), with the kernel itself, because few random features favour wide kernels. The width of "scale" is
    tried with divisors from 1/2 to 4, a factor of sqrt(2) apart, each with its best noise unless the noise is
    set. A row of weight w counts as w equal rows: W^1/2 K W^1/2 and W^1/2 y. Sparse rows, which may have too
    many columns, get the gamma of "scale".
    """
    gamma = yield from _scale(kernel).choose_gamma(problem)
    if problem.is_sparse:
        return gamma
    rows: Block = yield _sampling(problem)
    rows = rows.take(slice(_sample_rows(problem)))
    weights = risk.weights(rows)
    weights = np.ones(rows.n_rows) if weights is None else weights * risk.mean_weight
    assert issubclass(kernel.kind, AbstractScaledKernel)
    width = width_from_gamma(kernel.kind, gamma, problem.n_features)
    targets = risk.targets(rows)[:, 0].astype(np.float64)
    tried: list[tuple[float, float]] = []
    for divisor in _DIVISORS:
        gamma = gamma_from_width(f"scale/{divisor}", kernel.kind, width, problem.n_features)
        matrix = _kernel_matrix(kernel.with_gamma(gamma), np.asarray(rows.features, dtype=np.float64))
        posterior = Posterior.of(matrix, targets, weights)
        tried.append((posterior.evidence(noise or posterior.best_noise()), gamma))
    return max(tried)[1]


def evidence_outline(problem: Problem, kernel: KernelChoice) -> list[Outline]:
    """The passes of :func:`gamma_of_evidence`."""
    sampling = [] if problem.is_sparse else [Outline(_sampling(problem))]
    return [*_scale(kernel).outline(problem), *sampling]


def _scale(kernel: KernelChoice) -> KernelChoice:
    return replace(kernel, gamma="scale")


def _sample_rows(problem: Problem) -> int:
    return max(1, min(_SAMPLE_ROWS, _SAMPLE_BYTES // (8 * problem.n_features)))


def _sampling(problem: Problem) -> Reduce[Block]:
    n_rows = _sample_rows(problem)
    sample = sample_of(problem, n_rows)
    n_bytes = sample.rows_per_block * len(sample.blocks) * (problem.row_bytes + 16)
    # the rows in float64, as landmarks and shifted; K, its factors, and its eigenvectors
    driver_bytes = 2 * n_bytes + 5 * 8 * n_rows * problem.n_features + 8 * 8 * n_rows**2
    return sampling("sample for the width", problem, sample, driver_bytes)


def _kernel_matrix(kernel: AbstractKernel, rows: Array) -> Array:
    """Return k between all rows (n_rows, n_features), (n_rows, n_rows)."""
    if not isinstance(kernel, AbstractTileKernel) or kernel.is_compiled:
        return kernel.closed_form(rows, rows)
    matrix = np.empty((len(rows), len(rows)))
    kernel.prepare(rows).scores(rows, matrix)
    kernel.finish(matrix)
    return matrix
