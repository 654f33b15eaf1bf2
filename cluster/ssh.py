"""Start a scheduler and workers on machines that are reached by SSH, and stop them with Ctrl-C.

    python cluster/ssh.py node0 node1 node2 --workers 4 --memory-limit 4GiB --python /shared/venv/bin/python

The first host runs the scheduler; each of them runs workers. Needs asyncssh (`pip install asyncssh`), keys
that log in without a password, the same Python environment and the same data paths on every host.
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import sys
from pathlib import Path
from typing import Any

SETTINGS = Path(__file__).resolve().parent / "distkern.yaml"


def options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What SSHCluster takes for these arguments."""
    connect: dict[str, Any] = {"known_hosts": None} if arguments.trust_new_hosts else {}
    if arguments.port is not None:
        connect["port"] = arguments.port
    worker = {"n_workers": arguments.workers, "nthreads": 1, "memory_limit": arguments.memory_limit}
    scheduler = {
        "port": 8786,
        "dashboard_address": "127.0.0.1:8787",
        "preload": ["distkern.show.live.preload"],
    }
    return {
        "hosts": [arguments.hosts[0], *arguments.hosts],
        "connect_options": connect,
        "worker_options": worker,
        "scheduler_options": scheduler,
        "remote_python": arguments.python,
    }


def parser() -> argparse.ArgumentParser:
    """The command line."""
    line = argparse.ArgumentParser(description="A Dask cluster over SSH for distkern.")
    line.add_argument("hosts", nargs="+", help="the first runs the scheduler, all run workers")
    line.add_argument("--workers", type=int, default=1, help="worker processes on each host, of one thread")
    line.add_argument("--memory-limit", default="2GiB", help="memory of each worker process")
    line.add_argument("--python", default=sys.executable, help="the Python of the hosts")
    line.add_argument("--port", type=int, help="port of the hosts' SSH servers")
    line.add_argument(
        "--trust-new-hosts", action="store_true", help="do not check the hosts' keys (trusted networks only)"
    )
    return line


def main() -> None:
    """Start, wait for a signal, stop."""
    arguments = parser().parse_args()
    if importlib.util.find_spec("asyncssh") is None:
        parser().exit(2, "ssh.py: asyncssh is not installed here; pip install asyncssh\n")

    import dask
    from dask.config import collect_yaml, merge
    from distributed import SSHCluster

    # SSHCluster hands this process's settings on to what it starts
    dask.config.update(dask.config.config, merge(*collect_yaml([str(SETTINGS)])), priority="new")
    with SSHCluster(**options(arguments)) as cluster:
        print(f"train with: distkern train --scheduler {cluster.scheduler_address} ...", flush=True)
        print("watch:      http://127.0.0.1:8787/distkern, here or after", flush=True)
        print(f"            ssh -L 8787:127.0.0.1:8787 {arguments.hosts[0]}", flush=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        signal.pause()


if __name__ == "__main__":
    main()
