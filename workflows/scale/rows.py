"""Generated rows of 20 numbers: noisy, with broad and with fine structure, classes or real targets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

N_FEATURES = 20
TARGETS = ("class", "real")
#: rows of a piece, which are a function of the seed and of its number alone
PIECE = 100_000
#: seeds of the rows to learn from and of the test rows
TRAIN, TEST = 1, 2
_BROAD, _FINE, _WAVES = slice(0, 8), slice(8, 11), 24
#: share of labels that are wrong; standard deviation of the noise in the real target, whose own is about 1
WRONG, NOISE = 0.05, 0.3


def pieces(n_rows: int, seed: int, target: str) -> Iterator[tuple[Array, Array]]:
    """Rows (n, 20) float32 and their targets (n,), a piece at a time.

    f is the sum of broad waves over 8 columns and of waves ten times as fine over 3 others, each with half of
    its variance; 9 columns say nothing. The class is the sign of f, 5 % of them wrong; the real target has
    noise of .3.
    """
    shape = np.random.default_rng(7)
    broad = shape.normal(0.0, 0.35, (8, _WAVES))
    fine = shape.normal(0.0, 3.5, (3, _WAVES))
    phases = shape.uniform(0.0, 2.0 * np.pi, (2, _WAVES))
    for number, start in enumerate(range(0, n_rows, PIECE)):
        generator = np.random.default_rng([seed, number])
        n = min(PIECE, n_rows - start)
        rows = generator.standard_normal((n, N_FEATURES), dtype=np.float32)
        waves = rows[:, _BROAD] @ broad + phases[0], rows[:, _FINE] @ fine + phases[1]
        f = sum(np.cos(one).sum(axis=1) for one in waves) / np.sqrt(_WAVES)
        if target == "class":
            yield rows, (f > 0) ^ (generator.random(n) < WRONG)
        else:
            yield rows, f + NOISE * generator.standard_normal(n)


def write(path: Path, n_rows: int, seed: int, target: str) -> None:
    """An ``.npy`` file of (n_rows, 21) float32 whose last column is the target, whole or not at all."""
    partial = path.with_suffix(".partial")
    table = np.lib.format.open_memmap(partial, "w+", np.float32, (n_rows, N_FEATURES + 1))
    start = 0
    for rows, targets in pieces(n_rows, seed, target):
        part = table[start : start + len(rows)]
        part[:, :-1], part[:, -1] = rows, targets
        start += len(rows)
    table.flush()
    del table
    partial.rename(path)
