"""``distkern tune``: from a job file to the best candidate's model, what is printed, and what is refused."""

import json
import re
import signal
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from cluster_processes import finish, settings_of, start_distkern
from distkern.cli.main import main
from distkern.data.ingest import write_dataset
from distkern.runs.algorithms import load_model

JOB = """
algorithm = "csvrg"
data = "d.zarr"
out = "m"
scheduler = "synchronous"
[params]
n_landmarks = 40
stages = 2
[search]
method = "halving"
[search.params]
gamma = [0.001, 1.0, 1000.0]
lam = {low = 1, high = 100, log = true, points = 3}
"""


def rings(n_rows, seed=0):
    features = np.random.default_rng(seed).normal(size=(n_rows, 2)).astype(np.float32)
    return features, (np.linalg.norm(features, axis=1) > 1.2).astype(int)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a data set and a job."""
    monkeypatch.chdir(tmp_path)
    write_dataset([rings(2500)], "d.zarr", test_chunks=[rings(300, 1)], scale="none", rows_per_shard=400)
    Path("job.toml").write_text(JOB)
    return tmp_path


def printed(capsys, *arguments):
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def trials(model):
    """What is kept of each trial, but for the seconds."""
    found = {}
    for file in sorted(Path(model, "tune", "trials").iterdir()):
        if file.name.startswith("."):
            # half of one, of a process that was killed
            continue
        content = json.loads(file.read_text())
        found[file.stem] = {
            key: value for key, value in content.items() if key not in ("seconds", "search", "fingerprint")
        }
    return found


def test_the_best_candidate_is_trained_on_all_rows(folder, capsys):
    facts, said = printed(capsys, "tune", "job.toml")
    assert facts["settings"]["gamma"] == 1.0
    assert facts["settings"]["lam"] > 1
    assert facts["value"] < 0.3
    assert facts["test_error"] < 0.1
    assert len(facts["candidates"]) == 9
    assert [one["rows"] for one in facts["candidates"]] == [2000] * 3 + [667] * 6
    assert "12 of 12: log_loss" in said
    # the model is the one that train makes of these settings
    settings = [word for name, value in facts["settings"].items() for word in ("--set", f"{name}={value}")]
    assert main(["train", "job.toml", "--out", "alone", *settings]) == 0
    assert "[search] is for `distkern tune`" in capsys.readouterr().err
    np.testing.assert_array_equal(load_model("m").coefficients_, load_model("alone").coefficients_)
    assert {entry.name for entry in Path("m").iterdir()} == {
        "model.json",
        "arrays",
        "metrics.jsonl",
        "report.html",
        "tune",
    }
    again, said = printed(capsys, "tune", "job.toml", "--jobs", "2")
    assert again == facts
    assert said.count("earlier trials are reused") == said.count("12 earlier trials are reused") == 1
    assert " of 12: log_loss" not in said


def test_without_a_table_what_is_worth_it_is_tried(folder, capsys):
    write_dataset([rings(400)], "d.zarr", scale="none", overwrite=True)
    given = ["--data", "d.zarr", "--algorithm", "pegasos", "--scheduler", "synchronous"]
    fixed = settings_of(stages=1, features="random", n_features=64, metric="none")
    facts, _ = printed(capsys, "tune", *given, *fixed, "--out", "m")
    assert {name for one in facts["candidates"] for name in one["settings"]} == {"gamma", "lam"}
    own = next(one for one in facts["candidates"] if one["candidate"] == 0)
    assert own["settings"] == {"gamma": "scale", "lam": 1e-4}
    assert own["rows"] == max(one["rows"] for one in facts["candidates"])
    # a table says how, and the values stay the algorithm's
    Path("job.toml").write_text(JOB.partition("[search.params]")[0].replace('"halving"', '"random"'))
    few = Path("job.toml").read_text() + "candidates = 2\n"
    Path("job.toml").write_text(few.replace("csvrg", "auto").replace("n_landmarks = 40\nstages = 2", ""))
    facts, said = printed(capsys, "tune", "job.toml", "--out", "n", "--set", "search=quick")
    assert len(facts["candidates"]) == 2
    chosen = json.loads(Path("n", "model.json").read_text())["algorithm"]
    assert f"auto chooses {chosen} with" in said


@pytest.mark.slow
def test_test_rows_have_no_say(folder, capsys):
    features, labels = rings(300, 1)
    printed(capsys, "tune", "job.toml")
    first = trials("m")
    write_dataset(
        [rings(2500)],
        "d.zarr",
        test_chunks=[(features, 1 - labels)],
        scale="none",
        rows_per_shard=400,
        overwrite=True,
    )
    facts, _ = printed(capsys, "tune", "job.toml", "--out", "n")
    assert trials("n") == first
    assert facts["test_error"] > 0.9


def test_what_is_printed_fits_a_terminal(folder, capsys):
    assert main(["tune", "job.toml"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 120
    (at,) = (at for at, line in enumerate(lines) if line.lstrip().startswith("gamma"))
    assert lines[at].split() == ["gamma", "lam", "log_loss", "worse", "by", "rows", "work", "time"]
    assert max(map(len, lines[: at + 12])) <= 80
    assert {tuple(line.split()[:2]) for line in lines[at + 2 : at + 11]} == set(
        product(("0.001", "1", "1000"), ("1", "10", "100"))
    )
    assert re.search(r"chosen: gamma=1 lam=\d+ \(log_loss [\d.]+ on 500 held-out rows; 12 trials", out)
    wider = "lam=100 is the largest value tried: a wider range, in the table [search.params] of"
    assert wider in out or "lam=10 " in out
    page = Path("m", "tune", "report.html").read_text()
    for part in (
        "csvrg on d.zarr: 9 candidates",
        "log loss by gamma",
        "log loss by rows",
        "<td>0.001</td><td>1</td>",
        '<tr class="chosen"><td>1</td>',
        '<th scope="col" title="hyperparameter" data-sort tabindex="0">gamma</th>',
    ):
        assert part in page


@pytest.mark.slow
def test_values_that_are_words_have_a_plot_and_the_metric_is_told_of_test_rows(folder, capsys):
    words = JOB.partition("[search.params]")[0].replace('"halving"', '"grid"\nmetric = "auc"')
    Path("job.toml").write_text(words + '[search.params]\nloss = ["hinge", "odm"]\nprojection = ["span"]\n')
    assert main(["tune", "job.toml"]) == 0
    [(value,)] = [
        re.findall(r"test auc ([\d.]+)$", line) for line in [capsys.readouterr().out.splitlines()[-2]]
    ]
    page = Path("m", "tune", "report.html").read_text()
    assert f"auc, test rows</span><b>{value}</b>" in page
    assert "auc by loss" in page
    assert "auc by projection" not in page
    assert main(["evaluate", "m", "--data", "d.zarr", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["auc"] == pytest.approx(float(value), abs=1e-6)
    facts, _ = printed(capsys, "tune", "job.toml")
    assert facts["test_value"] == pytest.approx(float(value), abs=1e-6)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("[search]\nparams = 3", ["key 'params'", "got 3", "[search.params]"]),
        ("[search]\nmetod = 'grid'\n[search.params]\nlam = [1.0]", ["'metod'", "did you mean 'method'"]),
        ("[search]\nvalidation = 1.5\n[search.params]\nlam = [1.0]", ["'validation'", "number of folds"]),
        ("[search]\ncandidates = 3\n[search.params]\nlam = [1.0]", ["'candidates'", "no effect"]),
        ("[search.params]\nlan = [1.0]", ["unknown hyperparameter of csvrg 'lan'", "did you mean 'lam'"]),
        (
            "[search.params]\nlam = [1.0, -2.0]",
            ["hyperparameter 'lam'", "must be a positive number", "got -2.0"],
        ),
        ("[search.params]\nlam = 3.0", ["[search.params], 'lam'", "must be a list of values", "got 3.0"]),
        ("[search.params]\nlam = {low = 1.0, hihg = 2.0}", ["'hihg'", "did you mean 'high'"]),
        (
            '[search]\nmethod = "grid"\n[search.params]\nlam = {low = 1.0, high = 2.0}',
            ["[search.params], 'lam'", "points = 5"],
        ),
        ("[search.params]\nstages = [1, 2]", ["'stages'", "both set and searched"]),
        ("[search.params]\nrandom_state = [1, 2]", ["'random_state'", "--seed"]),
        ("search = 3", ["is not a table"]),
        ("[search]\nlam = [1.0]", ["unknown key of [search] 'lam'", "write lam below [search.params]"]),
    ],
)
def test_what_cannot_be_searched_is_refused(folder, capsys, table, words):
    text = JOB.partition("[search]")[0]
    Path("job.toml").write_text(f"{table}\n{text}" if table.startswith("search") else text + table)
    assert main(["tune", "job.toml"]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    for word in words:
        assert word in line
    assert not Path("m").exists()


def test_searches_that_cannot_be_are_refused_before_anything_runs(folder, capsys):
    job = ["tune", "--data", "d.zarr", "--out", "n", "--scheduler", "synchronous"]
    settings = [f"--set={setting}" for setting in ("lam=1", "loss=hinge")]
    refused = {
        ("--memory-limit", "20MiB"): r"choosing .* limit is 20.0 MiB: use --memory-limit \d+MiB",
        ("--algorithm", "pegasos", *settings): r"error: nothing is left to search: .*`distkern train`",
        (
            "--algorithm",
            "newton",
            "--set=nu=[0.1, 0.2]",
        ): r"got \[0.1, 0.2\]; values to try stand in the table",
        ("--algorithm", "simba"): r"error: \S+d.zarr: the data set has no feature-major copy, .*--columns`",
    }
    for options, words in refused.items():
        assert main([*job, *options]) == 2
        assert re.search(words, capsys.readouterr().err)
    assert not Path("n").exists()


def test_other_things_in_the_folder_are_refused(folder, capsys):
    job = ["--data", "d.zarr", "--algorithm", "csvrg", "--set", "n_landmarks=8", "--set", "stages=1"]
    assert main(["train", *job, "--out", "m", "--scheduler", "synchronous"]) == 0
    Path("job.toml").write_text(JOB.replace("0.001, 1.0, 1000.0", "1.0").replace("points = 3", "points = 2"))
    assert main(["tune", "job.toml"]) == 2
    assert "m holds a finished model" in capsys.readouterr().err
    assert main(["tune", "job.toml", "--out", "n"]) == 0
    capsys.readouterr()
    assert main(["tune", "job.toml", "--out", "n", "--set", "n_landmarks=50"]) == 2
    assert "n/tune holds a search with another hyperparameters" in capsys.readouterr().err
    assert main(["tune", "job.toml", "--out", "n", "--seed", "1"]) == 2
    assert "holds a search with another seed" in capsys.readouterr().err


def test_plan_takes_a_job_with_a_search(folder, capsys):
    assert main(["plan", "job.toml"]) == 0
    assert "12 trials, which read" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_what_has_finished(folder, capsys, jobs):
    more = JOB.replace("stages = 2", "stages = 40\ntol = 0.0").replace('"halving"', '"grid"')
    Path("job.toml").write_text(more)
    process = start_distkern("tune", "job.toml", "--jobs", jobs)
    while len(kept()) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    told = re.search(r"distkern: interrupted; (\d+) of 9 trials are kept: run the same command again", said)
    assert int(told[1]) == len(kept())
    assert main(["tune", "job.toml"]) == 0
    assert f"{told[1]} earlier trials are reused" in capsys.readouterr().err


@pytest.mark.slow
def test_in_a_store(folder, capsys):
    facts, _ = printed(capsys, "tune", "job.toml", "--out", "memory://tuned/m")
    again, said = printed(capsys, "tune", "job.toml", "--out", "memory://tuned/m")
    assert again == facts
    assert " of 12: log_loss" not in said


@pytest.mark.slow
def test_folds_and_chance_are_told(folder, capsys):
    Path("job.toml").write_text(
        JOB.replace('method = "halving"', "validation = 3").replace("0.001, 1.0,", "1.0,")
    )
    assert main(["tune", "job.toml"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"on 3 folds of 83[2-5] held-out rows; 18 trials", out)
    facts, _ = printed(capsys, "tune", "job.toml")
    best = min(facts["candidates"], key=lambda one: one["value"])
    near = [one for one in facts["candidates"] if one["difference"] <= 2 * one["standard_error"]]
    assert best in near
    assert (f"{len(near)} candidates are within 2 standard errors" in out) == (len(near) > 1)
    least = min(one["work"] for one in near)
    assert facts["settings"] in [one["settings"] for one in near if one["work"] <= 1.5 * least]
    assert main(["inspect", "m"]) == 0
    assert "m/tune/report.html" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_search_goes_on_and_makes_no_trial_again(folder, capsys, jobs):
    write_dataset(
        [rings(60_000)],
        "d.zarr",
        test_chunks=[rings(300, 1)],
        scale="none",
        rows_per_shard=5000,
        overwrite=True,
    )
    whole, _ = printed(capsys, "tune", "job.toml", "--out", "whole")
    seen = {}
    kills = 0
    while not Path("m", "model.json").exists():
        assert kills < 60
        process = start_distkern("tune", "job.toml", "--jobs", jobs, "--scheduler", "threads")
        before = len(seen)
        while process.poll() is None and len(kept()) < before + 2:
            time.sleep(0.02)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
            process.communicate(timeout=60)
        else:
            finish(process)
        now = kept()
        assert {name: now[name] for name in seen} == seen
        seen = now
    assert kills >= 5
    assert trials("m") == trials("whole")
    again, _ = printed(capsys, "tune", "job.toml")
    assert again["settings"] == whole["settings"]
    np.testing.assert_array_equal(load_model("m").coefficients_, load_model("whole").coefficients_)


def kept():
    """The files of trials, with the seconds that they took."""
    place = Path("m", "tune", "trials")
    files = [file for file in place.iterdir() if not file.name.startswith(".")] if place.exists() else []
    return {file.name: file.read_text() for file in files}
