"""Newton's method over Nystroem, random or linear features as a scikit-learn classifier and regressor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from distkern.estimators.declared import fitted
from distkern.estimators.features import (
    AbstractExplicitClassifier,
    AbstractExplicitEstimator,
    AbstractExplicitRegressor,
)
from distkern.features import AbstractFeatures
from distkern.passes import Extent
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.newton import Newton

if TYPE_CHECKING:
    from distkern.runs.data import TrainingData

_SPOKEN = "conjugate gradients over passes"
#: features of matrices where nothing limits memory: more are 512 MiB each, and a factorisation of minutes
_MOST_OF_MATRICES = 8192


class AbstractNewton(AbstractExplicitEstimator):
    """What the classifier and the regressor share."""

    hessian_: str = fitted('"matrix" or "products"', fact="hessian", read=str)
    coefficients_: NDArray[np.float64] = fitted(
        "(r, n_outputs); of Nystroem features the coefficients of the kernels at ``landmarks_``",
        array="coefficients",
    )

    def feature_choice(self) -> AbstractFeatures:
        return super().feature_choice().spanning()

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        solver, problem = super().problem(data, has_test=has_test)
        chosen = that_fits(cast(Newton, solver), problem)
        self.hessian_ = "products" if chosen.takes_products else "matrix"
        if chosen is solver:
            return solver, problem
        size = chosen.expected_size(problem) - chosen.n_constant
        why = "are large" if self.value("memory_limit") is None else "do not fit the memory limit"
        note = f"matrices of {size:,} features {why}: {_SPOKEN} (hessian=products)"
        return chosen, replace(problem, notes=(*problem.notes, note))

    def stored_params(self) -> dict[str, Any]:
        # of where it was trained: a run that has ended is the same under any other limit
        return super().stored_params() | {"memory_limit": None}

    def _identity(self, data: TrainingData, problem: Problem) -> dict[str, Any]:
        # the limit changes nothing where there are matrices
        limit = self.value("memory_limit") if self.hessian_ == "products" else None
        own = {"hessian": self.hessian_, "memory_limit": limit}
        return super()._identity(data, problem) | own

    def memory_hint(self) -> str:
        hint = super().memory_hint()
        if self.hessian_ == "products" or self.feature_choice().needs_matrix:
            return hint
        return f"{hint}, or {_SPOKEN} instead of matrices (--set hessian=products)"


def that_fits(solver: Newton, problem: Problem) -> Newton:
    """With products where matrices do not fit a process that does everything, or are of more than 8,192
    features, where nothing limits them.

    If neither does, it is a worker that has to fit, and what the driver makes itself.
    """
    from distkern.engine.plan import bytes_alone

    limit = solver.memory_limit
    if solver.hessian != "auto" or solver.features.needs_matrix:
        return solver
    if limit is None:
        is_large = solver.expected_size(problem) - solver.n_constant > _MOST_OF_MATRICES
        return replace(solver, hessian="products") if is_large else solver
    extent = Extent(problem.block_rows, problem.row_bytes)
    ways = (solver, replace(solver, hessian="products"))
    for kind in ("synchronous", "distributed"):
        for way in ways:
            outlines = way.outline(problem)
            made = max(outline.step.cost.driver_bytes for outline in outlines)
            if max(made, bytes_alone(outlines, extent, kind, limit)) <= limit:
                return way
    return solver


class NewtonClassifier(AbstractNewton, AbstractExplicitClassifier, solver=Newton):
    """Linear classifier over features of a kernel, by Newton's method on summed Gram matrices.

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, in few passes, each of which makes the Hessian of
    all rows; or, with more random or linear features than have a matrix in ``memory_limit`` (without one:
    than 8,192), by products with the Hessian, a pass for each step of preconditioned conjugate gradients
    (``hessian="products"``).

    Measured on one core, logistic loss: a9a (32,561 rows), 16,384 random features, nu = 1e-4: products in a
    limit of 512 MiB end after 19 passes, 59 CPU seconds and 315 MiB at an objective of 0.3334 and 14.8 % of
    test errors, matrices after 187 CPU seconds and 3.6 GiB at 0.3343 and 14.8 %; letter (16,000 rows, 26
    classes), as many features, nu = 1e-5, the same limit: 36 passes, 56 CPU seconds, 352 MiB, 8.55 %. For few
    features and many rows matrices, which are of a sample then, are faster: covtype (464,809 rows), 2,048
    features, gamma = 16, nu = 1e-6: 11 passes, 12 CPU seconds (0.4260, 19.3 %), products 19 passes and 52 to
    59 CPU seconds (0.4261, 19.2 %).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> NewtonClassifier(gamma=4.0, n_landmarks=64, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """


class NewtonRegressor(AbstractNewton, AbstractExplicitRegressor, solver=Newton):
    """Linear regressor over features of a kernel, by Newton's method on summed Gram matrices.

    For the square loss that is ridge regression, in one pass. ``nu`` weighs |g|^2 / 2, where
    f = target_center_ + target_scale_ g: it means the same for targets in any unit.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> NewtonRegressor(random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """
