"""Seconds, rows and bytes of a run's passes, and the driver's waiting time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
