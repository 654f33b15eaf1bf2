"""Models found by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.maths.features import AbstractFeatures
from distkern.model.features import ExplicitModel
from distkern.model.fields import fitted
from distkern.model.settings import AbstractSettings, Settings

if TYPE_CHECKING:
    from distkern.solvers.base import Problem
    from distkern.solvers.newton import Newton

_SPOKEN = "conjugate gradients over passes"
#: most features of a matrix without a memory limit: a larger one takes over 512 MiB and minutes to factor
_MOST_OF_MATRICES = 8192


@dataclass(frozen=True, eq=False, kw_only=True)
class NewtonModel(ExplicitModel):
    """A model found by Newton's method."""

    hessian: str = fitted('"matrix" or "products"', fact="hessian", read=str)
    coefficients: NDArray[np.float64] = fitted(
        "(r, n_outputs); for Nystroem features the coefficients of the kernels at ``landmarks_``",
        array="coefficients",
    )

    @classmethod
    def features_of(cls, settings: AbstractSettings) -> AbstractFeatures:
        return super().features_of(settings).spanning()

    @classmethod
    def posed(
        cls, settings: Settings, solver: Any, problem: Problem, mean_weight: float
    ) -> tuple[Settings, Any, Problem]:
        settings, solver, problem = super().posed(settings, solver, problem, mean_weight)
        chosen = fitting_in_memory(solver, problem)
        if chosen is solver:
            return settings, solver, problem
        size = chosen.expected_size(problem) - chosen.n_constant
        why = "are large" if chosen.memory_limit is None else "do not fit the memory limit"
        note = f"matrices of {size:,} features {why}: {_SPOKEN} (hessian=products)"
        return settings, chosen, replace(problem, notes=(*problem.notes, note))

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        hessian = "products" if solver.takes_products else "matrix"
        return super().of_state(settings, solver, state) | {"hessian": hessian}

    @classmethod
    def memory_hint(cls, settings: Settings, solver: Any) -> str:
        hint = super().memory_hint(settings, solver)
        if solver.takes_products or solver.features.needs_matrix:
            return hint
        return f"{hint}, or {_SPOKEN} instead of matrices (--set hessian=products)"


def fitting_in_memory(solver: Newton, problem: Problem) -> Newton:
    """Return the solver with products if matrices do not fit.

    Matrices must fit a process that does everything; without a memory limit they have at most 8,192 features.
    If neither matrices nor products fit, workers and driver are counted separately.
    """
    # a loaded model predicts without these imports
    from distkern.engine.plan import bytes_alone
    from distkern.passes import Extent

    limit = solver.memory_limit
    if solver.hessian != "auto" or solver.features.needs_matrix:
        return solver
    if limit is None:
        is_large = solver.expected_size(problem) - solver.n_constant > _MOST_OF_MATRICES
        return replace(solver, hessian="products") if is_large else solver
    extent = Extent(problem.block_rows, problem.row_bytes)
    solvers = (solver, replace(solver, hessian="products"))
    taken = [0, 0]
    for kind in ("synchronous", "distributed"):
        for number, candidate in enumerate(solvers):
            outlines = candidate.outline(problem)
            made = max(outline.step.cost.driver_bytes for outline in outlines)
            taken[number] = max(made, bytes_alone(outlines, extent, kind, limit))
            if taken[number] <= limit:
                return candidate
    # the run is refused with the memory of the smaller one
    return solvers[taken[1] < taken[0]]
