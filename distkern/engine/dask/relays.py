"""One call of an actor, and of actors by way of another one.

The more workers there are the longer the driver would take for the messages of a round. So it asks some of
them, each of which asks those that it was told of at the same time and hands on their answers as they are:
they are combined in the same order as without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from distributed import get_worker
from distributed.utils import TimeoutError as DaskTimeoutError

from distkern.engine.party import Party, ResidentError

#: what there is instead of an answer, and with it
ANSWERED: Final = "answered"
FAILED: Final = "failed"
_LOST: Final = "lost"
#: one of these, and the answer or the pickled exception of the actor's own method
Answer: TypeAlias = tuple[str, Any]
#: the worker or the actor is gone
NO_ANSWER: Final[Answer] = (_LOST, None)

_GONE = (OSError, DaskTimeoutError, TimeoutError, RuntimeError, asyncio.CancelledError)


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


class RelayingParty(Party):
    """A party that asks others too."""

    async def relay(
        self, epoch: str, targets: list[list[str]], function: str, arguments: list[Any]
    ) -> list[Answer]:
        """The answers of all targets, of which this party may be one."""
        self._check(epoch)
        rpc = get_worker().rpc
        asked = [Target(*target) for target in targets]
        return await asyncio.gather(
            *(ask(rpc(target.address), target, function, arguments) for target in asked)
        )
