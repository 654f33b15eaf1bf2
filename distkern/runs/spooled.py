"""Rows written to this host's ``TMPDIR`` for the duration of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain

from distkern.core.errors import InputError
from distkern.core.types import AbstractSource, Block
from distkern.data.dataset import Split
from distkern.data.ingest import write_dataset
from distkern.data.shuffled import ShuffledRows
from distkern.data.store.atomic import flushed, temporary_folder
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog
from distkern.engine.executors import AbstractExecutor
from distkern.passes import Cost, Stream, whole_visits
from distkern.runs.data import TrainingData


def in_random_order(
    data: TrainingData, executor: AbstractExecutor, stack: ExitStack, events: EventLog
) -> TrainingData:
    """Return the training data with its rows in random order, in which they are written once.

    Raises
    ------
    InputError
        If workers on other hosts could not see the file, or the disk is full.
    """
    source = data.source
    if isinstance(source, Split):
        where, hint = str(source.dataset.path), "shard it again without --no-shuffle"
    else:
        where, hint = ("the data", "store it where all workers see it, and convert it with `distkern shard`")
    check_hosts(
        executor,
        "rows that are not in random order can be trained on by workers of one host only",
        where,
        hint,
    )
    events.emit("message", text=f"{where}: the rows are not in random order, so they are shuffled first")
    folder = stack.enter_context(temporary_folder())
    blocks = (
        whole_blocks(source, executor)
        if source.is_graph
        else (source.reader(block)() for block in range(source.n_blocks))
    )
    with flushed(stays=False):
        return replace(data, source=ShuffledRows(source, blocks, folder))


def spooled(source: AbstractSource, executor: AbstractExecutor, stack: ExitStack, *, columns: bool) -> Split:
    """Return a data set of the rows of a lazy source, computed once and written in order as float32.

    Parameters
    ----------
    source : its targets are the labels themselves
    executor : computes the blocks, a few at a time
    stack : removes the data set when it closes
    columns : add the feature-major copy

    Raises
    ------
    InputError
        If workers on other hosts could not see the data set.
    """
    check_hosts(
        executor,
        "single rows of Dask arrays can be read on one host only",
        "the data",
        "store them where all workers see them, convert them with `distkern shard ... --columns`, and fit to "
        "the train split",
    )
    folder = stack.enter_context(temporary_folder())
    blocks = whole_blocks(source, executor)
    first = next(blocks)
    with flushed(stays=False):
        return write_dataset(
            chain([first], blocks),
            folder / "rows.zarr",
            scale="none",
            shuffle=False,
            columns=columns,
            group="groups" if source.has_groups else None,
            weight=None if first.weights is None else "weights",
        ).train


def whole_blocks(source: AbstractSource, executor: AbstractExecutor) -> Iterator[Block]:
    """Yield the blocks of a source, in order, in this process."""
    most = max(source.block_rows)
    cost = Cost().holding(result={"a row": (source.row_bytes,)})
    step = Stream("rows", whole_visits(source.block_rows), _as_it_is, piece_rows=most, cost=cost)
    return Driver({"train": source}, executor).stream(step)


def _as_it_is(block: Block, operand: None) -> Block:
    return block


def check_hosts(executor: AbstractExecutor, what: str, where: str, hint: str) -> None:
    """Refuse workers that do not see this host's files, for the reason ``what``."""
    machine = executor.machine
    if machine.kind == "distributed" and not machine.same_host:
        raise InputError(what, where=where, hint=hint)
