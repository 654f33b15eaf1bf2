"""The resident of some groups in a worker process, as an actor, and one call of it.

Every call says whom it is meant for. The more workers there are the longer the driver would take for the
messages of a round. So it asks some of them, each of which asks those that it was told of at the same time
and hands on their answers as they are: they are combined in the same order as without it.
"""

from __future__ import annotations

import asyncio
import pickle
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias

from distributed import get_worker
from distributed.utils import TimeoutError as DaskTimeoutError
from numpy.typing import NDArray

from distkern.common import blas
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
    """A call reached an actor that is not the one, or not in the state, that it was meant for."""


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
    """Whom a call is meant for: the worker's address, the actor's key there, and its epoch."""

    address: str
    key: str
    epoch: str


async def ask(rpc: Any, target: Target, function: str, arguments: Sequence[Any]) -> Answer:
    """What an actor answers, whose method takes its epoch and ``arguments``."""
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

    Every call names the ``epoch`` the actor was made for. An actor that Dask made again by itself, or one
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
