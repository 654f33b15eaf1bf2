"""Data sets, arrays, logs and runs at URLs: the bits of local ones, and there when they are whole."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from distkern.cli.main import main
from distkern.core.errors import CorruptDataError, FencedError, InputError
from distkern.core.sparse import SparseRows
from distkern.data.dataset import Dataset, open_dataset
from distkern.data.ingest import add_columns, shard, write_dataset
from distkern.data.store import atomic, places
from distkern.data.store.arrays import load_arrays, save_arrays
from distkern.data.store.places import URLPlace, place_of
from distkern.engine.events import Event
from distkern.jobs.folder import JobFolder, JobIndex
from distkern.jobs.folder import newest as newest_epoch
from distkern.jobs.log import LogFile, LogReader
from distkern.jobs.record import Record
from distkern.show import metrics

# -- arrays and data sets


def test_a_damaged_or_lost_chunk_is_found(url):
    save_arrays(url, {"a": np.arange(6.0).reshape(2, 3), "flags": np.array([True, False])})
    content = (url / "c" / "0").read_bytes()
    (url / "c" / "0").write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(CorruptDataError, match="memory://"):
        load_arrays(url)
    (url / "c" / "0").unlink()
    with pytest.raises(CorruptDataError, match="missing"):
        load_arrays(url, ["a"])


class DiedError(Exception):
    pass


@pytest.mark.parametrize("survived", range(4))
def test_a_writer_that_dies_leaves_nothing_that_counts(url, survived, monkeypatch):
    """After any number of uploads: what is there is the old arrays, the new ones or nothing."""
    old, new = {"a": np.zeros(3), "b": np.zeros(2)}, {"a": np.ones(3), "b": np.ones(2)}
    save_arrays(url, old)
    sent = 0
    real = atomic.put_file

    def put_file(file, target):
        nonlocal sent
        sent += 1
        if sent > survived:
            raise DiedError
        real(file, target)

    monkeypatch.setattr(atomic, "put_file", put_file)
    monkeypatch.setattr(atomic, "_SMALL_BYTES", -1)
    try:
        save_arrays(url, new)
        assert survived >= 2
    except DiedError:
        assert not places.is_whole(url)
        with pytest.raises(InputError):
            load_arrays(url)
    monkeypatch.setattr(atomic, "put_file", real)
    save_arrays(url, new)
    assert np.array_equal(load_arrays(url)["b"], new["b"])
    assert {entry.name for entry in url.iterdir()} == {"c", "zarr.json"}


def rows(n=400, d=6):
    generator = np.random.default_rng(0)
    features = generator.normal(size=(n, d)).astype(np.float32)
    features[generator.random(size=features.shape) < 0.4] = 0
    return features, (features[:, 0] > 0).astype(int)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_data_set_has_the_same_bits_at_a_url(url, tmp_path, sparse):
    options = {
        "test_fraction": 0.25,
        "rows_per_shard": 70,
        "sparse": sparse,
        "scale": "none",
        "columns": True,
    }
    here = write_dataset([rows()], tmp_path / "d.zarr", **options)
    there = write_dataset([rows()], url, **options)
    assert there.fingerprint == here.fingerprint
    assert isinstance(there.path, URLPlace)
    assert there.train.reader_bytes > here.train.reader_bytes == 0
    for name in ("train", "test"):
        for index in range(getattr(here, name).n_blocks):
            ours, theirs = (getattr(data, name).reader(index)() for data in (here, there))
            assert_same(ours.features, theirs.features)
            assert np.array_equal(ours.targets, theirs.targets)
            values = theirs.features.data if sparse else theirs.features
            assert values.flags.writeable
    pick = np.array([3, 19, 0, 11])
    for index in range(len(here.train.groups)):
        ours, theirs = (data.train.group(index)() for data in (here, there))
        assert_same(ours.rows(pick), theirs.rows(pick))
        assert_same(ours.columns(pick % 6), theirs.columns(pick % 6))
        assert_same(ours.columns(np.arange(6)), theirs.columns(np.arange(6)))


def assert_same(ours, theirs):
    assert type(ours) is type(theirs)
    if isinstance(ours, SparseRows):
        assert np.array_equal(ours.indices, theirs.indices)
        assert np.array_equal(ours.indptr, theirs.indptr)
        ours, theirs = ours.data, theirs.data
    assert ours.dtype == theirs.dtype
    assert np.array_equal(ours, theirs)


def test_a_flipped_byte_and_a_lost_object_are_found(url):
    dataset = write_dataset([rows()], url, rows_per_shard=100, columns=True)
    file = url / "train" / "features" / "c" / "1" / "0"
    content = bytearray(file.read_bytes())
    content[5] ^= 1
    file.write_bytes(bytes(content))
    dataset.train.reader(0)()
    with pytest.raises(CorruptDataError, match="features/c/1/0"):
        dataset.train.reader(1)()
    with pytest.raises(CorruptDataError, match="features/c/1/0"):
        dataset.train.group(1)().rows(np.array([50]))
    file.unlink()
    with pytest.raises(CorruptDataError, match="missing"):
        dataset.train.reader(1)()
    copied = url / "columns" / "0" / "features" / "c" / "0" / "0"
    content = bytearray(copied.read_bytes())
    content[5] ^= 1
    copied.write_bytes(bytes(content))
    with pytest.raises(CorruptDataError, match="columns/0"):
        dataset.train.group(0)().columns(np.array([0]))


def test_existing_places_in_a_store(url):
    first = write_dataset([rows()], url)
    with pytest.raises(InputError, match="already exists"):
        write_dataset([rows()], url)
    assert write_dataset([rows(300)], url, overwrite=True).n_rows == 300
    add_columns(url)
    assert open_dataset(url).train.has_columns
    # what a writer that died left may be replaced, what somebody else put there may not
    (url / "manifest.json").unlink()
    with pytest.raises(InputError, match="already exists"):
        write_dataset([rows()], url)
    (url / ".distkern-being-written").write_bytes(b"")
    with pytest.raises(InputError, match="not a finished data set"):
        open_dataset(url)
    assert write_dataset([rows()], url).fingerprint == first.fingerprint
    assert not (url / "columns").exists()


def test_files_are_read_from_urls(url, tmp_path):
    features, labels = rows(50)
    for part in range(2):
        text = "a,b,c,d,e,f,y\n" + "".join(
            f"{','.join(map(str, row))},{label}\n" for row, label in zip(features, labels, strict=True)
        )
        (url / f"part-{part}.csv").write_text(text)
        (tmp_path / f"part-{part}.csv").write_text(text)
    here = shard(tmp_path, tmp_path / "d.zarr")
    for sources in (f"{url}/*.csv", str(url), url, [f"{url}/part-0.csv", f"{url}/part-1.csv"]):
        there = shard(sources, url.parent / "d.zarr", overwrite=True)
        assert there.fingerprint == here.fingerprint
    assert shard(f"file://{tmp_path}/*.csv", tmp_path / "e.zarr").fingerprint == here.fingerprint


# -- runs


def test_metrics_at_a_url(url):
    file = metrics.MetricsFile(url / "metrics.jsonl")
    line = {"stage": 0, "passes": 1.0, "seconds": 2.0}
    metrics.rewrite(file.path, [line])
    for stage in (1, 2):
        file(Event("stage_finished", {"metrics": {**line, "stage": stage}}))
    assert [line["stage"] for line in metrics.read(url / "metrics.jsonl")] == [0, 1, 2]


def test_claims_and_the_log_of_a_job(place):
    folder = JobFolder(place)
    folder.write(Record("j", "csvrg", "s3://b/d.zarr", str(place)))
    assert folder.has_job
    assert folder.record().id == "j"
    with ThreadPoolExecutor(8) as threads:
        claims = [*threads.map(lambda number: folder.claim((1, number)), range(8))]
    assert sorted(claim.epoch for claim in claims) == [*range(1, 9)]
    newest = max(claims, key=lambda claim: claim.epoch)
    assert newest.holds()
    assert newest_epoch(newest.folder) == 8
    old = next(claim for claim in claims if claim.epoch == 1)
    with pytest.raises(FencedError):
        old.check()
    reader = LogReader(folder.log)
    assert [*reader.new()] == []
    log = LogFile(folder.log, newest)
    log.say("one")
    assert [event["text"] for event in reader.new()] == ["one"]
    LogFile(folder.log, newest).say("two")
    LogFile(folder.log, old).say("never")
    assert [event["text"] for event in reader.new()] == ["two"]
    assert [*reader.new()] == []
    folder.ask_to_stop()
    assert folder.asked_to_stop()
    folder.go_on()
    assert not folder.asked_to_stop()
    folder.beat({"stage": 3})
    assert folder.pulse()["stage"] == 3


def test_lines_of_passes_wait_in_a_store(url):
    folder = JobFolder(url)
    log = LogFile(folder.log, folder.claim())
    fields = {
        "pass": 1,
        "name": "p",
        "stage": 0,
        "mode": "m",
        "tasks": 1,
        "rows": 1,
        "bytes": 1,
        "unit": "rows",
    }
    log.say("started")
    log(Event("pass_started", fields))
    written = folder.log.read_bytes()
    log(Event("stage_finished", {"metrics": {"stage": 0, "passes": 1.0, "seconds": 2.0}}))
    assert len(folder.log.read_bytes()) > len(written)
    assert [event.kind for event in LogReader(folder.log).new()][-1] == "stage_finished"


def test_the_index_of_runs(place):
    JobFolder(place / "m").write(Record("j-1", "csvrg", "d.zarr", "m"))
    index = JobIndex(place)
    index.add("j-1", place / "m")
    index.add("j-2", URLPlace("memory://elsewhere/n"))
    assert index.names() == ["j-1", "j-2"]
    assert index.folder("j-1").path == places.absolute(place / "m")
    assert index.folder("j-2").path == URLPlace("memory://elsewhere/n")


@pytest.mark.slow
def test_the_command_line_from_url_to_url(url, tmp_path, capsys):
    features, labels = rows()
    np.savez(tmp_path / "d.npz", X=features, y=labels)
    (url / "job.toml").write_text(
        'algorithm = "csvrg"\nscheduler = "synchronous"\n[params]\nn_landmarks = 10\n'
    )
    data, model, predicted = (f"{url}/{name}" for name in ("d.zarr", "runs/m", "p.csv"))
    npz = str(tmp_path / "d.npz")
    assert main(["shard", npz, "--target", "y", "--out", data, "--test-fraction", "0.25", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["path"] == data
    assert facts["bytes"] == places.size_of_tree(place_of(data))
    assert main(["shard", data, "--columns"]) == 0
    assert main(["plan", f"{url}/job.toml", "--data", data]) == 0
    assert main(["train", f"{url}/job.toml", "--data", data, "--out", model]) == 0
    capsys.readouterr()
    assert main(["evaluate", model, "--data", data, "--scheduler", "synchronous"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 100
    assert main(["predict", model, "--data", data, "--scheduler", "synchronous", "--out", predicted]) == 0
    assert len(place_of(predicted).read_text().splitlines()) == 101
    assert main(["predict", model, "--data", data, "--scheduler", "synchronous", "--out", predicted]) == 2
    for path in (data, model):
        assert main(["inspect", path]) == 0
    assert main(["inspect", f"{url}/nothing"]) == 2
    assert {entry.name for entry in place_of(model).iterdir()} == {
        "arrays",
        "metrics.jsonl",
        "model.json",
        "report.html",
    }
    assert isinstance(open_dataset(data), Dataset)
