"""cluster/local.sh starts again what ends, so that a run with --retries needs nobody."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cluster_processes import finish, free_port, settings_of, start_distkern, wait_for
from distkern.data.ingest import write_dataset
from distkern.runs.algorithms import load_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc"),
]

PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def children(process, what):
    """The children of the script that run ``dask WHAT``."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    found = []
    for child in listed:
        try:
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if what.encode() in words:
            found.append(int(child))
    return found


@pytest.fixture
def script(repository, tmp_path):
    """The script at work, and its scheduler's address."""
    port = free_port()
    command = ["sh", str(repository / "cluster" / "local.sh"), "2", "1GiB", str(port), str(free_port())]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            command, env={**os.environ, "PATH": PATH}, stdout=log, stderr=log, text=True
        ) as process,
    ):
        yield process, f"tcp://127.0.0.1:{port}"
        process.terminate()


def test_a_run_goes_on_by_itself_when_the_scheduler_is_killed(script, tmp_path):
    process, address = script
    X = np.random.default_rng(0).standard_normal((6000, 8), dtype=np.float32)
    data, out = tmp_path / "d.zarr", tmp_path / "m"
    write_dataset([(X, X[:, 0] + X[:, 1] ** 2 > 0.5)], data, rows_per_shard=1000)
    job = ("--data", str(data), "--out", str(out), "--scheduler", address, "--algorithm", "csvrg")
    settings = settings_of(n_landmarks=60, tol=0.0, stages=70)
    run = start_distkern("train", *job, *settings, "--retries", "5")
    wait_for(lambda: list(out.glob("checkpoints/stage-*[3-9]")), 200)
    [scheduler] = children(process, "scheduler")
    os.kill(scheduler, signal.SIGKILL)
    assert run.poll() is None
    assert not list(out.glob("checkpoints/stage-*[4-6]?"))
    finish(run)
    assert load_model(out).coefficients_.shape[0] == 60
    assert children(process, "scheduler") != [scheduler]
    # workers alone, too
    [pool] = children(process, "worker")
    os.kill(pool, signal.SIGKILL)
    wait_for(lambda: children(process, "worker") not in ([], [pool]))
    assert "the scheduler ended; started again" in (tmp_path / "log").read_text()


def test_what_cannot_start_is_given_up(repository):
    ports = [str(free_port()), str(free_port())]
    run = subprocess.run(
        ["sh", str(repository / "cluster" / "local.sh"), "1", "no memory", *ports],
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert run.returncode == 1
    assert "local.sh: the workers ended 5 times in a row" in run.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ended_while_its_processes_are_starting_it_leaves_none(script, number):
    """They do not listen to interrupts yet, as a script's background processes do not by themselves."""
    process, _ = script
    wait_for(lambda: children(process, "worker") and children(process, "scheduler"))
    started = [*children(process, "worker"), *children(process, "scheduler")]
    process.send_signal(number)
    assert process.wait(timeout=60) == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]
    assert not any(Path(f"/proc/{one}").exists() for one in started)
