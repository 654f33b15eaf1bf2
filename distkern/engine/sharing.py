"""Runs that go over the same data side by side: blocks that several of them are about to read are read once.

A run that comes to a pass waits for the others to come to one, at most as long as reading its blocks is
expected to take. Those that are to read the same blocks in the same order then do it together:

- of Reduces each task reads its blocks once and maps them for every run, whose results are combined apart;
- of Streams each visit is loaded once and handed to all runs, which prepare its rows for themselves.

What a run computes, and in which order it adds up, is as if it were alone: results have the same bits.
Streams that workers prepare, Rounds and Each are not shared, nor are blocks of arrays and of lazy graphs.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from distkern.common.types import AbstractSource, Block
from distkern.engine.executors.base import AbstractExecutor, Progress
from distkern.engine.plan import ReducePlan, StreamPlan
from distkern.engine.tasks import Timed
from distkern.passes import Reduce, Stream

#: visits that one run may have in advance of another
_MOST_AHEAD = 2
#: of reading, before any has been measured
_SECONDS_PER_BYTE = 5e-9

#: begins to load the visits of a Stream; what it needs meanwhile ends with the stack
Loads: TypeAlias = Callable[[ExitStack], Iterable[Timed]]


@dataclass
class _Meeting:
    """Runs that are to read the same blocks.

    Attributes
    ----------
    offers : what each brings
    closed : no more may come
    outcome : what the first of them makes for all
    """

    offers: list[Any] = field(default_factory=list)
    closed: bool = False
    outcome: Future[Any] = field(default_factory=Future)


class SharedPasses:
    """Where runs in several threads meet that go over the same data.

    Parameters
    ----------
    executor : where shared passes run
    """

    def __init__(self, executor: AbstractExecutor) -> None:
        self._executor = executor
        self._running = threading.Lock()
        self._changed = threading.Condition()
        self._meetings: dict[Hashable, _Meeting] = {}
        self._n_runs = self._n_waiting = 0
        self._seconds_per_byte = _SECONDS_PER_BYTE
        #: passes that were made for another run as well
        self.n_shared = 0

    def expect(self, n_runs: int) -> None:
        """So many threads begin to make runs, and wait for each other from the first pass on."""
        with self._changed:
            self._n_runs += n_runs

    @contextmanager
    def member(self) -> Iterator[None]:
        """The calling thread is one of those that are expected; afterwards nobody waits for it."""
        try:
            yield
        finally:
            with self._changed:
                self._n_runs -= 1
                self._close_if_all_wait()

    def reduce(
        self,
        executor: AbstractExecutor,
        step: Reduce[Any],
        plan: ReducePlan,
        source: AbstractSource,
        progress: Progress,
    ) -> Timed:
        """Run a Reduce, for others that wait for the same blocks too; alone on the run's own ``executor``."""
        meeting, place = self._meet((plan.groups,), source, plan.bytes_read, (step, progress))
        if meeting is not None and len(meeting.offers) > 1:
            if place == 0:
                self._fulfil(meeting, partial(self._reduce_together, meeting.offers, plan, source))
            try:
                result: Timed = meeting.outcome.result()[place]
                return result
            except Exception:
                pass
        result = executor.reduce(step, plan, source, progress)
        self._took(plan.bytes_read, result.read_seconds / executor.machine.n_workers)
        return result

    def loads(
        self, step: Stream[Any], plan: StreamPlan, source: AbstractSource, begin: Loads, stack: ExitStack
    ) -> Iterable[Timed]:
        """The rows of the visits of a Stream, loaded for others that wait for the same ones too."""
        key = (step.visits, plan.load)
        meeting, place = self._meet(key, source, plan.bytes_read, None)
        if meeting is None or len(meeting.offers) == 1:
            return self._timed(begin(stack), plan.bytes_read)
        if place == 0:
            self._fulfil(
                meeting,
                lambda: _Handed(
                    lambda stack: self._timed(begin(stack), plan.bytes_read), len(meeting.offers)
                ),
            )
        handed: _Handed = meeting.outcome.result()
        stack.callback(handed.leave, place)
        return handed.to(place)

    def _meet(
        self, what: tuple[Hashable, ...], source: AbstractSource, n_bytes: int, offer: Any
    ) -> tuple[_Meeting | None, int]:
        """The meeting of runs that are to read the same, once nobody else is to come, and the place in it."""
        if source.is_graph or source.in_memory or not source.n_blocks:
            return None, 0
        key = (*what, _digest(source))
        with self._changed:
            meeting = self._meetings.setdefault(key, _Meeting())
            place = len(meeting.offers)
            meeting.offers.append(offer)
            self._n_waiting += 1
            self._close_if_all_wait()
            self._changed.wait_for(lambda: meeting.closed, n_bytes * self._seconds_per_byte)
            if not meeting.closed:
                self._close(key)
        return meeting, place

    def _close_if_all_wait(self) -> None:
        if self._n_waiting >= self._n_runs:
            for key in list(self._meetings):
                self._close(key)

    def _close(self, key: Hashable) -> None:
        meeting = self._meetings.pop(key)
        meeting.closed = True
        self._n_waiting -= len(meeting.offers)
        self.n_shared += len(meeting.offers) - 1
        self._changed.notify_all()

    def _fulfil(self, meeting: _Meeting, make: Callable[[], Any]) -> None:
        try:
            meeting.outcome.set_result(make())
        except BaseException as error:
            meeting.outcome.set_exception(error)
            if not isinstance(error, Exception):
                raise

    def _reduce_together(
        self, offers: list[tuple[Reduce[Any], Progress]], plan: ReducePlan, source: AbstractSource
    ) -> list[Timed]:
        steps = [step for step, _ in offers]

        def progress(n_done: int) -> None:
            for _, tell in offers:
                tell(n_done)

        # executors of this host run one graph at a time
        with self._running:
            made = self._executor.reduce(together(steps), plan, source, progress)
        self._took(plan.bytes_read, made.read_seconds / self._executor.machine.n_workers)
        share = 1 / len(steps)
        return [Timed(value, made.read_seconds * share, made.work_seconds * share) for value in made.value]

    def _timed(self, loads: Iterable[Timed], n_bytes: int) -> Iterator[Timed]:
        seconds = 0.0
        for loaded in loads:
            seconds += loaded.read_seconds
            yield loaded
        self._took(n_bytes, seconds)

    def _took(self, n_bytes: int, seconds: float) -> None:
        self._seconds_per_byte = seconds / max(n_bytes, 1)


def together(steps: list[Reduce[Any]]) -> Reduce[list[Any]]:
    """One Reduce over the blocks of several, whose result is the list of theirs."""
    maps, combines = tuple(step.map for step in steps), tuple(step.combine for step in steps)
    return replace(
        steps[0],
        map=partial(_map_each, maps),
        combine=partial(_combine_each, combines),
        operand=[step.operand for step in steps],
    )


def _map_each(maps: tuple[Callable[[Block, Any], Any], ...], block: Block, operands: list[Any]) -> list[Any]:
    return [function(block, operand) for function, operand in zip(maps, operands, strict=True)]


def _combine_each(
    combines: tuple[Callable[[Any, Any], Any], ...], former: list[Any], latter: list[Any]
) -> list[Any]:
    return [combine(*pair) for combine, *pair in zip(combines, former, latter, strict=True)]


def _digest(source: AbstractSource) -> bytes:
    """Of the first block's reader, which says what is read and how it is scaled."""
    return hashlib.blake2b(pickle.dumps(source.reader(0), protocol=5)).digest()


class _Handed:
    """Loaded visits that several consumers take, each all of them in order, a few apart at most."""

    def __init__(self, begin: Loads, n_consumers: int) -> None:
        self._stack = ExitStack()
        self._loads = iter(begin(self._stack))
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._window: deque[Timed] = deque()
        #: number of the visit that the window begins with, and that each consumer takes next
        self._first, self._next = 0, dict.fromkeys(range(n_consumers), 0)

    def to(self, consumer: int) -> Iterator[Timed]:
        """The visits, as one of the consumers takes them."""
        while True:
            with self._changed:
                number = self._next[consumer]
                self._changed.wait_for(partial(self._near, number))
                if number == self._first + len(self._window):
                    loaded = self._load()
                    if loaded is None:
                        return
                    self._window.append(loaded)
                taken = self._window[number - self._first]
                self._next[consumer] += 1
                self._forget()
            # the time of reading is told by one of them
            yield taken if consumer == 0 else replace(taken, read_seconds=0.0)

    def _near(self, number: int) -> bool:
        return number <= min(self._next.values()) + _MOST_AHEAD

    def _load(self) -> Timed | None:
        # what cannot be read is missing for all of them
        if self._error is not None:
            raise self._error
        try:
            loaded = next(self._loads, None)
        except BaseException as error:
            self._error = error
            raise
        if loaded is not None:
            loaded.value.freeze()
        return loaded

    def leave(self, consumer: int) -> None:
        """A consumer wants no more of them."""
        with self._changed:
            del self._next[consumer]
            self._forget()
            if not self._next:
                self._stack.close()

    def _forget(self) -> None:
        slowest = min(self._next.values(), default=self._first)
        while self._window and self._first < slowest:
            self._window.popleft()
            self._first += 1
        self._changed.notify_all()
