"""The driver of a job: it runs on a worker and may be restarted at any time."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from distkern.core import interrupts
from distkern.core.errors import ClusterError, DistkernError, FencedError
from distkern.data.store.places import URLPlace
from distkern.engine.events import Event, Listener
from distkern.jobs.folder import Fence, JobFolder
from distkern.jobs.log import LogFile
from distkern.jobs.record import (
    BEAT_SECONDS,
    CANCELLED,
    FAILED,
    FINISHED,
    LOST,
    RUNNING,
    STORE_BEAT_SECONDS,
    Record,
    redact,
)

Result = TypeVar("Result")

_NETWORK_ERRORS = {
    None,
    errno.ECONNRESET,
    errno.ECONNREFUSED,
    errno.ECONNABORTED,
    errno.EPIPE,
    errno.ETIMEDOUT,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.EHOSTDOWN,
    errno.ENETDOWN,
    errno.ENOTCONN,
}
#: seconds before the first retry, doubled for each further one, and the longest pause
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


def is_fault_of_cluster(error: BaseException) -> bool:
    """Return whether the cluster failed, not the job: it may succeed from its last checkpoint."""
    if isinstance(error, (ClusterError, asyncio.CancelledError, concurrent.futures.CancelledError)):
        return True
    if isinstance(error, DistkernError):
        return False
    return isinstance(error, OSError) and error.errno in _NETWORK_ERRORS


def with_retries(
    run: Callable[[int], Result],
    retries: int,
    say: Callable[[str], None],
    *,
    expected: Callable[[BaseException, int], bool] = lambda error, tried: is_fault_of_cluster(error),
    sleep: Callable[[float], None] = time.sleep,
) -> Result:
    """Call ``run(0)``; while the cluster fails, call ``run(1)`` to ``run(retries)``.

    Parameters
    ----------
    run : called with the number of earlier tries
    retries : number of tries after the first
    say : reports errors and retries
    expected : whether an error of a try (the first is 0) is worth a retry
    sleep : waits between tries: 1, 2, 4, ... seconds, at most 60
    """
    for tried in range(retries + 1):
        try:
            return run(tried)
        except Exception as error:
            if tried == retries or not expected(error, tried):
                raise
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**tried)
            # this retry is the resumption
            reason = str(error).removesuffix("; resume with --resume") or type(error).__name__
            what = " ".join(reason.split())
            say(f"{what}; try {tried + 1} of {retries} in {pause:.0f} s, from the last checkpoint")
        interrupts.check()
        sleep(pause)
    raise AssertionError("the last try returns or raises")


#: trains a job, given its description, the listeners of the run, and whether to resume; if the model exists,
#: only adds missing files beside it
Train: TypeAlias = Callable[[dict[str, Any], Sequence[Listener], bool], None]

#: seconds between checks whether the job was cancelled; longer in a store, where a check takes 2 or 3
#: requests
_POLL_SECONDS, _STORE_POLL_SECONDS = 0.5, 5.0
#: starts of a driver in one stage after which the job fails
MOST_STARTS = 10


class CancelledJobError(DistkernError):
    """The job was asked to stop."""


class Guard:
    """A listener that stops a run that was cancelled or taken over by another driver.

    It must precede the listener that writes stages. Only the thread that created it is stopped; other threads
    report progress too.
    """

    def __init__(self, folder: JobFolder, fence: Fence, asked_to_stop: Callable[[], bool]) -> None:
        self._folder, self._fence, self._asked_to_stop = folder, fence, asked_to_stop
        self._pause = _STORE_POLL_SECONDS if isinstance(folder.path, URLPlace) else _POLL_SECONDS
        self._thread = threading.get_ident()
        self._checked = 0.0

    def __call__(self, event: Event) -> None:
        """Raise if the run must stop."""
        if threading.get_ident() != self._thread:
            return
        if event.kind in ("run_started", "stage_finished", "run_finished"):
            self._fence.check()
        # a finished stage is written before the run stops, and a finished run is no longer cancelled
        if event.kind in ("stage_finished", "run_finished"):
            return
        recently = time.monotonic() - self._checked < self._pause
        if recently and event.kind.startswith("pass_"):
            return
        self._checked = time.monotonic()
        self._fence.check()
        if self._folder.asked_to_stop() or self._asked_to_stop():
            raise CancelledJobError("cancelled")


class Heartbeat:
    """A listener and context manager that writes heartbeats with ``facts`` from its own thread."""

    def __init__(self, folder: JobFolder, fence: Fence, facts: Mapping[str, Any] | None = None) -> None:
        self._folder, self._fence = folder, fence
        self._facts: dict[str, Any] = {"epoch": fence.epoch, **(facts or {})}
        self._pause = STORE_BEAT_SECONDS if isinstance(folder.path, URLPlace) else BEAT_SECONDS
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="distkern-heartbeat", daemon=True)

    def __call__(self, event: Event) -> None:
        """Update the state of the run for the next heartbeat."""
        if event.kind == "pass_started":
            self._facts = {**self._facts, "stage": event["stage"], "pass": event["name"], "done": 0.0}
        elif event.kind == "pass_progress":
            self._facts = {**self._facts, "done": round(event["tasks_done"] / max(1, event["tasks"]), 3)}
        elif event.kind == "run_started":
            self._facts = {**self._facts, "stages": event["stages"]}

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join(timeout=10 * BEAT_SECONDS)
        self._write()

    def _beat(self) -> None:
        while True:
            self._write()
            if self._over.wait(self._pause):
                return

    def _write(self) -> None:
        # an unreachable store makes the job look silent
        with suppress(OSError, DistkernError):
            if self._fence.holds():
                self._folder.beat(self._facts)


def drive(
    out: str,
    description: dict[str, Any],
    train: Train,
    *,
    worker: str = "",
    asked_to_stop: Callable[[], bool] = lambda: False,
    progressed: Callable[[], None] = lambda: None,
    connected: Callable[[], bool] = lambda: True,
) -> dict[str, Any]:
    """Train the job of the folder ``out`` from its last checkpoint, unless it is finished.

    Parameters
    ----------
    out : folder with the job's record
    description : argument of ``train``
    train : trains; on return the model is in ``out``
    worker : address of this worker
    asked_to_stop : whether the job was cancelled, in addition to the file
    progressed : called at the start and after every checkpoint
    connected : whether the scheduler is reachable; if not, every error is the cluster's fault

    Returns
    -------
    dict with ``id``, ``state`` and ``error``; a job that fails by its own fault raises nothing

    Raises
    ------
    Exception
        If the cluster failed; the caller may try again.
    """
    folder = JobFolder(out)
    record = folder.record()
    if folder.has_model:
        record = _finish(folder, record)
        # the model is the result: other files must not make the job fail
        with suppress(OSError, DistkernError):
            train(description, (), True)
        return _outcome(record)
    if folder.asked_to_stop():
        if record.state != CANCELLED:
            folder.write(record := record.changed(state=CANCELLED, finished=time.time()))
        return _outcome(record)
    n_trials, stage = folder.progress()
    # without trials as in records of versions without searches
    progress = (record.submission, stage, *([n_trials] if n_trials else []))
    hopeless = folder.starts_at(progress) >= MOST_STARTS
    fence = folder.claim(progress)
    record = record.changed(
        state=RUNNING,
        started=time.time(),
        finished=None,
        epoch=fence.epoch,
        host=socket.gethostname(),
        worker=worker,
        error="",
    )
    folder.write(record)
    log = LogFile(folder.log, fence)
    log.say(f"job {record.id}: driver {fence.epoch} on {record.host}, process {os.getpid()}")

    def saved(event: Event) -> None:
        if event.kind == "checkpoint_saved":
            progressed()

    # the number of stages is unknown until the data are open
    with Heartbeat(folder, fence, {"stages": folder.pulse().get("stages")}) as heartbeat:
        try:
            if hopeless:
                at = f"after trial {n_trials}" if n_trials and stage < 0 else f"in stage {stage + 1}"
                raise DistkernError(
                    f"its driver died {MOST_STARTS} times in a row {at} (out of "
                    "memory?): see `distkern plan`, give the workers more memory, and submit it with --resume"
                )
            # earlier deaths of hosts must not count against this start
            progressed()
            # an older driver may have written its first stage before it lost its claim
            begun = folder.progress()[1] >= 0
            train(description, (Guard(folder, fence, asked_to_stop), log, heartbeat, saved), begun)
            record = _finish(folder, record)
        except FencedError as error:
            # the newer driver writes the record
            return {"id": record.id, "state": "superseded", "error": str(error)}
        except CancelledJobError:
            record = _end(folder, fence, record, CANCELLED, "")
        except BaseException as error:
            what = redact(" ".join((str(error) or type(error).__name__).split()))
            if not connected() and not isinstance(error, DistkernError):
                # a client that lost its scheduler fails in many ways
                record = _end(folder, fence, record, LOST, "the connection to the scheduler was lost")
                raise
            if isinstance(error, Exception) and not is_fault_of_cluster(error):
                named = what if isinstance(error, DistkernError) else f"{type(error).__name__}: {what}"
                record = _end(folder, fence, record, FAILED, named)
            else:
                record = _end(folder, fence, record, LOST, what)
                log.say(f"job {record.id}: {what}")
                raise
        log.say(f"job {record.id}: {record.state}{f' ({record.error})' if record.error else ''}")
    return _outcome(record)


def _finish(folder: JobFolder, record: Record) -> Record:
    if record.state != FINISHED:
        record = record.changed(state=FINISHED, finished=time.time(), error="")
        folder.write(record)
    return record


def _end(folder: JobFolder, fence: Fence, record: Record, state: str, error: str) -> Record:
    record = record.changed(state=state, finished=time.time(), error=error)
    if fence.holds():
        folder.write(record)
    return record


def _outcome(record: Record) -> dict[str, Any]:
    return {"id": record.id, "state": record.state, "error": record.error}
