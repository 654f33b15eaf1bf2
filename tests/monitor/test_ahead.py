"""The seconds that are left of a run, as it goes."""

from __future__ import annotations

import io

import pytest

from distkern.engine.events import Event
from distkern.monitor.ahead import Ahead
from distkern.monitor.terminal import Terminal

#: 40 planned seconds
PASSES = [("sample", 1.0, 4.0), ("solve", 1.0, 16.0), ("sums", 10.0, 2.0)]


def test_what_is_left_goes_at_the_speed_that_the_run_has_had() -> None:
    ahead = Ahead(PASSES)
    assert ahead.left(100.0) == 40.0
    ahead.begin("sample", 100.0)
    # nothing is done, so nothing is known of the speed
    assert ahead.left(103.0) == 40.0
    ahead.go_on(0.5)
    assert ahead.left(106.0) == pytest.approx(38 * 3)
    ahead.end()
    # 3 seconds for one that was planned
    assert ahead.left(112.0) == pytest.approx(36 * 3)
    ahead.begin("solve", 112.0)
    ahead.go_on(0.75)
    assert ahead.left(116.0) == pytest.approx(24 * 1)
    ahead.end()
    for number in range(10):
        assert ahead.left(120.0 + number) == pytest.approx(
            (20 - 2 * number) * (20 + number) / (20 + 2 * number)
        )
        ahead.begin("sums", 120.0 + number)
        ahead.end()
    assert ahead.left(130.0) == 0.0


def test_passes_that_are_not_planned_or_come_too_often_take_nothing_off() -> None:
    ahead = Ahead([("sums", 1.5, 4.0), ("sums", 0.5, 4.0)])
    ahead.begin("other", 10.0)
    ahead.go_on(0.9)
    assert ahead.left(20.0) == 8.0
    ahead.end()
    for left in (4.0, 0.0, 0.0):
        ahead.begin("sums", 20.0)
        ahead.end()
        assert ahead.left(14.0 if left else 18.0) == pytest.approx(left)


def test_a_terminal_says_what_is_left_of_the_run_and_not_of_its_plan() -> None:
    stream = io.StringIO()
    with Terminal(stream) as terminal:
        terminal(Event("run_planned", {"seconds": 40.0, "passes": PASSES}))
        start = {"name": "solve", "stage": 2, "tasks": 16, "rows": 0, "bytes": 0, "unit": "tasks"}
        terminal(Event("pass_started", start, 1000.0))
        for done, at in ((0, 1000.0), (15, 1150.0)):
            fields = {"tasks_done": done, "tasks": 16, "rows_done": 0, "rows": 0, "bytes_done": 0}
            terminal(Event("pass_progress", {"name": "solve", "stage": 2, **fields}, at))
    # 15 of 40 planned seconds took 150
    assert stream.getvalue() == ("stage 2, about 4 min 10 s left: solve: 94 %, 15 of 16 tasks, 10.0 s left\n")
