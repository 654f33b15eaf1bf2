"""The commands on a disk that really is full: status 2, one line, and the disk as it was before."""

import os
import shutil
import subprocess

import numpy as np
import pytest

from distkern.cli.main import main
from distkern.storage.ingest import write_dataset

PAGE = 4096
SIZE = 8 * 2**20


@pytest.fixture
def disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True)
    except OSError:
        pytest.skip("there is no mount command")
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "d.zarr"
    features = np.random.default_rng(0).normal(size=(20_000, 40))
    write_dataset([(features, np.arange(20_000) % 2)], path, scale="none")
    return path


def leave(disk, n_bytes):
    """Fill the disk but for so many bytes."""
    (disk / "fill").write_bytes(bytes(SIZE - n_bytes))


def refused(capsys, arguments, where):
    capsys.readouterr()
    assert main(arguments) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"distkern: error: {where}")
    assert "the disk is full (" in line
    assert line.endswith("MiB free); free some space or choose another place")


def train(data, out):
    settings = ["n_landmarks=1000", "landmarks=uniform", "stages=1", "steps_per_stage=100"]
    chosen = [part for setting in settings for part in ("--set", setting)]
    job = ["--data", str(data), "--out", str(out), "--algorithm", "csvrg"]
    return ["train", *job, "--scheduler", "synchronous", *chosen]


@pytest.mark.parametrize(
    "free_pages", [0, 30, *(pytest.param(pages, marks=pytest.mark.slow) for pages in (1, 2))]
)
def test_train(disk, data, free_pages, capsys):
    # too little for the folder, for metrics.jsonl, for a first line, or for a checkpoint with its landmarks
    leave(disk, free_pages * PAGE)
    refused(capsys, train(data, disk / "m"), disk / "m")
    assert not (disk / "m" / "model.json").exists()
    (disk / "fill").unlink()
    resumed = ["--resume"] if (disk / "m" / "checkpoints").exists() else []
    assert main([*train(data, disk / "m"), *resumed]) == 0


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "m"
    assert main(train(data, folder)) == 0
    return folder


@pytest.mark.parametrize("name", ["p.csv", "p.npy", "p.zarr"])
def test_predict(disk, data, model, name, capsys):
    shutil.copytree(model, disk / "m")
    taken = sum(file.stat().st_size + PAGE for file in (disk / "m").rglob("*"))
    leave(disk, taken + 20 * PAGE)
    arguments = ["predict", str(disk / "m"), "--data", str(data), "--split", "train", "--decision"]
    refused(capsys, [*arguments, "--scheduler", "synchronous", "--out", str(disk / name)], disk / name)
    assert sorted(os.listdir(disk)) == ["fill", "m"]
