"""A source and a solver that are small enough to check by hand; importable by worker processes."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from distkern.core.types import AbstractSource, Block
from distkern.passes import Cost, Reduce, Stream, epoch_visits
from distkern.solvers.base import AbstractSolver, Measures, Outline


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


def add(first, second):
    return first + second


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

    name = "toy"

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
