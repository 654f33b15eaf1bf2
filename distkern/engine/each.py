"""Run an Each: tasks in any order, each result stored by its worker, records in the order of the items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distkern.common.types import AbstractSource
from distkern.engine.executors.base import AbstractExecutor, Call, Progress, Shared
from distkern.engine.plan import EachPlan
from distkern.engine.tasks import Unstored, each_task, put_result
from distkern.passes import Each


def run_each(
    step: Each, plan: EachPlan, source: AbstractSource, executor: AbstractExecutor, progress: Progress
) -> tuple[list[Any], dict[str, float]]:
    """The record of each task and the seconds that all of them read and worked."""
    kept = step.store
    assert kept is not None, "a pass that is run has a store"
    found = {number: record for number, record in kept.records().items() if number < plan.tasks}
    records = dict(found)
    operand, store = Shared(step.operand), Shared(kept)

    def calls() -> Iterator[tuple[int, Call]]:
        for number in (number for number in plan.order if number not in found):
            arguments = (step.task, operand, store, step.record_bytes, plan.keep, number, step.items[number])
            yield number, Call(each_task, arguments, source, step.blocks_of(number))

    read = work = 0.0
    progress(len(records))
    for number, timed in executor.finished(step.name, calls(), plan.ahead):
        value = timed.value
        if isinstance(value, Unstored):
            value = put_result(kept, number, value.result, step.record_bytes)
        records[number] = value
        read, work = read + timed.read_seconds, work + timed.work_seconds
        progress(len(records))
    return [records[number] for number in range(plan.tasks)], {"read": read, "work": work}
