"""Making data sets: labels, widths, options, and every mistake refused with nothing left behind."""

import errno
import os

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.data import build, spool
from distkern.data.dataset import open_dataset
from distkern.data.ingest import shard, write_dataset
from distkern.data.store.arrays import load_arrays, save_arrays


def text(path, content):
    path.write_text(content)
    return path


def codes(split):
    blocks = [split.reader(index)() for index in range(split.n_blocks)]
    return [int(code) for block in blocks if block.targets is not None for code in block.targets]


def labels(data):
    return data.classes[codes(data.train)].tolist()


def from_labels(tmp_path, column, **options):
    content = "x,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(column))
    return shard(text(tmp_path / "a.csv", content), tmp_path / "d.zarr", shuffle=False, **options)


@pytest.mark.parametrize(
    ("column", "classes"),
    [
        (["2", "1", "10", "2"], [1, 2, 10]),
        (["1.0", "-1", "1", "+1"], [-1, 1]),
        (["1", "b", "10", "a"], ["1", "10", "a", "b"]),
        (["01", "1", "x", "01"], ["01", "1", "x"]),
        (["yes", "no", "no", "yes"], ["no", "yes"]),
    ],
)
def test_classes(tmp_path, column, classes):
    data = from_labels(tmp_path, column)
    assert data.classes.tolist() == classes
    kind = type(classes[0])
    assert labels(data) == [kind(float(label)) if kind is int else label for label in column]


@pytest.mark.parametrize(("column", "positive"), [(["1", "2", "3", "2"], "2.0"), (["a", "c", "b", "c"], "c")])
def test_one_label_against_the_rest(tmp_path, column, positive):
    data = from_labels(tmp_path, column, positive=positive)
    name = positive.removesuffix(".0")
    assert data.classes.tolist() == [f"not {name}", name]
    assert codes(data.train) == [0, 1, 0, 1]
    assert data.train.class_counts.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        (["1", "1"], {}, r"all training rows have the same label \(1\)"),
        (["1", "1"], {"positive": "1"}, "all training rows have the same label"),
        (
            ["1", "2"],
            {"positive": "3"},
            "--positive 3: no training row has the label '3'; the labels are '1', '2'",
        ),
        (["setosa", "other"], {"positive": "setos"}, "did you mean 'setosa'"),
        (
            ["1", "0.5", "2"],
            {},
            r"row 2 \(line 3\): the label '0.5' is a number but not an integer; .*regression",
        ),
        (["1", "nan", "2"], {}, r"row 2 \(line 3\), column 'label': the target is missing \('nan'"),
        (["1", "", "2"], {}, r"row 2 \(line 3\), column 'label': the target is missing"),
        (
            [str(i) for i in range(101)],
            {},
            "101 different numbers as labels of 101 training rows; .*regression",
        ),
        ([f"w{i}" for i in range(10_001)], {}, r"row 10001 \(line 10002\): more than 10,000 distinct labels"),
        (["1", "2"], {"task": "regresion"}, "unknown task 'regresion'; did you mean 'regression'"),
        (["1", "2"], {"scale": "min-max"}, "unknown scaling 'min-max'; did you mean 'minmax'"),
        (["1", "2"], {"test_fraction": 1.0}, "--test-fraction must be between 0 and 1, such as 0.2, got 1.0"),
        (["1", "2"], {"rows_per_shard": 0}, "--rows-per-shard"),
        (["1", "2"], {"seed": -1}, "--seed"),
        (["1", "2"], {"task": "regression", "positive": "1"}, "--positive"),
        (["1", "2"], {"test_fraction": 0.5, "test": "a.csv"}, "test rows are given twice"),
        (["1", "2"], {"test_fraction": 0.9}, "none is left for training"),
    ],
)
def test_refused(tmp_path, column, options, message):
    with pytest.raises(InputError, match=message):
        from_labels(tmp_path, column, **options)
    assert os.listdir(tmp_path) == ["a.csv"]


def test_numbers_that_are_stored_in_single_precision_are_no_labels(tmp_path):
    targets = np.array([0.5, 1.5, 2.5], dtype=np.float32)
    with pytest.raises(InputError, match=r"label 0\.5 is a number but not an integer"):
        write_dataset([(np.eye(3), targets)], tmp_path / "d.zarr")


def test_labels_of_test_rows(tmp_path):
    train = text(tmp_path / "a.csv", "x,y\n1,a\n2,b\n")
    test = text(tmp_path / "t.csv", "x,y\n1,b\n2,c\n")
    with pytest.raises(InputError, match=r"t\.csv, row 2 \(line 3\): the label 'c' is in the test rows"):
        shard(train, tmp_path / "d.zarr", test=test)
    data = shard(train, tmp_path / "d.zarr", test=test, positive="b")
    assert codes(data.test) == [1, 0]


def test_a_class_without_training_rows_after_the_draw(tmp_path):
    column = ["a"] * 20 + ["b"]
    outcomes = set()
    for seed in range(8):
        try:
            outcomes.add(
                len(from_labels(tmp_path, column, test_fraction=0.5, seed=seed, overwrite=True).classes)
            )
        except InputError as error:
            outcomes.add("change --seed" in str(error))
    assert outcomes == {2, True}


def test_the_width_of_svmlight_is_the_largest_index_of_all_files(tmp_path):
    parts = [text(tmp_path / f"{i}.svm", f"1 {i}:5\n-1 1:{i}\n") for i in (2, 4, 3)]
    test = text(tmp_path / "t.svm", "1 6:7\n")
    data = shard(parts, tmp_path / "d.zarr", test=test, scale="none", shuffle=False)
    rows = data.train.reader(0)().features
    assert rows.tolist() == [
        [0, 5, 0, 0, 0, 0],
        [2, 0, 0, 0, 0, 0],
        [0, 0, 0, 5, 0, 0],
        [4, 0, 0, 0, 0, 0],
        [0, 0, 5, 0, 0, 0],
        [3, 0, 0, 0, 0, 0],
    ]
    assert data.test.reader(0)().features.tolist() == [[0, 0, 0, 0, 0, 7]]
    scaled = shard(parts, tmp_path / "e.zarr", shuffle=False).train.reader(0)().features
    np.testing.assert_allclose(scaled, rows[:, :4] / np.maximum(rows[:, :4].max(axis=0), 1), rtol=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("x,y\n1,2\n", "x,z,y\n1,2,3\n", r"b\.csv: .*those of .*a\.csv: column 'z' is unknown"),
        ("x,y\n1,2\n", "z,y\n1,3\n", r"b\.csv: .*a\.csv: column 'x' is missing and column 'z' is unknown"),
    ],
)
def test_files_that_do_not_fit_together(tmp_path, first, second, message):
    files = [text(tmp_path / "a.csv", first), text(tmp_path / "b.csv", second)]
    for arguments in ({"sources": files}, {"sources": files[0], "test": files[1]}):
        with pytest.raises(InputError, match=message):
            shard(out=tmp_path / "d.zarr", **arguments)
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv"]


def test_existing_places(tmp_path):
    data = from_labels(tmp_path, ["1", "2"])
    with pytest.raises(InputError, match=r"d\.zarr already exists; give --overwrite"):
        from_labels(tmp_path, ["3", "4"])
    assert open_dataset(data.path).fingerprint == data.fingerprint
    new = from_labels(tmp_path, ["3", "4"], overwrite=True)
    assert new.classes.tolist() == [3, 4]
    (tmp_path / "home").mkdir()
    text(tmp_path / "home" / "letter.txt", "dear")
    with pytest.raises(InputError, match="is not a data set, so it is not overwritten"):
        shard(tmp_path / "a.csv", tmp_path / "home", overwrite=True)
    assert (tmp_path / "home" / "letter.txt").exists()
    # a failing replacement leaves the old one
    with pytest.raises(InputError):
        from_labels(tmp_path, ["3", "3"], overwrite=True)
    assert open_dataset(data.path).fingerprint == new.fingerprint
    with pytest.raises(InputError, match=r"credentials|no driver"):
        shard(tmp_path / "a.csv", "s3://bucket/d.zarr")
    with pytest.raises(InputError, match=r"a\.csv.*cannot be written"):
        shard(tmp_path / "a.csv", tmp_path / "a.csv" / "d.zarr")


def test_of_two_who_make_one_data_set_the_later_is_refused(tmp_path):
    made = []

    def meanwhile(*_):
        if not made:
            made.append(from_labels(tmp_path, ["1", "2", "2"]))

    other = text(tmp_path / "b.csv", "y,x\n3,1\n4,2\n")
    with pytest.raises(InputError, match=r"d\.zarr already exists"):
        shard(other, tmp_path / "d.zarr", target="y", progress=meanwhile)
    assert open_dataset(tmp_path / "d.zarr").fingerprint == made[0].fingerprint
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv", "d.zarr"]


def test_values_that_do_not_fit_single_precision(tmp_path):
    rows = np.array([[1.0, 1e200], [2.0, 0.0]])
    with pytest.raises(InputError, match="train rows, feature 2: a value is too large for 32-bit numbers"):
        write_dataset([(rows, np.arange(2))], tmp_path / "d.zarr", scale="none")
    data = write_dataset([(rows, np.arange(2))], tmp_path / "d.zarr", shuffle=False)
    assert data.train.reader(0)().features.tolist() == [[0, 1], [1, 0]]


def test_double_precision_is_kept_until_rows_are_scaled(tmp_path):
    rows = 1e9 + np.array([[0.0], [0.25], [1.0]])
    data = write_dataset([(rows, np.array([0, 1, 1]))], tmp_path / "d.zarr", shuffle=False)
    assert data.train.reader(0)().features.tolist() == [[0], [0.25], [1]]


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        ((np.zeros(3), None), "shape"),
        ((np.zeros((3, 2)), np.zeros(2)), "targets must have shape"),
        ((np.zeros((3, 2)), None), "no labels"),
        ((np.full((3, 2), np.nan), np.arange(3)), r"training rows, row 1 \(index 0\), column 1"),
        ((np.zeros((3, 0)), np.arange(3)), "no features"),
        ((np.zeros((0, 2)), np.zeros(0)), "no rows"),
    ],
)
def test_generated_rows_are_checked_too(tmp_path, chunk, message):
    with pytest.raises(InputError, match=message):
        write_dataset([chunk], tmp_path / "d.zarr")


def test_progress_is_reported(tmp_path):
    steps = []
    chunks = [(np.zeros((10, 3)) + i, np.arange(10) % 2) for i in range(4)]
    write_dataset(chunks, tmp_path / "d.zarr", rows_per_shard=20, progress=lambda *facts: steps.append(facts))
    assert steps == [("reading", 10 * i, 120 * i, None) for i in (1, 2, 3, 4)] + [
        ("writing shards", 20 * i, 240 * i, 40) for i in (1, 2)
    ]


def test_a_full_disk_is_found_before_shards_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "free_bytes", lambda path: 10)
    with pytest.raises(InputError, match=r"d\.zarr: the disk is full \(0\.0 MiB needed, .* MiB free\)"):
        from_labels(tmp_path, ["1", "2"])
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_disk_that_fills_up(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(spool.ParkedFile, "append", full)
    with pytest.raises(InputError, match=r"d\.zarr: the disk is full \(.* MiB free\); free some space"):
        from_labels(tmp_path, ["1", "2"])
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["a.csv"]


# --- a disk that really is full ---


@pytest.mark.parametrize("megabytes", [6, 30])
def test_sharding(small_disk, megabytes):
    # 6 MB fit the disk as spool but not as shards beside it; 30 MB do not even fit as spool
    rows = megabytes * 2**20 // 400
    chunks = (
        (np.random.default_rng(i).normal(size=(rows // 10, 100)), np.arange(rows // 10) % 2)
        for i in range(10)
    )
    with pytest.raises(InputError, match=r"d\.zarr: the disk is full \(.*MiB free\)"):
        write_dataset(chunks, small_disk / "d.zarr", scale="none")
    assert os.listdir(small_disk) == []


def test_saving_arrays(small_disk):
    save_arrays(small_disk / "m", {"a": np.arange(10)})
    with pytest.raises(InputError, match=r"m: the disk is full"):
        save_arrays(small_disk / "m", {"a": np.random.default_rng(0).normal(size=2**20)})
    assert load_arrays(small_disk / "m")["a"].tolist() == list(range(10))
    assert os.listdir(small_disk) == ["m"]
