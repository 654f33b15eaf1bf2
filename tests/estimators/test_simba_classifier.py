"""SIMBA from end to end: dense and sparse shards, every scheduler, models on disk, the command line."""

import shutil

import dask
import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.data.dataset import open_dataset
from distkern.data.ingest import write_dataset
from distkern.estimators.simba import SIMBAClassifier
from distkern.solvers._simba.measuring import Norms
from problems import topics
from runs import train

KINDS = {
    "linear": {"nu": 0.01, "patience": None, "validation_fraction": 0.0},
    "search": {"max_rounds": 2500},
    "random": {
        "nu": 0.02,
        "patience": 2,
        "features": "random",
        "n_features": 128,
        "gamma": 0.7,
        "max_rounds": 400,
    },
}


def small(kind="linear", **parameters):
    return SIMBAClassifier(
        **{"random_state": 0, "stages": 2, "max_rounds": 800, "rows_per_round": 1} | KINDS[kind] | parameters
    )


@pytest.fixture(scope="module")
def without_columns(tmp_path_factory):
    X, y = topics()
    path = tmp_path_factory.mktemp("rows") / "rows.zarr"
    return write_dataset([(X, y)], path, rows_per_shard=130, sparse=True, scale="none")


def same(first, second):
    np.testing.assert_array_equal(first.coefficients_, second.coefficients_)
    np.testing.assert_array_equal(first.constants_, second.constants_)
    for mine, theirs in zip(first.history_, second.history_, strict=True):
        for name in ("objective", "train_error", "feature_accesses"):
            assert mine[name] == theirs[name]


def test_arrays_matrices_and_shards_of_either_form_give_the_same_bits(stored_topics):
    X, y = topics()
    dense = small().fit(X, y)
    same(small().fit(sparse.csr_matrix(X), y), dense)
    assert dense.score(X, y) > 0.9
    stored = small().fit(stored_topics["dense"].train)
    same(small().fit(stored_topics["sparse"].train), stored)
    counts = stored.history_[-1]
    assert counts["feature_accesses"] == 800 * (1000 + 200)


def test_weights_of_dask_arrays_are_spooled_with_them():
    X, y = topics()
    heavy = np.where(y[:600] > 0, 40.0, 0.1)
    lazy = [da.from_array(X[:600].astype(np.float32), (200, -1)), da.from_array(y[:600], 200)]
    with dask.config.set(scheduler="synchronous"):
        plain, weighted = (
            small().fit(*lazy, sample_weight=weights).predict(X[600:]).mean()
            for weights in (None, da.from_array(heavy, 200))
        )
    assert weighted > plain + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["search", "random"])
def test_dask_arrays_are_spooled(kind, tmp_path, monkeypatch):
    X, y = topics()
    labels = np.where(y == y[0], "one", "other")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    lazy = da.from_array(X, chunks=(300, 100)), da.from_array(labels, chunks=170)
    with dask.config.set(scheduler="synchronous"):
        model = small(kind).fit(*lazy)
    assert list(tmp_path.iterdir()) == []
    assert set(model.predict(X)) == {"one", "other"}
    stored = write_dataset([(X, labels)], tmp_path / "d.zarr", scale="none", shuffle=False, columns=True)
    same(model, small(kind).fit(stored.train))


def test_something_is_held_out_and_something_left():
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = np.arange(20) % 2
    # a tenth of four rows is none: one is taken, so that there is something to stop by
    few = small("search").fit(X[:4], y[:4])
    assert few.history_[-1]["validation_error"] in (0.0, 1.0)
    with pytest.raises(InputError, match="all rows of a class are held out"):
        small("search", validation_fraction=0.99).fit(X[:4], y[:4])
    with pytest.raises(InputError, match="validation_fraction: no row can be held out"):
        HELD_OUT_OF_NONE.check(holds_out=True)
    small().fit(X, y)


HELD_OUT_OF_NONE = Norms(1.0, 0, np.array([1, 1]), np.array([True, True]))


def test_a_class_whose_rows_weigh_nothing_is_not_one_that_is_held_out():
    X, y = topics()
    labels, weights = np.where(np.arange(len(y)) % 3 == 0, 2, y), np.ones(len(y))
    weights[labels == 2] = 0.0
    lazy = [da.from_array(given, len(X)) for given in (X, labels, weights)]
    with dask.config.set(scheduler="synchronous"):
        model = small("search", max_rounds=100).fit(*lazy[:2], sample_weight=lazy[2])
    assert set(model.predict(X).tolist()) <= {0, 1}


def test_scales_that_squares_do_not_bear(recwarn):
    X, y = topics()
    X = X.astype(np.float64)
    plain = small(scale="none").fit(X, y)
    for scale in (2.0**-200, 2.0**200):
        scaled = small(scale="none").fit(X * scale, y)
        np.testing.assert_array_equal(scaled.coefficients_ * scale, plain.coefficients_)
        assert scaled.history_[-1]["norm"] == pytest.approx(plain.history_[-1]["norm"])
    for scale in (1e-200, 1e-160):
        with pytest.raises(InputError, match="too small to be squared"):
            small(scale="none").fit(X * scale, y)
    # columns that are scaled one by one are at no such end
    assert small().fit(X * 1e-160, y).score(X * 1e-160, y) > 0.9
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]


@pytest.mark.parametrize(
    ("kind", "form"),
    [pytest.param(*how, marks=pytest.mark.slow) for how in (("search", "sparse"), ("random", "dense"))],
)
def test_the_same_bits_on_local_workers(kind, form, stored_topics, local_workers, monkeypatch):
    # an exchange that costs nothing is worth it even for few rows
    monkeypatch.setattr("distkern.passes.rounds.EXCHANGE", -1.0)
    data = stored_topics[form]
    expected = train(small(kind, max_rounds=20), data.train, scheduler="synchronous")
    modes = []
    model = small(kind, max_rounds=20).fit_with(
        data.train,
        executor=local_workers,
        listeners=[lambda event: modes.append(event.fields.get("mode", ""))],
    )
    assert "rounds on 2 workers" in modes
    same(model, expected)


@pytest.mark.slow
def test_batches_of_rows_and_columns_need_fewer_rounds():
    X, y = topics()
    one = small(max_rounds=4000).fit(X[:1000], y[:1000])
    many = small(max_rounds=400, rows_per_round=10, columns_per_round=10).fit(X[:1000], y[:1000])
    assert many.score(X[1000:], y[1000:]) >= one.score(X[1000:], y[1000:]) - 0.02
    # columns that a round draws twice are looked at once
    accesses = many.history_[-1]["feature_accesses"] / one.history_[-1]["feature_accesses"]
    assert 0.95 < accesses < 1.0


@pytest.mark.slow
def test_random_features_need_no_columns(without_columns):
    model = small("random", max_rounds=400).fit(without_columns.train)
    X, y = topics()
    assert model.score(X, y) > 0.85


def test_without_columns_it_says_what_to_run(without_columns, tmp_path):
    with pytest.raises(InputError, match="no feature-major copy") as caught:
        train(small(), without_columns.train, scheduler="synchronous", out=tmp_path / "m")
    assert f"`distkern shard {without_columns.path} --columns`" in str(caught.value)
    assert not (tmp_path / "m").exists()
    copy = tmp_path / "copy.zarr"
    shutil.copytree(without_columns.path, copy)
    assert main(["shard", str(copy), "--columns"]) == 0
    assert small().fit(open_dataset(copy).train).score(*topics()) > 0.85
