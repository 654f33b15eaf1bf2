"""Settings tried on whole cells of all rows: those of a sample are farther apart than those of a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from distkern.common.stores import ArrayStore
from distkern.common.tiles import release
from distkern.common.types import Block
from distkern.solvers._cells.buckets import Cut
from distkern.solvers._cells.mapping import CellMap
from distkern.solvers._cells.search import Outcome
from distkern.solvers._cells.trials import Rows, Setting, Trial, tried

Array = NDArray[np.float64]
T = TypeVar("T")

#: every so manyth row that lies in a cell is held out
_HELD_OUT = 5


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
    map: CellMap
    trials: tuple[Trial, ...]
    n_cells: int


def try_cells(
    item: tuple[int, int, int], _: Iterator[Block], operand: Tuning
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A trial on some cells of a bucket, whose number and rows at most come before the trial's number.

    Returns
    -------
    a record: the multiplications that each setting took, "work"; and the "losses" of the held-out rows,
    (n_settings, n_held_out). Nothing is held out of cells of one target.
    """
    number, most, which = item
    cut, trial = operand.cut, operand.trials[which]
    rows, lies, offsets = cut.gathered(number, most)
    placed = operand.map.apply(np.asarray(rows.features))
    losses, work = [np.zeros((len(trial.settings), 0))], np.zeros(len(trial.settings))
    for _leaf, inside, own in cut.tree(placed, number).members(placed):
        assert rows.targets is not None
        if len(losses) <= operand.n_cells and len(np.unique(rows.targets[inside])) > 1:
            some = inside[: cut.cell_rows]
            below = None if offsets is None else offsets[some]
            found = _tried(rows.take(some), (own & lies[inside])[: cut.cell_rows], below, cut, trial)
            losses.append(found[0])
            work += found[1]
    release()
    return {"work": work.tolist()}, {"losses": np.hstack(losses)}


def _tried(
    rows: Block, lies: NDArray[np.bool_], offsets: Array | None, cut: Cut, trial: Trial
) -> tuple[Array, Array]:
    risk, mapping = cut.risk, trial.fitted
    assert mapping is not None
    held_out = np.flatnonzero(lies)[::_HELD_OUT]

    def part(numbers: NDArray[np.intp]) -> Rows:
        some = rows.take(numbers)
        return (
            mapping.apply(np.asarray(some.features)),
            risk.targets(some).astype(np.float64),
            risk.weights(some),
            None if offsets is None else offsets[numbers],
        )

    learned, held = part(np.setdiff1d(np.arange(rows.n_rows), held_out)), part(held_out)
    return tried(trial, mapping, cut.loss, learned, held, cut.seed)


def outcomes_of(
    trials: Sequence[Trial], store: ArrayStore, records: Sequence[dict[str, Any]]
) -> dict[Setting, Outcome]:
    """Of all settings over all cells that were tried, bucket by bucket; none if nothing was held out."""
    found: dict[Setting, Outcome] = {}
    for which, trial in enumerate(trials):
        numbers = range(which, len(records), len(trials))
        losses = np.hstack([store.load(number)["losses"] for number in numbers])
        work = np.sum([records[number]["work"] for number in numbers], axis=0)
        for place, setting in enumerate(trial.settings if losses.size else ()):
            assert trial.fitted is not None
            score = float(losses[place].mean())
            found[setting] = Outcome(
                score, work[place], partial(_same, losses[place]), partial(_same, trial.fitted)
            )
    return found


def _same(found: T) -> T:
    return found
