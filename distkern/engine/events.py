"""The events of a run as values, for the terminal, the metrics file and the dashboard."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

#: kind of an event -> its fields
KINDS: dict[str, tuple[str, ...]] = {
    "run_started": (
        *("algorithm", "n_rows", "n_features", "stages", "workers", "in_process", "dashboard"),
        *("resumed_from", "tol"),
    ),
    "pass_started": ("name", "stage", "tasks", "rows", "bytes", "unit"),  # "rows", "rounds" or "tasks"
    "pass_progress": ("name", "stage", "tasks_done", "tasks", "rows_done", "rows", "bytes_done"),
    "pass_finished": ("name", "stage", "seconds", "rows", "bytes", "mode", "split_seconds"),
    "stage_finished": ("metrics",),  # one line of metrics.jsonl
    "checkpoint_saved": ("stage", "path", "seconds"),
    "worker_lost": ("address",),
    "message": ("text",),
    "run_finished": ("result", "seconds"),  # an Ending's reason
    "command_finished": ("seconds",),  # with everything after its run
    "run_stopped": ("result", "stage", "seconds"),  # in this stage: "diverged" or "interrupted"
}

#: name of the pass that chooses an algorithm, and the message that announces it
CHOOSING = "choosing"
CHOOSING_ANNOUNCED = "choosing the algorithm by trials on a sample of the rows"
#: text fields, optional fields, and a bound on times and numbers
_TEXTS = {"algorithm", "dashboard", "name", "unit", "mode", "path", "address", "text", "result"}
_OPTIONAL = {"stages", "workers", "in_process", "dashboard", "resumed_from", "tol", "stage", "split_seconds"}
_LARGEST = 1e18


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its kind (a key of :data:`KINDS`), its fields and its time in seconds since 1970."""

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    time: float = field(default_factory=time.time)

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


Listener: TypeAlias = Callable[[Event], None]


class EventLog:
    """Passes every event to every listener, in the order of the listeners."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self._listeners = list(listeners)

    def emit(self, kind: str, **fields: Any) -> None:
        """Send an event; :class:`TypeError` for an unknown field."""
        unknown = set(fields) - set(KINDS[kind])
        if unknown:
            raise TypeError(f"event {kind!r} has no field {sorted(unknown)}")
        event = Event(kind, fields)
        for listener in self._listeners:
            listener(event)


@contextmanager
def steps_heard(events: EventLog, name: str, announced: str = "") -> Iterator[None]:
    """Report work in steps (:mod:`distkern.core.progress`) as a pass, after the message ``announced``.

    Work without steps is not reported.
    """
    # a model that only predicts does not need it
    from distkern.core.progress import listening

    started: list[float] = []
    about = {"stage": 0, "rows": 0}

    def report(doing: str, done: int, total: int) -> None:
        if not started:
            started.append(time.perf_counter())
            if announced:
                events.emit("message", text=announced)
            events.emit("pass_started", name=name, tasks=total, bytes=0, unit="tasks", **about)
        named = f"{name}: {doing}" if doing else name
        events.emit(
            "pass_progress", name=named, tasks_done=done, tasks=total, rows_done=0, bytes_done=0, **about
        )

    with listening(report):
        yield
    if started:
        seconds = time.perf_counter() - started[0]
        split = {"driver": seconds}
        events.emit(
            "pass_finished", name=name, seconds=seconds, bytes=0, mode="driver", split_seconds=split, **about
        )


def plain(value: Any) -> Any:
    """Return a value for msgpack and JSON: numpy scalars as numbers, infinity as None, others as text."""
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:
        return plain(value.item())
    if isinstance(value, int):
        # msgpack has 64 bits
        return int(value) if abs(value) < 2**63 else float(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return str(value)


def is_usual(event: Event) -> bool:
    """Return whether an event of unknown origin has valid fields and a valid time."""
    # does not travel to the scheduler with the live page
    from distkern.data.store.description import check_line

    if not isinstance(event.kind, str) or event.kind not in KINDS or not 0 <= event.time < _LARGEST:
        return False
    for name in KINDS[event.kind]:
        value = event.fields.get(name)
        if name == "metrics":
            try:
                check_line(value if isinstance(value, Mapping) else {})
            except ValueError:
                return False
        elif value is None:
            if name not in _OPTIONAL:
                return False
        elif name in _TEXTS:
            if not isinstance(value, str):
                return False
        elif name != "split_seconds" and not (isinstance(value, int | float) and abs(value) < _LARGEST):
            return False
    return True
