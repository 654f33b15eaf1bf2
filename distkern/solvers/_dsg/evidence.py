"""The marginal likelihood of a Gaussian process, and what it says of the noise and of the kernel's width."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distkern.common.types import Block
from distkern.features.kernel_choice import KernelChoice
from distkern.kernels.bandwidth import gamma_from_width, width_from_gamma
from distkern.kernels.base import AbstractKernel, AbstractScaledKernel, AbstractTileKernel
from distkern.passes import Reduce
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.risk import Risk
from distkern.solvers.sample import sample_of, sampling

Array = NDArray[np.float64]

#: between which values the noise is looked for
_NOISES = (1e-3, 3.0)
#: rows of the sample: twice as many took five times as long and chose widths at most a step away (measured)
_SAMPLE_ROWS = 512
_SAMPLE_BYTES = 16 * 2**20
#: divisors of the width of "scale"
_DIVISORS = tuple(2.0 ** (power / 2) for power in range(-2, 5))


@dataclass(frozen=True)
class Posterior:
    """What is left of the rows once z' z is summed over them: of features z of J blocks, z' z / J is k.

    Attributes
    ----------
    levels, products : (r,) eigenvalues of mean z z', and mean y z in the directions of its eigenvectors
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
        """The posterior for a matrix K of kernel values, targets (n_rows,) and how often each row counts."""
        # those who ask for the names of algorithms do not wait for it
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

    def best_noise(self) -> float:
        """The noise s from 0.001 to 3 at which the evidence is largest."""
        from scipy.optimize import minimize_scalar

        tried = np.geomspace(*_NOISES, 60)
        place = int(np.argmax([self.evidence(noise) for noise in tried]))
        ends = tried[max(place - 1, 0)], tried[min(place + 1, len(tried) - 1)]
        found = minimize_scalar(
            lambda logarithm: -self.evidence(math.exp(logarithm)), bounds=np.log(ends), method="bounded"
        )
        return math.exp(float(found.x))


def gamma_of_evidence(
    problem: Problem, kernel: KernelChoice, risk: Risk, noise: float | None
) -> Steps[float]:
    """The gamma of the largest marginal likelihood of the targets of about 512 rows, which are drawn.

    log p(y) = -1/2 (y' (K + s^2 I)^-1 y + log det(K + s^2 I) + n log(2 pi)) (Rasmussen and Williams 2006,
    (2.30)), of the kernel itself: random features, where they are few, prefer wide kernels, which they come
    closer to. Tried are the width of "scale" and some with divisors from 1/2 to 4, a factor of sqrt(2) apart,
    each with the noise that suits it best unless that is given; the eigenvectors of K serve for all noises.
    A row that weighs w counts as w equal ones, of which K' = W^1/2 K W^1/2 and W^1/2 y are left.
    For sparse rows, which may have too many columns for it, gamma is that of "scale".
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
    # the rows in float64, as landmarks and shifted; K, what it is made from, and its eigenvectors
    driver_bytes = 2 * n_bytes + 5 * 8 * n_rows * problem.n_features + 8 * 8 * n_rows**2
    return sampling("sample for the width", problem, sample, driver_bytes)


def _kernel_matrix(kernel: AbstractKernel, rows: Array) -> Array:
    """k between all rows (n_rows, n_features), (n_rows, n_rows)."""
    if not isinstance(kernel, AbstractTileKernel) or kernel.is_compiled:
        return kernel.closed_form(rows, rows)
    matrix = np.empty((len(rows), len(rows)))
    kernel.prepare(rows).scores(rows, matrix)
    kernel.finish(matrix)
    return matrix
