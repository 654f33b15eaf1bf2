"""Limits of the system that a run cannot do with are named before they end it, or make it hang."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from distkern.cli.main import explain
from distkern.core import blas, processes
from distkern.core.errors import InputError, MemoryBudgetError
from distkern.data.ingest import write_dataset
from distkern.engine.executors import open_executor


@pytest.fixture
def limits(monkeypatch):
    """Limits, soft and hard, that this process believes to have."""
    pretended = {}
    real = resource.getrlimit
    monkeypatch.setattr(resource, "getrlimit", lambda kind: pretended.get(kind) or real(kind))
    monkeypatch.setattr(resource, "setrlimit", pretended.__setitem__)
    monkeypatch.setattr(blas, "_reserved", False)
    return pretended


def opened(scheduler):
    with open_executor(scheduler, workers=2) as executor:
        executor._start()


@pytest.mark.skipif(processes.address_space() is not None, reason="the address space is limited")
@pytest.mark.parametrize("start", [lambda: opened("threads"), lambda: opened("local"), blas._reserve])
def test_too_little_address_space_is_refused_before_anything_starts(limits, start):
    blas._reserve()
    assert not blas._reserved
    limits[resource.RLIMIT_AS] = (2**24, 2**24)
    with pytest.raises(MemoryBudgetError, match=r"ulimit -v: .* limited to 16 MiB.*ulimit -v unlimited"):
        start()


def test_buffers_of_blas_are_reserved_where_the_address_space_is_limited(limits):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits[resource.RLIMIT_AS] = (used + 2**34, used + 2**34)
    with blas.single_threaded():
        assert blas._reserved


def test_too_few_open_files_are_refused_by_the_hard_limit_and_raised_by_the_soft_one(limits):
    limits[resource.RLIMIT_NOFILE] = (10, 12)
    with pytest.raises(InputError, match=r"ulimit -n: a process may open 12 .*ulimit -n 1024"):
        opened("local")
    limits[resource.RLIMIT_NOFILE] = (10, resource.RLIM_INFINITY)
    processes.require_files(24)
    assert limits[resource.RLIMIT_NOFILE][0] >= 24 + 3
    before = limits[resource.RLIMIT_NOFILE]
    processes.require_files(1)
    assert limits[resource.RLIMIT_NOFILE] == before


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "memory ran out; give --memory-limit"),
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (ValueError("of ours"), "DISTKERN_DEBUG=1"),
    ],
)
def test_an_error_that_a_limit_may_have_caused_names_the_limit(error, message):
    status, line = explain(error)
    assert status == 1
    assert message in line
    assert "\n" not in line


def test_any_error_under_a_limited_address_space_names_the_limit(limits):
    limits[resource.RLIMIT_AS] = (2**30, 2**30)
    assert "limited to 1024 MiB" in explain(ImportError("failed to map segment"))[1]


def test_any_error_under_few_open_files_names_the_limit(limits):
    assert "ulimit -n" not in explain(RuntimeError("a worker did not start"))[1]
    limits[resource.RLIMIT_NOFILE] = (64, 64)
    assert "a process may open 64 files" in explain(RuntimeError("a worker did not start"))[1]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [480_000, 500_000, 600_000, 900_000])
@pytest.mark.parametrize("scheduler", ["threads", "local"])
def test_training_under_ulimit_ends(tmp_path, limit, scheduler):
    """OpenBLAS of SciPy tried for ever to map a buffer, and no signal ended it."""
    features = np.random.default_rng(0).normal(size=(4000, 8))
    write_dataset([(features, np.arange(4000) % 2)], tmp_path / "d.zarr", scale="none")
    command = f'ulimit -v {limit}; exec "$0" -m distkern train --data d.zarr --out m --scheduler {scheduler}'
    ended = subprocess.run(
        ["bash", "-c", command, sys.executable],
        cwd=tmp_path,
        env=dict(os.environ),
        text=True,
        capture_output=True,
        timeout=120,
    )
    assert ended.returncode != 0
    assert "ulimit -v" in ended.stderr
    assert "Traceback" not in ended.stderr
