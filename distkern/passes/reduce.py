"""Reduce: a function of every block, the results combined in a fixed order."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from distkern.core import blas
from distkern.core.types import AbstractSource, Block, Reader
from distkern.passes.base import Extent, Pass, PassPlan, Site, working_bytes
from distkern.passes.execution import FAN_IN, Call, Keep, Shared, Timed, read_block
from distkern.passes.machine import MIB, TASK_BYTES, UNKNOWN, Cost, Machine
from distkern.passes.rounds import AbstractResident

Partial = TypeVar("Partial")

_TASK_BYTES_READ = 16 * MIB
_LEAST_TASKS = 16


@dataclass(frozen=True)
class ReducePlan(PassPlan):
    """``groups``: the blocks of each task, in the order in which their results are combined."""

    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Reduce(Pass, Generic[Partial]):
    """Compute combine(... combine(map(block_0), map(block_1)) ...) in an order fixed by the data.

    Attributes
    ----------
    map : module-level function of (block, operand)
    combine : associative function of two results of ``map``, earlier rows first
    blocks : numbers of the blocks to read, in order; None: all
    """

    name: str
    map: Callable[[Block, Any], Partial]
    combine: Callable[[Partial, Partial], Partial]
    operand: Any = None
    split: str = "train"
    blocks: tuple[int, ...] | None = None
    cost: Cost = UNKNOWN
    measures_only: bool = False

    def work(self, block_rows: Sequence[int]) -> float:
        blocks = range(len(block_rows)) if self.blocks is None else self.blocks
        return self.cost.operations * sum(block_rows[block] for block in blocks)

    def plan(self, extent: Extent, machine: Machine) -> ReducePlan:
        """Group blocks until a task reads 16 MiB, but keep at least 16 tasks.

        >>> extent = Extent(block_rows=(1000,) * 40, row_bytes=1000)
        >>> plan = Reduce("count", len, max).plan(extent, Machine("synchronous", 1))
        >>> plan.tasks, plan.groups[0], plan.bytes_read
        (20, (0, 1), 40000000)
        """
        blocks = self.blocks if self.blocks is not None else tuple(range(len(extent.block_rows)))
        rows = sum(extent.block_rows[block] for block in blocks)
        per_task = max(
            1,
            min(
                _TASK_BYTES_READ * len(blocks) // max(rows * extent.row_bytes, 1), len(blocks) // _LEAST_TASKS
            ),
        )
        groups = tuple(blocks[start : start + per_task] for start in range(0, len(blocks), per_task))
        cost = self.cost
        # results waiting to be combined, and earlier combined ones; the driver has the last
        waiting = cost.waiting_bytes(min(FAN_IN, len(groups)))
        earlier = _combined_before(len(groups)) * cost.result_bytes
        # a new sum is computed before the previous one is freed
        combined = 0 if len(groups) <= FAN_IN and per_task == 1 else cost.waiting_bytes(2)
        combined += -(-earlier // machine.processes)
        # a worker copies the last results that it sends to the driver, one of them twice
        last = len(groups)
        while last > FAN_IN:
            last = -(-last // FAN_IN)
        share = -(-last // machine.processes)
        sent = cost.waiting_bytes(share) + cost.waiting_bytes(share + 1)
        worker, here = working_bytes(
            cost, extent, machine, extent.block_bytes(machine) + cost.workspace_bytes
        )
        driver = here + len(groups) * TASK_BYTES + waiting + cost.result_bytes
        if machine.kind == "distributed" and machine.same_host:
            # results pass through the scheduler in or beside the driver's process
            driver += waiting
        return ReducePlan.of(
            self,
            extent,
            machine,
            len(groups),
            rows,
            worker=worker + max(waiting + combined, sent),
            driver=driver + earlier * machine.in_process,
            works_here=machine.in_process,
            groups=groups,
        )

    def run(self, site: Site) -> Partial:
        plan = self.plan(site.extent, site.executor.machine)
        watch = site.watch(self, plan, plan.tasks)
        calls = self.calls(plan, site.source)
        result = site.executor.reduced(self.name, calls, self.combine, watch.progress)
        watch.finish({"read": result.read_seconds, "work": result.work_seconds})
        value: Partial = result.value
        return value

    def calls(self, plan: ReducePlan, source: AbstractSource) -> list[Call]:
        """Return the tasks that read data."""
        arguments = (self.map, self.combine, plan.keep, Shared(self.operand))
        return [Call(reduce_group, arguments, source, blocks) for blocks in plan.groups]

    def alone(self, rows: Block, residents: dict[str, AbstractResident]) -> Partial:
        return self.map(rows, self.operand)


def reduce_group(
    function: Callable[..., Any],
    combine: Callable[..., Any],
    keep: Keep,
    operand: Any,
    *items: Block | Reader,
) -> Timed:
    """Map the blocks of a group in order and combine the results."""
    blas.pin_worker()
    read = work = 0.0
    total: Any = None
    for position, item in enumerate(items):
        start = time.perf_counter()
        block = read_block(item, keep)
        loaded = time.perf_counter()
        value = function(block, operand)
        total = value if position == 0 else combine(total, value)
        read += loaded - start
        work += time.perf_counter() - loaded
    return Timed(total, read, work)


def _combined_before(n_results: int) -> int:
    """Return the number of combined results of earlier runs of 8, at all levels, at the last run."""
    found = 0
    while n_results > FAN_IN:
        n_results = -(-n_results // FAN_IN)
        found += min(FAN_IN, n_results)
    return found
