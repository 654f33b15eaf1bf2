"""Measure the effect of each part of the machines in cells on any data set.

    python workflows/cells/ablation.py ijcnn1.zarr letter.zarr --out ablation.json

Trains with the defaults, which search. Then it changes one of the chosen settings at a time: the metric
(learned anew in three rounds), the kernel (with a search of width and C), the rows of a cell, the overlap,
the seed. Runs take place in this process on the first ``--rows`` training rows, which are stored in random
order. Finished runs are kept in the JSON file. Prints a Markdown table of test errors (or RMSE), cells and
CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import distkern as dk
from distkern.choose.rungs import KERNELS
from distkern.maths.kernels import find_kernel
from distkern.maths.kernels.bandwidth import width_from_gamma
from distkern.maths.maps.metric import METRICS

CELL_ROWS = (20, 100, 500, 2000, 8000)
OVERLAPS = (0.0, 0.1, 0.3)
SEEDS = (1, 2)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100_000, help="of the training rows the first, at most")
    options = parser.parse_args()
    found: dict[str, dict[str, Any]] = json.loads(options.out.read_text()) if options.out.exists() else {}
    for path in options.data:
        done = found.setdefault(path.stem, {})
        for name, settings in variants(done):
            if name not in done:
                done[name] = run(path, settings, options.rows)
                options.out.write_text(json.dumps(found, indent=1))
                print(path.stem, name, done[name]["error"], flush=True)
    print(table(found))


def variants(done: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and settings; all but the first need the choice of the first."""
    yield "defaults", {}
    chosen = dict(done["defaults"]["chosen"])
    fixed = {**chosen, "search": None}
    yield "defaults, quick", {"search": "quick"}
    yield "the same settings given", fixed
    for metric in ("none", "diagonal", "full"):
        yield f"metric {metric}", {**fixed, "metric": None if metric == "none" else metric}
    for kernel in ("matern", "laplacian", "rbf"):
        given = {"scale": chosen["scale"], "metric": chosen["metric"], "kernel": kernel}
        yield f"kernel {kernel}, searched", given
    for rows in CELL_ROWS:
        yield f"cells of {rows} rows", {**fixed, "max_cell_rows": rows}
    for overlap in OVERLAPS:
        yield f"overlap {overlap:g}", {**fixed, "overlap": overlap}
    for seed in SEEDS:
        yield f"seed {seed}", {**fixed, "random_state": seed}


def run(path: Path, settings: dict[str, Any], rows: int) -> dict[str, Any]:
    """One fit and its test error."""
    data = dk.open_dataset(path)
    kind = dk.CellClassifier if data.classes is not None else dk.CellRegressor
    begin = time.process_time()
    model = kind(**{"random_state": 0, **settings}).fit(data.train[:rows], data.train.labels[:rows])
    seconds = time.process_time() - begin
    score = float(model.score(data.test))
    if kind is dk.CellRegressor:
        error = float(np.sqrt(np.mean((np.asarray(model.predict(data.test)) - data.test.labels) ** 2)))
    else:
        error = 1.0 - score
    return {
        "error": error,
        "is_real": kind is dk.CellRegressor,
        "seconds": seconds,
        "cells": int(model.n_cells_),
        "chosen": chosen_by(model),
    }


def chosen_by(model: Any) -> dict[str, Any]:
    """The settings of a model, as one gives them."""
    settled, mapping = model.settled_, model.places_.map
    spec = KERNELS[settled.kernel] if model.kernel == "auto" else None
    name = model.kernel if spec is None else spec.name
    width = width_from_gamma(find_kernel(name), settled.gamma, len(mapping.factors)) / mapping.width
    said = next((note for note in model.history_[-1].get("notes", ()) if note.startswith("chosen:")), "")
    return {
        "scale": mapping.transform.kind,
        "metric": next((kind for kind in METRICS if f"{kind} metric" in said), None),
        "kernel": name,
        "gamma": f"median/{math.sqrt(2.0) / width:.4g}",
        "C": settled.cost,
    }


def table(found: dict[str, dict[str, Any]]) -> str:
    """In Markdown: a row for each variant, a column for each data set."""
    names = list(dict.fromkeys(name for runs in found.values() for name in runs))
    lines = ["| | " + " | ".join(found) + " |", "|---|" + "---|" * len(found)]
    for name in names:
        lines.append(f"| {name} | " + " | ".join(cell(runs.get(name)) for runs in found.values()) + " |")
    return "\n".join(lines)


def cell(run: dict[str, Any] | None) -> str:
    """Error, cells and CPU seconds."""
    if run is None:
        return ""
    error = f"{run['error']:,.4g}" if run["is_real"] else f"{100 * run['error']:.2f} %"
    return f"{error} ({run['cells']}; {run['seconds']:.0f} s)"


if __name__ == "__main__":
    main()
