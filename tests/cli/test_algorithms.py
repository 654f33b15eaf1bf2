"""``distkern algorithms``, ``distkern runs``, and the help of an algorithm."""

import json
import re
import shutil
from dataclasses import make_dataclass

import numpy as np
import pytest

import distkern as dk
from distkern.choose.tuning.record import SearchFolder
from distkern.cli import runs
from distkern.cli.main import main
from distkern.cli.tables import by_parts, console
from distkern.core.common_parameters import CHOOSABLE
from distkern.core.text import held_out_note
from distkern.engine.checkpoint import CheckpointFolder
from distkern.maths.losses import find_loss
from distkern.runs import persistence
from distkern.runs.folder import begun_algorithm
from distkern.solvers.base import SOLVERS
from distkern.solvers.hyperparameters import hyperparameters_of


def printed(capsys, *arguments):
    capsys.readouterr()
    assert main(["algorithms", *arguments]) == 0
    return capsys.readouterr().out


def test_lists_every_algorithm_within_80_columns(capsys):
    text = printed(capsys)
    for name in ("auto", *SOLVERS):
        assert f"{name}: " in text
    assert max(len(line) for line in text.splitlines()) <= 80
    facts = json.loads(printed(capsys, "--json"))
    assert set(facts) == {"auto", *SOLVERS}
    assert {*facts.pop("auto")["chooses"]} == {*CHOOSABLE}
    for known in facts.values():
        assert {"what", "paper", "regulariser", "cost of a pass", "memory", "hyperparameters"} <= set(known)
        assert known["what"]
        assert known["paper"]
        for loss in known.get("loss", []):
            assert find_loss(loss).name == loss


@pytest.mark.parametrize("name", ["auto", *SOLVERS])
def test_tells_the_hyperparameters_of_one(name, capsys):
    text = printed(capsys, name)
    assert max(len(line) for line in text.splitlines()) <= 80
    for key, known in json.loads(printed(capsys, name, "--json"))["hyperparameters"].items():
        assert f"\n{key}" in text
        assert known["help"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    x = np.random.default_rng(0).standard_normal((300, 3)).astype(np.float32)
    signs = (x[:, 0] > 0).astype(int)
    dk.write_dataset(x, signs, folder / "signs.zarr", test_fraction=0.2)
    dk.write_dataset(x, 1000 * x[:, 0], folder / "numbers.zarr", test_fraction=0.2, task="regression")
    common = ["--scheduler", "synchronous"]
    jobs = {
        "signs/cells": ["signs", "cells", "search=quick", "probability=false"],
        "signs/good": ["signs", "newton", "stages=2", "n_landmarks=50"],
        "signs/bad": ["signs", "newton", "stages=2", "n_landmarks=1"],
        "signs/linear": ["signs", "pegasos", "stages=2"],
        "numbers/wide": ["numbers", "newton", "stages=2", "n_landmarks=50"],
    }
    for name, (data, algorithm, *settings) in jobs.items():
        given = [word for setting in settings for word in ("--set", setting)]
        arguments = [f"--data={folder}/{data}.zarr", f"--algorithm={algorithm}", f"--out={folder}/{name}"]
        assert main(["train", *arguments, *given, *common]) == 0
    (folder / "signs" / "unfinished").mkdir()
    history = (folder / "signs" / "bad" / "metrics.jsonl").read_text().splitlines()
    (folder / "signs" / "unfinished" / "metrics.jsonl").write_text(history[0] + "\n")
    return folder


def test_the_best_run_comes_first(folder, capsys):
    capsys.readouterr()
    assert main(["runs", str(folder / "signs"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    errors = [run["test_error"] for run in found]
    assert errors == sorted(errors)
    by_name = {run["run"]: run for run in found}
    assert set(by_name) == {"cells", "good", "bad", "linear", "unfinished"}
    last = json.loads((folder / "signs" / "good" / "metrics.jsonl").read_text().splitlines()[-1])
    assert by_name["good"]["test_error"] == last["test_error"]
    assert by_name["good"]["hyperparameters"]["n_landmarks"] == 50
    assert by_name["good"]["ended"]
    # of what was left open there is what was chosen
    chosen = dk.load_model(folder / "signs" / "cells")
    settled = {"gamma": chosen.gamma_, "C": chosen.cost_, "scale": chosen.places_.map.transform.kind}
    assert settled.items() <= by_name["cells"]["hyperparameters"].items()
    assert by_name["good"]["hyperparameters"]["gamma"] == dk.load_model(folder / "signs" / "good").gamma_
    assert by_name["unfinished"]["algorithm"] is by_name["unfinished"]["ended"] is None


def test_the_algorithm_of_an_unfinished_run_is_that_of_its_checkpoint_or_search(tmp_path, capsys):
    assert begun_algorithm(tmp_path) is None
    state = make_dataclass("State", ["stage"])(1)
    CheckpointFolder(tmp_path / "checkpoints", {"algorithm": "svrg"}).save(1, state, [], {}, {})
    assert begun_algorithm(tmp_path) == "svrg"
    assert main(["inspect", str(tmp_path)]) == 0
    assert re.search(r"^algorithm +svrg *$", capsys.readouterr().out, re.M)
    SearchFolder(tmp_path / "search" / "tune").begin({"algorithm": "dsg"})
    assert begun_algorithm(tmp_path / "search") == "dsg"


def test_the_table_fits_and_says_what_differs(folder, capsys):
    capsys.readouterr()
    assert main(["runs", str(folder / "signs")]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    lines = [line.split() for line in text.splitlines()]
    (at,) = (at for at, words in enumerate(lines) if "n_landmarks" in words)
    column = lines[at].index("n_landmarks")
    assert {words[0]: words[column] for words in lines[at + 2 : at + 4]} == {"good": "50", "bad": "1"}
    # of its own algorithm there is no other
    assert not [words for words in lines[at:] if words[:1] == ["linear"]]
    assert main(["runs", str(folder / "numbers")]) == 0
    text = capsys.readouterr().out
    last = json.loads((folder / "numbers" / "wide" / "metrics.jsonl").read_text().splitlines()[-1])
    assert "rmse" in text
    assert f"{last['test_rmse']:.6g}" in text
    assert "n_landmarks" not in text


def test_held_out_scores_of_real_targets_are_roots_in_their_unit(folder, capsys, monkeypatch):
    note = held_out_note(20.25, 0.45, is_real=True)
    assert note == "held-out RMSE: 4.5 ± 0.05 (squared error 20.25 ± 0.45)"
    assert held_out_note(0.5, 0.01, is_real=False) == "held-out log loss: 0.5 ± 0.01"
    monkeypatch.setattr(runs, "_score", lambda known: 20.25)
    assert main(["runs", str(folder / "numbers")]) == 0
    text = capsys.readouterr().out
    assert " 4.5 " in text
    assert "held-out: root mean squared error on held-out training rows" in text
    assert main(["runs", str(folder / "numbers"), "--json"]) == 0
    assert {run["score"] for run in json.loads(capsys.readouterr().out)} == {20.25}


def test_runs_are_ranked_by_the_score_that_chose_and_the_base_rate_is_a_row(folder, capsys, monkeypatch):
    models = folder / "chosen"
    given = [f"--data={folder}/signs.zarr", "--scheduler", "synchronous", "--set", "search=quick"]
    scores = {"worse": 0.5, "better": 0.2}
    for name in scores:
        assert main(["train", *given, f"--out={models}/{name}"]) == 0
    facts = persistence.read_description(models / "worse")

    def read(path):
        known = {**facts["chosen"], "held_out": [scores[path.name], 0.01]}
        return {**facts, "chosen": known}

    monkeypatch.setattr(persistence, "read_description", read)
    capsys.readouterr()
    assert main(["runs", str(models)]) == 0
    text = capsys.readouterr().out
    lines = [line.split() for line in text.splitlines() if line.strip()]
    assert [words[0] for words in lines[2:5]] == ["better", "worse", "base"]
    assert lines[2][1:4] == [facts["chosen"]["name"], "(auto)", "0.2"]
    share = max(facts["class_shares"])
    # the share is one of training rows
    assert lines[4][:7] == ["base", "rate", "-", lines[4][3], "-", f"{100 * (1 - share):.2f}", "%"]
    assert "log loss on held-out training rows; ranked by it" in " ".join(text.split())
    assert main(["runs", str(models), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["score"] for run in found] == sorted(scores.values())
    assert found[0]["base"]["error"] == pytest.approx(1 - share)


def test_each_target_of_a_folder_has_its_own_table(folder, capsys):
    for name in ("signs/good", "signs/bad", "numbers/wide"):
        shutil.copytree(folder / name, folder / "mixed" / name.partition("/")[2])
    capsys.readouterr()
    assert main(["runs", str(folder / "mixed")]) == 0
    of_numbers, of_signs = capsys.readouterr().out.split("target: ")[1:]
    if "rmse" not in of_numbers:
        of_numbers, of_signs = of_signs, of_numbers
    words = [line.split()[:2] for line in of_numbers.splitlines()]
    assert ["wide", "newton"] in words
    assert not any(one[:1] in (["good"], ["bad"], ["base"]) for one in words)
    assert "test error" in of_signs
    assert "%" not in of_numbers


def test_a_column_for_each_hyperparameter_however_many_there_are(capsys):
    names = [f"hyperparameter_{place}" for place in range(9)]
    rows = [[f"run{row}", *(f"value{row}{place}" for place in range(9))] for row in range(3)]
    for part in by_parts("run", names, rows):
        console().print(part)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert all(name in text.split() for name in names)
    assert all(cell in text.split() for row in rows for cell in row)
    # every part says which run a line belongs to
    assert text.count("run0") == text.count("\n run ") + text.startswith(" run ") >= 3


def test_folders_without_runs_are_refused(folder, capsys):
    assert main(["runs", str(folder / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err
    (folder / "empty").mkdir()
    assert main(["runs", str(folder / "empty")]) == 2
    assert "holds no model" in capsys.readouterr().err


def test_a_damaged_model_is_named(folder, capsys):
    copy = folder / "damaged" / "model"
    copy.mkdir(parents=True)
    for name in ("metrics.jsonl", "model.json"):
        (copy / name).write_text((folder / "signs" / "good" / name).read_text().replace("newton", "newtom"))
    assert main(["runs", str(folder / "damaged")]) != 0
    assert "damaged/model" in capsys.readouterr().err


@pytest.mark.parametrize("name", SOLVERS)
def test_help_lists_what_set_takes(name, capsys):
    capsys.readouterr()
    assert main(["train", "--algorithm", name, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"Hyperparameters of {name}" in text
    for key in hyperparameters_of(SOLVERS[name]):
        assert f"\n  {key}=" in text
    assert main(["train", "--help"]) == 0
    assert "Hyperparameters of" not in capsys.readouterr().out


def test_help_of_an_unknown_algorithm(capsys):
    assert main(["train", "--algorithm", "celz", "--help"]) == 2
    assert "did you mean 'cells'?" in capsys.readouterr().err
