"""The papers' other machines and comparison methods: a worker killed in a run changes no bit of the model."""

import os
import signal

import numpy as np
import pytest

from cluster_processes import finish, settings_of, start_distkern, wait_for
from distkern.runs.algorithms import algorithms
from distkern.runs.persistence import load_model
from distkern.storage.ingest import write_dataset
from test_train_kill import worker_processes

N_ROWS = 12_000
#: more stages than are made before the kill is noticed
GROWING = {"n_features": 2048, "stages": 16, "steps_per_stage": N_ROWS}
PASSES = {"stages": 16, "tol": 0.0}
#: name of the test -> algorithm, kind of its targets, settings
RUNS = {
    "novelty": ("dsg_novelty", "classification", {**GROWING, "nu": 0.1}),
    "density ratio": ("dsg_density_ratio", "classification", GROWING),
    "Gaussian process": ("dsg_gaussian_process", "regression", {**GROWING, "n_features": 1024, "noise": 0.5}),
    "k-NORMA": ("norma", "classification", {"max_support": 3000, "stages": 16}),
    "r-NORMA": ("norma", "regression", {"features": "random", "n_features": 256, "stages": 16}),
    "k-SDCA": (
        "sdca",
        "classification",
        {**PASSES, "features": "kernel", "loss": "hinge", "nu": 1e-3, "max_support": N_ROWS},
    ),
    "n-SDCA": ("sdca", "regression", {**PASSES, "features": "nystroem", "n_landmarks": 256}),
    "r-RBCD": ("rbcd", "classification", {**PASSES, "n_features": 512, "block_size": 128}),
    "n-SBMD": ("sbmd", "regression", {"features": "nystroem", "n_landmarks": 256, "stages": 16}),
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Rows in 8 shards, of two classes and of real targets."""
    folder, generator = tmp_path_factory.mktemp("machines"), np.random.default_rng(0)
    X = generator.standard_normal((N_ROWS, 10), dtype=np.float32)
    targets = np.abs(X[:, :3]).sum(axis=1) + 0.3 * generator.standard_normal(N_ROWS, dtype=np.float32)
    found = {}
    for task, y in (("classification", (targets > 2.3).astype(int)), ("regression", targets)):
        found[task] = write_dataset([(X, y)], folder / f"{task}.zarr", task=task, rows_per_shard=N_ROWS // 8)
    return found


def start(name, data, out, *where):
    algorithm, task, settings = RUNS[name]
    job = ("--data", str(data[task].path), "--algorithm", algorithm, "--seed", "3", "--out", str(out))
    return start_distkern("train", *job, *settings_of(**settings), "--no-dashboard", *where)


@pytest.mark.parametrize("name", RUNS)
def test_a_killed_worker_changes_no_bit(name, data, tmp_path):
    finish(start(name, data, tmp_path / "whole", "--scheduler", "synchronous"))
    out = tmp_path / "killed"
    process = start(name, data, out, "--scheduler", "local", "--workers", "2")
    wait_for(lambda: list(out.glob("checkpoints/stage-*[1-9]")) or process.poll() is not None, 120)
    workers = worker_processes(process.pid)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    assert not (out / "model.json").exists()
    # the nanny's next one
    wait_for(lambda: len(worker_processes(process.pid)) == 2 or process.poll() is not None)
    assert process.poll() is None or (out / "model.json").exists()
    finish(process)
    assert_same(load_model(out), load_model(tmp_path / "whole"))


def assert_same(first, second):
    """Of all arrays and numbers that were fitted, the same bits."""
    names = [name for name, value in vars(second).items() if isinstance(value, np.ndarray | int | float)]
    fitted = [name for name in names if name.endswith("_")]
    assert "coef_" in fitted
    for name in fitted:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


def test_all_machines_of_the_papers_are_here():
    others = {"csvrg", "avm", "simba", "pegasos", "dsg", "svrg", "newton", "cells", "auto"}
    assert {algorithm for algorithm, _, _ in RUNS.values()} >= {
        name.removesuffix("_regressor") for name in algorithms()
    } - others
