"""The report: the same tables and plots in Markdown and on one HTML page."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path

from distkern.monitor.look import ELEMENTS, FONT, VARIABLES
from workflows.benchmarks import tables
from workflows.benchmarks.records import Records
from workflows.benchmarks.tables import Plot, Table
from workflows.curves import draw

_STYLE = (
    VARIABLES + f"body {{ margin: 0 auto; max-width: 72rem; padding: 1.2rem; font: 15px/1.5 {FONT};"
    " color: var(--ink); background: var(--paper); }"
    " svg { max-width: 44rem; width: 100%; height: auto; }" + ELEMENTS
)
_TITLE = "What this package costs beside what users would pick instead"
_HOW = (
    "Every method has the same rows, the same split and the same number of threads, in a process of its own. "
    "Its settings are those of least error on the same validation rows, of the candidates in "
    "`workflows/benchmarks`; widths of kernels are 1, 4 and 16 by the median squared distance for all. "
    "Methods of this package are in bold."
)

Section = tuple[Table, Sequence[Plot]]


def write(records: Records, rows: Path, out: Path, reasons: Path | None = None) -> list[Path]:
    """Write ``report.md``, ``report.html`` and the plots of what has been measured into ``out``.

    Parameters
    ----------
    rows : the folder of exported rows
    reasons : a JSON object of data set -> why it is lost and what was tried
    """
    out.mkdir(parents=True, exist_ok=True)
    given = json.loads(reasons.read_text()) if reasons is not None else {}
    sections = [section for section in _sections(records, rows, given) if section[0].rows]
    for _, plots in sections:
        for plot in plots:
            draw(
                out / f"{plot.name}.svg", plot.title, plot.x_label, plot.y_label, plot.lines, log_y=plot.log_y
            )
    markdown, page = out / "report.md", out / "report.html"
    markdown.write_text("\n".join([f"# {_TITLE}", "", _HOW, *map(_markdown, sections)]) + "\n")
    page.write_text(_page(sections, out))
    return [markdown, page]


def _sections(records: Records, rows: Path, reasons: dict[str, str]) -> list[Section]:
    facts, machine = tables.facts_of(rows), records.get("machine")
    found = tables.compared(records)
    sections: list[Section] = [] if machine is None else [(tables.limits(machine), ())]
    sections.append((tables.losses(found, reasons), ()))
    for data, methods in found.items():
        sections.append(tables.comparison(data, methods, facts.get(data, {}).get("task", "")))
    sections.append(tables.centres(records, facts, machine))
    sections.append(tables.growth(records))
    sections.append(tables.simulation(records))
    sections.append((tables.billions(records), ()))
    return sections


def _markdown(section: Section) -> str:
    table, plots = section
    lines = [f"\n## {table.title}\n", table.text, "", _line(table.header), _line(["---"] * len(table.header))]
    lines += [_line(row) for row in table.rows]
    lines += [f"\n![{plot.title}]({plot.name}.svg)" for plot in plots]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _page(sections: Sequence[Section], out: Path) -> str:
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_TITLE}</title>',
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>',
        f"<h1>{_TITLE}</h1><p>{_rich(_HOW)}</p>",
    ]
    for table, plots in sections:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in table.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{_rich(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
        )
        parts.append(f"<h2>{html.escape(table.title)}</h2><p>{_rich(table.text)}</p>")
        parts.append(f'<div class="scroll"><table class="dense"><tr>{head}</tr>{body}</table></div>')
        parts += [(out / f"{plot.name}.svg").read_text() for plot in plots]
    return "\n".join(parts) + "\n"


def _rich(text: str) -> str:
    """Bold and code, as Markdown has them."""
    escaped = html.escape(text)
    escaped = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escaped)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", escaped)
