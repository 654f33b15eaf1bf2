"""What the page shows, as values: the cluster now, tasks by worker, rates over a run of any length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: cells of the strip that shows a pass; with more tasks, several share a cell
CELLS = 160
#: workers told apart by name; beyond that (a cluster that comes and goes) the oldest are forgotten
MOST_WORKERS = 500
#: buckets of a timeline; when a run outgrows them, neighbours are merged
BUCKETS = 400
#: width of a bucket at the start, in seconds
FIRST_WIDTH = 0.5


@dataclass(frozen=True)
class WorkerView:
    """A worker now: memory in bytes (limit 0: none), ``cpu`` in percent of one core."""

    address: str
    name: str
    threads: int
    processing: int
    memory: int
    memory_limit: int
    cpu: float


@dataclass(frozen=True)
class ClusterView:
    """The scheduler's address and its workers."""

    address: str
    workers: tuple[WorkerView, ...]


class Tasks:
    """Finished tasks of a run by worker, and of the pass under way by their place in it.

    Keys of tasks are (token of the pass, number), as the engine's graphs name them; the tasks of a pass that
    maps the data end in ``-map`` and are numbered along the data.
    """

    def __init__(self) -> None:
        self.by_worker: dict[str, int] = {}
        self.now_by_worker: dict[str, int] = {}
        #: place in the pass -> worker that did it; empty where tasks are not numbered along the data
        self.done: dict[int, str] = {}
        self.name = ""
        self._token = ""

    def finished(self, key: Any, worker: str) -> None:
        """A task is done; keys that are not the engine's are passed over."""
        found = engine_key(key)
        if found is None:
            return
        token, number = found
        name = token.removeprefix("distkern-").rsplit("-", 2)[0] if token.endswith("-map") else "call"
        if token != self._token:
            if name != self.name or name != "call":
                # calls come in batches, each with a token of its own
                self.now_by_worker, self.done = {}, {}
            self._token, self.name = token, name
        if name != "call":
            self.done[number] = worker
        self.now_by_worker[worker] = self.now_by_worker.get(worker, 0) + 1
        self.by_worker[worker] = self.by_worker.get(worker, 0) + 1
        if len(self.by_worker) > MOST_WORKERS:
            del self.by_worker[next(iter(self.by_worker))]

    def cells(self, tasks: int) -> list[tuple[float, str]]:
        """At most :data:`CELLS` cells of a pass: the done share of each, and who did most of it."""
        count = min(CELLS, tasks)
        cells: list[dict[str, int]] = [{} for _ in range(count)]
        for number, worker in self.done.items():
            if number < tasks:
                cell = cells[number * count // tasks]
                cell[worker] = cell.get(worker, 0) + 1
        answer = []
        for place, cell in enumerate(cells):
            size = -(-(place + 1) * tasks // count) - -(-place * tasks // count)
            answer.append((sum(cell.values()) / max(size, 1), max(cell, key=cell.__getitem__, default="")))
        return answer


def engine_key(key: Any) -> tuple[str, int] | None:
    """Token and number of a task of the engine that reads data, or None for any other."""
    if not isinstance(key, tuple) or len(key) != 2:
        return None
    token, number = key
    if not isinstance(token, str) or not isinstance(number, int) or not token.startswith("distkern-"):
        return None
    if token.endswith("-map") or token.startswith("distkern-call-"):
        return token, number
    return None


class Timeline:
    """Amounts of several quantities by time since the start, in at most :data:`BUCKETS` buckets.

    Parameters
    ----------
    quantities : how many numbers are added at a time
    """

    def __init__(self, quantities: int) -> None:
        self.width = FIRST_WIDTH
        self._sums: list[list[float]] = [[] for _ in range(quantities)]

    def add(self, start: float, end: float, *amounts: float) -> None:
        """Spread the amounts evenly over the seconds from ``start`` to ``end`` (since the run's start)."""
        start, end = max(start, 0.0), max(end, 0.0)
        while end >= self.width * BUCKETS:
            self._merge()
        first, last = int(start / self.width), int(end / self.width)
        for sums, amount in zip(self._sums, amounts, strict=True):
            sums.extend([0.0] * (last + 1 - len(sums)))
            if first >= last:
                sums[last] += amount
                continue
            for bucket in range(first, last + 1):
                covered = min(end, (bucket + 1) * self.width) - max(start, bucket * self.width)
                sums[bucket] += amount * covered / (end - start)

    def rates(self, quantity: int) -> tuple[list[float], list[float]]:
        """Middles of the buckets in seconds, and the quantity's amount a second in each.

        The last bucket is left out until it is full, for its rate would be too low.
        """
        sums = self._sums[quantity]
        if len(sums) < 2:
            return [], []
        times = [(bucket + 0.5) * self.width for bucket in range(len(sums) - 1)]
        return times, [amount / self.width for amount in sums[:-1]]

    def _merge(self) -> None:
        self.width *= 2
        self._sums = [
            [sum(sums[bucket : bucket + 2]) for bucket in range(0, len(sums), 2)] for sums in self._sums
        ]
