"""One figure of the page: curves of several runs with the report's ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d
from bokeh.models.annotations import Title
from bokeh.plotting import figure

from distkern.dashboard.series import Curve
from distkern.monitor.look import FIGURE_RULE, FIGURE_TEXT, FONT
from distkern.monitor.plots import binary_ticks, linear_ticks, log_ticks

_LINES = ("xs", "ys", "colour", "dash")
_POINTS = ("x", "y", "value", "label", "place", "colour")


class CurveFigure:
    """A figure that shows the curves it is given, and redraws only when they change.

    Parameters
    ----------
    title, x_label : texts
    text : makes a value readable, on the axis and under the pointer
    log : a logarithmic axis where all values are positive
    from_zero : the axis starts at 0
    binary : values are bytes, from 0
    """

    def __init__(
        self,
        title: str,
        x_label: str,
        text: Callable[[float], str],
        *,
        log: bool = False,
        from_zero: bool = False,
        binary: bool = False,
    ) -> None:
        self._text, self._log, self._from_zero = text, log, from_zero
        self._binary = binary
        self._shown: Any = None
        self._lines = ColumnDataSource({name: [] for name in _LINES})
        self._notes = ColumnDataSource({"x": [], "y": [], "text": []})
        self._points = ColumnDataSource({name: [] for name in _POINTS})
        self._title = Title(text=title, text_font=FONT, text_font_size="13px", text_color=FIGURE_TEXT)
        self.figure = figure(
            title=self._title,
            height=230,
            sizing_mode="stretch_width",
            tools="",
            toolbar_location=None,
            x_range=Range1d(start=0, end=1),
            y_range=Range1d(start=0, end=1),
            background_fill_color=None,
            border_fill_color=None,
            outline_line_color=None,
            min_border_left=58,
            min_border_right=14,
        )
        self.figure.multi_line(
            "xs", "ys", line_color="colour", line_dash="dash", line_width=2, source=self._lines
        )
        self.figure.text(
            "x",
            "y",
            "text",
            source=self._notes,
            y_offset=-2,
            text_font=value(FONT),
            text_font_size="11px",
            text_color=FIGURE_TEXT,
        )
        dots = self.figure.scatter("x", "y", size=6, color="colour", source=self._points)
        self.figure.add_tools(
            HoverTool(
                renderers=[dots],
                tooltips=[("@label", "@value"), (x_label, "@place")],
                mode="mouse",
                point_policy="snap_to_data",
            )
        )
        self._dress(x_label)

    def _dress(self, x_label: str) -> None:
        plot = self.figure
        self.set_x_label(x_label)
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

    def set_title(self, title: str) -> None:
        """Change the figure's title."""
        self._title.text = title

    def set_x_label(self, label: str) -> None:
        """Change what the curves are drawn over."""
        self.figure.xaxis[0].axis_label = label

    def show(self, curves: Sequence[Curve], names: Sequence[str]) -> None:
        """Draw the curves; ``names`` say whose each is, under the pointer."""
        key = (tuple(curves), tuple(names))
        if key == self._shown:
            return
        self._shown = key
        finite = [
            (curve, name, [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if math.isfinite(y)])
            for curve, name in zip(curves, names, strict=True)
        ]
        values = [y for _, _, pairs in finite for _, y in pairs]
        places = [x for _, _, pairs in finite for x, _ in pairs]
        up = self._scale(values)
        self._lines.data = {
            "xs": [[x for x, _ in pairs] for _, _, pairs in finite],
            "ys": [[up(y) for _, y in pairs] for _, _, pairs in finite],
            "colour": [curve.colour for curve, _, _ in finite],
            "dash": [curve.dash for curve, _, _ in finite],
        }
        # runs with the same limits share its note
        notes = {(pairs[0][1], curve.note): pairs[0][0] for curve, _, pairs in finite if curve.note and pairs}
        self._notes.data = {
            "x": list(notes.values()),
            "y": [up(y) for y, _ in notes],
            "text": [text for _, text in notes],
        }
        # a curve of one point has no line, whatever it is
        dotted = [
            (x, y, curve, name)
            for curve, name, pairs in finite
            if curve.points or len(pairs) == 1
            for x, y in pairs
        ]
        self._points.data = {
            "x": [x for x, _, _, _ in dotted],
            "y": [up(y) for _, y, _, _ in dotted],
            "value": [self._text(y) for _, y, _, _ in dotted],
            "label": [f"{name} {curve.label}".strip() for _, _, curve, name in dotted],
            "place": [f"{x:.6g}" for x, _, _, _ in dotted],
            "colour": [curve.colour for _, _, curve, _ in dotted],
        }
        self._span(places)

    def _scale(self, values: Sequence[float]) -> Callable[[float], float]:
        """Set the vertical axis; return the way from a value to its height."""
        if not values:
            self._ticks({})
            return float
        low, high = min(values), max(values)
        if self._log and low > 0:
            ticks = [t for t in log_ticks(low, high) if t > 0]
            self._ticks({math.log10(tick): self._text(tick) for tick in ticks})
            self._height(math.log10(min(ticks[0], low)), math.log10(max(ticks[-1], high)))
            return math.log10
        low = min(low, 0.0) if self._from_zero else low
        ticks = binary_ticks(high) if self._binary else linear_ticks(low, high)
        self._ticks({tick: self._text(tick) for tick in ticks})
        self._height(min(ticks[0], low), max(ticks[-1], high))
        return float

    def _ticks(self, labels: dict[float, str]) -> None:
        axis = self.figure.yaxis[0]
        ticker = FixedTicker(ticks=list(labels))
        axis.ticker = ticker
        self.figure.ygrid[0].ticker = ticker
        axis.update(major_label_overrides=labels)

    def _height(self, low: float, high: float) -> None:
        margin = 0.03 * ((high - low) or 1.0)
        self.figure.y_range.update(start=low - margin, end=high + margin)

    def _span(self, places: Sequence[float]) -> None:
        if not places:
            return
        low, high = min(places), max(places)
        margin = 0.02 * (high - low) or 0.5
        self.figure.x_range.update(start=low - margin, end=high + margin)
