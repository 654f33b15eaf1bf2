"""A team's certificates: who has one gets in, who has none or another authority's does not."""

import copy
import os
import shutil
import stat
import subprocess
import sys

import dask
import numpy as np
import pytest
import yaml
from distributed import Client
from test_handshake import server

from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.engine.executors.cluster import connect

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")

SCHEDULER = """
import asyncio
from distributed import Scheduler

async def main():
    async with Scheduler(host="127.0.0.1", port=0, protocol="tls", dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()

asyncio.run(main())
"""


def make(repository, folder, *names):
    script = repository / "cluster" / "tls" / "make_certificates.sh"
    return subprocess.run([str(script), str(folder), *names], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def certificates(repository, tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    made = make(repository, folder / "team", "scheduler", "worker", "alice")
    assert made.returncode == 0, made.stderr
    assert make(repository, folder / "strangers", "mallory").returncode == 0
    return folder


def start(settings, *command):
    environment = {**os.environ, "DASK_CONFIG": str(settings)}
    return subprocess.Popen([sys.executable, *command], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def scheduler(certificates):
    team = certificates / "team"
    process = start(team / "scheduler.yaml", "-c", SCHEDULER)
    workers = []
    try:
        address = process.stdout.readline().strip()
        worker = ("-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard")
        workers.append(start(team / "worker.yaml", *worker, "--nthreads", "1"))
        yield address
    finally:
        for started in (*workers, process):
            started.kill()
            started.wait()
            if started.stdout is not None:
                started.stdout.close()


def settings(path, **changes):
    """Settings to take on for a while: what they do not name stays as it is."""
    comm = yaml.safe_load(path.read_text(encoding="utf-8"))["distributed"]["comm"]
    tls = {**comm["tls"], **changes}
    flat = {f"distributed.comm.tls.{name}": value for name, value in tls.items()}
    return {**flat, "distributed.comm.require-encryption": comm["require-encryption"]}


@pytest.mark.slow
def test_a_member_of_the_team_gets_in(certificates, scheduler):
    assert scheduler.startswith("tls://")
    with dask.config.set(settings(certificates / "team" / "alice.yaml")):
        executor = connect(scheduler)
        try:
            assert executor._client.submit(abs, -3).result(timeout=30) == 3
        finally:
            executor.close()


@pytest.mark.slow
def test_a_stranger_does_not(certificates, scheduler):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
        pytest.raises(InputError, match="no certificate was given"),
    ):
        connect(scheduler)
    # a stranger may well know the team's public certificate
    known = {"ca-file": str(certificates / "team" / "ca.pem")}
    foreign = settings(certificates / "strangers" / "mallory.yaml", **known)
    with dask.config.set(foreign), pytest.raises((OSError, TimeoutError)):
        Client(scheduler, timeout="3s", set_as_default=False)


def test_keys_are_private_and_names_are_not_overwritten(repository, certificates):
    team = certificates / "team"
    before = (team / "ca.pem").read_bytes()
    for key in team.glob("*.key"):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    again = make(repository, team, "alice")
    assert again.returncode == 2
    assert "alice.pem is there already" in again.stderr
    assert make(repository, team, "bob").returncode == 0
    assert (team / "bob.yaml").exists()
    assert (team / "ca.pem").read_bytes() == before
    for bad in ("ca", "../eve", "a b"):
        assert make(repository, team, bad).returncode == 2
    assert make(repository, team).returncode == 2


@pytest.fixture
def plain_settings():
    """What a command sets is gone after the test."""
    before = copy.deepcopy(dask.config.config)
    dask.config.set({"distributed.comm.timeouts.connect": "3s"})
    yield
    dask.config.config.clear()
    dask.config.config.update(before)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    generator = np.random.default_rng(0)
    X = generator.standard_normal((200, 3), dtype=np.float32)
    path = tmp_path_factory.mktemp("data") / "d.zarr"
    write_dataset([(X, X[:, 0] > 0)], path, scale="none")
    return path


def options_of(folder, name, ca=None):
    files = {"ca": ca or folder / "ca.pem", "cert": folder / f"{name}.pem", "key": folder / f"{name}.key"}
    return [part for what, file in files.items() for part in (f"--tls-{what}", str(file))]


def train(data, out, scheduler, *more):
    settings = ("--algorithm", "pegasos", "--set", "stages=1")
    job = ("--data", str(data), "--out", str(out), "--scheduler", scheduler)
    return main(["train", *job, *settings, *more])


@pytest.mark.usefixtures("plain_settings")
@pytest.mark.parametrize("kept", ["--tls-cert", "--tls-key"])
def test_half_of_a_pair_is_refused(certificates, kept, capsys):
    given = options_of(certificates / "team", "alice")
    ca, file = given[:2], given[given.index(kept) + 1]
    assert main(["jobs", "--scheduler", "tls://127.0.0.1:1", *ca, kept, file]) == 2
    assert "cannot be used" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("plain_settings")
def test_training_with_the_files_named(certificates, scheduler, data, tmp_path, capsys):
    given, where = options_of(certificates / "team", "alice"), ("--scheduler", scheduler)
    assert train(data, tmp_path / "m", scheduler, *given) == 0
    assert (
        main(["evaluate", str(tmp_path / "m"), "--data", str(data), "--split", "train", *where, *given]) == 0
    )
    capsys.readouterr()
    assert main(["jobs", "--runs", str(tmp_path), "--scheduler", scheduler, *given]) == 0
    # neither the key nor where it lies is anywhere in what was written
    secret = (certificates / "team" / "alice.key").read_text().splitlines()[1]
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes()
            assert b"alice.key" not in file.read_bytes()


@pytest.mark.usefixtures("plain_settings")
def test_the_reason_is_said(certificates, scheduler, data, tmp_path, capsys):
    team, strangers = certificates / "team", certificates / "strangers"

    def refused(*more, where=scheduler):
        assert train(data, tmp_path / "m", where, *more) == 2
        return capsys.readouterr().err

    assert "no certificate was given" in refused()
    for ca in (None, team / "ca.pem"):
        assert "the TLS connection failed" in refused(*options_of(strangers, "mallory", ca=ca))
    mixed = ["--tls-ca", str(team / "ca.pem"), "--tls-cert", str(team / "alice.pem")]
    assert "cannot be used" in refused(*mixed, "--tls-key", str(team / "worker.key"))
    with server(b"what a scheduler in the open begins with") as port:
        given = options_of(team, "alice")
        assert "the TLS connection failed" in refused(*given, where=f"tls://127.0.0.1:{port}")
    assert "has no effect with scheduler 'threads'" in refused(*mixed, where="threads")
    assert not (tmp_path / "m").exists()
