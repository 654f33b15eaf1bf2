"""The objective's parts on a block, and the sums of a snapshot."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from distkern.core.types import Block
from distkern.losses import find_loss, margin_loss_names
from distkern.solvers.objective import Objective
from distkern.solvers.snapshot import Snapshot, snapshot
from problems import overlapping


def block_of(codes, *, weights=None, dtype="float32"):
    return Block(np.zeros((len(codes), 1), dtype=dtype), np.array(codes, dtype=np.int32), weights)


def objective(loss="odm", lam=2.0, outputs=1, **options):
    return Objective(find_loss(loss)(), lam, outputs, **options)


def test_signs_of_two_classes_and_of_one_against_the_rest():
    signs = objective().signs(block_of([0, 1, 1]))
    assert signs.tolist() == [[-1], [1], [1]]
    assert signs.dtype == np.float32
    signs = objective(outputs=3).signs(block_of([0, 2, 1], dtype="float64"))
    assert signs.tolist() == [[1, -1, -1], [-1, -1, 1], [-1, 1, -1]]
    assert signs.dtype == np.float64


def test_weights_multiply_row_and_class_and_leave_the_block_alone():
    raw = np.array([1.0, 2.0, 3.0])
    block = block_of([0, 1, 1], weights=raw)
    assert objective().weights(block_of([0, 1])) is None
    chosen = objective(class_weights=np.array([10.0, 0.5]), mean_weight=2.0).weights(block)
    np.testing.assert_allclose(chosen, [5.0, 0.5, 0.75])
    np.testing.assert_array_equal(raw, [1.0, 2.0, 3.0])
    read_only = raw.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(objective().weights(block_of([0, 1, 1], weights=read_only)), raw)


@pytest.mark.parametrize("loss", margin_loss_names())
@pytest.mark.parametrize("lam", [2.0, np.float64(2.0), 2])
def test_single_precision_is_not_widened(loss, lam):
    predictions, signs = np.ones((4, 1), np.float32), -np.ones((4, 1), np.float32)
    assert objective(loss, lam).alpha(predictions, signs, None).dtype == np.float32
    loss_of_numpy_numbers = find_loss("odm")(theta=np.float64(0.4), mu=np.float64(0.4))
    assert Objective(loss_of_numpy_numbers, 1.0, 1).alpha(predictions, signs, None).dtype == np.float32


def test_mistakes():
    block = block_of([0, 1, 1, 0])
    nan = float("nan")
    assert objective().mistakes(np.array([[-1.0], [1.0], [-1.0], [nan]]), block) == 2
    # 0 predicts the first class, in training as in predict
    assert objective().mistakes(np.zeros((4, 1)), block) == 2
    three = objective(outputs=3)
    predictions = np.array([[1.0, 0, 0], [0, 1, 2], [0, 1, 0], [5, nan, 1]])
    assert three.mistakes(predictions, block) == 2


def test_smoothness():
    assert objective("odm", 3.0).smoothness(2.0) == pytest.approx(1 + 2 * 3 * 2 / 0.36)
    assert objective("hinge").smoothness(1.0) == np.inf


@pytest.mark.parametrize("loss", [name for name in margin_loss_names() if name in reference.LOSSES])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_snapshot_sums_the_plain_formulas(loss, classes, dtype):
    """More rows than a tile, with weights."""
    case = overlapping(1500, 3, classes=classes, dtype=dtype)
    case.raw_weights = np.random.default_rng(1).exponential(size=1500)
    parts = case.parts(loss, lam=2.5, n_landmarks=40)
    landmarks = case.features[:40]
    sigma = np.random.default_rng(2).standard_normal((40, case.n_outputs)) / 4
    model = parts_model(case, parts, landmarks, sigma)
    K_rows, _ = case.grams(landmarks)
    gradient, losses = np.zeros_like(sigma), np.zeros(case.n_outputs)
    for i in range(1500):
        for j in range(case.n_outputs):
            value, slope = reference.LOSSES[loss](K_rows[i] @ sigma[:, j], case.signs[i, j])
            losses[j] += case.scaled_weights[i] * value
            gradient[K_rows[i].argmax(), j] += 2.5 * case.scaled_weights[i] * slope
    sums = [snapshot(block, model) for block in case.runner().blocks["train"]]
    total = Snapshot.add(Snapshot.add(sums[0], sums[1]), sums[2])
    tolerance = 2e-3 if dtype == "float32" else 1e-9
    if loss == "hinge" and dtype == "float32":
        # a margin within rounding of the kink counts or does not
        tolerance *= 10
    np.testing.assert_allclose(total.gradient, gradient, atol=tolerance)
    np.testing.assert_allclose(total.losses, losses, rtol=1e-5 if dtype == "float32" else 1e-11)
    assert total.n_rows == 1500
    assert total.gradient.dtype == np.float64


def parts_model(case, parts, landmarks, sigma):
    return parts.model(case.problem, landmarks, 2.0, sigma)
