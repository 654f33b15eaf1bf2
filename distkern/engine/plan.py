"""The plan of a whole run: its passes, each with the memory that others keep, shrunk to fit the limit."""

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
    """Return the plans of a run's passes, each with the memory that other passes keep.

    This is the state of Rounds, blocks that the driver has read for a Stream, and, from the first pass that
    needs them, compiled loops and libraries.

    Parameters
    ----------
    outlines : passes in order
    extents : extent of each split
    after : passes after the end of the run, when the state of Rounds is gone
    """
    n_of_run = len(outlines)
    outlines = [*outlines, *after]
    steps = [outline.step for outline in outlines]
    plans = [step.plan(extents[step.split], machine) for step in steps]
    states = {plan.name: plan.state_bytes_on for plan in plans if any(plan.state_bytes_on)}
    compiling = -1 if machine.has_compiled else _first(plan.compiles for plan in plans)
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
        cost = outline.step.cost
        if not cost.compiled:
            loaded = SOLVING_BYTES * (solving <= last and not cost.solves)
            worker += LOADED_BYTES if compiled <= last else loaded
        driver += max(read, default=0) * (not plan.counts_blocks_of_driver)
        grown = plan.worker_bytes and plan.worker_bytes + worker
        found.append(replace(plan, worker_bytes=grown, driver_bytes=plan.driver_bytes + driver))
    return found


def _first(there: Iterable[bool]) -> float:
    """Return the position of the first True, infinity if there is none."""
    return next((number for number, one in enumerate(there) if one), math.inf)


def fitted(
    outlines: Sequence[Outline],
    extents: Mapping[str, Extent],
    machine: Machine,
    after: Sequence[Outline] = (),
) -> tuple[list[PassPlan], Machine]:
    """Return the plans on the first machine that fits the memory limit, else on the most frugal one.

    Returns that machine too. Shrinking changes the time and never the bits: rows of tiles, pieces and tasks,
    on which sums depend, stay.
    """
    plans = []
    for frugal in _more_and_more_frugal(machine):
        plans, machine = plan_run(outlines, extents, frugal, after), frugal
        if machine.memory_limit is None or needed_bytes(plans, machine) <= machine.memory_limit:
            break
    return plans, machine


def needed_bytes(plans: Sequence[PassPlan], machine: Machine) -> int:
    """Return the peak bytes of a worker, or of the driver if it does the work."""
    return max(plan.driver_bytes if machine.in_process else plan.worker_bytes for plan in plans)


def bytes_alone(outlines: Sequence[Outline], extent: Extent, kind: str, limit: int, **loaded: bool) -> int:
    """Return the bytes of passes over the same blocks, shrunk to a limit.

    The machine has one worker and all libraries loaded: choices made by these bytes must not depend on the
    number of workers or on this process. ``loaded`` : what a choice has loaded, fields of the machine
    """
    splits = {outline.step.split: extent for outline in outlines}
    machine = Machine(kind, 1, memory_limit=limit, has_library=True, **loaded)
    return needed_bytes(*fitted(outlines, splits, machine))


def _more_and_more_frugal(machine: Machine) -> Iterator[Machine]:
    """Yield machines that keep, prefetch and send less, then run fewer tasks at a time."""
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
