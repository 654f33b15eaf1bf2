"""Numbers and tables as text, the same in the terminal, the report and ``repr``."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

#: the "error" in lines of metrics for regression; other errors are shares of rows
SQUARED = "mean squared error"
#: characters of a name
_LONGEST = 24
#: the exponent of a number with Python's padding to two digits
_EXPONENT = re.compile(r"e\+?(-?)0*(?=\d)")

#: the beginning of every page, by which pages are recognised
PAGE_BEGINS = (
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>'
)


def broken(text: str, width: int) -> str:
    """Break a text longer than ``width`` between words; paths and numbers stay whole."""
    if len(text) <= width:
        return text
    return textwrap.fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def shortened(name: str) -> str:
    """Return the name of a column or class, shortened if it is long."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."


def in_bytes(size: float) -> str:
    """Return bytes in binary units: ``in_bytes(1536) == "1.5 KiB"``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def in_percent(share: float | None) -> str:
    """Return a share as a percentage with two decimals, or a dash for None."""
    return "-" if share is None else f"{100 * share:.2f} %"


def in_error(metrics: Mapping[str, Any], name: str) -> str:
    """Return an error from a line of metrics: a share of rows, or for regression a number, see
    :func:`error_name`. A dash before the first step.
    """
    if is_before(metrics):
        return "-"
    if metrics.get("error") != SQUARED:
        return in_percent(metrics.get(name))
    value = metrics.get(name)
    return in_number(None if value is None else math.sqrt(value))


def is_before(metrics: Mapping[str, Any]) -> bool:
    """Whether a line of metrics belongs to a stage before the first step."""
    return "ended" not in metrics and (metrics.get("stage") == 0 or metrics.get("model_size") == 0)


def error_name(metrics: Mapping[str, Any]) -> str:
    """Return the name of the error of :func:`in_error`: for regression rmse, the root of the stored value."""
    error = str(metrics.get("error", "error"))
    return "rmse" if error == SQUARED else error


def in_number(value: float | None) -> str:
    """Return a number with six significant digits, or a dash for None: ``in_number(3.6e9) == "3.6 G"``."""
    return "-" if value is None else magnitude(value, 6, 1e6, " ")


def magnitude(value: float, digits: int, plain: float, space: str = "") -> str:
    """Return a number with ``digits`` significant digits. From ``plain`` on it is in thousands (k), 10^6
    (M), 10^9 (G) or 10^12 (T); very large and very small numbers are powers of ten, ``1.5e-7``.
    """
    # after rounding, which may reach the next magnitude
    size = float(f"{abs(value):.{digits}g}")
    for limit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if max(plain, limit) <= size < 1e16:
            return f"{value / limit:.{digits}g}{space}{letter}"
    return _EXPONENT.sub(r"e\1", f"{value:.{digits}g}")


def held_out_note(score: float, error: float, *, is_real: bool) -> str:
    """Return a line on a held-out score with its standard error; of a squared error, its root comes first.

    >>> held_out_note(20.25, 0.45, is_real=True)
    'held-out RMSE: 4.5 ± 0.05 (squared error 20.25 ± 0.45)'
    """
    if not is_real:
        return f"held-out log loss: {score:.4g} ± {error:.2g}"
    root = math.sqrt(score)
    spread = error / (2.0 * root) if root else 0.0
    return f"held-out RMSE: {root:.4g} ± {spread:.2g} (squared error {score:.4g} ± {error:.2g})"


def in_time(seconds: float) -> str:
    """Return a duration as text: ``in_time(75) == "1 min 15 s"``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


#: rows and characters that fit a screen
_ROWS, _WIDTH = 12, 100


def listed(title: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a title above aligned columns: the first rows and, of many, the last one; long lines are cut.

    >>> print(listed("2 trees:", ["name", "height"], [["oak", 21.0], ["birch", 18.256789]]))
    2 trees:
      name   height
      oak        21
      birch   18.26
    """
    n_hidden = len(rows) - _ROWS if len(rows) > _ROWS + 1 else 0
    shown = [*rows[: _ROWS - 1], rows[-1]] if n_hidden else list(rows)
    cells = [[*names], *([_text(value) for value in row] for row in shown)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(names))]
    # texts are left-aligned, numbers right-aligned
    left = [all(isinstance(row[at], str) for row in rows) for at in range(len(names))]
    lines = [
        "  "
        + "  ".join(
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, left, strict=True)
        )
        for row in cells
    ]
    if n_hidden:
        lines.insert(-1, f"  ... {n_hidden:,} more")
    return "\n".join(_cut(line) for line in [title, *lines])


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cut(line: str) -> str:
    line = line.rstrip()
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."
