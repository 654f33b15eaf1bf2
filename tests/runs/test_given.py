"""Frames as Python users give them: roles of columns, the target still among them, records."""

import dask.array
import dask.dataframe
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import distkern as dk
from distkern.core.errors import InputError
from distkern.core.names import near_column, order_by_name

RNG = np.random.default_rng(0)
Y = np.arange(240) % 2
FRAME = pandas.DataFrame(
    {
        "age": RNG.normal(size=240) + Y,
        "zip": 100 * RNG.integers(0, 4, 240),
        "notes": np.where(Y, "good day", "bad night"),
        "customer": [f"c{at}" for at in range(240)],
    }
)
ROLES = {"text": ["notes"], "categorical": ["zip"], "id": "customer"}


def model():
    return dk.NewtonClassifier(features="linear", random_state=0)


@pytest.mark.parametrize(
    "made",
    [
        lambda frame: frame,
        polars.from_pandas,
        pyarrow.Table.from_pandas,
        lambda frame: dask.dataframe.from_pandas(frame, npartitions=3),
    ],
)
def test_columns_have_the_roles_that_fit_is_told_of(made):
    rows = made(FRAME)
    target = dask.dataframe.from_pandas(pandas.Series(Y), npartitions=3) if hasattr(rows, "dask") else Y
    fitted = model().fit(rows, target, **ROLES)
    encodings = {column.name: column.encoding for column in fitted.table_.columns}
    assert encodings == {"age": "number", "zip": "onehot", "notes": "text"}
    assert fitted.n_features_in_ == 3
    # the id is no feature, and later rows may have it or not
    expected = np.asarray(fitted.predict_proba(FRAME))
    assert np.array_equal(np.asarray(fitted.predict_proba(rows)), expected)
    assert np.array_equal(fitted.predict_proba(FRAME.drop(columns="customer")), expected)


def test_data_sets_have_the_same_roles(tmp_path):
    roles = {**ROLES, "categorical": {"zip": "onehot"}}
    data = dk.write_dataset(FRAME, Y, tmp_path / "d.zarr", **roles)
    assert data.table.features == model().fit(FRAME, Y, **roles).table_.features
    assert data.table.id == "customer"


def test_weights_and_groups_of_data_sets(tmp_path):
    weights, groups = 1.0 + Y, np.arange(240) // 4
    for name, rows in {"array": FRAME[["age", "zip"]].to_numpy(), "frame": FRAME}.items():
        where = {"sample_weight": weights, "groups": groups, "shuffle": False}
        data = dk.write_dataset(rows, Y, tmp_path / f"{name}.zarr", **where, notice=str)
        block = data.train.reader(0)()
        assert np.array_equal(block.weights, weights)
        assert len(set(block.group_keys.tolist())) == 60
    with pytest.raises(InputError, match="sample_weight, row 1 must be a finite number >= 0, got -1"):
        dk.write_dataset([[1.0], [2.0]], [0, 1], tmp_path / "x.zarr", sample_weight=[-1, 1])


@pytest.mark.parametrize("columns", [["age", "zip", "notes"], ["age", "zip"]])
def test_a_frame_that_holds_the_target_predicts_with_a_note(columns, tmp_path):
    labels = pandas.Series(Y, name="income")
    fitted = model().fit(FRAME[columns], labels)
    assert fitted.target_name_ == "income"
    fitted.save(tmp_path / "m")
    for one in (fitted, dk.load_model(tmp_path / "m")):
        with pytest.warns(UserWarning, match="column 'income' is the target and is not used") as noted:
            found = one.predict_proba(FRAME[columns].assign(income=Y))
        # the line that called predict
        assert noted[0].filename == __file__
        assert np.array_equal(found, one.predict_proba(FRAME[columns]))


@pytest.mark.parametrize("columns", [["age", "zip", "notes"], ["age", "zip"]])
def test_one_record_is_predicted(columns):
    fitted = model().fit(FRAME[columns], Y)
    expected = fitted.predict_proba(FRAME[columns].head(2))
    records = [dict(reversed(row.items())) for row in FRAME[columns].head(2).to_dict("records")]
    assert np.array_equal(fitted.predict_proba(records[:1]), expected[:1])
    assert np.array_equal(model().fit(FRAME[columns].to_dict("records"), Y).predict_proba(records), expected)
    with pytest.raises(InputError, match=r"X is a dict, not rows; give a list of records: \[X\]"):
        fitted.predict(records[0])
    with pytest.raises((InputError, ValueError), match=r"(?s)column 'zip' is missing|missing.*zip"):
        fitted.predict([{"age": 1.0, "notes": "good"}])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text": "notes"}, r"text must be a list, got 'notes'; give \['notes'\]"),
        ({"text": ["note"]}, "text: X has no column 'note'; did you mean 'notes'?"),
        ({"id": "x1"}, "id: X has no column 'x1'; the columns are 'age', 'zip'"),
        ({"categorical": {"zip": "one-hot"}}, "'one-hot'.*did you mean 'onehot'?"),
        ({"text": ["notes"], "categorical": ["notes"]}, r"text=\['notes'\]: the column has another role too"),
    ],
)
def test_wrong_roles_are_refused_in_words_of_python(given, message):
    with pytest.raises(InputError, match=message):
        model().fit(FRAME, Y, **given)


def test_arrays_have_no_columns_by_name():
    with pytest.raises(InputError, match="id: only frames have columns by name"):
        model().fit(FRAME[["age"]].to_numpy(), Y, id="age")


LAZY = (
    dask.dataframe.from_pandas(FRAME, npartitions=2),
    dask.dataframe.from_pandas(pandas.Series(Y), npartitions=2),
)


@pytest.mark.parametrize("of_texts", [False, True])
def test_frames_without_rows_or_columns_are_refused(tmp_path, of_texts):
    names = ["age", "notes"] if of_texts else ["age", "zip"]
    labels = pandas.Series(np.where(Y, "yes", "no"))
    for frame, y in ((FRAME, labels), LAZY):
        with pytest.raises(InputError, match="X has no columns; give at least one column"):
            model().fit(frame[[]], y)
        with pytest.raises(InputError, match="X has no columns; give at least one column"):
            dk.write_dataset(frame[[]], y, tmp_path / "d.zarr")
        nobody = frame["age"] > 1e9
        with pytest.raises(ValueError, match=r"no rows|0 sample"):
            model().fit(frame[names][nobody], y[nobody])
    with pytest.raises(InputError, match="X: no column is left; drop fewer columns"):
        dk.write_dataset(FRAME[["age"]], Y, tmp_path / "d.zarr", drop=["age"])


@pytest.mark.parametrize("kind", ["array", "frame", "Dask array", "Dask frame"])
def test_numbers_that_are_a_quantity_are_refused_as_labels(kind):
    X, y = {
        "array": (FRAME[["age"]].to_numpy(), np.arange(240)),
        "frame": (FRAME[["age", "notes"]], np.arange(240)),
        "Dask array": (LAZY[0][["age"]].to_dask_array(lengths=True), dask.array.arange(240, chunks=120)),
        "Dask frame": (LAZY[0][["age", "notes"]], dask.array.arange(240, chunks=120)),
    }[kind]
    message = "^y.*: 240 different numbers as labels of 240 training rows; use {}Regressor, or another y"
    with pytest.raises(InputError, match=message.format("Newton")):
        model().fit(X, y)
    with pytest.raises(InputError, match=message.format("Kernel")):
        dk.CSVRGClassifier().fit(X, y)


def test_labels_that_are_ids_are_warned_of():
    with pytest.warns(
        UserWarning, match="y has 40 classes for 40 rows; use a regressor if y is a quantity, or another y"
    ):
        model().fit(FRAME[["age"]][:40], FRAME["customer"][:40])


def test_the_wanted_column_of_many_is_not_hidden():
    names = [f"x{place}" for place in range(60)] + ["net_income_eur"]
    hint = near_column("customer income", names)
    assert hint.startswith("of the 61 columns, the most similar are 'net_income_eur', 'x")
    assert hint.count("'") == 20
    assert near_column("income", names) == near_column("Net_Income_EUR", names)
    assert near_column("income", names) == "did you mean 'net_income_eur'?"
    # of several unknown columns, the one that a missing column may be
    with pytest.raises(InputError, match="rename 'Net income eur' to 'net_income_eur'"):
        order_by_name(["age", "new", "Net income eur"], ["age", "net_income_eur"], where="X", owner="m")
