"""The pass over real targets: moments and ranks of any order, weight, size and offset."""

from functools import reduce

import numpy as np
import pytest

from distkern.solvers.targets import TargetSummary


def summary(values, weights=None, size=5000):
    weights = np.ones(len(values)) if weights is None else weights
    parts = [
        TargetSummary.of(values[start : start + size], weights[start : start + size])
        for start in range(0, len(values), size)
    ]
    while len(parts) > 1:
        # as the engine combines them
        parts = [reduce(TargetSummary.add, parts[start : start + 8]) for start in range(0, len(parts), 8)]
    return parts[0]


def drawn(name, n=200_000):
    generator = np.random.default_rng(0)
    return {
        "sorted": lambda: np.sort(generator.standard_normal(n)),
        "offset": lambda: 1e7 + 1e-3 * generator.standard_normal(n),
        "tiny": lambda: 1e-300 * generator.random(n),
        "heavy tails": lambda: generator.standard_cauchy(n),
        "few values": lambda: generator.integers(0, 3, n).astype(float),
    }[name]()


@pytest.mark.parametrize("name", ["sorted", "offset", "tiny", "heavy tails", "few values"])
def test_moments_and_ranks(name):
    values = drawn(name)
    found = summary(values)
    assert len(found.points) <= 2**14
    assert found.weight == pytest.approx(len(values))
    assert found.mean == pytest.approx(values.mean(), rel=1e-12)
    assert found.variance == pytest.approx(values.var(), rel=1e-6 if name == "offset" else 1e-9, abs=0)
    ordered = np.sort(values)
    for level in (0.001, 0.1, 0.5, 0.9, 0.999):
        point = found.quantile(level)
        low, high = (np.searchsorted(ordered, point, side) / len(values) for side in ("left", "right"))
        assert low - 12 / 2**14 <= level <= high + 12 / 2**14


def test_few_targets_have_exact_weighted_quantiles():
    generator = np.random.default_rng(1)
    values, weights = generator.random(3000), generator.integers(1, 5, 3000).astype(float)
    found = summary(values, weights, size=100)
    repeated = np.sort(np.repeat(values, weights.astype(int)))
    for level in (0.1, 0.25, 0.5, 0.9):
        assert found.quantile(level) == repeated[int(np.ceil(level * len(repeated))) - 1]
    assert found.mean == pytest.approx(np.average(values, weights=weights), rel=1e-13)


def test_nothing_and_constants():
    nothing = TargetSummary.of(np.empty(0), np.empty(0))
    some = TargetSummary.of(np.full(7, 0.1), np.full(7, 3.0))
    assert TargetSummary.add(nothing, some) is some
    assert TargetSummary.add(some, nothing) is some
    assert TargetSummary.add(some, some).variance == 0.0
