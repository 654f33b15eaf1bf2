"""Compare `distkern shard` of a CSV file with pyarrow's reader and a plain zarr write, in turns.

    python workflows/benchmarks/sharding.py --rows 1000000 --columns 54
    python workflows/benchmarks/sharding.py --csv covtype.csv --target cover_type --shard "--test-fraction .2"

Each is a process of its own on the same file. The peer reads the whole file into memory with all threads,
makes one float32 array of it and writes that, with zarr's default codec and chunks of as many rows as ours
have. What `shard` does beside that: it never has more than a part of the file in memory, checks every number,
shuffles the rows, scales the columns and keeps what was found with the data set. Prints wall and CPU seconds
of both, and the peer's wall seconds by ours.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

_PEER = """
import sys
import numpy as np, zarr
from pyarrow import csv
table = csv.read_csv(sys.argv[1])
rows = np.empty((table.num_rows, table.num_columns), dtype=np.float32)
for number, column in enumerate(table.columns):
    rows[:, number] = column.to_numpy()
chunks = int(sys.argv[3]), rows.shape[1]
array = zarr.create_array(sys.argv[2], shape=rows.shape, dtype=rows.dtype, chunks=chunks)
array[:] = rows
"""
_ROWS_PER_CHUNK = 16_384


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--csv", type=Path, help="a file with a header; without it one is generated")
    parser.add_argument("--target", default="target", help="its column of targets")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the generated file")
    parser.add_argument("--columns", type=int, default=54)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--shard", default="", help="further options of `distkern shard`")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = options.csv or _generated(Path(folder, "rows.csv"), options.rows, options.columns)
        ratios = []
        for number in range(options.repeats):
            ours, theirs = Path(folder, f"ours{number}.zarr"), Path(folder, f"theirs{number}.zarr")
            shard = ["-m", "distkern", "shard", str(source), "--target", options.target, "--out", str(ours)]
            seconds, cpu = _timed([sys.executable, *shard, *shlex.split(options.shard)])
            plain, plain_cpu = _timed(
                [sys.executable, "-c", _PEER, str(source), str(theirs), str(_ROWS_PER_CHUNK)]
            )
            ratios.append(plain / seconds)
            print(
                f"shard {seconds:.1f} s ({cpu:.1f} CPU s), {_mib(ours):.0f} MiB; pyarrow and zarr "
                f"{plain:.1f} s ({plain_cpu:.1f}), {_mib(theirs):.0f} MiB; theirs / ours {ratios[-1]:.2f}"
            )
        print(f"{_mib(source):.0f} MiB of CSV; median theirs / ours {statistics.median(ratios):.2f}")


def _generated(path: Path, n_rows: int, n_columns: int) -> Path:
    """Tenths, whole numbers and flags in turn, as tables of measurements have them, and two classes."""
    generator = np.random.default_rng(0)
    formats = ["%.4f", "%d", "%d"]
    with path.open("w") as file:
        file.write(",".join([*(f"x{column}" for column in range(n_columns)), "target"]) + "\n")
        for start in range(0, n_rows, 50_000):
            rows = generator.normal(size=(min(50_000, n_rows - start), n_columns + 1))
            rows[:, 1::3] = np.round(1000 * rows[:, 1::3])
            rows[:, 2::3] = rows[:, 2::3] > 0
            rows[:, -1] = rows[:, 0] + rows[:, 3] > 0
            np.savetxt(
                file, rows, fmt=[*(formats[column % 3] for column in range(n_columns)), "%d"], delimiter=","
            )
    return path


def _timed(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of a process and its children."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system
    return seconds, used - before.children_user - before.children_system


def _mib(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file()) / 2**20


if __name__ == "__main__":
    main()
