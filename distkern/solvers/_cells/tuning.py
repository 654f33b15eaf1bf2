"""Settings tried on whole cells of all rows: those of a sample are farther apart than those of a cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.held_out import keys_of
from distkern.common.scores import by_group
from distkern.common.tiles import release
from distkern.common.types import Block
from distkern.maps.mapping import RowMap
from distkern.solvers._cells.buckets import Cut
from distkern.solvers._cells.held_out import folds_of
from distkern.solvers._cells.trials import Rows, Trial, tried

Array = NDArray[np.float64]


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
    trials: tuple[Trial, ...]
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
            found = [_tried(cell, mine, is_out, cut, trial) for trial in operand.trials]
            losses.append(np.vstack([each for each, _ in found]))
            work += np.concatenate([each for _, each in found])
    release()
    return {"work": work.tolist()}, {"losses": np.hstack(losses)}


def _tried(
    rows: Block, lies: NDArray[np.bool_], is_out: NDArray[np.bool_], cut: Cut, trial: Trial
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
