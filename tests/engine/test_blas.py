"""The limit on BLAS threads is set by the first context and lifted by the last, whatever their order."""

import os
import subprocess
import sys

CODE = """
import threading
import numpy as np
from distkern.common import blas

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

# libraries that came since are limited too
import scipy.linalg
with blas.single_threaded():
    assert blas.blas_threads() == 1
assert blas.blas_threads() == before
"""


PINNED = """
import sys
from distkern.common import blas

assert blas.blas_threads() == 2
blas.pin_worker()
assert "scipy.linalg" not in sys.modules
import scipy.linalg
assert blas.blas_threads() == 1
"""


def test_a_worker_has_one_thread_in_libraries_that_its_tasks_load():
    several = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", PINNED], env=several, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_contexts_of_two_threads_overlap_and_limit_what_is_loaded_later():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
