"""Jobs on a real scheduler with two workers: submitted by one process, looked at and stopped by others."""

import json
import os
import signal
import threading

import numpy as np
import pytest

from cluster_processes import distkern, settings_of, wait_for
from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.engine.dask.jobs import JobScheduler
from distkern.jobs.folder import JobFolder, JobIndex, check_store
from distkern.jobs.record import Record
from distkern.runs.algorithms import load_model


def settings(stages):
    return ["--algorithm", "csvrg", *settings_of(n_landmarks=20, stages=stages, tol=0.0)]


#: options of a run that is still running when it is inspected
LONG = settings(400)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "d.zarr"
    generator = np.random.default_rng(0)
    features = generator.normal(size=(4000, 6)).astype(np.float32)
    write_dataset(
        [(features, (features[:, 0] > 0).astype(int))], path, rows_per_shard=1000, test_fraction=0.2
    )
    return path


@pytest.fixture(scope="module")
def runs(data, cluster_for_jobs, tmp_path_factory):
    """A folder of runs with a finished job, submitted by a process that is gone."""
    folder = tmp_path_factory.mktemp("runs")
    job = folder / "job.toml"
    job.write_text(
        f'algorithm = "csvrg"\ndata = {str(data)!r}\nout = {str(folder / "m")!r}\n'
        f'scheduler = "{cluster_for_jobs.address}"\n[params]\nn_landmarks = 20\nstages = 3\ntol = 0.0\n'
    )
    submitted = distkern("submit", str(job))
    assert submitted.returncode == 0, submitted.stderr
    last = submitted.stdout.splitlines()[-1]
    wait_for(lambda: JobFolder(folder / "m").state() in ("finished", "failed"))
    assert last.split()[-1] == JobFolder(folder / "m").record().id
    return folder


def identifier(runs):
    return JobFolder(runs / "m").record().id


def submit(data, cluster_for_jobs, out, *flags):
    return main(
        ["submit", "--data", str(data), "--out", str(out), "--scheduler", cluster_for_jobs.address, *flags]
    )


def printed(capsys):
    return json.loads(capsys.readouterr().out)


def test_another_process_sees_what_was_submitted(cluster_for_jobs, runs, capsys):
    name = identifier(runs)
    assert main(["jobs", "--runs", str(runs)]) == 0
    shown = capsys.readouterr().out
    row = next(line.split() for line in shown.splitlines() if name in line)
    # of how many does not matter any more
    assert row[:4] == [name, "finished", "csvrg", "3"]
    # without its folder of runs, the scheduler knows
    assert main(["jobs", "--runs", str(runs / "m"), "--scheduler", cluster_for_jobs.address, "--json"]) == 0
    assert (name, "finished") in [(job["id"], job["state"]) for job in printed(capsys)["jobs"]]
    assert main(["status", name, "--runs", str(runs), "--json"]) == 0
    facts = printed(capsys)
    assert (facts["state"], facts["stage"], facts["stages"], facts["epoch"]) == ("finished", 3, 3, 1)
    assert facts["worker"].startswith("tcp://127.0.0.1:")
    last = json.loads((runs / "m" / "metrics.jsonl").read_text().splitlines()[-1])
    assert facts["metrics"] == last
    assert main(["status", name, "--runs", str(runs / "m"), "--scheduler", cluster_for_jobs.address]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("finished", "objective", "test error", "driver"))


def test_logs_are_like_the_terminal_of_train(runs, capsys, monkeypatch):
    monkeypatch.setenv("DISTKERN_RUNS", str(runs))
    assert main(["logs", identifier(runs), "--follow"]) == 0
    captured = capsys.readouterr()
    assert "csvrg: 3,200 rows x 6 features on 2 workers" in captured.err
    assert "finished after" in captured.err
    assert "distkern fetch" in captured.out


def test_the_fetched_model_has_the_bits_of_one_trained_here(data, runs, tmp_path):
    fetched = tmp_path / "f"
    assert main(["fetch", identifier(runs), "--out", str(fetched), "--runs", str(runs)]) == 0
    here = tmp_path / "here"
    arguments = ["train", "--data", str(data), "--out", str(here), "--scheduler", "synchronous"]
    assert main([*arguments, *settings(3)]) == 0
    np.testing.assert_array_equal(load_model(fetched).coefficients_, load_model(here).coefficients_)
    assert {path.name for path in fetched.iterdir()} == {
        "model.json",
        "arrays",
        "metrics.jsonl",
        "report.html",
    }
    assert main(["fetch", identifier(runs), "--out", str(fetched), "--runs", str(runs)]) == 2


@pytest.mark.slow
def test_cancel_stops_within_a_stage_and_the_run_goes_on_later(data, cluster_for_jobs, tmp_path, capsys):
    out = tmp_path / "c"
    assert submit(data, cluster_for_jobs, out, *LONG, "--json") == 0
    name = printed(capsys)["id"]
    folder = JobFolder(out)
    wait_for(
        lambda: (out / "checkpoints" / "stage-00002").exists() or folder.state() not in ("queued", "running"),
        20,
    )
    # a second one would train to the same folder
    assert submit(data, cluster_for_jobs, out, *LONG, "--resume") == 2
    assert f"is the folder of job {name}" in capsys.readouterr().err
    assert main(["cancel", name, "--runs", str(tmp_path), "--scheduler", cluster_for_jobs.address]) == 0
    capsys.readouterr()
    wait_for(lambda: folder.state() == "cancelled", 20)
    saved = sorted(path.name for path in (out / "checkpoints").iterdir())
    assert 0 < int(saved[-1][-5:]) < 400
    assert submit(data, cluster_for_jobs, out, *LONG) == 2
    assert "use --resume" in capsys.readouterr().err
    assert main(["cancel", name, "--runs", str(tmp_path)]) == 2
    assert "is cancelled already" in capsys.readouterr().err
    assert main(["fetch", name, "--out", str(tmp_path / "f"), "--runs", str(tmp_path)]) == 2
    assert submit(data, cluster_for_jobs, out, *LONG, "--resume") == 0
    assert capsys.readouterr().out.split()[-1] == name
    further = out / "checkpoints" / f"stage-{int(saved[-1][-5:]) + 3:05d}"
    wait_for(further.exists, 20)
    folder.ask_to_stop()
    wait_for(lambda: folder.state() == "cancelled", 20)
    started = [json.loads(line) for line in folder.log.read_text().splitlines() if "run_started" in line]
    assert started[0]["resumed_from"] is None
    assert started[1]["resumed_from"] == int(saved[-1][-5:])


@pytest.mark.slow
def test_ctrl_c_ends_the_looking_and_not_the_job(data, cluster_for_jobs, tmp_path, capsys):
    out = tmp_path / "w"
    folder = JobFolder(out)

    def interrupt():
        wait_for((out / "checkpoints" / "stage-00001").exists, 30)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    assert submit(data, cluster_for_jobs, out, *LONG, "--wait") == 130
    other.join()
    captured = capsys.readouterr()
    name = folder.record().id
    assert captured.out.split()[-1] == name
    found = f"follow it with `distkern logs {name} --follow --runs {tmp_path}`"
    assert f"distkern: job {name} continues; {found}" in captured.err
    assert folder.state() == "running"
    folder.ask_to_stop()
    wait_for(lambda: folder.state() == "cancelled", 20)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["submit", "--data", "DATA", "--out", "m"], "--scheduler: a job needs the address"),
        (["submit", "--data", "DATA", "--scheduler", "ADDRESS"], "--out: no folder"),
        (["submit", "--data", "DATA", "--scheduler", "ADDRESS", "--out", "/proc/no/m"], "/proc/no/m"),
        (["submit", "--data", "DATA", "--scheduler", "ADDRESS", "--out", "RUNS/m"], "holds a finished model"),
        (["submit", "--data", "no.zarr", "--scheduler", "ADDRESS", "--out", "m"], "no.zarr"),
        (["status", "nobody", "--runs", "RUNS"], "no job 'nobody'; known are: csvrg-"),
        (
            ["status", "nobody", "--runs", "RUNS", "--scheduler", "ADDRESS"],
            "no job 'nobody'; known are: csvrg-",
        ),
        (["logs", "nobody", "--runs", "no/runs"], "there are no jobs; give --runs FOLDER"),
        (["jobs", "--scheduler", "threads"], "'threads' ends with this command"),
        (["train", "--data", "DATA", "--out", "m", "--scheduler", "threads", "--retries", "2"], "--retries"),
    ],
)
def test_wrong_input_is_one_line(
    data, cluster_for_jobs, runs, tmp_path, monkeypatch, capsys, arguments, words
):
    monkeypatch.chdir(tmp_path)
    known = {
        "DATA": str(data),
        "ADDRESS": cluster_for_jobs.address,
        "RUNS": str(runs),
        "RUNS/m": str(runs / "m"),
    }
    assert main([known.get(word, word) for word in arguments]) == 2
    errors = capsys.readouterr().err
    assert words in errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_a_store_that_the_workers_do_not_see_is_refused(data, cluster_for_jobs, tmp_path, monkeypatch):
    out = tmp_path / "m"
    with JobScheduler(cluster_for_jobs.address) as scheduler:
        check_store(out, str(data), scheduler.everywhere)
        with pytest.raises(
            InputError, match=r"--out: worker tcp://127.0.0.1:\d+ does not see the data set /no"
        ):
            check_store(out, "/no.zarr", scheduler.everywhere)
        # what a worker with another disk under the same path would find
        with pytest.raises(InputError, match=r"does not see this machine's folder .*; use a path that"):
            check_store(out, str(data), lambda look, *_: scheduler.everywhere(look, str(out), "other", ""))
        with pytest.raises(InputError, match=r"cannot run distkern \(ZeroDivisionError"):
            check_store(out, str(data), lambda *_: {"tcp://w": ZeroDivisionError("no")})
        denied = InputError("access is denied", where="s3://b/m", hint="check the credentials")
        with pytest.raises(InputError, match=r"s3://b/m: worker tcp://w: access is denied; check the cred"):
            check_store(out, str(data), lambda *_: {"tcp://w": denied})
    assert list((out / ".job").iterdir()) == []


@pytest.mark.slow
def test_a_job_whose_scheduler_forgot_it_is_lost(data, cluster_for_jobs, runs, tmp_path, capsys):
    out = tmp_path / "q"
    waiting = Record("waiting", "csvrg", str(data), str(out), scheduler=cluster_for_jobs.address)
    JobFolder(out).write(waiting)
    JobIndex(tmp_path).add("waiting", out)
    for flags, state in (([], "queued"), (["--scheduler", cluster_for_jobs.address], "lost")):
        assert main(["status", "waiting", "--runs", str(tmp_path), "--json", *flags]) == 0
        assert printed(capsys)["state"] == state


@pytest.mark.slow
def test_a_job_survives_the_deaths_of_its_hosts_and_is_trained_once(data, cluster_for_jobs, tmp_path, capsys):
    whole = tmp_path / "whole"
    arguments = ["train", "--data", str(data), "--out", str(whole), "--scheduler", "synchronous"]
    assert main([*arguments, *settings(20)]) == 0
    out = tmp_path / "m"
    folder = JobFolder(out)
    capsys.readouterr()
    assert submit(data, cluster_for_jobs, out, *settings(20)) == 0
    name = capsys.readouterr().out.split()[-1]
    wait_for((out / "checkpoints" / "stage-00003").exists, 30)
    cluster_for_jobs.kill_worker(driver_of(out, 1))
    wait_for(lambda: folder.state() == "finished", 60)
    np.testing.assert_array_equal(load_model(out).coefficients_, load_model(whole).coefficients_)
    stages = [json.loads(line)["stage"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert stages == list(range(21))
    started = [json.loads(line) for line in folder.log.read_text().splitlines() if "run_started" in line]
    assert len(started) == 2
    assert started[1]["resumed_from"] >= 3
    # Dask runs the driver of a finished job again when the host that holds its result dies
    cluster_for_jobs.kill_worker(driver_of(out, 2))
    with JobScheduler(cluster_for_jobs.address) as scheduler:
        wait_for(lambda: scheduler.jobs()[name]["scheduler_state"] == "finished", 30)
    assert sorted(path.name for path in (out / ".job").glob("epoch-*")) == ["epoch-00001", "epoch-00002"]
    assert folder.log.read_text().count("run_started") == 2


def driver_of(out, epoch):
    claimed = json.loads((out / ".job" / f"epoch-{epoch:05d}").read_text())
    return int(claimed["pid"])
