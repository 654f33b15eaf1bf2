"""The driver: checkpoints after every stage, resume to the bit, interruption, divergence, events."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from distkern.core.choices import Compared
from distkern.core.errors import DivergenceError, InputError
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.drive import Interrupted
from distkern.engine.events import KINDS
from toy import InterruptAt, ToySolver, ToySource, run_toy, toy_problem

IDENTITY = {"data set": "toy", "lam": 1.0}


@pytest.fixture
def source():
    return ToySource()


def run(source, *, solver=None, **how):
    return run_toy(source, solver or ToySolver(), **how)


@pytest.mark.parametrize("kind", ["pass_started", "pass_progress", "pass_finished", "checkpoint_saved"])
@pytest.mark.parametrize("stage", [0, 1, 3, 4])
def test_interrupted_anywhere_and_resumed_gives_the_same_bits(source, tmp_path, kind, stage):
    whole = run(source)
    folder = CheckpointFolder(tmp_path / "checkpoints", IDENTITY)
    with pytest.raises(Interrupted) as interrupted:
        run(source, folder=folder, listeners=[InterruptAt(kind, stage)])
    message = str(interrupted.value)
    assert ("--resume" in message) == bool(folder.stages())
    resumed = run(source, folder=folder, resume=True)
    np.testing.assert_array_equal(resumed.state.order, whole.state.order)
    np.testing.assert_array_equal(resumed.state.total, whole.state.total)
    assert [line["stage"] for line in resumed.history] == [0, 1, 2, 3, 4]
    assert [line["rows_read"] for line in resumed.history] == [line["rows_read"] for line in whole.history]


def test_only_the_last_two_checkpoints_are_kept(source, tmp_path):
    folder = CheckpointFolder(tmp_path, IDENTITY)
    run(source, folder=folder)
    assert folder.stages() == [3, 4]


def test_resume_with_another_job_is_refused(source, tmp_path):
    run(source, folder=CheckpointFolder(tmp_path, IDENTITY))
    other = CheckpointFolder(tmp_path, IDENTITY | {"lam": 2.0})
    with pytest.raises(InputError, match=r"another lam \(1\.0\) than now \(2\.0\)"):
        run(source, folder=other, resume=True)


def test_a_damaged_checkpoint_falls_back_to_the_one_before(source, tmp_path):
    folder = CheckpointFolder(tmp_path, IDENTITY)
    whole = run(source, folder=folder)
    damaged = [
        path for path in (tmp_path / "stage-00004").rglob("*") if path.is_file() and path.name != "zarr.json"
    ]
    for path in damaged:
        content = bytearray(path.read_bytes())
        content[0] ^= 1
        path.write_bytes(content)
    again = run(source, folder=folder, resume=True)
    np.testing.assert_array_equal(again.state.order, whole.state.order)


def test_divergence_names_the_step(source, tmp_path):
    folder = CheckpointFolder(tmp_path, IDENTITY)
    with pytest.raises(DivergenceError, match=r"after stage 2.*smaller step_size"):
        run(source, folder=folder, solver=ToySolver(diverge_at=2))
    assert folder.stages() == [0, 1]


def test_events_tell_the_whole_story(source):
    heard = []
    run(source, listeners=[heard.append])
    kinds = [event.kind for event in heard]
    assert kinds[0] == "run_started"
    assert kinds[-1] == "run_finished"
    assert kinds.count("pass_started") == kinds.count("pass_finished") == 9
    assert kinds.count("stage_finished") == 5
    for event in heard:
        assert set(event.fields) == set(KINDS[event.kind])
    lines = [event["metrics"] for event in heard if event.kind == "stage_finished"]
    assert lines[-1]["rows_read"] == 25 * 9
    assert lines[-1]["passes"] == 9
    json.dumps(lines)


def test_seconds_go_on_after_resume(source, tmp_path):
    folder = CheckpointFolder(tmp_path, IDENTITY)
    with pytest.raises(Interrupted):
        run(source, folder=folder, listeners=[InterruptAt("pass_started", 3)])
    before = folder.newest_header().counters["seconds"]
    resumed = run(source, folder=folder, resume=True)
    assert resumed.history[-1]["seconds"] >= before


class Choosing(ToySolver):
    """Chooses at once, and changes its mind after stage 2."""

    def measures(self, state):
        return replace(
            super().measures(state), notes=("chosen: a", "b") if state.stage > 2 else ("chosen: b",)
        )


def test_what_a_solver_chose_is_told_once_and_again_after_resume(source, tmp_path):
    def told(**options):
        heard = []
        folder = CheckpointFolder(tmp_path, IDENTITY)
        outcome = run(
            source, solver=Choosing(), problem=problem, folder=folder, listeners=[heard.append], **options
        )
        texts = [event["text"] for event in heard if event.kind == "message"]
        assert heard[-1].kind == "run_finished"
        assert all(line["candidates"] == [asdict(one) for one in compared] for line in outcome.history)
        return texts, [line["notes"] for line in outcome.history]

    compared = (
        *(Compared("linear", 0.25, n_rows, 9) for n_rows in (None, 500)),
        Compared("exact", 0.125, 1000, 9),
    )
    problem = replace(toy_problem(source), candidates=compared)
    tried = ["tried: linear: 0.25", "tried: linear (500 rows x 9 functions): 0.25"]
    tried += ["tried: exact (1,000 rows x 9 functions): 0.125"]
    tried += ["trials on fewer rows hold out other rows, so only the last ones compare"]
    texts, notes = told()
    assert texts == [*tried, "chosen: b", "chosen: a", "b"]
    assert notes == [["chosen: b"]] * 3 + [["chosen: a", "b"]] * 2
    # of the finished run's state, without another stage
    assert told(resume=True) == ([*tried, "chosen: a", "b"], notes)
