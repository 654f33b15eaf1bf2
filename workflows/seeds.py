"""Jobs of the workflows over several seeds: mean and spread of what they reach on test rows.

    python -m workflows.seeds workflows/csvrg/ijcnn1.toml --data FOLDER --out seeds.json --seeds 5
    python -m workflows.seeds workflows/csvrg/ijcnn1.toml --data FOLDER --out seeds.json --set loss=hinge

Each run is ``distkern train`` in a process of its own, on ``FOLDER/<the job's data>``. What is done is kept
in the JSON file and not done again. Prints a Markdown table: test errors in % (or RMSE), least and greatest
in brackets, and CPU seconds.
"""

from __future__ import annotations

import json
import math
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import click
import numpy as np

from workflows.processes import distkern


@click.command(help=__doc__)
@click.argument("jobs", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--data", required=True, type=click.Path(exists=True, path_type=Path), help="Folder of the data sets."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="JSON file of finished runs.")
@click.option("--seeds", default=5, show_default=True)
@click.option("--set", "settings", multiple=True, help="NAME=VALUE, over the job's.")
def main(jobs: tuple[Path, ...], data: Path, out: Path, seeds: int, settings: tuple[str, ...]) -> None:
    """Make missing runs and print the table."""
    found: dict[str, list[dict[str, float]]] = json.loads(out.read_text()) if out.exists() else {}
    for job in jobs:
        options = [f"--set={setting}" for setting in settings]
        done = found.setdefault(" ".join([f"{job.parent.name}/{job.stem}", *options]), [])
        for seed in range(len(done), seeds):
            done.append(run(job, data, seed, options))
            out.write_text(json.dumps(found, indent=1))
    print(table(found))


def run(job: Path, data: Path, seed: int, options: list[str]) -> dict[str, float]:
    """Return the last figures of a run, and its CPU seconds including its workers'."""
    name = tomllib.loads(job.read_text())["data"]
    with tempfile.TemporaryDirectory() as folder:
        job_options = [f"--seed={seed}", f"--data={data / name}", f"--out={folder}/model", *options]
        found, _ = distkern("train", str(job), *job_options, threads=0, limit=None)
        if "failed" in found:
            raise click.ClickException(f"{job}: {found['failed']}")
        lines = (Path(folder) / "model" / "metrics.jsonl").read_text().splitlines()
    last: dict[str, Any] = json.loads(lines[-1])
    is_real = "test_rmse" in last
    return {
        "error": last["test_rmse" if is_real else "test_error"],
        "is_real": float(is_real),
        "seconds": found["cpu_seconds"],
    }


def table(found: dict[str, list[dict[str, float]]]) -> str:
    """In Markdown, a row for each job."""
    lines = ["| job | seeds | test error | CPU s |", "|---|---|---|---|"]
    for name, runs in found.items():
        errors = np.array([run["error"] for run in runs]) * (1 if runs[0]["is_real"] else 100)
        digits = max(0, 3 - math.ceil(math.log10(errors.max())))
        low, mean, high = (f"{value:,.{digits}f}" for value in (errors.min(), errors.mean(), errors.max()))
        seconds = np.mean([run["seconds"] for run in runs])
        lines.append(f"| {name} | {len(runs)} | {mean} ({low} to {high}) | {seconds:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
