"""``report.html``: a run on one page that needs no network, and what matters to its model."""

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
#: curves of one plot, told apart in grey too
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
    """Bars of the largest importances, the longest as wide as there is room for."""
    shown, rest = found.texts[:_MOST_IMPORTANT], found.texts[_MOST_IMPORTANT:]
    others = f" None of the other {len(rest):,} costs more than {rest[0][2]}." if rest else ""
    told = f"{found.told[:1].upper()}{found.told[1:]}.{others}"
    sections: list[Section] = [heading("Feature importance"), note(told, "quiet")]
    if shown:
        largest = max(shown[0][1], 1e-300)
        rows = [(name, words, bar(number / largest)) for name, number, words in shown]
        sections.append(table((), rows, "bars"))
    return sections


def dependence_sections(found: Explanation) -> list[Section]:
    """A plot for each column whose partial dependence is known, all on the same scale."""
    if not found.curves:
        return []
    styles, whose = _styles(found)
    averages = [each for curve in found.curves for place in styles for each in curve.averages[place]]
    within = min(averages), max(averages)
    told = (
        f"The mean {found.quantity}{whose} on {found.n_averaged:,} {found.rows}, if a column has one value "
        "in all of them, whatever the others have."
    )
    plots = [_plot(curve, found, styles, within) for curve in found.curves]
    return [heading("Partial dependence"), note(told, "quiet"), Plots(plots)]


def _styles(found: Explanation) -> tuple[Mapping[int, Style], str]:
    """The style of each output that is drawn, by its place, and in words which ones these are."""
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
    """Numbers across and averages up; words one below the other, for they are long."""
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
    """Both ends of a long word, for either may be what tells it from others."""
    half = _LETTERS // 2
    return word if len(word) <= _LETTERS else f"{word[:half]}…{word[1 - half :]}"


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
