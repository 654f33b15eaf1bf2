"""A disk that really is full: one line, and nothing left behind."""

import os
import subprocess

import numpy as np
import pytest

from distkern.common.errors import InputError
from distkern.storage.arrays import load_arrays, save_arrays
from distkern.storage.ingest import write_dataset

SIZE = 4 * 2**20


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)], capture_output=True
        )
    except OSError:
        pytest.skip("there is no mount command")
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("megabytes", [3, 30])
def test_sharding(small_disk, megabytes):
    # 3 MB fit the disk as spool but not as shards beside it; 30 MB do not even fit as spool
    rows = megabytes * 2**20 // 400
    chunks = (
        (np.random.default_rng(i).normal(size=(rows // 10, 100)), np.arange(rows // 10) % 2)
        for i in range(10)
    )
    with pytest.raises(InputError, match=r"d\.zarr: the disk is full \(.*MiB free\)"):
        write_dataset(chunks, small_disk / "d.zarr", scale="none")
    assert os.listdir(small_disk) == []


def test_saving_arrays(small_disk):
    save_arrays(small_disk / "m", {"a": np.arange(10)})
    with pytest.raises(InputError, match=r"m: the disk is full"):
        save_arrays(small_disk / "m", {"a": np.random.default_rng(0).normal(size=2**20)})
    assert load_arrays(small_disk / "m")["a"].tolist() == list(range(10))
    assert os.listdir(small_disk) == ["m"]
