"""Doubly stochastic gradients run by the driver: executors, a lost run, the plan."""

import pytest

import distkern.passes.rounds as rounds_module
from distkern.common.errors import DivergenceError
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog
from distkern.passes import Extent, Machine
from distkern.passes.machine import MIB
from distkern.solvers._dsg.settings import StepRule
from distkern.solvers.base import Problem
from feature_problems import RowsSource, dsg, executor_of, problem_of, same, train, waves

SOLVER = dsg("logistic", variant="gdsg", polish="sweeps", n_sweeps=2, batch_size=2100)


def rows():
    return waves(4000, 2, classes=2, dtype="float32", sizes=[400] * 10)


def run(scheduler, folder=None, *, resume=False, listener=None, solver=SOLVER, workers=2):
    blocks = rows()
    with executor_of(scheduler, workers) as executor:
        events = EventLog([listener] if listener else [])
        driver = Driver({"train": RowsSource(blocks)}, executor, events, folder)
        return driver.run(solver, problem_of(blocks), resume=resume)


def test_the_same_bits_on_workers(local_workers, monkeypatch):
    monkeypatch.setattr(rounds_module, "EXCHANGE", 0.0)
    modes = []
    outcome = run(local_workers, listener=lambda event: modes.append(event.fields.get("mode")))
    assert any("rounds on 2 workers" in str(mode) for mode in modes)
    same(outcome.state, train(SOLVER, rows())[0][-1])


def test_divergence_leaves_the_last_checkpoint(tmp_path):
    solver = dsg("square", precondition=False, steps=StepRule(60.0, 0.0), nu=0.0, stages=32, n_features=512)
    folder = CheckpointFolder(tmp_path, {"job": 1})
    with pytest.raises(DivergenceError, match="set step_size=6"):
        run("synchronous", folder, solver=solver)
    stages = folder.stages()
    assert stages
    assert folder.load(solver.state_type()).stage == stages[-1]


def test_a_million_features_fit_half_a_gibibyte():
    """As planned; the table of 2^20 coefficients is 4 MiB in a worker."""
    solver = dsg("logistic", n_features=2**20, block_size=512, batch_size=8192)
    problem = Problem((16384,) * 64, 54, rows()[0].features.dtype, 0, n_outputs=1, has_test=True)
    extent = Extent(problem.block_rows, 54 * 4 + 16)
    machine = Machine("distributed", 2, memory_limit=512 * MIB)
    for outline in solver.outline(problem):
        plan = outline.step.plan(extent, machine)
        assert 0 < plan.worker_bytes < 450 * MIB
