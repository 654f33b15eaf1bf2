"""Train on a SLURM cluster: workers are batch jobs, the driver runs where this script does.

    python cluster/slurm.py --jobs 8 --cores 16 --memory 64GB -- \
        distkern train job.toml

Run it on a login node or, for long runs, in a small batch job of its own. It starts a scheduler here, asks
SLURM for `--jobs` jobs of `--cores` worker processes each, runs the command behind `--` with the scheduler's
address added as `--scheduler`, asks again for jobs that end before the command does, and gives the jobs back
when it ends. With `--show` it prints the job script and submits nothing. Needs dask-jobqueue (`pip install
dask-jobqueue`) and a file system that all nodes see.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SETTINGS = Path(__file__).resolve().parent / "distkern.yaml"
#: seconds between two looks at SLURM's queue
PERIOD = 10
#: jobs that may end before a worker has come
MOST_ENDED = 5


def options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What SLURMCluster takes for these arguments."""
    stay, stagger = lifetime(arguments.walltime)
    chosen = {
        # one thread in each process: BLAS runs in one thread too, so that results have the same bits
        "cores": arguments.cores,
        "processes": arguments.cores,
        "memory": arguments.memory,
        "walltime": arguments.walltime,
        "python": arguments.python,
        "local_directory": arguments.scratch,
        "log_directory": arguments.logs,
        "scheduler_options": {
            "preload": ["distkern.show.live.preload"],
            "dashboard_address": f"127.0.0.1:{arguments.dashboard_port}",
        },
        # leave in time, not in the middle of a task; Dask hands what they hold to others
        "worker_extra_args": ["--lifetime", f"{stay}s", "--lifetime-stagger", f"{stagger}s"],
        "job_script_prologue": [f"export DASK_CONFIG={SETTINGS}", *arguments.before],
    }
    named = {"queue": arguments.queue, "account": arguments.account, "interface": arguments.interface}
    return chosen | {name: value for name, value in named.items() if value is not None}


def lifetime(walltime: str) -> tuple[int, int]:
    """Seconds that a worker stays, and by how many of them workers differ.

    Workers leave five minutes before their job ends, or after nine tenths of a short one, give or take a
    fifth of the time that is left.

    >>> lifetime("04:00:00"), lifetime("00:10:00"), lifetime("1-00:00:00")
    ((14100, 60), (540, 12), (86100, 60))

    Raises
    ------
    argparse.ArgumentTypeError : the text is no time
    """
    days, _, clock = walltime.rpartition("-")
    try:
        hours, minutes, seconds = map(int, clock.split(":"))
        whole = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    except ValueError:
        raise argparse.ArgumentTypeError(f"{walltime!r} is not HH:MM:SS or D-HH:MM:SS") from None
    left = min(300, whole // 10)
    return whole - left, left // 5


def time_of_a_job(walltime: str) -> str:
    """The argument itself, once it is known to be a time."""
    lifetime(walltime)
    return walltime


def parser() -> argparse.ArgumentParser:
    """The command line."""
    line = argparse.ArgumentParser(description="Run a distkern command on workers that SLURM starts.")
    line.add_argument("--jobs", type=int, default=2, help="batch jobs")
    line.add_argument("--cores", type=int, default=8, help="worker processes in each job")
    line.add_argument("--memory", default="32GB", help="memory of each job, shared evenly by its workers")
    line.add_argument(
        "--walltime", type=time_of_a_job, default="04:00:00", help="of a job, HH:MM:SS or D-HH:MM:SS"
    )
    line.add_argument("--queue", help="partition")
    line.add_argument("--account")
    line.add_argument("--interface", help="network that nodes reach each other by, for instance ib0")
    line.add_argument("--python", default=sys.executable, help="the Python of the nodes")
    line.add_argument("--scratch", default="/tmp", help="a folder on each node's own disk")
    line.add_argument("--logs", default="slurm-logs", help="folder of the jobs' output")
    line.add_argument(
        "--before", action="append", default=[], help="a line of the job script; may be repeated"
    )
    line.add_argument("--dashboard-port", type=int, default=8787)
    line.add_argument("--show", action="store_true", help="print the job script and stop")
    line.add_argument("command", nargs=argparse.REMAINDER, help="-- distkern train ...")
    return line


def submitted() -> set[str] | None:
    """The numbers of this user's jobs that wait or run; None when SLURM does not answer."""
    listed = subprocess.run(["squeue", "--me", "--noheader", "--format=%i"], capture_output=True, text=True)
    return set(listed.stdout.split()) if listed.returncode == 0 else None


def ask_again(cluster: Any, jobs: int) -> int:
    """Ask SLURM again for jobs that have ended, and say how many these were.

    Dask's `adapt` does so for jobs of one worker only: it looks for workers by the names of their jobs.
    """
    # the jobs first: one that is submitted meanwhile would not be in the list
    known = dict(cluster.workers)
    there = submitted()
    if there is None:
        return 0
    ended = [name for name, job in known.items() if job.job_id not in there]
    if ended:
        print(f"slurm.py: {len(ended)} of {jobs} jobs ended; asked for again", file=sys.stderr)
        cluster.sync(cluster.scale_down, ended)
        cluster.scale(jobs=jobs)
    return len(ended)


def wait_for_a_worker(cluster: Any, jobs: int) -> bool:
    """Wait in SLURM's queue, however long that takes; False when jobs end without a worker."""
    ended, looked = 0, time.monotonic()
    while not cluster.scheduler_info["workers"]:
        if ended >= MOST_ENDED:
            return False
        time.sleep(0.5)
        if time.monotonic() - looked > PERIOD:
            ended, looked = ended + ask_again(cluster, jobs), time.monotonic()
    return True


def run(command: list[str], cluster: Any, jobs: int) -> int:
    """Run the command to its end, with workers; its exit status."""
    process = subprocess.Popen([*command, "--scheduler", cluster.scheduler_address])
    # a terminal interrupts the command as well, which leaves a checkpoint: its workers stay until it ends
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    while True:
        try:
            return process.wait(PERIOD)
        except subprocess.TimeoutExpired:
            ask_again(cluster, jobs)


def main() -> int:
    """Start, run the command, stop; the command's exit status."""
    arguments = parser().parse_args()
    command = [part for part in arguments.command if part != "--"]
    if not command and not arguments.show:
        parser().error("no command given: add `-- distkern train ...`")
    if importlib.util.find_spec("dask_jobqueue") is None:
        parser().exit(2, "slurm.py: dask-jobqueue is not installed here; pip install dask-jobqueue\n")

    if not arguments.show and shutil.which("sbatch") is None:
        parser().exit(2, "slurm.py: SLURM is not installed here: there is no sbatch\n")

    import dask
    from dask.config import collect_yaml, merge
    from dask_jobqueue import SLURMCluster

    dask.config.update(dask.config.config, merge(*collect_yaml([str(SETTINGS)])), priority="new")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with SLURMCluster(**options(arguments)) as cluster:
            script = cluster.job_script()
            if arguments.show:
                print(script)
                return 0
            asked = subprocess.run(["sbatch", "--test-only"], input=script, capture_output=True, text=True)
            if asked.returncode != 0:
                print(f"slurm.py: SLURM refuses the job: {asked.stderr.strip()}", file=sys.stderr)
                return 2
            cluster.scale(jobs=arguments.jobs)
            port = cluster.scheduler_info["services"]["dashboard"]
            print(f"watch: http://127.0.0.1:{port}/distkern on this host", file=sys.stderr)
            if not wait_for_a_worker(cluster, arguments.jobs):
                print(f"slurm.py: jobs end before a worker comes; see {arguments.logs}", file=sys.stderr)
                return 1
            return run(command, cluster, arguments.jobs)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
