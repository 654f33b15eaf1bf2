"""What happens during a run, as values: the terminal, the metrics file and the dashboard all listen here."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

#: kind -> the fields an event of that kind carries
KINDS: dict[str, tuple[str, ...]] = {
    "run_started": (
        *("algorithm", "n_rows", "n_features", "stages", "workers", "in_process", "dashboard"),
        "resumed_from",
    ),  # the workers are threads of this process, or processes
    "pass_started": ("name", "stage", "tasks", "rows", "bytes", "unit"),  # "rows", "rounds" or "tasks"
    "pass_progress": ("name", "stage", "tasks_done", "tasks", "rows_done", "rows", "bytes_done"),
    "pass_finished": ("name", "stage", "seconds", "rows", "bytes", "mode", "split_seconds"),
    "stage_finished": ("metrics",),  # one line of metrics.jsonl
    "checkpoint_saved": ("stage", "path", "seconds"),
    "worker_lost": ("address",),
    "message": ("text",),
    "run_finished": ("result", "seconds"),  # an Ending's reason
    "run_stopped": ("result", "stage", "seconds"),  # in this stage: "diverged" or "interrupted"
}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: its kind (a key of :data:`KINDS`), its fields and the time in seconds."""

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    time: float = field(default_factory=time.time)

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


Listener: TypeAlias = Callable[[Event], None]


class EventLog:
    """Hands every event to every listener, in the order the listeners were given."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self._listeners = list(listeners)

    def emit(self, kind: str, **fields: Any) -> None:
        """Send an event; a field that its kind does not have is a programming error."""
        unknown = set(fields) - set(KINDS[kind])
        if unknown:
            raise TypeError(f"event {kind!r} has no field {sorted(unknown)}")
        event = Event(kind, fields)
        for listener in self._listeners:
            listener(event)


def plain(value: Any) -> Any:
    """A value as msgpack and JSON take it: numpy scalars as numbers, infinity as None, others as text."""
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:
        return plain(value.item())
    if isinstance(value, int):
        # beyond 64 bits msgpack refuses
        return int(value) if abs(value) < 2**63 else float(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return str(value)
