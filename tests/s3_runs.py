"""A small data set and a run on it, to make in a folder and in a bucket."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern import CSVRGClassifier
from distkern.data.dataset import Dataset
from distkern.data.ingest import write_dataset
from distkern.data.store import places
from distkern.show import metrics
from runs import train

N_ROWS, N_FEATURES, STAGES = 1200, 6, 3
#: what differs from run to run
_TIMES = ("seconds", "training_seconds", "peak_rss_bytes", "driver_peak_rss_bytes", "worker_peak_rss_bytes")


def rows() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    return features, (features[:, 0] * features[:, 1] > 0).astype(int)


def make(out: Any, **options: Any) -> Dataset:
    return write_dataset([rows()], out, test_fraction=0.25, rows_per_shard=300, **options)


def estimator(**changes: Any) -> CSVRGClassifier:
    parameters = {"n_landmarks": 16, "stages": STAGES, "tol": 0.0, "random_state": 0, **changes}
    return CSVRGClassifier(**parameters)


def run(dataset: Dataset, out: Any, **options: Any) -> CSVRGClassifier:
    fitted = train(estimator(), dataset.train, test=dataset.test, scheduler="synchronous", out=out, **options)
    assert isinstance(fitted, CSVRGClassifier)
    return fitted


def lines(folder: Any) -> list[dict[str, Any]]:
    read = metrics.read(places.place_of(folder) / "metrics.jsonl")
    return [{name: value for name, value in line.items() if name not in _TIMES} for line in read]
