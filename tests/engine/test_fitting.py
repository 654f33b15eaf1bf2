"""A run under a limit that it fits only if it keeps less and does less at a time trains, to the same bits."""

import copy
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import distkern as dk
from cluster_processes import settings_of
from distkern.cli.plan import plan as plan_command
from distkern.core.errors import MemoryBudgetError
from distkern.data.ingest import write_dataset
from runs import plan, train


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1200, 400)).astype(np.float32)
    path = tmp_path_factory.mktemp("fitting") / "d.zarr"
    write_dataset([(X, (X[:, 0] * X[:, 1] > 0).astype(int))], path, rows_per_shard=100)
    return path


def model():
    return dk.SVRGClassifier(n_features=64, stages=1, random_state=0)


@pytest.mark.slow
def test_a_run_that_does_not_fit_keeps_less_and_gives_the_same_bits(path):
    data, where = dk.open_dataset(path), {"scheduler": "threads", "workers": 2}
    generous = plan(model(), data.train, **where)
    assert not generous.savings
    limit = generous.driver_bytes - 2**16
    tight = plan(model(), data.train, **where, memory_limit=limit)
    assert tight.fits
    assert tight.savings
    assert tight.driver_bytes <= limit
    most = plan(model(), data.train, **where, memory_limit=2**20)
    assert len(most.savings) == 3
    assert not most.fits
    least = train(model(), data.train, **where, memory_limit=most.driver_bytes)
    whole = train(model(), data.train, **where)
    np.testing.assert_array_equal(least.coefficients_, whole.coefficients_)
    assert least.history_[-1]["objective"] == whole.history_[-1]["objective"]
    with pytest.raises(MemoryBudgetError):
        train(model(), data.train, **where, memory_limit=most.driver_bytes - 1)


@pytest.mark.parametrize(
    ("scheduler", "kind", "name", "given"),
    [
        ("synchronous", dk.NewtonClassifier, "n_landmarks", {}),
        ("local", dk.NewtonClassifier, "n_features", {"features": "random", "hessian": "matrix"}),
        ("synchronous", dk.CSVRGClassifier, "n_landmarks", {}),
    ],
)
def test_the_refusal_names_the_largest_number_that_fits(path, scheduler, kind, name, given):
    data, where = dk.open_dataset(path), {"scheduler": scheduler, "workers": 1, "memory_limit": 400 * 2**20}

    def planned(size):
        return plan(kind(**{name: size, "random_state": 0}, **given), data.train, test=data.test, **where)

    refused = planned(20_000)
    assert not refused.fits
    fitting = int(re.search(rf"--set {name}=(\d+)\)", refused.advice)[1])
    assert fitting > 100
    assert planned(fitting).fits
    assert not planned(fitting + 2).fits


@pytest.mark.parametrize(
    ("kind", "shape"), [(dk.NewtonClassifier, (1500, 40)), (dk.KernelClassifier, (400, 5))]
)
def test_memory_limits_of_estimators_hold_for_rows_in_memory(kind, shape):
    """The named limit is enough, and no coefficient of an algorithm depends on it."""
    random = np.random.default_rng(0)
    X = random.normal(size=shape)
    y = (X[:, 0] > 0).astype(int)

    def needed(limit):
        with pytest.raises(MemoryBudgetError) as refused:
            kind(memory_limit=limit, random_state=0).fit(X, y)
        return int(re.search(r"use memory_limit='(\d+)MiB'", str(refused.value))[1])

    enough = needed("1MB")
    fitted = kind(memory_limit=f"{enough}MiB", random_state=0).fit(X, y)
    if kind is dk.NewtonClassifier:
        np.testing.assert_array_equal(fitted.coefficients_, kind(random_state=0).fit(X, y).coefficients_)
        assert needed(f"{enough - 17}MiB") == enough


def test_updates_keep_the_memory_limit():
    """With the named limit the update has the bits of one without a limit."""
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 40))
    y = (X[:, 0] > 0).astype(int)
    fitted = dk.NewtonClassifier(random_state=0).fit(X[:1500], y[:1500])
    old = X[:1500], y[:1500]
    whole = copy.deepcopy(fitted).update(X[1500:], y[1500:], old=old)
    with pytest.raises(MemoryBudgetError) as refused:
        copy.deepcopy(fitted).set_params(memory_limit="1MB").update(X[1500:], y[1500:], old=old)
    enough = re.search(r"use memory_limit='(\d+MiB)'", str(refused.value))[1]
    limited = copy.deepcopy(fitted).set_params(memory_limit=enough).update(X[1500:], y[1500:], old=old)
    np.testing.assert_array_equal(limited.coefficients_, whole.coefficients_)
    assert limited.updates_[-1]["rows"] == 1500


def test_memory_limits_of_estimators_count_the_rows_in_memory():
    def needed(n_rows):
        model = dk.NewtonRegressor(memory_limit="1MB", features="linear", nu=1.0, scale="none")
        with pytest.raises(MemoryBudgetError) as refused:
            model.fit(np.ones((n_rows, 40), dtype=np.float32), np.arange(n_rows))
        return float(re.search(r"needs (.+) MiB", str(refused.value))[1])

    assert needed(400_000) - needed(200_000) == pytest.approx(200_000 * 40 * 4 / 2**20, abs=4)


def test_plan_says_what_it_does_less_of(path):
    data = dk.open_dataset(path)
    # the least that it can do with, where no search takes more
    alone = dk.SVRGClassifier(n_features=64, stages=1, gamma=1.0, nu=0.1, random_state=0)
    limit = plan(alone, data.train, scheduler="threads", workers=2, memory_limit=2**20).driver_bytes
    flags = [
        "--data",
        str(path),
        "--algorithm",
        "svrg",
        "--scheduler",
        "threads",
        "--workers",
        "2",
        "--seed",
        "0",
    ]
    flags += [*settings_of(n_features=64, stages=1, gamma=1.0, nu=0.1), "--memory-limit", str(limit)]
    shown = CliRunner().invoke(plan_command, flags)
    assert shown.exit_code == 0, shown.output
    assert "of blocks are kept instead of" in " ".join(shown.output.split())
    told = json.loads(CliRunner().invoke(plan_command, [*flags, "--json"]).output)
    assert told["fits"]
    assert "of blocks are kept instead of" in told["savings"][0]
