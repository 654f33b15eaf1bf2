"""Measure how commands grow with the rows, within 1 GiB a process, and compare LightGBM and SGD::

    python -m workflows.scale --out figures --rows 1000000 --rows 10000000

Rows are generated (:mod:`workflows.scale.rows`) and sharded; every job trains on them and predicts within
512 MiB. Every measurement writes a file to ``OUT/records`` when it ends. The same command measures what is
missing and writes the report again. ``--kills 10`` repeats every training run with ten kills and compares the
models; ``--workers 2 --workers 16`` measures with both numbers.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import click

from workflows import report
from workflows.records import Records
from workflows.scale import tables
from workflows.scale.peers import NAMES
from workflows.scale.rows import N_FEATURES, TARGETS
from workflows.scale.runs import JOBS, PREDICTING, TRAINING, WORKERS, Scale

_TITLE = "How seconds, memory and files grow with the rows"


@click.command(help=__doc__.replace("::\n", ":\n\n\b"))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for records and report.")
@click.option("--rows", type=click.IntRange(1000), multiple=True, default=(10**6, 10**7), show_default=True)
@click.option("--target", "targets", type=click.Choice(TARGETS), multiple=True, default=TARGETS)
@click.option("--job", "jobs", type=click.Choice(list(JOBS)), multiple=True, default=tuple(JOBS))
@click.option("--peer", "peers", type=click.Choice(NAMES), multiple=True, default=NAMES)
@click.option(
    "--kills", type=click.IntRange(0), default=0, help="Kills of each training run when it is repeated [0]."
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    multiple=True,
    default=(WORKERS,),
    show_default=True,
    help="Workers of each job, and threads of LightGBM.",
)
@click.option("--limit", default=14400.0, show_default=True, help="Seconds of a command, at most.")
@click.option("--note", default="", help="Remark on the machine for the report, such as 'beside other work'.")
@click.option("--report-only", is_flag=True, help="Measure nothing.")
def main(
    out: Path,
    rows: tuple[int, ...],
    targets: tuple[str, ...],
    jobs: tuple[str, ...],
    peers: tuple[str, ...],
    kills: int,
    workers: tuple[int, ...],
    limit: float,
    note: str,
    report_only: bool,
) -> None:
    """Run missing measurements and write the report."""
    records = Records(out / "records")
    if not report_only:
        for n_rows, target in product(sorted(rows), targets):
            for n_workers in workers:
                scale = Scale(records, out / "rows", limit, click.echo, n_workers)
                scale.measure(n_rows, target, jobs, peers, kills)
            scale.remove(n_rows, target)
    words = (
        f"{report.made()}{note and f' ({note})'}. Rows of {N_FEATURES} numbers, 100,000 test rows. "
        f"Workers train within {TRAINING} each and predict within {PREDICTING}. There are {WORKERS}"
        " of them unless stated; LightGBM uses the same number of threads."
    )
    sections = [section for section in tables.sections(records) if section[0].rows]
    for path in report.write(_TITLE, words, sections, out / "report"):
        click.echo(f"written: {path}")


if __name__ == "__main__":
    main()
