"""Importances and partial dependence as sections of a page."""

from __future__ import annotations

from collections.abc import Mapping

from distkern.monitor.explanation import Dependence, Explanation
from distkern.monitor.page import Axis, Curve, Plot, Plots, Section, bar, heading, note, table
from distkern.monitor.style import RUNS, STYLES, Style

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
        RUNS,
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
    """How each output that is drawn is, by its place, and in words which ones are."""
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
