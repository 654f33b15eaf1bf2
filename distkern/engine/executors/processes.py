"""The executor on a pool of processes of this host."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import dask.multiprocessing
from dask.callbacks import Callback

from distkern.common import allocator, blas
from distkern.engine.executors.local import RETRIES, AbstractPoolExecutor, deadly, with_active
from distkern.passes.execution import Call, Timed, peak_resident_bytes


class ProcessesExecutor(AbstractPoolExecutor):
    """A pool of processes on this host; a pass whose pool lost a process goes on with a new pool."""

    name = kind = "processes"

    def _open_pool(self) -> Executor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.machine.n_workers, mp_context=context, initializer=_prepare_process)

    def _get(self, graph: Mapping[Any, Any], key: Any, *callbacks: Callback) -> Any:
        how = {"optimize_graph": False, "callbacks": with_active(callbacks)}
        for _ in range(RETRIES):
            try:
                return dask.multiprocessing.get(graph, key, pool=self._start(), **how)
            except BrokenProcessPool:
                self.close()
        raise deadly("the same pass")

    def ordered(self, calls: Iterator[Call], ahead: int) -> Iterator[Timed]:
        waiting: deque[tuple[Call, Future[Timed]]] = deque()
        try:
            for call in calls:
                waiting.append((call, self._submit(call)))
                if len(waiting) > ahead:
                    yield self._result(waiting)
            while waiting:
                yield self._result(waiting)
        finally:
            for _, future in waiting:
                future.cancel()

    def _result(self, waiting: deque[tuple[Call, Future[Timed]]]) -> Timed:
        for _ in range(RETRIES):
            try:
                result = waiting[0][1].result()
                waiting.popleft()
                return result
            except (BrokenProcessPool, CancelledError):
                again = [call for call, _ in waiting]
                waiting.clear()
                waiting.extend((call, self._submit(call)) for call in again)
        raise deadly("the same pass")

    def worker_peaks(self) -> dict[str, int]:
        if not isinstance(self._pool, ProcessPoolExecutor):
            return {}
        return {
            f"process {process.pid}": _peak_of(process.pid)
            for process in self._pool._processes.values()
            if process.pid is not None
        }


def _prepare_process() -> None:
    allocator.return_large_arrays()
    blas.pin_worker()


def _peak_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return peak_resident_bytes()
