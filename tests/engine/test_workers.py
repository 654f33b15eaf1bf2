"""Workers that differ from the driver, have less memory than a run needs, or die while they start."""

import subprocess
import sys
import time
from concurrent.futures import CancelledError
from contextlib import contextmanager

import dask
import numpy as np
import psutil
import pytest
from distributed import Client, LocalCluster

from cluster_processes import Processes, distkern, wait_for
from distkern.core.blas import single_threaded
from distkern.core.errors import ClusterError, CorruptDataError, InputError, MemoryBudgetError
from distkern.data.ingest import write_dataset
from distkern.engine.dask import residents, workers
from distkern.engine.dask.workers import explain_errors
from distkern.engine.drive import Driver
from distkern.engine.executors import cluster, open_executor
from distkern.engine.executors.cluster import ClusterExecutor, connect
from distkern.estimators.pegasos import PegasosClassifier
from distkern.passes import Each, Extent, Machine, Reduce
from distkern.passes.execution import Call, Timed
from runs import evaluate, plan, train
from toy import ToySource, add, scaled_sum, toy_rounds

SOURCE = ToySource()
OTHER = {"distkern": "0.0.9", "numpy": np.__version__}


@pytest.fixture(scope="module")
def running():
    """A scheduler with a worker of 80 MiB, in this process."""
    # this process takes more than that
    unwatched = {f"distributed.worker.memory.{action}": False for action in ("pause", "spill", "target")}
    # tasks of a worker limit its process for good, unless it is limited already
    with (
        single_threaded(),
        dask.config.set(unwatched),
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            host="127.0.0.1",
            memory_limit="80MiB",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address=None,
            scheduler_kwargs={"dashboard": False},
        ) as started,
    ):
        yield started.scheduler_address


def test_a_worker_with_another_package_is_refused_at_the_start(running, monkeypatch):
    monkeypatch.setattr(workers, "__version__", "0.0.9")
    answers = {"tcp://a:1": OTHER, "tcp://b:1": {**OTHER, "numpy": "1.26.4"}}
    with pytest.raises(InputError, match=r"^worker tcp://b:1 has numpy 1.26.4; this run needs .*numpy"):
        workers.check_workers(Answers(answers))
    absent = {"tcp://a:1": OTHER, "tcp://c:1": ModuleNotFoundError("No module named 'distkern'")}
    with pytest.raises(
        InputError, match=r"worker tcp://c:1 cannot run distkern .ModuleNotFoundError: No mod"
    ):
        workers.check_workers(Answers(absent))


class Answers:
    """A client whose workers answer as they are told."""

    def __init__(self, answers):
        self._answers = answers

    def run(self, function, *arguments, on_error):
        return self._answers


def test_no_task_of_any_kind_runs_on_a_worker_with_another_package(running, monkeypatch):
    # of the driver's side alone: the worker, in this process, has what it has
    for module in (cluster, residents):
        monkeypatch.setattr(module, "versions", lambda: OTHER)
    with connect(running) as executor:
        step, rounds = Reduce("sum", scaled_sum, add, 1.0), toy_rounds()
        placed = rounds.plan(Extent.of(SOURCE), Machine("distributed", 2))
        assert placed.on_workers
        tries = [
            lambda: Driver({"train": SOURCE}, executor).measure(step),
            lambda: Driver({"train": SOURCE}, executor).each(Each("parts", len, (0,), Nowhere())),
            lambda: executor.residents(rounds, placed, SOURCE, {}, print),
        ]
        for run in tries:
            with pytest.raises(
                InputError, match=r"^worker tcp://127.0.0.1:.* has distkern .* with distkern 0.0.9"
            ):
                run()


class Nowhere:
    """A store that has nothing yet."""

    def records(self):
        return {}


def test_which_worker_does_not_see_the_data(tmp_path):
    file = tmp_path / "chunk"
    file.write_bytes(b"values")
    missing = CorruptDataError("the chunk is missing", where=str(file), hint="make it again")
    here = workers.seen(str(file))
    answers = {"tcp://a:1": here, "tcp://b:1": "FileNotFoundError"}
    with pytest.raises(InputError) as caught, explain_errors(Answers(answers)):
        raise missing
    assert str(caught.value).startswith(
        f"{file}: worker tcp://b:1 sees other content in this file than this host"
    )
    assert "the data set itself is intact" in str(caught.value)
    # damaged for everybody: the advice stays
    with pytest.raises(CorruptDataError, match="make it again"), explain_errors(Answers({"tcp://a:1": here})):
        raise missing
    file.unlink()
    with pytest.raises(CorruptDataError), explain_errors(Answers({"tcp://b:1": "FileNotFoundError"})):
        raise missing


def test_a_scheduler_that_is_gone_is_not_asked():
    for lost in (OSError("closed"), CancelledError("cancelled")):
        with pytest.raises(type(lost)), explain_errors(None):
            raise lost


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    X = np.random.default_rng(0).standard_normal((6000, 8), dtype=np.float32)
    path = tmp_path_factory.mktemp("data") / "d.zarr"
    return write_dataset([(X, X[:, 0] + X[:, 1] ** 2 > 0.5)], path, rows_per_shard=1000, columns=True)


def test_a_run_keeps_to_the_limit_of_workers_that_run_already(running, data, tmp_path):
    def estimator():
        return PegasosClassifier(random_state=0, stages=1)

    # at 95 % of theirs their nannies end them
    theirs = (
        r"the workers that run already: pass '\w+' needs 9[45].0 MiB and the limit is 76.0 MiB: "
        "start the workers with --memory-limit 112MiB"
    )
    with pytest.raises(MemoryBudgetError, match=theirs):
        train(estimator(), data.train, scheduler=running, out=tmp_path / "m")
    # a higher limit of the run's does not lift theirs, a lower one is kept to
    with pytest.raises(MemoryBudgetError, match=theirs):
        train(estimator(), data.train, scheduler=running, memory_limit=2**30)
    with pytest.raises(
        MemoryBudgetError, match=r"^--memory-limit: .* the limit is 64.0 MiB: use --memory-limit"
    ):
        train(estimator(), data.train, scheduler=running, memory_limit=2**26)
    assert not (tmp_path / "m").exists()
    planned = plan(estimator(), data.train, scheduler=running)
    assert (planned.memory_limit, planned.fits) == (76 * 2**20, False)
    model = train(estimator(), data.train, scheduler="synchronous")
    with pytest.raises(MemoryBudgetError, match=theirs):
        evaluate(model, data.train, scheduler=running)


#: a worker that runs this dies as it starts, the first time
MORTAL = """
import os, signal
try:
    open({marker!r}, "x").close()
except FileExistsError:
    pass
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_worker_that_dies_while_the_cluster_starts_is_started_again(tmp_path):
    script = MORTAL.format(marker=str(tmp_path / "died"))
    with (
        dask.config.set({"distributed.worker.preload": [script]}),
        open_executor("local", workers=1) as executor,
    ):
        assert (tmp_path / "died").exists()
        assert Driver({"train": SOURCE}, executor).measure(Reduce("sum", scaled_sum, add, 1.0)).shape == (2,)


def nearly_all(limit):
    """Take 98 % of the limit for longer than a nanny needs to see it; the number of the process."""
    process = psutil.Process()
    kept = np.ones(int(0.98 * limit - process.memory_info().rss), np.uint8)
    time.sleep(0.6)
    assert 0.96 * limit < process.memory_info().rss < limit
    return process.pid if kept.all() else None


@pytest.mark.slow
def test_what_is_within_its_limit_ends_no_worker():
    executor = cluster.ClusterExecutor.open(workers=1, memory_limit=300 * 2**20, dashboard=False)
    try:
        took = [executor.client.submit(nearly_all, 300 * 2**20, pure=False).result() for _ in range(2)]
    finally:
        executor.close()
    assert took[0] == took[1] is not None


@pytest.mark.slow
def test_workers_that_always_die_while_they_start():
    script = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with (
        dask.config.set({"distributed.worker.preload": [script]}),
        pytest.raises(ClusterError, match=r"did not start in 5 tries .* use fewer --workers"),
    ):
        open_executor("local", workers=1)


JOB = ("--algorithm", "csvrg", "--set", "n_landmarks=60", "--set", "tol=0.0", "--seed", "0")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("packages", "said"),
    [
        ("import numpy; numpy.__version__ = '1.26.4'", "has numpy 1.26.4"),
        ("import distkern.core.version as v; v.__version__ = '0.0.9'", "has distkern 0.0.9"),
    ],
)
def test_a_worker_of_other_packages_that_joins_late(data, tmp_path, packages, said):
    script = tmp_path / "other.py"
    script.write_text(packages + "\n")
    out = tmp_path / "m"
    with Processes(tmp_path, 1) as processes:
        job = ["train", "--data", str(data.path), "--out", str(out), "--scheduler", processes.address, *JOB]
        with spawned(*job, "--set", "stages=3000") as run:
            wait_for(lambda: list(out.glob("checkpoints/stage-*")))
            processes.add_worker("--preload", str(script))
            _, errors = run.communicate(timeout=120)
        assert run.returncode == 2, errors
        refused = errors.splitlines()[-1]
        assert "worker tcp://127.0.0.1:" in refused
        assert said in refused
        assert "with --resume" in refused
        # as long as it is there, nothing begins
        again = distkern(*job, "--resume", "--set", "stages=3000")
        assert again.returncode == 2
        assert said in again.stderr


@pytest.mark.slow
def test_a_worker_without_the_package(tmp_path):
    script = tmp_path / "without.py"
    script.write_text("import sys; sys.modules['distkern'] = None\n")
    with Processes(tmp_path, 1) as processes:
        processes.add_worker("--preload", str(script))
        with Client(processes.address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        with pytest.raises(InputError, match=r"^worker tcp://127.0.0.1:\d+ cannot run distkern"):
            connect(processes.address)


@pytest.mark.slow
@pytest.mark.parametrize("job", [JOB, ("--algorithm", "simba", "--set", "stages=2")], ids=["csvrg", "simba"])
def test_data_that_a_worker_does_not_see(data, tmp_path, job):
    # the same path for all, as of a file system that is mounted on some machines only
    path = f"/proc/self/cwd/{data.path.name}"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with Processes(tmp_path, 0, host="127.0.0.2") as processes:
        processes.add_worker(folder=elsewhere)
        where = ("--data", path, "--out", str(tmp_path / "m"), "--scheduler", processes.address)
        run = distkern("train", *where, *job, folder=data.path.parent)
    assert run.returncode == 2, run.stderr
    [line] = run.stderr.splitlines()[-1:]
    assert "worker tcp://127.0.0.1:" in line
    assert "sees other content in this file than this host" in line
    assert "the data set itself is intact" in line


@contextmanager
def spawned(*arguments):
    """The command line in a process of its own, which does not outlive the test."""
    command = [sys.executable, "-m", "distkern", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_what_is_under_way_does_not_hide_that_the_scheduler_is_gone(monkeypatch):
    quiet = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **quiet) as started:
        client = Client(started, set_as_default=False)
        executor = ClusterExecutor(client, owned=False)

        def lost(futures):
            # it cannot be cancelled any more
            client.close()
            raise ClusterError("the scheduler is gone")

        monkeypatch.setattr(executor, "_result", lost)
        calls = [Call(Timed, (number, 0.0, 0.0), ToySource(), ()) for number in range(6)]
        with pytest.raises(ClusterError, match="the scheduler is gone"):
            executor.reduced("toys", calls, max, lambda done: None)


def test_a_script_that_every_worker_process_would_run_again_needs_a_guard(data, tmp_path):
    lines = (
        "import dask, distkern",
        "dask.config.set(scheduler='processes', num_workers=1)",
        f"rows = distkern.open_dataset({str(data.path)!r}).train",
        "fit = distkern.NewtonClassifier(features='linear', nu=1e-4, stages=1).fit",
    )
    for guard, code in (("", 1), ("if __name__ == '__main__': ", 0)):
        script = tmp_path / "fit.py"
        script.write_text("\n".join((*lines, f"{guard}fit(rows)")))
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done.stderr
        said = done.stderr.splitlines()[-1:]
        assert [line.endswith('below `if __name__ == "__main__":`') for line in said] == [True] * code
