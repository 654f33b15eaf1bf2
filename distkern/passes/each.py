"""Each: one task per item, in any order, whose result its worker stores."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from distkern.core import blas
from distkern.core.stores import Store
from distkern.core.types import Block, Reader
from distkern.passes.base import Extent, Pass, PassPlan, Site, working_bytes
from distkern.passes.execution import Call, Keep, Shared, Timed, read_block
from distkern.passes.machine import TASK_BYTES, UNKNOWN, Cost, Machine

#: tasks in flight per worker
_TASKS_IN_FLIGHT = 16


@dataclass(frozen=True)
class EachPlan(PassPlan):
    """``order`` of the tasks, by number; at most ``in_flight`` run or wait on workers."""

    order: tuple[int, ...]
    in_flight: int


@dataclass(frozen=True)
class Each(Pass):
    """One task per item, run on the workers in any order.

    A task stores its result in ``store`` where it runs, and only a small record travels. The solver is sent
    the records in the order of the items. Tasks with records from a killed run are not repeated.

    Attributes
    ----------
    task : module-level function of (item, iterator over its blocks, operand) that returns the result; a block
        is read when the iterator reaches it
    items : picklable argument of each task
    store : store of the results; None if the pass is only planned
    blocks : numbers of the blocks that each item's task reads, in order; empty if tasks read none
    operand : sent to the workers, for all tasks
    record_bytes : largest size of a pickled record
    cost : cost of a task; ``result_bytes`` counts what it stores
    """

    name: str
    task: Callable[[Any, Iterator[Block], Any], Any]
    items: Sequence[Any]
    store: Store | None
    blocks: Sequence[tuple[int, ...]] = ()
    operand: Any = None
    split: str = "train"
    record_bytes: int = 512
    cost: Cost = UNKNOWN

    def __post_init__(self) -> None:
        if self.blocks and len(self.blocks) != len(self.items):
            raise ValueError(f"{len(self.items)} items and blocks of {len(self.blocks)}")

    def work(self, block_rows: Sequence[int]) -> float:
        """Return 0: the operations of tasks are unknown."""
        return 0.0

    def blocks_of(self, number: int) -> tuple[int, ...]:
        """Return the blocks that a task reads."""
        return self.blocks[number] if self.blocks else ()

    def plan(self, extent: Extent, machine: Machine) -> EachPlan:
        """Start with the tasks with most rows, so that no long one runs last.

        A task holds a block (for a lazy graph, all of its blocks), its workspace and its result. The driver
        holds the records and, if workers may not see the store, the results in flight.

        >>> extent = Extent(block_rows=(10, 30, 20), row_bytes=1000)
        >>> step = Each("cells", len, range(2), store=None, blocks=((0,), (1, 2)))
        >>> plan = step.plan(extent, Machine("synchronous", 1))
        >>> plan.order, plan.rows
        ((1, 0), 60)
        """
        numbers, cost = range(len(self.items)), self.cost
        rows = [sum(extent.block_rows[block] for block in self.blocks_of(number)) for number in numbers]
        reading = extent.block_bytes(machine) if any(self.blocks) else 0
        if not extent.readable_by_driver:
            reading = max(reading, max(rows, default=0) * extent.row_bytes)
        task_bytes = reading + cost.workspace_bytes + cost.result_bytes
        in_flight = _TASKS_IN_FLIGHT * machine.n_workers
        under_way = min(in_flight, len(rows))
        worker, here = working_bytes(cost, extent, machine, task_bytes)
        driver = here + under_way * TASK_BYTES + len(rows) * self.record_bytes
        return EachPlan.of(
            self,
            extent,
            machine,
            len(rows),
            sum(rows),
            worker=worker,
            driver=driver + (0 if machine.same_host else under_way * cost.result_bytes),
            works_here=machine.in_process,
            order=tuple(sorted(numbers, key=lambda number: -rows[number])),
            in_flight=in_flight,
        )

    def run(self, site: Site) -> list[Any]:
        """Run the tasks and return their records."""
        plan = self.plan(site.extent, site.executor.machine)
        watch = site.watch(self, plan, plan.tasks)
        kept = self.store
        assert kept is not None, "a running pass has a store"
        found = {number: record for number, record in kept.records().items() if number < plan.tasks}
        records = dict(found)
        operand, store = Shared(self.operand), Shared(kept)

        def calls() -> Iterator[tuple[int, Call]]:
            for number in (number for number in plan.order if number not in found):
                arguments = (
                    self.task,
                    operand,
                    store,
                    self.record_bytes,
                    plan.keep,
                    number,
                    self.items[number],
                )
                yield number, Call(each_task, arguments, site.source, self.blocks_of(number))

        read = work = 0.0
        watch.progress(len(records))
        for number, timed in site.executor.finished(self.name, calls(), plan.in_flight):
            value = timed.value
            if isinstance(value, _Unstored):
                value = _put(kept, number, value.result, self.record_bytes)
            records[number] = value
            read, work = read + timed.read_seconds, work + timed.work_seconds
            watch.progress(len(records))
        watch.finish({"read": read, "work": work})
        return [records[number] for number in range(plan.tasks)]


@dataclass(frozen=True)
class _Unstored:
    """A result whose worker does not see the store."""

    result: Any


def each_task(
    function: Callable[..., Any],
    operand: Any,
    store: Store,
    record_bytes: int,
    keep: Keep,
    number: int,
    item: Any,
    *readers: Block | Reader,
) -> Timed:
    """Run task ``number``; return the record of its stored result, or the result as :class:`_Unstored`."""
    blas.pin_worker()
    read = 0.0

    def blocks() -> Iterator[Block]:
        nonlocal read
        for reader in readers:
            asked = time.perf_counter()
            block = read_block(reader, keep)
            read += time.perf_counter() - asked
            yield block

    start = time.perf_counter()
    result = function(item, blocks(), operand)
    if store.is_here():
        value = _put(store, number, result, record_bytes)
    else:
        value = _Unstored(result)
    return Timed(value, read, time.perf_counter() - start - read)


def _put(store: Store, number: int, result: Any, record_bytes: int) -> Any:
    """Store a result; return its record, which must be small since the driver holds all of them."""
    record = store.put(number, result)
    size = len(pickle.dumps(record, protocol=5))
    if size > record_bytes:
        raise ValueError(f"the record of task {number} takes {size} bytes instead of {record_bytes}")
    return record
