"""Residents in worker processes as actors, and calls to them by address.

With many workers, the driver would need long for the messages of a round. So it calls some of them, each of
which relays the call to others and returns their answers unchanged; they are combined in the same order.
"""

from __future__ import annotations

import asyncio
import math
import pickle
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias

from distributed import Client, Future, KilledWorker, get_worker
from distributed.actor import ProxyRPC
from distributed.client import ClosedClientError
from distributed.scheduler import NoWorkerError
from distributed.utils import TimeoutError as DaskTimeoutError
from numpy.typing import NDArray

from distkern.core import blas
from distkern.core.errors import ClusterError
from distkern.passes.rounds import AbstractResident

#: status of an answer
ANSWERED: Final = "answered"
FAILED: Final = "failed"
_LOST: Final = "lost"
#: status, and the answer or the pickled exception of the actor's method
Answer: TypeAlias = tuple[str, Any]
#: the worker or the actor is gone
NO_ANSWER: Final[Answer] = (_LOST, None)

_GONE = (OSError, DaskTimeoutError, TimeoutError, RuntimeError, asyncio.CancelledError)


class StaleActorError(Exception):
    """A call reached another actor, or an actor in another state."""


class ResidentError(Exception):
    """Carries an exception of the resident itself, which would recur on any worker."""

    def __init__(self, pickled: bytes) -> None:
        super().__init__(pickled)
        self.pickled = pickled


@contextmanager
def _own_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"on a worker:\n{traceback.format_exc()}")
        try:
            pickled = pickle.dumps(error)
        except Exception:
            pickled = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        raise ResidentError(pickled) from None


class Target(NamedTuple):
    """The target of a call: the worker's address, the actor's key there, and its epoch."""

    address: str
    key: str
    epoch: str


async def ask(rpc: Any, target: Target, function: str, arguments: Sequence[Any]) -> Answer:
    """Call an actor's method with its epoch and ``arguments``, and return the answer."""
    try:
        answer = await rpc.actor_execute(
            actor=target.key, function=function, args=[target.epoch, *arguments], kwargs={}
        )
    except (*_GONE, KeyError, AttributeError):
        # KeyError, AttributeError: the worker has no such actor, or is still creating it
        return NO_ANSWER
    if answer["status"] == "OK":
        return ANSWERED, answer["result"]
    error = answer["exception"]
    # other exceptions come from a wrong state or a closing worker
    return (FAILED, error.pickled) if isinstance(error, ResidentError) else NO_ANSWER


class ResidentActor:
    """The resident of some groups.

    Every call names the ``epoch`` of the actor. An actor that Dask recreated or that was replaced has another
    epoch or has not been opened, and refuses the call: it never continues from a wrong state.
    """

    def __init__(self, epoch: str) -> None:
        self._epoch = epoch
        self._resident: AbstractResident | None = None
        self._restored: dict[int, dict[str, NDArray[Any]]] = {}
        self._number = -1
        self._last = b""

    def restore(self, epoch: str, group: int, arrays: bytes) -> None:
        """Receive the saved arrays of a group, pickled, before :meth:`open`."""
        self._check(epoch)
        self._restored[group] = pickle.loads(arrays)

    def open(self, epoch: str, opening: bytes, number: int) -> None:
        """Create the resident from pickled (open, openers, operand); the next message is ``number``."""
        self._check(epoch)
        with _own_errors():
            blas.pin_worker()
            function, openers, operand = pickle.loads(opening)
            self._resident = function(openers, operand, self._restored)
        self._restored = {}
        self._number, self._last = number, b""

    def replay(self, epoch: str, number: int, messages: list[bytes]) -> None:
        """Replay messages that were answered before, starting with ``number``."""
        resident = self._opened(epoch)
        if number != self._number:
            raise StaleActorError(f"message {number} instead of {self._number}")
        with _own_errors():
            for message in messages:
                resident.replay(pickle.loads(message))
        self._number += len(messages)

    def exchange(self, epoch: str, number: int, message: bytes) -> bytes:
        """Answer message ``number``; if repeated, return the same answer without acting twice."""
        resident = self._opened(epoch)
        if number == self._number - 1 and self._last:
            return self._last
        if number != self._number:
            raise StaleActorError(f"message {number} instead of {self._number}")
        # an error leaves an undefined state, which must not answer again
        self._number = -1
        with _own_errors():
            self._last = pickle.dumps(resident.answer(pickle.loads(message)), protocol=5)
        self._number = number + 1
        return self._last

    async def exchange_at_once(self, epoch: str, number: int, message: bytes) -> bytes:
        """Run :meth:`exchange` in the worker's event loop, which wakes no thread and blocks the loop."""
        return self.exchange(epoch, number, message)

    def saved(self, epoch: str, number: int, group: int) -> bytes:
        """Return the arrays of a group after ``number`` messages, pickled."""
        resident = self._opened(epoch)
        if number != self._number:
            raise StaleActorError(f"{self._number} messages instead of {number}")
        with _own_errors():
            return pickle.dumps(resident.saved(group), protocol=5)

    async def relay(
        self, epoch: str, targets: list[list[str]], function: str, arguments: list[Any]
    ) -> list[Answer]:
        """Return the answers of all targets, which may include this actor."""
        self._check(epoch)
        rpc = get_worker().rpc
        asked = [Target(*target) for target in targets]
        return await asyncio.gather(
            *(ask(rpc(target.address), target, function, arguments) for target in asked)
        )

    def _check(self, epoch: str) -> None:
        if epoch != self._epoch:
            raise StaleActorError("another epoch")

    def _opened(self, epoch: str) -> AbstractResident:
        self._check(epoch)
        if self._resident is None:
            raise StaleActorError("the state is gone")
        return self._resident


#: replaces an answer if the worker or the actor is gone
LOST: Final = object()

#: number of calls from which workers relay them: a call takes the client 0.5 ms, a relayed one 0.2 ms (50
#: workers on loopback)
_RELAYED = 16

SCHEDULER_LOST = (
    "the connection to the scheduler was lost, and workers end with their scheduler: restart both, unless "
    "that happens automatically (cluster/README.md), and resume with --resume"
)
#: seconds between checks whether a silent worker is still alive
_CHECK_SECONDS = 1.0
_REACH_SECONDS = 5.0
#: the last one comes from a client that has given up on its scheduler
_UNREACHED = (OSError, DaskTimeoutError, TimeoutError, RuntimeError, ClosedClientError)
_CANCELLED = (CancelledError, asyncio.CancelledError)


class Calls:
    """Calls actors, directly if the client reaches their workers, else through the scheduler."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._proxied: set[str] = set()

    def all(self, targets: Sequence[Target], function: str, arguments: Sequence[Any]) -> list[Any]:
        """Call several actors at once and return their answers, :data:`LOST` where there is none.

        An exception of an actor's method is raised.

        Parameters
        ----------
        arguments : numbers, strings and bytes, or lists of them, besides the epoch
        """
        answers: list[Answer] = self._client.sync(self._all, targets, function, list(arguments))
        for status, content in answers:
            if status == FAILED:
                raise pickle.loads(content)
        return [content if status == ANSWERED else LOST for status, content in answers]

    async def _all(self, targets: Sequence[Target], function: str, arguments: list[Any]) -> list[Answer]:
        groups = self._groups(targets)
        tasks = [asyncio.ensure_future(self._group(group, function, arguments)) for group in groups]
        try:
            _, waiting = await asyncio.wait(tasks, timeout=_CHECK_SECONDS)
            while waiting:
                there = await self._listed()
                for task, group in zip(tasks, groups, strict=True):
                    if any(target.address not in there for target in group):
                        task.cancel()
                _, waiting = await asyncio.wait(tasks, timeout=_CHECK_SECONDS)
        finally:
            for task in tasks:
                task.cancel()
        answers: list[Answer] = []
        for task, group in zip(tasks, groups, strict=True):
            answers += [NO_ANSWER] * len(group) if task.cancelled() else task.result()
        return answers

    def _groups(self, targets: Sequence[Target]) -> list[Sequence[Target]]:
        """Return groups of targets, the first of which relays: single ones, or about sqrt(n) of n."""
        one = len(targets) < _RELAYED or not self._proxied.isdisjoint(target.address for target in targets)
        size = 1 if one else round(math.sqrt(len(targets)))
        return [targets[start : start + size] for start in range(0, len(targets), size)]

    async def _group(self, group: Sequence[Target], function: str, arguments: list[Any]) -> list[Answer]:
        first = group[0]
        if len(group) == 1:
            return [await ask(self._rpc(first.address), first, function, arguments)]
        others = [list(target) for target in group]
        status, content = await ask(self._rpc(first.address), first, "relay", [others, function, arguments])
        # targets without an answer are called again one by one
        return content if status == ANSWERED else [NO_ANSWER] * len(group)

    def _rpc(self, address: str) -> Any:
        if address in self._proxied:
            return ProxyRPC(self._client.scheduler, address)
        return self._client.rpc(address)

    def workers(self) -> list[str]:
        """Return the addresses of running workers.

        Raises
        ------
        ClusterError
            If the scheduler is gone.
        """
        known: dict[str, bool] = self._client.sync(self._listed)
        return [address for address, runs in known.items() if runs]

    async def _listed(self) -> dict[str, bool]:
        """Return the scheduler's workers, and whether each is running (not paused or leaving)."""
        try:
            identity = await self._client.scheduler.identity(n_workers=-1)
        except _UNREACHED as error:
            raise ClusterError(SCHEDULER_LOST) from error
        return {
            address: worker.get("status", "running") == "running"
            for address, worker in identity["workers"].items()
        }

    def reach(self, address: str) -> bool:
        """Return whether a worker answers, directly or through the scheduler; later calls go the same way."""
        reached: bool = self._client.sync(self._reach, address)
        return reached

    async def _reach(self, address: str) -> bool:
        for rpc in (self._client.rpc(address), ProxyRPC(self._client.scheduler, address)):
            try:
                await asyncio.wait_for(rpc.identity(), _REACH_SECONDS)
            except (*_UNREACHED, asyncio.CancelledError):
                continue
            if isinstance(rpc, ProxyRPC):
                self._proxied.add(address)
            else:
                self._proxied.discard(address)
            return True
        return False

    def made(self, actor: Future, address: str) -> bool:
        """Wait until an actor has been created; return False if its worker left before."""
        while True:
            try:
                error = actor.exception(timeout=_CHECK_SECONDS)
            except (TimeoutError, DaskTimeoutError):
                if address not in self.workers():
                    return False
                continue
            except _CANCELLED:
                return False
            if error is None:
                return True
            if isinstance(error, (*_CANCELLED, KilledWorker, NoWorkerError)):
                return False
            raise error
