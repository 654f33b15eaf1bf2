"""Parts: whole or not at all, known by what they are of, refused when they are damaged."""

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from distkern.core.errors import CorruptDataError, InputError
from distkern.data.store.parts import ArrayParts, SlicedParts

RESULT = {"n": 3, "of": "rows"}, {"a": np.arange(5.0), "b": np.eye(2, dtype=np.float32)}


def test_what_is_put_is_read_by_whoever_is_sent_the_store(tmp_path):
    parts = ArrayParts(tmp_path / "parts", "job")
    sent = pickle.loads(pickle.dumps(parts))
    assert sent.put(7, RESULT) == RESULT[0]
    assert parts.records() == {7: RESULT[0]}
    for name, values in RESULT[1].items():
        np.testing.assert_array_equal(parts.load(7)[name], values)
    with pytest.raises(InputError, match=r"8.json: there is no such part; resume the run"):
        parts.load(8)


@pytest.mark.parametrize("stays", [True, False])
def test_what_does_not_stay_is_not_flushed(stays, tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    parts = ArrayParts(tmp_path / "parts", "job", stays=stays)
    sent = pickle.loads(pickle.dumps(parts))
    sent.put(0, RESULT)
    assert bool(flushed) == stays


def test_another_folder_of_the_same_path_is_not_the_store(tmp_path):
    parts = ArrayParts(tmp_path / "parts", "job")
    assert parts.is_here()
    (tmp_path / "parts").rename(tmp_path / "moved")
    assert not parts.is_here()
    # as on a host where something lies at this path that is not shared
    ArrayParts(tmp_path / "parts", "job")
    assert not parts.is_here()


@pytest.mark.parametrize("damage", ["record", "arrays", "other arrays"])
def test_a_damaged_part_is_refused(tmp_path, damage):
    parts = ArrayParts(tmp_path / "parts", "job")
    parts.put(0, RESULT)
    file = tmp_path / "parts" / ("0.json" if damage == "record" else "0/c/0")
    if damage == "other arrays":
        parts.put(1, (RESULT[0], {"a": np.zeros(5)}))
        (tmp_path / "parts" / "0").rename(tmp_path / "away")
        (tmp_path / "parts" / "1").rename(tmp_path / "parts" / "0")
    else:
        content = bytearray(file.read_bytes())
        content[content.index(b"3") if damage == "record" else 0] ^= 1
        file.write_bytes(bytes(content))
    with pytest.raises(CorruptDataError):
        parts.load(0)


KILLED = """
import os, signal, sys
import numpy as np
from distkern.engine.drive import Driver
from distkern.engine.executors import open_executor
from distkern.passes import Each
from distkern.data.store.parts import ArrayParts

def task(item, blocks, operand):
    print(item, flush=True)
    if item == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return {"item": item}, {"squares": np.arange(item) ** 2}

from toy import ToySource
with open_executor("synchronous") as executor:
    step = Each("squares", task, range(5), ArrayParts(sys.argv[1], "job"))
    print(Driver({"train": ToySource()}, executor).each(step))
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_with_what_is_not_there(tmp_path):
    def run(deadly):
        tests = Path(__file__).parents[2]
        path = os.pathsep.join([str(tests), *filter(None, [os.environ.get("PYTHONPATH")])])
        return subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path / "parts"), str(deadly)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    killed = run(3)
    assert killed.returncode == -signal.SIGKILL
    assert killed.stdout.split() == ["0", "1", "2", "3"]
    resumed = run(-1)
    assert resumed.stdout.splitlines()[:-1] == ["3", "4"], resumed.stderr
    assert resumed.stdout.splitlines()[-1] == str([{"item": item} for item in range(5)])


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
    with pytest.raises(CorruptDataError, match="from another run"):
        list(other.slices(0, range(1)))


def test_a_process_that_does_not_see_the_folder_is_an_error(tmp_path):
    parts = stored(tmp_path)
    (tmp_path / "moved").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"cannot read the folder .* --out in a folder that all workers see"):
        list(parts.slices(0, range(2)))
