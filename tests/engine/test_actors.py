"""Rounds on worker processes: same bits for any number of them, and whichever die."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from itertools import count

import numpy as np
import pytest

from distkern.core.errors import DistkernError
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.dask.actor import LOST
from distkern.engine.dask.residents import ActorResidents
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog
from distkern.engine.executors import open_executor
from distkern.solvers.base import Problem
from toy import RoundsSolver, ToySource, forget_state, open_residents, same_sums

SOURCE = ToySource()
PROBLEM = Problem(SOURCE.block_rows, 2, SOURCE.dtype, 3, n_outputs=1, has_test=False)


def run(executor, *, solver=None, listeners=(), folder=None, resume=False):
    driver = Driver({"train": SOURCE}, executor, EventLog(listeners), folder)
    return driver.run(solver or RoundsSolver(), PROBLEM, resume=resume)


@pytest.fixture(scope="module")
def whole():
    with open_executor("synchronous") as executor:
        return run(executor)


@pytest.fixture(scope="module")
def executor(local_workers):
    return local_workers


def kill_one(executor):
    """Kill the first worker and say its address."""
    address, process = sorted(executor._client.run(os.getpid).items())[0]
    os.kill(process, signal.SIGKILL)
    return address


def test_each_worker_holds_one_resident(executor):
    residents = open_residents(executor, SOURCE)
    assert isinstance(residents, ActorResidents)
    assert len({place.address for place in residents._places}) == 2
    assert n_actors(executor) == {1}
    residents.close()


def n_actors(executor):
    return set(executor._client.run(lambda dask_worker: len(dask_worker.state.actors)).values())


def test_the_bits_and_the_story_on_two_workers(executor, whole):
    heard = []
    same_sums(run(executor, listeners=[heard.append]), whole)
    modes = {e["mode"] for e in heard if e.kind == "pass_finished" and e["name"] == "toy rounds"}
    assert modes == {"rounds on 2 workers"}
    assert not [event for event in heard if event.kind == "worker_lost"]


def test_workers_without_a_dashboard_load_no_pages_and_listen_on_loopback(executor):
    facts = executor._client.run(
        lambda dask_worker: ("bokeh" in sys.modules, dask_worker.http_server.address)
    )
    assert set(facts.values()) == {(False, "127.0.0.1")}


def test_an_error_of_a_resident_comes_through(executor):
    residents = open_residents(executor, SOURCE)
    with pytest.raises(ValueError, match="round 0 is bad"):
        residents.exchange((0, -1.0, None))
    residents.close()


def test_through_the_scheduler_where_the_workers_cannot_be_reached(executor, whole, monkeypatch):
    monkeypatch.setattr(executor._client, "rpc", lambda address: Unreachable())
    same_sums(run(executor), whole)


class Unreachable:
    def __getattr__(self, name):
        async def call(**arguments):
            raise OSError("no way")

        return call


def test_an_actor_that_has_been_replaced_behind_our_back_is_noticed(executor):
    lost = []
    residents, alone = open_residents(executor, SOURCE, lost.append), open_residents(executor, SOURCE)
    messages = [(number, 0.1 * number, None) for number in range(4)]
    first = [residents.exchange(message) for message in messages]
    place = residents._places[1]
    executor._client.run(forget_state, place.key, workers=[place.address])
    last = residents.exchange((4, 0.5, None))
    assert len(lost) == 1
    for message, answer in zip(messages, first, strict=True):
        np.testing.assert_array_equal(alone.exchange(message), answer)
    np.testing.assert_array_equal(alone.exchange((4, 0.5, None)), last)
    residents.close()
    alone.close()


def test_a_repeated_message_acts_once(executor):
    residents, alone = open_residents(executor, SOURCE), open_residents(executor, SOURCE)
    message = (0, 0.25, None)
    place = residents._places[0]
    # the answer got lost on its way: the same message goes out again
    assert residents._again(place, "exchange", (0, pickle.dumps(message, protocol=5))) is not LOST
    np.testing.assert_array_equal(residents.exchange(message), alone.exchange(message))
    residents.close()
    alone.close()


@pytest.mark.slow
def test_a_resumed_run_goes_on_with_the_state_on_other_hands(executor, whole, tmp_path):
    folder = CheckpointFolder(tmp_path, {})

    def stop(event):
        if event.kind == "pass_progress" and event["stage"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(executor, folder=folder, listeners=[stop])
    assert folder.stages() == [0, 1]
    same_sums(run(executor, folder=folder, resume=True), whole)
    deadline = time.monotonic() + 10
    while n_actors(executor) != {0}:
        assert time.monotonic() < deadline, "the workers keep nothing when a run is over"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_the_bits_on_any_number_of_workers(workers, whole):
    with open_executor("local", workers=workers) as executor:
        same_sums(run(executor), whole)


@pytest.mark.slow
@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_worker_that_dies_in_an_exchange_changes_nothing(checkpointed, whole, tmp_path):
    heard = []
    folder = CheckpointFolder(tmp_path / "checkpoints", {}) if checkpointed else None
    with open_executor("local", workers=2) as executor:
        solver = RoundsSolver(deadly=tmp_path / "killed")
        same_sums(run(executor, solver=solver, folder=folder, listeners=[heard.append]), whole)
    assert (tmp_path / "killed").exists()
    assert [event.kind for event in heard].count("worker_lost") == 1


@pytest.mark.slow
def test_workers_that_die_between_exchanges_and_before_checkpoints_change_nothing(whole, tmp_path):
    killed = []
    with open_executor("local", workers=2) as executor:

        def kill(event):
            # after stage 1 its state must still be fetched; the pass of stage 2 finds its state gone
            if (event.kind, event.fields.get("stage")) in [("checkpoint_saved", 1), ("pass_finished", 2)]:
                killed.append(kill_one(executor))
            if event.kind == "stage_finished" and event["metrics"]["stage"] in (1, 4):
                killed.append(kill_one(executor))

        same_sums(run(executor, listeners=[kill], folder=CheckpointFolder(tmp_path, {})), whole)
    assert len(killed) > 4


@pytest.mark.slow
def test_without_the_scheduler_it_says_so(tmp_path):
    file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    there = ("--scheduler-file", str(file), "--no-dashboard")
    scheduler = start(*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *there)
    worker = start(*dask, "worker", "--nworkers", "2", *there)
    try:
        while not file.exists():
            time.sleep(0.1)
        with open_executor(json.loads(file.read_text())["address"]) as executor:
            executor._client.wait_for_workers(2, timeout=60)
        with open_executor(json.loads(file.read_text())["address"]) as executor:
            residents = open_residents(executor, SOURCE)
            assert isinstance(residents, ActorResidents)
            scheduler.kill()
            with pytest.raises(DistkernError, match="resume"):
                exchange_for_ever(residents)
            residents.close()
    finally:
        for process in (scheduler, worker):
            # the nanny's workers as well
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def exchange_for_ever(residents):
    # the workers answer until they notice that the scheduler is gone
    for number in count():
        residents.exchange((number, 0.5, None))


def start(*command):
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
