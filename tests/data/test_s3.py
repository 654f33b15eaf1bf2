"""Data sets, models, checkpoints and jobs in S3: the same bits, nothing half-written when the server goes."""

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from shutil import copytree

import numpy as np
import pytest
import zarr

from distkern.cli.main import main
from distkern.cli.train import train_described
from distkern.core.errors import InputError, StoreError
from distkern.data.dataset import open_dataset
from distkern.data.ingest import add_columns, shard, write_dataset
from distkern.data.store import _file_systems
from distkern.engine.checkpoint import CheckpointFolder
from distkern.jobs.driver import drive
from distkern.jobs.folder import JobFolder, JobIndex
from distkern.jobs.record import Record
from distkern.passes import Machine
from distkern.runs.algorithms import load_model
from distkern.runs.scoring import predict_to
from runs import evaluate
from s3_runs import STAGES, lines, make, rows, run
from s3_server import KEY, SECRET, Road, Server, settings

s3fs = pytest.importorskip("s3fs")
pytest.importorskip("moto.server")


def at(kind, stage, act):
    """A listener that acts once, when an event of a stage comes."""
    done = False

    def listener(event):
        nonlocal done
        here = event.fields.get("stage", event.fields.get("metrics", {}).get("stage"))
        if event.kind == kind and here == stage and not done:
            done = True
            act()

    return listener


@pytest.mark.slow
def test_everything_from_s3_to_s3_has_the_bits_of_local_files(bucket, local, tmp_path):
    ours, our_model = local
    theirs = make(bucket / "d.zarr")
    assert theirs.fingerprint == ours.fingerprint
    assert not theirs.train.has_columns
    add_columns(bucket / "d.zarr")
    theirs = open_dataset(f"{bucket}/d.zarr/")
    fitted = run(theirs, bucket / "runs" / "m")
    assert {entry.name for entry in (bucket / "runs" / "m").iterdir()} == {
        "arrays",
        "metrics.jsonl",
        "model.json",
    }
    loaded, wanted = load_model(f"{bucket}/runs/m"), load_model(our_model)
    for model in (fitted, loaded):
        assert model.coefficients_.tobytes() == wanted.coefficients_.tobytes()
    assert lines(bucket / "runs" / "m") == lines(our_model)
    assert theirs.test is not None
    assert ours.test is not None
    figures = [
        evaluate(model, split, scheduler="threads")
        for model, split in ((loaded, theirs.test), (wanted, ours.test))
    ]
    for figure in figures:
        figure.pop("seconds")
    assert figures[0] == figures[1]
    for ending in (".csv", ".npy"):
        predict_to(
            loaded.model_, theirs.test, f"{bucket}/p{ending}", output="decision", scheduler="synchronous"
        )
        predict_to(
            wanted.model_, ours.test, tmp_path / f"p{ending}", output="decision", scheduler="synchronous"
        )
        assert (bucket / f"p{ending}").read_bytes() == (tmp_path / f"p{ending}").read_bytes()
    predict_to(loaded.model_, theirs.test, f"{bucket}/p.zarr", scheduler="synchronous")
    # anybody's zarr reads what is there; in another process, because it leaves its sessions open
    code = (
        "import sys, numpy, zarr\nbucket, out = sys.argv[1:]\n"
        "predicted = zarr.open_group(f'{bucket}/p.zarr', mode='r')['predictions'][...]\n"
        "features = zarr.open_array(f'{bucket}/d.zarr/train/features', mode='r')[...]\n"
        "numpy.savez(out, predicted=predicted, features=features)"
    )
    subprocess.run([sys.executable, "-c", code, str(bucket), str(tmp_path / "r.npz")], check=True, timeout=60)
    with np.load(tmp_path / "r.npz") as arrays:
        group = dict(arrays)
    predicted = predict_to(wanted.model_, ours.test, tmp_path / "p.zarr", scheduler="synchronous")
    kept = zarr.open_group(tmp_path / "p.zarr", mode="r")
    assert np.array_equal(group["predicted"], kept["predictions"][...])
    assert group["predicted"].shape == (predicted,)
    blocks = [theirs.train.reader(index)().features for index in range(theirs.train.n_blocks)]
    assert np.array_equal(np.concatenate(blocks), group["features"])


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["auto", "newton", "cells", "dsg"])
def test_commands_train_and_update_models_in_s3_with_the_bits_of_local_ones(
    algorithm, bucket, tmp_path, capsys
):
    """With nothing set but the seed; updated under another name, and in place with rows from the store."""
    where = ["--scheduler", "synchronous", "--no-dashboard"]
    features, labels = rows()
    for root in (bucket, tmp_path):
        make(root / "old.zarr")
        write_dataset([(features[::3] + 0.1, labels[::3])], root / "new.zarr")
        chosen = [] if algorithm == "auto" else ["--algorithm", algorithm]
        out = ["--out", f"{root}/m", "--seed", "0"]
        assert main(["train", "--data", f"{root}/old.zarr", *out, *chosen, *where]) == 0
    copytree(tmp_path / "m", tmp_path / "in place")
    for root in (bucket, tmp_path):
        data = ["--data", f"{root}/old.zarr", f"{root}/new.zarr"]
        assert main(["update", f"{root}/m", *data, "--out", f"{root}/m2", *where]) == 0
    stored = ["--data", f"{bucket}/old.zarr", f"{bucket}/new.zarr", *where]
    assert main(["update", str(tmp_path / "in place"), *stored]) == 0
    assert main(["update", f"{bucket}/m", *stored]) == 2
    assert "cannot be updated in place; give --out" in capsys.readouterr().err
    for name, others in (("m", [bucket / "m"]), ("m2", [bucket / "m2", tmp_path / "in place"])):
        ours = load_model(tmp_path / name)
        assert len(ours.updates_) == (name == "m2")
        wanted = ours.predict_proba(features)
        for other in others:
            assert load_model(other).predict_proba(features).tobytes() == wanted.tobytes()
            assert {entry.name for entry in other.iterdir()} == {
                entry.name for entry in (tmp_path / name).iterdir()
            }


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_and_columns_of_groups(bucket, tmp_path, sparse):
    options = {"sparse": sparse, "scale": "none", "columns": True}
    groups = [
        data.train.group(1)()
        for data in (make(tmp_path / "d.zarr", **options), make(bucket / "d", **options))
    ]
    for ask in (
        lambda group: group.rows(np.array([7, 3, 99])),
        lambda group: group.columns(np.array([4, 0])),
    ):
        ours, theirs = (ask(group) for group in groups)
        if sparse:
            assert np.array_equal(ours.indices, theirs.indices)
            ours, theirs = ours.data, theirs.data
        assert np.array_equal(ours, theirs)


def test_raw_files_are_read_from_s3(bucket, tmp_path):
    features, labels = rows()
    text = "a,b,c,d,e,f,y\n" + "".join(
        f"{','.join(map(str, row))},{label}\n" for row, label in zip(features, labels, strict=True)
    )
    (tmp_path / "a.csv").write_text(text)
    (bucket / "raw" / "a.csv").write_text(text)
    here = shard(tmp_path / "a.csv", tmp_path / "d.zarr")
    assert shard(f"{bucket}/raw/*.csv", bucket / "d.zarr").fingerprint == here.fingerprint


@pytest.mark.slow
def test_an_interrupted_run_goes_on_from_its_checkpoint(bucket, local):
    dataset, out = make(bucket / "d.zarr"), bucket / "m"

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="--resume"):
        run(dataset, out, listeners=[at("checkpoint_saved", 1, interrupt)])
    assert CheckpointFolder(out / "checkpoints", {}).stages() == [0, 1]
    with pytest.raises(InputError, match="not finished"):
        load_model(out)
    with pytest.raises(InputError, match="--resume"):
        run(dataset, out)
    # half a checkpoint of a writer that died is as good as none
    (out / "checkpoints" / "stage-00002" / "c" / "0").write_text("{")
    assert CheckpointFolder(out / "checkpoints", {}).stages() == [0, 1]
    resumed = []
    fitted = run(dataset, out, resume=True, listeners=[resumed.append])
    started = next(event for event in resumed if event.kind == "run_started")
    assert started["resumed_from"] == 1
    assert fitted.coefficients_.tobytes() == load_model(local[1]).coefficients_.tobytes()
    assert lines(out) == lines(local[1])
    assert not (out / "checkpoints").exists()


@pytest.mark.slow
def test_a_server_that_comes_back_is_waited_for(bucket, road, local, monkeypatch):
    monkeypatch.setattr(Machine, "cache_bytes", 0)
    dataset = make(bucket / "d.zarr")

    def outage():
        road.cut()
        threading.Timer(0.7, road.hint).start()

    out = bucket / "m"
    fitted = run(dataset, out, listeners=[at("pass_started", 2, outage)])
    assert fitted.coefficients_.tobytes() == load_model(local[1]).coefficients_.tobytes()
    assert load_model(out).coefficients_.tobytes() == fitted.coefficients_.tobytes()
    assert lines(out) == lines(local[1])


@pytest.mark.slow
def test_a_server_that_stays_away_ends_the_run_which_goes_on_later(bucket, road, local, monkeypatch):
    monkeypatch.setattr(_file_systems, "PAUSES", (0.1,))
    # every pass reads from the store
    monkeypatch.setattr(Machine, "cache_bytes", 0)
    dataset, out = make(bucket / "d.zarr"), bucket / "m"
    with pytest.raises(StoreError, match=f"{bucket}/.*does not answer.*--resume") as caught:
        run(dataset, out, listeners=[at("pass_started", 2, road.cut)])
    assert SECRET not in str(caught.value)
    assert KEY not in str(caught.value)
    road.hint()
    assert not (out / "model.json").exists()
    assert CheckpointFolder(out / "checkpoints", {}).stages() == [0, 1]
    fitted = run(dataset, out, resume=True)
    assert fitted.coefficients_.tobytes() == load_model(local[1]).coefficients_.tobytes()


@pytest.mark.slow
def test_a_data_set_is_not_there_when_the_server_went_while_it_was_sent(bucket, road, monkeypatch):
    from distkern.data.store import atomic

    monkeypatch.setattr(_file_systems, "PAUSES", ())
    real, sent = atomic.put_file, 0

    def put_file(file, target):
        nonlocal sent
        sent += 1
        if sent == 6:
            road.cut()
        real(file, target)

    monkeypatch.setattr(atomic, "put_file", put_file)
    with pytest.raises(StoreError, match="does not answer"):
        make(bucket / "d.zarr")
    road.hint()
    with pytest.raises(InputError, match="is not a finished data set"):
        open_dataset(bucket / "d.zarr")
    assert (bucket / "d.zarr").exists()
    assert make(bucket / "d.zarr").n_rows == 900


@pytest.mark.slow
def test_one_of_many_claims_wins(bucket):
    with ThreadPoolExecutor(8) as threads:
        folder = JobFolder(bucket / "m")
        epochs = [claim.epoch for claim in threads.map(lambda number: folder.claim((number,)), range(8))]
    assert sorted(epochs) == [*range(1, 9)]


def test_what_is_forbidden_or_missing_is_one_line_of_error(bucket, capsys, monkeypatch, tmp_path):
    assert main(["evaluate", f"{bucket}/m", "--data", f"{bucket}/d.zarr"]) == 2
    assert f"{bucket}/m is not a model" in capsys.readouterr().err
    assert main(["inspect", "s3://no-such-bucket-here/d.zarr"]) == 2
    np.savez(tmp_path / "d.npz", X=rows()[0], y=rows()[1])
    assert (
        main(["shard", str(tmp_path / "d.npz"), "--target", "y", "--out", "s3://no-such-bucket-here/d"]) == 2
    )
    assert "no such bucket" in capsys.readouterr().err
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    s3fs.S3FileSystem.clear_instance_cache()
    assert main(["inspect", f"{bucket}/d.zarr"]) == 2
    assert "AWS_ACCESS_KEY_ID" in capsys.readouterr().err


@pytest.mark.slow
def test_a_job_in_s3_and_no_key_anywhere(bucket, local, tmp_path, capsys):
    data, out = make(bucket / "d.zarr").path, bucket / "runs" / "m"
    description = {
        "algorithm": "csvrg",
        "data": str(data),
        "out": str(out),
        "scheduler": "tcp://h:1",
        "params": {"n_landmarks": 16, "stages": STAGES, "tol": 0.0},
    }
    folder = JobFolder(out)
    folder.write(Record("j-1", "csvrg", str(data), str(out), description=description))
    JobIndex(bucket / "runs").add("j-1", out)
    status = drive(str(out), description, train_described)
    assert status == {"id": "j-1", "state": "finished", "error": ""}
    assert load_model(out).coefficients_.tobytes() == load_model(local[1]).coefficients_.tobytes()
    runs = ["--runs", f"{bucket}/runs"]
    assert main(["jobs", *runs, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"][0]["state"] == "finished"
    assert main(["status", "j-1", *runs]) == 0
    assert main(["logs", "j-1", *runs]) == 0
    assert "finished" in capsys.readouterr().out
    for fetched in (f"{bucket}/fetched", str(tmp_path / "fetched")):
        assert main(["fetch", "j-1", *runs, "--out", fetched]) == 0
        assert load_model(fetched).coefficients_.tobytes() == load_model(out).coefficients_.tobytes()
    found = {path: s3fs.S3FileSystem().cat_file(path) for path in s3fs.S3FileSystem().find(str(bucket))}
    found |= {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"job.json", "log.jsonl", "model.json", "manifest.json"} <= {
        name.rpartition("/")[2] for name in found
    }
    captured = capsys.readouterr()
    found["said"] = (captured.out + captured.err).encode()
    for name, content in found.items():
        assert KEY.encode() not in content, name
        assert SECRET.encode() not in content, name


pytest.importorskip("moto.server")


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["server", "road"])
def test_processes_whose_server_is_killed(killed, local, tmp_path):
    """The command line with worker processes: the server dies in a pass, for good or for three seconds."""
    from cluster_processes import distkern

    server = Server(tmp_path / "log")
    road = Road(server.port)
    try:
        # what is in front of a dead server would take connections still
        environment = settings(server.port if killed == "server" else road.port)
        system = s3fs.S3FileSystem(
            key=KEY,
            secret=SECRET,
            endpoint_url=environment["AWS_ENDPOINT_URL"],
            skip_instance_cache=True,
            use_listings_cache=False,
        )
        system.mkdir("some-bucket")
        system.put(str(local[0].path), "some-bucket/d.zarr", recursive=True)
        results = []
        command = (
            "train",
            "--data",
            "s3://some-bucket/d.zarr",
            "--out",
            "s3://some-bucket/m",
            "--algorithm",
            "csvrg",
            "--scheduler",
            "local",
            "--workers",
            "2",
            "--no-dashboard",
            "--set",
            "n_landmarks=16",
            "--set",
            "stages=400",
            "--set",
            "tol=0.0",
        )
        thread = threading.Thread(
            target=lambda: results.append(distkern(*command, timeout=120, **environment))
        )
        thread.start()
        until = time.monotonic() + 60
        while not system.exists("some-bucket/m/checkpoints/stage-00002/zarr.json"):
            assert time.monotonic() < until
            time.sleep(0.2)
        if killed == "server":
            server.kill()
        else:
            road.cut()
            time.sleep(3)
            road.hint()
            # it goes on: later checkpoints appear
            before = max(system.ls("some-bucket/m/checkpoints"))
            while max(system.ls("some-bucket/m/checkpoints")) <= before:
                assert time.monotonic() < until + 60
                time.sleep(0.2)
            road.cut()
        thread.join()
        assert results[0].returncode == 1
        assert "the store does not answer" in results[0].stderr
        for secret in (KEY, SECRET):
            assert secret not in results[0].stdout + results[0].stderr
        if killed == "road":
            road.hint()
            assert not system.exists("some-bucket/m/model.json")
            assert len(system.ls("some-bucket/m/checkpoints")) >= 1
    finally:
        road.cut()
        server.kill()


@pytest.mark.slow
def test_a_job_on_a_cluster_that_shares_nothing_but_s3(bucket, road, local, tmp_path, capsys):
    """Submitted by a job file, run, looked at and fetched: all through S3."""
    from cluster_processes import Processes

    make(bucket / "d.zarr")
    (bucket / "job.toml").write_text(
        f'algorithm = "csvrg"\ndata = "{bucket}/d.zarr"\nout = "{bucket}/runs/m"\n'
        f"[params]\nn_landmarks = 16\nstages = {STAGES}\ntol = 0.0\n"
    )
    runs = ["--runs", f"{bucket}/runs"]
    with Processes(tmp_path, 2, **settings(road.port)) as cluster:
        assert main(["submit", f"{bucket}/job.toml", "--scheduler", cluster.address, "--wait"]) == 0
        said = capsys.readouterr().out
    assert main(["jobs", *runs, "--json"]) == 0
    (job,) = json.loads(capsys.readouterr().out)["jobs"]
    assert job["state"] == "finished", said
    assert main(["fetch", job["id"], *runs, "--out", str(tmp_path / "m")]) == 0
    assert load_model(tmp_path / "m").coefficients_.tobytes() == load_model(local[1]).coefficients_.tobytes()
    system = s3fs.S3FileSystem(use_listings_cache=False)
    for path in system.find(str(bucket)):
        content = system.cat_file(path)
        assert KEY.encode() not in content, path
        assert SECRET.encode() not in content, path
