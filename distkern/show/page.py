"""Pages as lists of sections: headings, notes, tiles, tables, plots; :func:`page` returns the HTML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Literal, TypeAlias

from markupsafe import Markup as Html

from distkern.core.templates import TEMPLATES
from distkern.core.text import PAGE_BEGINS
from distkern.show.style import ELEMENTS, FONT, STYLES, VARIABLES, Style

if TYPE_CHECKING:
    from distkern.data.store.places import Location

__all__ = ["Html"]

#: letters of all headings of a table that fits a phone
_MOST_LETTERS = 36
_MARKS = {"circle": "●", "square": "■", "triangle": "▲", "diamond": "◆", "": ""}
#: sorts rows by the numbers or texts of a column when its heading is clicked
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
    kind : "log" if all values are positive, "bytes", "whole" numbers, "date" in seconds since 1970
    from_zero : include 0
    words : labels at 0, 1, ... instead of numbers
    within : numbers that the axis includes
    ends : both ends of the axis; values beyond are cut off
    """

    label: str = ""
    kind: Literal["number", "log", "bytes", "whole", "date"] = "number"
    from_zero: bool = False
    words: tuple[str, ...] = ()
    within: tuple[float, ...] = ()
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """A curve: label (empty: not in the key), points (None is left out), style, note at its start."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    style: Style = STYLES["figure"]
    note: str = ""


@dataclass(frozen=True)
class HeatMap:
    """A two-dimensional histogram: counts (m, n) between edges (m + 1,) and (n + 1,)."""

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
    """Curves, over cells or bars.

    Attributes
    ----------
    height : in pixels
    square : whether both axes have the same length
    rug : values of rows, drawn as ticks along the x axis
    legend : whether the key of the curves is shown
    """

    title: str
    x: Axis
    y: Axis
    curves: Sequence[Curve] = ()
    cells: HeatMap | Bars | None = None
    height: int = 230
    square: bool = False
    rug: Sequence[float] = ()
    legend: bool = True

    @property
    def keys(self) -> dict[str, Style]:
        """Labels of curves that the title does not name, with the first style of each."""
        styles: dict[str, Style] = {}
        for curve in self.curves if self.legend else ():
            if curve.label and curve.label not in self.title.lower():
                styles.setdefault(curve.label, curve.style)
        return styles


@dataclass(frozen=True)
class Plots:
    """Plots side by side, where there is room."""

    plots: Sequence[Plot] = field(default_factory=list)


Section: TypeAlias = Html | Plots


def text(value: object) -> Html:
    """Return a text as HTML; a dash for None."""
    return value if isinstance(value, Html) else Html.escape("-" if value is None else value)


def joined(*parts: object) -> Html:
    """Concatenate texts."""
    return Html("").join(map(text, parts))


def heading(words: str) -> Html:
    """Return a heading."""
    return Html(TEMPLATES.heading(words))


def note(words: str, kind: str = "note") -> Html:
    """Return a paragraph of kind "note", "quiet" or "warn"; nothing for an empty text."""
    return Html(TEMPLATES.note(words, kind))


def tiles(cells: Mapping[str, object]) -> Html:
    """Return figures shown large, with their names."""
    return Html(TEMPLATES.tiles(cells))


def table(
    header: Mapping[str, str] | Sequence[str],
    rows: Iterable[Sequence[object]],
    kind: str = "numbers",
    *,
    chosen: int | None = None,
    sortable: bool = False,
) -> Html:
    """Return a table: by default numbers beside a first column of text.

    Parameters
    ----------
    header : column headings, with tooltips if a mapping; empty for none
    kind : "numbers" (also with "named", or "dense" for many columns), "facts", "bars", "matrix", "events"
    chosen : number of the marked row
    sortable : sort rows when a heading is clicked
    """
    meanings = header if isinstance(header, Mapping) else {}
    names = list(header)
    # rows of a wide table are stacked on narrow screens, where each cell needs the name of its column
    is_wide = len(names) > 5 or len("".join(names)) > _MOST_LETTERS
    labels = [f"--column-{at}:{json.dumps(name, ensure_ascii=False)};" for at, name in enumerate(names, 1)]
    stacked = "".join(labels) if is_wide else ""
    return Html(TEMPLATES.table(names, meanings, list(rows), kind, chosen, sortable, stacked))


def bar(share: float, colour: str = "var(--bar)", spread: float = 0.0) -> Html:
    """Return a bar filled to a share in [0, 1], with an error bar of share - spread to share + spread."""
    width, low, high = (
        round(100 * min(max(end, 0.0), 1.0), 1) for end in (share, share - spread, share + spread)
    )
    return Html(TEMPLATES.bar(width, colour, (low, round(high - low, 1)) if spread else None))


def key(styles: Mapping[str, Style]) -> Html:
    """Return the key of colours, strokes and markers."""
    return Html(TEMPLATES.key(styles, _MARKS))


def page(title: str, sections: Iterable[Section]) -> str:
    """Return the HTML of a page; it needs no network."""
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


@dataclass(frozen=True)
class PlotPage:
    """A page of plots.

    Attributes
    ----------
    title : title of the page
    sections : see :mod:`distkern.show.page`
    what : subject of the plots
    """

    title: str
    sections: tuple[Section, ...]
    what: str

    @property
    def page(self) -> str:
        """The page's HTML, which needs no network."""
        return page(self.title, self.sections)

    def _repr_html_(self) -> str:
        # an iframe isolates the page's style and scripts from the notebook's
        grown = "this.style.height = this.contentDocument.documentElement.scrollHeight + 'px'"
        style = "width: 100%; height: 30rem; border: 0"
        return f'<iframe srcdoc="{escape(self.page)}" style="{style}" onload="{grown}"></iframe>'

    def __repr__(self) -> str:
        return f"<Figures of {self.what}: a notebook draws them, .save(path) writes a page>"

    def save(self, path: Location) -> None:
        """Write the page."""
        from distkern.data.store.atomic import write_text_atomic

        write_text_atomic(path, self.page)
