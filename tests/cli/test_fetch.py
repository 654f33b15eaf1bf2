"""A fetched model is whole, whatever it consists of, and its pages are written and not copied."""

import json
import socket

import numpy as np
import pytest

from distkern.cli.job import resolve_job
from distkern.cli.main import main
from distkern.cli.train import train_described
from distkern.cli.tuning import JOBS, tune_described
from distkern.data.dataset import open_dataset
from distkern.data.ingest import write_dataset
from distkern.jobs.driver import drive
from distkern.jobs.folder import JobFolder, JobIndex
from distkern.jobs.record import Record
from distkern.runs.algorithms import load_model

CELLS = {"max_cell_rows": 60, "kernel": "rbf", "gamma": 0.5, "C": 1.0, "scale": "none", "search": "none"}


@pytest.fixture
def data(tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 3)).astype(np.float32)
    write_dataset([(X, (X[:, 0] > 0).astype(int))], tmp_path / "d.zarr", scale="none", test_fraction=0.2)
    return tmp_path / "d.zarr"


def finished(data, algorithm, params, search=""):
    """A job j-1 whose driver has run, in the folder m."""
    out = data.parent / "m"
    (data.parent / "job.toml").write_text(search)
    flags = {"algorithm": algorithm, "data": str(data), "out": str(out), "scheduler": "tcp://h:1"}
    job = resolve_job(data.parent / "job.toml", flags, [f"{name}={value}" for name, value in params.items()])
    description = job.model_dump() | ({JOBS: 1} if search else {})
    JobFolder(out).write(Record("j-1", algorithm, str(data), str(out), description=description))
    JobIndex(data.parent).add("j-1", out)
    assert drive(str(out), description, tune_described if search else train_described)["error"] == ""


def fetch(folder, name="fetched"):
    return main(["fetch", "j-1", "--runs", str(folder), "--out", str(folder / name)])


def test_cells_are_fetched_with_their_machines(data, tmp_path, monkeypatch):
    finished(data, "cells", CELLS)
    assert fetch(tmp_path) == 0
    # what came meanwhile is not replaced, nor is a link
    with monkeypatch.context() as patched:
        patched.setattr(
            "distkern.cli.fetch._write_pages", lambda *_: (tmp_path / "late" / "a").mkdir(parents=True)
        )
        assert fetch(tmp_path, "late") == 2
    assert [entry.name for entry in (tmp_path / "late").iterdir()] == ["a"]
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    assert fetch(tmp_path, "link") == 0
    assert (tmp_path / "link").is_symlink()
    names = {"model.json", "arrays", "machines", "metrics.jsonl", "report.html"}
    assert {entry.name for entry in (tmp_path / "fetched").iterdir()} == names
    X = open_dataset(data).train[:]
    expected = load_model(tmp_path / "m").decision_function(X)
    lines = (tmp_path / "m" / "metrics.jsonl").read_bytes()
    (tmp_path / "m").rename(tmp_path / "away")
    np.testing.assert_array_equal(load_model(tmp_path / "fetched").decision_function(X), expected)
    assert (tmp_path / "fetched" / "metrics.jsonl").read_bytes() == lines


@pytest.mark.slow
def test_a_model_that_is_not_whole_is_not_fetched(data, tmp_path, capsys):
    finished(data, "cells", CELLS)
    machines = tmp_path / "m" / "machines"
    file = machines / "1" / "c" / "0"
    content = file.read_bytes()
    file.write_bytes(content[:9] + bytes([content[9] ^ 1]) + content[10:])
    assert fetch(tmp_path) == 2
    assert "machines/1/c/0" in capsys.readouterr().err
    file.write_bytes(content)
    (machines / "0").rename(tmp_path / "0")
    assert fetch(tmp_path) == 2
    assert "machines/0: these machines of the model are missing" in capsys.readouterr().err
    assert not (tmp_path / "fetched").exists()
    (tmp_path / "0").rename(machines / "0")
    assert fetch(tmp_path) == 0


def test_pages_are_written_anew_from_the_figures(data, tmp_path, capsys):
    search = "[search.params]\nn_landmarks = [4, 20]\n"
    finished(data, "newton", {"stages": 2}, search)
    for place in ("report.html", "tune/report.html", "tune/trials/.page.html", "arrays/page.html"):
        (tmp_path / "m" / place).write_text("<script>hostile</script>")
    lines = (tmp_path / "m" / "metrics.jsonl").read_text()
    (tmp_path / "m" / "metrics.jsonl").write_text(
        lines.replace('"stage"', '"<script>hostile</script>": 1, "stage"')
    )
    assert fetch(tmp_path) == 0
    fetched = tmp_path / "fetched"
    texts = {file: file.read_bytes() for file in fetched.rglob("*") if file.is_file()}
    assert not [file for file, content in texts.items() if b"hostile" in content]
    report = (fetched / "report.html").read_text()
    assert all(
        word in report for word in ("test error", "Stages", "n_landmarks", "480 rows", "base rate, test rows")
    )
    assert "2 candidates" in (fetched / "tune" / "report.html").read_text()
    assert len(list((fetched / "tune" / "trials").iterdir())) == 2
    # without the data set the rest is still known
    data.rename(tmp_path / "moved")
    assert fetch(tmp_path, "again") == 0
    assert "the report leaves out the data set" in capsys.readouterr().err
    assert "n_landmarks" in (tmp_path / "again" / "report.html").read_text()
    trial = json.loads((tmp_path / "again" / "tune" / "trials" / "0001-0-0.json").read_text())
    assert trial == json.loads((tmp_path / "m" / "tune" / "trials" / "0001-0-0.json").read_text())


def test_no_server_is_asked_that_a_stranger_names_as_data(data, tmp_path, capsys):
    finished(data, "newton", {"loss": "least_squares", "n_landmarks": 8, "gamma": 0.3, "nu": 0.01})
    record = tmp_path / "m" / "job.json"
    content = json.loads(record.read_text())
    with socket.create_server(("127.0.0.1", 0)) as server:
        content["description"]["data"] = f"http://127.0.0.1:{server.getsockname()[1]}/d.zarr"
        record.write_text(json.dumps(content))
        assert fetch(tmp_path) == 0
        assert "in another store than the run" in capsys.readouterr().err
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    load_model(tmp_path / "fetched")
    record.write_text(json.dumps(content | {"finished": 1e30}))
    assert fetch(tmp_path, "again") == 2
    assert "job.json is not the record of a job" in capsys.readouterr().err
