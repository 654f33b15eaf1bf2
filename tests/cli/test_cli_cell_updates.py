"""``distkern update`` of machines in cells, from the command line."""

import json
import shutil

import numpy as np
import pytest

from cell_problems import rows
from distkern.cli.main import main
from distkern.data.ingest import write_dataset
from distkern.runs.algorithms import load_model
from runs import begun, interrupted_after, plan

HERE = ("--scheduler", "synchronous")
SETTINGS = ("--set", "search=none", "--set", "max_cell_rows=150", "--seed", "3")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model of 2,700 rows, and data sets of these and of new rows in a corner."""
    folder = tmp_path_factory.mktemp("updates")
    X, y = rows(3000)
    write_dataset([(X, y)], folder / "old.zarr", test_fraction=0.1, scale="none", rows_per_shard=900)
    Z, t = rows(4000, seed=1)
    corner = (Z[:, 0] > 1.2) & (Z[:, 1] > 0.5)
    write_dataset([(Z[corner], t[corner])], folder / "new.zarr", test_fraction=0.2, scale="none")
    given = ("--data", str(folder / "old.zarr"), "--algorithm", "cells", "--set", "probability=true")
    assert main(["train", *given, "--out", str(folder / "m"), *SETTINGS, *HERE]) == 0
    return folder


@pytest.fixture(scope="module")
def whole(made):
    """The model after an update."""
    assert update(made, "--out", str(made / "whole")) == 0
    return load_model(made / "whole")


def update(made, *more):
    paths = (str(made / name) for name in ("new.zarr", "old.zarr"))
    return main(["update", str(made / "m"), "--data", *paths, *HERE, *more])


def test_an_update_solves_the_cells_with_new_rows_alone(made, tmp_path, capsys):
    before = load_model(made / "m")
    assert update(made, "--out", str(tmp_path / "m2"), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    after = load_model(tmp_path / "m2")
    same = (before.machines_ == after.machines_[: len(before.machines_)]).all(axis=1)
    assert 0 < same.sum() < len(same)
    for bucket in np.flatnonzero(same).tolist():
        then, now = before.parts_.load(bucket), after.parts_.load(bucket)
        assert all(np.array_equal(then[name], now[name]) for name in then)
    assert found["update"]["after"]["error"] <= found["update"]["before"]["error"]
    assert found["update"]["rows"] < 200
    assert found["cells"] == after.n_cells_
    # the new rows have test rows, so those of the old ones are not measured
    assert [line["test_error"] is None for line in after.history_] == [True, True, False]
    np.testing.assert_array_equal(before.sigmoids_, after.sigmoids_)
    assert not {"moved", "checkpoints"} & {entry.name for entry in (tmp_path / "m2").iterdir()}


def test_without_new_test_rows_the_old_ones_are_measured(made, tmp_path, capsys):
    old, new = str(made / "old.zarr"), str(tmp_path / "new.zarr")
    Z, t = rows(100, seed=7)
    write_dataset([(Z, 1 - t)], new, scale="none")
    assert main(["update", str(made / "m"), "--data", new, old, "--out", str(tmp_path / "m2"), *HERE]) == 0
    told = load_model(tmp_path / "m2").history_[-1]["test_error"]
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "m2"), "--data", old, "--json"]) == 0
    assert told == pytest.approx(json.loads(capsys.readouterr().out)["error"])
    assert 0.0 < told < 0.5


@pytest.mark.slow
def test_an_updated_model_takes_the_place_of_the_first_and_is_updated_again(made, tmp_path):
    shutil.copytree(made / "m", tmp_path / "m")
    Z, t = rows(100, seed=7)
    write_dataset([(Z, t)], tmp_path / "more.zarr", scale="none")
    data = [str(made / "old.zarr"), str(made / "new.zarr")]
    for splits in (data, [*data, str(tmp_path / "more.zarr")]):
        assert main(["update", str(tmp_path / "m"), "--data", *splits, *HERE]) == 0
    assert [entry.name for entry in tmp_path.iterdir() if entry.name[0] == "."] == []
    model = load_model(tmp_path / "m")
    assert len(model.updates_) == 2
    assert model.score(Z, t) > 0.95


def test_old_rows_are_asked_for(made, capsys):
    assert main(["update", str(made / "m"), "--data", str(made / "new.zarr"), *HERE]) == 2
    assert "--data OLD.zarr NEW.zarr" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    ["move", "solve", *(pytest.param(name, marks=pytest.mark.slow) for name in ("move new rows", "cut"))],
)
def test_an_update_that_is_interrupted_leaves_the_model_and_goes_on(made, whole, tmp_path, name):
    before = load_model(made / "m").machines_
    with interrupted_after(name):
        assert update(made, "--out", str(tmp_path / "m2")) == 130
    np.testing.assert_array_equal(load_model(made / "m").machines_, before)
    assert update(made, "--out", str(tmp_path / "m2"), "--resume") == 0
    np.testing.assert_array_equal(whole.machines_, load_model(tmp_path / "m2").machines_)


def test_the_plan_of_an_update_has_its_passes(made):
    from distkern.data.dataset import open_dataset

    splits = [open_dataset(made / name).train for name in ("old.zarr", "new.zarr")]
    model, new = begun(load_model(made / "m"), splits)
    passes = [one.name for one in plan(model, new[0], workers=2, scheduler="local").passes]
    assert [name for name in passes if name not in ("drift", "evaluate")] == [
        "move new rows",
        "move",
        "cut",
        "solve",
    ]
    assert passes[:2] == ["drift", "evaluate"]
