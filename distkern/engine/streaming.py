"""Run a Stream: load and prepare ahead, hand out strictly in order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from distkern.common.types import AbstractSource, Block
from distkern.engine.executors.base import AbstractExecutor, Call, Progress, Shared
from distkern.engine.plan import StreamPlan
from distkern.engine.tasks import Timed, load_visit, prepare_window
from distkern.passes import Stream, Visit, pieces

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class StreamClock:
    """Where a Stream's time goes, in seconds.

    ``read`` and ``prepare`` are seconds of the threads or workers that did it (they overlap), ``wait`` what
    the sequential loop waited for them, ``loop`` what it took itself.
    """

    def __init__(self) -> None:
        self.read = self.prepare = self.wait = self.loop = 0.0

    def split(self) -> dict[str, float]:
        return dict(vars(self))


def run_stream(
    step: Stream[Any],
    plan: StreamPlan,
    source: AbstractSource,
    executor: AbstractExecutor,
    clock: StreamClock,
    progress: Progress,
) -> Iterator[Any]:
    """The prepared pieces of all visits, in order; ``progress`` is told the visits that are consumed."""
    with ExitStack() as stack:
        prepared = _Run(step, plan, source, executor, clock, stack).prepared()
        while True:
            asked = time.perf_counter()
            piece = next(prepared, None)
            given = time.perf_counter()
            clock.wait += given - asked
            if piece is None:
                return
            last_of_visit, value = piece
            yield value
            clock.loop += time.perf_counter() - given
            if last_of_visit is not None:
                progress(last_of_visit + 1)


@dataclass(frozen=True)
class _Run:
    """A Stream that runs; its threads end with ``stack``."""

    step: Stream[Any]
    plan: StreamPlan
    source: AbstractSource
    executor: AbstractExecutor
    clock: StreamClock
    stack: ExitStack

    def prepared(self) -> Iterator[tuple[int | None, Any]]:
        """Prepared pieces; each with the number of its visit if it is the visit's last."""
        step, plan = self.step, self.plan
        if plan.prepare == "workers":
            yield from self._prepared_by_workers()
            return
        cut = (
            (number if start + step.piece_rows >= rows.n_rows else None, piece)
            for number, rows in enumerate(self._loaded())
            for start, piece in zip(
                range(0, rows.n_rows, step.piece_rows), pieces(rows, step.piece_rows), strict=True
            )
        )

        def prepare(item: tuple[int | None, Block]) -> tuple[int | None, Any, float]:
            start = time.perf_counter()
            value = step.prepare(item[1], step.operand)
            return item[0], value, time.perf_counter() - start

        if plan.threads == 0:
            outcomes: Iterable[tuple[int | None, Any, float]] = map(prepare, cut)
        else:
            pool = self.stack.enter_context(ThreadPoolExecutor(plan.threads, "distkern-prepare"))
            outcomes = _ordered_map(pool, prepare, cut, 2 * plan.threads)
        for last, value, seconds in outcomes:
            self.clock.prepare += seconds
            yield last, value

    def _loaded(self) -> Iterator[Block]:
        """The rows of each visit, in its order."""
        plan, source, visits = self.plan, self.source, self.step.visits

        def load(visit: Visit) -> Timed:
            return load_visit(visit, plan.keep, source.reader(visit.block))

        loads: Iterable[Timed]
        if plan.load == "workers" or source.is_graph:
            calls = (Call(load_visit, (visit, plan.keep), source, (visit.block,)) for visit in visits)
            loads = self.executor.ordered(calls, plan.ahead)
        elif plan.threads == 0:
            loads = map(load, visits)
        else:
            pool = self.stack.enter_context(ThreadPoolExecutor(1, "distkern-load"))
            loads = _ordered_map(pool, load, visits, plan.ahead)
        for loaded in loads:
            self.clock.read += loaded.read_seconds
            yield loaded.value

    def _prepared_by_workers(self) -> Iterator[tuple[int | None, Any]]:
        step, plan = self.step, self.plan
        operand = Shared(step.operand)

        def calls() -> Iterator[Call]:
            for visit in step.visits:
                for first, stop in _windows(visit, step.piece_rows, plan.pieces_per_window):
                    arguments = (step.prepare, operand, step.piece_rows, first, stop, visit, plan.keep)
                    yield Call(prepare_window, arguments, self.source, (visit.block,))

        results = self.executor.ordered(calls(), plan.ahead)
        for number, visit in enumerate(step.visits):
            windows = _windows(visit, step.piece_rows, plan.pieces_per_window)
            for position, _ in enumerate(windows):
                window = next(results)
                self.clock.read += window.read_seconds
                self.clock.prepare += window.work_seconds
                for index, piece in enumerate(window.value):
                    last = position == len(windows) - 1 and index == len(window.value) - 1
                    yield (number if last else None), piece


def _windows(visit: Visit, piece_rows: int, pieces_per_window: int) -> list[tuple[int, int]]:
    n_pieces = -(-visit.n_draws // piece_rows)
    return [
        (first, min(first + pieces_per_window, n_pieces)) for first in range(0, n_pieces, pieces_per_window)
    ]


def _ordered_map(
    pool: ThreadPoolExecutor, function: Callable[[Item], Outcome], items: Iterable[Item], ahead: int
) -> Iterator[Outcome]:
    """Like map, with at most ``ahead`` calls under way before the one that is waited for."""
    waiting: deque[Future[Outcome]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
