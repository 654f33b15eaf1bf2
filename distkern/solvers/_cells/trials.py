"""Settings of exact machines on rows that are held out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.common.held_out import Keys, keys_of, parts_in_order
from distkern.common.scores import by_group, log_losses
from distkern.common.tiles import release
from distkern.common.types import Array, Block, Floats
from distkern.kernels.base import AbstractTileKernel, Powers
from distkern.losses.classes import SquaredHinge
from distkern.losses.conjugate import AbstractDualLoss
from distkern.maps.mapping import MapChoice, RowMap, as_rows, map_from_arrays, map_to_arrays
from distkern.search.choice import TriedSetting
from distkern.search.machines import Kernel
from distkern.search.machines import SampleRows as LadderRows
from distkern.solvers._cells.buckets import Cut
from distkern.solvers._cells.held_out import folds_of
from distkern.solvers._cells.machine import (
    CellMachine,
    CellSettings,
    predict_cell,
    solve_costs,
    solving_bytes,
)

#: mapped rows, their targets and weights
Rows: TypeAlias = tuple[Floats, Array, "Array | None"]

#: tolerance and most sweeps of the dual solver in trials, which suffice for a ranking
TOLERANCE, MOST_SWEEPS = 0.1, 40


@dataclass(frozen=True)
class CellSetting:
    """A machine: the map in front, the kernel with its width in medians of the distances, and C."""

    map: MapChoice
    kernel: Kernel
    cost: float

    @property
    def kind(self) -> tuple[MapChoice, str]:
        """What is the same for all widths and C."""
        return self.map, self.kernel.name


@dataclass(frozen=True)
class Outcome(TriedSetting[CellSetting]):
    """What a setting achieved, with its map where that was fitted."""

    map: RowMap | None = None


@dataclass(frozen=True)
class MapTrial:
    """One map with some kernels, and all costs with each matrix; ``fitted`` is the map."""

    map: MapChoice
    kernels: tuple[Kernel, ...]
    costs: tuple[float, ...]
    fitted: RowMap | None = None

    @property
    def settings(self) -> list[CellSetting]:
        """In the order of the results."""
        return [CellSetting(self.map, kernel, cost) for kernel, cost in product(self.kernels, self.costs)]


@dataclass(frozen=True)
class Sampled:
    """Shuffled rows of the sample, as an operand; of these the first are learned from.

    Attributes
    ----------
    rows : (n, d), in the order of :func:`~distkern.common.held_out.stratified_order`, with those of one key
        together
    targets : (n, k): -1 and +1, or standardised real numbers
    weights : (n,), those of classes in them
    given_weights : (n,), without those of classes
    group_keys : (n,) as in :class:`~distkern.common.types.Block`
    """

    rows: Floats
    targets: Array
    weights: Array
    loss: AbstractDualLoss
    seed: int
    given_weights: Array
    group_keys: Keys | None = None

    def parts(self, n_learned: int, n_held_out: int) -> tuple[slice, slice]:
        """Rows to learn from and others that are held out, see
        :func:`~distkern.common.held_out.parts_in_order`; the last row where all have one key."""
        keys = keys_of(Block(self.rows, group_keys=self.group_keys))
        learned, held_out = parts_in_order(keys, n_learned, n_held_out)
        return learned, slice(min(held_out.start, len(keys) - 1), len(keys))

    def part(self, numbers: slice, mapping: RowMap) -> Rows:
        """Some of them, mapped."""
        return mapping.apply(self.rows[numbers]), self.targets[numbers], self.weights[numbers]


@dataclass(frozen=True)
class Learning:
    """The operand of :func:`learn_map`: the rows of the sample, and how many are learned from, see
    :func:`~distkern.maps.mapping.as_rows`."""

    sampled: Sampled
    n_rows: int


def learn_map(
    item: MapChoice, _: Iterator[Block], operand: Learning
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A map from the first rows of the sample: its arrays."""
    part = as_rows(operand.sampled.given_weights, operand.n_rows)
    mapping = RowMap.fit(item, operand.sampled.rows[part], operand.sampled.targets[part])
    release()
    return {}, map_to_arrays(mapping)


@dataclass(frozen=True)
class Asking:
    """The operand of :func:`try_sample`: rows of the sample, and how many are learned from and held out."""

    sampled: Sampled
    n_learned: int
    n_held_out: int


def try_sample(
    item: MapTrial, _: Iterator[Block], operand: Asking
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A trial on the sample: a record with the "work" of its settings, and the "losses" of held-out rows,
    (n_settings, n_held_out)."""
    sampled, mapping = operand.sampled, item.fitted
    assert mapping is not None
    parts = sampled.parts(operand.n_learned, operand.n_held_out)
    learned, asked = (sampled.part(part, mapping) for part in parts)
    losses, work = tried(item, mapping, sampled.loss, learned, asked, sampled.seed)
    if sampled.group_keys is not None:
        losses = by_group(losses, sampled.group_keys[parts[1]])
    release()
    return {"work": work.tolist()}, {"losses": losses}


@dataclass(frozen=True)
class Tuning:
    """The operand of :func:`try_cells`.

    Attributes
    ----------
    cut : rows, in their own features, and how they are cut into cells
    map : to the coordinates in which they are cut
    trials : with maps that are fitted
    n_cells : of a bucket that are tried
    """

    cut: Cut
    map: RowMap
    trials: tuple[MapTrial, ...]
    n_cells: int


def try_cells(
    item: tuple[int, int], _: Iterator[Block], operand: Tuning
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The trials on some cells of a bucket, given its number and rows at most.

    Returns
    -------
    a record: the multiplications that each setting took, "work"; and the "losses" of the held-out rows,
    (n_settings, n_held_out). Nothing is held out of cells of one target.
    """
    number, most = item
    cut = operand.cut
    rows, lies = cut.gathered(number, most)
    placed = operand.map.apply(np.asarray(rows.features))
    n_settings = sum(len(trial.settings) for trial in operand.trials)
    losses, work = [np.zeros((n_settings, 0))], np.zeros(n_settings)
    for _leaf, inside, own in cut.tree(placed, number).members(placed):
        assert rows.targets is not None
        if len(losses) <= operand.n_cells and len(np.unique(rows.targets[inside])) > 1:
            some, mine = inside[: cut.cell_rows], (own & lies[inside])[: cut.cell_rows]
            cell = rows.take(some)
            is_out = folds_of(keys_of(cell)) == 0
            if is_out.all() or not (is_out & mine).any():
                continue
            found = [_tried_in_cell(cell, mine, is_out, cut, trial) for trial in operand.trials]
            losses.append(np.vstack([each for each, _ in found]))
            work += np.concatenate([each for _, each in found])
    release()
    return {"work": work.tolist()}, {"losses": np.hstack(losses)}


def _tried_in_cell(
    rows: Block, lies: NDArray[np.bool_], is_out: NDArray[np.bool_], cut: Cut, trial: MapTrial
) -> tuple[Array, Array]:
    risk, mapping = cut.risk, trial.fitted
    assert mapping is not None

    def part(numbers: NDArray[np.intp]) -> Rows:
        some = rows.take(numbers)
        return (
            mapping.apply(np.asarray(some.features)),
            risk.targets(some).astype(np.float64),
            risk.repeats(some),
        )

    learned, held = part(np.flatnonzero(~is_out)), part(np.flatnonzero(is_out & lies))
    losses, work = tried(trial, mapping, cut.loss, learned, held, cut.seed)
    return by_group(losses, None if rows.group_keys is None else rows.group_keys[is_out & lies]), work


def most_learned(n_rows: int) -> int:
    """Rows of so many that are learned from, at most: two thirds."""
    return max(1, 2 * n_rows // 3)


def trial_bytes(
    n_learned: int,
    n_held_out: int,
    n_settings: int,
    n_features: int,
    n_outputs: int,
    n_costs: int,
    *,
    double: bool,
) -> int:
    """What :func:`try_sample` takes, beside the sample and the map."""
    # rows are mapped by a product; values of all costs, and losses of all settings
    rows = 8 * n_features * (n_learned + n_held_out)
    answers = 16 * n_held_out * (n_outputs * n_costs + n_settings)
    return rows + answers + solving_bytes(n_learned, n_features, n_outputs, n_costs, double=double)


def tried(
    trial: MapTrial, mapping: RowMap, loss: AbstractDualLoss, learned: Rows, asked: Rows, seed: int
) -> tuple[Array, Array]:
    """Losses of rows that are asked for, (n_settings, n_asked), and the multiplications of each setting."""
    losses, work, matrices = [], [], Powers()
    for kernel in trial.kernels:
        settings = CellSettings(kernel.over(mapping), loss, 1.0, TOLERANCE, MOST_SWEEPS)
        machines = solve_costs(settings, *learned, seed, trial.costs, matrices=matrices)
        for machine, found in zip(machines, _values_of_all(settings, machines, asked[0]), strict=True):
            losses.append(losses_of(found, *asked[1:]))
            work.append(machine.work + machine.left)
    return np.array(losses).reshape(len(losses), len(asked[1])), np.array(work)


def solved_values(
    kernel: AbstractTileKernel, costs: Sequence[float], learned: LadderRows, asked: LadderRows, *, seed: int
) -> list[Array]:
    """Decision values (n_asked, k) for each C of machines with the loss that cells of classes have."""
    settings = CellSettings(kernel, SquaredHinge(), 1.0, TOLERANCE, MOST_SWEEPS)
    targets = learned.targets.astype(np.float64)
    machines = solve_costs(settings, learned.features, targets, learned.weights, seed, costs)
    values = _values_of_all(settings, machines, asked.features)
    release()
    return values


def _values_of_all(settings: CellSettings, machines: Sequence[CellMachine], asked: Floats) -> list[Array]:
    """Decision values (n_asked, k) of each machine; one tile of kernel values serves all of them."""
    coefficients = np.hstack([machine.coefficients for machine in machines])
    constants = np.hstack([machine.constants for machine in machines])
    values = predict_cell(settings, machines[0].rows, coefficients, constants, asked)
    return np.split(values, len(machines), axis=1)


def codes_of(targets: Array) -> NDArray[Any] | None:
    """The class codes (n,) of targets -1 and +1 (n, k); None of real ones."""
    if not np.isin(targets, (-1.0, 1.0)).all():
        return None
    return np.asarray(targets[:, 0] > 0 if targets.shape[1] == 1 else targets.argmax(axis=1))


def losses_of(values: Array, targets: Array, weights: Array | None) -> Array:
    """(n,), so that their mean is the score: log losses, or squared errors."""
    codes = codes_of(targets)
    if codes is not None:
        return log_losses(values, codes, weights)
    shares = np.ones(len(values)) if weights is None else weights * (len(weights) / weights.sum())
    return np.asarray(shares * np.square(values - targets).sum(axis=1))


def loaded_maps(choices: Sequence[MapChoice], store: Any) -> dict[MapChoice, RowMap]:
    """The maps that :func:`learn_map` has stored."""
    return {choice: map_from_arrays(store.load(number)) for number, choice in enumerate(choices)}
