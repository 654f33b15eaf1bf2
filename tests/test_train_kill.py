"""A run survives a kill in every phase and at any time: of the driver, which is resumed, and of a worker."""

import json
import os
import random
import signal
import time

import numpy as np
import pytest

from cluster_processes import Processes, finish, settings_of, start_distkern, wait_for, worker_processes
from distkern import CSVRGClassifier
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.runs.algorithms import load_model
from problems import waves
from runs import train

KILLS = 20
N_ROWS = 12_000


def of_cells(n_rows, n_features, *, seed=0, **options):
    """Shards of 4,000 rows of two classes that alternate."""
    return [waves(n_rows, n_features, seed)], {"scale": "none", "rows_per_shard": 4000, **options}


def many(rows):
    """24 times ``rows`` training rows in 12 shards, and some test rows: enough for a run of some seconds."""

    def chunks(n_chunks, offset):
        for number in range(n_chunks):
            generator = np.random.default_rng(offset + number)
            features = generator.normal(size=(rows, 12)).astype(np.float32)
            yield features, (np.abs(features[:, :4]).sum(axis=1) > 3.0).astype(int)

    return chunks(24, 0), {"test_chunks": chunks(2, 100), "rows_per_shard": 2 * rows}


def by_columns():
    """Rows with a copy by features, for rounds."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((40_000, 60), dtype=np.float32)
    y = X[:, :20].sum(axis=1) + generator.standard_normal(40_000) > 0
    options = {"test_chunks": [(X[36_000:], y[36_000:])], "rows_per_shard": 3000}
    return [(X[:36_000], y[:36_000])], {"scale": "none", "columns": True, **options}


def few(task):
    """Rows in 8 shards, of two classes or of real targets."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((N_ROWS, 10), dtype=np.float32)
    targets = np.abs(X[:, :3]).sum(axis=1) + 0.3 * generator.standard_normal(N_ROWS, dtype=np.float32)
    y = (targets > 2.3).astype(int) if task == "classification" else targets
    return [(X, y)], {"task": task, "rows_per_shard": N_ROWS // 8}


#: name -> chunks of rows and how they are written
DATA = {
    "many": lambda: many(10_000),
    "columns": by_columns,
    # more rows than the sample of a search, in two parts to be moved
    "cells": lambda: of_cells(100_000, 100, test_fraction=0.05),
    "old": lambda: of_cells(30_000, 20),
    "new": lambda: of_cells(5000, 20, seed=1),
    "classification": lambda: few("classification"),
    "regression": lambda: few("regression"),
}

#: more stages than are made before the kill is noticed
GROWING = {"n_features": 2048, "stages": 16, "steps_per_stage": N_ROWS}
PASSES = {"stages": 16, "tol": 0.0}
#: the papers' other machines and comparison methods: name -> algorithm, its rows, settings
MACHINES = {
    "novelty": ("dsg_novelty", "classification", {**GROWING, "nu": 0.1}),
    "density ratio": ("dsg_density_ratio", "classification", GROWING),
    "Gaussian process": ("dsg_gaussian_process", "regression", {**GROWING, "n_features": 1024, "noise": 0.5}),
    "k-NORMA": ("norma", "classification", {"max_support": 3000, "stages": 16}),
    "r-NORMA": ("norma", "regression", {"features": "random", "n_features": 256, "stages": 16}),
    "k-SDCA": (
        "sdca",
        "classification",
        {**PASSES, "features": "kernel", "loss": "hinge", "nu": 1e-3, "max_support": N_ROWS},
    ),
    "n-SDCA": ("sdca", "regression", {**PASSES, "features": "nystroem", "n_landmarks": 256}),
    "r-RBCD": ("rbcd", "classification", {**PASSES, "n_features": 512, "block_size": 128}),
    "n-SBMD": ("sbmd", "regression", {"features": "nystroem", "n_landmarks": 256, "stages": 16}),
}
CELLS = {"kernel": "rbf", "scale": "none", "max_cell_rows": 400}
SEARCHED = {**CELLS, "search": "quick"}
JOBS = {
    "csvrg": (
        "csvrg",
        "many",
        {"n_landmarks": 60, "stages": 6, "tol": 0.0, "lam": 64.0, "steps_per_stage": 1.0},
    ),
    "rounds": (
        "simba",
        "columns",
        {"nu": 0.02, "max_rounds": 6000, "stages": 6, "patience": None, "validation_fraction": 0.0},
    ),
    "cells": ("cells", "cells", SEARCHED),
    "cells with probabilities": ("cells", "cells", {**SEARCHED, "probability": "true"}),
    "cells without search": (
        "cells",
        "cells",
        {**CELLS, "search": "none", "metric": "full", "scale": "standard"},
    ),
    "cells before": ("cells", "old", {**CELLS, "search": "none", "max_cell_rows": 300}),
    **MACHINES,
}
UPDATE = "update of cells"
#: job, phase -> what the run has written when it is in that phase
PHASES = {
    ("cells", "search"): "search/metric/*",
    ("cells", "partition"): "checkpoints/stage-00000",
    ("cells", "move"): "moved/*.rows",
    ("cells", "solve"): "machines/*.json",
    ("cells with probabilities", "calibrate"): "search/calibrated/*",
    ("cells without search", "metric"): "search/metric*",
    ("cells", "write"): "checkpoints/stage-00002",
    (UPDATE, "move new rows"): "moved/new/*.rows",
    (UPDATE, "move"): "moved/old/*.rows",
    (UPDATE, "cut"): "moved/cuts/*.json",
    (UPDATE, "solve"): "machines/*.json",
    (UPDATE, "write"): "checkpoints/stage-00002",
    **{(name, "first stages"): "checkpoints/stage-*[1-9]" for name in MACHINES},
}
#: what a model is made of beside its coefficients
BESIDE_COEFFICIENTS = {"csvrg": "landmarks_", "rounds": "constants_"}
WORKERS = ("--scheduler", "local", "--workers", "2")


class Runs:
    """Data sets, and runs that nobody kills, made when they are first asked for."""

    def __init__(self, folder):
        self.folder = folder

    def data(self, name):
        path = self.folder / f"{name}.zarr"
        if not path.exists():
            chunks, options = DATA[name]()
            write_dataset(chunks, path, **options)
        return path

    def start(self, job, out, *flags):
        if job == UPDATE:
            words = ("update", self.whole("cells before"), "--data", self.data("old"), self.data("new"))
        else:
            algorithm, rows, settings = JOBS[job]
            words = ("train", "--data", self.data(rows), "--algorithm", algorithm, "--seed", "3")
            words += tuple(settings_of(**settings))
        return start_distkern(*map(str, words), "--out", str(out), "--no-dashboard", *flags)

    def start_until(self, phase, job, out):
        """Start it, and wait until it is in a phase; it must not have ended before that was seen."""
        process = self.start(job, out, *WORKERS)
        while process.poll() is None:
            if next(out.glob(PHASES[job, phase]), None) is not None:
                return process
            time.sleep(0.005)
        raise AssertionError(f"no {phase} was seen: {process.communicate()[1]}")

    def whole(self, job):
        out = self.folder / job
        if not out.exists():
            finish(self.start(job, out, "--scheduler", "synchronous"))
        return out

    def check(self, job, out):
        """All arrays and numbers that were fitted have the same bits as without a kill."""
        mine, expected = load_model(out), load_model(self.whole(job))
        beside = "machines_" if "cells" in job else BESIDE_COEFFICIENTS.get(job, "coefficients_")
        for name in ("coefficients_", beside):
            assert isinstance(getattr(expected, name), np.ndarray)
        np.testing.assert_equal(mine.model_.arrays(), expected.model_.arrays())
        np.testing.assert_equal(mine.model_.facts(), expected.model_.facts())


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("kill"))


def kill(process):
    """The nannies of a local cluster notice and go; the workers are theirs."""
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def wait_for_stage(out, stage):
    wait_for(lambda: list(out.glob(f"checkpoints/stage-*{stage}")), 120)


@pytest.mark.parametrize(
    "places",
    [
        [("threads", 1), ("threads", 4)],
        pytest.param([("processes", 2)], marks=pytest.mark.slow),
        pytest.param([("local", 1), ("local", 2)], marks=pytest.mark.slow),
    ],
    ids=["threads", "processes", "clusters"],
)
def test_the_bits_do_not_depend_on_scheduler_or_workers(places, tmp_path):
    """Clusters: those of one and the same size are in the default tests of executors and of estimators."""
    chunks, options = many(1000)
    data, found = write_dataset(chunks, tmp_path / "d.zarr", **options), []
    for scheduler, workers in [("synchronous", 1), *places]:
        model = CSVRGClassifier(n_landmarks=60, stages=2, lam=64.0, random_state=3)
        out = tmp_path / f"{scheduler}-{workers}"
        train(model, data.train, test=data.test, scheduler=scheduler, workers=workers, out=out)
        found.append(load_model(out))
    for model in found[1:]:
        np.testing.assert_array_equal(model.coefficients_, found[0].coefficients_)
        np.testing.assert_array_equal(model.landmarks_, found[0].landmarks_)


@pytest.mark.slow
@pytest.mark.parametrize(("job", "phase"), [key for key in PHASES if key[0] not in MACHINES])
def test_driver_killed_in_a_phase_and_resumed(job, phase, runs, tmp_path):
    out = tmp_path / "m"
    kill(runs.start_until(phase, job, out))
    if job == UPDATE:
        # the model that it goes on from is as it was
        load_model(runs.whole("cells before")).score(np.zeros((2, 20), np.float32), [0, 1])
    if not (out / "model.json").exists():
        finish(runs.start(job, out, *WORKERS, "--resume"))
    runs.check(job, out)
    left = {entry.name for entry in out.iterdir()}
    assert left >= {"model.json", "arrays", "machines", "metrics.jsonl"}
    assert not left & {"search", "moved"} or phase == "write"


@pytest.mark.slow
@pytest.mark.parametrize(("job", "phase"), [key for key in PHASES if key[1] != "write"])
def test_worker_killed_in_a_phase(job, phase, runs, tmp_path):
    out = tmp_path / "m"
    process = runs.start_until(phase, job, out)
    workers = worker_processes(process.pid)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    assert not (out / "model.json").exists()
    # the nanny's next one
    wait_for(lambda: len(worker_processes(process.pid)) == 2 or process.poll() is not None)
    assert process.poll() is None or (out / "model.json").exists()
    finish(process)
    runs.check(job, out)


def test_all_machines_of_the_papers_are_killed():
    compared = {"norma", "rbcd", "sbmd", "sdca"}
    other_machines = {"dsg_density_ratio", "dsg_gaussian_process", "dsg_novelty"}
    assert {algorithm for algorithm, _, _ in MACHINES.values()} >= compared | other_machines


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["threads", "local"])
def test_driver_killed_at_random_times_and_resumed(runs, tmp_path, scheduler):
    flags = ("--scheduler", scheduler, "--workers", "2")
    runs.data("many")
    started = time.perf_counter()
    finish(runs.start("csvrg", tmp_path / "whole", *flags))
    seconds = time.perf_counter() - started
    runs.check("csvrg", tmp_path / "whole")
    generator = random.Random(0)
    kills = KILLS if scheduler == "threads" else KILLS // 4
    resumed_from = set()
    for number in range(kills):
        out = tmp_path / f"killed-{number}"
        process = runs.start("csvrg", out, *flags)
        time.sleep(generator.uniform(0.1, 1.0) * seconds)
        kill(process)
        # killed after its last step, a run may leave checkpoints beside a whole model
        whole_already = (out / "model.json").exists()
        if not whole_already:
            with pytest.raises(InputError):
                load_model(out)
            checkpoints = sorted(path.name for path in out.glob("checkpoints/stage-*"))
            resumed_from.add(checkpoints[-1] if checkpoints else "nothing")
            finish(runs.start("csvrg", out, *flags, "--resume"))
        runs.check("csvrg", out)
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        assert [line["stage"] for line in lines] == list(range(7))
        assert whole_already or not (out / "checkpoints").exists()
    assert len(resumed_from) >= (3 if kills == KILLS else 2), "the kills should hit several stages"


@pytest.mark.slow
def test_workers_killed_in_a_pass(runs, tmp_path):
    process = runs.start("csvrg", tmp_path / "hit", *WORKERS)
    killed = 0
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if (tmp_path / "hit" / "checkpoints").exists() and killed < 2:
            workers = worker_processes(process.pid)
            if workers:
                os.kill(workers[0], signal.SIGKILL)
                killed += 1
        time.sleep(0.3)
    finish(process)
    assert killed > 0
    runs.check("csvrg", tmp_path / "hit")


@pytest.mark.slow
def test_workers_killed_in_the_middle_of_rounds(runs, tmp_path):
    generator, out = random.Random(0), tmp_path / "m"
    with Processes(tmp_path, 3, host="127.0.0.2") as cluster:
        process = runs.start("rounds", out, "--scheduler", cluster.address)
        for stage in (1, 2, 4):
            wait_for_stage(out, stage)
            time.sleep(generator.uniform(0, 0.5))
            victim = generator.choice(cluster.workers)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            cluster.workers.remove(victim)
            if stage > 1:
                # the first time, the others take over
                cluster.add_worker()
        finish(process)
    runs.check("rounds", out)


@pytest.mark.slow
def test_driver_killed_in_the_middle_of_rounds(runs, tmp_path):
    out = tmp_path / "m"
    with Processes(tmp_path, 2, host="127.0.0.2") as cluster:
        process = runs.start("rounds", out, "--scheduler", cluster.address)
        wait_for_stage(out, 3)
        time.sleep(0.3)
        kill(process)
        finish(runs.start("rounds", out, "--scheduler", cluster.address, "--resume"))
    runs.check("rounds", out)
