"""Data sets to look at: rows, labels, first rows, Dask arrays; and arrays and frames written as data sets."""

import dask.array
import dask.dataframe
import numpy as np
import pandas
import pytest
import scipy.sparse

import distkern as dk
from distkern.core.errors import InputError
from distkern.estimators.newton import NewtonClassifier
from mixed_tables import adult

X = np.arange(400, dtype=np.float32).reshape(100, 4)
y = np.array(["no", "yes"], dtype=object)[np.arange(100) % 3 // 2]


def made(tmp_path, features=X, labels=y, **options):
    options = {"scale": "none", "shuffle": False, "rows_per_shard": 30, **options}
    return dk.write_dataset(features, labels, tmp_path / "d.zarr", **options)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_by_position(tmp_path, sparse):
    train = made(tmp_path, sparse=sparse).train
    assert (len(train), train.shape) == (100, (100, 4))

    def dense(found):
        assert scipy.sparse.issparse(found) == sparse
        return found.toarray() if sparse else found

    for rows in (slice(25, 65), slice(None, None, -7), slice(5, 5), [70, 2, 2, -1], y == "yes", np.int64(3)):
        expected = (
            X[rows] if isinstance(rows, slice | list | np.ndarray) else X[[rows]] if sparse else X[rows]
        )
        np.testing.assert_array_equal(dense(train[rows]), expected)
    np.testing.assert_array_equal(np.asarray(train), X)
    np.testing.assert_array_equal([len(row) if not sparse else row.shape[1] for row in train], [4] * 100)
    for rows in (100, [-101], y[:5] == "yes"):
        with pytest.raises(IndexError, match="there are 100 rows"):
            train[rows]
    with pytest.raises(InputError, match=r"rows are selected by position, got .*; give an integer"):
        train["a"]


@pytest.mark.parametrize("sparse", [False, True])
def test_labels_frames_and_dask_arrays(tmp_path, sparse):
    data = made(tmp_path, pandas.DataFrame(X, columns=list("abcd")), pandas.Series(y), sparse=sparse)
    assert (len(data), data.shape) == (100, (100, 4))
    assert data.train.labels.tolist() == y.tolist()
    head = data.head(40)
    assert head.columns.tolist() == ["a", "b", "c", "d", "target"]
    np.testing.assert_array_equal(head[["a", "d"]], X[:40, [0, 3]])
    assert head["target"].tolist() == y[:40].tolist()
    features, labels = data.train.to_dask()
    assert features.chunks == ((30, 30, 30, 10), (4,))
    whole = features.compute()
    np.testing.assert_array_equal(whole.toarray() if sparse else whole, X)
    assert labels.compute().tolist() == y.tolist()
    shown = data._repr_html_()
    assert "<p>100 train rows x 4 features, 4 shards; the first of them:</p>" in shown
    assert "<th>target</th>" in shown


def test_texts_of_a_data_set_are_escaped_in_notebooks(tmp_path):
    frame = pandas.DataFrame(X, columns=["<i>", "b", "c", "d"])
    data = dk.write_dataset(frame, y, tmp_path / "<b>.zarr")
    assert data._repr_html_().startswith("<p><b>&lt;b&gt;.zarr</b>: classification, scaled by minmax</p>")
    assert "<i>" not in data._repr_html_()
    # wide rows are not shown
    wide = dk.write_dataset(np.tile(X, 13), y, tmp_path / "w.zarr")
    assert wide.train._repr_html_().strip() == "<p>100 train rows x 52 features, 1 shard</p>"


def test_a_data_set_is_fitted_as_its_training_split(tmp_path):
    data = made(tmp_path, test_fraction=0.2)
    first = NewtonClassifier(features="linear", random_state=0).fit(data)
    second = NewtonClassifier(features="linear", random_state=0).fit(data.train)
    np.testing.assert_array_equal(first.coefficients_, second.coefficients_)
    with pytest.raises(InputError, match=r"give one of its splits"):
        first.predict(data)


@pytest.mark.parametrize(
    "lazy",
    [
        lambda: (dask.array.from_array(X, (35, 2)), dask.array.from_array(y, 50)),
        lambda: (dask.array.from_array(X, (35, 4)), y),
        lambda: (scipy.sparse.csc_matrix(X), y.tolist()),
        lambda: (
            dask.dataframe.from_pandas(pandas.DataFrame(X), npartitions=3),
            dask.dataframe.from_pandas(pandas.Series(y), npartitions=3),
        ),
    ],
)
def test_whatever_the_rows_come_in(tmp_path, lazy):
    data = made(tmp_path, *lazy(), sparse=False)
    np.testing.assert_array_equal(data.train[:], X)
    assert data.train.labels.tolist() == y.tolist()


def test_the_task_follows_from_the_targets(tmp_path):
    assert made(tmp_path, labels=None).task == "none"
    assert made(tmp_path, labels=np.arange(100) / 2, overwrite=True).task == "regression"
    assert made(tmp_path, labels=np.arange(100) % 2 * 1.0, overwrite=True).task == "classification"
    data = made(tmp_path, labels=dask.array.arange(100.0, chunks=40), overwrite=True)
    assert data.task == "regression"
    np.testing.assert_array_equal(data.train.labels, np.arange(100.0))
    with pytest.raises(InputError, match="X has 100 rows and y has 3"):
        made(tmp_path, labels=[0, 1, 0], overwrite=True)


def test_frames_with_categories(tmp_path):
    frame = adult(300)
    frame.to_csv(tmp_path / "a.csv", index=False)
    from distkern.data.ingest import shard

    options = {"drop": ["weight"], "impute": "flag", "categorical": {"education-num": "onehot"}}
    other = shard(tmp_path / "a.csv", tmp_path / "e.zarr", shuffle=False, **options)
    data = dk.write_dataset(
        frame.drop(columns="income"), frame["income"], tmp_path / "d.zarr", shuffle=False, **options
    )
    assert data.feature_names == other.feature_names
    np.testing.assert_array_equal(data.train[:], other.train[:])
    with pytest.raises(InputError, match="did you mean 'weight'"):
        dk.write_dataset(frame, None, tmp_path / "f.zarr", drop=["weigth"])
    with pytest.raises(InputError, match="arrays have no column names"):
        made(tmp_path, drop=["a"])


def test_left_out_and_constant_columns_are_reported(tmp_path):
    frame = pandas.DataFrame({"x": X[:, 0], "a": np.nan, "b": None, "fixed": 1.0, "word": "one"})
    with pytest.warns(
        UserWarning, match=r"columns 'a', 'b' are left out: they have no value in any row; check"
    ):
        dk.write_dataset(frame, y, tmp_path / "d.zarr")
    notes: list[str] = []
    dk.write_dataset(frame, y, tmp_path / "e.zarr", notice=notes.append)
    assert any(
        note.startswith("columns 'fixed', 'word' have one value in all training rows") for note in notes
    )
    model = NewtonClassifier(features="linear").fit(frame[["x", "fixed", "word"]], y)
    with pytest.warns(
        UserWarning, match=r"another number than the only one of the training rows: fixed \(1\)"
    ):
        model.predict(frame[["x", "fixed", "word"]][:1].assign(fixed=2.0))


def test_signs_and_word_counts_are_one_column(tmp_path):
    rng = np.random.default_rng(0)
    towns = [f"t{town}" for town in rng.integers(0, 50, 200)]
    frame = pandas.DataFrame({"age": np.arange(200.0), "town": towns, "say": "good and cheap"})
    data = dk.write_dataset(
        frame, rng.permutation(np.tile(y, 2)), tmp_path / "d.zarr", text=["say"], seed=1, scale="standard"
    )
    head = data.head(3)
    assert head.columns.tolist() == [
        *("age", "mean of yes by town", "32 signs of town", "256 word counts of say", "target")
    ]
    signs = data.train[:3][:, 2:34]
    assert head["32 signs of town"].tolist() == [
        "".join("+" if one > 0 else "-" for one in row) for row in signs
    ]
    assert {len(words.replace("0", "")) for words in head["256 word counts of say"]} == {3}
    assert "<th>32 signs of town</th>" in data._repr_html_()
