"""An update of machines in cells survives a kill in every phase: of the driver, and of a worker."""

import os
import signal
import time

import numpy as np
import pytest

from cluster_processes import finish, settings_of, start_distkern
from distkern.runs.persistence import load_model
from distkern.storage.ingest import write_dataset
from test_train_kill import worker_processes

SETTINGS = settings_of(search="none", kernel="rbf", scale="none", max_cell_rows=300)
#: what an update has written when it is in a phase
PHASES = {
    "move new rows": "moved/new/*.rows",
    "move": "moved/old/*.rows",
    "cut": "moved/cuts/*.json",
    "solve": "machines/*.json",
    "write": "checkpoints/stage-00002",
}
WHERE = ("--scheduler", "local", "--workers", "2", "--no-dashboard")


def made(folder, name, n_rows, seed):
    X = np.random.default_rng(seed).random((n_rows, 20)).astype(np.float32)
    y = (np.sin(9 * X[:, 0]) * np.sin(9 * X[:, 1]) > 0).astype(int)
    return write_dataset([(X, y)], folder / name, scale="none", rows_per_shard=4000)


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A model, the rows that it has learned from, and new ones."""
    folder = tmp_path_factory.mktemp("kill")
    made(folder, "old.zarr", 30_000, 0)
    made(folder, "new.zarr", 5000, 1)
    job = ("--data", str(folder / "old.zarr"), "--out", str(folder / "m"), "--algorithm", "cells")
    finish(start_distkern("train", *job, "--seed", "3", *SETTINGS, *WHERE))
    return folder


@pytest.fixture(scope="module")
def whole(before, tmp_path_factory):
    """The machines of an update that nobody kills."""
    out = tmp_path_factory.mktemp("whole") / "m"
    finish(start(before, out))
    return load_model(out).machines_


def start(before, out, *flags):
    data = (str(before / "old.zarr"), str(before / "new.zarr"))
    return start_distkern("update", str(before / "m"), "--data", *data, "--out", str(out), *WHERE, *flags)


def await_phase(process, out, phase):
    """Whether the update came to a phase, and has not ended before that was seen."""
    while process.poll() is None:
        if next(out.glob(PHASES[phase]), None) is not None:
            return True
        time.sleep(0.005)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_driver_killed_in_a_phase_and_resumed(phase, before, whole, tmp_path):
    out = tmp_path / "m"
    process = start(before, out)
    assert await_phase(process, out, phase)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    load_model(before / "m").score(np.zeros((2, 20), np.float32), [0, 1])
    if not (out / "model.json").exists():
        finish(start(before, out, "--resume"))
    np.testing.assert_array_equal(load_model(out).machines_, whole)
    left = {entry.name for entry in out.iterdir()}
    assert left >= {"model.json", "arrays", "machines", "metrics.jsonl"}
    assert "moved" not in left or phase == "write"


@pytest.mark.slow
@pytest.mark.parametrize("phase", list(PHASES)[:-1])
def test_worker_killed_in_a_phase(phase, before, whole, tmp_path):
    out = tmp_path / "m"
    process = start(before, out)
    assert await_phase(process, out, phase)
    workers = worker_processes(process.pid)
    assert workers
    os.kill(workers[0], signal.SIGKILL)
    finish(process)
    np.testing.assert_array_equal(load_model(out).machines_, whole)
