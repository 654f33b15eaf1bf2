"""Memory does not grow with the rows: measured peaks stay under what `plan` says, at 1x and at 20x."""

import json
from pathlib import Path

import pytest

from memory_processes import run

MAKE = """
import sys
import numpy as np
from distkern.storage.ingest import write_dataset
def chunks(rows):
    for number in range(rows // 20_000):
        generator = np.random.default_rng(number)
        features = generator.normal(size=(20_000, 64)).astype(np.float32)
        yield features, (features[:, 0] * features[:, 1] > 0).astype(int)
if __name__ == "__main__":
    write_dataset(chunks(int(sys.argv[1])), sys.argv[2])
"""
TRAIN = """
import json, sys
import distkern as dk
from distkern.passes.execution import peak_resident_bytes
from distkern.runs.run import plan, train
peaks = {"worker": 0}
def watch(event):
    if event.kind == "stage_finished":
        peaks["worker"] = max(peaks["worker"], event["metrics"]["worker_peak_rss_bytes"])
if __name__ == "__main__":
    data = dk.open_dataset(sys.argv[1])
    model = dk.CSVRGClassifier(n_landmarks=200, stages=1, landmarks="uniform", random_state=0)
    where = {"scheduler": "local", "workers": 2, "memory_limit": 288 * 2**20}
    planned = plan(model, data.train, **where)
    train(model, data.train, listeners=[watch], **where)
    print(json.dumps({
        "worker": peaks["worker"], "driver": peak_resident_bytes(),
        "planned_worker": planned.worker_bytes, "planned_driver": planned.driver_bytes,
    }))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from Linux's /proc")
def test_peaks_stay_within_the_plan_at_1x_and_20x(tmp_path):
    # the smaller data are just more than both workers may keep (a quarter of the limit), as the larger are
    found = []
    for rows in (640_000, 12_800_000):
        out = tmp_path / f"{rows}.zarr"
        run(MAKE, str(rows), str(out), folder=tmp_path)
        found.append(json.loads(run(TRAIN, str(out), folder=tmp_path).splitlines()[-1]))
    for peaks in found:
        assert peaks["worker"] <= peaks["planned_worker"]
        assert peaks["driver"] <= peaks["planned_driver"]
    for process in ("worker", "driver"):
        assert found[1][process] <= 1.1 * found[0][process]
