"""Bokeh figures for written pages and the live page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from bokeh.core.properties import value
from bokeh.document import Document
from bokeh.embed import components
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, MultiLine, Range1d, Scatter, Text
from bokeh.models.annotations import Title
from bokeh.models.text import PlainText
from bokeh.plotting import figure
from bokeh.resources import Resources
from bokeh.settings import settings

from distkern.monitor.page import Axis, Curve, HeatMap, Plot
from distkern.monitor.style import FIGURE_RULE, FIGURE_TEXT, FONT, axis_number, short_bytes

_LINES = ("xs", "ys", "colour", "dash")
_POINTS = ("x", "y", "value", "label", "place", "colour", "marker")
#: more points than this are drawn as a line only, and more than the second thinned out
_MOST_DOTS, _MOST_POINTS = 100, 600
#: what begins TeX in a text of Bokeh's
_TEX = ("$$", "\\[", "\\(")
#: shades of a cell, by the logarithm of what it holds
_SHADES, _FAINTEST = 8, 0.15


class Figure:
    """The Bokeh figure of a plot, redrawn when it is shown another."""

    def __init__(self, plot: Plot) -> None:
        self._shown: Plot | None = None
        self._lines = ColumnDataSource({name: [] for name in _LINES})
        self._notes = ColumnDataSource({"x": [], "y": [], "text": []})
        self._points = ColumnDataSource({name: [] for name in _POINTS})
        self._across, self._up = Range1d(start=0, end=1), Range1d(start=0, end=1)
        self._title = Title(text_font=FONT, text_font_size="13px", text_color=FIGURE_TEXT)
        self.figure = figure(
            title=self._title,
            height=plot.height,
            sizing_mode="stretch_width",
            tools="",
            toolbar_location=None,
            x_range=self._across,
            y_range=self._up,
            background_fill_color=None,
            border_fill_color=None,
            outline_line_color=None,
            min_border_left=58,
            min_border_right=14,
        )
        if plot.cells is not None:
            self._draw_cells(plot.cells)
        # glyphs alone: the methods of figures make others for what is selected and muted, which take time
        lines = MultiLine(xs="xs", ys="ys", line_color="colour", line_dash="dash", line_width=2)
        self.figure.add_glyph(self._lines, lines)
        words = Text(
            x="x",
            y="y",
            text="text",
            y_offset=-2,
            text_font=value(FONT),
            text_font_size="11px",
            text_color=FIGURE_TEXT,
        )
        self.figure.add_glyph(self._notes, words)
        points = Scatter(x="x", y="y", size=7, line_color="colour", fill_color="colour", marker="marker")
        dots = self.figure.add_glyph(self._points, points)
        self._hover = HoverTool(renderers=[dots], mode="mouse", point_policy="snap_to_data")
        self.figure.add_tools(self._hover)
        self._dress()
        self.show(plot)

    def _dress(self) -> None:
        plot = self.figure
        for axis in (plot.xaxis[0], plot.yaxis[0]):
            axis.axis_line_color = None
            axis.major_tick_line_color = axis.minor_tick_line_color = None
            axis.major_label_text_color = axis.axis_label_text_color = FIGURE_TEXT
            axis.major_label_text_font = axis.axis_label_text_font = FONT
            axis.major_label_text_font_size = axis.axis_label_text_font_size = "12px"
            axis.axis_label_text_font_style = "normal"
        plot.xgrid[0].grid_line_color = None
        plot.ygrid[0].grid_line_color = FIGURE_RULE
        plot.ygrid[0].grid_line_alpha = 0.35

    def _draw_cells(self, cells: HeatMap) -> None:
        largest = max((count for column in cells.counts for count in column), default=0)
        found = [
            (cells.x[i], cells.x[i + 1], cells.y[j], cells.y[j + 1], count)
            for i, column in enumerate(cells.counts)
            for j, count in enumerate(column)
            if count
        ]
        steps = [round((_SHADES - 1) * math.log(one[-1]) / max(math.log(largest), 1.0)) for one in found]
        names = ("left", "right", "bottom", "top", "count")
        data: dict[str, Any] = {name: [one[place] for one in found] for place, name in enumerate(names)}
        data["shade"] = [_FAINTEST + (1 - _FAINTEST) * (1 + step) / _SHADES for step in steps]
        quads = self.figure.quad(
            *names[:4],
            fill_color=cells.colour,
            fill_alpha="shade",
            line_color=None,
            source=ColumnDataSource(data),
        )
        self.figure.add_tools(HoverTool(renderers=[quads], tooltips=[("rows", "@count")]))

    def show(self, plot: Plot) -> None:
        """Draw the plot except its cells; hovering shows the labels of curves."""
        if plot == self._shown:
            return
        self._shown = plot
        self._title.text = _plain(plot.title)
        self.figure.xaxis[0].axis_label = _plain(plot.x.label)
        self._hover.tooltips = [("@label", "@value"), (plot.x.label, "@place")]
        known = [(curve, _known(curve)) for curve in plot.curves]
        places, values = ([pair[axis] for _, pairs in known for pair in pairs] for axis in (0, 1))
        across = self._scale(places, plot.x, self.figure.xaxis[0], self._across)
        up = self._scale(values, plot.y, self.figure.yaxis[0], self._up)
        self.figure.ygrid[0].update(ticker=self.figure.yaxis[0].ticker)
        lines = [(curve, pairs) for curve, pairs in known if curve.style.dash]
        self._lines.data = {
            "xs": [[across(x) for x, _ in pairs] for _, pairs in lines],
            "ys": [[up(y) for _, y in pairs] for _, pairs in lines],
            "colour": [curve.style.colour for curve, _ in lines],
            "dash": [curve.style.dash for curve, _ in lines],
        }
        # runs with the same limits share its note
        notes = {(pairs[0][1], curve.note): pairs[0][0] for curve, pairs in known if curve.note and pairs}
        self._notes.data = {
            "x": [across(x) for x in notes.values()],
            "y": [up(y) for y, _ in notes],
            "text": [words for _, words in notes],
        }
        # a curve of one point has no line, whatever it is
        dotted = [
            (x, y, curve)
            for curve, pairs in known
            if (curve.style.marker and len(pairs) <= _MOST_DOTS) or len(pairs) == 1
            for x, y in pairs
        ]
        self._points.data = {
            "x": [across(x) for x, _, _ in dotted],
            "y": [up(y) for _, y, _ in dotted],
            "value": [_told(y, plot.y) for _, y, _ in dotted],
            "label": [curve.label for _, _, curve in dotted],
            "place": [_told(x, plot.x) for x, _, _ in dotted],
            "colour": [curve.style.colour for _, _, curve in dotted],
            "marker": [curve.style.marker or "circle" for _, _, curve in dotted],
        }

    def _scale(
        self, values: Sequence[float], axis: Axis, shown: Any, limits: Range1d
    ) -> Callable[[float], float]:
        """Set an axis; return the function from a value to its position."""
        values, is_across = [*values, *axis.within], limits is self._across
        is_log = axis.log and bool(values) and min(values) > 0
        way: Callable[[float], float] = math.log10 if is_log else float
        ticks = _ticks(values, axis, is_log=is_log, is_across=is_across)
        labels = {way(tick): _told(tick, axis) for tick in ticks}
        shown.ticker = FixedTicker(ticks=list(labels))
        shown.update(major_label_overrides={place: _plain(words) for place, words in labels.items()})
        if values:
            low, high = min(map(way, values)), max(map(way, values))
            if not is_across:
                low, high = min(low, *labels), max(high, *labels)
            margin = 0.5 if axis.words else 0.03 * (high - low) or 0.5
            limits.update(start=low - margin, end=high + margin)
        return way


def embedded(plots: Sequence[Plot]) -> tuple[str, Iterator[str]]:
    """Return the scripts that draw plots without a network, and a place for each as HTML."""
    figures, document = [Figure(plot).figure for plot in plots], Document()
    # else the document is searched for models after each of them
    with document.models.freeze():
        for drawn in figures:
            document.add_root(drawn)
    # our documents are always valid, and validation takes a fifth of the time
    settings.perform_document_validation.set_value(False)
    try:
        script, places = components(figures)
    finally:
        settings.perform_document_validation.unset_value()
    return f"{Resources(mode='inline', components=['bokeh']).render_js()}{script}", iter(places)


def _plain(words: str) -> str | PlainText:
    """A text that Bokeh draws literally, not as TeX."""
    return PlainText(text=words) if any(mark in words for mark in _TEX) else words


def _known(curve: Curve) -> list[tuple[float, float]]:
    """The finite points of a curve, thinned out if there are many."""
    pairs = [
        (float(x), float(y))
        for x, y in zip(curve.x, curve.y, strict=True)
        if y is not None and math.isfinite(y)
    ]
    if len(pairs) <= _MOST_POINTS:
        return pairs
    return [*pairs[: -1 : math.ceil(len(pairs) / _MOST_POINTS)], pairs[-1]]


def _told(number: float, axis: Axis) -> str:
    """A number of an axis as text."""
    if axis.words:
        return axis.words[round(number)]
    return short_bytes(number) if axis.binary else axis_number(number)


def _ticks(values: Sequence[float], axis: Axis, *, is_log: bool, is_across: bool) -> Sequence[float]:
    """The labelled values of an axis; on a horizontal one only within the data."""
    if axis.words:
        return [float(place) for place in range(len(axis.words))]
    if not values:
        return []
    low, high = min(values), max(values)
    if axis.from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if is_across and (own := own_ticks(values)):
        return own
    if is_log:
        ticks = log_ticks(low, high)
    else:
        ticks = binary_ticks(high) if axis.binary else linear_ticks(low, high, 6 if is_across else 4)
    return [tick for tick in ticks if low <= tick <= high] if is_across else ticks


def own_ticks(places: Sequence[float]) -> list[float]:
    """The values themselves if they are few, short and well separated; else none."""
    own = sorted(set(places))
    if len(own) > 12 or any(float(f"{place:.3g}") != place for place in own):
        return []
    apart = min((b - a for a, b in pairwise(own)), default=0.0)
    return own if len(own) == 1 or apart >= (own[-1] - own[0]) / 11.5 else []


def linear_ticks(low: float, high: float, steps: int = 4) -> list[float]:
    """Round numbers in about ``steps`` steps that cover ``low`` to ``high``."""
    if high == low:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    rough = (high - low) / steps
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def binary_ticks(high: float) -> list[float]:
    """Round numbers of bytes, KiB, MiB, ... that cover 0 to ``high``."""
    unit = 1024.0 ** max(0, int(math.log(max(high, 1.0), 1024)))
    return [unit * tick for tick in linear_ticks(0.0, max(high, 1.0) / unit)]


def log_ticks(low: float, high: float) -> list[float]:
    """Ticks around two positive values: powers of ten, 1-2-5 steps, or round numbers for narrow ranges."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    if high / low < 5:
        # so close together the ordinary ticks say more
        return [tick for tick in linear_ticks(low, high) if tick > 0]
    if last - first <= 3:
        fine = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
        start = max(place for place, tick in enumerate(fine) if tick <= low * (1 + 1e-9))
        stop = min(place for place, tick in enumerate(fine) if tick >= high * (1 - 1e-9))
        if stop - start <= 6:
            return fine[start : stop + 1]
    step = max(1, math.ceil((last - first) / 5))
    return [10.0**power for power in range(first, last + step, step)]
