"""What a pass takes: bytes of memory, by the shapes of its arrays, and operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
from typing import TypeAlias

#: operations that take the time of an exponential
EXPONENTIAL = 90.0

#: name of an array -> its shape, with the bytes of a number last
Shapes: TypeAlias = Mapping[str, Sequence[float]]
_NOTHING: Shapes = MappingProxyType({})


@dataclass(frozen=True)
class Cost:
    """What a pass takes, for the planner.

    Attributes
    ----------
    workspace_bytes : buffers of a task, beside the block itself
    result_bytes : a task's result (for a Stream: of one prepared row; for Each: what it stores)
    process_bytes : what a process that works loads once, beside what every one has and compiled code
    compiled : its tasks run compiled loops (of a Stream, those that prepare rows)
    driver_compiled : the driver runs compiled loops over its results
    total_result_bytes : where results are joined and not summed: those of all tasks together, at most
    operations : floating-point operations of a row; an exponential counts as :data:`EXPONENTIAL` of them
    driver_bytes : what the driver holds meanwhile
    """

    workspace_bytes: int = 0
    result_bytes: int = 0
    operations: float = 0.0
    process_bytes: int = 0
    driver_bytes: int = 0
    total_result_bytes: int | None = None
    compiled: bool = False
    driver_compiled: bool = False

    def holding(
        self,
        *,
        task: Shapes = _NOTHING,
        process: Shapes = _NOTHING,
        result: Shapes = _NOTHING,
        joined: Shapes = _NOTHING,
        driver: Shapes = _NOTHING,
    ) -> Cost:
        """The ledger of memory: what this takes, and arrays of these shapes beside.

        Parameters
        ----------
        task, process, driver : of each task, of each process that works, of the driver
        result : of a task's result
        joined : of the result of all tasks together, of which each may have any part

        >>> Cost(compiled=True).holding(task={"a tile": (100, 8, 4), "sums": (8, 8)}).workspace_bytes
        3264
        """
        total = self.total_result_bytes
        return replace(
            self,
            workspace_bytes=self.workspace_bytes + bytes_of(task),
            process_bytes=self.process_bytes + bytes_of(process),
            result_bytes=self.result_bytes + bytes_of(result) + bytes_of(joined),
            total_result_bytes=(total or 0) + bytes_of(joined) if joined else total,
            driver_bytes=self.driver_bytes + bytes_of(driver),
        )

    def waiting_bytes(self, n_results: int) -> int:
        """Bytes of ``n_results`` results of tasks; where results are joined, at most those of all tasks."""
        apart = n_results * self.result_bytes
        return apart if self.total_result_bytes is None else min(apart, self.total_result_bytes)


#: of a pass that says nothing of what it takes
UNKNOWN = Cost()


def bytes_of(arrays: Shapes) -> int:
    """Bytes of arrays of these shapes, all together."""
    return sum(int(prod(shape)) for shape in arrays.values())
