"""Compare machines in cells with LightGBM: whole commands with default settings against tuned trees.

    python -m workflows.cells.beside covtype.zarr ijcnn1.zarr --out figures --runs 3

``distkern train --algorithm cells`` runs from the data set on disk to the model on disk, including its
search. LightGBM gets the same rows as arrays, 2 threads, a tenth of the rows for early stopping, and the
best of 31, 127 and 255 leaves on these; its seconds are those of the process of the final fit, including
imports and reading. Every run is a file in ``OUT/records`` and is not repeated. Prints a Markdown table of
test errors (or RMSE), wall and CPU seconds: medians, with the minimum and maximum of the wall seconds.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import numpy as np

from workflows.benchmarks.methods import grid
from workflows.benchmarks.rows import export
from workflows.processes import distkern, run
from workflows.records import Record, Records

_LEAVES = (31, 127, 255)
_THREADS = 2


@click.command(help=__doc__)
@click.argument("data", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path))
@click.option("--runs", default=3, show_default=True)
@click.option("--limit", default=1800.0, show_default=True, help="Seconds of a process.")
@click.option("--set", "settings", multiple=True, help="NAME=VALUE of the cells.")
def main(data: tuple[Path, ...], out: Path, runs: int, limit: float, settings: tuple[str, ...]) -> None:
    """Run missing measurements and print the table."""
    records = Records(out / "records")
    for number in range(runs):
        for path in data:
            rows = out / "rows" / path.stem
            export(path, rows)
            asked = {"settings": settings}
            ours = records.measured(
                f"{path.stem}/cells-{number}", asked, lambda path=path: cells(path, settings, limit)
            )
            click.echo(f"{path.stem} cells {number}: {ours}")
            best = records.measured(f"{path.stem}/leaves", {}, lambda rows=rows: best_leaves(rows, limit))
            if "failed" not in best:
                theirs = records.measured(
                    f"{path.stem}/lightgbm-{number}",
                    best["settings"],
                    lambda rows=rows, best=best: lightgbm(rows, {"settings": best["settings"]}, limit),
                )
                click.echo(f"{path.stem} lightgbm {number}: {theirs}")
    click.echo(table(records, [path.stem for path in data], runs))


def cells(data: Path, settings: tuple[str, ...], limit: float) -> Record:
    """A whole command, and its error on the test rows."""
    with tempfile.TemporaryDirectory() as folder:
        given = [f"--set={setting}" for setting in settings]
        arguments = ["train", f"--data={data}", "--algorithm=cells", f"--out={folder}/model", *given]
        found, _ = distkern(*arguments, threads=0, limit=limit)
        if "failed" in found:
            return found
        last = json.loads((Path(folder) / "model" / "metrics.jsonl").read_text().splitlines()[-1])
    return {**found, "error": last.get("test_rmse", last["test_error"]), "is_real": "test_rmse" in last}


def best_leaves(rows: Path, limit: float) -> Record:
    """Return the number of leaves with the lowest error on held-out rows."""
    return lightgbm(rows, {"candidates": grid(num_leaves=_LEAVES)}, limit)


def lightgbm(rows: Path, given: dict[str, Any], limit: float) -> Record:
    """A process that answers, with its own seconds."""
    facts = json.loads((rows / "facts.json").read_text())
    asked = {
        "folder": str(rows),
        "method": "lightgbm",
        "threads": _THREADS,
        "adapters": {},
        "rows": facts["n_train"],
        **given,
    }
    arguments = [sys.executable, "-m", "workflows.benchmarks.child", json.dumps(asked)]
    found, output = run(arguments, threads=_THREADS, limit=limit)
    return found if "failed" in found else {**json.loads(output.splitlines()[-1]), **found}


def table(records: Records, names: list[str], runs: int) -> str:
    """In Markdown, a row for each data set."""
    lines = [
        "| data | cells: error | wall s | CPU s | LightGBM: error | leaves | wall s | CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        cells = [name]
        for method in ("cells", "lightgbm"):
            found = [records.get(f"{name}/{method}-{number}") or {"failed": ""} for number in range(runs)]
            done = [one for one in found if "failed" not in one]
            if not done:
                cells += (
                    [found[0]["failed"], "", ""] if method == "cells" else [found[0]["failed"], "", "", ""]
                )
                continue
            is_real = done[0].get("is_real", name_is_real(records, name))
            error = float(np.median([one["error"] for one in done]))
            cells.append(f"{error:,.4g}" if is_real else f"{100 * error:.2f} %")
            if method == "lightgbm":
                cells.append(str(done[0]["settings"]["num_leaves"]))
            wall = np.array([one["wall_seconds"] for one in done])
            cells.append(f"{np.median(wall):.0f} ({wall.min():.0f} to {wall.max():.0f})")
            cells.append(f"{np.median([one['cpu_seconds'] for one in done]):.0f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def name_is_real(records: Records, name: str) -> bool:
    """Return whether a data set has real targets, by the record of the cells."""
    return bool((records.get(f"{name}/cells-0") or {}).get("is_real"))


if __name__ == "__main__":
    main()
