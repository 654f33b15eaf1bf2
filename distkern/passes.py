"""A pass over the data is a value: what to do with each block, how to combine, how much memory it takes.

A solver yields passes and is sent their results; it never sees files, tasks or workers.

``Reduce`` maps every block on the workers and combines the results in a fixed order.
``Stream`` visits blocks in a given order, each with its rows in a given order, and hands prepared pieces of
rows to the solver strictly in that order.
``Batches`` shows the solver's model to drawn rows, other ones for every message, and keeps nothing with them.
``Rounds`` keeps an array for every group of rows with the process that holds the group: each round broadcasts
a few numbers and gets a few back.
``Each`` runs one task for each of some items, whose result is stored where it was made and never combined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from distkern.common.batches import BatchOrder, Draw
from distkern.common.rng import Purpose, stream
from distkern.common.stores import Store
from distkern.common.types import Block, GroupOpener

#: operations that take the time of an exponential
EXPONENTIAL = 90.0

#: what is held -> its shape, with the bytes of a number last
Held: TypeAlias = Mapping[str, Sequence[float]]
_NOTHING: Held = MappingProxyType({})

Partial = TypeVar("Partial")
Prepared = TypeVar("Prepared")


@dataclass(frozen=True)
class Cost:
    """What a pass takes, for the planner.

    Attributes
    ----------
    workspace_bytes : buffers of a task, beside the block itself
    result_bytes : a task's result (for a Stream: of one prepared row; for Each: what it stores)
    process_bytes : what a process that works loads once, beside what every one has and compiled code
    compiled : its tasks run compiled loops (of a Stream, those that prepare rows)
    driver_compiled : the driver runs compiled loops over its results
    total_result_bytes : where results are joined and not summed: those of all tasks together, at most
    operations : floating-point operations of a row; an exponential counts as :data:`EXPONENTIAL` of them
    driver_bytes : what the driver holds meanwhile
    """

    workspace_bytes: int = 0
    result_bytes: int = 0
    operations: float = 0.0
    process_bytes: int = 0
    driver_bytes: int = 0
    total_result_bytes: int | None = None
    compiled: bool = False
    driver_compiled: bool = False

    def holding(
        self,
        *,
        task: Held = _NOTHING,
        process: Held = _NOTHING,
        result: Held = _NOTHING,
        joined: Held = _NOTHING,
        driver: Held = _NOTHING,
    ) -> Cost:
        """The ledger of memory: what this takes, and arrays of these shapes beside.

        Parameters
        ----------
        task, process, driver : of each task, of each process that works, of the driver
        result : of a task's result
        joined : of the result of all tasks together, of which each may have any part

        >>> Cost(compiled=True).holding(task={"a tile": (100, 8, 4), "sums": (8, 8)}).workspace_bytes
        3264
        """
        total = self.total_result_bytes
        return replace(
            self,
            workspace_bytes=self.workspace_bytes + bytes_of(task),
            process_bytes=self.process_bytes + bytes_of(process),
            result_bytes=self.result_bytes + bytes_of(result) + bytes_of(joined),
            total_result_bytes=(total or 0) + bytes_of(joined) if joined else total,
            driver_bytes=self.driver_bytes + bytes_of(driver),
        )

    def waiting_bytes(self, n_results: int) -> int:
        """Bytes of ``n_results`` results of tasks; where results are joined, at most those of all tasks."""
        apart = n_results * self.result_bytes
        return apart if self.total_result_bytes is None else min(apart, self.total_result_bytes)


def bytes_of(held: Held) -> int:
    """Bytes of arrays of these shapes, all together."""
    return sum(int(prod(shape)) for shape in held.values())


@dataclass(frozen=True)
class Reduce(Generic[Partial]):
    """combine(... combine(map(block_0), map(block_1)) ...), in an order that depends on the data alone.

    Attributes
    ----------
    name : for people
    map : module-level function of (block, operand)
    combine : associative function of two results of ``map``, earlier rows first
    operand : sent once to every worker (the model, usually)
    split : which split of the data, "train" or "test"
    blocks : numbers of the blocks to read, in order (None for all)
    measures_only : training could do without it: its time is told apart (``training_seconds``)
    """

    name: str
    map: Callable[[Block, Any], Partial]
    combine: Callable[[Partial, Partial], Partial]
    operand: Any = None
    split: str = "train"
    blocks: tuple[int, ...] | None = None
    cost: Cost = Cost()
    measures_only: bool = False

    def work(self, block_rows: Sequence[int]) -> float:
        """Operations, on blocks of so many rows."""
        blocks = range(len(block_rows)) if self.blocks is None else self.blocks
        return self.cost.operations * sum(block_rows[block] for block in blocks)


@dataclass(frozen=True, slots=True)
class Visit:
    """One block of a Stream and which of its rows, in which order.

    The order is drawn from (seed, key) wherever the block is read: no index is ever sent. Without
    replacement it is the first ``n_draws`` of a permutation, with replacement independent uniform draws.
    Without a key it is the order of the block.
    """

    block: int
    n_draws: int
    seed: int = 0
    key: tuple[int, ...] = ()
    replace: bool = False

    def rows(self, n_rows: int) -> NDArray[np.intp] | slice:
        """Positions in a block of ``n_rows`` rows, in the order of the visit."""
        if not self.key:
            return slice(0, self.n_draws)
        generator = stream(self.seed, Purpose.ROW_ORDER, *self.key)
        if self.replace:
            return generator.integers(0, n_rows, size=self.n_draws, dtype=np.intp)
        return generator.permutation(n_rows)[: self.n_draws]


@dataclass(frozen=True)
class Stream(Generic[Prepared]):
    """Pieces of rows, prepared ahead in parallel, consumed strictly in order by a sequential loop.

    The result sent to the solver is an iterator over ``prepare(piece, operand)``, where a piece is a block
    of ``piece_rows`` rows (the last of a visit may be shorter). The pieces do not depend on where they
    are prepared.
    """

    name: str
    visits: tuple[Visit, ...]
    prepare: Callable[[Block, Any], Prepared]
    operand: Any = None
    piece_rows: int = 1024
    split: str = "train"
    cost: Cost = Cost()

    @property
    def n_rows(self) -> int:
        return sum(visit.n_draws for visit in self.visits)

    def work(self, block_rows: Sequence[int]) -> float:
        """Operations."""
        return self.cost.operations * self.n_rows


class AbstractResident(ABC):
    """What a process keeps of some groups of rows from round to round.

    It must be a pure function of what it was opened with and of the messages it was sent, in order, so that
    it can be rebuilt by replaying them; and the answer for some groups must be the combination, in order, of
    the answers that each group alone would give, so that it does not matter which process holds which groups.
    Several residents may act in threads of one process. Messages and answers may be shared between them and
    the solver: neither side changes one that it has sent or been given.
    """

    @abstractmethod
    def answer(self, message: Any) -> Any:
        """Act on a message of the solver and answer it."""

    def replay(self, message: Any) -> None:
        """Act on a message that has been answered already, when the state is rebuilt.

        Overridden where the answer costs more than what it leaves behind.
        """
        self.answer(message)

    @abstractmethod
    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        """The arrays of a group, from which :attr:`Rounds.open` restores it; read before the next message."""


@dataclass(frozen=True)
class Rounds:
    """Rounds over state that stays with its groups of rows.

    Each :class:`Message` that the solver yields next is a round; what is sent back to it is the combined
    answer of all residents. The state lives until the run ends: a later ``Rounds`` of the same name goes on
    with it (its ``open``, ``operand`` and ``split`` are then not looked
    at), and a resumed run finds it as it was at the checkpoint. Until a checkpoint is written, the messages
    are kept to be replayed should a worker die.

    Attributes
    ----------
    name : for people, and of the state
    open : module-level function of (group number -> opener, operand, group number -> saved arrays) that gives
        an :class:`AbstractResident`; the last is empty for a new run, and its arrays are the resident's to
        keep: each is read when it is asked for
    combine : associative function of the answers of earlier and of later groups
    operand : sent once to every process
    n_rounds : messages that are expected until the next pass, for those who watch
    state_bytes_per_row : resident memory of the state
    kept_bytes : rows that a process keeps as they were read, at most
    cost : of a process; its result is an answer, its operations are those of a round for each row
    """

    name: str
    open: Callable[[Mapping[int, GroupOpener], Any, Mapping[int, dict[str, NDArray[Any]]]], AbstractResident]
    combine: Callable[[Any, Any], Any]
    operand: Any = None
    split: str = "train"
    n_rounds: int = 1
    state_bytes_per_row: float = 16.0
    kept_bytes: int = 0
    cost: Cost = Cost()

    def work(self, block_rows: Sequence[int]) -> float:
        """Operations of all rounds, on blocks of so many rows."""
        return self.n_rounds * self.cost.operations * sum(block_rows)


class AbstractFollower(ABC):
    """What a process knows of the model of some :class:`Batches`, and answers about rows.

    It must be a function of what it was opened with and of the messages, in order: rows leave nothing behind.
    """

    @abstractmethod
    def follow(self, content: Any) -> None:
        """Take from a message what it says of the model."""

    @abstractmethod
    def answer(self, content: Any, parts: Iterator[Block]) -> Any:
        """Answer a message that was followed, about the parts of the batch that this process has, in order.

        A part is read when the iterator comes to it. With none of them it is the answer to no rows.
        """


@dataclass(frozen=True)
class Batches:
    """Batches of drawn rows, in fixed parts that different processes may have; nothing stays with the rows.

    Each :class:`Message` that the solver yields next has the ``draws`` of a batch (:meth:`BatchOrder.next`);
    what is sent back is the combined answer about its parts, in the order of the data.

    Attributes
    ----------
    name : for people
    open : module-level function of ``operand`` that gives an :class:`AbstractFollower`
    combine : associative function of the answers about earlier and about later parts
    order : which rows make the batches
    operand : sent once to every process
    n_batches : messages that are expected until the next pass
    batch_bytes : of the rows of a batch and what is kept of them until the next one
    cost : of a process, without the rows; its result is an answer, its operations are those of a batch
    """

    name: str
    open: Callable[[Any], AbstractFollower]
    combine: Callable[[Any, Any], Any]
    order: BatchOrder
    operand: Any = None
    split: str = "train"
    n_batches: int = 1
    batch_bytes: int = 0
    cost: Cost = Cost()

    def work(self, block_rows: Sequence[int]) -> float:
        """Operations of all batches."""
        return self.n_batches * self.cost.operations


@dataclass(frozen=True)
class Each:
    """One task for each item, run on the workers, all of them at once and in any order.

    A task's result is stored where it was made (``store``), and only its record travels. The result sent to
    the solver is the list of the records in the order of the items. Tasks whose records the store has from a
    run that was killed are not run again.

    Attributes
    ----------
    name : for people
    task : module-level function of (item, iterator over its blocks, operand) that gives the result; a block
        is read when the iterator comes to it
    items : what each task is given; any values that can be sent
    store : where the results go; None where the pass is only planned
    blocks : of each item, the numbers of the blocks that its task reads, in order; empty if tasks read none
    operand : sent to the workers, for all tasks
    split : of the blocks
    record_bytes : of a record, pickled, at most; a larger one is an error
    cost : of a task; ``result_bytes`` is what it stores
    """

    name: str
    task: Callable[[Any, Iterator[Block], Any], Any]
    items: Sequence[Any]
    store: Store | None
    blocks: Sequence[tuple[int, ...]] = ()
    operand: Any = None
    split: str = "train"
    record_bytes: int = 512
    cost: Cost = Cost()

    def __post_init__(self) -> None:
        if self.blocks and len(self.blocks) != len(self.items):
            raise ValueError(f"{len(self.items)} items and blocks of {len(self.blocks)}")

    def work(self, block_rows: Sequence[int]) -> float:
        """None that are counted: what a task makes is known to it alone."""
        return 0.0

    def blocks_of(self, number: int) -> tuple[int, ...]:
        """The blocks that a task reads."""
        return self.blocks[number] if self.blocks else ()


Pass: TypeAlias = Reduce[Any] | Stream[Any] | Batches | Rounds | Each


@dataclass(frozen=True)
class Outline:
    """A pass that a run will make, with nothing in it yet, and how often, for ``distkern plan``."""

    step: Pass
    times: float = 1.0


@dataclass(frozen=True, slots=True)
class Message:
    """A round of the :class:`Rounds` or :class:`Batches` that were yielded last, with no other pass since.

    ``draws``: of Batches, the parts of the batch.
    """

    content: Any
    draws: tuple[Draw, ...] | None = None


@dataclass(frozen=True)
class Derived:
    """What a solver makes of its state once in a run, and is too large for checkpoints: a factorisation, say.

    The result sent to the solver is what ``make`` returns, whose passes run the first time that the name is
    yielded in a run; later it is sent what was made then. So it must be a function of what no stage changes.
    A resumed run makes it again.
    """

    name: str
    make: Callable[[], Generator[Any, Any, Any]]


def pieces(block: Block, piece_rows: int) -> Iterator[Block]:
    """The rows of a visit, cut into the pieces that ``prepare`` sees."""
    for start in range(0, block.n_rows, piece_rows):
        yield block.take(slice(start, min(start + piece_rows, block.n_rows)))


def whole_visits(block_rows: tuple[int, ...]) -> tuple[Visit, ...]:
    """All rows as they lie."""
    return tuple(Visit(block, n_rows) for block, n_rows in enumerate(block_rows))


def epoch_visits(
    block_rows: tuple[int, ...], n_steps: int, *, seed: int, stage: int, replace: bool
) -> tuple[Visit, ...]:
    """The visits of ``n_steps`` sampled rows.

    Shuffled (``replace=False``): each epoch visits every row once, blocks in random order and the rows of a
    block in random order, so a row's neighbours in the sequence come from its own block. The rows of a source
    are in random order before (``AbstractSource.is_shuffled``), which makes that as good as a shuffle of all
    rows. The last epoch is cut short. Independent (``replace=True``): each block receives a multinomial
    number of draws, so that the drawn multiset is exactly that of n_steps independent uniform draws; their
    order is by block: of a block of m rows one draw repeats the one before with probability 1/m, not 1/n.
    """
    order = stream(seed, Purpose.VISIT_ORDER, stage)
    rows = np.asarray(block_rows)
    n_rows = int(rows.sum())
    visits: list[Visit] = []
    remaining = n_steps
    epoch = 0
    while remaining > 0:
        steps = min(remaining, n_rows)
        counts = order.multinomial(steps, rows / n_rows) if replace else rows
        for block in order.permutation(len(block_rows)):
            n_draws = min(int(counts[block]), remaining)
            if n_draws > 0:
                visits.append(Visit(int(block), n_draws, seed, (stage, epoch, int(block)), replace))
                remaining -= n_draws
        epoch += 1
    return tuple(visits)
