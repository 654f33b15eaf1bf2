"""NumPy files: arrays by their usual names, any layout, streamed."""

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse

from distkern.core.errors import InputError
from distkern.data.formats import npy
from distkern.data.formats.base import CHUNK_BYTES
from file_rows import read

X = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize(
    ("features", "targets"), [("X", "y"), ("x", "target"), ("features", "labels"), ("data", "Y")]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_names_layouts_and_compression(tmp_path, save, features, targets, order):
    save(tmp_path / "a.npz", **{features: np.asarray(X, order=order), targets: np.array([0, 1, 0, 1])})
    (chunk,) = read(tmp_path / "a.npz")
    np.testing.assert_array_equal(chunk.features, X)
    np.testing.assert_array_equal(chunk.targets, [0, 1, 0, 1])
    assert chunk.features.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool", "float16", ">f4", "int64", ">i8", "float64"])
def test_types_of_features(tmp_path, dtype):
    np.save(tmp_path / "a.npy", X.astype(dtype))
    (chunk,) = read(tmp_path / "a.npy", target_kind="none")
    np.testing.assert_array_equal(chunk.features, X.astype(dtype).astype(float))
    exact = np.dtype(dtype).itemsize <= 2 or dtype == ">f4"
    assert chunk.features.dtype == (np.float32 if exact else np.float64)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array(["a", "b ", "a", "c"]), ["a", "b ", "a", "c"]),
        (np.array([b"a", b"b", b"a", b"c"]), ["a", "b", "a", "c"]),
        (np.array([[1], [2], [1], [3]], dtype=np.uint8), [1, 2, 1, 3]),
        (np.array([True, False, True, True]), [True, False, True, True]),
    ],
)
def test_types_of_labels(tmp_path, labels, expected):
    np.savez(tmp_path / "a.npz", X=X, y=labels)
    (chunk,) = read(tmp_path / "a.npz")
    assert chunk.targets.tolist() == expected


@pytest.mark.parametrize("order", ["C", "F"])
def test_large_arrays_come_in_bounded_chunks(tmp_path, order):
    values = np.asarray(np.random.default_rng(0).integers(0, 255, (30_000, 90), dtype=np.uint8), order=order)
    np.savez(tmp_path / "a.npz", X=values, y=np.arange(30_000))
    np.save(tmp_path / "a.npy", values)
    for name, kind in (("a.npz", "label"), ("a.npy", "none")):
        chunks = read(tmp_path / name, target_kind=kind)
        assert len(chunks) > 1
        assert all(chunk.features.nbytes <= CHUNK_BYTES for chunk in chunks)
        np.testing.assert_array_equal(np.concatenate([chunk.features for chunk in chunks]), values)


def test_images_are_flattened(tmp_path):
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    np.savez(tmp_path / "a.npz", x=images, y=[0, 1])
    (chunk,) = read(tmp_path / "a.npz")
    np.testing.assert_array_equal(chunk.features, images.reshape(2, 12))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": X, "y": [0, 1, 0, 1]}, "no array named X or x"),
        ({"X": X}, "no array named y"),
        ({"X": X, "x": X, "y": [0, 1, 0, 1]}, "several arrays may be the features: X, x"),
        ({"X": X, "y": [0, 1]}, "targets have shape"),
        ({"X": X[:, 0], "y": [0, 1, 0, 1]}, "features have shape"),
        ({"X": X, "y": np.eye(4)}, "targets have shape"),
        ({"X": X + 1j, "y": [0, 1, 0, 1]}, "holds complex128"),
        ({"X": X.astype(str), "y": [0, 1, 0, 1]}, "features hold"),
        ({"X": X, "y": ["a", "", "b", "c"]}, r"row 2 \(index 1\): the label is empty"),
        (
            {"X": np.where(X == 7, np.nan, X), "y": [0, 1, 0, 1]},
            r"row 3 \(index 2\), column 2 \(index 1\): .*NaN",
        ),
        ({"X": X, "y": [0, 1, np.inf, 1]}, r"row 3 \(index 2\), target: .*infinite"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path / "a.npz")
    assert "a.npz" in str(caught.value)


def test_pickled_arrays_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([[1, None]], dtype=object), y=[0], allow_pickle=True)
    with pytest.raises(InputError, match="holds object"):
        read(tmp_path / "a.npz")


def test_a_target_array_may_be_named(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, digit=[3, 1, 4, 1])
    (chunk,) = read(tmp_path / "a.npz", target="digit")
    np.testing.assert_array_equal(chunk.targets, [3, 1, 4, 1])


@pytest.mark.parametrize("labels", [[False, True], [2**53, 2**53 + 1], [1.0, 2.0]])
def test_a_column_of_labels_keeps_its_type(tmp_path, labels):
    values = np.column_stack([np.array(labels), np.array(labels)])
    np.save(tmp_path / "a.npy", values)
    (chunk,) = read(tmp_path / "a.npy", target="-1")
    assert chunk.targets.tolist() == labels
    assert chunk.targets.dtype == values.dtype


def test_npy_has_no_targets_and_no_second_array(tmp_path):
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(InputError, match="--task none"):
        read(tmp_path / "a.npy")
    with open(tmp_path / "a.npy", "ab") as file:
        np.save(file, X)
    with pytest.raises(InputError, match="longer than its header says"):
        read(tmp_path / "a.npy", target_kind="none")


def test_an_array_longer_than_its_header_states(tmp_path):
    stream = io.BytesIO()
    np.save(stream, X[:2])
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", stream.getvalue() + X[2:].tobytes())
    with pytest.raises(InputError, match="array 'X': the file is longer than its header says"):
        read(tmp_path / "a.npz", target_kind="none")


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_truncated_files(tmp_path, name):
    path = tmp_path / name
    if name.endswith("npz"):
        np.savez(path, X=X, y=[0, 1, 0, 1])
    else:
        np.save(path, X)
    content = path.read_bytes()
    for size in range(0, len(content), 7):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match=name):
            read(path, target_kind="none")


def test_a_row_of_zeros_without_end_takes_no_memory(tmp_path):
    """A compressed file of some megabytes may claim 2^29 zeros in a row."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": (1, 2**29)}
    )
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue())
    with pytest.raises(
        InputError, match=r"a row has 536,870,912 features; dense rows have at most 16,777,216"
    ):
        read(tmp_path / "a.npz", target_kind="none")


@pytest.mark.parametrize("target", ["-1", "3"])
def test_a_column_of_an_array_as_target(tmp_path, target):
    np.save(tmp_path / "a.npy", np.column_stack([X, [0, 1, 0, 1]]))
    (chunk,) = read(tmp_path / "a.npy", target=target)
    np.testing.assert_array_equal(chunk.features, X)
    assert chunk.targets.tolist() == [0, 1, 0, 1]
    # left out
    (chunk,) = read(tmp_path / "a.npy", target=target, target_kind="none")
    np.testing.assert_array_equal(chunk.features, X)
    with pytest.raises(InputError, match="columns count from 0 to 3"):
        read(tmp_path / "a.npy", target="4")
    with pytest.raises(InputError, match=r"give --target -1"):
        read(tmp_path / "a.npy")


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_sparse_matrices_of_scipy(tmp_path, monkeypatch, dtype):
    dense = np.where(np.random.default_rng(0).random((200, 30)) < 0.1, 3, 0).astype(dtype)
    dense[7:12] = 0
    matrix = scipy.sparse.csr_matrix(dense)
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    monkeypatch.setattr(npy, "CHUNK_BYTES", 4096)
    chunks = read(tmp_path / "a.npz", target_kind="none")
    assert len(chunks) > 3
    rows = [chunk.features.toarray() for chunk in chunks]
    np.testing.assert_array_equal(np.concatenate(rows), matrix.toarray())
    # the labels beside it, as numpy.savez writes them
    with np.load(tmp_path / "a.npz") as stored:
        arrays = dict(stored)
    np.savez(tmp_path / "b.npz", **arrays, y=np.arange(200) % 2)
    chunks = read(tmp_path / "b.npz")
    assert np.concatenate([chunk.targets for chunk in chunks]).tolist() == [0, 1] * 100
    arrays["indices"] = arrays["indices"] + 40
    np.savez(tmp_path / "b.npz", **arrays)
    with pytest.raises(InputError, match=r"b\.npz: the arrays are not those of a sparse matrix"):
        read(tmp_path / "b.npz", target_kind="none")
    scipy.sparse.save_npz(tmp_path / "c.npz", matrix.tocsc())
    with pytest.raises(InputError, match=r"stored as csc.*tocsr\(\)"):
        read(tmp_path / "c.npz", target_kind="none")
