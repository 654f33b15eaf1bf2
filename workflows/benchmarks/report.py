"""Write the report of the benchmark from the finished measurements."""

from __future__ import annotations

import json
from pathlib import Path

from workflows import report
from workflows.benchmarks import tables
from workflows.records import Records
from workflows.report import Section

_TITLE = "Accuracy and cost of distkern and its alternatives"
_HOW = (
    "Every method gets the same rows, the same split and the same number of threads, in a process of "
    "its own. Of the candidates in `workflows/benchmarks`, the settings with the lowest error on common "
    "validation rows are used. Kernel widths are 1, 4 and 16 divided by the median squared distance for "
    "all methods. Methods of this package are in bold."
)


def write(records: Records, rows: Path, out: Path, reasons: Path | None = None, note: str = "") -> list[Path]:
    """Write ``report.md``, ``report.html`` and the plots of finished measurements to ``out``.

    Parameters
    ----------
    rows : the folder of exported rows
    reasons : a JSON object: data set -> why a tree method wins on it, and what was tried
    note : remark on the measurement
    """
    given = json.loads(reasons.read_text()) if reasons is not None else {}
    sections = [section for section in _sections(records, rows, given) if section[0].rows]
    return report.write(_TITLE, f"{_HOW} {note}".strip(), sections, out)


def _sections(records: Records, rows: Path, reasons: dict[str, str]) -> list[Section]:
    facts, machine = tables.facts_of(rows), records.get("machine")
    found = tables.compared(records)
    sections: list[Section] = [] if machine is None else [(tables.limits(machine), ())]
    sections.append((tables.losses(found, reasons), ()))
    for data, methods in found.items():
        sections.append(tables.comparison(data, methods, facts.get(data, {}).get("task", "")))
    sections.append(tables.centres(records, facts, machine))
    sections.append(tables.simulation(records))
    sections.append((tables.billions(records), ()))
    return sections
