"""Parallel coverage equals the sequential scan bit for bit; uniform landmarks are equally likely rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from distkern.core.errors import InputError
from distkern.maths.landmarks import coverage
from distkern.maths.landmarks.base import RowLayout, Uniform
from distkern.maths.landmarks.coverage import Coverage
from reference import PlainRunner, cut_blocks, run

DTYPES = ["float32", "float64"]


@pytest.fixture
def short_waves(monkeypatch):
    """Use waves and results of a few rows, so that small data take every path."""
    monkeypatch.setattr(coverage, "_FIRST_WAVE_ROWS", 16)
    monkeypatch.setattr(coverage, "_MOST_CANDIDATES", 20)


def choose(features, sizes, *, diameter=None, n_landmarks=None, seed=0):
    layout = RowLayout(tuple(sizes), features.shape[1], features.dtype, seed)
    return run(Coverage(n_landmarks, diameter).choose(layout), cut_blocks(features, None, sizes))


def random_cut(n, parts, generator):
    edges = np.sort(generator.integers(0, n + 1, size=parts - 1))
    return tuple(int(size) for size in np.diff([0, *edges, n]))


def on_a_grid(n, d, generator):
    """Return small integers, for which many distances are equal, often to the radius."""
    return generator.integers(0, 4, size=(n, d)).astype(float)


def on_spheres(n, d, generator):
    """Return distant centers, and for each a row whose distance is within 1e-7 of 1."""
    directions = generator.standard_normal((n // 2, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    centers = 5.0 * np.stack(np.unravel_index(np.arange(n // 2), (6,) * d), axis=1)
    return np.concatenate(
        [centers, centers + directions * (1 + 1e-7 * generator.standard_normal((n // 2, 1)))]
    )


def off_center(n, d, generator):
    return 1000 + generator.standard_normal((n, d))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [on_a_grid, on_spheres, off_center])
@pytest.mark.parametrize("diameter", [0.0, 1.0, 2.0, 2.0 * 2**0.5, 4.0])
@pytest.mark.usefixtures("short_waves")
def test_equal_to_the_sequential_scan_however_the_rows_are_cut(make, diameter, dtype):
    generator = np.random.default_rng(0)
    features = make(300, 3, generator).astype(dtype)
    expected = reference.coverage(features, diameter / 2)
    for parts in (1, 2, 9):
        found = choose(features, random_cut(300, parts, generator), diameter=diameter)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == dtype


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_to_the_sequential_scan_with_waves_of_their_own_size(dtype):
    generator = np.random.default_rng(1)
    features = generator.random((9000, 3)).astype(dtype)
    expected = reference.coverage(features, 0.15)
    for sizes in [(9000,), (1000,) * 9, (5, 4095, 3000, 1900)]:
        np.testing.assert_array_equal(choose(features, sizes, diameter=0.3), expected)


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(*[st.integers(-3, 3)] * 2), min_size=1, max_size=60),
    cuts=st.integers(1, 5),
    radius=st.sampled_from([0.0, 0.5, 1.0, 2**0.5, 2.0, 5**0.5]),
)
def test_equal_to_the_sequential_scan_of_any_grid_points(rows, cuts, radius):
    features = np.array(rows, dtype=np.float32)
    sizes = random_cut(len(rows), cuts, np.random.default_rng(len(rows)))
    np.testing.assert_array_equal(
        choose(features, sizes, diameter=2 * radius), reference.coverage(features, radius)
    )


@pytest.mark.usefixtures("short_waves")
def test_workers_send_only_rows_that_are_not_covered():
    """Rounding aside, and never more than the limit, even if more rows are uncovered."""
    generator = np.random.default_rng(2)
    features = np.concatenate([generator.random((400, 2)), 50 + 20 * generator.random((400, 2))])
    sizes = (100,) * 8
    layout = RowLayout(sizes, 2, features.dtype, 0)
    steps = Coverage(None, 0.5).choose(layout)
    blocks = cut_blocks(features, None, sizes)
    step = next(steps)
    sent = []
    try:
        while True:
            parts = [step.map(blocks[number], step.operand) for number in step.blocks]
            total = parts[0]
            for part in parts[1:]:
                total = step.combine(total, part)
            assert all(len(part.rows) <= 20 for part in [total, *parts])
            landmarks = step.operand.landmarks
            if len(landmarks):
                nearest = np.linalg.norm(total.rows[:, None] - landmarks[None], axis=2).min(axis=1)
                assert np.all(nearest > 0.25 * (1 - 1e-9))
            np.testing.assert_array_equal(features[total.numbers], total.rows)
            sent.append(len(total.rows))
            step = steps.send(total)
    except StopIteration as stop:
        np.testing.assert_array_equal(stop.value, reference.coverage(features, 0.25))
    assert sum(sent) < 800


def test_combining_candidates_is_associative(monkeypatch):
    monkeypatch.setattr(coverage, "_MOST_CANDIDATES", 10)

    def part(start, n, end):
        return coverage._UncoveredRows(np.arange(start, start + n)[:, None], np.arange(start, start + n), end)

    for counts in [(3, 4, 5), (10, 1, 1), (0, 11, 2), (2, 3, 4), (9, 0, 9)]:
        a, b, c = (part(100 * i, n, 100 * i + 100).limited() for i, n in enumerate(counts))
        join = coverage._UncoveredRows.join
        left, right = join(join(a, b), c), join(a, join(b, c))
        np.testing.assert_array_equal(left.numbers, right.numbers)
        assert (left.end, left.is_cut) == (right.end, right.is_cut)
        assert len(left.rows) == min(sum(counts), 10)


def test_a_diameter_that_needs_too_many_landmarks_is_refused(monkeypatch):
    monkeypatch.setattr(coverage, "_CEILING", 50)
    with pytest.raises(InputError, match=r"diameter 0\.001 needs more than 50 landmarks.*larger diameter"):
        choose(np.random.default_rng(0).random((500, 3)), (500,), diameter=0.001)


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 3, "diameter": 1.0}])
def test_needs_exactly_one_of_n_landmarks_and_diameter(options):
    with pytest.raises(InputError, match="either n_landmarks or diameter"):
        Coverage(**options)


@pytest.mark.parametrize("n_landmarks", [10, 100, 400])
def test_n_landmarks_is_nearly_reached_within_a_few_sweeps(n_landmarks):
    features = np.random.default_rng(0).random((20_000, 5)).astype(np.float32)
    sizes = (2500,) * 8
    layout = RowLayout(sizes, 5, features.dtype, 0)
    runner = PlainRunner(cut_blocks(features, None, sizes))
    landmarks = runner.run(Coverage(n_landmarks).choose(layout))
    assert 0.75 * n_landmarks <= len(landmarks) <= n_landmarks
    sweeps = sum(step.name == "coverage" and step.operand.first_row == 0 for step in runner.steps)
    assert sweeps <= 5


@pytest.mark.parametrize("n_landmarks", [1, 4, 300])
@pytest.mark.parametrize("block", [0, 7, 13, 19])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_sample_of_equal_rows_does_not_mislead_it(n_landmarks, block, value):
    """All blocks but one hold one point; a sample without that block gives radius 0."""
    features = np.full((4000, 3), value)
    features[200 * block : 200 * (block + 1)] = np.random.default_rng(0).standard_normal((200, 3))
    landmarks = choose(features, (200,) * 20, n_landmarks=n_landmarks)
    assert 1 <= len(landmarks) <= n_landmarks
    assert len(landmarks) >= min(n_landmarks // 3, 20)


def choose_uniformly(features, sizes, n_landmarks, seed=0):
    layout = RowLayout(tuple(sizes), features.shape[1], features.dtype, seed)
    return run(Uniform(n_landmarks).choose(layout), cut_blocks(features, None, sizes))


@pytest.mark.slow
def test_every_row_is_equally_likely():
    """2000 draws of 5 of 50 rows: counts are 200 +- 13.4, their squares chi-squared with 49 degrees."""
    features = np.arange(50.0)[:, None]
    sizes = (7, 13, 30)
    counts = np.zeros(50)
    for seed in range(2000):
        counts[choose_uniformly(features, sizes, 5, seed)[:, 0].astype(int)] += 1
    assert counts.sum() == 10_000
    variance = 2000 * 0.1 * 0.9
    statistic = ((counts - 200) ** 2).sum() / variance * 49 / 50
    assert 25 < statistic < 85


def test_rows_come_in_the_order_of_the_data_and_reads_only_their_blocks():
    features = np.arange(100.0)[:, None]
    chosen = choose_uniformly(features, (50, 50), 20)[:, 0]
    assert len(chosen) == 20
    assert np.all(np.diff(chosen) > 0)


def test_other_seeds_other_rows():
    features = np.arange(1000.0)[:, None]
    first, second = (set(choose_uniformly(features, (1000,), 30, seed)[:, 0]) for seed in (0, 1))
    assert len(first & second) < 10


def test_needs_n_landmarks():
    with pytest.raises(InputError, match="uniform landmarks need n_landmarks"):
        Uniform(diameter=1.0)
