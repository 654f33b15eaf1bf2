"""Repeat the experiments of Li and Poczos 2016, in one command::

    python -m workflows.cdsg --out figures --data mnist.zarr --data covtype.zarr
    python -m workflows.cdsg --out figures --quick

Figures 1 and 2 and Tables 3, 5 and 6 with the paper's numbers beside ours: DSG, UDSG, CDSG, SVRG, LIBSVM
and a neural net. Every run leaves a job in ``OUT/jobs`` and a file in ``OUT/records``. The same command makes
missing runs and writes the report again. Without ``--data`` they train on virtual handwritten digits.
"""

from __future__ import annotations

from pathlib import Path

import click

from workflows import report
from workflows.averages import failed, of_seeds
from workflows.cdsg import peers, tables, variants
from workflows.pool import answer
from workflows.records import Records
from workflows.subsets import Subset, digits, subset

_QUICK_ROWS, _ROWS, _TEST_ROWS = 2**12, 50_000, 20_000
#: as the paper: principal components of data of more columns
_MOST_COLUMNS = 100
_QUICK_STEPS, _STEPS = 32, 64
_QUICK_PASSES, _PASSES = 20, 50


@click.command(help=__doc__.replace("::\n", ":\n\n\b"))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for records and report.")
@click.option("--data", multiple=True, help="PATH.zarr; PATH.zarr:8,6 or :2 selects classes.")
@click.option("--gamma", default="median", show_default=True, help="Width of the kernel, as in jobs.")
@click.option("--seeds", type=click.IntRange(1), help="Seeds 0, 1, ... of every random choice [5, quick 3].")
@click.option("--rows", type=click.IntRange(256), help="Most rows of each data set [50000, quick 4096].")
@click.option(
    "--processes", type=click.IntRange(1), default=2, help="Concurrent processes of one thread each [2]."
)
@click.option("--note", default="", help="Remark on the machine for the report, such as 'one busy core'.")
@click.option("--report-only", is_flag=True, help="Measure nothing.")
@click.option("--quick", is_flag=True, help="Few rows and steps: less than five minutes on two cores.")
def main(
    out: Path,
    data: tuple[str, ...],
    gamma: str,
    seeds: int | None,
    rows: int | None,
    processes: int,
    note: str,
    report_only: bool,
    quick: bool,
) -> None:
    """Run missing measurements and write the report."""
    records, jobs, folder = Records(out / "records"), out / "jobs", out / "data"
    n_seeds, n_rows = seeds or (3 if quick else 5), rows or (_QUICK_ROWS if quick else _ROWS)
    n_steps, passes = (_QUICK_STEPS, _QUICK_PASSES) if quick else (_STEPS, _PASSES)
    n_test = min(n_rows, _TEST_ROWS)
    subsets = [subset(one, folder, n_rows, n_test, _MOST_COLUMNS, _MOST_COLUMNS) for one in data]
    subsets = subsets or [digits(folder, n_rows, n_test)]
    if not report_only:
        machines = [(one, loss) for one in subsets for loss in losses_of(one)]
        tried = dict.fromkeys(variants.VARIANTS, variants.STEPS)
        asked = []
        for one, loss in machines:
            asked += variants.runs(one, loss, tried, [0], n_steps, gamma, jobs)
        for one in subsets:
            asked += variants.svrg(one, n_seeds, gamma, jobs) + peers.questions(one, n_seeds, gamma, passes)
        answer(records, asked, processes, click.echo)
        asked = []
        for one, loss in machines:
            steps = variants.best_steps(records, one, loss)
            asked += variants.runs(one, loss, steps, range(1, n_seeds), n_steps, gamma, jobs)
        answer(records, asked, processes, click.echo)
    sections = [
        *(tables.objectives(records, one) for one in subsets),
        tables.exact(records, subsets),
        tables.nets(records, subsets),
        failed(records),
    ]
    words = (
        f"{report.made()}{note and f' ({note})'}; processes of one thread, CPU seconds; "
        f"{of_seeds(n_seeds)}; {'quick, ' if quick else ''}at most {n_rows:,} rows of a data set, "
        f"{n_steps} steps, kernel width `{gamma}`.\n\n"
        'The experiments of Li and Póczos, "Utilize old coordinates: faster doubly stochastic gradients '
        "for kernel methods\" (2016), with this package's algorithms. Its CIFAR-10, Epsilon, Year, "
        "MNIST-8M and ImageNet are replaced by the data sets given."
    )
    title = "Old coordinates in doubly stochastic gradients: the paper's experiments"
    for path in report.write(title, words, [one for one in sections if one[0].rows], out / "report"):
        click.echo(f"written: {path}")


def losses_of(data: Subset) -> list[str]:
    """Return the loss of the figures and, if LIBSVM runs, the hinge loss."""
    own = [variants.loss_of(data)]
    return [*own, "hinge"] if data.n_classes and data.n_rows <= peers.MOST_EXACT else own


if __name__ == "__main__":
    main()
