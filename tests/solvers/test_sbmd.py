"""SBMD against scikit-learn's minima and a plain loop."""

import dataclasses

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.landmarks import Nystroem
from distkern.maths.features.linear import Linear
from distkern.maths.features.random import Random
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.passes import Stream
from distkern.solvers.base import Trouble
from distkern.solvers.compare.sbmd import SBMD
from distkern.solvers.risk import Risk
from feature_problems import (
    basis_values,
    machine_minimum,
    nu_of,
    penalised_risk,
    problem_of,
    targets_of,
    train,
    waves,
)

RBF = KernelChoice(find_kernel("rbf"), 1.0)
RANDOM = Random(RBF, 64)
NU = 1e-2


def solver(loss="logistic", outputs=1, features=RANDOM, *, risk=None, **settings):
    risk = risk or Risk(find_loss(loss)(), outputs)
    defaults = {"nu": NU, "batch_size": 10, "block_size": 20, "stages": 3, "precondition": False}
    return SBMD(risk, features, **{**defaults, **settings})


@pytest.mark.slow
@pytest.mark.parametrize("features", [RANDOM, Nystroem(RBF, n_landmarks=30), Linear()], ids=lambda f: f.name)
@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge"])
@pytest.mark.parametrize(("precondition", "near"), [(True, 3e-3), (False, 1e-3)])
def test_reaches_the_minimum_that_scikit_learn_finds(loss, precondition, near, features):
    blocks = waves(classes=0 if loss == "square" else 2)
    # the excess is noise of steps on 10 rows and falls as 1 / t; a preconditioner lets directions of little
    # variance in, so there is more of it
    settings = {"precondition": precondition, "stages": 8, "steps_per_stage": 50.0}
    subject = solver(loss, features=features, **settings)
    states, _ = train(subject, blocks)
    z, y = basis_values(subject, states[0], blocks), targets_of(subject, blocks)
    minimum, last = machine_minimum(subject, z, y), states[-1]
    own = penalised_risk(subject, z, y, last.coefficients, offset=0.0 if loss == "square" else last.center)
    assert last.objective == pytest.approx(own, rel=1e-12)
    assert minimum * (1 - 1e-6) < last.objective < minimum * (1 + near)


def test_a_preconditioned_step_is_divided_by_the_bound_of_its_block():
    blocks = waves(300, classes=2)
    subject = solver(precondition=True, averaging=None, block_size=65, batch_size=30, steps_per_stage=30)
    states, runner = train(dataclasses.replace(subject, stages=1), blocks)
    z, y = basis_values(subject, states[0], blocks), targets_of(subject, blocks)
    (rows,) = np.concatenate(runner.sampled).reshape(1, 30)
    damping = 0.5 * 0.25 * np.sum(z**2, axis=1).max() / 60
    bound = 0.25 * z.T @ z / 300 + (NU + damping) * np.eye(65)
    gradient = z[rows].T @ subject.risk.loss.row_slopes(np.zeros((30, 1)), y[rows]) / 30
    np.testing.assert_allclose(states[1].coefficients, -0.5 * np.linalg.solve(bound, gradient), rtol=1e-6)


def test_preconditioners_are_for_so_many_features():
    subject = solver(precondition=True)
    with pytest.raises(InputError, match="precondition supports at most 8192 features, and there are 8193"):
        subject.preconditioned(8194)


@pytest.mark.parametrize("averaging", [3, 0, None])
@pytest.mark.parametrize(("loss", "classes", "outputs"), [("hinge", 2, 1), ("softmax", 3, 3)])
def test_equals_a_plain_loop(loss, classes, outputs, averaging, monkeypatch):
    drawn = []
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    blocks = waves(300, classes=classes, weights=weights)
    risk = Risk(find_loss(loss)(), outputs, None, float(weights.mean()))
    subject = solver(risk=risk, averaging=averaging, stages=2)
    step = "distkern.solvers.compare.sbmd.stream"
    from distkern.core.rng import stream

    class Noting:
        def __init__(self, *arguments):
            self.generator = stream(*arguments)

        def integers(self, n):
            drawn.append(int(self.generator.integers(n)))
            return drawn[-1]

    monkeypatch.setattr(step, Noting)
    states, runner = train(subject, blocks)
    z, y, s = basis_values(subject, states[0], blocks), targets_of(subject, blocks), weights / weights.mean()
    curvature = risk.loss.curvature if loss == "softmax" else 1.0
    first = 1 / (curvature * (s * np.sum(z**2, axis=1)).max() + NU)
    assert states[0].first_step == pytest.approx(first)
    nu, w, total = nu_of(subject, z), *np.zeros((2, z.shape[1], outputs))
    sum_of_weights, step = 0.0, 0
    for stage, state in enumerate(states[1:]):
        # 10 blocks of 30 rows make 3 batches each
        order = np.concatenate(runner.sampled[stage])
        for start in range(0, 300, 10):
            rows = order[start : start + 10]
            block = slice(20 * drawn[step], min(20 * drawn[step] + 20, len(w)))
            slopes = s[rows, None] * risk.loss.row_slopes(z[rows] @ w, y[rows]) / 10
            gamma = first / (1 + first * NU * step / (2 * 4))
            w[block] -= gamma * (z[rows, block].T @ slopes + nu[block] * w[block])
            step += 1
            weight = 0.0 if averaging is None else float(step**averaging)
            total, sum_of_weights = total + weight * w, sum_of_weights + weight
        wanted = w if averaging is None else total / sum_of_weights
        np.testing.assert_allclose(state.coefficients, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())
        own = penalised_risk(subject, z, y, wanted, s, state.center)
        assert state.objective == pytest.approx(own, rel=1e-9)
    assert len(set(drawn)) == 4


def test_a_batch_is_not_cut_by_pieces():
    blocks = waves(classes=2)
    subject = dataclasses.replace(solver(), batch_size=100)
    (stream,) = [one.step for one in subject.outline(problem_of(blocks)) if isinstance(one.step, Stream)]
    assert stream.piece_rows % 100 == 0


def test_divergence_is_mended_by_a_smaller_step():
    assert solver(step_size=1e3).hint(Trouble.DIVERGED) == "set step_size=100"
    assert "smaller step_size" in solver().hint(Trouble.DIVERGED)
