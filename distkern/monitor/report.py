"""``report.html``: a run on one page that needs no network, with importances and partial dependence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from distkern.monitor.explanation import Dependence, Explanation
from distkern.monitor.page import Axis, Curve, Plot, Plots, Section, bar, heading, note, page, table, tiles
from distkern.monitor.passes import PassTotal, pass_sections
from distkern.monitor.stages import choice_sections, stage_plots, stage_table
from distkern.monitor.style import COMPARED, STYLES, Style
from distkern.monitor.text import in_number
from distkern.storage.atomic import write_text_atomic
from distkern.storage.places import Location

#: columns whose importance is shown
_MOST_IMPORTANT = 20
#: letters of a word beside an axis that are shown
_LETTERS = 18
#: pixels of a plot around its words, and of a line of them
_FRAME, _LINE = 80, 18
#: curves of one plot, distinguishable in grey too
_STYLES = [
    Style(colour, dash, marker)
    for colour, dash, marker in zip(
        COMPARED,
        ("solid", "dashed", "dotted") * 2,
        ("circle", "square", "triangle", "diamond", "circle", "square"),
        strict=True,
    )
]


def importance_sections(found: Explanation) -> list[Section]:
    """Bars of the largest importances; the longest fills the width."""
    shown, rest = found.texts[:_MOST_IMPORTANT], found.texts[_MOST_IMPORTANT:]
    others = f" None of the other {len(rest):,} exceeds {rest[0][2]}." if rest else ""
    told = f"{found.told[:1].upper()}{found.told[1:]}.{others}"
    sections: list[Section] = [heading("Feature importance"), note(told, "quiet")]
    if shown:
        largest = max(shown[0][1], 1e-300)
        rows = [(name, words, bar(number / largest)) for name, number, words in shown]
        sections.append(table((), rows, "bars"))
    return sections


def dependence_sections(found: Explanation) -> list[Section]:
    """A plot of partial dependence for each known column, all with the same scale."""
    if not found.curves:
        return []
    styles, whose = _styles(found)
    averages = [each for curve in found.curves for place in styles for each in curve.averages[place]]
    within = min(averages), max(averages)
    told = (
        f"Mean {found.quantity}{whose} over {found.n_averaged:,} {found.rows} when a column is set to one "
        "value in all of them."
    )
    plots = [_plot(curve, found, styles, within) for curve in found.curves]
    return [heading("Partial dependence"), note(told, "quiet"), Plots(plots)]


def _styles(found: Explanation) -> tuple[Mapping[int, Style], str]:
    """The style of each drawn output by its position, and a description of them."""
    n_outputs = len(found.outputs)
    if n_outputs == 1:
        return {0: STYLES["figure"]}, f" of {found.outputs[0]}" if found.outputs[0] != "" else ""

    def change(place: int) -> float:
        return max(max(curve.averages[place]) - min(curve.averages[place]) for curve in found.curves)

    drawn = sorted(sorted(range(n_outputs), key=change, reverse=True)[: len(_STYLES)])
    whose = f" of the {len(drawn)} of {n_outputs} that change most" if len(drawn) < n_outputs else ""
    return dict(zip(drawn, _STYLES, strict=False)), whose


def _plot(
    curve: Dependence, found: Explanation, styles: Mapping[int, Style], within: tuple[float, float]
) -> Plot:
    """Numbers are drawn across and averages up; words go below one another, as they are long."""
    words = tuple(_short(value) for value in reversed(curve.values) if isinstance(value, str))
    numbers = [value for value in curve.values if not isinstance(value, str)]
    curves = []
    for place, style in styles.items():
        label, averages = str(found.outputs[place]), curve.averages[place]
        if words:
            points = Style(style.colour, "", style.marker)
            curves.append(Curve(label, averages[::-1], range(len(words)), points))
        else:
            curves.append(Curve(label, numbers, averages, style))
    if not words:
        return Plot(curve.column, Axis(), Axis(within=within), curves)
    height = _FRAME + _LINE * max(len(words), 8)
    return Plot(curve.column, Axis(within=within), Axis(words=words), curves, height=height)


def _short(word: str) -> str:
    """Both ends of a long word, since either may distinguish it."""
    half = _LETTERS // 2
    return word if len(word) <= _LETTERS else f"{word[:half]}…{word[1 - half :]}"


def write_report(
    path: Location,
    facts: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    passes: Sequence[PassTotal] = (),
    parts: Sequence[Section] = (),
) -> None:
    """Write a run's report atomically.

    Parameters
    ----------
    path : the HTML file
    facts : "title" and "summary" are texts, "headline" a mapping shown large, "importances" the
        :class:`~distkern.monitor.explanation.Explanation` of the model; every other key is the heading of a
        table and its value the mapping of names to values in it
    history : lines of ``metrics.jsonl``, one per stage; notes and warnings of the last one are shown
    passes : totals of the passes
    parts : evaluation of the test rows
    """
    write_text_atomic(path, render(facts, history, passes, parts))


def render(
    facts: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    passes: Sequence[PassTotal] = (),
    parts: Sequence[Section] = (),
) -> str:
    """Return the HTML of :func:`write_report`."""
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
        body += [heading("Where the time went"), pass_sections(passes, modes=True)]
    for name, values in facts.items():
        if name != "headline" and isinstance(values, Mapping):
            rows = [(str(key), _told(value)) for key, value in values.items()]
            body += [heading(str(name)), table((), rows, "facts")]
    return page(str(facts.get("title", "distkern run")), body)


def _told(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "-" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else in_number(value)
