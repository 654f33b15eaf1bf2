"""A job's record in its folder, and the state of the job."""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from distkern.core.errors import CorruptDataError
from distkern.core.urls import redact_urls
from distkern.data.store.description import described, json_object
from distkern.data.store.places import absolute

#: name=value in a query or settings, with a secret value
_NAMED = re.compile(
    r"(?i)\b((?:[a-z0-9_]*_)?(?:password|passwd|secret|token|api_?key|secret_?key))=[^\s&'\"]+"
)
_SECRET_KEY = re.compile(r"(?i)(password|passwd|secret|token|api_?key|credential|storage_options|^environ)")


def redact(value: Any) -> Any:
    """Return a JSON value without secrets: in URLs, after ``password=`` and the like, under such keys."""
    if isinstance(value, str):
        return _NAMED.sub(r"\1=***", redact_urls(value))
    if isinstance(value, Mapping):
        return {
            str(name): "***" if _SECRET_KEY.search(str(name)) and inner else redact(inner)
            for name, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redact(inner) for inner in value]
    return value


QUEUED, RUNNING, FINISHED = "queued", "running", "finished"
FAILED, CANCELLED, LOST = "failed", "cancelled", "lost"
#: states that end a job
OVER = (FINISHED, FAILED, CANCELLED, LOST)

#: seconds between heartbeats of a driver; longer in a store, where each is a request
BEAT_SECONDS, STORE_BEAT_SECONDS = 2.0, 10.0
#: seconds without a heartbeat after which a running job counts as lost; clocks of hosts must differ by less
LOST_SECONDS = 60.0
#: seconds since 1970 in the year 9999, the last of calendars
_NEVER = 253_370_764_800.0


@dataclass(frozen=True)
class Record:
    """A job, as stored in ``job.json`` of its folder.

    Attributes
    ----------
    id : name of the job
    algorithm, data, out : algorithm, data set and folder of the model
    state : state as last written; see :func:`state_of`
    description : the job file's keys, without passwords
    scheduler : address
    submitted, started, finished : seconds since 1970, or None
    submission : number of submissions
    epoch : epoch of the driver that last claimed the job
    host, worker : host and worker of that driver
    error : one line for a failed or lost job
    runs : the folder whose index names the job
    """

    id: str
    algorithm: str
    data: str
    out: str
    state: str = QUEUED
    description: dict[str, Any] = field(default_factory=dict)
    scheduler: str = ""
    submitted: float = field(default_factory=time.time)
    submission: int = 1
    started: float | None = None
    finished: float | None = None
    epoch: int = 0
    host: str = ""
    worker: str = ""
    error: str = ""
    runs: str = ""

    def __post_init__(self) -> None:
        for moment in (self.submitted, self.started, self.finished):
            if moment is not None and not 0 <= moment < _NEVER:
                raise ValueError(f"{moment:g} is not a time")

    def command(self, name: str, *arguments: str) -> str:
        """Return a command about this job that works from here: ``distkern logs ID --follow``."""
        here = os.environ.get("DISTKERN_RUNS") or "."
        elsewhere = self.runs and str(absolute(here)) != self.runs
        words = ["distkern", name, self.id, *arguments, *(["--runs", self.runs] if elsewhere else [])]
        return f"`{' '.join(map(shlex.quote, words))}`"

    def to_json(self) -> str:
        """Return the record as text, without passwords."""
        return json.dumps(redact(asdict(self)), indent=1) + "\n"

    def changed(self, **changes: Any) -> Record:
        """Return the record with some fields changed."""
        return replace(self, **changes)


def from_json(text: str | bytes, where: str) -> Record:
    """Read a record written by :meth:`Record.to_json`; keys of newer versions are ignored.

    Raises
    ------
    CorruptDataError
        If the text is not a record.
    """
    try:
        return described(Record, json_object(text))
    except ValueError as error:
        raise unreadable_record(str(error), where) from None


def unreadable_record(why: str | None, where: str) -> CorruptDataError:
    """Return the error for a ``job.json`` that cannot be read or holds something else."""
    return CorruptDataError(
        f"is not the record of a job ({why})", where=where, hint="remove it and submit again"
    )


def new_id(algorithm: str) -> str:
    """A unique name for a job that sorts by time: ``csvrg-20250131-235959-1a2b3c4d``."""
    return f"{algorithm}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"


def is_recent(last: float | None, now: float) -> bool:
    """Return whether a heartbeat at ``last`` is recent; times too far in the future do not count."""
    return last is not None and now - LOST_SECONDS <= last <= now + LOST_SECONDS


def state_of(record: Record, beat: float | None, *, asked_to_stop: bool, has_model: bool, now: float) -> str:
    """Return the current state of a job.

    Parameters
    ----------
    record : as last written
    beat : time of the driver's last heartbeat, in seconds since 1970
    asked_to_stop : whether the job was asked to stop
    has_model : whether the finished model exists
    now : seconds since 1970
    """
    is_alive = is_recent(record.started, now) or is_recent(beat, now)
    silent = record.state == LOST or (record.state == RUNNING and not is_alive)
    if has_model and (silent or record.state != RUNNING):
        # the record may be outdated: its driver died, or `distkern train` finished the run
        return FINISHED
    if record.state in (FAILED, CANCELLED):
        return record.state
    if asked_to_stop and (silent or record.state == QUEUED):
        # a driver that still starts will stop at once
        return CANCELLED
    # a finished job without its model counts as lost
    return LOST if silent or record.state == FINISHED else record.state
