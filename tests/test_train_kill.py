"""A run survives anything: the driver killed at any time and resumed, and a worker killed in a pass."""

import json
import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from cluster_processes import finish, settings_of, start_distkern
from distkern import CSVRGClassifier
from distkern.common.errors import InputError
from distkern.runs.persistence import load_model
from distkern.runs.run import train
from distkern.storage.ingest import write_dataset

KILLS = 20
SETTINGS = settings_of(n_landmarks=60, stages=6, tol=0.0, lam=64.0, steps_per_stage=1.0)


def made(folder, rows):
    """24 times ``rows`` training rows in 12 shards, and some test rows."""

    def chunks(n_chunks, offset):
        for number in range(n_chunks):
            generator = np.random.default_rng(offset + number)
            features = generator.normal(size=(rows, 12)).astype(np.float32)
            yield features, (np.abs(features[:, :4]).sum(axis=1) > 3.0).astype(int)

    return write_dataset(
        chunks(24, 0), folder / "d.zarr", test_chunks=chunks(2, 100), rows_per_shard=2 * rows
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Enough rows for a run of some seconds."""
    return made(tmp_path_factory.mktemp("kill"), 10_000)


def start(data, out, *flags):
    job = ("--data", str(data.path), "--out", str(out), "--algorithm", "csvrg", "--seed", "3")
    return start_distkern("train", *job, *SETTINGS, *flags)


def model_of(path):
    model = load_model(path)
    return model.coef_, model.landmarks_


@pytest.mark.parametrize(
    "places",
    [
        [("threads", 1), ("threads", 4)],
        pytest.param([("processes", 2)], marks=pytest.mark.slow),
        pytest.param([("local", 1), ("local", 2)], marks=pytest.mark.slow),
    ],
    ids=["threads", "processes", "clusters"],
)
def test_the_bits_do_not_depend_on_scheduler_or_workers(places, tmp_path):
    """Clusters: those of one and the same size are in the default tests of executors and of estimators."""
    data, found = made(tmp_path, 1000), []
    for scheduler, workers in [("synchronous", 1), *places]:
        model = CSVRGClassifier(n_landmarks=60, stages=2, lam=64.0, random_state=3)
        out = tmp_path / f"{scheduler}-{workers}"
        train(model, data.train, test=data.test, scheduler=scheduler, workers=workers, out=out)
        found.append(model_of(out))
    for coefficients, landmarks in found[1:]:
        np.testing.assert_array_equal(coefficients, found[0][0])
        np.testing.assert_array_equal(landmarks, found[0][1])


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["threads", "local"])
def test_driver_killed_at_random_times_and_resumed(data, tmp_path, scheduler):
    flags = ("--scheduler", scheduler, "--workers", "2", "--no-dashboard")
    started = time.perf_counter()
    finish(start(data, tmp_path / "whole", *flags))
    seconds = time.perf_counter() - started
    whole = model_of(tmp_path / "whole")
    generator = random.Random(0)
    kills = KILLS if scheduler == "threads" else KILLS // 4
    resumed_from = set()
    for number in range(kills):
        out = tmp_path / f"killed-{number}"
        process = start(data, out, *flags)
        time.sleep(generator.uniform(0.1, 1.0) * seconds)
        # the nannies of a local cluster notice and go; the workers are theirs
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        # killed after its last step, a run may leave checkpoints beside a whole model
        whole_already = (out / "model.json").exists()
        if not whole_already:
            with pytest.raises(InputError):
                load_model(out)
            checkpoints = sorted(path.name for path in out.glob("checkpoints/stage-*"))
            resumed_from.add(checkpoints[-1] if checkpoints else "nothing")
            finish(start(data, out, *flags, "--resume"))
        for mine, expected in zip(model_of(out), whole, strict=True):
            np.testing.assert_array_equal(mine, expected)
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        assert [line["stage"] for line in lines] == list(range(7))
        assert whole_already or not (out / "checkpoints").exists()
    assert len(resumed_from) >= (3 if kills == KILLS else 2), "the kills should hit several stages"


@pytest.mark.slow
def test_worker_killed_in_a_pass(data, tmp_path):
    flags = ("--scheduler", "local", "--workers", "2", "--no-dashboard")
    finish(start(data, tmp_path / "whole", *flags))
    whole = model_of(tmp_path / "whole")
    process = start(data, tmp_path / "hit", *flags)
    killed = 0
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if (tmp_path / "hit" / "checkpoints").exists() and killed < 2:
            workers = worker_processes(process.pid)
            if workers:
                os.kill(workers[0], signal.SIGKILL)
                killed += 1
        time.sleep(0.3)
    finish(process)
    assert killed > 0
    for mine, expected in zip(model_of(tmp_path / "hit"), whole, strict=True):
        np.testing.assert_array_equal(mine, expected)


def worker_processes(driver):
    """Processes that multiprocessing spawned for the driver (nannies' workers), but its resource tracker."""
    children = Path(f"/proc/{driver}/task/{driver}/children")
    found = []
    for thread in Path(f"/proc/{driver}/task").iterdir() if children.parent.parent.exists() else []:
        for pid in (thread / "children").read_text().split():
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"spawn_main" in command:
                found.append(int(pid))
    return found
