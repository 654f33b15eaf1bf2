"""`distkern predict M FILE...`: rows in the order of the file, columns by name, the model's scaling."""

import csv
import gzip
import json
import shutil
from itertools import pairwise

import numpy as np
import pandas
import pytest
import zarr
from sklearn.datasets import dump_svmlight_file

from distkern import CSVRGClassifier, NewtonClassifier
from distkern.cli.main import main
from distkern.data import file_rows
from distkern.data.ingest import shard, write_dataset
from distkern.data.scaling import Like
from distkern.runs.algorithms import load_model
from distkern.runs.scoring import files_for, predict_files_to

NAMES = ["age", "size", "price"]
HERE = ["--scheduler", "synchronous"]


def table(n_rows=300, seed=0):
    """Columns on scales of their own: unscaled or swapped ones would be predicted at chance."""
    random = np.random.default_rng(seed)
    X = random.random((n_rows, 3)) * [1, 10, 100]
    frame = pandas.DataFrame(X.round(6), columns=NAMES)
    frame["label"] = np.where(X[:, 0] > X[:, 1] / 10, "yes", "no")
    frame["name"] = [f"row {number}, {seed}" for number in range(n_rows)]
    return frame


def estimator():
    return CSVRGClassifier(n_landmarks=40, gamma=2.0, lam=64.0, stages=2, projection=True, random_state=0)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    table()[[*NAMES, "label"]].to_csv(folder / "train.csv", index=False)
    data = shard(folder / "train.csv", folder / "d.zarr", rows_per_shard=128)
    estimator().fit(data.train).save(folder / "m")
    return folder / "m"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks of each file."""
    monkeypatch.setattr(file_rows, "_MOST_ROWS", 37)


def read(path):
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_columns_by_name_in_the_order_of_the_file(model, tmp_path, kind):
    new = table(seed=1)
    # other order, the target among the features, an id
    shuffled = new[["name", "price", "label", "age", "size"]]
    file = tmp_path / f"new.{kind}"
    shuffled.to_parquet(file) if kind == "parquet" else shuffled.to_csv(file, index=False)
    out = tmp_path / "p.csv"
    assert main(["predict", str(model), str(file), "--id", "name", "--out", str(out), *HERE]) == 0
    header, rows = read(out)
    assert header == ["name", "prediction"]
    assert [row[0] for row in rows] == new["name"].tolist()
    assert np.mean([row[1] for row in rows] == new["label"]) > 0.9
    expected = load_model(model).predict(new[NAMES].astype(np.float32))
    assert [row[1] for row in rows] == expected.tolist()


def test_they_are_those_of_a_data_set_of_the_file(model, tmp_path):
    new = table(seed=2)
    new[[*NAMES, "label"]].to_csv(tmp_path / "new.csv", index=False)
    data = shard(tmp_path / "new.csv", tmp_path / "d.zarr", scale="none", seed=3, rows_per_shard=64)
    fitted = load_model(model)
    decided = np.asarray(fitted.decision_function(data.train))
    source = np.concatenate([data.train.reader(block).source_rows() for block in range(data.train.n_blocks)])
    arguments = ["predict", str(model), str(tmp_path / "new.csv"), "--decision", *HERE]
    assert main([*arguments, "--out", str(tmp_path / "p.npy")]) == 0
    assert not np.array_equal(source, np.arange(300))
    np.testing.assert_allclose(np.load(tmp_path / "p.npy")[source], decided, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scheduler", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_the_same_bits_on_every_scheduler(model, tmp_path, scheduler):
    table()[NAMES].to_csv(tmp_path / "new.csv", index=False)
    written = []
    for name in ("synchronous", scheduler):
        out = tmp_path / f"{name}.npy"
        arguments = ["predict", str(model), str(tmp_path / "new.csv"), "--decision"]
        workers = [] if name == "synchronous" else ["--workers", "2"]
        assert main([*arguments, "--scheduler", name, *workers, "--out", str(out)]) == 0
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_several_files_in_zarr(model, tmp_path, capsys):
    folder = tmp_path / "files"
    folder.mkdir()
    parts = [table(100, seed) for seed in (4, 5)]
    parts[0].to_csv(folder / "a.csv", index=False)
    parts[1][parts[1].columns[::-1]].to_parquet(folder / "b.parquet")
    for name, sources in (
        ("folder", [folder]),
        ("glob", [folder / "*.csv", folder / "b.*"]),
        ("url", [f"file://{folder}/a.csv", f"file://{folder}/b.parquet"]),
    ):
        out = tmp_path / f"{name}.zarr"
        arguments = ["predict", str(model), *map(str, sources), "--id", "name", "--out", str(out), "--json"]
        assert main([*arguments, *HERE]) == 0
        assert json.loads(capsys.readouterr().out)["n"] == 200
        group = zarr.open_group(out, mode="r")
        labels = np.array(group.attrs["classes"])[group["predictions"][...]]
        both = pandas.concat(parts)
        assert np.mean(labels == both["label"]) > 0.9
        text, ends = group["id_bytes"][...].tobytes(), group["id_ends"][...].tolist()
        assert [text[low:high].decode() for low, high in pairwise([0, *ends])] == both["name"].tolist()


def test_another_target_is_left_out(model, tmp_path, capsys):
    new = table().rename(columns={"label": "bought"})
    new[["bought", *NAMES]].to_csv(tmp_path / "new.csv", index=False)
    arguments = ["predict", str(model), str(tmp_path / "new.csv"), "--out", str(tmp_path / "p.csv"), *HERE]
    assert main(arguments) == 0
    assert "note: column unknown to the model, ignored: 'bought'" in capsys.readouterr().err
    (tmp_path / "p.csv").unlink()
    assert main([*arguments, "--target", "bought"]) == 0
    assert "note" not in capsys.readouterr().err
    assert np.mean([row[0] for row in read(tmp_path / "p.csv")[1]] == new["bought"]) > 0.9


def test_files_without_names_are_taken_in_the_order_of_training(model, tmp_path, capsys):
    new = table()
    np.save(tmp_path / "new.npy", new[NAMES].to_numpy())
    np.savez(tmp_path / "new.npz", X=new[NAMES].to_numpy(), y=np.zeros(300))
    new[NAMES].to_csv(tmp_path / "bare.csv", index=False, header=False)
    dump_svmlight_file(new[NAMES].to_numpy(), np.zeros(300), str(tmp_path / "new.svm"), zero_based=False)
    with (tmp_path / "new.svm").open("rb") as plain, gzip.open(tmp_path / "zipped.svm.gz", "wb") as zipped:
        shutil.copyfileobj(plain, zipped)
    expected = load_model(model).predict(new[NAMES].astype(np.float32)).tolist()
    for name in ("new.npy", "new.npz", "bare.csv", "new.svm", "zipped.svm.gz"):
        out = tmp_path / f"{name}.p.csv"
        header = ["--no-header"] if name == "bare.csv" else []
        assert main(["predict", str(model), str(tmp_path / name), *header, "--out", str(out), *HERE]) == 0
        assert [row[0] for row in read(out)[1]] == expected
        assert f"note: {tmp_path / name} has no column names" in capsys.readouterr().err
    wide = table()
    wide["more"] = 0.0
    np.save(tmp_path / "wide.npy", wide[[*NAMES, "more"]].to_numpy())
    arguments = ["predict", str(model), str(tmp_path / "wide.npy"), "--out", str(tmp_path / "w.csv"), *HERE]
    assert main(arguments) == 2
    assert "4 features, but the model has 3" in capsys.readouterr().err
    assert main([*arguments[:2], str(tmp_path / "new.svm"), "--id", "name", *arguments[3:]]) == 2
    assert "new.svm, --id does not apply to svmlight files" in capsys.readouterr().err


def test_sparse_rows_stay_sparse(tmp_path):
    random = np.random.default_rng(0)
    X = np.where(random.random((200, 300)) < 0.03, random.random((200, 300)), 0)
    y = (X[:, :150].sum(axis=1) > X[:, 150:].sum(axis=1)).astype(int)
    # the widest column is one that the file to predict does not reach
    dump_svmlight_file(X, y, str(tmp_path / "train.svm"), zero_based=False)
    dump_svmlight_file(X[:100, :290], y[:100], str(tmp_path / "new.svm"), zero_based=False)
    data = shard(tmp_path / "train.svm", tmp_path / "d.zarr", shuffle=False)
    assert data.is_sparse
    model = estimator().fit(data.train)
    model.save(tmp_path / "m")
    X[:100, 290:] = 0
    rows = file_rows.FileRows([tmp_path / "new.svm"], Like(300, None, None, model.scaling_, None))
    assert {type(block.features).__name__ for block in rows} == {"SparseRows"}
    arguments = ["predict", str(tmp_path / "m"), str(tmp_path / "new.svm"), "--decision", *HERE]
    assert main([*arguments, "--out", str(tmp_path / "p.npy")]) == 0
    expected = model.decision_function(X[:100].astype(np.float32))
    np.testing.assert_allclose(np.load(tmp_path / "p.npy"), expected, rtol=1e-4, atol=1e-5)


def test_wrong_uses(model, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv(tmp_path / "new.csv", index=False)
    file, data = str(tmp_path / "new.csv"), str(model.parent / "d.zarr")
    for arguments, words in (
        ([file, "--id", "nam", "--out", "p.csv"], "no column 'nam' (--id); did you mean 'name'"),
        ([file, "--id", "name", "--out", str(tmp_path / "p.npy")], "no place for ids"),
        ([file, "--data", data, "--out", "p.csv"], "--data: files and a data set at once"),
        (["--out", "p.csv"], "--data: nothing to predict"),
        (["--data", file, "--out", "p.csv"], f"give it without --data: predict M {file}"),
        ([data, "--out", "p.csv"], f"give it as --data {data}"),
        ([file, "--split", "test", "--out", "p.csv"], "--split: files have no splits"),
        (["--data", data, "--id", "name", "--out", "p.csv"], "--id has no effect on a data set"),
        (
            [file, "--id", "name", "--out", str(tmp_path / "p.csv"), "--memory-limit", "40MiB"],
            "'predict' needs",
        ),
    ):
        assert main(["predict", str(model), *arguments, *HERE]) == 2
        errors = capsys.readouterr().err
        assert words in errors
        assert errors.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_a_damaged_row_late_in_the_file_leaves_nothing(model, tmp_path, capsys):
    text = table()[NAMES].to_csv(index=False).splitlines()
    text[250] = "0.1,much,3"
    (tmp_path / "new.csv").write_text("\n".join(text))
    for scheduler in ("synchronous", "threads"):
        arguments = ["--out", str(tmp_path / "p.csv"), "--scheduler", scheduler]
        assert main(["predict", str(model), str(tmp_path / "new.csv"), *arguments]) == 2
        assert "new.csv, row 250 (line 251), column 'size'" in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_rows_of_a_data_set_carry_their_number_in_the_source(model, tmp_path):
    new = table(seed=6)
    files = [tmp_path / name for name in ("a.csv", "b.csv")]
    for file, part in zip(files, (new[:120], new[120:]), strict=True):
        part[[*NAMES, "label"]].to_csv(file, index=False)
    data = shard(files, tmp_path / "d.zarr", scale="none", test_fraction=0.3, rows_per_shard=50, seed=1)
    seen = []
    for split in ("train", "test"):
        out = tmp_path / f"{split}.csv"
        arguments = ["predict", str(model), "--data", str(data.path), "--split", split, *HERE]
        assert main([*arguments, "--out", str(out)]) == 0
        header, rows = read(out)
        assert header == ["row", "prediction"]
        numbers = [int(row[0]) for row in rows]
        expected = load_model(model).predict(new.loc[numbers, NAMES].astype(np.float32))
        assert [row[1] for row in rows] == expected.tolist()
        seen += numbers
        assert main([*arguments, "--out", str(tmp_path / f"{split}.zarr")]) == 0
        group = zarr.open_group(tmp_path / f"{split}.zarr", mode="r")
        assert group["row"][...].tolist() == numbers
    assert sorted(seen) == list(range(300))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_stored_row_numbers(tmp_path, sparse, shuffle):
    X = np.arange(1000, dtype=np.float32)[:, None] + 1
    data = write_dataset(
        [(X[:400], None), (X[400:], None)],
        tmp_path / "d.zarr",
        test_chunks=[(X[::-1][:50], None)],
        task="none",
        scale="none",
        sparse=sparse,
        shuffle=shuffle,
        rows_per_shard=300,
    )
    for block in range(data.train.n_blocks):
        reader = data.train.reader(block)
        features = reader().features
        values = features.toarray() if sparse else features
        assert values[:, 0].tolist() == (np.asarray(reader.source_rows()) + 1).tolist()
    assert data.test.reader(0).source_rows().tolist() == list(range(50))


def test_how_far_the_files_are_is_told(model, tmp_path):
    for name, n_rows in (("a", 200), ("b", 100)):
        table(n_rows)[NAMES].to_csv(tmp_path / f"{name}.csv", index=False)
    fitted, told = load_model(model), []
    rows = files_for(fitted.model_, [tmp_path / "a.csv", tmp_path / "b.csv"])
    done = predict_files_to(
        fitted.model_, rows, tmp_path / "p.npy", scheduler="synchronous", listeners=[told.append]
    )
    assert [told[0].kind, told[-1].kind] == ["pass_started", "pass_finished"]
    assert told[-1]["rows"] == done == 300
    steps = [(event["tasks_done"], event["rows_done"]) for event in told[1:-1]]
    assert steps == sorted(steps)
    assert steps[-1] == (1000, 300)
    assert 600 < next(share for share, rows in steps if rows == 200) < 700


def test_it_is_said_when_one_class_takes_every_row(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = table()
    noise = np.where(np.arange(len(rows)) % 2, "no", "yes")
    model = NewtonClassifier(features="linear", loss="logistic", random_state=0)
    model.fit(rows[NAMES], noise).save("m")
    rows[NAMES].to_csv("new.csv", index=False)
    said = (
        "every row is predicted 'no'; the probabilities may still be good: choose a threshold, for instance"
    )
    for threshold, told in (("0.999999", True), ("0.5", False)):
        given = ["--out", f"p{threshold}.csv", "--threshold", threshold, *HERE]
        assert main(["predict", "m", "new.csv", *given]) == 0
        assert (said in capsys.readouterr().err) == told


def files_of(place):
    return [file for file in sorted([place, *place.rglob("*")]) if file.is_file()]


@pytest.mark.parametrize("ending", [".csv", ".npy", ".zarr"])
def test_predictions_are_overwritten_on_request_and_nothing_else_is(model, tmp_path, capsys, ending):
    table(50, seed=1).to_csv(tmp_path / "new.csv", index=False)
    out, file = tmp_path / f"p{ending}", str(tmp_path / "new.csv")
    predict = ["predict", str(model), file, "--out", str(out), *HERE]
    assert main([*predict, "--decision"]) == 0
    assert main(predict) == 2
    assert "already exists; give --overwrite" in capsys.readouterr().err
    assert main([*predict, "--overwrite"]) == 0
    again = tmp_path / f"again{ending}"
    assert main([*predict[:-3], str(again), *HERE]) == 0
    old, new = ([file.read_bytes() for file in files_of(one)] for one in (out, again))
    assert old == new
    theirs = tmp_path / f"theirs{ending}"
    theirs.mkdir()
    (theirs / "zarr.json").write_text("{}")
    assert main([*predict[:-3], str(theirs), *HERE, "--overwrite"]) == 2
    assert "holds other things than predictions" in capsys.readouterr().err
    assert (theirs / "zarr.json").read_text() == "{}"
