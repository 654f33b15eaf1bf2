"""Calls of many workers go by way of some of them, and nothing else changes."""

import os
import signal

import numpy as np
import pytest

from distkern.engine.dask import actor
from distkern.engine.executors import open_executor
from toy import ToySource, forget_state, open_residents

SOURCE = ToySource()
MESSAGES = [(number, 0.1 * number, None) for number in range(5)]


@pytest.fixture(scope="module")
def executor():
    with open_executor("local", workers=4) as opened:
        yield opened


@pytest.fixture
def asked(executor, monkeypatch):
    """The addresses of the workers that the client itself asks, with relays among three residents."""
    found, plain = [], actor.Calls._rpc

    def rpc(self, address):
        found.append(address)
        return plain(self, address)

    monkeypatch.setattr(actor, "_RELAYED", 3)
    monkeypatch.setattr(actor.Calls, "_rpc", rpc)
    return found


def answers(executor, messages=MESSAGES):
    residents = open_residents(executor, SOURCE)
    found = [residents.exchange(message) for message in messages]
    residents.close()
    return found


@pytest.fixture(scope="module")
def plain():
    with open_executor("synchronous") as executor:
        return answers(executor)


@pytest.mark.slow
def test_half_of_the_workers_are_asked_and_the_bits_are_the_same(executor, asked, plain):
    residents = open_residents(executor, SOURCE)
    assert len(residents._places) == 4
    asked.clear()
    found = [residents.exchange(message) for message in MESSAGES]
    np.testing.assert_array_equal(found, plain)
    heads = {residents._places[0].address, residents._places[2].address}
    assert asked == sorted(heads, key=asked.index) * len(MESSAGES)
    assert set(asked) == heads
    residents.close()


@pytest.mark.slow
def test_an_error_of_a_resident_comes_through(executor, asked):
    residents = open_residents(executor, SOURCE)
    with pytest.raises(ValueError, match="round 0 is bad"):
        residents.exchange((0, -1.0, None))
    residents.close()


def test_who_was_not_reached_by_way_of_others_is_asked_again(executor, asked, plain):
    lost = []
    residents = open_residents(executor, SOURCE, lost.append)
    found = [residents.exchange(MESSAGES[0])]
    # its state is gone, as if its worker had been started again
    place = residents._places[3]
    executor._client.run(forget_state, place.key, workers=[place.address])
    found += [residents.exchange(message) for message in MESSAGES[1:]]
    assert lost == [place.address]
    np.testing.assert_array_equal(found, plain)
    residents.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["one that asks others", "one that is asked by another"])
def test_a_worker_that_dies_changes_nothing(number, executor, asked, plain):
    lost = []
    residents = open_residents(executor, SOURCE, lost.append)
    found = [residents.exchange(message) for message in MESSAGES[:2]]
    address = residents._places[number].address
    os.kill(executor._client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
    found += [residents.exchange(message) for message in MESSAGES[2:]]
    assert lost == [address]
    np.testing.assert_array_equal(found, plain)
    residents.close()


def test_few_or_those_that_the_client_does_not_reach_are_asked_straight(executor):
    client_calls = actor.Calls(executor._client)
    targets = [actor.Target(f"tcp://10.0.0.{number}:1", f"key {number}", "") for number in range(30)]
    assert [len(group) for group in client_calls._groups(targets)] == [5] * 6
    assert [target for group in client_calls._groups(targets) for target in group] == targets
    assert [len(group) for group in client_calls._groups(targets[:15])] == [1] * 15
    client_calls._proxied.add(targets[3].address)
    assert [len(group) for group in client_calls._groups(targets)] == [1] * 30
