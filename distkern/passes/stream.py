"""Stream: rows loaded and prepared ahead in parallel, for a sequential loop."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from distkern.core import blas
from distkern.core.rng import Purpose, stream
from distkern.core.types import AbstractSource, Block, Reader
from distkern.passes.base import Extent, Pass, PassPlan, Site, UnderWay, Watch
from distkern.passes.execution import AbstractExecutor, Call, Keep, Shared, Timed, read_block
from distkern.passes.machine import BYTE_SENT, UNKNOWN, Cost, Machine, loaded_bytes
from distkern.passes.rounds import AbstractResident

Prepared = TypeVar("Prepared")
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class Visit:
    """A block of a Stream, and the rows to visit in order.

    The order is drawn from (seed, key) where the block is read, so no indices are sent: the first ``n_draws``
    of a permutation, or independent uniform draws with replacement. Without a key it is the block's order.
    """

    block: int
    n_draws: int
    seed: int = 0
    key: tuple[int, ...] = ()
    replace: bool = False

    def rows(self, n_rows: int) -> NDArray[np.intp] | slice:
        """Return positions in a block of ``n_rows`` rows, in the order of the visit."""
        if not self.key:
            return slice(0, self.n_draws)
        generator = stream(self.seed, Purpose.ROW_ORDER, *self.key)
        if self.replace:
            return generator.integers(0, n_rows, size=self.n_draws, dtype=np.intp)
        return generator.permutation(n_rows)[: self.n_draws]


@dataclass(frozen=True)
class StreamPlan(PassPlan):
    """The processes that load the rows of visits and prepare pieces.

    Attributes
    ----------
    load : "driver" or "workers"
    prepare : "driver" (threads beside the sequential loop) or "workers"
    threads : preparing threads in the driver's process; 0 prepares inline
    pieces_per_window : pieces that a worker prepares in one task
    in_flight : windows or visits ahead of the one being consumed
    """

    load: str
    prepare: str
    threads: int
    pieces_per_window: int
    in_flight: int
    counts_blocks_of_driver: ClassVar[bool] = True

    @property
    def driver_reads(self) -> bool:
        return self.load == "driver"


@dataclass(frozen=True)
class Stream(Pass, Generic[Prepared]):
    """Pieces of rows, prepared ahead in parallel and consumed in order by a sequential loop.

    The solver is sent an iterator over ``prepare(piece, operand)``, where a piece is a block of
    ``piece_rows`` rows (the last of a visit may be shorter). Pieces do not depend on where they are prepared.
    """

    name: str
    visits: tuple[Visit, ...]
    prepare: Callable[[Block, Any], Prepared]
    operand: Any = None
    piece_rows: int = 1024
    split: str = "train"
    cost: Cost = UNKNOWN

    @property
    def n_rows(self) -> int:
        return sum(visit.n_draws for visit in self.visits)

    def work(self, block_rows: Sequence[int]) -> float:
        return self.cost.operations * self.n_rows

    def plan(self, extent: Extent, machine: Machine) -> StreamPlan:
        """Choose the cheaper way to feed the sequential loop.

        A row costs max(a / workers, c p) operations if workers prepare it and a / threads + c s if the driver
        does, where a prepares a row, c sends a byte, and p and s are the bytes of a prepared and of a raw
        row. The term c s is absent if the driver reads the rows itself, as it does if workers are on its
        host. Prepared kernel rows win with many features per landmark or many workers per driver.
        """
        cost, visits = self.cost, self.visits
        threads = machine.driver_threads if machine.kind != "synchronous" else 0
        driver_reads = extent.readable_by_driver and machine.same_host
        by_driver = cost.operations / max(threads, 1) + (0 if driver_reads else BYTE_SENT * extent.row_bytes)
        by_workers = max(cost.operations / machine.n_workers, BYTE_SENT * cost.result_bytes)
        workers_prepare = not machine.in_process and by_workers < by_driver
        load = "workers" if workers_prepare or not driver_reads else "driver"
        prepare = "workers" if workers_prepare else "driver"
        piece_bytes = self.piece_rows * cost.result_bytes
        per_window = max(1, machine.window_bytes // max(piece_bytes, 1))
        in_flight = machine.n_workers + 1 if load == "workers" else machine.loads_ahead if threads else 0
        reading = extent.block_bytes(machine)
        driver, worker = extent.kept_bytes(machine), 0
        if prepare == "workers":
            # a block, its permuted copy, the workspace, and pieces waiting to be sent
            task_bytes = (
                reading + extent.largest_block_bytes + cost.workspace_bytes + per_window * piece_bytes
            )
            worker += (
                loaded_bytes(cost) + machine.tasks_of_process * task_bytes + 2 * per_window * piece_bytes
            )
            driver += (in_flight + 2) * per_window * piece_bytes
        else:
            # waiting visits are permuted copies of blocks; pieces of a finished one may still be in use
            waiting = min(in_flight + 2, len(visits)) * extent.largest_block_bytes
            pieces_in_driver = (2 * threads + 2) * piece_bytes
            driver += waiting + cost.process_bytes + cost.workspace_bytes * max(threads, 1) + pieces_in_driver
            if load == "driver":
                driver += reading
            else:
                worker += machine.tasks_of_process * (reading + extent.largest_block_bytes)
                worker += 2 * extent.largest_block_bytes
        mode = f"workers send {'prepared' if prepare == 'workers' else 'raw'} rows"
        return StreamPlan.of(
            self,
            extent,
            machine,
            len(visits),
            self.n_rows,
            worker=worker,
            driver=driver,
            works_here=prepare == "driver",
            mode="driver reads and prepares" if load == "driver" else mode,
            load=load,
            prepare=prepare,
            threads=threads,
            pieces_per_window=per_window,
            in_flight=in_flight,
        )

    def run(self, site: Site) -> Iterator[Prepared]:
        plan = self.plan(site.extent, site.executor.machine)
        return Pieces(self, plan, site.source, site.executor, site.watch(self, plan, plan.tasks))

    def alone(self, rows: Block, residents: dict[str, AbstractResident]) -> Iterator[Prepared]:
        for visit in self.visits:
            for piece in pieces(rows.take(visit.rows(rows.n_rows)), self.piece_rows):
                yield self.prepare(piece, self.operand)

    def held_bytes(self, n_rows: int) -> int:
        return self.cost.result_bytes * self.piece_rows


def pieces(block: Block, piece_rows: int) -> Iterator[Block]:
    """Cut the rows of a visit into the pieces for ``prepare``."""
    for start in range(0, block.n_rows, piece_rows):
        yield block.take(slice(start, min(start + piece_rows, block.n_rows)))


def whole_visits(block_rows: tuple[int, ...]) -> tuple[Visit, ...]:
    """Return visits of all rows in stored order."""
    return tuple(Visit(block, n_rows) for block, n_rows in enumerate(block_rows))


def epoch_visits(
    block_rows: tuple[int, ...], n_steps: int, *, seed: int, stage: int, replace: bool
) -> tuple[Visit, ...]:
    """Return the visits of ``n_steps`` sampled rows.

    Shuffled (``replace=False``): each epoch visits every row once, in random order of blocks and of rows
    within a block, so consecutive rows come from one block. Stored rows are shuffled before
    (``AbstractSource.is_shuffled``), so this is as good as a shuffle of all rows. The last epoch is cut
    short. Independent (``replace=True``): each block receives a multinomial number of draws, so the drawn
    multiset has the distribution of n_steps independent uniform draws, but ordered by block: in a block of m
    rows, a draw repeats the previous one with probability 1/m, not 1/n.
    """
    order = stream(seed, Purpose.VISIT_ORDER, stage)
    rows = np.asarray(block_rows)
    n_rows = int(rows.sum())
    visits: list[Visit] = []
    remaining = n_steps
    epoch = 0
    while remaining > 0:
        steps = min(remaining, n_rows)
        counts = order.multinomial(steps, rows / n_rows) if replace else rows
        for block in order.permutation(len(block_rows)):
            n_draws = min(int(counts[block]), remaining)
            if n_draws > 0:
                visits.append(Visit(int(block), n_draws, seed, (stage, epoch, int(block)), replace))
                remaining -= n_draws
        epoch += 1
    return tuple(visits)


def load_visit(visit: Visit, keep: Keep, item: Block | Reader) -> Timed:
    """Read the rows of a visit in its order."""
    start = time.perf_counter()
    block = read_block(item, keep)
    return Timed(block.take(visit.rows(block.n_rows)), time.perf_counter() - start, 0.0)


def prepare_window(
    prepare: Callable[..., Any],
    operand: Any,
    piece_rows: int,
    first: int,
    stop: int,
    visit: Visit,
    keep: Keep,
    item: Block | Reader,
) -> Timed:
    """Prepare pieces ``first`` .. ``stop`` - 1 of a visit."""
    blas.pin_worker()
    loaded = load_visit(visit, keep, item)
    start = time.perf_counter()
    window = loaded.value.take(slice(first * piece_rows, stop * piece_rows))
    prepared = [prepare(piece, operand) for piece in pieces(window, piece_rows)]
    return Timed(prepared, loaded.read_seconds, time.perf_counter() - start)


class Pieces(Iterator[Any], UnderWay):
    """The prepared pieces of a running Stream, in order; the pass ends with the last one.

    Attributes
    ----------
    seconds : ``read`` and ``prepare`` on threads or workers (they overlap), ``wait`` of the sequential loop
        for them, and ``loop`` of the loop itself
    """

    def __init__(
        self,
        step: Stream[Any],
        plan: StreamPlan,
        source: AbstractSource,
        executor: AbstractExecutor,
        watch: Watch,
    ) -> None:
        self._step, self._plan, self._source, self._executor = step, plan, source, executor
        self._watch = watch
        self.seconds = dict.fromkeys(("read", "prepare", "wait", "loop"), 0.0)
        self._pieces = self._consumed()

    def __next__(self) -> Any:
        return next(self._pieces)

    def end(self) -> None:
        self.close()

    def close(self) -> None:
        # the solver may not have consumed everything
        self._pieces.close()

    def _consumed(self) -> Generator[Any, None, None]:
        with ExitStack() as stack:
            prepared = self._prepared(stack)
            while True:
                asked = time.perf_counter()
                piece = next(prepared, None)
                arrived = time.perf_counter()
                self.seconds["wait"] += arrived - asked
                if piece is None:
                    break
                last_of_visit, value = piece
                yield value
                self.seconds["loop"] += time.perf_counter() - arrived
                if last_of_visit is not None:
                    self._watch.progress(last_of_visit + 1)
        self._watch.finish(self.seconds)

    def _prepared(self, stack: ExitStack) -> Iterator[tuple[int | None, Any]]:
        """Yield prepared pieces, the last of a visit with the visit's number; ``stack`` ends threads."""
        step, plan = self._step, self._plan
        if plan.prepare == "workers":
            yield from self._prepared_by_workers()
            return
        cut = (
            (number if start + step.piece_rows >= rows.n_rows else None, piece)
            for number, rows in enumerate(self._loaded(stack))
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
            pool = stack.enter_context(ThreadPoolExecutor(plan.threads, "distkern-prepare"))
            outcomes = _ordered_map(pool, prepare, cut, 2 * plan.threads)
        for last, value, seconds in outcomes:
            self.seconds["prepare"] += seconds
            yield last, value

    def _loaded(self, stack: ExitStack) -> Iterator[Block]:
        """Yield the rows of each visit in its order."""
        plan, source, visits = self._plan, self._source, self._step.visits

        def load(visit: Visit) -> Timed:
            return load_visit(visit, plan.keep, source.reader(visit.block))

        loads: Iterable[Timed]
        if plan.load == "workers" or source.is_graph:
            calls = (Call(load_visit, (visit, plan.keep), source, (visit.block,)) for visit in visits)
            loads = self._executor.ordered(calls, plan.in_flight)
        elif plan.threads == 0:
            loads = map(load, visits)
        else:
            pool = stack.enter_context(ThreadPoolExecutor(1, "distkern-load"))
            loads = _ordered_map(pool, load, visits, plan.in_flight)
        for loaded in loads:
            self.seconds["read"] += loaded.read_seconds
            yield loaded.value

    def _prepared_by_workers(self) -> Iterator[tuple[int | None, Any]]:
        step, plan = self._step, self._plan
        operand = Shared(step.operand)

        def calls() -> Iterator[Call]:
            for visit in step.visits:
                for first, stop in _windows(visit, step.piece_rows, plan.pieces_per_window):
                    arguments = (step.prepare, operand, step.piece_rows, first, stop, visit, plan.keep)
                    yield Call(prepare_window, arguments, self._source, (visit.block,))

        results = self._executor.ordered(calls(), plan.in_flight)
        for number, visit in enumerate(step.visits):
            windows = _windows(visit, step.piece_rows, plan.pieces_per_window)
            for position, _ in enumerate(windows):
                window = next(results)
                self.seconds["read"] += window.read_seconds
                self.seconds["prepare"] += window.work_seconds
                for index, piece in enumerate(window.value):
                    last = position == len(windows) - 1 and index == len(window.value) - 1
                    yield (number if last else None), piece


def _windows(visit: Visit, piece_rows: int, pieces_per_window: int) -> list[tuple[int, int]]:
    n_pieces = -(-visit.n_draws // piece_rows)
    return [
        (first, min(first + pieces_per_window, n_pieces)) for first in range(0, n_pieces, pieces_per_window)
    ]


def _ordered_map(
    pool: ThreadPoolExecutor, function: Callable[[Item], Outcome], items: Iterable[Item], in_flight: int
) -> Iterator[Outcome]:
    """Like map, with at most ``in_flight`` calls ahead of the awaited one."""
    waiting: deque[Future[Outcome]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > in_flight:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
