"""Real files, as they are found: the same rows as scikit-learn and NumPy read."""

import lzma

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from distkern import CSVRGClassifier
from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.data.ingest import shard
from file_rows import everything


@pytest.mark.slow
def test_adult(datasets, tmp_path):
    data = shard(
        datasets / "a9a.svm.gz",
        tmp_path / "d.zarr",
        test=datasets / "a9a.t.svm.gz",
        scale="none",
        shuffle=False,
    )
    for split, name in ((data.train, "a9a.svm.gz"), (data.test, "a9a.t.svm.gz")):
        expected, labels = load_svmlight_file(str(datasets / name), n_features=123)
        features, codes = everything(split)
        np.testing.assert_array_equal(features, expected.toarray().astype(np.float32))
        np.testing.assert_array_equal(data.classes[codes], labels)


def test_letters(datasets, tmp_path):
    data = shard(datasets / "letter.csv.gz", tmp_path / "d.zarr")
    features, _ = everything(data.train)
    assert features.shape == (20_000, 16)
    assert data.classes.tolist() == list("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert (features.min(axis=0) == 0).all()
    assert (features.max(axis=0) == 1).all()


def test_digits(datasets, tmp_path):
    data = shard(datasets / "mnist_test.npz", tmp_path / "d.zarr", scale="none", shuffle=False)
    features, codes = everything(data.train)
    with np.load(datasets / "mnist_test.npz") as arrays:
        np.testing.assert_array_equal(features, arrays["X"])
        np.testing.assert_array_equal(codes, arrays["y"])


def test_regression_columns_are_not_taken_for_classes(datasets, tmp_path):
    for name in ("cadata.csv.gz", "kin40k_test.parquet"):
        with pytest.raises(InputError, match="--task regression"):
            shard(datasets / name, tmp_path / "d.zarr", overwrite=True)
        data = shard(datasets / name, tmp_path / "d.zarr", task="regression", overwrite=True)
        features, targets = everything(data.train)
        assert features.shape == (len(targets), 8)


@pytest.mark.slow
def test_newsgroups_are_stored_sparse_and_learnt(datasets, tmp_path):
    """130,108 words of which a text has 158: 14 MiB instead of 5.5 GiB."""
    data = shard(
        datasets / "20news_binary.svm.xz", tmp_path / "d.zarr", test=datasets / "20news_binary.t.svm.xz"
    )
    assert data.is_sparse
    assert data.scaling.kind == "unit"
    assert (data.n_rows, data.test.n_rows, data.n_features) == (11_314, 7_532, 130_108)
    with lzma.open(datasets / "20news_binary.t.svm.xz") as stream:
        expected, labels = load_svmlight_file(stream, n_features=130_108)
    norms = np.sqrt(expected.multiply(expected).sum(axis=1))
    block = data.test.reader(0)()
    assert isinstance(block.features, SparseRows)
    stop = block.n_rows
    np.testing.assert_allclose(
        block.features.data, (expected[:stop].multiply(1 / norms[:stop])).tocsr().data, rtol=1e-6
    )
    np.testing.assert_array_equal(data.classes[block.targets], labels[:stop])
    model = CSVRGClassifier(landmarks="uniform", n_landmarks=60, gamma=1.0, stages=2, random_state=0)
    model.fit(data.train)
    assert model.score(data.test) > 0.75


@pytest.mark.slow
def test_covtype_in_a_few_seconds(datasets, tmp_path):
    data = shard(datasets / "covtype.csv.gz", tmp_path / "d.zarr", positive="2", test_fraction=0.2)
    assert (data.n_rows, data.test.n_rows) == (464_809, 116_203)
    assert data.train.class_counts is not None
    assert data.test.class_counts is not None
    assert (data.train.class_counts + data.test.class_counts).tolist() == [297_711, 283_301]
