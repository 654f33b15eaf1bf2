"""Rows without a target: refused by their places, or left out and counted by ``--drop-missing-target``."""

import json

import numpy as np
import pandas
import pytest

from distkern.cli.main import main
from distkern.cli.shard import _like
from distkern.core.errors import InputError, Problems
from distkern.data.ingest import check, shard

X = np.arange(8.0)
LABELS = ["a", None, "b", "a", "", "b", None, "a"]
KNOWN = [0, 2, 3, 5, 7]
NUMBERS = np.where([label in ("a", "b") for label in LABELS], X / 4, np.nan)


def written(tmp_path, form, targets):
    """Return a file with a column of features, of categories and of targets."""
    path = tmp_path / f"rows.{form}"
    if form == "npz":
        np.savez(path, X=X[:, None], y=targets)
    elif form == "npy":
        np.save(path, np.column_stack([X, targets]))
    else:
        words = [f"w{int(x) % 3}" for x in X]
        frame = pandas.DataFrame({"x": X, "word": words, "y": targets})
        frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    return path


def rows_of(split):
    """Return the first feature of the rows, in their own unit, and their numbers in the file."""
    values = [np.asarray(block.features)[:, 0] for block in (reader() for reader in readers(split))]
    return np.concatenate(values).tolist()


def readers(split):
    return [split.reader(index) for index in range(split.n_blocks)]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_without_a_label_are_left_out_and_counted(tmp_path, form):
    notes = []
    data = shard(
        written(tmp_path, form, LABELS),
        tmp_path / "d.zarr",
        drop_missing_target=True,
        shuffle=False,
        scale="none",
        notice=notes.append,
    )
    assert rows_of(data.train) == KNOWN
    assert data.train.labels[:].tolist() == ["a", "b", "a", "b", "a"]
    assert "3 rows without a target are left out" in notes


@pytest.mark.parametrize("form", ["csv", "parquet", "npz", "npy"])
def test_rows_without_a_number_are_left_out_and_keep_their_places(tmp_path, form):
    source = written(tmp_path, form, NUMBERS)
    how = {"task": "regression", "scale": "none", "shuffle": False}
    how |= {"target": "-1"} if form == "npy" else {}
    with pytest.raises(InputError, match=r"row 2 .*the target is missing.*--drop-missing-target"):
        shard(source, tmp_path / "d.zarr", **how)
    data = shard(source, tmp_path / "d.zarr", drop_missing_target=True, **how)
    assert rows_of(data.train) == KNOWN
    assert [int(at) for reader in readers(data.train) for at in reader.source_rows()] == KNOWN
    again = shard(source, tmp_path / "e.zarr", test_fraction=0.4, drop_missing_target=True, **how)
    assert (again.train.n_rows, again.test.n_rows) == (3, 2)
    assert sorted([*rows_of(again.train), *rows_of(again.test)]) == KNOWN


def test_places_after_rows_that_are_left_out(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n1,a\n2,\n3,b\noops,a\n4,b\n5,a\n6,b\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"row 4 \(line 5\), column 'x': 'oops'"):
        shard(path, tmp_path / "d.zarr", drop_missing_target=True)


def test_values_of_rows_that_are_left_out_do_not_count(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,c,y\n" + "1,red,a\n2,blue,b\n" * 4 + ",green,\n", encoding="utf-8")
    columns = []
    check(path, report=columns.extend, drop_missing_target=True)
    assert [(column.missing, column.distinct) for column in columns] == [(0, 2), (0, 2)]


def test_chunks_and_files_without_any_target(tmp_path, monkeypatch):
    monkeypatch.setattr("distkern.data.formats.parquet.CHUNK_BYTES", 32)
    pandas.DataFrame({"x": X, "y": [None] * 4 + ["a", "b", None, "a"]}).to_parquet(tmp_path / "a.parquet")
    pandas.DataFrame({"x": X, "y": [None] * 8}, dtype=object).astype({"x": float}).to_parquet(
        tmp_path / "b.parquet"
    )
    notes = []
    both = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    how = {"drop_missing_target": True, "scale": "none", "shuffle": False, "notice": notes.append}
    data = shard(both, tmp_path / "d.zarr", **how)
    assert rows_of(data.train) == [4, 5, 7]
    assert notes == ["13 rows without a target are left out"]
    with pytest.raises(InputError, match="no rows with a target"):
        shard(both[1], tmp_path / "e.zarr", **how)


def test_later_rows_like_earlier_ones(tmp_path):
    source = written(tmp_path, "csv", LABELS)
    shard(source, tmp_path / "d.zarr", drop_missing_target=True)
    like = _like(str(tmp_path / "d.zarr"))
    data = shard(source, tmp_path / "e.zarr", like=like, drop_missing_target=True)
    assert data.train.n_rows == len(KNOWN)


def test_the_command_counts_them_and_says_which_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{'on request' if i % 5 == 0 else i * 1.5}\n" for i in range(40))
    (tmp_path / "offers.csv").write_text(f"size,rent\n{rows}", encoding="utf-8")
    command = ["shard", "offers.csv", "--task", "regression", "--out", "d.zarr"]
    assert main(command) == 2
    assert "--na 'on request' --drop-missing-target" in capsys.readouterr().err
    assert main([*command, "--na", "on request"]) == 2
    assert "(and 7 more rows); fill it in, or leave such rows out" in capsys.readouterr().err
    assert main([*command, "--na", "on request", "--drop-missing-target", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["train"]["rows"] == 32
    assert facts["notices"] == ["8 rows without a target are left out"]


def test_a_title_above_the_header_is_told_from_a_column_without_name(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text("Export 2024;;\nsize;rooms;rent\n30;2;400\n40;3;500\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"column 2 has no name; give --skip-lines 1 if line 2 is the header$"
    ):
        shard(path, tmp_path / "d.zarr", target="rent", task="regression")


@pytest.mark.parametrize(
    ("name", "content", "more", "message"),
    [
        ("a.svm", "1 1:2\n-1 1:3\n", [], "--drop-missing-target does not apply to svmlight files"),
        ("a.csv", "x,y\n1,2\n", ["--task", "none"], "--task none reads no target"),
    ],
)
def test_where_no_target_can_be_missing_the_option_is_refused(
    tmp_path, monkeypatch, capsys, name, content, more, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert main(["shard", name, "--drop-missing-target", "--out", "d.zarr", *more]) == 2
    assert message in capsys.readouterr().err


def test_each_problem_of_a_column_is_counted_once(tmp_path):
    """A wrong target stood for missing ones and was counted with them; every other wrong word was a line."""
    rows = "".join(f"{at},{at}.5\n" for at in range(20))
    files = [tmp_path / f"{name}.csv" for name in "abc"]
    for file, wrong in zip(files, ("7", "bad", "worse"), strict=True):
        missing = "" if wrong == "7" else "1,\n2,\n"
        file.write_text(f"x,y\n{wrong},{wrong}\n{missing}{rows}", encoding="utf-8")
    with pytest.raises(Problems) as caught:
        shard(files, tmp_path / "d.zarr", task="regression", target="y")
    found = [str(error).partition("b.csv, ")[2].partition(";")[0] for error in caught.value.errors]
    assert sorted(found) == [
        "row 1 (line 2), column 'x': 'bad' is not a number, as other values of the column are "
        "(and 1 more row)",
        "row 1 (line 2), column 'y': 'bad' is not a number (and 1 more row)",
        "row 2 (line 3), column 'y': the target is missing (and 3 more rows)",
    ]
