"""The sample of the rows by which ``auto`` chooses."""

import numpy as np
import pytest

from distkern.estimators.sample import FoldedSample, drawn_shares
from distkern.runs.arrays import ArraySource


@pytest.mark.parametrize("copies", [1, 4])
def test_rare_rows_are_drawn_more_often_and_weigh_less(copies):
    generator = np.random.default_rng(0)
    X = np.repeat(generator.normal(size=(100_000 // copies, 2)), copies, axis=0).astype(np.float32)
    y = (np.arange(len(X)) // copies % 50 == 0).astype(np.int32)
    sample = FoldedSample.of(ArraySource(X, y, None), np.array([0, 1]), 0, np.array([0.98, 0.02]))
    assert 8000 < sample.rows.n_rows <= 10_000
    positive = sample.rows.targets == 1
    # half of 200, as they come, and half of all 2,000, which are fewer than one class of two could have
    assert 1090 < positive.sum() < 1120
    weights = sample.rows.weights
    assert weights[positive].sum() / weights.sum() == pytest.approx(0.02, rel=0.02)
    assert sample.tells
    for learned, held_out in sample.parts():
        kept = sample.rows.features
        assert not {tuple(row) for row in kept[learned]} & {tuple(row) for row in kept[held_out]}
        shares = [positive[part].mean() for part in (learned, held_out)]
        assert shares[0] == pytest.approx(shares[1], rel=0.1)


def test_shares_are_of_what_is_there():
    np.testing.assert_allclose(drawn_shares(1.0, np.array([0.9, 0.1]), 100), 1.0)
    np.testing.assert_allclose(drawn_shares(0.1, None, 100), [0.1])
    # half as they come, half alike: 100 rows of each class beside 180 and 20
    found = drawn_shares(0.2, np.array([0.9, 0.1]), 1000) * [900, 100]
    np.testing.assert_allclose(found, [90 + 50, 10 + 50])
