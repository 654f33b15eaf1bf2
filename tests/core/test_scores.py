"""Proper scores: the likelihood of the best sigmoid or temperature, against scikit-learn's and SciPy's."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from distkern.core.scores import log_losses, mean_difference


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_sigmoid_of_one_output_is_the_best_one(unit):
    generator = np.random.default_rng(0)
    values = generator.normal(size=4000)
    codes = (generator.random(4000) < 1 / (1 + np.exp(2 - 3 * values))).astype(int)
    weights = generator.uniform(0.5, 2.0, 4000)
    best = LogisticRegression(C=np.inf, tol=1e-10).fit(values[:, None], codes, weights)
    expected = log_loss(codes, best.predict_proba(values[:, None]), sample_weight=weights)
    # Platt's targets cost next to nothing on so many rows
    found = log_losses(unit * values[:, None], codes, weights).mean()
    assert expected - 1e-9 <= found < expected + 1e-4
    # neither the slope's sign nor its size counts
    np.testing.assert_allclose(log_losses(-values[:, None], codes, weights).mean(), found, rtol=1e-6)


def test_the_temperature_of_several_outputs_is_the_best_one():
    generator = np.random.default_rng(1)
    values = generator.normal(size=(3000, 5))
    codes = (2 * values + generator.gumbel(size=values.shape)).argmax(axis=1)

    def loss(slope):
        return float(-log_softmax(slope * values, axis=1)[np.arange(3000), codes].mean())

    found = log_losses(30 * values, codes).mean()
    assert found == pytest.approx(minimize_scalar(loss, (1.0, 3.0)).fun, rel=1e-6)


def test_values_without_information_lose_the_entropy_and_no_numbers_lose_most():
    codes = np.repeat([0, 1], [980, 20])
    entropy = -(0.98 * np.log(0.98) + 0.02 * np.log(0.02))
    assert log_losses(np.zeros((1000, 1)), codes).mean() == pytest.approx(entropy, abs=1e-3)
    # an error rate is the same for these two
    better = np.where(codes == 1, -0.5, -1.0) + np.random.default_rng(0).normal(0, 0.3, 1000)
    assert log_losses(better[:, None], codes).mean() < 0.9 * entropy
    broken = better.copy()
    broken[5] = np.nan
    assert log_losses(broken[:, None], codes)[5] == 50.0


def test_mean_and_standard_error_of_paired_differences():
    losses, others = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 2.0, 2.0, 4.0])
    assert mean_difference(losses, others) == (0.5, 0.25)


def test_an_offset_that_the_sign_does_not_see_costs_where_the_sign_predicts():
    generator = np.random.default_rng(0)
    codes = (generator.random(2000) < 0.5).astype(int)
    values = np.where(codes, 1.0, -1.0) + 0.5 * generator.normal(size=2000)
    moved = values - 1.5
    free, moved_free = (log_losses(each[:, None], codes).mean() for each in (values, moved))
    assert moved_free == pytest.approx(free, rel=1e-6)
    by_sign, moved_by_sign = (
        log_losses(each[:, None], codes, by_sign=True).mean() for each in (values, moved)
    )
    assert by_sign == pytest.approx(free, rel=0.1)
    assert moved_by_sign > 1.5 * by_sign
