"""Columns are matched by name on every way into a model: put in order, or refused by name."""

import warnings
from dataclasses import replace

import numpy as np
import pandas
import pytest
from dask import array as da
from scipy import sparse

from distkern import CSVRGClassifier, RandomFeatures
from distkern.core.errors import InputError
from distkern.data.dataset import open_dataset
from distkern.data.ingest import shard, write_dataset
from distkern.runs.algorithms import load_model

NAMES = ["age", "size", "price"]
OTHER_ORDER = ["price", "age", "size"]


def rows(seed=0):
    """Columns on scales of their own, of which the label needs two."""
    random = np.random.default_rng(seed)
    X = random.random((400, 3)) * [1, 10, 100]
    return pandas.DataFrame(X, columns=NAMES), np.where(X[:, 0] > X[:, 1] / 10, "yes", "no")


def file(path, order, seed=0, kind="csv"):
    X, y = rows(seed)
    table = X[order].assign(label=y)[["label", *order]]
    target = path / f"{'-'.join(order)}.{kind}"
    table.to_csv(target, index=False) if kind == "csv" else table.to_parquet(target)
    return target


def dask_frame(frame):
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)


def estimator():
    return CSVRGClassifier(n_landmarks=40, gamma=2.0, lam=64.0, stages=2, random_state=0)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    return shard(file(folder, NAMES), folder / "d.zarr", target="label")


@pytest.fixture(scope="module")
def model(data):
    return estimator().fit(data.train)


def test_names_of_a_data_set_are_stored_with_the_model(data, model, tmp_path):
    assert (data.feature_names, data.target_name) == (tuple(NAMES), "label")
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    for found in (model, again):
        assert found.feature_names_in_.tolist() == NAMES
        assert found.target_name_ == "label"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("scale", ["none", "minmax"])
def test_a_data_set_in_another_order_is_put_in_order(data, model, tmp_path, kind, scale):
    other = shard(
        file(tmp_path, OTHER_ORDER, kind=kind),
        tmp_path / "o.zarr",
        target="label",
        scale=scale,
        shuffle=False,
    )
    X, y = rows()
    assert other.feature_names == tuple(OTHER_ORDER)
    assert model.score(other.train) == model.score(data.train) > 0.9
    expected = model.predict(X)
    assert np.mean(expected == y) > 0.9
    np.testing.assert_array_equal(np.asarray(model.predict(other.train)), expected)


def test_other_columns_of_a_data_set_are_refused_by_name(model, tmp_path):
    X, y = rows()
    X.rename(columns={"size": "sise"}).assign(label=y).to_csv(tmp_path / "a.csv", index=False)
    other = shard(tmp_path / "a.csv", tmp_path / "o.zarr", scale="none")
    with pytest.raises(InputError, match="'size' is missing and column 'sise' is unknown; rename 'sise' to"):
        model.score(other.train)


@pytest.mark.parametrize("kind", ["pandas", "polars", "dask"])
def test_frames_in_another_order_are_put_in_order(model, kind):
    X, _ = rows(1)
    expected = model.predict(X)
    make = {
        "pandas": lambda frame: frame,
        "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
        "dask": dask_frame,
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(np.asarray(model.predict(make(X[OTHER_ORDER]))), expected)
        np.testing.assert_array_equal(
            np.asarray(model.decision_function(make(X[OTHER_ORDER]))),
            np.asarray(model.decision_function(make(X))),
        )
    for wrong, words in (
        (X.rename(columns={"size": "width"}), "unseen at fit time:\n- width"),
        (X[["age", "size"]], "yet now missing:\n- price"),
    ):
        with pytest.raises(ValueError, match=words):
            model.predict(make(wrong))


def test_a_model_of_dask_frames_checks_dask_frames():
    X, y = rows()
    lazy, labels = dask_frame(X / [1, 10, 100]), da.from_array(y, chunks=200)
    fitted = estimator().fit(lazy, labels)
    assert fitted.score(lazy[OTHER_ORDER], labels) == fitted.score(lazy, labels) > 0.9
    with pytest.raises(ValueError, match="unseen at fit time:\n- width"):
        fitted.predict(lazy.rename(columns={"size": "width"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(lazy.to_dask_array(lengths=True))


def test_an_estimator_fitted_to_a_frame_refuses_another_order_as_scikit_learn_does(tmp_path):
    X, y = rows()
    fitted = estimator().fit(X, y)
    with pytest.raises(InputError, match=r"must be in the same order .*; give X\[model.feature_names_in_\]"):
        fitted.predict(X[OTHER_ORDER])
    expected = fitted.predict(X)
    lazy = dask_frame(X[OTHER_ORDER])
    np.testing.assert_array_equal(fitted.predict(lazy).compute(), expected)
    # once it is a model on disk, nobody holds it to that any more
    fitted.save(tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(X[OTHER_ORDER]), expected)


def test_fitting_again_forgets_the_names(data):
    X, y = rows()
    fitted = estimator().fit(data.train).fit(X.to_numpy(), y)
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.target_name_ is None


def test_random_features_match_columns_by_name(data, tmp_path):
    X, _ = rows()
    transformer = RandomFeatures(n_features=16, random_state=0).fit(data.train)
    expected = transformer.transform(X)
    np.testing.assert_array_equal(transformer.transform(X[OTHER_ORDER]), expected)
    lazy = dask_frame(X[OTHER_ORDER])
    np.testing.assert_array_equal(transformer.transform(lazy).compute(), expected)


def test_files_of_one_data_set_are_put_into_one_order(tmp_path):
    first, second = file(tmp_path, NAMES), file(tmp_path, OTHER_ORDER, seed=1, kind="parquet")
    made = shard(
        [first, second],
        tmp_path / "d.zarr",
        test=second,
        target="label",
        scale="none",
        shuffle=False,
        sparse=False,
    )
    stored = np.concatenate([np.asarray(made.train.reader(i)().features) for i in range(made.train.n_blocks)])
    expected = np.concatenate([rows(0)[0], rows(1)[0]]).astype(np.float32)
    np.testing.assert_array_equal(stored, expected)
    np.testing.assert_array_equal(made.test.reader(0)().features, expected[400:])


def test_sparse_rows_are_put_in_order(tmp_path):
    random = np.random.default_rng(0)
    X = sparse.random_array((300, 40), density=0.05, rng=random, format="csr", dtype=np.float32)
    y = np.arange(300) % 2
    given = write_dataset([(X, y)], tmp_path / "a.zarr", scale="none", shuffle=False, sparse=True)
    model = estimator().fit(given.train)
    names = np.array([f"c{i}" for i in range(40)], dtype=object)
    columns = replace(model.model_.columns, feature_names_in=names)
    model._model = replace(model.model_, columns=columns)
    order = random.permutation(40)
    moved = write_dataset([(X[:, order], y)], tmp_path / "b.zarr", scale="none", shuffle=False, sparse=True)
    moved.feature_names = tuple(f"c{i}" for i in order)
    np.testing.assert_array_equal(
        np.asarray(model.decision_function(moved.train)), np.asarray(model.decision_function(given.train))
    )


def test_columns_without_a_header_have_no_names(tmp_path):
    (tmp_path / "a.csv").write_text("a,1,2\nb,3,4\n" * 20)
    made = shard(tmp_path / "a.csv", tmp_path / "d.zarr", target="0", header=False)
    assert open_dataset(made.path).feature_names is None
    assert made.target_name is None
