"""Every classifier with probabilities on a rare class: they are those of the rows, whatever classes weigh."""

import numpy as np
import pytest

from distkern.runs.algorithms import algorithms
from small import each, small

ALGORITHMS = algorithms()
#: how its probabilities are asked for, where it has them
ASKED = {
    name: {"loss": "logistic"}
    for name, kind in ALGORITHMS.items()
    if "loss" in kind.hyperparameters and "logistic" in kind.hyperparameters["loss"].words
} | {name: {} for name, kind in ALGORITHMS.items() if "probability" in kind.hyperparameters}


@pytest.fixture(params=[name for name in each(ALGORITHMS) if name.values[0] in ASKED], scope="module")
def fitted(request):
    """Functions that fit it to rows of which 6 % are of the second class, with further settings."""
    kind, generator = ALGORITHMS[request.param], np.random.default_rng(0)
    X = generator.normal(size=(900, 2))
    y = (generator.random(900) < 1 / (1 + np.exp(3.5 - 1.5 * X[:, 0]))).astype(int)
    how = small(kind, **ASKED[request.param], gamma="scale", stages=8, nu=1e-4, lam=10.0)
    if "step_size" in kind.hyperparameters and kind.hyperparameters["step_size"].default is None:
        how["step_size"] = None
    how = {name: value for name, value in how.items() if name in kind.hyperparameters}
    plain = kind(**how).fit(X, y)
    return lambda **given: kind(**{**how, **given}).fit(X, y) if given else plain, X, y


def test_the_mean_probability_is_the_share_of_the_class(fitted):
    fit, X, y = fitted
    model = fit()
    # cells are calibrated on rows that they have not learned from
    near = 0.35 if "probability" in model.hyperparameters else 0.05
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=near)


def test_weights_of_classes_change_labels_and_not_probabilities(fitted):
    fit, X, y = fitted
    plain, balanced = fit(), fit(class_weight="balanced")
    p, q = plain.predict_proba(X)[:, 1], balanced.predict_proba(X)[:, 1]
    assert q.mean() == pytest.approx(y.mean(), rel=0.5)
    assert np.abs(p - q).mean() < 0.04
    assert balanced.threshold_ == pytest.approx(y.mean())
    np.testing.assert_array_equal(balanced.predict(X), q >= balanced.threshold_)
    assert balanced.predict(X).mean() > plain.predict(X).mean() + 0.05
