"""The sums of a snapshot over landmarks, and the constants of a coreset problem."""

import dataclasses
from functools import reduce

import numpy as np
import pytest

import reference
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.losses import MARGIN_LOSSES
from distkern.solvers.avm import AVM
from distkern.solvers.coreset import snapshot
from distkern.solvers.measuring import Model, Sums
from problems import overlapping


def test_smoothness_and_radius():
    case = overlapping(20, 2)
    problem = dataclasses.replace(case.problem, max_relative_weight=2.0)
    odm = AVM(**case.parts("odm", lam=3.0, n_landmarks=2))
    assert odm.smoothness(problem) == pytest.approx(1 + 2 * 3 * 2 / 0.36)
    assert AVM(**case.parts("hinge", n_landmarks=2)).smoothness(problem) == np.inf
    assert AVM(**case.parts("hinge", lam=8.0, n_landmarks=2)).radius == 4.0


@pytest.mark.parametrize("loss", [name for name in MARGIN_LOSSES if name in reference.LOSSES])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_snapshot_sums_the_plain_formulas(loss, classes, dtype):
    """More rows than a tile, with weights."""
    case = overlapping(1500, 3, classes=classes, dtype=dtype)
    case.raw_weights = np.random.default_rng(1).exponential(size=1500)
    parts = case.parts(loss, lam=2.5, n_landmarks=40)
    landmarks = case.features[:40]
    sigma = np.random.default_rng(2).standard_normal((40, case.n_outputs)) / 4
    basis = LandmarkBasis(parts["features"].kernel.with_gamma(2.0), landmarks)
    model = Model(basis, sigma, parts["risk"])
    K_rows, _ = case.grams(landmarks)
    gradient, losses = np.zeros_like(sigma), 0.0
    for i in range(1500):
        for j in range(case.n_outputs):
            value, slope = reference.LOSSES[loss](K_rows[i] @ sigma[:, j], case.signs[i, j])
            losses += case.scaled_weights[i] * value
            gradient[K_rows[i].argmax(), j] += case.scaled_weights[i] * slope
    sums = [snapshot(block, model) for block in case.runner().blocks["train"]]
    total = reduce(Sums.add, sums)
    tolerance = 2e-3 if dtype == "float32" else 1e-9
    if loss == "hinge" and dtype == "float32":
        # a margin within rounding of the kink counts or does not
        tolerance *= 10
    np.testing.assert_allclose(total.gradient, gradient, atol=tolerance)
    np.testing.assert_allclose(total.losses, losses, rtol=1e-5 if dtype == "float32" else 1e-11)
    assert total.n_rows == 1500
    assert total.weight == pytest.approx(case.raw_weights.sum())
    assert total.gradient.dtype == np.float64
