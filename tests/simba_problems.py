"""Small problems for SIMBA, its plain float64 loop, and the optimum of objective (3) by a general solver."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from distkern.core.sparse import SparseRows, stacked
from distkern.core.types import ArrayGroup, Block
from distkern.maths.features.linear import Linear
from distkern.solvers.simba import SIMBA
from feature_problems import train
from reference import cut_blocks

LINEAR = Linear()


class Group(ArrayGroup):
    def __init__(self, blocks):
        rows = tuple(block.n_rows for block in blocks)
        targets = np.concatenate([block.targets for block in blocks])
        weights = None
        if blocks[0].weights is not None:
            weights = np.concatenate([block.weights for block in blocks])
        whole = Block(stacked([block.features for block in blocks]), targets, weights, blocks[0].index)
        super().__init__(whole, slice(None), rows, blocks[0].index)


def margin_rows(n=300, d=12, *, classes=2, seed=0, noise=0.1, dtype="float64", sparse=False, blocks=9):
    """Gaussian rows, a third of the numbers 0, whose class is the largest of some directions' products."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((n, d)) * (generator.random((n, d)) < 0.67)
    directions = generator.standard_normal((d, classes))
    codes = (x @ directions).argmax(axis=1)
    wrong = generator.random(n) < noise
    codes[wrong] = generator.integers(0, classes, np.count_nonzero(wrong))
    cut = cut_blocks(
        x.astype(dtype),
        codes.astype(np.int32),
        [n // blocks] * (blocks - 1) + [n - n // blocks * (blocks - 1)],
    )
    if sparse:
        return [Block(SparseRows.of_dense(block.features), block.targets, None, block.index) for block in cut]
    return list(cut)


def simba(**settings):
    defaults = {"nu": 0.05, "max_rounds": 200, "stages": 2, "patience": None, "validation_fraction": 0.0}
    return SIMBA(settings.pop("features", LINEAR), **{**defaults, **settings})


def run(solver, blocks, *, outputs=1, **options):
    """The states after init and after each stage, and the runner with what was asked and answered."""
    return train(solver, blocks, outputs=outputs, group=Group, **options)


def signed(blocks):
    """Rows times their y, divided by the largest norm, and y."""
    x = np.concatenate([np.asarray(block.features, dtype=float) for block in blocks])
    y = np.concatenate([np.where(block.targets == 1, 1.0, -1.0) for block in blocks])
    return x * y[:, None] / np.linalg.norm(x, axis=1).max(), y


def slacks(q, nu):
    """xi by a full sort: 2 for the largest q, earlier rows first among equals, and the rest for the next."""
    xi, full = np.zeros(len(q)), int(nu * len(q) / 2)
    order = np.argsort(-q, kind="stable")
    xi[order[:full]] = 2.0
    xi[order[full]] = nu * len(q) - 2.0 * full
    return xi


def plain_loop(signed_rows, y, nu, draws, *, fit_intercept, averaging, selection_every, stage_rounds):
    """Algorithm 1 as written, with given row and column indices of every round, in float64.

    Returns u, q, and the weighted means of w and b.
    """
    n, d = signed_rows.shape
    u, q, w_sum, b_sum, weight, xi = np.zeros(d), np.ones(n), np.zeros(d), 0.0, 0.0, None
    for t, (rows, columns) in enumerate(draws, start=1):
        eta = np.sqrt(np.log(n) / t)
        if (t - 1) % stage_rounds % selection_every == 0:
            xi = slacks(q, nu)
        u = u + signed_rows[rows].mean(axis=0) / np.sqrt(2 * t)
        w = u / max(1.0, np.linalg.norm(u))
        b = float(np.sign(q @ y)) if fit_intercept else 0.0
        w_sum, b_sum, weight = w_sum + t**averaging * w, b_sum + t**averaging * b, weight + t**averaging
        products = np.mean([signed_rows[:, j] * (w @ w) / w[j] for j in columns], axis=0)
        v = np.clip(products + y * b + xi, -1 / eta, 1 / eta)
        q = q * (1 - eta * v + eta**2 * v**2)
    return u, q, w_sum / weight, b_sum / weight


def optimum(signed_rows, y, nu, *, fit_intercept):
    """The value of objective (3), by SLSQP over gamma, w, b and xi."""
    n, d = signed_rows.shape
    # variables: gamma, w, b, xi
    start = np.concatenate([[-1.0], np.zeros(d + 1), np.full(n, nu)])
    rows = np.hstack([-np.ones((n, 1)), signed_rows, y[:, None], np.eye(n)])
    reach = 1.0 if fit_intercept else 0.0
    found = minimize(
        lambda z: -z[0],
        start,
        jac=lambda z: np.eye(1, len(z))[0] * -1.0,
        method="SLSQP",
        bounds=[(None, None)] + [(-1, 1)] * d + [(-reach, reach)] + [(0, 2)] * n,
        constraints=[
            {"type": "ineq", "fun": lambda z: rows @ z, "jac": lambda z: rows},
            {
                "type": "ineq",
                "fun": lambda z: 1 - z[1 : d + 1] @ z[1 : d + 1],
                "jac": lambda z: np.concatenate([[0.0], -2 * z[1 : d + 1], np.zeros(n + 1)]),
            },
            {
                "type": "ineq",
                "fun": lambda z: n * nu - z[d + 2 :].sum(),
                "jac": lambda z: np.concatenate([np.zeros(d + 2), -np.ones(n)]),
            },
        ],
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert found.success, found.message
    return float(found.x[0])


def value(signed_rows, y, nu, w, b):
    """The value of (3) at w and b with their best slacks: max {g : sum_i [g - m_i]_+ <= n nu}."""
    margins = np.sort(signed_rows @ w + y * b)
    counts = np.arange(1, len(margins) + 1)
    levels = (nu * len(margins) + np.cumsum(margins)) / counts
    # the level that k margins share holds where it lies below the next margin
    following = np.append(margins[1:], np.inf)
    return float(levels[np.flatnonzero(levels <= following)[0]])
