"""What a user can get wrong after sharding: status 2 and one line that names the place and the hint."""

import functools
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from distkern.cli.main import main
from distkern.data.ingest import write_dataset
from distkern.maths.losses import MARGIN_LOSSES

HERE = ["--scheduler", "synchronous"]
#: how the lines start that a run says above its error
BEGUN = ("csvrg: ", "stage ", "    ", "dashboard: ")
#: and those that say what was chosen
CHOSEN = ("choosing", "algorithm: ", "held-out", "tried: ", "trials ")
SMALL = ["--algorithm", "csvrg", "--set", "n_landmarks=8", "--set", "stages=2"]


def rows(n_features=2, labels=(0, 1)):
    features = np.random.default_rng(0).normal(size=(200, n_features))
    return [(features, np.array(labels)[np.arange(200) % len(labels)])]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    write_dataset(rows(), folder / "d.zarr", test_chunks=rows(), scale="none", rows_per_shard=50)
    write_dataset(rows(3), folder / "wide.zarr", scale="none")
    write_dataset(rows(labels=("x", "y")), folder / "text.zarr", scale="none")
    write_dataset(rows(), folder / "scaled.zarr", scale="standard")
    write_dataset(rows(), folder / "unit.zarr", scale="unit")
    write_dataset(rows(), folder / "numbers.zarr", task="regression", scale="none")
    assert main(["train", "--data", str(folder / "d.zarr"), "--out", str(folder / "m"), *HERE, *SMALL]) == 0
    return folder


def flip_a_byte(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


TRAIN = ["train", "--data", "d.zarr", "--out", "new", *SMALL]
READING = {
    "train": [*TRAIN, *HERE],
    "evaluate": ["evaluate", "m", "--data", "d.zarr", "--split", "train", *HERE],
    "predict": ["predict", "m", "--data", "d.zarr", "--split", "train", "--out", "p.csv", *HERE],
}


@pytest.mark.parametrize("command", READING)
def test_damaged_shards(folder, command, refused):
    chunk = folder / "d.zarr" / "train" / "features" / "c" / "2" / "0"
    flip_a_byte(chunk)
    damaged = "d.zarr/train/features/c/2/0"
    refused(READING[command], damaged, "checksum is wrong", "restore it from a copy", begun=BEGUN)
    chunk.unlink()
    refused(READING[command], damaged, "is missing", "restore it from a copy", begun=BEGUN)


@pytest.mark.slow
def test_a_damaged_shard_met_by_a_worker_process(folder, capfd):
    flip_a_byte(folder / "d.zarr" / "train" / "features" / "c" / "2" / "0")
    started = time.monotonic()
    arguments = [*TRAIN, "--scheduler", "local", "--workers", "1", "--no-dashboard", "--set", "scale=none"]
    assert main(arguments) == 2
    assert time.monotonic() - started < 60
    captured = capfd.readouterr()
    *said, line = captured.err.splitlines()
    # told every two seconds while a busy machine starts the worker
    said = [one for one in said if not one.startswith("starting, ")]
    assert said[0].startswith("csvrg: 200 rows x 2 features")
    assert said[1:] == []
    assert "d.zarr/train/features/c/2/0: the stored values are damaged (their checksum is wrong)" in line
    assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["train", "--data", "empty", "--out", "new"],
            ["empty", "not a finished data set", "distkern shard"],
        ),
        (["inspect", "empty"], ["empty", "neither a data set, a model nor a run"]),
        (
            ["evaluate", "d.zarr", "--data", "d.zarr"],
            ["d.zarr is a data set, not a model", "`distkern train` or save wrote"],
        ),
        (["evaluate", "m", "--data", "scaled.zarr"], ["scaled.zarr", "no test split", "--split train"]),
        (["evaluate", "m", "--data", "wide.zarr", "--split", "train"], ["wide.zarr", "3 features", "has 2"]),
        (
            ["predict", "m", "--data", "wide.zarr", "--split", "train", "--out", "p.csv"],
            ["wide.zarr", "3 features, but the model has 2"],
        ),
        (["evaluate", "m", "--data", "text.zarr", "--split", "train"], ["text.zarr", "['x', 'y']", "[0, 1]"]),
        (["evaluate", "m", "--data", "unit.zarr", "--split", "train"], ["unit.zarr", "--scale none"]),
        (
            ["train", "--data", "numbers.zarr", "--algorithm", "csvrg", "--out", "new"],
            [
                "numbers.zarr: the data set is for task 'regression', not classification; use an algorithm "
                "for regression (auto, cells, dsg",
                ", svrg), or shard it again with --task classification",
            ],
        ),
        (
            ["plan", "--data", "d.zarr", "--algorithm", "simba"],
            ["d.zarr: the data set has no feature-major copy", "d.zarr --columns`"],
        ),
        ([*TRAIN, "--set", "loss=foo"], ["'loss' must be ", "got 'foo'", *map(repr, MARGIN_LOSSES)]),
        (["evaluate", "m", "--data", "numbers.zarr", "--split", "train"], ["numbers.zarr", "'regression'"]),
        (["predict", "m", "--data", "d.zarr", "--out", "p.txt"], ["--out", "p.txt", ".zarr, .csv, .npy"]),
        (["predict", "m", "--data", "d.zarr", "--out", "job.toml/p.csv"], ["toml/p.csv", "another place"]),
        (["predict", "m", "--data", "d.zarr", "--out", "there.csv"], ["there.csv", "already exists"]),
        (["train", "--data", "d.zarr", "--out", "m"], ["m holds a finished model"]),
        (["train", "--data", "d.zarr", "--out", "job.toml"], ["job.toml is a file"]),
        (["train", "--data", "d.zarr", "--out", "job.toml/m"], ["job.toml/m cannot be written"]),
        (["train", "--data", "d.zarr", "--out", "text.zarr"], ["text.zarr", "'manifest.json'", "new folder"]),
        (
            [*TRAIN, "--set", "gamma=wide"],
            ["'gamma'", "'wide'", "a positive number, 'median', 'scale' or 'auto', got"],
        ),
        ([*TRAIN, "--scheduler", "threads", "--dashboard"], ["--scheduler local"]),
        ([*TRAIN, "--scheduler", "http://there:80"], ["--scheduler", "tcp://HOST:PORT"]),
        ([*TRAIN, "--memory-limit", "30MiB"], ["--memory-limit", "the limit is 30.0 MiB"]),
        ([*TRAIN, "--scheduler", "local", "--memory-limit", "30MiB"], ["--memory-limit", "30.0 MiB"]),
        (["plan", "--data", "d.zarr", "--memory-limit", "30MiB"], ["d.zarr", "--memory-limit"]),
        ([*READING["evaluate"], "--memory-limit", "30MiB"], ["--memory-limit", "'evaluate' needs"]),
        ([*READING["predict"], "--memory-limit", "30MiB"], ["--memory-limit", "'predict' needs"]),
    ],
)
def test_wrong_input(folder, arguments, words, refused):
    Path("empty").mkdir()
    Path("there.csv").write_text("")
    Path("job.toml").write_text("")
    scheduler = [] if "--scheduler" in arguments or arguments[0] == "inspect" else HERE
    chooses = arguments[0] == "plan" and "--algorithm" not in arguments
    refused([*arguments, *scheduler], *words, begun=CHOSEN if chooses else BEGUN)


@pytest.fixture
def unfinished(folder, monkeypatch, capsys):
    """A run that was interrupted after its first checkpoints."""
    from distkern.engine.checkpoint import CheckpointFolder

    save = CheckpointFolder.save

    def save_and_stop(self, stage, *arguments):
        path = save(self, stage, *arguments)
        if stage == 1:
            raise KeyboardInterrupt
        return path

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointFolder, "save", save_and_stop)
        assert main(READING["train"]) == 130
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(
        "distkern: interrupted in stage 1; a checkpoint of stage 1 is in new/checkpoints: "
    )
    assert "with --resume" in line
    return folder / "new"


def test_resuming_something_else(unfinished, refused):
    train = READING["train"]
    refused(train, "new holds an unfinished run", "--resume")
    changed = [*train, "--resume", "--set", "gamma=3.0"]
    refused(changed, "new: the run was started with another gamma", "(3.0)", "same data and job")
    other = ["scaled.zarr" if word == "d.zarr" else word for word in train]
    refused([*other, "--resume"], "new: the run was started with another data set")
    for checkpoint in unfinished.glob("checkpoints/*/c/0"):
        flip_a_byte(checkpoint)
    refused([*train, "--resume"], "checkpoints/stage-0000", "checksum is wrong", begun=BEGUN)


def test_resuming_goes_on_or_says_that_it_starts_anew(unfinished, capsys):
    assert main([*READING["train"], "--resume"]) == 0
    assert "resumed after stage 1" in capsys.readouterr().err
    shutil.rmtree(unfinished)
    assert main([*READING["train"], "--resume"]) == 0
    assert "no checkpoint in new: starting from the beginning" in capsys.readouterr().err


def test_interrupted_before_a_checkpoint(folder, monkeypatch, capsys):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("distkern.runs.limits.open_executor", functools.partial(stop))
    assert main(READING["train"]) == 130
    line = "distkern: interrupted before the first checkpoint: run the same command again\n"
    assert capsys.readouterr().err == line
    assert not Path("new").exists()
