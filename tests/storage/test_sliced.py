"""Sorted rows in slices: read by place, known by what they are of, refused when they are damaged."""

import pickle

import numpy as np
import pytest

from distkern.common.errors import CorruptDataError, InputError
from distkern.storage.parts import SlicedParts

LAYOUT = {"features": ("<f4", (2,)), "targets": ("<i4", ())}
OFFSETS = np.array([0, 3, 3, 5])


def arrays(start):
    return {
        "features": start + np.arange(10, dtype=np.float32).reshape(5, 2),
        "targets": start + np.arange(5),
    }


def stored(folder, of="job"):
    parts = SlicedParts(folder / "moved", of, LAYOUT)
    for number in range(2):
        parts.put(number, ({"rows": 5}, OFFSETS, arrays(100 * number)))
    return pickle.loads(pickle.dumps(parts))


def test_a_slice_is_read_from_every_part_in_order(tmp_path):
    parts = stored(tmp_path)
    assert parts.records() == {0: {"rows": 5}, 1: {"rows": 5}}
    for place, (low, high) in enumerate([(0, 3), (3, 3), (3, 5)]):
        for number, found in enumerate(parts.slices(place, range(2))):
            for name, values in arrays(100 * number).items():
                np.testing.assert_array_equal(found[name], values[low:high])
                assert found[name].dtype == np.dtype(LAYOUT[name][0])


@pytest.mark.parametrize("place", [5, 30, -1])
def test_a_flipped_byte_is_refused(tmp_path, place):
    parts = stored(tmp_path)
    file = tmp_path / "moved" / "1.rows"
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptDataError, match=r"1\.rows: .*damaged"):
        _ = [list(parts.slices(slice_, range(2))) for slice_ in range(3)]
    file.write_bytes(content[:-3])
    with pytest.raises(CorruptDataError):
        list(parts.slices(2, range(2)))
    file.unlink()
    with pytest.raises(CorruptDataError, match="the rows are missing"):
        list(parts.slices(0, range(2)))


def test_rows_of_another_run_do_not_count(tmp_path):
    stored(tmp_path)
    other = SlicedParts(tmp_path / "moved", "another job", LAYOUT)
    assert other.records() == {}
    with pytest.raises(CorruptDataError, match="of another run"):
        list(other.slices(0, range(1)))


def test_a_process_that_does_not_see_the_folder_says_so(tmp_path):
    parts = stored(tmp_path)
    (tmp_path / "moved").rename(tmp_path / "elsewhere")
    with pytest.raises(
        InputError, match=r"does not see the folder .* --out in a folder that all workers see"
    ):
        list(parts.slices(0, range(2)))
