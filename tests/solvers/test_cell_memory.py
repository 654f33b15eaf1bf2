"""The memory of machines in cells compared with the plan, and systems solved in half a matrix."""

import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from distkern.core.blas import single_threaded
from distkern.core.tiles import release
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.maths.maps.mapping import MapChoice, RowMap, fitting_bytes
from distkern.passes.machine import loaded_bytes
from distkern.solvers._cells import dual
from distkern.solvers._cells import machine as machines
from distkern.solvers._cells.choosing import learning
from distkern.solvers._cells.dual import solve_packed
from distkern.solvers._cells.layout import CellLayout
from memory_processes import run

MIB = 2**20


@pytest.fixture(autouse=True)
def _one_thread():
    with single_threaded():
        yield
    release()


def rows_of(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def peak(function, *arguments):
    """Return the bytes that a call allocates."""
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
    """Distinct rows need Newton's method; equal ones are merged."""
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
    planned = machines.solving_bytes(n, d, 1, double=settings.is_double)
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
    """A diagonal metric needs no matrix of all columns, and each only one of all pairs at a time."""
    x, y = rows_of(n, d), rows_of(n, 1, seed=1).astype(np.float64)
    choice = MapChoice("standard", kind, 2)
    taken = peak(RowMap.fit, choice, x, y)
    planned = fitting_bytes(choice, n, d, 1)
    assert taken < planned + MIB
    assert planned < 2 * taken


RESIDENT = """
import re
import sys
from pathlib import Path

import numpy as np

from distkern.core.blas import single_threaded
from distkern.solvers._cells import choosing
from distkern.maths.maps.mapping import MapChoice, RowMap

n, d = int(sys.argv[1]), int(sys.argv[2])
generator = np.random.default_rng(0)
x, y = generator.standard_normal((n, d)).astype(np.float32), generator.standard_normal((n, 1))


def resident(word):
    return 1024 * int(re.search(word + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])


before = resident("VmRSS")
with single_threaded():
    RowMap.fit(MapChoice("normal", sys.argv[3], 2), x, y)
print(resident("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")
@pytest.mark.parametrize(("kind", "n"), [("diagonal", 1500), ("interactions", 400)])
def test_a_worker_that_learns_a_map_takes_what_is_planned(kind, n, tmp_path):
    """SciPy's linear algebra counts too: no earlier pass has loaded it."""
    problem = SimpleNamespace(
        n_rows=n,
        n_features=20,
        n_outputs=1,
        dtype=np.dtype("f4"),
        beside_bytes=4,
        max_relative_weight=1.0,
        sparse_numbers=None,
        workplace=None,
    )
    choice = MapChoice("normal", kind, 2)
    cost = learning(CellLayout(problem, n, 0.1, False, choice)).cost
    planned = loaded_bytes(cost) - cost.process_bytes + cost.workspace_bytes + cost.result_bytes
    assert int(run(RESIDENT, str(n), "20", kind, folder=tmp_path)) < planned
