"""Addresses that are no scheduler's are told apart before a client waits for them."""

import socket
import threading
from contextlib import contextmanager

import pytest
from distributed import LocalCluster

from distkern.core.errors import InputError
from distkern.engine.dask import handshake
from distkern.engine.dask.handshake import greet
from distkern.engine.dask.jobs import JobScheduler


@contextmanager
def server(answer, port=0):
    """A port whose owner says ``answer`` and hangs up; with None it says nothing."""
    kept = []
    with socket.create_server(("127.0.0.1", port)) as listening:

        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                kept.append(connection)
                if answer is not None:
                    connection.sendall(answer)
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    for connection in kept:
        connection.close()


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=0,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
    ) as started:
        yield started


def test_a_scheduler_answers(cluster):
    greet(cluster.scheduler_address, 5.0)
    greet("inproc://whatever", 0.0)


def test_jobs_are_asked_for_where_nobody_could_run_one(cluster):
    with JobScheduler(cluster.scheduler_address, workers=False) as asked:
        assert asked.jobs() == {}


def test_what_is_no_scheduler(monkeypatch):
    monkeypatch.setattr(handshake, "_TRY", 0.1)
    for answer in (None, b""):
        with server(answer) as port, pytest.raises(InputError, match="no Dask scheduler answers"):
            greet(f"tcp://127.0.0.1:{port}", 0.2)
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        greet(f"tcp://127.0.0.1:{port}", 0.2)
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        greet("tcp://nosuchhost.invalid:8786", 0.0)
    with pytest.raises(InputError, match="missing port number"):
        greet("tcp://127.0.0.1", 20.0)


@pytest.mark.slow
def test_one_that_comes_late_is_waited_for():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    over = threading.Event()

    def start():
        with server(b"what a scheduler begins with", port):
            over.wait(30)

    thread = threading.Timer(1.0, start)
    thread.start()
    try:
        greet(f"tcp://127.0.0.1:{port}", 20.0)
    finally:
        over.set()
        thread.join()


def test_tls_without_a_certificate(cluster):
    address = cluster.scheduler_address.replace("tcp://", "tls://")
    with pytest.raises(InputError, match="no certificate was given"):
        greet(address, 1.0)
