"""Seconds that passes are predicted to take, from rates that are measured on a machine.

What is predicted is told and nothing else: no choice of the planner depends on it, since a choice that
depends on a clock would change the bits.
"""

from __future__ import annotations

import math
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from distkern.common import blas
from distkern.common.tiles import apply, matmul
from distkern.engine.batches import as_rounds
from distkern.engine.budget import EXCHANGE_SECONDS, Machine
from distkern.engine.plan import PassPlan, RoundsPlan, StreamPlan
from distkern.passes import Batches, Pass, Rounds, Stream

#: seconds of a task beside its work, by the kind of the machine (two cores, 2026)
_TASK_SECONDS = {"synchronous": 2e-4, "threads": 3e-4, "processes": 5e-3, "distributed": 5e-3}
#: a kernel pass beside its product and exponentials: rows read, scaled, cut and summed
_PASS_SHARE = 1.3
_SIZE = 2**22


@dataclass(frozen=True)
class Rates:
    """What one core of a machine does in a second.

    Attributes
    ----------
    flops : floating-point operations of products in single precision
    entries : exponentials in single precision
    read_bytes : bytes read from a file that the system holds in memory
    wire_bytes : bytes between two processes of this machine
    """

    flops: float
    entries: float
    read_bytes: float
    wire_bytes: float

    @classmethod
    def measure(cls) -> Rates:
        """Measure them, in about half a second."""
        rows, columns = np.ones((2048, 64), np.float32), np.ones((64, 1024), np.float32)
        out = np.empty((2048, 1024), np.float32)
        numbers = np.full(_SIZE, -1.0, np.float32)
        with blas.single_threaded():
            product = _fastest(lambda: matmul(rows, columns, into=out))
        exponential = _fastest(lambda: apply(np.exp, numbers, into=np.empty_like(numbers)))
        return cls(
            2.0 * rows.size * columns.shape[1] / product,
            _SIZE / exponential,
            _read_rate(numbers),
            _wire_rate(),
        )


def seconds_of(step: Pass, plan: PassPlan, machine: Machine, rates: Rates) -> float:
    """Seconds that a pass takes as planned."""
    cost = step.cost
    row = _PASS_SHARE * (cost.flops_per_row / rates.flops + cost.entries_per_row / rates.entries)
    if isinstance(step, Batches):
        step = as_rounds(step, 0)
    if isinstance(step, Rounds):
        assert isinstance(plan, RoundsPlan)
        exchange = EXCHANGE_SECONDS if plan.on_workers else 0.0
        return step.n_rounds * (exchange + plan.rows * step.seconds_per_row / len(plan.parties))
    reading = plan.bytes_read / rates.read_bytes
    tasks = plan.tasks * _TASK_SECONDS.get(machine.kind, max(_TASK_SECONDS.values()))
    if isinstance(step, Stream):
        assert isinstance(plan, StreamPlan)
        loop = plan.rows * cost.driver_seconds_per_row
        hands = machine.n_workers if plan.prepare == "workers" else max(plan.threads, 1)
        sent = plan.rows * cost.result_bytes if plan.prepare == "workers" else plan.bytes_read
        wire = sent / rates.wire_bytes if plan.load == "workers" else 0.0
        prepared = (plan.rows * row + reading) / hands
        # threads of the driver share its cores with the loop
        return tasks + wire + (prepared + loop if hands == 1 else max(prepared, loop))
    task = _PASS_SHARE * (cost.flops_per_task / rates.flops + cost.entries_per_task / rates.entries)
    at_once = min(machine.n_workers, max(plan.tasks, 1))
    return tasks + (plan.rows * row + reading) / at_once + task * math.ceil(plan.tasks / at_once)


def _fastest(
    work: Callable[[], object], clock: Callable[[], float] = time.thread_time, times: int = 5
) -> float:
    """Seconds of this thread, which do not depend on what else the machine does meanwhile."""
    spans = []
    for _ in range(times):
        start = clock()
        work()
        spans.append(clock() - start)
    return max(min(spans), 1e-9)


def _read_rate(numbers: np.ndarray) -> float:
    with tempfile.TemporaryFile() as file:
        file.write(numbers.data)
        into = bytearray(numbers.nbytes)

        def read() -> None:
            file.seek(0)
            file.readinto(into)

        return numbers.nbytes / _fastest(read)


def _wire_rate() -> float:
    data, near, far = bytes(_SIZE), *socket.socketpair()

    def drain() -> None:
        while far.recv(2**16):
            pass

    with near, far:
        reader = threading.Thread(target=drain)
        reader.start()
        # both threads have work
        seconds = _fastest(lambda: near.sendall(data), time.perf_counter)
        near.shutdown(socket.SHUT_WR)
        reader.join()
    return _SIZE / seconds
