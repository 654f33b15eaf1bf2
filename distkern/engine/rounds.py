"""The parties of Rounds: each holds the state of some groups, and messages are exchanged with all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any, TypeAlias

from numpy.typing import NDArray

from distkern.common.types import AbstractSource
from distkern.engine.plan import RoundsPlan
from distkern.passes import AbstractResident, Rounds

#: group -> its arrays; reading one may fetch it from a checkpoint
Saved: TypeAlias = Mapping[int, dict[str, NDArray[Any]]]

#: told the address of a worker that is gone
Lost: TypeAlias = Callable[[str], None]


class SomeOf(Mapping[int, dict[str, "NDArray[Any]"]]):
    """Some groups of a mapping, each read when it is asked for."""

    def __init__(self, saved: Saved, groups: tuple[int, ...]) -> None:
        self._saved = saved
        self._groups = tuple(group for group in groups if group in saved)

    def __getitem__(self, group: int) -> dict[str, NDArray[Any]]:
        if group not in self._groups:
            raise KeyError(group)
        return self._saved[group]

    def __iter__(self) -> Iterator[int]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)


class AbstractParties(ABC):
    """All parties of one :class:`Rounds`."""

    @abstractmethod
    def exchange(self, message: Any) -> Any:
        """Send a message to all parties and combine their answers in the order of the groups."""

    @abstractmethod
    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        """The arrays of a group, as they are now."""

    @abstractmethod
    def checkpointed(self, saved: Saved) -> None:
        """Told that the present state is safe in ``saved``: what is lost is restored from there."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the state."""


class LocalParties(AbstractParties):
    """Parties in this process: one answers in the calling thread, each other in a thread of its own."""

    def __init__(self, step: Rounds, plan: RoundsPlan, source: AbstractSource, saved: Saved) -> None:
        self._combine = step.combine
        self._residents: list[AbstractResident] = []
        self._party_of: dict[int, AbstractResident] = {}
        for groups in plan.parties:
            openers = {group: source.group(group) for group in groups}
            resident = step.open(openers, step.operand, SomeOf(saved, groups))
            self._residents.append(resident)
            self._party_of.update(dict.fromkeys(groups, resident))
        others = len(self._residents) - 1
        self._threads = ThreadPoolExecutor(others, "distkern-round") if others else None

    def exchange(self, message: Any) -> Any:
        first, *others = self._residents
        if self._threads is None:
            return first.answer(message)
        futures = [self._threads.submit(resident.answer, message) for resident in others]
        answers = [first.answer(message), *(future.result() for future in futures)]
        return reduce(self._combine, answers)

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        return self._party_of[group].saved(group)

    def checkpointed(self, saved: Saved) -> None:
        """Nothing to note: this state is lost with the driver only."""

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=True)
        self._residents.clear()
        self._party_of.clear()
