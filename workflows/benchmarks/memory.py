"""Memory does not grow with the rows: trains on data sets of two sizes and prints peaks against the plan.

    python workflows/benchmarks/memory.py --gib 20 --memory-limit 512MiB --folder scratch

Generates virtual digits (the demo's generator) shard by shard, as many as asked for and a twentieth of that;
trains CSVRG + ODM on two local worker processes with that limit each; compares the measured peaks with what
`distkern plan` says, and with each other. Needs twice the size in disk space while the data set is made.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import distkern
from distkern.demo.digits import VirtualDigits
from distkern.storage.ingest import write_dataset

ROW_BYTES = 64 * 4
SETTINGS = ["n_landmarks=128", "landmarks=uniform", "stages=1", "gamma=0.5", "lam=1024.0"]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gib", type=float, default=20.0)
    parser.add_argument("--memory-limit", default="512MiB")
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    found = []
    for share in (1 / 20, 1):
        n_rows = int(options.gib * share * 2**30 / ROW_BYTES)
        data, out = options.folder / f"{n_rows}.zarr", options.folder / f"{n_rows}.model"
        start = time.perf_counter()
        if not data.exists():
            digits = VirtualDigits(0)
            write_dataset(
                digits.chunks(n_rows, "train"), data, test_chunks=digits.chunks(20_000, "test"), scale="none"
            )
        made = time.perf_counter()
        planned = json.loads(command("plan", data, out, options, "--json"))
        if not (out / "model.json").exists():
            command("train", data, out, options, "--no-dashboard")
        trained = time.perf_counter()
        last = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])
        found.append(last)
        print(
            f"{distkern.open_dataset(data)!r}: made in {made - start:.0f} s, "
            f"trained in {trained - made:.0f} s, test error {last['test_error']:.4f}"
        )
        for process in ("worker", "driver"):
            peak, promise = last[f"{process}_peak_rss_bytes"], planned[f"{process}_bytes"]
            print(f"  {process}: peak {peak / 2**20:.0f} MiB, planned {promise / 2**20:.0f} MiB")
    for process in ("worker", "driver"):
        small, large = (line[f"{process}_peak_rss_bytes"] for line in found)
        print(f"{process}: {large / small:.3f} times the peak at a twentieth of the rows")


def command(name: str, data: Path, out: Path, options: argparse.Namespace, *flags: str) -> str:
    """Run a distkern command as a user would."""
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    arguments = [
        sys.executable,
        "-m",
        "distkern",
        name,
        "--data",
        str(data),
        "--out",
        str(out),
        "--workers",
        "2",
        "--memory-limit",
        options.memory_limit,
        *settings,
        *flags,
    ]
    done = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


if __name__ == "__main__":
    main()
