"""SVRG's passes over all rows, and the metric of its steps: a bound of the Hessian from a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.types import Block
from distkern.features import Footprint
from distkern.passes import Reduce
from distkern.solvers.base import Problem, Steps
from distkern.solvers.explicit import gradient_pass, pass_cost
from distkern.solvers.gram import Grams, Solve, inverted
from distkern.solvers.measuring import Model, Sums, measure_gradient, with_largest
from distkern.solvers.risk import Risk
from distkern.solvers.sample import sample_of

Array = NDArray[np.float64]

_LEAST_SAMPLE = 8192
#: all rows are taken if there are at most so many times those of a sample
_ALL_ROWS = 4
#: sampled rows for each feature: where all directions count alike, the sampled Gram matrix is then at least
#: (1 - 1/sqrt(8))^2 = 0.42 of the true one, so that steps of 1/2 are stable
_ROWS_PER_FEATURE = 8


def sampled_grams(problem: Problem, size: int) -> Grams:
    """The passes over the sample S: about max(8192, 8 r) rows, or all of not more than four times as many."""
    wanted = max(_LEAST_SAMPLE, _ROWS_PER_FEATURE * size)
    if problem.n_rows <= _ALL_ROWS * wanted:
        # rows that no sample foretells cost little then
        wanted = problem.n_rows
    return Grams(sample=sample_of(problem, wanted))


def preconditioner(
    problem: Problem, basis: AbstractBasis, risk: Risk, footprint: Footprint, curvature: float, shift: float
) -> Steps[Solve]:
    """The map by P^-1, P = c Z_S' diag(s) Z_S / |S| + shift I, in float64.

    The Gram matrix is made in strips of columns below the diagonal, each a pass over the sampled rows, and
    inverted (by Cholesky) in its own memory, so that the driver holds one (r, r) matrix and no second one.
    """
    model = Model(basis, np.zeros((basis.size, 0)), risk)
    (gram,), sums = yield from sampled_grams(problem, basis.size).matrices(problem, model, footprint)
    gram *= curvature / sums.n_rows
    return inverted(gram, shift)


def first_snapshot(block: Block, model: Model) -> Sums:
    """The sums, the gradient, and the largest s_i |z(x_i)|^2."""
    return with_largest(measure_gradient(block, model), block, model)


def snapshot_pass(
    problem: Problem, model: Model | None, footprint: Footprint, *, first: bool = False
) -> Reduce[Sums]:
    """The full gradient, the objective and the training error; the ``first`` one finds the largest norm."""
    if not first:
        return gradient_pass(problem, model, footprint, "snapshot")
    return Reduce("first snapshot", first_snapshot, Sums.add, model, cost=pass_cost(problem, footprint, 4))
