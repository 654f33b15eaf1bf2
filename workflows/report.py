"""Reports of the workflows: the same tables and plots in Markdown and on one HTML page."""

from __future__ import annotations

import datetime
import html
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from distkern.show.page import Html, heading, note, page
from distkern.show.page import table as html_table
from workflows.curves import Band, Points, draw


@dataclass(frozen=True)
class Table:
    """A heading, paragraphs with an empty line between, the names of columns and texts by row."""

    title: str
    text: str
    header: tuple[str, ...] = ()
    rows: Sequence[tuple[str, ...]] = field(default_factory=list)


@dataclass(frozen=True)
class Plot:
    """Lines and their bands of spread in ``NAME.svg``, see :func:`workflows.curves.draw`."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Points]
    log_y: bool = True
    log_x: bool = True
    bands: Mapping[str, Band] = field(default_factory=dict)


Section: TypeAlias = tuple[Table, Sequence[Plot]]


def write(title: str, text: str, sections: Sequence[Section], out: Path) -> list[Path]:
    """Write ``report.md``, ``report.html`` and the plots into ``out``.

    Parameters
    ----------
    text : paragraphs under the title; ``**bold**`` and ```code``` as in Markdown, here and in tables
    """
    out.mkdir(parents=True, exist_ok=True)
    for _, plots in sections:
        for plot in plots:
            draw(
                out / f"{plot.name}.svg",
                plot.title,
                plot.x_label,
                plot.y_label,
                plot.lines,
                log_y=plot.log_y,
                log_x=plot.log_x,
                bands=plot.bands,
            )
    markdown, page = out / "report.md", out / "report.html"
    markdown.write_text("\n".join([f"# {title}", "", text, *map(_markdown, sections)]) + "\n")
    page.write_text(_page(title, text, sections, out))
    return [markdown, page]


def made() -> str:
    """The day and the class of machine, for the paragraph under a title."""
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return f"{day}, {processor()}, {os.cpu_count()} cores"


def processor() -> str:
    """What kind it is, in the system's words."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return f"{line.partition(':')[2].strip()} ({platform.machine()})"
    return platform.processor() or platform.machine()


def spread(values: Sequence[float], digits: int = 1) -> str:
    """The mean and the standard deviation (of a sample: n - 1); one value alone has none."""
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


def _markdown(section: Section) -> str:
    table, plots = section
    lines = [f"\n## {table.title}\n", table.text]
    if table.header:
        lines += ["", _line(table.header), _line(["---"] * len(table.header))]
    lines += [_line(row) for row in table.rows]
    lines += [f"\n![{plot.title}]({plot.name}.svg)" for plot in plots]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _page(title: str, text: str, sections: Sequence[Section], out: Path) -> str:
    parts = _paragraphs(text)
    for table, plots in sections:
        parts += [heading(table.title), *_paragraphs(table.text)]
        if table.header:
            # names are not broken
            names = [map(_name, row[:2]) for row in table.rows]
            rows = [[*own, *map(_rich, row[2:])] for own, row in zip(names, table.rows, strict=True)]
            parts.append(html_table(table.header, rows, "dense"))
        for plot in plots:
            drawn = (out / f"{plot.name}.svg").read_text()
            parts.append(Html(f'<figure style="max-width: 44rem">{drawn}</figure>'))
    return page(title, parts)


def _name(text: str) -> Html:
    return Html(f'<span class="item">{_rich(text)}</span>')


def _paragraphs(text: str) -> list[Html]:
    return [note(_rich(part)) for part in text.split("\n\n") if part]


def _rich(text: str) -> Html:
    """Bold and code, as Markdown has them."""
    escaped = html.escape(text)
    escaped = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escaped)
    return Html(re.sub(r"`(.+?)`", r"<code>\1</code>", escaped))
