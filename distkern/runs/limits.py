"""Executors, and memory limits that the passes on them and the choice of an algorithm must fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from distkern.core import interrupts
from distkern.core.common_parameters import CHOOSABLE
from distkern.core.errors import InputError, MemoryBudgetError
from distkern.core.text import in_bytes
from distkern.core.types import AbstractSource
from distkern.engine.events import CHOOSING, Event, Listener
from distkern.engine.executors import AbstractExecutor, open_executor
from distkern.engine.plan import fitted, needed_bytes
from distkern.passes import Extent, Machine, Outline, Pass, PassPlan
from distkern.passes.execution import Keep
from distkern.passes.machine import MIB, TERMINATED_AT
from distkern.runs.data import TrainingData
from distkern.runs.recipe import Recipe


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


@dataclass(frozen=True)
class Choosing:
    """What a choice needs in the process that makes it.

    Attributes
    ----------
    recipe : recipe that chooses
    n_bytes : besides the process itself; 0 if nothing is chosen
    compiles : whether it loads compiled loops
    """

    recipe: Recipe
    n_bytes: int
    compiles: bool

    @classmethod
    def of(cls, recipe: Recipe, data: TrainingData) -> Choosing:
        """Return what the choice of a recipe needs for these rows."""
        return cls(recipe, *recipe.choosing_bytes(data))

    def driver_bytes(self, machine: Machine) -> int:
        """Return the peak of the driver's process while it chooses."""
        return replace(machine, has_solved=False).driver_base_bytes + self.n_bytes

    def plan(self, machine: Machine) -> PassPlan:
        """Return the choice as a pass, which it is not, as it reads a sample."""
        peak = self.driver_bytes(machine)
        return PassPlan(CHOOSING, 0, 0, 0, "driver", 0, peak, Keep(), self.compiles)

    def before(self, machine: Machine) -> Machine:
        """Return the machine of the run that follows in the same process, which keeps the loaded code."""
        return replace(machine, has_solved=self.n_bytes > 0, has_compiled=self.compiles)

    def instead(self, machine: Machine, data: TrainingData, source: AbstractSource, *, has_test: bool) -> str:
        """Return advice as a clause: the best algorithm that fits a machine without a choice; empty if none.

        ``source`` : the rows as the run reads them
        """
        limit = machine.memory_limit or 0
        for name, other in self._others(data, has_test=has_test):
            if needed_by(machine, other, data, source, has_test=has_test) <= limit:
                return f", or --set algorithm={name}, so that nothing is tried"
        return ""

    def least_after(
        self, machine: Machine, data: TrainingData, source: AbstractSource, *, has_test: bool
    ) -> int:
        """Return the bytes that the smallest algorithm that is always a candidate needs after the choice."""
        after, others = self.before(machine), self._others(data, has_test=has_test)
        # Newton's method is one with the settings that the choice finds
        sizes = (
            needed_by(after, other, data, source, has_test=has_test)
            for name, other in others
            if name != "newton"
        )
        return min(sizes, default=0)

    def _others(self, data: TrainingData, *, has_test: bool) -> Iterator[tuple[str, Recipe]]:
        """Yield the algorithms that need no choice, best first, if the recipe limits its choice."""
        names = CHOOSABLE if self.n_bytes and self.recipe.choosing_limit is not None else ()
        # cells have settings to choose
        for name in (name for name in names if name != "cells"):
            # given settings may be those of another algorithm
            with suppress(InputError):
                yield name, self.recipe.with_value("algorithm", name).settled(data, has_test=has_test)


def settled_within(
    recipe: Recipe,
    data: TrainingData,
    source: AbstractSource,
    machine: Callable[[], Machine],
    listeners: Iterable[Listener],
    *,
    has_test: bool,
    here: Machine | None = None,
) -> tuple[Recipe, Choosing]:
    """Return the recipe with its choices, and what they needed; see :func:`refuse_choice`."""
    choosing = refuse_choice(recipe, data, source, machine, has_test=has_test, here=here)
    return recipe.settled(data, listeners, has_test=has_test), choosing


def refuse_choice(
    recipe: Recipe,
    data: TrainingData,
    source: AbstractSource,
    machine: Callable[[], Machine],
    *,
    has_test: bool,
    here: Machine | None = None,
) -> Choosing:
    """Return what the choices of a recipe need, if that fits its limit.

    Parameters
    ----------
    source : the rows as the run reads them
    machine : returns the machine of the run, which starts after the choice
    here : this process; None: with the libraries that it has loaded

    Raises
    ------
    MemoryBudgetError
        If choosing needs more than the recipe's limit.
    """
    choosing, limit = Choosing.of(recipe, data), recipe.choosing_limit
    needed = choosing.driver_bytes(here or Machine("synchronous", 1))
    if choosing.n_bytes and limit is not None and needed > limit:
        later = replace(machine(), memory_limit=limit)
        others = choosing.instead(later, data, source, has_test=has_test)
        # with the named limit, the run fits too
        enough = max(needed, choosing.least_after(later, data, source, has_test=has_test))
        needs = f"choosing the algorithm needs {in_bytes(needed)} and the limit is {in_bytes(limit)}"
        raise Shortage(needs, how_raised(enough, later, limit), others).refusal("--memory-limit")
    return choosing


def needed_by(
    machine: Machine, recipe: Recipe, data: TrainingData, source: AbstractSource, *, has_test: bool
) -> int:
    """Return the memory in bytes of the largest process of a recipe that leaves nothing to choose."""
    posed = recipe.pose(data, has_test=has_test)
    solver = recipe.searched(posed)
    outlines = [*recipe.preparing(data, posed.problem), *solver.outline(posed.problem)]
    extent = Extent.of(recipe.as_read(data, source), "planned")
    plans, used = fitted(outlines, {outline.step.split: extent for outline in outlines}, machine)
    return needed_bytes(plans, used)
