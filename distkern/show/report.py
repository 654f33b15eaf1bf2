"""``report.html``: a run on one page, with importances and partial dependence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from distkern.core.text import in_number, in_time, magnitude
from distkern.data.store.atomic import write_text_atomic
from distkern.data.store.places import Location
from distkern.show.explanation import Dependence, Explanation, Importance
from distkern.show.page import Axis, Curve, Plot, Plots, Section, bar, heading, note, page, table, tiles
from distkern.show.passes import PassTotal, pass_sections
from distkern.show.stages import choice_sections, stage_plots, stage_table
from distkern.show.style import COMPARED, STYLES, Style

#: stands for the time of the command in the facts of a report
TIME_OF_COMMAND = "[time of the command]"
#: columns whose importance is shown
_MOST_IMPORTANT = 20
#: decimals of importances, beyond which they are powers of ten
_MOST_DECIMALS = 6
#: characters shown of a word beside an axis
_LETTERS = 18
#: height of a plot with words: pixels for its frame and for each word
_FRAME, _LINE = 100, 18
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
    """Return bars of the largest importances with their standard deviations."""
    shown, rest = found.columns[:_MOST_IMPORTANT], found.columns[_MOST_IMPORTANT:]
    others = f" None of the other {len(rest):,} exceeds {magnitude(rest[0].loss, 3, 1e4)}." if rest else ""
    repeated = " \N{PLUS-MINUS SIGN}: standard deviation over shuffles." if found.is_repeated else ""
    words = f"{found.summary[:1].upper()}{found.summary[1:]}.{repeated}{others}"
    sections: list[Section] = [heading("Feature importance"), note(words, "quiet")]
    if shown:
        largest = max(max(one.loss + one.spread for one in shown), 1e-300)
        rows = [
            (one.column, _with_spread(one, largest), bar(one.loss / largest, spread=one.spread / largest))
            for one in shown
        ]
        sections.append(table((), rows, "bars"))
    return sections


def _with_spread(one: Importance, largest: float) -> str:
    """Return a loss with its spread, both with the decimals that give the largest one four digits."""
    decimals = 3 - math.floor(math.log10(largest))

    def in_words(value: float) -> str:
        if not 0 <= decimals <= _MOST_DECIMALS:
            return magnitude(value, 3, 1e4)
        # + 0.0 removes the sign of zero
        return f"{round(value, decimals) + 0.0:.{decimals}f}"

    return (
        f"{in_words(one.loss)} \N{PLUS-MINUS SIGN} {in_words(one.spread)}"
        if one.spread
        else in_words(one.loss)
    )


def dependence_sections(found: Explanation) -> list[Section]:
    """Return a plot of partial dependence for each column, all on the same scale."""
    if not found.curves:
        return []
    styles, outputs = _styles(found)
    averages = [each for curve in found.curves for place in styles for each in curve.averages[place]]
    within = min(averages), max(averages)
    rows = f"{found.n_averaged:,} {found.rows}"
    words = f"Mean {found.quantity}{outputs} over {rows}, with a column set to one value."
    plots = [_plot(curve, found, styles, within) for curve in found.curves]
    return [heading("Partial dependence"), note(words, "quiet"), Plots(plots)]


def _styles(found: Explanation) -> tuple[Mapping[int, Style], str]:
    """Return the style of each drawn output by its position, and a description of these outputs."""
    n_outputs = len(found.outputs)
    if n_outputs == 1:
        return {0: STYLES["figure"]}, f" of {found.outputs[0]}" if found.outputs[0] != "" else ""

    def change(place: int) -> float:
        return max(max(curve.averages[place]) - min(curve.averages[place]) for curve in found.curves)

    drawn = sorted(sorted(range(n_outputs), key=change, reverse=True)[: len(_STYLES)])
    outputs = (
        f" for the {len(drawn)} of {n_outputs} outputs that change most" if len(drawn) < n_outputs else ""
    )
    return dict(zip(drawn, _STYLES, strict=False)), outputs


def _plot(
    curve: Dependence, found: Explanation, styles: Mapping[int, Style], within: tuple[float, float]
) -> Plot:
    """Return a plot with numbers and dates on the x axis, or with words, which may be long, on the y axis."""
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
        return Plot(
            curve.column,
            Axis(_short(found.quantity), within=within),
            Axis(words=words),
            curves,
            height=height,
            legend=len(styles) > 1,
        )
    numbers, rug = ([_number(value) for value in some] for some in (curve.values, curve.rug))
    curves = [
        Curve(str(found.outputs[place]), numbers, curve.averages[place], style)
        for place, style in styles.items()
    ]
    # the sentence above the plots names a single output
    legend = len(styles) > 1
    axes = Axis(kind=curve.kind), Axis(_short(found.quantity), within=within)
    return Plot(curve.column, *axes, curves, rug=rug, legend=legend)


def _number(value: float | str) -> float:
    """Return a number; a date as seconds since 1970."""
    if isinstance(value, str):
        return datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp()
    return value


def _short(word: str) -> str:
    """Return both ends of a long word, since either may distinguish it."""
    half = _LETTERS // 2
    return word if len(word) <= _LETTERS else f"{word[:half]}…{word[1 - half :]}"


def write_report(
    path: Location,
    facts: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    passes: Sequence[PassTotal] = (),
    parts: Sequence[Section] = (),
    seconds: Callable[[], float] | None = None,
) -> float:
    """Write a run's report atomically; return the time of its command.

    Parameters
    ----------
    path : the HTML file
    facts : "title" and "summary" are texts, "headline" a mapping of figures shown large, "importances" the
        :class:`~distkern.show.explanation.Explanation` of the model; each other key is the heading of a table
        with the mapping that is its value
    history : lines of ``metrics.jsonl``; notes and warnings of the last one are shown
    passes : totals of the passes
    parts : sections on the test rows
    seconds : returns the time of the command so far. Drawing takes seconds, so :data:`TIME_OF_COMMAND` in the
        facts is replaced afterwards
    """
    content = render(facts, history, passes, parts)
    taken = 0.0 if seconds is None else seconds()
    write_text_atomic(path, content.replace(TIME_OF_COMMAND, in_time(taken)))
    return taken


def render(
    facts: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    passes: Sequence[PassTotal] = (),
    parts: Sequence[Section] = (),
) -> str:
    """Return the HTML of :func:`write_report`."""
    body: list[Section] = [note(str(facts.get("summary", "")), "quiet")]
    if facts.get("headline"):
        body.append(tiles({str(name): _text(value) for name, value in facts["headline"].items()}))
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
            rows = [(str(key), _text(value)) for key, value in values.items()]
            body += [heading(str(name)), table((), rows, "facts")]
    return page(str(facts.get("title", "distkern run")), body)


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "-" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else in_number(value)
