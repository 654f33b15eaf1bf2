"""Calls of actors by address, to several workers at once."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any, Final, TypeAlias

from distributed import Client, Future, KilledWorker
from distributed.actor import ProxyRPC
from distributed.scheduler import NoWorkerError
from distributed.utils import TimeoutError as DaskTimeoutError

from distkern.common.errors import ClusterError
from distkern.engine.party import ResidentError

#: instead of an answer: the worker or the actor is gone
LOST: Final = object()

#: address, key of the actor, method, arguments (numbers, strings and bytes, or lists of them)
Request: TypeAlias = tuple[str, str, str, tuple[Any, ...]]

#: workers cannot do without the scheduler that they joined
SCHEDULER_LOST = (
    "the connection to the scheduler was lost, and workers end with their scheduler: start both again, "
    "unless something does (cluster/README.md); resume with --resume"
)
#: how often the scheduler is asked whether a worker that has not answered is still there
_CHECK_SECONDS = 1.0
_REACH_SECONDS = 5.0
#: the last is what a client raises that has given up on its scheduler
_FAILED = (OSError, DaskTimeoutError, TimeoutError, RuntimeError)
_GONE = (*_FAILED, asyncio.CancelledError)
_CANCELLED = (CancelledError, asyncio.CancelledError)


class Calls:
    """Calls the actors of a cluster, straight where the client reaches the workers, else by the scheduler."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._proxied: set[str] = set()

    def all(self, requests: Sequence[Request]) -> list[Any]:
        """The answers to requests that are under way at the same time; :data:`LOST` where there is none.

        An exception of the actor's own method is raised.
        """
        outcomes: list[Any] = self._client.sync(self._all, requests)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return outcomes

    async def _all(self, requests: Sequence[Request]) -> list[Any]:
        tasks = [asyncio.ensure_future(self._one(*request)) for request in requests]
        try:
            _, waiting = await asyncio.wait(tasks, timeout=_CHECK_SECONDS)
            while waiting:
                there = await self._listed()
                for task, request in zip(tasks, requests, strict=True):
                    if request[0] not in there:
                        task.cancel()
                _, waiting = await asyncio.wait(tasks, timeout=_CHECK_SECONDS)
        finally:
            for task in tasks:
                task.cancel()
        return [LOST if task.cancelled() else task.result() for task in tasks]

    async def _one(self, address: str, key: str, function: str, arguments: tuple[Any, ...]) -> Any:
        try:
            answer = await self._rpc(address).actor_execute(
                actor=key, function=function, args=list(arguments), kwargs={}
            )
        except (*_GONE, KeyError, AttributeError):
            # the last two: the worker has no such actor, or is still making it
            return LOST
        if answer["status"] == "OK":
            return answer["result"]
        error = answer["exception"]
        # any other exception is of the wrong state, or of a worker that is about to close
        return pickle.loads(error.pickled) if isinstance(error, ResidentError) else LOST

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
        except _FAILED as error:
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
            except _GONE:
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
