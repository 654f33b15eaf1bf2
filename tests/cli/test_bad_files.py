"""Files that cannot be sharded: status 2, one line that names place and hint, and nothing left behind."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from distkern.cli.main import main

ROWS = [f"{number % 7}.5,{-number},{number % 2}" for number in range(100)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(table(ROWS))
    return tmp_path


def table(rows: list[str], header: str = "a,b,y") -> str:
    return "\n".join([header, *rows, ""])


def with_row(row: str) -> str:
    return table([*ROWS[:5], row, *ROWS[5:]])


def refused(capsys: pytest.CaptureFixture[str], arguments: str, *words: str) -> None:
    before = sorted(os.listdir())
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    for word in ("distkern: error: ", *words):
        assert word in line
    # the hint
    assert "; " in line
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("nan,1,0", ["row 6 (line 7), column 'a'", "missing", "leave the row out"]),
        ("1,inf,0", ["row 6 (line 7), column 'b'", "infinite"]),
        (",1,0", ["row 6 (line 7), column 'a'", "missing"]),
        ("1,2", ["row 6 (line 7)", "2 fields and the header 3"]),
        ("1,2,3,4", ["row 6 (line 7)", "4 fields and the header 3"]),
        ("red,1,0", ["row 6 (line 7), column 'a'", "'red' is not a number", "--categorical a=onehot"]),
        ("1,2,", ["row 6 (line 7), column 'y'", "target is missing"]),
    ],
)
def test_a_bad_row(folder: Path, row: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.csv").write_text(with_row(row))
    refused(capsys, "shard bad.csv --impute none --out x.zarr", "bad.csv, ", *words)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", ["no rows", "fill it"]),
        ("header.csv", b"a,b,y\n", ["no rows"]),
        ("one.csv", table([row[:-1] + "1" for row in ROWS]).encode(), ["row 1", "same label (1)"]),
        ("plain.csv", table(ROWS[1:], ROWS[0]).encode(), ["line 1", "--no-header"]),
        ("cut.csv.gz", gzip.compress(table(ROWS).encode(), mtime=0)[:100], ["truncated", "again"]),
        ("nolabel.svm", b"1:0.5 2:3\n0 1:1\n", ["row 1 (line 1)", "label is missing"]),
        ("nan.svm", b"1 1:2\n0 1:nan\n", ["row 2 (line 2), feature 1", "NaN"]),
        ("short.parquet", b"PAR1", ["Parquet", "write the file again"]),
        ("rows.txt", b"1,2\n", ["extension", "--format"]),
    ],
)
def test_a_bad_file(
    folder: Path, name: str, content: bytes, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_bytes(content)
    refused(capsys, f"shard {name} --scale none --out x.zarr", name, *words)


def test_a_number_beyond_32_bits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("huge.csv").write_text(with_row("1e300,1,0"))
    for scale in ("none", "standard"):
        refused(capsys, f"shard huge.csv --scale {scale} --out x.zarr", "feature 1", "too large", "divide")


def test_arrays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("a.npz", X=np.eye(3))
    refused(capsys, "shard a.npz --out x.zarr", "a.npz", "no array named y", "--target")
    np.savez("b.npz", X=np.array([[1.0, 2.0], [3.0, np.nan]]), y=np.array([0, 1]))
    refused(capsys, "shard b.npz --out x.zarr", "b.npz", "row 2", "column 2", "NaN")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("gone.csv --out x.zarr", ["gone.csv", "did you mean 'good.csv'?"]),
        ("good.csv --out x.zarr --target z", ["good.csv", "'z'"]),
        ("good.csv --out x.zarr --positive 7", ["--positive 7", "the labels are 0, 1"]),
        ("good.csv --out x.zarr --test wide.csv", ["wide.csv", "columns of good.csv", "'c' is unknown"]),
        ("good.csv --out x.zarr --test other.csv", ["other.csv, row 1 (line 2)", "'5'"]),
        (
            "good.csv --out x.zarr --test good.csv --test-fraction 0.1",
            ["--test-fraction", "give one of them"],
        ),
        ("good.csv --out good.csv/x.zarr", ["good.csv/x.zarr", "Not a directory", "another place"]),
        ("good.csv --out wide.csv", ["wide.csv", "already exists"]),
    ],
)
def test_bad_options(
    folder: Path, arguments: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("wide.csv").write_text(table(["1," + row for row in ROWS], "a,b,c,y"))
    Path("other.csv").write_text(table([row[:-1] + "5" for row in ROWS]))
    refused(capsys, f"shard {arguments}", *words)
