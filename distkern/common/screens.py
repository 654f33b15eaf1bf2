"""Tables of text that fit a screen, for ``repr``."""

from __future__ import annotations

from collections.abc import Sequence

#: rows and characters that a screen has room for
_ROWS, _WIDTH = 12, 100


def listed(title: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A title above aligned columns: the first rows and, of many, the last one, each cut at a line's end.

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
    # texts stand on the left, numbers on the right
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
