"""Doubly stochastic gradients against plain loops, closed forms and themselves."""

import math
import pickle

import numpy as np
import pytest

from distkern.core.errors import DivergenceError, InputError
from distkern.engine.checkpoint import CheckpointFolder
from distkern.maths.features.base import KernelChoice
from distkern.maths.kernels import find_kernel
from distkern.maths.landmarks.base import RowLayout
from distkern.maths.losses import find_loss
from distkern.passes.machine import MIB
from distkern.solvers._dsg.settings import StepRule, average_weight, reusable_steps
from distkern.solvers.dsg import DSG
from distkern.solvers.risk import Risk
from feature_problems import (
    Runner,
    all_rows,
    dsg,
    features_of,
    planned_bytes,
    problem_of,
    run_by_engine,
    same,
    train,
    waves,
)
from reference import cut_blocks

# --- the mathematics --------------------------------------------------------------------------------------


def plain_dsg(solver, blocks, z, asked):
    """Return the last iterate and the average by dense float64 loops over the batches of the run."""
    batches = solver.batches(problem_of(blocks))
    width, k = solver.block_size, solver.risk.n_outputs
    starts = np.cumsum([0, *(block.n_rows for block in blocks)])
    x = np.arange(starts[-1])
    y = np.concatenate([solver.risk.targets(block) for block in blocks]).astype(float)
    s = np.concatenate([np.ones(b.n_rows) if b.weights is None else b.weights for b in blocks])
    s = s / solver.risk.mean_weight
    a, average = np.zeros((z.shape[1], k)), np.zeros((z.shape[1], k))
    for t, (message, draws) in enumerate(asked, start=1):
        rows = np.concatenate(
            [
                x[starts[batches.groups[draw.group][place]] + positions]
                for draw in draws
                for place, positions in batches.pieces(draw)
            ]
        )
        gamma = solver.steps.step_size / (1 + solver.steps.step_decay * t)
        slopes = solver.risk.loss.row_slopes(z[rows] @ a, y[rows]) * s[rows, None]
        own = slice(message.wanted * width, (message.wanted + 1) * width)
        direction = z[rows, own].T @ slopes / len(rows)
        if solver.precondition:
            c = solver.risk.loss.curvature if math.isfinite(solver.risk.loss.curvature) else 1.0
            gram = c * (z[rows, own].T * s[rows]) @ z[rows, own] / len(rows)
            strength = solver.nu * (z.shape[1] // width)
            direction = np.linalg.solve(
                gram + (c * solver.damping_for(len(x)) + strength) * np.eye(width),
                direction + strength * a[own],
            )
        else:
            a *= 1 - gamma * solver.nu
        a[own] -= gamma * direction
        average += min(1, 4 / (t + 3)) * (a - average)
    return a, average


@pytest.mark.parametrize("precondition", [False, True])
@pytest.mark.parametrize(
    ("loss", "classes", "options"),
    [
        ("square", 0, {}),
        ("huber", 0, {"delta": 0.3}),
        ("absolute", 0, {}),
        ("epsilon_insensitive", 0, {}),
        ("quantile", 0, {"quantiles": (0.2, 0.8)}),
        ("logistic", 2, {}),
        ("hinge", 4, {}),
        ("squared_hinge", 2, {}),
        ("softmax", 3, {}),
        ("odm", 2, {}),
    ],
)
def test_equals_the_plain_loop(loss, classes, options, precondition):
    blocks = waves(classes=classes)
    outputs = find_loss(loss)(**options).n_outputs(classes)
    solver = dsg(loss, outputs, options=options, precondition=precondition, steps_per_stage=280, nu=0.05)
    states, runner = train(solver, blocks)
    z = features_of(solver, states[0], all_rows(blocks))
    last, average = plain_dsg(solver, blocks, z, runner.asked)
    assert states[-1].step == 3 * 7  # beyond the 8 blocks: old ones are changed again
    final = states[-1]
    np.testing.assert_allclose(final.scale * final.coefficients, last, atol=1e-9 * np.abs(last).max())
    np.testing.assert_allclose(solver.model_coefficients(final), average, atol=1e-9 * np.abs(average).max())
    narrow = waves(classes=classes, dtype="float32")
    rough = train(solver, narrow)[0][-1]
    if loss not in ("hinge", "absolute", "epsilon_insensitive", "quantile"):
        # where slopes do not jump with the last bit
        np.testing.assert_allclose(
            solver.model_coefficients(rough), average, atol=1e-5 * np.abs(average).max()
        )


def test_weights():
    """Weights 0, 1 and 2 act as repeated rows."""
    weights = np.random.default_rng(1).integers(0, 3, 600).astype(float)
    blocks = waves(weights=weights)
    solver = dsg(risk=Risk(find_loss("square")(), 1, mean_weight=weights.mean()))
    states, runner = train(solver, blocks)
    z = features_of(solver, states[0], all_rows(blocks))
    _, average = plain_dsg(solver, blocks, z, runner.asked)
    np.testing.assert_allclose(solver.model_coefficients(states[-1]), average, atol=1e-10)
    y = np.concatenate([block.targets for block in blocks])
    f = z @ average[:, 0]
    norm = states[-1].n_blocks * np.sum(average**2)
    expected = np.repeat(0.5 * (f - y) ** 2, weights.astype(int)).mean() + 0.5 * solver.nu * norm
    assert states[-1].objective == pytest.approx(expected, rel=1e-9)
    assert states[-1].train_error == pytest.approx(np.average((f - y) ** 2, weights=weights), rel=1e-9)


def test_figures_of_classes():
    blocks, test = waves(classes=3), waves(200, classes=3, seed=5, sizes=[120, 80])
    solver = dsg("softmax", 3)
    states, runner = train(solver, blocks, test=test)
    z = features_of(solver, states[-1], all_rows(test), states[-1].n_blocks)
    f = z @ solver.model_coefficients(states[-1]) + states[-1].center
    wrong = f.argmax(axis=1) != np.concatenate([block.targets for block in test])
    assert states[-1].test_error == wrong.mean()
    assert states[0].objective == pytest.approx(math.log(3))
    assert states[-1].objective < states[0].objective
    measures = solver.measures(states[-1])
    assert measures.model_size == 64
    assert measures.extra["batch_loss"] < math.log(3)
    rows = sum(draw.stop - draw.start for _, draws in runner.asked for draw in draws)
    assert measures.accesses == (3 * rows, 3 * rows)
    assert 0.7 * 8 * 40 <= rows <= 1.3 * 8 * 40


def test_a_model_is_its_basis_times_its_coefficients():
    blocks = waves()
    solver = dsg(variant="udsg", steps_per_stage=280)
    state = train(solver, blocks)[0][-1]
    basis = solver.basis(RowLayout((), 3, np.dtype(float), 0), state.gamma, state.n_blocks)
    expected = features_of(solver, state, all_rows(blocks), state.n_blocks) @ solver.model_coefficients(state)
    assert basis.size == state.n_blocks * solver.block_size < 64 * 3
    np.testing.assert_allclose(
        basis.combine(all_rows(blocks), solver.model_coefficients(state)), expected, atol=1e-12
    )


def test_the_scale_is_folded_before_it_vanishes():
    """With nu gamma near 1/2 the scale would be 1e-24 after 80 steps."""
    blocks = waves()
    solver = dsg(nu=1.0, steps=StepRule(0.5, 0.0), precondition=False, steps_per_stage=1080)
    states, runner = train(solver, blocks)
    last, _ = plain_dsg(solver, blocks, features_of(solver, states[0], all_rows(blocks)), runner.asked)
    assert states[-1].step == 81
    assert 1e-4 <= states[-1].scale <= 1
    np.testing.assert_allclose(states[-1].scale * states[-1].coefficients, last, atol=1e-10)


@pytest.mark.slow
def test_error_falls_like_one_over_t():
    """Dai et al. 2014, Theorem 4, synthetic problem: |f_t - f*|^2 over 500 points falls with slope -1."""
    generator = np.random.default_rng(0)
    n = 2048
    x = generator.uniform(-1, 1, (n, 2)) * 4
    y = np.cos(0.5 * np.pi * np.linalg.norm(x, axis=1)) * np.exp(-0.1 * np.pi * np.linalg.norm(x, axis=1))
    y += 0.1 * generator.standard_normal(n)
    nu, gamma = 0.1, 1 / (2 * 0.52**2)
    kernel = np.exp(-gamma * ((x[:, None] - x[None]) ** 2).sum(axis=2))
    exact = np.linalg.solve(kernel / n + nu * np.eye(n), y / n)
    points = generator.uniform(-4, 4, (500, 2))
    f = np.exp(-gamma * ((points[:, None] - x[None]) ** 2).sum(axis=2)) @ exact
    blocks = cut_blocks(x, y, [256] * 8)
    ts = np.array([64, 128, 256, 512])
    logs = []
    for seed in range(3):
        solver = DSG(
            Risk(find_loss("square")()),
            KernelChoice(find_kernel("rbf"), gamma),
            n_features=64 * 512,
            block_size=64,
            batch_size=64,
            nu=nu,
            steps=StepRule(1.5 / nu, 1.0),
            precondition=False,
            average=False,
            stages=8,
        )
        states, _ = train(solver, blocks, seed=seed)
        z = features_of(solver, states[-1], points, seed=seed)
        by_step = {state.step: state for state in states}
        logs.append(
            [math.log(np.mean((by_step[t].scale * z @ by_step[t].coefficients[:, 0] - f) ** 2)) for t in ts]
        )
    slope = np.polyfit(np.log(ts), np.mean(logs, axis=0), 1)[0]
    assert -1.15 <= slope <= -0.85
    assert np.mean(logs, axis=0)[-1] < math.log(1e-4)


# --- variants ---------------------------------------------------------------------------------------------


def test_udsg_without_old_blocks_is_dsg():
    blocks = waves()
    plain, unified = dsg(), dsg(variant="udsg", udsg_pattern=(3, 0))
    same(train(plain, blocks)[0][-1], train(unified, blocks)[0][-1])


def test_udsg_alternates_between_new_and_old_blocks():
    solver = dsg(variant="udsg", udsg_pattern=(2, 1))
    _, runner = train(solver, waves())
    assert solver.n_steps(problem_of(waves())) == 12
    candidates = [message.wanted for message, _ in runner.asked]
    assert [c for t, c in enumerate(candidates) if t % 3 < 2] == list(range(8))
    assert all(c < 2 * (t // 3 + 1) for t, c in enumerate(candidates) if t % 3 == 2)


def test_cdsg_inequality_on_numbers_by_hand():
    """In units of gamma and |g|, beta = x is reusable for x >= 2 - sqrt(3 - 2v), V = v |g|^2, v <= 3/2."""
    slope, gamma = np.array([0.5]), 0.2
    for v in (0.0, 0.4, 1.4):
        low = 2 - math.sqrt(3 - 2 * v)
        x = np.array([low - 1e-3, low + 1e-3, 2.0, -low])
        steps = reusable_steps((x * gamma * 0.5)[:, None], slope, gamma, v * 0.25)
        assert (steps > gamma).tolist() == [False, True, True, False]
        # the step is where the inequality is an equation
        e = steps[1:3] / gamma
        np.testing.assert_allclose(2 * (1 + v) * e**2 - 4 * x[1:3] * e + x[1:3] ** 2 - 1, 0, atol=1e-12)
    grid = np.linspace(-5, 5, 201)[:, None] * gamma * 0.5
    assert np.all(reusable_steps(grid, slope, gamma, 1.6 * 0.25) < gamma)
    # x = 2, v = 0: 2 e^2 - 8 e + 3 = 0
    (step,) = reusable_steps(np.array([[0.2]]), slope, gamma, 0.0)
    assert step == pytest.approx(gamma * (2 + math.sqrt(2.5)))
    # several outputs: only what lies along g helps
    assert np.all(reusable_steps(np.array([[0.0, 0.4]]), np.array([0.5, 0.0]), gamma, 0.0) == 0)
    assert reusable_steps(np.zeros((2, 1)), np.zeros(1), gamma, 0.0).tolist() == [0, 0]


def test_cdsg_reuses_blocks():
    """Without variance, blocks of opposite residuals are reused, by a second message."""
    solver = dsg(
        variant="cdsg",
        precondition=False,
        feature_variance=1e-12,
        batch_size=8,
        steps_per_stage=400,
        n_features=800,
        steps=StepRule(0.3, 0.0),
    )
    states, runner = train(solver, waves())
    final = states[-1]
    reused = [message for message, _ in runner.asked if message.wanted < message.n_blocks]
    assert final.step == 150
    assert len(reused) > 0
    assert final.n_blocks + len([m for m in reused if m.n_blocks < solver.most_blocks]) == final.step
    assert np.all(np.isfinite(final.betas))
    assert final.batch_loss < final.first_loss


# --- same bits --------------------------------------------------------------------------------------------

VARIED = [
    pytest.param({}, id="dsg"),
    pytest.param({"variant": "cdsg", "precondition": False, "feature_variance": 1e-12}, id="cdsg"),
    pytest.param({"polish": "exact"}, id="exact"),
]


@pytest.mark.slow
@pytest.mark.parametrize("settings", VARIED)
def test_parties_and_lost_workers_change_no_bit(settings):
    blocks = waves(
        4000, 2, classes=2, dtype="float32", sizes=[700, 300, 900, 100, 400, 600, 300, 200, 400, 100]
    )
    solver = dsg("logistic", batch_size=3100, **settings)
    one = train(solver, blocks)[0][-1]
    assert np.any(one.coefficients != 0)
    for options in ({"parties": 2}, {"parties": 10}, {"parties": 3, "rebuild": True}):
        same(one, train(solver, blocks, **options)[0][-1])


@pytest.mark.parametrize("settings", VARIED)
def test_resuming_changes_no_bit(settings):
    blocks = waves(classes=2, dtype="float32")
    solver = dsg("logistic", **settings)
    states, _ = train(solver, blocks)
    for stage in range(1, states[-1].stage + 1):
        same(states[-1], train(solver, blocks, resume_after=stage)[0][-1])


# --- what is refused --------------------------------------------------------------------------------------


def test_divergence_names_the_step_and_a_smaller_one():
    solver = dsg(precondition=False, steps=StepRule(500.0, 0.0), nu=0.0, stages=1)
    blocks = waves()
    problem = problem_of(blocks)
    runner = Runner(blocks)
    before = runner.run(solver.init(problem))
    kept = pickle.dumps(before)
    with pytest.raises(DivergenceError, match=r"at step \d+ the mean loss is .*; set step_size=50"):
        runner.run(solver.stage(problem, before))
    # the state that a checkpoint was made of is as it was
    same(pickle.loads(kept), before)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"steps": StepRule(3.0, 0.0), "nu": 0.5},
            r"^step_size: the first step times nu is 1\.5.*use step_size < 2",
        ),
        ({"nu": -1.0}, r"^nu must be"),
        ({"loss": "hinge", "polish": "exact"}, r"^polish: 'hinge' has a slope that jumps"),
        ({"polish": "exact", "n_features": 10_000}, r"^polish .*at most 8192.*use newton"),
    ],
)
def test_refused(settings, message):
    with pytest.raises(InputError, match=message):
        dsg(**settings)


def test_defaults():
    precondition, plain = (dsg(steps=None, precondition=choice) for choice in (True, False))
    assert precondition.step_rule == StepRule(0.5, 0.02)
    assert plain.step_rule == StepRule(5.0, 0.02)
    assert dsg(steps=None, precondition=False, loss="logistic").step_rule == StepRule(20.0, 0.02)
    assert [plain.damping_for(n) for n in (10, 3000, 10**8)] == pytest.approx([1e-2, 1e-4, 1e-5])
    assert dsg(damping=0.3).damping_for(10) == 0.3


def test_step_rules():
    assert StepRule(1.0, 0.5)(2) == 0.5
    assert [average_weight(t) for t in (1, 2, 5)] == [1.0, 0.8, 0.5]
    for settings in ({"step_size": 0.0}, {"step_decay": -0.1}, {"step_decay": float("nan")}):
        with pytest.raises(InputError):
            StepRule(**settings)


def rows():
    return waves(4000, 2, classes=2, dtype="float32", sizes=[400] * 10)


def test_divergence_leaves_the_last_checkpoint(tmp_path):
    solver = dsg("square", precondition=False, steps=StepRule(60.0, 0.0), nu=0.0, stages=32, n_features=512)
    folder = CheckpointFolder(tmp_path, {"job": 1})
    with pytest.raises(DivergenceError, match="set step_size=6"):
        run_by_engine(solver, rows(), folder=folder)
    stages = folder.stages()
    assert stages
    assert folder.load(solver.state_type()).stage == stages[-1]


def test_a_million_features_fit_half_a_gibibyte():
    """As planned; the table of 2^20 coefficients is 4 MiB in a worker."""
    solver = dsg("logistic", n_features=2**20, block_size=512, batch_size=8192)
    assert all(0 < planned < 450 * MIB for planned in planned_bytes(solver, 512 * MIB).values())
