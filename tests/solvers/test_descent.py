"""Steps in a metric, for coupled and for independent outputs."""

import numpy as np
import pytest

from distkern.solvers.descent import BoundedMetric, Point, descend, low_enough


def driven(steps, function):
    """Return the result of the steps and the points they evaluated."""
    asked, answer = [], None
    try:
        while True:
            at = steps.send(answer)
            asked.append(at)
            answer = function(at)
    except StopIteration as end:
        return end.value, asked


def measure(at):
    point = yield at
    return point


def logcosh(scales):
    """Return the sum of log cosh(scale x) over columns: convex, with falling curvature."""

    def function(at):
        # log (e^x + e^-x), so that far points are numbers
        values = np.logaddexp(scales * at, -scales * at) - np.log(2.0)
        return Point(at, float(values.sum()), scales * np.tanh(scales * at), None)

    return function


def test_only_outputs_that_went_too_far_are_made_shorter():
    function = logcosh(np.array([1.0, 1.0]))
    start = function(np.array([[1.0, 1.0]]))
    direction = np.array([[-0.5, -40.0]])
    found, asked = driven(low_enough(measure, start, direction, apart=True), function)
    assert found.value < start.value
    assert {point[0, 0] for point in asked} == {0.5}
    lengths = [(1.0 - point[0, 1]) / 40.0 for point in asked]
    assert lengths[0] == 1.0
    assert np.all(np.diff(lengths) < 0)
    # a step for both is made shorter for both
    joint, _ = driven(low_enough(measure, start, direction), function)
    assert joint.at[0, 0] > 0.5


@pytest.mark.parametrize("end", [np.inf, np.nan])
def test_steps_that_leave_the_numbers_end(end):
    start = Point(np.ones((1, 2)), 1.0, np.ones((1, 2)), None)

    def function(at):
        return Point(at, end, np.array([[1.0, end]]), None)

    found, asked = driven(low_enough(measure, start, -np.ones((1, 2)), apart=True), function)
    assert found is None
    assert len(asked) < 20


def test_where_nothing_descends_steps_end():
    start = Point(np.ones((1, 3)), 1.0, np.ones((1, 3)), None)
    # slopes that say "too far" of one output after the other, and values that are never lower
    ends = iter(np.eye(3)[np.arange(1000) % 3])

    def function(at):
        return Point(at, 2.0, -next(ends)[None], None)

    found, asked = driven(low_enough(measure, start, -np.ones((1, 3)), apart=True), function)
    assert found is None
    assert len(asked) < 100


def test_an_output_whose_direction_rises_stays_and_steps_end():
    function = logcosh(np.array([1.0, 1.0]))
    start = function(np.array([[1.0, 1.0]]))
    found, asked = driven(low_enough(measure, start, np.array([[0.5, -40.0]]), apart=True), function)
    assert found.value < start.value
    assert {point[0, 0] for point in asked} == {1.0}
    found, asked = driven(low_enough(measure, start, np.array([[0.5, 40.0]]), apart=True), function)
    assert found is None
    assert not asked


@pytest.mark.parametrize("apart", [False, True])
def test_what_steps_have_shown_is_kept(apart):
    """A metric satisfies B (g' - g) = w' - w for the last step, for each output if they are independent."""
    generator = np.random.default_rng(0)
    metric = BoundedMetric(lambda right: 0.5 * right, apart=apart)
    for _ in range(3):
        step = generator.normal(size=(4, 2))
        metric.learn(step, step * np.array([3.0, 0.2]) + 0.1 * step)
    np.testing.assert_allclose(metric.solve(step * np.array([3.1, 0.3])), step, rtol=1e-12)
    if apart:
        only = step * np.array([3.1, 0.0])
        np.testing.assert_allclose(metric.solve(only), step * np.array([1.0, 0.0]), rtol=1e-12)


def test_an_output_without_curvature_is_passed_over():
    metric = BoundedMetric(lambda right: right, apart=True)
    metric.learn(np.ones((2, 2)), np.array([[2.0, -1.0], [2.0, -1.0]]))
    np.testing.assert_allclose(metric.solve(np.ones((2, 2))), np.array([[0.5, 1.0], [0.5, 1.0]]))
    metric.forget()
    metric.learn(np.ones((2, 2)), -np.ones((2, 2)))
    assert metric.is_plain


def test_outputs_that_are_apart_take_fewer_steps():
    function = logcosh(np.array([1.0, 30.0, 0.1]) * np.linspace(0.5, 1.5, 5)[:, None])
    start = function(np.full((5, 3), 0.7))

    def passes(apart):
        metric = BoundedMetric(lambda right: right, apart=apart)
        found, asked = driven(descend(measure, start, metric, 500, 1e-10, start.value), function)
        assert found.point.value == pytest.approx(0.0, abs=1e-6)
        return len(asked)

    assert passes(True) < passes(False)
