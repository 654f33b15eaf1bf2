"""Compare the default settings of every algorithm with scikit-learn, in one command::

    python -m workflows.defaults --out figures --data a9a.zarr --data ijcnn1.zarr --data cadata.zarr

Each algorithm, and the package's own choice, is fitted to 10,000 training rows of every data set for
several seeds, beside scikit-learn's logistic regression, SVC and HistGradientBoosting (Ridge, SVR) on the
same rows; regressors also with every loss, on columns in their own units. Every fit writes a file to
``OUT/records`` when it ends. The same command runs the missing fits and writes the report again.
``--quick`` uses 1,000 rows and one seed.
"""

from __future__ import annotations

from pathlib import Path

import click

from workflows import report
from workflows.averages import failed, of_seeds
from workflows.defaults import tables
from workflows.defaults.methods import TEST_ROWS, Source, questions
from workflows.pool import answer
from workflows.records import Records

_QUICK_ROWS, _ROWS = 1000, 10_000
_TITLE = "Default settings of every algorithm"


@click.command(help=__doc__.replace("::\n", ":\n\n\b"))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for records and report.")
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True), multiple=True, required=True, help="Sharded data."
)
@click.option("--method", "methods", multiple=True, help="Methods to fit [all].")
@click.option("--seeds", type=click.IntRange(1), help="Seeds 0, 1, ... of rows and fits [3, quick 1].")
@click.option("--rows", type=click.IntRange(256), help="Most training rows [10000, quick 1000].")
@click.option(
    "--processes", type=click.IntRange(1), default=1, help="Concurrent processes of one thread each [1]."
)
@click.option("--limit", default=300.0, show_default=True, help="CPU seconds of a fit.")
@click.option("--note", default="", help="Remark on the machine for the report, such as 'one busy core'.")
@click.option(
    "--reasons",
    type=click.Path(path_type=Path, exists=True),
    help="JSON: DATA/METHOD -> reason for a weak result.",
)
@click.option("--report-only", is_flag=True, help="Measure nothing.")
@click.option("--quick", is_flag=True, help="Few rows, one seed.")
def main(
    out: Path,
    data: tuple[Path, ...],
    methods: tuple[str, ...],
    seeds: int | None,
    rows: int | None,
    processes: int,
    limit: float,
    note: str,
    reasons: Path | None,
    report_only: bool,
    quick: bool,
) -> None:
    """Run the missing fits and write the report."""
    records, sources = Records(out / "records"), [Source.of(path) for path in data]
    n_seeds, n_rows = seeds or (1 if quick else 3), rows or (_QUICK_ROWS if quick else _ROWS)
    if not report_only:
        answer(records, list(questions(sources, n_seeds, n_rows, limit, methods)), processes, click.echo)
    words = (
        f"{report.made()}{note and f' ({note})'}; processes of one thread; {of_seeds(n_seeds)}.\n\n"
        f"{n_rows:,} training rows drawn by the seed, and at most {TEST_ROWS:,} common test rows; "
        "only the seed is set. CPU seconds cover the fit and its search; a fit to a few rows has compiled "
        "the loops before."
    )
    sections = [*tables.sections(records, sources, reasons), failed(records)]
    for path in report.write(_TITLE, words, [one for one in sections if one[0].rows], out / "report"):
        click.echo(f"written: {path}")


if __name__ == "__main__":
    main()
