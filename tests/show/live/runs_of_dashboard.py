"""Made-up runs for the tests of the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FACTS = {
    "id": "one",
    "algorithm": "csvrg",
    "data": "/data/digits.zarr",
    "out": "/models/m",
    "client": "Client-1",
    "began": 0.0,
}


def metrics(stage: int, **more: Any) -> dict[str, Any]:
    """A line of ``metrics.jsonl``."""
    return {
        "stage": stage,
        "passes": 2.0 * stage + 1,
        "seconds": 3.0 * stage + 1,
        "objective": 1 + 0.5**stage,
        "train_error": 0.3 * 0.5**stage,
        "test_error": 0.31 * 0.5**stage,
        "model_size": 100 + stage,
        "feature_accesses": 10 * stage,
        "rows_read": 10,
        "bytes_read": 2**20,
        "peak_rss_bytes": 2**28,
        "driver_peak_rss_bytes": 2**28,
        "worker_peak_rss_bytes": 2**27,
        **more,
    }


def event(kind: str, time: float, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "time": time, "fields": fields}


def started(time: float = 0.0, **more: Any) -> dict[str, Any]:
    fields = {
        "algorithm": "csvrg",
        "n_rows": 1000,
        "n_features": 5,
        "stages": 4,
        "workers": 2,
        "dashboard": None,
        "resumed_from": None,
    }
    return event("run_started", time, **{**fields, **more})


def a_pass(time: float, stage: int, *, steps: int = 4, name: str = "snapshot") -> Iterator[dict[str, Any]]:
    """The events of a pass of 1000 rows and 8000 bytes that takes ``steps`` seconds."""
    about = {"name": name, "stage": stage, "tasks": steps, "rows": 1000}
    yield event("pass_started", time, bytes=8000, **about)
    for step in range(1, steps + 1):
        share = step / steps
        yield event(
            "pass_progress",
            time + step,
            tasks_done=step,
            rows_done=int(1000 * share),
            bytes_done=int(8000 * share),
            **about,
        )
    yield event(
        "pass_finished",
        time + steps,
        name=name,
        stage=stage,
        seconds=float(steps),
        rows=1000,
        bytes=8000,
        mode="workers",
        split_seconds={"read": 1.0, "work": 2.0},
    )


def whole_run(stages: int = 4, *, finished: bool = True) -> Iterator[dict[str, Any]]:
    """A run of a pass and a checkpoint for each stage."""
    yield started()
    time = 0.0
    for stage in range(stages + 1):
        yield from a_pass(time, stage)
        time += 4
        yield event("stage_finished", time, metrics=metrics(stage))
        yield event("checkpoint_saved", time, stage=stage, path="/models/m", seconds=0.1)
    if finished:
        yield event("run_finished", time, result="finished", seconds=time)
