"""A Dask cluster of real processes on loopback, whose parts tests kill and start again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_LOGS = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Processes:
    """A scheduler and workers without nannies, one thread each, started as users start them.

    Parameters
    ----------
    folder : for the workers' scratch files
    host : of all of them; a driver takes all but 127.0.0.1 for another machine
    settings : environment variables of all of them
    """

    def __init__(self, folder: Path, n_workers: int = 2, *, host: str = "127.0.0.1", **settings: str) -> None:
        self.folder, self.n_workers, self.host = folder, n_workers, host
        self.port = free_port()
        self.address = f"tcp://{host}:{self.port}"
        self._settings = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False", **settings}
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Processes:
        self.start_scheduler()
        for _ in range(self.n_workers):
            self.add_worker()
        return self

    def __exit__(self, *exception: object) -> None:
        for process in (*self.workers, self.scheduler):
            if process is not None:
                process.kill()
                process.wait()

    def _start(self, *command: str, folder: Path | None = None) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **self._settings}
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *command], env=environment, cwd=folder, **_LOGS
        )

    def start_scheduler(self) -> None:
        """Start the scheduler, always at the same address."""
        self.scheduler = self._start(
            "scheduler", "--host", self.host, "--port", str(self.port), "--no-dashboard", "--no-show"
        )

    def kill_scheduler(self) -> None:
        """Kill the scheduler; its workers notice and end."""
        assert self.scheduler is not None
        self.scheduler.send_signal(signal.SIGKILL)
        self.scheduler.wait()

    def add_worker(self, *more: str, folder: Path | None = None) -> None:
        """Start one more worker, with further options, in a working folder."""
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
        options += ["--local-directory", str(self.folder / "scratch"), "--death-timeout", "60"]
        self.workers.append(self._start("worker", self.address, *options, *more, folder=folder))

    def replace_workers(self) -> None:
        """End what is left of the workers and start as many anew."""
        for process in self.workers:
            process.kill()
            process.wait()
        self.workers = []
        for _ in range(self.n_workers):
            self.add_worker()

    def kill_worker(self, pid: int) -> None:
        """Kill one worker and start another."""
        [process] = [process for process in self.workers if process.pid == pid]
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.workers.remove(process)
        self.add_worker()

    def worker_pids(self) -> list[int]:
        """The processes of the workers."""
        return [process.pid for process in self.workers]


def distkern(
    *arguments: str, timeout: float = 120, folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, in a working folder."""
    return subprocess.run(
        [sys.executable, "-m", "distkern", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
        cwd=folder,
    )


def start_distkern(*arguments: str) -> subprocess.Popen[str]:
    """The command line at work in a process and session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "distkern", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def start_code(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Python code at work in a process of its own, once it has printed that it started."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def lines_of(code: str, folder: Path) -> list[str]:
    """What Python code prints in a working folder, where the environment tells of nothing but the package."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PYTHONPATH": os.environ["PYTHONPATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.splitlines()


def worker_processes(driver: int) -> list[int]:
    """Processes that multiprocessing spawned for the driver (nannies' workers), but its resource tracker."""
    threads = Path(f"/proc/{driver}/task")
    found = []
    for thread in threads.iterdir() if threads.parent.exists() else []:
        # threads and processes end while they are listed
        with suppress(FileNotFoundError, ProcessLookupError):
            for pid in (thread / "children").read_text().split():
                if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(int(pid))
    return found


def kill_after(process: subprocess.Popen[str], seconds: float) -> None:
    """Kill it at once when so much time has passed."""
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def finish(process: subprocess.Popen[str], seconds: float = 300) -> str:
    """Wait until it has ended well; what it said on standard error."""
    _, errors = process.communicate(timeout=seconds)
    assert process.returncode == 0, errors
    return errors


def settings_of(**settings: object) -> list[str]:
    """Hyperparameters as flags."""
    given = (f"{name}={'none' if value is None else value}" for name, value in settings.items())
    return [part for setting in given for part in ("--set", setting)]


def wait_for(holds: object, seconds: float = 60.0) -> None:
    """Wait until ``holds()`` is true."""
    assert callable(holds)
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)
