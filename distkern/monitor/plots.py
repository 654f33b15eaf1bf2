"""Line plots as inline SVG: no script, no network, sharp on paper."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 460, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 18, 26, 40
#: dark enough on white, light enough on black, told apart in grey by their dashes
_STYLES = (("#2f6fb7", ""), ("#c2571a", "6 4"), ("#4c8c2b", "2 3"))


@dataclass(frozen=True)
class Line:
    """A curve: its label and a value for each position, None where there is none."""

    label: str
    values: Sequence[float | None]


def line_plot(
    title: str, x_label: str, x: Sequence[float], lines: Sequence[Line], *, log: bool = False
) -> str:
    """An SVG of ``lines`` over ``x``; ``log`` makes the vertical axis logarithmic if every value is positive.

    Returns an empty string where there is nothing to draw.
    """
    known = [value for line in lines for value in line.values if value is not None and math.isfinite(value)]
    if not known:
        return ""
    log = log and min(known) > 0
    ticks = _log_ticks(min(known), max(known)) if log else _ticks(min(known), max(known))
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
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:.6g}</text>')
    for value in _thin(x):
        at = across(value)
        parts.append(
            f'<text x="{at:.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{value:.3g}</text>'
        )
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle:.0f}" y="{HEIGHT - 5}" text-anchor="middle">{html.escape(x_label)}</text>'
    )
    for number, line in enumerate(lines):
        parts.extend(_curve(line, x, across, up, number, len(lines)))
    return "\n".join([*parts, "</svg>"])


def _curve(
    line: Line,
    x: Sequence[float],
    across: Callable[[float], float],
    up: Callable[[float], float],
    number: int,
    count: int,
) -> list[str]:
    colour, dashes = _STYLES[number % len(_STYLES)]
    points = [
        (across(at), up(value))
        for at, value in zip(x, line.values, strict=True)
        if value is not None and math.isfinite(value)
    ]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    parts = [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"'
        f' stroke-dasharray="{dashes}"/>'
    ]
    parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in points]
    if count > 1:
        at = WIDTH - _RIGHT - 80 * (count - number)
        parts.append(
            f'<line x1="{at}" x2="{at + 22}" y1="11" y2="11" stroke="{colour}" stroke-width="2"'
            f' stroke-dasharray="{dashes}"/><text x="{at + 28}" y="15">{html.escape(line.label)}</text>'
        )
    return parts


def _ticks(low: float, high: float) -> list[float]:
    if high == low:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    if last - first <= 1:
        # within one decade the ordinary ticks say more
        return [tick for tick in _ticks(low, high) if tick > 0]
    step = max(1, math.ceil((last - first) / 5))
    return [10.0**power for power in range(first, last + step, step)]


def _thin(x: Sequence[float]) -> Sequence[float]:
    return x[:: max(1, math.ceil(len(x) / 12))]
