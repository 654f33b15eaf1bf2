"""Where a run's time goes: a clock with the time left, and seconds, rows, bytes and waiting of its passes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import truediv
from typing import Any

from distkern.core.text import in_bytes, in_time
from distkern.engine.events import Event
from distkern.show.page import Html, joined, note, table
from distkern.show.style import short_number


@dataclass
class PassTotal:
    """Sums over all passes of one name.

    Attributes
    ----------
    seconds : wall time
    waited : seconds in which the driver waited for tasks
    mode : description of the division of work
    since : stage of the checkpoint that a resumed run started from, or None; earlier passes are not counted
    """

    name: str
    times: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    rows: int = 0
    bytes: int = 0
    mode: str = ""
    since: int | None = None


class PassRecorder:
    """A listener that sums finished passes by name, in the order of first appearance."""

    def __init__(self) -> None:
        self._totals: dict[str, PassTotal] = {}
        self._since: int | None = None

    @property
    def totals(self) -> tuple[PassTotal, ...]:
        """One total per name."""
        return tuple(self._totals.values())

    def __call__(self, event: Event) -> None:
        if event.kind == "run_started":
            self._since = event.fields.get("resumed_from")
        if event.kind != "pass_finished":
            return
        name = str(event["name"])
        total = self._totals.setdefault(name, PassTotal(name, since=self._since))
        total.times += 1
        total.seconds += event["seconds"]
        total.waited += _waited(event)
        total.rows += event["rows"]
        total.bytes += event["bytes"]
        total.mode = str(event["mode"])


def _waited(event: Event) -> float:
    """Return the seconds in which the driver waited: as measured, else those in which it did not work."""
    split = event.fields.get("split_seconds")
    split = split if isinstance(split, Mapping) else {}
    worked = split.get("loop", 0.0) + split.get("driver", 0.0)
    return float(split.get("wait", max(event["seconds"] - worked, 0.0)))


def pass_sections(totals: Sequence[PassTotal], *, modes: bool = False) -> Html:
    """Return a sentence and a table on passes; ``modes`` adds a column on the division of work."""
    header = {
        "pass": "",
        "times": "number of passes",
        "time": "total wall time",
        "waiting": "time in which the driver waited for tasks",
        "rows/s": "rows per second",
        "read": "bytes of data read in total",
    }
    rows = [
        (
            total.name,
            f"{total.times:,}",
            in_time(total.seconds),
            in_time(total.waited),
            short_number(total.rows / total.seconds) if total.rows and total.seconds > 0 else "-",
            in_bytes(total.bytes) if total.bytes else "-",
            *([total.mode] if modes else []),
        )
        for total in totals
    ]
    if modes:
        header["how"] = "division of work"
    return joined(note(verdict(totals), "quiet"), table(header, rows, "numbers named"))


def verdict(totals: Iterable[PassTotal]) -> str:
    """Return a sentence on all passes together; empty without passes."""
    totals = list(totals)
    seconds = sum(total.seconds for total in totals)
    if seconds <= 0:
        return ""
    waited = min(sum(total.waited for total in totals), seconds)
    since = next((total.since for total in totals if total.since is not None), None)
    # passes before the checkpoint ran in an earlier process
    after = "" if since is None else f"Since the run was resumed after stage {since}, the"
    whole = f"{in_time(seconds)} of passes"
    part = f"all of the {whole}" if waited >= 0.995 * seconds else f"{in_time(waited)} of the {whole}"
    return f"{after or 'The'} driver spent {part} waiting for tasks."


#: stages whose times are averaged; a tolerance that needs more stages is too far away to be foreseen
_RECENT = 3


class Clock:
    """A listener that measures the time of a command and estimates the time left until its last stage.

    A run ends at its tolerance or after its last stage. If the figure v that the solver compares with its
    tolerance falls at least by the factor q in each recent stage, a run with v_s after stage s needs
    log(tol / v_s) / log(q) more stages, at most the remaining ones. Only a tolerance within a few stages
    counts, since v falls faster in the first stages than in later ones.

    Parameters
    ----------
    since : start of the command, in seconds since 1970; None: now
    """

    def __init__(self, since: float | None = None) -> None:
        self.since = time.time() if since is None else since
        self.stages: int | None = None
        self.is_resumed = False
        self._tol: float | None = None
        self._began: float | None = None
        self._earlier = 0.0
        self._zero: float | None = None
        self._ends: list[float] = []
        self._history: list[Mapping[str, Any]] = []

    @property
    def seconds(self) -> float:
        """Seconds since the command began, plus those of earlier tries of its run."""
        return max(time.time() - self.since, 0.0) + self._earlier

    def __call__(self, event: Event) -> None:
        if event.kind == "run_started":
            self.stages, self._tol = event.fields.get("stages"), event.fields.get("tol")
            self._began, self._ends, self._history = event.time, [event.time], []
            self._zero, self.is_resumed = None, event.fields.get("resumed_from") is not None
        elif event.kind == "stage_finished":
            self._ends.append(event.time)
            self._history.append(event["metrics"])
            self._zero = event["metrics"].get("objective") if self._zero is None else self._zero
            if self._began is not None:
                run = event.time - self._began
                self._earlier = max(self._earlier, float(event["metrics"].get("seconds") or 0.0) - run, 0.0)
            del self._ends[: -_RECENT - 1], self._history[: -_RECENT - 1]

    def left(self, now: float) -> float | None:
        """Return an estimate of the seconds until the last stage has ended, or None."""
        stages = self.stages_left
        if stages is None or len(self._ends) < 2 or self._history[-1]["stage"] == 0:
            return None
        a_stage = (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1)
        if len(self._ends) > len(self._history) and self._history[0]["stage"] == 0:
            # the preparation before the first stage takes another time
            a_stage = (self._ends[-1] - self._ends[1]) / max(len(self._ends) - 2, 1)
        return max(stages * a_stage - (now - self._ends[-1]), 0.0)

    @property
    def stages_left(self) -> float | None:
        """An estimate of the stages left, or None."""
        if not self._history:
            return None
        last = self._history[-1]
        most = math.inf if self.stages is None else max(self.stages - int(last["stage"]), 0)
        likely = min(most, self._until_tolerance())
        return None if math.isinf(likely) else likely

    def _until_tolerance(self) -> float:
        if not self._tol:
            return math.inf
        likely = math.inf
        for name in ("bound", "change"):
            values = [float(line.get(name) or math.inf) for line in self._history]
            values = [value for value in values if math.isfinite(value)]
            if len(values) < _RECENT or not 0 < (slowest := max(map(truediv, values[1:], values))) < 1:
                continue
            now = values[-1]
            # a bound is compared with the decrease of the objective so far
            unit = 1.0
            if name == "bound":
                objective = self._history[-1].get("objective")
                unit = max(float(self._zero or 0.0) - float(objective or 0.0), 0.0) or 1.0
            aim = self._tol * unit
            rest = 0.0 if now <= aim else math.log(aim / now) / math.log(slowest)
            likely = min(likely, math.ceil(rest))
        return likely if likely <= _RECENT else math.inf
