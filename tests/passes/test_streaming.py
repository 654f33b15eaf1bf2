"""Whoever loads and prepares a stream's rows, the sequential loop sees the same pieces in the same order."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from distkern import CSVRGClassifier
from distkern.engine.drive import Driver
from distkern.engine.executors import open_executor
from distkern.passes import Cost, Extent, Machine, Stream, epoch_visits
from distkern.passes.stream import Pieces
from distkern.runs.data import from_arrays
from runs import posed_problem
from small import slow_but
from toy import ToySource, executor_of, prepare

MODES = [
    # cost of preparing, wire: chosen so that the planner takes each way
    ("driver reads and prepares", {"same_host": True, "driver_threads": 2}, Cost(result_bytes=8)),
    ("workers send raw rows", {"same_host": False, "driver_threads": 2}, Cost(result_bytes=10**6)),
    (
        "workers send prepared rows",
        {"same_host": False, "driver_threads": 1},
        Cost(result_bytes=1, operations=1e9),
    ),
]


@pytest.fixture(scope="module", params=slow_but(["threads", "processes", "local"], "threads", "local"))
def executor(request):
    yield from executor_of(request)


@pytest.mark.parametrize(("mode", "machine", "cost"), MODES)
@pytest.mark.parametrize("replacement", [False, True])
def test_the_same_pieces_in_every_mode(executor, mode, machine, cost, replacement):
    source = ToySource((5, 7, 3, 6, 4, 9))
    visits = epoch_visits(source.block_rows, 60, seed=1, stage=2, replace=replacement)
    step = Stream("chain", visits, prepare, 2.0, piece_rows=2, cost=cost)
    plan = step.plan(Extent.of(source), Machine("distributed", 2, **machine))
    assert plan.mode == mode
    done, told = [], []
    stream = Pieces(step, plan, source, executor, SimpleNamespace(progress=done.append, finish=told.append))
    pieces = list(stream)
    expected = [
        2.0 * source.reader(visit.block)().take(visit.rows(source.block_rows[visit.block])).features[:, 0]
        for visit in visits
    ]
    np.testing.assert_array_equal(np.concatenate(pieces), np.concatenate(expected))
    assert max(map(len, pieces)) <= 2
    assert done == list(range(1, len(visits) + 1))
    assert told == [stream.seconds]
    assert min(stream.seconds.values()) >= 0


@pytest.mark.parametrize(("mode", "machine", "cost"), MODES[1:])
def test_a_fit_has_the_same_bits_when_workers_feed_it(executor, mode, machine, cost, monkeypatch):
    generator = np.random.default_rng(0)
    features = generator.normal(size=(5000, 6)).astype(np.float32)
    model = CSVRGClassifier(n_landmarks=30, stages=2, random_state=0)
    data = from_arrays(features, (features[:, 0] > 0).astype(int), None)
    solver, problem = posed_problem(model, data)
    with open_executor("synchronous") as alone:
        expected = Driver({"train": data.source}, alone).run(solver, problem).state

    modes, planned = [], Stream.plan

    def forced(step, extent, _):
        plan = planned(replace(step, cost=cost), extent, Machine("distributed", 2, **machine))
        modes.append(plan.mode)
        return plan

    monkeypatch.setattr(Stream, "plan", forced)
    state = Driver({"train": data.source}, executor).run(solver, problem).state
    assert set(modes) == {mode}
    np.testing.assert_array_equal(state.coefficients, expected.coefficients)
