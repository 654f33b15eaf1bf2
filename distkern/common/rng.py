"""Counter-based random streams: a pure function of the seed and of what the numbers are for."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a stream is used for: streams of different purposes are independent."""

    VISIT_ORDER = 1
    ROW_ORDER = 2
    LANDMARKS = 3
    SAMPLE = 4
    OPTION_II = 5
    SHUFFLE = 6
    TEST_SPLIT = 7
    GENERATE = 8
    VALIDATION = 9
    ROW_DRAWS = 10
    COLUMN_DRAWS = 11
    IMPORTANCE = 12


def stream(seed: int, purpose: Purpose, *index: int) -> np.random.Generator:
    """Philox generator for ``(seed, purpose, index...)``: the same numbers in every process.

    ``index`` is typically (stage, block). Philox (Salmon et al. 2011) is counter-based, so a stream
    needs no state from any other.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(int(purpose), *index))
    return np.random.Generator(np.random.Philox(sequence))
