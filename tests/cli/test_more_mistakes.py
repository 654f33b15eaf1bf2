"""Mistakes on the command line whose message once named something else than the remedy."""

import pandas
import pytest

from distkern import NewtonClassifier
from distkern.cli.main import main

#: command, and parts of its message
MISTAKES = [
    ("shard rows.csv --target y --out d.zarr --sep ;", "--sep: no such option; write --delimiter"),
    (
        "shard rows.csv --target y --out d.zarr --dropna",
        "--dropna: no such option; write --drop-missing-target",
    ),
    ("shard rows.csv --target y --out d.zarr --regression", "write --task regression"),
    ("shard rows.csv --target y --out d.zarr --drop age,town", "repeat the option for each"),
    ("shard rows.csv --target y --out d.zarr --id customer", "the columns are 'age', 'town', 'outcome', 'y'"),
    ("shard rows.csv --target Y --out d.zarr", "did you mean 'y'?"),
    (
        "shard rows.csv --target y --na --drop-missing-target --out d.zarr",
        "--na needs a value; --drop-missing",
    ),
    ("train --data d.zarr --model newton --out m", "--model: no such option; write --algorithm"),
    ("train --data d.zarr --params nu=1 --out m", "--params: no such option; write --set NAME=VALUE"),
    (
        "train --data d.zarr --threshold 0.3 --out m",
        "it is an option of `distkern evaluate`, `distkern predict`",
    ),
    ("train --data d.zarr --sep ; --out m", "distkern shard FILE --delimiter ... --out D.zarr"),
    ("train --data d.zarr --algorithm svm --out m", "did you mean 'cells'?"),
    ("train --data d.zarr --algorithm newton --set n_estimators=9 --out m", "it belongs to trees"),
    (
        "train --data d.zarr --set learning_rate=0.1 --out m",
        "step sizes are found by themselves; leave it out",
    ),
    ("train --data d.zarr --algorithm dsg --set learning_rate=0.1 --out m", "did you mean 'step_size'?"),
    ("train --data d.zarr --num-leaves 31 --out m", "no such option; it belongs to trees; leave it out"),
    ("train job.toml --out m", "job.toml: unknown key 'n_jobs'; did you mean 'workers'?"),
    ("shard rows.csv --random-state 1 --out d.zarr", "--random-state: no such option; write --seed N"),
    ("shard rows.csv --time-column t --out d.zarr", "--test LATER.csv"),
    (
        "train --data d.zarr --algorithm newton --set n_landmarks=64,nu=1 --out m",
        "has several values; write --set",
    ),
    ("tune --data d.zarr --algorithm newton --set nu=1e-9,1e-3 --out m", "of a job file for `distkern tune`"),
    ("predict m rows.csv --out p.csv --probabilities", "no such option; write --proba"),
    ("train --data d.zarr --metric auc --out m", "`distkern tune` reads metric, method"),
    ("predict m rows.csv", "Missing option '--out'; write --out P"),
    ("evaluate m", "Missing option '--data'; write --data"),
    ("status ./m", "'./m' is a path, and a job has an id"),
    ("evaluate m --data d.zarr --out page.html", "write --html FILE for a page"),
    ("train --data d.zarr --dry-run --out m", "`distkern plan` shows what a run would do"),
    ("shard rows.csv --target", "--target needs a value; write --target COLUMN"),
    ("runs", "Missing argument 'FOLDER'; write `distkern runs FOLDER`"),
    ("predict m/model.json rows.csv --out p.csv", "is a file of a model, not its folder; give /"),
    ("update m --data d.zarr --out ./m", "--out is the model itself; leave it out to replace the model"),
    (
        "train --data d.zarr --algorithm newton --set fit_intercept=true --out m",
        "it belongs to pegasos, simba: leave it out, or use one of them",
    ),
    (
        "predict rows.csv m --out p.csv",
        "rows.csv is a file, not a model; give the folder that `distkern train`",
    ),
    ("predict m other.csv --out p.csv", "this is another table: give one with those columns"),
    ("version", "write `distkern --version`"),
    ("help train", "`distkern COMMAND --help`"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pandas.DataFrame({"age": range(40), "town": ["a", "b"] * 20, "outcome": 1.5})
    frame.assign(y=["yes", "no"] * 20).to_csv("rows.csv", index=False)
    (tmp_path / "other.csv").write_text("height,width\n1,2\n")
    (tmp_path / "job.toml").write_text('data = "d.zarr"\nn_jobs = 2\n')
    NewtonClassifier(n_landmarks=4, random_state=0).fit(frame[["age"]], ["u", "v"] * 20).save("m")


@pytest.mark.parametrize(("command", "message"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_is_answered_by_its_remedy(folder, capsys, command, message):
    assert main(command.split()) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "note"),
    [
        ([f"${1000 + 7 * i:,}" for i in range(60)], "60 different amounts, which are treated as classes"),
        ([f"A-{i}" for i in range(60)], "60 classes for 60 training rows, as ids or texts have"),
        ([f"class {i % 40}" for i in range(240)], None),
    ],
)
def test_a_target_that_is_no_label_is_noted(tmp_path, monkeypatch, capsys, column, note):
    monkeypatch.chdir(tmp_path)
    pandas.DataFrame({"x": range(len(column)), "y": column}).to_csv("rows.csv", index=False)
    assert main(["shard", "rows.csv", "--out", "d.zarr"]) == 0
    told = capsys.readouterr().out
    assert note in told if note else "classes for" not in told and "treated as classes" not in told
