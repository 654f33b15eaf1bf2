"""How the seconds and the memory of machines in cells grow with the rows, by the commands that a user runs.

    python workflows/cells/growth.py --folder DIR --rows 100000 1000000 10000000

Generates rows of covertype's shape, straight into zarr; then, for each number of rows, `plan`, `train`
with given settings (and with the defaults, which search, up to ``--searched`` rows), `predict` of all rows
and `evaluate` within 512 MiB. Prints a Markdown table. What lies in DIR is not measured again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from distkern.storage.ingest import write_dataset
from workflows.processes import distkern, peaks
from workflows.records import Record, Records

N_NUMBERS, KINDS = 10, (4, 40)
N_WAVES, N_TEST, CHUNK = 24, 20000, 50000
#: as the search chose them for covertype
GIVEN = ["search=none", "scale=standard", "metric=diagonal", "gamma=median/4", "C=30"]
LIMIT = "512MiB"
MIB = 2**20


def chunks(n_rows: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """10 numbers and 44 columns of 0 and 1, which say of which of 4 and of 40 kinds a row is.

    The class is the sign of waves over five of the numbers, other ones for each of the 4 kinds, and of an
    offset of each of the 40; 3 % of the classes are wrong. What a row says is of its neighbourhood only.
    """
    shape = np.random.default_rng(7)
    waves = shape.normal(0.0, 2.5, (KINDS[0], 5, N_WAVES))
    phases = shape.uniform(0.0, 2.0 * np.pi, N_WAVES)
    offsets = shape.normal(0.0, 1.5, KINDS[1])
    heights = shape.uniform(-1.5, 1.5, KINDS[1])
    units = np.float32([280, 112, 7, 210, 58, 1560, 27, 20, 38, 1320])
    for number, start in enumerate(range(0, n_rows, CHUNK)):
        generator = np.random.default_rng([seed, number])
        n = min(CHUNK, n_rows - start)
        numbers = generator.normal(size=(n, N_NUMBERS))
        area = np.digitize(numbers[:, 0] + 0.3 * generator.normal(size=n), (-0.7, 0.0, 0.7))
        nearest = np.abs(numbers[:, :1] - heights) + generator.exponential(0.5, (n, KINDS[1]))
        soil = nearest.argmin(axis=1)
        f = np.empty(n)
        for kind in range(KINDS[0]):
            mine = area == kind
            f[mine] = np.cos(numbers[mine, :5] @ waves[kind] / np.sqrt(5.0) + phases).sum(axis=1)
        labels = (f + offsets[soil] > 0) ^ (generator.random(n) < 0.03)
        rows = np.zeros((n, N_NUMBERS + sum(KINDS)), dtype=np.float32)
        rows[:, :N_NUMBERS] = numbers * units
        rows[np.arange(n), N_NUMBERS + area] = 1.0
        rows[np.arange(n), N_NUMBERS + KINDS[0] + soil] = 1.0
        yield rows, labels.astype(np.int64)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--searched", type=int, default=10**6, help="rows up to which the defaults run too")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=7200.0, help="seconds of a command, at most")
    options = parser.parse_args()
    found = []
    for n_rows in options.rows:
        variants = {"given": GIVEN, **({"searched": []} if n_rows <= options.searched else {})}
        found += [
            (n_rows, name, measured(options.folder, n_rows, name, settings, options.workers, options.limit))
            for name, settings in variants.items()
        ]
        # ten times as many rows follow
        shutil.rmtree(options.folder / f"{n_rows}.zarr", ignore_errors=True)
    print(table(found))


def measured(folder: Path, n_rows: int, name: str, settings: list[str], workers: int, limit: float) -> Record:
    """What is known of a run, or what it takes now."""
    asked = {"rows": n_rows, "settings": settings, "workers": workers}
    return Records(folder).measured(
        f"{n_rows}-{name}-{workers}", asked, lambda: measure(folder, n_rows, settings, workers, limit)
    )


def measure(folder: Path, n_rows: int, settings: list[str], workers: int, limit: float) -> Record:
    """``plan``, ``train``, ``predict``, ``evaluate``."""
    folder.mkdir(parents=True, exist_ok=True)
    data, out = folder / f"{n_rows}.zarr", folder / "model"
    if not data.exists():
        begin = time.perf_counter()
        write_dataset(chunks(n_rows, 1), data, test_chunks=chunks(N_TEST, 2), scale="none")
        print(f"{n_rows:,} rows generated in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    shutil.rmtree(out, ignore_errors=True)
    sets = [part for setting in settings for part in ("--set", setting)]
    job = ["--data", str(data), "--algorithm", "cells", *sets, "--workers", str(workers)]
    where = ["--data", str(data), "--workers", str(workers), "--memory-limit", LIMIT]

    def command(*arguments: str) -> tuple[Record, str]:
        with peaks() as peak:
            ran, text = distkern(*arguments, threads=1, limit=limit)
        print(" ".join(arguments), {**ran, **peak}, file=sys.stderr)
        if "failed" in ran:
            raise SystemExit(f"{' '.join(arguments)}: {ran['failed']}")
        return {**ran, **peak}, text

    plan = json.loads(command("plan", *job, "--json")[1])
    trained, _ = command("train", *job, "--out", str(out), "--no-dashboard")
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    predicted, _ = command("predict", str(out), *where, "--split", "train", "--out", str(folder / "p.npy"))
    (folder / "p.npy").unlink()
    evaluated, text = command("evaluate", str(out), *where, "--json")
    bytes_of_model = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    shutil.rmtree(out)
    return {
        "plan": {name: plan[name] for name in ("worker_bytes", "driver_bytes")},
        "train": trained,
        "stages": lines,
        "model_bytes": bytes_of_model,
        "predict": predicted,
        "evaluate": {**evaluated, **json.loads(text)},
    }


def table(found: list[tuple[int, str, Record]]) -> str:
    """In Markdown."""
    names = (
        "rows",
        "settings",
        "train, s",
        "CPU s",
        "worker, MiB (planned)",
        "driver, MiB (planned)",
        "cells",
        "model, MB",
        "test error",
        "predict, s",
        "worker within 512 MiB",
    )
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for n_rows, name, run in found:
        train, plan, last = run["train"], run["plan"], run["stages"][-1]
        planned = (f"{plan[key] / MIB:.0f}" for key in ("worker_bytes", "driver_bytes"))
        peak = (f"{train[key] / MIB:.0f}" for key in ("worker_peak", "driver_peak"))
        worker, driver = (f"{one} ({other})" for one, other in zip(peak, planned, strict=True))
        cells = (
            f"{n_rows:,}",
            name,
            f"{train['wall_seconds']:.0f}",
            f"{train['cpu_seconds']:.0f}",
            worker,
            driver,
            f"{last['cells']:,.0f}",
            f"{run['model_bytes'] / 1e6:.0f}",
            f"{100 * run['evaluate']['error']:.2f} %",
            f"{run['predict']['wall_seconds']:.0f}",
            f"{max(run[key]['worker_peak'] for key in ('predict', 'evaluate')) / MIB:.0f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
