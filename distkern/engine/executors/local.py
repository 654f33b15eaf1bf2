"""Executors on this host without a cluster, on Dask's own schedulers."""

from __future__ import annotations

import multiprocessing
import os
import sys
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import dask
import dask.local
import dask.multiprocessing
import dask.threaded
from dask.callbacks import Callback

from distkern.core import blas, processes
from distkern.core.errors import DistkernError, InputError
from distkern.core.types import AbstractSource, Reader
from distkern.engine.dask.graph import GraphReader, reduce_graph
from distkern.passes.execution import AbstractExecutor, Call, Progress, Shared, Timed, folded
from distkern.passes.machine import Machine
from distkern.passes.rounds import AbstractResidents, LocalResidents, Lost, Rounds, RoundsPlan, Saved

#: tries of a task whose worker process dies
RETRIES = 3
#: exit code of a process that an exception ended: tasks catch theirs, and signals give negative codes
_UNCAUGHT = 1


class AbstractLocalExecutor(AbstractExecutor):
    """An executor on this host without a cluster.

    Attributes
    ----------
    kind : kind of its :class:`~distkern.passes.Machine`
    """

    kind: ClassVar[str]

    def __init__(self, workers: int | None, memory_limit: int | None) -> None:
        self.machine = self._machine(workers or available_cores(), memory_limit)

    @classmethod
    def open(cls, *, workers: int | None, memory_limit: int | None, dashboard: bool) -> AbstractExecutor:
        return cls(workers, memory_limit)

    def _machine(self, workers: int, memory_limit: int | None) -> Machine:
        return Machine(self.kind, workers, memory_limit, driver_threads=workers)

    def reduced(
        self, name: str, calls: Sequence[Call], combine: Callable[..., Any], progress: Progress
    ) -> Timed:
        graph, leaves, last = reduce_graph(name, calls, combine)
        remaining = set(leaves)

        class _Count(Callback):  # type: ignore[misc]
            def _posttask(self, key: Any, *_: Any) -> None:
                if key in remaining:
                    remaining.discard(key)
                    progress(len(leaves) - len(remaining))

        # passed, not entered: runs in several threads would remove each other's callbacks
        partials = list(self._get(graph, last, _Count()))
        return folded(combine, partials)

    @abstractmethod
    def _get(self, graph: Mapping[Any, Any], key: Any, *callbacks: Callback) -> Any:
        """Run a graph with callbacks, besides the user's active ones."""

    def shared_by(self, n_runs: int) -> AbstractExecutor:
        limit = self.machine.memory_limit
        return type(self)(
            max(1, self.machine.n_workers // n_runs), None if limit is None else limit // n_runs
        )

    def ordered(self, calls: Iterator[Call], in_flight: int) -> Iterator[Timed]:
        for call in calls:
            yield call.function(*_arguments(call), *(self._read(call.source, block) for block in call.blocks))

    def finished(
        self, name: str, calls: Iterator[tuple[int, Call]], in_flight: int
    ) -> Iterator[tuple[int, Timed]]:
        for number, call in calls:
            yield number, call.function(*_arguments(call), *_readers(call))

    def residents(
        self, step: Rounds, plan: RoundsPlan, source: AbstractSource, saved: Saved, lost: Lost
    ) -> AbstractResidents:
        return LocalResidents(step, plan, source, saved)

    def _read(self, source: AbstractSource, block: int) -> Any:
        if not source.is_graph:
            return source.reader(block)
        graph, key = source.graph(block)
        return self._get(graph, key)


def with_active(callbacks: Sequence[Callback]) -> list[Any]:
    """Return callbacks for Dask, after the user's active ones."""
    return [*Callback.active, *(callback._callback for callback in callbacks)]


def _arguments(call: Call) -> list[Any]:
    return [a.value if isinstance(a, Shared) else a for a in call.arguments]


def _readers(call: Call) -> list[Reader]:
    if call.reads_graph:
        return [GraphReader(*call.source.graph(block)) for block in call.blocks]
    return [call.source.reader(block) for block in call.blocks]


class AbstractPoolExecutor(AbstractLocalExecutor):
    """An executor with its own threads or processes."""

    def __init__(self, workers: int | None, memory_limit: int | None) -> None:
        super().__init__(workers, memory_limit)
        self._pool: Executor | None = None
        self._opened_by = os.getpid()

    @abstractmethod
    def _open_pool(self) -> Executor:
        """Return a new pool."""

    def _start(self) -> Executor:
        if self._pool is None or self._opened_by != os.getpid():
            # a fork does not copy the pool's threads
            self._pool, self._opened_by = self._open_pool(), os.getpid()
        return self._pool

    def _submit(self, call: Call) -> Future[Timed]:
        try:
            return self._start().submit(call.function, *_arguments(call), *_readers(call))
        except BrokenProcessPool:
            self._replace_pool()
            return self._submit(call)

    def finished(
        self, name: str, calls: Iterator[tuple[int, Call]], in_flight: int
    ) -> Iterator[tuple[int, Timed]]:
        waiting: dict[Future[Timed], tuple[int, Call, int]] = {}
        try:
            while True:
                for number, call in islice(calls, in_flight - len(waiting)):
                    waiting[self._submit(call)] = number, call, 1
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    number, call, tries = waiting.pop(future)
                    try:
                        result = future.result()
                    except (BrokenProcessPool, CancelledError):
                        if tries == RETRIES:
                            raise deadly(f"task {number} of {name}") from None
                        waiting[self._submit(call)] = number, call, tries + 1
                    else:
                        yield number, result
        finally:
            for future in waiting:
                future.cancel()

    def _replace_pool(self) -> None:
        """Close a broken pool; a later task opens a new one."""
        self.close()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def deadly(what: str) -> DistkernError:
    """Return the error for worker processes that keep dying."""
    return DistkernError(f"worker processes died {RETRIES} times in {what} (out of memory?)")


def refuse_unguarded(script: Path) -> None:
    """Refuse a script that every worker process runs again when it starts; one with a guard is not the cause.

    Raises
    ------
    InputError
        If the script lacks ``if __name__ == "__main__":``.
    """
    try:
        has_guard = "__main__" in script.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if not has_guard:
        raise InputError(
            "worker processes cannot start, since each of them runs the script again",
            where=str(script),
            hint='put what the script does below `if __name__ == "__main__":`',
        ) from None


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def configured_scheduler() -> str:
    """Return the scheduler that Dask is configured to use, "threads" by default."""
    name = dask.config.get("scheduler", None)
    aliases = {
        "sync": "synchronous",
        "single-threaded": "synchronous",
        "threading": "threads",
        "multiprocessing": "processes",
        # set by a client of a parent process or of a worker; active clients are handled earlier
        "dask.distributed": "threads",
        "distributed": "threads",
    }
    if not isinstance(name, str):
        return "threads"
    return aliases.get(name.lower(), name.lower())


class SynchronousExecutor(AbstractLocalExecutor):
    """Runs everything in the calling thread."""

    name = kind = "synchronous"

    def _machine(self, workers: int, memory_limit: int | None) -> Machine:
        return Machine(self.kind, 1, memory_limit)

    def _get(self, graph: Mapping[Any, Any], key: Any, *callbacks: Callback) -> Any:
        return dask.local.get_sync(graph, key, callbacks=with_active(callbacks))


class ThreadsExecutor(AbstractPoolExecutor):
    """Runs tasks in threads of this process."""

    name = kind = "threads"

    def _open_pool(self) -> Executor:
        processes.require_address_space(self.machine.n_workers)
        return ThreadPoolExecutor(self.machine.n_workers, "distkern-task")

    def _get(self, graph: Mapping[Any, Any], key: Any, *callbacks: Callback) -> Any:
        # Dask's own pools are never closed
        return dask.threaded.get(graph, key, pool=self._start(), callbacks=with_active(callbacks))


class ProcessesExecutor(AbstractPoolExecutor):
    """Runs tasks in a pool of processes; if one dies, the pass continues with a new pool."""

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
                self._replace_pool()
        raise deadly("the same pass")

    def _replace_pool(self) -> None:
        ran = list(self._processes())
        # joins the processes, whose exit codes are known then
        self.close()
        script = getattr(sys.modules["__main__"], "__file__", None)
        if script is not None and any(process.exitcode == _UNCAUGHT for process in ran):
            refuse_unguarded(Path(script))

    def _processes(self) -> Iterator[Any]:
        if isinstance(self._pool, ProcessPoolExecutor):
            yield from self._pool._processes.values()

    def ordered(self, calls: Iterator[Call], in_flight: int) -> Iterator[Timed]:
        waiting: deque[tuple[Call, Future[Timed]]] = deque()
        try:
            for call in calls:
                waiting.append((call, self._submit(call)))
                if len(waiting) > in_flight:
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
        return {
            f"process {process.pid}": processes.peak_resident_bytes(process.pid)
            for process in self._processes()
            if process.pid is not None
        }


def _prepare_process() -> None:
    processes.return_large_arrays()
    blas.pin_worker()
