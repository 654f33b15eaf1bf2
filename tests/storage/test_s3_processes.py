"""Processes and clusters whose data sets, checkpoints and jobs lie in S3."""

import json
import threading
import time

import pytest

from distkern.cli.main import main
from distkern.runs.persistence import load_model
from s3_runs import STAGES, make
from s3_server import KEY, SECRET, Road, Server, settings

s3fs = pytest.importorskip("s3fs")
pytest.importorskip("moto.server")


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["server", "road"])
def test_processes_whose_server_is_killed(killed, local, tmp_path):
    """The command line with worker processes: the server dies in a pass, for good or for three seconds."""
    from cluster_processes import distkern

    server = Server(tmp_path / "log")
    road = Road(server.port)
    try:
        # what is in front of a dead server would take connections still
        environment = settings(server.port if killed == "server" else road.port)
        system = s3fs.S3FileSystem(
            key=KEY,
            secret=SECRET,
            endpoint_url=environment["AWS_ENDPOINT_URL"],
            skip_instance_cache=True,
            use_listings_cache=False,
        )
        system.mkdir("some-bucket")
        system.put(str(local[0].path), "some-bucket/d.zarr", recursive=True)
        results = []
        command = (
            "train",
            "--data",
            "s3://some-bucket/d.zarr",
            "--out",
            "s3://some-bucket/m",
            "--algorithm",
            "csvrg",
            "--scheduler",
            "local",
            "--workers",
            "2",
            "--no-dashboard",
            "--set",
            "n_landmarks=16",
            "--set",
            "stages=400",
            "--set",
            "tol=0.0",
        )
        thread = threading.Thread(
            target=lambda: results.append(distkern(*command, timeout=120, **environment))
        )
        thread.start()
        until = time.monotonic() + 60
        while not system.exists("some-bucket/m/checkpoints/stage-00002/zarr.json"):
            assert time.monotonic() < until
            time.sleep(0.2)
        if killed == "server":
            server.kill()
        else:
            road.cut()
            time.sleep(3)
            road.hint()
            # it goes on: later checkpoints appear
            before = max(system.ls("some-bucket/m/checkpoints"))
            while max(system.ls("some-bucket/m/checkpoints")) <= before:
                assert time.monotonic() < until + 60
                time.sleep(0.2)
            road.cut()
        thread.join()
        assert results[0].returncode == 1
        assert "the store does not answer" in results[0].stderr
        for secret in (KEY, SECRET):
            assert secret not in results[0].stdout + results[0].stderr
        if killed == "road":
            road.hint()
            assert not system.exists("some-bucket/m/model.json")
            assert len(system.ls("some-bucket/m/checkpoints")) >= 1
    finally:
        road.cut()
        server.kill()


@pytest.mark.slow
def test_a_job_on_a_cluster_that_shares_nothing_but_s3(bucket, road, local, tmp_path, capsys):
    """Submitted by a job file, run, looked at and fetched: all through S3."""
    from cluster_processes import Processes

    make(bucket / "d.zarr")
    (bucket / "job.toml").write_text(
        f'algorithm = "csvrg"\ndata = "{bucket}/d.zarr"\nout = "{bucket}/runs/m"\n'
        f"[params]\nn_landmarks = 16\nstages = {STAGES}\ntol = 0.0\n"
    )
    runs = ["--runs", f"{bucket}/runs"]
    with Processes(tmp_path, 2, **settings(road.port)) as cluster:
        assert main(["submit", f"{bucket}/job.toml", "--scheduler", cluster.address, "--wait"]) == 0
        said = capsys.readouterr().out
    assert main(["jobs", *runs, "--json"]) == 0
    (job,) = json.loads(capsys.readouterr().out)["jobs"]
    assert job["state"] == "finished", said
    assert main(["fetch", job["id"], *runs, "--out", str(tmp_path / "m")]) == 0
    assert load_model(tmp_path / "m").coef_.tobytes() == load_model(local[1]).coef_.tobytes()
    system = s3fs.S3FileSystem(use_listings_cache=False)
    for path in system.find(str(bucket)):
        content = system.cat_file(path)
        assert KEY.encode() not in content, path
        assert SECRET.encode() not in content, path
