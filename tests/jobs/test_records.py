"""Records, fences, the index and the log: what the store keeps of a job."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from distkern.cli.main import main
from distkern.core.errors import ClusterError, CorruptDataError, DivergenceError, InputError
from distkern.engine.events import Event
from distkern.jobs import log as log_module
from distkern.jobs.driver import is_fault_of_cluster, with_retries
from distkern.jobs.folder import FencedError, JobFolder, JobIndex, claim, newest
from distkern.jobs.log import LogFile, LogReader
from distkern.jobs.record import LOST_SECONDS, Record, from_json, new_id, redact, state_of


def record(**changes):
    return Record("j-1", "csvrg", "/d.zarr", "/m").changed(**changes)


def test_passwords_are_not_written(tmp_path):
    secret = "hunter2"
    job = record(
        data=f"https://me:{secret}@host/d.zarr",
        error=f"cannot open https://me:{secret}@host/d?token={secret}",
        description={"data": f"s3://key:{secret}@b/d", "password": secret, "params": {"gamma": 4.0}},
    )
    folder = JobFolder(tmp_path)
    folder.write(job)
    LogFile(folder.log, folder.claim()).say(f"reading https://me:{secret}@host/d.zarr")
    for file in (tmp_path / "job.json", folder.log):
        assert secret not in file.read_text()
    kept = folder.record()
    assert kept.data == "https://me:***@host/d.zarr"
    assert kept.description["params"] == {"gamma": 4.0}
    addresses = "tcp://10.0.0.5:8786 and tls://10.0.0.5:8786"
    assert redact(addresses) == addresses


@pytest.mark.parametrize(
    ("written", "beat", "asked", "has_model", "now"),
    [
        ("queued", None, False, False, "queued"),
        ("queued", None, True, False, "cancelled"),
        ("running", 990.0, False, False, "running"),
        ("running", 990.0, True, False, "running"),
        ("running", 1000.0 - LOST_SECONDS - 1, False, False, "lost"),
        ("running", 1000.0 - LOST_SECONDS - 1, True, False, "cancelled"),
        ("running", None, False, True, "finished"),
        ("running", 999.0, False, True, "running"),
        ("lost", 999.0, False, False, "lost"),
        ("cancelled", 999.0, True, False, "cancelled"),
        ("cancelled", None, True, True, "finished"),
        ("failed", 999.0, False, False, "failed"),
        ("finished", 999.0, False, True, "finished"),
        ("finished", 999.0, False, False, "lost"),
    ],
)
def test_the_state_follows_from_record_signs_of_life_and_wishes(written, beat, asked, has_model, now):
    job = record(state=written, submitted=1.0, started=None if written == "queued" else 900.0)
    assert state_of(job, beat, asked_to_stop=asked, has_model=has_model, now=1000.0) == now


def test_a_record_comes_back_and_a_broken_one_is_named(tmp_path):
    job = record(state="failed", error="no")
    assert from_json(job.to_json(), "here") == job
    newer = {**json.loads(job.to_json()), "from a newer version": 1}
    assert from_json(json.dumps(newer), "here") == job
    for text in ("{", "[]", '{"id": "x"}'):
        with pytest.raises(CorruptDataError, match="here"):
            from_json(text, "here")
    with pytest.raises(InputError, match="holds no job"):
        JobFolder(tmp_path / "nothing").record()


def test_of_many_claims_each_has_its_own_epoch(tmp_path):
    start = threading.Barrier(8)

    def race(_):
        start.wait()
        return claim(tmp_path / "own").epoch

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(race, range(8))) == list(range(1, 9))
    assert newest(tmp_path / "own") == 8


def test_an_older_claim_is_refused(tmp_path):
    first = claim(tmp_path)
    first.check()
    second = claim(tmp_path)
    second.check()
    assert not first.holds()
    with pytest.raises(FencedError, match="epoch 2, this one is 1"):
        first.check()


def test_a_folder_with_a_living_job_is_refused(tmp_path):
    folder = JobFolder(tmp_path)
    folder.refuse_if_driven()
    folder.write(record())
    with pytest.raises(InputError, match="j-1, which is queued"):
        folder.refuse_if_driven()
    folder.ask_to_stop()
    folder.refuse_if_driven()


def test_commands_work_where_they_are_read(tmp_path, monkeypatch):
    job = record(runs=str(tmp_path / "my runs"))
    monkeypatch.delenv("DISTKERN_RUNS", raising=False)
    assert job.command("logs", "--follow") == f"`distkern logs j-1 --follow --runs '{tmp_path}/my runs'`"
    monkeypatch.setenv("DISTKERN_RUNS", str(tmp_path / "my runs"))
    assert job.command("cancel") == "`distkern cancel j-1`"
    monkeypatch.delenv("DISTKERN_RUNS")
    (tmp_path / "my runs").mkdir()
    monkeypatch.chdir(tmp_path / "my runs")
    assert job.command("cancel") == "`distkern cancel j-1`"


def test_the_index_moves_with_the_store(tmp_path):
    (tmp_path / "here").mkdir()
    JobIndex(tmp_path / "here").add("a", tmp_path / "here" / "m")
    JobIndex(tmp_path / "here").add("b", tmp_path / "elsewhere")
    (tmp_path / "here").rename(tmp_path / "there")
    index = JobIndex(tmp_path / "there")
    assert index.folder("a").path == tmp_path / "there" / "m"
    assert index.folder("b").path == tmp_path / "elsewhere"
    with pytest.raises(InputError, match=r"no job 'c'; known are: a, b"):
        index.folder("c")
    with pytest.raises(InputError, match=r"there are no jobs; give --runs"):
        JobIndex(tmp_path / "empty").folder("c")


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"{}", b'{"out": 1}', b"\xff"),
        *(b'{"out": "\\u0000"}', b'{"out": "\\ud800"}', b'{"out": "s3://u:p@b/m"}'),
    ],
)
def test_a_damaged_entry_of_the_index_is_told_and_ends_nothing(content, tmp_path, capsys):
    for name in ("a", "b", "c"):
        JobFolder(tmp_path / name).write(record(id=name))
        JobIndex(tmp_path).add(name, tmp_path / name)
    (tmp_path / ".distkern-jobs" / "a.json").write_bytes(content)
    (tmp_path / "c" / "job.json").write_bytes(content)
    runs = ["--runs", str(tmp_path)]
    assert main(["jobs", "--json", *runs]) == 0
    captured = capsys.readouterr()
    assert {job["id"]: job["state"] for job in json.loads(captured.out)["jobs"]} == {
        "b": "queued",
        "c": "damaged",
    }
    assert [line.split(": ")[0] for line in captured.err.splitlines()] == ["job a", "job c"]
    assert "a.json does not name the job's folder; write" in captured.err
    assert main(["status", "b", *runs]) == 0
    for command in (["status"], ["logs"], ["cancel"], ["fetch", "--out", str(tmp_path / "m")]):
        capsys.readouterr()
        assert main([command[0], "a", *command[1:], *runs]) == 2
        assert "a.json does not name the job's folder" in capsys.readouterr().err


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_job_that_cannot_be_read_ends_nothing(is_folder, tmp_path, capsys):
    JobFolder(tmp_path / "b").write(record(id="b"))
    JobIndex(tmp_path).add("b", tmp_path / "b")
    (tmp_path / "a" / "job.json").mkdir(parents=True)
    JobIndex(tmp_path).add("a", tmp_path / ("a" if is_folder else "a" * 300))
    assert main(["jobs", "--json", "--runs", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert {job["id"]: job["state"] for job in json.loads(captured.out)["jobs"]} == {
        "a": "damaged" if is_folder else "not seen",
        "b": "queued",
    }
    assert captured.err.startswith("job a: ")


def test_ids_are_not_used_twice():
    assert len({new_id("avm") for _ in range(20)}) == 20


def of_a_pass(kind, name, **fields):
    return Event(f"pass_{kind}", {"name": name, "stage": 1, "rows": 9, **fields})


def progress(done, name="scan"):
    return of_a_pass("progress", name, tasks_done=done, tasks=9, rows_done=done, bytes_done=0)


def begun(name):
    return of_a_pass("started", name, tasks=9, bytes=9, unit="rows")


def ended(name):
    return of_a_pass("finished", name, seconds=0.1, bytes=9, mode="workers")


def test_the_log_tells_of_passes_once_a_second_and_of_all_else(tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(log_module.time, "monotonic", lambda: clock[0])
    log = LogFile(tmp_path / "log.jsonl", claim(tmp_path / "own"))
    reader = LogReader(tmp_path / "log.jsonl")
    log(begun("slow"))
    for step in range(50):
        clock[0] += 0.1
        log(progress(step, "slow"))
    log(ended("slow"))
    kinds = [event.kind for event in reader.new()]
    assert kinds[0] == "pass_started"
    assert kinds[-1] == "pass_finished"
    assert 3 <= kinds.count("pass_progress") <= 5
    for number in range(1000):
        clock[0] += 0.003
        log(begun(f"quick {number}"))
        log(ended(f"quick {number}"))
    figures = {"stage": 1, "passes": 1.0, "seconds": 2.0}
    log(Event("stage_finished", {"metrics": {**figures, "objective": float("inf")}}))
    events = list(reader.new())
    assert len(events) <= 10
    assert events[-1]["metrics"] == {**figures, "objective": None}
    # a pass that begins between two lines is told of before its progress
    clock[0] += 0.01
    log(begun("late"))
    clock[0] += 2.0
    log(progress(1, "late"))
    assert [event.kind for event in reader.new()] == ["pass_started", "pass_progress"]


@pytest.mark.parametrize(
    "odd",
    [
        {"time": 1e300},
        {"time": float("nan")},
        {"kind": []},
        {"tasks": "many"},
        {"tasks_done": None},
        {"rows_done": 1e30},
        {"name": {}},
        {"kind": "stage_finished", "metrics": {"stage": 1, "passes": "x", "seconds": 1.0}},
        {"kind": "run_started"},
    ],
)
def test_lines_that_no_run_writes_are_passed_over(odd, tmp_path):
    line = {"time": 1.0, "kind": "pass_progress", **progress(1).fields}
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(line | odd) + "\n" + json.dumps(line) + "\n")
    assert [event.fields for event in LogReader(path).new()] == [progress(1).fields]


def test_half_a_line_waits_and_a_fenced_log_is_silent(tmp_path):
    path = tmp_path / "log.jsonl"
    reader = LogReader(path)
    assert list(reader.new()) == []
    old = LogFile(path, claim(tmp_path / "own"))
    old.say("one")
    new = LogFile(path, claim(tmp_path / "own"))
    old.say("lost")
    new.say("two")
    with path.open("a") as file:
        file.write('{"time": 1.0, "kind": "message", "te')
    assert [event["text"] for event in reader.new()] == ["one", "two"]
    with path.open("a") as file:
        file.write('xt": "three"}\n{"time": 2.0, "kind": "of a newer version"}\nnonsense\n')
    assert [event["text"] for event in reader.new()] == ["three"]


def test_only_the_cluster_s_faults_are_tried_again():
    said = []
    slept = []

    def run(tried):
        if tried < 3:
            raise ConnectionResetError(104, "reset") if tried % 2 else ClusterError("lost")
        return tried

    assert with_retries(run, 3, said.append, sleep=slept.append) == 3
    assert slept == [1.0, 2.0, 4.0]
    assert said[0] == "lost; try 1 of 3 in 1 s, from the last checkpoint"
    with pytest.raises(ClusterError):
        with_retries(run, 0, said.append, sleep=slept.append)
    for error in (InputError("wrong"), DivergenceError("inf"), OSError(28, "full"), ZeroDivisionError()):
        assert not is_fault_of_cluster(error)


def test_trials_of_a_search_are_progress_of_its_job(tmp_path):
    folder = JobFolder(tmp_path / "m")
    assert folder.progress() == (0, -1)
    trials = folder.path / "tune" / "trials"
    trials.mkdir(parents=True)
    for name in ("0000-0-0.json", "0001-0-0.json", ".0002-0-0.json.partial"):
        (trials / name).touch()
    (folder.path / "checkpoints" / "stage-00003").mkdir(parents=True)
    assert folder.progress()[0] == 2
