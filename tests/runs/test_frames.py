"""Frames of every library: fitted, predicted and scored as the same rows elsewhere."""

from decimal import Decimal

import dask
import dask.array as da
import dask.dataframe
import dask.dataframe as dd
import numpy as np
import pandas
import pandas as pd
import polars
import pyarrow
import pytest
from dask.callbacks import Callback
from dask_ml.model_selection import GridSearchCV, train_test_split
from sklearn.metrics import r2_score

import distkern as dk
from distkern import NewtonClassifier, NewtonRegressor, RandomFeatures, write_dataset
from distkern.core.errors import InputError
from distkern.data.file_rows import FileRows
from distkern.data.frames import encode_frame
from distkern.data.ingest import shard
from distkern.data.scaling import Like
from distkern.runs.algorithms import algorithms, load_model
from mixed_tables import adult
from small import slow_but, small


def model():
    return NewtonClassifier(features="linear", random_state=0)


def assert_alike(table, scaling, other, of_other):
    """The same to the bit: sums do not depend on the order of rows."""
    assert table.columns == other.columns
    assert scaling == of_other


def parts(n_rows, seed=0):
    frame = adult(n_rows, seed)
    return frame.drop(columns="income"), frame["income"]


def test_a_frame_is_what_shard_makes_of_the_file(tmp_path):
    X, y = parts(900)
    new, labels = parts(500, 1)
    fitted = model().fit(X, y)
    X.assign(income=y).to_csv(tmp_path / "a.csv", index=False)
    data = shard(tmp_path / "a.csv", tmp_path / "d.zarr")
    assert fitted.table_.features == tuple(name.replace("income", "target") for name in data.table.features)
    assert_alike(fitted.table_, fitted.scaling_, data.table, data.scaling)
    assert fitted.feature_names_in_.tolist() == X.columns.tolist()
    assert (fitted.n_features_in_, fitted.width_) == (14, data.n_features)
    assert fitted.score(new, labels) > 0.74
    # whichever frame the values come in, and in whichever order its columns
    expected = fitted.decision_function(new)
    typed = new.assign(
        joined=pandas.to_datetime(new["joined"]),
        state=new["state"].astype("category"),
        age=pandas.to_numeric(new["age"]),
        citizen=new["citizen"].astype("boolean"),
    )
    with_target = typed[typed.columns[::-1]].assign(other=1.0)
    np.testing.assert_array_equal(fitted.decision_function(typed), expected)
    np.testing.assert_array_equal(fitted.decision_function(with_target[X.columns[::-1]]), expected)
    np.testing.assert_array_equal(fitted.decision_function(polars.from_pandas(typed)), expected)
    lazy = fitted.decision_function(dask.dataframe.from_pandas(typed, npartitions=3))
    # products of other numbers of rows at a time
    np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-5, atol=1e-5)
    with pytest.raises(InputError, match="column 'other' is unknown"):
        fitted.predict(with_target)
    with pytest.raises(InputError, match=r"row 1 \(index 0\), column 'age': 'old' is not a number"):
        fitted.predict(new.assign(age="old"))
    fitted.save(tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").decision_function(new), expected)


@pytest.mark.parametrize("targets", ["series", "array"])
def test_dask_frames_are_fitted_out_of_core(tmp_path, targets):
    X, y = parts(900)
    new, labels = parts(500, 1)
    given = dask.dataframe.from_pandas(X.assign(income=y), npartitions=4)
    labels_of = given["income"] if targets == "series" else y.to_numpy()
    fitted = model().fit(given.drop(columns="income"), labels_of)
    whole = model().fit(X, y)
    assert fitted.table_ is not None
    assert whole.table_ is not None
    assert_alike(fitted.table_, fitted.scaling_, whole.table_, whole.scaling_)
    assert fitted.score(new, labels) > 0.74
    with pytest.raises(InputError, match="sample_weight"):
        model().fit(given.drop(columns="income"), given["income"], given["age"])


def test_numbers_with_holes_and_mixed_values():
    X, _ = parts(300)
    y = np.arange(300) % 7 + np.arange(300) / 300
    odd = pandas.DataFrame({"hole": X["hours"].astype(float), "mixed": [1, "a", 2.0] * 100, "one": "same"})
    with pytest.warns(UserWarning, match=r"'mixed' holds numbers and words \('a'\), and becomes categories"):
        NewtonRegressor(n_landmarks=20, gamma=1.0, random_state=0).fit(odd, y)
    once = odd.assign(mixed=[1, "a", *[2.0] * 298])
    with pytest.raises(InputError, match=r"row 2 .*'a' is not a number.* X\['mixed'\]\.astype\('category'\)"):
        NewtonRegressor(random_state=0).fit(once, y)
    odd["mixed"] = odd["mixed"].astype("category")
    fitted = NewtonRegressor(n_landmarks=20, gamma=1.0, random_state=0).fit(odd, y)
    assert fitted.table_.features == ("hole", "mixed=1", "mixed=2", "mixed=a", "one=same")
    assert np.isfinite(fitted.predict(odd)).all()
    weighted = NewtonRegressor(n_landmarks=20, gamma=1.0, random_state=0)
    weighted.fit(odd, y, sample_weight=np.arange(300) % 2)
    assert weighted.score(odd[1::2], y[1::2]) > -1
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model().fit(odd, y[:-1])
    with pytest.raises(InputError, match="y is missing"):
        model().fit(odd)


@pytest.mark.parametrize(("stored", "scale"), [("minmax", "auto"), ("none", "auto"), ("none", "standard")])
def test_encoded_rows_of_a_data_set_are_taken(tmp_path, stored, scale):
    adult(400).to_csv(tmp_path / "a.csv", index=False)
    data = shard(tmp_path / "a.csv", tmp_path / "d.zarr", test_fraction=0.3, scale=stored)
    kind = NewtonClassifier(n_landmarks=20, gamma=0.1, stages=1, scale=scale, random_state=0)
    fitted = kind.fit(data.train, eval_set=(data.test[:], data.test.labels))
    assert (fitted.scaling_.kind == "standard") == (stored == "none")
    assert fitted.history_[-1]["test_error"] == pytest.approx(1 - fitted.score(data.test))
    fitted.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    expected = np.asarray(loaded.decision_function(data.test))
    np.testing.assert_array_equal(loaded.decision_function(data.test[:]), expected)
    np.testing.assert_array_equal(loaded.decision_function(data.test.to_dask()[0]).compute(), expected)
    assert loaded.score(data.test[:], data.test.labels) == loaded.score(data.test)
    message = rf"X has 13 columns, but .* 14 columns as in the table, or {loaded.width_} encoded features"
    with pytest.raises(InputError, match=message):
        loaded.predict(np.zeros((2, 13)))


@pytest.mark.filterwarnings("ignore:rows without a value")
def test_integers_that_turned_to_floats_are_the_same_categories(tmp_path):
    whole = pandas.DataFrame({"c": pandas.Series([1, 2, 10, 2]).astype("category"), "x": [1.0, 2, 3, 4]})
    holed = whole.assign(c=pandas.Series([1, 2, 10, None]).astype("category"))
    assert holed["c"].dtype.categories.dtype.kind == "f"
    expected = np.eye(3)[[0, 2, 1, 2]]
    for number, frame in enumerate((whole, holed)):
        data = write_dataset(frame, [0, 1, 0, 1], tmp_path / f"{number}.zarr", scale="none", shuffle=False)
        assert data.table.columns[0].levels == ("1", "10", "2")
        for later, n_known in ((whole, 4), (holed, 3)):
            found = encode_frame(data.table, data.scaling, later)[:, :3]
            np.testing.assert_array_equal(found[:n_known], expected[:n_known])
            like = Like(data.n_features, data.table.names, "y", data.scaling, data.table)
            later.to_csv(tmp_path / "a.csv", index=False)
            later.to_parquet(tmp_path / "a.parquet", index=False)
            for name in ("a.csv", "a.parquet"):
                (block,) = FileRows([tmp_path / name], like)
                np.testing.assert_array_equal(np.asarray(block.features)[:n_known, :3], expected[:n_known])


def test_texts_are_the_categories_that_they_say(tmp_path):
    texts = pandas.DataFrame({"c": pandas.Series(["1", "1.0", "2.0", "2.0"]).astype("category")})
    data = write_dataset(texts, [0, 1, 0, 1], tmp_path / "d.zarr", scale="none", shuffle=False)
    assert data.feature_names == ("c=1", "c=1.0", "c=2.0")
    assert data.table is not None
    found = encode_frame(data.table, data.scaling, texts)
    np.testing.assert_array_equal(found, np.eye(3)[[0, 1, 2, 2]])


def test_random_features_of_a_data_set_take_its_frames(tmp_path):
    X, y = parts(200)
    X.assign(income=y).to_csv(tmp_path / "a.csv", index=False)
    data = shard(tmp_path / "a.csv", tmp_path / "d.zarr", test=tmp_path / "a.csv")
    made = RandomFeatures(n_features=8, gamma=1.0).fit(data.train)
    assert data.test is not None
    np.testing.assert_allclose(made.transform(X), made.transform(data.test).compute(), atol=1e-6)


@pytest.mark.filterwarnings("ignore:column 'id' is left out")
def test_a_model_of_a_frame_with_an_id_is_saved_and_predicts_with_and_without_it(tmp_path):
    frame = pandas.DataFrame({"id": [f"row {number}" for number in range(80)], "x": np.arange(80.0)})
    fitted = model().fit(frame, np.arange(80) % 2)
    assert (fitted.feature_names_in_.tolist(), fitted.n_features_in_) == (["x"], 1)
    fitted.save(tmp_path / "m")
    expected = fitted.decision_function(frame)
    for rows in (frame, frame[["x"]], frame[["x", "id"]], frame.to_dict("records")):
        np.testing.assert_array_equal(load_model(tmp_path / "m").decision_function(rows), expected)


def test_a_frame_says_in_its_own_words_what_to_do():
    frame = pandas.DataFrame({"x": np.arange(80.0), "lists": [[number] for number in range(80)]})
    with pytest.raises(
        InputError, match=r"column 'lists': the column holds list.*X\.drop\(columns='lists'\)"
    ):
        model().fit(frame, np.arange(80) % 2)
    with pytest.warns(
        UserWarning, match=r"column 'id' is left out: most of its values occur once \(text=\['id'\] uses"
    ):
        model().fit(frame[["x"]].assign(id=[f"row {number}" for number in range(80)]), np.arange(80) % 2)
    # of several columns of dates, booleans and numbers as pandas types them
    typed = pandas.DataFrame(
        {
            "zone": pandas.date_range("2020-01-01", periods=80, freq="7h", tz="Europe/Berlin"),
            "number": pandas.array([None, *range(79)], dtype="Int64"),
            "flag": pandas.array([True, None] * 40, dtype="boolean"),
            "price": [Decimal(number) / 4 for number in range(80)],
        }
    )
    fitted = model().fit(typed, np.arange(80) % 2)
    assert [column.kind for column in fitted.table_.columns] == ["date", "number", "boolean", "number"]
    # 1 January 2020, 00:00 in Berlin
    assert fitted.table_.columns[0].encoding == "date"
    assert fitted.scaling_.shift[0] == 18261 + 23 / 24


@pytest.mark.parametrize(
    "name", slow_but(algorithms(), "cells", "csvrg", "dsg_novelty", "newton_regressor", "simba")
)
def test_every_estimator_takes_frames(tmp_path, name):
    kind = algorithms()[name]
    X, labels = parts(120)
    y = np.arange(120) / 7 if kind.task == "regression" else labels
    data = write_dataset(X, y, tmp_path / "d.zarr", columns=True)
    fitted = kind(**small(kind)).fit(data)
    fitted.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert (loaded.n_features_in_, loaded.width_) == (14, data.n_features)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    if kind.task == "none":
        # without labels, indicators stand for many categories
        again = kind(**small(kind)).fit(X)
        assert sum(name.startswith("state=") for name in again.table_.features) == 43
        assert len(again.predict(X)) == 120
        return
    again = kind(**small(kind)).fit(X, y)
    assert again.width_ == data.n_features
    assert len(again.predict(X)) == 120


@pytest.mark.parametrize("dtype", [complex, object])
def test_complex_columns_are_refused_as_complex_arrays_are(dtype):
    frame = pandas.DataFrame({"z": pandas.Series(np.arange(8) * 1j, dtype=dtype), "c": list("uvuvuvuv")})
    with pytest.raises(InputError, match="column 'z': features cannot be complex numbers"):
        NewtonClassifier(n_landmarks=4).fit(frame, [0, 1] * 4)


def test_bytes_and_wide_integers_are_read():
    n = 24
    bytes_of, wide = [b"u", b"v"] * (n // 2), list(range(n))
    plain = pandas.DataFrame({"b": [one.decode() for one in bytes_of], "n": wide})
    expected = NewtonClassifier(n_landmarks=8, random_state=0).fit(plain, [0, 1] * (n // 2))
    frames = [
        pandas.DataFrame({"b": bytes_of, "n": wide}),
        pyarrow.table({"b": pyarrow.array(bytes_of, pyarrow.large_binary()), "n": wide}),
        polars.DataFrame({"b": bytes_of, "n": polars.Series(wide, dtype=polars.Int128)}),
    ]
    for frame in frames:
        fitted = NewtonClassifier(n_landmarks=8, random_state=0).fit(frame, [0, 1] * (n // 2))
        assert fitted.table_.features == ("b=u", "b=v", "n")
        np.testing.assert_array_equal(fitted.decision_function(frame), expected.decision_function(plain))
    fitted = NewtonClassifier(n_landmarks=8).fit(plain, polars.Series([3, 5] * (n // 2), dtype=polars.Int128))
    assert fitted.classes_.tolist() == [3, 5]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    margin = frame["a"] + rng.normal(size=300)
    return frame.assign(
        label=np.where(margin > 0, "yes", "no"), code=(margin > 0) * 1, weight=rng.random(300)
    )


@pytest.mark.parametrize("label", ["label", pytest.param("code", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:Dask currently has limited support")
def test_accuracy(frame, label):
    lazy = dd.from_pandas(frame, npartitions=3)
    X, y = frame[["a", "b"]], frame[label]
    model = dk.CSVRGClassifier(n_landmarks=10, stages=1, random_state=0).fit(X, y)
    plain = model.score(X, y)
    assert 0.6 < plain < 0.95
    for rows, labels in ((lazy[["a", "b"]], lazy[label]), (lazy[["a", "b"]], y), (X, lazy[label])):
        assert model.score(rows, labels) == pytest.approx(plain, abs=1e-12)
    weighted = model.score(X, y, frame["weight"])
    assert weighted != pytest.approx(plain, abs=1e-6)
    assert model.score(lazy[["a", "b"]], lazy[label], lazy["weight"]) == pytest.approx(weighted, abs=1e-12)
    with pytest.raises(InputError, match="X has 300 rows and y, sample_weight or groups has 100"):
        model.score(lazy[["a", "b"]], y[:100])


class Held(Callback):
    """The most bytes of results that Dask's scheduler held at a time."""

    most = 0

    def _posttask(self, key, result, dsk, state, worker_id):
        held = sum(value.nbytes for value in state["cache"].values() if hasattr(value, "nbytes"))
        self.most = max(self.most, held)


def features_of(numbers):
    return np.stack([np.sin(numbers), np.cos(3 * numbers)], axis=1)


def test_r2_of_lazy_rows_gathers_none():
    numbers = np.arange(4000.0)
    X, y = features_of(numbers), 100 + np.sin(numbers) + np.sin(numbers**2) / 2
    weights = 1 + np.sin(numbers / 900)
    model = dk.SVRGRegressor(n_features=16, stages=1, random_state=0).fit(X[:400], y[:400])
    predicted = model.predict(X)
    plain, weighted = r2_score(y, predicted), r2_score(y, predicted, sample_weight=weights)
    assert weighted != pytest.approx(plain, rel=1e-4)
    with dask.config.set(scheduler="synchronous"), Held() as held:
        lazy = da.arange(4000.0, chunks=100)
        rows = lazy.map_blocks(features_of, new_axis=1, chunks=((100,) * 40, (2,)), dtype=float)
        targets = 100 + da.sin(lazy) + da.sin(lazy**2) / 2
        assert model.score(rows, targets) == pytest.approx(plain, rel=1e-9)
        assert model.score(rows, targets, 1 + da.sin(lazy / 900)) == pytest.approx(weighted, rel=1e-9)
        assert held.most < y.nbytes / 2
        assert model.score(rows, da.full(4000, 7.0, chunks=100)) == 0.0


def test_splits_and_searches_of_dask_ml_take_dask_arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)).astype(np.float32)
    y = np.where(np.abs(X[:, 0]) > 0.7, "far", "near")
    lazy = da.from_array(X, chunks=(150, 3)), da.from_array(y, chunks=150)
    with dask.config.set(scheduler="synchronous"):
        X_train, X_test, y_train, y_test = train_test_split(
            *lazy, test_size=0.25, random_state=0, shuffle=True
        )
        model = dk.SVRGClassifier(n_features=64, stages=2, random_state=0)
        search = GridSearchCV(model, {"gamma": [1e-6, 1.0]}, cv=2, scheduler="synchronous")
        search.fit(X_train, y_train)
        assert search.best_params_ == {"gamma": 1.0}
        out_of_core = model.set_params(gamma=1.0).fit(X_train, y_train)
        for found in (search, out_of_core):
            assert isinstance(found.predict(X_test), da.Array)
            assert found.score(X_test, y_test) > 0.85


def test_values_that_are_new_missing_are_reported_with_what_fills_them():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "age": np.where(np.arange(60) % 5, 40.0, np.nan),
            "x": rng.normal(size=60).round(1),
            "city": np.resize(["Rome", "Oslo"], 60),
            "day": pandas.date_range("2024-01-01", periods=60),
        }
    )
    model = dk.NewtonClassifier(features="linear", random_state=0).fit(frame, np.arange(60) % 2)
    full = {"age": 40.0, "x": 0.5, "city": "Rome", "day": pandas.Timestamp("2024-01-30")}
    mean = f"{frame['x'].mean():.4g}"
    told = (
        rf"^rows without a value in columns that have one in every training row: x \(1, filled with {mean}\)$"
    )
    for rows in ([full, {**full, "x": None}], [full, {name: full[name] for name in ("age", "city", "day")}]):
        with pytest.warns(UserWarning, match=told):
            model.predict(rows)
    with pytest.warns(
        UserWarning, match=r"city \(1, treated as unknown\), day \(1, filled with 2024-01-30\)"
    ):
        model.predict([{**full, "city": None, "day": np.nan}])
    # training rows lack ages too
    model.predict([full, {**full, "age": None}])
