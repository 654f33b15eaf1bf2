"""What is chosen with nothing set beside boosted trees with a search of their own, by proper scores::

    python -m workflows.defaults.beside --out figures --files datasets

LightGBM tries 15, 63 and 255 leaves with rates of .05 and .1, each until 30 rounds have not lowered the loss
of a fifth of the rows, and keeps the best of the six. Both learn from the same rows in one thread, which the
seed draws, and are measured on the same test rows. The sets are published ones, whose files lie in the folder
``--files`` and whose values stay as they are, and generated ones; ``--set`` names some of them, ``--data``
sets of your own instead. Every fit has a process of its own and is a file in ``OUT/records`` when it ends:
the same command again does what is missing and writes the report anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from workflows import report
from workflows.averages import failed, of_seeds
from workflows.defaults import sets, verdicts
from workflows.defaults.fits import WHO, measured
from workflows.defaults.sets import Set
from workflows.pool import Question, answer
from workflows.records import Records

_TITLE = "What is chosen with nothing set beside boosted trees"


def questions(found: Sequence[Set], seeds: int, rows: int, out: Path, limit: float) -> Iterator[Question]:
    """All fits: every set with the first seed, both of it in turn, before any with the second."""
    for seed in range(seeds):
        for one in found:
            for who in WHO:
                asked = {"name": one.name, "who": who, "seed": seed, "rows": rows}
                asked |= {"positives": one.positives, "fingerprint": one.fingerprint}
                given = {"path": one.path, "out": str(out), "limit": limit}
                yield Question(f"{one.name}/{seed}/{who}", measured, asked, given)


@click.command(help=__doc__.replace("::\n", ":\n\n\b"))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for records and report.")
@click.option("--files", type=click.Path(exists=True, path_type=Path), help="Folder of the published sets.")
@click.option(
    "--set", "names", multiple=True, type=click.Choice(sets.NAMES), help="Data sets of the list [all]."
)
@click.option("--data", multiple=True, help="PATH.zarr with test rows; PATH.zarr:0.02 with few positives.")
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="0, 1, ...")
@click.option(
    "--rows", type=click.IntRange(500), default=60_000, show_default=True, help="To learn from, at most."
)
@click.option("--processes", type=click.IntRange(1), default=1, help="Side by side, of one thread each [1].")
@click.option("--limit", default=3600.0, show_default=True, help="CPU seconds of a fit.")
@click.option("--note", default="", help="For the report, of the machine: 'one busy core', say.")
@click.option("--report-only", is_flag=True, help="Measure nothing.")
def main(
    out: Path,
    files: Path | None,
    names: tuple[str, ...],
    data: tuple[str, ...],
    seeds: int,
    rows: int,
    processes: int,
    limit: float,
    note: str,
    report_only: bool,
) -> None:
    """Measure what is missing, and write the report."""
    records, listed = Records(out / "records"), names or (() if data else sets.NAMES)
    own = [sets.given(one) for one in data]
    measured_sets = [*listed, *(one.name for one in own)]
    if len(set(measured_sets)) < len(measured_sets):
        raise click.UsageError(f"two sets have one name: {', '.join(measured_sets)}")
    if not report_only:
        found = [*(sets.named(name, files, out / "data") for name in listed), *own]
        asked = list(questions(found, seeds, rows, out, limit))
        answer(records, asked, processes, click.echo, fresh=True)
    words = (
        f"{report.made()}{note and f' ({note})'}; processes of one thread; {of_seeds(seeds)}.\n\n"
        f"At most {rows:,} training rows that the seed draws, {sets.TEST_ROWS:,} test rows at most, the same "
        f"for all; columns in their own units. A fit of more than {limit:g} CPU seconds is ended."
    )
    parts = [*verdicts.sections(records, out, measured_sets), failed(records)]
    for path in report.write(_TITLE, words, [one for one in parts if one[0].rows], out / "report"):
        click.echo(f"written: {path}")


if __name__ == "__main__":
    main()
