"""The feature-major copy: the same numbers as the rows, readable by plain zarr, added whole or not at all."""

import json
import os
import random
import shutil
import subprocess
import time

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from cluster_processes import finish, kill_after, start_code
from distkern.core.errors import CorruptDataError, InputError
from distkern.core.sparse import converted
from distkern.data import _transpose
from distkern.data.dataset import open_dataset
from distkern.data.feature_major import FOLDER
from distkern.data.ingest import add_columns, write_dataset
from small import slow_but


def make(path, n_rows=90, n_columns=13, *, is_sparse, **options):
    generator = np.random.default_rng(n_rows + n_columns)
    shape = n_rows, n_columns
    features = generator.normal(size=shape) * (generator.random(shape) < 0.3)
    if n_columns > 2:
        features[:, 2] = 0
    labels = np.arange(n_rows) % 3
    settings_ = {"rows_per_shard": 7, "scale": "none", "sparse": is_sparse} | options
    return write_dataset([(features, labels)], path, **settings_)


def table(split, blocks):
    parts = [np.asarray(converted(split.reader(block)().features, sparse=False)) for block in blocks]
    return np.concatenate(parts)


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


@settings(max_examples=10)
@given(
    rows=st.integers(2, 100),
    columns=st.integers(1, 40),
    per_shard=st.integers(3, 60),
    is_sparse=st.booleans(),
    block_bytes=st.sampled_from([1, 2000, 2**25]),
    most_entries=st.sampled_from([1, 20, 10**6]),
    with_rows=st.booleans(),
)
def test_columns_equal_the_rows(
    tmp_path_factory, rows, columns, per_shard, is_sparse, block_bytes, most_entries, with_rows
):
    path = tmp_path_factory.mktemp("columns") / "d.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_transpose, "_BLOCK_BYTES", block_bytes)
        patch.setattr(_transpose, "_MOST_ENTRIES", most_entries)
        patch.setattr(_transpose, "_MOST_COLUMNS", max(1, most_entries // 4))
        data = make(path, rows, columns, is_sparse=is_sparse, rows_per_shard=per_shard, columns=with_rows)
        if not with_rows:
            assert not data.train.has_columns
            data = add_columns(path)
        assert data.train.has_columns
        for number, blocks in enumerate(data.train.groups):
            expected = table(data.train, blocks)
            group = data.train.group(number)()
            found = group.columns(np.arange(columns))
            assert found.shape == (columns, len(expected))
            assert_array_equal(np.asarray(converted(found, sparse=False)), expected.T)
    shutil.rmtree(path)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_data_set_stays_what_it_was(tmp_path, is_sparse):
    before = make(tmp_path / "d.zarr", is_sparse=is_sparse)
    contents = {file: file.read_bytes() for file in files_of(before.path)}
    after = add_columns(before.path)
    assert after.fingerprint == before.fingerprint
    assert before.train.has_columns
    for file, content in contents.items():
        assert file.read_bytes() == content
    added = {file.relative_to(before.path) for file in files_of(before.path)} - {
        file.relative_to(before.path) for file in contents
    }
    assert {file.parts[0] for file in added} == {FOLDER}
    together = make(tmp_path / "e.zarr", is_sparse=is_sparse, columns=True)
    assert together.fingerprint == before.fingerprint
    assert together.options == before.options
    for file in files_of(before.path):
        assert (together.path / file.relative_to(before.path)).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("block_bytes", [150, 2**25])
def test_plain_zarr_reads_a_dense_copy(tmp_path, monkeypatch, block_bytes):
    monkeypatch.setattr(_transpose, "_BLOCK_BYTES", block_bytes)
    data = make(tmp_path / "d.zarr", is_sparse=False, columns=True)
    root = zarr.open_group(data.path / FOLDER, mode="r")
    for number, blocks in enumerate(data.train.groups):
        array = root[f"{number}/features"]
        expected = table(data.train, blocks)
        assert array.shape == expected.shape[::-1]
        n_blocks = -(-13 // max(1, block_bytes // (4 * len(expected))))
        assert array.chunks == (-(-13 // n_blocks), len(expected))
        assert (n_blocks > 1) == (block_bytes == 150)
        assert_array_equal(array[...], expected.T)
        assert_array_equal(array[4], expected[:, 4])


@pytest.mark.parametrize("most_entries", [1000, 2**22])
def test_plain_zarr_reads_a_sparse_copy_in_the_layout_of_anndata(tmp_path, monkeypatch, most_entries):
    monkeypatch.setattr(_transpose, "_MOST_ENTRIES", most_entries)
    data = make(tmp_path / "d.zarr", 5000, 20, is_sparse=True, rows_per_shard=2500, columns=True)
    for number, blocks in enumerate(data.train.groups):
        group = zarr.open_group(data.path / FOLDER / str(number) / "features", mode="r")
        expected = table(data.train, blocks).T
        done = 0
        for block in range(len([*group.group_keys()])):
            columns = group[str(block)]
            shape = tuple(columns.attrs["shape"])
            assert columns.attrs["encoding-type"] == "csr_matrix"
            arrays = [columns[name][...] for name in ("data", "indices", "indptr")]
            assert [array.dtype.name for array in arrays] == ["float32", "int32", "int64"]
            found = sparse.csr_array(tuple(arrays), shape=shape).toarray()
            assert_array_equal(found, expected[done : done + shape[0]])
            done += shape[0]
        assert done == len(expected)
        assert (block > 0) == (most_entries == 1000)


def test_a_copy_without_entries(tmp_path):
    data = write_dataset(
        [(np.zeros((20, 3)), np.arange(20) % 2)], tmp_path / "d.zarr", rows_per_shard=5, columns=True
    )
    assert data.is_sparse
    found = data.train.group(1)().columns(np.array([0, 2, 2]))
    assert_array_equal(np.asarray(converted(found, sparse=False)), np.zeros((3, 5)))
    assert zarr.open_group(data.path / FOLDER / "1/features/0", mode="r")["data"].shape == (0,)


def test_regression_and_no_targets(tmp_path):
    for task in ("regression", "none"):
        data = make(tmp_path / f"{task}.zarr", is_sparse=False, task=task, columns=True)
        group = data.train.group(0)()
        assert (group.targets is None) == (task == "none")
        assert group.columns(np.array([1])).shape == (1, group.n_rows)


def test_adding_twice_is_refused_unless_it_is_wanted(tmp_path):
    path = make(tmp_path / "d.zarr", is_sparse=True, columns=True).path
    before = (path / FOLDER / "manifest.json").stat().st_ino
    with pytest.raises(InputError, match="already has a feature-major copy"):
        add_columns(path)
    assert (path / FOLDER / "manifest.json").stat().st_ino == before
    add_columns(path, overwrite=True)
    assert (path / FOLDER / "manifest.json").stat().st_ino != before


def test_the_copy_of_other_data_is_refused_and_replaced(tmp_path):
    data = make(tmp_path / "d.zarr", is_sparse=False)
    other = make(tmp_path / "e.zarr", is_sparse=False, seed=1, columns=True)
    shutil.copytree(other.path / FOLDER, data.path / FOLDER)
    for use in (lambda: data.train.has_columns, lambda: data.train.group(0)):
        with pytest.raises(CorruptDataError, match=r"manifest\.json.*other data.*--columns"):
            use()
    added = add_columns(data.path)
    assert_array_equal(
        added.train.group(0)().columns(np.arange(13)), table(added.train, added.train.groups[0]).T
    )


@pytest.mark.parametrize(
    "damage", slow_but(["text", "edited", "newer", "older", "not an object", "cut"], "edited", "older")
)
def test_a_damaged_manifest_of_the_copy_is_refused(tmp_path, damage):
    data = make(tmp_path / "d.zarr", is_sparse=True, columns=True)
    file = data.path / FOLDER / "manifest.json"
    content = json.loads(file.read_text())
    changed = {
        "text": "what?",
        "edited": json.dumps(content | {"n_features": 12}),
        "newer": json.dumps(content | {"encoding-version": 3}),
        "older": json.dumps(content | {"encoding-version": 1}),
        "not an object": "[]",
        "cut": file.read_text()[:-20],
    }[damage]
    file.write_text(changed)
    kind = InputError if damage in ("newer", "older") else CorruptDataError
    with pytest.raises(kind, match=r"columns/manifest\.json"):
        _ = open_dataset(data.path).train.has_columns


@pytest.mark.parametrize(("calls", "is_sparse"), slow_but([(1, True), (5, False), (13, True)], (5, False)))
def test_an_interruption_leaves_nothing(tmp_path, monkeypatch, is_sparse, calls):
    monkeypatch.setattr(_transpose, "_MOST_ENTRIES", 10)
    data = make(tmp_path / "d.zarr", is_sparse=is_sparse)
    before = files_of(data.path)
    seen = []

    def progress(what, rows, n_bytes, total):
        assert total == 90
        seen.append((what, rows))
        if len(seen) == calls:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_columns(data.path, progress=progress)
    assert files_of(data.path) == before
    assert sorted(os.listdir(data.path)) == ["manifest.json", "train", "zarr.json"]
    add_columns(data.path, progress=lambda *step: seen.append(step[:2]))
    assert seen[-1] == (f"writing columns, group {len(data.train.groups)} of {len(data.train.groups)}", 90)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_disk_without_room_is_found_out_first(tmp_path, monkeypatch, is_sparse):
    data = make(tmp_path / "d.zarr", is_sparse=is_sparse)
    needed = add_columns(data.path).train.column_copy
    shutil.rmtree(data.path / FOLDER)
    monkeypatch.setattr(_transpose, "free_bytes", lambda path: needed.stored_bytes)
    with pytest.raises(InputError, match=r"d\.zarr: the disk is full.*needed"):
        add_columns(data.path)
    assert not (data.path / FOLDER).exists()
    monkeypatch.setattr(_transpose, "free_bytes", lambda path: 2 * needed.stored_bytes)
    assert add_columns(data.path).train.has_columns


def test_the_copy_takes_the_stated_bytes(tmp_path):
    for is_sparse in (False, True):
        data = make(
            tmp_path / f"{is_sparse}.zarr", 3000, 9, is_sparse=is_sparse, columns=True, rows_per_shard=400
        )
        copy = data.train.column_copy
        found = [file for file in files_of(data.path / FOLDER) if not file.name.endswith(".json")]
        assert sum(file.stat().st_size for file in found) == copy.stored_bytes


def test_more_features_than_are_counted_in_memory_are_refused(tmp_path):
    rows = sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 1, 2, 10**9])), shape=(4, 10**9 + 1))
    with pytest.raises(InputError, match=r"1,000,000,001 features.*33,554,432"):
        write_dataset([(rows, np.arange(4) % 2)], tmp_path / "d.zarr", columns=True)
    assert os.listdir(tmp_path) == []


def test_a_damaged_shard_is_not_copied(tmp_path):
    data = make(tmp_path / "d.zarr", is_sparse=False)
    file = data.path / "train" / "features" / "c" / "3" / "0"
    content = bytearray(file.read_bytes())
    content[9] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptDataError, match="features/c/3/0"):
        add_columns(data.path)
    assert not open_dataset(data.path).train.has_columns


KILLS = 12
CODE = """
import sys
from distkern.data.ingest import add_columns
print("started", flush=True)
add_columns(sys.argv[1], overwrite=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("replacing", [False, True])
def test_killed_while_adding_the_copy(tmp_path, replacing):
    features = np.random.default_rng(0).random((40_000, 120), dtype=np.float32)
    path = tmp_path / "d.zarr"
    whole = write_dataset([(features, np.arange(40_000) % 2)], path, rows_per_shard=500, columns=replacing)
    process = start_code(CODE, path)
    before = time.perf_counter()
    finish(process)
    seconds = time.perf_counter() - before
    random.seed(0)
    interrupted = 0
    for _ in range(KILLS):
        if not replacing:
            subprocess.run(["rm", "-rf", str(path / FOLDER)], check=True)
        kill_after(start_code(CODE, path), random.uniform(0, seconds))
        data = open_dataset(path)
        assert data.fingerprint == whole.fingerprint
        interrupted += any(name.startswith(f".{FOLDER}.partial-") for name in os.listdir(path))
        assert data.train.has_columns or not replacing
        for number in range(0, len(data.train.groups), 3):
            group = data.train.group(number)()
            assert group.rows(np.array([1])).shape == (1, 120)
            if data.train.has_columns:
                column, rows = group.columns(np.array([7])), group.rows(np.arange(group.n_rows))
                assert isinstance(rows, np.ndarray)
                np.testing.assert_array_equal(column, rows[:, [7]].T)
    # otherwise the kills came too early or too late to show anything
    assert interrupted >= 3
    finish(start_code(CODE, path))
    assert open_dataset(path).train.has_columns
    # what the killed ones left is gone
    assert sorted(os.listdir(path)) == [FOLDER, "manifest.json", "train", "zarr.json"]
