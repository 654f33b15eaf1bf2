"""How long a run likely takes, by its stages and by its tolerance."""

import pytest

from distkern.engine.events import Event
from distkern.show.passes import Clock


def clock(values, *, name="change", tol=1e-3, stages=20, seconds=10.0, objective=lambda stage: 1.0):
    """A clock that heard of stages 0, 1, ... of some seconds each, after a preparation of 100."""
    made = Clock(0.0)
    made(Event("run_started", {"stages": stages, "tol": tol}, 1000.0))
    for stage, value in enumerate(values):
        metrics = {"stage": stage, name: value, "seconds": 0.0, "objective": objective(stage)}
        made(Event("stage_finished", {"metrics": metrics}, 1100.0 + seconds * stage))
    return made


def test_what_is_compared_with_the_tolerance_says_how_many_stages_follow():
    # 0.8 * 0.1 ** stage: after stage 2, 0.008, one more stage reaches 1e-3
    made = clock([8.0, 0.08, 0.008])
    assert made.stages_left == 1
    assert made.left(1120.0) == pytest.approx(10.0)
    assert made.left(1126.0) == pytest.approx(4.0)
    assert made.left(1999.0) == 0.0


def test_a_bound_is_compared_with_what_the_objective_has_fallen_by():
    made = clock([None, 40.0, 4.0, 0.4], name="bound", objective=lambda stage: 200.0 - 50.0 * stage)
    # 0.4 * 0.1 ** 1 <= 1e-3 * 150
    assert made.stages_left == 1


def test_the_slowest_recent_stage_counts_and_only_a_near_tolerance():
    assert clock([1.0, 0.5, 1e-2, 1e-3], tol=5e-4).stages_left == 1
    # a factor of 1000 at the pace of 0.5 a stage takes 10 more stages
    assert clock([1.0, 0.5, 1e-2, 1e-3], tol=1e-6).stages_left == 17
    # two stages show no pace
    assert clock([0.1, 1e-3], tol=1e-4).stages_left == 19


def test_never_more_than_the_maximum_and_without_a_tolerance_just_that():
    assert clock([1.0, 0.9, 0.8]).stages_left == 18
    assert clock([1.0, 0.1, 0.01], tol=None).stages_left == 18
    assert clock([1.0, 0.1, 0.01], tol=None, stages=None).left(1120.0) is None
    # what grows says nothing
    assert clock([1.0, 0.1, 0.2]).stages_left == 18


def test_the_preparation_is_no_measure_of_the_stages_and_stage_0_none_at_all():
    made = clock([1.0, 0.9])
    assert made.left(1110.0) == pytest.approx(19 * 10.0)
    assert clock([1.0]).left(1100.0) is None
    # long runs are measured by their last stages
    assert clock([1.0] * 15, tol=None).left(1240.0) == pytest.approx(60.0)


def test_seconds_of_earlier_tries_count():
    made = Clock()
    made(Event("run_started", {"stages": 3, "resumed_from": 1}, 50.0))
    made(Event("stage_finished", {"metrics": {"stage": 2, "seconds": 75.0}}, 60.0))
    assert 65.0 <= made.seconds < 70.0
