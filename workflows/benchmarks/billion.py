"""What 10^9 rows of 50 numbers would take on many workers, from rates measured in the same run."""

from __future__ import annotations

from dataclasses import dataclass

from workflows.benchmarks.simulation import grown, line
from workflows.records import Record, Records

ROWS, N_FEATURES = 1e9, 50
WORKERS = (16, 100, 500)
_FLOAT = 4
#: bytes a second of a worker's network card (10 Gbit/s), and of the disk that its rows lie on
NETWORK = 1.25e9
#: rows of a task, as the planner's blocks of 16 MiB have
_TASK_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Way:
    """The work of an algorithm on the rows.

    Attributes
    ----------
    passes : number of passes over all rows
    functions : r, made of each row in each pass
    extra_flops : of a row in all passes together, beside making the functions
    result : numbers of a task's result
    message : numbers that are sent to every worker with each pass
    rounds : exchanges with all workers
    once : floating-point operations of the driver alone
    first : what is the first to break, where more workers or columns come
    """

    passes: float
    functions: int
    extra_flops: float
    result: float
    message: float
    rounds: float = 0.0
    once: float = 0.0
    first: str = ""


WAYS = {
    "csvrg, r = 1024, 5 stages": Way(
        10, 1024, 0.0, 1024, 2 * 1024, first="the loop over all rows, which one process runs"
    ),
    "svrg, r = 2048, 10 stages": Way(
        20, 2048, 20 * 4 * 2048, 2048, 2048, first="the loop over all batches, which one process runs"
    ),
    "newton, r = 4096, 10 steps": Way(
        12,
        4096,
        12 * 4 * 4096,
        4096,
        4096,
        once=3 * 4096**3,
        first="the matrix in the driver: 16 GiB at r = 46,000",
    ),
    "dsg, 16,384 features, 10 passes": Way(
        10,
        16384,
        0.0,
        4096,
        512,
        rounds=10 * ROWS / 4096 / 8,
        first="exchanges of the driver with every worker",
    ),
    "simba, 20,000 rounds": Way(
        0.2, 0, 0.0, 8, 8, rounds=20_000, first="the exchange with every worker in every round"
    ),
    "cells of 4,000 rows": Way(
        3, 0, 2 * 30 * 4000 * N_FEATURES + 4000**2, 64, 64, first="the sort of rows by cell, over the network"
    ),
}


def table(records: Records) -> list[Record]:
    """Seconds of reading, computing, moving and the driver for each algorithm and number of workers."""
    machine, simulated = records.get("machine"), grown(records)
    if machine is None or not simulated:
        return []
    counts = [number for number, _ in simulated]
    task = line([one["tasks"] for _, one in simulated], [one["pass_seconds"] for _, one in simulated])[1]
    # what the driver takes for its messages grows; workers that share no cores answer at the same time
    round_start, round_each = line(counts, [one["round_driver_cpu_seconds"] for _, one in simulated])
    round_start = max(round_start, simulated[0][1]["round_seconds"])
    tasks = ROWS * N_FEATURES * _FLOAT / _TASK_BYTES
    found = []
    for name, way in WAYS.items():
        flops = way.passes * 2.0 * way.functions * (N_FEATURES + 2) + way.extra_flops
        numbers = way.passes * way.functions
        row_seconds = flops / machine["sgemm_flops"] + numbers / machine["exp_numbers"]
        for workers in WORKERS:
            parts = {
                "reading": way.passes * ROWS * N_FEATURES * _FLOAT / machine["read_bytes"] / workers,
                "computing": ROWS * row_seconds / workers + way.once / machine["sgemm_flops"],
                # a tree of the workers folds results; messages go to each of them
                "moving": way.passes * 8.0 * (way.result * tasks / workers + way.message * workers) / NETWORK,
                "driver": way.passes * tasks * task + way.rounds * (round_start + round_each * workers),
            }
            found.append(
                {
                    "algorithm": name,
                    "workers": workers,
                    **parts,
                    "total": sum(parts.values()),
                    "largest": max(parts, key=parts.__getitem__),
                    "first": way.first,
                }
            )
    return found
