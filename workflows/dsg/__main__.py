"""Repeat the experiments of Dai et al. 2014, in one command::

    python -m workflows.dsg --out figures --data a9a.zarr --data covtype.zarr --data mnist.zarr:8,6
    python -m workflows.dsg --out figures --quick

Figures 4 to 7 and Tables 2 and 3 with the paper's numbers beside ours, and the distance of every method
from an exact solution. Every run leaves a job in ``OUT/jobs`` and a file in ``OUT/records``. The same
command makes missing runs and writes the report again. Without ``--data`` and ``--images``, the machines of
Figure 6 are compared on virtual handwritten digits, 8 against 6, and the nets of Figure 7 on all of them.
The jointly trained net needs PyTorch, ``pip install 'distkern[torch]'``, and is skipped without it.
"""

from __future__ import annotations

from pathlib import Path

import click

from workflows import report
from workflows.averages import failed, of_seeds
from workflows.dsg import (
    convolutional,
    costs,
    exactness,
    figures,
    machines,
    nets,
    posterior,
    synthetic,
    tables,
)
from workflows.pool import Question, answer
from workflows.records import Records
from workflows.subsets import Subset, digits, subset

PARTS = ("rates", "process", "machines", "costs", "exactness", "nets")
_QUICK_ROWS, _ROWS, _TEST_ROWS = 2**12, 50_000, 20_000
#: columns, from which on principal components are taken, and how many: the paper's for MNIST
_MOST_COLUMNS, _COMPONENTS = 200, 50
#: images are taken as they are
_ANY_COLUMNS = 10**9
#: synthetic rows, without --rows
_DRAWN = 2**17


@click.command(help=__doc__.replace("::\n", ":\n\n\b"))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for records and report.")
@click.option("--data", multiple=True, help="PATH.zarr of two classes; PATH.zarr:8,6 or :2 selects classes.")
@click.option("--images", multiple=True, help="PATH.zarr of square images, for neural nets.")
@click.option("--part", "parts", type=click.Choice(PARTS), multiple=True, help="Parts to measure [all].")
@click.option("--seeds", type=click.IntRange(1), help="Seeds 0, 1, ... of every random choice [5, quick 3].")
@click.option(
    "--rows",
    type=click.IntRange(256),
    help="Most rows of each data set, drawn ones too [50000 and 2^17, quick 4096].",
)
@click.option(
    "--processes", type=click.IntRange(1), default=2, help="Concurrent processes of one thread each [2]."
)
@click.option("--note", default="", help="Remark on the machine for the report, such as 'one busy core'.")
@click.option("--report-only", is_flag=True, help="Measure nothing.")
@click.option("--quick", is_flag=True, help="Few rows and steps: less than five minutes on two cores.")
def main(
    out: Path,
    data: tuple[str, ...],
    images: tuple[str, ...],
    parts: tuple[str, ...],
    seeds: int | None,
    rows: int | None,
    processes: int,
    note: str,
    report_only: bool,
    quick: bool,
) -> None:
    """Run missing measurements and write the report."""
    records, jobs = Records(out / "records"), out / "jobs"
    chosen = parts or PARTS
    n_seeds, n_rows = seeds or (3 if quick else 5), rows or (_QUICK_ROWS if quick else _ROWS)
    n_drawn, folder = min(_DRAWN, rows or (_QUICK_ROWS if quick else _DRAWN)), out / "data"
    n_test = min(n_rows, _TEST_ROWS)
    subsets = [subset(one, folder, n_rows, n_test, _COMPONENTS, _MOST_COLUMNS) for one in data]
    subsets = subsets or [digits(folder, n_rows, n_test, (8, 6))]
    for one in subsets:
        if one.n_classes != 2:
            there = f"has {one.n_classes} classes" if one.n_classes else "has real targets"
            raise click.UsageError(f"{one.name} {there}, and two classes are wanted: PATH.zarr:A,B takes two")
    pictures = [subset(one, folder, n_rows, n_test, 0, _ANY_COLUMNS) for one in images]
    if not data and not images and "nets" in chosen:
        pictures = [digits(folder, n_rows, n_test)]
    for one in pictures:
        if one.n_classes == 0:
            raise click.UsageError(f"{one.name} has real targets, and nets want classes here")
        try:
            convolutional.side_of(one.n_features, one.name)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    asked = []
    if "rates" in chosen:
        asked += synthetic.questions(n_seeds, quick, n_drawn, jobs)
    if "process" in chosen:
        asked += posterior.questions(n_seeds, quick, jobs)
    if "machines" in chosen:
        for one in subsets:
            asked += machines.questions(one, n_seeds, jobs)
    if "costs" in chosen:
        asked += costs.questions(n_seeds, quick)
    if "exactness" in chosen:
        asked += exactness.questions(_largest(subsets), n_seeds, quick, jobs)
    if "nets" in chosen and not report_only:
        asked += _nets(pictures, n_seeds, quick, jobs)
    if not report_only:
        answer(records, asked, processes, click.echo)
    sections = [
        figures.rates(records),
        figures.ridge(records, n_drawn),
        figures.process(records),
        *(figures.side_by_side(records, one) for one in subsets),
        *(nets.compared(records, one) for one in pictures),
        *tables.requirements(records),
        tables.exact(records, _largest(subsets)),
        failed(records),
    ]
    words = (
        f"{report.made()}{note and f' ({note})'}; processes of one thread, CPU seconds; "
        f"{of_seeds(n_seeds)}; {'quick, ' if quick else ''}at most {n_rows:,} rows of a data set.\n\n"
        'The experiments of Dai, Xie, He, Liang, Raj, Balcan and Song, "Scalable kernel methods via doubly '
        "stochastic gradients\" (2014), with this package's algorithms. Its MNIST-8M, ImageNet, "
        "CIFAR-10 and molecules are not here."
    )
    title = "Doubly stochastic gradients: the paper's experiments"
    for path in report.write(title, words, [one for one in sections if one[0].rows], out / "report"):
        click.echo(f"written: {path}")


def _nets(pictures: list[Subset], seeds: int, quick: bool, jobs: Path) -> list[Question]:
    """Return the runs of nets, and a line on those left out."""
    joint = convolutional.is_installed()
    if not pictures:
        click.echo("nets: left out, for --images names no data set of square images")
    elif not joint:
        click.echo("nets: joint net skipped, torch is not installed (pip install 'distkern[torch]')")
    asked = []
    for one in pictures:
        asked += nets.questions(one, seeds, quick, jobs, joint=joint)
    return asked


def _largest(subsets: list[Subset]) -> Subset:
    """Return the data set for exact solutions: the one with most rows, the last of equal ones."""
    return max(reversed(subsets), key=lambda one: one.n_rows)


if __name__ == "__main__":
    main()
