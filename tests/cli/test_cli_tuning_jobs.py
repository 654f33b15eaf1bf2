"""A search as a job of a real scheduler with two workers: made, looked at, stopped, taken up and fetched."""

import json
import re

import numpy as np
import pytest

from cluster_processes import wait_for
from distkern.cli.main import main
from distkern.data.ingest import write_dataset
from distkern.jobs.folder import JobFolder
from distkern.runs.algorithms import load_model

JOB = """
algorithm = "csvrg"
[params]
n_landmarks = 40
stages = {stages}
tol = 0.0
[search]
[search.params]
gamma = {gammas}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "d.zarr"
    features = np.random.default_rng(0).normal(size=(2000, 2)).astype(np.float32)
    labels = (np.linalg.norm(features, axis=1) > 1.2).astype(int)
    write_dataset([(features, labels)], path, rows_per_shard=400, test_fraction=0.2)
    return path


def job_of(folder, data, stages=2, gammas="[0.001, 1.0, 1000.0]"):
    path = folder / "job.toml"
    path.write_text(f"data = {str(data)!r}\n" + JOB.format(stages=stages, gammas=gammas))
    return str(path)


def trials(model):
    """What is kept of each trial, but for the seconds."""
    found = {}
    for file in sorted((model / "tune" / "trials").iterdir()):
        trial = json.loads(file.read_text())
        found[file.name] = {key: trial[key] for key in trial if key not in ("seconds", "fingerprint")}
    return found


def n_trials(model):
    folder = model / "tune" / "trials"
    return sum(file.suffix == ".json" for file in folder.iterdir()) if folder.exists() else 0


def over(folder):
    return folder.has_job and folder.state() not in ("queued", "running")


@pytest.mark.slow
def test_a_search_is_a_job_like_others(data, cluster_for_jobs, tmp_path, capsys):
    job, out, here = job_of(tmp_path, data), tmp_path / "m", tmp_path / "here"
    submitted = ["submit", job, "--out", str(out), "--scheduler", cluster_for_jobs.address]
    assert main([*submitted, "--jobs", "2"]) == 0
    told = capsys.readouterr().out
    name = told.split()[-1]
    assert told.startswith("3 trials of csvrg on d.zarr to tcp://")
    folder = JobFolder(out)
    wait_for(lambda: over(folder), 60)
    assert main(["status", name, "--runs", str(tmp_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["state"], facts["error"], facts["stage"]) == ("finished", None, 2)
    assert main(["logs", name, "--runs", str(tmp_path)]) == 0
    log = capsys.readouterr().err
    assert all(f"{number} of 3: log_loss " in log for number in (1, 2, 3))
    assert "chosen: gamma=1" in log
    assert "csvrg: 1,600 rows x 2 features" in log
    # what is found does not depend on where it is searched
    assert main(["tune", job, "--out", str(here), "--scheduler", "synchronous"]) == 0
    fetched = tmp_path / "fetched"
    assert main(["fetch", name, "--out", str(fetched), "--runs", str(tmp_path)]) == 0
    assert trials(fetched) == trials(here)
    assert (fetched / "tune" / "report.html").exists()
    np.testing.assert_array_equal(load_model(fetched).coefficients_, load_model(here).coefficients_)
    capsys.readouterr()
    # another search is refused, before anything is sent
    other = job_of(tmp_path, data, gammas="[2.0, 3.0]")
    (out / "model.json").unlink()
    assert main(["submit", other, *submitted[2:]]) == 2
    assert "holds a search with another candidates" in capsys.readouterr().err
    assert main(["submit", "--data", str(data), "--jobs", "2", *submitted[2:]]) == 2
    assert "--jobs needs a table [search] in the job" in capsys.readouterr().err


@pytest.mark.slow
def test_a_search_that_was_cancelled_goes_on(data, cluster_for_jobs, tmp_path, capsys):
    job, out = job_of(tmp_path, data, 20, "[0.5, 1.0, 2.0, 4.0, 8.0, 16.0]"), tmp_path / "m"
    submitted = ["submit", job, "--out", str(out), "--scheduler", cluster_for_jobs.address]
    assert main(submitted) == 0
    name, folder = capsys.readouterr().out.split()[-1], JobFolder(out)
    wait_for(lambda: n_trials(out) >= 1 or over(folder), 60)
    # between two trials there is no pass
    wait_for(lambda: "pass" in folder.pulse() or over(folder), 60)
    assert re.match(r"trial \d of 6: gamma=", folder.pulse()["pass"])
    assert main(["cancel", name, "--runs", str(tmp_path), "--scheduler", cluster_for_jobs.address]) == 0
    wait_for(lambda: over(folder), 30)
    assert folder.state() == "cancelled"
    kept = trials(out)
    assert 1 <= len(kept) < 6
    assert main(submitted) == 0
    wait_for(lambda: over(folder), 120)
    assert folder.state() == "finished"
    assert {name: trials(out)[name] for name in kept} == kept
    assert n_trials(out) == 6
    capsys.readouterr()
    assert main(["logs", name, "--runs", str(tmp_path)]) == 0
    assert f"{len(kept)} earlier trials are reused" in capsys.readouterr().err


@pytest.mark.slow
def test_a_search_survives_the_deaths_of_its_hosts(data, cluster_for_jobs, tmp_path, capsys):
    job, out, here = job_of(tmp_path, data, 20, "[0.5, 1.0, 2.0, 4.0, 8.0]"), tmp_path / "m", tmp_path / "h"
    assert (
        main(["submit", job, "--out", str(out), "--scheduler", cluster_for_jobs.address, "--retries", "5"])
        == 0
    )
    folder = JobFolder(out)
    for deaths in (1, 2):
        wait_for(lambda deaths=deaths: n_trials(out) >= deaths, 120)
        epoch = folder.record().epoch
        claim = json.loads((out / ".job" / f"epoch-{epoch:05d}").read_text())
        cluster_for_jobs.kill_worker(claim["pid"])
        wait_for(lambda epoch=epoch: folder.record().epoch > epoch, 120)
    wait_for(lambda: folder.state() == "finished", 240)
    assert main(["tune", job, "--out", str(here), "--scheduler", "synchronous"]) == 0
    assert trials(out) == trials(here)
    np.testing.assert_array_equal(load_model(out).coefficients_, load_model(here).coefficients_)
