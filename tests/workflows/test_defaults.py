"""The workflows of defaults and of mixed tables: what is asked, compared, kept and written down."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import distkern as dk
from distkern.data.ingest import write_dataset
from workflows import processes
from workflows.defaults import methods, tables
from workflows.defaults.methods import Source, questions
from workflows.records import Records
from workflows.subsets import gathered
from workflows.tables import growth

ROOT = Path(__file__).parents[2]


def made(path, real=False):
    generator = np.random.default_rng(0)
    X = generator.standard_normal((700, 3)) * [1.0, 100.0, 0.01] + [0.0, 5000.0, 0.0]
    score = X[:, 0] + (X[:, 1] - 5000.0) / 100.0
    y = 1e5 + 2e4 * score if real else (score > 0).astype(int)
    write_dataset([(X, y)], path, test_fraction=0.3, task="regression" if real else "classification", seed=0)
    return Source.of(path)


def test_rows_are_drawn_by_the_seed_and_scored_on_the_same_ones(tmp_path):
    source = made(tmp_path / "two.zarr")
    asked = {
        "method": "LR",
        "rows": 300,
        "fingerprint": source.fingerprint,
        "data": source.path,
        "limit": 60.0,
    }
    first, second = (methods.scored(seed=seed, **asked) for seed in (0, 1))
    dataset = dk.open_dataset(source.path)
    (X, y), (fresh, truth) = gathered(dataset.train), gathered(dataset.test)
    drawn = np.random.default_rng(1).permutation(len(y))[:300]
    expected = LogisticRegression(max_iter=500).fit(X[drawn], y[drawn])
    assert second["score"] == pytest.approx(expected.score(fresh, truth))
    assert 0.9 < first["score"] <= 1.0
    assert methods.scored(seed=0, **{**asked, "method": "newton"})["score"] > 0.9


def test_losses_are_minimised_on_columns_and_targets_in_their_own_units(tmp_path, monkeypatch):
    source, seen = made(tmp_path / "prices.zarr", real=True), []

    class Watched(Ridge):
        def __init__(self, random_state=None, loss=None):
            super().__init__()
            self.loss = loss

        def fit(self, X, y):
            seen.append((X, y, self.loss))
            return super().fit(X, y)

    monkeypatch.setattr(methods, "algorithms", lambda *, is_real: {"newton": Watched})
    found = methods.of_loss(
        method="newton", loss="huber", seed=0, rows=400, fingerprint="", data=source.path, limit=60.0
    )
    X, y, loss = seen[-1]
    assert found["score"] > 0.99
    assert loss == "huber"
    # float32 once scaled: 5000 to 100 within 1e-4 of the range
    assert X[:, 1].mean() == pytest.approx(5000.0, abs=20.0)
    assert X.std(axis=0) == pytest.approx([1.0, 100.0, 0.01], rel=0.2)
    assert y.mean() == pytest.approx(1e5, rel=0.05)


def test_what_takes_too_long_ends():
    start = time.process_time()

    def work(seconds):
        while time.process_time() < start + seconds:
            pass

    with pytest.raises(TimeoutError, match=r"more than 0\.2 CPU seconds"), processes.at_most(0.2):
        work(20.0)
    with processes.at_most(0.2):
        pass
    # the clock has stopped
    work(0.6)


def test_every_algorithm_is_asked_for_the_first_seed_of_all_sets_before_the_second(tmp_path):
    sources = [made(tmp_path / "two.zarr"), made(tmp_path / "prices.zarr", real=True)]
    keys = [one.key for one in questions(sources, 2, 300, 60.0)]
    assert len(set(keys)) == len(keys)
    seeds = [int(key[-1]) for key in keys if key.startswith("scores/")]
    assert seeds == sorted(seeds)
    assert {"scores/two/simba/0", "scores/two/SVC-standardised/1", "scores/prices/auto/0"} < set(keys)
    assert "scores/two/cells/0" in keys
    assert {"losses/prices/cells/absolute", "losses/prices/svrg/quantile"} < set(keys)
    assert "losses/prices/newton/absolute" not in keys


def test_what_is_behind_is_told_with_its_reason(tmp_path):
    source, records = made(tmp_path / "two.zarr"), Records(tmp_path / "records")
    scores = {
        "LR": 0.80,
        "SVC": 0.85,
        "SVC, standardised": 0.90,
        "HGB": 0.92,
        "auto": 0.916,
        "newton": 0.885,
        "avm": 0.879,
        "pegasos": 0.785,
        "simba": 0.77,
    }
    for method, score in scores.items():
        for seed in (0, 1):
            key = f"scores/two/{method.replace(', ', '-')}/{seed}"
            records.put(key, {"asked": {}, "score": score + 0.001 * seed, "cpu_seconds": 2.0})
    (tmp_path / "why.json").write_text(
        json.dumps({"two/avm": "two passes", "auto": "a cell less", "newton": "-"})
    )
    found = dict.fromkeys(scores)
    for title, rows in (
        (one[0].title, one[0].rows) for one in tables.sections(records, [source], tmp_path / "why.json")
    ):
        found[title] = rows
    assert found["What is behind"] == [
        ("two", "auto", "HGB", "0.4"),
        ("two", "avm", "SVC, standardised", "2.1"),
        ("two", "simba", "LR", "3.0"),
    ]
    assert found["Why"] == [("two/avm", "two passes"), ("auto", "a cell less")]
    assert ("**auto**", "91.7 ± 0.1") in found["Scores"]
    assert ("LR", "2.0 ± 0.0") in found["CPU seconds of the fit"]


@pytest.mark.slow
def test_the_command_measures_and_writes_a_report_of_what_there_is(tmp_path, command):
    made(tmp_path / "two.zarr")
    asked = ["--out", str(tmp_path / "out"), "--rows", "256", "--seeds", "1"]
    asked += ["--data", str(tmp_path / "two.zarr")]
    for more in (["--method", "LR", "--method", "HGB"], ["--report-only"]):
        command("defaults", *asked, *more)
        text = (tmp_path / "out" / "report" / "report.md").read_text()
        assert "## Scores" in text
        assert "seed 0 alone" in text
    assert len(list((tmp_path / "out" / "records").rglob("*.json"))) == 2


@pytest.mark.slow
def test_a_table_of_any_length_is_written_in_pieces(tmp_path):
    growth.write(tmp_path / "a.csv", 2500, 1)
    frame = pandas.read_csv(tmp_path / "a.csv")
    assert frame.shape == (2500, 15)
    assert set(frame["income"]) == {">50K", "<=50K"}
    assert 0.005 < frame["age"].isna().mean() < 0.02
    program = (
        "import sys; sys.path.insert(0, 'tests'); import mixed_tables;"
        " mixed_tables.write(__import__('pathlib').Path(sys.argv[1]), 250, 1, piece=100)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "b.csv")], check=True, cwd=ROOT)
    pieces = pandas.read_csv(tmp_path / "b.csv")
    assert len(pieces) == 250
    # pieces are drawn apart
    assert not pieces["weight"][:100].equals(pieces["weight"][100:200].reset_index(drop=True))
