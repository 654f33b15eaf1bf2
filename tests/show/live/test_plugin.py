"""The page on a real scheduler: installed from the client or preloaded, with events of a real run."""

import subprocess
import sys
import time
import urllib.request

import pytest
from distributed import Client
from runs_of_dashboard import started

from distkern.engine.drive import Driver
from distkern.engine.events import EventLog
from distkern.engine.executors.cluster import ClusterExecutor
from distkern.show.live.forward import Forwarder
from distkern.show.live.preload import TRAVELLING, install
from distkern.solvers.base import Problem
from toy import ToySolver, ToySource

SOURCE = ToySource((5, 7, 3, 6, 4) * 20)
PROBLEM = Problem(SOURCE.block_rows, 2, SOURCE.dtype, 3, n_outputs=1, has_test=False)


def train(client, **facts):
    listener = Forwarder(client, {"algorithm": "toy", "data": "rows", "out": "m", **facts})
    executor = ClusterExecutor(client, owned=False)
    Driver({"train": SOURCE}, executor, EventLog([listener])).run(ToySolver(), PROBLEM)


def plugin(client):
    return client.cluster.scheduler.plugins["distkern"]


def get(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return str(answer.read().decode())


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_run_before_and_after_the_page_is_there(client):
    train(client, id="before", began=1.0)
    url = install(client)
    assert url.startswith("http://127.0.0.1:")
    assert url.endswith("/distkern")
    before = plugin(client).newest.history
    train(client, id="after")
    assert install(client) == url
    after = plugin(client).newest.history
    assert [(run.id, run.state, len(run.stages)) for run in (before, after)] == [
        ("before", "finished", 5),
        ("after", "finished", 5),
    ]
    assert plugin(client).newest.refused == 0
    assert before.stages[-1]["objective"] == after.stages[-1]["objective"]
    assert "distkern" in get(url)
    assert "static/js/bokeh" in get(url)
    assert "cdn.bokeh.org" not in get(url)
    found = plugin(client).cluster()
    assert (found.n_workers, found.n_threads) == (2, 2)


def test_a_client_that_leaves_has_stopped_its_run(client):
    install(client)
    with Client(client.cluster, set_as_default=False) as other:
        listener = Forwarder(other, {"id": "left"})
        EventLog([listener]).emit("run_started", **started()["fields"])
        assert plugin(client).newest.history.state == "running"
    wait_for(lambda: plugin(client).newest.history.state == "stopped")


def test_what_was_meant_for_a_scheduler_that_died_makes_no_run(client):
    install(client)
    late, live = Forwarder(client, {"id": "late"}), Forwarder(client, {"id": "live"})
    assert live.run["scheduler"] == client.cluster.scheduler.id
    # both were started with the scheduler before; of one, the client has connected again, of one it is gone
    late.run.update(scheduler="Scheduler-before", client="Client-before")
    live.run["scheduler"] = "Scheduler-before"
    late.run["began"] = live.run["began"] + 1
    EventLog([live, late]).emit("message", text="stage 22")
    assert plugin(client).newest.history.id == "live"
    assert plugin(client).newest.refused == 0


def test_all_modules_of_the_page_travel():
    code = (
        "import sys, distkern.show.live.preload\n"
        "print(*sorted(n for n, m in sys.modules.items() if n.startswith('distkern') and m.__file__"
        " and not m.__file__.endswith('__init__.py')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    # the package itself imports its version
    assert set(run.stdout.split()) - {"distkern.core.version"} == set(TRAVELLING)


SCHEDULER = """
import asyncio, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if REFUSED and name.partition(".")[0] == "distkern":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
from distributed import Scheduler

async def main():
    async with Scheduler(
        host="127.0.0.1", port=0, dashboard_address="127.0.0.1:0", preload=PRELOAD, dashboard=True
    ) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("preloaded", [False, True])
def test_a_scheduler_of_another_process(preloaded, tmp_path):
    program = tmp_path / "scheduler.py"
    settings = f"REFUSED, PRELOAD = {not preloaded}, {['distkern.show.live.preload'] if preloaded else []}"
    program.write_text(settings + SCHEDULER)
    process = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True)
    try:
        with Client(process.stdout.readline().strip(), set_as_default=False, timeout=30) as client:
            if preloaded:
                port = client.scheduler_info()["services"]["dashboard"]
                assert "distkern" in get(f"http://127.0.0.1:{port}/distkern")
            url = install(client)
            emit = EventLog([Forwarder(client, {"id": "far"})]).emit
            emit("message", text="hello")
            page = get(url)
            assert "bokeh" in page
            known = client.run_on_scheduler(
                lambda dask_scheduler: dask_scheduler.plugins["distkern"].newest.history.notes[0][2]
            )
            assert known == "hello"
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
