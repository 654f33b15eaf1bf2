"""History of the newest run and the current cluster, of bounded size."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from distkern.core.text import SQUARED, in_bytes, in_time, is_before
from distkern.engine.events import Event
from distkern.show.passes import Clock, PassRecorder


@dataclass(frozen=True)
class ClusterView:
    """The scheduler's address, and its workers: number, threads, bytes of memory and limit (0: none)."""

    address: str
    n_workers: int
    n_threads: int
    memory: int
    memory_limit: int


#: most stages, names of passes, listed events
MOST_STAGES, MOST_PASSES, MOST_NOTES = 1000, 60, 200


_ERRORS = ("train_error", "validation_error", "test_error")
#: figures of a stage's model
_OF_MODEL = {
    f"{rows}_{figure}"
    for rows in ("train", "validation", "test")
    for figure in ("error", "rmse", "mae", "r2")
}


def clock(when: float) -> str:
    """Return a time of day as text."""
    return time.strftime("%H:%M:%S", time.localtime(when))


@dataclass
class PassView:
    """The current or last pass, and its progress."""

    name: str
    stage: int
    tasks: int
    rows: int
    bytes: int
    started: float
    tasks_done: int = 0
    rows_done: int = 0
    bytes_done: int = 0
    heard: float = 0.0
    finished: bool = False
    unit: str = "rows"

    @property
    def rows_per_second(self) -> float:
        """Rows per second since the pass started."""
        return self.rows_done / max(self.heard - self.started, 1e-9)

    @property
    def bytes_per_second(self) -> float:
        """Bytes per second since the pass started."""
        return self.bytes_done / max(self.heard - self.started, 1e-9)

    @property
    def share(self) -> float:
        """The finished part, from 0 to 1."""
        return self.tasks_done / self.tasks if self.tasks else 0.0


@dataclass
class RunHistory:
    """A run as its events describe it.

    Attributes
    ----------
    facts : id, algorithm, data, out and other facts from the driver
    start : the fields of ``run_started``
    state : "running", "finished" or "stopped" (the driver left before the end)
    stages : figures of the finished stages, thinned out beyond :data:`MOST_STAGES`
    began, heard : time of the start and of the last event, by the driver's clock
    squared : whether errors are root mean squares instead of shares of rows
    shares : the rows that are counted then, "error" or "outliers"
    """

    facts: dict[str, Any]
    began: float
    start: dict[str, Any] = field(default_factory=dict)
    state: str = "running"
    stages: list[dict[str, float]] = field(default_factory=list)
    step: PassView | None = None
    passes: PassRecorder = field(default_factory=PassRecorder)
    clock: Clock = field(default_factory=Clock)
    notes: deque[tuple[float, str, str]] = field(default_factory=lambda: deque(maxlen=MOST_NOTES))
    heard: float = 0.0
    squared: bool = False
    shares: str = "error"
    _before: float = 0.0
    _stride: int = 1
    _seen_stages: int = 0

    @property
    def id(self) -> str:
        """The run's id."""
        return str(self.facts["id"])

    @property
    def name(self) -> str:
        """Algorithm, data and model."""
        algorithm = str(self.facts.get("algorithm") or self.start.get("algorithm") or "run")
        data = PurePath(str(self.facts.get("data") or "")).name
        out = PurePath(str(self.facts.get("out") or "")).name
        return algorithm + (f" on {data}" if data else "") + (f" to {out}" if out else "")

    @property
    def last(self) -> dict[str, float]:
        """The newest stage's figures; empty before the first."""
        return self.stages[-1] if self.stages else {}

    @property
    def seconds(self) -> float:
        """Seconds of the run so far, including those before a resumption."""
        return self._before + max(self.heard - self.began, 0.0)

    def add(self, event: Event) -> None:
        """Add an event; unknown kinds only change the time of the last event."""
        self.heard = event.time
        self.clock(event)
        handler = getattr(self, f"_{event.kind}", None)
        if handler is not None:
            handler(event)

    def stop(self) -> None:
        """Note that the driver left."""
        if self.state == "running":
            self.state = "stopped"
            self._note(self.heard, "stopped", "the driver left before the run had finished")

    def _note(self, time: float, kind: str, text: str) -> None:
        self.notes.append((time, kind, text))

    def _run_started(self, event: Event) -> None:
        self.start, self.state = dict(event.fields), "running"
        self.passes(event)
        resumed = event.fields.get("resumed_from")
        text = f"{event['n_rows']:,} rows x {event['n_features']:,} features"
        self._note(event.time, "started", text)
        if resumed is not None:
            self._note(event.time, "resumed", f"from the checkpoint of stage {resumed}")

    def _pass_started(self, event: Event) -> None:
        self.step = self._begun(event, event["bytes"])

    def _pass_progress(self, event: Event) -> None:
        step = self.step
        if step is None or step.name != event["name"] or step.finished:
            step = self.step = self._begun(event, event["bytes_done"])
        step.tasks_done = int(event["tasks_done"])
        step.rows_done, step.bytes_done = int(event["rows_done"]), int(event["bytes_done"])
        step.heard = event.time

    def _begun(self, event: Event, n_bytes: float) -> PassView:
        counts = (int(event["stage"] or 0), int(event["tasks"]), int(event["rows"]), int(n_bytes))
        unit = str(event.fields.get("unit", "rows"))
        return PassView(str(event["name"]), *counts, event.time, heard=event.time, unit=unit)

    def _pass_finished(self, event: Event) -> None:
        if len(self.passes.totals) < MOST_PASSES or event["name"] in {t.name for t in self.passes.totals}:
            self.passes(event)
        step = self.step
        if step is None or step.name != event["name"]:
            return
        step.rows_done, step.bytes_done, step.heard = int(event["rows"]), int(event["bytes"]), event.time
        step.tasks_done, step.finished = step.tasks, True

    def _stage_finished(self, event: Event) -> None:
        metrics = event["metrics"]
        self.squared = metrics.get("error") == SQUARED
        self.shares = str(metrics.get("error", "error"))
        numbers = {
            str(name): float(value)
            for name, value in metrics.items()
            if isinstance(value, (int, float))
            and not isinstance(value, bool)
            # before training there is no model
            and not (is_before(metrics) and name in _OF_MODEL)
        }
        if self.squared:
            numbers.update({name: math.sqrt(numbers[name]) for name in _ERRORS if name in numbers})
        self._before = max(0.0, numbers.get("seconds", 0.0) - (event.time - self.began))
        if self._seen_stages % self._stride and self.stages:
            # the last place always shows the newest stage
            self.stages[-1] = numbers
        else:
            self.stages.append(numbers)
        self._seen_stages += 1
        if len(self.stages) > MOST_STAGES:
            self.stages = self.stages[::2]
            self._stride *= 2
            self._seen_stages = (len(self.stages) - 1) * self._stride + 1

    def _checkpoint_saved(self, event: Event) -> None:
        text = f"of stage {event['stage']}, in {in_time(event['seconds'])}"
        self._note(event.time, "checkpoint", text)

    def _worker_lost(self, event: Event) -> None:
        self._note(event.time, "worker lost", f"{event['address']}; its tasks run again elsewhere")

    def _message(self, event: Event) -> None:
        self._note(event.time, "message", str(event["text"]))

    def _run_finished(self, event: Event) -> None:
        self.state = "finished"
        peak = self.last.get("peak_rss_bytes")
        memory = f", largest process {in_bytes(peak)}" if peak else ""
        self._note(event.time, "finished", f"{event['result']} after {in_time(event['seconds'])}{memory}")

    def _run_stopped(self, event: Event) -> None:
        self._note(event.time, "stopped", f"{event['result']} in stage {event['stage']}")


class NewestRun:
    """The run of this scheduler that began last; messages of earlier runs are ignored.

    ``belongs`` tells from a run's facts whether the run is one of this scheduler; others are ignored.
    """

    def __init__(self, belongs: Callable[[Mapping[str, Any]], bool] = lambda facts: True) -> None:
        self._belongs = belongs
        self.history: RunHistory | None = None
        self.refused = 0

    def add(self, record: Any) -> None:
        """Add a forwarder's message: a run's facts and some of its events, oldest first.

        Any client can write to the topic, so malformed records are ignored and counted in ``refused``.
        """
        try:
            facts, events = dict(record["run"]), record["events"]
            name, began = str(facts["id"]), float(facts["began"])
            if not self._belongs(facts):
                return
            run = self.history
            if run is None or run.id != name:
                if run is not None and began <= run.began:
                    return
                run = self.history = RunHistory(facts, began, heard=began)
            for event in events:
                fields = event["fields"]
                if not isinstance(fields, Mapping):
                    raise TypeError("fields is not a mapping")
                run.add(Event(str(event["kind"]), dict(fields), float(event["time"])))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            self.refused += 1
