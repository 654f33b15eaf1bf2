"""How seconds and memory grow with the rows, by a user's commands, and what ``plan`` says of the memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from workflows.benchmarks.generated import dense
from workflows.processes import distkern
from workflows.records import Record, Records

N_FEATURES = 50
#: algorithm -> settings with which the work of a row does not depend on how many there are
ALGORITHMS = {
    "csvrg": ["n_landmarks=256", "landmarks=uniform", "stages=2", "tol=0"],
    "svrg": ["n_features=1024", "stages=2", "tol=0"],
    "newton": ["n_landmarks=512", "stages=1", "loss=squared_hinge"],
    "dsg": ["n_features=4096", "stages=2"],
    "simba": ["stages=2", "max_rounds=2000", "nu=0.01"],
    "cells": ["search=quick"],
}


class Growth:
    """Runs of ``shard``, ``train`` and ``predict`` on generated rows, each measured once.

    Parameters
    ----------
    folder : where the rows and models lie meanwhile
    """

    def __init__(
        self, records: Records, folder: Path, limit: float, tell: Callable[[str], None] = print
    ) -> None:
        self.records, self.folder, self.limit, self.tell = records, folder, limit, tell

    def run(self, n_rows: int, workers: int, algorithms: Sequence[str]) -> None:
        """All measurements of a size on so many workers."""
        data = self.shard(n_rows)
        for name in algorithms:
            self.train(name, data, n_rows, workers)
        shutil.rmtree(self.folder / "models", ignore_errors=True)

    def shard(self, n_rows: int) -> Path:
        """The data set, sharded from a Parquet file, which goes again."""
        data, source = self.folder / f"{n_rows}.zarr", self.folder / f"{n_rows}.parquet"

        def measure() -> Record:
            self.tell(f"shard {n_rows:,} rows ...")
            self.folder.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(data, ignore_errors=True)
            _write(source, n_rows)
            flags = ("--target", "y", "--test-fraction", "0.02", "--scale", "none", "--columns")
            found, _ = self._distkern("shard", str(source), "--out", str(data), *flags)
            found["bytes"] = source.stat().st_size
            source.unlink()
            return found

        asked = {"rows": n_rows, "features": N_FEATURES}
        key = f"growth/shard/{n_rows}"
        if not data.exists() and self.records.get(key) is not None:
            # its seconds are known, its rows are gone
            measure()
        self.records.measured(key, asked, measure)
        return data

    def train(self, name: str, data: Path, n_rows: int, workers: int) -> Record:
        """``plan``, ``train`` and ``predict`` of one algorithm."""
        settings = [part for setting in ALGORITHMS[name] for part in ("--set", setting)]
        out = self.folder / "models" / f"{name}-{n_rows}-{workers}"
        job = ["--data", str(data), "--algorithm", name, *settings, "--workers", str(workers)]

        def measure() -> Record:
            self.tell(f"{name}, {n_rows:,} rows, {workers} workers ...")
            shutil.rmtree(out, ignore_errors=True)
            planned, text = self._distkern("plan", *job, "--json")
            if "failed" in planned:
                return planned
            found, _ = self._distkern("train", *job, "--out", str(out), "--no-dashboard")
            if "failed" in found:
                return found
            lines = (out / "metrics.jsonl").read_text().splitlines()
            last, plan = json.loads(lines[-1]), json.loads(text)
            predicted = out.parent / f"{out.name}.npy"
            prediction, _ = self._distkern(
                "predict",
                str(out),
                "--data",
                str(data),
                "--split",
                "train",
                "--workers",
                str(workers),
                "--out",
                str(predicted),
            )
            predicted.unlink(missing_ok=True)
            return {
                **found,
                "error": last["test_error"],
                "run_seconds": last["seconds"],
                "passes": last["passes"],
                "predict_seconds": prediction.get("wall_seconds"),
                **{
                    f"{process}_{kind}": value
                    for process in ("worker", "driver")
                    for kind, value in (
                        ("peak_bytes", last.get(f"{process}_peak_rss_bytes")),
                        ("planned_bytes", plan[f"{process}_bytes"]),
                    )
                },
            }

        asked = {"rows": n_rows, "workers": workers, "settings": ALGORITHMS[name], "features": N_FEATURES}
        return self.records.measured(f"growth/{name}/{n_rows}-{workers}", asked, measure)

    def _distkern(self, *arguments: str) -> tuple[Record, str]:
        return distkern(*arguments, threads=1, limit=self.limit)


def _write(path: Path, n_rows: int) -> None:
    names = [f"x{column}" for column in range(N_FEATURES)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for rows, labels in dense(n_rows, N_FEATURES):
            columns = [*np.ascontiguousarray(rows.T), labels]
            writer.write_table(pa.table(columns, schema=schema))
