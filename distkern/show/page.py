"""A page is a list of sections: headings, notes, tiles, tables, plots; one builder makes its HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from markupsafe import Markup as Html

from distkern.core.text import PAGE_BEGINS
from distkern.show.style import ELEMENTS, FONT, STYLES, VARIABLES, Style
from distkern.show.templates import TEMPLATES

__all__ = ["Html"]

_MARKS = {"circle": "●", "square": "■", "triangle": "▲", "diamond": "◆", "": ""}
#: where a reader clicks a heading: rows by the numbers of that column, or by its texts
_SORTING = """<script>
for (const head of document.querySelectorAll("th[data-sort]")) {
  const sort = () => {
    const table = head.closest("table"), place = head.cellIndex, down = head.dataset.sort != "up";
    head.dataset.sort = down ? "up" : "down";
    const number = row => parseFloat(row.cells[place].innerText.replaceAll(",", ""));
    const rows = [...table.rows].slice(1);
    const words = row => row.cells[place].innerText, filled = rows.filter(row => words(row) != "-");
    const byNumber = filled.every(row => !isNaN(number(row)));
    const value = row => words(row) == "-" ? Infinity : byNumber ? number(row) : words(row);
    rows.sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (down ? 1 : -1));
    rows.forEach(row => row.parentNode.append(row));
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", event => event.key == "Enter" && sort());
}
</script>"""


@dataclass(frozen=True)
class Axis:
    """An axis of a plot.

    Attributes
    ----------
    label : name of the quantity
    kind : "log" where all values are positive, "bytes" from 0, "whole" numbers, "date" of seconds since 1970
    from_zero : include 0
    words : labels at 0, 1, ... instead of numbers
    within : two numbers that the axis includes
    ends : two numbers where the axis ends, whatever lies beyond
    """

    label: str = ""
    kind: Literal["number", "log", "bytes", "whole", "date"] = "number"
    from_zero: bool = False
    words: tuple[str, ...] = ()
    within: tuple[float, ...] = ()
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """A curve: label (empty: no entry in the key), points (None is left out) and style.

    ``note`` is written at its start.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    style: Style = STYLES["figure"]
    note: str = ""


@dataclass(frozen=True)
class HeatMap:
    """A two-dimensional histogram: (m, n) counts between edges (m + 1,) and (n + 1,), darker where larger."""

    x: Sequence[float]
    y: Sequence[float]
    counts: Sequence[Sequence[int]]
    style: Style


@dataclass(frozen=True)
class Bars:
    """Bars of heights (m,) between edges (m + 1,)."""

    edges: Sequence[float]
    heights: Sequence[float]
    style: Style


@dataclass(frozen=True)
class Plot:
    """Curves over one axis, and cells or bars below them.

    Attributes
    ----------
    height : in pixels
    square : both axes have the same unit and the same length
    rug : values of the rows, as strokes along the x axis
    """

    title: str
    x: Axis
    y: Axis
    curves: Sequence[Curve] = ()
    cells: HeatMap | Bars | None = None
    height: int = 230
    square: bool = False
    rug: Sequence[float] = ()

    @property
    def keys(self) -> dict[str, Style]:
        """Labels of the curves that the title does not name, with the first style of each."""
        styles: dict[str, Style] = {}
        for curve in self.curves:
            if curve.label and curve.label not in self.title.lower():
                styles.setdefault(curve.label, curve.style)
        return styles


@dataclass(frozen=True)
class Plots:
    """Plots side by side, as many as there is room for."""

    plots: Sequence[Plot] = field(default_factory=list)


Section: TypeAlias = Html | Plots


def text(value: object) -> Html:
    """A text as HTML; a dash for None."""
    return value if isinstance(value, Html) else Html.escape("-" if value is None else value)


def joined(*parts: object) -> Html:
    """Concatenate texts."""
    return Html("").join(map(text, parts))


def heading(words: str) -> Html:
    """A heading."""
    return Html(TEMPLATES.heading(words))


def note(words: str, kind: str = "note") -> Html:
    """A paragraph of kind "note", "quiet" or "warn"; nothing if the text is empty."""
    return Html(TEMPLATES.note(words, kind))


def tiles(cells: Mapping[str, object]) -> Html:
    """Figures shown large, by their names."""
    return Html(TEMPLATES.tiles(cells))


def table(
    header: Mapping[str, str] | Sequence[str],
    rows: Iterable[Sequence[object]],
    kind: str = "numbers",
    *,
    chosen: int | None = None,
    sortable: bool = False,
) -> Html:
    """A table: by default numbers beside a first column of text.

    Parameters
    ----------
    header : column headings, with tooltips if a mapping; empty for none
    kind : "numbers" (also with "named", or "dense" for many columns), "facts", "bars", "matrix", "events"
    chosen : number of a row that is marked
    sortable : a click on a heading sorts the rows by its column
    """
    meanings = header if isinstance(header, Mapping) else {}
    return Html(TEMPLATES.table(list(header), meanings, list(rows), kind, chosen, sortable))


def bar(share: float, colour: str = "var(--bar)", spread: float = 0.0) -> Html:
    """A bar filled to a share between 0 and 1, with a stroke from share - spread to share + spread."""
    width, low, high = (
        round(100 * min(max(end, 0.0), 1.0), 1) for end in (share, share - spread, share + spread)
    )
    return Html(TEMPLATES.bar(width, colour, (low, round(high - low, 1)) if spread else None))


def key(styles: Mapping[str, Style]) -> Html:
    """The key of colours, strokes and markers."""
    return Html(TEMPLATES.key(styles, _MARKS))


def page(title: str, sections: Iterable[Section]) -> str:
    """Return the HTML of a page, which needs no network; its scripts draw the plots."""
    parts = list(sections)
    plots = [plot for part in parts if isinstance(part, Plots) for plot in part.plots]
    script, drawn = "", iter(list[str]())
    if plots:
        from distkern.show.plots import embedded

        script, drawn = embedded(plots)
    body = [
        part
        if isinstance(part, Html)
        else TEMPLATES.figures([(Html(next(drawn)), plot) for plot in part.plots], _MARKS)
        for part in parts
    ]
    if any("data-sort" in part for part in body):
        script += _SORTING
    style = (
        f"{VARIABLES}body {{ margin: 0 auto; max-width: 66rem; padding: 1.2rem; color: var(--ink);"
        f" background: var(--paper); font: 15px/1.5 {FONT}; }}"
        "@media (max-width: 30rem) { body { padding: .8rem; } }"
        f"@media print {{ body {{ max-width: none; padding: 0; }} }}{ELEMENTS}"
    )
    return str(TEMPLATES.page(title, Html(PAGE_BEGINS), Html(style), body, Html(script)))
