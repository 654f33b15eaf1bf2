"""The workflow that puts what is chosen beside boosted trees: sets, scores, pairs and verdicts."""

import gzip

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from distkern.storage.ingest import write_dataset
from workflows.averages import failed
from workflows.defaults import beside, fits, messy, scores, sets, verdicts
from workflows.pool import answer
from workflows.records import Records


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


def test_both_are_measured_on_the_same_rows_and_compared_by_row(source, tmp_path, monkeypatch):
    """The peer is stood in for, because it is no dependency of the tests."""
    monkeypatch.setattr(fits, "boosted", lambda X, y, seed, is_real: Stump().fit(X, y))
    records, own = Records(tmp_path / "records"), sets.given(f"{source}:0.3")
    assert own.name == "two-0.3"
    asked = list(beside.questions([own], 2, 300, tmp_path, 60.0))
    assert [one.key for one in asked][:3] == [
        "two-0.3/0/distkern",
        "two-0.3/0/LightGBM",
        "two-0.3/1/distkern",
    ]
    for one in asked:
        records.put(one.key, {"asked": one.asked, **one.answer()})
        assert one.is_answered(records)
    # nothing is missing, so that no process starts
    answer(records, asked, 1, print, fresh=True)
    ours, theirs = (records.get(one.key) for one in asked[:2])
    assert ours["AUC"] > 0.95
    assert ours["chosen"] == "newton"
    assert 0.4 < theirs["AUC"] < 0.6
    found = {table.title: table.rows for table, _ in verdicts.sections(records, tmp_path, [own.name, "a9a"])}
    assert found["Totals"][:4] == [
        ("not worse in loss", "1 of 1", ""),
        ("not worse in error", "1 of 1", ""),
        ("not worse in AUC", "1 of 1", ""),
        ("not worse in any of them", "1 of 1", ""),
    ]
    assert found["Totals"][4] == ("in at most LightGBM's CPU seconds", "0 of 1", "two-0.3")
    name, chosen, *cells, _, seeds = found["Verdicts"][0]
    assert (name, chosen, seeds) == ("two-0.3", "newton", "2")
    assert [cell.split(",")[0] for cell in cells] == ["better"] * 3
    assert cells[0].split()[1].startswith("-")
    assert cells[2].split()[1].startswith("+")
    assert [row[:2] for row in found["Scores"]] == [("two-0.3", "distkern"), ("two-0.3", "LightGBM")]


def test_a_fit_that_failed_is_worse_and_a_peer_that_failed_is_not_compared(tmp_path):
    records = Records(tmp_path / "records")
    well, late = {"asked": {}, "cpu_seconds": 1.0, "RMSE": 2.0}, {"asked": {}, "failed": "TimeoutError: late"}
    for name, ours, theirs in (("a", late, well), ("b", well, late), ("c", late, late)):
        records.put(f"{name}/0/distkern", ours)
        records.put(f"{name}/0/LightGBM", theirs)
    # has not been measured yet
    records.put("d/0/LightGBM", well)
    found = verdicts.sections(records, tmp_path, ["a", "b", "c", "d"])
    assert {row[1:] for row in found[0][0].rows} == {("0 of 1", "a")}
    assert found[1][0].rows == [("a", "", "", "", "", "failed", "0")]
    assert len(failed(records)[0].rows) == 4


def test_a_fit_over_its_cpu_seconds_is_ended(source, tmp_path, monkeypatch):
    def endless(X, y, seed, is_real):
        while len(y) > fits.FEW_ROWS:
            pass

    monkeypatch.setattr(fits, "boosted", endless)
    _, theirs = beside.questions([sets.given(str(source))], 1, 500, tmp_path, 0.1)
    assert theirs.answer() == {"failed": "TimeoutError: took more than 0.1 CPU seconds"}


def test_scores_are_those_of_scikit_learn():
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((400, 2)), generator.integers(0, 3, 400)
    model = LogisticRegression().fit(X[y < 2], y[y < 2])
    seen = scores.by_row(model, X[y < 2], y[y < 2], is_real=False)
    found, chances = scores.figures(seen), model.predict_proba(X[y < 2])
    assert found["log loss"] == pytest.approx(log_loss(y[y < 2], chances))
    assert found["AUC"] == pytest.approx(roc_auc_score(y[y < 2], chances[:, 1]))
    assert found["error"] == pytest.approx(1 - model.score(X[y < 2], y[y < 2]))
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
        return scores.auc_lost([one], [other], positive)

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


@pytest.mark.slow
def test_the_command_goes_on_where_it_was_stopped(tmp_path, command):
    pytest.importorskip("lightgbm")
    asked = ["--out", str(tmp_path / "out"), "--set", "small", "--rows", "500", "--seeds", "1"]
    assert "2/2 small/0/LightGBM" in command("defaults.beside", *asked)
    report = tmp_path / "out" / "report" / "report.md"
    text = report.read_text()
    assert "## Verdicts" in text
    report.unlink()
    assert "small/0" not in command("defaults.beside", *asked)
    assert report.read_text() == text
