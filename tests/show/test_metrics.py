"""metrics.jsonl."""

import json

import numpy as np
import pytest

from distkern.core.errors import CorruptDataError
from distkern.engine.events import Event
from distkern.show.metrics import FIELDS, MetricsFile, read, rewrite, to_line
from distkern.show.passes import PassRecorder, PassTotal, verdict

LINE = {name: number for number, name in enumerate(FIELDS)}


def test_a_line_per_stage(tmp_path):
    path = tmp_path / "metrics.jsonl"
    listener = MetricsFile(path)
    shuffled = {"bound": 0.5, **dict(reversed(LINE.items())), "test_error": None}
    listener(Event("stage_finished", {"metrics": shuffled}))
    listener(Event("message", {"text": "no stage"}))
    listener(
        Event("stage_finished", {"metrics": LINE | {"stage": np.int64(9), "objective": np.float32(0.5)}})
    )
    lines = path.read_text().splitlines()
    assert list(json.loads(lines[0])) == [*FIELDS, "bound"]
    assert json.loads(lines[0])["test_error"] is None
    assert read(path) == [shuffled, LINE | {"stage": 9, "objective": 0.5}]


def test_numbers_that_json_lacks_become_null(tmp_path):
    rewrite(tmp_path / "m", [LINE | {"objective": float("nan"), "bound": np.float64("inf")}])
    assert read(tmp_path / "m") == [LINE | {"objective": None, "bound": None}]


def test_rewrite_replaces_what_was_there(tmp_path):
    path = tmp_path / "metrics.jsonl"
    rewrite(path, [LINE, LINE])
    rewrite(path, [LINE])
    MetricsFile(path)(Event("stage_finished", {"metrics": LINE | {"stage": 1}}))
    assert [line["stage"] for line in read(path)] == [0, 1]
    assert list(tmp_path.iterdir()) == [path]


def test_a_torn_last_line_is_left_out_and_any_other_is_refused(tmp_path):
    path = tmp_path / "metrics.jsonl"
    line = to_line(LINE)
    path.write_text(f'{line}{{"sta')
    assert read(path) == [LINE]
    path.write_text(f'{line}{{"sta\n{line}')
    with pytest.raises(CorruptDataError, match="line 2"):
        read(path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"stage": None},
        {"seconds": float("nan")},
        {"objective": "low"},
        {"bytes_read": True},
        {"gap": 10**400},
        {"passes": -1},
        {"warnings": [1]},
        {"ended": {}},
        {"candidates": [{"name": "a"}]},
        {"candidates": [1]},
    ],
)
def test_a_line_that_no_run_writes_is_refused_before_it_is_shown(tmp_path, wrong):
    (tmp_path / "m").write_text(json.dumps(LINE | wrong) + "\n")
    with pytest.raises(CorruptDataError, match=f"line 1 is not a line of metrics .*{next(iter(wrong))}"):
        read(tmp_path / "m")


def test_passes_are_added_up_by_name():
    recorder = PassRecorder()
    fields = {"name": "gradient", "stage": 1, "seconds": 2.0, "rows": 10, "bytes": 40, "mode": "workers"}
    recorder(Event("pass_finished", fields | {"split_seconds": {"read": 0.5, "work": 5.0}}))
    recorder(Event("pass_finished", fields | {"split_seconds": {"loop": 0.5}}))
    measured = {"name": "inner loop", "split_seconds": {"loop": 1.0, "wait": 0.75}}
    recorder(Event("pass_finished", fields | measured))
    gradient, loop = recorder.totals
    assert (gradient.times, gradient.seconds, gradient.rows, gradient.bytes) == (2, 4.0, 20, 80)
    # all but the driver's own work, unless the pass has measured it
    assert gradient.waited == 3.5
    assert (loop.name, loop.times, loop.waited) == ("inner loop", 1, 0.75)


def test_a_resumed_run_s_passes_say_since_when():
    recorder = PassRecorder()
    recorder(Event("run_started", {"resumed_from": 3}))
    fields = {"name": "gradient", "stage": 4, "seconds": 2.0, "rows": 10, "bytes": 40, "mode": "workers"}
    recorder(Event("pass_finished", fields))
    assert [total.since for total in recorder.totals] == [3]
    assert "Since the run was resumed after stage 3, the driver spent" in verdict(recorder.totals)
    assert "resumed" not in verdict([PassTotal("gradient", seconds=1.0)])
