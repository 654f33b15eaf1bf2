"""What other people's folders may hold in the place of a file: nothing hangs, and links lead nowhere."""

import json
import os
import socket
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from distkern import NewtonClassifier
from distkern.choose.tuning.record import SearchFolder, Task
from distkern.cli.main import main
from distkern.core.errors import CorruptDataError, InputError
from distkern.data.dataset import open_dataset
from distkern.data.feature_major import read_columns
from distkern.data.ingest import write_dataset
from distkern.data.store.arrays import load_arrays, save_arrays
from distkern.data.store.description import sealed
from distkern.data.store.parts import ArrayParts
from distkern.data.store.places import append_text
from distkern.jobs.folder import JobFolder, JobIndex
from distkern.jobs.record import Record
from distkern.runs.algorithms import load_model
from distkern.runs.folder import check_folder


def a_socket(path):
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            # paths of sockets are short
            made.bind(path.name)
    finally:
        os.chdir(here)


def a_sparse_file(path):
    with path.open("wb") as file:
        file.truncate(2**40)


ODD = {
    "fifo": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "socket": a_socket,
    "folder": Path.mkdir,
    "terabyte": a_sparse_file,
}


@pytest.fixture(params=ODD)
def odd(request):
    """Puts something that is no file into the place of one."""

    def put(path):
        path.unlink(missing_ok=True)
        ODD[request.param](path)
        return path

    return put


def ended(call, *arguments):
    """The exception of a call, which may hang."""
    found = []

    def run():
        try:
            call(*arguments)
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it hangs"
    return found[0] if found else None


def run_command(command, runs, codes):
    codes.append(main([command, "j", "--runs", str(runs)]))


def test_models_and_data_sets_are_refused(odd, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    settings = {"loss": "least_squares", "features": "linear", "nu": 0.01, "random_state": 0}
    NewtonClassifier(**settings).fit(X, y).save(tmp_path / "m")
    data = write_dataset([(X, y)], tmp_path / "d", columns=True)
    calls = {
        "m/arrays/c/0": lambda: load_model(tmp_path / "m"),
        "m/arrays/zarr.json": lambda: load_model(tmp_path / "m"),
        "m/model.json": lambda: load_model(tmp_path / "m"),
        "d/train/targets/c/0": lambda: data.train.reader(0)(),
        "d/train/features/c/0/0": lambda: data.train.group(0)().rows(np.array([0])),
        "d/columns/manifest.json": lambda: read_columns(tmp_path / "d", data.fingerprint, (40,)),
        "d/manifest.json": lambda: open_dataset(tmp_path / "d"),
    }
    for name, call in calls.items():
        odd(tmp_path / name)
        assert isinstance(ended(call), InputError), name


def test_parts_and_trials_are_refused(odd, tmp_path):
    parts = ArrayParts(tmp_path / "parts", "job")
    parts.put(0, ({}, {"a": np.zeros(2)}))
    odd(tmp_path / "parts" / "0.json")
    assert parts.records() == {}
    assert isinstance(ended(parts.load, 0), CorruptDataError)
    search = SearchFolder(tmp_path / "tune")
    search.begin({"seed": 1})
    odd(tmp_path / "tune" / "trials" / "0000-0-0.json")
    assert isinstance(ended(search.trial, Task(0, 0, 0)), CorruptDataError)


def test_jobs_are_listed_without_what_cannot_be_read(odd, tmp_path, capsys):
    folder = JobFolder(tmp_path / "run")
    folder.write(Record("j", "newton", "d", "run", state="failed", started=1.0))
    JobIndex(tmp_path).add("j", tmp_path / "run")
    (tmp_path / "run" / ".job").mkdir()
    odd(tmp_path / "run" / ".job" / "heartbeat")
    for name, command in (("log.jsonl", "logs"), ("metrics.jsonl", "status"), ("job.json", "status")):
        file = odd(tmp_path / "run" / name)
        codes: list[int] = []
        assert ended(run_command, command, tmp_path, codes) is None, name
        # the log of a terabyte begins with half a line
        assert codes == [0 if (name, file.is_file()) == ("log.jsonl", True) else 2], name
        assert file.name in capsys.readouterr().err or codes == [0]
        if not file.is_dir():
            file.unlink()
        else:
            file.rmdir()


def test_nothing_is_written_through_a_link_or_into_a_fifo(tmp_path):
    (tmp_path / "other").write_text("mine\n")
    run = tmp_path / "run"
    run.mkdir()
    for name in ("metrics.jsonl", "cancel"):
        (run / name).symlink_to(tmp_path / "other")
    with pytest.raises(InputError, match="not a regular file"):
        append_text(run / "metrics.jsonl", "theirs\n")
    JobFolder(run).ask_to_stop()
    assert (tmp_path / "other").read_text() == "mine\n"
    os.mkfifo(run / "log.jsonl")
    assert isinstance(ended(append_text, run / "log.jsonl", "line\n"), InputError)
    with pytest.raises(InputError, match=r"'(metrics\.jsonl|cancel|log\.jsonl)' is a link"):
        check_folder(run, resume=True)


def test_arrays_of_terabytes_take_no_memory(tmp_path):
    """What chunks hold is known before there is room for it, and there are none of these."""
    save_arrays(tmp_path / "a", {"a": np.zeros(2)})
    file = tmp_path / "a" / "zarr.json"
    content = json.loads(file.read_text())
    whole = content["attributes"]
    del whole["fingerprint"]
    n_chunks = 2**18
    whole |= {"chunk_bytes": 2**22, "crc32c": [0] * n_chunks}
    whole["arrays"] = {"a": {"dtype": "<f8", "shape": [n_chunks * 2**19]}}
    file.write_text(json.dumps(content | {"attributes": sealed(whole)}))
    with pytest.raises(CorruptDataError, match="c/0: the chunk has 20 bytes instead of 4,194,308"):
        load_arrays(tmp_path / "a")


def test_rows_must_agree_with_the_manifest(tmp_path):
    """Compiled loops index by classes and columns, and look no further."""
    X = np.where(np.random.default_rng(0).normal(size=(40, 3)) > 0.5, 1.0, 0.0).astype(np.float32)
    reader = write_dataset([(X, np.arange(40) % 2)], tmp_path / "d", scale="none", sparse=True).train.reader(
        0
    )
    assert reader().features.n_entries == np.count_nonzero(X)
    with pytest.raises(CorruptDataError, match="class codes outside 0 to 0"):
        replace(reader, entry=replace(reader.entry, class_counts=(40,)))()
    with pytest.raises(CorruptDataError, match="outside of 2 columns"):
        replace(reader, n_features=2)()
