"""SVRG run by the driver: executors, a run that was cut, divergence, the plan."""

import dataclasses

import numpy as np
import pytest

from distkern.common.errors import DivergenceError
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog
from distkern.features.kernel_choice import KernelChoice
from distkern.features.random import Random
from distkern.kernels import find_kernel
from distkern.losses import find_loss
from distkern.passes import Extent, Machine
from distkern.passes.machine import MIB
from distkern.solvers.base import Problem
from distkern.solvers.risk import Risk
from distkern.solvers.svrg import SVRG
from feature_problems import RowsSource, executor_of, problem_of, waves

RBF = KernelChoice(find_kernel("rbf"), "median")
SOLVER = SVRG(Risk(find_loss("softmax")(), 3), Random(RBF, 128), nu=1e-4, stages=3, tol=0.0, batch_size=300)


def blocks_of():
    return waves(2500, 5, classes=3, dtype="float32", sizes=[700, 200, 900, 400, 300])


def run(scheduler, workers=1, *, solver=SOLVER, folder=None, resume=False, listener=None):
    blocks = blocks_of()
    held_out = waves(400, 5, classes=3, dtype="float32", sizes=[400], seed=1)
    sources = {"train": RowsSource(blocks), "test": RowsSource(held_out)}
    with executor_of(scheduler, workers) as executor:
        driver = Driver(sources, executor, EventLog([listener] if listener else []), folder)
        return driver.run(solver, problem_of(blocks, 3, has_test=True), resume=resume)


@pytest.mark.parametrize("step", [1e4, 1e200])
def test_divergence_leaves_the_last_checkpoint(tmp_path, step):
    solver = dataclasses.replace(SOLVER, step_size=step, nu=1.0)
    folder = CheckpointFolder(tmp_path, {"job": 1})
    with pytest.raises(DivergenceError, match=r"set step_size=1e.*checkpoint of stage 0 is kept"):
        run("synchronous", 1, solver=solver, folder=folder)
    assert folder.stages() == [0]
    assert folder.load(solver.state_type()).state.stage == 0


@pytest.mark.parametrize(("r", "limit"), [(2048, 512), (2**17, 512)])
def test_many_features_fit_the_planned_memory(r, limit):
    choice = Random(RBF, r)
    solver = SVRG(Risk(find_loss("logistic")()), choice)
    problem = Problem((16384,) * 64, 54, np.dtype(np.float32), 0, n_outputs=1, has_test=True)
    extent = Extent(problem.block_rows, 54 * 4 + 16)
    for outline in solver.outline(problem):
        plan = outline.step.plan(extent, Machine("distributed", 2, memory_limit=limit * MIB))
        assert 0 < plan.worker_bytes < 0.95 * limit * MIB, outline.step.name
