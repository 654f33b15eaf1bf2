"""One driver a run: attached runs claim their folder, and two never write to the same one."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from distkern.cli.job import Job
from distkern.cli.main import main
from distkern.cli.train import driving
from distkern.core.errors import FencedError, InputError
from distkern.engine.events import Event
from distkern.jobs.folder import JobFolder, attached_facts
from distkern.jobs.record import LOST_SECONDS, Record

#: files of a finished run
FINISHED = ["arrays", "metrics.jsonl", "model.json", "report.html"]
#: rows and columns of the data set
SHAPE = 800, 6


def arguments(data, out, *more, stages=100_000):
    settings = [
        part for name in ("n_landmarks=60", f"stages={stages}", "tol=0.0") for part in ("--set", name)
    ]
    job = ["--data", str(data), "--out", str(out), "--algorithm", "csvrg"]
    return ["train", *job, "--scheduler", "synchronous", *settings, *more]


def wait_until(condition, seconds=60.0):
    assert callable(condition)
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_another_run_to_the_folder_of_a_living_one_is_refused(data, tmp_path, capsys):
    out = tmp_path / "m"
    JobFolder(out).claim()
    JobFolder(out).beat(attached_facts())
    for more in ([], ["--resume"]):
        assert main(arguments(data, out, *more)) == 2
        said = capsys.readouterr().err
        assert f"process {os.getpid()} on" in said
        assert "remove the folder" not in said


def test_a_run_whose_folder_another_has_taken_over_stops(data, tmp_path, capsys):
    out = tmp_path / "m"

    def take_over():
        wait_until(lambda: (out / "checkpoints").is_dir() and any((out / "checkpoints").glob("stage-0*")))
        assert JobFolder(out).is_attached()
        JobFolder(out).claim()

    other = threading.Thread(target=take_over)
    other.start()
    assert main(arguments(data, out)) == 2
    other.join()
    assert "another driver has taken over" in capsys.readouterr().err


def test_nothing_of_a_claim_is_left(data, tmp_path):
    out = tmp_path / "m"
    assert main(arguments(data, out, stages=2)) == 0
    assert sorted(path.name for path in out.iterdir()) == FINISHED
    # nor of a run that could not begin
    assert main(arguments(data, tmp_path / "n", "--memory-limit", "1MiB")) == 2
    assert not (tmp_path / "n").exists()


def test_a_run_that_was_killed_after_its_model_was_written_is_finished_by_resume(
    data, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "m"

    def kept(folder):
        """What a run leaves that is killed before it clears up."""

    with monkeypatch.context() as patch:
        patch.setattr("distkern.runs.run.clear", kept)
        assert main(arguments(data, out, stages=2)) == 0
    assert (out / "checkpoints").is_dir()
    (out / "report.html").rename(out / ".report.html.partial-01234567")
    (out / ".arrays.partial-here-1-01234567").mkdir()
    JobFolder(out).claim()
    written = (out / "model.json").read_bytes()
    assert main(arguments(data, out, "--resume", "--set", "lam=3.0", stages=2)) == 2
    assert "lam" in capsys.readouterr().err
    assert main(arguments(data, out, "--resume", stages=2)) == 0
    assert sorted(path.name for path in out.iterdir()) == FINISHED
    assert (out / "model.json").read_bytes() == written
    # without the checkpoints, the model itself says of which job it is
    capsys.readouterr()
    assert main(arguments(data, out, "--resume", "--set", "lam=3.0", stages=2)) == 2
    assert "a finished model of another job (lam differs)" in capsys.readouterr().err


def test_a_folder_that_is_removed_while_it_is_trained_to_is_named(tmp_path):
    job = Job(data="d.zarr", out=str(tmp_path / "m"))
    with driving(job.model_folder, False) as (guard, _):
        # the first sign of life is not to come while the folder is being removed
        wait_until((tmp_path / "m" / ".job" / "heartbeat").exists)
        shutil.rmtree(tmp_path / "m")
        with pytest.raises(FencedError, match=r"m was removed or emptied during training"):
            guard(Event("run_started", {"stages": 3}))
    assert not (tmp_path / "m").exists()


def test_a_claim_that_was_lost_is_not_given_up(tmp_path):
    job = Job(data="d.zarr", out=str(tmp_path / "m"))
    folder = JobFolder(job.model_folder)
    with driving(job.model_folder, False) as (guard, _):
        started = Event("run_started", {"stages": 3})
        guard(started)
        newer = folder.claim()
        with pytest.raises(FencedError):
            guard(started)
    assert newer.holds()
    # another run's first claim is not taken for one's own
    folder.release(newer)
    assert not newer.holds()
    again = folder.claim()
    assert again.epoch == 1
    assert not newer.holds()


def test_a_driver_that_wakes_up_after_another_has_finished_says_so(tmp_path):
    folder = JobFolder(tmp_path)
    older, newer = folder.claim(), folder.claim()
    (tmp_path / "model.json").write_text("{}")
    folder.release(newer)
    with pytest.raises(FencedError, match="another driver has finished the run"):
        older.check()


def test_whose_signs_of_life_count(tmp_path):
    folder = JobFolder(tmp_path)
    (tmp_path / ".job").mkdir()
    folder.beat({"stage": 3})
    folder.refuse_if_attached()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    folder.beat({**attached_facts(), "pid": gone.pid})
    folder.refuse_if_attached()
    # in a container that was started anew, this is process 1 as the one before it was
    folder.beat({**attached_facts(), "born": "1"})
    folder.refuse_if_attached()
    # one that was stopped (Ctrl-Z, a suspended machine) is silent, and goes on writing when it wakes up
    folder.beat({**attached_facts(), "time": time.time() - LOST_SECONDS - 1})
    with pytest.raises(InputError, match=f"process {os.getpid()} on .* is writing to this folder"):
        folder.refuse_if_attached()
    folder.beat({**attached_facts(), "host": "elsewhere", "pid": gone.pid})
    with pytest.raises(InputError, match=f"process {gone.pid} on elsewhere is writing to this folder"):
        folder.refuse_if_attached()
    folder.beat({**attached_facts(), "host": "elsewhere", "time": time.time() - LOST_SECONDS - 1})
    folder.refuse_if_attached()
    # a clock that is a day ahead: while the driver beats, the disk's clock counts
    ahead = {**attached_facts(), "host": "elsewhere", "time": time.time() + 86_400}
    folder.beat(ahead)
    with pytest.raises(InputError, match="on elsewhere is writing to this folder"):
        folder.refuse_if_attached()
    heartbeat = tmp_path / ".job" / "heartbeat"
    for modified in (time.time() - LOST_SECONDS - 1, time.time() + 86_400):
        os.utime(heartbeat, (modified, modified))
        folder.refuse_if_attached()
    folder.beat(attached_facts())
    with pytest.raises(InputError, match=f"process {os.getpid()}"):
        folder.refuse_if_driven()
    folder.write(Record("j-1", "csvrg", "/d.zarr", str(tmp_path), state="cancelled"))
    assert folder.state() == "running"


def test_a_job_that_goes_on_must_be_the_same(data, tmp_path, capsys):
    out = tmp_path / "m"

    def interrupt():
        wait_until(lambda: (out / "checkpoints").is_dir() and any((out / "checkpoints").glob("stage-0*")))
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    assert main(arguments(data, out)) == 130
    flags = [flag for flag in arguments(data, out)[1:] if flag != "synchronous"]
    flags[flags.index("--scheduler") + 1 : flags.index("--scheduler") + 1] = ["tcp://127.0.0.1:9"]
    capsys.readouterr()
    # before any scheduler is looked for
    assert main(["submit", *flags, "--set", "gamma=0.5", "--resume"]) == 2
    assert "started with another gamma" in capsys.readouterr().err
    assert main(["submit", *flags]) == 2
    assert "holds an unfinished run" in capsys.readouterr().err
    JobFolder(out).write(Record("j-1", "csvrg", str(data), str(out)))
    assert main(["submit", *flags]) == 2
    assert "is the folder of job j-1, which is queued" in capsys.readouterr().err
