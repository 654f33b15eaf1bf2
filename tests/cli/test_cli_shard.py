"""``distkern shard``: its options reach the data set, its mistakes are one line with status 2."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from distkern.cli.main import main
from distkern.storage.dataset import open_dataset


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        rows = "".join(f"{i},{i * number},{'ab'[i % 2]}\n" for i in range(1, 41))
        (tmp_path / f"part{number}.csv").write_text("x,y,kind\n" + rows)
    return tmp_path


def test_the_closing_line_says_what_to_type_next(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shard", "part1.csv", "--out", "d.zarr", "--test-fraction", "0.1"]) == 0
    line, following = capsys.readouterr().out.splitlines()
    assert line.startswith("d.zarr: 36 train + 4 test rows, 2 features, 2 classes, 1 + 1 shards, ")
    assert following == "next: distkern train --data d.zarr --algorithm csvrg --out model"


def test_several_test_files_are_test_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["part0.csv", "--test", "part1.csv", "part2.csv", "--out", "d.zarr", "--json"]
    assert main(["shard", *arguments]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["train"] == {"rows": 40, "shards": 1, "class_counts": [20, 20]}
    assert facts["test"]["rows"] == 80
    assert facts["classes"] == ["a", "b"]
    assert facts["fingerprint"] == open_dataset("d.zarr").fingerprint
    assert main(["shard", "part0.csv", "--test", "part1.csv", "--test=part2.csv", "--out", "e.zarr"]) == 0
    assert open_dataset("e.zarr").fingerprint == facts["fingerprint"]
    assert main(["shard", "--test", "part1.csv", "part2.csv", "--out", "f.zarr"]) == 2
    assert main(["shard", "part0.csv", "--out", "f.zarr", "--test"]) == 2
    assert not (folder / "f.zarr").exists()


def test_every_option_arrives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (
        "shard part*.csv --out d.zarr --target x --task regression --scale ball --rows-per-shard 50 "
        "--no-shuffle --seed 7 --test-fraction 0.25 --header --format csv --sparse"
    )
    (folder / "part0.csv").unlink()
    for part in folder.glob("part*.csv"):
        part.write_text(part.read_text().replace(",a\n", ",1\n").replace(",b\n", ",2\n"))
    assert main(arguments.split()) == 0
    assert "next: distkern inspect d.zarr" in capsys.readouterr().out
    data = open_dataset("d.zarr")
    assert data.options == {
        "task": "regression",
        "positive": None,
        "scale": "ball",
        "test_fraction": 0.25,
        "rows_per_shard": 50,
        "shuffle": False,
        "seed": 7,
        "sparse": True,
    }
    assert data.is_sparse
    assert data.feature_names == ("y", "kind")
    assert data.train.block_rows == (50, 10)
    targets = data.train.reader(0)().targets
    assert targets is not None
    assert (np.diff(targets) > 0).sum() == 48


def test_one_label_against_the_rest(folder: Path) -> None:
    assert main(["shard", "part1.csv", "--out", "d.zarr", "--positive", "a", "--scale", "none"]) == 0
    data = open_dataset("d.zarr")
    assert data.classes is not None
    assert data.classes.tolist() == ["not a", "a"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("part9.csv --out d.zarr", ["part9.csv", "file not found", "did you mean"]),
        ("part1.csv --out d.zarr --target kin", ["part1.csv", "'kin'", "'kind'"]),
        ("part1.csv --out d.zarr --target x --task regresion", ["--task", "regression"]),
        ("part1.csv --out d.zarr --target x --rows-per-shard 0", ["--rows-per-shard"]),
        ("part1.csv --out d.zarr --positive c", ["--positive c", "a, b"]),
        ("part1.csv --out part2.csv --overwrite", ["part2.csv", "not a data set"]),
        ("bad.csv --out d.zarr", ["bad.csv", "row 2 (line 3)", "column 'x'"]),
        ("part1.csv", ["--out"]),
    ],
)
def test_mistakes_are_one_line(
    folder: Path, arguments: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.csv").write_text("x,kind\n1,a\n?,b\n")
    before = sorted(os.listdir(folder))
    assert main(["shard", *arguments.split()]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    for word in words:
        assert word in line
    assert sorted(os.listdir(folder)) == before
