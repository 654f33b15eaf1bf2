"""The precision that rows are trained and predicted in."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array
from sklearn.base import clone

from distkern import (
    CellClassifier,
    CSVRGClassifier,
    DSGClassifier,
    DSGGaussianProcessRegressor,
    NewtonClassifier,
    SIMBAClassifier,
    SVRGClassifier,
    SVRGRegressor,
    write_dataset,
)
from distkern.core.errors import InputError
from distkern.data.spreads import Spreads

MANY = 4000
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def svrg(**given):
    return SVRGClassifier(**{"n_features": 64, "gamma": 0.5, "stages": 3, "random_state": 0, **given})


def rows(n=MANY, offset=0.0):
    """Rows on both sides of a circle, in numbers that single precision has unless they are far from 0."""
    X = np.round(np.random.default_rng(0).uniform(-1, 1, (n, 3)) * 1024) / 1024
    return X + offset, (np.square(X[:, :2]).sum(axis=1) < 0.6).astype(int)


@pytest.mark.parametrize(
    ("n", "given", "dtype", "expected"),
    [
        (MANY, DOUBLE, "auto", SINGLE),
        (MANY - 1, DOUBLE, "auto", DOUBLE),
        (MANY - 1, SINGLE, "auto", SINGLE),
        (200, DOUBLE, "float32", SINGLE),
        (200, SINGLE, "float64", DOUBLE),
        (MANY, DOUBLE, "float64", DOUBLE),
    ],
)
def test_the_shape_decides_unless_it_is_given(n, given, dtype, expected):
    X, y = rows(n)
    model = svrg(dtype=dtype, stages=1).fit(X.astype(given), y)
    assert model.dtype_ == expected
    assert clone(model).get_params()["dtype"] == dtype


@pytest.mark.parametrize("is_sparse", [False, True])
def test_rows_that_are_cast_are_those_that_are_given_so(is_sparse):
    X, y = rows()
    X = csr_matrix(X * (np.abs(X) > 0.5)) if is_sparse else X
    cast = svrg(scale="none").fit(X, y, eval_set=(X[:500], y[:500]))
    given = svrg(scale="none").fit(X.astype(SINGLE), y, eval_set=(X[:500].astype(SINGLE), y[:500]))
    np.testing.assert_array_equal(cast.coefficients_, given.coefficients_)
    for asked in (X[:100], X[:100].astype(SINGLE)):
        np.testing.assert_array_equal(cast.decision_function(asked), given.decision_function(asked))
    assert cast.history_[-1]["test_error"] == given.history_[-1]["test_error"]


def test_single_columns_are_cast_as_rows_are():
    X = random_array((1100, 20), density=0.2, rng=np.random.default_rng(0), format="csr").astype(SINGLE)
    y = (X[:, :10].sum(axis=1) > X[:, 10:].sum(axis=1)).astype(int)
    model = SIMBAClassifier(nu=0.1, max_rounds=20, scale="none", dtype="float32", random_state=0)
    for given in (X, X.toarray()):
        models = [clone(model).fit(one, y) for one in (given, given.astype(DOUBLE))]
        np.testing.assert_array_equal(models[0].coefficients_, models[1].coefficients_)


@pytest.mark.parametrize("scale", ["auto", "none", pytest.param("maxabs", marks=pytest.mark.slow)])
def test_time_stamps_lose_nothing(scale):
    X, y = rows(offset=1.6e9)
    model = svrg(scale=scale, gamma="scale").fit(X, y, eval_set=(X[:500], y[:500]))
    exact = svrg(scale=scale, gamma="scale", dtype="float64").fit(X, y)
    assert model.dtype_ == (SINGLE if scale == "auto" else DOUBLE)
    assert model.score(X, y) > 0.97 * exact.score(X, y)
    assert exact.score(X, y) > (0.9 if scale != "maxabs" else 0.5)
    assert model.history_[-1]["test_error"] < 0.12 or scale == "maxabs"


@pytest.mark.slow
def test_cells_and_kernels_of_positive_numbers_keep_far_columns_as_well():
    X, y = rows(offset=1.6e9)
    assert CellClassifier(search=None, max_cell_rows=1000, random_state=0).fit(X, y).dtype_ == DOUBLE
    assert svrg(kernel="laplacian", scale="none").fit(X, y).dtype_ == DOUBLE
    model = SVRGClassifier(kernel="skewed_chi2", n_features=64, stages=1, random_state=0)
    assert model.fit(X + 1.0, y).dtype_ == DOUBLE
    assert model.fit(X - 1.6e9 + 1.0, y).dtype_ == SINGLE


def test_what_single_precision_has_numbers_for():
    X = np.random.default_rng(0).normal(size=(100, 2))

    def suit(rows, kind="none"):
        return Spreads.of(rows, None).suit_single(kind)

    assert suit(X)
    assert suit(X + 1000.0)
    far = X + np.array([0.0, 1e6])
    assert [suit(far, kind) for kind in ("none", "maxabs", "minmax", "standard")] == [
        False,
        False,
        True,
        True,
    ]
    assert suit(np.hstack([X, np.full((100, 1), 1e6)]))
    assert not suit(X * 1e20)
    assert not suit(X * 1e-20)
    assert suit(X * 1e20, "maxabs")


def test_numbers_that_become_infinite_are_refused():
    X, y = rows()
    model = svrg(scale="none", stages=1)
    far = X.copy()
    far[7, 1] = 1e39
    assert model.fit(far, y).dtype_ == DOUBLE
    with pytest.raises(InputError, match="too large for single precision"):
        clone(model).set_params(dtype="float32").fit(far, y)
    with pytest.raises(InputError, match="too large for single precision"):
        model.fit(X, y).predict(far)


def test_a_model_that_does_not_say_predicts_in_the_precision_of_its_rows():
    X, y = rows()
    model = svrg().fit(X, y)
    single = model.decision_function(X)
    model._model = replace(model.model_, columns=replace(model.model_.columns, dtype=None))
    assert 0 < np.abs(model.decision_function(X) - single).max() < 1e-3
    np.testing.assert_array_equal(model.decision_function(X.astype(SINGLE)), single)


def test_only_the_basis_of_the_precision_of_the_rows_is_made():
    """Predicting by many rows, as kernel machines do, had three copies of them, one as large as two."""
    X, y = rows(400)
    model = svrg().fit(X, y)
    model._model = replace(model.model_, columns=replace(model.model_.columns, dtype=None))
    for known in (SINGLE, DOUBLE):
        (basis,) = model.model_.predictor(None, "label", known).args[0]
        assert basis.dtype == known
    assert {basis.dtype for basis in model.model_.predictor(None, "label").args[0]} == {SINGLE, DOUBLE}


def test_dask_arrays_may_have_blocks_of_another_precision_than_they_say():
    X, y = rows(400)
    model = svrg().fit(X, y)
    model._model = replace(model.model_, columns=replace(model.model_.columns, dtype=None))
    lazy = da.from_array(X, chunks=(150, -1)).map_blocks(lambda block: block, dtype=np.float32)
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X.astype(np.float32)))


def test_dask_arrays_are_cast_block_by_block():
    X, y = rows()
    lazy, labels = da.from_array(X, chunks=(1500, -1)), da.from_array(y, chunks=1500)
    for model in (svrg(), svrg(scale="standard")):
        model.fit(lazy, labels)
        assert model.dtype_ == SINGLE
        np.testing.assert_array_equal(model.decision_function(lazy), model.decision_function(X))
        assert model.score(X, y) > 0.9
    assert svrg(dtype="float64").fit(lazy, labels).dtype_ == DOUBLE
    assert svrg().fit(lazy[:3000], labels[:3000]).dtype_ == DOUBLE
    with pytest.raises(InputError, match="float64"):
        SIMBAClassifier(dtype="float64").fit(lazy, labels)


@pytest.mark.parametrize(
    "estimator",
    [
        svrg(),
        NewtonClassifier(n_landmarks=20),
        SIMBAClassifier(nu=0.1, max_rounds=100, random_state=0),
        CSVRGClassifier(n_landmarks=20, stages=2, random_state=0),
    ],
    ids=lambda one: one.name,
)
def test_data_sets_have_the_precision_they_are_stored_in_or_the_one_asked_for(tmp_path, estimator):
    X, y = rows(300)
    data = write_dataset(X, y, tmp_path / "d", columns=True)
    assert clone(estimator).fit(data.train).dtype_ == SINGLE
    wide = clone(estimator).set_params(dtype="float64").fit(data.train)
    assert wide.dtype_ == DOUBLE
    assert wide.score(data.train) == wide.score(X, y) > 0.5


def test_frames_of_other_things_than_numbers():
    pandas = pytest.importorskip("pandas")
    X, y = rows(300)
    frame = pandas.DataFrame(X, columns=list("abc")).assign(text=np.where(X[:, 0] > 0, "right", "left"))
    model = svrg(dtype="float64").fit(frame, y, eval_set=(frame, y))
    assert (model.dtype_, svrg(stages=1).fit(frame, y).dtype_) == (DOUBLE, SINGLE)
    assert model.history_[-1]["test_error"] == pytest.approx(1 - model.score(frame, y))


def test_batches_have_the_precision_of_the_first():
    X, y = rows(600)
    model = DSGClassifier(n_features=64, block_size=32, gamma=0.5, random_state=0)
    model.partial_fit(X[:300], y[:300], classes=[0, 1]).partial_fit(X[300:].astype(SINGLE), y[300:])
    assert model.dtype_ == DOUBLE
    cast, given = clone(model).set_params(dtype="float32"), clone(model)
    cast.partial_fit(X, y, classes=[0, 1])
    given.partial_fit(X.astype(SINGLE), y, classes=[0, 1])
    assert cast.dtype_ == given.dtype_ == SINGLE
    np.testing.assert_array_equal(cast.coefficients_, given.coefficients_)


def test_targets_and_weights_stay_double():
    X, _ = rows()
    y = 1e9 + X[:, 0]
    weights = 1.0 + np.arange(MANY) * 1e-12
    model = SVRGRegressor(n_features=64, gamma=0.5, random_state=0).fit(X, y, weights)
    assert model.dtype_ == SINGLE
    assert model.score(X, y) > 0.99
    process = DSGGaussianProcessRegressor(n_features=64, gamma=0.5, random_state=0).fit(X, y)
    mean, deviation = process.predict(X[:5], return_std=True)
    assert process.dtype_ == SINGLE
    assert (mean.dtype, deviation.dtype) == (DOUBLE, DOUBLE)
