"""Reading a data set: any process, any thread, and never a wrong value."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from distkern.core.errors import CorruptDataError, InputError
from distkern.data.dataset import open_dataset
from distkern.data.ingest import write_dataset
from distkern.runs.sources import ArraySource

#: files of a shard, by whether it is sparse
FILES = {
    False: ("targets/c/{}", "features/c/{}/0"),
    True: ("targets/c/{}", *(f"features/{{}}/{name}/c/0" for name in ("data", "indices", "indptr"))),
}
BOTH = pytest.mark.parametrize("data", ["dense", "sparse"], indirect=True)


def make(path, seed=0, *, sparse=False, **options):
    generator = np.random.default_rng(seed)
    features, labels = generator.normal(size=(1000, 5)), np.arange(1000) % 3
    if sparse:
        features *= generator.random(features.shape) < 0.3
    options = {"rows_per_shard": 300, "test_fraction": 0.1, "seed": seed, "sparse": sparse, **options}
    return write_dataset([(features, labels)], path, **options)


@pytest.fixture
def data(tmp_path, request):
    return make(tmp_path / "d.zarr", sparse=getattr(request, "param", "dense") == "sparse")


def test_attributes(data):
    again = open_dataset(str(data.path))
    for found in (data, again):
        assert (found.n_rows, found.n_features, found.task) == (900, 5, "classification")
        assert found.train.block_rows == (300, 300, 300)
        assert found.test.block_rows == (100,)
        assert found.classes.tolist() == [0, 1, 2]
        assert found.feature_names is None
        assert found.scaling.kind == "minmax"
        assert found.train.dataset is found
        assert found.train.dtype == np.float32
    assert again.fingerprint == data.fingerprint
    assert again.train.fingerprint != again.test.fingerprint


def test_threads_read_the_same(data):
    alone = [data.train.reader(index)().features for index in range(3)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda i: data.train.reader(i % 3)().features, range(60)))
    for number, features in enumerate(together):
        np.testing.assert_array_equal(features, alone[number % 3])


@BOTH
def test_every_flipped_bit_is_noticed(data):
    names, folder = FILES[data.is_sparse], data.path / "train"
    stored = [file for file in (folder / "features").rglob("*") if file.is_file()]
    stored = [file for file in stored if file.name != "zarr.json"]
    # all but the targets
    assert len(stored) == data.train.n_blocks * (len(names) - 1)
    for name in names:
        file = folder / name.format(1)
        content = file.read_bytes()
        for position in [*range(0, len(content), 97), len(content) - 1]:
            damaged = bytearray(content)
            damaged[position] ^= 1 << (position % 8)
            file.write_bytes(damaged)
            with pytest.raises(CorruptDataError, match=str(file)):
                data.train.reader(1)()
        file.write_bytes(content)
    data.train.reader(1)()


@BOTH
@pytest.mark.parametrize("damage", ["missing", "swapped", "short", "long", "older"])
def test_every_wrong_chunk_is_noticed(data, tmp_path, damage):
    older = make(tmp_path / "older.zarr", seed=1, sparse=data.is_sparse).path
    for name in FILES[data.is_sparse]:
        file, of_another = (data.path / "train" / name.format(block) for block in (1, 0))
        content = file.read_bytes()
        if damage == "missing":
            file.unlink()
        elif damage == "swapped":
            # of as many rows: their size does not decide
            assert of_another.stat().st_size == len(content) or name.endswith(("data/c/0", "indices/c/0"))
            shutil.copy(of_another, file)
        elif damage == "short":
            file.write_bytes(content[:-8])
        elif damage == "long":
            file.write_bytes(content + b"\0" * 8)
        else:
            shutil.copy(older / "train" / name.format(1), file)
        with pytest.raises(CorruptDataError) as caught:
            data.train.reader(1)()
        assert str(file) in str(caught.value)
        assert caught.value.hint
        data.train.reader(0)()
        file.write_bytes(content)
    data.train.reader(1)()


def test_a_changed_description_of_an_array_changes_no_value(data, tmp_path):
    expected = data.train.reader(0)().features
    shutil.copytree(data.path, tmp_path / "copy.zarr")
    file = tmp_path / "copy.zarr" / "train" / "features" / "zarr.json"
    file.write_text(file.read_text().replace("float32", "int32"))
    found = open_dataset(tmp_path / "copy.zarr").train.reader(0)().features
    assert np.array_equal(np.asarray(found), np.asarray(expected))
    assert found.dtype == np.float32


def test_a_replaced_data_set_is_not_read_through_old_handles(data):
    old = data.train.reader(0)
    before = old().features
    new = make(data.path, seed=1, overwrite=True)
    assert not np.array_equal(new.train.reader(0)().features, before)
    with pytest.raises(CorruptDataError, match="not the one that was written"):
        old()


def edited(data, **changes):
    file = data.path / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_what_is_not_a_data_set(data, tmp_path):
    with pytest.raises(InputError, match="there is no data set"):
        open_dataset(tmp_path / "nowhere.zarr")
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(InputError, match=r"distkern shard \S*a\.csv --out a\.zarr"):
        open_dataset(tmp_path / "a.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"is not a finished data set \(no manifest\.json\)"):
        open_dataset(tmp_path / "empty")
    shutil.copytree(data.path, tmp_path / ".d.zarr.partial-here-1-00000000")
    with pytest.raises(InputError, match="unfinished"):
        open_dataset(tmp_path / ".d.zarr.partial-here-1-00000000")


def test_a_newer_or_damaged_manifest_is_refused(data):
    file = data.path / "manifest.json"
    whole = file.read_bytes()
    for changes, kind, message in (
        ({"encoding-version": 6}, InputError, "format version 6"),
        ({"encoding-version": 4}, InputError, "version 4, and .* reads 5; make one with `distkern shard`"),
        ({"encoding-type": "other"}, InputError, "not a data set of distkern"),
        ({"n_features": 6}, CorruptDataError, "does not match its fingerprint"),
        ({"classes": [0, 2, 1]}, CorruptDataError, "does not match its fingerprint"),
    ):
        edited(data, **changes)
        with pytest.raises(kind, match=message):
            open_dataset(data.path)
        file.write_bytes(whole)
    for size in range(0, len(whole), 101):
        file.write_bytes(whole[:size])
        with pytest.raises(
            CorruptDataError, match=r"manifest\.json: the description of a data set is damaged"
        ):
            open_dataset(data.path)


def test_the_fingerprint_depends_on_values_and_not_on_the_place(tmp_path):
    first = make(tmp_path / "a.zarr")
    assert make(tmp_path / "b.zarr").fingerprint == first.fingerprint
    assert make(tmp_path / "c.zarr", seed=1).fingerprint != first.fingerprint
    features, labels = np.random.default_rng(0).normal(size=(1000, 5)), np.arange(1000) % 3
    features[500, 3] += 1e-3
    data = write_dataset([(features, labels)], tmp_path / "d.zarr", rows_per_shard=300, test_fraction=0.1)
    assert data.fingerprint != first.fingerprint


@pytest.mark.parametrize("sparse", [True, False])
def test_numbers_that_are_not_zero_are_counted(tmp_path, sparse):
    generator = np.random.default_rng(0)
    features = generator.normal(size=(3000, 20)) * (generator.random((3000, 20)) < 0.3)
    written = write_dataset(
        [(features, np.arange(3000) % 2)],
        tmp_path / "d.zarr",
        rows_per_shard=400,
        sparse=sparse,
        scale="none",
    )
    nonzero = int(np.count_nonzero(features))
    assert open_dataset(written.path).train.n_nonzero == nonzero
    assert open_dataset(written.path).train.row_accesses == nonzero / 3000
    assert ArraySource(features, None, None).n_nonzero == nonzero
