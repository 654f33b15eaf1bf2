"""cluster/slurm.py on a SLURM of this machine's own: a controller and two nodes on loopback, started here.

Debian's packages `slurm-wlm` and `munge` are enough; nothing is installed and no service is used. Tests are
skipped by name where one of the programs is absent or does not start.
"""

import getpass
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cluster_processes import distkern, free_port, settings_of, wait_for
from distkern.data.ingest import write_dataset
from distkern.runs.algorithms import load_model

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
#: daemons lie where only root's shells look
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
ABSENT = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(ABSENT), reason=f"SLURM is not installed: no {', '.join(ABSENT)}"),
    pytest.mark.skipif(
        importlib.util.find_spec("dask_jobqueue") is None, reason="dask-jobqueue is not installed"
    ),
]

CONFIGURATION = """
ClusterName=loopback
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
NodeName=node0 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=2048
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=2048
PartitionName=all Nodes=ALL Default=YES State=UP
"""


@dataclass(frozen=True)
class Slurm:
    """A controller and two nodes of two processors at work, and the environment that leads to them."""

    environment: dict[str, str]

    def jobs(self):
        """The numbers of the jobs that run, the first ones first."""
        command = ["squeue", "--noheader", "--states=RUNNING", "--format=%i"]
        return sorted(self.told(*command).split(), key=int)

    def told(self, *command):
        asked = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)
        return asked.stdout


@pytest.fixture(scope="module")
def slurm():
    # short: the path of a socket has at most 107 characters
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        # munged wants its socket to be within everybody's reach; the key is nobody else's
        folder.chmod(0o711)
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for part in ("state", "spool-node0", "spool-node1"):
            (folder / part).mkdir()
        ports = [free_port() for _ in range(3)]
        settings = {"folder": folder, "ports": ports, "user": getpass.getuser(), "host": socket.gethostname()}
        (folder / "slurm.conf").write_text(CONFIGURATION.format(**settings))
        environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}
        munged = ["munged", "--foreground", f"--socket={folder}/munge.socket", f"--key-file={key}"]
        munged += [f"--{part}-file={folder}/munge.{part}" for part in ("pid", "log", "seed")]
        daemons = []
        with (folder / "log").open("w") as log:
            try:
                for command in (
                    munged,
                    ["slurmctld", "-D"],
                    ["slurmd", "-D", "-N", "node0"],
                    ["slurmd", "-D", "-N", "node1"],
                ):
                    daemons.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
                    # each talks to the one before when it starts
                    time.sleep(1)
                started = Slurm(environment)
                deadline = time.monotonic() + 30
                while started.told("sinfo", "--noheader", "--format=%D %t").split() != ["2", "idle"]:
                    if time.monotonic() > deadline or any(one.poll() is not None for one in daemons):
                        lines = (folder / "log").read_text().splitlines()
                        pytest.skip(f"SLURM does not start here: {' / '.join(lines[-3:])}")
                    time.sleep(0.5)
                yield started
            finally:
                for daemon in reversed(daemons):
                    daemon.terminate()
                    daemon.wait(30)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """The working folder, with a data set."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((6000, 8), dtype=np.float32)
    write_dataset([(X, X[:, 0] + X[:, 1] ** 2 > 0.5)], "d.zarr", rows_per_shard=500)
    return tmp_path


def start(slurm, repository, *arguments, jobs=2):
    """The script at work in a session of its own, as behind a terminal."""
    given = ["--jobs", str(jobs), "--cores", "2", "--memory", "1GB", "--walltime", "00:10:00"]
    given += ["--scratch", os.getcwd(), "--dashboard-port", "0"]
    return subprocess.Popen(
        [sys.executable, str(repository / "cluster" / "slurm.py"), *given, *arguments],
        env=slurm.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def training(out, stages):
    settings = settings_of(n_landmarks=60, tol=0.0, stages=stages)
    return ["train", "--data", "d.zarr", "--algorithm", "csvrg", *settings, "--out", out]


def stages(out):
    """The last stage of which there is a checkpoint."""
    found = [int(path.name.partition("-")[2]) for path in Path(out).glob("checkpoints/stage-*")]
    return max(found, default=0)


def test_a_job_that_is_cancelled_is_asked_for_again_and_the_bits_stay(slurm, repository, desk):
    run = start(slurm, repository, "--", sys.executable, "-m", "distkern", *training("m", 120))
    wait_for(lambda: stages("m") > 2 or run.poll() is not None, 120)
    before = slurm.jobs()
    assert len(before) == 2, run.communicate(timeout=60)
    slurm.told("scancel", before[0])
    wait_for(lambda: len(set(slurm.jobs()) - set(before)) == 1, 45)
    assert run.poll() is None
    output, errors = run.communicate(timeout=250)
    assert run.returncode == 0, (output, errors)
    assert "csvrg: 6,000 rows x 8 features" in errors
    assert "slurm.py: 1 of 2 jobs ended; asked for again" in errors
    assert slurm.jobs() == []
    alone = distkern(*training("alone", 120), "--scheduler", "synchronous")
    assert alone.returncode == 0, alone.stderr
    np.testing.assert_array_equal(load_model("m").coefficients_, load_model("alone").coefficients_)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_a_checkpoint_and_no_jobs(slurm, repository, desk, number):
    run = start(slurm, repository, "--", sys.executable, "-m", "distkern", *training("m", 2000))
    wait_for(lambda: stages("m") > 2 or run.poll() is not None, 120)
    # Ctrl-C reaches all programs of a terminal, `kill` and `scancel` the script alone
    (os.killpg if number == signal.SIGINT else os.kill)(run.pid, number)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert "run the same command with --resume to continue" in errors
    assert "Traceback" not in errors
    wait_for(lambda: slurm.jobs() == [], 30)


def test_a_job_that_slurm_refuses_is_told_in_its_words(slurm, repository, desk):
    run = start(slurm, repository, "--queue", "nosuch", "--", "true")
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 2
    assert "slurm.py: SLURM refuses the job: " in errors
    assert "invalid partition specified: nosuch" in errors


def test_jobs_that_cannot_work_are_given_up(slurm, repository, desk):
    run = start(slurm, repository, "--python", "/no/such/python", "--", "true", jobs=3)
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "slurm.py: jobs end before a worker comes; see slurm-logs" in errors
    assert any("/no/such/python" in path.read_text() for path in Path("slurm-logs").glob("*.err"))
