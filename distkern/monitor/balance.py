"""What the passes of a run took: seconds of the driver and of those who work for it, who waited for whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from distkern.engine.events import Event
from distkern.monitor.page import Html, joined, note, square, table, text
from distkern.monitor.style import PARTS, short_number
from distkern.monitor.text import in_bytes, in_time


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


#: parts of ``split_seconds`` that are the driver's own work; ``wait`` is what it waited
_OWN = ("loop", "driver")
_WAITS = "waits"


@dataclass(frozen=True)
class Balance:
    """Seconds of passes: the driver's, which add up to the time on the clock, and those of the tasks.

    Attributes
    ----------
    driver : part -> seconds of the driver's process
    tasks : part -> seconds of the workers (or threads) added up; they overlap
    """

    driver: dict[str, float]
    tasks: dict[str, float]


def balance(total: PassTotal) -> Balance:
    """The balance of the passes of one name; while a Reduce runs, the driver only waits."""
    split = total.split_seconds
    own = {part: split[part] for part in _OWN if split.get(part, 0.0) > 0}
    left = max(total.seconds - sum(own.values()), 0.0)
    waits = split.get("wait", left)
    tasks = {part: seconds for part, seconds in split.items() if part not in (*_OWN, "wait") and seconds > 0}
    driver = {**own, _WAITS: waits}
    if left - waits > 0.05 * total.seconds:
        driver["other"] = left - waits
    return Balance(driver, tasks)


def pass_sections(
    totals: Sequence[PassTotal], rate: Callable[[float], str] = short_number, *, modes: bool = False
) -> Html:
    """A sentence on passes and a table of them; ``modes``: who did what."""
    header = {
        "pass": "",
        "times": "how often it was made",
        "time": "on the clock, all times together",
        "rows/s": "rows of the data a second",
        "read": "of the data, all times together",
        "driver's seconds": "they add up to the time on the clock",
        "tasks' seconds": "of all tasks together, which overlap",
    }
    rows: list[tuple[object, ...]] = []
    for total in totals:
        parts = balance(total)
        speed = rate(total.rows / total.seconds) if total.seconds > 0 else "-"
        row = (total.name, f"{total.times:,}", in_time(total.seconds), speed, in_bytes(total.bytes))
        rows.append((*row, _bars(parts.driver), _bars(parts.tasks), *([total.mode] if modes else [])))
    if modes:
        header["how"] = "who did what"
    return joined(note(verdict(totals), "quiet"), table(header, rows, "numbers named"))


def pass_key(totals: Iterable[PassTotal]) -> Html:
    """The key of the colours of the bars."""
    styles: dict[tuple[str, str], None] = {}
    for total in totals:
        split = balance(total)
        styles.update((_part_style(part), None) for part in (*split.driver, *split.tasks))
    items = (f'<span class="item">{square(colour)}{text(meaning)}</span>' for colour, meaning in styles)
    return note(Html("".join(items)), "quiet")


def verdict(totals: Iterable[PassTotal]) -> str:
    """One sentence on all passes together; empty where there are none."""
    totals = list(totals)
    balances = [balance(total).driver for total in totals]
    waits = sum(parts[_WAITS] for parts in balances)
    whole = sum(sum(parts.values()) for parts in balances)
    if whole <= 0:
        return ""
    share = 100 * waits / whole
    since = next((total.since for total in totals if total.since is not None), None)
    # passes before a checkpoint were made by a process that is gone
    after = "" if since is None else f" since stage {since}, where the run was resumed,"
    return (
        f"In {in_time(whole)} of passes{after} the driver waited for tasks {share:.0f}\u00a0% of the time "
        f"and did its own part in the other {100 - share:.0f}\u00a0%."
    )


def _bars(parts: Mapping[str, float]) -> Html:
    """Parts as numbers above a bar; a dash where there are none."""
    whole = sum(parts.values())
    if whole <= 0:
        return Html("-")
    words = ", ".join(f"{part} {seconds:.1f}" for part, seconds in parts.items())
    cells = "".join(
        f'<i style="width:{100 * seconds / whole:.1f}%;background:{_part_style(part)[0]}"></i>'
        for part, seconds in parts.items()
    )
    return Html(f'<div class="parts">{text(words)}</div><div class="split">{cells}</div>')


def _part_style(part: str) -> tuple[str, str]:
    """Colour and meaning of a part; its own name where it is not known."""
    return PARTS.get(part, (PARTS["other"][0], part))
