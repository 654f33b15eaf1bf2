"""What users of other libraries write in Python, and what they are told to write."""

import numpy as np
import pandas
import pytest

import distkern as dk

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)
MISSING = pandas.Series(np.where(np.arange(60) % 20 == 3, None, Y), dtype=object)


def fitted():
    return dk.NewtonClassifier(loss="logistic", n_landmarks=8, random_state=0).fit(X, Y)


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda: dk.NewtonClassifier(n_estimators=9), ["'n_estimators'; it belongs to trees; leave it out"]),
        (lambda: dk.KernelClassifier(num_leaves=31), ["'num_leaves'; it belongs to trees"]),
        (
            lambda: dk.KernelClassifier(settings={"learning_rate": 1}).fit(X, Y),
            ["settings: unknown hyperparameter 'learning_rate'; step sizes are found by themselves"],
        ),
        (lambda: dk.KernelClassifier(settings={"C": "abc"}).fit(X, Y), ["C must be a number", "got 'abc'"]),
        (lambda: dk.RandomFeatures(n_components=9), ["'n_components'; did you mean 'n_features'?"]),
        (lambda: dk.RandomFeatures(sigma=9), ["'sigma'; did you mean 'gamma'?"]),
        (lambda: dk.NewtonRegressor(quantiles=[0.5]), ["'quantiles'; it belongs to dsg"]),
        (lambda: dk.write_dataset(X, Y, "d", target="y"), ["argument 'target'; did you mean 'y'?"]),
        (lambda: fitted().update(X), ["y is missing; give targets with the rows"]),
        (
            lambda: dk.KernelClassifier().fit(pandas.DataFrame({"a": ["u", "v"] * 30})),
            ["y is missing; give fit(X"],
        ),
        (
            lambda: dk.NewtonClassifier().fit(X, MISSING),
            ["row 4 (index 3)", "(and 2 more rows)", "pandas.notna(y)"],
        ),
        (lambda: dk.export("model", "m.onnx"), ["model: a str is not", "load_model('model')"]),
        (lambda: dk.shard, ["no attribute 'shard'; write distkern.write_dataset(X, y, path)"]),
        (lambda: dk.train, ["no attribute 'train'; write distkern.KernelClassifier().fit(X, y)"]),
        (lambda: dk.evaluate, ["write distkern.load_model(path).score(X, y)"]),
    ],
)
def test_the_message_names_what_to_write(mistake, words):
    with pytest.raises((TypeError, ValueError, AttributeError)) as caught:
        mistake()
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_the_rows_that_the_message_keeps_can_be_fitted():
    known = pandas.notna(MISSING)
    model = dk.NewtonClassifier(n_landmarks=8, random_state=0).fit(X[known], MISSING[known].astype(int))
    assert model.n_features_in_ == 2
