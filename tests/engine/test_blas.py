"""The limit on BLAS threads is set by the first context and lifted by the last, whatever their order."""

import os
import subprocess
import sys
import threading

import pytest

from distkern.core import blas
from distkern.engine.drive import Driver
from distkern.engine.executors import open_executor
from distkern.passes import Reduce
from toy import ToySource, blas_threads

CODE = """
import threading
import numpy as np
from distkern.core import blas

entered, other_entered, left = (threading.Event() for _ in range(3))
before = blas.blas_threads()

def early():
    with blas.single_threaded():
        entered.set()
        assert other_entered.wait(10)
    left.set()

def late():
    assert entered.wait(10)
    with blas.single_threaded():
        other_entered.set()
        assert left.wait(10)
        seen.append(blas.blas_threads())
    done.set()

seen, done = [], threading.Event()
threading.Thread(target=late).start()
early()
assert done.wait(10)
assert seen == [1], seen
assert blas.blas_threads() == before == 2

# libraries that came since are limited too
import scipy.linalg
with blas.single_threaded():
    assert blas.blas_threads() == 1
assert blas.blas_threads() == before
"""


PINNED = """
import sys
from distkern.core import blas

assert blas.blas_threads() == 2
blas.pin_worker()
assert "scipy.linalg" not in sys.modules
import scipy.linalg
assert blas.blas_threads() == 1
"""


SEVERAL = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}


def test_a_worker_has_one_thread_in_libraries_that_its_tasks_load():
    done = subprocess.run([sys.executable, "-c", PINNED], env=SEVERAL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_contexts_of_two_threads_overlap_and_limit_what_is_loaded_later():
    done = subprocess.run([sys.executable, "-c", CODE], env=SEVERAL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("several_blas_threads")
def test_a_thread_limits_what_another_one_has_limited_before():
    with blas.single_threaded():
        pass
    seen = []

    def limit():
        with blas.single_threaded():
            seen.append(blas.blas_threads())
        seen.append(blas.blas_threads())

    thread = threading.Thread(target=limit)
    thread.start()
    thread.join()
    assert seen == [1, 2]


@pytest.mark.usefixtures("several_blas_threads")
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_a_pass_leaves_this_process_as_it_was(scheduler, monkeypatch):
    monkeypatch.setattr(blas, "_pinned", False)
    with blas.single_threaded():
        pass
    with open_executor(scheduler, workers=2) as executor:
        seen = Driver({"train": ToySource()}, executor).measure(Reduce("threads", blas_threads, max))
    assert (seen, blas.blas_threads(), blas._pinned) == (1, 2, False)
