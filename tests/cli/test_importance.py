"""How much columns matter is what permuting them costs, measured on rows that are held out."""

import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas
import pytest
from scipy.sparse import random as random_sparse

from distkern import NewtonRegressor, PegasosClassifier
from distkern.cli.job import make_recipe, resolve_job
from distkern.cli.main import main
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import SparseRows, values_at, with_values
from distkern.core.types import Block
from distkern.data.dataset import open_dataset
from distkern.data.ingest import shard, write_dataset
from distkern.engine.executors import open_executor
from distkern.passes import Extent
from distkern.runs import importance, run
from distkern.runs.algorithms import load_model
from distkern.runs.importance import ExplanationEffort, measured_importances
from distkern.show.explanation import Explanation

CELLS = ["--algorithm", "cells", "--set", "search=none"]
NEWTON = ["--algorithm", "newton", "--set", "n_landmarks=60", "--set", "gamma=0.2", "--set", "nu=1e-4"]
#: shuffles of each of four columns
REPEATS = 5
COLUMNS = ["strong", "zip", "kind", "noise"]
#: of a job that says nothing else
SEED = 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A strong column, one without signal but of large variance, a category of many values and one of few."""
    made = tmp_path_factory.mktemp("table")
    generator = np.random.default_rng(0)
    strong, zips = generator.normal(size=1500), generator.integers(0, 50, 1500)
    effects = generator.normal(size=50)
    frame = pandas.DataFrame({"noise": 1000 * generator.normal(size=1500), "strong": strong})
    frame["zip"] = [f"z{code}" for code in zips]
    kinds = generator.integers(0, 3, 1500)
    frame["kind"] = np.array(["round", "square", "flat"])[kinds]
    score = 2.5 * strong + effects[zips] + 0.8 * (kinds - 1)
    tasks = (("classes", np.where(score > 0, "a", "b"), "classification"), ("numbers", score, "regression"))
    for name, target, task in tasks:
        frame.assign(y=target).to_csv(made / f"{name}.csv", index=False)
        shard(made / f"{name}.csv", made / f"{name}.zarr", target="y", test_fraction=0.3, task=task)
    return made


def naive(model, split):
    """The same by NumPy: permuted tables of encoded rows, and predictions of the fitted model."""
    drawn = importance._drawn(split, ExplanationEffort(SEED))
    starts = np.cumsum([0, *split.block_rows])
    rows = np.concatenate([starts[block] + places for block, places in drawn.items()])
    X, labels = split[:][rows], np.asarray(split.labels)[rows]
    if isinstance(labels[0], str):
        codes = np.searchsorted(model.classes_, labels)

    def lost(rows):
        if model.task == "regression":
            return np.mean((model.predict(rows) - labels) ** 2) / np.var(labels)
        if not hasattr(model, "predict_proba"):
            margins = np.where(codes == 1, 1, -1) * model.decision_function(rows)
            return np.mean(np.maximum(1 - margins, 0) ** 2)
        return -np.log(model.predict_proba(rows)[np.arange(len(codes)), codes]).mean()

    found, first = {}, 0
    for column in split.dataset.table.columns:
        own = slice(first, first := first + len(column.features))
        generator, costs = stream(SEED, Purpose.IMPORTANCE, own.start), []
        for _ in range(REPEATS):
            order = generator.permutation(len(X))
            other = X.copy()
            other[:, own] = X[order, own]
            costs.append(lost(other) - lost(X))
        found[column.name] = np.mean(costs), np.std(costs)
    return found


@pytest.mark.parametrize(
    ("data", "arguments", "loss"),
    [
        ("classes", [*CELLS, "--set", "probability=false"], "squared_hinge loss"),
        pytest.param("classes", CELLS, "log loss", marks=pytest.mark.slow),
        ("classes", NEWTON, "log loss"),
        ("numbers", CELLS, "squared error relative to the variance"),
    ],
)
def test_columns_are_in_the_order_of_what_they_cost(data, arguments, loss, folder, tmp_path):
    where = ["--data", str(folder / f"{data}.zarr"), "--scheduler", "synchronous"]
    assert main(["train", *where, "--out", str(tmp_path / "m"), *arguments]) == 0
    model, split = load_model(tmp_path / "m"), open_dataset(folder / f"{data}.zarr").test
    found = model.importances_
    assert (found.loss, found.split, found.n_rows, found.left_out) == (loss, "test", split.n_rows, 0)
    assert [each.column for each in found.columns] == COLUMNS
    costs = {each.column: each.loss for each in found.columns}
    assert costs["kind"] > 2 * abs(costs["noise"])
    expected = naive(model, split)
    means, spreads = ({name: pair[place] for name, pair in expected.items()} for place in (0, 1))
    assert costs == pytest.approx(means, rel=1e-6, abs=1e-9)
    # losses are of single precision
    assert {one.column: one.spread for one in found.columns} == pytest.approx(spreads, rel=1e-4, abs=1e-6)
    page = (tmp_path / "m" / "report.html").read_text(encoding="utf-8")
    assert f"Increase in {loss} when a column is shuffled, on {split.n_rows} held-out test rows." in page
    assert "\N{PLUS-MINUS SIGN}: standard deviation over shuffles." in page


@pytest.mark.parametrize(("share", "copies"), [(0.997, ("told",)), (0.7, ())])
def test_a_column_that_nearly_is_the_target_is_told_of(share, copies, tmp_path, capsys):
    generator = np.random.default_rng(0)
    y = generator.random(4000) < 0.1
    frame = pandas.DataFrame({"strong": generator.normal(size=4000) + 2.0 * y})
    told = np.where(generator.random(4000) < share, y, generator.random(4000) < 0.1)
    frame["told"] = np.where(told, "claim", "none")
    frame["y"] = np.where(y, "yes", "no")
    frame.to_csv(tmp_path / "d.csv", index=False)
    path, out = str(tmp_path / "d.zarr"), str(tmp_path / "m")
    assert main(["shard", str(tmp_path / "d.csv"), "--target", "y", "--out", path]) == 0
    assert main(["train", "--data", path, "--out", out, "--scheduler", "synchronous", *NEWTON]) == 0
    warning = (
        "'told' alone nearly predicts the target: is it known when predictions are made? If not, leave it out"
    )
    assert load_model(out).importances_.copies == copies
    assert (warning in capsys.readouterr().err) == bool(copies)
    assert ("nearly predicts the target" in (tmp_path / "m" / "report.html").read_text()) == bool(copies)


@pytest.mark.slow
def test_figures_are_the_same_on_workers(folder, tmp_path, cluster_for_jobs):
    found = []
    for name, scheduler in (("here", "synchronous"), ("there", cluster_for_jobs.address)):
        out, data = tmp_path / name, str(folder / "classes.zarr")
        arguments = ["--scheduler", scheduler]
        assert main(["train", "--data", data, "--out", str(out), *NEWTON, *arguments]) == 0
        found.append(load_model(out).importances_)
    assert found[0] == found[1] is not None


def test_of_many_sparse_columns_those_that_vary_most_are_permuted(tmp_path):
    X = random_sparse(300, 50, 0.2, format="csr", random_state=0, dtype=np.float32)
    X = X.multiply(np.where(np.arange(50) % 2, 0.01, 1.0)).tocsr().astype(np.float32)
    y = (np.asarray(X[:, 4].todense()).ravel() > 0).astype(int)
    split = write_dataset([(X, y)], tmp_path / "d.zarr", scale="none").train
    model = PegasosClassifier(random_state=0).fit(split)
    with open_executor("synchronous") as executor:
        found = measured_importances(model.model_, split, executor)
        executor.machine = replace(executor.machine, memory_limit=2**20)
        told = []
        too_much = measured_importances(model.model_, split, executor, (told.append,))
    assert (len(found.columns), found.left_out) == (30, 20)
    assert {f"column {place + 1}" for place in range(0, 50, 2)} < {each.column for each in found.columns}
    assert found.columns[0].column == "column 5"
    assert not too_much.columns
    assert too_much.reason.endswith("MiB, and the memory limit is 1.0 MiB")
    assert [event["text"] for event in told] == [f"importances were not measured: {too_much.reason}"]


def test_what_does_not_fit_is_left_out_and_said_so(folder, tmp_path, monkeypatch, capsys):
    job = ["--data", str(folder / "classes.zarr"), *NEWTON, "--scheduler", "synchronous"]

    # as if the sample took more than there is
    cost = importance.combining_cost
    monkeypatch.setattr(
        importance, "combining_cost", lambda *given: replace(cost(*given), workspace_bytes=2**34)
    )
    limit = ["--memory-limit", "1GiB"]
    assert main(["train", *job, *limit, "--out", str(tmp_path / "m")]) == 0
    said = "importances were not measured: that takes 16"
    assert said in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "m")]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    page = (tmp_path / "m" / "report.html").read_text(encoding="utf-8")
    assert said[1:] in page


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"targets": np.zeros(3)}, "all targets of the rows are equal"),
        ({"features": np.full((3, 2), np.nan)}, "the rows hold NaN or infinity"),
        ({"targets": np.array([0.0, 1.0, np.nan])}, "the loss is not finite"),
    ],
)
def test_the_reason_is_kept(change, reason, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    split = write_dataset([(X, X[:, 0])], tmp_path / "d.zarr", scale="none", task="regression").train
    model = NewtonRegressor(features="linear", random_state=0).fit(split)
    rows = replace(Block(X[:3].astype(np.float32), X[:3, 0]), **change)
    with open_executor("synchronous") as executor, pytest.MonkeyPatch.context() as patch:
        patch.setattr(importance, "_taken", lambda block, drawn: rows)
        found = measured_importances(model.model_, split, executor)
        model._model = replace(model.model_, importances=found)
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").importances_ == Explanation((), "", 0, "train", reason=reason)


_KILLED = """
import os, signal, sys
from distkern.cli.main import main
from distkern.runs import importance
permuted = importance._Sample.permuted

def killed(sample, places, *how):
    if places == (1,):
        os.kill(os.getpid(), signal.SIGKILL)
    return permuted(sample, places, *how)

importance._Sample.permuted = killed
main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [CELLS, NEWTON], ids=["cells", "newton"])
def test_a_run_that_is_killed_meanwhile_is_resumed_to_the_same_bits(algorithm, folder, tmp_path):
    job = ["train", "--data", str(folder / "classes.zarr"), *algorithm, "--scheduler", "synchronous"]
    out = ["--out", str(tmp_path / "killed")]
    assert main([*job, "--out", str(tmp_path / "whole")]) == 0
    ended = subprocess.run([sys.executable, "-c", _KILLED, *job, *out], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "model.json").exists()
    assert main([*job, *out, "--resume"]) == 0
    whole, resumed = (load_model(tmp_path / name) for name in ("whole", "killed"))
    assert resumed.importances_ == whole.importances_ is not None
    split = open_dataset(folder / "classes.zarr").test
    np.testing.assert_array_equal(resumed.predict_proba(split), whole.predict_proba(split))
    names = [sorted(entry.name for entry in (tmp_path / name).iterdir()) for name in ("whole", "killed")]
    assert names[0] == names[1]


def test_sparse_rows_are_permuted_and_set_as_dense_ones_are():
    generator = np.random.default_rng(0)
    dense = generator.normal(size=(20, 6)) * (generator.random((20, 6)) < 0.4)
    sparse, places = SparseRows.of_dense(dense), (1, 4)
    np.testing.assert_array_equal(values_at(sparse, places), values_at(dense, places))
    for values in (values_at(dense, places)[generator.permutation(20)], np.array([0.0, 2.0])):
        found = with_values(sparse, places, values)
        assert isinstance(found, SparseRows)
        assert np.all(found.data)
        np.testing.assert_array_equal(found.toarray(), with_values(dense, places, values))


def test_planned_peaks_cover_them(folder, tmp_path, monkeypatch):
    data = folder / "classes.zarr"
    job = resolve_job(None, {"data": str(data), "algorithm": NEWTON[1]}, NEWTON[3::2])
    recipe, test = make_recipe(job), open_dataset(data).test
    without, planned = (
        run.plan(recipe, open_dataset(data).train, test=test, scheduler="local", workers=2, importances=one)
        for one in (False, True)
    )
    steps, plan_run = [], importance.plan_run
    monkeypatch.setattr(
        importance, "plan_run", lambda outlines, *how: steps.extend(outlines) or plan_run(outlines, *how)
    )
    where = ["--data", str(data), "--out", str(tmp_path / "m"), "--scheduler", "synchronous"]
    assert main(["train", *where, *NEWTON]) == 0
    [taken] = plan_run(steps, {"test": Extent.of(test)}, planned.machine)
    assert without.driver_bytes < taken.driver_bytes <= planned.driver_bytes
    assert planned.passes[-1].name == "importances"
    assert planned.driver_bytes == max(step.driver_bytes for step in planned.passes)
