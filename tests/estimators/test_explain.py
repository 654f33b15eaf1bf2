"""``explain`` says of a fitted model what scikit-learn's inspection says, on whatever ``fit`` takes."""

import re
from dataclasses import replace

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas
import pytest
from scipy.sparse import csr_matrix
from sklearn.inspection import partial_dependence, permutation_importance

from distkern import (
    CellClassifier,
    NewtonClassifier,
    NewtonRegressor,
    SDCAClassifier,
    load_model,
    write_dataset,
)
from distkern.core.sparse import SparseRows
from distkern.data.columns.category import CategoryColumn
from distkern.data.columns.date import DateColumn, TimeColumn
from distkern.data.columns.number import NumberColumn
from distkern.data.scaling import Scaling
from distkern.data.table import Table
from distkern.runs.dependence import ColumnGrid, input_columns

#: of Newton's regressor over the features themselves, which are f(x) = 3 x_0 - x_2
SLOPES = np.array([3.0, 0.0, -1.0])


def rows(n=300):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, X @ SLOPES


def regressor():
    return NewtonRegressor(features="linear", nu=1e-9, random_state=0)


def curve(found, column, output=""):
    frame = found.dependence
    frame = frame[(frame["column"] == column) & (frame["output"] == output)]
    return frame["value"].to_numpy(), frame["average"].to_numpy()


def test_a_linear_function_is_found_in_closed_form():
    X, y = rows()
    found = regressor().fit(X, y).explain(X, y, n_repeats=20)
    assert found.dependence["column"].unique().tolist() == ["column 1", "column 3", "column 2"]
    for place, slope in enumerate(SLOPES):
        values, averages = curve(found, f"column {place + 1}")
        assert len(values) == 20
        assert set(values) <= set(X[:, place].tolist())
        others = X.mean(axis=0) @ SLOPES - X[:, place].mean() * slope
        np.testing.assert_allclose(averages, others + slope * values, atol=1e-4)
    # E (s x - s x')^2 = 2 s^2 var x, of permuted rows
    costs = found.importances.set_index("column")
    expected = 2 * SLOPES**2 * X.var(axis=0) / y.var()
    np.testing.assert_allclose(
        costs.loc[[f"column {k}" for k in (1, 2, 3)], "importance"], expected, rtol=0.1, atol=1e-6
    )
    assert costs["share"].sum() == pytest.approx(1.0)
    assert costs.loc["column 1", "std"] > 0


def test_it_is_what_scikit_learn_finds():
    X, _ = rows()
    labels = np.where(np.sin(3 * X[:, 0]) + X[:, 1] > 0, "up", "down")
    model = NewtonClassifier(n_landmarks=40, gamma=0.3, nu=1e-4, random_state=0).fit(X, labels)
    found = model.explain(X, labels, features=[1, 0], n_repeats=30)
    assert (found.quantity, found.outputs) == ("probability", ("up",))
    for place in (0, 1):
        values, averages = curve(found, f"column {place + 1}", "up")
        theirs = partial_dependence(
            model,
            X,
            [place],
            custom_values={place: values},
            kind="average",
            method="brute",
            response_method="predict_proba",
        )
        np.testing.assert_allclose(averages, theirs["average"][0], rtol=1e-6)
    theirs = permutation_importance(model, X, labels, scoring="neg_log_loss", n_repeats=30, random_state=0)
    for name, importance, spread in found.importances[["column", "importance", "std"]].itertuples(
        index=False
    ):
        place = int(name[-1]) - 1
        error = 4 * theirs.importances_std[place] / np.sqrt(30)
        assert importance == pytest.approx(theirs.importances_mean[place], abs=error)
        assert spread == pytest.approx(theirs.importances_std[place], rel=0.5)


def test_several_classes_have_a_curve_each_that_add_up_to_1():
    X, _ = rows()
    labels = np.digitize(X[:, 0], [-0.5, 0.5]) + 5
    model = NewtonClassifier(n_landmarks=30, loss="softmax", random_state=0).fit(X, labels)
    found = model.explain(X, labels)
    assert found.outputs == (5, 6, 7)
    sums = found.dependence.groupby(["column", "value"])["average"].sum()
    np.testing.assert_allclose(sums, 1.0)
    assert found.importances["column"][0] == "column 1"


def test_without_probabilities_decision_values_are_averaged():
    X, y = rows()
    model = CellClassifier(search=None, probability=False, random_state=0).fit(X, y > 0)
    found = model.explain(X, y > 0, features=[0], grid_resolution=5)
    assert (found.quantity, found.loss, found.outputs) == ("decision value", "squared_hinge loss", (True,))
    values, averages = curve(found, "column 1", True)
    changed = X.copy()
    changed[:, 0] = values[2]
    assert averages[2] == pytest.approx(model.decision_function(changed).mean(), rel=1e-5)


def test_sparse_rows_are_as_dense_ones():
    X, _ = rows()
    X[np.random.default_rng(1).random(X.shape) < 0.7] = 0.0
    y = X @ SLOPES > 0
    model = SDCAClassifier(loss="logistic", features="linear", random_state=0).fit(csr_matrix(X), y)
    dense, sparse = (model.explain(given, y) for given in (X, csr_matrix(X)))
    pandas.testing.assert_frame_equal(sparse.importances, dense.importances, rtol=1e-6)
    pandas.testing.assert_frame_equal(sparse.dependence, dense.dependence, rtol=1e-6)
    assert 0.0 in curve(sparse, "column 1", True)[0]


def table(n=400):
    generator = np.random.default_rng(0)
    frame = pandas.DataFrame({"size": generator.normal(50, 10, n).round(1)})
    frame["kind"] = generator.choice(["round", "square", "flat"], n, p=[0.5, 0.3, 0.2])
    frame["day"] = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(generator.integers(0, 400, n), "D")
    frame.loc[:9, "size"] = np.nan
    steps = frame["kind"].map({"round": 0.0, "square": 4.0, "flat": -4.0})
    return frame, steps + 0.2 * (frame["size"].fillna(50.0) - 50)


def test_a_column_of_a_table_is_set_to_its_own_values():
    frame, y = table()
    model = regressor().fit(frame, y)
    found = model.explain(frame, y)
    assert found.importances["column"].tolist() == ["kind", "size", "day"]
    values, averages = curve(found, "kind")
    assert values.tolist() == ["flat", "round", "square"]
    np.testing.assert_allclose(np.diff(averages), 4.0, atol=0.1)
    for value, average in zip(values, averages, strict=True):
        assert average == pytest.approx(model.predict(frame.assign(kind=value)).mean(), abs=1e-4)
    days, averages = curve(found, "day")
    assert days[0] > "2020-01-01"
    assert averages[3] == pytest.approx(
        model.predict(frame.assign(day=pandas.Timestamp(days[3]))).mean(), abs=1e-4
    )
    sizes = curve(found, "size")[0]
    assert {*sizes.astype(float).round(1)} <= {*frame["size"].dropna(), frame["size"].mean().round(1)}


def test_the_test_rows_of_a_data_set_are_taken(tmp_path):
    frame, y = table()
    data = write_dataset(frame, y, tmp_path / "d.zarr", task="regression", test_fraction=0.25)
    model = regressor().fit(data)
    found, again = model.explain(data), model.explain(data.test)
    assert (found.split, found.n_rows) == ("test", data.test.n_rows)
    assert found == again
    assert [each.column for each in found.columns] == ["kind", "size", "day"]
    assert model.explain(data.train).split == "train"


def test_dask_rows_are_sampled_where_they_are():
    X, y = rows(4000)
    model = regressor().fit(X[:300], y[:300])
    whole = da.from_array(X, chunks=(100, 3))
    found = model.explain(whole, da.from_array(y, chunks=400), max_samples=500)
    assert (found.n_rows, found.importances["column"][0]) == (500, "column 1")
    values, averages = curve(found, "column 1")
    np.testing.assert_allclose(np.diff(averages), 3.0 * np.diff(values), atol=1e-4)


def test_what_is_missing_in_dask_rows_is_told():
    X, y = rows()
    model = NewtonClassifier(features="linear", random_state=0).fit(X, y > 0)
    X[::2] = np.nan
    with pytest.raises(ValueError, match="explain: the rows hold NaN or infinity"):
        model.explain(da.from_array(X, chunks=(100, 3)), y > 0)


def test_dask_frames_of_a_table():
    frame, y = table()
    model = regressor().fit(frame, y)
    lazy = dd.from_pandas(frame.assign(y=y), npartitions=4)
    found, here = model.explain(lazy[["size", "kind", "day"]], lazy["y"]), model.explain(frame, y)
    pandas.testing.assert_frame_equal(found.importances, here.importances, rtol=1e-6)
    pandas.testing.assert_frame_equal(found.dependence, here.dependence, rtol=1e-6)


def test_arrays_in_memory_are_sampled_by_the_seed():
    X, y = rows(1000)
    model = regressor().fit(X, y)
    found, again, other = (model.explain(X, y, max_samples=200, random_state=seed) for seed in (3, 3, 4))
    assert found == again != other
    assert (found.n_rows, found.n_averaged) == (200, 200)


def _wrong(**change):
    X, y = rows(20)
    return {"X": X, "y": y, **change}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (_wrong(features=["colum 2"]), "unknown column 'colum 2'; did you mean 'column 2'?"),
        (_wrong(features=[3]), "unknown column 3; the columns are 'column 1'"),
        (_wrong(y=None), "y is missing; give labels or targets with the rows"),
        (_wrong(X=pandas.Series(np.zeros(20))), "X is a Series, not rows"),
        (_wrong(max_samples=0), "max_samples must be an integer >= 1, got 0"),
        (_wrong(n_repeats=1.5), "n_repeats must be an integer >= 1, got 1.5"),
        (_wrong(grid_resolution=1), "grid_resolution must be an integer >= 2, got 1"),
        (_wrong(X=np.zeros((20, 2))), "X has 2 features, but NewtonRegressor is expecting 3 features"),
        (_wrong(y=np.zeros(19)), "inconsistent numbers of samples"),
        (_wrong(y=np.zeros(20)), "explain: all targets of the rows are equal"),
    ],
)
def test_what_is_wrong_is_told(given, message):
    model = regressor().fit(*rows())
    with pytest.raises(ValueError, match=re.escape(message)):
        model.explain(**given)


def test_labels_of_a_data_set_are_its_own(tmp_path):
    X, y = rows(40)
    model = regressor().fit(X, y)
    data = write_dataset(X, y > 0, tmp_path / "d.zarr")
    with pytest.raises(ValueError, match="a split of a data set has its own labels"):
        model.explain(data, y)
    with pytest.raises(ValueError, match="the data set is for task 'classification', not regression"):
        model.explain(data)


def test_it_shows_itself_and_a_model_keeps_it(tmp_path):
    X, y = rows(60)
    model = regressor().fit(X, y)
    found = model.explain(X, y)
    model._model = replace(model.model_, importances=found)
    assert found._repr_html_().startswith("<iframe srcdoc=")
    found.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Increase in squared error relative to the variance when a column is shuffled, on 60 rows." in page
    assert "Mean prediction over 60 rows, with a column set to one value." in page
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").importances_ == found


def grid(column, values, most=20):
    """The grid of a column of a table whose rows have these values, scaled to [0, 1]."""
    features = Table((column,)).encode(np.array(values, dtype=np.float64).reshape(len(values), -1))
    scaling = Scaling("minmax", features.min(axis=0), 1.0 / (np.ptp(features, axis=0) + 1.0))
    [known] = input_columns(Table((column,)), None, features.shape[1])
    found = ColumnGrid.of(known, scaling.apply(features), scaling, most)
    if found is not None:
        # every value becomes what its rows have
        distances = np.abs(found.features[:, None] - scaling.apply(features)).max(axis=2)
        assert distances.min(axis=1).max() < 1e-5
    return found


def test_values_are_told_as_the_table_has_them():
    day = 86_400.0
    levels = {"levels": ("a", "b", "c"), "has_missing": True}
    means = {"means": ((3.0,), (1.0,), (2.0,), (9.0,)), "default": (2.0,), "outputs": ("y",)}
    nan = np.nan
    told = {
        (NumberColumn("n", fill=2.0, flag=True), (5.0, nan, 1.0)): (1.0, 5.0),
        (DateColumn("d"), (10 * day, 3 * day, 3 * day)): ("1970-01-04", "1970-01-11"),
        (DateColumn("d", hours=True), (day + 3600, day)): ("1970-01-02 00:00", "1970-01-02 01:00"),
        (TimeColumn("t"), (13.5 * 3600, 60.0, nan)): ("00:01", "13:30"),
        (CategoryColumn("c", encoding="onehot", **levels), (0, 2, nan, 1)): ("a", "b", "c", "missing"),
        (CategoryColumn("c", encoding="target", **levels, **means), (0, 2, nan, 1)): (
            "a",
            "b",
            "c",
            "missing",
        ),
    }
    for (column, values), expected in told.items():
        found = grid(column, list(values))
        assert found.values == expected
    assert grid(NumberColumn("n", flag=True), [nan, nan]) is None


def test_yes_no_and_missing_are_words_on_their_axis():
    X = pandas.DataFrame({"flag": ["Y", "N", None, "N"] * 10, "x": np.arange(40.0) % 7})
    model = NewtonClassifier(random_state=0).fit(X, (X["flag"] == "Y").astype(int))
    [flag] = [curve for curve in model.explain(X, X["flag"] == "Y").curves if curve.column == "flag"]
    assert (flag.kind, flag.values, flag.rug) == ("category", ("no", "yes", "missing"), ())


def test_the_most_frequent_categories_and_levels_between_the_least_and_the_largest_mean():
    levels = tuple("abcdef")
    found = grid(CategoryColumn("c", encoding="onehot", levels=levels), [1, 1, 4, 4, 0, 2, 3, 5], most=2)
    assert found.values == ("b", "e")
    means = tuple((float(mean),) for mean in (5, 0, 3, 1, 4, 2))
    column = CategoryColumn(
        "c", encoding="target", levels=levels, means=means, default=(0.0,), outputs=("y",)
    )
    found = grid(column, [0, 1, 2, 3, 4, 5], most=3)
    assert found.values == ("a", "b", "f")


def test_mostly_zeros_are_no_only_value():
    values = np.zeros((1000, 1))
    values[:100, 0] = np.arange(1, 101)
    [known] = input_columns(None, ["x"], 1)
    for given in (values, SparseRows.of_dense(values)):
        found = ColumnGrid.of(known, given, Scaling(), 10)
        assert found.values[0] == 0.0
        assert len(found.values) == 10
