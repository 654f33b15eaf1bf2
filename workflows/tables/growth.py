"""Measure how seconds and memory grow with the rows of a mixed table, from text to predictions.

    python -m workflows.tables.growth --folder DIR --rows 100000 --rows 1000000 --rows 10000000

Writes CSV files that resemble the Adult data: 14 columns of numbers, texts, truth values and dates with 1 %
missing values (``tests/mixed_tables.py``). Then it runs the three commands of a user for each number of rows,
with no option except the target: ``shard``, ``train``, and ``predict`` of another file with a tenth of the
rows, the last two within 512 MiB a process. Prints a Markdown table. Records in DIR/records are kept.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas

from workflows.processes import ROOT, distkern, peaks
from workflows.records import Record, Records

_LIMIT, _TARGET = "512MiB", "income"
_MIB = 2**20


@click.command(help=__doc__)
@click.option("--folder", type=click.Path(path_type=Path), required=True)
@click.option("--rows", type=click.IntRange(1000), multiple=True, default=(10**5, 10**6, 10**7))
@click.option("--workers", default=2, show_default=True)
@click.option("--limit", default=7200.0, show_default=True, help="Seconds of a command, at most.")
def main(folder: Path, rows: tuple[int, ...], workers: int, limit: float) -> None:
    """Run missing measurements and print the table."""
    records = Records(folder / "records")
    found = []
    for n_rows in rows:
        asked = {"rows": n_rows, "workers": workers}
        found.append(
            records.measured(
                f"{n_rows}-{workers}",
                asked,
                lambda n_rows=n_rows: measure(folder / str(n_rows), n_rows, workers, limit),
            )
        )
    click.echo(table(found))


def measure(folder: Path, n_rows: int, workers: int, limit: float) -> Record:
    """Run the three commands and plan the second; remove their files."""
    folder.mkdir(parents=True, exist_ok=True)
    source, new, data, model = (folder / name for name in ("adult.csv", "new.csv", "adult.zarr", "model"))
    write(source, n_rows, 0)
    write(new, n_rows // 10, 1)
    where = ["--workers", str(workers), "--memory-limit", _LIMIT]

    def command(*arguments: Any) -> tuple[Record, str]:
        with peaks() as peak:
            ran, text = distkern(*map(str, arguments), threads=1, limit=limit)
        found = {**ran, **peak}
        click.echo(f"{' '.join(map(str, arguments))} {found}", err=True)
        if "failed" in found:
            raise click.ClickException(f"{arguments[0]}: {found['failed']}")
        return found, text

    sharded, _ = command("shard", source, "--target", _TARGET, "--out", data)
    source.unlink()
    plan = json.loads(command("plan", "--data", data, *where, "--json")[1])
    trained, _ = command("train", "--data", data, "--out", model, *where, "--no-dashboard")
    description = json.loads((model / "model.json").read_text())
    predicted, _ = command("predict", model, new, "--out", folder / "p.csv", *where)
    right = [
        np.asarray(pandas.read_csv(file, usecols=[column])[column])
        for file, column in ((folder / "p.csv", "prediction"), (new, _TARGET))
    ]
    found = {
        "shard": sharded,
        "plan": {name: plan[name] for name in ("worker_bytes", "driver_bytes")},
        "train": trained,
        "algorithm": description.get("chosen", description.get("algorithm")),
        "model_bytes": sum(file.stat().st_size for file in model.rglob("*") if file.is_file()),
        "predict": predicted,
        "error": float(np.mean(right[0] != right[1])),
    }
    shutil.rmtree(folder)
    return found


def write(path: Path, n_rows: int, seed: int) -> None:
    """Such a table, by the generator of the tests, unless it is there."""
    if path.exists():
        return
    partial = path.with_suffix(".partial")
    program = [sys.executable, str(ROOT / "tests" / "mixed_tables.py"), str(partial)]
    subprocess.run([*program, f"--rows={n_rows}", f"--seed={seed}"], check=True)
    partial.rename(path)


def table(found: list[Record]) -> str:
    """In Markdown."""
    names = ("rows", "command", "wall s", "CPU s", "worker, MiB", "main process, MiB")
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for run in found:
        for name in ("shard", "train", "predict"):
            one = run[name]
            planned = ("", "")
            wall = f"{one['wall_seconds']:.0f}"
            if name == "train":
                planned = tuple(
                    f" ({run['plan'][key] / _MIB:.0f})" for key in ("worker_bytes", "driver_bytes")
                )
            peak = [
                f"{one[key] / _MIB:.0f}{text}" if one[key] else ""
                for key, text in zip(("worker_peak", "driver_peak"), planned, strict=True)
            ]
            cells = (f"{run['asked']['rows']:,}", name, wall, f"{one['cpu_seconds']:.0f}", *peak)
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
