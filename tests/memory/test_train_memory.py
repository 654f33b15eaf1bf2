"""Memory does not grow with the rows: measured peaks stay under what `plan` says, at 1x and at 20x."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from distkern.data.ingest import write_dataset
from memory_processes import run

MAKE = """
import sys
import numpy as np
from distkern.data.ingest import write_dataset
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
peaks = {"worker": 0}
def watch(event):
    if event.kind == "stage_finished":
        peaks["worker"] = max(peaks["worker"], event["metrics"]["worker_peak_rss_bytes"])
if __name__ == "__main__":
    import distkern as dk
    from distkern.core.processes import peak_resident_bytes
    from runs import plan, train
    data = dk.open_dataset(sys.argv[1])
    model = dk.CSVRGClassifier(n_landmarks=200, stages=1, landmarks="uniform", random_state=0)
    where = {"scheduler": "local", "workers": 2, "memory_limit": 304 * 2**20}
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


#: rows, columns, classes, share of numbers that are not zero
DATA = {"narrow": (20_000, 20, 10, 1.0), "middle": (2000, 2000, 2, 1.0), "wide": (2000, 8000, 10, 0.01)}
SETTINGS = {
    "CSVRGClassifier": {"n_landmarks": 128, "stages": 1},
    "AVMClassifier": {"n_landmarks": 128, "stages": 1},
    "SIMBAClassifier": {"nu": 0.1, "max_rounds": 200, "stages": 1},
    "PegasosClassifier": {"stages": 1},
    "DSGClassifier": {"n_features": 1024, "stages": 1},
    "SVRGClassifier": {"n_features": 512, "stages": 1},
    "NewtonClassifier": {"n_landmarks": 128, "stages": 1},
    "RBCDClassifier": {"n_features": 512, "stages": 1},
    "SDCAClassifier": {"n_features": 512, "stages": 1},
    "SBMDClassifier": {"n_features": 512, "stages": 1},
    "NORMAClassifier": {"max_support": 1000, "stages": 1},
    "DSGNoveltyDetector": {"n_features": 1024, "stages": 1},
    "DSGDensityRatio": {"n_features": 1024, "stages": 1},
    "DSGGaussianProcessRegressor": {"n_features": 1024, "stages": 1},
    "SDCARegressor": {"features": "kernel", "max_support": 20_000, "stages": 1, "nu": 0.01},
}
#: what these learn from instead of classes: two of them, and real targets
TWO, REAL = {"DSGDensityRatio"}, {"DSGGaussianProcessRegressor", "SDCARegressor"}
#: what is done, in a process of its own: prints the peaks that were planned and those that were there
DO = """
import json, sys

planned, peaks = {"driver": 0, "worker": 0}, {"worker": 0}

def remember(*given):
    plans, used = fitted(*given)
    planned["driver"] = max(plan.driver_bytes for plan in plans)
    planned["worker"] = max(plan.worker_bytes for plan in plans)
    return plans, used

def watch(event):
    if event.kind == "stage_finished":
        peaks["worker"] = max(peaks["worker"], event["metrics"]["worker_peak_rss_bytes"])

# workers import this file too, and shall not import more than those of a job
if __name__ == "__main__":
    import distkern as dk
    import distkern.runs.limits as limits
    import distkern.runs.run as runs
    from distkern.core.processes import peak_resident_bytes
    from distkern.runs.scoring import predict_to

    fitted = runs.fitted
    what, data, model, scheduler, settings = sys.argv[1:]
    runs.fitted = limits.fitted = remember
    workers = 1 if what == "alone" else 2
    split, where = dk.open_dataset(data).train, {"scheduler": scheduler, "workers": workers}
    if what in ("train", "alone"):
        name, parameters = json.loads(settings)
        estimator = getattr(dk, name)(random_state=0, **parameters)
        runs.train(estimator.recipe(), split, out=model, listeners=[watch], **where)
    elif what == "evaluate":
        runs.evaluate(dk.load_model(model).model_, split, **where)
    else:
        predict_to(dk.load_model(model).model_, split, model + ".npy", **where)
    print(json.dumps([planned, {"driver": peak_resident_bytes(), **peaks}]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("solvers")
    for name, (rows, columns, classes, share) in DATA.items():
        rng = np.random.default_rng(0)
        features = rng.standard_normal((rows, columns), dtype=np.float32)
        if share < 1:
            features = sp.random_array((rows, columns), density=share, rng=rng, dtype=np.float32).tocsr()
        targets = np.asarray(features[:, :4] @ np.ones(4) * 7)
        labels = targets.round().astype(int) % classes
        write_dataset([(features, labels)], folder / f"{name}.zarr", columns=True)
        write_dataset([(features, labels % 2)], folder / f"{name}-two.zarr")
        write_dataset([(features, targets)], folder / f"{name}-real.zarr", task="regression")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("algorithm", SETTINGS)
def test_peaks_are_below_the_plan(folder, algorithm, data):
    model, settings = folder / f"{algorithm}-{data}", json.dumps([algorithm, SETTINGS[algorithm]])
    data += "-two" if algorithm in TWO else "-real" if algorithm in REAL else ""
    for what, scheduler in (("train", "local"), ("evaluate", "synchronous"), ("predict", "synchronous")):
        printed = run(DO, what, str(folder / f"{data}.zarr"), str(model), scheduler, settings, folder=folder)
        planned, peaks = json.loads(printed.splitlines()[-1])
        for who, peak in peaks.items():
            print(f"{what} {who} {planned[who] / 2**20:.0f} / {peak / 2**20:.0f}", end="  ")
            assert peak <= planned[who], (what, who)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_features"), [(20_008, 1024), (40_001, 1600)])
def test_one_worker_that_sends_matrices_takes_what_is_planned(tmp_path, n_rows, n_features):
    """Eight blocks, whose Gram matrices go to the driver all at once; 16, which are added up before."""
    features = np.random.default_rng(0).standard_normal((n_rows, 20), dtype=np.float32)
    labels = (features[:, 0] > 0).astype(int)
    data = tmp_path / "rows.zarr"
    write_dataset([(features, labels)], data, rows_per_shard=2501)
    parameters = {"n_features": n_features, "stages": 1, "gamma": 0.1, "nu": 1e-4}
    settings = json.dumps(["SVRGClassifier", parameters])
    printed = run(DO, "alone", str(data), str(tmp_path / "m"), "local", settings, folder=tmp_path)
    planned, peaks = json.loads(printed.splitlines()[-1])
    assert peaks["worker"] <= planned["worker"]
    assert peaks["driver"] <= planned["driver"]
