"""A process that was forked, and how it computes without the threads of its parent."""

import os
import threading

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from distkern import NewtonClassifier
from distkern.core import blas
from distkern.engine.executors import open_executor
from distkern.engine.executors.local import ThreadsExecutor

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
QUIET = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
SECONDS = 30


def forked(function):
    """Whether ``function`` ends in a forked child, and says True there."""
    child = os.fork()
    if child == 0:
        # the child ends by itself if the parent's wait does not
        threading.Timer(SECONDS, os._exit, (3,)).start()
        os._exit(0 if function() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def fitted(rows):
    labels = np.arange(len(rows)) % 2
    return NewtonClassifier(features="linear", nu=1e-3, random_state=0).fit(rows, labels).coefficients_


def test_a_fit_in_a_child_after_one_in_the_parent():
    rows = da.from_array(np.random.default_rng(0).normal(size=(200, 3)), chunks=(50, 3))
    with dask.config.set(scheduler="threads"):
        here = fitted(rows)
        # Dask's own pools too, whose threads have nothing to do now
        assert rows.sum().compute() == rows.sum().compute()
        assert forked(lambda: np.array_equal(fitted(rows), here) and rows.sum().compute() is not None)


def test_a_pool_that_was_open_is_opened_again():
    graph = {"sum": (sum, [1, 2])}
    with ThreadsExecutor(2, None) as executor:
        executor._get(graph, "sum")
        assert forked(lambda: executor._get(graph, "sum") == 3)


def test_a_lock_that_another_thread_held_is_free():
    held, done = threading.Event(), threading.Event()

    def hold():
        with blas._lock:
            held.set()
            done.wait(SECONDS)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(SECONDS)
    try:
        assert forked(lambda: blas._lock.acquire(timeout=1))
    finally:
        done.set()
        thread.join()


def test_the_client_of_the_parent_is_not_taken():
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **QUIET) as cluster,
        Client(cluster),
    ):

        def kind():
            with open_executor() as executor:
                return executor.machine.kind

        assert kind() == "distributed"
        assert forked(lambda: kind() == "threads")
