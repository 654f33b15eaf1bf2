"""Uniform landmarks."""

import numpy as np
import pytest

from distkern.common.errors import InputError
from distkern.landmarks.base import RowLayout
from distkern.landmarks.uniform import Uniform
from reference import cut_blocks, run


def choose(features, sizes, n_landmarks, seed=0):
    layout = RowLayout(tuple(sizes), features.shape[1], features.dtype, seed)
    return run(Uniform(n_landmarks).choose(layout), cut_blocks(features, None, sizes))


def test_every_row_is_equally_likely():
    """2000 draws of 5 of 50 rows: counts are 200 +- 13.4, their squares chi-squared with 49 degrees."""
    features = np.arange(50.0)[:, None]
    sizes = (7, 13, 30)
    counts = np.zeros(50)
    for seed in range(2000):
        counts[choose(features, sizes, 5, seed)[:, 0].astype(int)] += 1
    assert counts.sum() == 10_000
    variance = 2000 * 0.1 * 0.9
    statistic = ((counts - 200) ** 2).sum() / variance * 49 / 50
    assert 25 < statistic < 85


def test_rows_come_in_the_order_of_the_data_and_reads_only_their_blocks():
    features = np.arange(100.0)[:, None]
    chosen = choose(features, (50, 50), 20)[:, 0]
    assert len(chosen) == 20
    assert np.all(np.diff(chosen) > 0)


def test_equal_rows_are_kept_once():
    features = np.repeat(np.arange(4.0), 25)[:, None]
    assert sorted(choose(features, (100,), 60)[:, 0]) == [0, 1, 2, 3]


def test_other_seeds_other_rows():
    features = np.arange(1000.0)[:, None]
    first, second = (set(choose(features, (1000,), 30, seed)[:, 0]) for seed in (0, 1))
    assert len(first & second) < 10


def test_needs_n_landmarks():
    with pytest.raises(InputError, match="uniform landmarks need n_landmarks"):
        Uniform(diameter=1.0)
