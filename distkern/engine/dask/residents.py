"""Residents of Rounds as Dask actors, one in each worker process.

The client sends messages to all workers at once (through relays to many), in one coroutine on its loop. An
actor's proxy would wake a thread for every call, and the scheduler would send every message twice.
"""

from __future__ import annotations

import pickle
import time
import uuid
from functools import partial, reduce
from typing import Any

from distributed import Client
from distributed.protocol import pickle as dask_pickle
from numpy.typing import NDArray

from distkern.core.errors import ClusterError
from distkern.core.types import AbstractSource
from distkern.engine.dask.actor import LOST, Calls, ResidentActor, Target
from distkern.engine.dask.workers import explain_errors, on_worker, versions
from distkern.passes.rounds import AbstractResidents, Lost, Rounds, RoundsPlan, Saved

NO_WORKERS = "the cluster's workers are gone, and no new one joined in time; resume with --resume"
#: seconds that a lost resident waits for a worker without residents
_FREE_WORKER_SECONDS = 5.0
_NO_WORKERS_SECONDS = 300.0
_ATTEMPTS = 4
_REPLAYED_AT_ONCE = 500


class _Place:
    """Where a resident lives: its worker, the actor's key and epoch."""

    def __init__(self, groups: tuple[int, ...]) -> None:
        self.groups = groups
        self.address = ""
        self.key = ""
        self.epoch = ""
        self.future: Any = None

    @property
    def target(self) -> Target:
        """The target of calls."""
        return Target(self.address, self.key, self.epoch)

    def release(self) -> None:
        """Release the actor."""
        if self.future is not None:
            self.future.release()
            self.future = None


class ActorResidents(AbstractResidents):
    """Residents on the workers of a cluster.

    If its worker is lost, a resident is recreated elsewhere: restored from the last checkpoint (or opened
    anew) and sent every message since, so its answers have the same bits.
    """

    def __init__(
        self, client: Client, step: Rounds, plan: RoundsPlan, source: AbstractSource, saved: Saved, lost: Lost
    ) -> None:
        self._client, self._calls = client, Calls(client)
        self._step, self._source, self._saved, self._lost = step, source, saved, lost
        self._first, self._log = 0, list[bytes]()
        self._exchange = "exchange_at_once" if plan.at_once else "exchange"
        self._places = [_Place(groups) for groups in plan.partitions]
        self._place_of = {group: place for place in self._places for group in place.groups}
        try:
            with explain_errors(client):
                for place in self._places:
                    self._settle(place, patience=0.0)
        except BaseException:
            self.close()
            raise

    def exchange(self, message: Any) -> Any:
        payload = pickle.dumps(message, protocol=5)
        answers = self._ask(self._places, self._exchange, self._number, payload)
        self._log.append(payload)
        return reduce(self._step.combine, map(pickle.loads, answers))

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        answer = self._ask([self._place_of[group]], "saved", self._number, group)[0]
        arrays: dict[str, NDArray[Any]] = pickle.loads(answer)
        return arrays

    def checkpointed(self, saved: Saved) -> None:
        self._saved = saved
        self._first = self._number
        self._log.clear()

    def close(self) -> None:
        for place in self._places:
            place.release()

    @property
    def _number(self) -> int:
        """Number of the next message."""
        return self._first + len(self._log)

    def _ask(self, places: list[_Place], function: str, *arguments: Any) -> list[Any]:
        """Return the answers of residents to one call; successors answer for lost ones."""
        with explain_errors(self._client):
            answers = self._calls.all([place.target for place in places], function, arguments)
            for position, place in enumerate(places):
                for _ in range(_ATTEMPTS):
                    if answers[position] is not LOST:
                        break
                    # if only the connection failed, the actor repeats its answer
                    answers[position] = self._again(place, function, arguments)
                    if answers[position] is LOST:
                        self._lost(place.address)
                        self._settle(place, patience=_FREE_WORKER_SECONDS)
                        answers[position] = self._again(place, function, arguments)
                if answers[position] is LOST:
                    raise self._hopeless()
            return answers

    def _again(self, place: _Place, function: str, arguments: tuple[Any, ...]) -> Any:
        return self._calls.all([place.target], function, arguments)[0]

    def _settle(self, place: _Place, patience: float) -> None:
        """Create a resident on a living worker, in the state after the last answered message."""
        for _ in range(_ATTEMPTS):
            place.release()
            place.address = self._worker(place, patience)
            place.epoch = uuid.uuid4().hex
            place.key = f"distkern-resident-{place.epoch}"
            place.future = self._client.submit(
                ResidentActor,
                place.epoch,
                key=place.key,
                actor=True,
                workers=[place.address],
                allow_other_workers=False,
                pure=False,
            )
            if self._calls.made(place.future, place.address) and self._fill(place):
                return
            self._lost(place.address)
        raise self._hopeless()

    def _fill(self, place: _Place) -> bool:
        """Open a new resident; return False if its worker left meanwhile."""
        openers = {group: self._source.group(group) for group in place.groups}
        opens = partial(on_worker, versions(), self._step.open)
        opening = dask_pickle.dumps((opens, openers, self._step.operand))
        for group in place.groups:
            if group in self._saved:
                arrays = pickle.dumps(self._saved[group], protocol=5)
                if self._again(place, "restore", (group, arrays)) is LOST:
                    return False
        if self._again(place, "open", (opening, self._first)) is LOST:
            return False
        for start in range(0, len(self._log), _REPLAYED_AT_ONCE):
            messages = self._log[start : start + _REPLAYED_AT_ONCE]
            if self._again(place, "replay", (self._first + start, messages)) is LOST:
                return False
        return True

    def _worker(self, place: _Place, patience: float) -> str:
        """Return a living worker with the fewest residents, after waiting for one without any."""
        start = time.monotonic()
        while True:
            held = [other.address for other in self._places if other is not place]
            workers = sorted(self._calls.workers(), key=lambda address: (held.count(address), address))
            waited = time.monotonic() - start
            for address in workers:
                if held.count(address) and waited < patience:
                    break
                if self._calls.reach(address):
                    return address
            if not workers and waited > _NO_WORKERS_SECONDS:
                raise ClusterError(NO_WORKERS)
            time.sleep(0.1)

    def _hopeless(self) -> ClusterError:
        return ClusterError(
            f"workers that held the state of '{self._step.name}' died {_ATTEMPTS} times in a row (out of "
            "memory?): see `distkern plan`, and raise --memory-limit"
        )
