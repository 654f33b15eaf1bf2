"""The report of a run that was interrupted and resumed tells of both its parts, or says that it does not."""

import time

import pytest

from distkern.cli.job import Job
from distkern.cli.training import run_job
from distkern.demo.digits import VirtualDigits
from distkern.monitor.text import in_time
from distkern.storage.dataset import open_dataset
from distkern.storage.ingest import write_dataset

SLOW_SECONDS = 1.0


def stop_after_stage_1(event):
    if event.kind == "stage_finished" and event["metrics"]["stage"] == 0:
        time.sleep(SLOW_SECONDS)
    if event.kind == "checkpoint_saved" and event["stage"] == 1:
        raise OSError("the machine fails")


def test_time_and_memory_are_of_all_tries(tmp_path, monkeypatch):
    digits = VirtualDigits(chunk_rows=500)
    write_dataset(digits.chunks(500), tmp_path / "d.zarr", test_chunks=digits.chunks(200, "test"))
    dataset = open_dataset(tmp_path / "d.zarr")
    job = Job(
        algorithm="csvrg",
        data=str(tmp_path / "d.zarr"),
        out=str(tmp_path / "m"),
        scheduler="synchronous",
        params={"n_landmarks": 20, "gamma": 0.3, "stages": 3},
    )
    monkeypatch.setattr("distkern.engine.drive.peak_resident_bytes", lambda: 3 * 2**30)
    with pytest.raises(OSError, match="the machine fails"):
        run_job(job, dataset, listeners=[stop_after_stage_1])
    monkeypatch.setattr("distkern.engine.drive.peak_resident_bytes", lambda: 2**30)
    _, history = run_job(job, dataset, listeners=[], resume=True)

    assert history[-1]["seconds"] > SLOW_SECONDS
    page = (tmp_path / "m" / "report.html").read_text(encoding="utf-8")
    headline = page.split("<h2>")[0]
    assert f"<b>{in_time(history[-1]['seconds'])}</b>" in headline
    assert "<b>3.0 GiB</b>" in headline
    assert "1.0 GiB" not in page
    assert "of passes since stage 1, where the run was resumed, the driver waited" in page
