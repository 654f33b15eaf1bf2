"""A table as people have it: from CSV to predictions of a new CSV in three commands, nothing set."""

import json
from io import StringIO

import numpy as np
import pandas
import pytest
from rich.console import Console

from distkern.cli.main import main
from distkern.cli.tables import column_table
from distkern.data.table_report import ColumnReport
from distkern.runs.algorithms import load_model
from mixed_tables import adult

#: a machine that is trained at once, for tests of what is said and written
LINEAR = ["--algorithm", "newton", "--set", "features=linear"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    adult(2500).to_csv("train.csv", index=False)
    return tmp_path


def test_three_commands(folder, capsys):
    new = adult(1000, seed=1)
    new.loc[3, "occupation"] = "none of them"
    # other columns, in another order
    new[new.columns[::-1]].to_csv("new.csv", index=False)
    here = ["--scheduler", "synchronous"]
    assert main(["shard", "train.csv", "--target", "income", "--out", "d.zarr"]) == 0
    assert main(["train", "--data", "d.zarr", "--algorithm", "newton", "--out", "m", *here]) == 0
    assert main(["predict", "m", "new.csv", "--out", "p.csv", *here]) == 0
    told = capsys.readouterr().err
    assert "rows with a category not in the training rows, treated as unknown: occupation (1)" in told
    predicted = pandas.read_csv("p.csv")["prediction"]
    # the majority is 63 % of the rows
    assert np.mean(predicted == new["income"]) > 0.76
    # the same model takes the frame, and a data set of the file
    model = load_model(folder / "m")
    assert model.n_features_in_ == 14
    unseen = pytest.warns(UserWarning, match=r"occupation \(1\)")
    target = pytest.warns(UserWarning, match="'income' is the target")
    with unseen, target:
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


def test_a_data_set_whose_columns_became_other_features_is_refused(folder, capsys):
    adult(500, seed=1).to_csv("new.csv", index=False)
    here = ["--scheduler", "synchronous"]
    assert main(["shard", "train.csv", "--out", "d.zarr"]) == 0
    assert main(["shard", "new.csv", "--out", "e.zarr"]) == 0
    assert main(["train", "--data", "d.zarr", *LINEAR, "--out", "m", *here]) == 0
    capsys.readouterr()
    assert main(["evaluate", "m", "--data", "e.zarr", "--split", "train", *here]) == 2
    assert "--like m " in capsys.readouterr().err
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


def test_options_of_columns(folder, capsys):
    command = "shard train.csv --out d.zarr --drop weight --categorical education-num=onehot --categorical"
    assert main([*command.split(), "state=drop", "--impute", "flag", "--json"]) == 0
    columns = {column["name"]: column for column in json.loads(capsys.readouterr().out)["table"]}
    assert columns["education-num"]["becomes"] == "8 features"
    assert columns["age"]["missing"] > 0
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
    assert "--categorical must be NAME=HOW, got 'state'" in capsys.readouterr().err


def test_the_column_that_names_the_rows(folder, capsys):
    here = ["--scheduler", "synchronous"]
    train, new = pandas.read_csv("train.csv"), adult(50, seed=1)
    train.insert(3, "key", [f"row {number}" for number in range(len(train))])
    train.to_csv("named.csv", index=False)
    new["key"] = [f"new {number}" for number in range(50)]
    new.to_csv("new.csv", index=False)
    new.drop(columns="key").to_csv("nameless.csv", index=False)
    assert main(["shard", "named.csv", "--target", "income", "--id", "key", "--out", "d.zarr"]) == 0
    assert main(["train", "--data", "d.zarr", *LINEAR, "--out", "m", *here]) == 0
    assert main(["predict", "m", "new.csv", "--out", "p.csv", *here]) == 0
    assert pandas.read_csv("p.csv")["key"].tolist() == new["key"].tolist()
    assert main(["predict", "m", "nameless.csv", "--out", "q.csv", *here]) == 0
    assert pandas.read_csv("q.csv").columns.tolist() == ["prediction"]
    assert main(["predict", "m", "new.csv", "--id", "age", "--out", "r.csv", *here]) == 0
    assert pandas.read_csv("r.csv").columns[0] == "age"
    capsys.readouterr()
    assert main(["predict", "m", "new.csv", "nameless.csv", "--out", "s.csv", *here]) == 2
    assert "nameless.csv: column 'key' is missing in some files" in capsys.readouterr().err


def test_what_is_in_a_table_is_told_before_anything_is_written(folder, capsys):
    command = ["shard", "train.csv", "--target", "income", "--check"]
    assert main(command) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[1].split() == ["column", "holds", "becomes", "missing", "distinct"]
    assert max(len(line) for line in lines if not line.startswith("note:")) <= 80
    columns = {line.split()[0]: line.split()[1:] for line in lines[3:17]}
    assert columns["state"][:6] == ["categories", "32", "features", "and", "1", "mean"]
    assert columns["joined"][:3] == ["dates", "5", "features"]
    assert [file.name for file in folder.iterdir()] == ["train.csv"]
    assert main([*command, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["table"]) == 14
    (folder / "bad.csv").write_text(
        "x,d,y\n1,3/4/2024,a\n2,4/5/2024,b\nthree,5/6/2024,NA\n", encoding="utf-8"
    )
    assert main(["shard", "bad.csv", "--out", "bad.zarr"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3
    assert all(line.startswith("distkern: error: bad.csv, row ") for line in errors)
    assert main([*["shard", "bad.csv", "--check", "--month-first", "--na", "three", "--keep-na", "y"]]) == 0
    assert "dates, month first" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["bad.csv", "bad.parquet"])
def test_groups_and_weights_are_checked_with_all_else(folder, name, capsys):
    frame = pandas.DataFrame(
        {
            "x": ["1", "2", "three", "4"],
            "g": ["a", None, "b", None],
            "w": [1.0, 0.0, 2.0, None],
            "y": ["a", "b", "a", None],
        }
    )
    (frame.to_csv if name == "bad.csv" else frame.to_parquet)(name, index=False)
    command = ["shard", name, "--target", "y", "--group", "g", "--weight", "w", "--check"]
    assert main(command) == 2
    told = capsys.readouterr()
    assert "Fix this first:" in told.out
    lines = told.err.splitlines()
    # a CSV file's weights that are no numbers are a problem of their own
    weights = ["the weight 0.0 is not a number above 0", "the value is missing"]
    if name == "bad.parquet":
        weights = [f"{weights[0]} (and 1 more row)"]
    assert len(lines) == 3 + len(weights)
    for column, row, whats in (
        ("x", 3, ["'three' is not a number"]),
        ("g", 2, ["the group is missing (and 1 more row)"]),
        ("w", 2, weights),
        ("y", 4, ["missing"]),
    ):
        own = [one for one in lines if f", column {column!r}: " in one]
        assert any(f"{name}, row {row} " in line for line in own)
        assert all(any(what in line for line in own) for what in whats)
    assert main([*command, "--json"]) == 2
    told = capsys.readouterr()
    assert told.err.splitlines() == lines
    found = json.loads(told.out)
    assert [
        f"distkern: error: {one['where']}: {one['what']}; {one['hint']}" for one in found["problems"]
    ] == lines
    assert [column["name"] for column in found["table"]] == ["x"]
    (folder / "good.csv").write_text("x,g,w,y\n1,a,1,a\n2,b,2,b\n", encoding="utf-8")
    assert main(["shard", "good.csv", *command[2:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problems"] == []
    # and where nothing is checked they are refused as ever
    assert main(["shard", name, *command[2:-1], "--out", "d.zarr"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == len(lines)
    assert not (folder / "d.zarr").exists()


def test_names_and_words_are_in_one_piece():
    note = "is left out"
    reports = [
        ColumnReport(
            "a_name_that_is_longer_than_any_column_may_be", "percent, as shares", "nothing", 5, 12, note
        ),
        *(ColumnReport(f"x{at}", "numbers", "1 feature", 0, 3) for at in range(100)),
    ]
    printed = Console(width=80, file=StringIO())
    printed.print(column_table(reports))
    text = printed.file.getvalue()
    assert {"a_name_that_is_longer...", "percent,", "shares", "nothing", "features"} <= set(text.split())
    assert "100 more columns" in text
    assert "x7" not in text


@pytest.mark.slow
def test_columns_that_the_model_does_not_know_are_left_out(folder, capsys):
    here = ["--scheduler", "synchronous"]
    new = adult(300, seed=1)
    new.insert(2, "extra", np.arange(300) % 7)
    new.insert(5, "other", "word")
    new.to_csv("new.csv", index=False)
    assert main(["shard", "train.csv", "--out", "d.zarr"]) == 0
    assert main(["train", "--data", "d.zarr", *LINEAR, "--out", "m", *here]) == 0
    capsys.readouterr()
    assert main(["predict", "m", "new.csv", "--out", "p.csv", *here]) == 0
    note = "note: columns unknown to the model, ignored: 'extra', 'other'"
    assert capsys.readouterr().err.count(note) == 1
    assert main(["shard", "new.csv", "--like", "m", "--out", "e.zarr"]) == 0
    assert note in capsys.readouterr().out
    # of data sets, those of mere numbers
    for name, columns in (("train", ["age", "hours"]), ("new", ["age", "extra", "hours"])):
        frame = pandas.read_csv(f"{name}.csv")[[*columns, "income"]].dropna()
        frame.to_csv(f"{name} numbers.csv", index=False)
    assert main(["shard", "train numbers.csv", "--out", "f.zarr"]) == 0
    assert main(["train", "--data", "f.zarr", *LINEAR, "--out", "n", *here]) == 0
    assert main(["shard", "new numbers.csv", "--out", "g.zarr", "--no-shuffle"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "n", "--data", "g.zarr", "--split", "train", *here]) == 0
    told = capsys.readouterr()
    assert "note: column unknown to the model, ignored: 'extra'" in told.err
    assert main(["predict", "n", "new numbers.csv", "--out", "q.csv", *here]) == 0
    truth = pandas.read_csv("new numbers.csv")["income"]
    assert json.loads(told.out)["accuracy"] == pytest.approx(
        np.mean(pandas.read_csv("q.csv")["prediction"] == truth)
    )
    assert main(["shard", "new numbers.csv", "--out", "h.zarr", "--scale", "unit"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "n", "--data", "h.zarr", "--split", "train", *here]) == 2
    assert "norms that include columns unknown to the model (unit)" in capsys.readouterr().err


def test_each_problem_of_a_column_is_counted_by_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("distkern.data.labels.MAX_CLASSES", 5)
    rows = "".join(f"{at},{'n/a' if at % 10 == 3 else at / 2}\n" for at in range(60))
    (tmp_path / "t.csv").write_text(f"x,income\n{rows}")
    assert main(["shard", str(tmp_path / "t.csv"), "--out", str(tmp_path / "t.zarr")]) == 2
    missing, many = capsys.readouterr().err.splitlines()
    assert "the target is missing ('n/a') (and 5 more rows)" in missing
    assert "more than 5 distinct labels; give --task regression" in many
