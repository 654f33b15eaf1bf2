"""Schedulers, workers and networks fail under jobs: none is lost, none trained twice, the bits stay."""

import json
import os
import random
import time

import numpy as np
import pytest

from cluster_processes import Processes, distkern, finish, settings_of, start_distkern, wait_for
from distkern.data.ingest import write_dataset
from distkern.jobs.folder import JobFolder
from distkern.runs.algorithms import load_model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

FAULTS = int(os.environ.get("DISTKERN_FAULTS", "50"))
STAGES = 40
SETTINGS = ["--algorithm", "csvrg", *settings_of(n_landmarks=60, stages=STAGES, tol=0.0, lam=64.0)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    def chunks():
        for number in range(4):
            features = np.random.default_rng(number).normal(size=(10_000, 8)).astype(np.float32)
            yield features, (np.abs(features[:, :3]).sum(axis=1) > 2.4).astype(int)

    path = tmp_path_factory.mktemp("faults") / "d.zarr"
    write_dataset(chunks(), path, rows_per_shard=5000)
    return path


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """The model of a run that nothing happened to."""
    out = tmp_path_factory.mktemp("whole") / "m"
    run = distkern("train", "--data", str(data), "--out", str(out), "--scheduler", "threads", *SETTINGS)
    assert run.returncode == 0, run.stderr
    return out


@pytest.fixture
def cluster(tmp_path):
    with Processes(tmp_path) as processes:
        yield processes


def check_same(out, whole):
    mine, expected = load_model(out), load_model(whole)
    np.testing.assert_array_equal(mine.coefficients_, expected.coefficients_)
    np.testing.assert_array_equal(mine.landmarks_, expected.landmarks_)
    stages = [json.loads(line)["stage"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert stages == list(range(STAGES + 1))
    wait_for(lambda: not (out / "checkpoints").exists(), 30)


def send(data, out, cluster, *flags):
    """Submit a job; while a scheduler and its workers come up, that takes more than one try."""
    deadline = time.monotonic() + 120
    while True:
        job = ("--data", str(data), "--out", str(out), "--scheduler", cluster.address)
        run = distkern("submit", *job, *SETTINGS, *flags)
        if run.returncode == 0:
            return
        assert "scheduler" in run.stderr, run.stderr
        assert time.monotonic() < deadline, run.stderr


def saved(out, stage):
    found = sorted(out.glob("checkpoints/stage-*"))
    return bool(found) and int(found[-1].name[-5:]) >= stage


def restart_everything(cluster):
    cluster.kill_scheduler()
    cluster.start_scheduler()
    cluster.replace_workers()


def test_train_with_retries_outlives_its_scheduler(data, whole, cluster, tmp_path):
    out = tmp_path / "m"
    job = ("--data", str(data), "--out", str(out), "--scheduler", cluster.address)
    run = start_distkern("train", *job, "--retries", "5", *SETTINGS)
    wait_for(lambda: saved(out, 5))
    cluster.kill_scheduler()
    # longer than the client tries to reach it again
    time.sleep(25)
    cluster.start_scheduler()
    cluster.replace_workers()
    errors = finish(run)
    assert "the connection to the scheduler was lost" in errors
    assert "restart both, unless that happens automatically" in errors
    assert "try 1 of 5 in 1 s, from the last checkpoint" in errors
    assert "resumed after stage" in errors
    check_same(out, whole)


def test_without_retries_a_lost_scheduler_leaves_a_run_to_resume(data, whole, cluster, tmp_path):
    out = tmp_path / "m"
    command = ["train", "--data", str(data), "--out", str(out), "--scheduler", cluster.address, *SETTINGS]
    run = start_distkern(*command)
    wait_for(lambda: saved(out, 5))
    cluster.kill_scheduler()
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "workers end with their scheduler: restart both" in errors.splitlines()[-1]
    assert errors.endswith("resume with --resume\n")
    cluster.start_scheduler()
    cluster.replace_workers()
    again = distkern(*command, "--resume")
    assert again.returncode == 0, again.stderr
    check_same(out, whole)


def test_a_job_goes_on_after_its_scheduler_was_restarted(data, whole, cluster, tmp_path):
    out = tmp_path / "m"
    send(data, out, cluster)
    wait_for(lambda: saved(out, 5))
    name = JobFolder(out).record().id
    restart_everything(cluster)
    send(data, out, cluster, "--resume")
    assert JobFolder(out).record().id == name
    wait_for(lambda: JobFolder(out).state() == "finished")
    check_same(out, whole)


def test_a_driver_may_lose_more_hosts_than_dask_allows_a_task(data, whole, cluster, tmp_path):
    out = tmp_path / "m"
    send(data, out, cluster)
    # Dask gives a task up at the fourth death of its worker
    for death in range(1, 7):
        wait_for(lambda death=death: JobFolder(out).record().epoch == death)
        wait_for(lambda death=death: saved(out, 3 * death))
        cluster.kill_worker(driver_pid(out))
    wait_for(lambda: JobFolder(out).state() == "finished")
    assert JobFolder(out).record().epoch == 7
    check_same(out, whole)


def test_random_faults(data, whole, cluster, tmp_path):
    generator = random.Random(0)
    met = {}
    number = 0
    out = tmp_path / "job-0"
    send(data, out, cluster)
    for _ in range(FAULTS):
        folder = JobFolder(out)
        if folder.state() == "finished":
            check_finished(out, whole)
            number += 1
            out = tmp_path / f"job-{number}"
            send(data, out, cluster)
            folder = JobFolder(out)
        time.sleep(generator.uniform(0.1, 4.0))
        kind = generator.choice(["driver", "driver", "other worker", "scheduler"])
        pid = driver_pid(out)
        workers = cluster.worker_pids()
        if kind == "scheduler":
            restart_everything(cluster)
            if not folder.has_model:
                send(data, out, cluster, "--resume")
        elif kind == "driver" and pid in workers:
            cluster.kill_worker(pid)
        else:
            kind = "other worker"
            cluster.kill_worker(generator.choice([other for other in workers if other != pid]))
        met[kind] = met.get(kind, 0) + 1
    wait_for(lambda: JobFolder(out).state() in ("finished", "failed", "cancelled"), 300)
    check_finished(out, whole)
    print(f"faults: {met}; jobs: {number + 1}")


def driver_pid(out):
    claims = sorted((out / ".job").glob("epoch-*"))
    try:
        return int(json.loads(claims[-1].read_text())["pid"]) if claims else -1
    except ValueError:
        # just being written
        return -1


def check_finished(out, whole):
    """Finished, with the bits of the undisturbed run, and no stage trained after the end."""
    folder = JobFolder(out)
    assert folder.state() == "finished", folder.record()
    check_same(out, whole)
    kinds = [json.loads(line)["kind"] for line in folder.log.read_text().splitlines()]
    assert kinds.count("run_finished") <= 1
    if "run_finished" in kinds:
        assert "run_started" not in kinds[kinds.index("run_finished") :]
