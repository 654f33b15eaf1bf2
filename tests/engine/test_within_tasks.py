"""Fits inside the tasks of a cluster, whose workers have no thread left."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster, secede, wait

from distkern import NewtonClassifier, open_dataset, write_dataset
from distkern.engine.executors import open_executor

QUIET = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
SECONDS = 60


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **QUIET) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def workers():
    """A client of worker processes, which make clients of their own."""
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", **QUIET) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(200, 3))


def coefficients(rows, gamma=1.0):
    model = NewtonClassifier(n_landmarks=8, gamma=gamma, nu=1e-3, random_state=0)
    if not isinstance(rows, np.ndarray):
        return model.fit(open_dataset(rows)).coefficients_
    features = da.from_array(rows, chunks=(50, 3))
    return model.fit(features, da.from_array((rows[:, 0] > 0).astype(int), chunks=50)).coefficients_


def ended(client, function, *arguments, n=3):
    futures = client.map(function, *([argument] * n for argument in arguments), pure=False)
    # one that waits for a thread that it holds would wait for ever
    wait(futures, timeout=SECONDS)
    return client.gather(futures)


@pytest.mark.parametrize("stored", [False, True], ids=["arrays", "data-set"])
def test_more_fits_than_threads(client, rows, stored, tmp_path):
    given = rows
    if stored:
        given = str(tmp_path / "rows.zarr")
        write_dataset(rows, (rows[:, 0] > 0).astype(int), given)
    here = coefficients(given)
    for found in ended(client, coefficients, given):
        np.testing.assert_array_equal(found, here)


def test_a_task_rejoins_its_worker_after_each_fit_also_after_one_that_failed(client, rows):
    def twice(rows):
        from distributed.threadpoolexecutor import thread_state

        joined = [thread_state.proceed]
        for gamma in (1.0, -1.0):
            with suppress(ValueError):
                coefficients(rows, gamma)
            joined.append(thread_state.proceed)
        with open_executor() as executor:
            joined.append(executor.rejoins and not thread_state.proceed)
        return joined

    assert ended(client, twice, rows, n=2) == [[True] * 4] * 2


def test_a_task_that_has_seceded_stays_so(client, rows):
    def seceded(rows):
        from distributed.threadpoolexecutor import thread_state

        secede()
        coefficients(rows)
        return thread_state.proceed

    assert ended(client, seceded, rows, n=2) == [False, False]


@pytest.mark.slow
def test_fits_in_threads_of_a_task_run_within_the_worker(workers, rows):
    def in_threads(rows):
        coefficients(rows)
        with ThreadPoolExecutor(2) as threads:
            return list(threads.map(coefficients, [rows] * 2))

    here = coefficients(rows)
    for found in ended(workers, in_threads, rows, n=2):
        np.testing.assert_array_equal(found, [here, here])
