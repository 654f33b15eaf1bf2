"""What holds of every loss in the folder."""

import math
import pickle
import warnings

import numpy as np
import pytest
from formulas import examples, formula, label
from hypothesis import given, settings
from hypothesis import strategies as st

from distkern.core.errors import InputError
from distkern.maths.losses import (
    CURVED_LOSSES,
    LOSSES,
    MARGIN_LOSSES,
    AbstractDualLoss,
    AbstractElementwiseLoss,
    AbstractLoss,
    find_loss,
    margin_loss,
    takes,
)
from distkern.maths.losses.base import RowConjugates
from distkern.solvers.csvrg import Iterate, Mean, csvrg_loop

GRID = np.linspace(-4.0, 4.0, 1601)
EVERY_LOSS = [pytest.param(loss, id=label(loss)) for name in LOSSES for loss in examples(find_loss(name))]

every_loss = pytest.mark.parametrize("loss", EVERY_LOSS)
every_elementwise_loss = pytest.mark.parametrize(
    "loss", [case for case in EVERY_LOSS if isinstance(case.values[0], AbstractElementwiseLoss)]
)
every_margin_loss = pytest.mark.parametrize(
    "loss", [case for case in EVERY_LOSS if case.values[0].name in MARGIN_LOSSES]
)


def targets(loss):
    return (-1.0, 1.0) if loss.target_kind == "binary" else (-1.3, 0.0, 2.1)


def grid(loss):
    """Predictions and targets, all pairs."""
    predictions, kinds = np.meshgrid(GRID, targets(loss))
    return predictions.ravel(), kinds.ravel()


def rows(loss):
    """Predictions and targets of rows, (n, k): the grid for one output, random ones for several."""
    if isinstance(loss, AbstractElementwiseLoss):
        f, y = grid(loss)
        return f[:, None], y[:, None]
    generator = np.random.default_rng(0)
    if loss.target_kind == "classes":
        return generator.uniform(-4, 4, (3000, 4)), np.eye(4)[generator.integers(4, size=3000)]
    if loss.target_kind == "samples":
        return generator.uniform(-4, 4, (3000, 1)), generator.choice([-1.0, 1.0], (3000, 1))
    k = len(loss.levels or (0,))
    f = generator.uniform(-4, 4, (3000, k))
    return f, np.repeat(generator.uniform(-4, 4, (3000, 1)), k, axis=1)


def is_smooth(of, f, step):
    """Where a function has no kink within three steps: it is all but straight, or bends with their square."""
    middle = of(f)
    bent = [np.abs(of(f + k * step) + of(f - k * step) - 2 * middle) for k in (1, 2, 3)]
    straight = bent[2] < 2e-5 * np.maximum(1, np.abs(middle))
    shares = [
        np.abs(9 * one / np.maximum(bent[2], 1e-300) - k * k) < 0.1 for k, one in enumerate(bent[:2], 1)
    ]
    smooth = straight | (shares[0] & shares[1])
    assert smooth.mean() > 0.95, "kinks at one value in twenty or more of what is to have a derivative"
    return smooth


@every_loss
def test_registered_under_its_own_name(loss):
    assert isinstance(loss, AbstractLoss)
    assert find_loss(loss.name) is type(loss)
    assert loss.name in LOSSES.where(takes(loss.target_kind))


@every_loss
def test_slope_is_the_fourth_order_difference_of_the_value(loss):
    f, y = rows(loss)
    slopes = loss.row_slopes(f, y)
    h = 1e-3
    for j in range(f.shape[1]):
        step = h * (np.arange(f.shape[1]) == j)
        parts = [loss.row_values(f + k * step, y) for k in (-2, -1, 1, 2)]
        difference = (parts[0] - 8 * parts[1] + 8 * parts[2] - parts[3]) / (12 * h)
        # at a kink of the value or of the slope the difference is not of fourth order
        smooth = is_smooth(lambda at, j=j: loss.row_slopes(at, y)[:, j], f, step)
        np.testing.assert_allclose(slopes[smooth, j], difference[smooth], atol=1e-8, rtol=1e-9)


@every_loss
def test_curvature_is_the_fourth_order_difference_of_the_slope(loss):
    f, y = rows(loss)
    if not math.isfinite(loss.curvature):
        with pytest.raises(InputError, match=f"'{loss.name}' has no second derivative; use one of "):
            loss.row_curvatures(f, y)
        assert loss.name not in CURVED_LOSSES
        return
    assert loss.name in CURVED_LOSSES.where(takes(loss.target_kind))
    bends, h = loss.row_curvatures(f, y), 1e-3
    assert bends.min() >= 0
    assert bends.max() <= loss.curvature * (1 + 1e-12)
    for j in range(f.shape[1]):
        step = h * (np.arange(f.shape[1]) == j)
        parts = [loss.row_slopes(f + k * step, y)[:, j] for k in (-2, -1, 1, 2)]
        difference = (parts[0] - 8 * parts[1] + 8 * parts[2] - parts[3]) / (12 * h)
        smooth = is_smooth(lambda at, j=j: loss.row_curvatures(at, y)[:, j], f, step)
        np.testing.assert_allclose(bends[smooth, j], difference[smooth], atol=1e-8, rtol=1e-9)
        # at a kink, that of one side
        sides = np.sort([loss.row_curvatures(f + k * step, y)[:, j] for k in (-1e-3, 1e-3)], axis=0)
        assert np.all((sides[0] - 1e-4 <= bends[:, j]) & (bends[:, j] <= sides[1] + 1e-4))


@every_loss
def test_products_are_differences_of_the_slope_in_a_direction(loss):
    if not math.isfinite(loss.curvature):
        return
    f, y = rows(loss)
    along = np.random.default_rng(1).standard_normal(f.shape)
    products, h = loss.row_products(f, y, along), 1e-4
    parts = [loss.row_slopes(f + k * h * along, y) for k in (-2, -1, 1, 2)]
    difference = (parts[0] - 8 * parts[1] + 8 * parts[2] - parts[3]) / (12 * h)
    smooth = np.all(is_smooth(lambda at: loss.row_curvatures(at, y), f, h * along), axis=1)
    assert smooth.mean() > 0.95
    np.testing.assert_allclose(products[smooth], difference[smooth], atol=1e-7, rtol=1e-7)


@every_loss
def test_slope_at_a_kink_is_one_of_the_smallest_modulus(loss):
    f, y = rows(loss)
    sides = np.abs([loss.row_slopes(f + h, y) for h in (-1e-9, 1e-9)])
    # a kink at a number that is not a binary fraction is hit to the last bits only
    here = np.abs([loss.row_slopes(f + h, y) for h in (-1e-12, 0.0, 1e-12)]).min(axis=0)
    assert np.all(here <= sides.min(axis=0) + 1e-6)


@every_elementwise_loss
def test_scalars_and_arrays_agree(loss):
    f, y = grid(loss)
    values, slopes = loss.value(f, y, loss.parameters), loss.derivative(f, y, loss.parameters)
    for i in range(0, len(f), 37):
        # exp of a scalar may differ in the last bit from exp in vector registers
        value = float(loss.value(float(f[i]), float(y[i]), loss.parameters))
        slope = float(loss.derivative(float(f[i]), float(y[i]), loss.parameters))
        assert value == pytest.approx(values[i], rel=1e-15)
        assert slope == pytest.approx(slopes[i], rel=1e-15)


@every_elementwise_loss
def test_rows_are_sums_over_outputs(loss):
    f, y = (array.reshape(-1, len(targets(loss)), order="F") for array in grid(loss))
    value = sum(loss.value(f[:, j], y[:, j], loss.parameters) for j in range(f.shape[1]))
    np.testing.assert_allclose(loss.row_values(f, y), value, rtol=1e-14)
    np.testing.assert_array_equal(loss.row_slopes(f, y), loss.derivative(f, y, loss.parameters))


@every_loss
def test_single_precision_stays_single(loss):
    f, y = (array.astype(np.float32) for array in rows(loss))
    functions = [(loss.row_values, f.shape[:1]), (loss.row_slopes, f.shape)]
    if math.isfinite(loss.curvature):
        functions.append((loss.row_curvatures, f.shape))
    for function, shape in functions:
        result = function(f, y)
        assert result.dtype == np.float32
        assert result.shape == shape
        # single precision may lie on the other side of a kink
        wide = f.astype(np.float64)
        exact = np.array([function(wide + h, y.astype(np.float64)) for h in (-1e-6, 0.0, 1e-6)])
        assert np.abs(result - exact).min(axis=0).max() <= 2e-6 * max(1.0, np.abs(exact).max())


@every_loss
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_predictions_do_not_overflow(loss, dtype):
    f, y = (array.astype(dtype) for array in rows(loss))
    for scale in (30.0, 1e3, 2500.0):
        with warnings.catch_warnings(), np.errstate(all="warn", under="ignore"):
            warnings.simplefilter("error")
            values, slopes = loss.row_values(scale * f, y), loss.row_slopes(scale * f, y)
            if math.isfinite(loss.curvature):
                assert np.all(np.isfinite(loss.row_curvatures(scale * f, y)))
        assert np.all(np.isfinite(values))
        assert not loss.is_non_negative or np.all(values >= 0)
        assert np.all(np.isfinite(slopes))


@every_loss
def test_values_are_those_of_the_formula(loss):
    expected = formula("LOSSES", loss)
    f, y = (array[::7] for array in rows(loss))
    exact = [expected(a, b) for a, b in zip(f.tolist(), y.tolist(), strict=True)]
    np.testing.assert_allclose(loss.row_values(f, y), exact, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_probabilities_are_a_property_of_the_loss(name):
    loss = find_loss(name)()
    if not loss.has_probabilities:
        with pytest.raises(InputError, match=f"loss: '{name}' gives no probabilities; train with"):
            loss.probabilities(np.zeros((1, 1)))
        return
    # -log of the probability of the row's class is the loss
    values = np.array([[-4.0, 1.0], [0.3, 0.2], [700.0, -30.0]])[
        :, : 2 if loss.target_kind == "classes" else 1
    ]
    chances = loss.probabilities(values)
    assert chances.dtype == np.float64
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-15)
    for code in (0, 1):
        signs = np.full((3, 1), 2.0 * code - 1)
        targets = np.eye(2)[[code] * 3] if loss.target_kind == "classes" else signs
        np.testing.assert_allclose(chances[:, code], np.exp(-loss.row_values(values, targets)), atol=1e-15)


def test_probabilities_of_classes_against_the_rest():
    logistic = find_loss("logistic")()
    extreme = logistic.probabilities(np.array([[-1e4], [1e4]], np.float32))
    np.testing.assert_array_equal(extreme, [[1, 0], [0, 1]])
    three = logistic.probabilities(np.array([[0.0, 0.0, 0.0], [-1e4, -1e4, -1e4], [np.log(3), 0.0, 0.0]]))
    np.testing.assert_allclose(three, [[1 / 3] * 3, [1 / 3] * 3, [3 / 7, 2 / 7, 2 / 7]])


def test_values_of_softmax_and_of_several_quantiles():
    softmax, three = find_loss("softmax")(), find_loss("quantile")(quantiles=(0.1, 0.5, 0.9))
    f = np.array([[1.0, 2.0, -1.0]])
    total = math.exp(1) + math.exp(2) + math.exp(-1)
    assert softmax.row_values(f, np.array([[0.0, 0, 1]])) == pytest.approx(math.log(total) + 1)
    np.testing.assert_allclose(softmax.probabilities(f).sum(), 1, rtol=1e-15)
    np.testing.assert_allclose(softmax.probabilities(f)[0], np.exp(f[0]) / total)
    # y = 1.5: short by 0.5 at 0.1, above by 0.5 at 0.5, short by 2.5 at 0.9
    y = np.full((1, 3), 1.5)
    assert three.row_values(f, y) == pytest.approx(0.1 * 0.5 + 0.5 * 0.5 + 0.9 * 2.5)
    np.testing.assert_allclose(three.row_slopes(f, y), [[-0.1, 0.5, -0.9]])


@every_loss
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0, 1), spread=st.sampled_from([1.0, 30.0]))
def test_convex_non_negative_and_bounded_curvature(loss, seed, share, spread):
    _, y = rows(loss)
    generator = np.random.default_rng(seed)
    y = y[generator.integers(len(y), size=50)]
    f, g = spread * generator.standard_normal((2, *y.shape))
    first, second, between = (loss.row_values(x, y) for x in (f, g, share * f + (1 - share) * g))
    scale = max(1.0, first.max(), second.max())
    assert not loss.is_non_negative or min(first.min(), second.min(), between.min()) >= 0
    assert np.all(between <= share * first + (1 - share) * second + 1e-10 * scale)
    change = loss.row_slopes(f, y) - loss.row_slopes(g, y)
    assert np.all(np.sum(change * (f - g), axis=1) >= -1e-10 * scale)
    if math.isfinite(loss.curvature):
        steepest = loss.curvature * np.linalg.norm(f - g, axis=1)
        assert np.all(np.linalg.norm(change, axis=1) <= steepest * (1 + 1e-9) + 1e-9)


@every_loss
def test_curvature_is_attained(loss):
    f, y = rows(loss)
    if loss.target_kind == "classes":
        # two classes share all the probability, and one gains what the other loses
        f = np.tile([10.0, 10.0, -20.0, -20.0], (len(f), 1))
        direction = np.array([1.0, -1.0, 0.0, 0.0]) / math.sqrt(2)
    else:
        direction = np.eye(f.shape[1])[0]
    if loss.target_kind == "samples":
        # beyond the cap it is a parabola
        f = f + loss.cap
    if math.isfinite(loss.curvature):
        h = 1e-4
        change = loss.row_slopes(f + h * direction, y) - loss.row_slopes(f, y)
        steepest = np.linalg.norm(change, axis=1).max() / h
        assert 0.99 * loss.curvature <= steepest <= 1.0001 * loss.curvature
    else:
        # the slope jumps: the quotient is as large as the step is small
        line = np.linspace(-4, 4, 100_001)[:, None] * np.ones(f.shape[1])
        jumps = np.abs(np.diff(loss.row_slopes(line, np.ones_like(line)), axis=0))
        assert jumps.max() >= 0.5 - 1e-9


@every_margin_loss
def test_norm_bound_holds_and_is_attained(loss):
    """-f l'(f, y) <= norm_bound; a bound that nothing reaches would let the projection do nothing."""
    f, y = grid(loss)
    attained = np.max(-f * loss.derivative(f, y, loss.parameters))
    assert attained <= loss.norm_bound * (1 + 1e-12)
    assert attained >= 0.95 * loss.norm_bound


@every_margin_loss
def test_compiled_inner_loop_gives_the_same_numbers(loss):
    """One step on a row of kernel value 1: the coefficient changes by -eta lam s (slope - slope at w~)."""
    eta, lam, weight = 0.25, 3.0, 1.7
    loop = csvrg_loop(loss, np.dtype(np.float64))
    f, y = grid(loss)
    for i in range(0, len(f), 53):
        w = Iterate(np.array([[f[i]]]), np.ones(1), np.zeros(1))
        products, signs = np.array([[-0.3, 0.0]]), np.array([[y[i]]])
        row = np.ones((1, 1)), np.zeros(1, np.intp), products, signs, np.array([weight])
        loop(*row, w, Mean.over(0, 0, 1, 1), eta, lam, False, np.zeros(1), loss.parameters)
        slopes = loss.derivative(np.array([f[i], -0.3]), y[i], loss.parameters)
        assert w.a[0] * w.v[0, 0] == pytest.approx(
            (1 - eta) * f[i] - eta * lam * weight * (slopes[0] - slopes[1]), abs=1e-12
        )
        assert w.b[0] == -eta


@pytest.mark.parametrize(
    "loss", [case for case in EVERY_LOSS if isinstance(case.values[0], AbstractDualLoss)]
)
def test_conjugate_is_the_largest_difference_to_a_line(loss):
    f = np.linspace(-60.0, 60.0, 120001)
    for y in targets(loss):
        costs = np.array([0.5, 3.0])
        rows = RowConjugates.of(loss, np.full(2, y), costs)
        for share in (-0.9, -0.2, 0.0, 0.3, 1.0):
            a = np.where(share < 0, np.minimum(rows.below, 2.0), np.minimum(rows.above, 2.0)) * share
            values = costs[:, None] * loss.value(f, y, loss.parameters)
            np.testing.assert_allclose(rows.values(a), (-a[:, None] * f - values).max(axis=1), atol=3e-5)
        # beyond the bounds there is no largest one
        for bound, sign in ((rows.above, 1.0), (rows.below, -1.0)):
            if np.isfinite(bound).all():
                beyond = sign * (bound + 0.1)
                differences = -beyond[:, None] * f - costs[:, None] * loss.value(f, y, loss.parameters)
                assert (np.argmax(differences, axis=1) == (0 if sign > 0 else f.size - 1)).all()


@every_loss
def test_pickles(loss):
    copy = pickle.loads(pickle.dumps(loss))
    assert copy == loss
    if isinstance(loss, AbstractElementwiseLoss):
        assert copy.parameters == loss.parameters
        assert all(type(number) is float for number in loss.parameters)


@every_loss
def test_unknown_name_suggests_this_one(loss):
    with pytest.raises(InputError, match=f"did you mean '{loss.name}'"):
        find_loss(loss.name + "x")


def test_from_parameters_takes_what_it_has():
    assert find_loss("huber").from_parameters(delta=2.0, epsilon=1.0) == find_loss("huber")(delta=2.0)
    assert find_loss("quantile").from_parameters(quantiles=0.25).quantiles == (0.25,)


def test_losses_of_the_margin():
    assert {"hinge", "logistic", "odm", "squared_hinge"} <= set(MARGIN_LOSSES)
    assert margin_loss(find_loss("odm")()).name == "odm"
    others = ", ".join(MARGIN_LOSSES)
    for name in ("softmax", "square"):
        with pytest.raises(InputError, match=f"not a loss of the margin.*use one of {others}"):
            margin_loss(find_loss(name)())


@every_loss
def test_a_loss_that_says_it_is_quadratic_is_and_knows_its_outputs(loss):
    """One Newton step is taken for the minimum of a quadratic loss, so its slopes must be affine."""
    predictions, kinds = rows(loss)
    shifted = np.zeros_like(predictions)
    shifted[:, 0] = 1.0
    steps = [loss.row_slopes(predictions + number * shifted, kinds) for number in range(3)]
    bent = np.abs(steps[2] - 2 * steps[1] + steps[0]).max()
    assert bent < 1e-9 if loss.is_quadratic else loss.name != "square"
    outputs = loss.n_outputs(3)
    loss.check_outputs(outputs)
    several = loss.target_kind in ("binary", "classes")
    assert outputs == (3 if several else len(loss.levels or (0,)))
