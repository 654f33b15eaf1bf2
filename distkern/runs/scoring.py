"""Predictions of a whole data set, or of files, written as they are computed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core import blas, interrupts
from distkern.core.names import label_texts
from distkern.core.stores import Store
from distkern.core.types import AbstractSource, Block, Floats
from distkern.data.dataset import Split
from distkern.data.file_rows import FileBlock, FileRows, ParkedRows, dense_blocks
from distkern.data.manifest import ShardReader
from distkern.data.predictions import open_predictions
from distkern.data.store.places import Location, place_of
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog, Listener
from distkern.maths.bases.placed import AbstractPlacedBasis
from distkern.maths.bases.routing import RoutedAnswers, Routing
from distkern.model.value import FittedModel
from distkern.passes import Cost, Each, Extent, Machine, Pass, Reduce, Stream, whole_visits
from distkern.passes.execution import AbstractExecutor, Call, Shared, apply_to_block
from distkern.runs.applied import Applied, combining_cost, routing_of, run, scratch_folder, unkept
from distkern.runs.limits import check_limit, opened_executor, stop_if_asked
from distkern.runs.sources import BlockSource


def applied_in_order(
    blocks: Iterable[Block], function: Callable[[Any], Any], executor: AbstractExecutor
) -> Iterator[Any]:
    """Yield ``function`` of the features of each block, in order, a few blocks at a time."""
    shared = Shared(function)
    calls = (Call(apply_to_block, (shared,), BlockSource(block), (0,)) for block in blocks)
    for timed in executor.ordered(calls, executor.machine.n_workers + 1):
        yield timed.value


_MOST_ROWS_PER_CHUNK = 2**18


def predict_to(
    model: FittedModel,
    source: Split,
    out: Location,
    *,
    output: str = "label",
    overwrite: bool = False,
    scheduler: str | None = None,
    workers: int | None = None,
    memory_limit: int | None = None,
    listeners: Sequence[Listener] = (),
) -> int:
    """Write the predictions of all rows of a split, shard by shard, to ``.zarr``, ``.csv`` or ``.npy``.

    The first two formats also store each row's number in its source.

    Parameters
    ----------
    output : "label" (for regressors, the predictions), "decision" or, for models with probabilities,
        "probability"
    overwrite : replace existing predictions once the new ones are complete

    Returns
    -------
    n_rows : number of predicted rows
    """
    labels, columns, dtype = _predicted(model, output)

    def routing(machine: Machine) -> Routing | None:
        return routing_of(model, source, source.name, out, machine)

    def steps(machine: Machine) -> list[Pass]:
        routed = routing(machine)
        if routed is None:
            return [_answering(model, source, output, None, None)]
        return [*routed.planned, _answering(model, source, output, None, routed.found())]

    check = check_limit(steps, Extent.of(source), memory_limit)
    with (
        open_predictions(
            place_of(out),
            columns,
            dtype,
            max(source.block_rows),
            labels,
            n_rows=source.n_rows,
            overwrite=overwrite,
        ) as store,
        opened_executor(scheduler, workers, memory_limit, check) as executor,
        ExitStack() as stack,
    ):
        driver = Driver({source.name: source}, executor, EventLog([*listeners, stop_if_asked]))
        routed = routing(executor.machine)
        found = None if routed is None else run(routed, driver, scratch_folder(out, stack))
        done: int = sum(driver.each(_answering(model, source, output, store, found)))
        if done != source.n_rows:
            raise RuntimeError(f"{done} of {source.n_rows} rows were predicted")
        stack.close()
        store.commit()
    return done


def _answering(
    model: FittedModel, source: Split, output: str, store: Store | None, found: RoutedAnswers | None
) -> Each:
    """Return the pass that predicts each block and writes its predictions."""
    starts = accumulate(source.block_rows[:-1], initial=0)
    numbers = range(source.n_blocks)
    items = [
        (start, source.block_rows[block], source.reader(block))
        for block, start in zip(numbers, starts, strict=True)
    ]
    cost, blocks = _cost(model, Extent.of(source), source.row_numbers, output, found), [(n,) for n in numbers]
    if found is None:
        function = model.predictor(model.columns.preparation(source.dataset), output, source.dtype)
        return Each("predict", _predict_block, items, store, blocks, function, source.name, cost=cost)
    applied = Applied.to(source, model, found)
    operand = applied, model.answer(output)
    numbered = list(enumerate(items))
    return Each("predict", _answer_block, numbered, store, (), operand, source.name, cost=cost)


def _predict_block(
    item: tuple[int, int, ShardReader], blocks: Iterator[Block], function: Callable[[Any], NDArray[Any]]
) -> tuple[int, NDArray[Any], NDArray[np.int64]]:
    """Return the number of a block's first row, and the predictions and row numbers of its rows."""
    start, _, reader = item
    return start, function(next(blocks).features), reader.source_rows()


def _answer_block(
    item: tuple[int, tuple[int, int, ShardReader]],
    _: Iterator[Block],
    operand: tuple[Applied, Callable[[Floats], NDArray[Any]]],
) -> tuple[int, NDArray[Any], NDArray[np.int64]]:
    """Return the result of :func:`_predict_block` from the answers of the places."""
    number, (start, n_rows, reader) = item
    model, answer = operand
    found = answer(model.combined(number, n_rows, None))
    return start, found, reader.source_rows()


def files_for(model: FittedModel, sources: Iterable[Location], **how: Any) -> FileRows:
    """Return files as rows of ``model``; see :class:`FileRows` for ``how`` they are read."""
    return FileRows(list(sources), model.columns.like(model.task, model.classes), **how)


def predict_files_to(
    model: FittedModel,
    rows: FileRows,
    out: Location,
    *,
    output: str = "label",
    overwrite: bool = False,
    scheduler: str | None = None,
    workers: int | None = None,
    memory_limit: int | None = None,
    listeners: Sequence[Listener] = (),
) -> int:
    """Write the predictions of rows of files, in their order, as :func:`predict_to` does.

    The strings of the column ``rows.id`` are written too, if the files have it.
    """
    labels, columns, dtype = _predicted(model, output)
    read = iter(rows)
    first = next(read)
    basis, id_ = model.applied_basis(np.float32), None if first.ids is None else rows.id
    function = model.predictor(None, output, first.features.dtype)
    if isinstance(basis, AbstractPlacedBasis):
        first, *others = dense_blocks([first])
        read = chain(others, read)
    # the number of rows is unknown before the files are read, but not the size of a block
    like = BlockSource(Block(first.features))

    def routing(machine: Machine) -> Routing | None:
        placed = unkept(basis, out, machine)
        if placed is None:
            return None
        return Routing(placed.sizes, like.block_rows, "files", placed)

    def steps(machine: Machine) -> list[Pass]:
        routed = routing(machine)
        if routed is None:
            cost = _cost(model, Extent.of(like), like.row_numbers, output)
            return [Reduce("predict", function, max, cost=cost)]
        return [*routed.planned, _in_order(model, like, output, routed.found())]

    check, done = check_limit(steps, Extent.of(like), memory_limit), 0
    with (
        opened_executor(scheduler, workers, memory_limit, check) as executor,
        open_predictions(
            place_of(out), columns, dtype, _MOST_ROWS_PER_CHUNK, labels, id=id_, overwrite=overwrite
        ) as store,
        ExitStack() as stack,
    ):
        stack.enter_context(blas.single_threaded())
        blocks = _reported(chain([first], read), rows, EventLog(listeners))
        if (routed := routing(executor.machine)) is None:
            predicted = _as_they_are(blocks, function, executor)
        else:
            folder = scratch_folder(out, stack)
            parked = ParkedRows(dense_blocks(blocks), model.width, folder / "files")
            driver = Driver({"files": parked}, executor, EventLog([*listeners, stop_if_asked]))
            found = run(replace(routed, block_rows=parked.block_rows), driver, folder)
            answers = driver.stream(_in_order(model, parked, output, found))
            predicted = ((values, parked.ids(number)) for number, values in enumerate(answers))
        for number, (values, ids) in enumerate(predicted):
            interrupts.check()
            done += store.put(number, (done, values, ids))
        stack.close()
        store.commit()
    return done


def _reported(blocks: Iterable[FileBlock], files: FileRows, events: EventLog) -> Iterator[FileBlock]:
    """Yield the blocks, reported to listeners as a pass with a task for each thousandth of the files."""
    about: dict[str, Any] = {"name": "predict files", "stage": 0}
    events.emit("pass_started", **about, tasks=1000, rows=0, bytes=0, unit="rows")
    started, rows, n_bytes = time.perf_counter(), 0, 0
    for block in blocks:
        interrupts.check()
        rows, n_bytes = rows + block.features.shape[0], n_bytes + block.features.nbytes
        done = round(1000 * files.meter.share)
        events.emit(
            "pass_progress",
            **about,
            tasks_done=done,
            tasks=1000,
            rows_done=rows,
            rows=rows,
            bytes_done=n_bytes,
        )
        yield block
    seconds = time.perf_counter() - started
    events.emit(
        "pass_finished", **about, seconds=seconds, rows=rows, bytes=n_bytes, mode="driver", split_seconds={}
    )


def _as_they_are(
    given: Iterable[FileBlock], function: Callable[[Any], NDArray[Any]], executor: AbstractExecutor
) -> Iterator[tuple[NDArray[Any], NDArray[Any] | None]]:
    """Yield predictions and ids of blocks, each predicted on its own."""
    ids: deque[NDArray[Any] | None] = deque()

    def blocks() -> Iterator[Block]:
        for block in given:
            ids.append(block.ids)
            yield Block(block.features)

    for values in applied_in_order(blocks(), function, executor):
        yield values, ids.popleft()


def _in_order(
    model: FittedModel, source: AbstractSource, output: str, found: RoutedAnswers
) -> Stream[NDArray[Any]]:
    """Return the pass that yields the answers of the places, block by block."""
    rows, applied = max(source.block_rows), Applied.of(model, source.dtype, None, found)
    cost = _cost(model, Extent.of(source), source.row_numbers, output, found)
    cost = replace(cost, result_bytes=cost.result_bytes // rows)
    operand, visits = (applied, model.answer(output)), whole_visits(source.block_rows)
    return Stream("predict", visits, _answer, operand, piece_rows=rows, split="files", cost=cost)


def _answer(block: Block, operand: tuple[Applied, Callable[[Floats], NDArray[Any]]]) -> NDArray[Any]:
    model, answer = operand
    return answer(model.combined(block.index, block.n_rows, None))


def _cost(
    model: FittedModel, extent: Extent, row_numbers: int, output: str, found: RoutedAnswers | None = None
) -> Cost:
    """Return the cost of predicting a block; Arrow and the chunks read fit the driver's base memory."""
    _, columns, _ = _predicted(model, output)
    rows, row_bytes = max(extent.block_rows), 16 * len(columns or [""])
    if found is None:
        basis = model.applied_basis(np.float32)
        cost = combining_cost(basis, row_numbers, rows)
    else:
        cost = found.cost(rows)
    answers = {"answers": (rows, row_bytes)}
    return cost.holding(task={"coefficients": (2, model.coefficients.nbytes), **answers}, result=answers)


def _predicted(
    model: FittedModel, output: str
) -> tuple[NDArray[Any] | None, list[str] | None, np.dtype[Any]]:
    """Return the classes if predictions are labels, the column names if there are several, and the dtype."""
    number = np.dtype(np.float64)
    n_outputs = model.coefficients.shape[1]
    if model.task == "none":
        return None, None, np.dtype(np.int64) if output == "label" else number
    if model.task == "regression":
        return None, None if n_outputs == 1 else [str(column) for column in range(n_outputs)], number
    classes = model.classes
    assert classes is not None
    if output == "label":
        return classes, None, classes.dtype
    several = len(classes) > 2 or output == "probability"
    return None, label_texts(classes) if several else None, number
