"""Rounds on a cluster of real processes: killed workers and a killed driver change no bit of the model."""

import random
import signal
import time

import numpy as np
import pytest

from cluster_processes import Processes, finish, settings_of, start_distkern, wait_for
from distkern.estimators.simba import SIMBAClassifier
from distkern.runs.persistence import load_model
from distkern.runs.run import train
from distkern.storage.ingest import write_dataset

SETTINGS = {"nu": 0.02, "max_rounds": 6000, "stages": 6, "patience": None, "validation_fraction": 0.0}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    generator = np.random.default_rng(0)
    X = generator.standard_normal((40_000, 60), dtype=np.float32)
    y = X[:, :20].sum(axis=1) + generator.standard_normal(40_000) > 0
    folder = tmp_path_factory.mktemp("rounds")
    return write_dataset(
        [(X[:36_000], y[:36_000])],
        folder / "d.zarr",
        [(X[36_000:], y[36_000:])],
        rows_per_shard=3000,
        scale="none",
        columns=True,
    )


@pytest.fixture(scope="module")
def whole(data):
    return train(
        SIMBAClassifier(random_state=3, **SETTINGS), data.train, test=data.test, scheduler="synchronous"
    )


def start(data, out, address, *flags):
    job = ("--data", str(data.path), "--out", str(out), "--algorithm", "simba", "--seed", "3")
    return start_distkern("train", *job, "--scheduler", address, *settings_of(**SETTINGS), *flags)


def check(process, out, whole):
    finish(process)
    model = load_model(out)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    np.testing.assert_array_equal(model.intercept_, whole.intercept_)


def under_way(out, stage):
    """Wait for the checkpoint of a stage."""
    wait_for(lambda: list(out.glob(f"checkpoints/stage-*{stage}")), 120)


def test_workers_killed_in_the_middle_of_rounds(data, whole, tmp_path):
    generator = random.Random(0)
    with Processes(tmp_path, 3, host="127.0.0.2") as cluster:
        process = start(data, tmp_path / "m", cluster.address)
        for stage in (1, 2, 4):
            under_way(tmp_path / "m", stage)
            time.sleep(generator.uniform(0, 0.5))
            victim = generator.choice(cluster.workers)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            cluster.workers.remove(victim)
            if stage > 1:
                # the first time, the others take over
                cluster.add_worker()
        check(process, tmp_path / "m", whole)


def test_a_driver_killed_in_the_middle_of_rounds(data, whole, tmp_path):
    with Processes(tmp_path, 2, host="127.0.0.2") as cluster:
        process = start(data, tmp_path / "m", cluster.address)
        under_way(tmp_path / "m", 3)
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        check(start(data, tmp_path / "m", cluster.address, "--resume"), tmp_path / "m", whole)
