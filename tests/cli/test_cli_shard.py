"""``distkern shard``: its options reach the data set, its mistakes are one line with status 2."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from distkern.cli.main import main
from distkern.cli.shard import progress_on
from distkern.data.dataset import open_dataset
from distkern.data.ingest import shard


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        rows = "".join(f"{i},{i * number},{'ab'[i % 2]}\n" for i in range(1, 41))
        (tmp_path / f"part{number}.csv").write_text("x,y,kind\n" + rows)
    return tmp_path


def test_the_closing_line_says_what_to_type_next(folder, capsys):
    assert main(["shard", "part1.csv", "--out", "d.zarr", "--test-fraction", "0.1"]) == 0
    *classes, target, line, following = capsys.readouterr().out.splitlines()
    assert target == "target: kind (the last column; --target COLUMN for another)"
    assert [line.split() for line in classes if line.strip(" ─")] == [
        ["class", "train", "rows", "test", "rows"],
        ["a", "17", "3"],
        ["b", "19", "1"],
    ]
    assert line.startswith("d.zarr: 36 train + 4 test rows, 2 features, 2 classes, 1 + 1 shards, ")
    assert following == "next: distkern train --data d.zarr --out model"


def test_several_test_files_are_test_files(folder, capsys):
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


def test_every_option_arrives(folder, capsys):
    arguments = (
        "shard part*.csv --out d.zarr --target x --task regression --scale ball --rows-per-shard 50 "
        "--no-shuffle --seed 7 --test-fraction 0.25 --header --format csv --sparse"
    )
    (folder / "part0.csv").unlink()
    for part in folder.glob("part*.csv"):
        part.write_text(part.read_text().replace(",a\n", ",1\n").replace(",b\n", ",2\n"))
    assert main(arguments.split()) == 0
    assert "next: distkern train --data d.zarr --out model" in capsys.readouterr().out
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


def test_the_copy_by_features_is_made_with_the_rows_or_added(folder, capsys):
    assert main(["shard", "part1.csv", "--out", "d.zarr", "--columns"]) == 0
    assert "feature-major copy (" in capsys.readouterr().out
    (folder / "numbers.csv").write_text("x,y\n" + "".join(f"{i},{i % 7}\n" for i in range(40)))
    assert main(["shard", "numbers.csv", "--out", "e.zarr", "--task", "none", "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    assert before["columns"] is None
    assert main(["shard", "e.zarr", "--columns"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("e.zarr: feature-major copy of 40 train rows, ")
    for name in ("d.zarr", "e.zarr"):
        data = open_dataset(name)
        assert data.train.has_columns
        expected = data.train.reader(0)().features
        assert isinstance(expected, np.ndarray)
        assert np.array_equal(data.train.group(0)().columns(np.array([1])), expected[:, [1]].T)
    assert open_dataset("e.zarr").fingerprint == before["fingerprint"]
    assert main(["shard", "e.zarr", "--columns", "--overwrite", "--json"]) == 0
    after = json.loads(capsys.readouterr().out)
    assert after["columns"]["groups"] == 1
    assert after["bytes"] > before["bytes"] + after["columns"]["bytes"]


def test_inspect_tells_of_the_copy(folder, capsys):
    assert main(["shard", "part1.csv", "--out", "d.zarr"]) == 0
    capsys.readouterr()
    assert main(["inspect", "d.zarr"]) == 0
    assert "`distkern shard d.zarr --columns` adds it" in capsys.readouterr().out
    assert main(["inspect", "d.zarr", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] is None
    assert main(["shard", "d.zarr", "--columns", "--json"]) == 0
    copy = json.loads(capsys.readouterr().out)["columns"]
    assert main(["inspect", "d.zarr", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == copy
    assert main(["inspect", "d.zarr"]) == 0
    assert "1 group of rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("part9.csv --out f.zarr", ["part9.csv", "file not found", "did you mean"]),
        ("part1.csv --out f.zarr --target x --task regresion", ["--task", "regression"]),
        (
            "part1.csv --out f.zarr --target x --rows-per-shard 0",
            ["--rows-per-shard must be an integer >= 1, got 0"],
        ),
        ("part1.csv --out f.zarr --positive c", ["--positive c", "the labels are 'a', 'b'"]),
        ("part1.csv --out part2.csv --overwrite", ["part2.csv", "not a data set"]),
        ("bad.csv --out f.zarr", ["bad.csv", "row 2 (line 3)", "column 'x'"]),
        ("d.zarr", ["--out", "--columns to add the feature-major copy to d.zarr"]),
        ("d.zarr --columns", ["d.zarr", "already has a feature-major copy"]),
        ("d.zarr d.zarr --columns", ["--out", "one data set"]),
        ("part1.csv --columns", ["--out", "one data set"]),
        ("d.zarr --columns --overwrite --scale none", ["--scale", "no effect"]),
        ("d.zarr --columns --overwrite --no-shuffle", ["shuffle", "no effect"]),
        ("d.zarr --out f.zarr", ["d.zarr", "a data set already", "--columns without --out"]),
        ("good.svm --test index0.svm --out f.zarr", ["index0.svm", "(line 3)", "the index 0"]),
    ],
)
def test_mistakes_are_one_line(folder, arguments, words, refused):
    (folder / "bad.csv").write_text("x,kind\n1,a\ninf,b\n")
    for name, row in (("index0", "1 0:1"), ("good", "1 2:1")):
        (folder / f"{name}.svm").write_text(f"1 1:1\n-1 2:1\n{row}\n1 1:1 3:1\n")
    assert main(["shard", "part1.csv", "--out", "d.zarr", "--columns"]) == 0
    assert refused(["shard", *arguments.split()], *words) == ""


def test_a_damaged_copy_is_named_with_its_remedy(folder, capsys):
    assert main(["shard", "part1.csv", "--out", "d.zarr", "--columns"]) == 0
    manifest = folder / "d.zarr" / "columns" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"n_features": 2', '"n_features": 3'))
    capsys.readouterr()
    assert main(["inspect", "d.zarr"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(manifest) in line
    assert f"`distkern shard {folder / 'd.zarr'} --columns --overwrite`" in line
    assert main(["shard", "d.zarr", "--columns"]) == 0
    assert open_dataset("d.zarr").train.has_columns


@pytest.mark.parametrize("form", ["--sparse", "--dense"])
def test_rows_of_norm_zero_are_told_of(folder, form, capsys):
    (folder / "a.csv").write_text("x,y,kind\n" + "0,0,a\n1,2,b\n0,3,a\n0,0,b\n2,0,a\n")
    (folder / "b.csv").write_text("x,y,kind\n0,0,a\n")
    arguments = ["shard", "a.csv", "--test", "b.csv", "--out", "d.zarr", "--scale", "unit", form]
    assert main(arguments) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    assert told == ["note: 3 of 6 rows have norm 0: kept as zeros"]
    assert main([*arguments, "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notices"] == [told[0].removeprefix("note: ")]
    assert main(["shard", "a.csv", "--out", "e.zarr", "--scale", "none", form]) == 0
    assert "note:" not in capsys.readouterr().out


def test_bars_say_how_much_of_the_files_is_read_and_of_the_shards_written(tmp_path):
    shown = []
    terminal = SimpleNamespace(
        clear=lambda: shown.append(("", 0, 0, "")), show=lambda *bar: shown.append(bar)
    )
    (tmp_path / "a.csv").write_text("x,kind\n" + "".join(f"{i},{i % 2}\n" for i in range(400)))
    shard(
        tmp_path / "a.csv",
        tmp_path / "d.zarr",
        rows_per_shard=100,
        columns=True,
        progress=progress_on(terminal),
    )
    assert ("reading", 1000, 1000, "400 rows, 1.6 KiB") in shown
    assert [bar[1] for bar in shown if bar[0] == "writing shards"] == [250, 500, 750, 1000]
    assert [bar[1] for bar in shown if bar[0].startswith("writing columns, group")][-1] == 1000
    # each piece of work at its own speed
    assert sum(bar[0] == "" for bar in shown) == 3
