"""The workflow that puts what is chosen beside boosted trees: sets, scores, pairs and verdicts."""

import builtins
import gzip

import click
import numpy as np
import pandas
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from workflows.averages import failed
from workflows.defaults import apart, beside, messy, scores, sets, suite, systems, verdicts
from workflows.defaults.apart import answer_apart, is_missing
from workflows.records import Records
from workflows.work import Work


@pytest.fixture
def source(tmp_path):
    generator = np.random.default_rng(0)
    X = generator.standard_normal((1500, 3))
    y = (X[:, 0] + generator.logistic(0, 0.2, 1500) > 0).astype(int)
    path = tmp_path / "two.zarr"
    write_dataset([(X, y)], path, test_fraction=0.3, scale="none", seed=0)
    return path


class Stump(LogisticRegression):
    """Does not see the column that matters."""

    def fit(self, X, y):
        return super().fit(X[:, 1:], y)

    def predict_proba(self, X):
        return super().predict_proba(X[:, 1:])

    def predict(self, X):
        return super().predict(X[:, 1:])


def stood_in(monkeypatch, peer):
    """LightGBM is no dependency of the tests."""
    monkeypatch.setitem(systems.SYSTEMS, "lightgbm", peer)


def stump(X, y, state, *, is_real):
    return Stump().fit(X, y)


def answered(records, asked):
    """In this process."""
    for one in asked:
        records.put(one.key, {"asked": one.asked, "limit": one.given["limit"], **one.answer()})
    return [records.get(one.key) for one in asked]


def report_of(records, work, names, ours="distkern", peers=("lightgbm",)):
    there = verdicts.Measured(records, work)
    return {table.title: table.rows for table, _ in verdicts.sections(there, names, ours, peers)}


def test_both_are_measured_on_the_same_rows_and_compared_by_row(source, tmp_path, monkeypatch):
    stood_in(monkeypatch, stump)
    records, own = Records(tmp_path / "records"), sets.given(f"{source}:0.3")
    assert own.name == "two-0.3"
    asked = list(beside.questions([own], ["distkern", "lightgbm"], (0, 1), 300, tmp_path, 60.0, tag="new"))
    assert [one.key for one in asked][:3] == [
        "two-0.3/0/distkern@new",
        "two-0.3/0/lightgbm",
        "two-0.3/1/distkern@new",
    ]
    ours, theirs = answered(records, asked)[:2]
    assert not any(is_missing(records, one) for one in asked)
    assert ours["AUC"] > 0.95
    assert (ours["chosen"], ours["told_by"]) == ("newton", "held_out_score_")
    assert 0.4 < theirs["AUC"] < 0.6
    found = report_of(records, tmp_path, [own.name, "a9a"], "distkern@new", ["lightgbm", "catboost"])
    assert found["Summary"][:3] == [
        ("not worse than LightGBM by two standard errors", "1 of 1", "100 %", ""),
        ("not behind LightGBM by more than 10 % of the loss", "1 of 1", "100 %", ""),
        ("better than LightGBM by two standard errors", "1 of 1", "100 %", ""),
    ]
    assert found["Summary"][3][1:] == ("0 of 1", "0 %", "two-0.3")
    name, verdict, steps, percent, losses, error, area, *_, runs = found["Compared with LightGBM"][0]
    assert (name, verdict, runs) == ("two-0.3", "better", "2")
    assert float(steps) < -1
    assert percent.startswith("-")
    assert losses.split(" / ")[0] == f"{np.mean([records.get(one.key)['loss'] for one in asked[::2]]):.4g}"
    assert error.startswith("-")
    assert area.startswith("+")
    assert [row[:2] for row in found["Scores"]] == [("two-0.3", "distkern@new"), ("two-0.3", "LightGBM")]
    # another random state is another run of the same rows, whose spread is told
    again = list(beside.questions([own], ["distkern"], (0,), 300, tmp_path, 60.0, tag="new", states=(0, 5)))
    assert [one.key for one in again] == ["two-0.3/0/distkern@new", "two-0.3/0-5/distkern@new"]
    assert [is_missing(records, one) for one in again] == [False, True]
    records.put(again[1].key, {**ours, "asked": again[1].asked, "loss": 1.02 * ours["loss"]})
    words, count, *_ = report_of(records, tmp_path, [own.name], "distkern@new")["Summary"][-1]
    assert words.startswith("spread of the loss over random states at most 3 %")
    assert count == "1 of 1"


def test_a_fit_that_failed_is_worse_and_a_peer_that_failed_is_not_compared(tmp_path):
    records = Records(tmp_path / "records")
    well = {"asked": {}, "cpu_seconds": 1.0, "loss": 4.0, "RMSE": 2.0, "train_rows": 9}
    late = {"asked": {}, "failed": "TimeoutError: late"}
    for name, ours, theirs in (("a", late, well), ("b", well, late), ("c", late, late)):
        records.put(f"{name}/0/distkern", ours)
        records.put(f"{name}/0/lightgbm", theirs)
    # has not been measured yet
    records.put("d/0/lightgbm", well)
    there = verdicts.Measured(records, tmp_path, [0])
    found = verdicts.compared(there, ["a", "b", "c", "d"], "distkern", "lightgbm")
    assert [(one.name, one.failed, one.steps, one.percent) for one in found] == [("a", True, np.inf, np.inf)]
    assert len(failed(records)[0].rows) == 4
    assert not verdicts.compared(verdicts.Measured(records, tmp_path, [1]), ["a"], "distkern", "lightgbm")


def test_a_fit_over_its_cpu_seconds_is_ended_and_asked_again_with_more(source, tmp_path, monkeypatch):
    def endless(X, y, state, *, is_real):
        while True:
            pass

    stood_in(monkeypatch, endless)
    records, own = Records(tmp_path / "records"), [sets.given(str(source))]
    (theirs,), (more,) = (
        beside.questions(own, ["lightgbm"], (0,), 500, tmp_path, limit) for limit in (0.1, 0.2)
    )
    (found,) = answered(records, [theirs])
    assert found["failed"] == "TimeoutError: took more than 0.1 CPU seconds"
    assert [is_missing(records, one) for one in (theirs, more)] == [False, True]


def test_what_is_told_is_held_against_what_is_measured(tmp_path):
    runs = {
        "a": {"told": 0.30, "told_error": 0.03, "loss": 0.38, "loss_error": 0.04, "test_rows": 3000},
        "b": {"told": 0.20, "told_error": None, "loss": 0.50, "loss_error": 0.01, "test_rows": 3000},
        "c": {"loss": 0.50, "loss_error": 0.01, "test_rows": 500},
    }
    # of three classes the second is far from its share, the third has too few rows to tell
    classes = [[0.5, 0.51, 0.002], [0.4, 0.3, 0.002], [0.1, 0.19, 0.05]]
    records = Records(tmp_path / "records")
    for name, one in runs.items():
        rest = {"calibration": 0.01 if name == "a" else 0.3, "classes": classes, "constant": 1.0}
        seconds = dict.fromkeys(("cpu_seconds", "import_seconds", "compile_seconds"), 1.0)
        records.put(f"{name}/0/distkern", {"asked": {}, **one, **rest, **seconds})
    found = report_of(records, tmp_path, list(runs))
    assert [row[1:] for row in found["Summary"]] == [
        ("1 of 2", "50 %", "b"),
        ("0 of 2", "0 %", "a, b"),
        ("1 of 2", "50 %", "b"),
        ("0 of 3", "0 %", "a, b, c"),
    ]
    assert [row[0] for row in found["Held-out and test losses"]] == ["b", "a", "c"]
    assert found["Held-out and test losses"][0][3] == "+60.0 %"
    assert found["Held-out and test losses"][0][6] == "-25.0 ± 0.5 %"


@pytest.fixture
def folder(tmp_path):
    """Two tables with texts, missing values and names that LightGBM does not take, and their index."""
    generator, folder = np.random.default_rng(0), tmp_path / "suite"
    folder.mkdir()
    size, place = generator.standard_normal(300).round(3), generator.choice(["x", "y", None], 300)
    noise = generator.standard_normal(300)
    frame = pandas.DataFrame({"size [K]": size, "place": place, "day": np.arange(300)[::-1]})
    yes = np.where(size + (place == "x") + 0.3 * noise > 0.3, "yes", "no")
    frame.assign(target=yes).to_csv(folder / "bought.csv.gz", index=False)
    real = pandas.Series(size + 0.1 * noise)
    real[:10] = np.nan
    frame.assign(target=real).to_csv(folder / "price.csv", index=False)
    lines = [("name", "task", "rows", "columns", "split"), ("bought", "binary", 300, 3, "")]
    lines.append(("price", "regression", 290, 3, "time day"))
    (folder / "index.tsv").write_text("\n".join("\t".join(map(str, line)) for line in lines) + "\n")
    return folder


def test_a_suite_is_a_folder_with_an_index(folder, tmp_path):
    price, bought = sets.of_suite(folder)
    # the smallest first
    assert (price.name, bought.name) == ("price", "bought")
    drawn = [bought.rows(seed) for seed in (0, 0, 1)]
    assert [len(drawn[0].truth), drawn[0].X.shape] == [90, (210, 3)]
    assert (drawn[0].numbers == drawn[1].numbers).all()
    assert not np.array_equal(drawn[0].numbers, drawn[2].numbers)
    shares = [np.mean(side == "yes") for side in (drawn[0].y, drawn[0].truth)]
    assert shares[0] == pytest.approx(shares[1], abs=0.01)
    # the latest rows of those with a target are the test rows, whatever the seed
    late = price.rows(3)
    assert late.fresh["day"].min() > late.X["day"].max()
    assert len(late.truth) + len(late.y) == 290
    halves = [[one.name for one in sets.of_suite(folder, half=half)] for half in (0, 1)]
    assert sorted(halves[0] + halves[1]) == ["bought", "price"]
    assert [len(half) for half in halves] == [1, 1]
    with pytest.raises(Exception, match="does not list sold"):
        sets.of_suite(folder, ["sold"])
    with pytest.raises(Exception, match=r"has no index\.tsv"):
        sets.of_suite(tmp_path)


def test_groups_are_on_one_side():
    frame = pandas.DataFrame({"who": np.repeat(np.arange(40), 5), "x": 1.0})
    train, test = suite.sides(frame, np.zeros(200), 0, suite.REGRESSION, "group who")
    assert len(test) == 60
    assert not set(frame["who"].iloc[train]) & set(frame["who"].iloc[test])
    with pytest.raises(Exception, match="unknown split 'day'"):
        suite.sides(frame, np.zeros(200), 0, suite.REGRESSION, "day")


def test_peers_are_given_the_raw_columns(folder):
    rows = sets.of_suite(folder, ["bought"])[0].rows(0)
    columns = systems.Columns.of(rows.X)
    assert list(columns.values) == [1]
    unseen = pandas.DataFrame({"size [K]": [1.0, np.nan], "place": ["z", "x"], "day": [1, 2]})
    native, texts, numbers = columns.native(unseen), columns.texts(unseen), columns.indicators(unseen)
    assert list(native["c1_0"].isna()) == [True, False]
    assert native.dtypes.iloc[1] == columns.native(rows.X).dtypes.iloc[1]
    assert list(native.columns) == ["c0", "c1_0", "c2"]
    assert set(columns.texts(rows.X)["c1_0"]) == {"x", "y", "missing"}
    assert list(texts["c1_0"]) == ["z", "x"]
    assert numbers.iloc[:, 1:3].sum(axis=1).tolist() == [0.0, 1.0]
    assert systems.Columns.of(np.zeros((3, 2))).values == {}


@pytest.mark.parametrize(
    "system",
    ["lightgbm", *(pytest.param(peer, marks=pytest.mark.slow) for peer in ("catboost", "perpetual", "xrfm"))],
)
def test_peers_beat_the_constant(folder, tmp_path, system):
    pytest.importorskip(system)
    records = Records(tmp_path / "records")
    asked = beside.questions(sets.of_suite(folder), [system], (0,), 200, tmp_path, 60.0)
    for found in answered(records, list(asked)):
        assert found["loss"] < 0.8 * found["constant"], found


def test_columns_that_are_refused_become_categories_as_the_message_advises():
    generator = np.random.default_rng(0)
    # one odd word among numbers is a mistake
    children = np.append(generator.choice(["1", "2"], 199), "more")
    X = pandas.DataFrame({"size": generator.standard_normal(200), "the children": children})
    model = systems.chosen(X, (children == "1").astype(int), 0, is_real=False)
    assert model.remedied_ == ["the children"]
    assert (model.predict(X) == (children == "1")).all()
    # other refusals are not
    with pytest.raises(InputError, match="the target is missing"):
        systems.chosen(X[["size"]], np.full(200, np.nan), 0, is_real=True)


def test_seconds_of_imports_are_told_apart(tmp_path, monkeypatch):
    burn = "import time\nstart = time.process_time()\nwhile time.process_time() < start + {}: pass\n"
    (tmp_path / "costly_module.py").write_text(burn.format(0.1))
    monkeypatch.syspath_prepend(tmp_path)
    with Work() as work:
        import costly_module  # noqa: F401

        exec(burn.format(0.05))
    assert work.imports == pytest.approx(0.1, abs=0.04)
    assert work.seconds == pytest.approx(0.05, abs=0.02)
    assert builtins.__import__.__module__ != "workflows.work"


def test_peers_may_be_earlier_versions_but_only_systems_are_fitted():
    assert beside._Listed(str, ["distkern"], tags=True).convert("distkern@old", None, None) == (
        "distkern@old",
    )
    with pytest.raises(click.BadParameter, match="'distkern@old' is none of distkern"):
        beside._Listed(str, ["distkern"]).convert("distkern@old", None, None)
    assert beside._Listed(int).convert("0, 2,2", None, None) == (0, 2)


def test_absent_packages_are_skipped_with_a_line(monkeypatch, capsys):
    monkeypatch.setattr(beside, "is_installed", lambda system: system != "xrfm")
    assert beside.installed(["distkern", "catboost", "xrfm"]) == ["distkern", "catboost"]
    assert capsys.readouterr().out == "xRFM is skipped: its package is not installed (pip install xrfm)\n"


def test_scores_are_those_of_scikit_learn():
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((400, 2)), generator.integers(0, 3, 400)
    model = LogisticRegression().fit(X[y < 2], y[y < 2])
    seen = scores.by_row(model, X[y < 2], y[y < 2], is_real=False)
    found, chances = scores.figures(seen), model.predict_proba(X[y < 2])
    assert found["log loss"] == pytest.approx(log_loss(y[y < 2], chances))
    assert found["AUC"] == pytest.approx(roc_auc_score(y[y < 2], chances[:, 1]))
    assert found["error"] == pytest.approx(1 - model.score(X[y < 2], y[y < 2]))
    assert found["classes"][1][:2] == pytest.approx([y[y < 2].mean(), chances[:, 1].mean()])
    share = y[y < 2].mean()
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert scores.constant(y[y < 2], y[y < 2], is_real=False) == pytest.approx(entropy)
    assert scores.constant(X[:, 0], X[:, 0], is_real=True) == pytest.approx(X[:, 0].var())
    # a class that was not learned: wrong, with no chance, and the least that is taken for none
    unknown = scores.by_row(model, X[y == 2], y[y == 2], is_real=False)
    assert unknown["wrong"].all()
    assert unknown["loss"] == pytest.approx(-np.log(np.finfo(float).eps))


def test_standard_errors_are_those_of_pairs():
    generator = np.random.default_rng(0)
    hard = generator.exponential(1.0, 4000)
    # noise that both share is none of the difference
    ours = [hard + 0.05 + 0.1 * generator.standard_normal(4000) for _ in range(2)]
    found = scores.paired(ours, [hard, hard])
    # rows of several seeds are not counted twice: the same as one seed with their mean
    same = scores.paired([np.mean(ours, axis=0)], [hard])
    assert (found.mean, found.error) == pytest.approx((same.mean, same.error))
    twice = scores.paired([ours[0], ours[0]], [hard, hard], [np.arange(4000), np.arange(4000, 8000)])
    assert twice.error == pytest.approx(scores.paired([ours[0]], [hard]).error / np.sqrt(2), rel=1e-3)
    assert found.error == pytest.approx(0.1 / np.sqrt(2 * 4000), rel=0.05)
    assert found.verdict == "worse"
    assert scores.paired([hard], [hard + 0.1]).verdict == "better"
    assert scores.paired(ours, ours[::-1]).verdict == "as good"


def test_the_error_of_an_auc_is_that_of_other_draws_of_rows():
    generator = np.random.default_rng(0)

    def drawn():
        positive = np.arange(1000) < 200
        signal = positive + generator.standard_normal(1000)
        one, other = (signal + generator.standard_normal(1000).round(1) * size for size in (1.0, 0.5))
        return scores.auc_lost([one], [other], [positive])

    found = [drawn() for _ in range(200)]
    assert np.mean([one.error for one in found]) == pytest.approx(
        np.std([one.mean for one in found]), rel=0.15
    )
    assert np.mean([one.mean for one in found]) > 0.02


def test_calibration_error_is_how_far_chances_are_from_shares():
    chances, right = np.repeat([0.55, 0.95], 100), np.r_[np.ones(45), np.zeros(55), np.ones(95), np.zeros(5)]
    assert scores.calibration_error(chances, right) == pytest.approx(0.5 * 0.1)
    X, y = sets.rare(np.arange(1000.0)[:, None], np.repeat([0, 1], 500), 0.02, 0)
    assert (len(y), y.sum()) == (510, 10)
    assert (X[y == 1, 0] >= 500).all()


def test_the_messy_table_is_as_hard_as_it_says(tmp_path):
    one, other = messy.messy(40_000, 0), messy.messy(2000, 1)
    assert one.label.mean() == pytest.approx(0.02, abs=0.003)
    assert roc_auc_score(one.label, one.chances) == pytest.approx(0.80, abs=0.025)
    frame = one.frame
    assert frame["customer"].nunique() == len(frame)
    assert not set(frame["customer"]) & set(other.frame["customer"])
    assert 4500 < frame["zip"].nunique() <= 5000
    missing = frame["income"].isna()
    assert missing.mean() == pytest.approx(0.3, abs=0.02)
    assert one.chances[missing].mean() > 1.5 * one.chances[~missing].mean()
    cleaned = messy.cleaned(other.frame, frame)
    assert "customer" not in cleaned
    assert all(kind.kind in "bif" or kind == "category" for kind in cleaned.dtypes)
    messy.main([str(tmp_path / "a.csv"), "--rows", "50", "--seed", "1"], standalone_mode=False)
    written = pandas.read_csv(tmp_path / "a.csv")
    assert list(written.columns) == [*frame.columns, "left"]


def test_published_sets_are_looked_for_where_they_are_told(tmp_path):
    with pytest.raises(Exception, match="give the folder of a9a"):
        sets.named("a9a-rare", None, tmp_path)
    assert len(sets.NAMES) == 14
    rows = ["-1 1:0.5 3:1", "+1 2:1.5"] * 20
    for name in ("a9a.svm", "a9a.t.svm"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    few = sets.named("a9a-rare", tmp_path, tmp_path / "data")
    assert few == sets.named("a9a-rare", None, tmp_path / "data")
    table = few.rows(0)
    # as published, and about 2 % of twenty
    assert table.X[0, 0] == 0.5
    assert table.y.sum() == 0


def test_a_machine_without_time_for_a_fit_says_nothing_about_it(folder, tmp_path, monkeypatch):
    (one, *_) = beside.questions(sets.of_suite(folder), ["distkern"], (0,), 100, tmp_path, 60.0)
    records, lines = Records(tmp_path / "records"), []
    answers = {
        "exit status -24: no message": ("took more than 60 CPU seconds", False),
        "took more than 3600 s": ("took more than 3600 s", True),
        "exit status 1: KeyError": ("exit status 1: KeyError", False),
    }
    for said, (kept, again) in answers.items():
        monkeypatch.setattr(apart.processes, "question", lambda *_, said=said, **__: {"failed": said})
        answer_apart(records, [one], 1, lines.append)
        assert records.get(one.key)["failed"] == kept
        assert is_missing(records, one) == again
        assert lines.pop() == f"1/1 price/0/distkern {kept}"


@pytest.mark.slow
def test_the_command_goes_on_where_it_was_stopped(folder, tmp_path, command):
    work = tmp_path / "out"
    asked = ["--work", str(work), "--suite", str(folder), "--seeds", "0", "--systems", "distkern"]
    assert "2/2 bought/0/distkern" in command("defaults.beside", *asked)
    report = work / "report" / "report.md"
    text = report.read_text()
    assert "## Held-out and test losses" in text
    report.unlink()
    assert "bought/0" not in command("defaults.beside", *asked)
    assert report.read_text() == text
