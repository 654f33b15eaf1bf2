"""Labels, whatever they come in: the same labels are the same classes, or are refused by name."""

import datetime
import decimal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import distkern
from distkern import NewtonClassifier
from distkern.core.errors import InputError
from distkern.core.names import kind_of, plain_labels
from distkern.data.ingest import shard
from distkern.runs.scoring import predict_to

DAYS = [datetime.date(2024, 1, 31), datetime.date(2024, 2, 29)]
LABELS = {
    "booleans": np.array([False, True]),
    "ids of 64 bits": np.array([2**53, 2**53 + 1]),
    "floats": np.array([1.0, 2.0]),
    "texts": np.array(["1", "01"]),
    "dates": np.array(DAYS, dtype="M8[us]"),
}
CODES = np.array([0, 1, 1] * 4)
X = np.random.default_rng(0).normal(size=(12, 2))
FRAME = pd.DataFrame(X, columns=["u", "v"])
MIXED = FRAME.assign(t=["p", "q", "r"] * 4)


def lazy(rows):
    return (
        da.from_array(rows, chunks=6) if isinstance(rows, np.ndarray) else dd.from_pandas(rows, npartitions=2)
    )


def of_arrow(y):
    return pd.Series(pa.array(y), dtype=pd.ArrowDtype(pa.array(y).type))


#: what is given to fit
FITTED = {
    "list": lambda y: (X, list(y)),
    "array": lambda y: (X, y),
    "column": lambda y: (FRAME, pd.Series(y)),
    "objects": lambda y: (X, pd.Series(y).astype(object)),
    "categories": lambda y: (MIXED, pd.Series(y).astype("category")),
    "Arrow": lambda y: (X, pa.array(y)),
    "Arrow in pandas": lambda y: (X, of_arrow(y)),
    "Polars": lambda y: (X, pl.Series(y)),
    "Dask array": lambda y: (lazy(X), lazy(y)),
    "Dask column": lambda y: (lazy(FRAME), lazy(pd.Series(y))),
    "Dask column of Arrow": lambda y: (lazy(FRAME), lazy(of_arrow(y))),
    "mixed Dask frame": lambda y: (lazy(MIXED), lazy(pd.Series(y))),
}


def in_svmlight(path, y):
    path.write_text(
        "".join(f"{label} 1:{a} 2:{b}\n" for label, (a, b) in zip(plain_labels(y), X, strict=True))
    )


#: name of a file, and what writes it
FILES = {
    "a.csv": lambda path, y: FRAME.assign(y=plain_labels(y)).to_csv(path, index=False),
    "a.parquet": lambda path, y: FRAME.assign(y=y).to_parquet(path, index=False),
    "categories.parquet": lambda path, y: FRAME.assign(y=pd.Series(y).astype("category")).to_parquet(
        path, index=False
    ),
    "a.npz": lambda path, y: np.savez(path, X=X, y=y),
    "a.svm": in_svmlight,
}


def check(classes, wanted, *, is_text=False):
    assert kind_of(classes) == ("text" if is_text else kind_of(wanted))
    assert plain_labels(classes) == plain_labels(np.unique(wanted))
    if not is_text and wanted.dtype.kind in "iuf":
        assert classes.dtype.kind == wanted.dtype.kind


@pytest.mark.filterwarnings("ignore:Dask currently has limited support")
@pytest.mark.parametrize("way", FITTED)
def test_fit(way):
    for labels in LABELS.values():
        model = NewtonClassifier(n_landmarks=2, stages=1, random_state=0).fit(*FITTED[way](labels[CODES]))
        check(model.classes_, labels)


@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path):
    for number, labels in enumerate(LABELS.values()):
        FILES[name](tmp_path / name, labels[CODES])
        data = shard(tmp_path / name, tmp_path / f"{number}.zarr", shuffle=False)
        is_text = labels.dtype.kind == "M" and name in ("a.csv", "a.svm")
        check(data.classes, labels, is_text=is_text)
        assert plain_labels(data.train.labels[:]) == plain_labels(labels[CODES])
        data = distkern.open_dataset(tmp_path / f"{number}.zarr")
        check(data.classes, labels, is_text=is_text)


@pytest.mark.parametrize("rows", ["array", "frame", "lazy"])
def test_written_data_sets(rows, tmp_path):
    rows = {"array": X, "frame": MIXED, "lazy": lazy(X)}[rows]
    for number, labels in enumerate(LABELS.values()):
        path = tmp_path / f"{number}.zarr"
        data = distkern.write_dataset(rows, labels[CODES], path, task="classification", shuffle=False)
        check(data.classes, labels)
        assert plain_labels(data.train.labels[:]) == plain_labels(labels[CODES])


@pytest.mark.parametrize("kind", LABELS)
def test_a_stored_model_predicts_labels_as_they_were(kind, tmp_path):
    labels = LABELS[kind]
    data = distkern.write_dataset(X, labels[CODES], tmp_path / "d.zarr", task="classification", shuffle=False)
    weights = {labels[0]: 1.0, labels[1]: 2.0}
    model = NewtonClassifier(n_landmarks=8, random_state=0, class_weight=weights).fit(data.train)
    model.save(tmp_path / "m")
    loaded = distkern.load_model(tmp_path / "m")
    check(loaded.classes_, labels)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict(X).dtype.kind == labels.dtype.kind
    assert loaded.score(data.train) == model.score(X, labels[CODES])
    assert [*loaded.class_weight] == plain_labels(labels)
    predict_to(loaded.model_, data.train, tmp_path / "p.csv")
    written = [line.partition(",")[2] for line in (tmp_path / "p.csv").read_text().splitlines()[1:]]
    shown = {"floats": ["1", "2"], "dates": ["2024-01-31", "2024-02-29"]}.get(
        kind, [str(one) for one in labels]
    )
    assert written == [shown[labels.tolist().index(one)] for one in model.predict(X).tolist()]
    predict_to(loaded.model_, data.train, tmp_path / "p.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), model.predict(X))
    predict_to(loaded.model_, data.train, tmp_path / "p.zarr")


ODD = {
    "nullable booleans": (pd.Series([False, True], dtype="boolean"), [False, True]),
    "nullable integers": (pd.Series([3, 2**60], dtype="Int64"), [3, 2**60]),
    "decimals": ([decimal.Decimal("1.00"), decimal.Decimal(2**60)], [1, 2**60]),
    "decimals of Arrow": (pa.array([decimal.Decimal("1.00"), decimal.Decimal("2.00")]), [1, 2]),
    "days": (pd.Series(DAYS), ["2024-01-31", "2024-02-29"]),
    "zoned": (pd.Series(pd.to_datetime(DAYS).tz_localize("UTC") + pd.Timedelta("1h")), None),
    "bytes": (np.array([b"a", b"b"]), ["a", "b"]),
    "bytes of Arrow": (pa.array([b"a", "ä".encode()]), ["a", "ä"]),
    "unsigned": (np.array([2**64 - 2, 2**64 - 1]), [2**64 - 2, 2**64 - 1]),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_labels(kind, tmp_path):
    labels, wanted = ODD[kind]
    wanted = wanted or ["2024-01-31T01:00:00", "2024-02-29T01:00:00"]
    y = labels.take(CODES) if hasattr(labels, "take") else np.array(labels, dtype=object)[CODES]
    model = NewtonClassifier(n_landmarks=2, stages=1).fit(X, y)
    assert plain_labels(model.classes_) == wanted
    written = distkern.write_dataset(X, y, tmp_path / "d.zarr")
    assert plain_labels(written.classes) == wanted
    # pandas 3.1 warns where Arrow asks a series for its time zone
    column = pa.array(y.to_list() if kind == "zoned" else y)
    parquet.write_table(pa.table({"u": X[:, 0], "y": column}), tmp_path / "a.parquet")
    stored = shard(tmp_path / "a.parquet", tmp_path / "e.zarr")
    assert plain_labels(stored.classes) == wanted
    assert {kind_of(found) for found in (model.classes_, written.classes, stored.classes)} == {
        kind_of(stored.classes)
    }


REFUSED = {
    "fractions": ([0.5, 1.5], "(?i)label"),
    "durations": (np.array([1, 2], dtype="m8[s]"), "y: the targets are durations"),
    "no text": ([b"a", b"\xff"], r"y, row 2 \(index 1\): the bytes are not UTF-8 text"),
    "several types": (
        np.array([1, "a"], dtype=object),
        r"y, row 1 \(index 0\): the target has type int; the column mixes int, str;",
    ),
    "periods": (
        pd.Series(pd.period_range("2024", periods=2, freq="M")),
        "y, row 1 .*: the target has type Period",
    ),
    "too many bits": (np.array([1, 2**64], dtype=object), r"y, row 2 .*beyond integers of 64 bits"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind, tmp_path):
    labels, message = REFUSED[kind]
    y = labels.take(CODES) if hasattr(labels, "take") else np.array(labels, dtype=object)[CODES]
    with pytest.raises(ValueError, match=message):
        NewtonClassifier(n_landmarks=2).fit(X, y)
    with pytest.raises(InputError, match=message):
        distkern.write_dataset(X, y, tmp_path / "d.zarr", task="classification")
