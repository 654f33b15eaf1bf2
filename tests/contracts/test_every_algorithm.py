"""What holds of every algorithm that a user can name."""

import subprocess
import sys

import numpy as np
import pytest

import distkern
from distkern.estimators.declared import annotation_of, docstring_type
from distkern.maths.losses import find_loss
from distkern.runs.algorithms import algorithms, estimators
from distkern.runs.persistence import lasting, stored_arrays
from small import each
from small import small as small_settings

WITH_LOSSES = {name: kind for name, kind in algorithms().items() if "loss" in kind.hyperparameters}


@pytest.mark.parametrize("name", estimators())
def test_every_estimator_is_public(name):
    assert name in distkern.__all__
    assert getattr(distkern, name) is estimators()[name]


def test_every_algorithm_is_an_estimator():
    assert set(algorithms().values()) <= set(estimators().values())
    with pytest.raises(AttributeError, match="AVMClassifer"):
        distkern.AVMClassifer  # noqa: B018


def test_an_estimator_is_public_once_its_file_is_there(tmp_path):
    code = (
        "import sys\n"
        "import distkern.estimators\n"
        "distkern.estimators.__path__.append(sys.argv[1])\n"
        "import distkern\n"
        "assert distkern.BoostedClassifier(gamma=2.0).gamma == 2.0\n"
    )
    (tmp_path / "boosted.py").write_text(
        "from distkern.estimators.avm import AVMClassifier\n"
        "class BoostedClassifier(AVMClassifier, solver='avm'):\n"
        "    name = 'boosted'\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)


def listed_losses(kind):
    return kind.hyperparameters["loss"].words


def few_rows():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 2))
    return features, (features.sum(axis=1) + rng.normal(size=60) > 0).astype(int)


def small(kind, loss):
    defaults = kind().get_params()
    settings = {"stages": 1, "steps_per_stage": 30, "search": None, "random_state": 0}
    settings = {name: value for name, value in settings.items() if name in defaults}
    if defaults.get("features", "random") == "random" and "n_features" in defaults:
        settings["n_features"] = 16
    return kind(loss=loss, **settings)


#: whose loops are compiled for each loss, of which others compile the same functions in theirs
COMPILED = ("avm", "pegasos", "sdca_regressor")


def with_losses():
    """Every algorithm with every loss, which is slow where compiling a loop anew shows nothing else."""
    for name, kind in WITH_LOSSES.items():
        for number, loss in enumerate(listed_losses(kind)):
            slow = name in COMPILED and number > 0
            yield pytest.param(name, loss, id=f"{name}-{loss}", marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize(("name", "loss"), [*with_losses()])
def test_every_loss_that_is_listed_can_be_learnt(name, loss):
    features, labels = few_rows()
    assert np.isfinite(small(WITH_LOSSES[name], loss).fit(features, labels).coefficients_).all()


@pytest.mark.parametrize(
    "name", [name for name, kind in WITH_LOSSES.items() if kind.task == "classification"]
)
def test_a_likelihood_gives_probabilities_with_every_algorithm_that_takes_it(name):
    kind = WITH_LOSSES[name]
    features, labels = few_rows()
    names = listed_losses(kind)
    assert "logistic" in names or not any(find_loss(loss).has_probabilities for loss in names)
    for loss in names:
        model = small(kind, loss)
        fits_them = "probability" in kind.hyperparameters
        assert hasattr(model, "predict_proba") == (fits_them or find_loss(loss).has_probabilities)
        if find_loss(loss).has_probabilities:
            chances = model.fit(features, labels).predict_proba(features)
            expected = 1 / (1 + np.exp(-model.decision_function(features)))
            np.testing.assert_allclose(chances, np.stack([1 - expected, expected], axis=1), atol=1e-12)


@pytest.mark.parametrize("name", each(algorithms()))
def test_rows_that_are_cast_give_what_rows_of_that_precision_give(name):
    kind = algorithms()[name]
    X = np.random.default_rng(0).normal(size=(120, 3)).astype(np.float32)
    y = X[:, 0] + X[:, 1] ** 2 if kind.task == "regression" else (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    settings = small_settings(kind)
    cast = kind(**settings, dtype="float32").fit(X.astype(np.float64), y)
    given = kind(**settings).fit(X, y)
    exact = kind(**settings, dtype="float64").fit(X, y)
    assert (cast.dtype_, given.dtype_, exact.dtype_) == (np.float32, np.float32, np.float64)
    found = [getattr(model, "decision_function", model.predict)(X) for model in (cast, given)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", each(algorithms()))
def test_what_a_fit_leaves_is_described_and_comes_back(name, tmp_path):
    kind = algorithms()[name]
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = X[:, 0] + X[:, 1] ** 2 if kind.task == "regression" else (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    model = kind(**small_settings(kind)).fit(X, y)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]
    # long lines are wrapped
    table = " ".join(kind.__doc__.partition("\nAttributes\n----------\n")[2].split())
    for attribute, one in kind.fitted_attributes.items():
        of_type = docstring_type(annotation_of(kind, attribute))
        help = " ".join(one.help.split())
        assert f" {attribute} : {of_type} {help[0].upper()}{help[1:]}. " in f" {table} "
        assert not one.help.endswith(".")
    model.save(tmp_path / "model")
    again = distkern.load_model(tmp_path / "model")
    before, now = model.model_, again.model_
    assert lasting(now) == lasting(before)
    assert stored_arrays(now).keys() == stored_arrays(before).keys()
    for key, array in stored_arrays(before).items():
        np.testing.assert_array_equal(stored_arrays(now)[key], array)


@pytest.mark.parametrize("name", estimators())
def test_docstrings_have_sections_that_tools_know(name):
    text = estimators()[name].__doc__
    sections = ["\nParameters\n----------\n", "\nAttributes\n----------\n", "\nExamples\n--------\n"]
    places = [text.find(section) for section in sections if section in text]
    assert len(places) >= 2
    assert places == sorted(places)
    assert "Fitted attributes" not in text
