"""A table as people have it: from CSV to predictions of a new CSV in three commands, nothing set."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas
import pytest

from distkern.cli.main import main
from distkern.runs.persistence import load_model
from mixed_tables import adult


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    adult(2500).to_csv("train.csv", index=False)
    return tmp_path


def test_three_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = adult(1000, seed=1)
    new.loc[3, "occupation"] = "none of them"
    # other columns, in another order
    new[new.columns[::-1]].to_csv("new.csv", index=False)
    here = ["--scheduler", "synchronous"]
    assert main(["shard", "train.csv", "--target", "income", "--out", "d.zarr"]) == 0
    assert main(["train", "--data", "d.zarr", "--algorithm", "newton", "--out", "m", *here]) == 0
    assert main(["predict", "m", "new.csv", "--out", "p.csv", *here]) == 0
    told = capsys.readouterr().err
    assert "rows with a category that no training row has, taken as unknown: occupation (1)" in told
    predicted = pandas.read_csv("p.csv")["prediction"]
    # the majority is 63 % of the rows
    assert np.mean(predicted == new["income"]) > 0.76
    # the same model takes the frame, and a data set of the file
    model = load_model(folder / "m")
    assert model.n_features_in_ == 14
    with pytest.warns(UserWarning, match=r"occupation \(1\)"):
        assert model.predict(pandas.read_csv("new.csv")).tolist() == predicted.tolist()
    assert main(["evaluate", "m", "--data", "d.zarr", "--split", "train", *here]) == 0
    capsys.readouterr()
    assert main(["inspect", "m"]) == 0
    assert ", of 14 columns of a table" in capsys.readouterr().out
    assert main(["shard", "new.csv", "--like", "m", "--out", "e.zarr", "--no-shuffle"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "m", "--data", "e.zarr", "--split", "train", *here]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == pytest.approx(
        np.mean(predicted == new["income"])
    )


def test_a_data_set_whose_columns_became_other_features_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    adult(500, seed=1).to_csv("new.csv", index=False)
    here = ["--scheduler", "synchronous"]
    assert main(["shard", "train.csv", "--out", "d.zarr"]) == 0
    assert main(["shard", "new.csv", "--out", "e.zarr"]) == 0
    assert main(["train", "--data", "d.zarr", "--algorithm", "newton", "--out", "m", *here]) == 0
    capsys.readouterr()
    assert main(["evaluate", "m", "--data", "e.zarr", "--split", "train", *here]) == 2
    assert "--like MODEL" in capsys.readouterr().err
    new = pandas.read_csv("new.csv")
    for name, column, message in (
        ("age", ["old"] * 500, "row 1 (line 2), column 'age': 'old' is not a number"),
        ("joined", ["soon"] * 500, "column 'joined': 'soon' is not a date"),
    ):
        new.assign(**{name: column}).to_csv("bad.csv", index=False)
        assert main(["predict", "m", "bad.csv", "--out", "p.csv", *here]) == 2
        assert message in capsys.readouterr().err
    new.drop(columns="state").to_csv("bad.csv", index=False)
    assert main(["predict", "m", "bad.csv", "--out", "p.csv", *here]) == 2
    assert "column 'state' is missing" in capsys.readouterr().err


def test_options_of_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "shard train.csv --out d.zarr --drop weight --categorical education-num=onehot --categorical"
    assert main([*command.split(), "state=drop", "--impute", "flag", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notices"][0].startswith("categories, one feature for each")
    assert main(["inspect", "d.zarr", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)["feature_names"]
    assert {"education-num=5", "age is missing"} <= set(names)
    assert not [name for name in names if "weight" in name or "state " in name]
    (folder / "na.csv").write_text("x,y\n1,NA\n2,EU\n,EU\n", encoding="utf-8")
    assert main(["shard", "na.csv", "--out", "f.zarr"]) == 2
    assert "row 1 (line 2), column 'y': the target is missing ('NA')" in capsys.readouterr().err
    assert main(["shard", "na.csv", "--out", "f.zarr", "--na", "", "--na", "?", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == ["EU", "NA"]
    assert main(["shard", "train.csv", "--out", "e.zarr", "--categorical", "state"]) == 2
    assert "--categorical: 'state' is not NAME=HOW" in capsys.readouterr().err


def test_the_column_that_names_the_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = ["--scheduler", "synchronous"]
    train, new = pandas.read_csv("train.csv"), adult(50, seed=1)
    train.insert(3, "key", [f"row {number}" for number in range(len(train))])
    train.to_csv("named.csv", index=False)
    new["key"] = [f"new {number}" for number in range(50)]
    new.to_csv("new.csv", index=False)
    new.drop(columns="key").to_csv("nameless.csv", index=False)
    assert main(["shard", "named.csv", "--target", "income", "--id", "key", "--out", "d.zarr"]) == 0
    assert main([*["train", "--data", "d.zarr", "--algorithm", "newton", "--out", "m"], *here]) == 0
    assert main(["predict", "m", "new.csv", "--out", "p.csv", *here]) == 0
    assert pandas.read_csv("p.csv")["key"].tolist() == new["key"].tolist()
    assert main(["predict", "m", "nameless.csv", "--out", "q.csv", *here]) == 0
    assert pandas.read_csv("q.csv").columns.tolist() == ["prediction"]
    assert main(["predict", "m", "new.csv", "--id", "age", "--out", "r.csv", *here]) == 0
    assert pandas.read_csv("r.csv").columns[0] == "age"
    capsys.readouterr()
    assert main(["predict", "m", "new.csv", "nameless.csv", "--out", "s.csv", *here]) == 2
    assert "nameless.csv: column 'key' is in some files and not in all" in capsys.readouterr().err
