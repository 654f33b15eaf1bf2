"""Commands on few rows work in their own process, where nothing says otherwise, and find the same."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

from cluster_processes import finish, settings_of, start_distkern, wait_for
from distkern.cli.job import Job, placed
from distkern.cli.main import main
from distkern.cli.options import scheduler_for, where_to_run
from distkern.core.types import AbstractSource
from distkern.data.dataset import open_dataset
from distkern.data.ingest import write_dataset
from distkern.runs.algorithms import load_model

N_ROWS = 1000
JOB = ["--algorithm", "csvrg", *settings_of(n_landmarks=40, gamma=0.3, stages=2, tol=0.0)]
#: what no command on few rows has a use for: a cluster, lazy arrays, other algorithms
NOT_USED = (
    "dask.array",
    "dask_ml",
    "distributed",
    "distkern.solvers.simba",
    "pandas.core",
    "scipy.stats.distributions",
)
MORE_STAGES = ["--algorithm", "csvrg", *settings_of(n_landmarks=60, gamma=0.3, stages=40, tol=0.0)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set of few rows in several shards, a model of it, and a file of rows."""
    folder = tmp_path_factory.mktemp("few")
    features = np.random.default_rng(0).normal(size=(N_ROWS + 200, 6)).astype(np.float32)
    labels = (features[:, 0] * features[:, 1] > 0).astype(int)
    rows, test = slice(N_ROWS), slice(N_ROWS, None)
    write_dataset(
        [(features[rows], labels[rows])],
        folder / "d.zarr",
        test_chunks=[(features[test], labels[test])],
        rows_per_shard=100,
    )
    np.save(folder / "rows.npy", features[test])
    np.savetxt(folder / "rows.csv", features[test], delimiter=",", header="a,b,c,d,e,f", comments="")
    assert main(["train", "--data", str(folder / "d.zarr"), "--out", str(folder / "m"), *JOB]) == 0
    return folder


def test_the_model_is_the_one_that_workers_make(folder, tmp_path):
    ours = load_model(folder / "m")
    job = ["train", "--data", str(folder / "d.zarr"), *JOB]
    assert main([*job, "--out", str(tmp_path / "m"), "--scheduler", "synchronous"]) == 0
    np.testing.assert_array_equal(load_model(tmp_path / "m").coefficients_, ours.coefficients_)


def test_the_run_says_that_it_is_in_this_process(folder, tmp_path, capsys):
    job = ["--data", str(folder / "d.zarr"), *JOB]
    assert main(["plan", *job]) == 0
    planned = capsys.readouterr().out
    assert "in this process (no limit given)" in planned
    assert "per worker" not in planned
    assert main(["train", *job, "--out", str(tmp_path / "m")]) == 0
    told = capsys.readouterr()
    first = told.err.splitlines()[0]
    assert first.startswith("csvrg: 1,000 rows x 6 features on ")
    assert first.endswith("of this process")
    assert "dashboard" not in told.err
    assert "peak memory: driver" in told.out


@pytest.mark.slow
def test_the_plan_is_that_of_the_run_which_imports_what_it_uses(folder, tmp_path, capsys):
    job = ["--data", str(folder / "d.zarr"), *JOB]
    assert main(["plan", *job, "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["worker_bytes"] == 0
    out = str(tmp_path / "m")
    commands = [
        ["train", *job, "--out", out, "--json"],
        ["evaluate", out, "--data", str(folder / "d.zarr")],
        ["predict", out, "--data", str(folder / "d.zarr"), "--out", str(tmp_path / "p.npy")],
        ["predict", out, str(folder / "rows.npy"), "--out", str(tmp_path / "q.npy")],
        ["predict", out, str(folder / "rows.csv"), "--out", str(tmp_path / "q.csv")],
        ["inspect", out],
        ["shard", str(folder / "rows.csv"), "--out", str(tmp_path / "d.zarr"), "--task", "none"],
    ]
    code = (
        "import sys\nfrom distkern.cli.main import main\n"
        f"for command in {commands}:\n    assert main(command) == 0, command\n"
        "from multiprocessing.resource_tracker import _resource_tracker as helper\n"
        f"print(sorted(set({NOT_USED}) & set(sys.modules)), helper._pid)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    told = ran.stdout.splitlines()
    assert told[-1] == "[] None"
    measured = json.loads(told[0])
    assert measured["worker_peak_rss_bytes"] == 0
    assert 0 < measured["driver_peak_rss_bytes"] <= planned["driver_bytes"]


def test_more_rows_and_anything_that_is_asked_for_go_to_workers():
    assert scheduler_for(16 * 2**20, anything_given=False) == "threads"
    assert scheduler_for(16 * 2**20 + 1, anything_given=False) == "local"
    assert scheduler_for(None, anything_given=False) == "local"
    assert scheduler_for(1, anything_given=True) == "local"
    for limits in ({"workers": 2, "memory_limit": None}, {"workers": None, "memory_limit": 2**30}):
        assert where_to_run(1, None, **limits) == {"scheduler": "local", **limits}
    assert where_to_run(1, "processes", workers=2) == {"scheduler": "processes", "workers": 2}


def test_a_job_says_where_it_runs(folder, monkeypatch):
    dataset = open_dataset(folder / "d.zarr")

    def scheduler(dashboard=None, **given):
        return placed(Job(data="d.zarr", **given), dataset, dashboard).scheduler

    assert scheduler() == scheduler(dashboard=False) == "threads"
    assert scheduler(dashboard=True) == scheduler(workers=2) == scheduler(memory_limit=2**30) == "local"
    assert scheduler(scheduler="local") == "local"
    assert scheduler(scheduler="synchronous") == "synchronous"
    monkeypatch.setattr(AbstractSource, "row_bytes", 16 * 2**20 // (N_ROWS + 200) + 1)
    assert scheduler() == "local"


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_bits_of_a_cluster(folder, tmp_path):
    job = ["train", "--data", str(folder / "d.zarr"), *MORE_STAGES]
    killed, other = tmp_path / "killed", tmp_path / "cluster"
    process = start_distkern(*job, "--out", str(killed))
    wait_for(lambda: any((killed / "checkpoints").glob("stage-*")))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert not (killed / "model.json").exists(), "killed too late"
    finish(start_distkern(*job, "--out", str(killed), "--resume"))
    finish(start_distkern(*job, "--out", str(other), "--scheduler", "local", "--workers", "2"))
    np.testing.assert_array_equal(load_model(killed).coefficients_, load_model(other).coefficients_)


def test_the_report_of_a_chosen_linear_machine_has_the_test_rows_also_after_a_killed_run(tmp_path):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 4)).astype(np.float32)
    labels = (features[:, 0] - 2 * features[:, 1] + rng.normal(size=400) > 0).astype(int)
    write_dataset([(features, labels)], tmp_path / "d.zarr", test_fraction=0.25)
    train = ["train", "--data", str(tmp_path / "d.zarr"), "--out", str(tmp_path / "m")]
    assert main(train) == 0
    assert load_model(tmp_path / "m").model_.settings.given["features"] == "linear"
    report = tmp_path / "m" / "report.html"
    for _ in range(2):
        for words in ("base rate, test rows", "test AUC", "ROC curve", "Calibration", "Classes, test rows"):
            assert words in report.read_text()
        # a run that was killed after its model was written has no report
        report.unlink()
        assert main([*train, "--resume"]) == 0
