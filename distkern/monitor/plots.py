"""Line plots as inline SVG: no script, no network, sharp on paper."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from distkern.monitor.look import COLOURS, axis_number, short_bytes, short_number

WIDTH, HEIGHT = 460, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 18, 26, 40
#: dark enough on white, light enough on black, told apart in grey by their dashes
_STYLES = tuple(zip(COLOURS, ("", "6 4", "2 3"), strict=False))
#: the width of a letter of a label, at most
_LETTER = 6.5
#: more points than this are drawn as a line only, and more than the second thinned out
_MOST_DOTS, _MOST_POINTS = 60, 600


@dataclass(frozen=True)
class Line:
    """A curve: its label and a value for each position, None where there is none."""

    label: str
    values: Sequence[float | None]


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
    text = short_bytes if binary else axis_number
    low, high = min(ticks[0], *known), max(ticks[-1], *known)
    left, right = (x[0] - 0.5, x[0] + 0.5) if min(x) == max(x) else (min(x), max(x))

    def across(value: float) -> float:
        return _LEFT + (value - left) / (right - left) * (WIDTH - _LEFT - _RIGHT)

    def up(value: float) -> float:
        share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">',
        f'<text x="{_LEFT}" y="15" class="title">{html.escape(title)}</text>',
    ]
    for tick in ticks:
        y = up(tick)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text(tick)}</text>')
    for value in _places(x):
        place = f'x="{across(value):.1f}" y="{HEIGHT - _BOTTOM + 18}"'
        parts.append(f'<text {place} text-anchor="middle">{short_number(value)}</text>')
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle:.0f}" y="{HEIGHT - 5}" text-anchor="middle">{html.escape(x_label)}</text>'
    )
    at = float(WIDTH - _RIGHT)
    for number, line in reversed(list(enumerate(lines))):
        parts.extend(_curve(line, x, across, up, number))
        if len(lines) > 1:
            at -= 42 + _LETTER * len(line.label)
            parts.append(_key(line, number, at))
    return "\n".join([*parts, "</svg>"])


def _curve(
    line: Line,
    x: Sequence[float],
    across: Callable[[float], float],
    up: Callable[[float], float],
    number: int,
) -> list[str]:
    colour, dashes = _STYLES[number % len(_STYLES)]
    points = [
        (across(at), up(value))
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
    parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in dots]
    return parts


def _key(line: Line, number: int, at: float) -> str:
    """The stroke of a curve and its label, from ``at`` on."""
    colour, dashes = _STYLES[number % len(_STYLES)]
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
