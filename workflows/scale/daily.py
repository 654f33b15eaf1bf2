"""Compare models updated part by part with models trained anew, for data that arrive daily::

    python -m workflows.scale.daily --out figures --file covtype.csv --target cover_type --positive 2

The rows of a CSV file are shuffled; a tenth are test rows, the others ten parts. The first part is sharded,
the others with ``--like``. Every job is trained on the first part and then, part by part, updated by
``distkern update`` and trained anew by ``distkern train`` on the parts so far, with the same settings. Each
command writes a file to ``OUT/records`` when it ends; the same command runs what is missing.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pandas

from workflows import report
from workflows.processes import distkern
from workflows.records import Record, Records
from workflows.report import Plot, Section, Table

#: name -> options of ``train``, and whether ``update`` reads the old rows again
JOBS: dict[str, tuple[list[str], bool]] = {
    "newton, square loss": (["--algorithm", "newton", "--set", "loss=least_squares"], False),
    "newton, logistic loss": (["--algorithm", "newton"], True),
    "cells": (["--algorithm", "cells", "--set", "search=none", "--set", "metric=diagonal"], True),
    "csvrg": (["--algorithm", "csvrg", "--set", "stages=3"], True),
    "dsg": (["--algorithm", "dsg", "--set", "n_features=4096", "--set", "stages=2"], False),
}
_TITLE = "Updated models and models trained anew"


class Daily:
    """Measurements of one file, each made once."""

    def __init__(
        self, records: Records, folder: Path, limit: float, tell: Callable[[str], None] = print
    ) -> None:
        self.records, self.folder, self.limit, self.tell = records, folder, limit, tell

    def cut(self, file: Path, target: str, positive: str | None, parts: int, rows: int | None) -> None:
        """Write each part, and all parts up to it, as data sets."""
        if (self.folder / "cut").exists():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        table = pandas.read_csv(file)
        table = table.iloc[np.random.default_rng(0).permutation(len(table))[:rows]]
        n_test = len(table) // 10
        table.iloc[:n_test].to_csv(self.folder / "test.csv", index=False)
        for number, some in enumerate(np.array_split(np.arange(n_test, len(table)), parts)):
            table.iloc[some].to_csv(self.folder / f"{number}.csv", index=False)
        said = ["--target", target, *(["--positive", positive] if positive else [])]
        test = ["--test", self.folder / "test.csv"]
        for number in range(parts):
            like = ["--like", self.folder / "0.zarr"] if number else []
            self._run(
                "shard", self.folder / f"{number}.csv", *test, *said, *like, "--out", self._part(number)
            )
            if number:
                files = [self.folder / f"{one}.csv" for one in range(number + 1)]
                self._run("shard", *files, *test, *said, *like, "--out", self._so_far(number))
        (self.folder / "cut").touch()

    def measure(self, name: str, parts: int) -> None:
        """Measure a job from the first part to the last."""
        said, reads_all = JOBS[name]
        own = self.folder / "models" / name.replace(", ", "-").replace(" ", "-")
        for number in range(parts):
            updated, anew = own / f"{number}", own / f"{number}-anew"
            data = [self._part(one) for one in (range(number + 1) if reads_all else [number])]

            def train(where: Path, out: Path) -> Record:
                return self._model(out, "train", "--data", where, *said, "--out", out)

            def follow(number: int = number, data: list[Path] = data, updated: Path = updated) -> Record:
                if number == 0:
                    return train(self._part(0), updated)
                return self._model(
                    updated, "update", own / f"{number - 1}", "--data", *data, "--out", updated
                )

            def again(number: int = number, anew: Path = anew) -> Record:
                return train(self._so_far(number), anew)

            asked = {"said": said, "part": number}
            self.tell(f"{name}, part {number + 1} of {parts} ...")
            self.records.measured(f"updated/{name}/{number}", asked, follow)
            if number:
                self.records.measured(f"anew/{name}/{number}", asked, again)
                shutil.rmtree(anew, ignore_errors=True)

    def _part(self, number: int) -> Path:
        return self.folder / f"{number}.zarr"

    def _so_far(self, number: int) -> Path:
        return self.folder / f"to-{number}.zarr"

    def _model(self, out: Path, *words: str | Path) -> Record:
        """Run a command that writes a model; return its costs and the model's test error."""
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        found, _ = self._run(*words, "--no-dashboard")
        figures = self._run("evaluate", out, "--data", self._part(0), "--json")[1]
        return {**found, "error": json.loads(figures)["error"]}

    def _run(self, *words: str | Path) -> tuple[Record, str]:
        found, output = distkern(*map(str, words), threads=1, limit=self.limit)
        if "failed" in found:
            raise click.ClickException(f"{' '.join(map(str, words))}: {found['failed']}")
        return found, output


def sections(records: Records) -> list[Section]:
    """Return a table of all parts, and a plot of seconds for each job."""
    rows, lines = [], {}
    for name in JOBS:
        updated = dict(records.under(f"updated/{name}"))
        anew = dict(records.under(f"anew/{name}"))
        for number in sorted(anew, key=int):
            one, other = updated[number], anew[number]
            rows.append(
                (
                    name,
                    f"{int(number) + 1}",
                    f"{one['cpu_seconds']:.1f}",
                    f"{other['cpu_seconds']:.1f}",
                    f"{one['cpu_seconds'] / other['cpu_seconds']:.2f}",
                    f"{100 * one['error']:.2f} %",
                    f"{100 * other['error']:.2f} %",
                )
            )
        for kind, found in (("updated", updated), ("anew", anew)):
            if len(found) > 1:
                lines[f"{name}, {kind}"] = [
                    (float(number) + 1, found[number]["cpu_seconds"]) for number in sorted(found, key=int)
                ]
    header = ("model", "part", "update, CPU s", "anew, CPU s", "ratio", "error, updated", "error, anew")
    text = (
        "CPU seconds of whole commands. Newton with the square loss and DSG read only the new rows, "
        "the others all rows so far."
    )
    plots = [Plot("daily", "CPU seconds of a part", "part", "CPU s", lines, log_x=False)] if lines else []
    return [(Table("Part by part", text, header, rows), plots)]


@click.command(help=__doc__.replace("::\n", ":\n\n\b"))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for records and report.")
@click.option(
    "--file", type=click.Path(exists=True, path_type=Path), required=True, help="CSV, with a header."
)
@click.option("--target", required=True, help="Column of the labels.")
@click.option("--positive", help="Label of the positive class against all others.")
@click.option("--parts", type=click.IntRange(2), default=10, show_default=True)
@click.option("--rows", type=click.IntRange(1000), help="Most rows of the file.")
@click.option("--job", "jobs", type=click.Choice(list(JOBS)), multiple=True, default=tuple(JOBS))
@click.option("--limit", default=3600.0, show_default=True, help="Seconds of a command, at most.")
@click.option("--note", default="", help="Remark on the machine for the report, such as 'beside other work'.")
@click.option("--report-only", is_flag=True, help="Measure nothing.")
def main(
    out: Path,
    file: Path,
    target: str,
    positive: str | None,
    parts: int,
    rows: int | None,
    jobs: tuple[str, ...],
    limit: float,
    note: str,
    report_only: bool,
) -> None:
    """Run missing measurements and write the report."""
    records = Records(out / "records")
    if not report_only:
        daily = Daily(records, out / "parts", limit, click.echo)
        daily.cut(file, target, positive, parts, rows)
        for name in jobs:
            daily.measure(name, parts)
    words = (
        f"{report.made()}{note and f' ({note})'}. `{file.name}`, {parts} parts. Commands run "
        "without a number of workers: few rows are trained on by threads of one process, more rows "
        "by two workers."
    )
    for path in report.write(_TITLE, words, sections(records), out / "report"):
        click.echo(f"written: {path}")


if __name__ == "__main__":
    main()
