"""The executor on Dask's distributed scheduler: a local cluster, a running one, or the active client's."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import dask
from distributed import Client, Future, LocalCluster, Nanny, Status, as_completed, get_client, rejoin, secede
from distributed.comm import CommClosedError, get_address_host
from distributed.threadpoolexecutor import thread_state as pool_state
from distributed.utils import TimeoutError as DaskTimeoutError
from distributed.worker import thread_state as task_state

from distkern.core.errors import ClusterError, InputError
from distkern.core.processes import exceeded_limit, peak_resident_bytes, require_address_space, require_files
from distkern.core.types import AbstractSource
from distkern.engine.dask import is_of_parent
from distkern.engine.dask.actor import SCHEDULER_LOST
from distkern.engine.dask.graph import call_graph, reduce_graph, token_of
from distkern.engine.dask.handshake import greet
from distkern.engine.dask.residents import NO_WORKERS, ActorResidents
from distkern.engine.dask.workers import AWAY, check_workers, explain_errors, on_worker, versions
from distkern.engine.executors.local import available_cores
from distkern.passes.execution import AbstractExecutor, Call, Progress, Timed, folded, forget
from distkern.passes.machine import TERMINATED_AT, Machine
from distkern.passes.rounds import AbstractResidents, LocalResidents, Lost, Rounds, RoundsPlan, Saved

#: settings of a local cluster: its logs must not grow with the tasks of a long run
_CLUSTER_CONFIG = {
    "distributed.admin.low-level-log-length": 100,
    "distributed.admin.log-length": 200,
    "distributed.admin.large-graph-warning-threshold": "1GB",
    "distributed.scheduler.no-workers-timeout": "300s",
    "distributed.worker.profile.enabled": False,
    # passes are planned up to the limit, and pausing frees no memory
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 1.0,
    # tasks of a pass are sent at once: results are small, and waiting for each task costs 5 ms
    "distributed.scheduler.worker-saturation": "inf",
}
#: seconds for a worker's client to reach its scheduler
_CLIENT_SECONDS = 20
#: tries to start a worker process
_STARTS = 5
#: seconds for a worker process to start, even on a busy machine
_START_SECONDS = 180
#: threads of a driver with a local cluster, and the files and connections that it opens
_DRIVER_THREADS = 6
_DRIVER_FILES, _FILES_PER_WORKER = 24, 12


class ClusterExecutor(AbstractExecutor):
    """Runs tasks through a client.

    Parameters
    ----------
    client : connected client
    owned : close the client (and the cluster it started) at the end
    memory_limit : bytes per worker, if less than the worker's own limit
    limit_share : share of a worker's own limit at which its nanny terminates it
    has_dashboard : whether workers may serve pages, which takes memory

    Attributes
    ----------
    rejoins : whether this thread belongs to a task that rejoins its worker's threads on close
    """

    name = "local"

    def __init__(
        self,
        client: Client,
        *,
        owned: bool,
        memory_limit: int | None = None,
        limit_share: float = TERMINATED_AT,
        has_dashboard: bool = True,
    ) -> None:
        self._client = client
        self._owned = owned
        workers = client.scheduler_info(n_workers=-1)["workers"]
        threads = sum(int(worker["nthreads"]) for worker in workers.values()) or 1
        own_limits = [int(limit_share * (worker["memory_limit"] or 0)) for worker in workers.values()]
        limits = [limit for limit in (memory_limit, *own_limits) if limit]
        host = get_address_host(client.scheduler.address)
        same_host = client.scheduler.address.startswith("inproc") or host in ("127.0.0.1", "localhost", "::1")
        cores = available_cores()
        self.machine = Machine(
            "distributed",
            threads,
            min(limits, default=None),
            same_host=same_host,
            driver_threads=min(threads, cores) if same_host else min(4, cores),
            n_processes=len(workers) or 1,
            has_dashboard=has_dashboard,
        )
        self.dashboard: str | None = None
        self.rejoins = False
        self._within = (on_worker, versions())

    @classmethod
    def open(cls, *, workers: int | None, memory_limit: int | None, dashboard: bool) -> ClusterExecutor:
        """Start worker processes with nannies on this host, on loopback only.

        Raises
        ------
        ClusterError
            If a worker process dies at every start, or does not start in time.
        InputError
            If the limits on address space or open files are too low.
        """
        n_workers = workers or available_cores()
        require_address_space(_DRIVER_THREADS)
        require_files(_DRIVER_FILES + n_workers * _FILES_PER_WORKER)
        try:
            with dask.config.set(_CLUSTER_CONFIG):
                cluster = LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    processes=True,
                    worker_class=_PatientNanny,
                    host="127.0.0.1",
                    memory_limit=memory_limit or 0,
                    dashboard_address="127.0.0.1:0",
                    # without a dashboard, workers load no Bokeh, which takes half a second
                    worker_dashboard_address="127.0.0.1:0" if dashboard else None,
                    scheduler_kwargs={"dashboard": dashboard},
                    silence_logs=50,
                    death_timeout=_START_SECONDS,
                )
                client = Client(cluster, set_as_default=False)
        except (RuntimeError, DaskTimeoutError) as error:
            likely = exceeded_limit(error) or "most likely out of memory: use fewer --workers"
            raise ClusterError(
                f"a local worker process did not start in {_STARTS} tries "
                f"({error.__cause__ or error}); {likely}"
            ) from error
        executor = cls(
            client, owned=True, memory_limit=memory_limit, limit_share=1.0, has_dashboard=dashboard
        )
        executor.dashboard = client.dashboard_link if dashboard else None
        return executor

    @property
    def client(self) -> Client:
        """The client that sends tasks."""
        return self._client

    def shared_by(self, n_runs: int) -> ClusterExecutor:
        shared = ClusterExecutor(self._client, owned=False, has_dashboard=self.machine.has_dashboard)
        limit = self.machine.memory_limit
        shared.machine = replace(self.machine, memory_limit=None if limit is None else limit // n_runs)
        return shared

    def reduced(
        self, name: str, calls: Sequence[Call], combine: Callable[..., Any], progress: Progress
    ) -> Timed:
        graph, leaves, last = reduce_graph(name, calls, combine, self._within)
        futures = self._send(graph, [*last, *leaves])
        partials, pending = futures[: len(last)], {leaf.key: leaf for leaf in futures[len(last) :]}
        del futures
        n_leaves = len(pending)

        def finished(leaf: Future) -> None:
            # without a future, the worker drops the partial result once it is combined
            pending.pop(leaf.key, None)
            progress(n_leaves - len(pending))

        for leaf in list(pending.values()):
            leaf.add_done_callback(finished)
        try:
            return folded(combine, self._result(partials))
        except BaseException:
            self._cancel(partials)
            raise

    def ordered(self, calls: Iterator[Call], in_flight: int) -> Iterator[Timed]:
        waiting: deque[Future] = deque()
        batch_size = max(1, self.machine.n_workers)
        try:
            while True:
                if len(waiting) <= in_flight:
                    batch = list(islice(calls, batch_size))
                    if batch:
                        graph, keys = call_graph(enumerate(batch), token_of("call"), self._within)
                        waiting.extend(self._send(graph, keys))
                if not waiting:
                    return
                yield self._result([waiting.popleft()])[0]
        finally:
            self._cancel(waiting)

    def finished(
        self, name: str, calls: Iterator[tuple[int, Call]], in_flight: int
    ) -> Iterator[tuple[int, Timed]]:
        token = f"{token_of(name)}-map"
        waiting: dict[Future, int] = {}
        ended = as_completed(loop=self._client.loop)
        try:
            while True:
                # each batch carries the shared arguments, so batches are large
                if len(waiting) <= in_flight // 2:
                    batch = list(islice(calls, in_flight - len(waiting)))
                    graph, keys = call_graph(batch, token, self._within)
                    sent = self._send(graph, keys) if batch else []
                    ended.update(sent)
                    waiting.update(zip(sent, (number for number, _ in batch), strict=True))
                    del sent
                if not waiting:
                    return
                done = ended.next_batch()
                numbers = [waiting.pop(future) for future in done]
                results = self._result(done)
                # else the scheduler would compute them again if their worker died
                del done
                yield from zip(numbers, results, strict=True)
        finally:
            self._cancel(waiting)

    def residents(
        self, step: Rounds, plan: RoundsPlan, source: AbstractSource, saved: Saved, lost: Lost
    ) -> AbstractResidents:
        if not plan.on_workers:
            return LocalResidents(step, plan, source, saved)
        return ActorResidents(self._client, step, plan, source, saved, lost)

    def _cancel(self, futures: Iterable[Future]) -> None:
        # if the scheduler is gone, another error reports it
        with contextlib.suppress(*AWAY):
            self._client.cancel(list(futures))

    def _send(self, graph: Any, keys: list[Any]) -> list[Future]:
        self._forget_messages()
        try:
            # operands are part of graphs on purpose, see call_graph
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
                futures: list[Future] = self._client.get(graph, keys, sync=False)
            return futures
        except Exception as error:
            if self._client.status in ("running", "connecting"):
                raise
            raise ClusterError(SCHEDULER_LOST) from error

    def _forget_messages(self) -> None:
        """Drop the messages, with operands of passes, that Dask's streams keep for its developers.

        Each stream keeps its last 1000 messages below 1 MB: the client's, and those of a scheduler in this
        process to its workers. New workers get new streams, so clearing once would not do.
        """
        scheduler = getattr(self._client.cluster, "scheduler", None)
        streams = [self._client.scheduler_comm, *list(getattr(scheduler, "stream_comms", {}).values())]
        for stream in streams:
            if stream is not None:
                stream.recent_message_log.clear()

    def _result(self, futures: list[Future]) -> list[Timed]:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.scheduler import NoWorkerError

        try:
            with explain_errors(self._client):
                results: list[Timed] = self._client.gather(futures)
            return results
        except KilledWorker as error:
            raise ClusterError(
                f"several workers died while they ran the same task ({error.args[0]}), most likely out of "
                "memory; see `distkern plan`, and raise --memory-limit"
            ) from error
        except (FutureCancelledError, CommClosedError) as error:
            raise ClusterError(SCHEDULER_LOST) from error
        except NoWorkerError as error:
            raise ClusterError(NO_WORKERS) from error

    def worker_peaks(self) -> dict[str, int]:
        # a worker that dies meanwhile is left out
        with contextlib.suppress(*AWAY):
            peaks = self._client.run(peak_resident_bytes, on_error="ignore")
            return {str(address): int(peak) for address, peak in peaks.items()}
        return {}

    def forget_blocks(self) -> None:
        # workers of a user's cluster outlive this run
        if self._client.cluster is None:
            with contextlib.suppress(*AWAY):
                self._client.run(forget, on_error="ignore")

    def close(self) -> None:
        if self.rejoins:
            self.rejoins = False
            # a closing worker takes no threads back
            with contextlib.suppress(RuntimeError):
                rejoin()
        if self._owned:
            cluster = self._client.cluster
            self._client.close()
            if cluster is not None:
                cluster.close()


def active(memory_limit: int | None = None) -> ClusterExecutor | None:
    """Return an executor on the active client, or None.

    Inside a task this is the worker's client. The task secedes from the worker's threads until the executor
    is closed, since the tasks that it waits for need its thread.
    """
    within_task = hasattr(task_state, "execution_state")
    client = get_client(timeout=_CLIENT_SECONDS) if within_task else _own_client()
    if client is None:
        return None
    executor = ClusterExecutor(client, owned=False, memory_limit=memory_limit)
    # a task that has seceded itself also rejoins itself
    if within_task and getattr(pool_state, "proceed", False):
        secede()
        executor.rejoins = True
    return executor


def _own_client() -> Client | None:
    """Return the active client unless a worker or a parent process created it.

    A thread started by a task, for instance in a search, cannot make the task secede: each would wait for the
    other.
    """
    try:
        client = Client.current()
    except ValueError:
        return None
    return None if client.id.startswith("Client-worker-") or is_of_parent(client) else client


class _PatientNanny(Nanny):  # type: ignore[misc]
    """Restarts a worker process that dies while the cluster starts; later, every nanny does."""

    async def instantiate(self) -> Status:
        result = await super().instantiate()
        starts = 1
        while result == Status.stopped and self.status == Status.init and starts < _STARTS:
            result = await super().instantiate()
            starts += 1
        return result


def connect(address: str, *, workers: bool = True, memory_limit: int | None = None) -> ClusterExecutor:
    """Connect to a running scheduler; with ``workers``, it must have workers with this process's packages."""
    greet(address)
    # errors are reported in one line elsewhere
    for name in ("distributed.client", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout="20s", set_as_default=False)
    except (OSError, TypeError, ValueError, AssertionError, DaskTimeoutError) as error:
        # if a handshake fails late, the client raises AssertionError
        raise InputError(
            f"no Dask scheduler answers ({error or type(error).__name__})",
            where=f"--scheduler {address}",
            hint="start one with `dask scheduler` and workers with `dask worker ADDRESS`",
        ) from error
    if workers:
        try:
            client.wait_for_workers(1, timeout=60)
            check_workers(client)
        except (OSError, DaskTimeoutError) as error:
            client.close()
            raise InputError(
                "the scheduler has no workers",
                where=f"--scheduler {address}",
                hint=f"start some with `dask worker {address}`",
            ) from error
        except InputError:
            client.close()
            raise
    return ClusterExecutor(client, owned=True, memory_limit=memory_limit)
