"""SIMBA against Algorithm 1, against the optimum of (3), and with other partitions of the rows."""

from dataclasses import replace

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.core.types import Block
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.landmarks import Landmarks
from distkern.maths.features.random import Random
from distkern.maths.kernels import find_kernel
from distkern.maths.landmarks.base import RowLayout
from distkern.maths.losses import find_loss
from distkern.solvers._simba.messages import RoundMessage
from distkern.solvers.risk import Risk
from feature_problems import same
from simba_problems import margin_rows, optimum, plain_loop, run, signed, simba, value

LANDMARKS = Landmarks(KernelChoice(find_kernel("rbf"), 1.0), 5)


def weights(runner):
    """Return q (outputs, n) after the last stage."""
    saved = runner.saved["rounds"]
    return np.concatenate([saved[group]["q"] for group in sorted(saved)], axis=1)


def columns_of(runner):
    """Return the columns of every round."""
    updates = [
        message.update for message in runner.asked if isinstance(message, RoundMessage) and message.update
    ]
    return [update.columns.tolist() for update in updates if update.eta > 0]


def draws_of(runner, blocks):
    """Return (rows, columns) of every round; rows are identified by their values."""
    x = np.concatenate([np.asarray(block.features) for block in blocks])
    rounds, rows = [], None
    for message, answer in zip(runner.asked, runner.answers, strict=True):
        if not isinstance(message, RoundMessage):
            continue
        if message.update is not None and len(message.update.columns) and rows is not None:
            rounds.append((rows, message.update.columns.tolist()))
        if message.draw_for is not None:
            rows = [
                int(np.flatnonzero((x == np.asarray(row)).all(axis=1))[0])
                for row in answer.rows
                if row is not None
            ]
    return rounds


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("averaging", [0, 2])
@pytest.mark.parametrize("batch", [1, 3])
def test_equals_algorithm_1_written_out(fit_intercept, averaging, batch):
    blocks = margin_rows()
    solver = simba(
        fit_intercept=fit_intercept, averaging=averaging, rows_per_round=batch, columns_per_round=batch
    )
    states, runner = run(solver, blocks)
    rows, y = signed(blocks)
    draws = draws_of(runner, blocks)
    assert len(draws) == 200
    u, q, w, b = plain_loop(
        rows,
        y,
        0.05,
        draws,
        fit_intercept=fit_intercept,
        averaging=averaging,
        selection_every=16,
        stage_rounds=100,
    )
    last = states[-1]
    np.testing.assert_allclose(last.u[0], u, rtol=1e-9, atol=1e-12)
    found = weights(runner)[0]
    np.testing.assert_allclose(found / found.sum(), q / q.sum(), rtol=1e-9)
    gamma = value(rows, y, 0.05, w, b)
    assert gamma > 0
    np.testing.assert_allclose(last.margins[0], gamma, rtol=1e-3)
    np.testing.assert_allclose(
        last.coefficients[:, 0] * last.radius * last.margins[0], w, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(last.intercept[0] * last.margins[0], b, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fit_intercept", "weighted"),
    [
        (True, True),
        *(
            pytest.param(*both, marks=pytest.mark.slow)
            for both in ((False, False), (True, False), (False, True))
        ),
    ],
)
def test_the_gap_to_the_optimum_is_what_the_rounds_promise(fit_intercept, weighted):
    """The gap is below C sqrt(log n / T), C = 0.25, for each of 6 seeds, and half of it on average.

    Weights act as repetitions of rows.
    """
    blocks = margin_rows(40, 5, noise=0.05, blocks=4)
    rows, y = signed(blocks)
    times, risk = np.ones(40, dtype=int), Risk(find_loss("hinge")())
    if weighted:
        times = np.random.default_rng(1).choice([0, 1, 2, 5], 40)
        own = np.split(times.astype(float), 4)
        blocks = [replace(block, weights=part) for block, part in zip(blocks, own, strict=True)]
        risk = replace(risk, mean_weight=times.mean())
    rows, y = np.repeat(rows, times, axis=0), np.repeat(y, times)
    best = optimum(rows, y, 0.1, fit_intercept=fit_intercept)
    gaps = []
    for seed in range(6):
        states, _ = run(
            simba(nu=0.1, risk=risk, max_rounds=800, stages=1, fit_intercept=fit_intercept, averaging=0),
            blocks,
            seed=seed,
        )
        last = states[-1]
        # the model in units of the largest norm, with |w| <= 1
        w, b = last.coefficients[:, 0] * last.radius, last.intercept[0]
        scale = last.margins[0] if last.margins[0] > 0 else 1.0
        assert np.linalg.norm(w * scale) <= 1 + 1e-9
        assert abs(b * scale) <= 1
        gaps.append(best - value(rows, y, 0.1, w * scale, b * scale))
    promised = np.sqrt(np.log(40) / 800)
    assert min(gaps) > -1e-6
    assert max(gaps) < 0.25 * promised
    assert np.mean(gaps) < 0.125 * promised


def test_weights_that_are_all_the_same_are_not_kept():
    blocks = margin_rows(40, 5, noise=0.05, blocks=4)
    plain, _ = run(simba(), blocks)
    risk = Risk(find_loss("hinge")(), mean_weight=0.1)
    for weight, units in ((0.1, 0), (0.2, 40 * 2**21)):
        given = [replace(block, weights=np.full(block.n_rows, weight)) for block in blocks]
        found, _ = run(simba(risk=risk), given)
        same(found[-1], plain[-1], but=("units",))
        assert found[-1].units == units


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"risk": Risk(find_loss("hinge")(), class_weights=np.array([0.3, 1.7]))},
        {"nu": 0.01, "validation_fraction": 0.2, "patience": 3},
        pytest.param({"rows_per_round": 4, "columns_per_round": 4}, marks=pytest.mark.slow),
    ],
)
def test_the_same_bits_however_the_rows_are_dealt_out_and_stored(settings):
    # whoever takes over goes through all messages again: the time is the square of the rounds
    settings = {"max_rounds": 80, **settings}
    dense, _ = run(simba(**settings), margin_rows(dtype="float32"))
    sparse_blocks = margin_rows(dtype="float32", sparse=True)
    for parties, rebuild in ((2, False), (3, True)):
        sparse, _ = run(simba(**settings), sparse_blocks, parties=parties, rebuild=rebuild)
        same(dense[-1], sparse[-1], but=("accesses_nonzero",))
    assert sparse[-1].accesses_nonzero < dense[-1].accesses_nonzero


@pytest.mark.parametrize("settings", [{}, {"nu": 0.02, "validation_fraction": 0.2, "patience": 5}])
@pytest.mark.parametrize("after", [1, 2])
def test_a_resumed_run_has_the_same_bits(settings, after):
    whole, _ = run(simba(max_rounds=300, stages=4, **settings), margin_rows())
    resumed, _ = run(simba(max_rounds=300, stages=4, **settings), margin_rows(), resume_after=after)
    assert len(whole) == 5
    same(whole[-1], resumed[-1])


def test_accesses_are_d_a_row_and_n_a_column():
    blocks = margin_rows(300, 12)
    batched = simba(rows_per_round=3, columns_per_round=2, max_rounds=50, stages=1)
    states, runner = run(batched, blocks)
    # a column that is drawn twice in a round is looked at once
    read = [(rows, set(columns)) for rows, columns in draws_of(runner, blocks)]
    assert states[-1].accesses == sum(3 * 12 + len(columns) * 300 for _, columns in read)
    assert any(len(columns) == 1 for _, columns in read)
    x = np.concatenate([block.features for block in blocks])
    wanted = sum(
        np.count_nonzero(x[rows]) + np.count_nonzero(x[:, sorted(columns)]) for rows, columns in read
    )
    sparse, _ = run(
        simba(rows_per_round=3, columns_per_round=2, max_rounds=50, stages=1),
        margin_rows(300, 12, sparse=True),
    )
    assert sparse[-1].accesses_nonzero == wanted
    assert sparse[-1].accesses == states[-1].accesses
    limited, _ = run(simba(max_feature_accesses=5000, max_rounds=10_000, rows_per_round=1), blocks)
    # the round that reaches the limit is the last
    assert limited[-1].round == -(-5000 // 312)
    assert limited[-1].accesses == 312 * limited[-1].round


def test_held_out_rows_take_no_part():
    blocks = margin_rows()
    solver = simba(nu=0.02, validation_fraction=0.25, patience=5)
    problem_rows = 300
    _, runner = run(solver, blocks)
    q = weights(runner)
    held = (q == 0).all(axis=0)
    assert ((q == 0).any(axis=0) == held).all()
    assert abs(np.count_nonzero(held) - problem_rows / 4) <= 8
    x = np.concatenate([block.features for block in blocks])
    drawn = {row for rows, _ in draws_of(runner, blocks) for row in rows}
    assert len(drawn) > 50
    assert not held[sorted(drawn)].any()
    assert len(x) == problem_rows


def test_copies_of_rows_are_held_out_together():
    once = margin_rows()
    copies = [*once, *(replace(block, index=len(once) + place) for place, block in enumerate(reversed(once)))]
    _, runner = run(simba(nu=0.02, validation_fraction=0.25, patience=5), copies)
    held = {}
    for row, is_held in zip(
        np.concatenate([block.features for block in copies]), (weights(runner) == 0).all(axis=0), strict=True
    ):
        assert held.setdefault(row.tobytes(), is_held) == is_held
    assert 0 < sum(held.values()) < len(held) == 300


@pytest.mark.slow
def test_stops_when_the_held_out_error_stands_still():
    states, _ = run(
        simba(max_rounds=100_000, stages=200, validation_fraction=0.2, patience=2), margin_rows(noise=0.3)
    )
    assert states[-1].stale == 2
    assert states[-1].stage < 100
    errors = [state.validation_error for state in states[1:]]
    assert errors[-1] == errors[-3] == min(errors)


def test_an_end_by_patience_is_not_called_converged():
    solver = simba(nu=0.02, validation_fraction=0.2, patience=2, max_rounds=40, stages=2)
    states, _ = run(solver, margin_rows())
    measures = solver.measures(replace(states[-1], stale=2))
    assert (measures.converged, measures.stopped) == (False, "patience: no fewer mistakes for 2 stages")


@pytest.mark.slow
def test_several_classes_share_what_is_read():
    blocks = margin_rows(600, 10, classes=3, noise=0.02)
    test = margin_rows(300, 10, classes=3, noise=0.0)[:1]
    states, runner = run(
        simba(nu=0.02, rows_per_round=1, max_rounds=4000, stages=2), blocks, outputs=3, test=test
    )
    assert states[-1].coefficients.shape == (10, 3)
    assert states[-1].train_error < 0.15
    assert states[-1].test_error is not None
    columns = sum(len(set(columns)) for columns in columns_of(runner))
    assert columns < 4000 * 3
    assert states[-1].accesses == 4000 * 3 * 10 + columns * 600


def test_random_features_are_those_of_the_basis():
    """SIMBA over regenerated columns is SIMBA over the matrix of features."""
    blocks = margin_rows(240, 4, blocks=8)
    features = Random(KernelChoice(find_kernel("rbf"), 0.3), 64)
    states, runner = run(simba(features=features), blocks)
    basis = features.basis(RowLayout((240,), 4, np.dtype(float), 0), np.empty((0, 4)), 0.3)
    explicit = [Block(basis.values(block.features), block.targets, None, block.index) for block in blocks]
    wanted, other = run(simba(), explicit)
    assert [draw[1] for draw in draws_of(other, explicit)] == columns_of(runner)
    np.testing.assert_allclose(states[-1].u, wanted[-1].u, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(states[-1].coefficients, wanted[-1].coefficients, rtol=1e-4, atol=1e-7)
    assert states[-1].accesses == wanted[-1].accesses


def test_rows_of_zeros_are_counted_and_harmless():
    blocks = margin_rows()
    blocks[3].features[:5] = 0
    states, _ = run(simba(), blocks)
    assert states[0].n_zero == 5
    assert np.isfinite(states[-1].coefficients).all()
    for block in blocks:
        block.features[:] = 0
    with pytest.raises(InputError, match="all features of all training rows are zero"):
        run(simba(), blocks)


@pytest.mark.parametrize(
    ("settings", "where"),
    [({"nu": 1.5}, "nu"), ({"patience": 3}, "validation_fraction"), ({"features": LANDMARKS}, "features")],
)
def test_refuses_what_makes_no_sense(settings, where):
    with pytest.raises(InputError) as caught:
        simba(**settings)
    assert caught.value.where == where
