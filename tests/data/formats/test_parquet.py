"""Parquet: columns by name, any numeric type, missing values refused by place."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from distkern.core.errors import InputError
from file_rows import read


def written(tmp_path, columns):
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


def test_types_of_columns(tmp_path):
    columns = {
        "small": pa.array([1, 2, 3], pa.int8()),
        "large": pa.array([1, 2, 2**40], pa.int64()),
        "flag": [True, False, True],
        "price": [Decimal("1.50"), Decimal("2.25"), Decimal("0.00")],
        "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
    }
    (chunk,) = read(written(tmp_path, columns))
    assert chunk.names == ("small", "large", "flag", "price")
    np.testing.assert_array_equal(chunk.features, [[1, 1, 1, 1.5], [2, 2, 0, 2.25], [3, 2**40, 1, 0]])
    assert chunk.targets.tolist() == ["a", "b", "a"]


def test_single_precision_stays_single(tmp_path):
    path = written(
        tmp_path, {"x": pa.array([0.1, 0.2], pa.float32()), "y": pa.array([0.3, 0.4], pa.float32())}
    )
    (chunk,) = read(path, target_kind="number")
    assert chunk.features.dtype == np.float32
    assert chunk.targets.dtype == np.float64


def test_an_index_that_pandas_stored_is_no_feature(tmp_path):
    path = written(tmp_path, {"x": [1.0], "y": [2], "__index_level_0__": [17]})
    (chunk,) = read(path)
    assert chunk.names == ("x",)
    np.testing.assert_array_equal(chunk.targets, [2])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1.0, None, 3.0], "y": [0, 1, 0]}, r"row 2 \(index 1\), column 'x': the value is missing"),
        ({"x": [1.0, float("nan"), 3.0], "y": [0, 1, 0]}, r"row 2 \(index 1\), column 'x': .*NaN"),
        ({"x": [1.0, 2.0], "y": ["a", None]}, "column 'y': the target is missing"),
        ({"x": [1.0, 2.0], "y": ["a", " "]}, "column 'y': the target is missing"),
        ({"x": ["red", "blue"], "y": [0, 1]}, r"row 1 \(index 0\), column 'x': the column holds string"),
        ({"x": [[1.0], [2.0]], "y": [0, 1]}, "column 'x': the column holds list"),
        ({"x": [1.0], "y": [[1]]}, "the target column holds list"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, columns, message):
    with pytest.raises(InputError, match=message) as caught:
        read(written(tmp_path, columns))
    assert "a.parquet" in str(caught.value)


def test_many_columns_and_many_row_groups(tmp_path):
    values = np.random.default_rng(0).normal(size=(5000, 300)).astype(np.float32)
    table = pa.table({f"x{i}": values[:, i] for i in range(300)} | {"y": np.arange(5000) % 3})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    chunks = read(tmp_path / "a.parquet")
    np.testing.assert_array_equal(np.concatenate([chunk.features for chunk in chunks]), values)
    assert chunks[-1].first_row + chunks[-1].n_rows == 5001


def test_truncated_files(tmp_path):
    path = written(tmp_path, {"x": np.arange(1000.0), "y": np.arange(1000) % 2})
    content = path.read_bytes()
    for size in np.linspace(0, len(content) - 1, 40).astype(int):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match=r"a\.parquet") as caught:
            read(path)
        assert "\n" not in str(caught.value)


def test_a_damaged_name_is_an_error_of_the_file(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"first": [1.0], "second": [2]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"first", b"fir\xffs"))
    with pytest.raises(InputError, match=r"a\.parquet: not a readable Parquet file"):
        read(path)
