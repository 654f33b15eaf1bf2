"""Tables with categories, dates, booleans and missing values: what becomes of their columns."""

from collections import Counter

import numpy as np
import pandas
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from distkern.core.errors import InputError
from distkern.data import table_fit
from distkern.data.columns import category
from distkern.data.dataset import open_dataset
from distkern.data.file_rows import FileRows
from distkern.data.ingest import shard
from distkern.data.scaling import Like
from distkern.data.spool import Spool
from distkern.data.table import Table
from distkern.estimators.newton import NewtonClassifier
from file_rows import feature, made, rows_of, small_blocks, written
from mixed_tables import adult


def test_samples_of_a_table_keep_none_of_the_other_rows(tmp_path, monkeypatch):
    """A view of every k-th row kept all of them: 112 bytes a row of 14 columns."""
    kept, of_medians, tell = [], table_fit.TableFit._medians, table_fit.TableFit._tell

    def look(fit, samples):
        kept.extend(samples)
        return of_medians(fit, samples)

    def report(fit, sample):
        kept.extend([*sample._rows, *sample._targets])
        tell(fit, sample)

    monkeypatch.setattr(table_fit.TableFit, "_medians", look)
    monkeypatch.setattr(table_fit.TableFit, "_tell", report)
    adult(2000).to_csv(tmp_path / "a.csv", index=False)
    made(tmp_path, tmp_path / "a.csv", impute="median")
    assert len(kept) == 3
    assert all(part.base is None for part in kept)


@pytest.mark.parametrize(
    ("scale", "n_reads", "n_encoded"), [("minmax", 2, 1), ("none", 2, 1), ("standard", 3, 2)]
)
def test_parked_rows_are_read_twice_and_encoded_once(tmp_path, monkeypatch, scale, n_reads, n_encoded):
    """A third time for scalings that need more than the ranges of the features."""
    counts, read, encode = Counter(), Spool.read, Table.encode

    def reading(spool, run, start, count):
        counts["read"] += count
        return read(spool, run, start, count)

    def encoding(table, values, means=None):
        counts["encoded"] += len(values)
        return encode(table, values, means)

    monkeypatch.setattr(Spool, "read", reading)
    monkeypatch.setattr(Table, "encode", encoding)
    adult(2000).to_csv(tmp_path / "a.csv", index=False)
    assert made(tmp_path, tmp_path / "a.csv", scale=scale).table.columns[11].has_means
    assert counts == {"read": n_reads * 2000, "encoded": n_encoded * 2000}


def test_columns_become_what_scikit_learn_makes_of_them(tmp_path):
    frame = adult(2000)
    frame.to_csv(tmp_path / "a.csv", index=False)
    data = made(tmp_path, tmp_path / "a.csv")
    assert data.feature_names is not None
    numbers = ["age", "weight", "education-num", "capital gain", "hours"]
    filled = SimpleImputer().fit_transform(frame[numbers].astype(float))
    for at, name in enumerate(numbers):
        np.testing.assert_allclose(feature(data, name), filled[:, at], rtol=1e-6)
    for name in ("occupation", "country"):
        # scikit-learn puts what is missing last as well
        encoder = OneHotEncoder(sparse_output=False).fit(frame[[name]])
        ours = [text for text in data.feature_names if text.startswith((f"{name}=", f"{name} is"))]
        assert ours[-1] == f"{name} is missing"
        assert ours[:-1] == [f"{name}={level}" for level in encoder.categories_[0][:-1]]
        expected = encoder.transform(frame[[name]])
        np.testing.assert_array_equal(np.stack([feature(data, text) for text in ours], axis=1), expected)


def test_what_is_stored_depends_neither_on_pieces_nor_on_the_format(tmp_path, monkeypatch):
    frame = adult(1500).astype({"citizen": "boolean"})
    frame.to_csv(tmp_path / "a.csv", index=False)
    options = {"scale": "minmax", "shuffle": True, "test_fraction": 0.2}
    whole = made(tmp_path, tmp_path / "a.csv", **options)
    expected = rows_of(whole.train)
    columns = {
        name: pandas.to_numeric(frame[name])
        for name in ("age", "weight", "education-num", "capital gain", "hours")
    }
    dates = {"joined": pandas.to_datetime(frame["joined"])}
    frame.assign(**columns, **dates).to_parquet(tmp_path / "a.parquet")
    other = made(tmp_path, tmp_path / "a.parquet", **options)
    assert other.feature_names == whole.feature_names
    np.testing.assert_array_equal(rows_of(other.train), expected)
    small_blocks(monkeypatch, 20_000)
    again = made(tmp_path, tmp_path / "a.csv", **options)
    assert again.fingerprint == whole.fingerprint


def test_test_rows_do_not_change_the_columns(tmp_path):
    frame = adult(800)
    frame.to_csv(tmp_path / "a.csv", index=False)
    extreme = adult(200, seed=1)
    extreme["state"] = "nowhere"
    extreme["age"] = 1e6
    extreme.to_csv(tmp_path / "b.csv", index=False)
    notices = []
    alone = made(tmp_path, tmp_path / "a.csv", scale=None)
    both = made(tmp_path, tmp_path / "a.csv", scale=None, test=tmp_path / "b.csv", notice=notices.append)
    assert both.table == alone.table
    assert both.scaling == alone.scaling
    np.testing.assert_array_equal(rows_of(both.train), rows_of(alone.train))
    assert any("test rows with a category not in the training rows" in notice for notice in notices)
    assert any("state (200)" in notice for notice in notices)
    assert "test rows with a number far outside the range of the training rows: age (200)" in notices
    # an unknown category goes where the mean of all is
    assert both.table is not None
    assert both.test is not None
    assert len(np.unique(feature(both, "mean of >50K by state", both.test))) == 1


def test_missing_values(tmp_path):
    source = written(tmp_path, "x,b,c,y\n1,True,a,0\n?,false,NA,1\n2,,b,0\n9,TRUE, ,1\n")
    data = made(tmp_path, source)
    assert data.feature_names == ("x", "b", "c=a", "c=b", "c is missing")
    np.testing.assert_allclose(rows_of(data.train)[:, :2], [[1, 1], [4, 0], [2, 2 / 3], [9, 1]], rtol=1e-6)
    np.testing.assert_array_equal(rows_of(data.train)[:, 2:], [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]])
    assert feature(made(tmp_path, source, impute="median"), "x")[1] == 2
    flagged = made(tmp_path, source, impute="flag")
    assert flagged.feature_names == ("x", "x is missing", "b", "b is missing", "c=a", "c=b", "c is missing")
    np.testing.assert_array_equal(feature(flagged, "x is missing"), [0, 1, 0, 0])
    with pytest.raises(InputError, match=r"row 2 \(line 3\), column 'x': the value is missing"):
        made(tmp_path, source, impute="none")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
@pytest.mark.parametrize("word", ["NA", "?", "null", "<NA>", "nan", " NaN ", "None"])
def test_what_stands_for_a_missing_value_is_no_label(tmp_path, name, word):
    frame = pandas.DataFrame({"x": [1, 2, 3], "y": ["a", "b", word]})
    source = tmp_path / name
    (frame.to_csv if name.endswith("csv") else frame.to_parquet)(source, index=False)
    with pytest.raises(
        InputError, match=rf"{name}, row 3 \(.*column 'y': the target is missing \('.*--na ''"
    ):
        made(tmp_path, source)
    classes = made(tmp_path, source, na=[""]).classes
    assert classes.tolist() == sorted(["a", "b", word.strip() if name.endswith("csv") else word])


def test_other_words_for_missing_values(tmp_path):
    source = written(tmp_path, "x,c,y\n1,NA,a\n-99,DE,b\nnan,-99,NA\n4,DE,a\n")
    with pytest.raises(InputError, match=r"column 'y': the target is missing \('NA'\).*--keep-na"):
        made(tmp_path, source, na=["-99"])
    beside = made(tmp_path, source, na=["-99"], keep_na=["y"])
    assert beside.feature_names == ("x", "c=DE", "c is missing")
    assert beside.classes.tolist() == ["NA", "a", "b"]
    data = made(tmp_path, source, na=["", "-99"])
    assert data.feature_names == ("x", "c=DE", "c=NA", "c is missing")
    np.testing.assert_array_equal(feature(data, "x"), [1, 2.5, 2.5, 4])
    np.testing.assert_array_equal(feature(data, "c=NA"), [1, 0, 0, 0])
    assert open_dataset(data.path).table == data.table
    # later files are read as that one was, also where it had nothing but numbers and none was missing
    plain = made(tmp_path, written(tmp_path, "x,y\n1,a\n3,b\n"), na=["-99"])
    like = Like(1, ("x",), "y", plain.scaling, plain.table)
    (block,) = FileRows([written(tmp_path, "x\n-99\n", "b.csv")], like)
    np.testing.assert_array_equal(block.features, [[2]])
    with pytest.raises(InputError, match="the target is missing \\('-99'"):
        shard(written(tmp_path, "x,y\n1,-99\n"), tmp_path / "e.zarr", like=like)
    with pytest.raises(InputError, match=r"row 2 .*'y': the target is missing \('-99'\); fill[^;]*$"):
        made(tmp_path, written(tmp_path, "x,y\n1,0\n3,-99\n"), na=["-99"], task="regression")


def test_a_sparse_table_of_numbers_stays_sparse(tmp_path):
    values = np.zeros((60, 40))
    values[:, 3] = np.arange(60)
    texts = [[repr(value) for value in row] for row in values.tolist()]
    texts[5][7] = ""
    header = ",".join([*(f"x{at}" for at in range(40)), "y"])
    lines = [",".join([*row, str(number % 2)]) for number, row in enumerate(texts)]
    source = written(tmp_path, "\n".join([header, *lines, ""]))
    data = made(tmp_path, source)
    assert data.is_sparse
    np.testing.assert_array_equal(data.train.reader(0)().features.toarray(), values)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("x,y\n1,0\n2,1\nthree,0\n", {}, r"row 3 \(line 4\), column 'x': 'three' is not a number.*=onehot"),
        ("d,y\n2020-01-01,0\n2020-13-01,1\n", {}, r"row 2 .*'2020-13-01' is not a date"),
        (
            "x,c,y\n1,a,0\n2,b,1\n",
            {"categorical": {"d": "onehot"}},
            r"no column 'd' \(--categorical\); the columns are 'x', 'c'",
        ),
        ("x,c,y\n1,a,0\n2,b,1\n", {"categorical": {"c": "hash"}}, "unknown encoding of categories 'hash'"),
        ("x,c,y\n1,a,0\n2,b,1\n", {"drop": ["d"]}, r"no column 'd' \(--drop, --id\)"),
        ("x,c,y\n1,a,0\n2,b,1\n", {"sparse": True}, "--sparse: tables with non-numeric columns"),
        ("x,c,y\n1,a,0\n2,b,1\n", {"task": "none", "categorical": {"c": "target"}}, "no target"),
        ("x,c,y\n1,a,0\ninf,b,1\n", {}, r"row 2 \(line 3\), column 'x': the value is infinite"),
        ("c,y\n,0\n,1\n", {}, "the rows have no features"),
    ],
)
def test_refused(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message):
        made(tmp_path, written(tmp_path, text), **options)
    assert not (tmp_path / "d.zarr").exists()


def test_a_stray_text_deep_in_a_column_of_numbers(tmp_path, monkeypatch):
    lines = [f"{number}.5,{'ab'[number % 2]}" for number in range(5000)]
    lines[4000] = "n.a.,a"
    source = written(tmp_path, "\n".join(["x,y", *lines, ""]))
    small_blocks(monkeypatch, 2**12)
    with pytest.raises(
        InputError, match=r"a\.csv, row 4001 \(line 4002\), column 'x': 'n\.a\.' is not a number"
    ):
        made(tmp_path, source)
    assert made(tmp_path, source, categorical={"x": "target"}).feature_names == ("mean of b by x",)


def test_odd_categories(tmp_path):
    text = 'c,one,none,n,y\n"a, b",k,,1,0\nx=y,k,,1,1\n"say ""ä""",k,,1,0\n 7 ,k,,1,1\n'
    notices = []
    data = made(tmp_path, written(tmp_path, text), notice=notices.append)
    assert data.feature_names == ("c=7", "c=a, b", 'c=say "ä"', "c=x=y", "one=k", "n")
    np.testing.assert_array_equal(rows_of(data.train)[:, :4], np.eye(4)[[1, 3, 2, 0]])
    notes = " ".join(notices)
    assert "column 'none' is left out: it has no value in any row; check the input if that is wrong" in notes
    assert "columns 'one', 'n' have one value in all training rows" in notes
    assert "they are kept, and nothing needs to be done (--drop leaves them out)" in notes
    assert "are filled" not in notes
    assert open_dataset(data.path).table == data.table


def test_wide_and_unique_categories(tmp_path, monkeypatch):
    lines = [f"name {number},group {number % 40},{number % 3}" for number in range(400)]
    source = written(tmp_path, "\n".join(["id,group,y", *lines, ""]))
    notices = []
    data = made(tmp_path, source, notice=notices.append)
    # of three classes, a mean for each
    assert data.feature_names[:3] == tuple(f"mean of {label} by group" for label in range(3))
    assert data.feature_names[3:] == tuple(f"sign {at + 1} of group" for at in range(32))
    np.testing.assert_allclose(rows_of(data.train)[:, :3].sum(axis=1), 1, rtol=1e-5)
    assert any("column 'id' is left out: most of its values occur once" in notice for notice in notices)
    wide = made(tmp_path, source, categorical={"group": "onehot", "id": "drop"})
    assert wide.n_features == 40
    assert wide.table.ignored == ("id",)
    monkeypatch.setattr(category, "MAX_LEVELS", 100)
    notices.clear()
    assert made(tmp_path, source, notice=notices.append).table == data.table
    assert any("column 'id' is left out: it has more than" in notice for notice in notices)
    message = r"row 101 \(line 102\), column 'id': more than 100 different values .*--drop id"
    with pytest.raises(InputError, match=message):
        made(tmp_path, source, categorical={"id": "target"})
    monkeypatch.setattr(category, "_MOST_ONEHOT", 10)
    with pytest.raises(InputError, match="column 'group': 40 categories"):
        made(tmp_path, source, categorical={"group": "onehot"}, drop=["id"])


def test_a_column_of_numbers_may_be_given_as_categories(tmp_path):
    source = written(tmp_path, "c,y\n1,0\n1.0,1\n02,0\n2.5,1\n,0\n")
    data = made(tmp_path, source, categorical={"c": "onehot"})
    assert data.feature_names == ("c=02", "c=1", "c=2.5", "c is missing")
    np.testing.assert_array_equal(feature(data, "c=1"), [1, 1, 0, 0, 0])
    # among texts 1.0 is another text than 1
    source = written(tmp_path, "c,y\n1,0\n1.0,1\na,0\nb,1\n")
    data = made(tmp_path, source, categorical={"c": "onehot"})
    assert data.feature_names == ("c=1", "c=1.0", "c=a", "c=b")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_empty_line_of_one_column_is_a_row(tmp_path, end, monkeypatch):
    texts = ["x", "1", "", "4", "", "", "1"]
    source = written(tmp_path, "")
    source.write_bytes((end.join(texts) + end).encode())
    for size in (2, 2**20):
        small_blocks(monkeypatch, size)
        data = made(tmp_path, source, task="none")
        assert feature(data, "x").tolist() == [1, 2, 4, 2, 2, 1]
    # the last line's newline is none, a line after it is one
    source.write_bytes((end.join(texts)).encode())
    assert made(tmp_path, source, task="none").train.n_rows == 6
    source.write_bytes((end.join([*texts, "", ""])).encode())
    assert made(tmp_path, source, task="none").train.n_rows == 7
    (block,) = FileRows([source], Like(1, data.table.names, None, data.scaling, data.table))
    assert np.ravel(block.features).tolist() == [1, 2, 4, 2, 2, 1, 2]
    with pytest.raises(InputError, match=r"row 2 \(line 3\), column 'x': the value is missing"):
        list(FileRows([source], Like(1, ("x",), None, data.scaling, None)))
    source.write_bytes((end.join(["", "1", "", "4"])).encode())
    assert feature(made(tmp_path, source, task="none", header=False), "0").tolist() == [2.5, 1, 2.5, 4]


def test_blank_lines_between_several_columns_are_counted(tmp_path):
    notices = []
    source = written(tmp_path, "x,y\n1,0\n\n2,1\r\n\r\n\n3,1\n")
    assert made(tmp_path, source, notice=notices.append).train.n_rows == 3
    assert notices == ["3 blank lines are no rows"]
    rows = FileRows([source], Like(1, ("x",), "y", made(tmp_path, source).scaling, None))
    assert [len(block.features) for block in rows] == [3]
    assert rows.notes.blank_lines == 3


def test_a_column_that_was_left_out_may_hold_anything_later(tmp_path):
    data = made(tmp_path, written(tmp_path, "x,c,y\n1,,0\n2,,1\n"))
    assert data.feature_names == ("x",)
    like = Like(1, data.table.names, "y", data.scaling, data.table)
    (block,) = FileRows([written(tmp_path, "x\n5\n", "b.csv")], like)
    assert block.features.tolist() == [[5]]
    for value in ("2020-01-01", "word", "inf", "3"):
        (block,) = FileRows([written(tmp_path, f"x,c\n5,{value}\n", "b.csv")], like)
        assert block.features.tolist() == [[5]]


def test_files_without_a_header(tmp_path):
    data = made(tmp_path, written(tmp_path, "a,1,0,x\nb,2,1,y\na,3,0,x\n"), header=False, target="2")
    assert data.feature_names == ("0=a", "0=b", "1", "3=x", "3=y")
    assert not data.table.is_named


def test_rows_of_arrays_are_none_of_a_table(tmp_path):
    source = written(tmp_path, "x,c,y\n1,a,0\n2,b,1\n")
    np.savez(tmp_path / "b.npz", X=np.ones((3, 2)), y=[0, 1, 0])
    with pytest.raises(InputError, match=r"b\.npz has no columns of categories"):
        shard([source, tmp_path / "b.npz"], tmp_path / "d.zarr")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_weights(tmp_path, kind):
    frame = adult(400, missing=0.0)[["age", "hours", "joined", "income"]]
    frame["times"] = np.arange(400) % 3 + 1.0
    frame["half"] = frame["times"] / 2
    repeated = frame.loc[np.repeat(frame.index, frame["times"].astype(int))]
    for name, part in (("weighted", frame), ("repeated", repeated)):
        file = part.astype({"age": float, "hours": float})
        file.to_csv(tmp_path / f"{name}.csv", index=False)
        file.to_parquet(tmp_path / f"{name}.parquet")
    options = {"target": "income", "rows_per_shard": 150, "shuffle": True}
    sources = [tmp_path / f"{name}.{kind}" for name in ("weighted", "repeated")]
    data = shard(sources[0], tmp_path / "d.zarr", weight="half", drop=["times"], **options)
    other = shard(sources[1], tmp_path / "e.zarr", drop=["times", "half"], scale=None, **options)
    assert data.table.ignored == ("times", "half")
    numbers = np.concatenate([data.train.reader(at).source_rows() for at in range(3)])
    weights = np.concatenate([data.train.reader(at)().weights for at in range(3)])
    np.testing.assert_array_equal(weights, frame["half"].to_numpy()[numbers])
    assert data.train.weight_totals is not None
    by_class = frame.groupby("income")["half"].agg(["sum", "max"])
    np.testing.assert_allclose(data.train.weight_totals, by_class["sum"])
    np.testing.assert_allclose(data.train.largest_weights, by_class["max"])
    # a row of weight 3/2 is three of weight 1/2
    models = [
        NewtonClassifier(features="linear", random_state=0, tol=1e-8).fit(made) for made in (data, other)
    ]
    np.testing.assert_allclose(models[0].coefficients_, models[1].coefficients_, rtol=1e-3)
    # what is left out later may be there
    with pytest.warns(UserWarning, match="column 'income' is the target and is not used"):
        score = models[0].score(frame, frame["income"])
    assert score == pytest.approx(models[0].score(data.train))
    plain = shard(sources[0], tmp_path / "f.zarr", drop=["times", "half"], **options)
    unweighted = NewtonClassifier(features="linear", random_state=0).fit(plain)
    assert np.abs(unweighted.coefficients_ - models[0].coefficients_).max() > 1e-2
    # test rows have none, and need not have the columns that are left out
    frame[["age", "hours", "joined", "income"]].to_csv(tmp_path / "test.csv", index=False)
    both = shard(
        sources[0], tmp_path / "h.zarr", test=tmp_path / "test.csv", weight="half", drop=["times"], **options
    )
    assert both.test.reader(0)().weights is None
    assert models[0].score(both.test) == models[0].score(data.train)
    frame.loc[7, "half"] = -1
    frame.to_csv(tmp_path / "bad.csv", index=False)
    message = r"bad\.csv, row 8 \(line 9\), column 'half': the weight -1\.0 is not a number above 0"
    with pytest.raises(InputError, match=message):
        shard(tmp_path / "bad.csv", tmp_path / "g.zarr", weight="half", **options)
    with pytest.raises(InputError, match="both target and weight"):
        shard(sources[0], tmp_path / "g.zarr", weight="income", **options)


def test_weights_of_a_regression(tmp_path):
    text = "x,w,y\n" + "".join(f"{row},{row % 2 + 1},{row / 7}\n" for row in range(50))
    data = made(tmp_path, written(tmp_path, text), task="regression", weight="w", test_fraction=0.2)
    assert data.train.weight_totals.shape == (1,)
    assert data.test.reader(0)().weights is None
    assert made(tmp_path, tmp_path / "a.csv", task="regression", drop=["w"]).fingerprint != data.fingerprint


def test_damaged_tables_are_refused_or_read_alike_twice(tmp_path):
    """What is fitted on a file takes each row of it as it was taken, whatever is in it."""
    random = np.random.default_rng(0)
    content = adult(40).to_csv(index=False).encode()
    letters = b',"\n?= -:.0123456789TrueFalsNAinfx\xc3\xa4;'
    read, refused = 0, []
    for _ in range(25):
        damaged = bytearray(content)
        for position in random.integers(0, len(content), random.choice([1, 2, 5])).tolist():
            damaged[position : position + int(random.integers(0, 2))] = bytes([random.choice(list(letters))])
        (tmp_path / "a.csv").write_bytes(damaged)
        try:
            data = made(tmp_path, tmp_path / "a.csv", impute=str(random.choice(["mean", "median", "flag"])))
        except InputError as error:
            refused.append(str(error))
            continue
        read += 1
        again = FileRows(
            [tmp_path / "a.csv"], Like(data.n_features, data.table.names, "income", data.scaling, data.table)
        )
        features = np.concatenate([np.asarray(block.features) for block in again])
        assert not again.unseen
        # a training row has the target means of others
        own = [at for at, name in enumerate(data.feature_names or ()) if not name.startswith("mean of")]
        np.testing.assert_array_equal(features[:, own], rows_of(data.train)[:, own])
    assert 5 < read < 20
    assert all("a.csv" in line for message in refused for line in message.splitlines())
