"""Files in a model's folder that distkern did not write: no command replaces or removes them."""

import json
from pathlib import Path

import numpy as np
import pytest

from cluster_processes import settings_of
from distkern import NewtonRegressor
from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.runs.algorithms import load_model
from distkern.runs.folder import check_folder

SQUARE = ["--algorithm", "newton", "--scheduler", "synchronous", *settings_of(features="linear")]


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 3)).astype(np.float32)
    return X, X.sum(axis=1)


@pytest.fixture
def folder(rows, tmp_path, monkeypatch):
    """A model of arrays, a data set of new rows, and the current folder."""
    monkeypatch.chdir(tmp_path)
    X, y = rows
    NewtonRegressor(features="linear", random_state=0).fit(X, y).save("m")
    write_dataset([(X[:100], y[:100] + 1)], "new.zarr", task="regression", scale="none")
    return tmp_path


def content(folder):
    """The bytes of all files below a folder, by name."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("name", ["notes.txt", ".gitignore", "today.zarr", "report.html", "machines"])
def test_an_update_refuses_a_folder_that_holds_other_things(folder, name, capsys):
    theirs = folder / "m" / name
    if theirs.suffix in (".zarr", ""):
        theirs.mkdir()
        theirs = theirs / "rows"
    theirs.write_text("mine")
    before = content(folder)
    assert main(["update", "m", "--data", "new.zarr"]) == 2
    assert f"holds files that are not a model's ({name!r}); move them away, or give --out M2" in (
        capsys.readouterr().err
    )
    assert content(folder) == before


def test_what_comes_while_a_model_is_updated_stays(folder, monkeypatch, capsys):
    """It is looked for again when the new model is about to take its place, and the update is not lost."""
    from distkern.runs import updating

    def begun(*given):
        (folder / "m" / "notes.txt").write_text("mine")
        return own(*given)

    own = updating.update_recipe
    with monkeypatch.context() as patched:
        patched.setattr(updating, "update_recipe", begun)
        assert main(["update", "m", "--data", "new.zarr"]) == 2
    assert "('notes.txt')" in capsys.readouterr().err
    (folder / "m" / "notes.txt").rename("notes.txt")
    assert load_model("m").updates_ == ()
    assert main(["update", "m", "--data", "new.zarr", "--resume"]) == 0
    assert load_model("m").updates_[-1]["rows"] == 100
    assert {path.name for path in folder.iterdir()} == {"m", "new.zarr", "notes.txt"}


def test_files_of_a_job_and_of_a_search_stay(folder, rows):
    kept = {
        "job.json": "{}",
        "log.jsonl": "a line\n",
        "tune/search.json": json.dumps({"encoding-type": "distkern-search"}),
        "tune/trials/0000-0-0.json": "{}",
        "tune/mine.txt": "mine",
    }
    (folder / "m" / "tune" / "trials").mkdir(parents=True)
    for name, text in kept.items():
        (folder / "m" / name).write_text(text)
    # no process trains to it, whatever its record says
    assert main(["update", "m", "--data", "new.zarr"]) == 0
    assert load_model("m").updates_[-1]["rows"] == 100
    assert {name: (folder / "m" / name).read_text() for name in kept} == kept
    model = NewtonRegressor(features="linear", random_state=0).fit(*rows)
    before = content(folder)
    with pytest.raises(InputError, match=r"m holds a finished model \(.*job\.json.*give overwrite=True"):
        model.save("m")
    assert content(folder) == before
    model.save("m", overwrite=True)
    assert load_model("m").updates_ == ()
    assert {name: (folder / "m" / name).read_text() for name in kept} == kept


def test_a_model_is_not_saved_over_a_description_of_something_else(folder, rows):
    model = NewtonRegressor(features="linear", random_state=0).fit(*rows)
    for text in ('{"model": "mine"}', "no JSON"):
        theirs = folder / "web"
        theirs.mkdir(exist_ok=True)
        (theirs / "model.json").write_text(text)
        with pytest.raises(InputError, match=r"web holds files that are not a model's \('model\.json'\)"):
            model.save("web", overwrite=True)
        assert content(theirs) == {"model.json": text.encode()}
    # nor among the files of a user, with or without a model
    (folder / "m" / "notes.txt").write_text("mine")
    Path("texts").mkdir()
    Path("texts/a.txt").write_text("mine")
    before = content(folder)
    for place in ("m", "texts"):
        with pytest.raises(InputError, match=r"not a model's .*; save the model to another folder"):
            model.save(place, overwrite=True)
    assert content(folder) == before
    # a folder that holds a saved model alone is replaced
    model.save("n")
    model.save("n")


def test_a_run_is_not_saved_over(folder, rows):
    assert (
        main(
            [
                "train",
                "--data",
                "new.zarr",
                "--out",
                "r",
                "--algorithm",
                "newton",
                "--scheduler",
                "synchronous",
            ]
        )
        == 0
    )
    model, before = load_model("m"), content(folder / "r")
    with pytest.raises(InputError, match=r"r holds a finished model \(metrics\.jsonl, report\.html\)"):
        model.save("r")
    assert content(folder / "r") == before
    model.save("r", overwrite=True)
    assert not (folder / "r" / "report.html").exists()


def test_links_stay_links(folder, rows):
    Path("m").rename("v1")
    Path("current").symlink_to("v1")
    assert main(["update", "current", "--data", "new.zarr"]) == 0
    assert Path("current").is_symlink()
    assert load_model("v1").updates_[-1]["rows"] == 100
    NewtonRegressor(features="linear", random_state=0).fit(*rows).save("current", overwrite=True)
    Path("today.zarr").symlink_to("new.zarr")
    write_dataset([rows], "today.zarr", task="regression", overwrite=True)
    assert Path("current").is_symlink()
    assert Path("today.zarr").is_symlink()
    assert load_model("v1").updates_ == ()
    assert {path.name for path in folder.iterdir()} == {"v1", "current", "new.zarr", "today.zarr"}


@pytest.mark.parametrize(
    "name", ["model.json", "metrics.jsonl", "report.html", "cancel", "arrays/0", "checkpoints/last.pt"]
)
def test_names_of_a_run_are_not_enough_to_be_its_files(folder, name):
    theirs = folder / "project" / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text("mine")
    for resume in (False, True):
        with pytest.raises(InputError, match=f"holds files that are not a model's .'{name.split('/')[0]}'"):
            check_folder(folder / "project", resume=resume)


@pytest.mark.parametrize("name", ["search", "moved", "held-out", "passes", "tune"])
def test_folders_that_a_run_clears_are_its_own(folder, name, capsys):
    theirs = folder / "project" / name / "mine"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("mine")
    assert main(["train", "--data", "new.zarr", "--out", "project", *SQUARE]) == 2
    assert f"holds files that are not a model's ({name!r})" in capsys.readouterr().err
    assert content(folder / "project") == {f"{name}/mine": b"mine"}


def test_a_data_set_with_other_things_is_not_overwritten(folder, rows, capsys):
    (folder / "new.zarr" / "notes.txt").write_text("mine")
    before = content(folder / "new.zarr")
    with pytest.raises(InputError, match=r"other things than a data set \('notes.txt'\), so it is not over"):
        write_dataset([rows], "new.zarr", task="regression", overwrite=True)
    assert content(folder / "new.zarr") == before


def test_the_demo_overwrites_its_own_model_only(folder, capsys):
    (folder / "m" / "notes.txt").write_text("mine")
    (folder / "m").rename("model")
    assert main(["demo", "--out", ".", "--overwrite"]) == 2
    assert "holds files that are not a model's ('notes.txt')" in capsys.readouterr().err
    assert (folder / "model" / "notes.txt").read_text() == "mine"
