"""Plots as inline SVG: no script, no network, sharp on paper."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from distkern.monitor.look import COLOURS, FIGURE_RULE, axis_number, short_bytes, short_number

WIDTH, HEIGHT = 460, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 18, 26, 40
#: dark enough on white, light enough on black, told apart in grey by their dashes
_STYLES = (*zip(COLOURS, ("", "6 4", "2 3"), strict=False), (FIGURE_RULE, "1 4"))
#: the style of what curves are compared with
IDEAL = len(_STYLES) - 1
#: shades of a cell, by the logarithm of what it holds
_SHADES, _FAINTEST = 8, 0.15
#: the width of a letter of a label, at most
_LETTER = 6.5
#: more points than this are drawn as a line only, and more than the second thinned out
_MOST_DOTS, _MOST_POINTS = 60, 600


@dataclass(frozen=True)
class Line:
    """A curve.

    Attributes
    ----------
    label : in the key; empty for none
    values : one for each position, None where there is none
    x : the positions, if they are not those of the plot
    style : number of its colour and dashes; that of the line if not given
    """

    label: str
    values: Sequence[float | None]
    x: Sequence[float] | None = None
    style: int | None = None


@dataclass(frozen=True)
class _Axes:
    """A canvas with numbers on both sides; places on it, of values."""

    left: float
    right: float
    low: float
    high: float
    log: bool = False

    def across(self, value: float) -> float:
        return _LEFT + (value - self.left) / (self.right - self.left) * (WIDTH - _LEFT - _RIGHT)

    def up(self, value: float) -> float:
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)

    def frame(
        self,
        title: str,
        x_label: str,
        x_ticks: Sequence[float],
        y_ticks: Sequence[float],
        text: Callable[[float], str] = axis_number,
    ) -> list[str]:
        """The opened SVG with its title, ticks and label."""
        parts = [
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">',
            f'<text x="{_LEFT}" y="15" class="title">{html.escape(title)}</text>',
        ]
        for tick in y_ticks:
            y = self.up(tick)
            parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text(tick)}</text>')
        for tick in x_ticks:
            place = f'x="{self.across(tick):.1f}" y="{HEIGHT - _BOTTOM + 18}"'
            parts.append(f'<text {place} text-anchor="middle">{short_number(tick)}</text>')
        middle = (_LEFT + WIDTH - _RIGHT) / 2
        parts.append(
            f'<text x="{middle:.0f}" y="{HEIGHT - 5}" text-anchor="middle">{html.escape(x_label)}</text>'
        )
        return parts


def line_plot(
    title: str,
    x_label: str,
    x: Sequence[float],
    lines: Sequence[Line],
    *,
    log: bool = False,
    binary: bool = False,
) -> str:
    """An SVG of ``lines`` over ``x``; ``log`` makes the vertical axis logarithmic if every value is positive.

    ``binary`` values are bytes, drawn from 0. Returns an empty string where there is nothing to draw.
    """
    known = [value for line in lines for value in line.values if value is not None and math.isfinite(value)]
    if not known:
        return ""
    log = log and min(known) > 0
    if binary:
        ticks = binary_ticks(max(known))
    else:
        ticks = log_ticks(min(known), max(known)) if log else linear_ticks(min(known), max(known))
    places = sorted({*x, *(at for line in lines for at in line.x or ())})
    left, right = places[0], places[-1]
    if left == right:
        left, right = left - 0.5, right + 0.5
    axes = _Axes(left, right, min(ticks[0], *known), max(ticks[-1], *known), log)
    parts = axes.frame(title, x_label, _places(places), ticks, short_bytes if binary else axis_number)
    at = float(WIDTH - _RIGHT)
    for number, line in reversed(list(enumerate(lines))):
        style = number if line.style is None else line.style
        parts.extend(_curve(line, x if line.x is None else line.x, axes, style))
        if len(lines) > 1 and line.label:
            at -= 42 + _LETTER * len(line.label)
            parts.append(_key(line, style, at))
    return "\n".join([*parts, "</svg>"])


def cell_plot(
    title: str,
    x_label: str,
    x: Sequence[float],
    y: Sequence[float],
    counts: Sequence[Sequence[int]],
    style: int = 0,
    *,
    within: tuple[float, float, float, float] | None = None,
) -> str:
    """An SVG of what lies in cells between edges ``x`` and ``y``, darker the more it is, and a line at 0.

    ``counts``: (columns, rows); ``within``: what the axes hold at least, left, right, low and high. Returns
    an empty string where all are 0.
    """
    largest = max((count for column in counts for count in column), default=0)
    if not largest:
        return ""
    left, right, low, high = (x[0], x[-1], y[0], y[-1]) if within is None else within
    axes = _Axes(left, right, min(low, 0.0), max(high, 0.0))
    x_ticks = [tick for tick in linear_ticks(left, right, 6) if left <= tick <= right]
    y_ticks = [tick for tick in linear_ticks(axes.low, axes.high, 6) if axes.low <= tick <= axes.high]
    parts = axes.frame(title, x_label, x_ticks, y_ticks, short_number)
    shades: dict[int, list[str]] = {}
    across, up = [axes.across(edge) for edge in x], [axes.up(edge) for edge in y]
    for column, cells in enumerate(counts):
        for row, count in enumerate(cells):
            if count:
                shade = 1 + round((_SHADES - 1) * math.log(count) / max(math.log(largest), 1.0))
                shades.setdefault(shade, []).append(
                    f"M{across[column]:.1f} {up[row]:.1f}H{across[column + 1]:.1f}V{up[row + 1]:.1f}"
                    f"H{across[column]:.1f}z"
                )
    for shade, outlines in sorted(shades.items()):
        ink = f'fill="{_STYLES[style][0]}" fill-opacity="{_FAINTEST + (1 - _FAINTEST) * shade / _SHADES:.3f}"'
        parts.append(f'<path {ink} d="{"".join(outlines)}"/>')
    zero = axes.up(0.0)
    parts.append(
        f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{zero:.1f}" y2="{zero:.1f}" stroke="{FIGURE_RULE}"'
        ' stroke-dasharray="1 4"/>'
    )
    return "\n".join([*parts, "</svg>"])


def _curve(line: Line, x: Sequence[float], axes: _Axes, style: int) -> list[str]:
    colour, dashes = _STYLES[style]
    points = [
        (axes.across(at), axes.up(value))
        for at, value in zip(x, line.values, strict=True)
        if value is not None and math.isfinite(value)
    ]
    if len(points) > _MOST_POINTS:
        points = [*points[: -1 : math.ceil(len(points) / _MOST_POINTS)], points[-1]]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    parts = [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"'
        f' stroke-dasharray="{dashes}"/>'
    ]
    dots = points if len(points) <= _MOST_DOTS else points[-1:]
    if style == IDEAL:
        dots = []
    parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in dots]
    return parts


def _key(line: Line, style: int, at: float) -> str:
    """The stroke of a curve and its label, from ``at`` on."""
    colour, dashes = _STYLES[style]
    return (
        f'<line x1="{at:.0f}" x2="{at + 22:.0f}" y1="11" y2="11" stroke="{colour}" stroke-width="2"'
        f' stroke-dasharray="{dashes}"/><text x="{at + 28:.0f}" y="15">{html.escape(line.label)}</text>'
    )


def linear_ticks(low: float, high: float, steps: int = 4) -> list[float]:
    """Round numbers, about ``steps`` steps of them, from at most ``low`` to at least ``high``."""
    if high == low:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    rough = (high - low) / steps
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def binary_ticks(high: float) -> list[float]:
    """Round numbers of bytes, KiB, MiB, ..., from 0 to at least ``high``."""
    unit = 1024.0 ** max(0, int(math.log(max(high, 1.0), 1024)))
    return [unit * tick for tick in linear_ticks(0.0, max(high, 1.0) / unit)]


def log_ticks(low: float, high: float) -> list[float]:
    """Ticks around two positive values: powers of ten, 1-2-5 steps if near, round numbers if nearer."""
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


def _places(x: Sequence[float]) -> Sequence[float]:
    """Where the horizontal axis has numbers: at every stage while they are few and apart, else round ones."""
    low, high = min(x), max(x)
    if low == high:
        return x[:1]
    short = all(float(f"{value:.3g}") == value for value in x)
    apart = min((b - a for a, b in pairwise(sorted(x))), default=0.0)
    if short and len(x) <= 12 and apart >= (high - low) / 11.5:
        return x
    return [tick for tick in linear_ticks(low, high, 8) if low <= tick <= high]
