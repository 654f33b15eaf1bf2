"""Reproduce Table 2 and Figures 1 and 2 of Tan et al. 2019, in one command::

    python -m workflows.csvrg --data a9a.zarr --data ijcnn1.zarr --data covtype.zarr --out figures

Any classification data set with test rows can replace the paper's. Every measurement is a file in
``OUT/records``. The same command runs missing measurements and writes ``OUT/report`` again. ``--quick`` uses
fewer rows and the settings of the job files in this folder, and takes minutes.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import click

from workflows import report
from workflows.csvrg import sections
from workflows.csvrg.plan import Plan, Scale, Source
from workflows.pool import answer
from workflows.records import Records


@click.command(help=__doc__.replace("::\n", ":\n\n\b"))
@click.option(
    "--data",
    required=True,
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    help="Sharded data set.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder for records, rows and report."
)
@click.option("--quick", is_flag=True, help="Few rows, and settings of job files instead of searches.")
@click.option("--seeds", type=click.IntRange(1), help="Orders of the rows, and random choices [5; quick: 3].")
@click.option("--rows", type=click.IntRange(100), help="Most training rows [500000; quick: 20000].")
@click.option("--exact-rows", type=click.IntRange(100), help="Rows of exact machines [10000; quick: 4000].")
@click.option("--candidates", type=click.IntRange(1), help="Settings to try [60; quick: 8].")
@click.option(
    "--processes", default=os.cpu_count() or 1, show_default=True, help="Processes of one thread each."
)
@click.option("--report-only", is_flag=True, help="Measure nothing.")
def main(
    data: tuple[Path, ...],
    out: Path,
    quick: bool,
    seeds: int | None,
    rows: int | None,
    exact_rows: int | None,
    candidates: int | None,
    processes: int,
    report_only: bool,
) -> None:
    """Run missing measurements and write the report."""
    scale = Scale.quick(seeds or 3) if quick else Scale(seeds or 5)
    given = {"rows": rows, "exact_rows": exact_rows, "candidates": candidates}
    scale = dataclasses.replace(scale, **{name: value for name, value in given.items() if value is not None})
    records, sources = Records(out / "records"), [Source(path) for path in data]
    if len({source.name for source in sources}) < len(sources):
        raise click.BadParameter("two data sets of the same name", param_hint="--data")
    plan = Plan(sources, scale, out / "rows")
    if not report_only:
        answer(records, plan.rows(), processes, click.echo)
        for question in plan.rows():
            if "failed" in (made := records.get(question.key) or {}):
                raise click.ClickException(made["failed"])
        answer(records, plan.settings(records), processes, click.echo)
        answer(records, plan.fits(records), processes, click.echo)
    command = "python -m workflows.csvrg" + "".join(f" --data {path.name}" for path in data)
    command += " --out figures" + " --quick" * quick + (f" --seeds {seeds}" if seeds else "")
    title, text = sections.introduction(plan, command)
    for path in report.write(title, text, sections.sections(plan, records), out / "report"):
        click.echo(f"written: {path}")


if __name__ == "__main__":
    main()
