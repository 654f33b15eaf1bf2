"""Data sets whose shards are sparse: the same rows as dense ones, and the same promises."""

import numpy as np
import pytest
import zarr
from scipy import sparse

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows, converted, stacked
from distkern.data import collect, writer
from distkern.data.dataset import open_dataset
from distkern.data.ingest import shard, write_dataset


def table(rows=300, columns=80, share=0.03, seed=0):
    """Few numbers that are not zero; rows and columns of zeros among them."""
    generator = np.random.default_rng(seed)
    features = np.round(generator.normal(size=(rows, columns)), 3) * (
        generator.random((rows, columns)) < share
    )
    features[5] = 0
    return features


LABELS = np.arange(300) % 3


def svmlight(path, features, labels=LABELS):
    lines = (
        " ".join([str(label), *(f"{column + 1}:{float(row[column])!r}" for column in np.flatnonzero(row))])
        for label, row in zip(labels, features, strict=True)
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def rows_of(split):
    blocks = [split.reader(index)() for index in range(split.n_blocks)]
    assert all(isinstance(block.features, SparseRows) == split.is_sparse for block in blocks)
    features = converted(stacked([block.features for block in blocks]), sparse=False)
    return np.asarray(features), np.concatenate([block.targets for block in blocks])


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("scale", ["none", "unit", "ball"])
@pytest.mark.parametrize("rows_per_shard", [None, 64])
def test_sparse_and_dense_shards_hold_the_same_rows(tmp_path, scale, rows_per_shard, shuffle):
    features = table()
    made = [
        write_dataset(
            [(features[:200], LABELS[:200]), (sparse.csr_array(features[200:]), LABELS[200:])],
            tmp_path / f"{form}.zarr",
            test_fraction=0.1,
            scale=scale,
            rows_per_shard=rows_per_shard,
            shuffle=shuffle,
            sparse=form,
        )
        for form in (True, False)
    ]
    assert [data.is_sparse for data in made] == [True, False]
    for name in ("train", "test"):
        (found, codes), (expected, others) = (rows_of(getattr(data, name)) for data in made)
        np.testing.assert_array_equal(codes, others)
        if scale == "unit":
            np.testing.assert_allclose(found, expected, rtol=2e-7)
        else:
            np.testing.assert_array_equal(found, expected)
    assert made[0].train.block_rows == made[1].train.block_rows or rows_per_shard is None
    assert made[0].train.class_counts.tolist() == made[1].train.class_counts.tolist()
    assert made[0].train.n_entries == np.count_nonzero(rows_of(made[1].train)[0])
    assert made[0].fingerprint != made[1].fingerprint


def test_the_form_follows_the_density_unless_it_is_given(tmp_path):
    for number, (share, wanted, expected) in enumerate(
        [(0.03, None, True), (0.1, None, False), (0.03, False, False), (0.1, True, True)]
    ):
        file = svmlight(tmp_path / "a.svm", table(share=share))
        data = shard(file, tmp_path / f"{number}.zarr", sparse=wanted)
        assert data.is_sparse is expected
        assert data.scaling.kind == ("unit" if expected else "minmax")
        assert data.options["sparse"] is expected
        assert data.options["scale"] == data.scaling.kind
        assert rows_of(data.train)[0].shape == (300, 80)


def test_the_threshold_is_one_in_sixteen(tmp_path):
    features = np.zeros((32, 16))
    features[:, 3] = 1
    below = features.copy()
    below[0] = 0
    labels = np.arange(32) % 2
    assert not write_dataset([(features, labels)], tmp_path / "a.zarr").is_sparse
    assert write_dataset([(below, labels)], tmp_path / "b.zarr").is_sparse


@pytest.mark.parametrize("scale", ["minmax", "standard"])
@pytest.mark.parametrize("wanted", [None, True])
def test_scalings_that_fill_zeros_are_refused(tmp_path, scale, wanted):
    file = svmlight(tmp_path / "a.svm", table())
    with pytest.raises(
        InputError, match=f"--scale: {scale} scaling would turn the zeros.*none, unit, ball.*--dense"
    ):
        shard(file, tmp_path / "d.zarr", scale=scale, sparse=wanted)
    assert not (tmp_path / "d.zarr").exists()
    assert shard(file, tmp_path / "d.zarr", scale=scale, sparse=False).scaling.kind == scale


def test_rows_of_zeros_stay_zero_under_unit(tmp_path):
    data = shard(svmlight(tmp_path / "a.svm", table()), tmp_path / "d.zarr", shuffle=False)
    norms = np.linalg.norm(rows_of(data.train)[0], axis=1)
    assert norms[5] == 0
    np.testing.assert_allclose(norms[np.any(table() != 0, axis=1)], 1, rtol=1e-6)


def test_shards_of_zeros_alone(tmp_path):
    features = table()
    features[100:200] = 0
    data = write_dataset(
        [(features, LABELS)], tmp_path / "d.zarr", scale="none", shuffle=False, rows_per_shard=50, sparse=True
    )
    np.testing.assert_array_equal(rows_of(data.train)[0], features.astype(np.float32))


def test_more_features_than_memory_has_room_for(tmp_path):
    (tmp_path / "a.svm").write_text("".join(f"{i % 2} {i + 1}:1 2000000000:{i + 1}\n" for i in range(400)))
    data = shard(tmp_path / "a.svm", tmp_path / "d.zarr", scale="none", shuffle=False)
    assert data.n_features == 2_000_000_000
    block = data.train.reader(0)()
    assert isinstance(block.features, SparseRows)
    assert block.features.indices.tolist() == [i for row in range(400) for i in (row, 1_999_999_999)]


def test_an_index_that_no_32_bits_hold_is_refused(tmp_path):
    (tmp_path / "a.svm").write_text("0 1:1\n1 3000000000:1\n")
    with pytest.raises(InputError, match=r"a\.svm, row 2 \(line 2\): feature 3000000000: indices go up to"):
        shard(tmp_path / "a.svm", tmp_path / "d.zarr")


def test_a_late_wide_row_is_refused_where_rows_are_stored_dense(tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "SHARD_BYTES", 4 * 100)
    many = "".join(f"{i % 2} 1:1 2:{i}\n" for i in range(100_000))
    (tmp_path / "a.svm").write_text(many + "1 1:1 5000:1\n1 1:2\n")
    with pytest.raises(
        InputError, match=r"row 100001 \(line 100001\): feature 5,000, but earlier rows had 2"
    ):
        shard(tmp_path / "a.svm", tmp_path / "d.zarr", task="none")


def test_runs_of_a_bounded_size_are_shuffled_together(tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "SHARD_BYTES", 2000)
    features = table()
    features[:, 0] = np.arange(300) + 1
    pieces = [(features[start : start + 7], LABELS[start : start + 7]) for start in range(0, 300, 7)]
    data = write_dataset(pieces, tmp_path / "d.zarr", scale="none", rows_per_shard=40, sparse=True)
    found, codes = rows_of(data.train)
    order = found[:, 0].astype(int) - 1
    assert sorted(order) == list(range(300))
    assert np.abs(np.diff(order)).mean() > 50
    np.testing.assert_array_equal(found, features[order].astype(np.float32))
    np.testing.assert_array_equal(codes, LABELS[order])
    again = write_dataset(pieces, tmp_path / "e.zarr", scale="none", rows_per_shard=40, sparse=True)
    assert again.fingerprint == data.fingerprint


def test_default_shards_are_counted_in_stored_bytes():
    # 158 numbers of 8 bytes a row, 14.5 MB in all: 8 shards
    numbers = writer.numbers_of_a_row(11_314, 158 * 11_314)
    assert numbers == 318
    assert len(writer.shard_sizes(11_314, writer.rows_of_a_shard(11_314, numbers))) == 8


def test_the_layout_is_that_of_anndata(tmp_path):
    data = write_dataset([(table(), LABELS)], tmp_path / "d.zarr", rows_per_shard=100, sparse=True)
    group = zarr.open_group(data.path / "train" / "features" / "1", mode="r")
    assert dict(group.attrs) == {
        "encoding-type": "csr_matrix",
        "encoding-version": "0.1.0",
        "shape": [100, 80],
    }
    arrays = [group[name][...] for name in ("data", "indices", "indptr")]
    features = data.train.reader(1)().features
    assert isinstance(features, SparseRows)
    np.testing.assert_array_equal(
        sparse.csr_array(tuple(arrays), shape=(100, 80)).toarray(), features.toarray()
    )


def test_a_test_file_takes_the_form_of_the_training_rows(tmp_path):
    full = table(share=0.9)
    file, other = svmlight(tmp_path / "a.svm", table()), svmlight(tmp_path / "b.svm", full)
    data = shard(file, tmp_path / "d.zarr", test=other, scale="none")
    assert data.test.is_sparse
    np.testing.assert_array_equal(rows_of(data.test)[0], full.astype(np.float32))
    assert open_dataset(data.path).test.row_numbers > data.train.row_numbers
