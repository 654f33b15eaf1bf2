"""The commands on a small data set, from training to predictions, in this process."""

import csv
import json
import re
import shutil
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cluster_processes import settings_of
from distkern import load_model
from distkern.cli.main import main
from distkern.core.choices import Compared
from distkern.core.errors import InputError, MemoryBudgetError
from distkern.core.text import in_time
from distkern.data.dataset import open_dataset
from distkern.data.digits import VirtualDigits
from distkern.data.ingest import write_dataset
from distkern.passes.machine import PAGES_BYTES
from distkern.show.metrics import FIELDS, OF_COMMAND, read

CHOSEN = ["--algorithm", "csvrg", *settings_of(n_landmarks=40, gamma=0.3, stages=2)]
SMALL = ["--scheduler", "synchronous", *CHOSEN]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "digits.zarr"
    digits = VirtualDigits(chunk_rows=1000)
    write_dataset(digits.chunks(3000), path, test_chunks=digits.chunks(500, "test"), scale="none")
    return path


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m"
    assert main(["train", "--data", str(data), "--out", str(path), *SMALL]) == 0
    return path


def printed(capsys):
    captured = capsys.readouterr()
    return json.loads(captured.out)


def test_the_model_folder(model):
    assert {entry.name for entry in model.iterdir()} == {
        "model.json",
        "arrays",
        "metrics.jsonl",
        "report.html",
    }
    history = [json.loads(line) for line in (model / "metrics.jsonl").read_text().splitlines()]
    assert [line["stage"] for line in history] == [0, 1, 2]
    assert all(line.keys() >= set(FIELDS) for line in history)
    assert "CSVRGClassifier on digits.zarr" in (model / "report.html").read_text()


def test_the_precision_of_a_run_is_that_of_the_rows_or_the_one_set(data, model, tmp_path):
    assert load_model(model).dtype_ == np.float32
    assert (
        main(["train", "--data", str(data), "--out", str(tmp_path / "m"), *SMALL, "--set", "dtype=float64"])
        == 0
    )
    assert load_model(tmp_path / "m").dtype_ == np.float64


def without(names, lines):
    return [{name: value for name, value in line.items() if name not in names} for line in lines]


def test_a_finished_model_has_its_metrics_again(data, model, tmp_path, capsys):
    shutil.copytree(model, tmp_path / "m")
    metrics, whole = tmp_path / "m" / "metrics.jsonl", read(model / "metrics.jsonl")
    train = ["train", "--data", str(data), "--out", str(tmp_path / "m"), *SMALL, "--resume"]
    for damage in (metrics.unlink, partial(metrics.write_text, "")):
        damage()
        assert main(train) == 0, capsys.readouterr().err
        # the model does not know the figures of the command
        assert without(OF_COMMAND, read(metrics)) == without(OF_COMMAND, whole)
    shutil.copy(model / "metrics.jsonl", metrics)
    capsys.readouterr()
    assert main(train) == 0
    assert read(metrics) == whole
    assert capsys.readouterr().out == f"{tmp_path / 'm'} is finished already; nothing to do\n"


def test_the_time_of_a_run_is_the_same_everywhere(model, capsys):
    seconds = read(model / "metrics.jsonl")[-1]["command_seconds"]
    assert f"<td>time</td><td>{in_time(seconds)}</td>" in (model / "report.html").read_text()
    assert main(["inspect", str(model)]) == 0
    assert re.search(rf"^time +{in_time(seconds)} *$", capsys.readouterr().out, re.M)
    assert main(["runs", str(model.parent), "--json"]) == 0
    assert printed(capsys)[0]["command_seconds"] == seconds


def test_the_report_shows_what_evaluate_says_of_the_test_rows(data, model, tmp_path, capsys):
    page = tmp_path / "page.html"
    arguments = ["--data", str(data), "--scheduler", "synchronous", "--html", str(page)]
    assert main(["evaluate", str(model), *arguments]) == 0
    capsys.readouterr()
    tables = [
        re.findall(r"<table.*?</table>", path.read_text(), re.S) for path in (page, model / "report.html")
    ]
    confusion, classes = ([table for table in tables[0] if word in table] for word in ('"matrix', ">F1<"))
    assert len(confusion) == len(classes) == 1
    assert {*confusion, *classes} <= set(tables[1])
    # what the model is worth comes first
    assert "this model, test rows" in tables[1][0]


def test_the_plan_knows_the_evaluation_and_a_model_outlives_too_little_memory_for_it(
    data, tmp_path, capsys, monkeypatch
):
    assert main(["plan", "--data", str(data), *SMALL, "--json"]) == 0
    assert [step["name"] for step in printed(capsys)["passes"]].count("evaluate") == 1

    def refuse(*_):
        raise MemoryBudgetError("too little", where="--memory-limit")

    monkeypatch.setattr("distkern.runs.limits.check_limit", refuse)
    assert main(["train", "--data", str(data), "--out", str(tmp_path / "m"), *SMALL]) == 0
    assert "the report has no evaluation on the test rows" in capsys.readouterr().err
    assert "Test rows" not in (tmp_path / "m" / "report.html").read_text()


@pytest.mark.parametrize("error", [KeyboardInterrupt, InputError("gone", where="the test rows")])
def test_a_model_outlives_an_evaluation_that_does_not_end(data, model, tmp_path, capsys, monkeypatch, error):
    def fail(*_):
        raise error

    out = tmp_path / "m"
    train = ["train", "--data", str(data), "--out", str(out), *SMALL]
    with monkeypatch.context() as patched:
        patched.setattr("distkern.runs.evaluation.evaluate_split", fail)
        assert main(train) != 0
    if error is KeyboardInterrupt:
        assert f"the model is in {out}, for its report run the same command with --resume" in (
            capsys.readouterr().err
        )
    assert {entry.name for entry in out.iterdir()} == {"model.json", "arrays", "metrics.jsonl"}
    assert main([*train, "--resume"]) == 0
    history, whole = (
        [json.loads(line)["objective"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
        for folder in (out, model)
    )
    assert history == whole
    assert (out / "report.html").exists()


def test_a_job_file_and_the_same_flags_give_the_same_model(data, model, tmp_path, capsys):
    job = tmp_path / "job.toml"
    job.write_text(
        f'algorithm = "csvrg"\ndata = {str(data)!r}\nscheduler = "synchronous"\nout = "elsewhere"\n'
        "[params]\nn_landmarks = 40\ngamma = 0.3\nstages = 9\n"
    )
    again = tmp_path / "again"
    assert main(["train", str(job), "--out", str(again), "--set", "stages=2", "--json"]) == 0
    line = printed(capsys)
    assert line["model"] == str(again)
    assert line["stage"] == 2
    first = json.loads((model / "metrics.jsonl").read_text().splitlines()[-1])
    assert line["objective"] == first["objective"]


def test_evaluate_prints_json_where_there_is_no_terminal(data, model, capsys):
    base = ["evaluate", str(model), "--data", str(data)]
    assert main([*base, "--scheduler", "synchronous"]) == 0
    measured = printed(capsys)
    assert measured["n"] == 500
    assert measured["error"] == pytest.approx(1 - measured["accuracy"])
    last = json.loads((model / "metrics.jsonl").read_text().splitlines()[-1])
    assert measured["error"] == pytest.approx(last["test_error"], abs=1e-12)
    assert measured.keys() >= {"objective", "seconds"}
    assert main([*base, "--split", "train", "--scheduler", "threads", "--json"]) == 0
    assert printed(capsys)["n"] == 3000


def test_predictions_are_those_the_error_was_counted_on(data, model, tmp_path, capsys):
    out = tmp_path / "p.csv"
    base = ["predict", str(model), "--data", str(data), "--scheduler", "synchronous"]
    assert main([*base, "--out", str(out), "--json"]) == 0
    assert printed(capsys) == {"n": 500, "out": str(out), "decision": False}
    with out.open(newline="") as file:
        labels = [int(row["prediction"]) for row in csv.DictReader(file)]
    test = open_dataset(data).test
    truth = np.concatenate([test.reader(block)().targets for block in range(test.n_blocks)])
    last = json.loads((model / "metrics.jsonl").read_text().splitlines()[-1])
    assert np.mean(np.array(labels) != truth) == pytest.approx(last["test_error"])
    assert main([*base, "--out", str(tmp_path / "d.npy"), "--decision"]) == 0
    decisions = np.load(tmp_path / "d.npy")
    assert decisions.shape == (500, 10)
    assert decisions.argmax(axis=1).tolist() == labels
    assert main([*base, "--out", str(tmp_path / "q.csv"), "--proba"]) == 2
    assert "use --decision" in capsys.readouterr().err


def test_inspect(data, model, tmp_path, capsys):
    assert main(["inspect", str(data), "--json"]) == 0
    record = printed(capsys)
    assert (record["kind"], record["train"]["n_rows"], record["test"]["n_rows"]) == ("data set", 3000, 500)
    assert record["classes"] == list(range(10))
    assert main(["inspect", str(model), "--json"]) == 0
    record = printed(capsys)
    assert (record["kind"], record["hyperparameters"]["n_landmarks"], len(record["history"])) == (
        "model",
        40,
        3,
    )
    for path, words in (
        (data, ("3,000 rows", "scaling")),
        (model, ("n_landmarks", "train error", "objective")),
    ):
        assert main(["inspect", str(path)]) == 0
        shown = capsys.readouterr().out
        assert all(word in shown for word in words)
        assert max(len(line) for line in shown.splitlines()[1:]) <= 80
    copy = Path(shutil.copytree(model, tmp_path / "copy"))
    *lines, last = (copy / "metrics.jsonl").read_text().splitlines()
    compared = json.loads(last) | {"candidates": [asdict(Compared("linear", 0.25))]}
    (copy / "metrics.jsonl").write_text("\n".join([*lines, json.dumps(compared), ""]))
    assert main(["inspect", str(copy)]) == 0
    assert "tried: linear: 0.25" in capsys.readouterr().out
    run = tmp_path / "run"
    (run / "checkpoints" / "stage-00001").mkdir(parents=True)
    (run / "metrics.jsonl").write_text((model / "metrics.jsonl").read_text())
    assert main(["inspect", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "unfinished run" in shown
    assert "stage-00001" in shown
    assert main(["inspect", str(tmp_path)]) == 2
    assert "is neither" in capsys.readouterr().err


def test_plan_says_whether_it_fits(data, capsys):
    arguments = ["plan", "--data", str(data), "--workers", "2", *CHOSEN]
    assert main([*arguments, "--memory-limit", "8GiB", "--json"]) == 0
    planned = printed(capsys)
    assert planned["fits"]
    assert planned["worker_bytes"] == max(step["worker_bytes"] for step in planned["passes"])
    assert {"tasks", "bytes_read", "worker_bytes", "driver_bytes"} <= planned["passes"][0].keys()
    assert not {"seconds", "time"} & (planned.keys() | planned["passes"][0].keys())
    assert main([*arguments, "--memory-limit", "8GiB"]) == 0
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 80
    assert main([*arguments, "--memory-limit", "20MiB"]) == 2
    captured = capsys.readouterr()
    assert "--memory-limit" in captured.err
    assert captured.err.count("\n") == 1
    assert "peak memory" in captured.out


def test_plan_counts_the_dashboard_only_where_workers_serve_one(data, capsys):
    def worker_bytes(*flags):
        assert main(["plan", "--data", str(data), "--workers", "1", "--json", *CHOSEN, *flags]) == 0
        return int(printed(capsys)["worker_bytes"])

    assert worker_bytes() == worker_bytes("--dashboard") == worker_bytes("--no-dashboard") + PAGES_BYTES
    assert main(["plan", "--data", str(data), "--scheduler", "threads", "--dashboard"]) == 2
    assert "scheduler 'threads' has no dashboard" in capsys.readouterr().err
