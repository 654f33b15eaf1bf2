"""The pass that counts how many rows lie on each side of a split, for the parts that a search makes of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.common.held_out import STIRRED_BYTES, Sides
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog, Listener
from distkern.engine.executors import AbstractExecutor
from distkern.passes import Cost, Reduce
from distkern.storage.dataset import Split
from distkern.storage.part import count_sides, n_classes_of


def counted_sides(
    split: Split, sides: Sides, executor: AbstractExecutor, listeners: tuple[Listener, ...] = ()
) -> NDArray[np.int64]:
    """(n_blocks, n_sides, n_classes) rows of each block by side and class, in one pass over the features."""
    n_classes = n_classes_of(split)
    # a task joins the results of its blocks
    cost = Cost(STIRRED_BYTES).holding(
        task={"rows": (max(split.block_rows), 64)},
        joined={"counts": (split.n_blocks, sides.n_sides, n_classes, 8)},
    )
    step = Reduce("count", count_sides, _joined, (sides, n_classes), cost=cost)
    counts: NDArray[np.int64] = Driver({"train": split}, executor, EventLog(listeners)).measure(step)
    return counts


def _joined(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([first, second])
