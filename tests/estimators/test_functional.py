"""The estimators over random features: losses, probabilities, real targets, batches that come one by one."""

import numpy as np
import pytest

import distkern
from distkern.core.errors import CorruptDataError, InputError
from distkern.maths.bases.random_features import RandomFeatureBasis

SMALL = {"gamma": 2.0, "random_state": 0}
KINDS = {
    "dsg": lambda **given: distkern.DSGClassifier(
        **{**SMALL, "n_features": 512, "block_size": 64, "batch_size": 256, **given}
    ),
    "svrg": lambda **given: distkern.SVRGClassifier(**{**SMALL, "n_features": 256, "stages": 4, **given}),
}
REGRESSORS = {
    "dsg": lambda **given: distkern.DSGRegressor(
        **{**SMALL, "n_features": 512, "block_size": 64, "batch_size": 256, **given}
    ),
    "svrg": lambda **given: distkern.SVRGRegressor(**{**SMALL, "n_features": 256, "stages": 4, **given}),
}


def rows(n_rows=1000, seed=0):
    generator = np.random.default_rng(seed)
    features = generator.random((n_rows, 3))
    return features, np.sin(5 * features[:, 0]) + features[:, 1] ** 2 - features[:, 2]


def classes(n_rows=1000, n_classes=2, seed=0):
    features, values = rows(n_rows, seed)
    edges = np.quantile(values, np.linspace(0, 1, n_classes + 1)[1:-1])
    return features, np.array(["a", "b", "c", "d"])[np.searchsorted(edges, values)]


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_several_classes_are_those_of_the_rows(kind):
    features, labels = classes(n_classes=4)
    model = KINDS[kind](loss="softmax").fit(features, labels)
    chances = model.predict_proba(features)
    assert chances.shape == (1000, 4)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(features))


def test_a_model_whose_features_are_drawn_otherwise_is_refused(tmp_path, monkeypatch):
    KINDS["dsg"]().fit(*classes(300)).save(tmp_path / "m")
    monkeypatch.setattr(RandomFeatureBasis, "digest", lambda basis: "of another numpy")
    with pytest.raises(CorruptDataError, match="numpy"):
        distkern.load_model(tmp_path / "m")


def test_batches_one_by_one_learn_as_one_fit_does():
    features, labels = classes(6000)
    model = KINDS["dsg"](n_features=2048)
    for start in range(0, 6000, 500):
        part = slice(start, start + 500)
        model.partial_fit(features[part], labels[part], classes=["a", "b"])
    fresh, truth = classes(seed=1)
    assert model.score(fresh, truth) > 0.9
    assert model.n_blocks_ == 24  # two steps for each batch of 500 rows


def test_real_targets_in_batches_past_the_last_new_block():
    features, values = rows(6000)
    model = REGRESSORS["dsg"](n_features=512)
    for start in range(0, 6000, 500):
        model.partial_fit(features[start : start + 500], values[start : start + 500])
    assert model.n_blocks_ == 8
    assert model.score(*rows(seed=1)) > 0.8


def test_bad_batches_are_named(tmp_path):
    features, labels = classes(300)
    with pytest.raises(InputError, match="classes is missing"):
        KINDS["dsg"]().partial_fit(features, labels)
    model = KINDS["dsg"]().partial_fit(features, labels, classes=["a", "b"])
    with pytest.raises(InputError, match="label 'z' is not among the classes"):
        model.partial_fit(features, np.where(labels == "a", "z", labels))
    before = model.coefficients_.copy()
    with pytest.raises(InputError, match="differs from the classes of the first call"):
        model.partial_fit(features, labels, classes=["a", "c"])
    assert np.array_equal(model.coefficients_, before)
    model.save(tmp_path / "m")
    again = distkern.load_model(tmp_path / "m").partial_fit(features, labels)
    assert np.array_equal(again.coefficients_, model.partial_fit(features, labels).coefficients_)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kernel_outside_its_domain_names_the_column(kind):
    features, labels = classes(300)
    features[7, 1] = -0.5
    with pytest.raises(InputError, match=r"(?s)row.*column|column.*row"):
        KINDS[kind](kernel="chi2", gamma="scale").fit(features, labels)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [distkern.DSGClassifier, distkern.SVRGClassifier])
def test_the_defaults_learn(kind):
    model = kind(random_state=0).fit(*classes(4000))
    assert model.score(*classes(seed=1)) > 0.9
