"""Bounds of what an objective is above its minimum, beside a constant without a penalty."""

import numpy as np
import pytest

from distkern.solvers.bounds import gradient_bound
from reference import smooth_loss, smooth_minimum

NU = 1e-4


@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge"])
@pytest.mark.parametrize("distance", [1e-4, 1e-2])
def test_a_constant_without_a_penalty_is_counted(loss, distance):
    generator = np.random.default_rng(0)
    z = np.column_stack([generator.normal(2.0, 1.0, (200, 3)), np.ones(200)])
    y = np.where(z[:, 0] + generator.normal(size=200) > 2.5, 1.0, -1.0)
    nu = np.array([NU, NU, NU, 0.0])
    length = np.sqrt(np.mean(np.sum(z[:, :3] ** 2, axis=1)))
    w, found = np.zeros(4), []
    for _ in range(60):
        _, slopes, curvatures = smooth_loss(loss, z @ w, y)
        gradient, hessian = nu * w + z.T @ slopes / 200, (z.T * curvatures) @ z / 200 + np.diag(nu)
        w = w - np.linalg.solve(hessian, gradient)
    least = smooth_minimum(loss, z, y, np.ones(200), nu)
    for _ in range(50):
        at = w + distance * generator.normal(size=4)
        # at a minimum over the others, so that they say nothing of the constant
        _, slopes, curvatures = smooth_loss(loss, z @ at, y)
        hessian = (z.T * curvatures) @ z / 200 + np.diag(nu)
        gradient = nu * at + z.T @ slopes / 200
        at[:3] -= np.linalg.solve(hessian[:3, :3], gradient[:3])
        values, slopes, _ = smooth_loss(loss, z @ at, y)
        gradient = nu * at + z.T @ slopes / 200
        above = 0.5 * float((nu * at) @ at) + values.mean() - least
        found.append((above, gradient_bound(NU, gradient[:, None], length=length)))
        found.append((above, gradient_bound(NU, gradient[:3, None])))
    above, bounds = np.array(found).T
    assert (above[::2] <= bounds[::2] + 1e-12).all()
    assert (above[1::2] > bounds[1::2]).any()
