"""What every input format must do: file -> data set -> the same rows, labels and scaling."""

import gzip
import re

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.data.formats._files import expand
from distkern.data.formats.base import CHUNK_BYTES, FORMATS, ReadOptions
from distkern.data.ingest import shard
from file_rows import everything

WITH_TARGETS = [name for name, kind in FORMATS.items() if kind.holds_targets]
SCALERS = {"minmax": MinMaxScaler, "standard": StandardScaler, "unit": Normalizer}


def table(seed=0, rows=300, columns=7):
    generator = np.random.default_rng(seed)
    features = np.round(generator.normal(size=(rows, columns)), 3) * generator.integers(0, 2, (rows, columns))
    features[:, 3] = 2.5
    features[0, -1] = 1.25
    return features


def stored(path, name, features, targets):
    file = path / f"data{FORMATS[name].extensions[0]}"
    FORMATS[name].example(file, features, targets)
    return file


def test_the_formats_of_the_contract_are_there():
    assert {"csv", "npy", "npz", "parquet", "svmlight"} <= set(FORMATS)
    assert {"csv", "npz", "parquet", "svmlight"} <= set(WITH_TARGETS)


@pytest.mark.parametrize("name", WITH_TARGETS)
@pytest.mark.parametrize("rows_per_shard", [None, 64])
def test_rows_and_labels_come_back_in_order(tmp_path, name, rows_per_shard):
    features, labels = table(), np.random.default_rng(1).choice([-1, 1, 7], 300)
    file = stored(tmp_path, name, features, labels)
    data = shard(file, tmp_path / "d.zarr", scale="none", shuffle=False, rows_per_shard=rows_per_shard)
    found, codes = everything(data.train)
    np.testing.assert_array_equal(found, features.astype(np.float32))
    np.testing.assert_array_equal(data.classes[codes], labels)
    assert data.classes.dtype.kind == "i"
    assert data.classes.tolist() == [-1, 1, 7]
    assert data.train.class_counts.tolist() == [int((labels == c).sum()) for c in (-1, 1, 7)]
    assert sum(data.train.block_rows) == 300 == data.n_rows


@pytest.mark.parametrize("name", WITH_TARGETS)
def test_a_shuffle_keeps_rows_and_labels_together(tmp_path, name):
    features, labels = table(), np.arange(300) % 3
    features[:, 0] = np.arange(300) + 1
    file = stored(tmp_path, name, features, labels)
    data = shard(file, tmp_path / "d.zarr", scale="none", rows_per_shard=50)
    found, codes = everything(data.train)
    order = found[:, 0].astype(int) - 1
    assert sorted(order) == list(range(300))
    assert order.tolist() != list(range(300))
    np.testing.assert_array_equal(found, features[order].astype(np.float32))
    np.testing.assert_array_equal(codes, labels[order])


@pytest.mark.parametrize("name", WITH_TARGETS)
def test_regression_targets_are_exact(tmp_path, name):
    features, targets = table(), np.random.default_rng(1).integers(-999, 999, 300) / 8
    file = stored(tmp_path, name, features, targets)
    data = shard(file, tmp_path / "d.zarr", task="regression", shuffle=False)
    _, found = everything(data.train)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, targets)
    assert data.classes is None


@pytest.mark.parametrize("name", FORMATS)
def test_without_targets(tmp_path, name):
    features = table()
    data = shard(
        stored(tmp_path, name, features, None), tmp_path / "d.zarr", task="none", scale="none", shuffle=False
    )
    found, targets = everything(data.train)
    assert targets is None
    np.testing.assert_array_equal(found, features.astype(np.float32))


@pytest.mark.parametrize("scale", ["minmax", "standard", "unit", "ball"])
@pytest.mark.parametrize("name", WITH_TARGETS)
def test_scaling_is_that_of_scikit_learn_fitted_on_training_rows(tmp_path, name, scale):
    train, test = table(), 3 * table(1)
    labels = np.arange(300) % 2
    (tmp_path / "t").mkdir()
    data = shard(
        stored(tmp_path, name, train, labels),
        tmp_path / "d.zarr",
        test=stored(tmp_path / "t", name, test, labels),
        scale=scale,
        shuffle=False,
    )
    if scale == "ball":
        largest = np.linalg.norm(train, axis=1).max()
        expected = train / largest, test / largest
    else:
        scaler = SCALERS[scale]().fit(train)
        expected = scaler.transform(train), scaler.transform(test)
    for split, values in zip((data.train, data.test), expected, strict=True):
        np.testing.assert_allclose(everything(split)[0], values, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(data.scaling.apply(test), everything(data.test)[0])


@pytest.mark.parametrize("name", WITH_TARGETS)
def test_chunks_are_bounded_and_counted(tmp_path, name):
    features, labels = np.tile(table(rows=1000, columns=100), (12, 1)), np.arange(12_000) % 2
    seen = 0
    for file in expand([stored(tmp_path, name, features, labels)]):
        for chunk in file.chunks(ReadOptions()):
            assert chunk.features.nbytes <= CHUNK_BYTES
            assert isinstance(chunk.features, SparseRows) or chunk.features.flags.c_contiguous
            assert chunk.first_row == seen + 1
            seen += chunk.n_rows
    assert seen == 12_000


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused_by_place(tmp_path, name, value):
    features = table()
    features[41, 2] = value
    labels = None if name not in WITH_TARGETS else np.arange(300) % 2
    file = stored(tmp_path, name, features, labels)
    task = "none" if name not in WITH_TARGETS else "classification"
    with pytest.raises(InputError) as caught:
        shard(file, tmp_path / "d.zarr", task=task, impute="none")
    message = str(caught.value)
    assert str(file) in message
    assert "row 42 " in message
    assert any(place in message for place in ("column 'x2'", "feature 3", "column 3 (index 2)"))
    assert not (tmp_path / "d.zarr").exists()


@pytest.mark.parametrize("name", FORMATS)
def test_empty_files_are_refused(tmp_path, name):
    file = tmp_path / f"data{FORMATS[name].extensions[0]}"
    task = "none" if name not in WITH_TARGETS else "classification"
    file.write_bytes(b"")
    with pytest.raises(InputError, match="data"):
        shard(file, tmp_path / "d.zarr", task=task)
    FORMATS[name].example(file, np.zeros((0, 3)), None if name not in WITH_TARGETS else np.zeros(0))
    with pytest.raises(InputError, match=r"data.*no rows"):
        shard(file, tmp_path / "d.zarr", task=task)
    assert not list(tmp_path.glob(".d.zarr*"))


@pytest.mark.parametrize("name", [name for name, kind in FORMATS.items() if kind.is_text])
def test_text_may_be_compressed(tmp_path, name):
    features, labels = table(), np.arange(300) % 2
    file = stored(tmp_path, name, features, labels)
    plain = shard(file, tmp_path / "a.zarr")
    packed = file.with_name(file.name + ".gz")
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert shard(packed, tmp_path / "b.zarr").fingerprint == plain.fingerprint


@pytest.mark.parametrize("name", [name for name, kind in FORMATS.items() if kind.is_text])
def test_a_line_that_is_no_row_is_refused_by_place(tmp_path, name):
    file = stored(tmp_path, name, table(), np.arange(300) % 2)
    lines = file.read_text().splitlines()
    lines[50] = "? {] 1:x"
    file.write_text("\n".join([*lines, ""]))
    with pytest.raises(InputError, match=r"line 51\b") as caught:
        shard(file, tmp_path / "d.zarr")
    assert str(file) in str(caught.value)
    assert not (tmp_path / "d.zarr").exists()


SAID = {"target": "0", "header": True, "delimiter": ";", "decimal": ",", "zero_based": True}
OF_TABLES = {
    "drop": ["0"],
    "categorical": {"x0": "drop"},
    "impute": "flag",
    "na": ["foo"],
    "keep_na": ["x0"],
    "text": ["x0"],
    "weight": "x0",
    "group": "x0",
    "id": "x0",
    "day_first": True,
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_says_nothing_of_a_format_is_refused(tmp_path, name):
    kind = FORMATS[name]
    file = stored(tmp_path, name, table(), np.arange(300) % 2 if kind.holds_targets else None)
    task = "classification" if kind.holds_targets else "none"
    refused = {option: value for option, value in SAID.items() if option not in kind.takes}
    if not kind.is_table:
        refused |= {option: value for option, value in OF_TABLES.items() if option not in kind.takes}
    assert refused
    for option, value in refused.items():
        said = f"--{option.replace('_', '-')} does not apply to {name} files"
        with pytest.raises(InputError, match=re.escape(str(file)) + ".*" + said):
            shard(file, tmp_path / "d.zarr", task=task, **{option: value})


@pytest.mark.parametrize("name", [name for name, kind in FORMATS.items() if "target" in kind.takes])
def test_a_target_that_is_not_there_is_refused(tmp_path, name):
    file = stored(tmp_path, name, table(), np.arange(300) % 2)
    with pytest.raises(InputError, match="elsewhere"):
        shard(file, tmp_path / "d.zarr", target="elsewhere")
