"""Rows that are handed out and taken are in their own units, however a data set has stored them."""

import dask.array
import numpy as np
import pandas
import pytest
from scipy.sparse import csr_matrix, issparse

from distkern import DSGClassifier, NewtonClassifier, NewtonRegressor, RandomFeatures, write_dataset
from distkern.core.errors import InputError
from distkern.data.ingest import shard
from distkern.data.scaling import KINDS, Scaling, ScalingFit
from runs import evaluate

STORED = ("none", "minmax", "standard", "unit", "ball")
#: of columns, one of which is far from 0
UNITS, OFFSETS = np.array([100.0, 1e-2, 1.0, 10.0]), np.array([1e5, 0.0, -1.0, 30.0])


def rows(n_rows=500):
    X = np.random.default_rng(0).normal(size=(n_rows, 4))
    return X * UNITS + OFFSETS, (X @ [1.0, -1.0, 0.5, 0.7] > 0).astype(int)


def model(**given):
    return NewtonClassifier(**{"features": "linear", "nu": 1e-5, "random_state": 0, **given})


def made(path, scale, is_sparse=False, **options):
    """A data set of rows in random order, and its test rows as they were given."""
    X, y = rows()
    if scale in ("unit", "ball"):
        # the norm of a row is that of all columns
        X = (X - OFFSETS) / UNITS
    if is_sparse:
        X *= np.abs(X) > 0.3
        y = (X @ [1.0, -1.0, 0.5, 0.7] > 0).astype(int)
    given = csr_matrix(X) if is_sparse else X
    data = write_dataset(
        given, y, path, scale=scale, sparse=is_sparse, test_fraction=0.3, rows_per_shard=64, **options
    )
    return data, given[of_source(data.test)]


def of_source(split):
    return np.concatenate([split.reader(block).source_rows() for block in range(split.n_blocks)])


def dense(found):
    return found.toarray() if issparse(found) else np.asarray(found)


@pytest.mark.parametrize(
    ("scale", "is_sparse"),
    [
        *((scale, False) for scale in ("none", "standard", "unit")),
        ("ball", True),
        # numbers that are shifted and divided as by "standard", and the other form of the rows
        *(
            pytest.param(*both, marks=pytest.mark.slow)
            for both in [
                *((scale, False) for scale in STORED if scale not in ("none", "standard", "unit")),
                ("unit", True),
            ]
        ),
    ],
)
def test_whatever_hands_out_rows_and_whatever_takes_them(scale, is_sparse, tmp_path):
    data, given = made(tmp_path / "d.zarr", scale, is_sparse)
    test, labels = data.test, data.test.labels
    lazy = test.to_dask()[0]
    assert test[:].dtype == lazy.dtype == (np.float32 if scale in ("none", "unit") else np.float64)
    np.testing.assert_array_equal(dense(lazy.compute()), dense(test[:]))
    np.testing.assert_array_equal(np.asarray(test), dense(test[:]))
    np.testing.assert_array_equal(data.head()[[*range(4)]], dense(data.train[:5]))
    if scale != "unit":
        np.testing.assert_allclose(dense(test[:]), dense(given), rtol=2e-6, atol=1e-6)

    of_split = model().fit(data.train)
    of_array = model().fit(data.train[:], data.train.labels)
    for fitted in (of_split, of_array):
        assert fitted.score(test[:], labels) > 0.93
        for ask in (fitted.decision_function, fitted.predict_proba):
            found = np.asarray(ask(test[:]))
            np.testing.assert_allclose(np.asarray(ask(lazy)), found, atol=1e-6)
            if scale != "unit" or fitted is of_split:
                np.testing.assert_allclose(np.asarray(ask(test)), found, rtol=1e-4, atol=1e-4)
                np.testing.assert_allclose(ask(given), found, rtol=1e-3, atol=1e-3)
    if scale == "unit":
        with pytest.raises(InputError, match=r"scaled with unit.* give rows as in fit: split\[:\]"):
            of_array.predict(test)
        return
    assert evaluate(of_array, test)["error"] == pytest.approx(1 - of_array.score(test[:], labels))
    assert evaluate(of_split, test)["error"] == pytest.approx(1 - of_split.score(test[:], labels))


def test_rows_that_are_handed_out_are_taken_as_those_of_the_split_to_the_bit(tmp_path):
    for scale in ("none", "minmax", "standard", "ball"):
        data, _ = made(tmp_path / f"{scale}.zarr", scale)
        fitted = model().fit(data.train)
        np.testing.assert_array_equal(
            fitted.decision_function(data.test[:]), fitted.decision_function(data.test)
        )


def test_rows_that_were_stored_scaled_in_another_way_are_scaled_as_those_of_the_fit(tmp_path):
    data, _ = made(tmp_path / "minmax.zarr", "minmax")
    expected = model().fit(data.train).decision_function(data.test)
    fitted = model().fit(data.train)
    for scale in ("standard", "none"):
        other, _ = made(tmp_path / f"{scale}.zarr", scale)
        np.testing.assert_allclose(fitted.decision_function(other.test), expected, rtol=1e-3, atol=1e-3)
    norms, _ = made(tmp_path / "unit.zarr", "unit")
    with pytest.raises(InputError, match=r"scaled with unit, the training rows with minmax.* scale='none'"):
        fitted.predict(norms.test)
    with pytest.raises(InputError, match="scaled with minmax, the training rows with unit"):
        model().fit(norms.train).predict(data.test)


def test_batches_and_transformers_take_rows_in_their_own_units(tmp_path):
    data, given = made(tmp_path / "d.zarr", "minmax")
    features = RandomFeatures(n_features=16, gamma="scale", random_state=0).fit(data.train)
    np.testing.assert_allclose(features.transform(data.test[:]), features.transform(given), atol=1e-5)
    steps = DSGClassifier(n_features=128, block_size=64, stages=2, random_state=0).fit(data.train)
    before = steps.score(data.test)
    steps.partial_fit(data.train[:], data.train.labels)
    assert steps.score(data.test) > before - 0.05
    watched = model().fit(data.train, eval_set=(data.test[:], data.test.labels))
    assert watched.history_[-1]["test_error"] == pytest.approx(1 - watched.score(data.test))


@pytest.mark.parametrize("scale", STORED)
def test_a_table_of_numbers_with_holes(scale, tmp_path):
    X, y = rows()
    X[::7, 1] = np.nan
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_csv(tmp_path / "a.csv", index=False)
    data = shard(tmp_path / "a.csv", tmp_path / "d.zarr", target="y", test_fraction=0.3, scale=scale)
    assert data.table.n_features == len(data.table.columns) == 4
    fitted = model().fit(data.train)
    expected = np.asarray(fitted.decision_function(data.test))
    features, _ = data.test.to_dask()
    np.testing.assert_allclose(fitted.decision_function(data.test[:]), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.asarray(fitted.decision_function(features)), expected, rtol=1e-4, atol=1e-4)
    numbers = frame[list("abcd")].iloc[of_source(data.test)]
    for given in (numbers, numbers.to_numpy(), dask.array.from_array(numbers.to_numpy(), (60, 4))):
        found = np.asarray(fitted.decision_function(given))
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_an_array_that_may_be_of_columns_or_of_features_is_refused(tmp_path):
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 60, 800)
    names = [f"{code}.5" for code in codes]
    frame = pandas.DataFrame({"number": generator.normal(size=800), "code": pandas.Categorical(names)})
    target = codes / 60 + frame["number"]
    how = {"test_fraction": 0.2, "task": "regression", "categorical": {"code": "target"}}
    data = write_dataset(frame, target, tmp_path / "d.zarr", **how)
    assert data.table.n_features == 2
    fitted = NewtonRegressor(features="linear", random_state=0).fit(data.train)
    expected = np.asarray(fitted.predict(data.test))
    own = frame.iloc[of_source(data.test)]
    for given in (own, own.to_numpy()):
        np.testing.assert_allclose(fitted.predict(given), expected, rtol=1e-3, atol=1e-3)
    for given in (data.test[:], data.test[:].tolist(), own.to_numpy(dtype=float)):
        with pytest.raises(InputError, match="may hold the table's columns or encoded rows"):
            fitted.predict(given)
    with pytest.raises(InputError, match="give a frame of the table's columns"):
        fitted.predict(data.test.to_dask()[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stored", KINDS)
def test_one_step_undoes_a_scaling_and_makes_another(kind, stored):
    X, _ = rows(60)
    first, second = ScalingFit(stored), ScalingFit(kind)
    first.update(X)
    second.update(X[:30])
    scaled, wanted = first.result(4).apply(X, np.float64), second.result(4)
    if "unit" in (kind, stored) and stored not in (kind, "none"):
        with pytest.raises(InputError):
            wanted.of_stored(first.result(4))
        return
    found = wanted.of_stored(first.result(4)).apply(scaled, np.float64)
    np.testing.assert_allclose(found, wanted.apply(X, np.float64), rtol=1e-9, atol=1e-9)
    assert wanted.of_stored(wanted) == Scaling()
