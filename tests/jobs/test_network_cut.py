"""A host that is cut off the network while it drives a job: the job goes on elsewhere, the old one stops."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cluster_processes import distkern, settings_of, wait_for
from distkern.data.ingest import write_dataset
from distkern.jobs.folder import JobFolder
from distkern.runs.algorithms import load_model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

STAGES = 150
SETTINGS = ["--algorithm", "csvrg", *settings_of(n_landmarks=40, stages=STAGES, tol=0.0, lam=64.0)]
#: of this process, so that two runs of this test do not meet
NAME = f"dk{os.getpid() % 100000}"
NETWORK = "10.213.7"


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20)


@pytest.fixture
def hosts():
    """Two network namespaces on a bridge with this host, which has the address 1."""
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed")
    names = [f"{NAME}a", f"{NAME}b"]
    made = []
    try:
        try:
            ip("link", "add", NAME, "type", "bridge")
            made.append(("link", "del", NAME))
            ip("addr", "add", f"{NETWORK}.1/24", "dev", NAME)
            ip("link", "set", NAME, "up")
            for number, name in enumerate(names, start=2):
                ip("netns", "add", name)
                made.append(("netns", "del", name))
                ip("link", "add", f"v{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
                ip("link", "set", f"v{name}", "master", NAME, "up")
                ip("netns", "exec", name, "ip", "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
                for device in ("eth0", "lo"):
                    ip("netns", "exec", name, "ip", "link", "set", device, "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces are not permitted here: {error.stderr.decode().strip()}")
        yield names
    finally:
        for command in reversed(made):
            subprocess.run(["ip", *command], check=False, capture_output=True, timeout=20)


@pytest.fixture
def address(hosts, tmp_path):
    """A scheduler here and a worker in each namespace."""
    settings = {
        **os.environ,
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
        "OMP_NUM_THREADS": "1",
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "15s",
        "OPENBLAS_NUM_THREADS": "1",
    }
    where = f"tcp://{NETWORK}.1:18786"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": settings}
    options = ["--host", f"{NETWORK}.1", "--port", "18786", "--no-dashboard", "--no-show"]
    started = [subprocess.Popen([*dask, "scheduler", *options], **quiet)]
    for name in hosts:
        worker = [*dask, "worker", where, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
        worker += ["--local-directory", str(tmp_path / "scratch")]
        started.append(subprocess.Popen(["ip", "netns", "exec", name, *worker], **quiet))
    try:
        yield where
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_the_job_of_a_host_that_is_cut_off_goes_on_elsewhere(hosts, address, tmp_path):
    generator = np.random.default_rng(0)
    features = generator.normal(size=(20_000, 6)).astype(np.float32)
    data = tmp_path / "d.zarr"
    write_dataset(
        [(features, (np.abs(features[:, :3]).sum(axis=1) > 2.4).astype(int))], data, rows_per_shard=2500
    )
    common = ["--data", str(data), *SETTINGS]
    whole = tmp_path / "whole"
    run = distkern("train", *common, "--out", str(whole), "--scheduler", "threads")
    assert run.returncode == 0, run.stderr
    out = tmp_path / "m"
    run = distkern("submit", *common, "--out", str(out), "--scheduler", address)
    assert run.returncode == 0, run.stderr
    folder = JobFolder(out)
    wait_for((out / "checkpoints" / "stage-00005").exists)
    cut = next(
        name
        for number, name in enumerate(hosts, start=2)
        if f"//{NETWORK}.{number}:" in folder.record().worker
    )
    old = json.loads((out / ".job" / "epoch-00001").read_text())["pid"]
    ip("link", "set", f"v{cut}", "down")
    wait_for(lambda: folder.record().epoch == 2, 120)
    # alive still, and cut off: this is what fences are for
    assert Path(f"/proc/{old}").exists()
    ip("link", "set", f"v{cut}", "up")
    wait_for(lambda: folder.state() == "finished", 200)
    time.sleep(5)
    np.testing.assert_array_equal(load_model(out).coefficients_, load_model(whole).coefficients_)
    stages = [json.loads(line)["stage"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert stages == list(range(STAGES + 1))
    said = [json.loads(line) for line in folder.log.read_text().splitlines()]
    taken = next(number for number, line in enumerate(said) if line["epoch"] == 2)
    assert all(line["epoch"] == 2 for line in said[taken:])
    assert [line["kind"] for line in said].count("run_finished") == 1
