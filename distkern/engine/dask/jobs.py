"""Jobs on Dask's distributed scheduler: a driver is a task that outlives the client that submitted it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from distributed import Client, Event, Status, get_worker, secede
from distributed.utils import TimeoutError as DaskTimeoutError

from distkern.engine.executors.cluster import connect

_METADATA = "distkern-jobs"
_CONNECT_SECONDS = 20.0
_POLL_SECONDS = 1.0
_UNDER_WAY = ("pending", "finished")
#: what a client raises whose scheduler does not answer
_AWAY = (OSError, DaskTimeoutError, TimeoutError, RuntimeError, ValueError, AttributeError)


class JobScheduler:
    """A scheduler that drivers are submitted to, and asked about them.

    Parameters
    ----------
    address : ``tcp://...`` or ``tls://...``
    workers : whether somebody must be there who could run a driver
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
        """What ``function`` returns on each worker, or its exception, by the worker's address."""
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
        """Run a driver on some worker, also after this client has closed.

        Parameters
        ----------
        function : called with ``arguments`` and by keyword ``worker`` (address), ``asked_to_stop``,
            ``progressed`` and ``connected``; see :func:`distkern.jobs.driver.drive`
        name : id of the job
        submission : how often the job was submitted, this one included
        retries : how often Dask runs a driver again that raised
        facts : what the scheduler tells of the job: texts and numbers
        """
        key = f"distkern-job-{name}-{submission}"
        stop = _stop_name(name, submission)
        future = self._client.submit(
            _driver, function, arguments, key, stop, key=key, pure=False, retries=retries
        )
        # without an owner that stays, the scheduler would forget the task with this client
        self._client.publish_dataset(future, name=_published(name), override=True)
        self._client.set_metadata([_METADATA, name], {**facts, "submission": submission})

    def jobs(self) -> dict[str, dict[str, Any]]:
        """The reported facts of each job that this scheduler knows, by id, with ``scheduler_state`` added.

        That is Dask's word for the driver's task: "pending", "finished", "error", "lost" or "cancelled".
        """
        known: dict[str, dict[str, Any]] = self._client.get_metadata([_METADATA], default={})
        published = set(self._client.list_datasets())
        return {
            name: {**facts, "scheduler_state": self._state(name)}
            for name, facts in sorted(known.items())
            if _published(name) in published
        }

    def drives(self, name: str) -> bool:
        """Whether this scheduler runs a job's driver, or will: it was not restarted and has not given up."""
        return _published(name) in self._client.list_datasets() and self._state(name) in _UNDER_WAY

    def _state(self, name: str) -> str:
        try:
            future = self._client.get_dataset(_published(name))
        except KeyError:
            return "lost"
        # a future that was just made asks the scheduler in the background
        until = time.monotonic() + 0.2
        while future.status == "pending" and time.monotonic() < until:
            time.sleep(0.01)
        return str(future.status)

    def stop(self, name: str, submission: int) -> None:
        """Ask a driver to stop at its next look."""
        Event(_stop_name(name, submission), client=self._client).set()


def _driver(
    function: Callable[..., dict[str, Any]], arguments: tuple[Any, ...], key: str, stop: str
) -> dict[str, Any]:
    """Runs on a worker: a driver, with the worker's client as the active one."""
    worker = get_worker()
    # a driver waits for tasks that need a thread: it must not take one away
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
    """Whether an event was set; asks the scheduler at most once a second, and takes no answer for no."""

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
    """Take back the suspicion that a driver kills its workers.

    Dask gives a task up after a few deaths of its workers, whatever lies between them. A driver counts its
    starts itself, stage by stage, and gives up with a reason.
    """

    # nested, so that it travels by value: a scheduler need not have distkern
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


@contextlib.contextmanager
def job_scheduler(address: str | None) -> Iterator[JobScheduler | None]:
    """A connection to the scheduler at ``address``, or None if none is named.

    Raises
    ------
    InputError
        If no scheduler answers there.
    """
    if address is None:
        yield None
        return
    with JobScheduler(address, workers=False) as scheduler:
        yield scheduler
