"""What ``plan`` says of a driver and a worker beside what ``train`` takes: never less, and not much more."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from distkern.data.ingest import write_dataset

#: rows, columns, classes (0: real targets), share of numbers that are not zero
DATA = {
    "real": (20_000, 20, 0, 1.0),
    "narrow": (40_000, 20, 2, 1.0),
    "digits": (8000, 784, 10, 1.0),
    "middle": (4000, 2000, 2, 1.0),
    "wide": (2000, 8000, 2, 1.0),
    "text": (8000, 8000, 2, 0.01),
    "texts": (8000, 8000, 10, 0.01),
}
#: what a plan may say at most, in measured peaks: it lets one worker hold all blocks and results of a pass,
#: and where a worker is smaller by the dashboard, that weighs more
MOST = 1.5
#: algorithm, data, scheduler, settings
JOBS = [
    ("csvrg", "narrow", "local", "n_landmarks=256 stages=2"),
    ("csvrg", "wide", "synchronous", "n_landmarks=256 landmarks=uniform stages=2"),
    ("csvrg", "wide", "local", "n_landmarks=256 stages=2"),
    ("csvrg", "texts", "local", "n_landmarks=128 stages=1"),
    ("avm", "digits", "local", "n_landmarks=256 stages=1"),
    ("simba", "middle", "local", "nu=0.1 max_rounds=400 stages=2"),
    ("simba", "text", "synchronous", "max_rounds=4000 stages=2"),
    ("pegasos", "text", "local", "stages=2"),
    ("pegasos", "digits", "synchronous", "features=random n_features=1024 stages=1"),
    ("dsg", "digits", "local", "n_features=2048 stages=1"),
    ("dsg", "narrow", "synchronous", "n_features=2048 stages=1 variant=udsg"),
    ("dsg", "middle", "local", "n_features=1024 stages=1 variant=cdsg"),
    ("svrg", "digits", "local", "n_features=1024 stages=1"),
    ("svrg", "wide", "local", "features=nystroem n_landmarks=256 stages=1"),
    ("svrg", "text", "synchronous", "features=nystroem n_landmarks=256 stages=1"),
    ("svrg", "wide", "local", "features=linear stages=1"),
    ("newton", "wide", "local", "n_landmarks=1024 stages=1"),
    ("newton", "digits", "synchronous", "n_landmarks=1024 stages=2 tol=0"),
    ("newton", "narrow", "local", "n_landmarks=1024 stages=2"),
    ("newton", "digits", "synchronous", "features=random n_features=16384 hessian=products stages=1"),
    ("newton", "narrow", "local", "features=random n_features=16384 hessian=products stages=1"),
    ("newton", "text", "local", "features=linear hessian=products stages=2"),
    ("cells", "narrow", "local", "search=quick"),
    ("cells", "narrow", "local", "search=none max_cell_rows=1000 overlap=0.3"),
    ("cells", "real", "synchronous", "search=none"),
    ("cells", "digits", "synchronous", "search=none"),
    ("cells", "digits", "local", "search=none metric=diagonal"),
    ("cells", "middle", "local", "search=none metric=full"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    for name, (rows, columns, classes, share) in DATA.items():
        rng = np.random.default_rng(0)
        if share < 1:
            features = sp.random_array(
                (rows, columns), density=share, rng=rng, dtype=np.float32, format="csr"
            )
        else:
            features = rng.standard_normal((rows, columns), dtype=np.float32)
        labels = np.asarray(features[:, :4] @ np.ones(4) * 7)
        labels = labels.round().astype(int) % classes if classes else labels
        chunks = [
            (features[start : start + 2000], labels[start : start + 2000]) for start in range(0, rows, 2000)
        ]
        write_dataset(
            chunks,
            folder / f"{name}.zarr",
            columns=name in ("middle", "text"),
            task="classification" if classes else "regression",
        )
    return folder


def run(folder, *arguments):
    command = [sys.executable, "-m", "distkern", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", ["--dashboard", "--no-dashboard"])
@pytest.mark.parametrize("number", range(len(JOBS)), ids=[" ".join(job[:3]) for job in JOBS])
def test_peaks_are_below_the_plan_and_not_far_below(folder, number, page):
    algorithm, data, scheduler, settings = JOBS[number]
    if scheduler != "local" and page == "--dashboard":
        pytest.skip("no workers that could serve one")
    flags = ["--data", f"{data}.zarr", "--algorithm", algorithm, "--scheduler", scheduler]
    flags += ["--workers", "1" if scheduler == "synchronous" else "2"]
    flags += [part for setting in settings.split() for part in ("--set", setting)]
    flags, out = [*flags, page], f"m{number}{page}"
    planned = json.loads(run(folder, "plan", *flags, "--json"))
    said = run(folder, "train", *flags, "--out", out)
    lines = (folder / out / "metrics.jsonl").read_text().splitlines()
    # the plan counts the importances too, which follow the last stage
    size, unit = re.search(r"^peak memory: .*driver ([0-9.]+) (MiB|GiB)$", said, re.MULTILINE).groups()
    peaks = {
        "driver": float(size) * {"MiB": 2**20, "GiB": 2**30}[unit],
        "worker": json.loads(lines[-1])["worker_peak_rss_bytes"],
    }
    for who, peak in peaks.items():
        expected = planned[f"{who}_bytes"]
        print(f"{who} {expected / 2**20:.0f} / {peak / 2**20:.0f} = {expected / max(peak, 1):.2f}", end="  ")
        if peak:
            assert peak <= expected <= MOST * peak
