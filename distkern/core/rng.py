"""Counter-based random streams: pure functions of the seed and the purpose of the numbers."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np


def philox(key: Any, purpose: Any, first: Any, second: Any, third: Any, fourth: Any) -> tuple[Any, ...]:
    """Return four 64-bit words for a counter of four words and a key of two (Salmon et al. 2011,
    Philox4x64-10).

    The words of ``np.random.Philox(key=[key, purpose], counter=c)`` begin at the counter c + 1. All are
    unsigned 64-bit integers; compile this function, so that sums wrap around.
    """
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a, b = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
    a_low, a_high = a & low, a >> half
    b_low, b_high = b & low, b >> half
    k, p = np.uint64(key), np.uint64(purpose)
    w, x, y, z = np.uint64(first), np.uint64(second), np.uint64(third), np.uint64(fourth)
    for _ in range(10):
        # upper halves of the 128-bit products, from four products of 32-bit halves
        w_low, w_high = w & low, w >> half
        y_low, y_high = y & low, y >> half
        middle = a_high * w_low + ((a_low * w_low) >> half)
        upper_w = a_high * w_high + (middle >> half) + ((a_low * w_high + (middle & low)) >> half)
        middle = b_high * y_low + ((b_low * y_low) >> half)
        upper_y = b_high * y_high + (middle >> half) + ((b_low * y_high + (middle & low)) >> half)
        w, x, y, z = upper_y ^ x ^ k, b * y, upper_w ^ z ^ p, a * w
        k += np.uint64(0x9E3779B97F4A7C15)
        p += np.uint64(0xBB67AE8584CAA73B)
    return w, x, y, z


def unit(word: Any) -> float:
    """Return a number in (0, 1) from the upper 53 bits of a word; 2^-54 stands for zero."""
    bits = float(word >> np.uint64(11))
    if bits == 0.0:
        bits = 0.5
    return bits * 1.1102230246251565e-16


class Purpose(IntEnum):
    """Purpose of a random stream; streams of different purposes are independent."""

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
    """Return the Philox generator of ``(seed, purpose, index...)``: the same numbers in every process.

    ``index`` is typically (stage, block). Philox (Salmon et al. 2011) is counter-based, so streams share no
    state.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(int(purpose), *index))
    return np.random.Generator(np.random.Philox(sequence))
