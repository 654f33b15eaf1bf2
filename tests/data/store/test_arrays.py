"""Arrays and texts on disk: whole or not at all, and every damage noticed."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec

from distkern.core.errors import CorruptDataError, InputError
from distkern.core.processes import birth
from distkern.data.store import arrays, atomic
from distkern.data.store._zarr import RowsWriter, create_group, read_rows
from distkern.data.store.arrays import array_names, check_arrays, load_arrays, save_arrays
from distkern.data.store.atomic import staged_folder, write_text_atomic
from distkern.data.store.description import sealed

ARRAYS = {
    "coefficients": np.random.default_rng(0).normal(size=(40, 3)),
    "state.mean": np.zeros(7, dtype=np.float32),
    "header": np.frombuffer(b'{"a": 1}', dtype=np.uint8),
    "scalar": np.array(3.5),
    "empty": np.zeros((0, 4), dtype=np.int64),
    "flags": np.array([True, False]),
}


SMALL = {"dtype": "|u1", "shape": [1]}


def test_arrays_come_back_and_are_replaced(place):
    for _ in range(2):
        save_arrays(place, ARRAYS)
        found = load_arrays(place)
        assert list(found) == array_names(place) == list(ARRAYS)
        for name, values in ARRAYS.items():
            assert found[name].dtype == values.dtype
            assert found[name].shape == values.shape
            np.testing.assert_array_equal(found[name], values)
    save_arrays(place, {"other": np.arange(3)})
    assert load_arrays(place)["other"].tolist() == [0, 1, 2]
    assert [entry.name for entry in place.parent.iterdir()] == [place.name]


@pytest.mark.parametrize("shape", [(7,), (0, 4), (6, 2, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["?", "u1", "<i8", ">i4", "<f2", "<f4", "<c16"])
@pytest.mark.parametrize("in_order", [True, False])
def test_any_zarr_reads_the_rows(shape, dtype, in_order, tmp_path):
    values = np.random.default_rng(0).integers(0, 5, shape).astype(dtype)
    create_group(tmp_path, {"names": ["é", 1.5]})
    starts = range(0, len(values), 3)
    if in_order:
        writer = RowsWriter(tmp_path / "a", shape[1:], 3, dtype)
        for start in range(len(values)):
            writer.append(values[start : start + 1])
    else:
        writer = RowsWriter(tmp_path / "a", shape[1:], 3, dtype, len(values))
        for start in reversed(starts):
            writer.write(start // 3, values[start : start + 3])
    checksums = dict(enumerate(writer.finish()))
    assert len(checksums) == len(starts)
    array = zarr.open_group(tmp_path, mode="r")["a"]
    assert array.dtype == values.dtype.newbyteorder("=")
    np.testing.assert_array_equal(array[...], values)
    assert [type(codec) for codec in array.metadata.codecs] == [BytesCodec, Crc32cCodec]
    for start, stop in ((0, len(values)), (2, 4), (3, 3)):
        found = read_rows(tmp_path / "a", shape[1:], 3, dtype, checksums, start, min(stop, len(values)))
        np.testing.assert_array_equal(found, values[start:stop])


def test_the_chunk_that_is_damaged_is_named(tmp_path):
    writer = RowsWriter(tmp_path / "a", (), 100, np.uint8)
    writer.append(np.arange(1000).astype(np.uint8))
    checksums = dict(enumerate(writer.finish()))
    file = tmp_path / "a" / "c" / "6"
    content = bytearray(file.read_bytes())
    content[5] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptDataError, match="c/6: the stored values are damaged"):
        read_rows(tmp_path / "a", (), 100, np.uint8, checksums, 0, 1000)
    assert len(read_rows(tmp_path / "a", (), 100, np.uint8, checksums, 700, 1000)) == 300
    shutil.rmtree(tmp_path / "a")
    with pytest.raises(CorruptDataError, match="a/c/7: the chunk is missing"):
        read_rows(tmp_path / "a", (), 100, np.uint8, checksums, 700, 800)


def test_every_flipped_bit_and_missing_file_is_noticed(tmp_path):
    save_arrays(tmp_path / "m", ARRAYS)
    files = sorted(
        path for path in (tmp_path / "m").rglob("*") if path.is_file() and path.name != "zarr.json"
    )
    assert len(files) == 1
    for file in files:
        content = file.read_bytes()
        for position in range(0, len(content), max(1, len(content) // 11)):
            damaged = bytearray(content)
            damaged[position] ^= 1 << (position % 8)
            file.write_bytes(damaged)
            with pytest.raises(CorruptDataError, match=r"damaged|not the one that was written"):
                load_arrays(tmp_path / "m")
        file.write_bytes(content[: len(content) // 2])
        with pytest.raises(CorruptDataError):
            load_arrays(tmp_path / "m")
        file.unlink()
        with pytest.raises(CorruptDataError, match="missing"):
            load_arrays(tmp_path / "m")
        file.write_bytes(content)
    load_arrays(tmp_path / "m")
    shutil.rmtree(tmp_path / "m" / "c")
    with pytest.raises(CorruptDataError, match=r"m/c/0: the chunk is missing"):
        load_arrays(tmp_path / "m", ["flags"])


def test_what_is_not_arrays(tmp_path):
    with pytest.raises(InputError, match="no stored arrays"):
        load_arrays(tmp_path / "m")
    (tmp_path / "m").mkdir()
    with pytest.raises(CorruptDataError, match="it cannot be read"):
        load_arrays(tmp_path / "m")
    save_arrays(tmp_path / "n", ARRAYS)
    file = tmp_path / "n" / "zarr.json"
    meta = json.loads(file.read_text())
    for version, message in ((4, "reads 3; upgrade distkern"), (2, "reads 3; make them again")):
        file.write_text(
            json.dumps({**meta, "attributes": {**meta["attributes"], "encoding-version": version}})
        )
        with pytest.raises(InputError, match=message):
            load_arrays(tmp_path / "n")


def resealed(folder, change):
    """Edit the description of a folder of arrays, and its fingerprint."""
    meta = json.loads((folder / "zarr.json").read_text())
    content = {key: value for key, value in meta["attributes"].items() if key != "fingerprint"}
    change(content)
    (folder / "zarr.json").write_text(json.dumps({**meta, "attributes": sealed(content)}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda kept: kept["arrays"].update({"../../other": SMALL}), "not the name of an array"),
        (lambda kept: kept["arrays"]["coefficients"].update(shape=[2**36, 3]), "1 chunks of"),
        (lambda kept: kept.update(chunk_bytes=2**36), "chunks of 68719476736 bytes"),
        (lambda kept: kept["arrays"]["coefficients"].update(dtype="|O8"), "no array has type"),
        (lambda kept: kept["arrays"]["coefficients"].pop("shape"), "field required"),
        (lambda kept: kept["arrays"]["empty"].update(shape=[0, 2**70]), "no array has type"),
    ],
)
def test_an_edited_description_is_refused_before_memory_is_taken(tmp_path, change, message):
    save_arrays(tmp_path / "m", ARRAYS)
    # what a first reading imports is none of the description's memory
    load_arrays(tmp_path / "m")
    resealed(tmp_path / "m", change)
    tracemalloc.start()
    with pytest.raises(CorruptDataError, match=message):
        load_arrays(tmp_path / "m")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # of numpy's, traced even where nothing is written to it
    assert peak < 2**22


def test_arrays_of_another_set_of_the_same_shapes_are_refused(tmp_path):
    """Each file is whole by its own checksum: what tells them apart is whose they are."""
    mine = save_arrays(tmp_path / "m", {"a": np.zeros(5), "b": np.ones(5)})
    other = save_arrays(tmp_path / "n", {"a": np.full(5, 2.0), "b": np.ones(5)})
    assert mine != other
    assert load_arrays(tmp_path / "m", fingerprint=mine)["a"].tolist() == [0.0] * 5
    with pytest.raises(CorruptDataError, match="not written with the other files"):
        load_arrays(tmp_path / "n", fingerprint=mine)
    shutil.copy(tmp_path / "n" / "c" / "0", tmp_path / "m" / "c" / "0")
    with pytest.raises(CorruptDataError, match="not the one that was written"):
        load_arrays(tmp_path / "m")


def test_some_of_many_arrays_in_many_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "_CHUNK_BYTES", 1000)
    monkeypatch.setattr(arrays, "_CHECKED_BYTES", 2500)
    generator = np.random.default_rng(0)
    kept = {f"a{number}": generator.normal(size=generator.integers(0, 300)) for number in range(20)}
    save_arrays(tmp_path / "m", iter(kept.items()))
    files = sorted((tmp_path / "m" / "c").iterdir(), key=lambda file: int(file.name))
    assert len(files) > 10
    for names in (["a3"], ["a7", "a5", "a6"], ["a19", "a0"], []):
        found = load_arrays(tmp_path / "m", names)
        assert [*found] == names
        for name in names:
            np.testing.assert_array_equal(found[name], kept[name])
            assert found[name].flags.aligned
            assert found[name].flags.writeable
    check_arrays(tmp_path / "m")
    # what is not asked for is not read
    files[-1].unlink()
    load_arrays(tmp_path / "m", ["a0"])
    with pytest.raises(CorruptDataError, match="missing"):
        check_arrays(tmp_path / "m")


def test_text_files(tmp_path):
    write_text_atomic(tmp_path / "a.json", "é")
    write_text_atomic(tmp_path / "a.json", "b")
    assert (tmp_path / "a.json").read_text() == "b"
    assert os.listdir(tmp_path) == ["a.json"]
    with pytest.raises(InputError, match="cannot be written"):
        write_text_atomic(tmp_path / "a.json" / "b", "c")


def fail_in(folder):
    with staged_folder(folder) as staged:
        (staged.path / "file").write_text("x")
        raise RuntimeError("on purpose")


def test_a_failed_build_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError, match="on purpose"):
        fail_in(tmp_path / "d")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_replacement_is_whole(tmp_path, can_exchange, monkeypatch):
    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda first, second: False)
    for text in ("old", "new"):
        with staged_folder(tmp_path / "d") as staged:
            (staged.path / text).write_text(text)
            if text == "new":
                assert os.listdir(tmp_path / "d") == ["old"]
            staged.commit()
    assert os.listdir(tmp_path / "d") == ["new"]
    assert os.listdir(tmp_path) == ["d"]


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("comes", ["before", "meanwhile"])
def test_what_may_not_be_replaced_stays(tmp_path, can_exchange, comes, monkeypatch):
    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda first, second: False)
    with staged_folder(tmp_path / "d") as staged:
        (staged.path / "old").write_text("old")
        staged.commit()
    asked = []

    def refuse(replaced):
        asked.append(replaced.name)
        assert os.listdir(replaced) == ["old"]
        if comes == "before" or len(asked) == 2 or not can_exchange:
            raise InputError("holds other things")

    def replace_it():
        with staged_folder(tmp_path / "d") as staged:
            staged.commit(refuse)

    with pytest.raises(InputError, match="holds other things"):
        replace_it()
    assert len(asked) == 1 + (comes == "meanwhile" and can_exchange)
    assert os.listdir(tmp_path) == ["d"]
    assert os.listdir(tmp_path / "d") == ["old"]


@pytest.mark.parametrize("stopped", ["interrupted", "killed"])
def test_what_was_to_be_replaced_is_put_back(tmp_path, stopped, monkeypatch):
    """Where names cannot be exchanged there is a moment without the folder."""
    monkeypatch.setattr(atomic, "_exchange", lambda first, second: False)
    with staged_folder(tmp_path / "d") as staged:
        (staged.path / "old").write_text("old")
        staged.commit()
    rename, calls = os.rename, []

    def stop(source, target):
        calls.append(target)
        if len(calls) == 2:
            raise KeyboardInterrupt
        rename(source, target)

    def replace_it():
        with staged_folder(tmp_path / "d") as staged:
            monkeypatch.setattr(os, "rename", stop)
            if stopped == "killed":
                monkeypatch.setattr(atomic, "put_back", lambda folder, target: None)
                monkeypatch.setattr(staged, "discard", lambda: None)
            staged.commit()

    with pytest.raises(KeyboardInterrupt):
        replace_it()
    monkeypatch.undo()
    if stopped == "killed":
        assert not (tmp_path / "d").exists()
        monkeypatch.setattr(atomic, "is_running", lambda pid, born: False)
        with staged_folder(tmp_path / "d"):
            pass
    assert os.listdir(tmp_path) == ["d"]
    assert os.listdir(tmp_path / "d") == ["old"]


def test_temporary_folders_of_killed_processes_are_removed_with_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = (
        "import os; from distkern.data.store import atomic\n"
        "opened = atomic.temporary_folder(); opened.__enter__(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, check=True)
    (left,) = tmp_path.iterdir()
    (left / "rows").write_bytes(b"0" * 9)
    mine = [tmp_path / "distkern-x", tmp_path / f"{left.name}-of-somebody"]
    for folder in mine:
        folder.mkdir()
    with atomic.temporary_folder() as ours:
        assert not left.exists()
        left.mkdir()
        assert ours.stat().st_mode & 0o777 == 0o700
        with atomic.temporary_folder() as another:
            assert set(tmp_path.iterdir()) == {ours, another, *mine}
    assert set(tmp_path.iterdir()) == set(mine)


def test_leftovers_of_dead_processes_are_removed(tmp_path):
    finished = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], stdout=-1, check=True)
    host = atomic._host()
    dead = [
        tmp_path / f".d.partial-{host}-{int(finished.stdout)}-0123abcd",
        # of an earlier process with our number
        tmp_path / f".d.partial-{host}-{os.getpid()}.1-0123abcd",
    ]
    kept = [
        tmp_path / f".d.partial-{host}-{os.getpid()}-0123abcd",
        tmp_path / f".d.partial-{host}-{os.getpid()}.{birth(os.getpid())}-0123abcd",
        tmp_path / f".d.partial-elsewhere-{int(finished.stdout)}-0123abcd",
        tmp_path / f".e.partial-{host}-{int(finished.stdout)}-0123abcd",
    ]
    for folder in (*dead, *kept):
        folder.mkdir()
    with staged_folder(tmp_path / "d") as staged:
        staged.commit()
    assert not any(folder.exists() for folder in dead)
    assert all(folder.exists() for folder in kept)


def test_a_folder_that_a_thread_still_writes_into_is_gone(tmp_path, monkeypatch):
    # on a busy machine the thread may wait for longer than a removal does
    monkeypatch.setattr(atomic, "_UNTIL_WRITTEN", 1.0)

    def write(folder):
        for number in range(8):
            # the folder may be removed between the two
            with suppress(FileNotFoundError):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / str(number)).write_text("chunk")
            time.sleep(0.02)

    # left without a commit, as by an interruption
    with staged_folder(tmp_path / "d") as staged:
        writer = threading.Thread(target=write, args=(staged.path / "train",))
        writer.start()
    writer.join()
    assert list(tmp_path.iterdir()) == []
