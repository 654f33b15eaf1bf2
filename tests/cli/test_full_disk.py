"""The commands on a disk that really is full: status 2, one line, and the disk as it was before."""

import os
import shutil

import pytest

from distkern.cli.main import main

PAGE = 4096


#: rows and columns of the data set
SHAPE = 12_000, 40


def leave(disk, n_bytes):
    """Fill the disk but for so many bytes."""
    (disk / "fill").write_bytes(bytes(shutil.disk_usage(disk).free - n_bytes))


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
    "free_pages", [30, *(pytest.param(pages, marks=pytest.mark.slow) for pages in (0, 1, 2))]
)
def test_train(small_disk, data, free_pages, capsys):
    # too little for the folder, for metrics.jsonl, for a first line, or for a checkpoint with its landmarks
    leave(small_disk, free_pages * PAGE)
    refused(capsys, train(data, small_disk / "m"), small_disk / "m")
    assert not (small_disk / "m" / "model.json").exists()
    (small_disk / "fill").unlink()
    resumed = ["--resume"] if (small_disk / "m" / "checkpoints").exists() else []
    assert main([*train(data, small_disk / "m"), *resumed]) == 0


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "m"
    assert main(train(data, folder)) == 0
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p.csv", "p.npy", "p.zarr"])
def test_predict(small_disk, data, model, name, capsys):
    shutil.copytree(model, small_disk / "m")
    leave(small_disk, 20 * PAGE)
    out = small_disk / name
    arguments = ["predict", str(small_disk / "m"), "--data", str(data), "--split", "train", "--decision"]
    refused(capsys, [*arguments, "--scheduler", "synchronous", "--out", str(out)], out)
    assert sorted(os.listdir(small_disk)) == ["fill", "m"]
