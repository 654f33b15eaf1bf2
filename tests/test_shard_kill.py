"""A data set exists whole or not at all, whenever the process that makes it is killed."""

import os
import random
import subprocess
import time

import numpy as np
import pytest

from cluster_processes import finish, kill_after, start_code
from distkern.core.errors import InputError
from distkern.data.dataset import open_dataset

KILLS = 20
CODE = """
import sys
from distkern.data.ingest import shard
print("started", flush=True)
shard(sys.argv[1], sys.argv[2], seed=int(sys.argv[3]), rows_per_shard=2000, overwrite=True)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("kill") / "a.csv"
    rows = np.round(np.random.default_rng(0).normal(size=(60_000, 20)), 3)
    header = ",".join([*(f"x{i}" for i in range(20)), "y"])
    np.savetxt(path, np.column_stack([rows, np.arange(60_000) % 3]), "%.3f", ",", header=header, comments="")
    return path


def seconds_of(table, out):
    """What making the data set takes."""
    process, started = start_code(CODE, table, out, 0), time.perf_counter()
    finish(process)
    return time.perf_counter() - started


def read_all(data):
    return sum(data.train.reader(index)().n_rows for index in range(data.train.n_blocks))


@pytest.mark.slow
def test_killed_while_making_a_data_set(table, tmp_path):
    out = tmp_path / "d.zarr"
    seconds = seconds_of(table, out)
    whole = open_dataset(out).fingerprint
    random.seed(0)
    absent = 0
    for _ in range(KILLS):
        subprocess.run(["rm", "-rf", str(out)], check=True)
        kill_after(start_code(CODE, table, out, 0), random.uniform(0, 1.1 * seconds))
        try:
            data = open_dataset(out)
        except InputError:
            absent += 1
            assert not out.exists()
        else:
            assert data.fingerprint == whole
            assert read_all(data) == 60_000
    # otherwise the kills came too early or too late to say anything
    assert absent >= 5
    finish(start_code(CODE, table, out, 0))
    assert open_dataset(out).fingerprint == whole
    assert os.listdir(tmp_path) == ["d.zarr"]


@pytest.mark.slow
def test_killed_while_replacing_a_data_set(table, tmp_path):
    out = tmp_path / "d.zarr"
    seconds = seconds_of(table, out)
    known = {open_dataset(out).fingerprint}
    random.seed(1)
    for seed in range(1, KILLS + 1):
        # most kills near the end, where the old one is exchanged for the new one
        kill_after(start_code(CODE, table, out, seed), random.triangular(0.5, 1.1, 1.0) * seconds)
        data = open_dataset(out)
        assert data.options["seed"] in range(seed + 1)
        assert read_all(data) == 60_000
        known.add(data.fingerprint)
    finish(start_code(CODE, table, out, 0))
    assert open_dataset(out).fingerprint in known
    assert os.listdir(tmp_path) == ["d.zarr"]
