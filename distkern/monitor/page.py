"""A page is a list of sections: headings, notes, tiles, tables, plots; one builder makes its HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TypeAlias

from distkern.monitor.style import ELEMENTS, FONT, STYLES, VARIABLES, Style
from distkern.monitor.text import PAGE_BEGINS

_MARKS = {"circle": "●", "square": "■", "triangle": "▲", "diamond": "◆", "": ""}


class Html(str):
    """A text that is HTML; any other text is escaped."""


@dataclass(frozen=True)
class Axis:
    """An axis of a plot.

    Attributes
    ----------
    label : name of the quantity
    log : logarithmic if all values are positive
    binary : bytes, from 0
    from_zero : include 0
    words : labels at 0, 1, ... instead of numbers
    within : two numbers that the axis includes
    """

    label: str = ""
    log: bool = False
    binary: bool = False
    from_zero: bool = False
    words: tuple[str, ...] = ()
    within: tuple[float, ...] = ()


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
    colour: str


@dataclass(frozen=True)
class Plot:
    """Curves over one axis, and cells below them; ``height`` in pixels."""

    title: str
    x: Axis
    y: Axis
    curves: Sequence[Curve] = ()
    cells: HeatMap | None = None
    height: int = 230

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
    return value if isinstance(value, Html) else Html(escape("-" if value is None else str(value)))


def joined(*parts: object) -> Html:
    """Concatenate texts."""
    return Html("".join(map(text, parts)))


def heading(words: str) -> Html:
    """A heading."""
    return Html(f"<h2>{text(words)}</h2>")


def note(words: str, kind: str = "note") -> Html:
    """A paragraph of kind "note", "quiet" or "warn"; nothing if the text is empty."""
    return Html(f'<p class="{kind}">{text(words)}</p>' if words else "")


def tiles(cells: Mapping[str, object]) -> Html:
    """Figures shown large, by their names."""
    boxes = "".join(
        f'<div class="tile"><span class="quiet">{text(name)}</span><b>{text(value)}</b></div>'
        for name, value in cells.items()
    )
    return Html(f'<div class="tiles">{boxes}</div>')


def table(
    header: Mapping[str, str] | Sequence[str], rows: Iterable[Sequence[object]], kind: str = "numbers"
) -> Html:
    """A table: by default numbers beside a first column of text.

    Parameters
    ----------
    header : column headings, with tooltips if a mapping; empty for none
    kind : "numbers" (also with "named", or "dense" for many columns), "facts", "bars", "matrix", "events"
    """
    meanings = header if isinstance(header, Mapping) else {}
    head = "".join(
        f'<th scope="col"{title}>{text(name)}</th>'
        for name in header
        for title in [f' title="{escape(meanings[name])}"' if meanings.get(name) else ""]
    )
    body = "".join(f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    first = f"<tr>{head}</tr>" if head else ""
    return Html(f'<div class="scroll"><table class="{kind}">{first}{body}</table></div>')


def bar(share: float, colour: str = "var(--bar)") -> Html:
    """A bar filled to a share between 0 and 1."""
    style = f"width:{100 * min(max(share, 0.0), 1.0):.1f}%;background:{colour}"
    return Html(f'<div class="bar"><i style="{style}"></i></div>')


def swatch(colour: str, dash: str = "solid") -> Html:
    """A stroke of a colour."""
    return Html(f'<span class="swatch {dash}" style="color:{colour}"></span>')


def square(colour: str) -> Html:
    """A small square of a colour."""
    return Html(f'<span class="key" style="background:{colour}"></span>')


def key(styles: Mapping[str, Style]) -> Html:
    """The key of colours, strokes and markers."""
    items = []
    for label, style in styles.items():
        stroke = swatch(style.colour, style.dash) if style.dash else ""
        mark = f'<span style="color:{style.colour}">{_MARKS[style.marker]}</span> '
        items.append(f'<span class="item">{stroke}{mark}{text(label)}</span>')
    return Html(" ".join(items))


def page(title: str, sections: Iterable[Section]) -> str:
    """Return the HTML of a page, which needs no network; its scripts draw the plots."""
    parts = list(sections)
    plots = [plot for part in parts if isinstance(part, Plots) for plot in part.plots]
    script, drawn = "", iter(list[str]())
    if plots:
        from distkern.monitor.plots import embedded

        script, drawn = embedded(plots)
    body = "\n".join(
        part if isinstance(part, Html) else _figures(part.plots, [next(drawn) for _ in part.plots])
        for part in parts
    )
    style = (
        f"{VARIABLES}body {{ margin: 0 auto; max-width: 66rem; padding: 1.2rem; color: var(--ink);"
        f" background: var(--paper); font: 15px/1.5 {FONT}; }}"
        "@media (max-width: 30rem) { body { padding: .8rem; } }"
        f"@media print {{ body {{ max-width: none; padding: 0; }} }}{ELEMENTS}"
    )
    return (
        f"{PAGE_BEGINS}{text(title)}</title><style>{style}</style></head><body>\n"
        f"<h1>{text(title)}</h1>\n{body}\n{script}</body></html>\n"
    )


def _figures(plots: Sequence[Plot], places: Sequence[str]) -> str:
    figures = "".join(
        f"<figure>{place}{f'<figcaption>{key(plot.keys)}</figcaption>' if plot.keys else ''}</figure>"
        for plot, place in zip(plots, places, strict=True)
    )
    return f'<div class="figures">{figures}</div>' if figures else ""
