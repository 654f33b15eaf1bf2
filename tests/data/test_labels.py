"""Labels of files: the words of text files, parts of several formats, labels that look alike."""

import json

import numpy as np
import pandas as pd
import pytest

from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.data.dataset import open_dataset
from distkern.data.ingest import shard
from distkern.data.labels import kind_of_words, lookalike_notes


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["true", "False"], "boolean"),
        (["True", "no"], "text"),
        (["1", "-1", "+1"], "number"),
        (["1.0", "2"], "number"),
        (["1", "01"], "text"),
        (["-01", "1"], "text"),
        (["0", "0.5"], "number"),
        ([str(2**64 - 1), "0"], "number"),
        ([str(2**64 - 1), "-1"], "text"),
        ([str(2**53 + 1), "1.0"], "text"),
        (["1", "a"], "text"),
        (["2024-01-31", "2024-02-29"], "text"),
    ],
)
def test_words_are_what_pandas_reads(words, kind, tmp_path):
    assert kind_of_words(words) == kind
    (tmp_path / "a.csv").write_text("y\n" + "".join(f"{word}\n" for word in words))
    of_pandas = pd.read_csv(tmp_path / "a.csv").y
    # what reading as numbers would merge or change stays text
    if kind != "text" or not pd.api.types.is_numeric_dtype(of_pandas):
        assert of_pandas.dtype.kind in {"boolean": "b", "number": "iuf", "text": "O"}[kind]


def parts(folder, first, second):
    for name, y in (("a", first), ("b", second)):
        frame = pd.DataFrame({"x": range(len(y)), "y": y})
        if isinstance(y, list):
            frame.to_csv(folder / f"{name}.csv", index=False)
        else:
            frame.to_parquet(folder / f"{name}.parquet", index=False)
    return sorted(folder.glob("[ab].*"))


@pytest.mark.parametrize(
    ("typed", "words", "classes"),
    [
        (np.array([True, False]), ["False", "True"], [False, True]),
        (np.array([1, 2]), ["2", "1.0"], [1.0, 2.0]),
        (np.array([2**60, 1]), ["1", str(2**60)], [1, 2**60]),
        (np.array(["01", "1"]), ["1", "01"], ["01", "1"]),
        (np.array(["2024-01-31", "2024-02-29"], "M8[us]"), ["2024-02-29", "2024-01-31"], None),
    ],
)
def test_parts_of_two_formats_have_the_same_classes(typed, words, classes, tmp_path):
    data = shard(parts(tmp_path, typed, words), tmp_path / "d.zarr")
    wanted = np.unique(typed) if classes is None else np.array(classes)
    np.testing.assert_array_equal(data.classes, wanted)
    assert data.classes.dtype.kind == wanted.dtype.kind
    assert data.train.class_counts.tolist() == [2, 2]
    # whichever comes first, and whichever is of the test
    files = parts(tmp_path, typed, words)[::-1]
    assert shard(files, tmp_path / "e.zarr").classes.tolist() == data.classes.tolist()
    assert shard(files[:1], tmp_path / "f.zarr", test=files[1:]).classes.tolist() == data.classes.tolist()


@pytest.mark.parametrize(
    ("typed", "other", "message"),
    [
        (
            np.array([True, False]),
            ["0", "1"],
            r"b\.csv, row 1 .*the label '0' is not a boolean like the labels of the other files",
        ),
        (
            np.array([1, 2]),
            ["1", "x"],
            r"b\.csv, row 2 .*the label 'x' is not a number like the labels of the other files",
        ),
        (
            np.array(["1", "2"]),
            np.array([1, 2]),
            r"b\.parquet, row 1 .*label 1 is a number, and '1' .* is a text",
        ),
        (
            np.array([True, False]),
            np.array([0, 1]),
            r"label 0 is a number, and True .*a\.parquet.* is a boolean",
        ),
    ],
)
def test_parts_with_labels_of_two_kinds_are_refused(typed, other, message, tmp_path):
    with pytest.raises(InputError, match=message):
        shard(parts(tmp_path, typed, other), tmp_path / "d.zarr")


@pytest.mark.parametrize("other", [np.array([1.0, 2.0]), np.array([-1, 1])])
def test_integers_that_have_no_type_with_others_are_refused(other, tmp_path):
    large = np.array([2**64 - 1, 1], dtype=np.uint64)
    with pytest.raises(
        InputError, match=rf"a\.parquet, row 1 .*the label {2**64 - 1} shares no numeric type"
    ):
        shard(parts(tmp_path, large, other), tmp_path / "d.zarr")


def test_later_files_have_the_labels_of_what_they_are_like(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("x,y\n" + "1,True\n2,False\n" * 9)
    pd.DataFrame({"x": [1, 2], "y": [True, True]}).to_parquet(tmp_path / "b.parquet", index=False)
    (tmp_path / "c.csv").write_text("x,y\n3,True\n")
    for path in ("a.csv", "b.parquet", "c.csv"):
        like = [] if path == "a.csv" else ["--like", str(tmp_path / "a.csv.zarr")]
        assert main(["shard", str(tmp_path / path), "--out", str(tmp_path / f"{path}.zarr"), *like]) == 0
        classes = open_dataset(tmp_path / f"{path}.zarr").classes
        assert classes.dtype == bool
        assert classes.tolist() == [False, True][-len(classes) :]
    (tmp_path / "c.csv").write_text("x,y\n3,maybe\n")
    out = ["--out", str(tmp_path / "e.zarr"), "--like", str(tmp_path / "a.csv.zarr")]
    assert main(["shard", str(tmp_path / "c.csv"), *out]) == 2
    assert "the label 'maybe' is not a boolean like the classes of --like" in capsys.readouterr().err


def test_the_task_is_that_of_the_earlier_data_set(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,0.5\n2,1.5\n3,2\n")
    (tmp_path / "b.csv").write_text("x,y\n1,1\n2,3\n")
    how = ["--out", str(tmp_path / "d.zarr"), "--task", "regression"]
    assert main(["shard", str(tmp_path / "a.csv"), *how]) == 0
    how = ["--out", str(tmp_path / "e.zarr"), "--like", str(tmp_path / "d.zarr")]
    assert main(["shard", str(tmp_path / "b.csv"), *how]) == 0
    assert open_dataset(tmp_path / "e.zarr").task == "regression"


def test_labels_that_look_alike_are_reported():
    labels = ["<=50K", "<=50K.", " yes", "yes", "Yes", "no", "1e3", "1000", "+", "-"]
    notes = lookalike_notes(sorted(labels), range(10))
    assert [sentence.count("rows") for sentence in notes] == [3, 2, 2]
    assert notes[0] == (
        "the labels ' yes' (0 rows), 'Yes' (7 rows) and 'yes' (9 rows) look alike but are separate classes"
    )
    assert not lookalike_notes([False, True, 1], [1, 1, 1])
    assert lookalike_notes([f"{case}{at}" for at in range(7) for case in "aA"], [1] * 14)[-1].startswith(
        "2 more groups"
    )


def test_classes_are_listed_with_their_rows(tmp_path, capsys):
    rows = [f"w{at:02}" for at in range(30) for _ in range(30 - at)]
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{at},{label}\n" for at, label in enumerate(rows)))
    where = [str(tmp_path / "a.csv"), "--out", str(tmp_path / "d.zarr")]
    assert main(["shard", *where, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["class_rows"]
    wanted = [(f"w{at:02}", 30 - at) for at in (*range(10), *range(20, 30))]
    assert [(one["label"], one["train"]) for one in listed] == wanted
    for command in (["shard", *where, "--overwrite"], ["shard", where[0], "--check"]):
        assert main(command) == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        first = lines.index(["class", "train", "rows"]) + 2
        assert lines[first : first + 10] == [[label, str(count)] for label, count in wanted[:10]]
        assert lines[first + 10] == ["10", "more", "..."]
        assert lines[first + 20] == ["w29", "1"]
