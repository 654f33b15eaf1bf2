"""The resident of some groups in a worker process, as an actor, and calls of it by address.

Every call names its target. With many workers the driver would take long for the messages of a round. So it
asks some of them, each of which asks the workers that the call names to it, and hands on their answers as
they are: they are combined in the same order as without it.
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

#: what there is instead of an answer, and with it
ANSWERED: Final = "answered"
FAILED: Final = "failed"
_LOST: Final = "lost"
#: one of these, and the answer or the pickled exception of the actor's own method
Answer: TypeAlias = tuple[str, Any]
#: the worker or the actor is gone
NO_ANSWER: Final[Answer] = (_LOST, None)

_GONE = (OSError, DaskTimeoutError, TimeoutError, RuntimeError, asyncio.CancelledError)


class StaleActorError(Exception):
    """A call reached another actor than its target, or its target in another state."""


class ResidentError(Exception):
    """Carries an exception of the resident's own, which would come again on every other worker."""

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
    """The answer of an actor's method, which takes its epoch and ``arguments``."""
    try:
        answer = await rpc.actor_execute(
            actor=target.key, function=function, args=[target.epoch, *arguments], kwargs={}
        )
    except (*_GONE, KeyError, AttributeError):
        # the last two: the worker has no such actor, or is still making it
        return NO_ANSWER
    if answer["status"] == "OK":
        return ANSWERED, answer["result"]
    error = answer["exception"]
    # any other exception is of the wrong state, or of a worker that is about to close
    return (FAILED, error.pickled) if isinstance(error, ResidentError) else NO_ANSWER


class ResidentActor:
    """The resident of some groups.

    Every call names the ``epoch`` of the actor. An actor that Dask made again by itself, or one
    that has been replaced, is in another epoch or has not been opened, and refuses the call: it never goes on
    from a state that it does not have.
    """

    def __init__(self, epoch: str) -> None:
        self._epoch = epoch
        self._resident: AbstractResident | None = None
        self._restored: dict[int, dict[str, NDArray[Any]]] = {}
        self._number = -1
        self._last = b""

    def restore(self, epoch: str, group: int, arrays: bytes) -> None:
        """Take the saved arrays of a group, pickled, before :meth:`open`."""
        self._check(epoch)
        self._restored[group] = pickle.loads(arrays)

    def open(self, epoch: str, opening: bytes, number: int) -> None:
        """Make the resident of (open, openers, operand), pickled; the next message is ``number``."""
        self._check(epoch)
        with _own_errors():
            blas.pin_worker()
            function, openers, operand = pickle.loads(opening)
            self._resident = function(openers, operand, self._restored)
        self._restored = {}
        self._number, self._last = number, b""

    def replay(self, epoch: str, number: int, messages: list[bytes]) -> None:
        """Act on messages that were answered before, the first of them ``number``."""
        resident = self._opened(epoch)
        if number != self._number:
            raise StaleActorError(f"message {number} instead of {self._number}")
        with _own_errors():
            for message in messages:
                resident.replay(pickle.loads(message))
        self._number += len(messages)

    def exchange(self, epoch: str, number: int, message: bytes) -> bytes:
        """Answer message ``number``; asked again, give the same answer without acting twice."""
        resident = self._opened(epoch)
        if number == self._number - 1 and self._last:
            return self._last
        if number != self._number:
            raise StaleActorError(f"message {number} instead of {self._number}")
        # an error leaves a half-changed state, which must not answer again
        self._number = -1
        with _own_errors():
            self._last = pickle.dumps(resident.answer(pickle.loads(message)), protocol=5)
        self._number = number + 1
        return self._last

    async def exchange_at_once(self, epoch: str, number: int, message: bytes) -> bytes:
        """:meth:`exchange` in the worker's own event loop: no thread is woken, and nothing else runs then."""
        return self.exchange(epoch, number, message)

    def saved(self, epoch: str, number: int, group: int) -> bytes:
        """The arrays of a group after ``number`` messages, pickled."""
        resident = self._opened(epoch)
        if number != self._number:
            raise StaleActorError(f"{self._number} messages instead of {number}")
        with _own_errors():
            return pickle.dumps(resident.saved(group), protocol=5)

    async def relay(
        self, epoch: str, targets: list[list[str]], function: str, arguments: list[Any]
    ) -> list[Answer]:
        """The answers of all targets, of which this actor may be one."""
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


#: instead of an answer: the worker or the actor is gone
LOST: Final = object()

#: calls from so many on go by way of some of the workers: the client takes 0.5 ms for each that it makes, and
#: 0.2 ms for each that is made for it (50 workers on loopback)
_RELAYED = 16

#: workers cannot do without the scheduler that they joined
SCHEDULER_LOST = (
    "the connection to the scheduler was lost, and workers end with their scheduler: start both again, "
    "unless something does (cluster/README.md); resume with --resume"
)
#: how often the scheduler is asked whether a worker that has not answered is still there
_CHECK_SECONDS = 1.0
_REACH_SECONDS = 5.0
#: the last is what a client raises that has given up on its scheduler
_UNREACHED = (OSError, DaskTimeoutError, TimeoutError, RuntimeError, ClosedClientError)
_CANCELLED = (CancelledError, asyncio.CancelledError)


class Calls:
    """Calls the actors of a cluster, straight where the client reaches the workers, else by the scheduler."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._proxied: set[str] = set()

    def all(self, targets: Sequence[Target], function: str, arguments: Sequence[Any]) -> list[Any]:
        """The answers of actors that are asked at the same time; :data:`LOST` where there is none.

        An exception of the actor's own method is raised.

        Parameters
        ----------
        arguments : beside the epoch: numbers, strings and bytes, or lists of them
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
        """Groups of targets, whose first is asked for all: single ones, or of many about the root of them."""
        one = len(targets) < _RELAYED or not self._proxied.isdisjoint(target.address for target in targets)
        size = 1 if one else round(math.sqrt(len(targets)))
        return [targets[start : start + size] for start in range(0, len(targets), size)]

    async def _group(self, group: Sequence[Target], function: str, arguments: list[Any]) -> list[Answer]:
        first = group[0]
        if len(group) == 1:
            return [await ask(self._rpc(first.address), first, function, arguments)]
        others = [list(target) for target in group]
        status, content = await ask(self._rpc(first.address), first, "relay", [others, function, arguments])
        # of those that its first did not reach, or all if it is gone, each is asked again by itself
        return content if status == ANSWERED else [NO_ANSWER] * len(group)

    def _rpc(self, address: str) -> Any:
        if address in self._proxied:
            return ProxyRPC(self._client.scheduler, address)
        return self._client.rpc(address)

    def workers(self) -> list[str]:
        """The addresses of the workers that take on work.

        Raises
        ------
        ClusterError
            If the scheduler is gone.
        """
        known: dict[str, bool] = self._client.sync(self._listed)
        return [address for address, runs in known.items() if runs]

    async def _listed(self) -> dict[str, bool]:
        """The workers that the scheduler knows, and whether they take on work (or are paused or leaving)."""
        try:
            identity = await self._client.scheduler.identity(n_workers=-1)
        except _UNREACHED as error:
            raise ClusterError(SCHEDULER_LOST) from error
        return {
            address: worker.get("status", "running") == "running"
            for address, worker in identity["workers"].items()
        }

    def reach(self, address: str) -> bool:
        """Whether a worker answers, straight or else by way of the scheduler; calls then go the same way."""
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
        """Wait until an actor has been made; False if its worker went away before."""
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
