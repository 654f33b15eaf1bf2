"""The sample that is chosen by, and the machines of the ladder against naive ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from distkern.common.scores import log_losses
from distkern.maps.mapping import MapChoice, RowMap
from distkern.runs.arrays import ArraySource
from distkern.search.ladder import RIDGES, climb
from distkern.search.machines import Kernel, Rows, linear, over_all_rows, over_centres
from distkern.search.sample import Sample, drawn_shares


def drawn(n_rows: int, seed: int = 0) -> tuple[Rows, Rows]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(2 * n_rows, 3)).astype(np.float32)
    codes = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * generator.normal(size=2 * n_rows) > 0).astype(int)
    targets = np.where(codes > 0, 1.0, -1.0)[:, None]
    both = Rows(X, targets, codes, np.ones(2 * n_rows))
    return both.part(np.arange(n_rows)), both.part(np.arange(n_rows, 2 * n_rows))


@pytest.mark.parametrize("ridge", [0.1, 10.0])
def test_machines_are_ridge_regressions(ridge: float) -> None:
    learned, asked = drawn(200)
    mapping = RowMap.fit(MapChoice("none"), learned.features, learned.targets)
    kernel = Kernel("rbf", 1.0)
    gamma = kernel.over(mapping).gamma
    mapped = [replace(part, features=mapping.apply(part.features)) for part in (learned, asked)]
    center = learned.targets.mean()
    exact = KernelRidge(alpha=ridge, kernel="rbf", gamma=gamma)
    exact.fit(mapped[0].features, learned.targets - center)
    expected = log_losses(exact.predict(mapped[1].features) + center, asked.codes).mean()
    whole = over_all_rows(mapping, [kernel], [ridge], *mapped, seed=0)[0].mean()
    assert whole == pytest.approx(expected, rel=1e-4)
    # centres at all rows are the same machine, but for what makes their matrix definite
    [centred] = over_centres(kernel.over(mapping), 200, [ridge], *mapped)
    assert centred.mean() == pytest.approx(expected, rel=0.02)
    [straight] = linear([ridge], learned, asked)
    of_columns = Ridge(alpha=ridge).fit(learned.features, learned.targets)
    expected = log_losses(of_columns.predict(asked.features).reshape(-1, 1), asked.codes).mean()
    assert straight.mean() == pytest.approx(expected, rel=1e-3)


def test_the_ladder_depends_on_rows_and_seed_alone() -> None:
    learned, asked = drawn(700)
    both = Rows(
        *(np.concatenate(pair) for pair in zip(vars(learned).values(), vars(asked).values(), strict=True))
    )
    parts = [(np.arange(700), np.arange(700, 1400))]
    first, again = (climb(both, parts, 1400, 0) for _ in range(2))
    assert first.chosen == again.chosen
    assert first.chosen.kind == "centres"
    assert first.chosen.ridge in RIDGES
    assert first.notes[0].startswith("tried: linear: ")


@pytest.mark.parametrize("copies", [1, 4])
def test_rare_rows_are_drawn_more_often_and_weigh_less(copies: int) -> None:
    generator = np.random.default_rng(0)
    X = np.repeat(generator.normal(size=(100_000 // copies, 2)), copies, axis=0).astype(np.float32)
    y = (np.arange(len(X)) // copies % 50 == 0).astype(np.int32)
    sample = Sample.of(ArraySource(X, y, None), np.array([0, 1]), 0, np.array([0.98, 0.02]))
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


def test_shares_are_of_what_is_there() -> None:
    np.testing.assert_allclose(drawn_shares(1.0, np.array([0.9, 0.1]), 100), 1.0)
    np.testing.assert_allclose(drawn_shares(0.1, None, 100), [0.1])
    # half as they come, half alike: 100 rows of each class beside 180 and 20
    found = drawn_shares(0.2, np.array([0.9, 0.1]), 1000) * [900, 100]
    np.testing.assert_allclose(found, [90 + 50, 10 + 50])
