"""Single rows and columns of stored groups: right, checked, and in bounded memory."""

import gc
import os
import pickle
import shutil
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from test_feature_major import files_of, make, table

from cluster_processes import lines_of
from distkern.core.errors import CorruptDataError, InputError
from distkern.core.sparse import SparseRows, converted, stacked
from distkern.data import _transpose
from distkern.data.feature_major import FOLDER
from distkern.data.group import StoredGroup, _CheckedFiles
from small import slow_but

BOTH = pytest.mark.parametrize("data", ["dense", "sparse"], indirect=True)


@pytest.fixture
def data(tmp_path, request):
    return made(tmp_path / "d.zarr", is_sparse=request.param == "sparse", columns=True)


def made(path, *, is_sparse, **options):
    return make(path, 300, 31, is_sparse=is_sparse, rows_per_shard=20, **options)


def dense(rows):
    return np.asarray(converted(rows, sparse=False))


def opened(data, number):
    group = data.train.group(number)()
    assert isinstance(group, StoredGroup)
    return group


@BOTH
def test_a_group_gives_what_its_blocks_hold(data):
    generator = np.random.default_rng(0)
    for number, blocks in enumerate(data.train.groups):
        group = opened(data, number)
        expected = table(data.train, blocks)
        assert (group.n_rows, group.n_features) == expected.shape
        positions = generator.integers(0, group.n_rows, 50)
        columns = generator.integers(0, group.n_features, 50)
        for found, wanted in (
            (group.rows(positions), expected[positions]),
            (group.columns(columns), expected[:, columns].T),
            (group.rows(positions[:0]), expected[:0]),
            (group.columns(columns[:0]), expected.T[:0]),
        ):
            assert isinstance(found, SparseRows) == data.is_sparse
            assert found.dtype == np.float32
            assert found.shape == wanted.shape
            assert_array_equal(dense(found), wanted)
            if isinstance(found, np.ndarray):
                assert found.flags.c_contiguous
        whole = list(group.blocks())
        assert [block.index for block in whole] == list(blocks)
        assert_array_equal(dense(stacked([block.features for block in whole])), expected)
        assert_array_equal(dense(group.block(len(blocks) - 1).features), dense(whole[-1].features))
        assert group.targets.dtype == np.int32
        assert_array_equal(group.targets, np.concatenate([block.targets for block in whole]))


@BOTH
def test_what_is_not_in_the_group_is_refused(data):
    group = opened(data, 0)
    for wrong in (-1, group.n_rows):
        with pytest.raises(IndexError, match="rows"):
            group.rows(np.array([0, wrong]))
    for wrong in (-1, group.n_features):
        with pytest.raises(IndexError, match="columns"):
            group.columns(np.array([wrong, 0]))


@BOTH
def test_another_process_reads_the_same_without_heavy_imports(data, tmp_path):
    opener = pickle.dumps(data.train.group(1))
    assert len(opener) < 4000
    (tmp_path / "opener").write_bytes(opener)
    code = (
        "import pickle, sys, numpy as np; group = pickle.load(open('opener', 'rb'))();"
        "group.rows(np.array([3])); group.targets;"
        "found = group.columns(np.array([4, 5]));"
        "print(float((found if isinstance(found, np.ndarray) else found.data).sum(dtype='f8')));"
        "names = ('sklearn', 'pandas', 'pyarrow', 'numba', 'dask', 'scipy', 'rich', 'click');"
        "print([name for name in names if name in sys.modules])"
    )
    expected = table(data.train, data.train.groups[1])[:, 4:6].sum(dtype="f8")
    total, imported = lines_of(code, tmp_path)
    assert float(total) == pytest.approx(expected)
    assert imported == "[]"


@BOTH
def test_without_a_copy_the_hint_is_a_command(data):
    shutil.rmtree(data.path / FOLDER)
    train = made(data.path, is_sparse=data.is_sparse, overwrite=True, test_fraction=0.2).train
    assert not train.has_columns
    group = train.group(0)()
    assert group.rows(np.array([0])).shape == (1, 31)
    with pytest.raises(InputError, match=rf"add it with `distkern shard {data.path} --columns`"):
        group.columns(np.array([0]))
    test = train.dataset.test
    assert not test.has_columns


@BOTH
def test_every_flipped_byte_is_noticed(data):
    files = [*files_of(data.path / FOLDER / "2"), *files_of(data.path / "train" / "features")]
    files = [file for file in files if file.name != "zarr.json"]
    shards = {str(block) for block in data.train.groups[2]}
    looked_at = 0
    for file in files:
        relative = file.relative_to(data.path).parts
        shard = relative[2] if data.is_sparse else relative[3]
        if relative[0] == "train" and shard not in shards:
            continue
        looked_at += 1
        whole = file.read_bytes()
        for position in [*range(0, len(whole), 149), len(whole) - 1]:
            changed = bytearray(whole)
            changed[position] ^= 1 << position % 8
            file.write_bytes(changed)
            group = opened(data, 2)
            read_all = group.rows if relative[0] == "train" else group.columns
            with pytest.raises(CorruptDataError) as caught:
                read_all(np.arange(group.n_rows if relative[0] == "train" else group.n_features))
            assert caught.value.where == str(file)
            assert caught.value.hint
        file.write_bytes(whole)
    assert looked_at == (3 if data.is_sparse else 1) * (1 + len(shards))
    group = opened(data, 2)
    assert_array_equal(dense(group.columns(np.arange(31))), dense(group.rows(np.arange(group.n_rows))).T)


@BOTH
def test_the_room_for_all_columns_is_known_before_they_are_read(data):
    group = opened(data, 1)
    found = group.columns(np.arange(group.n_features))
    if isinstance(found, SparseRows):
        assert group.column_bytes() == found.data.nbytes + found.indices.nbytes + found.indptr.nbytes
    else:
        assert group.column_bytes() is None


@BOTH
def test_columns_in_a_row_are_those_one_by_one(data):
    group = opened(data, 1)
    together = group.columns(np.arange(3, 9))
    assert_array_equal(dense(together), np.vstack([dense(group.columns(np.array([c]))) for c in range(3, 9)]))
    places = np.empty((6, group.n_rows), dtype=np.float32)
    if not data.is_sparse:
        group.columns_into(np.arange(3, 9), list(places))
        assert_array_equal(places, dense(together))


DAMAGES = ("missing", "of another group", "of other data", "short", "long")


@pytest.mark.parametrize(
    ("data", "damage"),
    slow_but(
        [(form, damage) for form in ("dense", "sparse") for damage in DAMAGES],
        ("dense", "of another group"),
        ("sparse", "short"),
    ),
    indirect=["data"],
)
def test_every_wrong_file_is_noticed(data, tmp_path, damage):
    other = made(tmp_path / "e.zarr", is_sparse=data.is_sparse, columns=True, seed=1)
    name = "features/0/indptr/c/0" if data.is_sparse else "features/c/0/0"
    rows_of = "features/{}/indptr/c/0" if data.is_sparse else "features/c/{}/0"
    shard = data.train.groups[1][0]
    for file, group_file, other_file in (
        (f"{FOLDER}/1/{name}", f"{FOLDER}/2/{name}", other.path / f"{FOLDER}/1/{name}"),
        *[
            (
                "train/" + rows_of.format(shard),
                "train/" + rows_of.format(0),
                other.path / "train" / rows_of.format(shard),
            )
        ],
    ):
        path = data.path / file
        content = path.read_bytes()
        if damage == "missing":
            path.unlink()
        elif damage == "of another group":
            path.write_bytes((data.path / group_file).read_bytes())
        elif damage == "of other data":
            path.write_bytes(other_file.read_bytes())
        else:
            path.write_bytes(content[:-4] if damage == "short" else content + b"\0")
        group = opened(data, 1)
        read = group.columns if file.startswith(FOLDER) else group.rows
        with pytest.raises(CorruptDataError) as caught:
            read(np.array([0]))
        assert caught.value.where == str(path)
        path.write_bytes(content)


@BOTH
def test_a_shard_is_checked_once_by_each_group(data, monkeypatch):
    monkeypatch.setattr(_CheckedFiles.kept, "n", 1)
    group = opened(data, 0)
    group.rows(np.arange(group.n_rows))
    (path, size, _), *_ = data.train.reader(0).feature_files()
    file = Path(path)
    kept = file.stat()
    changed = bytearray(file.read_bytes())
    changed[0] ^= 1
    # the same file, by all that can be seen without reading it: what was checked is not read again
    with open(file, "r+b") as stream:
        stream.write(changed)
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert file.stat().st_size == size
    group.rows(np.array([0]))
    with pytest.raises(CorruptDataError):
        opened(data, 0).rows(np.array([0]))
    # another file in its place is looked at anew
    replacement = file.with_name("new")
    replacement.write_bytes(changed)
    os.replace(replacement, file)
    with pytest.raises(CorruptDataError):
        group.rows(np.array([0]))


@pytest.mark.slow
@BOTH
def test_few_files_are_open_and_threads_do_not_mind(data, monkeypatch):
    if not Path("/proc/self/fd").exists():
        pytest.skip("open files are counted in Linux's /proc")
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(_CheckedFiles.kept, "n", 3)
    groups = [opened(data, number) for number in range(len(data.train.groups))]
    expected = [table(data.train, blocks) for blocks in data.train.groups]

    def look(number):
        group, rows = groups[number % len(groups)], expected[number % len(groups)]
        position = np.array([number % len(rows)])
        same = np.array_equal(dense(group.rows(position)), rows[position])
        return same and np.array_equal(dense(group.columns(position % 31)), rows[:, position % 31].T)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(look, range(300)))
    assert len(os.listdir("/proc/self/fd")) <= before + 3
    groups.clear()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.slow
@BOTH
def test_memory_does_not_grow_with_the_reads(data, monkeypatch):
    monkeypatch.setattr(_transpose, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(_transpose, "_MOST_ENTRIES", 100)
    shutil.rmtree(data.path / FOLDER)
    data = made(data.path, is_sparse=data.is_sparse, columns=True, overwrite=True)
    group = opened(data, 0)

    def read():
        for number in range(300):
            group.rows(np.array([number % group.n_rows]))
            group.columns(np.array([number % 31]))

    read()
    tracemalloc.start()
    try:
        start, _ = tracemalloc.get_traced_memory()
        for _ in range(3):
            read()
        end, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert end - start < 20_000
