"""A target that is missing is no class: refused by its row, of whatever kind the targets are."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

from distkern import NewtonClassifier, NewtonRegressor, write_dataset
from distkern.common.errors import InputError
from distkern.common.targets import plain_targets

_WORDS = ["a", "b"] * 6
_NUMBERS = [0, 1] * 6
X = np.random.default_rng(0).normal(size=(12, 2))


def holed(values, hole):
    return [*values[:4], hole, *values[5:]]


TARGETS = {
    "list with None": holed(_WORDS, None),
    "list with NaN": holed(_WORDS, np.nan),
    "texts of numpy": np.array(holed(_WORDS, np.nan)),
    "objects": np.array(holed(_WORDS, None), dtype=object),
    "floats": np.array(holed(_NUMBERS, np.nan)),
    "string": pandas.Series(holed(_WORDS, None), dtype="string"),
    "str": pandas.Series(holed(_WORDS, None), dtype="str"),
    "categories": pandas.Series(holed(_WORDS, None), dtype="category"),
    "Int64": pandas.Series(holed(_NUMBERS, None), dtype="Int64"),
    "Arrow in pandas": pandas.Series(holed(_WORDS, None), dtype=pandas.ArrowDtype(pa.string())),
    "Arrow": pa.array(holed(_WORDS, None)),
    "Polars": polars.Series(holed(_WORDS, None)),
    "Polars' categories": polars.Series(holed(_WORDS, None), dtype=polars.Categorical),
}
ROWS = {
    "array": X,
    "numbers": pandas.DataFrame(X, columns=["u", "v"]),
    "mixed": pandas.DataFrame({"u": X[:, 0], "t": ["p", "q", "r"] * 4}),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_a_missing_target_is_refused_by_its_row(kind, tmp_path):
    for rows in ROWS.values():
        with pytest.raises(InputError, match=r"^y, row 5 \(index 4\): the target is missing"):
            write_dataset(rows, TARGETS[kind], tmp_path / "d.zarr")
        with pytest.raises(InputError, match=r"^y, row 5 \(index 4\): the target is missing"):
            NewtonClassifier(n_landmarks=3).fit(rows, TARGETS[kind])
    assert not (tmp_path / "d.zarr").exists()
    model = NewtonClassifier(n_landmarks=3, stages=1).fit(X, _WORDS)
    with pytest.raises(InputError, match="y, row 5"):
        model.score(X, TARGETS[kind])
    with pytest.raises(InputError, match="eval_set, row 5"):
        NewtonClassifier(n_landmarks=3).fit(X, _WORDS, eval_set=(X, TARGETS[kind]))


@pytest.mark.filterwarnings("ignore:Dask currently has limited support")
@pytest.mark.parametrize("kind", ["string", "str", "categories", "floats"])
def test_missing_targets_of_dask(kind, tmp_path):
    y = dd.from_pandas(pandas.Series(TARGETS[kind]), npartitions=2)
    model = NewtonClassifier(n_landmarks=3, stages=1).fit(X, _WORDS)
    for rows in (dd.from_pandas(ROWS["mixed"], npartitions=2), da.from_array(X, chunks=(6, 2))):
        with pytest.raises(InputError, match="row 5"):
            write_dataset(rows, y, tmp_path / "d.zarr", task="classification")
        with pytest.raises(InputError, match="row 5"):
            NewtonClassifier(n_landmarks=3).fit(rows, y)
    with pytest.raises(InputError, match=r"^y, row 5"):
        NewtonClassifier(n_landmarks=3).fit(ROWS["mixed"], y)
    with pytest.raises(InputError, match="y, block 0, row 5"):
        model.score(da.from_array(X, chunks=(6, 2)), y)


def test_numbers_beside_masks_stay_what_they_are():
    assert plain_targets(pandas.Series(_NUMBERS, dtype="Int64")).dtype == np.int64
    assert plain_targets(pandas.Series([True, False], dtype="boolean")).dtype == np.bool_
    assert NewtonClassifier(n_landmarks=3, stages=1).fit(
        X, pandas.Series(_NUMBERS, dtype="Int64")
    ).classes_.tolist() == [0, 1]
    with pytest.raises(InputError, match="y, row 5"):
        NewtonRegressor(n_landmarks=3).fit(X, holed(_NUMBERS, None))
