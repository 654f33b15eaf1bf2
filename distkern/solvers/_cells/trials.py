"""Settings of exact machines on rows that are held out, and which of several is taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.common.held_out import Keys, keys_of
from distkern.common.scores import by_group, log_losses, mean_difference
from distkern.common.tiles import release
from distkern.common.types import Block, Floats
from distkern.losses.conjugate import AbstractDualLoss
from distkern.maps.mapping import MapChoice, RowMap, map_from_arrays, map_to_arrays
from distkern.search.ladder import exact_machines
from distkern.search.machines import Kernel
from distkern.search.machines import Rows as LadderRows
from distkern.solvers._cells.machine import CellSettings, predict_cell, solve_costs, solving_bytes

Array = NDArray[np.float64]
#: mapped rows, their targets and weights
Rows: TypeAlias = tuple[Floats, Array, "Array | None"]

#: of the dual solver: a ranking needs no more, and settings whose sweeps do not get on are not waited for
TOLERANCE, MOST_SWEEPS = 0.1, 40
#: standard errors of a difference that half the work is worth
_WORTH = 0.2


@dataclass(frozen=True)
class Setting:
    """A machine: the map in front, the kernel with its width in medians of the distances, and C."""

    map: MapChoice
    kernel: Kernel
    cost: float

    @property
    def kind(self) -> tuple[MapChoice, str]:
        """What is the same for all widths and C."""
        return self.map, self.kernel.name


@dataclass(frozen=True)
class Trial:
    """One map with some kernels, and all costs with each matrix; ``fitted`` is the map."""

    map: MapChoice
    kernels: tuple[Kernel, ...]
    costs: tuple[float, ...]
    fitted: RowMap | None = None

    @property
    def settings(self) -> list[Setting]:
        """In the order of the results."""
        return [Setting(self.map, kernel, cost) for kernel, cost in product(self.kernels, self.costs)]


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
        """The first rows to learn from, and the last ones, no more than so many, that have other keys.

        Rows of one key follow each other, so those to be left out are the first behind the ones that are
        learned from; where these are all, it is the last of those, unless all rows have one key.
        """
        keys = keys_of(Block(self.rows, group_keys=self.group_keys))
        n_rows = len(keys)
        own = np.flatnonzero(keys == keys[n_learned - 1])
        first = int(own[-1]) + 1
        if first == n_rows:
            first = int(own[0]) or n_rows - 1
            n_learned = int(own[0]) or n_learned
        return slice(n_learned), slice(max(first, n_rows - n_held_out), n_rows)

    def part(self, numbers: slice, mapping: RowMap) -> Rows:
        """Some of them, mapped."""
        return mapping.apply(self.rows[numbers]), self.targets[numbers], self.weights[numbers]


@dataclass(frozen=True)
class Climbing:
    """The operand of :func:`climb_sample`: rows, maps, kernels, whether their widths are searched, and C."""

    sampled: Sampled
    maps: tuple[MapChoice, ...]
    kernels: tuple[Kernel, ...]
    is_wide: bool
    cost: float | None


def climb_sample(
    _: int, __: Iterator[Block], operand: Climbing
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The exact ridge machines of the ladder (:func:`~distkern.search.ladder.exact_machines`) on the sample.

    Returns
    -------
    a record: of the best of each map and kernel, "found", the best first, the places of both among those
    that are tried, "width" and "cost" (C); and the "losses" of held-out rows, (n_settings, n_held_out), in
    that order
    """
    sampled, maps, kernels = operand.sampled, operand.maps, operand.kernels
    codes = codes_of(sampled.targets)
    mean = float(sampled.weights.mean())
    mean = mean if mean > 0 else 1.0
    weights = sampled.weights / mean
    rows = LadderRows(sampled.rows, sampled.targets, codes, weights, sampled.group_keys)
    ridges = None if operand.cost is None else (1.0 / (operand.cost * mean),)
    n_rows = len(rows.features)
    learned, held_out = (np.arange(n_rows)[part] for part in sampled.parts(most_learned(n_rows), n_rows))
    parts = learned, held_out
    found = exact_machines(rows, parts, maps=maps, kernels=kernels, ridges=ridges, is_wide=operand.is_wide)
    release()
    names = [kernel.name for kernel in kernels]
    record = [
        {
            "map": maps.index(one.setting.map),
            "kernel": names.index(one.kernel.name),
            "width": one.kernel.width,
            "cost": 1.0 / (one.setting.ridge * mean),
        }
        for one in found
    ]
    return {"found": record}, {"losses": np.stack([one.losses for one in found])}


@dataclass(frozen=True)
class Learning:
    """The operand of :func:`learn_map`: the rows of the sample, the first of which are learned from."""

    sampled: Sampled
    n_rows: int


def learn_map(
    item: MapChoice, _: Iterator[Block], operand: Learning
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A map from the first rows of the sample: its arrays."""
    part = slice(operand.n_rows)
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
    item: Trial, _: Iterator[Block], operand: Asking
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
    trial: Trial, mapping: RowMap, loss: AbstractDualLoss, learned: Rows, asked: Rows, seed: int
) -> tuple[Array, Array]:
    """Losses of rows that are asked for, (n_settings, n_asked), and the multiplications of each setting."""
    losses, work = [], []
    for kernel in trial.kernels:
        settings = CellSettings(kernel.over(mapping), loss, 1.0, TOLERANCE, MOST_SWEEPS)
        machines = solve_costs(settings, *learned, seed, trial.costs)
        # one tile of kernel values serves all costs
        coefficients = np.hstack([machine.coefficients for machine in machines])
        constants = np.hstack([machine.constants for machine in machines])
        values = predict_cell(settings, machines[0].rows, coefficients, constants, asked[0])
        for machine, found in zip(machines, np.split(values, len(machines), axis=1), strict=True):
            losses.append(losses_of(found, *asked[1:]))
            work.append(machine.work + machine.left)
    return np.array(losses).reshape(len(losses), len(asked[1])), np.array(work)


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


def worth_its_work(losses: Array, work: Array) -> int:
    """The setting that is worth its work, of several with losses (n_settings, n).

    That is the least of how many standard errors it is worse than the best one, and a fifth of one for each
    doubling of the work.
    """
    best = losses[int(losses.mean(axis=1).argmin())]
    mean, error = np.array([mean_difference(each, best) for each in losses]).T
    with np.errstate(divide="ignore", invalid="ignore"):
        worse = np.where(mean > 0, mean / error, 0.0)
    return int(np.argmin(worse + _WORTH * np.log2(np.maximum(work, 1.0))))


def loaded_maps(choices: Sequence[MapChoice], store: Any) -> dict[MapChoice, RowMap]:
    """The maps that :func:`learn_map` has stored."""
    return {choice: map_from_arrays(store.load(number)) for number, choice in enumerate(choices)}
