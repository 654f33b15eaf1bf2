"""The resident states of a run: opened at the first Rounds of their name, kept until the run ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from distkern.common.types import AbstractSource
from distkern.engine.executors.base import AbstractExecutor, Progress
from distkern.engine.plan import Extent, RoundsPlan
from distkern.engine.plan_rounds import plan_rounds
from distkern.engine.rounds import AbstractParties, Lost, Saved
from distkern.passes import Rounds

_SECONDS_BETWEEN_NEWS = 0.1


class Residents:
    """The parties of a run, by the name of their Rounds.

    Parameters
    ----------
    sources, executor, run_name : of the run
    restored : what the checkpoint it resumes from holds of each state
    lost : told the address of a worker that is gone
    """

    def __init__(
        self,
        sources: Mapping[str, AbstractSource],
        executor: AbstractExecutor,
        run_name: str,
        restored: Mapping[str, Saved],
        lost: Lost,
    ) -> None:
        self._sources, self._executor, self._run_name = sources, executor, run_name
        self._restored, self._lost = dict(restored), lost
        self._opened: dict[str, tuple[RoundsPlan, AbstractParties, int]] = {}

    def plan(self, step: Rounds) -> RoundsPlan:
        """The plan of Rounds: that of the first of their name."""
        if step.name in self._opened:
            return self._opened[step.name][0]
        return plan_rounds(step, Extent.of(self._sources[step.split], self._run_name), self._executor.machine)

    def parties(self, step: Rounds, plan: RoundsPlan) -> AbstractParties:
        """The parties of Rounds, opened if these are the first of their name."""
        if step.name not in self._opened:
            source = self._sources[step.split]
            saved = self._restored.get(step.name, {})
            parties = self._executor.parties(step, plan, source, saved, self._lost)
            self._opened[step.name] = plan, parties, len(source.groups)
        return self._opened[step.name][1]

    def groups(self) -> dict[str, Iterator[tuple[int, dict[str, NDArray[Any]]]]]:
        """The groups of every state with their arrays, each fetched when asked for, for a checkpoint."""
        return {name: self._groups_of(name) for name in sorted(self._restored.keys() | self._opened.keys())}

    def _groups_of(self, name: str) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
        if name in self._opened:
            _, parties, n_groups = self._opened[name]
            for group in range(n_groups):
                yield group, parties.saved(group)
            return
        # a resumed run has not come to these rounds yet
        for group, arrays in self._restored[name].items():
            yield group, arrays

    def checkpointed(self, residents: Mapping[str, Saved]) -> None:
        """Told that the present states are safe in a checkpoint."""
        self._restored = dict(residents)
        for name, (_, parties, _) in self._opened.items():
            parties.checkpointed(residents.get(name, {}))

    def close(self) -> None:
        """Let go of all states."""
        for _, parties, _ in self._opened.values():
            parties.close()
        self._opened.clear()


class Exchanging:
    """The rounds of one pass, which keeps time.

    ``driver`` are the solver's own seconds between exchanges, ``wait`` those in exchanges.
    """

    def __init__(
        self, parties: AbstractParties, progress: Progress, finished: Callable[[dict[str, float]], None]
    ) -> None:
        self._parties, self._progress, self._finished = parties, progress, finished
        self._driver = self._wait = 0.0
        self._left = self._told = time.perf_counter()
        self._rounds = 0

    def exchange(self, message: Any) -> Any:
        """The answer of all parties."""
        asked = time.perf_counter()
        answer = self._parties.exchange(message)
        answered = time.perf_counter()
        self._driver += asked - self._left
        self._wait += answered - asked
        self._left = answered
        self._rounds += 1
        if answered - self._told >= _SECONDS_BETWEEN_NEWS:
            self._told = answered
            self._progress(self._rounds)
        return answer

    def end(self) -> None:
        """The solver goes on to another pass."""
        self._driver += time.perf_counter() - self._left
        self._progress(self._rounds)
        self._finished({"driver": self._driver, "wait": self._wait})

    def close(self) -> None:
        """Nothing is under way between messages."""
