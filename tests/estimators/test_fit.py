"""Fitting and predicting on every kind of input: same data, same model."""

import json
import os

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from distkern import (
    CellClassifier,
    CSVRGClassifier,
    DSGClassifier,
    NewtonClassifier,
    PegasosClassifier,
    SIMBAClassifier,
)
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.runs.algorithms import algorithms, load_model
from parts import parts_of


@pytest.fixture(scope="module")
def binary():
    X, y = make_classification(3000, 8, n_informative=6, n_redundant=0, random_state=1)
    return X.astype(np.float32), np.where(y == 1, "yes", "no")


@pytest.fixture(scope="module")
def three_classes():
    X, y = make_classification(
        2500, 8, n_informative=6, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=2
    )
    return X, y * 10


#: hyperparameters for the data below, of the algorithms whose defaults are for other data
SETTINGS = {
    "csvrg": {"n_landmarks": 60, "lam": 128.0, "gamma": 0.1},
    "avm": {"n_landmarks": 60, "lam": 128.0, "gamma": 0.1},
    "pegasos": {"features": "random", "n_features": 256, "lam": 1e-4, "gamma": 0.1},
}
LARGE = {
    "csvrg": {"n_landmarks": 400, "lam": 2000.0},
    "avm": {"n_landmarks": 400, "lam": 2000.0},
    "pegasos": {"n_features": 1024, "stages": 10},
}
every_classifier = pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=name) for name, kind in algorithms().items() if name in SETTINGS]
)


def small(kind, **parameters):
    return kind(random_state=0, **{**SETTINGS[kind.name], **parameters})


@every_classifier
def test_it_comes_close_to_an_exact_machine(kind, binary):
    X, y = binary
    exact = SVC(C=1.0, gamma=0.1).fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    model = small(kind, **LARGE[kind.name]).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > exact - 0.05


@every_classifier
def test_dask_arrays_give_the_bits_of_numpy_when_the_blocks_are_the_same(kind, binary):
    X, y = binary
    alone = small(kind).fit(X, y)
    # one block, as the array has in memory
    lazy = small(kind).fit(da.from_array(X, chunks=(3000, 4)), da.from_array(y, chunks=1000))
    np.testing.assert_array_equal(alone.coefficients_, lazy.coefficients_)
    assert lazy.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    "scheduler", ["synchronous", "threads", pytest.param("processes", marks=pytest.mark.slow)]
)
def test_dask_arrays_of_several_chunks_on_every_scheduler(binary, scheduler):
    X, y = (da.from_array(array, chunks=(700, *array.shape[1:])) for array in binary)
    import dask

    with dask.config.set(scheduler="synchronous"):
        expected = small(CSVRGClassifier).fit(X, y)
    with dask.config.set(scheduler=scheduler):
        model = small(CSVRGClassifier).fit(X, y)
    np.testing.assert_array_equal(model.coefficients_, expected.coefficients_)
    predicted = model.predict(X)
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), expected.predict(binary[0]))
    assert model.score(X, y) == pytest.approx(expected.score(*binary))


@pytest.mark.parametrize("kind", [CellClassifier, SIMBAClassifier])
def test_what_is_gone_after_fitting_is_not_flushed_to_the_disk(kind, binary, monkeypatch):
    X, y = binary
    settings = {"search": None} if kind is CellClassifier else {"stages": 1, "max_rounds": 20}
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    kind(random_state=0, **settings).fit(da.from_array(X[:60], chunks=(20, 8)), y[:60])
    assert not flushed


def test_dask_frames(binary):
    pandas = pytest.importorskip("pandas")
    dataframe = pytest.importorskip("dask.dataframe")
    X, y = binary
    frame = pandas.DataFrame(X.astype(np.float64), columns=[f"x{i}" for i in range(8)])
    lazy = dataframe.from_pandas(frame, npartitions=3)
    model = small(CSVRGClassifier).fit(lazy, da.from_array(y, chunks=500))
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.score(lazy, y) > 0.8
    np.testing.assert_array_equal(model.predict(frame), model.predict(lazy).compute())


def test_dask_weights_and_class_weights(binary):
    X, y = binary
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    for class_weight in (None, "balanced", {"yes": 3.0}):
        alone = small(CSVRGClassifier, class_weight=class_weight)
        kept = weights > 0
        alone.fit(X[kept], y[kept], weights[kept])
        lazy = small(CSVRGClassifier, class_weight=class_weight)
        lazy.fit(
            *(da.from_array(array[kept], chunks=(len(X), *array.shape[1:])) for array in (X, y)),
            sample_weight=da.from_array(weights[kept], chunks=len(X)),
        )
        np.testing.assert_array_equal(alone.coefficients_, lazy.coefficients_)


def test_class_weight_moves_the_balance(binary):
    X, y = binary
    plain, heavy = (
        small(CSVRGClassifier, class_weight=weights).fit(X, y).predict(X) for weights in (None, {"yes": 20.0})
    )
    assert np.mean(heavy == "yes") > np.mean(plain == "yes") + 0.05


def test_class_weight_of_an_absent_class_is_refused(binary):
    with pytest.raises(InputError, match="'maybe' is not in the data"):
        small(CSVRGClassifier, class_weight={"maybe": 2.0}).fit(*binary)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({0: -1}, "class_weight of 0 must be a number >= 0, got -1"),
        ({1: np.nan}, "class_weight of 1 must be a number >= 0, got nan"),
        ({1: np.inf}, "class_weight of 1 must be a number >= 0, got inf"),
        ({0: "much"}, "class_weight of 0 must be a number >= 0, got 'much'"),
        ({0: 0, 1: 0}, "every class with rows has weight 0"),
    ],
)
def test_weights_that_classes_cannot_have_are_refused(given, told):
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 1, 1, 1])
    for kind in (CellClassifier, DSGClassifier, NewtonClassifier):
        with pytest.raises(InputError, match=told):
            kind(class_weight=given).fit(X, y)
    with pytest.raises(InputError, match=told):
        DSGClassifier(class_weight=given).partial_fit(X, y, classes=[0, 1])


def test_balanced_classes_of_which_one_has_no_rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(90, 2)).astype(np.float32)
    y = np.repeat([0, 1, 2], 30)
    # equal rows lie in one fold
    X[y == 2] = 3.0
    data = write_dataset([(X, y)], tmp_path / "d", task="classification", scale="none")
    (part,) = (learned for learned, _ in parts_of(data.train, 3, 0) if learned.class_counts[2] == 0)
    model = NewtonClassifier(n_landmarks=10, class_weight="balanced", random_state=0).fit(part)
    balanced = part.n_rows / (2 * part.class_counts[:2])
    assert model.class_weights_.tolist() == [*balanced, 0.0]
    assert np.isfinite(model.history_[-1]["objective"])


@every_classifier
def test_several_classes(kind, three_classes):
    X, y = three_classes
    model = small(kind).fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == (len(X), 3)
    np.testing.assert_array_equal(model.predict(X), model.classes_[decision.argmax(axis=1)])
    assert model.score(X, y) > 0.85
    lazy = model.decision_function(da.from_array(X, chunks=(1000, 3)))
    assert lazy.chunks == ((1000, 1000, 500), (3,))
    np.testing.assert_allclose(lazy.compute(), decision, rtol=1e-9, atol=1e-9)


def test_no_model_and_newer_model_are_refused(binary, tmp_path):
    with pytest.raises(InputError, match=r"no model\.json"):
        load_model(tmp_path)
    small(CSVRGClassifier).fit(*binary).save(tmp_path / "m")
    described = json.loads((tmp_path / "m" / "model.json").read_text())
    read = described["encoding-version"]
    for version, message in ((read + 1, "upgrade distkern"), (read - 1, f"reads {read}; train it again")):
        changed = described | {"encoding-version": version}
        (tmp_path / "m" / "model.json").write_text(json.dumps(changed))
        with pytest.raises(InputError, match=message):
            load_model(tmp_path / "m")


UNUSABLE = {
    CSVRGClassifier: [
        ({"landmarks": "coverage", "diameter": 0.5, "n_landmarks": 10}, "either n_landmarks or diameter"),
        ({"landmarks": "uniform", "diameter": 0.5, "n_landmarks": None}, "diameter=0.5 has no effect"),
        ({"kernel": "matern", "smoothness": 2.0}, "half integer"),
    ],
    PegasosClassifier: [
        ({"kernel": "laplacian"}, "kernel='laplacian' has no effect with features='linear'"),
        ({"gamma": 2.0}, "gamma=2.0 has no effect with features='linear'"),
        ({"features": "random", "n_landmarks": 64}, "n_landmarks=64 has no effect with features='random'"),
        ({"features": "landmarks", "sampler": "fastfood"}, "sampler='fastfood' has no effect"),
        ({"features": "random", "n_features": 63}, "n_features must be a positive even number"),
    ],
    SIMBAClassifier: [
        ({"nu": "search"}, "nu"),
        ({"validation_fraction": 0.0}, "validation_fraction"),
        ({"n_features": 64}, "n_features=64 has no effect.*set features to 'random'"),
        ({"kernel": "chi2", "features": "random"}, "chi2 needs numbers >= 0"),
    ],
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_unusable_hyperparameters_are_refused(binary, kind):
    for parameters, message in UNUSABLE[kind]:
        with pytest.raises(ValueError, match=message):
            kind(**parameters).fit(*binary)


def test_bad_dask_input_is_refused(binary):
    X, y = binary
    bad = X.copy()
    bad[1234, 3] = np.nan
    with pytest.raises(InputError, match=r"block 1.*NaN"):
        small(CSVRGClassifier).fit(da.from_array(bad, chunks=(1000, 8)), da.from_array(y, chunks=1000))
    with pytest.raises(InputError, match="3000 rows"):
        small(CSVRGClassifier).fit(da.from_array(X, chunks=1000), da.from_array(y[:-1], chunks=1000))
    with pytest.raises(InputError, match="one class"):
        small(CSVRGClassifier).fit(
            da.from_array(X, chunks=1000), da.from_array(y[:1].repeat(3000), chunks=1000)
        )
    with pytest.raises(ValueError, match="features"):
        small(CSVRGClassifier).fit(X, y).predict(X[:, :5])
