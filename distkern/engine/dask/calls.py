"""Calls of actors by address, to several workers at once; to many of them by way of others."""

from __future__ import annotations

import asyncio
import math
import pickle
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any, Final

from distributed import Client, Future, KilledWorker
from distributed.actor import ProxyRPC
from distributed.scheduler import NoWorkerError
from distributed.utils import TimeoutError as DaskTimeoutError

from distkern.common.errors import ClusterError
from distkern.engine.dask.actor import ANSWERED, FAILED, NO_ANSWER, Answer, Target, ask

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
_UNREACHED = (OSError, DaskTimeoutError, TimeoutError, RuntimeError)
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
        """Those whose first is asked for all: each by itself, or about the root of many."""
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
