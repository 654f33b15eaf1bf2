"""A source and a solver that are small enough to check by hand; importable by worker processes."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from distkern.core.types import AbstractGroup, AbstractSource, Block, groups_of
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog
from distkern.engine.executors import open_executor
from distkern.passes import (
    AbstractFollower,
    AbstractResident,
    Cost,
    Extent,
    Message,
    Reduce,
    Rounds,
    Stream,
    batches,
    epoch_visits,
)
from distkern.passes.batches import BatchOrder
from distkern.passes.execution import Keep
from distkern.passes.stream import load_visit
from distkern.solvers.base import AbstractSolver, Measures, Outline, Problem


class ToySource(AbstractSource):
    """Rows 0 .. n-1 with features (row, row^2) in blocks of the given sizes, made where they are read."""

    def __init__(self, block_rows=(5, 7, 3, 6, 4), killer: Path | None = None):
        self.block_rows = tuple(block_rows)
        self.n_features = 2
        self.dtype = np.dtype(np.float32)
        self.fingerprint = f"toy-{self.block_rows}"
        self.killer = killer

    def reader(self, index):
        return ToyReader(self.block_rows, index, self.killer)

    def group(self, index):
        return ToyOpener(self.block_rows, index)


@dataclass(frozen=True)
class ToyOpener:
    block_rows: tuple[int, ...]
    index: int

    def __call__(self):
        return ToyGroup(self.block_rows, self.index)


class ToyGroup(AbstractGroup):
    def __init__(self, block_rows, index):
        self._readers = [ToyReader(block_rows, block) for block in groups_of(block_rows)[index]]
        self._features = np.concatenate([reader().features for reader in self._readers])
        self.targets = (self._features[:, 0] % 2).astype(np.int32)
        self.n_rows, self.n_features = self._features.shape

    def rows(self, positions):
        return self._features[positions]

    def columns(self, columns):
        return np.ascontiguousarray(self._features.T[columns])

    def blocks(self):
        return (reader() for reader in self._readers)


@dataclass(frozen=True)
class ToyReader:
    block_rows: tuple[int, ...]
    index: int
    killer: Path | None = None

    def __call__(self):
        if self.killer is not None and self.index == 2 and not self.killer.exists():
            self.killer.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        start = sum(self.block_rows[: self.index])
        rows = np.arange(start, start + self.block_rows[self.index], dtype=np.float32)
        features = np.stack([rows, rows**2], axis=1)
        return Block(features, (rows % 2).astype(np.int32), None, self.index)


def scaled_sum(block, factor):
    # 0.1 is not a binary fraction: another order of combination gives other bits
    return np.float32(0.1) * block.features.sum(axis=0) * np.float32(factor)


def sum_scaled_by_first(block, factors):
    return scaled_sum(block, factors[0])


def add(first, second):
    return first + second


def norm_of_blocks(item, blocks, operand):
    """A record and an array, of which rounding remembers the order of the blocks."""
    total, numbers = np.zeros(2, np.float32), []
    for block in blocks:
        total += scaled_sum(block, operand)
        numbers.append(block.index)
    return {"item": item, "blocks": numbers}, {"total": total}


def failing(block, operand):
    raise ValueError(f"block {block.index} is bad")


def prepare(block, factor):
    return block.features[:, 0] * factor


@dataclass(frozen=True)
class ToyState:
    total: np.ndarray
    order: np.ndarray
    stage: int
    objective: float


@dataclass(frozen=True)
class ToySolver(AbstractSolver[ToyState]):
    """Adds up the rows in a reduce, then chains them in a stream, where the order matters."""

    stages: int = 4
    diverge_at: int | None = None
    step_size: float | None = None

    name = "toy"
    starts_at_zero = False

    def state_type(self):
        return ToyState

    def init(self, problem):
        total = yield Reduce("sum", scaled_sum, add, 1.0)
        return ToyState(total, np.zeros(1), 0, float(total[0]))

    def stage(self, problem, state):
        visits = epoch_visits(
            problem.block_rows, problem.n_rows, seed=problem.seed, stage=state.stage, replace=False
        )
        pieces = yield Stream("chain", visits, prepare, 1.0, piece_rows=2, cost=Cost(result_bytes=8))
        chained = state.order[0]
        for piece in pieces:
            for value in piece:
                chained = 0.7 * chained + float(value)
        total = yield Reduce("sum", scaled_sum, add, chained)
        objective = float("nan") if state.stage + 1 == self.diverge_at else float(chained)
        return ToyState(total, np.array([chained]), state.stage + 1, objective)

    def finished(self, state):
        return state.stage >= self.stages

    def measures(self, state):
        return Measures(state.objective, 0.0, None, 1, {})

    def outline(self, problem):
        return [Outline(Reduce("sum", scaled_sum, add), self.stages + 1.0)]


class ToyResident(AbstractResident):
    """A float for every row, changed by every message in a way that rounding remembers the order of."""

    def __init__(self, groups, factor, saved):
        self.groups = {group: opener() for group, opener in groups.items()}
        self.factor = factor
        self.values = {}
        for group, opened in self.groups.items():
            kept = saved[group]["values"] if group in saved else np.full(opened.n_rows, 1.0)
            self.values[group] = np.array(kept)

    def answer(self, message):
        number, shift, deadly = message
        if deadly is not None and 0 in self.groups and not deadly.exists():
            deadly.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if shift < 0:
            raise ValueError(f"round {number} is bad")
        sums = []
        for group, opened in self.groups.items():
            column = opened.columns(np.array([number % 2]))[0]
            values = self.values[group]
            values *= 1.0 - 0.1 * self.factor
            values += shift * np.cos(column)
            sums.append(values.sum())
        return np.array(sums)

    def saved(self, group):
        return {"values": self.values[group]}


def open_toy(groups, factor, saved):
    return ToyResident(groups, factor, saved)


def join(first, second):
    return np.concatenate([first, second])


def toy_rounds(n_rounds=5, operations=5e10, cost=None, **changes):
    """Rounds that the planner shares out to workers, for they are said to take long."""
    cost = replace(cost or Cost(), operations=operations)
    return Rounds("toy rounds", open_toy, join, 0.7, n_rounds=n_rounds, cost=cost, **changes)


@dataclass(frozen=True)
class RoundsState:
    shift: float
    sums: np.ndarray
    stage: int


@dataclass(frozen=True)
class RoundsSolver(AbstractSolver[RoundsState]):
    """Rounds, another pass, the same rounds once more; each message depends on the answer before.

    Attributes
    ----------
    pause : stages without rounds (the state must outlive them)
    deadly : the worker that holds group 0 dies in the last round of stage 2, if this file is not there
    """

    stages: int = 4
    n_rounds: int = 5
    pause: tuple[int, ...] = (3,)
    operations: float = 5e10
    deadly: Path | None = None
    accesses: tuple[int, int] | None = None

    name = "rounds"
    starts_at_zero = False

    def state_type(self):
        return RoundsState

    def init(self, problem):
        total = yield Reduce("sum", scaled_sum, add, 1.0)
        return RoundsState(float(total[0]) * 1e-3, np.zeros(1), 0)

    def stage(self, problem, state):
        shift, sums = state.shift, state.sums
        if state.stage + 1 not in self.pause:
            for part in range(2):
                yield toy_rounds(self.n_rounds, self.operations)
                for number in range(self.n_rounds):
                    fatal = state.stage == 1 and part == 1 and number == self.n_rounds - 1
                    sums = yield Message((number, shift, self.deadly if fatal else None))
                    for value in sums:
                        shift = abs(0.7 * shift + 0.01 * float(value))
                total = yield Reduce("sum", scaled_sum, add, shift)
                shift += 1e-3 * float(total[0])
        return RoundsState(shift, sums, state.stage + 1)

    def finished(self, state):
        return state.stage >= self.stages

    def measures(self, state):
        return Measures(state.shift, 0.0, None, 1, {}, self.accesses)

    def outline(self, problem):
        step = toy_rounds(self.n_rounds, self.operations)
        return [Outline(Reduce("sum", scaled_sum, add), self.stages + 1.0), Outline(step, 2.0 * self.stages)]


class ToyFollower(AbstractFollower):
    """A number that every message changes, and each part of a batch times it."""

    def __init__(self, factor):
        self.model = factor

    def follow(self, content):
        self.model = 0.7 * self.model + content

    def answer(self, content, parts):
        return tuple(np.float32(self.model) * part.features.sum(axis=0) for part in parts)


@dataclass(frozen=True)
class BatchesSolver(RoundsSolver):
    """Five batches a stage; each message depends on the answer before."""

    def stage(self, problem, state):
        order = BatchOrder(problem.block_rows, 2048, problem.seed)
        shift, sums, cursor = state.shift, state.sums, order.first()
        # said to take long, so that workers share them
        yield batches("toy batches", ToyFollower, add, order, 0.3, n_batches=5, cost=Cost(operations=5e13))
        for _ in range(5):
            draws, cursor = order.next(cursor)
            parts = yield Message((shift, draws))
            assert len(parts) == len(draws) > 1
            sums = sums + np.sum(parts, axis=0)
            shift = 1e-3 * abs(float(parts[0][0]) - float(parts[-1][0])) ** 0.5
        return RoundsState(shift, sums, state.stage + 1)


def executor_of(request):
    """The executor of two workers that the parameter of a fixture names."""
    if request.param == "local":
        yield request.getfixturevalue("local_workers")
        return
    with open_executor(request.param, workers=2) as opened:
        yield opened


def toy_problem(source, seed=3):
    return Problem(source.block_rows, 2, source.dtype, seed, n_outputs=1, has_test=False)


def run_toy(
    source, solver, *, problem=None, folder=None, resume=False, listeners=(), scheduler="synchronous"
):
    """The outcome of a run of three workers."""
    with open_executor(scheduler, workers=3) as executor:
        driver = Driver({"train": source}, executor, EventLog(listeners), folder)
        return driver.run(solver, problem or toy_problem(source), resume=resume)


def same_sums(first, second):
    np.testing.assert_array_equal(first.state.sums, second.state.sums)
    assert first.state.shift == second.state.shift


def take(visit, item):
    return load_visit(visit, Keep(), item)


def first_column(block, operand):
    return block.features[:, 0]


class Pids:
    """A store that remembers who was told to put something."""

    def __init__(self, here=True):
        self.here = here

    def is_here(self):
        return self.here

    def put(self, number, result):
        return os.getpid()

    def records(self):
        return {}


def process_of(item, blocks, operand):
    return "x" * 10_000


def bad_item(item, blocks, operand):
    raise ValueError(f"item {item} is bad")


def blas_threads(block, operand):
    import threadpoolctl

    np.ones((2, 2)) @ np.ones((2, 2))
    return max(pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas")


def open_residents(executor, source, lost=print):
    """Residents of the toy's rounds on an executor."""
    step = toy_rounds()
    return executor.residents(step, step.plan(Extent.of(source), executor.machine), source, {}, lost)


def forget_state(key, dask_worker):
    """Reset an actor, as if Dask had created it again: same key, same worker, no state."""
    actor = dask_worker.state.actors[key]
    actor.__init__(actor._epoch)


class InterruptAt:
    """Ctrl-C at a given event of a given stage, and of a given pass if it has a name."""

    def __init__(self, kind, stage, name=None):
        self.kind, self.stage, self.name = kind, stage, name

    def __call__(self, event):
        is_named = self.name is None or event.fields.get("name", self.name) == self.name
        if is_named and (event.kind, event.fields.get("stage")) == (self.kind, self.stage):
            raise KeyboardInterrupt
