"""The plan of a whole run: its passes, each with what the others leave in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from distkern.engine.budget import COMPILING_BYTES, Machine
from distkern.engine.plan import Extent, PassPlan, RoundsPlan, plan_pass
from distkern.passes import Pass


def plan_run(steps: Sequence[Pass], extents: Mapping[str, Extent], machine: Machine) -> list[PassPlan]:
    """The plans of passes of one run, each with what stays of the others: compiled loops, state of Rounds.

    Parameters
    ----------
    steps : in order
    extents : of each split
    """
    plans = [plan_pass(step, extents[step.split], machine) for step in steps]
    states = {plan.name: plan for plan in plans if isinstance(plan, RoundsPlan)}
    compiled = COMPILING_BYTES * any(plan.compiles for plan in plans)
    found = []
    for plan in plans:
        others = [state for name, state in states.items() if name != plan.name]
        worker = sum(state.held_bytes for state in others if state.on_workers)
        driver = sum(state.held_bytes for state in others if not state.on_workers)
        driver += compiled * (not plan.compiles)
        grown = plan.worker_bytes and plan.worker_bytes + worker
        found.append(replace(plan, worker_bytes=grown, driver_bytes=plan.driver_bytes + driver))
    return found
