"""Values learned from the sample of a run, and machines tried on rows before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.choose.machines import SampleRows
from distkern.core.tiles import release
from distkern.core.types import Array, Block, Floats
from distkern.maths.kernels.base import AbstractTileKernel
from distkern.maths.losses.classes import SquaredHinge
from distkern.maths.losses.conjugate import AbstractDualLoss
from distkern.maths.maps.mapping import MapChoice, RowMap, as_rows, map_to_arrays
from distkern.solvers._cells.machine import CellSettings, predict_cell, solve_costs

#: tolerance and most sweeps of the dual solver in trials, which suffice for a ranking
TOLERANCE, MOST_SWEEPS = 0.1, 40


@dataclass(frozen=True)
class MapSample:
    """Shuffled rows of the sample, as an operand.

    Attributes
    ----------
    rows : (n, d), in the order of :func:`~distkern.core.held_out.stratified_order`, with those of one key
        together
    targets : (n, k): -1 and +1, or standardised real numbers
    weights : (n,), those of classes in them
    given_weights : (n,), without those of classes
    group_keys : (n,) as in :class:`~distkern.core.types.Block`
    """

    rows: Floats
    targets: Array
    weights: Array
    loss: AbstractDualLoss
    seed: int
    given_weights: Array
    group_keys: NDArray[np.uint64] | None = None


@dataclass(frozen=True)
class Learning:
    """The operand of :func:`learn_map`: the rows of the sample, and how many are learned from, see
    :func:`~distkern.maths.maps.mapping.as_rows`."""

    sampled: MapSample
    n_rows: int


def learn_map(
    item: MapChoice, _: Iterator[Block], operand: Learning
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A map from the first rows of the sample: its arrays."""
    part = as_rows(operand.sampled.given_weights, operand.n_rows)
    mapping = RowMap.fit(item, operand.sampled.rows[part], operand.sampled.targets[part])
    release()
    return {}, map_to_arrays(mapping)


def solved_values(
    kernel: AbstractTileKernel,
    costs: Sequence[float],
    learned: SampleRows,
    asked: SampleRows,
    *,
    seed: int,
    loss: AbstractDualLoss | None = None,
) -> list[Array]:
    """Decision values (n_asked, k) for each C of machines of classes.

    Parameters
    ----------
    loss : None: the squared hinge, which cells of classes have where none is given
    """
    settings = CellSettings(kernel, loss or SquaredHinge(), 1.0, TOLERANCE, MOST_SWEEPS)
    targets = learned.targets.astype(np.float64)
    machines = solve_costs(settings, learned.features, targets, learned.weights, seed, costs)
    # one tile of kernel values serves all machines
    coefficients = np.hstack([machine.coefficients for machine in machines])
    constants = np.hstack([machine.constants for machine in machines])
    values = predict_cell(settings, machines[0].rows, coefficients, constants, asked.features)
    release()
    return np.split(values, len(machines), axis=1)
