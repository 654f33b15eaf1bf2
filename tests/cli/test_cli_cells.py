"""What a user sees of machines in cells: what was chosen, and which columns matter."""

import html
import json
import math
import re
from dataclasses import asdict

import numpy as np
import pytest

from distkern.cli.main import main
from distkern.data.ingest import write_dataset
from distkern.runs.algorithms import load_model
from distkern.solvers import cells

NAMES = ("noise", "size & <shape>", "more noise", "age", "the rest")


@pytest.mark.parametrize("named", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_choice_and_the_columns_that_matter_are_shown_everywhere(named, tmp_path, capsys, monkeypatch):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 5)).astype(np.float32)
    y = (np.sin(2 * X[:, 1]) + X[:, 3] > 0).astype(int)
    # large columns of noise: the size of a column is not its importance
    X *= np.float32([30, 1, 30, 3, 30])
    if named:
        table = np.column_stack([X, y])
        np.savetxt(tmp_path / "d.csv", table, delimiter=",", header=",".join([*NAMES, "y"]), comments="")
        assert (
            main(["shard", str(tmp_path / "d.csv"), "--target", "y", "--out", str(tmp_path / "d.zarr")]) == 0
        )
    else:
        write_dataset([(X, y)], tmp_path / "d.zarr")
    arguments = ["--algorithm", "cells", "--set", "search=quick", "--scheduler", "synchronous"]
    assert main(["train", "--data", str(tmp_path / "d.zarr"), "--out", str(tmp_path / "m"), *arguments]) == 0
    shown = capsys.readouterr().err.splitlines()
    model = load_model(tmp_path / "m")
    found = model.importances_
    assert (found.split, found.n_rows, found.left_out) == ("train", 600, 0)
    names = NAMES if named else tuple(f"column {place + 1}" for place in range(5))
    order, costs = zip(*((each.column, each.loss) for each in found.columns), strict=True)
    assert set(order) == set(names)
    assert set(order[:2]) == {names[1], names[3]}
    assert costs[1] > 2 * costs[2]

    notes = model.history_[-1]["notes"]
    assert [line for line in shown if line in notes] == notes
    assert json.loads((tmp_path / "m" / "metrics.jsonl").read_text().splitlines()[-1])["notes"] == notes
    report = (tmp_path / "m" / "report.html").read_text()
    section = report.split("<h2>Feature importance</h2>")[1].split("</table>")[0]
    assert f"{found.summary[1:]}." in section
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td>.*?width:(.*?)%", section)
    assert [html.unescape(name) for name, _, _ in rows] == list(order)
    assert [float(cost.partition(" ")[0]) for _, cost, _ in rows] == pytest.approx(costs, abs=1e-3 * costs[0])
    # the longest bar and its spread fill the width
    left, width = map(float, re.search(r"left:(.*?)%;width:(.*?)%", section).groups())
    assert left < float(rows[0][2]) < left + width == pytest.approx(100, abs=0.2)
    assert all(html.escape(note) in report for note in notes)

    assert main(["inspect", str(tmp_path / "m")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"importance {order[0]} {found.texts[0][2]}, {order[1]}" in told
    assert "training rows)" in told
    learned = getattr(model, "metric_importances_", None)
    assert ("weight in the learned metric" in told) == (learned is not None)
    assert all(note in told for note in notes)
    assert main(["inspect", str(tmp_path / "m"), "--json"]) == 0
    # lists stand for tuples
    assert json.loads(capsys.readouterr().out)["importances"] == json.loads(json.dumps(asdict(found)))


@pytest.mark.slow
def test_a_resumed_run_says_what_was_chosen_before(tmp_path, capsys, monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    write_dataset([(X, (X[:, 0] > 0).astype(int))], tmp_path / "d.zarr")
    train = ["train", "--data", str(tmp_path / "d.zarr"), "--algorithm", "cells", "--set", "search=quick"]
    train += ["--scheduler", "synchronous", "--out"]
    assert main([*train, str(tmp_path / "whole")]) == 0
    notes = load_model(tmp_path / "whole").history_[-1]["notes"]
    capsys.readouterr()

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    # at the end of the search there is no checkpoint yet
    with monkeypatch.context() as patched:
        patched.setattr(cells, "CellsState", interrupted)
        assert main([*train, str(tmp_path / "m")]) == 130
    assert "there is no checkpoint yet" in capsys.readouterr().err
    with monkeypatch.context() as patched:
        patched.setattr(cells.Cells, "_solve", interrupted)
        assert main([*train, str(tmp_path / "m")]) == 130
    first = capsys.readouterr().err.splitlines()
    assert main([*train, str(tmp_path / "m"), "--resume"]) == 0
    second = capsys.readouterr().err.splitlines()
    # how many cells there are, and their score, is known at the end
    for shown, told in ((first, notes[:-2]), (second, notes)):
        assert [line for line in shown if line in notes] == told
    assert {entry.name for entry in (tmp_path / "m").iterdir()} == {
        *("model.json", "arrays", "machines", "metrics.jsonl", "report.html")
    }
    resumed, whole = load_model(tmp_path / "m"), load_model(tmp_path / "whole")
    assert resumed.history_[-1]["notes"] == notes
    assert resumed.importances_ == whole.importances_ is not None


def test_the_advice_of_a_plan_is_taken_by_the_next_one(tmp_path, capsys):
    """It was ever smaller cells, below what any need."""
    X = np.random.default_rng(0).normal(size=(2400, 3)).astype(np.float32)
    write_dataset([(X, (X[:, 0] > 0).astype(int))], tmp_path / "d.zarr")
    plan = ["plan", "--data", str(tmp_path / "d.zarr"), "--algorithm", "cells", "--memory-limit"]
    assert main([*plan, "100MiB"]) == 2
    told = capsys.readouterr().err
    assert "max_cell_rows=" not in told
    least = float(re.search(r"a process needs at least ([\d.]+) MiB with any max_cell_rows", told)[1])
    limit = f"{math.ceil(least) + 1}MiB"
    assert main([*plan, limit]) == 2
    advice = re.search(r"smaller cells \((.*?)\)", capsys.readouterr().err)
    assert main([*plan, limit, *advice[1].split()]) == 0


def test_the_metric_names_columns_and_says_that_a_trend_is_left_out(tmp_path, capsys):
    generator = np.random.default_rng(0)
    codes, sizes = generator.integers(0, 5, 600), generator.normal(size=600)
    wave = generator.normal(size=600)
    lines = [f"c{code},{size},{x}" for code, size, x in zip(codes, sizes, wave, strict=True)]
    y = 5 * sizes + np.sin(3 * wave)
    rows = "\n".join(f"{line},{target}" for line, target in zip(lines, y, strict=True))
    (tmp_path / "d.csv").write_text(f"shop,size,wave,y\n{rows}\n")
    shard = ["--target", "y", "--task", "regression", "--out", str(tmp_path / "d.zarr")]
    assert main(["shard", str(tmp_path / "d.csv"), *shard]) == 0
    given = {"search": "none", "metric": "diagonal", "scale": "standard", "trend": "linear"}
    settings = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
    how = ["--algorithm", "cells", "--scheduler", "synchronous", *settings]
    assert main(["train", "--data", str(tmp_path / "d.zarr"), "--out", str(tmp_path / "m"), *how]) == 0
    capsys.readouterr()
    assert main(["inspect", str(tmp_path / "m")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    # the size has only a slope, and the shop five features
    assert re.search(r"weight in the learned metric wave [\d.]+ %, (size|shop) [\d.]+ %, ", told)
    assert "(of what a linear trend leaves)" in told
