"""Maps in front of models: learned once, applied to all rows alike, and kept with the model."""

import pickle

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import log_loss

from distkern import (
    AVMClassifier,
    CellClassifier,
    CSVRGClassifier,
    DSGClassifier,
    DSGGaussianProcessRegressor,
    NewtonClassifier,
    NewtonRegressor,
    NORMAClassifier,
    PegasosClassifier,
    RBCDClassifier,
    SBMDClassifier,
    SDCAClassifier,
    SVRGClassifier,
    load_model,
)
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.maths.maps.transform import Transform
from small import taken

KINDS = [
    AVMClassifier,
    CSVRGClassifier,
    DSGClassifier,
    NewtonClassifier,
    NORMAClassifier,
    RBCDClassifier,
    SBMDClassifier,
    SDCAClassifier,
    SVRGClassifier,
]
#: those over the features of SVRG, or the landmarks of CSVRG
STREAMED = (AVMClassifier, NORMAClassifier, RBCDClassifier, SBMDClassifier)


def rows(n_rows=600, seed=0):
    """Two columns that matter, the second skewed, and eight that do not."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 10))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X[:, 1] = np.exp(2 * X[:, 1])
    return X.astype(np.float32), y


@pytest.mark.slow
def test_the_metric_and_the_scale_are_chosen_by_rows_that_are_held_out(tmp_path):
    X, y = rows(1200)
    test, truth = rows(4000, 1)
    given = {"loss": "logistic", "random_state": 0}
    plain = NewtonClassifier(**given).fit(X, y)
    model = NewtonClassifier(metric="auto", **given).fit(X, y)
    assert (model.found_["metric"], model.found_["scale"]) == ("diagonal", "normal")
    losses = [log_loss(truth, each.predict_proba(test)) for each in (plain, model)]
    assert losses[1] < 0.2 * losses[0]
    same = NewtonClassifier(metric="diagonal", scale="normal", **given).fit(X, y)
    np.testing.assert_array_equal(model.coefficients_, same.coefficients_)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.decision_function(test), model.decision_function(test))
    assert loaded.found_["metric"] == "diagonal"
    # what is given stays, and what gains nothing is not taken
    ranks = NewtonClassifier(metric="auto", scale="ranks", **given).fit(X, y)
    assert ranks.found_["metric"] in ("diagonal", "interactions")
    assert ranks.found_["scale"] == "ranks"
    noise = np.random.default_rng(0).integers(0, 2, len(X))
    assert NewtonClassifier(metric="auto", scale="ranks", **given).fit(X, noise).found_["metric"] is None
    few = NewtonClassifier(metric="auto", **given).fit(X[:20], y[:20])
    assert few.found_["metric"] is None


def test_a_metric_and_quantiles_find_what_matters():
    X, y = rows(2000)
    test, truth = rows(4000, 1)
    losses = {}
    for given in ({}, {"metric": "diagonal"}, {"scale": "normal"}, {"scale": "normal", "metric": "diagonal"}):
        model = NewtonClassifier(n_landmarks=256, gamma="median/2", nu=1e-4, random_state=0, **given)
        losses[tuple(given)] = log_loss(truth, model.fit(X, y).predict_proba(test))
    assert losses[("scale", "metric")] < 0.7 * min(losses[()], losses[("scale",)])
    weights = model.map_.factors
    assert weights[:2].min() > 3 * weights[2:].max()


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in STREAMED)) for kind in KINDS]
)
def test_a_model_with_a_map_is_one_of_mapped_rows(kind):
    X, y = rows()
    given = {"gamma": 0.5, "random_state": 0}
    given |= {"nu": 1e-3} if "nu" in kind.hyperparameters else {"lam": 64.0}
    given |= {"n_features": 256} if "n_features" in taken(kind, {}) else {}
    model = kind(scale="standard", metric="diagonal", **given).fit(X, y)
    mapped = model.map_.apply(X)
    alone = kind(scale="none", **given).fit(mapped, y)
    np.testing.assert_array_equal(model.coefficients_, alone.coefficients_)
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(mapped), atol=1e-5)


@pytest.mark.parametrize("given", [{"metric": "full"}, {"scale": "ranks"}])
def test_rows_are_mapped_wherever_they_are(given, tmp_path):
    X, y = rows()
    data = write_dataset([(X, y)], tmp_path / "d.zarr", test_fraction=0.3, rows_per_shard=100)
    model = NewtonClassifier(n_landmarks=64, nu=1e-3, gamma=0.5, random_state=0, **given)
    model.fit(data.train, eval_set=data.test)
    assert model.history_[-1]["test_error"] == pytest.approx(1 - model.score(data.test))
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    lazy = again.decision_function(da.from_array(X, chunks=(200, -1)))
    np.testing.assert_allclose(lazy.compute(), model.decision_function(X), atol=1e-6)


@pytest.mark.slow
def test_real_targets_and_gaussian_processes_have_them_too():
    X, _ = rows()
    y = 1e6 + 1e3 * np.sin(X[:, 0])
    for kind in (NewtonRegressor(n_landmarks=256), DSGGaussianProcessRegressor(n_features=256)):
        kind.set_params(random_state=0)
        plain, mapped = (clone(kind).set_params(metric=metric).fit(X, y) for metric in (None, "diagonal"))
        test, _ = rows(600, 2)
        truth = 1e6 + 1e3 * np.sin(test[:, 0])
        assert mapped.score(test, truth) > max(plain.score(test, truth), 0.8)
    _, deviations = mapped.predict(test, return_std=True)
    assert np.isfinite(deviations).all()


def test_what_cannot_be_mapped_is_refused_by_name():
    X, y = rows()
    with pytest.raises(InputError, match="metric: maps of columns would make the zeros of sparse rows"):
        NewtonClassifier(metric="diagonal").fit(sparse.csr_matrix(X), y)
    with pytest.raises(InputError, match="scale is 'minmax', but metrics are learned"):
        NewtonClassifier(metric="diagonal", scale="minmax").fit(X, y)
    with pytest.raises(
        InputError, match="metric is 'full', and kernel chi2 does not accept negative numbers"
    ):
        NewtonClassifier(metric="full", kernel="chi2").fit(np.abs(X), y)
    with pytest.raises(InputError, match="metric: a single batch shows neither"):
        DSGClassifier(metric="diagonal").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(InputError, match="has no effect with features='linear'"):
        NewtonClassifier(metric="full", features="linear").fit(X, y)


def test_columns_of_mapped_rows_are_those_of_the_rows():
    X, y = rows()
    model = PegasosClassifier(scale="normal", random_state=0).fit(X, y)
    assert isinstance(model.map_.transform, Transform)
    wanted = np.array([4, 1])
    found = model.map_.apply_columns(X.T[wanted], wanted, np.float32)
    np.testing.assert_array_equal(found, model.map_.apply(X).T[wanted])


def test_steps_go_on_over_mapped_rows():
    X, y = rows()
    model = DSGClassifier(metric="diagonal", nu=1e-3, gamma=0.5, n_features=512, random_state=0).fit(X, y)
    before = model.map_
    model.partial_fit(X, y)
    assert model.map_ is before
    assert model.score(X, y) > 0.75


def test_quantiles_are_laid_out_once_and_not_sent():
    sample = np.round(np.random.default_rng(0).normal(size=(300, 2)), 1)
    mapping = Transform.fit("ranks", sample)
    sent = len(pickle.dumps(mapping))
    rows = mapping.apply(sample, np.float64)
    made = mapping._tables
    np.testing.assert_array_equal(mapping.apply(sample, np.float64), rows)
    assert mapping._tables is made
    assert len(pickle.dumps(mapping)) == sent
    # the share that is smaller, and half of the share that is equal, each by interpolation
    levels = np.linspace(0.0, 1.0, 300)
    for column, quantiles in enumerate(mapping.quantiles.T):
        low = np.interp(sample[:, column], quantiles, levels)
        high = 1.0 - np.interp(-sample[:, column], -quantiles[::-1], levels)
        expected = (0.5 * (low + high) - mapping.shift[column]) * mapping.factor[column]
        np.testing.assert_array_equal(rows[:, column], expected)


@pytest.mark.parametrize("kind", [NewtonClassifier, CellClassifier])
@pytest.mark.parametrize(
    ("scale", "metric"),
    [("standard", None), ("normal", None), ("ranks", None), ("none", "diagonal"), ("none", "full")],
)
def test_a_weight_is_that_many_rows(kind, scale, metric):
    generator = np.random.default_rng(8)
    X = generator.normal(size=(200, 4))
    own = X[:, 3] > 0.5
    # what matters differs between the rows that weigh and the others
    y = (np.where(own, X[:, 0], X[:, 1]) + 0.1 * generator.normal(size=200) > 0).astype(int)
    weights = np.where(own, generator.integers(4, 8, 200), 1)
    order = generator.permutation(np.repeat(np.arange(200), weights))
    given = {"nu": 1e-3, "features": "random", "n_features": 40, "tol": 1e-10, "stages": 30}
    if kind is CellClassifier:
        given = {"C": 1.0, "search": None, "kernel": "rbf", "tol": 1e-6, "probability": False}
    model = kind(gamma=0.3, scale=scale, metric=metric, random_state=0, dtype="float64", **given)
    repeated = clone(model).fit(X[order], y[order]).decision_function(X)
    weighted = clone(model).fit(X, y, sample_weight=weights).decision_function(X)
    plain = clone(model).fit(X, y).decision_function(X)
    assert np.abs(weighted - repeated).max() < 1e-3 * repeated.std() < 0.1 * np.abs(plain - repeated).max()
