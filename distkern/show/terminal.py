"""A run in the terminal or a notebook: a bar for the current pass, a line per finished stage."""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from types import TracebackType
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column

from distkern.core.processes import FIRST_SILENCE, SILENCE
from distkern.core.text import broken, error_name, in_bytes, in_error, in_number, in_time
from distkern.engine.events import Event
from distkern.show.passes import Clock
from distkern.show.style import short_number

#: (elapsed seconds, seconds between lines) off a terminal, longest first
_INTERVALS = ((600.0, 60.0), (60.0, 10.0), (0.0, SILENCE))
#: whether a run has been shown in this process
SHOWN = False
#: seconds between checks whether a line is due
_CHECK = 0.25
#: characters of a bar, and of the percentage, time left and blanks beside it
_BAR, _FIGURES = 14, 17


class Terminal:
    """A listener that writes to ``stream`` (standard error): live bars on a terminal, plain lines elsewhere.

    Use it as a context manager, which restores the cursor however the run ends. Off a terminal, a line
    reports the current work after 2 seconds of silence; later after 10, then after 60.

    Parameters
    ----------
    stream : standard error by default
    since : start of the command, in seconds since 1970; the last line reports its total time. None: report
        the time of the run, as for the log of another process
    """

    def __init__(self, stream: TextIO | None = None, since: float | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock, self._counts_all = Clock(since), since is not None
        self._result: str | None = None
        self._seconds: float | None = None
        now = time.time()
        self._doing, self._began, self._wrote = "starting", now, now
        if since is not None:
            # the command line has reported the time before
            before = now - since
            self._began = since
            self._wrote = since if before < FIRST_SILENCE else now - (before - FIRST_SILENCE) % SILENCE
        # lines become rarer the longer this lasts
        self._paced = self._clock.since
        self._over, self._lock = threading.Event(), threading.RLock()
        self._beating: threading.Thread | None = None
        self.live = self._stream.isatty()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._started = 0.0
        self._printed = 0.0
        self._unit = "rows"
        self._found: int | None = None
        self._headed = False

    def __enter__(self) -> Terminal:
        global SHOWN
        SHOWN = True
        if self.live:
            console = Console(file=self._stream, highlight=False, markup=False, emoji=False)
            self._progress = Progress(
                TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
                BarColumn(bar_width=_BAR),
                TaskProgressColumn(),
                TextColumn("{task.fields[rates]}", markup=False, table_column=Column(no_wrap=True)),
                TimeRemainingColumn(compact=True),
                console=console,
                transient=True,
            )
            self._progress.start()
        else:
            self._beating = threading.Thread(target=self._beat, daemon=True)
            self._beating.start()
        return self

    def _beat(self) -> None:
        while not self._over.wait(_CHECK):
            with self._lock:
                now = time.time()
                if self._doing and now - self._wrote >= _interval(now - self._paced):
                    self.line(f"{self._doing}, {in_time(now - self._began)} so far")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = self._task = None
        self._over.set()
        if self._beating is not None:
            self._beating.join()
        if error is None and self._counts_all and self._result is not None:
            seconds = self._clock.seconds if self._seconds is None else self._seconds
            in_all = " in all" if self._clock.is_resumed else ""
            self.line(f"finished after {in_time(seconds)}{in_all}: {self._result}")

    def __call__(self, event: Event) -> None:
        """Show an event; unknown kinds are ignored."""
        self._clock(event)
        handler = getattr(self, f"_{event.kind}", None)
        if handler is not None:
            handler(event)

    def line(self, text: str) -> None:
        """Write a line above the bar."""
        if self._progress is not None:
            console = self._progress.console
            console.print(broken(text, console.width), soft_wrap=True)
        else:
            with self._lock:
                self._wrote = time.time()
                self._stream.write(text + "\n")
                self._stream.flush()

    def begin(self, doing: str) -> None:
        """Report what begins."""
        self._doing, self._began = doing, time.time()
        self._paced = self._began
        self.line(doing)

    def show(self, description: str, done: int, total: int | None, rates: str = "") -> None:
        """Set the bar to ``done`` of ``total`` (None if unknown).

        Does nothing without a terminal. The last of the comma-separated ``rates`` are left out if there is no
        room.
        """
        if self._progress is None:
            if description != self._doing:
                self._doing, self._began = description, time.time()
            return
        parts = rates.split(", ")
        room = self._progress.console.width - _BAR - _FIGURES
        if len(description) > room:
            description = f"{description[: room - 1]}…"
        room -= len(description)
        while parts and len(", ".join(parts)) > room:
            parts.pop()
        rates = ", ".join(parts)
        if self._task is None:
            self._task = self._progress.add_task(description, total=total, rates=rates)
        self._progress.update(self._task, description=description, completed=done, total=total, rates=rates)

    def clear(self) -> None:
        """Remove the bar."""
        if self._progress is not None and self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None

    def _run_started(self, event: Event) -> None:
        workers, where = event.fields.get("workers"), ""
        if isinstance(workers, int):
            kind = "thread" if event.fields.get("in_process") else "worker"
            where = f" on {workers} {kind}{'' if workers == 1 else 's'}"
            where += " of this process" if kind == "thread" else ""
        self.line(f"{event['algorithm']}: {event['n_rows']:,} rows x {event['n_features']:,} features{where}")
        if event.fields.get("resumed_from") is not None:
            self.line(f"resumed after stage {event['resumed_from']}")
        if event.fields.get("dashboard"):
            self.line(f"dashboard: {event['dashboard']}")

    def _pass_started(self, event: Event) -> None:
        self.clear()
        self._started = self._printed = event.time
        self._unit, self._found = event["unit"], None
        self._doing, self._began = self._describe(event), time.time()
        self.show(self._describe(event), 0, event["tasks"])

    def _pass_progress(self, event: Event) -> None:
        elapsed = max(event.time - self._started, 1e-9)
        done, total = event["tasks_done"], event["tasks"]
        if self._found is None:
            # tasks that a killed run finished are reported at once
            self._found = done if self._unit == "tasks" else 0
        rate = (done - self._found) / elapsed
        if self._unit == "tasks":
            rates = f"{done:,} of {total:,} tasks"
        elif self._unit == "rounds":
            rates = f"{short_number(round(rate))} rounds/s"
        else:
            rows, read = event["rows_done"] / elapsed, event["bytes_done"] / elapsed
            rates = f"{short_number(round(rows))} rows/s" + (f", {in_bytes(read)}/s" if read else "")
        if self.live:
            self.show(self._describe(event), done, total, rates)
            return
        if (described := self._describe(event)) != self._doing:
            self._doing, self._began = described, time.time()
        if event.time - self._printed >= _interval(event.time - self._started):
            self._printed = event.time
            left = f", {in_time((total - done) / rate)} left" if rate > 0 else f", {in_time(elapsed)} so far"
            self.line(f"{self._describe(event)}: {100 * done / max(total, 1):.0f} %, {rates}{left}")

    def _describe(self, event: Event) -> str:
        stage = event.fields.get("stage")
        if not stage:
            return str(event["name"])
        of = "" if self._clock.stages is None else f" of {self._clock.stages}"
        left = self._clock.left(event.time)
        rest = f", about {in_time(left)} of training left" if left else ""
        return f"stage {stage}{of}{rest}: {event['name']}"

    def _pass_finished(self, event: Event) -> None:
        self.clear()
        if self._result is not None:
            self._doing, self._began = "finishing", time.time()

    def _stage_finished(self, event: Event) -> None:
        metrics = event["metrics"]
        if not self._headed:
            self.line(stage_header(metrics))
            self._headed = True
        self.line(stage_line(metrics))

    def _worker_lost(self, event: Event) -> None:
        self.line(f"worker {event['address']} was lost; its tasks run again elsewhere")

    def _message(self, event: Event) -> None:
        self.line(str(event["text"]))

    def _run_finished(self, event: Event) -> None:
        self.clear()
        self._result, self._doing, self._began = str(event["result"]), "finishing", time.time()
        self._paced = self._began
        if not self._counts_all:
            self.line(f"finished after {in_time(event['seconds'])}: {event['result']}")

    def _command_finished(self, event: Event) -> None:
        self._seconds = float(event["seconds"])

    def _run_stopped(self, event: Event) -> None:
        self.clear()
        self.line(f"{event['result']} in stage {event['stage']}, after {in_time(event['seconds'])}")


def _interval(elapsed: float) -> float:
    """Return the longest silence in seconds, after ``elapsed`` seconds of work."""
    return next(interval for after, interval in _INTERVALS if elapsed >= after or not after)


_COLUMNS = (
    ("stage", 5),
    ("passes", 7),
    ("time", 11),
    ("objective", 11),
    ("train error", 11),
    ("test error", 10),
    ("memory", 11),
)


def stage_header(metrics: Mapping[str, Any]) -> str:
    """Return the header of :func:`stage_line`, 78 characters wide."""
    *others, (_, last) = _COLUMNS
    error = error_name(metrics)
    names = [f"{name.replace('error', error):>{width}}" for name, width in others]
    memory = "worker peak" if metrics.get("worker_peak_rss_bytes") else "memory"
    return "  ".join([*names, f"{memory:>{last}}"])


def stage_line(metrics: Mapping[str, Any]) -> str:
    """Return a finished stage as a row: passes, time, objective, errors, peak memory of a worker or here."""
    cells = (
        str(metrics["stage"]),
        f"{metrics['passes']:.1f}",
        in_time(metrics["seconds"]),
        in_number(metrics["objective"]),
        in_error(metrics, "train_error"),
        in_error(metrics, "test_error"),
        in_bytes(metrics.get("worker_peak_rss_bytes") or metrics.get("peak_rss_bytes") or 0),
    )
    return "  ".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))


#: seconds between changes of a bar
_INTERVAL = 0.1


class Notebook(Terminal):
    """A listener and context manager that shows a run below its notebook cell."""

    def __init__(self) -> None:
        super().__init__(since=time.time())
        self.live = True
        self._lines: list[str] = []
        self._bar = ""
        self._changed = 0.0
        self._shown: Any = None

    def __enter__(self) -> Notebook:
        self._render()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
        super().__exit__(kind, error, trace)

    def line(self, text: str) -> None:
        """Write a line above the bar."""
        self._lines.append(text)
        self._render()

    def show(self, description: str, done: int, total: int | None, rates: str = "") -> None:
        """Set the bar to ``done`` of ``total``."""
        share = done / total if total else 0.0
        self._bar = (
            f'<progress max="1" value="{share:.4f}"></progress> {100 * share:.0f}&nbsp;% '
            f"{html.escape(description)} {html.escape(rates)}"
        )
        if time.monotonic() - self._changed >= _INTERVAL:
            self._render()

    def clear(self) -> None:
        """Remove the bar."""
        if self._bar:
            self._bar = ""
            self._render()

    def _render(self) -> None:
        self._changed = time.monotonic()
        display: Any = import_module("IPython.display")
        text = html.escape("\n".join(self._lines))
        page = display.HTML(
            f'<pre style="font-family:monospace;line-height:1.3">{text}</pre><div>{self._bar}</div>'
        )
        if self._shown is None:
            self._shown = display.display(page, display_id=True)
        else:
            self._shown.update(page)


def progress_display() -> Terminal:
    """Return a listener and context manager for this process: a notebook's or a terminal's."""
    return Notebook() if Console().is_jupyter else Terminal(since=time.time())
