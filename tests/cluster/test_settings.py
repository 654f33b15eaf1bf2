"""The files for operators: settings that Dask knows, manifests whose commands have options that exist."""

import runpy
import shlex
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import dask.config
import distributed  # noqa: F401  (its defaults are read when it is imported)
import pytest
import yaml
from distributed.cli.dask_worker import main as worker_command


def leaves(settings, above=""):
    for name, value in settings.items():
        path = f"{above}{name}"
        if isinstance(value, dict):
            yield from leaves(value, f"{path}.")
        else:
            yield path


def load(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def test_every_setting_is_one_of_dask_s(repository):
    known = dask.config.merge(*dask.config.defaults)
    names = list(leaves(load(repository / "cluster" / "distkern.yaml")))
    assert len(names) > 8
    for name in names:
        dask.config.get(name, config=known)


def test_a_setting_that_dask_does_not_know_would_be_found():
    known = dask.config.merge(*dask.config.defaults)
    with pytest.raises(KeyError):
        dask.config.get("distributed.scheduler.worker-tll", config=known)


def commands(repository):
    """Every command line of the manifests, word by word."""
    folder = repository / "cluster"
    services = load(folder / "docker" / "compose.yaml")["services"]
    found = [shlex.split(service["command"]) for service in services.values()]
    cluster = load(folder / "kubernetes" / "cluster.yaml")["spec"]
    pods = [cluster["worker"]["spec"], cluster["scheduler"]["spec"]]
    pods.append(load(folder / "kubernetes" / "train.yaml")["spec"]["template"]["spec"])
    return found + [container["args"] for pod in pods for container in pod["containers"]]


def test_commands_have_only_options_that_exist(repository):
    modules = {
        ("dask", "scheduler"): "distributed.cli.dask_scheduler",
        ("dask", "worker"): "distributed.cli.dask_worker",
        ("distkern", "train"): "distkern.cli.train",
    }
    seen = set()
    for program, command, *words in commands(repository):
        if command == "--help":
            continue
        seen.add((program, command))
        module = import_module(modules[program, command])
        known = getattr(module, "train" if command == "train" else "main")
        options = {
            name for parameter in known.params for name in (*parameter.opts, *parameter.secondary_opts)
        }
        assert {word for word in words if word.startswith("--")} <= options
        if command == "worker":
            assert words[words.index("--nthreads") + 1] == "1"
    assert seen == set(modules)


def test_volumes_and_names_of_the_manifests_agree(repository):
    folder = repository / "cluster" / "kubernetes"
    cluster, job = load(folder / "cluster.yaml"), load(folder / "train.yaml")
    name = cluster["metadata"]["name"]
    assert load(folder / "autoscaler.yaml")["spec"]["cluster"] == name
    assert cluster["spec"]["scheduler"]["service"]["selector"]["dask.org/cluster-name"] == name
    pods = [cluster["spec"]["worker"]["spec"], job["spec"]["template"]["spec"]]
    assert f"tcp://{name}-scheduler:8786" in pods[1]["containers"][0]["args"]
    assert len({pod["volumes"][0]["persistentVolumeClaim"]["claimName"] for pod in pods}) == 1
    assert len({pod["containers"][0]["volumeMounts"][0]["mountPath"] for pod in pods}) == 1


@pytest.mark.parametrize("script", ["ssh.py", "slurm.py"])
def test_scripts_explain_themselves_without_their_packages(repository, script):
    path = repository / "cluster" / script
    run = subprocess.run([sys.executable, str(path), "--help"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "--workers" in run.stdout or "--jobs" in run.stdout
    # a module that cannot be found stands for one that is not installed
    code = (
        "import importlib.util, runpy, sys; importlib.util.find_spec = lambda name: None; "
        f"sys.argv = ['x', 'host', '--show'][:{2 if script == 'ssh.py' else 3}]; "
        f"runpy.run_path({str(path)!r}, run_name='__main__')"
    )
    without = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert without.returncode == 2
    assert "is not installed here; pip install" in without.stderr
    assert without.stderr.count("\n") == 1


def test_workers_leave_before_their_batch_job_ends(repository):
    script = runpy.run_path(str(repository / "cluster" / "slurm.py"))
    assert script["lifetime"]("04:00:00") == (4 * 3600 - 300, 60)
    assert script["lifetime"]("00:10:00") == (540, 12)
    assert script["lifetime"]("1-00:00:00") == (24 * 3600 - 300, 60)
    options = {name for parameter in worker_command.params for name in parameter.opts}
    arguments = script["options"](script["parser"]().parse_args([]))["worker_extra_args"]
    assert {word for word in arguments if word.startswith("--")} <= options


def test_the_readme_is_a_page_of_80_columns_and_names_every_file(repository):
    folder = repository / "cluster"
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert max(len(line) for line in text.splitlines()) <= 80
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "README.md" and "__pycache__" not in path.parts:
            assert path.relative_to(folder).as_posix() in text, path


def test_the_local_script_looks_before_it_starts(repository):
    script = ["sh", str(repository / "cluster" / "local.sh")]

    def refused(*arguments):
        path = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
        run = subprocess.run(
            [*script, *arguments], capture_output=True, text=True, timeout=60, env=path, check=False
        )
        assert run.returncode == 2
        return run.stderr

    assert refused("two") == (
        "local.sh: 'two' is no number; usage: local.sh [WORKERS] [MEMORY] [PORT] [DASHBOARD_PORT]\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} is taken" in refused("1", "1GiB", str(port), "0")
        assert f"port {port} is taken" in refused("1", "1GiB", "0", str(port))
