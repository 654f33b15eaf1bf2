"""Executors, and memory limits that the passes on them must fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from distkern.core import interrupts
from distkern.core.errors import MemoryBudgetError
from distkern.core.text import in_bytes
from distkern.engine.events import Event
from distkern.engine.executors import AbstractExecutor, open_executor
from distkern.engine.plan import fitted, needed_bytes
from distkern.passes import Extent, Machine, Outline, Pass, PassPlan
from distkern.passes.machine import MIB, TERMINATED_AT


def stop_if_asked(event: Event) -> None:
    """Check for an interruption at every event: a listener."""
    interrupts.check()


@contextmanager
def opened_executor(
    scheduler: str | None,
    workers: int | None,
    memory_limit: int | None,
    check: Callable[[Machine], Machine],
    dashboard: bool = False,
) -> Iterator[AbstractExecutor]:
    """Open an executor on the machine that ``check`` returns; workers that it refuses are not started."""
    if scheduler == "local":
        check(machine_of(scheduler, workers, memory_limit, dashboard))
    starts_processes = scheduler not in ("synchronous", "threads")
    with interrupts.put_off(starts_processes=starts_processes):
        executor = open_executor(scheduler, workers=workers, memory_limit=memory_limit, dashboard=dashboard)
    try:
        executor.machine = check(executor.machine)
        yield executor
    finally:
        with interrupts.put_off(starts_processes=starts_processes):
            executor.close()


def check_limit(
    steps: Callable[[Machine], Sequence[Pass]], extent: Extent, given: int | None
) -> Callable[[Machine], Machine]:
    """Return a check that refuses a machine whose limit is too low for the passes; see :func:`fitted`."""

    def check(machine: Machine) -> Machine:
        wanted = [Outline(step) for step in steps(machine)]
        plans, machine = fitted(wanted, {one.step.split: extent for one in wanted}, machine)
        needed = needed_bytes(plans, machine)
        if machine.memory_limit is not None and needed > machine.memory_limit:
            own = machine.memory_limit != given
            alternative = ", or use --scheduler local" if own else ", or leave --memory-limit out"
            raised = how_raised(needed, machine, given)
            worst = worst_of(plans, machine).name
            shortage = shortage_of(worst, needed, machine.memory_limit, extent, raised, alternative)
            raise shortage.refusal(whose_limit(machine, given))
        return machine

    return check


def whose_limit(machine: Machine, given: int | None) -> str:
    """Return the origin of a machine's limit, for the message that it is too low."""
    return "--memory-limit" if machine.memory_limit == given else "the workers that run already"


def machine_of(
    scheduler: str | None, workers: int | None, memory_limit: int | None, dashboard: bool
) -> Machine:
    """Return the machine of a scheduler without starting it."""
    if scheduler == "local":
        # the local cluster as it would be started
        with open_executor("threads", workers=workers) as like:
            cores = like.machine.n_workers
        return Machine("distributed", cores, memory_limit, driver_threads=cores, has_dashboard=dashboard)
    with open_executor(scheduler, workers=workers, memory_limit=memory_limit) as executor:
        return executor.machine


def how_raised(needed: int, machine: Machine, given: int | None) -> str:
    """Return advice to raise a limit: the given one, or that of running workers."""
    is_given = machine.memory_limit == given
    limit = needed if is_given else math.ceil(needed / TERMINATED_AT)
    option = f"--memory-limit {-(-limit // (16 * MIB)) * 16}MiB"
    return f"use {option}" if is_given else f"start the workers with {option}"


@dataclass(frozen=True)
class Shortage:
    """Why passes do not fit a memory limit, and what makes them fit: a higher one, other ways, in words."""

    needs: str
    raised: str
    others: str = ""

    def __str__(self) -> str:
        return f"{self.needs}: {self.raised}{self.others}"

    def refusal(self, where: str) -> MemoryBudgetError:
        """Return the error with this advice; ``where`` names the limit."""
        return MemoryBudgetError(str(self), where=where, of_limit=f"{self.needs}: {self.raised}")


def shortage_of(
    name: str, needed: int, limit: int, extent: Extent, raised: str, alternative: str
) -> Shortage:
    """Return the shortage of a pass: a higher limit makes it fit, or smaller shards, or ``alternative``."""
    needs = f"pass '{name}' needs {in_bytes(needed)} and the limit is {in_bytes(limit)}"
    if not extent.in_memory and 2 * extent.largest_block_bytes > needed - limit:
        rows = max(extent.block_rows) // 2
        alternative = f", or shard the data with --rows-per-shard {rows} or less"
    return Shortage(needs, raised, alternative)


def worst_of(plans: Sequence[PassPlan], machine: Machine) -> PassPlan:
    """Return the pass that needs the most memory."""
    return max(plans, key=lambda plan: needed_bytes([plan], machine))
