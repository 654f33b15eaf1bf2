"""Targets, weights, slopes and errors of every kind of loss."""

from functools import reduce

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.core.types import Block
from distkern.maths.losses import LOSSES, find_loss
from distkern.solvers.risk import Risk
from distkern.solvers.targets import TargetSummary


def block_of(targets, *, weights=None, dtype="float32"):
    targets = np.asarray(targets)
    return Block(np.zeros((len(targets), 2), dtype), targets, weights)


def risk(loss, outputs=1, **options):
    return Risk(find_loss(loss)(), outputs, **options)


def test_targets_of_classes():
    assert risk("logistic").targets(block_of([0, 1, 1])).tolist() == [[-1], [1], [1]]
    assert risk("hinge", 3).targets(block_of([2, 0])).tolist() == [[-1, -1, 1], [1, -1, -1]]
    assert risk("softmax", 3).targets(block_of([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    # two competing classes are two outputs
    assert risk("softmax", 2).targets(block_of([1])).tolist() == [[0, 1]]


def test_real_targets_are_repeated_over_quantiles():
    quantiles = Risk(find_loss("quantile")(quantiles=(0.1, 0.9)), 2)
    assert quantiles.targets(block_of([0.5, -2.0])).tolist() == [[0.5, 0.5], [-2.0, -2.0]]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_dtypes_and_shapes(name, dtype, weighted):
    loss = find_loss(name)()
    k = loss.n_outputs(3)
    one = Risk(loss, k, mean_weight=2.0 if weighted else 1.0)
    block = block_of([0, 1, 1, 0], weights=np.array([1.0, 2, 3, 2]) if weighted else None, dtype=dtype)
    y, s = one.targets(block), one.weights(block)
    f = np.full((4, k), 0.3, dtype)
    assert y.dtype == f.dtype
    assert one.slopes(f, y, s).dtype == f.dtype
    assert one.slopes(f, y, s).shape == (4, k)
    assert one.values(f, y, s).dtype == np.float64
    if weighted:
        np.testing.assert_allclose(s, [0.5, 1, 1.5, 1])
        np.testing.assert_allclose(one.values(f, y, s), s * one.values(f, y, None))
        np.testing.assert_allclose(one.slopes(f, y, s), s[:, None] * one.slopes(f, y, None), rtol=1e-6)


def test_class_weights_multiply_row_weights():
    one = risk("hinge", class_weights=np.array([1.0, 4.0]), mean_weight=2.0)
    weights = one.weights(block_of([0, 1, 1], weights=np.array([1.0, 2.0, 3.0])))
    assert weights.tolist() == [0.5, 4.0, 6.0]
    assert risk("hinge").weights(block_of([0, 1])) is None


def test_errors_of_classes_count_what_is_not_a_number():
    nan = float("nan")
    f = np.array([[-1.0], [1.0], [nan], [nan]])
    assert risk("logistic").errors(f, block_of([0, 0, 0, 1])) == 3
    three = np.array([[0.1, 0.2, 0.0], [0.0, 1.0, nan], [3.0, 1.0, 2.0]])
    assert risk("softmax", 3).errors(three, block_of([1, 1, 2])) == 2


def test_errors_are_of_the_weights_of_rows_and_not_of_classes():
    weights = np.array([2.0, 3.0, 5.0])
    one = risk("hinge", class_weights=np.array([1.0, 100.0]), mean_weight=7.0)
    assert one.errors(np.array([[1.0], [1.0], [-1.0]]), block_of([0, 1, 1], weights=weights)).tolist() == [
        7.0
    ]
    found = risk("square").errors(np.array([[1.0], [3.0], [0.0]]), block_of([0.0, 1.0, 0.0], weights=weights))
    assert found.tolist() == [2 + 3 * 4, 2 + 3 * 2]


def test_single_precision_is_not_widened_and_weights_of_rows_are_left_alone():
    raw = np.array([1.0, 2.0, 3.0])
    raw.flags.writeable = False
    loss = find_loss("odm")(theta=np.float64(0.4), mu=np.float64(0.4))
    one, block = Risk(loss, class_weights=np.array([10.0, 0.5])), block_of([0, 1, 1], weights=raw)
    assert one.slopes(np.ones((3, 1), np.float32), one.targets(block), None).dtype == np.float32
    np.testing.assert_allclose(one.weights(block), [10.0, 1.0, 1.5])


def test_0_predicts_the_first_class_in_training_as_in_predict():
    assert risk("hinge").errors(np.zeros((4, 1)), block_of([0, 1, 1, 0])) == 2


def test_errors_of_real_targets_are_squares_and_moduli():
    assert risk("absolute").errors(np.array([[1.0], [3.0]]), block_of([0.5, 1.0])).tolist() == [4.25, 2.5]
    both = Risk(find_loss("quantile")(quantiles=(0.1, 0.9)), 2)
    assert both.errors(np.array([[1.0, 3.0]]), block_of([1.0])).tolist() == [2.0, 1.0]
    assert risk("square").errors(np.array([[np.nan]]), block_of([0.0])).tolist() == [np.inf, np.inf]


def test_errors_of_scaled_targets_are_in_their_own_units():
    scaled = risk("square", center=np.array([100.0]), scale=10.0)
    block = block_of([100.0, 130.0])
    assert scaled.targets(block)[:, 0].tolist() == [0.0, 3.0]
    assert scaled.errors(np.array([[0.5], [3.0]]), block).tolist() == [25.0, 5.0]


def test_outputs():
    assert find_loss("hinge")().n_outputs(2) == 1
    assert find_loss("hinge")().n_outputs(4) == 4
    assert find_loss("softmax")().n_outputs(2) == 2
    assert find_loss("square")().n_outputs() == 1
    assert find_loss("quantile")(quantiles=(0.1, 0.5)).n_outputs() == 2
    with pytest.raises(InputError, match="quantiles: 1 quantiles for 2 outputs"):
        risk("quantile", 2)
    with pytest.raises(InputError, match="compares the outputs"):
        risk("softmax", 1)


def summary(values, weights=None, size=5000):
    weights = np.ones(len(values)) if weights is None else weights
    parts = [
        TargetSummary.of(values[start : start + size], weights[start : start + size])
        for start in range(0, len(values), size)
    ]
    while len(parts) > 1:
        # as the engine combines them
        parts = [reduce(TargetSummary.add, parts[start : start + 8]) for start in range(0, len(parts), 8)]
    return parts[0]


def drawn(name, n=200_000):
    generator = np.random.default_rng(0)
    return {
        "sorted": lambda: np.sort(generator.standard_normal(n)),
        "offset": lambda: 1e7 + 1e-3 * generator.standard_normal(n),
        "tiny": lambda: 1e-300 * generator.random(n),
        "heavy tails": lambda: generator.standard_cauchy(n),
        "few values": lambda: generator.integers(0, 3, n).astype(float),
    }[name]()


@pytest.mark.parametrize("name", ["sorted", "offset", "tiny", "heavy tails", "few values"])
def test_moments_and_ranks(name):
    values = drawn(name)
    found = summary(values)
    assert len(found.points) <= 2**14
    assert found.weight == pytest.approx(len(values))
    assert found.mean == pytest.approx(values.mean(), rel=1e-12)
    assert found.variance == pytest.approx(values.var(), rel=1e-6 if name == "offset" else 1e-9, abs=0)
    ordered = np.sort(values)
    for level in (0.001, 0.1, 0.5, 0.9, 0.999):
        point = found.quantile(level)
        low, high = (np.searchsorted(ordered, point, side) / len(values) for side in ("left", "right"))
        assert low - 12 / 2**14 <= level <= high + 12 / 2**14


def test_few_targets_have_exact_weighted_quantiles():
    generator = np.random.default_rng(1)
    values, weights = generator.random(3000), generator.integers(1, 5, 3000).astype(float)
    found = summary(values, weights, size=100)
    repeated = np.sort(np.repeat(values, weights.astype(int)))
    for level in (0.1, 0.25, 0.5, 0.9):
        assert found.quantile(level) == repeated[int(np.ceil(level * len(repeated))) - 1]
    assert found.mean == pytest.approx(np.average(values, weights=weights), rel=1e-13)


def test_nothing_and_constants():
    nothing = TargetSummary.of(np.empty(0), np.empty(0))
    some = TargetSummary.of(np.full(7, 0.1), np.full(7, 3.0))
    assert TargetSummary.add(nothing, some) is some
    assert TargetSummary.add(some, nothing) is some
    assert TargetSummary.add(some, some).variance == 0.0
