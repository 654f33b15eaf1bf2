"""What is told of a pass while it runs: its start, its progress, its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from distkern.engine.events import EventLog
from distkern.engine.plan import PassPlan
from distkern.engine.streaming import StreamClock
from distkern.passes import Pass, Rounds

#: called with a finished pass and its seconds
Count: TypeAlias = Callable[[Pass, PassPlan, float], None]


class Watch:
    """Tells of one pass: its start, its progress, its end."""

    def __init__(
        self, events: EventLog, stage: int, count: Count, step: Pass, plan: PassPlan, tasks: int
    ) -> None:
        self._events, self._stage, self._count = events, stage, count
        self._step, self._plan, self._tasks = step, plan, tasks
        self._start = time.perf_counter()
        # a cluster reports finished tasks from a thread of its own, some of them after the result is there
        self._lock, self._over = threading.Lock(), False
        events.emit(
            "pass_started",
            name=plan.name,
            stage=stage,
            tasks=tasks,
            rows=plan.rows,
            bytes=plan.bytes_read,
            unit="rounds" if isinstance(step, Rounds) else "rows" if plan.rows else "tasks",
        )

    def progress(self, tasks_done: int) -> None:
        share = min(1.0, tasks_done / self._tasks) if self._tasks else 1.0
        with self._lock:
            if not self._over:
                self._tell(tasks_done, share)

    def _tell(self, tasks_done: int, share: float) -> None:
        self._events.emit(
            "pass_progress",
            name=self._plan.name,
            stage=self._stage,
            tasks_done=min(tasks_done, self._tasks),
            tasks=self._tasks,
            rows_done=int(share * self._plan.rows),
            rows=self._plan.rows,
            bytes_done=int(share * self._plan.bytes_read),
        )

    def finish(self, split_seconds: dict[str, float]) -> None:
        with self._lock:
            self._over = True
        seconds = time.perf_counter() - self._start
        self._count(self._step, self._plan, seconds)
        self._events.emit(
            "pass_finished",
            name=self._plan.name,
            stage=self._stage,
            seconds=seconds,
            rows=self._plan.rows,
            bytes=self._plan.bytes_read,
            mode=self._plan.mode,
            split_seconds=split_seconds,
        )


class Watched(Iterator[Any]):
    """A Stream's pieces; when they are consumed, the pass is over."""

    def __init__(self, pieces: Iterator[Any], clock: StreamClock, watch: Watch) -> None:
        self._pieces, self._clock, self._watch = pieces, clock, watch
        self._open = True

    def __next__(self) -> Any:
        try:
            return next(self._pieces)
        except StopIteration:
            if self._open:
                self._open = False
                self._watch.finish(self._clock.split())
            raise

    def end(self) -> None:
        """The solver goes on to another pass."""
        self.close()

    def close(self) -> None:
        """Stop what is under way, if the solver did not consume everything."""
        self._open = False
        self._pieces.close()  # type: ignore[attr-defined]
