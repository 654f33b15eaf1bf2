"""Tables as people have them: money, percent, dates in several formats, words for nothing."""

import warnings

import dask.dataframe
import numpy as np
import pandas
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.feature_extraction.text import HashingVectorizer

from distkern.core.errors import InputError, Problems
from distkern.data.columns import _reading
from distkern.data.file_rows import FileRows
from distkern.data.ingest import check, shard
from distkern.data.scaling import Like
from distkern.data.table_report import ColumnReport
from distkern.estimators.newton import NewtonClassifier
from distkern.runs.algorithms import load_model
from distkern.runs.scoring import files_for
from distkern.runs.writing import write_dataset
from file_rows import everything, feature, made, rows_of, small_blocks, written

MESSY = """\
price,gain,share,units,joined,called,vip,y
"$1,200.50",(300),12.5%,"1,000",13/02/2024,1:30 PM,Y,a
$7,40,0,2,2024-02-01,06:00,N,b
-,missing,unknown,.,--,NA,n/a,a
€0,-3,50 %,3,1/2/2024,18:00:00,y,b
"""


def test_a_messy_table(tmp_path, monkeypatch):
    data = made(tmp_path, written(tmp_path, MESSY))
    np.testing.assert_allclose(feature(data, "price"), [1200.5, 7, 1207.5 / 3, 0], rtol=1e-6)
    np.testing.assert_allclose(feature(data, "gain"), [-300, 40, -263 / 3, -3], rtol=1e-6)
    np.testing.assert_allclose(feature(data, "share"), [0.125, 0, 0.625 / 3, 0.5], rtol=1e-6)
    np.testing.assert_allclose(feature(data, "units"), [1000, 2, 335, 3])
    days = (pandas.to_datetime(["2024-02-13", "2024-02-01"]) - pandas.Timestamp(0)).days.tolist()
    np.testing.assert_allclose(feature(data, "joined days")[[0, 1, 3]], [days[0], days[1], days[1]])
    np.testing.assert_allclose(
        feature(data, "called sin of day"), [np.sin(13.5 * np.pi / 12), 1, 0, -1], atol=1e-6
    )
    np.testing.assert_allclose(feature(data, "vip"), [1, 0, 2 / 3, 1], rtol=1e-6)
    # the model's own files, in which nothing shows the order of the days, are read alike
    later = MESSY.splitlines()
    source = written(tmp_path, "\n".join([later[0], later[4], ""]), "b.csv")
    (block,) = FileRows([source], Like(data.n_features, data.table.names, "y", data.scaling, data.table))
    np.testing.assert_array_equal(np.asarray(block.features), rows_of(data.train)[3:])
    # nor does the data set depend on the pieces it is read in, once the first rows show what columns hold
    small_blocks(monkeypatch, 150)
    assert made(tmp_path, tmp_path / "a.csv").fingerprint == data.fingerprint


def test_decimal_commas(tmp_path):
    notices = []
    text = "x;p;y\n1.200,5;3,5 €;a\n2,5;1.000 €;b\n"
    data = made(tmp_path, written(tmp_path, text), notice=notices.append)
    np.testing.assert_array_equal(rows_of(data.train), [[1200.5, 3.5], [2.5, 1000]])
    assert any("fields are separated by ';', decimals by ','" in notice for notice in notices)
    assert data.table.decimal == ","
    # a target too
    prices = made(tmp_path, tmp_path / "a.csv", target="p", task="regression", drop=["y"])
    np.testing.assert_array_equal(everything(prices.train)[1], [3.5, 1000])
    source = written(tmp_path, "x;y\n1,200;a\n3,400;b\n")
    with pytest.raises(
        InputError, match=r"a\.csv: no number shows whether commas .*; give --decimal , or --decimal \."
    ):
        made(tmp_path, source)
    assert feature(made(tmp_path, source, decimal=","), "x").tolist() == [np.float32(1.2), np.float32(3.4)]
    assert feature(made(tmp_path, source, decimal="."), "x").tolist() == [1200, 3400]
    piped = written(tmp_path, "x, z|q|y\n1|2|a\n3|4|b\n")
    assert made(tmp_path, piped).feature_names == ("x, z", "q")
    odd = written(tmp_path, "x~y\n1~a\n3~b\n")
    assert made(tmp_path, odd, delimiter="~").feature_names == ("x",)


@pytest.mark.parametrize("kind", ["pandas", "Dask"])
def test_decimal_commas_of_frames(kind):
    amounts = ["1.200", "3,5 €", "2", None] * 10
    frame = pandas.DataFrame({"x": amounts, "name": [f"name {at}" for at in range(40)]})
    y = pandas.Series([0, 1, 0, 1] * 10)
    X, labels = (frame, y) if kind == "pandas" else (dask.dataframe.from_pandas(one, 2) for one in (frame, y))
    model = NewtonClassifier(features="linear", random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, labels)
    messages = [str(one.message) for one in caught if one.filename == __file__]
    assert "numbers written as texts in X are read with decimal commas" in messages
    assert any(
        one.startswith("column 'name' is left out: most of its values occur once (") for one in messages
    )
    assert model.table_.columns[0].fill == pytest.approx(1205.5 / 3)
    asked = frame.assign(x=["1.200,0", "3,50", "2", "401,83333333333333"] * 10)
    np.testing.assert_allclose(model.decision_function(asked), model.decision_function(frame), rtol=1e-5)
    # only points show that points are decimal marks
    points = frame.assign(x=["1.200", "3.5", "1,000.5", "2"] * 10)
    with pytest.warns(UserWarning, match="name"):
        model.fit(points, y)
    assert model.table_.columns[0].fill == pytest.approx((1.2 + 3.5 + 1000.5 + 2) / 4)


def test_dates_of_which_none_shows_the_order(tmp_path):
    source = written(tmp_path, "d,y\n2024-01-02,a\n3/4/2024,b\n5/5/2024,a\n")
    with pytest.raises(
        InputError, match=r"row 2 \(line 3\), column 'd': .*'3/4/2024' begins .*--day-first or --month"
    ):
        made(tmp_path, source)
    april, march = (feature(made(tmp_path, source, day_first=first), "d days")[1] for first in (True, False))
    assert (april, march) == (19_816, 19_786)
    both = written(tmp_path, "d,y\n13/4/2024,a\n3/14/2024,b\n")
    with pytest.raises(InputError, match=r"row 1 .*'13/4/2024' and others of the column the day is first"):
        made(tmp_path, both, day_first=True)


def test_all_problems_are_reported_at_once(tmp_path):
    lines = [f"{at},{at}%,2024-01-{at % 28 + 1:02d},{'ab'[at % 2]}" for at in range(40)]
    lines[7] = "seven,5,soon,?"
    lines[9] = "nine,9%,never,a"
    source = written(tmp_path, "\n".join(["n,p,d,y", *lines, ""]))
    with pytest.raises(Problems) as raised:
        made(tmp_path, source)
    lines = str(raised.value).splitlines()
    assert len(lines) == 4
    place = r"a.csv, row 8 (line 9), column "
    number = (
        "'seven' is not a number, as other values of the column are (and 1 more row); correct it, or give "
        "--categorical n=onehot (or target, signs, drop), or --na 'seven' if it stands for a missing value"
    )
    expected = {
        "y": "the target is missing ('?')",
        "n": number,
        "p": "'5' is not in %, as other values of the column are",
        "d": "'soon' is not a date",
    }
    for name, what in expected.items():
        assert any(f"{place}{name!r}: {what}" in line for line in lines)
    assert not (tmp_path / "d.zarr").exists()


def checked(source, **options):
    found = []
    check(source, report=found.extend, **options)
    return {column.name: column for column in found}


def test_a_check_reports_what_every_column_becomes(tmp_path):
    random = np.random.default_rng(0)
    n_rows = 1000
    y = random.integers(0, 2, n_rows)
    frame = pandas.DataFrame(
        {
            "row": np.arange(n_rows),
            "zip": [f"{number:05d}" for number in random.integers(500, 600, n_rows)],
            "store code": random.integers(10, 60, n_rows),
            "amount": random.normal(size=n_rows).round(3),
            "age": random.integers(18, 80, n_rows),
            "name": [f"name {number}" for number in range(n_rows)],
            "flag": np.where(y, "yes", "no"),
            "noisy": np.where(random.random(n_rows) < 0.9, y, 1 - y),
            "y": y,
        }
    )
    frame.loc[::10, "amount"] = np.nan
    frame.to_csv(tmp_path / "a.csv", index=False)
    columns = checked(tmp_path / "a.csv")
    assert list(columns) == frame.columns[:-1].tolist()
    assert not list(tmp_path.glob("*.zarr"))
    assert columns["amount"] == ColumnReport("amount", "numbers", "1 feature", 100, frame["amount"].nunique())
    noted = {name: column.note for name, column in columns.items() if column.note}
    assert list(noted) == ["row", "zip", "store code", "name", "flag"]
    assert "as ids have; give --drop row" in noted["row"]
    assert "--categorical zip=onehot" in noted["zip"]
    assert "--text name uses its words" in noted["name"]
    assert "alone nearly predicts the target (wholly)" in noted["flag"]
    # test rows have the other numbers; a whole amount repeats
    frame = frame.assign(whole=random.integers(0, 2 * len(frame), len(frame)))
    frame.to_csv(tmp_path / "c.csv", index=False)
    later = checked(tmp_path / "c.csv", target="y", test_fraction=0.4)
    assert "as ids have" in later["row"].note
    assert later["whole"].note == ""
    # a number that is the target in other units
    frame.assign(cents=frame["age"] * 100.0).to_csv(tmp_path / "b.csv", index=False)
    reported = checked(tmp_path / "b.csv", target="age", task="regression")
    assert [name for name, column in reported.items() if "alone nearly predicts" in column.note] == ["cents"]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "frame"])
def test_words_of_texts(tmp_path, name, monkeypatch):
    texts = ["good and cheap", "bad, bad", None, "Good!"] * 3
    frame = pandas.DataFrame({"x": np.arange(12.0), "said": texts, "z": np.arange(12.0), "y": [0, 1] * 6})
    options = {"text": ["said"], "scale": "none", "shuffle": False, "sparse": False}
    if name == "frame":
        data = write_dataset(frame[["x", "said", "z"]], frame["y"], tmp_path / "d.zarr", **options)
    else:
        monkeypatch.setattr("distkern.data.formats.csv.CHUNK_BYTES", 8 * 258 * 5)
        (frame.to_csv if name == "a.csv" else frame.to_parquet)(tmp_path / name, index=False)
        data = shard(tmp_path / name, tmp_path / "d.zarr", **options)
    expected = HashingVectorizer(n_features=256).transform([text or "" for text in texts]).toarray()
    np.testing.assert_array_equal(rows_of(data.train)[:, 1:-1], expected.astype(np.float32))
    np.testing.assert_array_equal(rows_of(data.train)[:, [0, -1]], frame[["x", "z"]])
    model = NewtonClassifier(features="linear", random_state=0).fit(data)
    model.save(tmp_path / "m")
    frame.drop(columns="y").to_csv(tmp_path / "new.csv", index=False)
    blocks = [
        np.asarray(block.features)
        for block in files_for(load_model(tmp_path / "m").model_, [tmp_path / "new.csv"])
    ]
    np.testing.assert_array_equal(np.concatenate(blocks), rows_of(data.train))
    assert model.predict(frame.drop(columns="y")).tolist() == model.predict(data.train[:]).tolist()


def weighted(tmp_path, frame, name, **options):
    frame.to_csv(tmp_path / f"{name}.csv", index=False)
    given = {"target": "y", "categorical": {"c": "target"}, "scale": "none", **options}
    return shard(tmp_path / f"{name}.csv", tmp_path / f"{name}.zarr", **given)


def test_a_weight_is_that_many_rows_in_target_means(tmp_path):
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {"c": random.choice(list("abc"), 90), "x": np.arange(90.0), "w": np.arange(90) % 3 + 1}
    )
    frame["y"] = (random.random(90) < np.array([0.2, 0.5, 0.8])[frame["c"].map(ord) - 97]).astype(int)
    repeated = frame.loc[np.repeat(frame.index, frame["w"])].drop(columns="w")
    ours, theirs = weighted(tmp_path, frame, "w", weight="w"), weighted(tmp_path, repeated, "r")
    means = [data.table.columns[0].means for data in (ours, theirs) if data.table is not None]
    np.testing.assert_allclose(*means, rtol=1e-12)
    assert not np.allclose(means[0], weighted(tmp_path, frame, "n", drop=["w"]).table.columns[0].means)
    model = NewtonClassifier(features="linear", random_state=0)
    many = pandas.concat([frame] * 20, ignore_index=True)
    many["c"] += (np.arange(len(many)) % 17).astype(str)
    by_weight = model.fit(many[["c", "x"]], many["y"], sample_weight=many["w"]).table_
    long = many.loc[np.repeat(many.index, many["w"])]
    by_rows = model.fit(long[["c", "x"]], long["y"]).table_
    np.testing.assert_allclose(by_weight.columns[0].means, by_rows.columns[0].means, rtol=1e-12)


def test_arrays_with_nan_are_refused_with_what_fills_them():
    X = np.array([[1.0, np.nan], [2.0, 3.0], [4.0, 1.0], [0.0, 2.0]])
    y = [0, 1, 0, 1]
    with pytest.raises(InputError, match=r"contains NaN.*pandas\.DataFrame\(X\).*impute='median'"):
        NewtonClassifier(features="linear").fit(X, y)
    model = NewtonClassifier(features="linear", random_state=0).fit(pandas.DataFrame(X), y)
    assert model.table_.columns[1].fill == 2


def test_times_of_arrow_and_durations(tmp_path):
    table = pa.table(
        {
            "t": pa.array([21_600, 64_800], pa.time32("s")),
            "d": pa.array([1500, 250], pa.duration("ms")),
            "y": [0, 1],
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    data = made(tmp_path, tmp_path / "a.parquet")
    np.testing.assert_allclose(feature(data, "t sin of day"), [1, -1], atol=1e-6)
    np.testing.assert_allclose(feature(data, "d"), [1.5, 0.25])


def test_words_that_stand_for_nothing_are_those_of_pandas_and_more():
    from pandas._libs.parsers import STR_NA_VALUES

    assert STR_NA_VALUES <= _reading.MISSING
    # a class may be + or -
    assert not {"-", "unknown"} & _reading.MISSING_LABELS


def test_targets_of_frames_are_read_as_those_of_arrays(tmp_path):
    frame = pandas.DataFrame({"c": list("abab")})
    labels = {
        "bytes": np.array([b"no", b"yes"] * 2),
        "column": pandas.DataFrame({"y": ["no", "yes"] * 2}),
        "objects": np.array(["no", "yes"] * 2, dtype=object),
    }
    for name, y in labels.items():
        data = write_dataset(frame, y, tmp_path / name)
        assert data.classes.tolist() == ["no", "yes"]
    with pytest.raises(InputError, match="targets must have shape"):
        write_dataset(frame, np.zeros((4, 2)), tmp_path / "d.zarr")


def test_an_infinity_may_stand_for_a_missing_value(tmp_path):
    source = written(tmp_path, "x,y\nInfinity,u\n2,v\n-inf,u\n4,v\n")
    with pytest.raises(
        InputError, match=r"row 1 .* the value is infinite.* give --na inf if it stands for a mis"
    ):
        made(tmp_path, source)
    parquet.write_table(
        pa.table({"x": [np.inf, 2.0, -np.inf, 4.0], "y": list("uvuv")}), tmp_path / "a.parquet"
    )
    for file in (source, tmp_path / "a.parquet"):
        with pytest.raises(InputError, match="give --na -inf if"):
            made(tmp_path, file, na=["inf"])
        assert feature(made(tmp_path, file, na=["inf", "-inf"]), "x").tolist() == [3, 2, 3, 4]


def test_numbers_with_an_unknown_unit_are_reported(tmp_path):
    words = (f"{at}.5 km,{at % 40} Ah,{at % 40}{'abc'[at % 3]},{at // 40 % 2}" for at in range(400))
    (tmp_path / "a.csv").write_text("\n".join(["way,charge,code,y", *words]) + "\n")
    notices = []
    shard(tmp_path / "a.csv", tmp_path / "d.zarr", notice=notices.append)
    what = "holds numbers with the unit {!r}, which are read as texts; write them without it"
    assert f"column 'way' is left out: it {what.format('km')}" in notices
    assert f"column 'charge' {what.format('Ah')}" in notices
    assert not any("'code'" in one for one in notices)


@pytest.mark.parametrize(
    ("usual", "others", "is_category"),
    [
        (range(20), [">20", "never"], True),
        # measured numbers, with a word for a missing value, and with codes among them
        (range(100, 180), ["n.d."], False),
        (range(100, 180), ["V10", "V11", "V12", "E950", "V70"], True),
    ],
)
def test_words_that_recur_among_numbers_are_categories(tmp_path, usual, others, is_category):
    values = [*(str(one) for one in np.resize(usual, 380)), *np.resize(others, 20)]
    lines = [f"{value},{place % 2}" for place, value in enumerate(values)]
    (tmp_path / "a.csv").write_text("\n".join(["years,y", *lines]) + "\n")
    notices = []
    if is_category:
        data = shard(tmp_path / "a.csv", tmp_path / "d.zarr", notice=notices.append)
        assert [column.kind for column in data.table.columns] == ["category"]
        assert any("'years' holds numbers and words" in line for line in notices)
        # a word that does not recur is a mistake as before
        values[-20:] = ["1"] * 19 + ["oops"]
    lines = [f"{value},{place % 2}" for place, value in enumerate(values)]
    (tmp_path / "a.csv").write_text("\n".join(["years,y", *lines]) + "\n")
    with pytest.raises(InputError, match="is not a number, as other values of the column are"):
        shard(tmp_path / "a.csv", tmp_path / "e.zarr")
