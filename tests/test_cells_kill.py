"""Machines in cells survive a kill in every phase: of the driver, whose run is resumed, and of a worker."""

import os
import signal
import time

import numpy as np
import pytest

from cluster_processes import finish, settings_of, start_distkern
from distkern.runs.persistence import load_model
from distkern.storage.ingest import write_dataset
from problems import waves
from test_train_kill import worker_processes

SEARCHED = settings_of(search="quick", kernel="rbf", scale="none", max_cell_rows=400)
#: whose metrics are learned again, from more rows
LEARNED = settings_of(metric="diagonal", kernel="rbf", scale="none", max_cell_rows=400)
CALIBRATED = [*SEARCHED, *settings_of(probability="true")]
GIVEN = settings_of(search="none", metric="full", kernel="rbf", scale="standard", max_cell_rows=400)
#: what a run has written when it is in a phase
PHASES = {
    "search": "search/metric of*/*",
    "probe": "search/probe/*.rows",
    "tune": "search/tune 1/*",
    "learn": "search/metric of more rows*/*",
    "partition": "checkpoints/stage-00000",
    "move": "moved/*.rows",
    "solve": "machines/*.json",
    "calibrate": "search/calibrated/*",
    "write": "checkpoints/stage-00002",
}
OTHERS = {"learn": LEARNED, "calibrate": CALIBRATED}
PARTS = [(phase, OTHERS.get(phase, SEARCHED)) for phase in PHASES] + [("metric", GIVEN)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """More rows than the sample of a search, in two parts to be moved."""
    path = tmp_path_factory.mktemp("kill") / "d.zarr"
    return write_dataset([waves(100_000, 100)], path, scale="none", test_fraction=0.05, rows_per_shard=4000)


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """The machines of runs that nobody kills, by their settings."""
    found = {}
    for settings in (SEARCHED, LEARNED, CALIBRATED, GIVEN):
        out = tmp_path_factory.mktemp("whole") / "m"
        finish(start(data, out, settings))
        found[" ".join(settings)] = load_model(out).machines_
    return found


def start(data, out, settings, *flags):
    job = ("--data", str(data.path), "--out", str(out), "--algorithm", "cells", "--seed", "3")
    where = ("--scheduler", "local", "--workers", "2", "--no-dashboard")
    return start_distkern("train", *job, *settings, *where, *flags)


def await_phase(process, out, phase):
    """Whether the run came to a phase, and has not ended before that was seen."""
    pattern = PHASES.get(phase, "search/metric*")
    while process.poll() is None:
        if next(out.glob(pattern), None) is not None:
            return True
        time.sleep(0.005)
    return False


@pytest.mark.slow
@pytest.mark.parametrize(("phase", "settings"), PARTS, ids=[phase for phase, _ in PARTS])
def test_driver_killed_in_a_phase_and_resumed(phase, settings, data, whole, tmp_path):
    out = tmp_path / "m"
    process = start(data, out, settings)
    assert await_phase(process, out, phase)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    if not (out / "model.json").exists():
        finish(start(data, out, settings, "--resume"))
    np.testing.assert_array_equal(load_model(out).machines_, whole[" ".join(settings)])
    left = {entry.name for entry in out.iterdir()}
    assert left >= {"model.json", "arrays", "machines", "metrics.jsonl"}
    assert not left & {"search", "moved"} or phase == "write"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phase", "settings"), PARTS[:-2] + PARTS[-1:], ids=[p for p, _ in PARTS[:-2] + PARTS[-1:]]
)
def test_worker_killed_in_a_phase(phase, settings, data, whole, tmp_path):
    out = tmp_path / "m"
    process = start(data, out, settings)
    assert await_phase(process, out, phase)
    workers = worker_processes(process.pid)
    assert workers
    os.kill(workers[0], signal.SIGKILL)
    finish(process)
    np.testing.assert_array_equal(load_model(out).machines_, whole[" ".join(settings)])
