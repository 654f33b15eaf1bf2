"""Jobs as ``distkern train`` runs them, in this process: their curves, seconds and sizes."""

from __future__ import annotations

import contextlib
import io
import json
import math
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import distkern
from distkern.cli.main import main
from distkern.core import processes
from distkern.data.ingest import write_dataset
from workflows.processes import peak_bytes
from workflows.records import Record
from workflows.subsets import gathered

Settings = Mapping[str, Any]
#: keys of metrics.jsonl kept for each stage
_KEPT = (
    *("passes", "steps", "objective", "train_error", "test_error", "test_rmse", "model_size", "gap"),
    *("feature_accesses", "feature_accesses_nonzero"),
)
#: settings of a small first run
_SMALL = {"n_features": 16, "n_landmarks": 16, "block_size": 16, "batch_size": 16, "steps_per_stage": 64}
#: algorithms and features whose loops this process has compiled or loaded
_ready: set[tuple[str, str]] = set()


def trained(
    *,
    algorithm: str,
    settings: Settings,
    seed: int,
    data: str,
    fingerprint: str = "",
    job: str = "",
    predicting: bool = False,
) -> Record:
    """Train and measure in a temporary folder.

    Parameters
    ----------
    settings : the job's ``[params]``
    data : path of the data set
    fingerprint : of the data set: it makes questions of other data other ones
    job : file to leave the job in, for ``distkern train`` by hand
    predicting : whether the held-out rows are predicted as well

    Returns
    -------
    curve : of each stage its figures, and ``cpu_seconds`` of training so far: the wall seconds that the run
        says it was not measuring for, times the share of the processor that it had
    cpu_seconds : of the whole run
    model_bytes : of the model's arrays
    more_bytes : of resident memory at most, than before; where the system tells
    predict_seconds : of the processor, for a held-out row
    or failed : what the command said, in a line
    """
    _prepare(algorithm, settings)
    if job:
        path = Path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(job_text(algorithm, settings, seed, data, path.stem))
    with tempfile.TemporaryDirectory() as folder:
        base, wall, cpu = _resident(), time.perf_counter(), time.process_time()
        failed = _train(algorithm, settings, seed, data, Path(folder, "model"))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if failed:
            return {"failed": failed}
        peak = peak_bytes()
        text = Path(folder, "model", "metrics.jsonl").read_text()
        lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
        size = sum(
            path.stat().st_size for path in Path(folder, "model", "arrays").rglob("*") if path.is_file()
        )
        found = {"predict_seconds": _predicted(folder, data)} if predicting else {}
    share = min(1.0, cpu / wall)
    curve = [
        {name: line[name] for name in _KEPT if name in line}
        | {"cpu_seconds": share * line["training_seconds"]}
        for line in lines
    ]
    if base is not None:
        found["more_bytes"] = peak - base
    return {"curve": curve, "cpu_seconds": cpu, "model_bytes": size, **found}


def job_text(algorithm: str, settings: Settings, seed: int, data: str, out: str) -> str:
    """A job file."""
    head = {"algorithm": algorithm, "data": data, "out": out, "seed": seed, "scheduler": "synchronous"}
    # numbers, texts, truth values and lists are written alike in TOML
    lines = [f"{name} = {json.dumps(value)}" for name, value in head.items()]
    lines += ["", "[params]", *(f"{name} = {json.dumps(value)}" for name, value in settings.items())]
    return "\n".join(lines) + "\n"


def _train(algorithm: str, settings: Settings, seed: int, data: str, out: Path) -> str:
    """Run the command; return its error message, or None."""
    file = out.with_suffix(".toml")
    file.write_text(job_text(algorithm, settings, seed, data, str(out)))
    said, wrong = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(wrong):
        status = main(["train", str(file), "--no-dashboard"])
    lines = [line for line in wrong.getvalue().splitlines() if line.strip()]
    return "" if status == 0 else (lines or [f"exit status {status}"])[-1][:400]


def _resident() -> int | None:
    """Bytes of this process now, from which on its peak is counted anew; None where that cannot be told."""
    processes.trim()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return peak_bytes()


def _predicted(folder: str, data: str) -> float:
    """Return CPU seconds of a prediction for one held-out row."""
    model = distkern.load_model(Path(folder, "model"))
    X, _ = gathered(distkern.open_dataset(data).test)
    model.predict(X[:64])
    start = time.process_time()
    model.predict(X)
    return (time.process_time() - start) / len(X)


def _prepare(algorithm: str, settings: Settings) -> None:
    """Compile, so that no seconds of a measured run go there."""
    key = algorithm, str(settings.get("features", ""))
    if key in _ready:
        return
    _ready.add(key)
    small = {**settings, **{name: value for name, value in _SMALL.items() if name in settings}, "stages": 1}
    regression = settings.get("loss") == "square"
    generator = np.random.default_rng(0)
    X = generator.standard_normal((128, 4)).astype(np.float32)
    y = X[:, 0] if regression else (X[:, 0] > 0).astype(int)
    task = "regression" if regression else "classification"
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "small.zarr")
        write_dataset(iter([(X, y)]), data, test_fraction=0.25, scale="none", task=task)
        _train(algorithm, small, 0, str(data), Path(folder, "model"))


def at(curve: list[dict[str, float]], name: str, value: float) -> dict[str, float] | None:
    """The last point of a curve whose ``name`` is at most ``value``; None before the first."""
    reached = [point for point in curve if point[name] <= value * (1 + 1e-9)]
    return reached[-1] if reached else None


def exponent(x: list[float], y: list[float]) -> float:
    """b of y = a x^b by least squares of the logarithms; NaN where there are not two points above 0."""
    kept = [(math.log(a), math.log(b)) for a, b in zip(x, y, strict=True) if a > 0 and b > 0]
    if len({a for a, _ in kept}) < 2:
        return math.nan
    across, up = np.array(kept).T
    return float(np.polyfit(across, up, 1)[0])
