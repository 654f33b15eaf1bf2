"""Choosing an algorithm keeps to the memory limit: smaller samples, then a refusal before it starts."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import distkern as dk
from distkern.core.errors import MemoryBudgetError
from distkern.data.ingest import write_dataset
from distkern.estimators import arena
from distkern.estimators.arena import Arena, ArenaSizes
from distkern.estimators.sample import FoldedSample
from distkern.passes import Machine
from distkern.runs.data import from_arrays
from distkern.runs.limits import Choosing
from distkern.runs.sources import ArraySource
from memory_processes import run

MIB = 2**20
#: the real growth of a process while it chooses, the estimate, and what the choice leaves
GROWTH = """
import json, sys
import numpy as np
import distkern as dk
from distkern.core import blas
from distkern.core.processes import peak_resident_bytes
from distkern.runs.data import from_arrays

n_rows, n_columns, n_classes, limit = map(int, sys.argv[1:])
X, y = rows(n_rows, n_columns, n_classes)
kind = dk.KernelClassifier if n_classes else dk.KernelRegressor
recipe = kind(random_state=0, memory_limit=limit * 2**20 if limit else None).recipe()
data = from_arrays(X, y, None, recipe.task)
estimate = recipe.choosing_bytes(data)[0] - data.source.n_rows * data.source.row_bytes
before = peak_resident_bytes()
with blas.single_threaded():
    recipe._searched(data)
print(json.dumps([peak_resident_bytes() - before, estimate]))
"""
ROWS = """
import numpy as np

def rows(n_rows, n_columns, n_classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    f = 3 * np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    if not n_classes:
        return X, f + 0.3 * rng.standard_normal(n_rows)
    f = f + rng.logistic(size=n_rows)
    return X, np.searchsorted(np.quantile(f, np.arange(1, n_classes) / n_classes), f)
"""


def rows(n_rows, n_columns, n_classes):
    names = {}
    exec(ROWS, names)
    return names["rows"](n_rows, n_columns, n_classes)


def source_of(n_rows, n_columns, n_classes):
    X, y = rows(n_rows, n_columns, n_classes)
    return ArraySource(X, y, None)


@pytest.mark.parametrize("n_classes", [0, 2, 10])
def test_sizes_shrink_with_the_limit_until_they_fit(n_classes):
    source = source_of(20_000, 10, n_classes)
    process = Machine("synchronous", 1, has_library=True).driver_base_bytes
    full = ArenaSizes.of(source, n_classes)
    assert full.sample_rows == 10_000
    assert ArenaSizes.of(source, n_classes, limit=2**40) == full
    before, seen = full, set()
    for limit in range(800, 0, -20):
        found = ArenaSizes.of(source, n_classes, limit=limit * MIB)
        fits = process + found.bytes_for(source)[0] <= limit * MIB
        # only the smallest sizes may not fit
        assert fits or (found.sample_rows, found.exact_rows) == (1000, 1000)
        assert (found.sample_rows, found.exact_rows) <= (before.sample_rows, before.exact_rows)
        before = found
        seen.add((found.sample_rows, found.exact_rows))
    assert len(seen) > 8
    few = source_of(300, 10, n_classes)
    assert ArenaSizes.of(few, n_classes, limit=1).sample_rows == 300


def test_a_sample_has_the_rows_of_its_sizes():
    X, y = rows(5000, 4, 2)
    data = from_arrays(X, y, None, "classification")
    sizes = ArenaSizes.of(data.source, 2)
    assert Arena.of(data, 0, sizes).sample.rows.n_rows == 5000
    few = Arena.of(data, 0, replace(sizes, sample_rows=1200)).sample
    assert 1200 <= few.rows.n_rows <= 1202
    again = FoldedSample.of(data.source, data.classes, 0, data.class_totals / 5000, n_rows=1200)
    np.testing.assert_array_equal(few.rows.features, again.rows.features)


def test_rows_in_memory_are_refused_before_the_choice_and_the_advice_works(monkeypatch):
    X, y = rows(3000, 5, 2)
    told = []

    def refused(*arguments, **named):
        raise AssertionError("no choice may start")

    with monkeypatch.context() as patched:
        patched.setattr(arena.Arena, "of", refused)
        for limit in ("100MiB", "330MiB"):
            with pytest.raises(MemoryBudgetError, match="choosing the algorithm needs") as error:
                dk.KernelClassifier(memory_limit=limit, random_state=0).fit(X, y)
            told.append(str(error.value))
    assert "algorithm=" not in told[0]
    name = re.search(r"or algorithm='(\w+)', so that nothing is tried", told[1])[1]
    dk.KernelClassifier(memory_limit="330MiB", algorithm=name, random_state=0).fit(X[:600], y[:600])
    enough = [re.search(r"use memory_limit='(\d+MiB)'", text)[1] for text in told]
    assert enough[0] == enough[1]
    model = dk.KernelClassifier(memory_limit=enough[0], random_state=0).fit(X, y)
    assert model.history_[-1]["candidates"]


def test_a_run_counts_what_its_choice_has_loaded():
    X, y = rows(3000, 5, 2)
    recipe = dk.KernelClassifier(random_state=0).recipe()
    choosing = Choosing.of(recipe, from_arrays(X, y, None, recipe.task))
    machine = Machine("synchronous", 1, has_library=False)
    after = choosing.before(machine)
    assert (after.has_solved, after.has_compiled) == (True, True)
    assert after.driver_base_bytes > machine.driver_base_bytes
    assert choosing.driver_bytes(after) == choosing.driver_bytes(machine)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choosing")
    X, y = rows(20_000, 10, 2)
    parts = [(X[start : start + 2000], y[start : start + 2000]) for start in range(0, 20_000, 2000)]
    write_dataset(parts, folder / "d.zarr")
    return folder


def command(folder, *arguments):
    whole = [sys.executable, "-m", "distkern", *arguments]
    return subprocess.run(whole, cwd=folder, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["synchronous", "local"])
def test_plan_and_train_refuse_alike_and_their_advice_works(folder, scheduler):
    job = ["--data", "d.zarr", "--scheduler", scheduler]
    told = [
        command(folder, name, *job, "--memory-limit", "160MiB", *out)
        for name, out in (("plan", []), ("train", ["--out", f"{scheduler}-0"]))
    ]
    advice = []
    for one in told:
        assert one.returncode == 2
        advice.append(re.search(r"choosing the algorithm needs .*", one.stderr)[0])
    assert advice[0] == advice[1]
    assert not (folder / f"{scheduler}-0").exists()
    name = re.search(r"or --set (algorithm=\w+), so that", advice[1])[1]
    enough = re.search(r"use --memory-limit (\w+)", advice[1])[1]
    for number, more in enumerate((["160MiB", "--set", name], [enough])):
        out = f"{scheduler}-{number + 1}"
        done = command(folder, "train", *job, "--memory-limit", *more, "--out", out)
        if scheduler == "synchronous" and done.returncode == 2:
            # what workers could train is too much for this process, and one more step helps
            name = re.search(r"or --set (algorithm=\w+), so that", done.stderr)[1]
            done = command(folder, "train", *job, "--memory-limit", more[0], "--set", name, "--out", out)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["400MiB", "512MiB"])
def test_the_driver_chooses_within_the_limit(folder, limit):
    """On local workers the driver has only the choice to make."""
    job = ["--data", "d.zarr", "--memory-limit", limit, "--workers", "1"]
    planned = json.loads(command(folder, "plan", *job, "--json").stdout)
    out = f"m{limit}"
    assert command(folder, "train", *job, "--out", out).returncode == 0
    last = json.loads((folder / out / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["driver_peak_rss_bytes"] <= planned["driver_bytes"]
    assert planned["passes"][0]["name"] == "choosing"
    assert last["driver_peak_rss_bytes"] <= int(limit[:-3]) * MIB


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes", "limit"),
    [
        (500, 10, 2, 0),
        (500, 10, 0, 0),
        (20_000, 10, 2, 0),
        (20_000, 10, 4, 0),
        (20_000, 10, 0, 0),
        (20_000, 100, 0, 0),
        (20_000, 10, 2, 400),
        (20_000, 10, 0, 350),
        (20_000, 100, 2, 420),
        (20_000, 100, 4, 512),
    ],
)
def test_peaks_of_choosing_are_below_the_estimate(tmp_path, n_rows, n_columns, n_classes, limit):
    sizes = map(str, (n_rows, n_columns, n_classes, limit))
    grown, estimate = json.loads(run(ROWS + GROWTH, *sizes, folder=tmp_path).splitlines()[-1])
    print(f"grown {grown / MIB:.0f}, estimated {estimate / MIB:.0f}")
    # a process has 110 MiB before it chooses
    assert grown <= estimate
    assert estimate + 110 * MIB <= 1.35 * (grown + 110 * MIB)
