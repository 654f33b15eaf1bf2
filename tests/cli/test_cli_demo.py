"""The demo, small, on worker processes as a user runs it."""

import json
import re
import subprocess
import sys

import pytest

from distkern.cli import demo
from distkern.cli.demo import _DIGITS, _ROWS_PER_SHARD, _rows_beyond
from distkern.cli.main import main


@pytest.mark.slow
def test_demo_from_rows_to_report(tmp_path, capsys, monkeypatch):
    # what is chosen is tested elsewhere
    monkeypatch.setattr(demo, "_CHOSEN_ROWS", 600)
    out = tmp_path / "demo"
    arguments = ["demo", "--rows", "6000", "--out", str(out), "--workers", "1"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert "6,000 rows, 1.5 MiB of features, which fit in the 256.0 MiB" in captured.out
    assert " of 256.0 MiB, driver " in captured.out
    trained, chosen = (
        float(re.search(f"{line}.*error ([0-9.]+) %", captured.out)[1])
        for line in ("csvrg: test", "auto, on 600 of these rows: newton, test")
    )
    assert 0 < chosen < 20
    assert 0 < trained < 20
    assert [line for line in captured.out.splitlines() if len(line) > 80 and str(out) not in line] == []
    assert "dashboard: http" in captured.err
    assert {entry.name for entry in out.iterdir()} == {"digits.zarr", "model"}
    assert (out / "model" / "report.html").exists()
    # again: the finished model is not silently replaced
    assert main(arguments) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_an_earlier_data_set_of_another_size_is_not_taken(tmp_path, capsys):
    from distkern.data.digits import VirtualDigits
    from distkern.data.ingest import write_dataset

    write_dataset(VirtualDigits().chunks(1000), tmp_path / "digits.zarr", scale="none")
    assert main(["demo", "--rows", "2000", "--out", str(tmp_path)]) == 2
    assert "holds 1,000 rows, not 2,000" in capsys.readouterr().err


@pytest.mark.parametrize("n_bytes", [1, 2**28, 2**29 + 1, 3 * 2**30])
def test_the_default_number_of_rows_exceeds_the_limit(n_bytes):
    rows = _rows_beyond(n_bytes)
    assert rows % 100_000 == 0
    assert 1.05 * n_bytes <= rows * 64 * 4 <= 1.05 * n_bytes + 100_000 * 64 * 4


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_default_demo_fits_its_workers(tmp_path, workers):
    from distkern import CSVRGClassifier
    from distkern.data.digits import VirtualDigits
    from distkern.data.ingest import write_dataset
    from runs import plan

    digits = VirtualDigits(chunk_rows=1000)
    data = write_dataset(digits.chunks(1000), tmp_path / "d.zarr", scale="none").train
    limit = 256 * 2**20
    # the plan needs the sizes only
    data.block_rows = (_ROWS_PER_SHARD,) * (_rows_beyond(workers * limit) // _ROWS_PER_SHARD + 1)
    planned = plan(CSVRGClassifier(**_DIGITS), data, scheduler="local", workers=workers, memory_limit=limit)
    assert planned.fits, planned.advice


@pytest.mark.slow
def test_demo_on_a_file_of_the_user(datasets, tmp_path, capsys):
    file = datasets / "letter.csv.gz"
    assert main(["demo", "--data", str(file), "--target", "letter", "--out", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert "test error" in captured.out
    assert "images" not in captured.out
    assert (tmp_path / "letter.zarr" / "manifest.json").exists()


@pytest.mark.slow
def test_the_driver_of_the_demo_takes_less_memory_than_the_data(tmp_path):
    # the peak does not depend on the number of rows: a tenth of the default shows it
    rows = _rows_beyond(2 * 2**28)
    command = [
        sys.executable,
        "-m",
        "distkern",
        "demo",
        "--rows",
        str(rows // 10),
        "--out",
        str(tmp_path / "d"),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    lines = (tmp_path / "d" / "model" / "metrics.jsonl").read_text().splitlines()
    peaks = [json.loads(line)["driver_peak_rss_bytes"] for line in lines]
    assert len(peaks) == 3
    assert 2**27 < max(peaks) < 0.9 * rows * 64 * 4


def test_a_limit_that_is_too_low_is_answered_by_options_of_the_demo(tmp_path, capsys):
    out = ["--rows", "3000", "--out", str(tmp_path / "out")]
    assert main(["demo", "--memory-limit", "10MiB", *out]) == 2
    told = capsys.readouterr().err
    assert re.search(r" and the limit is 10.0 MiB: use --memory-limit \d+MiB$", told)
