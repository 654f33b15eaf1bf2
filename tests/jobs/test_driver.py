"""The driver in this process: starts anywhere, trains once, stops when asked or when another took over."""

import json
import threading
from functools import partial

import numpy as np
import pytest

from distkern.cli.job import Job
from distkern.cli.main import main
from distkern.cli.train import supervised, train_described
from distkern.core.errors import ClusterError, InputError
from distkern.data.ingest import write_dataset
from distkern.engine.events import Event
from distkern.jobs import driver as driver_module
from distkern.jobs.driver import MOST_STARTS, CancelledJobError, Guard, drive
from distkern.jobs.folder import FencedError, JobFolder
from distkern.jobs.record import Record
from distkern.runs.algorithms import load_model

STAGES = 4


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "d.zarr"
    generator = np.random.default_rng(0)
    features = generator.normal(size=(3000, 5)).astype(np.float32)
    write_dataset([(features, (features[:, 0] > 0).astype(int))], path, rows_per_shard=1000)
    return path


def describe(data, out, **params):
    settings = {"n_landmarks": 20, "stages": STAGES, "tol": 0.0, **params}
    return {
        "algorithm": "csvrg",
        "data": str(data),
        "out": str(out),
        "scheduler": "tcp://h:1",
        "params": settings,
    }


def prepared(data, out, **params):
    folder = JobFolder(out)
    description = describe(data, out, **params)
    folder.write(Record("j", "csvrg", str(data), str(out), description=description))
    return folder, description


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "m"
    _, description = prepared(data, out)
    assert drive(str(out), description, train_described)["state"] == "finished"
    return out


def check_same(out, whole):
    np.testing.assert_array_equal(load_model(out).coefficients_, load_model(whole).coefficients_)
    stages = [json.loads(line)["stage"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert stages == list(range(STAGES + 1))


def at_stage(number, action):
    """Training during which something happens after the checkpoint of a stage."""

    def listen(event):
        if event.kind == "checkpoint_saved" and event["stage"] == number:
            action()

    def train(description, listeners, resume):
        # before the guard, which has the next word
        train_described(description, (listen, *listeners), resume)

    return train


def test_a_finished_job_is_not_trained_again(data, whole):
    folder = JobFolder(whole)
    trained = len(list((whole / ".job").glob("epoch-*")))
    before = (whole / "model.json").stat().st_mtime_ns
    (whole / "report.html").unlink()
    # its driver died between the model and the record
    folder.write(folder.record().changed(state="running"))
    answer = drive(str(whole), folder.record().description, train_described)
    assert answer == {"id": "j", "state": "finished", "error": ""}
    assert folder.record().state == "finished"
    assert (whole / "model.json").stat().st_mtime_ns == before
    assert (whole / "report.html").exists()
    assert len(list((whole / ".job").glob("epoch-*"))) == trained == 1


@pytest.mark.slow
def test_cancelled_after_a_stage_and_gone_on(data, whole, tmp_path):
    out = tmp_path / "m"
    folder, description = prepared(data, out)
    answer = drive(str(out), description, at_stage(2, folder.ask_to_stop))
    assert answer["state"] == folder.state() == "cancelled"
    assert sorted(path.name for path in out.glob("checkpoints/*")) == ["stage-00001", "stage-00002"]
    # who starts it while the wish stands stops at once
    assert drive(str(out), description, train_described)["state"] == "cancelled"
    folder.go_on()
    assert drive(str(out), description, train_described)["state"] == "finished"
    check_same(out, whole)
    said = [json.loads(line) for line in folder.log.read_text().splitlines()]
    assert [line["resumed_from"] for line in said if line["kind"] == "run_started"] == [None, 2]


def test_cancelled_through_the_scheduler_before_anything_was_saved(data, tmp_path):
    folder, description = prepared(data, tmp_path / "m")
    answer = drive(str(folder.path), description, train_described, asked_to_stop=lambda: True)
    assert answer["state"] == folder.state() == "cancelled"
    assert not (folder.path / "checkpoints").exists()


@pytest.mark.slow
def test_the_older_of_two_drivers_stops(data, whole, tmp_path):
    out = tmp_path / "m"
    folder, description = prepared(data, out)
    answers = []

    def second():
        # a host that was cut off is thought dead, and its job started elsewhere, to the end
        other = threading.Thread(target=lambda: answers.append(drive(str(out), description, train_described)))
        other.start()
        other.join()

    answers.append(drive(str(out), description, at_stage(1, second)))
    assert [answer["state"] for answer in answers] == ["finished", "superseded"]
    assert folder.record().epoch == 2
    assert folder.state() == "finished"
    assert not (out / "checkpoints").exists()
    check_same(out, whole)
    said = [json.loads(line) for line in folder.log.read_text().splitlines()]
    last = max(number for number, line in enumerate(said) if line["epoch"] == 1)
    assert last < min(number for number, line in enumerate(said) if line["epoch"] == 2)


def test_a_job_that_fails_says_why_and_is_over(data, tmp_path):
    folder, description = prepared(data, tmp_path / "m", step_size=1e300)
    answer = drive(str(folder.path), description, train_described)
    assert answer["state"] == folder.state() == "failed"
    assert "step_size" in answer["error"]
    folder, description = prepared(data, tmp_path / "gone")
    description["data"] = str(tmp_path / "no.zarr")
    assert "no.zarr" in drive(str(folder.path), description, train_described)["error"]


def failing(error):
    def fail():
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "connected", "state", "said"),
    [
        (ClusterError("the connection to the scheduler was lost"), True, "lost", "connection"),
        pytest.param(
            AttributeError("'NoneType' object has no attribute 'x'"),
            False,
            "lost",
            "connection",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            AttributeError("'NoneType' object has no attribute 'x'"),
            True,
            "failed",
            "AttributeError",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_cluster_s_faults_leave_a_job_to_go_on_with(data, whole, tmp_path, error, connected, state, said):
    folder, description = prepared(data, tmp_path / "m")
    broken = partial(
        drive, str(folder.path), description, at_stage(2, failing(error)), connected=lambda: connected
    )
    if state == "lost":
        with pytest.raises(type(error)):
            broken()
    else:
        assert broken()["state"] == state
    assert folder.state() == state
    assert said in folder.record().error
    # Dask starts it again
    assert drive(str(folder.path), description, train_described)["state"] == "finished"
    check_same(folder.path, whole)


def test_progress_is_told_and_signs_of_life_are_given(data, tmp_path):
    folder, description = prepared(data, tmp_path / "m")
    seen = []
    told = []

    def look():
        seen.append(folder.state())

    drive(
        str(folder.path),
        description,
        at_stage(1, look),
        progressed=lambda: told.append(1),
        worker="tcp://w:1",
    )
    assert seen == ["running"]
    assert len(told) == STAGES + 2
    assert folder.pulse()["epoch"] == 1
    assert folder.record().worker == "tcp://w:1"


def test_train_takes_a_cancelled_job_to_its_end_and_no_living_one(data, whole, tmp_path, capsys):
    out = tmp_path / "m"
    folder, description = prepared(data, out)
    settings = [
        part for name, value in description["params"].items() for part in ("--set", f"{name}={value}")
    ]
    train = ["train", "--data", str(data), "--out", str(out), "--scheduler", "threads", "--resume", *settings]
    train += ["--algorithm", "csvrg"]
    assert main(train) == 2
    assert "is the folder of job j, which is queued" in capsys.readouterr().err
    drive(str(out), description, at_stage(2, folder.ask_to_stop))
    assert folder.state() == "cancelled"
    assert main(train) == 0
    assert "resumed after stage 2" in capsys.readouterr().err
    assert folder.state() == "finished"
    check_same(out, whole)


def test_a_failed_try_of_train_is_told_of_and_gone_on_from(data, whole, tmp_path, monkeypatch):
    said = []
    resumed = []
    monkeypatch.setattr(driver_module, "FIRST_PAUSE", 0.01)
    job = Job(data=str(data), out=str(tmp_path / "m"), scheduler="tcp://h:1")

    def run(tried):
        resumed.append(tried)
        if tried == 0:
            raise ClusterError("the connection to the scheduler was lost; resume with --resume")
        if tried == 1:
            raise InputError("no Dask scheduler answers", where="--scheduler tcp://h:1")
        return "done"

    assert supervised(job, run, 5, said.append) == "done"
    assert resumed == [0, 1, 2]
    assert "was lost; try 1 of 5 in 0 s, from the last checkpoint" in said[0]
    assert "no Dask scheduler answers; try 2 of 5 in 0 s" in said[1]
    # at the first try, it is the user's input
    with pytest.raises(InputError, match="no Dask scheduler"):
        supervised(job, lambda tried: run(1), 5, said.append)


def test_the_guard_stops_only_its_own_thread_and_writes_a_stage_first(tmp_path):
    folder = JobFolder(tmp_path)
    guard = Guard(folder, folder.claim(), lambda: False)
    folder.ask_to_stop()
    finished = Event("stage_finished", {"metrics": {}})
    guard(finished)
    elsewhere = threading.Thread(target=guard, args=(Event("checkpoint_saved", {"stage": 1}),))
    elsewhere.start()
    elsewhere.join()
    with pytest.raises(CancelledJobError):
        guard(Event("checkpoint_saved", {"stage": 1}))
    folder.claim()
    with pytest.raises(FencedError):
        guard(finished)


@pytest.mark.slow
def test_a_driver_that_dies_again_and_again_in_a_stage_is_given_up(data, whole, tmp_path):
    folder, description = prepared(data, tmp_path / "m")
    fault = ClusterError("the connection to the scheduler was lost")
    with pytest.raises(ClusterError):
        drive(str(folder.path), description, at_stage(1, failing(fault)))
    for _ in range(MOST_STARTS):
        # killed: it claims the job and is heard of no more
        folder.claim((1, 1))
    answer = drive(str(folder.path), description, train_described)
    assert answer["state"] == folder.state() == "failed"
    assert "died 10 times in a row in stage 2 (out of memory?)" in answer["error"]
    # submitted again with more memory
    folder.write(folder.record().changed(state="queued", submission=2))
    assert drive(str(folder.path), description, train_described)["state"] == "finished"
    check_same(folder.path, whole)
