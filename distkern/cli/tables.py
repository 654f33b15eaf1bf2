"""Tables for the terminal, at most 80 columns wide."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from distkern.core.text import broken, shortened
from distkern.data.table_report import ColumnReport

#: control characters -> their escapes: unescaped they move the cursor or colour the text
_CONTROL = {code: repr(chr(code))[1:-1] for code in (*range(10), *range(11, 32), *range(127, 160))}
#: characters of a line
WIDTH = 80
#: columns up to which all are listed
_MOST_COLUMNS = 60


def literal(text: str) -> Text:
    """Return a text to be printed literally, with control characters except line ends escaped."""
    return Text(text.translate(_CONTROL))


def console(width: int = WIDTH) -> Console:
    """Return a console for standard output that prints users' names literally."""
    return Console(width=width, highlight=False, markup=False, emoji=False)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, text: Sequence[int] = (0,)) -> Table:
    """Return a table of right-aligned numbers; the columns in ``text`` are left-aligned."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for number, name in enumerate(header):
        # only texts wrap, between words; names and numbers stay whole
        is_whole = number == 0 or number not in text
        made.add_column(literal(name), justify="left" if number in text else "right", no_wrap=is_whole)
    for row in rows:
        made.add_row(*map(literal, row))
    return made


def fitting(
    names: Sequence[str], rows: Sequence[Sequence[str]], drop: Sequence[str], always: Sequence[str] = ()
) -> tuple[list[str], list[list[str]]]:
    """Drop columns in the order of ``drop`` until the table fits 80 characters, and those of ``always``."""
    kept = [name for name in names if name not in always]
    for name in drop:
        if is_narrow(kept, picked(names, rows, kept)):
            break
        kept = [one for one in kept if one != name]
    return kept, picked(names, rows, kept)


def picked(names: Sequence[str], rows: Sequence[Sequence[str]], kept: Sequence[str]) -> list[list[str]]:
    """Return the cells of the columns ``kept``."""
    places = [list(names).index(name) for name in kept]
    return [[row[place] for place in places] for row in rows]


def is_narrow(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table fits 80 characters."""
    widths = (max(len(name), *(len(row[at]) for row in rows)) + 2 for at, name in enumerate(names))
    return sum(widths) <= WIDTH


def by_parts(key: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Table]:
    """Split a wide table into tables of at most 80 characters that repeat the first cells, headed ``key``."""
    keys = [row[0] for row in rows]
    chosen: list[int] = []
    for place in range(len(names)):
        with_it = [*chosen, place]
        cells = [[first, *(row[1 + at] for at in with_it)] for first, row in zip(keys, rows, strict=True)]
        if chosen and not is_narrow([key, *(names[at] for at in with_it)], cells):
            yield _part(key, names, rows, chosen)
            chosen = [place]
        else:
            chosen = with_it
    if chosen:
        yield _part(key, names, rows, chosen)


def _part(key: str, names: Sequence[str], rows: Sequence[Sequence[str]], places: Sequence[int]) -> Table:
    cells = [[row[0], *(shortened(row[1 + at]) for at in places)] for row in rows]
    return table((key, *(names[at] for at in places)), cells)


def fact_table(facts: Mapping[str, str]) -> Table:
    """Return a table of names and values without a header."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in facts.items():
        made.add_row(literal(name), literal(value))
    return made


def note_line(note: str, word: str = "note") -> str:
    """Return a note as a line, wrapped on a terminal."""
    return wrapped(f"{word}: {note}")


def wrapped(text: str) -> str:
    """Wrap a line between words at 80 characters, on a terminal."""
    return broken(text, WIDTH) if sys.stdout.isatty() else text


def column_table(columns: Sequence[ColumnReport]) -> Table:
    """Return a table of columns and their encoding; of many, those that are not plain numbers."""
    plain = [column for column in columns if column.is_plain]
    shown = columns if len(columns) <= _MOST_COLUMNS else [one for one in columns if one not in plain]
    rows = [
        [
            shortened(column.name),
            column.kind,
            column.becomes,
            f"{column.missing:,}" if column.missing else "",
            "" if column.distinct is None else f"{column.distinct:,}",
        ]
        for column in shown
    ]
    if len(shown) < len(columns):
        rows.append([f"{len(plain):,} more columns", "numbers", f"{len(plain):,} features", "", ""])
    return table(("column", "holds", "becomes", "missing", "distinct"), rows, text=(0, 1, 2))
