"""Measure scheduler and driver for a growing number of workers, with negligible blocks.

Worker processes of one thread on loopback stand for as many hosts. Two ways of the engine are measured:
a Reduce (Newton over linear features: every pass is a few tasks of each worker) and Rounds (SIMBA with its
weights on the workers: every round is one exchange with all of them).
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import distkern
from distkern.core import types
from distkern.data.ingest import write_dataset
from distkern.engine.executors import open_executor
from workflows.benchmarks.generated import dense
from workflows.processes import run
from workflows.records import Record, Records

_FEATURES, _ROWS_OF_BLOCK, _BLOCKS_OF_WORKER = 20, 64, 4
_ROUNDS = 400
WORKERS = (2, 10, 25, 50, 100)


def simulate(
    records: Records, folder: Path, workers: Sequence[int], limit: float, tell: Callable[[str], None] = print
) -> None:
    """Measure each number of workers once."""
    for number in workers:
        asked = {"workers": number, "blocks": _BLOCKS_OF_WORKER, "rounds": _ROUNDS}

        def measure(number: int = number) -> Record:
            tell(f"{number} workers of tiny blocks ...")
            arguments = [sys.executable, "-m", "workflows.benchmarks.simulation", str(folder), str(number)]
            found, output = run(arguments, threads=1, limit=limit)
            return found if "failed" in found else json.loads(output.splitlines()[-1])

        records.measured(f"simulation/{number}", asked, measure)


def _measured(folder: Path, workers: int) -> Record:
    path = folder / f"tiny-{workers}.zarr"
    n_rows = workers * _BLOCKS_OF_WORKER * _ROWS_OF_BLOCK
    # one group of rows a worker; so few rows would form 8 groups
    types._LEAST_GROUPS = max(workers, types._LEAST_GROUPS)
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        chunks = dense(n_rows, _FEATURES)
        write_dataset(chunks, path, scale="none", rows_per_shard=_ROWS_OF_BLOCK, columns=True)
    train = distkern.open_dataset(path).train
    start = time.perf_counter()
    with open_executor("local", workers=workers) as executor:
        opened = time.perf_counter() - start
        # like workers of other hosts, which keep their groups at any cost
        executor.machine = dataclasses.replace(executor.machine, same_host=False)
        passes = _passes(train, executor)
        rounds = _rounds(train, executor)
    return {"opening_seconds": opened, "tasks": train.n_blocks, **passes, **rounds}


def _passes(train: Any, executor: Any) -> Record:
    """Seconds of a pass over all blocks, driver's CPU included, in the middle of some."""
    events, cpu = [], time.process_time()
    model = distkern.NewtonClassifier(features="linear", loss="logistic", stages=6, tol=0.0, random_state=0)
    model.fit_with(train, executor=executor, listeners=[events.append])
    cpu = time.process_time() - cpu
    finished = [
        event["seconds"] for event in events if event.kind == "pass_finished" and event["name"] == "gradient"
    ]
    of_all = [event for event in events if event.kind == "pass_finished"]
    return {"pass_seconds": median(finished), "driver_cpu_seconds_of_pass": cpu / len(of_all)}


def _rounds(train: Any, executor: Any) -> Record:
    """Seconds of a round, and what of it the driver takes itself."""
    events: list[Any] = []
    cpu: list[float] = []

    def listen(event: Any) -> None:
        if event.kind in ("pass_started", "pass_finished") and event["name"] == "rounds":
            events.append(event)
            cpu.append(time.process_time())

    model = distkern.SIMBAClassifier(
        nu=0.01,
        max_rounds=_ROUNDS,
        stages=2,
        patience=None,
        validation_fraction=0.0,
        rows_per_round=1,
        columns_per_round=1,
        random_state=0,
    )
    model.fit_with(train, executor=executor, listeners=[listen])
    last = events[-1].fields
    count = _ROUNDS / 2
    split = last["split_seconds"]
    return {
        "round_mode": last["mode"],
        "round_seconds": last["seconds"] / count,
        "round_driver_seconds": split["driver"] / count,
        "round_driver_cpu_seconds": (cpu[-1] - cpu[-2]) / count,
        "round_waiting_seconds": split["wait"] / count,
    }


def grown(records: Records) -> list[tuple[int, Record]]:
    """Measurements by the number of workers."""
    found = ((int(key), record) for key, record in records.under("simulation") if "failed" not in record)
    return sorted(found, key=lambda pair: pair[0])


def line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """a, b of y = a + b x by least squares, neither negative: what many workers are expected to take."""
    if len(x) < 2:
        return 0.0, y[0] / x[0]
    slope, start = np.polyfit(x, y, 1)
    if start < 0:
        slope, start = float(np.dot(x, y) / np.dot(x, x)), 0.0
    return max(float(start), 0.0), max(float(slope), 0.0)


if __name__ == "__main__":
    print(json.dumps(_measured(Path(sys.argv[1]), int(sys.argv[2]))))
