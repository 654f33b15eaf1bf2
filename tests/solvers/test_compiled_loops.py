"""Compiled loops are cached on disk, and never reused for other code."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from distkern.core.compiled import _is_self_contained, array_type, compile_loop
from distkern.maths.losses import find_loss
from distkern.solvers.avm import Average, avm_loop
from distkern.solvers.csvrg import Iterate, Mean, csvrg_loop

ROOT = Path(__file__).resolve().parents[2]

LOSS = """
import math
from dataclasses import dataclass
import numpy as np
from distkern.maths.losses.base import AbstractElementwiseLoss

@dataclass(frozen=True)
class Scaled(AbstractElementwiseLoss):
    name = "scaled"
    target_kind = "binary"
    @staticmethod
    def value(prediction, target, parameters):
        return 0.5 * FACTOR * (prediction - target) ** 2
    @staticmethod
    def derivative(prediction, target, parameters):
        return FACTOR * (prediction - target)
    curvature = FACTOR
    norm_bound = math.inf
"""

STEP = """
import numpy as np
from distkern.solvers.csvrg import Iterate, Mean, csvrg_loop
from scaled import Scaled
loop = csvrg_loop(Scaled(), np.dtype("f8"))
w = Iterate(np.zeros((1, 1)), np.ones(1), np.zeros(1))
row = np.ones((1, 1)), np.zeros(1, np.intp), np.array([[3.0, 0.0]]), np.ones((1, 1)), np.ones(1)
loop(*row, w, Mean.over(0, 0, 1, 1), 0.5, 1.0, False, np.zeros(1), ())
print(-w.v[0, 0], sum(loop.stats.cache_hits.values()), loop.stats.cache_path)
"""


def in_another_process(folder, step=STEP):
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
    }
    done = subprocess.run(
        [sys.executable, "-c", step], env=environment, capture_output=True, text=True, check=True, cwd=folder
    )
    change, hits, *_ = done.stdout.split()
    return float(change), int(hits)


@pytest.mark.slow
def test_kept_on_disk_and_a_changed_loss_is_never_taken_for_the_old_one(tmp_path):
    """The file keeps its size and its time of change, so only its content differs."""
    path = tmp_path / "scaled.py"

    def write(factor):
        path.write_text(LOSS.replace("FACTOR", factor))
        os.utime(path, (1_700_000_000, 1_700_000_000))

    write("2.0")
    # v changes by -eta (l'(0) - l'(3)) / (1 - eta) = 3 FACTOR
    assert in_another_process(tmp_path) == (-6.0, 0)
    write("5.0")
    assert in_another_process(tmp_path) == (-15.0, 0)
    write("2.0")
    assert in_another_process(tmp_path) == (-6.0, 1)


MEMBERS = """
import os
import numpy as np
from typing import NamedTuple
from distkern.core.compiled import array_type, compile_loop, tuple_type

class NAME(NamedTuple):
    values: np.ndarray
    places: np.ndarray

def total(x, out):
    for i in range(x.values.shape[0]):
        out[0] += x.values[x.places[i]]

arguments = (tuple_type(NAME, "f8[:]! i8[:]!"), array_type(np.float64, 1, writable=True))
loop = compile_loop(total, arguments)
out = np.zeros(1)
loop(NAME(np.ones(3), np.arange(3)), out)
print(out[0], sum(loop.stats.cache_hits.values()))
"""


def run_members(folder, name):
    path = folder / "members.py"
    path.write_text(MEMBERS.replace("NAME", name))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return in_another_process(folder, "import members")


@pytest.mark.slow
def test_a_class_that_an_older_version_had_under_another_name(tmp_path):
    """An upgrade leaves the old version's cache entries in place."""
    assert run_members(tmp_path, "Older") == (3.0, 0)
    assert run_members(tmp_path, "Newer") == (3.0, 0)
    assert run_members(tmp_path, "Newer") == (3.0, 1)


@pytest.mark.slow
def test_entries_that_cannot_be_read_are_made_again(tmp_path):
    assert run_members(tmp_path, "Members") == (3.0, 0)
    (index,) = (tmp_path / "cache").glob("*/*.nbi")
    index.write_bytes(index.read_bytes()[:-9])
    assert run_members(tmp_path, "Members") == (3.0, 0)
    # and kept
    assert run_members(tmp_path, "Members") == (3.0, 1)


FACTOR = 3.0


def uses_a_global(prediction, target, parameters):
    return FACTOR * (prediction - target)


def uses_numpy(prediction, target, parameters):
    return np.maximum(0.0, prediction - target)


def test_code_that_refers_to_anything_else_is_not_kept():
    """Its bytecode stays the same when the other code changes."""
    assert _is_self_contained(uses_numpy)
    assert not _is_self_contained(uses_a_global)
    assert not _is_self_contained(lambda f, y, p, factor=2.0: factor)
    assert all(_is_self_contained(find_loss(name).derivative) for name in ("odm", "hinge", "squared_hinge"))


def double(x, out):
    for i in range(x.shape[0]):
        out[i] = 2.0 * x[i]


def test_compiles_without_a_place_to_keep_it(monkeypatch):
    import numba

    compiled = numba.njit

    def nowhere(*arguments, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return compiled(*arguments, **options)

    monkeypatch.setattr(numba, "njit", nowhere)
    arguments = (array_type(np.float64, 1), array_type(np.float64, 1, writable=True))
    out = np.empty(3)
    compile_loop(double, arguments)(np.arange(3.0), out)
    np.testing.assert_array_equal(out, [0.0, 2.0, 4.0])


#: a package that extends numba, whose import takes long enough for another thread to begin one
EXTENSION = {
    "slow_extension/__init__.py": (
        "import time\ntime.sleep(2)\nvalue = 1\nfrom slow_extension.inner import other"
    ),
    "slow_extension/inner/__init__.py": "from slow_extension import value\nother = value",
    "slow_extension/inner/extension.py": "def init(): pass",
    "slow_extension-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: slow-extension\nVersion: 1\n",
    "slow_extension-1.dist-info/entry_points.txt": (
        "[numba_extensions]\ninit = slow_extension.inner.extension:init\n"
    ),
}
THREADS = """
import threading
import numba
from distkern.core.compiled import argument_types, compile_loop

def double(x):
    return 2.0 * x

def compiled():
    assert compile_loop(double, argument_types("f8"))(1.0) == 2.0

def imported():
    import slow_extension

def told(run):
    start.wait()
    try:
        run()
    except BaseException as error:
        print(run.__name__, repr(error))

start = threading.Barrier(8)
threads = [threading.Thread(target=told, args=(run,)) for run in (compiled, imported) * 4]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
"""


def test_threads_that_compile_and_import_what_extends_numba_at_once(tmp_path):
    """As sparse does, which ``import dask.array`` imports too."""
    for name, text in EXTENSION.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(tmp_path)))}
    command = [sys.executable, "-W", "error", "-c", THREADS]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (printed.stdout, printed.stderr) == ("done\n", "")


def test_read_only_input_takes_the_same_machine_code():
    """Arrays from other processes are read-only and must not compile another specialisation during a run."""
    loss = find_loss("odm")()
    for loop in (csvrg_loop(loss, np.dtype("f4")), avm_loop(loss, np.dtype("f4"))):
        assert len(loop.signatures) == 1
    values = np.ones((2, 1), np.float32)
    values.flags.writeable = False
    w = Average(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1), np.zeros(1, np.int64))
    loop = avm_loop(loss, np.dtype("f4"))
    rows = values, np.zeros(2, np.intp), values[:, :0], values, np.ones(2)
    loop(*rows, w, 1.0, 0, 1.0, np.zeros(1), loss.parameters)
    assert w.u[0, 0] > 0
    assert len(loop.signatures) == 1


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_pieces_at_odd_addresses_are_aligned(offset):
    """A message from a worker is one buffer, so its arrays may start at any address."""
    from distkern.solvers.coreset import KernelPiece

    def shifted(array):
        memory = bytearray(array.nbytes + offset)
        view = np.frombuffer(memory, np.uint8)[offset:].view(array.dtype).reshape(array.shape)
        view[...] = array
        return view

    generator = np.random.default_rng(0)
    piece = KernelPiece(
        shifted(generator.random((5, 3), dtype=np.float32)),
        shifted(np.arange(5)),
        shifted(generator.random((5, 2), dtype=np.float32)),
        shifted(np.ones((5, 1), np.float32)),
        shifted(generator.random(5)),
    )
    assert not piece.values.flags.aligned
    for rows in (slice(None), slice(2, 4)):
        for array, given in zip(piece.loop_arguments(rows), vars(piece).values(), strict=True):
            assert array.flags.aligned
            np.testing.assert_array_equal(array, given[rows])


def test_long_stages_keep_their_digits():
    """a = (1 - eta)^t is repeatedly folded into v; the result equals the plain recursion."""
    loss = find_loss("squared_hinge")()
    generator = np.random.default_rng(0)
    values = generator.random((20_000, 4))
    signs = np.where(generator.random((20_000, 1)) < 0.5, 1.0, -1.0)
    nearest = generator.integers(0, 4, 20_000)
    products = np.stack([generator.uniform(-2, 2, 20_000), np.zeros(20_000)], axis=1)
    eta, lam = 0.3, 0.5
    lazy = Iterate(np.ones((1, 4)), np.ones(1), np.zeros(1))
    loop = csvrg_loop(loss, np.dtype("f8"))
    mean = Mean.over(10_000, 20_000, 1, 4)
    rows = values, nearest, products, signs, np.ones(20_000)
    loop(*rows, lazy, mean, eta, lam, False, np.zeros(1), loss.parameters)
    w, late = np.ones(4), []
    for t in range(20_000):
        if t >= 10_000 and t % 8 == 0:
            late.append(w.copy())
        y = signs[t, 0]
        slope = -2 * y * (max(0.0, 1 - y * (values[t] @ w)) - max(0.0, 1 - y * products[t, 0]))
        w *= 1 - eta
        w[nearest[t]] -= eta * lam * slope
    np.testing.assert_allclose(lazy.a * lazy.v[0], w, rtol=1e-10)
    np.testing.assert_allclose(mean.v[0] / len(late), np.mean(late, axis=0), rtol=1e-10)
    assert mean.counts.tolist() == [20_000, len(late)]
    assert 1e-4 <= lazy.a[0] <= 1
    assert lazy.b[0] == pytest.approx(-1.0)
