"""Seconds, rows and bytes of a run's passes, and how long the driver waited for tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from distkern.core.text import in_bytes, in_time
from distkern.engine.events import Event
from distkern.show.page import Html, joined, note, table
from distkern.show.style import short_number


@dataclass
class PassTotal:
    """All passes of one name, added up.

    Attributes
    ----------
    seconds : wall time
    waited : seconds of it in which the driver waited for tasks
    mode : how the work was divided, in words
    since : the stage from whose checkpoint the run was resumed, or None; earlier passes are not counted
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
    """A listener that adds up finished passes by name, in the order in which names first appear."""

    def __init__(self) -> None:
        self._totals: dict[str, PassTotal] = {}
        self._since: int | None = None

    @property
    def totals(self) -> tuple[PassTotal, ...]:
        """One total per name of a pass."""
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
    """Seconds in which the driver waited; all that it did not work, unless the pass measured them."""
    split = event.fields.get("split_seconds")
    split = split if isinstance(split, Mapping) else {}
    own = split.get("loop", 0.0) + split.get("driver", 0.0)
    return float(split.get("wait", max(event["seconds"] - own, 0.0)))


def pass_sections(totals: Sequence[PassTotal], *, modes: bool = False) -> Html:
    """A sentence on passes and a table of them; ``modes`` adds how the work was divided."""
    header = {
        "pass": "",
        "times": "number of passes",
        "time": "wall time of all of them",
        "waiting": "time in which the driver waited for tasks",
        "rows/s": "rows of the data a second",
        "read": "bytes of the data that all of them read",
    }
    rows = [
        (
            total.name,
            f"{total.times:,}",
            in_time(total.seconds),
            in_time(total.waited),
            short_number(total.rows / total.seconds) if total.seconds > 0 else "-",
            in_bytes(total.bytes),
            *([total.mode] if modes else []),
        )
        for total in totals
    ]
    if modes:
        header["how"] = "how the work was divided"
    return joined(note(verdict(totals), "quiet"), table(header, rows, "numbers named"))


def verdict(totals: Iterable[PassTotal]) -> str:
    """One sentence on all passes together; empty without passes."""
    totals = list(totals)
    seconds = sum(total.seconds for total in totals)
    if seconds <= 0:
        return ""
    waited = min(sum(total.waited for total in totals), seconds)
    since = next((total.since for total in totals if total.since is not None), None)
    # passes before the checkpoint ran in a process that is gone
    after = "" if since is None else f"Since the run was resumed after stage {since}, the"
    whole = f"{in_time(seconds)} of passes"
    part = f"all of the {whole}" if waited >= 0.995 * seconds else f"{in_time(waited)} of the {whole}"
    return f"{after or 'The'} driver spent {part} waiting for tasks."
