"""Curves of several runs in one SVG: what the workflows draw their figures with.

Reports are Markdown too, which shows images and runs no scripts, and Bokeh makes images in a browser only.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 190, 30, 44
#: width of a letter of a label, about
_LETTER = 7
COLOURS = ("#2f6fb7", "#c2571a", "#4c8c2b", "#7a4fa3", "#b03060", "#5f6b76", "#1b9e9e", "#a07900")
DASHES = ("", "7 4", "2 3", "9 3 2 3")

Points = Sequence[tuple[float, float]]
#: x, least and greatest y
Band = Sequence[tuple[float, float, float]]


def draw(
    path: Path,
    title: str,
    x_label: str,
    y_label: str,
    lines: Mapping[str, Points],
    *,
    log_y: bool = True,
    log_x: bool = True,
    bands: Mapping[str, Band] | None = None,
) -> None:
    """Write ``lines`` (label -> points) to the SVG file ``path``.

    A line of one point is a dot, with its band as a bar; ``bands`` belong to the lines of the same label.
    On a logarithmic axis, what is not above 0 is drawn at the least of what is.
    """
    bands = bands or {}
    points = [point for line in lines.values() for point in line]
    points += [(x, y) for band in bands.values() for x, *ends in band for y in ends]
    x_low, x_high = _apart(min(x for x, _ in points), max(x for x, _ in points))
    x_ticks = _powers(x_low, x_high) if log_x else _ticks(x_low, x_high, False)
    if not log_x:
        x_low, x_high = min(x_low, x_ticks[0]), max(x_high, x_ticks[-1])
    if log_y:
        least = min((y for _, y in points if y > 0), default=1.0)
        points = [(x, max(y, least)) for x, y in points]
    y_low, y_high = _apart(min(y for _, y in points), max(y for _, y in points))
    y_ticks = _ticks(y_low, y_high, log_y)
    y_low, y_high = min(y_low, y_ticks[0]), max(y_high, y_ticks[-1])

    def across(x: float) -> float:
        share = math.log(x / x_low) / math.log(x_high / x_low) if log_x else (x - x_low) / (x_high - x_low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        if log_y:
            share = math.log((y if y > 0 else least) / y_low) / math.log(y_high / y_low)
        else:
            share = (y - y_low) / (y_high - y_low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    # labels as long as they are
    width = max(WIDTH, WIDTH - RIGHT + 48 + _LETTER * max(map(len, lines)))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" font-family="sans-serif"'
        ' font-size="12" fill="#333">',
        f'<rect width="{width}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="18" font-size="14" font-weight="bold">{html.escape(title)}</text>',
    ]
    for tick in y_ticks:
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(tick):.1f}" y2="{up(tick):.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{up(tick) + 4:.1f}" text-anchor="end">{_number(tick, log_y)}</text>'
        )
    for tick in x_ticks:
        at = across(tick)
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#eee"/>'
            f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
            f"{_number(tick, log_x)}</text>"
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{html.escape(x_label)}</text>')
    parts.append(
        f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 14 {HEIGHT / 2})">'
        f"{html.escape(y_label)}</text>"
    )
    for number, (label, line) in enumerate(lines.items()):
        colour, dashes = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
        path_points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in line)
        style = f'fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dashes}"'
        band = bands.get(label, ())
        if len(band) > 1:
            edge = [(x, low) for x, low, _ in band] + [(x, high) for x, _, high in reversed(band)]
            corners = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in edge)
            parts.append(f'<polygon points="{corners}" fill="{colour}" fill-opacity="0.16"/>')
        for x, low, high in band if len(band) == 1 else ():
            ends = f'x1="{across(x):.1f}" x2="{across(x):.1f}" y1="{up(low):.1f}" y2="{up(high):.1f}"'
            parts.append(f'<line {ends} stroke="{colour}" stroke-width="1.4"/>')
        if len(line) > 1:
            parts.append(f'<polyline points="{path_points}" {style}/>')
        if len(line) == 1:
            (x, y), filled = line[0], "none" if dashes else colour
            dot = f'cx="{across(x):.1f}" cy="{up(y):.1f}" r="4"'
            parts.append(f'<circle {dot} fill="{filled}" stroke="{colour}" stroke-width="1.8"/>')
        at = TOP + 8 + 17 * number
        parts.append(
            f'<line x1="{WIDTH - RIGHT + 10}" x2="{WIDTH - RIGHT + 34}" y1="{at}" y2="{at}" {style}/>'
            f'<text x="{WIDTH - RIGHT + 40}" y="{at + 4}">{html.escape(label)}</text>'
        )
    path.write_text("\n".join([*parts, "</svg>\n"]))


def _apart(low: float, high: float) -> tuple[float, float]:
    return (low, high) if high > low else (0.8 * low, 1.25 * high) if low else (0.0, 1.0)


def _powers(low: float, high: float) -> list[float]:
    """Those of 10 between; of a short axis, which may hold none, twice and five times a power too."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1.0,) if high / low > 100 else (1.0, 2.0, 5.0)
    every = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    return [tick for tick in every if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]


def _number(value: float, log: bool) -> str:
    """A tick's: 0.01 to 9000 as they are written, others with their power of 10."""
    if not log or 0.01 <= value < 10_000:
        return f"{value:.4g}"
    mantissa, power = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(power)}"


def _ticks(low: float, high: float, log: bool) -> list[float]:
    if log and high / low > 1.2:
        steps = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if high / low < 20 else (1.0, 3.0)
        first = math.floor(math.log10(low))
        ticks = [step * 10.0**power for power in range(first, first + 12) for step in steps]
        below = [tick for tick in ticks if tick <= low][-1:]
        above = [tick for tick in ticks if tick >= high][:1]
        return below + [tick for tick in ticks if low < tick < high] + above
    step = 10.0 ** math.floor(math.log10((high - low) / 4 or 1.0))
    step = next(step * factor for factor in (1, 2, 2.5, 5, 10) if step * factor >= (high - low) / 4)
    return [number * step for number in range(math.floor(low / step), math.ceil(high / step) + 1)]
