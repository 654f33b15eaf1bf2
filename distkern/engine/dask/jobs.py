"""Jobs on Dask's distributed scheduler: a driver is a task that outlives the client that submitted it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from distributed import Client, Event, Status, get_worker, secede
from distributed.utils import TimeoutError as DaskTimeoutError

from distkern.engine.executors.cluster import connect

_METADATA = "distkern-jobs"
_CONNECT_SECONDS = 20.0
_POLL_SECONDS = 1.0
_UNDER_WAY = ("pending", "finished")
#: errors of a client whose scheduler does not answer
_AWAY = (OSError, DaskTimeoutError, TimeoutError, RuntimeError, ValueError, AttributeError)


class JobScheduler:
    """A scheduler that runs the drivers of jobs.

    Parameters
    ----------
    address : ``tcp://...`` or ``tls://...``
    workers : whether workers are required
    """

    def __init__(self, address: str, *, workers: bool = True) -> None:
        self._executor = connect(address, workers=workers)
        self._client: Client = self._executor.client
        self.address = address

    def __enter__(self) -> JobScheduler:
        return self

    def __exit__(self, *exception: object) -> None:
        self._executor.close()

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> Mapping[str, Any]:
        """Call ``function`` on each worker; return results or exceptions by address."""
        answers: dict[str, Any] = self._client.run(function, *arguments, on_error="return")
        return answers

    def submit(
        self,
        function: Callable[..., dict[str, Any]],
        *arguments: Any,
        name: str,
        submission: int,
        retries: int,
        facts: Mapping[str, Any],
    ) -> None:
        """Run a driver on a worker, even after this client has closed.

        Parameters
        ----------
        function : called with ``arguments`` and by keyword ``worker`` (address), ``asked_to_stop``,
            ``progressed`` and ``connected``; see :func:`distkern.jobs.driver.drive`
        name : id of the job
        submission : number of submissions of the job so far
        retries : times that Dask restarts a driver that raised
        facts : texts and numbers that the scheduler stores for the job
        """
        key = f"distkern-job-{name}-{submission}"
        stop = _stop_name(name, submission)
        future = self._client.submit(
            _driver, function, arguments, key, stop, key=key, pure=False, retries=retries
        )
        # else the scheduler would drop the task with this client
        self._client.publish_dataset(future, name=_published(name), override=True)
        self._client.set_metadata([_METADATA, name], {**facts, "submission": submission})

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Return the facts of each job of this scheduler by id, with ``scheduler_state`` added.

        That is the state of the driver's task in Dask: "pending", "finished", "error", "lost" or "cancelled".
        """
        known: dict[str, dict[str, Any]] = self._client.get_metadata([_METADATA], default={})
        published = set(self._client.list_datasets())
        return {
            name: {**facts, "scheduler_state": self._state(name)}
            for name, facts in sorted(known.items())
            if _published(name) in published
        }

    def drives(self, name: str) -> bool:
        """Return whether this scheduler runs or will run a job's driver."""
        return _published(name) in self._client.list_datasets() and self._state(name) in _UNDER_WAY

    def _state(self, name: str) -> str:
        try:
            future = self._client.get_dataset(_published(name))
        except KeyError:
            return "lost"
        # a new future asks the scheduler in the background
        until = time.monotonic() + 0.2
        while future.status == "pending" and time.monotonic() < until:
            time.sleep(0.01)
        return str(future.status)

    def stop(self, name: str, submission: int) -> None:
        """Ask a driver to stop at its next check."""
        Event(_stop_name(name, submission), client=self._client).set()


def _driver(
    function: Callable[..., dict[str, Any]], arguments: tuple[Any, ...], key: str, stop: str
) -> dict[str, Any]:
    """Run a driver on this worker, with the worker's client."""
    worker = get_worker()
    # the tasks that a driver waits for need its thread
    secede()
    client = worker._get_client(timeout=_CONNECT_SECONDS)
    answer: dict[str, Any] = function(
        *arguments,
        worker=str(worker.address),
        asked_to_stop=_Bell(client, stop),
        progressed=lambda: _forgive(client, key),
        connected=lambda: client.status == "running" and worker.status in (Status.running, Status.paused),
    )
    return answer


class _Bell:
    """Returns whether an event was set; asks the scheduler at most once a second, silence means no."""

    def __init__(self, client: Client, name: str) -> None:
        self._event = Event(name, client=client)
        self._asked = 0.0
        self._rung = False

    def __call__(self) -> bool:
        if not self._rung and time.monotonic() - self._asked >= _POLL_SECONDS:
            self._asked = time.monotonic()
            with contextlib.suppress(*_AWAY):
                self._rung = bool(self._event.is_set())
        return self._rung


def _forgive(client: Client, key: str) -> None:
    """Reset Dask's count of workers that died with this driver.

    Dask gives up a task after a few such deaths, however far apart. A driver counts its own starts at each
    stage and gives up with a reason.
    """

    # nested, so that it is sent by value: the scheduler may lack distkern
    def forgive(dask_scheduler: Any) -> None:
        state = dask_scheduler.tasks.get(key)
        if state is not None:
            state.suspicious = 0

    with contextlib.suppress(*_AWAY):
        client.run_on_scheduler(forgive)


def _published(name: str) -> str:
    return f"distkern-job-{name}"


def _stop_name(name: str, submission: int) -> str:
    return f"distkern-stop-{name}-{submission}"
