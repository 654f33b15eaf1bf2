"""The history of a run: complete for a late page, bounded, fast, and deaf to nonsense."""

from itertools import pairwise

import pytest
from runs_of_dashboard import FACTS, a_pass, event, metrics, started, whole_run

from distkern.show.live.history import MOST_NOTES, MOST_STAGES, NewestRun


def histories(*events, **facts):
    kept = NewestRun()
    for one in events:
        kept.add({"run": {**FACTS, **facts}, "events": [one]})
    return kept


def test_a_run_as_its_events_told_it():
    kept = histories(*whole_run(3))
    run = kept.history
    assert kept.refused == 0
    assert run.state == "finished"
    assert [stage["stage"] for stage in run.stages] == [0, 1, 2, 3]
    assert run.last["objective"] == 1.125
    (total,) = run.passes.totals
    assert (total.times, total.rows, total.waited) == (4, 4000, 16.0)
    assert [kind for _, kind, _ in run.notes] == ["started", *["checkpoint"] * 4, "finished"]


def test_the_pass_under_way():
    started_, *progress, finished = a_pass(10.0, 2)
    kept = histories(started(10.0), started_, *progress[:3])
    step = kept.history.step
    assert (step.name, step.stage, step.tasks_done, step.tasks, step.rows_done) == ("snapshot", 2, 3, 4, 750)
    assert step.rows_per_second == 250
    assert not step.finished
    kept.add({"run": FACTS, "events": [finished]})
    assert step.finished
    assert step.rows_done == 1000


def test_a_page_that_is_opened_late_and_missed_the_start():
    events = list(whole_run(2))[3:]
    run = histories(*events).history
    assert run.state == "finished"
    assert len(run.stages) == 3


@pytest.mark.slow
def test_a_hundred_thousand_events_stay_few():
    kept = NewestRun()
    count = stage = 0
    now = 0.0
    while count < 100_000:
        events = [*a_pass(now, stage, steps=40), event("stage_finished", now + 40, metrics=metrics(stage))]
        events.append(event("checkpoint_saved", now + 40, stage=stage, path="/m", seconds=0.1))
        kept.add({"run": FACTS, "events": events})
        count, stage, now = count + len(events), stage + 1, now + 40
    run = kept.history
    assert MOST_STAGES / 2 <= len(run.stages) <= MOST_STAGES
    assert run.last["stage"] == stage - 1
    assert len(run.notes) == MOST_NOTES
    (total,) = run.passes.totals
    assert total.times == stage


def test_thinned_stages_keep_the_first_part_and_the_newest():
    kept = histories(
        *(event("stage_finished", float(s), metrics=metrics(s)) for s in range(2 * MOST_STAGES + 7))
    )
    stages = [stage["stage"] for stage in kept.history.stages]
    assert stages[-1] == 2 * MOST_STAGES + 6
    assert stages[0] == 0
    assert max(b - a for a, b in pairwise(stages)) < 8
    assert stages == sorted(set(stages))


def test_resumed_lost_workers_and_messages_are_noted():
    kept = histories(
        started(resumed_from=3),
        event("worker_lost", 2.0, address="tcp://1"),
        event("message", 3.0, text="hear"),
    )
    notes = [(kind, text) for _, kind, text in kept.history.notes]
    assert notes[1] == ("resumed", "from the checkpoint of stage 3")
    assert notes[2] == ("worker lost", "tcp://1; its tasks run again elsewhere")
    assert notes[3] == ("message", "hear")


def test_a_driver_that_leaves_has_stopped_but_a_finished_run_stays_finished():
    unfinished = histories(*whole_run(1, finished=False)).history
    unfinished.stop()
    assert unfinished.state == "stopped"
    finished = histories(*whole_run(1)).history
    finished.stop()
    assert finished.state == "finished"


@pytest.mark.parametrize(
    "record",
    [
        None,
        3,
        {},
        {"run": FACTS},
        {"run": {}, "events": [started()]},
        {"run": {"id": "one"}, "events": [started()]},
        {"run": FACTS, "events": [{"kind": "pass_started", "time": 0.0, "fields": {}}]},
        {"run": FACTS, "events": [{"kind": "pass_started", "time": 0.0, "fields": None}]},
        {"run": FACTS, "events": [{"kind": "stage_finished", "time": "x", "fields": {}}]},
        {"run": FACTS, "events": [event("stage_finished", 0.0, metrics=5)]},
    ],
)
def test_records_of_another_form_are_counted_and_ignored(record):
    kept = NewestRun()
    kept.add(record)
    assert kept.refused == 1
    kept.add({"run": FACTS, "events": [started()]})
    assert kept.history.state == "running"


def test_kinds_of_a_newer_version_are_passed_over():
    kept = histories(started(), event("eclipse", 5.0, depth=1))
    assert kept.refused == 0
    assert kept.history.heard == 5.0


def test_a_run_that_began_later_takes_the_place_of_the_one_before():
    kept = histories(*whole_run(1))
    newer = {**FACTS, "id": "two", "began": 1.0}
    kept.add({"run": newer, "events": [started()]})
    assert (kept.history.id, kept.history.stages) == ("two", [])
    kept.add({"run": FACTS, "events": list(whole_run(1))})
    assert (kept.history.id, kept.history.stages, kept.refused) == ("two", [], 0)


def test_passes_of_a_resumed_run_say_since_when():
    (total,) = histories(started(resumed_from=2), *a_pass(0.0, 3)).history.passes.totals
    assert total.since == 2


def test_seconds_of_a_resumed_run_are_of_all_its_tries():
    begun = [started(100.0, resumed_from=2), *a_pass(100.0, 3)]
    assert histories(*begun, began=100.0).history.seconds == 4.0
    resumed = event("stage_finished", 104.0, metrics=metrics(3, seconds=754.0))
    kept = histories(*begun, resumed, began=100.0)
    assert kept.history.seconds == 754.0
    kept.add({"run": FACTS, "events": list(a_pass(104.0, 4))})
    assert kept.history.seconds == 758.0
