"""Measure stored models in a service on one core: loading, single rows, and many rows beside LightGBM.

    python workflows/benchmarks/serving.py covtype.zarr --rows 100000

Fits every estimator that is asked for, with its defaults, and LightGBM with 100 and 500 trees of 31 leaves to
at most 20,000 rows of the training split. Prints of each stored model the CPU seconds of a new process that
loads it and predicts a row, and how many modules of distkern that imports; the median milliseconds of one
row; and the seconds of many rows, as multiples of those of both LightGBMs. The share of the limit is what the
bare matrix product with landmarks, frequencies or a cell's rows and the exponentials, or cosines and sines,
of it take in the same process, by the seconds; kernels that are no function of a product have no such limit.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1"))

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

import distkern
from distkern.maths.bases.linear import LinearBasis

MODELS = ["PegasosClassifier", "CSVRGClassifier", "NewtonClassifier", "DSGClassifier", "CellClassifier"]
#: rows that are fitted to, at most; of a tile of the limit
_FITTED, _TILE = 20_000, 1024
_LOADS = """
import sys, time
import distkern, numpy
distkern.load_model(sys.argv[1]).predict(numpy.zeros((1, int(sys.argv[2])), numpy.float32))
print(time.process_time(), sum(name.startswith("distkern") for name in sys.modules))
"""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--model", nargs="+", default=MODELS, help="names of estimators")
    parser.add_argument("--rows", type=int, default=100_000, help="predicted at once")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    train = distkern.open_dataset(options.data).train
    rows, labels = np.asarray(train[:_FITTED]), train.labels[:_FITTED]
    many = np.resize(np.asarray(train[: options.rows]), (options.rows, rows.shape[1]))
    trees = []
    for number in (100, 500):
        model = lightgbm.LGBMClassifier(n_estimators=number, num_leaves=31, n_jobs=1, verbose=-1)
        model.fit(rows, labels)
        trees.append(_told(f"LightGBM, {number} trees", model, rows, many, options.repeats)[0])
    for name in options.model:
        with tempfile.TemporaryDirectory() as folder:
            getattr(distkern, name)(random_state=0).fit(rows, labels).save(folder)
            loading = subprocess.run(
                [sys.executable, "-c", _LOADS, folder, str(rows.shape[1])],
                capture_output=True,
                text=True,
                check=True,
            )
            cpu, modules = loading.stdout.split()
            print(f"{name}: {float(cpu):.2f} CPU s to load, {modules} modules")
            model = distkern.load_model(folder)
            seconds, limit = _told(name, model, rows, many, options.repeats)
        beside = " and ".join(f"{seconds / other:.1f}" for other in trees)
        share = f", {limit / seconds:.0%} of the limit" if limit else ""
        print(f"{name}: {beside} times LightGBM's seconds{share}")


def _told(name: str, model: Any, rows: NDArray[Any], many: NDArray[Any], repeats: int) -> tuple[float, float]:
    """Return the least seconds of many rows, and the limit or 0; print the time of one row."""
    for at in range(len(rows[:200])):  # parts of a model are read where a row lies
        model.predict(rows[at : at + 1])
    one = statistics.median(_seconds(lambda at=at: model.predict(rows[at : at + 1])) for at in range(200))
    bare = _bare(model, len(many)) if hasattr(model, "basis") else None
    whole, limit = [], [0.0] if bare is None else []
    for _ in range(repeats):
        whole.append(_seconds(lambda: model.predict(many)))
        if bare is not None:
            limit.append(_seconds(bare))
    print(f"{name}: one row {1e3 * one:.2f} ms, {len(many):,} rows {min(whole):.2f} s")
    return min(whole), min(limit)


def _bare(model: Any, n_rows: int) -> Callable[[], None] | None:
    """Return the product and functions for as many rows, in tiles; None without a product."""
    basis, width = model.basis(np.float32), model.width_
    functions: tuple[np.ufunc, ...] = (np.exp,)
    size = basis.size
    if hasattr(basis, "sampler"):
        # pairs of a cosine and a sine of one number
        functions, size = (np.cos, np.sin), size // 2
    elif hasattr(model, "n_cells_"):
        size = model.n_support_ // model.n_cells_
        if basis.settings.kernel.is_compiled:
            return None
    elif isinstance(basis, LinearBasis):
        return None
    tile = np.empty((_TILE, size), np.float32)
    left, right = np.ones((_TILE, width), np.float32), np.full((width, size), -0.01, np.float32)
    share, found = np.ones(size, np.float32), np.empty_like(tile)

    def work() -> None:
        for _ in range(0, n_rows, _TILE):
            np.matmul(left, right, out=tile)
            for function in functions:
                function(tile, out=found)
                found @ share

    return work


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
