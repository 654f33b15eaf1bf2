"""Bokeh figures for written pages and the live page."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from bokeh.core.properties import value
from bokeh.document import Document
from bokeh.embed import components
from bokeh.models import (
    AdaptiveTicker,
    BasicTicker,
    BasicTickFormatter,
    CategoricalColorMapper,
    ColumnDataSource,
    CustomJSHover,
    CustomJSTickFormatter,
    DatetimeTicker,
    DatetimeTickFormatter,
    FactorRange,
    FixedTicker,
    HoverTool,
    LinearScale,
    LogScale,
    LogTickFormatter,
    MultiLine,
    NumeralTickFormatter,
    Quad,
    Range1d,
    Scatter,
    Text,
    TickFormatter,
)
from bokeh.models.annotations import Title
from bokeh.models.text import PlainText
from bokeh.plotting import figure
from bokeh.resources import Resources
from bokeh.settings import settings

from distkern.show.page import Axis, Bars, Curve, HeatMap, Plot
from distkern.show.style import FONT, PALETTE, RULE

_LINES = ("xs", "ys", "colour", "dash")
_POINTS = ("x", "y", "label", "colour", "marker")
_CELLS = ("left", "right", "bottom", "top", "count", "colour", "shade")
#: points beyond which a curve has no markers, and beyond which it is thinned out
_MOST_DOTS, _MOST_POINTS = 100, 600
#: marks that begin TeX in Bokeh's texts
_TEX = ("$$", "\\[", "\\(")
#: shades of a cell, by the logarithm of its count
_SHADES, _FAINTEST = 8, 0.15
#: pixels around a plot: left, right, top, bottom; left + right equals top + bottom for square plots
_BORDERS = (64, 14, 30, 48)
#: characters of all words along an axis that fit a narrow window
_LETTERS = 30
#: ticks of a logarithmic axis: fewest, and most that fit a phone
_FEWEST_TICKS, _MOST_TICKS = 3, 7
#: kind of an axis -> format of its numbers in tooltips
_FORMATS = {"bytes": "{0.0 b}", "date": "{%F %R}"}
#: magnitudes of an axis on which Bokeh's usual format has neither exponents nor thousands
_USUAL = (1e-4, 1e4)
#: range of an axis, over its largest number, whose ticks differ in late digits
_NARROW = 1e-4
#: a number as people write it: 20M, 54,321, 2e-7; ``all`` are the ticks, which it must tell apart
_NUMBER = """
const written = (number, all) => {
  const size = Math.max(...all.map(Math.abs));
  if (number == 0) return "0";
  if (size < 1e-4 || size >= 1e16) return Number(number.toPrecision(6)).toExponential().replace("e+", "e");
  const is_short = unit => Math.max(unit, 1e5) <= size
    && all.every(one => Math.abs(Math.abs(one / unit * 100 % 1) - .5) > .499999);
  const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const [unit, letter] = units.find(([unit]) => is_short(unit)) ?? [1, ""];
  return (number / unit).toLocaleString("en-US", {maximumSignificantDigits: 12}) + letter;
};
"""
_TICK = f"{_NUMBER} return written(tick, ticks);"
_TOOLTIP = (
    f"{_NUMBER} return written(Math.abs(value) < 1e5 ? +value.toPrecision(6) : Math.round(value), [value]);"
)

#: sets the colours of plots for light or dark paper: Bokeh draws on a canvas, out of reach of style sheets
DRESSING = """<script>
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)"), papers = PAPERS;
  const dress = () => {
    const {text, rule, palette} = papers[dark.matches ? 1 : 0];
    const parts = globalThis.Bokeh ? Bokeh.documents.flatMap(one => one.roots()) : [];
    for (const part of parts.flatMap(root => [...root.references()])) {
      if (part.type == "CategoricalColorMapper") part.palette = palette;
      if (part.type == "Grid") part.grid_line_color = rule;
      for (const name of ["text_color", "major_label_text_color", "axis_label_text_color"])
        if (part.tags.includes("text") && name in part) part[name] = text;
    }
    return parts.length;
  };
  dark.addEventListener("change", dress);
  const first = setInterval(() => dress() && clearInterval(first), 50);
})();
</script>""".replace(
    "PAPERS",
    json.dumps(
        [
            {
                "text": PALETTE["quiet"][paper],
                "rule": RULE[paper],
                "palette": [pair[paper] for pair in PALETTE.values()],
            }
            for paper in (0, 1)
        ]
    ),
)


class Figure:
    """A Bokeh figure that shows a plot, and others later."""

    def __init__(self, plot: Plot) -> None:
        self._shown: Plot | None = None
        self._lines, self._points, self._cells, self._rug = (
            ColumnDataSource({name: [] for name in names}) for names in (_LINES, _POINTS, _CELLS, ("x", "y"))
        )
        self._notes = ColumnDataSource({"x": [], "y": [], "text": []})
        self._across, self._up = (
            FactorRange(factors=list(axis.words)) if axis.words else Range1d(start=0, end=1)
            for axis in (plot.x, plot.y)
        )
        text = PALETTE["quiet"][0]
        self._title = Title(text_font=FONT, text_font_size="13px", text_color=text, tags=["text"])
        size: dict[str, Any] = {"sizing_mode": "stretch_width", "height": plot.height}
        if plot.square:
            size = {"sizing_mode": "scale_width", "aspect_ratio": 1}
        left, right, top, bottom = _BORDERS
        self.figure = figure(
            title=self._title,
            **size,
            tools="",
            toolbar_location=None,
            x_range=self._across,
            y_range=self._up,
            background_fill_color=None,
            border_fill_color=None,
            outline_line_color=None,
            min_border_left=left,
            min_border_right=right,
            min_border_top=top if plot.square else 0,
            min_border_bottom=bottom if plot.square else 0,
        )
        palette = [light for light, _ in PALETTE.values()]
        colour: Any = {
            "field": "colour",
            "transform": CategoricalColorMapper(factors=list(PALETTE), palette=palette),
        }
        # glyphs alone: the methods of figures add slow ones for selected and muted states
        sides: dict[str, Any] = {name: name for name in _CELLS[:4]}
        cells = Quad(**sides, fill_color=colour, fill_alpha="shade", line_color=None)
        lines = MultiLine(xs="xs", ys="ys", line_color=colour, line_dash="dash", line_width=2)
        words = Text(
            x="x",
            y="y",
            text="text",
            text_baseline="top",
            y_offset=3,
            text_font=value(FONT),
            text_font_size="11px",
            text_color=text,
            tags=["text"],
        )
        rug = Scatter(
            x="x", y="y", marker="dash", angle=math.pi / 2, size=12, line_color=text, line_alpha=0.8
        )
        points = Scatter(x="x", y="y", size=7, line_color=colour, fill_color=colour, marker="marker")
        quads = self.figure.add_glyph(self._cells, cells)
        self.figure.add_glyph(self._lines, lines)
        self.figure.add_glyph(self._notes, words)
        self.figure.add_glyph(self._rug, rug)
        dots = self.figure.add_glyph(self._points, points)
        if plot.cells is not None:
            self.figure.add_tools(HoverTool(renderers=[quads], tooltips=[("rows", "@count")]))
        self._hover = HoverTool(
            renderers=[dots],
            mode="mouse",
            point_policy="snap_to_data",
            formatters={
                f"@{side}": "datetime" if axis.kind == "date" else CustomJSHover(code=_TOOLTIP)
                for side, axis in (("x", plot.x), ("y", plot.y))
                if axis.kind != "bytes" and not axis.words
            },
        )
        self.figure.add_tools(self._hover)
        self._dress(text)
        self.show(plot)

    def _dress(self, text: str) -> None:
        plot = self.figure
        for axis in (plot.xaxis[0], plot.yaxis[0]):
            axis.tags = ["text"]
            axis.axis_line_color = None
            axis.major_tick_line_color = axis.minor_tick_line_color = None
            axis.major_label_text_color = axis.axis_label_text_color = text
            axis.major_label_text_font = axis.axis_label_text_font = FONT
            axis.major_label_text_font_size = axis.axis_label_text_font_size = "12px"
            axis.axis_label_text_font_style = "normal"
        plot.xgrid[0].visible = False
        plot.ygrid[0].grid_line_color = RULE[0]

    def show(self, plot: Plot) -> None:
        """Draw the plot; tooltips show the labels of curves."""
        if plot == self._shown:
            return
        self._shown = plot
        self._title.text = _plain(plot.title)
        for axis, shown in ((plot.x, self.figure.xaxis[0]), (plot.y, self.figure.yaxis[0])):
            shown.axis_label = _plain(axis.label) if axis.label else None
        self._hover.tooltips = [("", f"@label @y{_format(plot.y)}"), (plot.x.label, f"@x{_format(plot.x)}")]
        known = [(curve, _known(curve, plot)) for curve in plot.curves]
        cells = _quads(plot.cells)
        places, values = ([pair[axis] for _, pairs in known for pair in pairs] for axis in (0, 1))
        places += [*cells["left"], *cells["right"], *(_at(end, plot.x) for end in plot.rug)]
        values += [*cells["bottom"], *cells["top"]]
        self._scale(places, plot.x, "x", self._across)
        self._scale(values, plot.y, "y", self._up)
        self._cells.data = cells
        self._rug.data = {
            "x": [_at(end, plot.x) for end in plot.rug],
            "y": [self._up.start] * len(plot.rug) if plot.rug else [],
        }
        lines = [(curve, pairs) for curve, pairs in known if curve.style.dash]
        self._lines.data = {
            "xs": [[x for x, _ in pairs] for _, pairs in lines],
            "ys": [[y for _, y in pairs] for _, pairs in lines],
            "colour": [curve.style.colour for curve, _ in lines],
            "dash": [curve.style.dash for curve, _ in lines],
        }
        notes = {(pairs[0][1], curve.note): pairs[0][0] for curve, pairs in known if curve.note and pairs}
        self._notes.data = {
            "x": list(notes.values()),
            "y": [y for y, _ in notes],
            "text": [words for _, words in notes],
        }
        # a curve of one point is always drawn as a marker
        dotted = [
            (x, y, curve)
            for curve, pairs in known
            if (curve.style.marker and len(pairs) <= _MOST_DOTS) or len(pairs) == 1
            for x, y in pairs
        ]
        self._points.data = {
            "x": [x for x, _, _ in dotted],
            "y": [y for _, y, _ in dotted],
            "label": [curve.label for _, _, curve in dotted],
            "colour": [curve.style.colour for _, _, curve in dotted],
            "marker": [curve.style.marker or "circle" for _, _, curve in dotted],
        }

    def _scale(self, values: Sequence[Any], axis: Axis, side: str, limits: Any) -> None:
        """Set the range and ticks of an axis for the values."""
        if axis.words:
            if side == "x" and sum(map(len, axis.words)) > _LETTERS:
                self.figure.xaxis[0].major_label_orientation = math.pi / 6
            return
        ends = [*values, *(_at(end, axis) for end in axis.within), *([0.0] if axis.from_zero else [])]
        is_log = axis.kind == "log" and bool(ends) and min(ends) > 0
        shown = getattr(self.figure, f"{side}axis")[0]
        self.figure.update(**{f"{side}_scale": LogScale() if is_log else LinearScale()})
        if is_log:
            ticks, are_powers = log_ticks(*(axis.ends or (min(ends), max(ends))))
            formatter = LogTickFormatter() if are_powers else _formatter(ticks)
            shown.update(ticker=FixedTicker(ticks=ticks), formatter=formatter)
        elif axis.kind == "bytes":
            powers = [2.0**power for power in range(10)]
            ticker: Any = AdaptiveTicker(base=1024, mantissas=powers, desired_num_ticks=5, num_minor_ticks=0)
            shown.update(ticker=ticker, formatter=NumeralTickFormatter(format="0[.]0 b"))
        elif axis.kind == "date":
            ticker = DatetimeTicker(desired_num_ticks=4, num_minor_ticks=0)
            shown.update(ticker=ticker, formatter=DatetimeTickFormatter())
        else:
            low, high = axis.ends or (min(ends, default=0.0), max(ends, default=0.0))
            # such labels have all digits, and few fit a phone
            is_narrow = side == "x" and high - low < _NARROW * max(abs(low), abs(high))
            ticker = BasicTicker(desired_num_ticks=2 if is_narrow else 5, num_minor_ticks=0)
            ticker.min_interval = 1.0 if axis.kind == "whole" else 0.0
            shown.update(ticker=ticker, formatter=_formatter(axis.ends or ends))
        if side == "y":
            self.figure.ygrid[0].update(ticker=shown.ticker)
        if axis.ends is not None:
            limits.update(start=axis.ends[0], end=axis.ends[1])
        elif ends:
            low, high = min(ends), max(ends)
            if is_log:
                margin = (high / low) ** 0.05 if high > low else 2.0
                limits.update(start=low / margin, end=high * margin)
            else:
                margin = 0.05 * (high - low) or 0.5 * (abs(high) or 1.0)
                limits.update(start=low - margin, end=high + margin)


def _formatter(numbers: Sequence[float]) -> TickFormatter:
    """Return the formatter of an axis on which ``numbers`` lie."""
    low, high = _USUAL
    largest = max(map(abs, numbers), default=0.0)
    if largest == 0.0 or low <= largest < high:
        return BasicTickFormatter()
    return CustomJSTickFormatter(code=_TICK)


def _format(axis: Axis) -> str:
    """Return the format of an axis' numbers in tooltips; the usual one is that of ``_TOOLTIP``."""
    return "" if axis.words else _FORMATS.get(axis.kind, "{custom}")


def log_ticks(low: float, high: float) -> tuple[list[float], bool]:
    """Return the ticks of a logarithmic axis, and whether they are powers of ten.

    Bokeh's own are equidistant numbers on a short axis: they overlap at its end and are absent at its start.
    """
    powers = [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    if len(powers) >= _FEWEST_TICKS:
        return powers[:: math.ceil(len(powers) / _MOST_TICKS)], True
    first = math.floor(math.log10(low))
    decades = [10.0**power for power in range(first, math.floor(math.log10(high)) + 1)]
    ticks = [tick for ten in decades for tick in (ten, 2.0 * ten, 5.0 * ten) if low <= tick <= high]
    if len(ticks) >= _FEWEST_TICKS:
        return ticks, False
    step = (high - low) / _FEWEST_TICKS or low
    size = 10.0 ** math.floor(math.log10(step))
    step = max(size * nice for nice in (1.0, 2.0, 2.5, 5.0) if size * nice <= step)
    places = range(math.ceil(low / step), math.floor(high / step) + 1)
    # without the last bit, which Bokeh would show
    return [float(f"{place * step:.12g}") for place in places], False


def embedded(plots: Sequence[Plot]) -> tuple[str, Iterator[str]]:
    """Return the scripts that draw plots without a network, and the HTML place of each."""
    figures, document = [Figure(plot).figure for plot in plots], Document()
    # avoids a search of the document after each root
    with document.models.freeze():
        for drawn in figures:
            document.add_root(drawn)
    # validation takes a fifth of the time
    settings.perform_document_validation.set_value(False)
    try:
        script, places = components(figures)
    finally:
        settings.perform_document_validation.unset_value()
    return f"{Resources(mode='inline', components=['bokeh']).render_js()}{script}{DRESSING}", iter(places)


def _plain(words: str) -> str | PlainText:
    """Return a text that Bokeh draws literally, not as TeX."""
    return PlainText(text=words) if any(mark in words for mark in _TEX) else words


def _at(place: Any, axis: Axis) -> Any:
    """Return a coordinate for Bokeh: one of the axis' words, milliseconds of a date, or a number."""
    if axis.words:
        return axis.words[round(place)]
    return float(place) * (1000.0 if axis.kind == "date" else 1.0)


def _known(curve: Curve, plot: Plot) -> list[tuple[Any, Any]]:
    """Return the finite points of a curve, thinned out if there are many."""
    pairs = [
        (_at(x, plot.x), _at(y, plot.y))
        for x, y in zip(curve.x, curve.y, strict=True)
        if y is not None and math.isfinite(y)
    ]
    if len(pairs) <= _MOST_POINTS:
        return pairs
    return [*pairs[: -1 : math.ceil(len(pairs) / _MOST_POINTS)], pairs[-1]]


def _quads(cells: HeatMap | Bars | None) -> dict[str, list[Any]]:
    """Return the rectangles of a one- or two-dimensional histogram, without empty ones."""
    found: list[tuple[Any, ...]] = []
    if isinstance(cells, Bars):
        sides = zip(cells.edges[:-1], cells.edges[1:], cells.heights, strict=True)
        found = [
            (left, right, 0.0, height, height, cells.style.colour, 0.6)
            for left, right, height in sides
            if height
        ]
    elif cells is not None:
        largest = max((count for column in cells.counts for count in column), default=0)
        for i, column in enumerate(cells.counts):
            for j, count in enumerate(column):
                if count:
                    step = round((_SHADES - 1) * math.log(count) / max(math.log(largest), 1.0))
                    shade = _FAINTEST + (1 - _FAINTEST) * (1 + step) / _SHADES
                    corners = cells.x[i], cells.x[i + 1], cells.y[j], cells.y[j + 1]
                    found.append((*corners, count, cells.style.colour, shade))
    return {name: [one[place] for one in found] for place, name in enumerate(_CELLS)}
