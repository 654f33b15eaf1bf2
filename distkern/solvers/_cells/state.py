"""What a run of machines in cells knows after a stage, and what of it is told."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from distkern.choose.machines import Kernel
from distkern.choose.rungs import KERNELS
from distkern.core.types import Array
from distkern.maths.kernels import find_kernel
from distkern.maths.kernels.bandwidth import width_from_gamma
from distkern.maths.kernels.base import AbstractScaledKernel
from distkern.maths.maps.metric import METRICS
from distkern.solvers._cells.place import Places, places_from_arrays


@dataclass(frozen=True)
class Settled:
    """What the machines have in common: their kernel's number among those that are tried, gamma and C."""

    kernel: int
    gamma: float
    cost: float


@dataclass(frozen=True)
class CellsState:
    """The state after a stage.

    Attributes
    ----------
    stage : 0 sampled, 1 moved, 2 solved
    center, target_scale, variances : see :class:`~distkern.solvers.targets.TargetScale`
    kernel : its number among those that are tried
    gamma : of the kernel, over the coordinates
    cost : C
    transform ... bucket_of_leaf : of the :class:`Places`
    metric : the number of its kind
    search_score : see :class:`~distkern.solvers._cells.choosing.Chosen`
    rows_of_bucket : (n_buckets,), at most
    machines : (n_buckets, 32) fingerprints of the buckets' machines
    bucket_bytes : of the largest one's
    regulariser : |w|^2 / (2 C n) for n rows, summed over the cells
    gap : at least what the objective is above its minimum, by the duality gaps of all machines
    held_out : (2,) score of the machines on rows that they have not seen, and its standard error: log loss,
        or squared error in squared units of the target; NaN where it is not measured
    sigmoids : (n_outputs, 3), see :class:`~distkern.solvers._cells.calibrating.Sigmoids`
    """

    stage: int
    objective: float
    train_error: float
    test_error: float | None
    absolute_errors: Array
    center: Array
    target_scale: float
    variances: Array
    kernel: int
    gamma: float
    cost: float
    transform: NDArray[np.int64]
    shift: Array
    factor: Array
    quantiles: Array
    factors: Array
    width: Array
    column_variances: Array
    directions: NDArray[np.float32]
    thresholds: NDArray[np.float32]
    margins: NDArray[np.float32]
    children: NDArray[np.int32]
    bucket_of_leaf: NDArray[np.int32]
    rows_of_bucket: NDArray[np.int64]
    machines: NDArray[np.uint8]
    search_score: float = math.nan
    metric: int = 0
    bucket_bytes: int = 0
    regulariser: float = 0.0
    model_size: int = 0
    n_cells: int = 0
    n_unsolved: int = 0
    gap: float = 0.0
    held_out: Array = field(default_factory=lambda: np.full(2, math.nan))
    sigmoids: Array = field(default_factory=lambda: np.zeros((0, 3)))

    @property
    def places(self) -> Places:
        """Where a row lies."""
        return places_from_arrays(vars(self))

    @property
    def settled(self) -> Settled:
        """The values chosen so far."""
        return Settled(self.kernel, self.gamma, self.cost)


_FORMULAS = dict(zip(KERNELS, ("exp(-g|x-y|)", "exp(-g|x-y|^2)", "exp(-g|x-y|_1)"), strict=True))


def notes_of(state: CellsState, kernel: Kernel, *, is_real: bool) -> tuple[str, ...]:
    """Lines of at most 80 characters: what was chosen, if anything was searched, and what was solved."""
    solved = (_solved(state),) if state.stage == 2 else ()
    if math.isnan(state.search_score):
        return solved
    mapping, kind = state.places.map, find_kernel(kernel.name)
    assert issubclass(kind, AbstractScaledKernel)
    width = width_from_gamma(kind, state.gamma, len(mapping.factors)) / mapping.width
    transform = {"none": "unscaled"}.get(mapping.transform.kind, mapping.transform.kind)
    metric = f"{METRICS[state.metric]} metric" if state.metric else "no metric"
    formula = _FORMULAS.get(replace(kernel, width=1.0), kernel.name)
    notes = [f"chosen: {transform}, {metric}, {formula}, width {width:.3g} medians, C {state.cost:.3g}"]
    score = f"{100 * state.search_score:.3g} %" if is_real else f"{state.search_score:.3g}"
    name, unit = ("squared error", " of the variance") if is_real else ("log loss", "")
    notes.append(f"held-out {name} {score}{unit}")
    return (*notes, *solved)


def _solved(state: CellsState) -> str:
    if state.n_cells == 1:
        return f"1 cell, with {state.model_size:,} support vectors"
    mean = state.model_size / max(state.n_cells, 1)
    return f"{state.n_cells:,} cells, with {mean:,.0f} support vectors on average"
