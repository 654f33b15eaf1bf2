"""``report.html``: a run on one page that needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from distkern.monitor.balance import pass_key, pass_sections
from distkern.monitor.importances import dependence_sections, importance_sections
from distkern.monitor.page import Section, heading, note, page, table, tiles
from distkern.monitor.recorder import PassTotal
from distkern.monitor.stages import choice_sections, stage_plots, stage_table
from distkern.monitor.text import in_number
from distkern.storage.atomic import write_text_atomic
from distkern.storage.places import Location


def write_report(
    path: Location,
    facts: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    passes: Sequence[PassTotal] = (),
    parts: Sequence[Section] = (),
) -> None:
    """Write a run's report, whole or not at all.

    Parameters
    ----------
    path : the HTML file
    facts : "title" and "summary" are texts, "headline" a mapping shown large, "importances" the
        :class:`~distkern.monitor.explanation.Explanation` of the model; every other key is the heading of a
        table and its value the mapping of names to values in it
    history : the lines of ``metrics.jsonl``, one per stage; the last one's notes and warnings are shown
    passes : what the passes of the run took
    parts : what the model makes of the test rows
    """
    write_text_atomic(path, render(facts, history, passes, parts))


def render(
    facts: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    passes: Sequence[PassTotal] = (),
    parts: Sequence[Section] = (),
) -> str:
    """The HTML of :func:`write_report`."""
    body: list[Section] = [note(str(facts.get("summary", "")), "quiet")]
    body += choice_sections(history)
    if facts.get("headline"):
        body.append(tiles({str(name): _told(value) for name, value in facts["headline"].items()}))
    if history:
        body += [note(f"warning: {warning}", "warn") for warning in history[-1].get("warnings", ())]
        body += [heading("Stages"), stage_plots(history), stage_table(history)]
    body += parts
    if "importances" in facts:
        found = facts["importances"]
        body += [*importance_sections(found), *dependence_sections(found)]
    if passes:
        body += [heading("Where the time went"), pass_sections(passes, "{:,.0f}".format, modes=True)]
        body.append(pass_key(passes))
    for name, values in facts.items():
        if name != "headline" and isinstance(values, Mapping):
            rows = [(str(key), _told(value)) for key, value in values.items()]
            body += [heading(str(name)), table((), rows, "facts")]
    return page(str(facts.get("title", "distkern run")), body)


def _told(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "-" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else in_number(value)
