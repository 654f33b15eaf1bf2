"""Fixtures that tests of every package may use."""

import atexit
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import scipy.linalg  # noqa: F401  (its BLAS must be loaded before it can be limited)
import threadpoolctl
from hypothesis import settings

import distkern
from cluster_processes import Processes
from distkern.engine.executors import open_executor

# the same examples every time, and no deadline on a busy machine
settings.register_profile("distkern", derandomize=True, deadline=None)
settings.load_profile("distkern")

# hundreds of programs start here, each of which would compile the package and pytest's helpers again
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# programs that the tests start use the very package that is tested, whatever their working folder
os.environ["PYTHONPATH"] = str(Path(distkern.__file__).parents[1])
os.environ["PYTHONSAFEPATH"] = "1"

# no test cuts the power, and flushing to a disk takes longer than most of them; programs they start do flush
os.fsync = lambda fd: None

# a shell that starts the tests in the background has them ignore Ctrl-C, which several of them send
signal.signal(signal.SIGINT, signal.default_int_handler)

# two processes share the tests, where a BLAS thread for each core would wait for those of the other process;
# programs they start have their own, and tests of the limits of this package take `several_blas_threads`
threadpoolctl.threadpool_limits(1, user_api="blas")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository():
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def datasets():
    """The folder of real data sets beside the repository."""
    folder = ROOT.parent / "shared" / "datasets"
    if not folder.is_dir():
        pytest.skip("the real data sets (../shared/datasets) are not on this machine")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of what a module has ``made``, as the working folder."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def refused(capsys):
    """A function: a command ends with status 2 and one line of these words, and the folder stays as it was.

    Above that line there may be lines that start in one of the ways ``begun``, which a run has said before.
    It gives what the command printed on standard output, as ``plan`` does.
    """

    def check(arguments, *words, begun=()):
        from distkern.cli.main import main

        before = sorted(os.listdir())
        capsys.readouterr()
        assert main([*arguments]) == 2
        captured = capsys.readouterr()
        assert "model in" not in captured.out
        *said, line = captured.err.splitlines()
        assert all(earlier.startswith(begun) for earlier in said)
        assert line.startswith("distkern: error: ")
        for word in words:
            assert word in line
        assert sorted(os.listdir()) == before
        return captured.out

    return check


@pytest.fixture(scope="module")
def local_workers():
    """Two worker processes on this host, for tests that leave them alive and as they are.

    Their scheduler takes a twentieth of this process even when it has nothing to do.
    """
    with open_executor("local", workers=2) as executor:
        yield executor


@pytest.fixture(scope="module")
def cluster_for_jobs(tmp_path_factory):
    """A scheduler and two workers in processes, whose address commands may be told."""
    with Processes(tmp_path_factory.mktemp("cluster")) as processes:
        yield processes


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 8 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True)
    except OSError:
        pytest.skip("there is no mount command")
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.fixture(scope="module")
def several_blas_threads():
    """BLAS as users have it, so that what does not limit it shows in the bits."""
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        yield


def pytest_configure(config):
    """Where several processes share the tests that are not slow, what they write lies in memory.

    They make and remove folders by ten thousands, which on a disk takes a good part of their time. In one
    process, as debuggers want, files stay where pytest keeps those of the last runs.
    """
    shared_out = config.getoption("numprocesses", None)
    if not shared_out:
        # small problems and few stages rarely converge; tests/engine/test_ending.py asks who is told of it,
        # and when (not in pyproject.toml: a process that only hands out tests would import scikit-learn)
        config.addinivalue_line("filterwarnings", "ignore::sklearn.exceptions.ConvergenceWarning")
    memory = Path("/dev/shm")
    if (
        shared_out
        and config.getoption("markexpr") == "not slow"
        and os.access(memory, os.W_OK)
        and shutil.disk_usage(memory).free > 2 * 2**30
    ):
        folder = tempfile.TemporaryDirectory(prefix="distkern-tests-", dir=memory, ignore_cleanup_errors=True)
        atexit.register(folder.cleanup)
        # of this process, of those that share the tests, and of programs that these start
        tempfile.tempdir = os.environ["TMPDIR"] = folder.name


def pytest_collection_finish():
    """What was imported and collected stays: it need not be looked through for garbage again and again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Slow tests kill and start programs many times: beside other work they take minutes each."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(1800))
