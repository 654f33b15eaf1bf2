"""Typical mistakes, at the command line and in Python: one line that names what, where and what to do."""

import shlex
from functools import partial
from pathlib import Path

import dask.array
import numpy as np
import pandas
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import distkern
from distkern import (
    KernelClassifier,
    NewtonClassifier,
    NewtonRegressor,
    RandomFeatures,
    load_model,
    tune,
    write_dataset,
)
from distkern.cli.facts import figure_rows
from distkern.cli.main import main
from distkern.core.errors import InputError, nearest
from distkern.engine.dask import handshake
from distkern.runs.evaluation import Evaluation

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.arange(60) % 2
MASKED = np.ma.masked_array(X, mask=np.arange(120).reshape(60, 2) == 5)
FRAME = pandas.DataFrame({"age": X[:, 0].round(2), "state": np.array(list("abc"))[np.arange(60) % 3]})
NUMBERS = pandas.DataFrame(X, columns=["a", "b"])
DATES = NUMBERS.assign(t=pandas.date_range("2024-01-01", periods=60, freq="7h"))
ZONED = DATES["t"].dt.tz_localize("Asia/Tokyo")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    table = FRAME.assign(income=Y)
    table.to_csv(folder / "good.csv", index=False)
    table.to_csv(folder / "tabs.csv", index=False, sep="\t")
    table.drop(columns="age").to_csv(folder / "lacks.csv", index=False)
    table.assign(age="old").to_csv(folder / "words.csv", index=False)
    table[["income"]].assign(age="", income=Y).to_csv(folder / "empty.csv", index=False)
    FRAME.to_csv(folder / "new.csv", index=False)
    table.head(1).to_csv(folder / "row.csv", index=False)
    (folder / "latin.csv").write_bytes("ä,y\n1,0\n2,1\n".encode("latin1"))
    (folder / "book.xlsx").write_bytes(b"PK")
    (folder / "range.toml").write_text('data = "d.zarr"\nalgorithm = "newton"\n[params]\nnu = -1\n')
    (folder / "sizes.csv").write_text("height,width\n1,2\n")
    (folder / "jobs.toml").write_text('data = "d.zarr"\nout = "new"\nn_jobs = 2\n')
    (folder / "quote.toml").write_text('data = "d.zarr\n')
    (folder / "typo.toml").write_text('data = "d.zarr"\nout = "new"\n[params]\nnlandmarks = 5\n')
    here = ["--scheduler", "synchronous", "--algorithm", "newton", "--set", "features=linear"]
    table.assign(state="z").to_csv(folder / "other.csv", index=False)
    for name, data in (("good", "d"), ("other", "o")):
        assert main(["shard", str(folder / f"{name}.csv"), "--out", str(folder / f"{data}.zarr")]) == 0
    train = ["train", "--data", str(folder / "d.zarr"), "--out", str(folder / "m"), *here]
    assert main([*train, "--set", "loss=squared_hinge"]) == 0
    NewtonRegressor(features="linear").fit(NUMBERS, X.sum(axis=1)).save(folder / "r")
    return folder


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("shard good.csv", ["--out is missing", "--out D.zarr"]),
        ("shard good.csv --traget income --out x.zarr", ["--traget", "--target"]),
        ("shard good.csv --target incme --out x.zarr", ["good.csv", "'incme'", "did you mean 'income'?"]),
        (
            "shard tabs.csv --delimiter , --target income --out x.zarr",
            ["separated by", "leave --delimiter out"],
        ),
        ("shard book.xlsx --out x.zarr", ["book.xlsx", "'.xlsx'", "save it as CSV or Parquet"]),
        ("shard latin.csv --out x.zarr", ["latin.csv, line 1", "save the file as UTF-8"]),
        ("shard row.csv --out x.zarr", ["row.csv, row 1", "same label (0)", "two or more classes"]),
        (
            "shard empty.csv --target income --out x.zarr",
            ["no features", "'age' is left out: it has no value"],
        ),
        ("shard good.csv --drop stat --out x.zarr", ["'stat'", "did you mean 'state'?"]),
        ("shard good.csv --categorical state=one-hot --out x.zarr", ["'one-hot'", "did you mean 'onehot'?"]),
        (
            "shard good.csv --test-fraction 20 --out x.zarr",
            ["--test-fraction must be a number in (0, 1), got 20"],
        ),
        ("shard good.csv --out d.zarr", ["d.zarr", "already exists", "--overwrite"]),
        ("trian --data d.zarr --out new", ["'trian'", "did you mean 'train'?"]),
        ("train --data good.csv --out new", ["`distkern shard good.csv --out good.zarr` (--target"]),
        ("train --data d.zar --out new", ["d.zar", "there is no data set", "`distkern shard`"]),
        ("train --data d.zarr", ["--out", "add --out M"]),
        ("train --data d.zarr --out new --n_jobs 2", ["--n_jobs", "--workers"]),
        ("train --data d.zarr --out new --workers 0", ["--workers must be an integer >= 1, got 0"]),
        ("train --data d.zarr --out new --scheduler synchronous --workers 2", ["--workers", "threads"]),
        ("predict m good.csv --out p.csv --scheduler tcp://h:1 --workers 2", ["--workers", "dask worker"]),
        ("train --data d.zarr --out new --memory-limit lots", ["'lots'", "512MiB"]),
        ("train --data d.zarr --out /proc/x", ["/proc/x cannot be written", "choose another place"]),
        ("train --data d.zarr --out new --set C=abc", ["'C' must be a number", "got 'abc'"]),
        ("train --data d.zarr --out new --set gamma", ["'gamma'", "name=value"]),
        ("jobs --runs nosuch", ["--runs", "nosuch", "no such folder"]),
        ("train --data d.zarr --out new --scheduler 127.0.0.1:8786", ["--scheduler", "tcp://HOST:PORT"]),
        (
            "train --data d.zarr --out new --memory-limit 2",
            ["--memory-limit must have a unit, got 2", "2MiB"],
        ),
        ("train --data d.zarr --out new --target income", ["distkern shard FILE --target ... --out D.zarr"]),
        ("tune --data d.zarr --out new --metric auc", ["--metric", "the table [search] of a job file"]),
        ("fit --data d.zarr --out new", ["'fit'", "did you mean 'train'?"]),
        ("learn_it", ["'learn_it'", "use one of shard, plan, train, tune"]),
        ("train --data d.zarr --out new --algorithm svrg --set loss=mse", ["did you mean 'least_squares'?"]),
        ("train --data d.zarr --out new --algorithm svrg --set loss=log", ["did you mean 'logistic'?"]),
        ("train --data d.zarr --out new --algorithm svrg --set n_landmarks=1e2", ["got 100.0; write 100"]),
        (
            "train --data d.zarr --out new --algorithm cells --set n_landmarks=9",
            ["belongs to avm, csvrg, newton"],
        ),
        ("train --data d.zarr --out new --algorithm newton --nu 1", ["--nu", "write --set nu=VALUE"]),
        ("train --data d.zarr --out new --epochs 5", ["--epochs", "write --set stages=VALUE"]),
        ("tune --data d.zarr --out m", ["m holds a finished model"]),
        ("shard good.csv --label income --out x.zarr", ["--label", "write --target COLUMN"]),
        ("shard good.csv --scale std --out x.zarr", ["--scale must be", "got 'std'; did you mean standard?"]),
        ("shard good.csv --categorical state:onehot --out x.zarr", ["'state:onehot'", "state=onehot"]),
        ("shard good.csv --weight state --out x.zarr", ["column 'state': 'a'", "give --weight a column"]),
        (
            "shard good.csv --delimiter ;; --out x.zarr",
            ["--delimiter must be one ASCII character", "got ';;'"],
        ),
        ("predict m d.zarr --out p.csv", ["d.zarr is a data set", "--data d.zarr"]),
        ("predict d.zarr new.csv --out p.csv", ["d.zarr is a data set, not a model"]),
        ("predict m new.csv --proba --decision --out p.csv", ["--proba cannot be combined with --decision"]),
        ("evaluate m --data d.zarr --metric auc", ["--metric", "`distkern evaluate` prints all metrics"]),
        ("evaluate m d.zarr", ["Missing option '--data'; write --data d.zarr"]),
        ("update m good.csv", ["`distkern shard good.csv --like m --out good.zarr`, and give that"]),
        ("shard good.csv --id age --id state --out x.zarr", ["--id: takes one column", "of 'age', 'state'"]),
        ("train --data d.zarr --out new --set gamma 2", ["'gamma' is not", "write --set gamma=VALUE"]),
        ("evaluate m", ["Missing option '--data'; write --data D.zarr"]),
        (
            "export x.onnx m",
            ["""`python -c 'import distkern as dk; dk.export(dk.load_model("m"), "x.onnx")'`"""],
        ),
        ("explain m --data d.zarr", ["no command 'explain'", "load_model(M).explain(X, y)"]),
        (
            "update r --data d.zarr",
            ["task 'classification', not regression; give a data set that `distkern shard FILE --like r --"],
        ),
        ("runs m", ["m is a model", "`distkern runs .`"]),
        ("train d.zarr", ["d.zarr is a folder, not a job file", "--data d.zarr"]),
        ("train good.csv", ["good.csv is not a TOML file", "`distkern shard good.csv --out good.zarr`"]),
        ("update m --data good.csv", ["`distkern shard good.csv --like m --out good.zarr`"]),
        (
            "shard new.csv --like m --out x.zarr",
            ["'income'", "`distkern predict m new.csv --out predictions.csv`"],
        ),
        ("shard good.csv --drop foo --out x.zarr", ["'foo'", "the columns are 'age', 'state', 'income'"]),
        ("train gone.toml", ["gone.toml", "no such file"]),
        ("train quote.toml", ["quote.toml", "line 1"]),
        ("train range.toml", ["range.toml, [params], 'nu' must be a number >= 0 or 'auto', got -1"]),
        ("train range.toml --set nu=-2", ["hyperparameter 'nu' must be a number >= 0 or 'auto', got -2"]),
        ("train typo.toml", ["typo.toml", "'nlandmarks'", "did you mean 'n_landmarks'?"]),
        ("predict m good.csv", ["write --out P.csv"]),
        ("predict m --out p.csv", ["FILE", "--data D.zarr"]),
        ("predict m lacks.csv --out p.csv", ["lacks.csv", "'age' is missing"]),
        ("predict m words.csv --out p.csv", ["words.csv, row 1 (line 2), column 'age'", "'old'"]),
        ("predict m good.csv --proba --out p.csv", ["--proba", "--decision", "loss=logistic"]),
        ("predict r good.csv --proba --out p.csv", ["--proba is for classifiers; leave it out"]),
        ("shard good.csv --like m --no-header --out x.zarr", ["leave --no-header out"]),
        ("shard good.csv --text words --out x.zarr", ["no column 'words' (--text); the columns are 'age'"]),
        ("shard lacks.csv --target state --task regression --out x.zarr", ["'a' is not a number (and"]),
        ("predict m good.csv --id custmer --out p.csv", ["'custmer'", "the columns are 'age'"]),
        (
            "evaluate m --data o.zarr --split train",
            ["o.zarr encodes its columns differently", "`distkern shard FILE --like m --out NEW.zarr`"],
        ),
        ("evaluate m --data d.zarr --split validation", ["'validation'", "'train'"]),
        ("inspect gone", ["gone", "no such file or folder"]),
        ("status 1234", ["no job '1234'", "--runs FOLDER"]),
        ("algorithms newtn", ["'newtn'", "did you mean 'newton'?"]),
        ("shard good.csv --regression --out x.zarr", ["write --task regression"]),
        ("shard good.csv --drop age,state --out x.zarr", ["repeat the option for each"]),
        ("shard good.csv --id customer --out x.zarr", ["the columns are 'age', 'state', 'income'"]),
        ("shard good.csv --na --drop-missing-target --out x.zarr", ["--na needs a value; --drop-missing"]),
        ("train --data d.zarr --model newton --out new", ["--model: no such option; write --algorithm"]),
        ("train --data d.zarr --threshold 0.3 --out new", ["an option of `distkern evaluate`, `distkern p"]),
        ("train --data d.zarr --algorithm svm --out new", ["did you mean 'cells'?"]),
        ("train --data d.zarr --algorithm newton --set n_estimators=9 --out new", ["it belongs to trees"]),
        (
            "train --data d.zarr --set learning_rate=0.1 --out new",
            ["step sizes are found by themselves; leave it out"],
        ),
        (
            "train --data d.zarr --algorithm dsg --set learning_rate=0.1 --out new",
            ["did you mean 'step_size'?"],
        ),
        ("train --data d.zarr --num-leaves 31 --out new", ["it belongs to trees; leave it out"]),
        ("train jobs.toml", ["jobs.toml: unknown key 'n_jobs'; did you mean 'workers'?"]),
        (
            "train --data d.zarr --algorithm newton --set n_landmarks=64,nu=1 --out new",
            ["has several values; write --set"],
        ),
        (
            "tune --data d.zarr --algorithm newton --set nu=1e-9,1e-3 --out new",
            ["of a job file for `distkern tune`"],
        ),
        ("predict m good.csv --out p.csv --probabilities", ["no such option; write --proba"]),
        ("status ./m", ["'./m' is a path, and a job has an id"]),
        ("evaluate m --data d.zarr --out page.html", ["write --html FILE for a page"]),
        ("runs", ["Missing argument 'FOLDER'; write `distkern runs FOLDER`"]),
        ("predict m/model.json good.csv --out p.csv", ["is a file of a model, not its folder; give "]),
        ("update m --data d.zarr --out ./m", ["leave it out to replace the model"]),
        (
            "train --data d.zarr --algorithm newton --set fit_intercept=true --out new",
            ["it belongs to pegasos, simba: leave it out, or use one of them"],
        ),
        (
            "predict good.csv m --out p.csv",
            ["good.csv is a file, not a model; give the folder that `distkern train`"],
        ),
        ("predict m sizes.csv --out p.csv", ["this is another table: give one with those columns"]),
        ("version", ["write `distkern --version`"]),
    ],
)
def test_at_the_command_line(folder, arguments, words, refused):
    printed = refused(arguments.split(), *words)
    # what became of the columns is told before it is an error
    assert not printed or "empty.csv" in arguments


def test_hints_are_commands_that_work_next(folder, capsys):
    def hinted(arguments):
        assert main(arguments) == 2
        return shlex.split(capsys.readouterr().err.split("`")[1])[1:]

    made = hinted(["evaluate", "m", "--data", "good.csv"])
    assert made == ["shard", "good.csv", "--like", "m", "--out", "good.zarr"]
    assert main(made) == 0
    following = capsys.readouterr().out.splitlines()[-1].removeprefix("next: distkern ")
    assert following == "evaluate m --data good.zarr --split train"
    assert main([*following.split(), "--scheduler", "synchronous"]) == 0
    # one that is there is not named again
    assert hinted(["update", "m", "--data", "good.csv"])[-1] == "good-2.zarr"


def fitted(rows=X, **given):
    return NewtonClassifier(features="linear", random_state=0).fit(rows, Y, **given)


def with_nan():
    rows = X.copy()
    rows[3, 1] = np.nan
    return rows


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda: fitted(with_nan()), ["contains NaN", "pandas.DataFrame(X)"]),
        (lambda: NewtonRegressor(loss="mse").fit(X, Y), ["loss:", "did you mean 'square'?"]),
        (lambda: NewtonClassifier(loss="mse").fit(X, Y), ["loss:", "did you mean 'least_squares'?"]),
        (lambda: NewtonClassifier(kernel="linear").fit(X, Y), ["kernel:", "set features='linear'"]),
        (
            lambda: NewtonClassifier(features="linear", n_landmarks=8).fit(X, Y),
            ["=8 has no effect with features='linear'; leave n_landmarks out"],
        ),
        (
            lambda: NewtonRegressor().fit(X, Y).update(dask.array.from_array(X), Y),
            ["X is a Dask array, whose rows are not in memory; give rows in memory, as X.compute()"],
        ),
        (lambda: NewtonClassifier(scale="zscore").fit(X, Y), ["scale:", "did you mean 'standard'?"]),
        (lambda: KernelClassifier(settings={"c": 3}).fit(X, Y), ["settings:", "did you mean 'C'?"]),
        (
            lambda: KernelClassifier(memory_limit=2).fit(X, Y),
            ["memory_limit must have a unit, got 2", "2MiB"],
        ),
        (
            lambda: KernelClassifier(memory_limit="1MB", algorithm="newton").fit(X, Y),
            [
                "memory_limit: pass ",
                " MiB and the limit is 976.6 KiB: use memory_limit='",
                "a process needs at least",
            ],
        ),
        (lambda: NewtonRegressor(memory_limit="1MB").fit(X, Y), ["the limit is 976.6 KiB: use memory_limit"]),
        (lambda: fitted().predict(None), ["X is None; give rows"]),
        (lambda: fitted(FRAME).predict(X[:, :1]), ["X has 1 columns, but the model expects 2 columns"]),
        (lambda: fitted().score(X), ["y is missing; give labels"]),
        (lambda: fitted().explain(X, Y, features="x"), ["features must be a list, got 'x'; give ['x']"]),
        (lambda: NewtonClassifier().fit(X, "no"), ["y is the text 'no'", "give one value for each row"]),
        (lambda: distkern.RandomFeatures(kernel="chi2").fit(X), ["shard with scale='minmax'"]),
        (lambda: distkern.RandomFeatures(n_features=3).fit(X), ["n_features must be a positive even number"]),
        (lambda: fitted().predict({"age": 1}), ["X is a dict", "[X]"]),
        (lambda: fitted().predict(with_nan()), ["X: Input X contains NaN", "impute them"]),
        (lambda: fitted(FRAME.to_numpy()), ["X: 'a' is not a number", "pandas.DataFrame(X)"]),
        (lambda: fitted().predict(np.full((2, 2), "b")), ["X: 'b' is not a number", "give numbers"]),
        (lambda: fitted([[1, 2]] * 59 + [[3]]), ["X: row 59 has length 1, and row 0 has 2"]),
        (lambda: fitted().predict([[1, 2], [3]]), ["X: row 1 has length 1, and row 0 has 2"]),
        (lambda: fitted(X * 1j), ["X: Complex data not supported", "X.imag"]),
        (lambda: fitted(MASKED), ["X: the number at [2, 1] is masked", "X.filled(numpy.nan)"]),
        (lambda: fitted().predict(MASKED), ["X: the number at [2, 1] is masked"]),
        (lambda: fitted(dask.array.from_array(MASKED)), ["X is a Dask array of masked", "X.map_blocks("]),
        (lambda: RandomFeatures().fit(MASKED), ["X: the number at [2, 1] is masked"]),
        (lambda: NewtonClassifier().fit(X, MASKED[:, 1] > 0), ["y, row 3 (index 2): the target is missing"]),
        (lambda: fitted(sample_weight=MASKED[:, 1]), ["sample_weight: the number at [2] is masked"]),
        (lambda: NewtonClassifier().fit(X, Y * 1j), ["the targets are complex numbers"]),
        (lambda: NewtonRegressor().fit(X, ["high"] * 60), ["y: the target 'high'", "classifier"]),
        (lambda: NewtonRegressor().fit(FRAME, ["high"] * 60), ["y: the target 'high'", "classifier"]),
        (lambda: fitted("d.zarr"), ["'d.zarr' is a path", "distkern.open_dataset('d.zarr')"]),
        (lambda: fitted(Path("good.csv")), ["'good.csv' is a path", "pandas.read_csv('good.csv')"]),
        (lambda: fitted().predict("good.csv"), ["'good.csv' is a path", "pandas.read_csv('good.csv')"]),
        (lambda: NewtonClassifier().fit(X, [None, *Y[1:]]), ["y, row 1 (index 0)", "missing"]),
        (lambda: NewtonClassifier().fit(X, np.c_[Y, Y]), ["1d array", "(60, 2)"]),
        (lambda: NewtonClassifier().fit(X, np.ones(60)), ["only one class"]),
        (lambda: NewtonClassifier(kernel="rfb").fit(X, Y), ["'rfb'", "did you mean 'rbf'?"]),
        (
            lambda: KernelClassifier(n_jobs=0).fit(X, Y),
            ["n_jobs must be an integer >= 1, an integer <= -1 or None, got 0"],
        ),
        (lambda: KernelClassifier(algorithm="newtn").fit(X, Y), ["'newtn'", "did you mean 'newton'?"]),
        (lambda: fitted(FRAME).predict(FRAME[["state"]]), ["'age' is missing"]),
        (
            lambda: fitted(FRAME).predict(FRAME.assign(age="old")),
            ["X, row 1 (index 0), column 'age'", "'old'"],
        ),
        (
            lambda: fitted(DATES.assign(t=ZONED)).predict(DATES),
            ["'t'", "had time zone Asia/Tokyo in the", "tz_loc"],
        ),
        (lambda: fitted(DATES).predict(DATES.assign(t=ZONED)), ["'t'", "has time zone", "tz_localize(None)"]),
        (lambda: tune(LogisticRegression(), X, Y), ["LogisticRegression is not an estimator of distkern"]),
        (lambda: tune(NewtonClassifier, X, Y), ["give an instance: NewtonClassifier()"]),
        (
            lambda: tune(NewtonClassifier(), X, Y, {"nu": [1.0]}, scoring="f1_macro"),
            ["scoring: unknown score of classification 'f1_macro'; use one of acc", "; GridSearchCV of"],
        ),
        (lambda: tune(NewtonClassifier(), X, Y, {"nu": [1.0]}, metric="f1"), ["metric: unknown metric of"]),
        (lambda: fitted().set_params(alpha=1), ["of NewtonClassifier 'alpha'; did you mean 'nu'?"]),
        (lambda: RandomFeatures().set_params(nfeatures=2), ["did you mean 'n_features'?"]),
        (lambda: NewtonClassifier().fit(FRAME.iloc[:0], Y[:0]), ["X has no rows"]),
        (lambda: fitted(csr_matrix(with_nan())), ["contains NaN", "set the missing entries"]),
        (lambda: distkern.kernel_matrix(X, kernel="linear"), ["'linear'", "use 'dot_product'"]),
        (
            lambda: fitted().set_params(threshold=2).predict(X),
            ["threshold must be a number in (0, 1), 'balanced' or None, got 2"],
        ),
        (lambda: fitted(np.where(X[3, 1] == X, np.inf, X)), ["infinity (row 4 (index 3), column 1)"]),
        (lambda: NewtonRegressor().fit(X, [1.0, np.inf, *Y[2:]]), ["y, row 2 (index 1)", "infinity"]),
        (lambda: fitted().predict(X[0]), ["got 1D array", "X.reshape(1, -1) for one row"]),
        (lambda: fitted(NUMBERS).predict(NUMBERS.iloc[0]), ["is a Series", "X.iloc[[0]]"]),
        (lambda: NewtonClassifier().fit(FRAME, "age"), ["y is the text 'age'", "y=X['age']"]),
        (lambda: fitted(NUMBERS.set_axis(["a", "a"], axis=1)), ["two columns are named 'a'"]),
        (lambda: fitted(np.array([[10**400, 1]] * 60, dtype=object)), ["too large for float64"]),
        (lambda: KernelClassifier(algorithm="csvrg").fit(X, Y), ["own estimator, CSVRGClassifier"]),
        (
            lambda: KernelClassifier(search="none").fit(X, Y),
            ["search must be 'full', 'quick' or None, got 'none'"],
        ),
        (
            lambda: fitted(FRAME).predict(NUMBERS.add_prefix("x")),
            ["'age', 'state' are missing", "another table"],
        ),
        (lambda: tune(NewtonClassifier(), X, Y, [1]), ["parameters has type list", "give a dict"]),
        (lambda: write_dataset("x.zarr", X, Y), ["another order", "write_dataset(X, y, path)"]),
        (lambda: distkern.export(fitted(), "nosuch/m.onnx"), ["there is no folder nosuch"]),
        (lambda: distkern.export("m.onnx", fitted()), ["the model comes first: export(model, 'm.onnx')"]),
        (lambda: distkern.export("m.onnx", "m"), ["first: export(load_model('m'), 'm.onnx')"]),
        (lambda: distkern.export(fitted(), "d.zarr"), ["d.zarr", "is a folder"]),
        (lambda: distkern.open_dataset("good.csv"), ["good.csv", "distkern shard good.csv"]),
        (lambda: distkern.load_model("d.zarr"), ["d.zarr", "not a model"]),
    ],
)
def test_in_python(folder, mistake, words):
    with pytest.raises(ValueError, match=r".") as raised:
        mistake()
    said = str(raised.value)
    assert len(said.splitlines()) == 1
    for word in words:
        assert word in said
    assert isinstance(raised.value, InputError) or "1d array" in said


def test_targets_that_are_none(tmp_path):
    frame = pandas.DataFrame(X).add_prefix("x")
    with pytest.raises(
        InputError, match="y is the text 'x0', not a value for each row; give the values: y=X"
    ):
        distkern.write_dataset(frame, "x0", tmp_path / "d.zarr")
    with pytest.raises(
        InputError, match=rf"y has {X.shape[1]} columns, and the model predicts one value for"
    ):
        fitted().score(X, frame)
    with pytest.raises(InputError, match="y is 'x0', not a value for each row"):
        fitted().score(X, "x0")


def test_names_that_are_mistyped():
    with pytest.raises(AttributeError, match="did you mean 'NewtonClassifier'"):
        distkern.NewtonClasifier  # noqa: B018
    with pytest.raises(TypeError, match="did you mean 'n_landmarks'"):
        NewtonClassifier(n_landmark=3)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match=r"use model\.explain\(X, y\)\.importances_mean"):
        fitted().feature_importances_  # noqa: B018
    assert not hasattr(NewtonClassifier(), "feature_importances_")


@pytest.mark.parametrize(
    ("mistake", "instead"),
    [
        (lambda: KernelClassifier(alpha=1), r"give it to the chosen algorithm: settings=\{'nu': \.\.\.\}"),
        (lambda: NewtonClassifier(verbose=True), r"it belongs to fit: fit\(X, y, verbose=\.\.\.\)"),
        (lambda: fitted(epochs=3), r"it is a hyperparameter: NewtonClassifier\(stages=\.\.\.\)"),
        (lambda: fitted(validation_data=(X, Y)), "did you mean 'eval_set'"),
    ],
)
def test_arguments_in_another_place(mistake, instead):
    with pytest.raises(TypeError, match=instead):
        mistake()


def test_a_quantity_that_is_taken_for_classes(folder, capsys):
    rows = [f"{at},{at % 40}" for at in range(2000)]
    Path("sold.csv").write_text("\n".join(["x,sold", *rows, ""]), encoding="utf-8")
    assert main(["shard", "sold.csv", "--out", "sold.zarr"]) == 0
    told = "the target has 40 different integers, which are treated as classes; give --task regression"
    assert told in capsys.readouterr().out
    Path("rare.csv").write_text("x,sold\n1,99\n2,1\n", encoding="utf-8")
    assert main(["shard", "sold.csv", "--test", "rare.csv", "--out", "rare.zarr"]) == 2
    assert "give --task regression if the target is a quantity" in capsys.readouterr().err
    assert main(["shard", "good.csv", "--target", "income", "--out", "few.zarr"]) == 0
    assert "quantity" not in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("alpha", "did you mean 'nu'"), ("learning_rate", "step sizes are found by themselves")],
)
def test_hyperparameters_of_other_libraries_are_guessed(theirs, ours):
    with pytest.raises(TypeError, match=f"'{theirs}'; {ours}"):
        NewtonClassifier(**{theirs: 1})


def test_what_only_looks_like_a_mistake(tmp_path):
    with pytest.warns(UserWarning, match="column 'target' equals y; leave it out"):
        NewtonClassifier(features="linear").fit(NUMBERS.assign(target=Y), Y)
    data = write_dataset(X, Y, tmp_path / "d.zarr", positive=1)
    assert data.classes.tolist() == ["not 1", "1"]
    # one instant in two zones is one instant
    model = fitted(DATES.assign(t=ZONED))
    model.save(tmp_path / "m")
    in_utc = DATES.assign(t=ZONED.dt.tz_convert("UTC"))
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(in_utc), model.predict(in_utc))
    with pytest.raises(InputError, match="Asia/Tokyo"):
        load_model(tmp_path / "m").predict(DATES)


def test_shard_names_the_target_and_a_rare_first_class(folder, capsys):
    rows = [f"{at},{'stayed' if at % 25 else 'churned'}" for at in range(200)]
    Path("churn.csv").write_text("\n".join(["a,state", *rows, ""]), encoding="utf-8")

    def printed(*options):
        assert main(["shard", "churn.csv", "--out", "churn.zarr", "--overwrite", *options]) == 0
        return capsys.readouterr().out

    assert "target: state (the last column; --target COLUMN for another)" in printed()
    assert "target:" not in printed("--target", "state")
    assert "'churned' has 4 % of the rows and is the first class; --positive churned makes" in printed()
    assert "first class" not in printed("--positive", "churned")
    assert "first class" not in printed("--positive", "stayed")


def test_average_precision_names_its_class():
    figures = {"n": 3, "seconds": 0.1, "average_precision": 0.5}
    measured = {"test": Evaluation(figures, labels=("churned", "stayed"), predicted=("churned", "stayed"))}
    assert ["average precision of stayed", "0.5"] in figure_rows(measured)


def test_arguments_that_a_method_lacks_get_the_nearest_one():
    with pytest.raises(TypeError, match="unexpected keyword argument 'cv'; did you mean 'validation'"):
        tune(NewtonClassifier(), X, Y, {"nu": [1.0]}, cv=5)
    with pytest.raises(TypeError, match="'weights'; did you mean 'sample_weight'"):
        NewtonClassifier().fit(X, Y, weights=Y)


def test_hints_quote_names_with_blanks(tmp_path, capsys):
    names = [f"row {number}" for number in range(60)]
    FRAME.assign(**{"Customer ID": names}, income=Y).to_csv(tmp_path / "a.csv", index=False)
    assert main(["shard", str(tmp_path / "a.csv"), "--check"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "--text 'Customer ID' uses its words" in out
    assert "--categorical 'Customer ID'=target" in out
    # the target that is taken is named, as without --check
    assert "target: income (the last column; --target COLUMN for another)" in out


def test_a_scheduler_that_does_not_answer_is_refused_before_an_algorithm_is_chosen(
    folder, monkeypatch, refused
):
    monkeypatch.setattr(handshake, "greet", partial(handshake.greet, patience=0.1))
    arguments = ["train", "--data", "d.zarr", "--out", "new", "--scheduler", "tcp://127.0.0.1:1"]
    refused(
        arguments,
        "--scheduler tcp://127.0.0.1:1: no Dask scheduler answers",
        "`dask scheduler`",
        begun="starting",
    )


def test_a_word_of_another_library_suggests_the_name_that_is_known_here():
    assert nearest("n_iter", ["stages", "nu"]) == "stages"
    assert nearest("n_iter", ["candidates", "metric"]) == "candidates"
    assert nearest("n_iterr", ["stages", "nu"]) == "stages"
