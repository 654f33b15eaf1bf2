"""What a run of machines in cells knows after a stage."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from distkern.solvers._cells.place import Places, places_from_arrays

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Settled:
    """What the machines have in common: their kernel's number among those that are tried, gamma and C."""

    kernel: int
    gamma: float
    cost: float


@dataclass(frozen=True)
class CellsState:
    """What is known after a stage.

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
    width_edge, cost_edge : see :class:`~distkern.solvers._cells.ranking.Ranking.edges`
    rows_of_bucket : (n_buckets,), at most
    machines : (n_buckets, 32) fingerprints of the buckets' machines
    bucket_bytes : of the largest one's
    regulariser : |w|^2 / (2 C n) for n rows, summed over the cells
    gap : at least what the objective is above its minimum, by the duality gaps of all machines
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
    width_edge: int = 0
    cost_edge: int = 0
    bucket_bytes: int = 0
    regulariser: float = 0.0
    model_size: int = 0
    n_cells: int = 0
    n_unsolved: int = 0
    gap: float = 0.0
    sigmoids: Array = field(default_factory=lambda: np.zeros((0, 3)))

    @property
    def places(self) -> Places:
        """Where a row lies."""
        return places_from_arrays(vars(self))

    @property
    def settled(self) -> Settled:
        """What is chosen so far."""
        return Settled(self.kernel, self.gamma, self.cost)
