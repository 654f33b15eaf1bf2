"""Compare the package's default choice with boosted trees by proper scores::

    python -m workflows.defaults.beside --work figures --suite ../shared/datasets/suite
    python -m workflows.defaults.beside --work figures --files datasets

LightGBM tries 15, 63 and 255 leaves with rates of .05 and .1, each until 30 rounds have not lowered the loss
of a fifth of the rows, and keeps the best of the six. CatBoost, perpetual and xRFM use default settings. All
learn from the same rows in one thread, as pandas reads them, and are measured on the same test rows.

``--suite`` is a folder with an ``index.tsv``; the seed splits its tables. Without it the sets are published
ones, whose files are in the folder ``--files``, and generated ones; ``--data`` adds your own. Every fit
runs in its own process and writes a file to ``WORK/records`` when it ends. The same command runs the
missing fits and writes the report again. ``--tag`` names a version of the package; all versions share the
records of peers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from workflows import report
from workflows.averages import failed
from workflows.defaults import sets, verdicts
from workflows.defaults.apart import answer_apart, is_missing
from workflows.defaults.fits import label, measured, run_of
from workflows.defaults.sets import Set
from workflows.defaults.systems import LABELS, LIGHTGBM, OURS, PEERS, SYSTEMS, is_installed
from workflows.pool import Question
from workflows.records import Records

_TITLE = "Default choice of distkern and boosted trees"


class _Listed(click.ParamType):
    """Names or numbers, separated by commas."""

    name = "A,B"

    def __init__(self, kind: type = str, among: Sequence[str] = (), *, tags: bool = False) -> None:
        self.kind, self.among, self.tags = kind, among, tags

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple:
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",") if word.strip()]
        for word in words:
            if self.among and (word.partition("@")[0] if self.tags else word) not in self.among:
                self.fail(f"{word!r} is none of {', '.join(self.among)}", param, ctx)
        try:
            return tuple(dict.fromkeys(map(self.kind, words)))
        except ValueError:
            self.fail(f"{value!r}: give whole numbers, separated by commas", param, ctx)


def questions(
    found: Sequence[Set],
    systems: Sequence[str],
    seeds: Sequence[int],
    rows: int,
    work: Path,
    limit: float,
    *,
    tag: str = "",
    states: Sequence[int] = (),
) -> Iterator[Question]:
    """Yield all fits: every set with the first seed and all its systems, before any with the second.

    Parameters
    ----------
    rows : to learn from, at most
    states : random states of the fits; none: that of the seed
    """
    for seed in seeds:
        for state in states or (seed,):
            for one in found:
                for system in systems:
                    mine = tag if system == OURS else ""
                    asked = {"name": one.name, "system": system, "tag": mine, "seed": seed, "state": state}
                    asked |= {"rows": min(rows, one.most_rows or rows), "positives": one.positives}
                    asked |= {"task": one.task, "split": one.split, "fingerprint": one.fingerprint}
                    given = {"path": one.path, "out": str(work), "limit": limit}
                    key = f"{one.name}/{run_of(seed, state)}/{label(system, tag)}"
                    yield Question(key, measured, asked, given)


def installed(systems: Sequence[str]) -> list[str]:
    """Return the systems whose packages are installed; print a line about each of the others."""
    for system in systems:
        if not is_installed(system):
            click.echo(f"{LABELS[system]} is skipped: its package is not installed (pip install {system})")
    return [system for system in systems if is_installed(system)]


@click.command(help=__doc__.replace("::\n", ":\n\n\b"))
@click.option(
    "--work", type=click.Path(path_type=Path), required=True, help="Folder for records, rows and report."
)
@click.option(
    "--suite", type=click.Path(exists=True, path_type=Path), help="Folder with an index.tsv and its tables."
)
@click.option("--files", type=click.Path(exists=True, path_type=Path), help="Folder of the published sets.")
@click.option("--sets", "names", type=_Listed(), default=(), help="Some of the sets [all].")
@click.option("--data", multiple=True, help="PATH.zarr with test rows; PATH.zarr:0.02 with few positives.")
@click.option("--half", type=click.IntRange(0, 1), help="One half of the suite, by a digest of the names.")
@click.option("--seeds", type=_Listed(int), default=(0, 1, 2), show_default=True, help="Seeds of the rows.")
@click.option("--states", type=_Listed(int), default=(), help="random_state of the fits [that of the seed].")
@click.option(
    "--peers",
    type=_Listed(str, list(SYSTEMS), tags=True),
    default=PEERS,
    show_default=True,
    help="Peers besides LightGBM.",
)
@click.option(
    "--systems", type=_Listed(str, list(SYSTEMS)), default=(), help="Systems to fit [distkern and all peers]."
)
@click.option("--tag", default="", help="Version of the package; distkern@TAG may be a peer.")
@click.option(
    "--rows", type=click.IntRange(100), default=60_000, show_default=True, help="Most training rows."
)
@click.option(
    "--processes", type=click.IntRange(1), default=1, help="Concurrent processes of one thread each [1]."
)
@click.option("--limit", default=300.0, show_default=True, help="CPU seconds of a fit.")
@click.option("--note", default="", help="Remark on the machine for the report, such as 'one busy core'.")
@click.option("--report-only", is_flag=True, help="Measure nothing.")
def main(
    work: Path,
    suite: Path | None,
    files: Path | None,
    names: tuple[str, ...],
    data: tuple[str, ...],
    half: int | None,
    seeds: tuple[int, ...],
    states: tuple[int, ...],
    peers: tuple[str, ...],
    systems: tuple[str, ...],
    tag: str,
    rows: int,
    processes: int,
    limit: float,
    note: str,
    report_only: bool,
) -> None:
    """Run the missing fits and write the report."""
    records, found = Records(work / "records"), _sets(work, suite, files, names, data, half)
    ours, beside = label(OURS, tag), list(dict.fromkeys([LIGHTGBM, *peers]))
    if not report_only:
        fitted = installed(systems or [OURS, *(one for one in beside if "@" not in one)])
        asked = list(questions(found, fitted, seeds, rows, work, limit, tag=tag, states=states))
        missing = [one for one in asked if is_missing(records, one)]
        answer_apart(records, missing, processes, click.echo)
    words = (
        f"{report.made()}{note and f' ({note})'}; processes of one thread; "
        f"seeds {', '.join(map(str, seeds))}.\n\n"
        f"At most {rows:,} training rows and {sets.TEST_ROWS:,} test rows, drawn by the seed and common "
        f"to all systems; columns as they are. A fit of more than {limit:g} CPU seconds is ended."
    )
    there = verdicts.Measured(records, work, seeds)
    parts = [*verdicts.sections(there, [one.name for one in found], ours, beside), failed(records)]
    for path in report.write(_TITLE, words, [one for one in parts if one[0].rows], work / "report"):
        click.echo(f"written: {path}")


def _sets(
    work: Path,
    suite: Path | None,
    files: Path | None,
    names: Sequence[str],
    data: Sequence[str],
    half: int | None,
) -> list[Set]:
    """Return the requested systems, each once."""
    own = [sets.given(one) for one in data]
    if suite is not None:
        found = [*sets.of_suite(suite, names, half), *own]
    elif half is not None:
        raise click.UsageError("--half is of a --suite")
    else:
        unknown = [name for name in names if name not in sets.NAMES]
        if unknown:
            raise click.UsageError(f"{', '.join(unknown)}: none of {', '.join(sets.NAMES)}; or give --suite")
        listed = names or (() if data else sets.NAMES)
        found = [*(sets.named(name, files, work / "data") for name in listed), *own]
    known = [one.name for one in found]
    if len(set(known)) < len(known):
        raise click.UsageError(f"two sets have one name: {', '.join(known)}")
    return found


if __name__ == "__main__":
    main()
