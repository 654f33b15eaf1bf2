"""What holds of every loss in the folder."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from distkern.core.errors import InputError
from distkern.losses import AbstractLoss, find_loss, loss_names
from distkern.solvers._loops import csvrg_loop

GRID = np.linspace(-4.0, 4.0, 1601)
EVERY_LOSS = [*[pytest.param(find_loss(name)(), id=name) for name in loss_names()]] + [
    pytest.param(find_loss("odm")(theta=theta, mu=mu), id=f"odm-{theta}-{mu}")
    for theta, mu in [(0.0, 1.0), (0.8, 0.2), (0.2, 0.05)]
]  # fmt: skip

pytestmark = pytest.mark.parametrize("loss", EVERY_LOSS)


def targets(loss):
    return (-1.0, 1.0) if loss.target_kind == "binary" else (-1.3, 0.0, 2.1)


def grid(loss):
    """Predictions and targets, all pairs."""
    predictions, kinds = np.meshgrid(GRID, targets(loss))
    return predictions.ravel(), kinds.ravel()


def test_registered_under_its_own_name(loss):
    assert isinstance(loss, AbstractLoss)
    assert find_loss(loss.name) is type(loss)


def test_derivative_is_the_fourth_order_difference_of_the_value(loss):
    f, y = grid(loss)
    h = 1e-3
    parts = [loss.value(f + k * h, y, loss.parameters) for k in (-2, -1, 1, 2)]
    difference = (parts[0] - 8 * parts[1] + 8 * parts[2] - parts[3]) / (12 * h)
    slope = loss.derivative(f, y, loss.parameters)
    # at a kink of the value or of the slope the difference is not of fourth order
    second = np.abs(
        np.diff([loss.derivative(f + k * h, y, loss.parameters) for k in (-3, 0, 3)], n=2, axis=0)
    )[0]
    smooth = second < 1e-9
    assert smooth.mean() > 0.95
    np.testing.assert_allclose(slope[smooth], difference[smooth], atol=1e-9, rtol=1e-9)


def test_slope_at_a_kink_is_the_smaller_of_the_two(loss):
    f, y = grid(loss)
    sides = np.abs([loss.derivative(f + h, y, loss.parameters) for h in (-1e-9, 1e-9)])
    slope = np.abs(loss.derivative(f, y, loss.parameters))
    assert np.all(slope <= sides.min(axis=0) + 1e-6)


def test_scalars_and_arrays_agree(loss):
    f, y = grid(loss)
    values, slopes = loss.value(f, y, loss.parameters), loss.derivative(f, y, loss.parameters)
    for i in range(0, len(f), 37):
        assert float(loss.value(float(f[i]), float(y[i]), loss.parameters)) == values[i]
        assert float(loss.derivative(float(f[i]), float(y[i]), loss.parameters)) == slopes[i]


def test_single_precision_stays_single(loss):
    f, y = (array.astype(np.float32)[:, None] for array in grid(loss))
    for function in (loss.value, loss.derivative):
        result = function(f, y, loss.parameters)
        assert result.dtype == np.float32
        assert result.shape == f.shape
        exact = function(f.astype(np.float64), y.astype(np.float64), loss.parameters)
        np.testing.assert_allclose(result, exact, atol=2e-6 * max(1.0, np.abs(exact).max()))


def test_agrees_with_the_naive_loss(loss):
    if loss.name not in reference.LOSSES:
        pytest.skip(f"the reference has no {loss.name}")
    options = {"theta": loss.theta, "mu": loss.mu} if loss.name == "odm" else {}
    for f, y in zip(*grid(loss), strict=True):
        value, slope = reference.LOSSES[loss.name](f, y, **options)
        assert loss.value(f, y, loss.parameters) == pytest.approx(value, abs=1e-12)
        assert loss.derivative(f, y, loss.parameters) == pytest.approx(slope, abs=1e-10)


@given(
    f=st.floats(-30, 30),
    g=st.floats(-30, 30),
    share=st.floats(0, 1),
    y=st.sampled_from([-1.0, 1.0]),
)
def test_convex_non_negative_and_bounded_curvature(loss, f, g, share, y):
    value = [float(loss.value(x, y, loss.parameters)) for x in (f, g, share * f + (1 - share) * g)]
    scale = max(1.0, *value)
    assert min(value) >= 0
    assert value[2] <= share * value[0] + (1 - share) * value[1] + 1e-10 * scale
    slopes = [float(loss.derivative(x, y, loss.parameters)) for x in (f, g)]
    assert (slopes[0] - slopes[1]) * (f - g) >= -1e-10 * scale
    if math.isfinite(loss.curvature):
        assert abs(slopes[0] - slopes[1]) <= loss.curvature * abs(f - g) * (1 + 1e-9) + 1e-9


def test_curvature_is_attained(loss):
    f, y = grid(loss)
    h = 1e-4
    steepest = np.max(
        np.abs(loss.derivative(f + h, y, loss.parameters) - loss.derivative(f, y, loss.parameters)) / h
    )
    if math.isfinite(loss.curvature):
        assert 0.99 * loss.curvature <= steepest <= 1.0001 * loss.curvature
    else:
        # the slope jumps: the quotient is as large as the step is small
        jump = np.max(np.abs(np.diff(loss.derivative(np.linspace(-4, 4, 100_001), 1.0, loss.parameters))))
        assert jump > 0.5


def test_norm_bound_holds_and_is_attained(loss):
    """-f l'(f, y) <= norm_bound; a bound that nothing reaches would let the projection do nothing."""
    f, y = grid(loss)
    attained = np.max(-f * loss.derivative(f, y, loss.parameters))
    assert attained <= loss.norm_bound * (1 + 1e-12)
    assert attained >= 0.95 * loss.norm_bound


def test_compiled_inner_loop_gives_the_same_numbers(loss):
    """One step on a row of kernel value 1: the coefficient changes by -eta lam s (slope - slope at w~)."""
    eta, lam, weight = 0.25, 3.0, 1.7
    loop = csvrg_loop(loss, np.dtype(np.float64))
    f, y = grid(loss)
    for i in range(0, len(f), 53):
        v, b = np.array([[f[i]]]), np.zeros(1)
        a = loop(
            np.ones((1, 1)), np.zeros(1, np.intp), np.array([[-0.3, 0.0]]), np.array([[y[i]]]),
            np.array([weight]), v, 1.0, b, eta, lam, loss.parameters, 0, 1,
        )  # fmt: skip
        slopes = loss.derivative(np.array([f[i], -0.3]), y[i], loss.parameters)
        assert a * v[0, 0] == pytest.approx(
            (1 - eta) * f[i] - eta * lam * weight * (slopes[0] - slopes[1]), abs=1e-12
        )
        assert b[0] == -eta


def test_pickles(loss):
    copy = pickle.loads(pickle.dumps(loss))
    assert copy == loss
    assert copy.parameters == loss.parameters
    assert all(type(number) is float for number in loss.parameters)


def test_unknown_name_suggests_this_one(loss):
    with pytest.raises(InputError, match=f"did you mean '{loss.name}'"):
        find_loss(loss.name + "x")
