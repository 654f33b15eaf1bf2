"""How a user's commands grow with the rows, within 1 GiB a process, beside LightGBM and scikit-learn's SGD::

    python -m workflows.scale --out figures --rows 1000000 --rows 10000000

Rows are generated (:mod:`workflows.scale.rows`), sharded, learned from by every job and predicted within
512 MiB. Every measurement is a file in ``OUT/records`` that is written when it ends: the same command again
does what is missing and writes the report anew. ``--kills 10`` kills every training run ten times more and
compares the model that it leaves; ``--workers 2 --workers 16`` measures with both numbers.
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
    "--kills",
    type=click.IntRange(0),
    default=0,
    help="How often each training run is killed in a second one [0].",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    multiple=True,
    default=(WORKERS,),
    show_default=True,
    help="Of each of our jobs, and threads of LightGBM.",
)
@click.option("--limit", default=14400.0, show_default=True, help="Seconds of a command, at most.")
@click.option("--note", default="", help="For the report, of the machine: 'beside other work', say.")
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
    """Measure what is missing, and write the report."""
    records = Records(out / "records")
    if not report_only:
        for n_rows, target in product(sorted(rows), targets):
            for n_workers in workers:
                scale = Scale(records, out / "rows", limit, click.echo, n_workers)
                scale.measure(n_rows, target, jobs, peers, kills)
            scale.remove(n_rows, target)
    words = (
        f"{report.made()}{note and f' ({note})'}. Rows of {N_FEATURES} numbers, 100,000 test rows. "
        f"Workers train within {TRAINING} each and predict within {PREDICTING}. There are {WORKERS} of "
        "them where no number is said; LightGBM has as many threads."
    )
    sections = [section for section in tables.sections(records) if section[0].rows]
    for path in report.write(_TITLE, words, sections, out / "report"):
        click.echo(f"written: {path}")


if __name__ == "__main__":
    main()
