"""Bounds of the gap between an objective and its minimum, with an unpenalised constant."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from distkern.core.types import Block
from distkern.maths.bases.coordinates import Coordinates
from distkern.maths.bases.linear import LinearBasis
from distkern.maths.losses import LOSSES
from distkern.solvers.bounds import Direction, FreeConstant, gaps, gradient_bound, step_bound
from distkern.solvers.measuring import Model, measure_gradient
from distkern.solvers.risk import Risk

NU, N_ROWS, WIDTH = 1e-3, 300, 4


def problem(loss, seed):
    """Return weighted rows with columns in very different units and a rare class, and the risk."""
    generator = np.random.default_rng(seed)
    z = generator.normal(2.0, 1.0, (N_ROWS, WIDTH)) * 10 ** generator.uniform(-1, 1, WIDTH)
    score = (z / z.std(axis=0)).sum(axis=1) + generator.normal(size=N_ROWS)
    kind = LOSSES[loss]
    n_outputs = 3 if kind.target_kind == "classes" else 1
    if kind.target_kind == "real":
        targets = score - score.mean()
    else:
        targets = np.searchsorted(np.quantile(score, [0.6, 0.93][-n_outputs + 1 :] or [0.93]), score)
    weights = np.exp(generator.normal(size=N_ROWS))
    weights /= weights.mean()
    center = None if kind.target_kind == "real" else np.linspace(-1.5, 0.5, n_outputs)
    risk = Risk(kind(), n_outputs, None, 1.0, center)
    return Block(z, targets if kind.target_kind == "real" else targets.astype(np.int64), weights), risk


def measured(block, risk, w):
    """Return F, its gradient and the sums at coefficients (WIDTH + 1, k)."""
    basis = LinearBasis(WIDTH, np.float64, constant=True)
    sums = measure_gradient(block, Model(basis, w, risk))
    penalty = NU * np.vstack([w[:-1], np.zeros((1, w.shape[1]))])
    value = 0.5 * float(np.vdot(w, penalty)) + sums.losses / N_ROWS
    return value, sums.mean_gradient + penalty, sums


def minimum(block, risk, constant=None):
    """Return w and F at the minimum, optionally for a fixed constant."""
    shape = (WIDTH + 1, risk.n_outputs)
    units = np.append(np.sqrt(np.mean(block.features**2, axis=0)), 1.0)[:, None]

    def objective(flat):
        w = flat.reshape(shape) / units
        w[-1] = w[-1] if constant is None else constant
        value, gradient, _ = measured(block, risk, w)
        gradient[-1] *= constant is None
        return value, (gradient / units).ravel()

    options = {"maxiter": 20_000, "gtol": 1e-11, "ftol": 1e-16}
    found = minimize(objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    w = found.x.reshape(shape) / units
    w[-1] = w[-1] if constant is None else constant
    return w, float(found.fun)


def free_constant(block, risk, value, sums):
    basis = LinearBasis(WIDTH, np.float64, constant=True)
    squares = block.weights @ basis.norm_squares(block.features) / N_ROWS
    return FreeConstant(risk.loss, float(np.sqrt(squares)), sums.mean_balance, value)


@pytest.mark.parametrize("loss", ["square", "huber", "logistic", "squared_hinge", "odm", "hinge", "softmax"])
@pytest.mark.parametrize("seed", range(2))
def test_the_bound_of_the_gradient_holds_wherever_the_model_is(loss, seed):
    block, risk = problem(loss, seed)
    w, least = minimum(block, risk)
    generator = np.random.default_rng(seed)
    beside, tightest = 0, np.inf
    for distance in np.geomspace(1e-4, 3.0, 12):
        # where the rest of the gradient says nothing
        at, _ = minimum(block, risk, w[-1] + distance * generator.normal(size=risk.n_outputs))
        value, gradient, sums = measured(block, risk, at)
        bound = gradient_bound(NU, gradient, free=free_constant(block, risk, value, sums))
        assert value - least <= bound + 1e-9
        beside += value - least > gradient_bound(NU, gradient[:-1])
        tightest = min(tightest, bound / max(value, 1e-9))
    assert tightest < 0.1 or loss == "hinge", "it says more than that no loss is negative"
    assert beside > 6 or loss == "hinge"


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "odm", "huber"])
@pytest.mark.parametrize("seed", range(2))
def test_the_bound_by_a_step_holds_wherever_the_step_leads(loss, seed):
    block, risk = problem(loss, seed)
    w, least = minimum(block, risk)
    generator = np.random.default_rng(seed)
    basis = LinearBasis(WIDTH, np.float64, constant=True)
    z = basis.values(block.features)
    penalty = NU * np.diag(np.append(np.ones(WIDTH), 0.0))
    shape, bounds = SimpleNamespace(n_rows=N_ROWS), []
    units = np.append(np.sqrt(np.mean(block.features**2, axis=0)), 1.0)[:, None]
    for distance in np.geomspace(1e-5, 1.0, 30):
        at = w + distance * generator.normal(size=w.shape) / units
        value, gradient, sums = measured(block, risk, at)
        targets = risk.targets(block)
        bends = risk.curvatures(z @ at, targets, block.weights)
        hessian = (z.T * bends[:, 0]) @ z / N_ROWS + penalty
        d = -np.linalg.solve(hessian, gradient)
        d[-1] += 0.1 * distance
        left = gradient + hessian @ d
        steps = step_bound(
            shape,
            None,
            Coordinates(basis),
            Direction(Model(basis, at, risk), d),
            d,
            NU,
            left=left,
            free=free_constant(block, risk, value, sums),
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("distkern.solvers.bounds.gap_pass", lambda problem, operand, footprint: operand)
            operand = next(steps)
        with pytest.raises(StopIteration) as ended:
            steps.send(gaps(block, operand))
        bounds.append((value - least, ended.value.value))
    above, bound = np.array(bounds).T
    assert (above <= bound + 1e-9).all()
    assert bound[0] < 1e-3 * bound[-1]


def test_a_loss_that_may_be_negative_has_no_bound_beside_a_constant():
    class Signed(LOSSES["hinge"]):
        is_non_negative = False

    assert Signed().balanced(np.array([0.1]), np.ones((2, 1)), 0.5) == (np.inf, np.inf)
    assert Signed().balanced(np.array([0.0]), np.ones((2, 1)), 0.5) == (0.0, 0.0)
