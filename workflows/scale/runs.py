"""Measure the commands of a user and peers on a number of rows."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from workflows.orphans import killed_with_this
from workflows.processes import ROOT, distkern, environment, peaks, run
from workflows.records import Record, Records
from workflows.scale import rows
from workflows.scale.peers import OF_ONE_THREAD

#: of a process that trains, and of one that predicts
TRAINING, PREDICTING = "1GiB", "512MiB"
N_TEST = 100_000
#: unless others are asked for
WORKERS = 2
#: seconds between two checks of the checkpoints of a run
_LOOK = 0.2
#: name -> options of ``train``; none for the first
JOBS: dict[str, list[str]] = {
    "auto": [],
    "newton": ["--algorithm", "newton"],
    "dsg": ["--algorithm", "dsg", "--set", "n_features=4096", "--set", "stages=2"],
    "csvrg": ["--algorithm", "csvrg", "--set", "n_landmarks=256", "--set", "stages=2", "--set", "tol=0"],
    "simba": ["--algorithm", "simba", "--set", "max_rounds=2000", "--set", "stages=2", "--set", "nu=0.01"],
    "cells": ["--algorithm", "cells", "--set", "search=none", "--set", "metric=diagonal", "--set", "C=3"],
}
#: jobs that also learn real targets
REAL = ("auto", "newton", "dsg", "cells")


class Scale:
    """Measurements, each made once.

    Parameters
    ----------
    folder : where rows, data sets and models lie meanwhile
    limit : seconds of a command
    n_workers : of each of our jobs, and threads of LightGBM
    """

    def __init__(
        self,
        records: Records,
        folder: Path,
        limit: float,
        tell: Callable[[str], None] = print,
        n_workers: int = WORKERS,
    ) -> None:
        self.records, self.folder, self.limit, self.tell = records, folder, limit, tell
        self.n_workers = n_workers

    def measure(
        self, n_rows: int, target: str, jobs: Sequence[str], peers: Sequence[str], kills: int = 0
    ) -> None:
        """What is missing of a size."""
        known = [job for job in jobs if target == "class" or job in REAL]
        tasks = [(job, lambda name: self.train(name, n_rows, target)) for job in known]
        tasks += [
            (f"killed/{job}", lambda name: self.killed(name, n_rows, target, kills)) for job in known if kills
        ]
        # nothing new is learned of a thread with another number of workers
        apart = () if self.n_workers == WORKERS else OF_ONE_THREAD
        tasks += [(peer, lambda name: self.peer(name, n_rows, target)) for peer in peers if peer not in apart]
        asked = {"rows": n_rows, "target": target, "workers": self.n_workers}
        for key, task in tasks:
            name = key.rpartition("/")[2]
            own = {**asked, "said": JOBS.get(name, []), **({"kills": kills} if key != name else {})}

            def measured(task: Callable[[str], Record] = task, key: str = key, name: str = name) -> Record:
                self.tell(f"{key}, {target}, {n_rows:,} rows, {self.n_workers} workers ...")
                self.shard(n_rows, target)
                return task(name)

            self.records.measured(self._key(key, n_rows, target), own, measured)

    def remove(self, n_rows: int, target: str) -> None:
        """What lies on disk of a size."""
        shutil.rmtree(self._place(n_rows, target), ignore_errors=True)

    def shard(self, n_rows: int, target: str) -> None:
        """The files of a size and their data set, which is measured."""
        place = self._place(n_rows, target)
        place.mkdir(parents=True, exist_ok=True)
        files = {"train": (n_rows, rows.TRAIN), "test": (N_TEST, rows.TEST)}
        for name, (number, seed) in files.items():
            if not (place / f"{name}.npy").exists():
                rows.write(place / f"{name}.npy", number, seed, target)
        data = place / "data.zarr"
        if data.exists():
            return
        task = "classification" if target == "class" else "regression"
        words = ["shard", place / "train.npy", "--test", place / "test.npy", "--target", "-1", "--task", task]
        words += ["--scale", "none", "--columns", "--out", data]
        found = self._command(*words)
        found["bytes"] = _bytes(data)
        self.records.put(f"shard/{target}/{n_rows}", {"asked": {"rows": n_rows, "target": target}, **found})

    def train(self, name: str, n_rows: int, target: str) -> Record:
        """``train`` and ``predict`` of one job."""
        place = self._place(n_rows, target)
        data, model, predictions = place / "data.zarr", place / f"{name}.model", place / "predictions.npy"
        shutil.rmtree(model, ignore_errors=True)
        found = self._command(*self._training(name, place, model))
        if "failed" in found:
            return found
        lines = [json.loads(line) for line in (model / "metrics.jsonl").read_text().splitlines()]
        last = [line for line in lines if line.get("test_error") is not None][-1]
        words = ["predict", model, "--data", data, "--split", "train", *self._workers()]
        predicted = self._command(*words, "--memory-limit", PREDICTING, "--out", predictions)
        error = last["test_error"] if target == "class" else last["test_error"] ** 0.5
        found |= {"error": error, "passes": last["passes"], "bytes": _bytes(model), "predict": predicted}
        predictions.unlink(missing_ok=True)
        return {**found, "bits": _bits(model)}

    def killed(self, name: str, n_rows: int, target: str, kills: int) -> Record:
        """Measure whether a run that is killed and resumed ``kills`` times returns the same model."""
        whole = self.records.get(self._key(name, n_rows, target))
        if whole is None or "failed" in whole:
            return {"failed": "the run without kills did not end well"}
        place = self._place(n_rows, target)
        model = place / f"{name}.killed"
        shutil.rmtree(model, ignore_errors=True)
        words = [*map(str, self._training(name, place, model)), "--resume"]
        delays = np.random.default_rng(0).uniform(0.0, whole["wall_seconds"] / (kills + 1), kills)
        happened, start = 0, time.perf_counter()
        while happened < kills and _killed(words, model, delays[happened]):
            happened += 1
        found: Record = {} if (model / "model.json").exists() else self._command(*words)
        same = "failed" not in found and _bits(model) == whole["bits"]
        shutil.rmtree(model, ignore_errors=True)
        return {**found, "killed": happened, "same_bits": same, "all_seconds": time.perf_counter() - start}

    def peer(self, name: str, n_rows: int, target: str) -> Record:
        """A peer, in a process of its own."""
        place = self._place(n_rows, target)
        files = [str(place / f"{part}.npy") for part in ("train", "test")]
        words = [sys.executable, "-m", "workflows.scale.peers", name, *files, target]
        found, output = run(words, threads=self.n_workers, limit=self.limit)
        if "failed" in found:
            return found
        answer = json.loads(output.splitlines()[-1])
        return {**found, "error": answer["error"], "driver_peak": answer["peak"], "worker_peak": 0}

    def _place(self, n_rows: int, target: str) -> Path:
        return self.folder / f"{target}-{n_rows}"

    def _training(self, name: str, place: Path, model: Path) -> list[str | Path]:
        words: list[str | Path] = ["train", "--data", place / "data.zarr", *JOBS[name], "--out", model]
        return [*words, *self._workers(), "--memory-limit", TRAINING, "--no-dashboard"]

    def _workers(self) -> tuple[str, str]:
        return "--workers", f"{self.n_workers}"

    def _key(self, name: str, n_rows: int, target: str) -> str:
        """Only measurements with other numbers of workers are named by them."""
        folder = "" if self.n_workers == WORKERS else f"workers-{self.n_workers}/"
        return f"{folder}{name}/{target}/{n_rows}"

    def _command(self, *words: str | Path) -> Record:
        with peaks() as peak:
            found, _ = distkern(*map(str, words), threads=1, limit=self.limit)
        return {**found, **peak}


def _killed(words: Sequence[str], model: Path, seconds: float) -> bool:
    """Train, and kill the driver and its workers so long after something was kept that was not there before.

    Returns
    -------
    whether it was killed: it may end before
    """
    before = _kept(model)
    process = subprocess.Popen(
        [sys.executable, "-m", "distkern", *words],
        cwd=ROOT,
        env=environment(1),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with killed_with_this(process.pid):
        while process.poll() is None and _kept(model) <= before:
            time.sleep(_LOOK)
        try:
            process.wait(timeout=seconds)
            return False
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return True


def _kept(model: Path) -> set[Path]:
    """What a run has kept so far: the stages of its checkpoints, and the results of tasks."""
    stages = set(model.glob("checkpoints/stage-*"))
    return stages.union(
        *(model.glob(f"{part}/**/[0-9]*.json") for part in ("search", "moved", "machines", "passes"))
    )


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _bits(model: Path) -> str:
    """A digest of the arrays of a model, and of the machines of its cells."""
    digest = hashlib.sha256()
    for part in ("arrays", "machines"):
        for file in sorted((model / part).rglob("*")):
            # which folder the machines are in, and no part of them
            if file.is_file() and file.name != "here":
                digest.update(str(file.relative_to(model)).encode() + file.read_bytes())
    return digest.hexdigest()
