"""Reproduce Figure 1 of Hazan et al. 2011, in one command::

    python -m workflows.simba --data 20news_binary.zarr --out figures

Plots test errors of SIMBA and Pegasos against feature accesses, on the given data sets (classification with
test rows; a missing copy by columns is made in ``OUT/rows``) and on a generated one. Every run is a file in
``OUT/records``. The same command makes missing runs and writes ``OUT/report`` again. ``--quick`` takes
minutes.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import click

from workflows import report
from workflows.pool import answer
from workflows.records import Records
from workflows.simba import sections
from workflows.simba.plan import Plan, Scale


@click.command(help=__doc__.replace("::\n", ":\n\n\b"))
@click.option("--data", type=click.Path(path_type=Path, exists=True), multiple=True, help="Sharded data set.")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder for records, rows and report."
)
@click.option("--quick", is_flag=True, help="Fewer passes, seeds and trade-off parameters.")
@click.option("--seeds", type=click.IntRange(1), help="Seeds of all random choices [5; quick: 3].")
@click.option("--rounds", type=click.IntRange(100), help="Rounds of SIMBA [20000].")
@click.option("--passes", type=click.FloatRange(0.1), help="Passes of Pegasos [10; quick: 6].")
@click.option("--generated/--no-generated", default=True, help="Also measure a generated set.")
@click.option(
    "--processes", default=os.cpu_count() or 1, show_default=True, help="Processes of one thread each."
)
@click.option("--report-only", is_flag=True, help="Measure nothing.")
def main(
    data: tuple[Path, ...],
    out: Path,
    quick: bool,
    seeds: int | None,
    rounds: int | None,
    passes: float | None,
    generated: bool,
    processes: int,
    report_only: bool,
) -> None:
    """Run missing measurements and write the report."""
    scale = Scale.quick(seeds or 3) if quick else Scale(seeds or 5)
    given = {"rounds": rounds, "passes": passes}
    scale = dataclasses.replace(scale, **{name: value for name, value in given.items() if value is not None})
    if not generated:
        scale = dataclasses.replace(scale, generated=None)
    records, plan = Records(out / "records"), Plan(data, scale, out / "rows")
    if not plan.sources:
        raise click.UsageError("nothing to measure; give --data or leave out --no-generated")
    if not report_only:
        answer(records, plan.rows(), processes, click.echo)
        for question in plan.rows():
            if "failed" in (made := records.get(question.key) or {}):
                raise click.ClickException(made["failed"])
        answer(records, plan.runs(), processes, click.echo)
    command = "python -m workflows.simba" + "".join(f" --data {path.name}" for path in data)
    command += " --out figures" + " --quick" * quick + (f" --seeds {seeds}" if seeds else "")
    title, text = sections.introduction(plan, command)
    for path in report.write(title, text, sections.sections(plan, records), out / "report"):
        click.echo(f"written: {path}")


if __name__ == "__main__":
    main()
