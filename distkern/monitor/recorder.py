"""What the passes of a run took, added up by name, for the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from distkern.engine.events import Event


@dataclass
class PassTotal:
    """All passes of one name: how often, seconds, rows, bytes, who did what, and where the time went.

    ``since`` is the stage from whose checkpoint the run went on, if it did: passes before are not counted.
    """

    name: str
    times: int = 0
    seconds: float = 0.0
    rows: int = 0
    bytes: int = 0
    mode: str = ""
    split_seconds: dict[str, float] = field(default_factory=dict)
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
        total.rows += event["rows"]
        total.bytes += event["bytes"]
        total.mode = str(event["mode"])
        split = event.fields.get("split_seconds")
        if isinstance(split, Mapping):
            for part, seconds in split.items():
                total.split_seconds[part] = total.split_seconds.get(part, 0.0) + seconds
