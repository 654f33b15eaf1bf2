"""Files that come after those that a model was trained on, as people have them."""

import re

import numpy as np
import pandas
import pytest

from distkern.core.errors import InputError
from distkern.data.dataset import open_dataset
from distkern.data.ingest import check, shard
from distkern.data.scaling import Like
from distkern.estimators.newton import NewtonClassifier, NewtonRegressor
from distkern.runs.scoring import files_for
from distkern.runs.writing import write_dataset
from file_rows import feature, made, rows_of, small_blocks, written


def like_of(data):
    """What rows of a data set are prepared as."""
    names = data.table.names if data.table.is_named else None
    return Like(data.n_features, names, data.target_name, data.scaling, data.table, tuple(data.classes or ()))


def model_of(data):
    return NewtonRegressor(n_landmarks=8, gamma=1.0, scale="none", random_state=0).fit(data.train)


def found(model, tmp_path, text, **how):
    """Features and ids of a later file."""
    blocks = [*files_for(model.model_, [written(tmp_path, text, "later.csv")], **how)]
    return np.concatenate([block.features for block in blocks]), blocks[0].ids


def test_later_rows_weigh_as_those_before(tmp_path):
    lines = [f"{at % 7},{1 + 9 * (at % 3)},{at // 4},{at}" for at in range(80)]
    text = "x,w,g,y\n" + "\n".join(lines)
    first = made(tmp_path, written(tmp_path, text), weight="w", group="g", task="regression")
    notices = []
    options = {"like": like_of(first), "scale": None, "task": "regression", "notice": notices.append}
    later = made(tmp_path, written(tmp_path, text, "b.csv"), **options)
    assert later.group_name == "g"
    np.testing.assert_array_equal(later.train.weight_totals, first.train.weight_totals)
    assert notices == []
    # a test split that is drawn keeps groups together
    parts = made(tmp_path, written(tmp_path, text, "b.csv"), **options, test_fraction=0.3)
    assert parts.test.n_rows % 4 == 0
    plain = "x,y\n" + "\n".join(f"{at % 7},{at}" for at in range(80))
    without = made(tmp_path, written(tmp_path, plain, "c.csv"), **options)
    assert without.train.weight_totals is None
    assert "there is no column 'w' of weights, unlike in earlier rows: each row counts as one" in notices
    with pytest.raises(InputError, match="--weight: there is no column 'often'"):
        made(tmp_path, written(tmp_path, plain, "c.csv"), **options, weight="often")


def test_the_first_row_of_a_file_without_a_header_is_a_row(tmp_path):
    text = "".join(f"{'uv'[at % 2]},{'pqr'[at % 3]},{at}\n" for at in range(60))
    model = model_of(made(tmp_path, written(tmp_path, text), header=False, task="regression"))
    assert len(found(model, tmp_path, "u,r\nv,p\nv,q\n")[0]) == 3
    numbers = "".join(f"{at},{at % 5},{at}\n" for at in range(60))
    model = model_of(made(tmp_path, written(tmp_path, numbers), header=False, task="regression"))
    assert found(model, tmp_path, "3,1\n4,2\n")[0].tolist() == [[3, 1], [4, 2]]
    # names of columns are no row of numbers
    assert found(model, tmp_path, "a,b\n4,2\n")[0].tolist() == [[4, 2]]


@pytest.mark.parametrize("options", [{"id": "0"}, {"drop": ["0"]}])
def test_positions_that_are_left_out(tmp_path, options):
    named = "name,a,y\n" + "".join(f"n{at},{at},{at}\n" for at in range(40))
    model = model_of(made(tmp_path, written(tmp_path, named), task="regression", **options))
    rows, ids = found(model, tmp_path, "a,name\n7,n7\n")
    assert rows.tolist() == [[7]]
    assert ids is None if "drop" in options else ids.tolist() == ["n7"]
    bare = "".join(f"n{at},{at},{at}\n" for at in range(40))
    data = made(tmp_path, written(tmp_path, bare), header=False, task="regression", **options)
    again = made(tmp_path, written(tmp_path, bare), task="regression", scale=None, like=like_of(data))
    np.testing.assert_array_equal(rows_of(again.train), rows_of(data.train))


def test_decimals_are_those_of_the_training_files(tmp_path):
    train = "x;c;y\n" + "".join(f"{at},5;{'uv'[at % 2]};{at}\n" for at in range(40))
    (tmp_path / "t.csv").write_text("x;c;y\n3;u;1\n")
    data = made(tmp_path, written(tmp_path, train), task="regression", test=tmp_path / "t.csv")
    assert data.table.decimal == ","
    assert found(model_of(data), tmp_path, "x;c\n1,250;u\n")[0][0, 0] == 1.25
    # what stands before thousands begins with no 0
    frame = pandas.DataFrame({"x": ["0,132", "0,512"] * 20, "c": ["u", "v"] * 20})
    with pytest.warns(UserWarning, match="are read with decimal commas"):
        fitted = NewtonClassifier(n_landmarks=8, random_state=0).fit(frame, [0, 1] * 20)
    assert fitted.table_.columns[0].span == (0.132, 0.512)


def test_a_comma_that_comes_late(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 100)
    whole = "x;y\n" + "".join(f"{at};{at}\n" for at in range(40))
    data = made(tmp_path, written(tmp_path, whole + "1,5;3\n"), task="regression")
    assert feature(data, "x")[-1] == 1.5
    with pytest.raises(InputError, match="give --decimal"):
        made(tmp_path, written(tmp_path, whole + "1,500;3\n"), task="regression")
    points = made(tmp_path, written(tmp_path, "x;y\n0.5;1\n" + whole[4:] + "1,500;3\n"), task="regression")
    assert feature(points, "x")[-1] == 1500


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_numbers_that_stand_for_a_missing_value(tmp_path, kind):
    frame = pandas.DataFrame({"x": [1.0, -999.0] * 20, "k": [-999.0, 2.0] * 20, "y": range(40)})
    path = tmp_path / f"a.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    data = made(tmp_path, path, na=["-999"], keep_na=["k"], task="regression")
    assert feature(data, "x").tolist() == [1] * 40
    assert set(feature(data, "k")) == {-999, 2}
    with pytest.raises(InputError, match=r"no column '1' \(--keep-na\)"):
        made(tmp_path, path, keep_na=["1"], task="regression")


def test_mere_numbers_may_be_missing_later(tmp_path):
    train = "x,z,y\n" + "".join(f'"{at},000",{at},{at}\n' for at in range(1, 41))
    data = made(tmp_path, written(tmp_path, train), task="regression")
    model = model_of(data)
    rows_of, _ = found(model, tmp_path, 'x,z\n"3,000",\n,7\n')
    np.testing.assert_allclose(rows_of, [[3000, 20.5], [20500, 7]])
    frame = pandas.DataFrame({"x": [3000.0, np.nan], "z": [np.nan, 7.0]})
    filled = pandas.DataFrame(rows_of.astype(np.float64), columns=["x", "z"])
    with pytest.warns(UserWarning, match=r"x \(1, filled with 20500\), z \(1, filled with 20.5\)"):
        np.testing.assert_array_equal(model.predict(frame), model.predict(filled))
    # rows of another data set of such numbers, whose mean is another
    other = written(tmp_path, "x,z,y\n1,2,3\n4,5,6\n", "b.csv")
    later = shard(other, tmp_path / "e.zarr", task="regression", scale="none")
    assert np.isfinite(np.asarray(model.predict(later.train))).all()


def test_the_unit_of_a_target_is_reported_and_known_later(tmp_path):
    notices = []
    percent = "x,y\n" + "".join(f"{at},{at}%\n" for at in range(40))
    data = made(tmp_path, written(tmp_path, percent), task="regression", notice=notices.append)
    assert "the target 'y' is in percent, converted to shares: 5% becomes 0.05" in notices
    money = "x,y\n" + "".join(f'{at},"$1,{at:03}"\n' for at in range(40))
    data = made(tmp_path, written(tmp_path, money), task="regression")
    (tmp_path / "b.csv").write_text(money)
    again = shard(tmp_path / "b.csv", tmp_path / "e.zarr", task="regression", like=like_of(data))
    assert again.train.reader(0)().targets.max() == 1039


def test_yes_and_no_as_a_frame_has_them(tmp_path):
    frame = pandas.DataFrame({"flag": [True, False] * 20, "x": np.arange(40.0), "y": np.arange(40.0)})
    frame.to_parquet(tmp_path / "a.parquet")
    model = model_of(made(tmp_path, tmp_path / "a.parquet", task="regression"))
    assert found(model, tmp_path, "flag,x\nTrue,3\nno,4\n")[0].tolist() == [[1, 3], [0, 4]]
    named = frame.set_index(pandas.Index(range(40), name="number"))
    named.to_parquet(tmp_path / "b.parquet")
    assert made(tmp_path, tmp_path / "b.parquet", task="regression").feature_names == ("flag", "x")


def test_columns_that_are_filled_late(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 200)
    lines = [f"{at},{'' if at < 100 else 'uv'[at % 2]},{at}" for at in range(200)]
    data = made(tmp_path, written(tmp_path, "x,c,y\n" + "\n".join(lines)), task="regression")
    assert data.feature_names == ("x", "c=u", "c=v", "c is missing")
    assert feature(data, "c=v").sum() == 50
    with monkeypatch.context() as patched:
        patched.setattr("distkern.runs.writing._MOST_ROWS", 50)
        frame = pandas.DataFrame({"x": np.arange(200.0), "c": [None] * 100 + ["u", "v"] * 50})
        of_frame = write_dataset(frame, np.arange(200.0), tmp_path / "f.zarr", task="regression")
    assert of_frame.feature_names == data.feature_names


def test_what_looks_like_a_date_is_none(tmp_path):
    words = ["42-ABC-61", "13-XYZ-70", "77-QRS-12"]
    lines = [f"{words[at % 3]},{at}" for at in range(60)]
    data = made(tmp_path, written(tmp_path, "part,y\n" + "\n".join(lines)), task="regression")
    assert data.feature_names == tuple(f"part={word}" for word in sorted(words))
    lines = [f"{['25/12/2023', '12/25/2023'][at % 2]},{at}" for at in range(60)]
    with pytest.raises(InputError, match=r"in some the month .*; give --categorical day="):
        made(tmp_path, written(tmp_path, "day,y\n" + "\n".join(lines)), task="regression")
    lines = [f"2024-01-{at % 28 + 1:02} 10:00:00{['+00', ' UTC', '+02'][at % 3]},{at}" for at in range(60)]
    zoned = made(tmp_path, written(tmp_path, "t,y\n" + "\n".join(lines)), task="regression")
    assert zoned.table.columns[0].kind == "date"
    days = feature(zoned, "t days", zoned.train)
    np.testing.assert_allclose(days[1:3] - days[:1], [1, 2 - 2 / 24], atol=2e-3)


def test_objects_of_frames():
    y = [0, 1] * 20
    for values in ([1, "a", pandas.NA, "b"] * 10, [2**70, 1, 3, 4] * 10):
        frame = pandas.DataFrame({"x": np.arange(40.0), "c": pandas.Series(values, dtype=object)})
        model = NewtonClassifier(n_landmarks=8, random_state=0).fit(frame, y)
        assert len(model.predict(frame)) == 40


def test_later_files_are_checked(tmp_path):
    text = "x,c,y\n" + "".join(f"{at},{'uv'[at % 2]},{at}\n" for at in range(40))
    data = made(tmp_path, written(tmp_path, text), task="regression")
    notices = []
    later = written(tmp_path, "x,c,new,y\n1,w,2,3\n2,u,2,4\n", "b.csv")
    how = {"like": like_of(data), "task": "regression", "notice": notices.append}
    check(later, report=lambda columns: None, **how)
    assert "rows with a category not in the training rows, treated as unknown: c (1)" in notices
    assert "column unknown to the model, ignored: 'new'" in notices
    assert open_dataset(tmp_path / "d.zarr").fingerprint == data.fingerprint
    with pytest.raises(InputError, match="--like determines the preparation of rows"):
        check(later, report=lambda columns: None, **how, impute="flag")


@pytest.mark.parametrize("width", [2, 4])
def test_matrices_with_fewer_or_more_columns_are_refused(tmp_path, width):
    """Their columns have no names: which one is missing is unknown, and zeros would replace it."""
    first = write_dataset(np.ones((9, 3)), np.arange(9) % 2, tmp_path / "d.zarr")
    like = Like(3, None, None, first.scaling, None, first.classes)
    np.savez(tmp_path / "later.npz", X=np.ones((9, width)), y=np.arange(9) % 2)
    with pytest.raises(InputError, match=rf"later\.npz: {width} features, but the data set .* has 3"):
        shard(tmp_path / "later.npz", tmp_path / "e.zarr", like=like, scale=None)
    # svmlight leaves out what is 0
    (tmp_path / "later.svm").write_text("0 1:1\n1 2:1\n")
    assert shard(tmp_path / "later.svm", tmp_path / "e.zarr", like=like, scale=None).n_features == 3


@pytest.mark.parametrize(
    ("trained", "later", "hint"),
    [
        (["5%", "18%"], "0.18", "write 18% for a share, 0.18% for a percentage"),
        (["5", "18"], "18%", "write it without %, in the unit of the other values (0.18 or 18)"),
    ],
)
def test_a_column_in_percent_or_not_is_so_later(tmp_path, trained, later, hint):
    text = "rate,c,y\n" + "".join(f"{trained[at % 2]},{'uv'[at % 2]},{at}\n" for at in range(40))
    model = model_of(made(tmp_path, written(tmp_path, text), task="regression"))
    said = f"row 1 .*column 'rate': '{later}' is not in .*; {re.escape(hint)}"
    with pytest.raises(InputError, match=f"later.csv, {said}$"):
        found(model, tmp_path, f"rate,c\n{later},u\n{later},v\n")
    new = pandas.DataFrame({"rate": [later] * 2, "c": ["u", "v"]})
    frames = r", or give shares as numbers: X\['rate'\] = X\['rate'\].astype\(float\)" * (later == "0.18")
    with pytest.raises(InputError, match=f"X, {said}{frames}$"):
        model.predict(new)
    if frames:
        new["rate"] = new["rate"].astype(float)
        np.testing.assert_array_equal(model.predict(new), model.predict(new.assign(rate="18%")))
