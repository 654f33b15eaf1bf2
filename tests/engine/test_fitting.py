"""A run under a limit that it fits only if it keeps less and does less at a time trains, to the same bits."""

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
