"""What holds of every rule that chooses landmarks."""

import dataclasses
import inspect

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.maths.landmarks import LANDMARK_RULES, find_landmark_rule, sample_rows
from distkern.maths.landmarks.base import AbstractLandmarkRule, RowLayout, gather_rows
from reference import PlainRunner, cut_blocks, run

NAMES = LANDMARK_RULES
every_rule = pytest.mark.parametrize("name", NAMES)
PARTITIONS = [(600,), (599, 1), (1, 2, 3, 94, 100, 150, 250), (50,) * 12]


def points(n=600, d=5, seed=0):
    # a few decades of density, so that a coverage and a uniform sample differ
    generator = np.random.default_rng(seed)
    return generator.standard_normal((n, d)) * generator.choice([0.1, 1.0, 3.0], size=(n, 1))


def layout_of(features, sizes=None, seed=0):
    return RowLayout(tuple(sizes or (len(features),)), features.shape[1], features.dtype, seed)


def choose(rule, features, sizes=None, seed=0):
    sizes = sizes or (len(features),)
    return run(rule.choose(layout_of(features, sizes, seed)), cut_blocks(features, None, sizes))


@every_rule
def test_is_registered_and_described(name):
    kind = find_landmark_rule(name)
    assert issubclass(kind, AbstractLandmarkRule)
    assert kind.name == name
    assert inspect.getdoc(kind) != inspect.getdoc(AbstractLandmarkRule)
    with pytest.raises(InputError, match=f"did you mean '{name}'"):
        find_landmark_rule(name + "x")


@every_rule
@pytest.mark.parametrize("n_landmarks", [1, 2, 37, 200])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_at_most_n_landmarks_which_are_distinct_rows_of_the_data(name, n_landmarks, dtype):
    features = points().astype(dtype)
    chosen = choose(find_landmark_rule(name)(n_landmarks=n_landmarks), features, (250, 350))
    assert chosen.dtype == dtype
    assert chosen.flags.c_contiguous
    assert 1 <= len(chosen) <= n_landmarks
    assert len(chosen) >= 0.6 * n_landmarks
    rows = {row.tobytes() for row in features}
    landmarks = [row.tobytes() for row in chosen]
    assert rows.issuperset(landmarks)
    assert len(set(landmarks)) == len(landmarks)


@every_rule
@pytest.mark.parametrize("n_landmarks", [600, 601, 10**6])
def test_as_many_as_there_are_rows(name, n_landmarks):
    features = points()
    features[300:310] = features[:10]
    chosen = choose(find_landmark_rule(name)(n_landmarks=n_landmarks), features, (100, 500))
    np.testing.assert_array_equal(chosen, np.delete(features, np.arange(300, 310), axis=0))


@every_rule
@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("n_landmarks", [1, 2, 5, 50])
def test_tiny_data(name, n, n_landmarks):
    chosen = choose(find_landmark_rule(name)(n_landmarks=n_landmarks), points(n), (n,))
    assert 1 <= len(chosen) <= min(n, n_landmarks)


@every_rule
@pytest.mark.parametrize("n_landmarks", [1, 7])
def test_rows_that_are_all_equal_give_one_landmark(name, n_landmarks):
    chosen = choose(find_landmark_rule(name)(n_landmarks=n_landmarks), np.ones((100, 3)), (40, 60))
    np.testing.assert_array_equal(chosen, np.ones((1, 3)))


@every_rule
def test_a_function_of_seed_and_data(name):
    features = points()
    rule = find_landmark_rule(name)(n_landmarks=40)
    first = choose(rule, features, (100, 500), seed=3)
    np.testing.assert_array_equal(choose(rule, features, (100, 500), seed=3), first)


@every_rule
def test_reads_no_more_than_it_outlines(name):
    features = points()
    rule = find_landmark_rule(name)(n_landmarks=40)
    layout = layout_of(features, (300, 300))
    runner = PlainRunner(cut_blocks(features, None, (300, 300)))
    chosen = runner.run(rule.choose(layout))
    assert len(chosen) <= rule.expected_size(layout) <= 40
    outlined = {outline.step.name for outline in rule.outline(layout)}
    assert set(runner.made) == outlined
    for outline in rule.outline(layout):
        step = outline.step
        assert outline.times > 0
        assert step.cost.result_bytes >= chosen.nbytes
        assert step.blocks is None or set(step.blocks) <= {0, 1}


@every_rule
@pytest.mark.parametrize("sizes", PARTITIONS)
def test_does_not_depend_on_how_the_rows_are_cut_into_blocks(name, sizes):
    features = points()
    # for n_landmarks a coverage bisects on a sample of some blocks
    options = {"diameter": 1.5} if name == "coverage" else {"n_landmarks": 40}
    rule = find_landmark_rule(name)(**options)
    np.testing.assert_array_equal(choose(rule, features, sizes), choose(rule, features))


def test_gather_reads_only_the_blocks_it_needs():
    features = points()
    sizes = (100,) * 6
    rows = np.array([5, 99, 100, 555])
    runner = PlainRunner(cut_blocks(features, None, sizes))
    np.testing.assert_array_equal(
        runner.run(gather_rows(layout_of(features, sizes), rows, "some")), features[rows]
    )
    assert runner.steps[0].blocks == (0, 1, 5)


def test_sample_is_distinct_rows_in_order():
    features = np.arange(1000.0)[:, None]
    sizes = (10,) * 100
    sample = run(sample_rows(layout_of(features, sizes, seed=1), 60), cut_blocks(features, None, sizes))[:, 0]
    assert len(sample) == 60
    assert np.all(np.diff(sample) > 0)
    assert len(set(sample // 10)) == 8
    short = run(sample_rows(layout_of(features[:7]), 60), cut_blocks(features[:7], None, (7,)))
    assert len(short) == 7


OPTIONS = {
    "coverage": [{"diameter": 3.0}, {"diameter": 0.0}, {"diameter": 7.0}],
    "uniform": [{"n_landmarks": 40}, {"n_landmarks": 600}],
}


@every_rule
@pytest.mark.parametrize("sizes", PARTITIONS)
def test_sparse_rows_give_the_landmarks_of_dense_rows(name, sizes):
    """Rows are of small integers, whose distances are exact in either form; some are repeated."""
    generator = np.random.default_rng(0)
    features = generator.integers(-2, 3, (600, 12)) * (generator.random((600, 12)) < 0.15)
    features = features.astype(np.float32)
    rows = SparseRows.of_dense(features)
    for options in OPTIONS.get(name, [{"n_landmarks": 40}]):
        rule = find_landmark_rule(name)(**options)
        expected = choose(rule, features, sizes)
        layout = dataclasses.replace(layout_of(features, sizes), sparse_numbers=8)
        found = run(rule.choose(layout), cut_blocks(rows, None, sizes))
        assert isinstance(found, SparseRows)
        np.testing.assert_array_equal(found.toarray(), expected)


@every_rule
def test_sparse_rows_of_which_n_landmarks_are_wanted(name):
    generator = np.random.default_rng(1)
    features = (generator.standard_normal((600, 50)) * (generator.random((600, 50)) < 0.1)).astype(np.float32)
    layout = dataclasses.replace(layout_of(features, (200, 400)), sparse_numbers=12)
    rows = SparseRows.of_dense(features)
    found = run(find_landmark_rule(name)(n_landmarks=60).choose(layout), cut_blocks(rows, None, (200, 400)))
    assert 36 <= len(found) <= 60
    assert set(rows.keys()).issuperset(found.keys())
    assert len(set(found.keys())) == len(found)
