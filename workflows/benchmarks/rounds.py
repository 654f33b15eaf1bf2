"""Measure SIMBA's rounds a second on local worker processes, and the overhead of a round.

    python workflows/benchmarks/rounds.py --rows 1000000 --features 2000 --folder scratch

Generates and shards dense rows (or sparse ones with --per-row numbers) with a feature-major copy, unless they
are there; then runs the same rounds with the weights on the workers, and in this process. Prints milliseconds
of a round, how they divide between the driver and waiting for answers, the milliseconds of an exchange that
asks for nothing (Dask's latency), and whether both gave the same bits.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from generated import dense, sparse

import distkern
from distkern.core import blas
from distkern.data.ingest import write_dataset
from distkern.engine.executors import open_executor
from distkern.estimators.simba import SIMBAClassifier
from distkern.passes import Extent
from distkern.solvers._simba.messages import RoundMessage


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--per-row", type=int, help="numbers of a sparse row; dense rows if not given")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=1, help="rows and columns of a round")
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    train = data(options).train
    model = SIMBAClassifier(
        nu=0.01,
        max_rounds=options.rounds,
        stages=2,
        patience=None,
        validation_fraction=0.0,
        rows_per_round=options.batch,
        columns_per_round=options.batch,
        random_state=0,
    )
    found = {}
    for here in (False, True):
        with open_executor("local", workers=options.workers) as executor, blas.single_threaded():
            # workers of another host would get the weights at any cost
            executor.machine = dataclasses.replace(executor.machine, same_host=here)
            events: list = []
            model.fit_with(train, executor=executor, listeners=[events.append])
            found[here] = model.coefficients_.copy()
            rounds = [
                event.fields
                for event in events
                if event.kind == "pass_finished" and event.fields["name"] == "rounds"
            ]
            report(options, rounds[-1])
            if not here:
                latency(model, train, executor)
    print(f"same bits in one process: {np.array_equal(found[False], found[True])}")


def data(options: argparse.Namespace) -> distkern.data.dataset.Dataset:
    """Return the data set, and make it if it is missing."""
    kind = "dense" if options.per_row is None else f"sparse-{options.per_row}"
    path = options.folder / f"{kind}-{options.rows}-{options.features}.zarr"
    if not path.exists():
        rows = (
            dense(options.rows, options.features)
            if options.per_row is None
            else sparse(options.rows, options.features, options.per_row)
        )
        start = time.perf_counter()
        write_dataset(rows, path, sparse=options.per_row is not None, scale="none", columns=True)
        print(f"{path.name}: made in {time.perf_counter() - start:.0f} s")
    return distkern.open_dataset(path)


def report(options: argparse.Namespace, finished: dict) -> None:
    """Tell of the last stage, when everything is compiled and open."""
    per_round = 1e3 / (options.rounds / 2)
    split = finished["split_seconds"]
    print(
        f"{finished['mode']}: {finished['seconds'] * per_round:.2f} ms a round "
        f"({1e3 / (finished['seconds'] * per_round):.0f} a second), of which the driver "
        f"{split['driver'] * per_round:.2f}, waiting for answers {split['wait'] * per_round:.2f}"
    )


def latency(model: SIMBAClassifier, train, executor) -> None:  # type: ignore[no-untyped-def]
    """Milliseconds of an exchange that asks for no update and no row."""
    recipe = model.recipe()
    data = recipe.data_of(train)
    posed = recipe.pose(data, has_test=False)
    solver: Any = posed.solver
    problem = posed.problem
    basis = solver._basis(problem, np.empty((0, problem.n_features)), 1.0)
    step = solver._rounds(problem, solver._operand(problem, basis, units=0, draw=0))
    plan = step.plan(Extent.of(data.source), executor.machine)
    residents = executor.residents(step, plan, data.source, {}, lambda address: None)
    seconds = []
    for _ in range(600):
        start = time.perf_counter()
        residents.exchange(RoundMessage(None, None))
        seconds.append(time.perf_counter() - start)
    residents.close()
    print(f"an exchange that asks for nothing: {1e3 * statistics.median(seconds[100:]):.2f} ms")


if __name__ == "__main__":
    main()
