"""Which worker did which tasks of a pass."""

from __future__ import annotations

from typing import Any

#: cells of the strip that shows a pass; with more tasks, several share a cell
CELLS = 160
#: workers told apart by name; beyond that (a cluster that comes and goes) the oldest are forgotten
MOST_WORKERS = 500


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
