"""Trials of settings on rows that are held out, and which of several settings is taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.common.scores import log_losses, mean_difference
from distkern.common.tiles import release
from distkern.common.types import Block, Floats
from distkern.losses.conjugate import AbstractDualLoss
from distkern.losses.square import Square
from distkern.maps.mapping import MapChoice, RowMap, fitting_bytes, map_to_arrays
from distkern.solvers._cells.machine import CellSettings, predict_cell, solve_costs, solving_bytes

Array = NDArray[np.float64]
#: mapped rows, their targets and weights
Rows: TypeAlias = tuple[Floats, Array, "Array | None"]

#: outputs from which on a first trial takes the square loss, which solves all at once
MANY_OUTPUTS = 4
#: of the dual solver: a ranking needs no more, and settings whose sweeps do not get on are not waited for
TOLERANCE, MOST_SWEEPS = 0.1, 40
#: standard errors of a difference that half the work is worth
_WORTH = 0.2


@dataclass(frozen=True)
class KernelSpec:
    """A kernel by name, with the parameters that are not searched."""

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Setting:
    """One point of the search.

    Attributes
    ----------
    map : of the rows
    kernel : with what width in units of the median distance of two mapped rows
    cost : C
    """

    map: MapChoice
    kernel: KernelSpec
    width: float
    cost: float


@dataclass(frozen=True)
class Trial:
    """One map with some kernels and widths, and all costs with each matrix; an item of a rung.

    Without any of these it is to learn the map alone.
    """

    map: MapChoice
    points: tuple[tuple[KernelSpec, float], ...]
    costs: tuple[float, ...]
    n_learned: int = 0
    n_held_out: int = 0
    n_metric: int = 0
    is_first: bool = False
    fitted: RowMap | None = None

    @property
    def settings(self) -> list[Setting]:
        """In the order of the results."""
        pairs = product(self.points, self.costs)
        return [Setting(self.map, spec, width, cost) for (spec, width), cost in pairs]


@dataclass(frozen=True)
class Sampled:
    """The operand of :func:`try_map`: shuffled rows, of which the first are learned from.

    Attributes
    ----------
    rows : (n, d), in the order of :func:`~distkern.common.held_out.stratified_order`, equal ones together
    targets : (n, k): -1 and +1, or standardised real numbers
    weights : (n,)
    """

    rows: Floats
    targets: Array
    weights: Array
    loss: AbstractDualLoss
    seed: int


def try_map(
    item: Trial, _: Iterator[Block], operand: Sampled
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Losses of held-out rows.

    Returns
    -------
    a record: mean losses "scores" and multiplications "work" of the trial's settings; and arrays: "losses"
    (n_settings, n_held_out) and those of the map
    """
    rows, targets, weights, n_learned = operand.rows, operand.targets, operand.weights, item.n_learned
    mapping = RowMap.fit(item.map, rows[: item.n_metric], targets[: item.n_metric])
    learned, asked = (
        (mapping.apply(rows[part]), targets[part], weights[part])
        for part in (slice(n_learned), held_out_slice(rows, n_learned, item.n_held_out))
    )
    loss = operand.loss
    if targets.shape[1] >= MANY_OUTPUTS and item.is_first:
        loss = Square()
    losses, work = tried(item, mapping, loss, learned, asked, operand.seed)
    release()
    record = {"scores": [float(each.mean()) for each in losses], "work": work.tolist()}
    return record, {"losses": losses, **map_to_arrays(mapping)}


def held_out_slice(rows: Floats, n_learned: int, n_held_out: int) -> slice:
    """The last rows, no more than so many, that are not learned from and equal none that are.

    Equal rows follow each other, so those to be left out are the first behind the ones that are learned from.
    """
    first = n_learned
    while 0 < first < len(rows) - 1 and np.array_equal(rows[first], rows[n_learned - 1]):
        first += 1
    return slice(max(first, len(rows) - n_held_out), len(rows))


def trial_bytes(trial: Trial, n_features: int, n_outputs: int, *, quadratic: bool) -> int:
    """What :func:`try_map` takes, beside the sample and the map."""
    fitting = fitting_bytes(trial.map, trial.n_metric, n_features, n_outputs)
    if not trial.points:
        return fitting
    quadratic = quadratic or (trial.is_first and n_outputs >= MANY_OUTPUTS)
    n_learned, n_costs = trial.n_learned, len(trial.costs)
    # rows are mapped by a product; values of all costs, and losses of all settings
    rows = 8 * n_features * (n_learned + trial.n_held_out)
    answers = 16 * trial.n_held_out * (n_outputs * n_costs + len(trial.settings))
    solving = solving_bytes(n_learned, n_features, n_outputs, n_costs, quadratic=quadratic)
    return max(fitting, rows + answers + solving)


def tried(
    trial: Trial, mapping: RowMap, loss: AbstractDualLoss, learned: Rows, asked: Rows, seed: int
) -> tuple[Array, Array]:
    """Losses of rows that are asked for, (n_settings, n_asked), and the multiplications of each setting."""
    losses, work = [], []
    for spec, width in trial.points:
        kernel = mapping.kernel(spec.name, width, **dict(spec.parameters))
        settings = CellSettings(kernel, loss, 1.0, TOLERANCE, MOST_SWEEPS)
        machines = solve_costs(settings, *learned, seed, trial.costs)
        # one tile of kernel values serves all costs
        coefficients = np.hstack([machine.coefficients for machine in machines])
        constants = np.hstack([machine.constants for machine in machines])
        values = predict_cell(settings, machines[0].rows, coefficients, constants, asked[0])
        for machine, found in zip(machines, np.split(values, len(machines), axis=1), strict=True):
            losses.append(losses_of(found, *asked[1:]))
            work.append(machine.work + machine.left)
    return np.array(losses).reshape(len(losses), len(asked[1])), np.array(work)


def losses_of(values: Array, targets: Array, weights: Array | None) -> Array:
    """(n,), so that their mean is the score: log losses, or squared errors."""
    if np.isin(targets, (-1.0, 1.0)).all():
        codes = targets[:, 0] > 0 if targets.shape[1] == 1 else targets.argmax(axis=1)
        return log_losses(values, codes, weights)
    shares = np.ones(len(values)) if weights is None else weights * (len(weights) / weights.sum())
    return np.asarray(shares * np.square(values - targets).sum(axis=1))


def worth_its_work(losses: Array, work: Array) -> int:
    """Of settings with losses (n_settings, n) the one that is worth its work.

    That is the least of how many standard errors it is worse than the best one, and a fifth of one for each
    doubling of the work.
    """
    best = losses[int(losses.mean(axis=1).argmin())]
    mean, error = np.array([mean_difference(each, best) for each in losses]).T
    with np.errstate(divide="ignore", invalid="ignore"):
        worse = np.where(mean > 0, mean / error, 0.0)
    return int(np.argmin(worse + _WORTH * np.log2(np.maximum(work, 1.0))))
