"""The driver's side: what is sent, how often, and that it never stops a run."""

import time

import msgpack
import numpy as np
import pytest

from distkern.engine.events import Event, EventLog, plain
from distkern.show.live.forward import INTERVAL, MOST_WAITING, Forwarder


class FakeClient:
    """Keeps what it is given, or fails."""

    id = "Client-7"

    def __init__(self, error=None):
        self.sent = []
        self.error = error
        self.tries = 0

    def scheduler_info(self, n_workers):
        if self.error is not None:
            raise self.error
        return {"id": "Scheduler-3"}

    def log_event(self, topic, message):
        self.tries += 1
        if self.error is not None:
            raise self.error
        assert topic == "distkern"
        self.sent.append(msgpack.unpackb(msgpack.packb(message)))

    @property
    def events(self):
        return [event for message in self.sent for event in message["events"]]


def progress(done):
    counts = {"tasks_done": done, "tasks": 9, "rows_done": 0, "rows": 0, "bytes_done": 0}
    return Event("pass_progress", {"name": "p", "stage": 1, **counts})


def test_every_message_says_whose_it_is():
    client = FakeClient()
    forward = Forwarder(client, {"algorithm": "csvrg", "data": "d.zarr", "out": "m", "memory_limit": None})
    EventLog([forward]).emit("message", text="hello")
    (message,) = client.sent
    run = message["run"]
    assert (run["algorithm"], run["data"], run["out"], run["client"]) == ("csvrg", "d.zarr", "m", "Client-7")
    assert "memory_limit" not in run
    assert run["scheduler"] == "Scheduler-3"
    assert message["events"][0]["fields"] == {"text": "hello"}
    assert run["id"] != Forwarder(client, {}).run["id"]
    assert Forwarder(client, {"id": "given"}).run["id"] == "given"


def test_progress_is_throttled_and_the_newest_arrives():
    client = FakeClient()
    forward = Forwarder(client, {})
    begin = time.monotonic()
    done = 0
    while time.monotonic() - begin < 3.5 * INTERVAL:
        done += 1
        forward(progress(done))
    forward(Event("stage_finished", {"metrics": {}}))
    forward.flush()
    assert len(client.sent) <= 7
    assert client.events[-2]["fields"]["tasks_done"] == done
    assert client.events[-1]["kind"] == "stage_finished"
    assert done > 100


def test_a_lone_event_of_a_pass_does_not_wait_for_the_next():
    client = FakeClient()
    forward = Forwarder(client, {})
    forward(progress(1))
    forward(progress(2))
    deadline = time.monotonic() + 20 * INTERVAL
    while not client.events and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [event["fields"]["tasks_done"] for event in client.events] == [2]


def test_what_matters_most_is_sent_at_once():
    client = FakeClient()
    forward = Forwarder(client, {})
    forward(progress(1))
    forward(Event("worker_lost", {"address": "tcp://10.0.0.7:8786"}))
    assert [event["kind"] for event in client.events] == ["pass_progress", "worker_lost"]


@pytest.mark.parametrize(
    "error", [OSError("gone"), RuntimeError("loop closed"), TimeoutError(), ValueError()]
)
def test_a_scheduler_that_is_gone_does_not_stop_the_run(error):
    client = FakeClient(error)
    forward = Forwarder(client, {})
    for _ in range(2 * MOST_WAITING):
        forward(Event("message", {"text": "x"}))
    assert client.tries == 1
    assert len(forward._waiting) <= MOST_WAITING


def test_values_as_msgpack_takes_them():
    fields = {
        "a": np.float32(0.5),
        "b": np.int64(3),
        "c": float("nan"),
        "d": [np.bool_(True), (1, 2)],
        "e": 2**80,
        "f": np.zeros(3),
        5: None,
        "g": {"h": np.float64("inf")},
        "i": 2**40,
    }
    made = plain(fields)
    assert msgpack.unpackb(msgpack.packb(made)) == made
    assert made == {
        "a": 0.5,
        "b": 3,
        "c": None,
        "d": [True, [1, 2]],
        "e": float(2**80),
        "f": "[0. 0. 0.]",
        "5": None,
        "g": {"h": None},
        "i": 2**40,
    }
