"""``report.html``: a run on one page that needs no network, with importances and partial dependence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from distkern.core.text import in_number, magnitude
from distkern.data.store.atomic import write_text_atomic
from distkern.data.store.places import Location
from distkern.show.explanation import Dependence, Explanation, Importance
from distkern.show.page import Axis, Curve, Plot, Plots, Section, bar, heading, note, page, table, tiles
from distkern.show.passes import PassTotal, pass_sections
from distkern.show.stages import choice_sections, stage_plots, stage_table
from distkern.show.style import COMPARED, STYLES, Style

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
    """Bars of the largest importances with their standard deviations; the longest fills the width."""
    shown, rest = found.columns[:_MOST_IMPORTANT], found.columns[_MOST_IMPORTANT:]
    others = f" None of the other {len(rest):,} exceeds {magnitude(rest[0].loss, 3, 1e4)}." if rest else ""
    repeated = " \N{PLUS-MINUS SIGN}: standard deviation over shuffles." if found.is_repeated else ""
    told = f"{found.told[:1].upper()}{found.told[1:]}.{repeated}{others}"
    sections: list[Section] = [heading("Feature importance"), note(told, "quiet")]
    if shown:
        largest = max(max(one.loss + one.spread for one in shown), 1e-300)
        rows = [
            (one.column, _with_spread(one), bar(one.loss / largest, spread=one.spread / largest))
            for one in shown
        ]
        sections.append(table((), rows, "bars"))
    return sections


def _with_spread(one: Importance) -> str:
    words = magnitude(one.loss, 3, 1e4)
    return f"{words} \N{PLUS-MINUS SIGN} {magnitude(one.spread, 1, 1e4)}" if one.spread else words


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
    """Numbers and dates are drawn across and averages up, with the values of the rows as a rug; words go
    below one another, as they are long.
    """
    if curve.kind not in ("number", "date"):
        words = tuple(_short(str(value)) for value in reversed(curve.values))
        curves = [
            Curve(
                str(found.outputs[place]),
                curve.averages[place][::-1],
                range(len(words)),
                Style(style.colour, "", style.marker),
            )
            for place, style in styles.items()
        ]
        height = _FRAME + _LINE * max(len(words), 8)
        return Plot(curve.column, Axis(within=within), Axis(words=words), curves, height=height)
    numbers, rug = ([_number(value) for value in some] for some in (curve.values, curve.rug))
    curves = [
        Curve(str(found.outputs[place]), numbers, curve.averages[place], style)
        for place, style in styles.items()
    ]
    return Plot(curve.column, Axis(kind=curve.kind), Axis(within=within), curves, rug=rug)


def _number(value: float | str) -> float:
    """A number, or the seconds since 1970 of a date."""
    if isinstance(value, str):
        return datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp()
    return value


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
        :class:`~distkern.show.explanation.Explanation` of the model; every other key is the heading of a
        table and its value the mapping of names to values in it
    history : lines of ``metrics.jsonl``, one per stage; notes and warnings of the last one are shown
    passes : totals of the passes
    parts : what the model is worth on test rows
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
    if facts.get("headline"):
        body.append(tiles({str(name): _told(value) for name, value in facts["headline"].items()}))
    if history:
        body += [note(f"warning: {warning}", "warn") for warning in history[-1].get("warnings", ())]
    body += parts
    if "importances" in facts:
        found = facts["importances"]
        body += [*importance_sections(found), *dependence_sections(found)]
    body += choice_sections(history)
    if history:
        body += [heading("Stages"), stage_plots(history), stage_table(history)]
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
