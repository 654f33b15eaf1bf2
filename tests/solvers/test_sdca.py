"""SDCA: steps against a search, minima and gaps against scikit-learn; parties and resumption."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

import distkern
from distkern.core.errors import InputError
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.landmarks import Nystroem
from distkern.maths.features.linear import Linear
from distkern.maths.features.random import Random
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import COORDINATE_LOSSES, find_loss
from distkern.solvers.compare.sdca import SDCA
from distkern.solvers.risk import Risk
from feature_problems import (
    MACHINES,
    basis_values,
    keeps_its_bits,
    machine_minimum,
    penalised_risk,
    targets_of,
    train,
    waves,
)

RBF = KernelChoice(find_kernel("rbf"), 1.0)
RANDOM = Random(RBF, 64)
NU = 1e-2


def solver(loss="logistic", outputs=1, features=RANDOM, *, risk=None, **settings):
    risk = risk or Risk(find_loss(loss)(), outputs)
    return SDCA(risk, features, **{"nu": NU, "stages": 4, "tol": 0.0, **settings})


def conjugate(loss, dual, target, cost):
    """Return sup_f (-a f - c l(f, y)), found by a search."""

    def negative(f):
        return dual * f + cost * float(loss.value(f, target, loss.parameters))

    points = np.linspace(-40, 40, 4001)
    best = points[np.argmin([negative(point) for point in points])]
    return -minimize_scalar(negative, bounds=(best - 0.03, best + 0.03), options={"xatol": 1e-11}).fun


@pytest.mark.parametrize("cost", [pytest.param(1.0, marks=pytest.mark.slow), 0.3])
@pytest.mark.parametrize("name", COORDINATE_LOSSES)
def test_steps_in_a_dual_variable_are_exact(name, cost):
    loss, generator = find_loss(name)(), np.random.default_rng(0)
    parameters = loss.dual_parameters
    for target in (1.0, -1.0):
        before = 0.0
        for _ in range(12):
            prediction, square = generator.normal(), generator.exponential()
            after = loss.dual_minimum(prediction, square, before, target, cost, parameters)
            # f at the minimum: there the conjugate's slope is -f
            f = prediction + square * (after - before)
            slope = cost * float(loss.derivative(f, target, loss.parameters))
            if abs(after + slope) > 1e-8:
                # at a kink the slope may be anything between the two sides'
                sides = [
                    -cost * float(loss.derivative(f + step, target, loss.parameters))
                    for step in (-1e-6, 1e-6)
                ]
                assert min(sides) - 1e-5 <= after <= max(sides) + 1e-5, (target, prediction, square)
            found = loss.dual_cost(after, target, cost, parameters)
            assert found == pytest.approx(conjugate(loss, after, target, cost), abs=2e-6)
            before = after


def test_a_row_of_zeros_has_its_step_too():
    for name in COORDINATE_LOSSES:
        loss = find_loss(name)()
        dual = loss.dual_minimum(0.0, 0.0, 0.0, 1.0, 0.5, loss.dual_parameters)
        cost = loss.dual_cost(dual, 1.0, 0.5, loss.dual_parameters)
        # the loss at f = 0
        assert -cost == pytest.approx(0.5 * float(loss.value(0.0, 1.0, loss.parameters)), abs=1e-9)


@pytest.mark.parametrize("features", [RANDOM, Nystroem(RBF, n_landmarks=30), Linear()], ids=lambda f: f.name)
@pytest.mark.parametrize("loss", MACHINES)
def test_reaches_the_minimum_that_scikit_learn_finds(loss, features):
    blocks = waves(classes=0 if find_loss(loss).target_kind == "real" else 2)
    subject = solver(loss, features=features, stages=400, tol=1e-4)
    states, _ = train(subject, blocks)
    z, y = basis_values(subject, states[0], blocks), targets_of(subject, blocks)
    minimum, last = machine_minimum(subject, z, y), states[-1]
    assert last.gap <= 1e-4 * (last.zero - last.objective)
    offset = last.center if loss == "logistic" else 0.0
    own = penalised_risk(subject, z, y, last.coefficients, offset=offset)
    assert last.objective == pytest.approx(own, rel=1e-12)
    # but for the offset
    own = penalised_risk(subject, z, y, last.coefficients)
    assert minimum * (1 - 1e-5) < own < minimum * (1 + 1e-3)
    assert last.objective <= own * (1 + 1e-12)
    # the dual is below the minimum, and never falls
    duals = [state.dual for state in states]
    assert max(duals) <= minimum * (1 + 1e-5)
    assert (np.diff(duals) >= -1e-12).all()


@pytest.mark.parametrize("name", COORDINATE_LOSSES)
def test_the_duality_gap_of_every_loss_closes(name):
    blocks = waves(classes=0 if find_loss(name).target_kind == "real" else 2)
    states, _ = train(solver(name, stages=300, tol=1e-3), blocks)
    assert states[0].gap == pytest.approx(states[0].objective)
    assert 0 <= states[-1].gap <= 1e-3 * (states[0].objective - states[-1].objective)


def test_equals_a_plain_loop():
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    blocks = waves(300, classes=3, weights=weights)
    risk = Risk(find_loss("squared_hinge")(), 3, None, float(weights.mean()))
    subject = solver(risk=risk, stages=2)
    states, runner = train(subject, blocks)
    z, y, s = basis_values(subject, states[0], blocks), targets_of(subject, blocks), weights / weights.mean()
    duals = np.concatenate([runner.residents["dual steps"][0].saved(group)["duals"] for group in range(8)])
    last = states[-1]
    np.testing.assert_allclose(last.coefficients, z.T @ duals / (NU * 300), rtol=1e-9, atol=1e-12)
    # (s l)*(-a) = a^2 / (4 s) - y a of max(0, 1 - y f)^2
    costs = np.sum(duals**2 / (4 * s[:, None]) - y * duals)
    norm = 0.5 * NU * np.sum(last.coefficients**2)
    assert last.dual == pytest.approx(-costs / 300 - norm, rel=1e-9)
    # the group that had the last turn, row by row
    asked = runner.asked[-1]
    turned = runner.answers[-1]
    w = asked.w.copy()
    np.testing.assert_allclose(turned.w, last.coefficients.T, rtol=1e-12)
    assert not np.array_equal(turned.w, w)


@pytest.mark.slow
def test_parties_lost_workers_and_resumption_change_no_bit(monkeypatch):
    # of 32 passes in a stage, as few rows have, each would be made again by a party that is built anew
    monkeypatch.setattr("distkern.solvers.compare.sdca._MOST_PASSES", 4)
    for dtype in ("float32", "float64"):
        keeps_its_bits(solver("hinge", 3), waves(classes=3, dtype=dtype))


def test_rows_without_weight_change_nothing():
    blocks = waves(300, classes=2)
    weighing = Risk(find_loss("hinge")(), 1, np.array([0.0, 2.0]))
    state = train(solver(risk=weighing), blocks)[0][-1]
    assert np.isfinite(state.coefficients).all()
    assert np.isfinite(state.dual)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_rows_that_are_alike_with_little_regularisation(loss):
    """Equal rows with different labels undo each other's steps, so plain steps need many more."""
    generator = np.random.default_rng(0)
    places = generator.standard_normal((30, 5))
    where = generator.integers(0, 30, 300)
    X, y = places[where], generator.random(300) < 0.05 + 0.9 * (places[where, 0] > 0)
    model = distkern.SDCAClassifier(loss=loss, n_features=256, gamma=0.2, tol=0.01, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        history = model.fit(X, y).history_
    last = history[-1]
    assert last["gap"] <= 0.01 * (history[0]["objective"] - last["objective"])
    with pytest.warns(
        ConvergenceWarning,
        match=r"the duality gap, .* is \d.* % of the objective, with tol=0.01 of f.0. - f: set more",
    ):
        model.set_params(stages=1).fit(X, y)


@pytest.mark.slow
def test_the_gap_is_of_the_problem_that_was_asked_for():
    """The dual bounds the minimum that another solver finds, and the gap closes."""
    blocks = waves(600, classes=2)
    subject = solver("squared_hinge", nu=1e-5, stages=40, tol=1e-4)
    states, _ = train(subject, blocks)
    z, y = basis_values(subject, states[0], blocks), targets_of(subject, blocks)
    assert max(state.dual for state in states) <= machine_minimum(subject, z, y) * (1 + 1e-6)
    assert states[-1].gap <= 1e-3 * (states[0].objective - states[-1].objective)
    assert subject.measures(states[1]).shortfall
    assert subject.measures(states[-1]).converged != bool(subject.measures(states[-1]).shortfall)


def test_losses_without_exact_steps_are_refused():
    with pytest.raises(InputError, match=r"loss: the dual of 'softmax' has no exact steps"):
        solver("softmax", 3)
