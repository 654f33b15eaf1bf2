"""``log.jsonl``: the events of a job, one per line, for other processes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial

from distkern.core.errors import CorruptDataError
from distkern.data.store.description import json_object
from distkern.data.store.places import (
    Location,
    Place,
    URLPlace,
    open_to_append,
    place_of,
    read_range,
    size_of_file,
)
from distkern.engine.events import Event, is_usual, plain
from distkern.jobs.folder import Fence
from distkern.jobs.record import redact

#: seconds between lines about passes, and between rewrites of an object in a store for them
INTERVAL, STORE_INTERVAL = 1.0, 10.0
#: bytes of a line
_LONGEST = 2**20
#: events that a store gets at once
_AT_ONCE = ("run_started", "stage_finished", "run_finished", "run_stopped", "message")
_OF_A_PASS = ("pass_started", "pass_progress", "pass_finished")


class LogFile:
    """A listener that appends events to a file, events of passes at most once a second.

    Shorter passes leave no line. A driver that lost its claim stops writing. An object in a store is
    rewritten with all lines, after stages and messages and otherwise every ten seconds.

    Parameters
    ----------
    path : the file
    fence : the claim on the job
    """

    def __init__(self, path: Place, fence: Fence) -> None:
        self._path, self._fence = path, fence
        self._lock = threading.Lock()
        self._interval = STORE_INTERVAL if isinstance(path, URLPlace) else INTERVAL
        self._written = -self._interval
        self._lines: list[str] | None = None
        self._sent = -self._interval
        self._started: Event | None = None
        self._logged = False

    def __call__(self, event: Event) -> None:
        """Write an event, unless it is about a pass and too soon."""
        with self._lock:
            if event.kind not in _OF_A_PASS:
                self._append([event])
                return
            if event.kind == "pass_started":
                self._started, self._logged = event, False
            if self._logged and event.kind == "pass_finished":
                self._append([event])
                return
            if time.monotonic() - self._written < self._interval:
                return
            self._written = time.monotonic()
            # a reader measures rates from the start of the pass
            starts = [self._started] if self._started and not self._logged and self._started != event else []
            self._logged = event.kind != "pass_finished"
            self._append([*starts, event])

    def say(self, text: str) -> None:
        """Write a message."""
        self(Event("message", {"text": text}))

    def _append(self, events: list[Event]) -> None:
        if not self._fence.holds():
            return
        lines = "".join(_line(event, self._fence.epoch) for event in events)
        if isinstance(self._path, URLPlace):
            self._send(self._path, lines, any(event.kind in _AT_ONCE for event in events))
            return
        with open_to_append(self._path) as file:
            file.write(lines)

    def _send(self, place: URLPlace, lines: str, at_once: bool) -> None:
        if self._lines is None:
            # lines of earlier drivers
            try:
                self._lines = [place.read_text()]
            except FileNotFoundError:
                self._lines = []
        self._lines.append(lines)
        if at_once or time.monotonic() - self._sent >= self._interval:
            self._sent = time.monotonic()
            self._lines = ["".join(self._lines)]
            place.write_text(self._lines[0])


def _line(event: Event, epoch: int) -> str:
    record = {"time": round(event.time, 3), "kind": event.kind, "epoch": epoch, **redact(plain(event.fields))}
    return json.dumps(record) + "\n"


def to_event(line: str) -> Event | None:
    """Return the event of a line; None for an incomplete line or an unknown event."""
    try:
        record = json_object(line)
        kind, moment = record.pop("kind"), float(record.pop("time"))
    except (ValueError, KeyError, TypeError):
        return None
    record.pop("epoch", None)
    event = Event(kind, record, moment)
    return event if is_usual(event) else None


class LogReader:
    """Reads a log while it grows.

    Parameters
    ----------
    path : the file, which need not exist yet
    """

    def __init__(self, path: Location) -> None:
        self._path = place_of(path)
        self._position = 0

    def new(self) -> Iterator[Event]:
        """Yield the events since the last call; an incomplete line waits for the next call."""
        try:
            if isinstance(self._path, URLPlace):
                yield from self._events(self._rest(self._path))
            else:
                size_of_file(self._path)
                with self._path.open("rb") as file:
                    file.seek(self._position)
                    yield from self._events(iter(partial(file.readline, _LONGEST), b""))
        except FileNotFoundError:
            return
        except OSError as error:
            raise CorruptDataError(
                f"cannot be read ({error.strerror})", where=str(self._path), hint="remove it"
            ) from error

    def _events(self, lines: Iterable[bytes]) -> Iterator[Event]:
        for line in lines:
            if not line.endswith(b"\n"):
                return
            self._position += len(line)
            event = to_event(line.decode("utf-8", errors="replace"))
            if event is not None:
                yield event

    def _rest(self, place: URLPlace) -> list[bytes]:
        size = size_of_file(place)
        # stores refuse a range beyond the end
        if size <= self._position:
            return []
        return read_range(place, self._position, size).splitlines(keepends=True)
