"""Dask frames: partitions of other sizes, types that can say what is missing, weights and groups."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import distkern as dk
from distkern.core.errors import InputError

N_ROWS = 90
MODEL = dk.NewtonClassifier(features="linear", loss="least_squares", nu=1e-3, random_state=0)
NULLABLE = ["Float64", "double[pyarrow]", "Int64", "int64[pyarrow]", "boolean"]


@pytest.fixture(scope="module")
def frame():
    X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    return pd.DataFrame(X, columns=list("abc"))


@pytest.fixture(scope="module")
def labels(frame):
    return pd.Series((frame["a"] > 0).astype(int))


def mixed(frame):
    return frame.assign(text=np.where(frame["b"] > 0, "u", "v"))


def parts(rows, *cuts):
    """In partitions that end there."""
    ends = zip((0, *cuts), (*cuts, len(rows)), strict=True)
    return dd.concat([dd.from_pandas(rows.iloc[start:stop], npartitions=1) for start, stop in ends])


def nullable(frame, dtype):
    numbers = frame > 0 if dtype == "boolean" else frame if dtype[:1] in "Fd" else (10 * frame).round()
    return (
        numbers.astype("int64").astype(dtype)
        if dtype in ("Int64", "int64[pyarrow]")
        else numbers.astype(dtype)
    )


@pytest.mark.parametrize(
    "kind", ["other cuts", "more parts", "frame of one column", "array of Dask", "in memory"]
)
def test_targets_may_come_in_partitions_of_their_own(frame, labels, kind):
    y = {
        "other cuts": parts(labels, 40, 60),
        "more parts": dd.from_pandas(labels, npartitions=5),
        "frame of one column": parts(labels.to_frame("y"), 7, 8),
        "array of Dask": parts(labels, 20, 30).to_dask_array(lengths=True),
        "in memory": labels,
    }[kind]
    rows = parts(mixed(frame), 10, 50)
    expected = clone(MODEL).fit(rows, parts(labels, 10, 50)).decision_function(mixed(frame))
    found = clone(MODEL).fit(rows, y).decision_function(mixed(frame))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("y", "how_many"), [(slice(None, -1), "fewer"), (slice(None), "more")])
def test_other_numbers_of_rows_are_refused(frame, labels, y, how_many):
    rows = mixed(frame) if how_many == "fewer" else mixed(frame)[:-1]
    for targets in (labels[y], parts(labels[y], 30)):
        with pytest.raises(InputError, match=f"has {how_many} rows than X"):
            clone(MODEL).fit(parts(rows, 10, 50), targets)


def test_mixed_frames_have_weights_and_groups(frame, labels):
    rows, kept = parts(mixed(frame), 10, 50), np.arange(N_ROWS) % 3 > 0
    weights = pd.Series(np.where(kept, 2.0, 0.0))
    for given in (parts(weights, 40, 60), parts(weights.astype("Float64"), 10, 50), weights):
        model = clone(MODEL).fit(rows, labels, given)
        assert model.mean_weight_ == pytest.approx(weights.mean())
        assert model.model_.further.weight == pytest.approx(weights.sum())
    groups = pd.Series(np.arange(N_ROWS) // 5).astype("string")
    clone(MODEL).fit(rows, labels, groups=parts(groups, 40, 60))
    with pytest.raises(InputError, match="one group"):
        clone(MODEL).fit(rows, labels, groups=np.zeros(N_ROWS))
    with pytest.raises(InputError, match=r"sample_weight, row 1 must be a finite number >= 0, got -2"):
        clone(MODEL).fit(rows, labels, -weights - 2.0)


# of booleans, a column is the labels
@pytest.mark.filterwarnings("ignore:column 'a' equals y")
@pytest.mark.parametrize("dtype", NULLABLE)
def test_types_that_can_say_what_is_missing(frame, labels, dtype):
    rows = nullable(frame, dtype)
    lazy = dd.from_pandas(rows, npartitions=3)
    here, there = clone(MODEL).fit(rows, labels), clone(MODEL).fit(lazy, labels)
    # without missing values they are numbers
    assert there.table_ is None
    predicted = here.predict(lazy)
    assert hasattr(predicted, "dask")
    np.testing.assert_array_equal(predicted.compute(), here.predict(rows))
    missing = rows.copy()
    missing.iloc[7, 1] = pd.NA
    lazy = dd.from_pandas(missing, npartitions=3)
    there = clone(MODEL).fit(lazy, labels)
    assert there.table_ is not None
    np.testing.assert_array_equal(there.predict(lazy).compute(), there.predict(missing))
    np.testing.assert_allclose(
        there.decision_function(missing),
        clone(MODEL).fit(missing, labels).decision_function(missing),
        atol=1e-4,
    )
    with pytest.raises(InputError, match="NaN"):
        here.predict(lazy).compute()


def test_weights_and_targets_that_are_missing_are_refused(frame, labels):
    rows = dd.from_pandas(frame, npartitions=3)
    weights = pd.Series(np.ones(N_ROWS), dtype="Float64")
    weights[5] = pd.NA
    with pytest.raises(InputError, match=r"row 6 \(index 5\): the weight is missing"):
        clone(MODEL).fit(rows, labels, weights)
    y = labels.astype("Int64")
    y[5] = pd.NA
    for given in (rows, dd.from_pandas(mixed(frame), npartitions=3)):
        with pytest.raises(InputError, match="the target is missing"):
            clone(MODEL).fit(given, dd.from_pandas(y, npartitions=3))


def test_frames_that_still_hold_the_target_are_predicted_with_a_note(frame, labels):
    whole = parts(mixed(frame).assign(label=labels), 10, 50)
    model = clone(MODEL).fit(whole.drop(columns="label"), whole["label"])
    expected = model.predict(mixed(frame))
    for rows in (whole, mixed(frame).assign(label=labels)):
        with pytest.warns(UserWarning, match="column 'label' is the target and is not used"):
            found = model.predict(rows)
        np.testing.assert_array_equal(np.asarray(found), expected)
