"""How close kernel rows come to the machine's limit, measured inside the tasks of workers under Dask's nanny.

    python workflows/benchmarks/kernel_rows.py --features 54 --landmarks 143 512 1000

Each task times, on its own block: the bare matrix product and exponential into one preallocated tile (the
limit), kernel
rows as every pass makes them, and the whole snapshot of CSVRG + ODM. Prints medians over tasks and the share
of the limit.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from distkern.core.types import AbstractSource, Block
from distkern.engine.executors import open_executor
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.kernels import find_kernel
from distkern.maths.losses.classes import OptimalMarginDistribution
from distkern.passes import Extent, Reduce
from distkern.solvers.coreset import snapshot
from distkern.solvers.measuring import Model
from distkern.solvers.risk import Risk


class RandomRows(AbstractSource):
    """Blocks of uniform random rows, made where they are needed."""

    def __init__(self, n_blocks: int, n_rows: int, n_features: int) -> None:
        self.block_rows = (n_rows,) * n_blocks
        self.n_features = n_features
        self.dtype = np.dtype(np.float32)
        self.fingerprint = f"random-{n_blocks}-{n_rows}-{n_features}"

    def reader(self, index: int) -> MakeRows:
        return MakeRows(index, self.block_rows[index], self.n_features)


class MakeRows:
    """Reads one block."""

    def __init__(self, index: int, n_rows: int, n_features: int) -> None:
        self.arguments = index, n_rows, n_features

    def __call__(self) -> Block:
        index, n_rows, n_features = self.arguments
        generator = np.random.default_rng(index)
        features = generator.random((n_rows, n_features), dtype=np.float32)
        return Block(features, (features[:, 0] > 0.5).astype(np.int32), None, index)


def timed(block: Block, model: Model) -> list[tuple[float, float, float]]:
    """Seconds of the limit, of kernel rows, and of a snapshot, the least of three."""
    basis, features = model.basis, block.features
    rows = np.ones((basis.tile_rows, features.shape[1] + 2), np.float32)
    columns = np.zeros((features.shape[1] + 2, basis.size), np.float32) - 0.01
    tile = np.empty((basis.tile_rows, basis.size), np.float32)

    def limit() -> None:
        for _ in range(0, block.n_rows, basis.tile_rows):
            np.matmul(rows, columns, out=tile)
            np.exp(tile, out=tile)

    def kernel_rows() -> None:
        for _ in basis.tiles(features):
            pass

    found = []
    for work in (limit, kernel_rows, lambda: snapshot(block, model)):
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        found.append(min(seconds))
    return [(found[0], found[1], found[2])]


def join(first: list, second: list) -> list:
    """All measurements."""
    return first + second


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--features", type=int, default=54)
    parser.add_argument("--landmarks", type=int, nargs="+", default=[143, 512, 1000])
    parser.add_argument("--rows", type=int, default=32768)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scheduler", default="local")
    options = parser.parse_args()
    source = RandomRows(8, options.rows, options.features)
    with open_executor(options.scheduler, workers=options.workers) as executor:
        for size in options.landmarks:
            landmarks = np.random.default_rng(0).random((size, options.features), dtype=np.float32)
            basis = LandmarkBasis(find_kernel("rbf").from_parameters(gamma=1.0), landmarks)
            risk = Risk(OptimalMarginDistribution(0.8, 0.4))
            step = Reduce("time", timed, join, Model(basis, np.ones((size, 1)), risk))
            plan = step.plan(Extent.of(source), executor.machine)
            for _ in range(2):  # the first warms up
                calls = step.calls(plan, source)
                found = np.array(executor.reduced("time", calls, join, lambda done: None).value)
            limit, rows, whole = np.median(found, axis=0)
            print(
                f"{options.features} features, {size} landmarks: limit "
                f"{limit * 1e9 / options.rows:.0f} ns a row; "
                f"kernel rows at {limit / rows:.0%} of it, snapshot at {limit / whole:.0%}"
            )


if __name__ == "__main__":
    main()
