"""``distkern update``: a model takes the place of another one, whole or not at all."""

import json
import signal
import time

import numpy as np
import pandas
import pytest

from cluster_processes import finish, settings_of, start_distkern
from distkern import NewtonRegressor
from distkern.cli.main import main
from distkern.data.dataset import open_dataset
from distkern.data.ingest import write_dataset
from distkern.data.store import atomic
from distkern.jobs.folder import JobFolder, attached_facts
from distkern.runs import updating
from distkern.runs.algorithms import load_model
from distkern.runs.persistence import check_model
from distkern.show import report
from distkern.show.metrics import read
from distkern.show.report import write_report

LINEAR = ["--algorithm", "newton", *settings_of(features="linear", scale="standard")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Data sets of old and new rows, and the current folder."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(900, 3)).astype(np.float32)
    X[600:, 2] *= 3
    y = 5.0 + X[:, 0] + X[:, 1] ** 2 + X[:, 2]
    for name, part in (("old", slice(0, 600)), ("new", slice(600, None)), ("all", slice(None))):
        chunks = [(X[part], y[part])]
        write_dataset(chunks, tmp_path / f"{name}.zarr", task="regression", scale="none", rows_per_shard=100)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_updated_model_takes_the_place_of_the_old_one(folder, capsys):
    assert main(["train", "--data", "old.zarr", "--out", "m", *LINEAR]) == 0
    assert main(["train", "--data", "all.zarr", "--out", "whole", *LINEAR]) == 0
    capsys.readouterr()
    assert main(["update", "m", "--data", "new.zarr", "--out", "n"]) == 0
    told = capsys.readouterr().out
    assert "column 3" in told
    assert "new rows: 300" in told
    assert " before, " in told
    assert "warning" not in told
    assert max(map(len, told.splitlines())) <= 80
    assert main(["update", "m", "--data", "new.zarr", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    X = np.random.default_rng(1).normal(size=(50, 3))
    found, beside, whole = (load_model(name) for name in ("m", "n", "whole"))
    np.testing.assert_array_equal(found.predict(X), beside.predict(X))
    np.testing.assert_allclose(found.predict(X), whole.predict(X), rtol=1e-4)
    assert facts["update"] == found.updates_[-1]
    assert facts["update"]["after"]["rmse"] < facts["update"]["before"]["rmse"]
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []
    history = read(folder / "m" / "metrics.jsonl")
    assert history[-1]["objective"] == found.history_[-1]["objective"]
    assert "rmse on them" in (folder / "m" / "report.html").read_text(encoding="utf-8")
    assert main(["inspect", "m"]) == 0
    assert "last update: new rows" in capsys.readouterr().out
    assert main(["update", "m", "--data", "new.zarr"]) == 2
    assert "has learned from these rows already" in capsys.readouterr().err


def test_rows_far_from_all_that_the_model_knows_are_told(folder, capsys):
    """Numbers that go on, as those of ids do: an update learned nothing, and told it in a line of a table."""
    generator = np.random.default_rng(3)
    far = generator.normal([0, 100, 0], size=(60, 3)).astype(np.float32)
    write_dataset([(far, far[:, 0])], "far.zarr", task="regression", scale="none", rows_per_shard=100)
    assert main(["train", "--data", "old.zarr", "--out", "m", *LINEAR]) == 0
    assert main(["update", "m", "--data", "far.zarr"]) == 0
    assert "warning: most new rows are outside the range of column 2," in capsys.readouterr().out


def test_old_rows_are_asked_for_and_known_whatever_the_order(folder, capsys):
    job = ["--algorithm", "newton", *settings_of(loss="huber", n_landmarks=16)]
    assert main(["train", "--data", "old.zarr", "--out", "m", *job]) == 0
    assert main(["update", "m", "--data", "new.zarr", "--out", "n"]) == 2
    assert "add them: --data OLD.zarr NEW.zarr" in capsys.readouterr().err
    assert not (folder / "n").exists()
    for data, out in ((["old.zarr", "new.zarr"], "n"), (["new.zarr", "old.zarr"], "o")):
        assert main(["update", "m", "--data", *data, "--out", out]) == 0
    first, second = load_model("n"), load_model("o")
    np.testing.assert_array_equal(first.coefficients_, second.coefficients_)
    assert first.updates_[-1]["rows"] == 300


@pytest.mark.slow
def test_killed_and_gone_on_with(folder):
    """The old model is there until the new one is, whenever the process is killed."""
    job = ["--algorithm", "svrg", *settings_of(n_features=256, stages=12, tol=0.0)]
    assert main(["train", "--data", "old.zarr", "--out", "m", *job]) == 0
    before = load_model("m").coefficients_
    command = ["update", "m", "--data", "old.zarr", "new.zarr", "--scheduler", "synchronous"]
    assert main([*command, "--out", "wanted"]) == 0
    wanted = load_model("wanted").coefficients_
    staged = folder / ".m.update" / "checkpoints"
    process = start_distkern(*command)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if staged.is_dir() and any(staged.glob("stage-0000[3-9]")):
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.005)
    process.communicate()
    if process.returncode != 0:
        np.testing.assert_array_equal(load_model("m").coefficients_, before)
        finish(start_distkern(*command, "--resume"))
    np.testing.assert_array_equal(load_model("m").coefficients_, wanted)
    assert not (folder / ".m.update").exists()


@pytest.mark.parametrize("positive", [[], ["--positive", "yes"]])
def test_rows_of_a_day_may_be_of_one_class(folder, positive, capsys):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 2))
    y = np.where(X[:, 0] > 1.0, "yes", "no")
    day = np.flatnonzero(y[300:] == "no") + 300
    for name, rows in (("before", slice(0, 300)), ("day", day), ("both", np.r_[0:300, day])):
        frame = {"a": X[rows, 0], "b": X[rows, 1], "bought": y[rows]}
        pandas.DataFrame(frame).to_csv(f"{name}.csv", index=False)
    target = ["--target", "bought", *positive, "--no-shuffle"]
    square = ["--algorithm", "newton", *settings_of(features="linear", loss="least_squares")]
    assert main(["shard", "before.csv", *target, "--out", "before.zarr"]) == 0
    capsys.readouterr()
    assert main(["shard", "day.csv", *target, "--out", "d.zarr"]) == 2
    refused = "no training row has the label 'yes'" if positive else "all training rows have the same label"
    assert refused in capsys.readouterr().err
    for name in ("day", "both"):
        assert main(["shard", f"{name}.csv", *target, "--like", "before.zarr", "--out", f"{name}.zarr"]) == 0
    assert main(["train", "--data", "day.zarr", *square, "--out", "none"]) == 2
    assert "has only one class" in capsys.readouterr().err
    for data, model in (("before.zarr", "m"), ("both.zarr", "whole")):
        assert main(["train", "--data", data, *square, "--out", model]) == 0
    assert main(["update", "m", "--data", "day.zarr"]) == 0
    found, whole = load_model("m"), load_model("whole")
    assert found.classes_.tolist() == whole.classes_.tolist()
    rows = pandas.DataFrame(X, columns=["a", "b"])
    np.testing.assert_allclose(found.decision_function(rows), whole.decision_function(rows), atol=1e-4)
    capsys.readouterr()
    assert main(["evaluate", "m", "--data", "day.zarr", "--split", "train", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == np.mean(
        found.predict(rows.iloc[day]) == found.classes_[0]
    )


def made(name, labels, *words):
    """A data set of rows with these labels over and over."""
    frame = {"a": np.arange(90), "t": np.resize(labels, 90)}
    pandas.DataFrame(frame).to_csv("rows.csv", index=False)
    return main(["shard", "rows.csv", "--target", "t", "--no-shuffle", *words, "--out", f"{name}.zarr"])


def labels_of(name, split="train"):
    return getattr(open_dataset(f"{name}.zarr"), split).labels.tolist()


def test_the_label_against_the_rest_is_that_of_the_rows_before(folder, capsys):
    like = ["--like", "three.zarr"]
    assert made("three", [0, 3, 5], "--positive", "3") == 0
    for number, labels in enumerate(([5, 0, 7], [3], [5, 3])):
        assert made(f"day{number}", labels, *like) == 0
        assert (
            labels_of(f"day{number}")
            == np.resize(["3" if one == 3 else "not 3" for one in labels], 90).tolist()
        )
        assert made("no", labels, *like, "--positive", "33") == 2
        assert "--positive 33: the data of --like have '3' ag" in capsys.readouterr().err
    assert made("again", [0, 3, 5], *like) == 0
    assert open_dataset("again.zarr").fingerprint == open_dataset("three.zarr").fingerprint
    # what training rows have none of is still told apart in test rows
    pandas.DataFrame({"a": [1, 2, 3], "t": [0, 3, 5]}).to_csv("test.csv", index=False)
    assert made("tested", [0, 5], *like, "--test", "test.csv") == 0
    assert labels_of("tested", "test") == ["not 3", "3", "not 3"]


def test_labels_that_look_like_others_stay_what_they_are(folder, capsys):
    assert made("mail", ["spam", "not spam"]) == 0
    assert made("ham", ["spam", "not spam", "ham"], "--like", "mail.zarr") == 0
    assert open_dataset("ham.zarr").classes.tolist() == ["ham", "not spam", "spam"]
    assert made("mixed", ["1", "2", "x"]) == 0
    assert made("numbers", [1, 2], "--like", "mixed.zarr") == 0
    assert open_dataset("numbers.zarr").classes.tolist() == ["1", "2"]
    assert made("numbers2", [1, 2], "--like", "mixed.zarr", "--positive", "x") == 2
    assert "classes 'not x' and 'x', but the data of --like have '1', '2', 'x'" in (capsys.readouterr().err)
    assert made("one", ["1", "2", "x"], "--positive", "x") == 0
    assert made("other", [1, 2], "--like", "one.zarr") == 0
    assert open_dataset("other.zarr").classes.tolist() == ["not x"]
    # a day of one class is what others may be like
    assert made("next", [1, "x"], "--like", "other.zarr") == 0
    assert open_dataset("next.zarr").classes.tolist() == ["not x", "x"]
    # rows of no labels say nothing of what the label is
    assert made("plain", ["1", "2", "x"], "--task", "none") == 0
    capsys.readouterr()
    assert made("typo", ["1", "2", "x"], "--like", "plain.zarr", "--positive", "y") == 2
    assert "no training row has the label 'y'" in capsys.readouterr().err


def test_an_update_that_did_not_take_its_place_is_not_taken_for_another(folder, monkeypatch, capsys):
    assert main(["train", "--data", "old.zarr", "--out", "m", *LINEAR]) == 0
    with monkeypatch.context() as patched:
        patched.setattr("distkern.cli.update._in_place", lambda *_: 1 / 0)
        assert main(["update", "m", "--data", "new.zarr"]) != 0
    assert load_model("m").updates_ == ()
    assert (folder / ".m.update" / "model.json").exists()
    assert main(["update", "m", "--data", "all.zarr", "--resume"]) == 0
    assert load_model("m").updates_[-1]["rows"] == 900
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []
    capsys.readouterr()
    # nor is a finished model that has learned from other rows
    assert main(["train", "--data", "new.zarr", "--out", "m", *LINEAR, "--resume"]) == 2
    assert "of other training rows" in capsys.readouterr().err


def test_an_update_under_way_keeps_what_it_has_made(folder, capsys):
    assert main(["train", "--data", "old.zarr", "--out", "m", *LINEAR]) == 0
    staged = folder / ".m.update"
    staged.mkdir()
    (staged / "model.json").write_text("{}")
    other = JobFolder(staged)
    other.claim()
    other.beat({"epoch": 1, **attached_facts()})
    capsys.readouterr()
    assert main(["update", "m", "--data", "new.zarr"]) == 2
    assert "is writing to this folder" in capsys.readouterr().err
    assert (staged / "model.json").exists()


def test_one_of_two_updates_at_a_time_is_refused(folder, monkeypatch, capsys):
    """Whoever has read the model holds the claim: the rows of the other one were lost otherwise."""
    assert main(["train", "--data", "old.zarr", "--out", "m", *LINEAR]) == 0
    ended = []

    def begun(*given):
        if not ended:
            ended.append(None)
            ended[0] = main(["update", "m", "--data", "all.zarr"])
        return own(*given)

    own = updating.update_recipe
    monkeypatch.setattr(updating, "update_recipe", begun)
    assert main(["update", "m", "--data", "new.zarr"]) == 0
    assert ended == [2]
    assert "is writing to this folder" in capsys.readouterr().err
    assert load_model("m").updates_[-1]["rows"] == 300


@pytest.mark.parametrize("how", ["claimed", "saved", "begun anew"])
def test_an_update_does_not_replace_another_model_than_it_began_from(folder, how, monkeypatch, capsys):
    """A driver that was held up and taken for dead, and a model that somebody saved meanwhile."""
    assert main(["train", "--data", "old.zarr", "--out", "m", *LINEAR]) == 0
    assert main(["train", "--data", "all.zarr", "--out", "other", *LINEAR]) == 0
    other = load_model("other").coef_

    def checked(place):
        # the new model is whole, and about to take its place
        load_model("other").save("m", overwrite=True)
        return check_model(place)

    def written(*given):
        # the run has ended, and the report is all that is missing
        (folder / ".m.update" / ".job" / "epoch-00002").write_text("{}")
        return write_report(*given)

    def exchange(first, second):
        # another update under way is where the finished one was
        if (first / "model.json").exists() and load_model(first).updates_:
            (first / "model.json").unlink()
        return own(first, second)

    own = atomic._exchange
    if how == "claimed":
        monkeypatch.setattr(report, "write_report", written)
    elif how == "saved":
        monkeypatch.setattr("distkern.runs.persistence.check_model", checked)
    else:
        monkeypatch.setattr(atomic, "_exchange", exchange)
    before = load_model("m").coef_
    assert main(["update", "m", "--data", "new.zarr"]) == 2
    said = {
        "claimed": "another driver has taken over",
        "saved": "m was changed during the update",
        "begun anew": "m is not a model",
    }
    assert said[how] in capsys.readouterr().err
    np.testing.assert_array_equal(load_model("m").coef_, other if how == "saved" else before)


def test_an_update_of_another_model_is_not_taken_for_this_one(folder, capsys):
    """Models of arrays say nothing of their rows, so that the model itself is known."""
    X = np.random.default_rng(5).normal(size=(200, 3)).astype(np.float32)
    made = NewtonRegressor(features="linear", random_state=0)
    again = ["update", "m", "--data", "new.zarr", "--out", "n", "--scheduler", "synchronous", "--resume"]
    made.fit(X, X.sum(axis=1)).save("m")
    assert main(again) == 0
    first = load_model("n").coef_
    made.fit(X, -X.sum(axis=1)).save("m")
    capsys.readouterr()
    assert main(again) == 2
    assert "n holds a finished model updated from another model" in capsys.readouterr().err
    # fitted anew, it is the same model
    made.fit(X, X.sum(axis=1)).save("m")
    assert main(again) == 0
    np.testing.assert_array_equal(load_model("n").coef_, first)
