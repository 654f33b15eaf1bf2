"""Ctrl-C and termination of real commands: status 130, one line, no processes left, nothing half-written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from distkern.cli.main import main

#: rows and columns of the data set
SHAPE = 20_000, 10


def start(*arguments):
    command = [sys.executable, "-m", "distkern", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def train(data, out, workers=2):
    settings = ["n_landmarks=100", "stages=1000", "tol=0.0"]
    chosen = [part for setting in settings for part in ("--set", setting)]
    where = ["--scheduler", "local", "--workers", str(workers), "--no-dashboard"]
    return ["train", "--data", str(data), "--out", str(out), "--algorithm", "csvrg", *where, *chosen]


def wait_for_handlers(process):
    """Until the command catches termination: before that Python itself is still starting."""
    bit = 1 << (signal.SIGTERM - 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
        if int(caught, 16) & bit:
            return
        time.sleep(0.01)


def running(session):
    """Command lines of the live processes of a session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, own = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(own) == session and state not in "ZX":
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def stop(process, number):
    """Send a signal as a terminal or a batch system does; the lines that the command leaves on stderr."""
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    try:
        _, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert process.returncode == 130
    deadline = time.monotonic() + 10
    while (left := running(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
    return errors.splitlines()


def test_an_interrupt_while_a_module_runs_text(tmp_path):
    (tmp_path / "interrupted.py").write_text(
        "import sys\n"
        "from distkern.cli import main\n"
        "main.group.invoke = lambda context: exec('raise KeyboardInterrupt')\n"
        "sys.exit(main.main(['algorithms']))\n"
    )
    paths = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    ended = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        env={**os.environ, "PYTHONPATH": paths},
        text=True,
        capture_output=True,
    )
    assert (ended.returncode, ended.stderr) == (130, "distkern: interrupted\n")


#: how the lines begin that a run says of itself, and how those of progress end
SAID = (
    "distkern train: starting",
    "csvrg: ",
    "stage ",
    "   ",
    "about ",
    "chosen: ",
    "held-out ",
    "interrupted in ",
)
PROGRESS = (" so far", " left")


def others(said):
    """Return the lines that a run does not say of itself."""
    return [line for line in said if not (line.startswith(SAID) or line.endswith(PROGRESS))]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are counted in /proc")
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_training_on_worker_processes(data, tmp_path, number):
    process = start(*train(data, tmp_path / "m", workers=1))
    deadline = time.monotonic() + 60
    while not (tmp_path / "m" / "checkpoints" / "stage-00001").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(running(process.pid)) >= 2
    *said, line = stop(process, number)
    assert others(said) == []
    assert line.startswith("distkern: interrupted in stage ")
    assert line.endswith("m/checkpoints: run the same command with --resume to continue")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay", [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0])
def test_training_interrupted_at_any_time(data, tmp_path, number, delay):
    process = start(*train(data, tmp_path / "m"))
    wait_for_handlers(process)
    time.sleep(delay)
    *said, line = stop(process, number)
    assert others(said) == []
    assert line.startswith("distkern: interrupted")
    assert bool(list(tmp_path.glob("m/checkpoints/stage-*"))) == ("--resume" in line)


@pytest.mark.slow
def test_sharding(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = np.column_stack([np.random.default_rng(0).normal(size=(20_000, 10)), np.arange(20_000) % 2])
    np.savetxt("a.csv", np.tile(table, (10, 1)), "%.4f", ",")
    process = start("shard", "a.csv", "--no-header", "--out", "d.zarr")
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".d.zarr*")) and time.monotonic() < deadline:
        time.sleep(0.005)
    [line] = stop(process, signal.SIGINT)
    assert line == "distkern: interrupted; nothing was written, run the same command again"
    assert os.listdir() == ["a.csv"]


def test_a_finished_command_is_not_interrupted(data, capsys):
    before = signal.getsignal(signal.SIGINT)
    assert main(["inspect", str(data)]) == 0
    assert signal.getsignal(signal.SIGINT) is before
