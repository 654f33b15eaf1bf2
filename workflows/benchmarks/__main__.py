"""Run the benchmark, in one command::

    python -m workflows.benchmarks --out figures --data covtype.zarr --data ijcnn1.zarr

Every measurement writes a file to ``OUT/records`` when it ends. The same command runs missing measurements
and writes the report again. ``--quick`` uses fewer rows and methods: less than five minutes.
"""

from __future__ import annotations

from pathlib import Path

import click

from workflows.benchmarks import report
from workflows.benchmarks.compare import CENTRES, Comparison
from workflows.benchmarks.machine import limits
from workflows.benchmarks.rows import export
from workflows.benchmarks.simulation import WORKERS, simulate
from workflows.records import Records

PARTS = ("compare", "centres", "simulation")
_QUICK_ROWS, _QUICK_LIMIT = 4000, 120.0
_QUICK_METHODS = (
    "cells_quick",
    "newton",
    "svrg",
    "pegasos",
    "lightgbm",
    "xgboost",
    "hist_gradient_boosting",
    "normal_equations",
)


@click.command(help=__doc__.replace("::\n", ":\n\n\b"))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for records and report.")
@click.option("--data", type=click.Path(path_type=Path, exists=True), multiple=True, help="Sharded data set.")
@click.option("--part", "parts", type=click.Choice(PARTS), multiple=True, help="Parts to measure [all].")
@click.option("--method", "methods", multiple=True, help="Methods to compare [all].")
@click.option("--adapter", "adapters", multiple=True, help="NAME=PROGRAM, see adapter.py.")
@click.option("--centres-data", multiple=True, help="Data sets by name for equal centres [covtype, mnist].")
@click.option("--threads", default=1, help="Threads of every process.")
@click.option("--rows", type=int, help="Most rows of each split.")
@click.option("--limit", default=1800.0, help="Seconds after which a process counts as failed.")
@click.option("--workers", default=",".join(map(str, WORKERS)), help="Numbers of workers of the simulation.")
@click.option(
    "--reasons", type=click.Path(path_type=Path, exists=True), help="JSON: data set -> reason for a loss."
)
@click.option("--note", default="", help="Remark on the measurement for the report.")
@click.option("--report-only", is_flag=True, help="Measure nothing.")
@click.option("--quick", is_flag=True, help="Few rows and methods.")
def main(
    out: Path,
    data: tuple[Path, ...],
    parts: tuple[str, ...],
    methods: tuple[str, ...],
    adapters: tuple[str, ...],
    centres_data: tuple[str, ...],
    threads: int,
    rows: int | None,
    limit: float,
    workers: str,
    reasons: Path | None,
    note: str,
    report_only: bool,
    quick: bool,
) -> None:
    """Run missing measurements and write the report."""
    records, rows = Records(out / "records"), _QUICK_ROWS if quick else rows
    # other rows, other questions
    folder = out / ("rows" if rows is None else f"rows-{rows}")
    if not report_only:
        out.mkdir(parents=True, exist_ok=True)
        numbers = _whole(workers)
        centres, named = CENTRES, centres_data or ("covtype", "mnist")
        if quick:
            limit = min(limit, _QUICK_LIMIT)
            methods, numbers, centres = methods or _QUICK_METHODS, [2, 4], (256, 1024)
        chosen = parts or PARTS
        programs = dict(one.split("=", 1) for one in adapters)
        records.measured("machine", {}, lambda: limits(out))
        exported = [export(path, folder / path.name.removesuffix(".zarr"), rows) for path in data]
        comparison = Comparison(records, folder, threads, limit, rows, programs, click.echo)
        if "compare" in chosen:
            own = comparison.methods([*methods, *programs] if methods else [])
            for facts in exported:
                for method in own:
                    if method.takes(facts):
                        comparison.compare(facts, method)
        if "centres" in chosen:
            for facts in exported:
                if facts.name in named:
                    comparison.at_centres(facts, centres, methods)
        if "simulation" in chosen:
            simulate(records, out / "simulation", numbers, limit, click.echo)
    for path in report.write(records, folder, out / "report", reasons, note):
        click.echo(f"written: {path}")


def _whole(text: str) -> list[int]:
    return [int(float(part)) for part in text.split(",") if part]


if __name__ == "__main__":
    main()
