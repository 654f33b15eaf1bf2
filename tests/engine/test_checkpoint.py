"""Results of long passes that a killed run keeps: what is kept, by which key, and what is taken again."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pytest

from distkern.engine import checkpoint
from distkern.engine.checkpoint import CheckpointFolder, KeptPasses, RunWorkplace
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.kernels import find_kernel
from distkern.passes import Extent, Reduce
from distkern.solvers.gram import GramSums
from distkern.solvers.measuring import Sums

EXTENT = Extent(block_rows=(4000,) * 4, row_bytes=2000)
IDENTITY = {"data": "a", "job": 1}


def kept(tmp_path, **changes):
    """What a try of a run finds."""
    return KeptPasses(RunWorkplace(CheckpointFolder(tmp_path / "checkpoints", {**IDENTITY, **changes})))


def gram_sums():
    parts = ((np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(12.0).reshape(3, 4))),)
    return GramSums(parts, None, Sums(0.1, np.array([0.5]), np.float64(7.0), 9, np.ones((3, 1)), 2.0))


def step(operand=None, **more):
    return Reduce("gradient", len, max, operand, **more)


def test_a_result_is_taken_by_the_next_try_of_the_run_alone(tmp_path):
    first, found = kept(tmp_path), gram_sums()
    key = first.key(step(1), EXTENT)
    assert first.get(key) is None
    first.put(key, found, 30.0)
    assert (tmp_path / checkpoint.FOLDER).is_dir()
    again, seconds = kept(tmp_path).get(key)
    assert seconds == 30.0
    assert type(again) is GramSums
    assert (again.border, again.sums.losses, again.sums.weight) == (None, 0.1, 7.0)
    for own, other in zip(found.parts[0], again.parts[0], strict=True):
        np.testing.assert_array_equal(own, other)
        assert (own.flags.c_contiguous, own.flags.f_contiguous) == (
            other.flags.c_contiguous,
            other.flags.f_contiguous,
        )
    np.testing.assert_array_equal(again.sums.gradient, found.sums.gradient)
    assert kept(tmp_path, data="b").get(key) is None
    second = kept(tmp_path)
    second.put(second.key(step(2), EXTENT), 2.5, 30.0)
    assert kept(tmp_path).get(key) is not None
    second.clear()
    assert not (tmp_path / checkpoint.FOLDER).exists()
    assert kept(tmp_path).get(key) is None


def test_what_was_damaged_is_not_there(tmp_path):
    first = kept(tmp_path)
    keys = [first.key(step(number), EXTENT) for number in range(2)]
    for key in keys:
        first.put(key, gram_sums(), 30.0)
    chunk = tmp_path / checkpoint.FOLDER / "0" / "c" / "0"
    chunk.write_bytes(b"x" + chunk.read_bytes()[1:])
    second = kept(tmp_path)
    assert second.get(keys[0]) is None
    second.put(keys[0], 1.5, 30.0)
    third = kept(tmp_path)
    assert third.get(keys[0]) == (1.5, 30.0)
    assert third.get(keys[1]) is not None


@pytest.mark.parametrize("result", [{1, 2}, [1.0], float("nan"), np.array(["a"]), object(), 1j])
def test_other_results_are_not_kept(tmp_path, result):
    own = kept(tmp_path)
    own.put(own.key(step(), EXTENT), (1.0, result), 30.0)
    assert not (tmp_path / checkpoint.FOLDER).exists()


def test_short_passes_and_large_results_are_not_kept(tmp_path):
    own = kept(tmp_path)
    assert own.key(step(blocks=(0,)), EXTENT) is None
    key = own.key(step(), EXTENT)
    own.put(key, 1.0, checkpoint.LEAST_SECONDS - 1)
    own.put(key, np.zeros(2**21), 1.0 + 2**24 / checkpoint.BYTES_A_SECOND)
    assert not (tmp_path / checkpoint.FOLDER).exists()


@dataclass(frozen=True)
class Operand:
    basis: LandmarkBasis
    coefficients: np.ndarray
    step_size: float = 0.5
    names: tuple = field(default=("a", "b"))

    @cached_property
    def norm(self):
        return float(np.linalg.norm(self.coefficients))


def operand():
    """Equal ones, of which the parts are other objects."""
    landmarks = np.arange(12.0, dtype=np.float32).reshape(4, 3)
    return Operand(LandmarkBasis(find_kernel("rbf")(gamma=0.5), landmarks), np.arange(8.0).reshape(4, 2))


def test_equal_passes_have_one_key_whatever_they_have_cached(tmp_path):
    own, first, second = kept(tmp_path), operand(), operand()
    key = own.key(step(first), EXTENT)
    assert key is not None
    assert (first.norm, first.basis.prepared) != (0, None)
    first = replace(first, coefficients=np.asfortranarray(first.coefficients), step_size=np.float64(0.5))
    assert own.key(step(first), EXTENT) == own.key(step(second), EXTENT) == key
    others = [
        replace(second, coefficients=second.coefficients + 1e-16 * np.eye(4, 2)),
        replace(second, coefficients=second.coefficients.astype(np.float32)),
        replace(second, coefficients=second.coefficients.reshape(2, 4)),
        replace(second, step_size=0.25),
        replace(second, names=("a",)),
        replace(second, basis=LandmarkBasis(find_kernel("rbf")(gamma=0.25), second.basis.landmarks)),
    ]
    keys = [own.key(step(other), EXTENT) for other in others]
    keys += [own.key(step(second, **more), EXTENT) for more in ({"split": "test"}, {"blocks": (0, 1, 2)})]
    keys.append(own.key(Reduce("measure", len, max, second), EXTENT))
    assert len({key, *keys}) == len(keys) + 1


def test_what_cannot_be_told_from_others_has_no_key(tmp_path):
    own = kept(tmp_path)
    assert own.key(step(lambda row: row), EXTENT) is None
    ring = []
    ring.append(ring)
    assert own.key(step(ring), EXTENT) is None
