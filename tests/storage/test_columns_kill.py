"""A killed process that adds the feature-major copy leaves the data set as it was."""

import os
import random
import subprocess
import time

import numpy as np
import pytest

from cluster_processes import finish, kill_after, start_code
from distkern.storage.columns import FOLDER
from distkern.storage.dataset import open_dataset
from distkern.storage.ingest import write_dataset

KILLS = 12
CODE = """
import sys
from distkern.storage.ingest import add_columns
print("started", flush=True)
add_columns(sys.argv[1], overwrite=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("replacing", [False, True])
def test_killed_while_adding_the_copy(tmp_path, replacing):
    features = np.random.default_rng(0).random((40_000, 120), dtype=np.float32)
    path = tmp_path / "d.zarr"
    whole = write_dataset([(features, np.arange(40_000) % 2)], path, rows_per_shard=500, columns=replacing)
    process = start_code(CODE, path)
    before = time.perf_counter()
    finish(process)
    seconds = time.perf_counter() - before
    random.seed(0)
    interrupted = 0
    for _ in range(KILLS):
        if not replacing:
            subprocess.run(["rm", "-rf", str(path / FOLDER)], check=True)
        kill_after(start_code(CODE, path), random.uniform(0, seconds))
        data = open_dataset(path)
        assert data.fingerprint == whole.fingerprint
        interrupted += any(name.startswith(f".{FOLDER}.partial-") for name in os.listdir(path))
        assert data.train.has_columns or not replacing
        for number in range(0, len(data.train.groups), 3):
            group = data.train.group(number)()
            assert group.rows(np.array([1])).shape == (1, 120)
            if data.train.has_columns:
                column, rows = group.columns(np.array([7])), group.rows(np.arange(group.n_rows))
                assert isinstance(rows, np.ndarray)
                np.testing.assert_array_equal(column, rows[:, [7]].T)
    # otherwise the kills came too early or too late to say anything
    assert interrupted >= 3
    finish(start_code(CODE, path))
    assert open_dataset(path).train.has_columns
    # what the killed ones left is gone
    assert sorted(os.listdir(path)) == [FOLDER, "manifest.json", "train", "zarr.json"]
