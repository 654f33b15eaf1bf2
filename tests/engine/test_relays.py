"""Calls of many workers go by way of some of them, and nothing else changes."""

import os
import signal

import numpy as np
import pytest

from distkern.engine.dask import calls
from distkern.engine.executors import open_executor
from distkern.engine.plan import Extent
from distkern.engine.plan_rounds import plan_rounds
from toy import ToySource, toy_rounds

SOURCE = ToySource()
MESSAGES = [(number, 0.1 * number, None) for number in range(5)]


@pytest.fixture(scope="module")
def executor():
    with open_executor("local", workers=4) as opened:
        yield opened


@pytest.fixture
def asked(executor, monkeypatch):
    """The addresses of the workers that the client itself asks, with relays among as few as three parties."""
    found, plain = [], calls.Calls._rpc

    def rpc(self, address):
        found.append(address)
        return plain(self, address)

    monkeypatch.setattr(calls, "_RELAYED", 3)
    monkeypatch.setattr(calls.Calls, "_rpc", rpc)
    return found


def open_parties(executor, lost):
    step = toy_rounds()
    return executor.parties(step, plan_rounds(step, Extent.of(SOURCE), executor.machine), SOURCE, {}, lost)


def answers(executor, messages=MESSAGES):
    parties = open_parties(executor, print)
    found = [parties.exchange(message) for message in messages]
    parties.close()
    return found


@pytest.fixture(scope="module")
def plain():
    with open_executor("synchronous") as executor:
        return answers(executor)


def test_half_of_the_workers_are_asked_and_the_bits_are_the_same(executor, asked, plain):
    parties = open_parties(executor, print)
    assert len(parties._places) == 4
    asked.clear()
    found = [parties.exchange(message) for message in MESSAGES]
    np.testing.assert_array_equal(found, plain)
    heads = {parties._places[0].address, parties._places[2].address}
    assert asked == sorted(heads, key=asked.index) * len(MESSAGES)
    assert set(asked) == heads
    parties.close()


def test_an_error_of_a_resident_comes_through(executor, asked):
    parties = open_parties(executor, print)
    with pytest.raises(ValueError, match="round 0 is bad"):
        parties.exchange((0, -1.0, None))
    parties.close()


def test_who_was_not_reached_by_way_of_others_is_asked_again(executor, asked, plain):
    parties, lost = open_parties(executor, print), []
    parties._lost = lost.append
    found = [parties.exchange(MESSAGES[0])]
    # its state is gone, as if its worker had been started again
    place = parties._places[3]
    executor._client.run(forget_state, place.key, workers=[place.address])
    found += [parties.exchange(message) for message in MESSAGES[1:]]
    assert lost == [place.address]
    np.testing.assert_array_equal(found, plain)
    parties.close()


def forget_state(key, dask_worker):
    actor = dask_worker.state.actors[key]
    actor.__init__(actor._epoch)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["one that asks others", "one that is asked by another"])
def test_a_worker_that_dies_changes_nothing(number, executor, asked, plain):
    lost = []
    parties = open_parties(executor, lost.append)
    found = [parties.exchange(message) for message in MESSAGES[:2]]
    address = parties._places[number].address
    os.kill(executor._client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
    found += [parties.exchange(message) for message in MESSAGES[2:]]
    assert lost == [address]
    np.testing.assert_array_equal(found, plain)
    parties.close()


def test_few_or_those_that_the_client_does_not_reach_are_asked_straight(executor):
    client_calls = calls.Calls(executor._client)
    targets = [calls.Target(f"tcp://10.0.0.{number}:1", f"key {number}", "") for number in range(30)]
    assert [len(group) for group in client_calls._groups(targets)] == [5] * 6
    assert [target for group in client_calls._groups(targets) for target in group] == targets
    assert [len(group) for group in client_calls._groups(targets[:15])] == [1] * 15
    client_calls._proxied.add(targets[3].address)
    assert [len(group) for group in client_calls._groups(targets)] == [1] * 30
