"""The driver's side of the dashboard: it sends events to the scheduler a few times a second."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any

from distkern.engine.events import Event, plain

TOPIC = "distkern"
#: seconds between messages, for which events of passes are collected
INTERVAL = 0.2
#: seconds until the next try after the scheduler did not answer
PAUSE = 10.0
#: events that wait; beyond that the oldest are dropped
MOST_WAITING = 2000
_URGENT = ("run_started", "run_finished", "run_stopped", "worker_lost", "message")
_LOST = (OSError, RuntimeError, TimeoutError, ValueError, AttributeError)


class Forwarder:
    """A listener that sends events to the scheduler's topic :data:`TOPIC`.

    A message is ``{"run": facts, "events": [{"kind", "time", "fields"}, ...]}``. A thread sends events of
    passes and stages every 0.2 seconds, of progress only the newest; all others are sent at once. A silent
    scheduler never stops the run here, since the engine notices it. Messages name their scheduler, since
    another may start at its address.

    Parameters
    ----------
    client : a connected client of Dask's distributed scheduler
    run : facts for every message: "algorithm", "data", "out"; "memory_limit", "planned_worker_bytes" and
        "planned_driver_bytes" are drawn beside the measured memory. A missing "id" or "began" is generated.
    """

    def __init__(self, client: Any, run: Mapping[str, Any]) -> None:
        self._client = client
        self.run: dict[str, Any] = {
            "id": uuid.uuid4().hex[:12],
            "began": time.time(),
            "client": client.id,
            "scheduler": _scheduler_of(client),
            **{str(name): plain(value) for name, value in run.items() if value is not None},
        }
        self._waiting: list[dict[str, Any]] = []
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._timer: threading.Timer | None = None
        self._resume_at = 0.0

    def __call__(self, event: Event) -> None:
        record = {"kind": event.kind, "time": float(event.time), "fields": plain(event.fields)}
        with self._lock:
            if event.kind == "pass_progress" and self._waiting and self._waiting[-1]["kind"] == event.kind:
                self._waiting[-1] = record
            else:
                self._waiting.append(record)
                del self._waiting[:-MOST_WAITING]
            at_once = event.kind in _URGENT
            if not at_once and self._timer is None:
                self._timer = threading.Timer(INTERVAL, self.flush)
                self._timer.daemon = True
                self._timer.start()
        if at_once:
            self.flush()

    def flush(self) -> None:
        """Send the waiting events."""
        with self._sending:
            with self._lock:
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None
                now = time.monotonic()
                if not self._waiting or now < self._resume_at:
                    return
                events, self._waiting = self._waiting, []
            try:
                self._client.log_event(TOPIC, {"run": self.run, "events": events})
            except _LOST:
                self._resume_at = time.monotonic() + PAUSE


def _scheduler_of(client: Any) -> str:
    """Return the id of the client's scheduler; another one at the same address has another id."""
    try:
        return str(client.scheduler_info(n_workers=1)["id"])
    except (*_LOST, KeyError, TypeError):
        return ""
