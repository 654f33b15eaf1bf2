"""Tables for the terminal, at most 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text


def console() -> Console:
    """Prints to standard output, 80 columns wide."""
    return Console(width=80, highlight=False)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, text: Sequence[int] = (0,)) -> Table:
    """A table of numbers, right-aligned but for the columns whose numbers are in ``text``."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for number, name in enumerate(header):
        made.add_column(name, justify="left" if number in text else "right")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def fact_table(facts: Mapping[str, str]) -> Table:
    """A table of names and values without a header."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in facts.items():
        made.add_row(Text(name), Text(value))
    return made
