"""Train on a SLURM cluster: workers are batch jobs, the driver runs where this script does.

    python cluster/slurm.py --jobs 8 --cores 16 --memory 64GB -- \
        distkern train job.toml

Run it on a login node or, for long runs, in a small batch job of its own. It starts a scheduler here, asks
SLURM for `--jobs` jobs of `--cores` worker processes each, runs the command behind `--` with the scheduler's
address added as `--scheduler`, and gives the jobs back when the command ends. With `--show` it prints the job
script and submits nothing. Needs dask-jobqueue (`pip install dask-jobqueue`) and a file system that all nodes
see.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

SETTINGS = Path(__file__).resolve().parent / "distkern.yaml"


def options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What SLURMCluster takes for these arguments."""
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
            "preload": ["distkern.dashboard.preload"],
            "dashboard_address": f"127.0.0.1:{arguments.dashboard_port}",
        },
        # leave in time, not in the middle of a task; Dask hands what they hold to others
        "worker_extra_args": ["--lifetime", f"{lifetime(arguments.walltime)}s", "--lifetime-stagger", "60s"],
        "job_script_prologue": [f"export DASK_CONFIG={SETTINGS}", *arguments.before],
    }
    named = {"queue": arguments.queue, "account": arguments.account, "interface": arguments.interface}
    return chosen | {name: value for name, value in named.items() if value is not None}


def lifetime(walltime: str) -> int:
    """Seconds that a worker stays: five minutes less than its job, or nine tenths of a short one.

    >>> lifetime("04:00:00"), lifetime("00:10:00"), lifetime("1-00:00:00")
    (14100, 540, 86100)
    """
    days, _, clock = walltime.rpartition("-")
    hours, minutes, seconds = map(int, clock.split(":"))
    whole = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    return max(whole - 300, whole * 9 // 10)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    line = argparse.ArgumentParser(description="Run a distkern command on workers that SLURM starts.")
    line.add_argument("--jobs", type=int, default=2, help="batch jobs")
    line.add_argument("--cores", type=int, default=8, help="worker processes in each job")
    line.add_argument("--memory", default="32GB", help="memory of each job, shared evenly by its workers")
    line.add_argument("--walltime", default="04:00:00", help="of a job, HH:MM:SS or D-HH:MM:SS")
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


def main() -> int:
    """Start, run the command, stop; the command's exit status."""
    arguments = parser().parse_args()
    command = [part for part in arguments.command if part != "--"]
    if not command and not arguments.show:
        parser().error("no command given: add `-- distkern train ...`")
    if importlib.util.find_spec("dask_jobqueue") is None:
        parser().exit(2, "slurm.py: dask-jobqueue is not installed here; pip install dask-jobqueue\n")

    import dask
    from dask.config import collect_yaml, merge
    from dask_jobqueue import SLURMCluster
    from distributed import Client

    dask.config.update(dask.config.config, merge(*collect_yaml([str(SETTINGS)])), priority="new")
    with SLURMCluster(**options(arguments)) as cluster:
        if arguments.show:
            print(cluster.job_script())
            return 0
        # jobs whose time is over are asked for again
        cluster.adapt(minimum_jobs=arguments.jobs, maximum_jobs=arguments.jobs)
        print(f"watch: http://127.0.0.1:{arguments.dashboard_port}/distkern on this host", file=sys.stderr)
        with Client(cluster) as client:
            client.wait_for_workers(1)
        return subprocess.run([*command, "--scheduler", cluster.scheduler_address]).returncode


if __name__ == "__main__":
    sys.exit(main())
