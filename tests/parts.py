"""Parts of a split as a search makes them, counted in this process."""

from __future__ import annotations

import numpy as np

from distkern.data.dataset import Split
from distkern.data.part import SplitPart, count_sides, held_out_parts, n_classes_of, sides_of


def parts_of(
    split: Split, validation: float | int, seed: int, share: float = 1.0
) -> list[tuple[SplitPart, SplitPart]]:
    """Rows to learn from and rows that are held out, of each fold."""
    sides = sides_of(split, validation, seed)
    operand = sides, n_classes_of(split)
    counts = [count_sides(split.reader(block)(), operand) for block in range(split.n_blocks)]
    return held_out_parts(split, validation, sides, np.concatenate(counts), share)


def source_rows(split: Split) -> np.ndarray:
    """The place of each row in what the data set was made of."""
    parts = [split.reader(block).source_rows() for block in range(split.n_blocks)]
    return np.concatenate([part for part in parts if part is not None])
