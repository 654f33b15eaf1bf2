"""The sample that is chosen by, and the machines of the ladder against naive ones."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from distkern.common.scores import log_losses
from distkern.kernels.laplacian import Laplacian
from distkern.maps.mapping import MapChoice, RowMap
from distkern.search.ladder import GAUSSIAN, MATERN, RIDGES, Setting, Tried, climb, leading_maps
from distkern.search.machines import Kernel, Rows, linear, over_all_rows, over_centres


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
    [whole] = over_all_rows(kernel.over(mapping), [ridge], *mapped)
    assert whole.mean() == pytest.approx(expected, rel=1e-4)
    # centres at all rows are the same machine, but for what makes their matrix definite
    [centred] = over_centres(kernel.over(mapping), 200, [ridge], *mapped)
    assert centred.mean() == pytest.approx(expected, rel=0.02)
    [straight] = linear([ridge], learned, asked)
    of_columns = Ridge(alpha=ridge).fit(learned.features, learned.targets)
    expected = log_losses(of_columns.predict(asked.features).reshape(-1, 1), asked.codes).mean()
    assert straight.mean() == pytest.approx(expected, rel=1e-3)


def test_the_ladder_depends_on_rows_and_seed_alone() -> None:
    learned, asked = drawn(700)
    names = ("features", "targets", "codes", "weights")
    both = Rows(*(np.concatenate([getattr(part, name) for part in (learned, asked)]) for name in names))
    parts = [(np.arange(700), np.arange(700, 1400))]
    first, again = (climb(both, parts, 1400, 0) for _ in range(2))
    assert first.chosen == again.chosen
    assert first.chosen.kind == "centres"
    assert first.chosen.ridge in RIDGES
    assert re.match(r"tried: linear \([\d,]+ rows x \d+ functions\): [\d.]+$", first.compared[0].told)


@pytest.mark.parametrize(("frequency", "kind", "n_learned"), [(0.3, "centres", 1000), (7.0, "exact", 1200)])
def test_exact_machines_learn_from_more_rows_where_they_gain_something(
    frequency: float, kind: str, n_learned: int
) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1800, 2)).astype(np.float32)
    values = np.sin(frequency * X).sum(axis=1) + 0.1 * generator.normal(size=1800)
    rows = Rows(X, (values / values.std())[:, None], None, np.ones(1800))
    parts = [(np.arange(1200), np.arange(1200, 1800))]
    found = climb(rows, parts, 10**6, 0, maps=[MapChoice("none")], exact_rows=1200)
    assert found.chosen.kind == kind
    # what was tried is told, also where it went no further
    assert found.rungs[-1].setting.kind == "exact"
    assert found.rungs[-1].setting.size[0] == n_learned
    assert bool(found.exact) == (kind == "exact")


def tried(transform: str, kernel: Kernel, losses: np.ndarray) -> Tried:
    return Tried(Setting("centres", MapChoice(transform), kernel, 1.0), losses)


def test_a_map_goes_on_unless_it_is_worse_by_more_than_chance() -> None:
    best, noise = np.random.default_rng(0).normal(size=(2, 1000))
    settings = [
        tried("none", MATERN, best + 5.0),
        tried("standard", GAUSSIAN, best + 0.5 * noise + 0.01),
        tried("normal", MATERN, best),
        tried("normal", GAUSSIAN, best + 0.001),
    ]
    assert leading_maps(settings) == [MapChoice("normal"), MapChoice("standard")]
    settings[1] = tried("standard", GAUSSIAN, best + 0.1 * noise + 0.05)
    assert leading_maps(settings) == [MapChoice("normal")]


def test_few_city_block_distances_need_no_compiled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    rows = Rows(features, np.sign(features[:, :1]).astype(float), None, np.ones(60))

    def losses() -> np.ndarray:
        return next(over_centres(Laplacian(gamma=0.7), 20, [1.0], rows, rows))

    monkeypatch.setattr("distkern.search.machines._FEW_DIFFERENCES", 60 * 5 * 20 - 1)
    compiled = losses()
    monkeypatch.setattr("distkern.kernels.laplacian.city_block", None)
    monkeypatch.setattr("distkern.search.machines._FEW_DIFFERENCES", 60 * 5 * 20)
    np.testing.assert_allclose(losses(), compiled, rtol=1e-4, atol=1e-6)


def test_of_exact_machines_those_that_lead_learn_from_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(1800, 2)).astype(np.float32)
    signs = np.sign(np.sin(3.0 * features[:, :1]) + 0.3 * generator.normal(size=(1800, 1)))
    rows = Rows(features, signs, (signs[:, 0] > 0).astype(int), np.ones(1800))
    parts = [(np.arange(1200), np.arange(1200, 1800))]
    settings: dict[int, int] = {}

    def counted(kernel, ridges, learned, asked):
        settings[learned.n_rows] = settings.get(learned.n_rows, 0) + len(ridges)
        return over_all_rows(kernel, ridges, learned, asked)

    monkeypatch.setattr("distkern.search.ladder.over_all_rows", counted)
    climb(rows, parts, 100_000, 0, maps=[MapChoice("none"), MapChoice("standard")])
    assert 1 <= settings[1200] <= 2
    # three kernels with all ridges, their other widths and maps with the nearest ones
    assert settings[1000] >= 18
