"""The plan of a whole run: its passes, each with what the others leave in memory, shrunk until they fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from distkern.passes import Extent, Machine, Outline, PassPlan
from distkern.passes.machine import COMPILING_BYTES, LIBRARY_BYTES, LOADED_BYTES, MIB, SOLVING_BYTES


def plan_run(
    outlines: Sequence[Outline],
    extents: Mapping[str, Extent],
    machine: Machine,
    after: Sequence[Outline] = (),
) -> list[PassPlan]:
    """The plans of passes of one run, each with what stays of the others: compiled loops and libraries, state
    of Rounds, blocks that the driver has read for a Stream.

    Loops and libraries are loaded by the first pass that needs them, and are there in all that may follow it.

    Parameters
    ----------
    outlines : in order
    extents : of each split
    after : passes that follow when the run has ended, and with it all state of Rounds
    """
    n_of_run = len(outlines)
    outlines = [*outlines, *after]
    steps = [outline.step for outline in outlines]
    plans = [step.plan(extents[step.split], machine) for step in steps]
    states = {plan.name: plan.state_bytes_on for plan in plans if any(plan.state_bytes_on)}
    compiling = _first(plan.compiles for plan in plans)
    compiled = _first(step.cost.compiled for step in steps)
    solving = _first(step.cost.solves for step in steps)
    library = _first(step.cost.driver_library for step in steps)
    read = [
        extents[step.split].kept_bytes(machine)
        for step, plan in zip(steps, plans, strict=True)
        if plan.driver_reads and not machine.in_process
    ]
    found = []
    for number, (outline, plan) in enumerate(zip(outlines, plans, strict=True)):
        last = number if outline.is_before else len(outlines)
        others = [state for name, state in states.items() if number < n_of_run and name != plan.name]
        worker, driver = (sum(state[side] for state in others) for side in (0, 1))
        driver += COMPILING_BYTES * (compiling <= last and not plan.compiles)
        driver += LIBRARY_BYTES * (library <= last and not machine.has_library)
        own = outline.step.cost
        if not own.compiled:
            loaded = SOLVING_BYTES * (solving <= last and not own.solves)
            worker += LOADED_BYTES if compiled <= last else loaded
        driver += max(read, default=0) * (not plan.counts_blocks_of_driver)
        grown = plan.worker_bytes and plan.worker_bytes + worker
        found.append(replace(plan, worker_bytes=grown, driver_bytes=plan.driver_bytes + driver))
    return found


def _first(there: Iterable[bool]) -> float:
    """The position of the first that is there, infinite if none is."""
    return next((number for number, one in enumerate(there) if one), math.inf)


def fitted(
    outlines: Sequence[Outline],
    extents: Mapping[str, Extent],
    machine: Machine,
    after: Sequence[Outline] = (),
) -> tuple[list[PassPlan], Machine]:
    """What :func:`plan_run` gives on the first machine that the memory limit allows, or on the most frugal
    one, and that machine.

    What may shrink changes the time and never the bits: not the rows of tiles, pieces and tasks, whose sums
    depend on them.
    """
    plans = []
    for frugal in _more_and_more_frugal(machine):
        plans, machine = plan_run(outlines, extents, frugal, after), frugal
        if machine.memory_limit is None or needed_bytes(plans, machine) <= machine.memory_limit:
            break
    return plans, machine


def needed_bytes(plans: Sequence[PassPlan], machine: Machine) -> int:
    """Peak bytes of the limited process: a worker, or the driver where it does the work."""
    return max(plan.driver_bytes if machine.in_process else plan.worker_bytes for plan in plans)


def bytes_alone(outlines: Sequence[Outline], extent: Extent, kind: str, limit: int) -> int:
    """What passes over the same blocks take, shrunk to a limit, on a machine of one worker.

    The machine has one worker and a driver that has loaded all libraries, because what is chosen by it must
    depend neither on how many workers there are nor on what this process has loaded.
    """
    splits = {outline.step.split: extent for outline in outlines}
    return needed_bytes(*fitted(outlines, splits, Machine(kind, 1, memory_limit=limit, has_library=True)))


def _more_and_more_frugal(machine: Machine) -> Iterator[Machine]:
    """Machines that keep, load ahead and send less, and then do less at a time."""
    yield machine
    kept = machine.cache_bytes
    for most_kept in (kept // 2, kept // 4, 0):
        machine = replace(machine, most_kept=most_kept)
        yield machine
    while machine.loads_ahead:
        machine = replace(machine, loads_ahead=machine.loads_ahead - 1)
        yield machine
    while not machine.in_process and machine.window_bytes > 4 * MIB:
        machine = replace(machine, window_bytes=machine.window_bytes // 2)
        yield machine
    while machine.kind == "threads" and machine.n_workers > 1:
        n_workers = machine.n_workers // 2
        machine = replace(machine, n_workers=n_workers, driver_threads=min(n_workers, machine.driver_threads))
        yield machine
