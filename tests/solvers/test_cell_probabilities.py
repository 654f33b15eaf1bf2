"""Probabilities of machines in cells compared with the truth and with scikit-learn."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from distkern.core.errors import InputError
from distkern.estimators.auto import KernelClassifier, KernelRegressor
from distkern.estimators.cells import CellClassifier, CellRegressor
from distkern.solvers._cells import calibrating
from distkern.solvers._cells.calibrating import Sigmoids

GIVEN = {"search": None, "scale": "standard", "gamma": "median/2", "C": 0.3, "random_state": 0}


def drawn(n_rows, seed=0):
    """Return rows, labels, and the probability of label 1."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 2))
    truth = 1 / (1 + np.exp(-3 * np.sin(2 * X[:, 0]) - X[:, 1]))
    return X, (generator.random(n_rows) < truth).astype(int), truth


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose decision values are its rows."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0] if len(self.classes_) == 2 else X

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.filterwarnings("ignore:Since FrozenEstimator")
def test_sigmoids_are_those_of_scikit_learn(n_classes, scale):
    generator = np.random.default_rng(0)
    codes = generator.integers(n_classes, size=500)
    n_outputs = 1 if n_classes == 2 else n_classes
    values = scale * (generator.normal(size=(500, n_outputs)) + 2 * np.eye(n_classes)[codes][:, -n_outputs:])
    weights = generator.integers(1, 4, size=500).astype(float)
    weights /= weights.mean()
    theirs = CalibratedClassifierCV(FrozenEstimator(Given().fit(values, codes)))
    expected = theirs.fit(values, codes, sample_weight=weights).predict_proba(values)
    for unit in (1.0, 7.0):
        found = Sigmoids.fit(values, codes, unit * weights)
        power = found.lines[0, 2]
        plain = Sigmoids(found.lines * [1.0, 1.0, 1.0 / power])
        np.testing.assert_allclose(plain(values), expected, atol=2e-4)
        # the power maximises the likelihood
        own = [
            np.average(
                np.log(expected[np.arange(500), codes] ** each / (expected**each).sum(axis=1)),
                weights=weights,
            )
            for each in (0.9 * power, power, 1.1 * power)
        ]
        assert (
            (power == 1.0) if n_classes == 2 else (own[1] > max(own[0], own[2]) and abs(power - 1.0) > 0.05)
        )


def test_rows_that_are_separated_have_probabilities_short_of_one():
    values, codes = np.repeat([[-1.0], [1.0]], 20, axis=0), np.repeat([0, 1], 20)
    found = Sigmoids.fit(values, codes, np.ones(40))(values)
    # Platt's targets for 20 rows of a class
    np.testing.assert_allclose(found[:, 1], np.repeat([1 / 22, 21 / 22], 20), rtol=1e-3)
    # without rows of a class, the offset bounds its probability
    alone = Sigmoids.fit(values, np.zeros(40, dtype=int), np.ones(40))(values)
    np.testing.assert_allclose(alone[:, 1], 1 / 42, rtol=1e-3)


def test_a_class_that_is_not_held_out_has_the_line_of_the_others():
    generator = np.random.default_rng(0)
    codes = generator.integers(4, size=2000)
    values = generator.normal(scale=0.5, size=(2000, 4)) + 2 * np.eye(4)[codes] - 1
    seen = codes < 3
    found = Sigmoids.fit(values[seen], codes[seen], np.ones(seen.sum()))
    whole = Sigmoids.fit(values, codes, np.ones(2000))
    # a line fitted to no row of the class would give it almost no probability
    own = [-np.log(each(values[~seen])[:, 3]).mean() for each in (found, whole)]
    assert own[1] < 0.05 < own[0] < 0.3
    labels = [each(values[~seen]).argmax(axis=1) for each in (found, whole)]
    assert (labels[0] == labels[1]).mean() > 0.95


@pytest.mark.parametrize("cells", [{"max_cell_rows": 3000}, {"max_cell_rows": 300}])
def test_probabilities_are_near_the_truth(cells):
    X, y, truth = drawn(5000)
    model = CellClassifier(**GIVEN, **cells, probability=True).fit(X[:3000], y[:3000])
    found = model.predict_proba(X[3000:])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.sqrt(np.square(found[:, 1] - truth[3000:]).mean()) < 0.12
    # they are unbiased
    assert found[:, 1].mean() == pytest.approx(truth[3000:].mean(), abs=0.02)


def test_what_a_machine_knows_by_heart_is_no_evidence():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(1500, 5)), (generator.random(1500) < 0.3).astype(int)
    given = {**GIVEN, "gamma": "median/10", "C": 100.0}
    model = CellClassifier(**given, probability=True).fit(X, y)
    assert model.score(X, y) > 0.99
    np.testing.assert_allclose(model.predict_proba(X)[:, 1].mean(), 0.3, atol=0.05)
    assert model.predict_proba(X)[:, 1].std() < 0.06


def test_classes_as_rare_as_they_are_whatever_their_weight():
    X, y, truth = drawn(6000)
    kept = (y == 0) | (np.arange(6000) % 8 == 0)
    X, y, odds = X[kept], y[kept], truth[kept] / (1 - truth[kept]) / 8
    model = CellClassifier(**GIVEN, class_weight="balanced", probability=True).fit(X[:2000], y[:2000])
    found = model.predict_proba(X[2000:])[:, 1]
    assert found.mean() == pytest.approx((odds / (1 + odds))[2000:].mean(), abs=0.02)
    # weights restore the balance
    weights = np.where(y[:2000] == 1, 8.0, 1.0)
    weighed = CellClassifier(**GIVEN, probability=True).fit(X[:2000], y[:2000], sample_weight=weights)
    restored = weighed.predict_proba(X[2000:])[:, 1]
    assert restored.mean() == pytest.approx((8 * odds / (1 + 8 * odds))[2000:].mean(), abs=0.04)


def test_cells_with_most_rows_of_a_rare_class_are_held_out_too(monkeypatch):
    """Cells all over the data contain no row of a class in one corner."""
    monkeypatch.setattr(calibrating, "MOST_CELLS", 8)
    X = np.random.default_rng(0).random((8000, 2))
    y = (X.max(axis=1) < 0.06).astype(int)
    model = CellClassifier(**GIVEN, max_cell_rows=100, probability=True).fit(X, y)
    found = model.predict_proba(X)[:, 1]
    assert found[y == 1].mean() > 0.6
    assert found[y == 0].mean() < 0.002


def test_unless_they_are_not_wanted():
    X, y, _ = drawn(300)
    model = CellClassifier(**GIVEN, probability=False).fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="gives no probabilities: set probability=True"):
        _ = model.predict_proba
    assert hasattr(CellClassifier(), "predict_proba")
    assert "probability" not in CellRegressor.hyperparameters
    with pytest.raises(InputError, match="fitted without probabilities"):
        model.set_params(probability=True).predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), CellClassifier(**GIVEN).fit(X, y).predict(X))


def test_the_machine_that_is_chosen_gives_them_too():
    X, y, truth = drawn(600)
    model = KernelClassifier(search=None, random_state=0).fit(X, y)
    assert model.algorithm_ == "cells"
    assert np.corrcoef(model.predict_proba(X)[:, 1], truth)[0, 1] > 0.8
    wide = np.random.default_rng(0).normal(size=(80, 1200)) + 0.1 * np.arange(80)[:, None]
    chosen = KernelClassifier(search=None, probability=True, random_state=0).fit(wide, np.arange(80) % 2)
    assert chosen.algorithm_ != "cells"
    np.testing.assert_allclose(chosen.predict_proba(wide).sum(axis=1), 1.0)


@pytest.mark.parametrize(("n_rows", "cell_rows"), [(5000, 1900), (10_000, 800)])
def test_the_held_out_score_of_real_targets_counts_cells_of_large_errors(n_rows, cell_rows):
    """Noise is a hundred times as large in a tenth of the space, that is, in some cells."""
    generator = np.random.default_rng(1)
    X = generator.random((2 * n_rows, 2))
    y = generator.normal(size=2 * n_rows) * np.where(X[:, 0] > 0.9, 10.0, 0.1)
    settings = {"max_cell_rows": cell_rows, "search": None, "C": 1.0, "gamma": 1.0, "kernel": "rbf"}
    model = KernelRegressor(algorithm="cells", settings=settings, random_state=0).fit(X[:n_rows], y[:n_rows])
    losses = np.square(model.predict(X[n_rows:]) - y[n_rows:])
    apart = abs(losses.mean() - model.held_out_score_)
    assert apart < 2.5 * np.hypot(losses.std() / np.sqrt(n_rows), model.held_out_error_)
    assert model.held_out_error_ < losses.mean()
