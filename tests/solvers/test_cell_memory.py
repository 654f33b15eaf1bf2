"""What machines in cells take beside what their plan says, and systems that are solved in half a matrix."""

import tracemalloc

import numpy as np
import pytest

from distkern.common.blas import single_threaded
from distkern.common.tiles import release
from distkern.kernels import find_kernel
from distkern.losses import find_loss
from distkern.maps.mapping import MapChoice, RowMap, fitting_bytes
from distkern.solvers._cells import dual
from distkern.solvers._cells import machine as machines
from distkern.solvers._cells.newton import solve_packed

MIB = 2**20


@pytest.fixture(autouse=True)
def _one_thread():
    with single_threaded():
        yield
    release()


def rows_of(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def peak(function, *arguments):
    """Bytes that a call takes beside what was there."""
    release()
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8])
def test_half_a_matrix_solves_as_a_whole_one_does(n):
    generator = np.random.default_rng(n)
    root = generator.standard_normal((12, 12))
    kernel = root @ root.T
    chosen = np.sort(generator.permutation(12)[:n])
    added, wanted = generator.uniform(0.1, 1.0, n), generator.standard_normal(n)
    found = solve_packed(kernel, chosen, added, wanted)
    expected = np.linalg.solve(kernel[np.ix_(chosen, chosen)] + np.diag(added), wanted)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert solve_packed(-kernel, chosen, added * 0, wanted) is None


@pytest.mark.parametrize(
    ("loss", "d", "equal", "double"),
    [
        pytest.param("squared_hinge", 10, False, False, marks=pytest.mark.slow),
        pytest.param("squared_hinge", 10, False, True, marks=pytest.mark.slow),
        pytest.param("squared_hinge", 1500, True, False, marks=pytest.mark.slow),
        pytest.param("squared_hinge", 800, True, True, marks=pytest.mark.slow),
        ("square", 10, False, False),
        ("square", 800, True, False),
    ],
)
def test_a_machine_takes_what_is_planned(monkeypatch, loss, d, equal, double):
    """Newton's method is needed where rows are all different; equal ones are sought and put together."""
    n, steps = 1000, []
    newton = dual.newton
    monkeypatch.setattr(dual, "newton", lambda *given: steps.append(1) or newton(*given))
    x = rows_of(n, d)
    x[: n // 10 * equal] = x[-1]
    targets = np.where(rows_of(n, 1, seed=1) > 0, 1.0, -1.0)
    loss = find_loss(loss)()
    kernel = find_kernel("rbf").from_parameters(gamma=0.01 / d)
    settings = machines.CellSettings(kernel, loss, 1e4, 1e-3, double=double)
    machines.solve_cell(settings, x[:50], targets[:50], None, 0)
    steps.clear()
    taken = peak(machines.solve_cell, settings, x, targets, None, 0)
    planned = machines.solving_bytes(n, d, 1, 1, double=settings.is_double)
    assert equal or loss.is_quadratic or steps
    tiles = 8 * MIB
    assert 0.6 * (planned - tiles) < taken < planned


@pytest.mark.parametrize(
    ("kind", "n", "d"),
    [
        ("diagonal", 400, 2500),
        ("full", 400, 300),
        ("none", 400, 2500),
        ("diagonal", 1500, 8),
        ("full", 3000, 8),
        ("interactions", 400, 60),
        ("interactions", 1500, 8),
        pytest.param("interactions", 3000, 60, marks=pytest.mark.slow),
    ],
)
def test_a_map_takes_what_is_planned(kind, n, d):
    """No matrix of all columns is made where only its diagonal is wanted, and one of all pairs at a time."""
    x, y = rows_of(n, d), rows_of(n, 1, seed=1).astype(np.float64)
    choice = MapChoice("standard", kind, 2)
    taken = peak(RowMap.fit, choice, x, y)
    planned = fitting_bytes(choice, n, d, 1)
    assert taken < planned + MIB
    assert planned < 2 * taken
