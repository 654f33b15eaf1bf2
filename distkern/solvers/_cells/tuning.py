"""Width and C, tried on whole cells: the rows of a sample are farther apart than those of a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.stores import ArrayStore
from distkern.common.tiles import release
from distkern.common.types import Block
from distkern.solvers._cells.buckets import Solving, fit_tree, gathered
from distkern.solvers._cells.machine import solve_costs
from distkern.solvers._cells.search import fewer_rows
from distkern.solvers._cells.trials import METRIC_ROWS, TOLERANCE, TURNS, least_work, losses_of

Array = NDArray[np.float64]

#: what the gamma and the C that the sample gave are multiplied with
GAMMAS, COSTS = (1 / 3, 1.0, 3.0, 9.0), (1 / 3, 1.0, 3.0)
#: every so manyth row that lies in a cell is held out
_HELD_OUT = 3


@dataclass(frozen=True)
class Tuning:
    """The operand of :func:`try_cell`: machines of these gammas and costs."""

    solving: Solving
    gammas: tuple[float, ...]
    costs: tuple[float, ...]

    @property
    def settings(self) -> list[tuple[float, float]]:
        """In the order of the results."""
        return list(product(self.gammas, self.costs))


def try_cell(
    item: tuple[int, int], _: Iterator[Block], operand: Tuning
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A record: the multiplications that each setting took, "work"; and the losses of held-out rows of a cell
    of a bucket, (n_settings, n_held_out). Nothing is held out of cells of one target.
    """
    solving, number = operand.solving, item[0]
    rows, lies = gathered(solving, *item)
    tree = fit_tree(np.asarray(rows.features), solving, number)
    losses, work = np.zeros((len(operand.settings), 0)), [0.0] * len(operand.settings)
    for _leaf, inside, own in tree.members(np.asarray(rows.features)):
        assert rows.targets is not None
        if len(inside) <= solving.cell_rows and len(np.unique(rows.targets[inside])) > 1:
            losses, work = _tried(rows.take(inside), own & lies[inside], operand)
            break
    release()
    return {"work": work}, {"losses": losses}


def _tried(rows: Block, lies: NDArray[np.bool_], operand: Tuning) -> tuple[Array, list[float]]:
    solving = operand.solving
    risk, settings = solving.risk, solving.settings
    own = np.flatnonzero(lies)
    held_out = own[::_HELD_OUT]
    learned = np.setdiff1d(np.arange(rows.n_rows), held_out)
    most = fewer_rows(METRIC_ROWS, risk.n_outputs)
    some, asked = rows.take(learned[:: -(-len(learned) // most)]), rows.take(held_out)
    targets, weights = risk.targets(some).astype(np.float64), risk.weights(some)
    wanted, importance = risk.targets(asked).astype(np.float64), risk.weights(asked)
    losses, work = [], []
    for gamma in operand.gammas:
        kernel: Any = settings.kernel
        tried = replace(settings, kernel=replace(kernel, gamma=gamma), tolerance=TOLERANCE, turns=TURNS)
        features = np.asarray(some.features)
        for machine in solve_costs(tried, features, targets, weights, solving.seed, operand.costs):
            values = machine.predict(tried, np.asarray(asked.features))
            losses.append(losses_of(values, wanted, importance))
            work.append(machine.work)
    return np.array(losses), work


def best_of(tuning: Tuning, store: ArrayStore, records: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """The gamma and the C of the least losses, or of less work where that is as good; as they were if nothing
    was held out.
    """
    losses = np.hstack([store.load(number)["losses"] for number in range(len(records))])
    if not losses.size:
        settings: Any = tuning.solving.settings
        return settings.kernel.gamma, settings.cost
    work = np.sum([record["work"] for record in records], axis=0)
    return tuning.settings[least_work(losses, work)]
