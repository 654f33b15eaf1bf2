"""``log.jsonl``: what happened to a job, one event a line, for those who look from elsewhere."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distkern.core.errors import DistkernError
from distkern.engine.events import KINDS, Event
from distkern.jobs.fence import Fence
from distkern.jobs.redact import redact
from distkern.storage.atomic import explained

#: seconds between two lines about passes
INTERVAL = 1.0
_OF_A_PASS = ("pass_started", "pass_progress", "pass_finished")


class LogFile:
    """A listener that appends events to a file, those of passes at most once a second.

    A pass that is over sooner leaves no line. A driver that has lost its claim writes no more.

    Parameters
    ----------
    path : the file
    fence : the claim to the job
    """

    def __init__(self, path: Path, fence: Fence) -> None:
        self._path, self._fence = path, fence
        self._lock = threading.Lock()
        self._written = -INTERVAL
        self._started: Event | None = None
        self._told = False

    def __call__(self, event: Event) -> None:
        """Write an event down, if its turn has come."""
        with self._lock:
            if event.kind not in _OF_A_PASS:
                self._append([event])
                return
            if event.kind == "pass_started":
                self._started, self._told = event, False
            if self._told and event.kind == "pass_finished":
                self._append([event])
                return
            if time.monotonic() - self._written < INTERVAL:
                return
            self._written = time.monotonic()
            # a reader measures rates from the start of the pass
            before = [self._started] if self._started not in (None, event) and not self._told else []
            self._told = event.kind != "pass_finished"
            self._append([*(known for known in before if known is not None), event])

    def say(self, text: str) -> None:
        """Write a message down."""
        self(Event("message", {"text": text}))

    def _append(self, events: list[Event]) -> None:
        if not self._fence.holds():
            return
        lines = "".join(_line(event, self._fence.epoch) for event in events)
        with explained(self._path), self._path.open("a", encoding="utf-8") as file:
            file.write(lines)


def _line(event: Event, epoch: int) -> str:
    record = {
        "time": round(event.time, 3),
        "kind": event.kind,
        "epoch": epoch,
        **redact(_plain(event.fields)),
    }
    return json.dumps(record) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, list, type(None))) else str(value)


def to_event(line: str) -> Event | None:
    """The event of a line; None for half a line, and for a kind of a newer version."""
    try:
        record = json.loads(line)
        kind, moment = record.pop("kind"), float(record.pop("time"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    record.pop("epoch", None)
    return Event(kind, record, moment) if kind in KINDS else None


class LogReader:
    """Reads a log as it grows.

    Parameters
    ----------
    path : the file, which need not be there yet
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._position = 0

    def new(self) -> Iterator[Event]:
        """The events since the last call; a line that is being written waits for the next one."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    self._position += len(line)
                    event = to_event(line.decode("utf-8", errors="replace"))
                    if event is not None:
                        yield event
        except FileNotFoundError:
            return
        except OSError as error:
            raise DistkernError(f"{self._path}: cannot be read ({error.strerror})") from error
