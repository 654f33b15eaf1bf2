"""SVRG over explicit features: exact minima, a plain loop, losses, weights, features and refusals."""

import dataclasses
from functools import partial

import numpy as np
import pytest

from distkern.core.errors import DivergenceError, InputError
from distkern.core.sparse import SparseRows
from distkern.engine.checkpoint import CheckpointFolder
from distkern.maths.features import find_features
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.landmarks import Landmarks
from distkern.maths.features.linear import Linear
from distkern.maths.features.random import Random
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.passes.machine import MIB
from distkern.solvers.base import Problem, Trouble
from distkern.solvers.risk import Risk
from distkern.solvers.svrg import SVRG
from feature_problems import (
    basis_values,
    exact_minimum,
    features_of_kind,
    machine_minimum,
    nu_of,
    planned_bytes,
    run_by_engine,
    targets_of,
    train,
    waves,
)
from small import slow_but

RBF = KernelChoice(find_kernel("rbf"), 1.0)
RANDOM = Random(RBF, 16)
NU = 1e-2


def solver(loss="square", outputs=1, features=RANDOM, *, options=None, risk=None, **settings):
    defaults = {"nu": NU, "stages": 4, "tol": 0.0, "batch_size": 40}
    risk = risk or Risk(find_loss(loss)(**(options or {})), outputs)
    return SVRG(risk, features, **{**defaults, **settings})


#: uneven blocks with more noise
rows = partial(waves, sizes=(250, 150, 200), noise=0.5)


CASES = {
    "square": (0, 1, {}),
    "huber": (0, 1, {"delta": 0.5}),
    "logistic": (2, 1, {}),
    "squared_hinge": (2, 1, {}),
    "softmax": (3, 3, {}),
}


@pytest.mark.parametrize("loss", slow_but(CASES, "square", "logistic"))
@pytest.mark.parametrize("precondition", [True, False])
def test_converges_linearly_to_the_exact_minimum(loss, precondition):
    classes, outputs, options = CASES[loss]
    blocks = rows(classes=classes)
    if precondition:
        subject = solver(loss, outputs, options=options, precondition=True, stages=8)
    else:
        # without a metric the rate is that of the worst direction, so it is made less bad
        subject = solver(loss, outputs, options=options, precondition=False, nu=0.1, stages=12, batch_size=8)
    states, _ = train(subject, blocks)
    z = basis_values(subject, states[0], blocks)
    w, minimum = exact_minimum(subject.risk, z, targets_of(subject, blocks), nu_of(subject, z))
    gaps = np.array([state.objective - minimum for state in states])
    # the last digits of the objective are rounding
    assert np.all(gaps[2:] < 0.6 * gaps[1:-1] + 1e-14), gaps
    assert gaps[-1] < 1e-9 * gaps[0]
    assert np.abs(states[-1].coefficients - w).max() < 1e-3 * np.abs(w).max()
    assert states[-1].change < states[2].change < states[1].change


def plain_svrg(subject, z, y, s, stages, eta, inverse):
    """Return w after each stage by plain loops over rows and the whole matrix of features."""
    n, loss = len(z), subject.risk.loss
    w = np.zeros((z.shape[1], y.shape[1]))
    found = []
    for sampled, ends in stages:
        start = w.copy()

        def slope(i, at):
            return s[i] * loss.row_slopes((z[i] @ at)[None, :], y[i][None, :])[0]

        mu = sum(np.outer(z[i], slope(i, start)) for i in range(n)) / n
        first = 0
        for end in ends:
            batch = sampled[first:end]
            v = np.zeros_like(w)
            for i in batch:
                v += np.outer(z[i], slope(i, w) - slope(i, start)) / len(batch)
            w = w - eta * inverse @ (v + mu + nu_of(subject, z) * w)
            first = end
        found.append(w.copy())
    return found


@pytest.mark.parametrize("order", ["shuffled", "iid"])
@pytest.mark.parametrize(("loss", "classes", "outputs"), [("logistic", 2, 1), ("softmax", 3, 3)])
@pytest.mark.parametrize("precondition", [True, False])
def test_equals_plain_loops(order, loss, classes, outputs, precondition):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    blocks = rows(300, classes=classes, weights=weights, sizes=[120, 77, 103])
    risk = Risk(find_loss(loss)(), outputs, None, float(weights.mean()))
    subject = solver(
        risk=risk,
        precondition=precondition,
        order=order,
        stages=2,
        batch_size=70,
        steps_per_stage=1.5,
        damping=1e-3,
    )
    states, runner = train(subject, blocks)
    z, y, s = basis_values(subject, states[0], blocks), targets_of(subject, blocks), weights / weights.mean()
    eta, inverse = 0.5, np.eye(17)
    if precondition:
        # all rows are in the sample
        metric = risk.loss.curvature * z.T @ (s[:, None] * z) / len(z)
        inverse = np.linalg.inv(metric + (NU + 1e-3) * np.eye(17))
    else:
        largest = (s * np.sum(z**2, axis=1)).max()
        eta = 1 / ((risk.loss.curvature * largest + NU) * (2 + 8 / 70))
    # 450 rows in 6 batches of about 70
    ends = [75, 150, 225, 300, 375, 450]
    stages = [(np.concatenate(sampled), ends) for sampled in runner.sampled]
    wanted = plain_svrg(subject, z, y, s, stages, eta, inverse)
    for state, w in zip(states[1:], wanted, strict=True):
        np.testing.assert_allclose(state.coefficients, w, rtol=0, atol=1e-9 * np.abs(w).max())


@pytest.mark.parametrize("kind", ["linear", "nystroem", "landmarks"])
def test_other_features(kind):
    blocks = rows(classes=2)
    choice = features_of_kind(kind, RBF, n_landmarks=20)
    subject = solver("logistic", features=choice, stages=15)
    states, runner = train(subject, blocks, test=rows(classes=2, seed=5))
    z = basis_values(subject, states[0], blocks)
    assert z.shape[1] == {"linear": 4, "nystroem": 21, "landmarks": 21}[kind]
    assert len(states[0].landmarks) == (0 if kind == "linear" else 20)
    _, minimum = exact_minimum(subject.risk, z, targets_of(subject, blocks), nu_of(subject, z))
    assert states[-1].objective == pytest.approx(minimum, rel=1e-7)
    assert states[-1].test_error < 0.35
    assert runner.made.count("Gram matrix") == 1


@pytest.mark.parametrize("features", [RANDOM, Linear(), Landmarks(RBF, 9)])
def test_sparse_rows_as_dense_ones(features):
    blocks = rows(300, 6, classes=2, sizes=(125, 75, 100))
    thinned = [
        dataclasses.replace(block, features=np.where(np.abs(block.features) > 0.5, block.features, 0.0))
        for block in blocks
    ]
    sparse = [dataclasses.replace(block, features=SparseRows.of_dense(block.features)) for block in thinned]
    subject = solver("logistic", features=features)
    one, other = train(subject, thinned)[0][-1], train(subject, sparse)[0][-1]
    np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=1e-7, atol=1e-10)
    assert one.objective == pytest.approx(other.objective, rel=1e-10)
    without = dataclasses.replace(subject, precondition=False)
    one, other = train(without, thinned)[0][-1], train(without, sparse)[0][-1]
    np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=1e-7, atol=1e-10)


def test_single_precision_is_nearly_as_good():
    """Differences of slopes shrink with w's steps, so single precision does not stop the descent early."""
    single, double = (rows(classes=2, dtype=dtype) for dtype in ("float32", "float64"))
    subject = solver("logistic", stages=12)
    found, wanted = train(subject, single)[0][-1], train(subject, double)[0][-1]
    assert found.objective == pytest.approx(wanted.objective, rel=1e-6)
    assert found.change < 1e-5
    assert found.coefficients.dtype == np.float64


def test_a_loss_whose_slope_jumps_ends_near_the_minimum():
    blocks = rows(classes=2)
    subject = solver("hinge", nu=0.1, stages=20, batch_size=100)
    states, _ = train(subject, blocks)
    minimum = machine_minimum(subject, basis_values(subject, states[0], blocks), targets_of(subject, blocks))
    assert minimum < states[-1].objective < 1.02 * minimum


def test_the_tolerance_stops_a_run():
    blocks = rows(classes=2)
    subject = solver("logistic", stages=50, tol=1e-4)
    states, _ = train(subject, blocks)
    assert len(states) < 30
    last, zero = states[-1], states[0].objective
    own = last.gradient + subject.nu * last.coefficients
    constant = abs(last.gradient[-1, 0])
    square = (np.linalg.norm(own[:-1]) + np.sqrt(last.largest[0]) * constant) ** 2 + constant**2
    assert subject.bound(last) == pytest.approx(square / (2 * subject.nu))
    assert subject.measures(last).converged
    assert subject.bound(last) <= 1e-4 * (zero - last.objective)
    assert subject.bound(states[-2]) > 1e-4 * (zero - states[-2].objective)


def test_defaults_suit_the_size():
    subject = SVRG(Risk(find_loss("logistic")()), Random(RBF, 2048))
    problem = Problem((5000,) * 20, 10, np.dtype(np.float32), 0, n_outputs=1, has_test=False)
    # with a constant one
    assert subject.preconditioned(8193)
    assert not subject.preconditioned(8194)
    assert subject.rows_of_batch(problem, 2048) == 512
    assert subject.rows_of_batch(problem, 20000) == 256
    assert subject.rows_of_stage(problem) == 200_000
    few = dataclasses.replace(problem, block_rows=(100,))
    assert subject.rows_of_batch(few, 2048) == 16


def test_features_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="did you mean 'random'"):
        find_features("randon")
    with pytest.raises(InputError, match="n_features must be a positive even number"):
        Random(RBF, 15)
    wide = solver(features=Random(RBF, 8194), precondition=True)
    with pytest.raises(InputError, match="precondition supports at most 8192 features, and there are 8194"):
        train(wide, rows())


def test_divergence_is_mended_by_a_smaller_step():
    assert solver("square", step_size=1e3).hint(Trouble.DIVERGED) == "set step_size=100"
    assert "batch_size" in solver().hint(Trouble.DIVERGED)


@pytest.mark.parametrize("step", [1e4, 1e200])
def test_divergence_leaves_the_last_checkpoint(tmp_path, step):
    subject = solver("softmax", 3, step_size=step, nu=1.0)
    folder = CheckpointFolder(tmp_path, {"job": 1})
    with pytest.raises(DivergenceError, match=r"set step_size=1e.*checkpoint of stage 0 is kept"):
        run_by_engine(subject, waves(classes=3, dtype="float32"), folder=folder)
    assert folder.stages() == [0]
    assert folder.load(subject.state_type()).state.stage == 0


@pytest.mark.parametrize(("r", "limit"), [(2048, 512), (2**17, 512)])
def test_many_features_fit_the_planned_memory(r, limit):
    subject = SVRG(Risk(find_loss("logistic")()), Random(KernelChoice(RBF.kind, "median"), r))
    for name, planned in planned_bytes(subject, limit * MIB).items():
        assert 0 < planned < 0.95 * limit * MIB, name
