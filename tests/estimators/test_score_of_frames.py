"""Scores of Dask frames are those of the same rows in pandas."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.callbacks import Callback
from dask_ml.model_selection import GridSearchCV, train_test_split
from sklearn.metrics import r2_score

import distkern as dk
from distkern.core.errors import InputError


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
