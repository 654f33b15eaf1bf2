"""RBCD against scikit-learn's minima and a plain loop; parties and resumption."""

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.maths.bases.landmarks import NystroemBasis
from distkern.maths.bases.linear import LinearBasis
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.landmarks import Nystroem
from distkern.maths.features.linear import Linear
from distkern.maths.features.random import Random
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.solvers.base import Trouble
from distkern.solvers.compare.rbcd import RBCD
from distkern.solvers.risk import Risk
from feature_problems import (
    basis_values,
    keeps_its_bits,
    machine_minimum,
    nu_of,
    penalised_risk,
    targets_of,
    train,
    waves,
)

RBF = KernelChoice(find_kernel("rbf"), 1.0)
RANDOM = Random(RBF, 64)
NU = 1e-3


def solver(loss="logistic", outputs=1, features=RANDOM, *, options=None, risk=None, **settings):
    risk = risk or Risk(find_loss(loss)(**(options or {})), outputs)
    return RBCD(risk, features, **{"nu": NU, "block_size": 20, "stages": 5, "tol": 0.0, **settings})


@pytest.mark.slow
@pytest.mark.parametrize(
    "features",
    [
        RANDOM,
        pytest.param(Nystroem(RBF, n_landmarks=30), marks=pytest.mark.slow),
        pytest.param(Linear(), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "loss", ["logistic", pytest.param("squared_hinge", marks=pytest.mark.slow), "square"]
)
def test_reaches_the_minimum_that_scikit_learn_finds(loss, features):
    blocks = waves(classes=0 if loss == "square" else 2)
    subject = solver(loss, features=features, nu=1e-2, stages=40)
    states, _ = train(subject, blocks)
    z, y = basis_values(subject, states[0], blocks), targets_of(subject, blocks)
    minimum, last = machine_minimum(subject, z, y), states[-1]
    own = penalised_risk(subject, z, y, last.coefficients, offset=0.0 if loss == "square" else last.center)
    assert last.objective == pytest.approx(own, rel=1e-12)
    assert minimum * (1 - 1e-6) < last.objective < minimum * (1 + 1e-3)
    gaps = np.diff([state.objective for state in states])
    assert (gaps <= 1e-12).all(), "a step of coordinate descent never ascends"


def test_one_block_of_a_parabola_is_solved_in_a_step():
    blocks = waves()
    subject = solver("square", block_size=64, stages=1)
    states, _ = train(subject, blocks)
    z, y = basis_values(subject, states[0], blocks), targets_of(subject, blocks)
    curvature = subject.risk.loss.curvature
    w = np.linalg.solve(curvature * z.T @ z / len(z) + NU * np.eye(64), curvature * z.T @ y / len(z))
    np.testing.assert_allclose(states[-1].coefficients, w, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("order", ["shuffled", "iid"])
@pytest.mark.parametrize(("loss", "classes", "outputs"), [("logistic", 2, 1), ("softmax", 3, 3)])
@pytest.mark.parametrize("precondition", [True, False])
def test_equals_a_plain_loop(loss, classes, outputs, precondition, order):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    blocks = waves(300, classes=classes, weights=weights)
    risk = Risk(find_loss(loss)(), outputs, None, float(weights.mean()))
    subject = solver(risk=risk, precondition=precondition, order=order, stages=2)
    states, runner = train(subject, blocks)
    z, y, s = basis_values(subject, states[0], blocks), targets_of(subject, blocks), weights / weights.mean()
    drawn = [ask.wanted for ask in runner.asked if ask.wanted is not None]
    assert len(drawn) == 2 * 4
    if order == "shuffled":
        assert {run.start for run in drawn[:4]} == {0, 20, 40, 60}
    w, nu = np.zeros((65, outputs)), nu_of(subject, z)
    found = []
    for number, run in enumerate(drawn):
        own = z[:, run]
        gradient = own.T @ (s[:, None] * risk.loss.row_slopes(z @ w, y)) / 300 + nu[run] * w[run]
        hessian = risk.loss.curvature * (own * s[:, None]).T @ own / 300 + NU * np.eye(own.shape[1])
        if precondition:
            w[run] -= np.linalg.solve(hessian, gradient)
        else:
            w[run] -= gradient / np.linalg.eigvalsh(hessian)[-1]
        if number % 4 == 3:
            found.append(w.copy())
    for state, wanted in zip(states[1:], found, strict=True):
        np.testing.assert_allclose(state.coefficients, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())
        own = penalised_risk(subject, z, y, wanted, s, state.center)
        assert state.objective == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_parties_lost_workers_and_resumption_change_no_bit(dtype):
    keeps_its_bits(solver("softmax", 3), waves(classes=3, dtype=dtype))


def test_nothing_of_rows_times_features_is_sent_or_kept():
    states, runner = train(solver(), waves(classes=2))
    (resident,) = runner.residents["block steps"]
    for group in range(8):
        (kept,) = resident.saved(group).values()
        assert kept.shape[1] == 1
    arrays = [part for answer in runner.answers for part in answer if isinstance(part, np.ndarray)]
    assert max(part.size for part in arrays) <= 20
    assert states[-1].coefficients.size == 65


def test_the_tolerance_stops_a_run():
    subject = solver(stages=100, tol=1e-4)
    states, _ = train(subject, waves(classes=2))
    assert len(states) < 60
    last, before = states[-1], states[-2]
    enough = 1e-4 * (states[0].objective - last.objective)
    # falling on by the same share of each last decrease
    assert last.decrease / (1 - last.decrease / before.decrease) <= enough
    assert [state.is_slow for state in states] == [False] * (len(states) - 1) + [True]
    measures = subject.measures(last)
    assert measures.converged == (last.upper <= enough) != bool(measures.stopped)


def test_losses_whose_slope_jumps_are_refused():
    with pytest.raises(InputError, match=r"loss: 'hinge' has a slope that jumps.*squared_hinge"):
        solver("hinge")
    assert "larger nu" in solver().hint(Trouble.DIVERGED)


RUNS = [slice(0, 5), slice(5, 32), slice(32, 33), slice(33, 40)]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["random", "cut", "scalar", "nystroem", "linear", "constant"])
def test_runs_of_functions_are_columns_of_all(kind, sparse):
    generator = np.random.default_rng(0)
    rows = np.where(generator.random((2100, 40)) < 0.5, generator.standard_normal((2100, 40)), 0.0)
    kernel = find_kernel("rbf")(gamma=0.1)
    basis = {
        "random": lambda: RandomFeatureBasis(kernel, 40, 40, 3, dtype=float, block_size=32),
        "cut": lambda: RandomFeatureBasis(kernel, 40, 40, 3, dtype=float, block_size=16, normalize="block"),
        "scalar": lambda: RandomFeatureBasis(
            find_kernel("arc_cosine")(), 40, 40, 3, dtype=float, block_size=7
        ),
        "nystroem": lambda: NystroemBasis(kernel, rows[:40]),
        "linear": lambda: LinearBasis(40, float),
        "constant": lambda: LinearBasis(39, float, constant=True),
    }[kind]()
    given = rows[:, :39] if kind == "constant" else rows
    wanted = np.asarray(basis.values(given))
    found = np.full(wanted.shape, np.nan)
    for number, tile in basis.column_tiles(SparseRows.of_dense(given) if sparse else given, RUNS):
        found[tile.rows, RUNS[number]] = tile.values
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
