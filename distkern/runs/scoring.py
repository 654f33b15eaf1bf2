"""Predictions of a whole data set, or of files as they are, written as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from distkern.common import interrupts
from distkern.common.sparse import Rows
from distkern.common.types import Block
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog
from distkern.engine.held import HeldBlock, held_in_order
from distkern.engine.plan import Extent
from distkern.passes import Cost, Each, Reduce
from distkern.runs.learner import Learner
from distkern.runs.run import check_limit, opened_executor, stop_if_asked
from distkern.storage.dataset import Split
from distkern.storage.file_rows import FileBlock, FileRows
from distkern.storage.places import Location, place_of
from distkern.storage.prediction_store import open_prediction_store
from distkern.storage.predictions import open_prediction_writer
from distkern.storage.preparation import Like
from distkern.storage.scaling import Scaling
from distkern.storage.shard_reader import ShardReader

_MOST_ROWS_PER_CHUNK = 2**18


def predict_to(
    model: Learner,
    source: Split,
    out: Location,
    *,
    output: str = "label",
    scheduler: str | None = None,
    workers: int | None = None,
    memory_limit: int | None = None,
) -> int:
    """Write the predictions of all rows of a split, shard by shard, to ``.zarr``, ``.csv`` or ``.npy``, the
    first two with each row's number in its source.

    Returns the number of rows. ``output``: "label" (of a regressor, its predictions), "decision" values or,
    of a model that has them, "probability".
    """
    labels, columns, dtype = _predicted(model, output)
    place, block_rows = place_of(out), max(source.block_rows)
    # all blocks but the last have as many rows
    at_once = 1 if source.is_sparse else max(1, model.basis(np.float32).batch_rows // block_rows)
    parts = [
        tuple(range(first, min(first + at_once, source.n_blocks)))
        for first in range(0, source.n_blocks, at_once)
    ]
    with open_prediction_store(
        place, columns, dtype, source.n_rows, at_once * block_rows, labels, rows=source.has_source_rows
    ) as (store, commit):
        numbers = source.has_source_rows
        items = [
            (
                part[0] * block_rows,
                sum(source.block_rows[block] for block in part),
                [source.reader(block) for block in part] if numbers else None,
            )
            for part in parts
        ]
        cost = _cost(model, Extent.of(source), source.row_numbers, output, min(at_once, source.n_blocks))
        function = model.predictor(model.preparation_for(source), output)
        step = Each("predict", _predict_blocks, items, store, parts, function, source.name, cost=cost)
        check = check_limit(step, Extent.of(source), memory_limit)
        with opened_executor(scheduler, workers, memory_limit, check) as executor:
            driver = Driver({source.name: source}, executor, EventLog([stop_if_asked]))
            done: int = sum(driver.each(step))
        if done != source.n_rows:
            raise RuntimeError(f"{done} of {source.n_rows} rows were predicted")
        commit()
    return done


def _predict_blocks(
    item: tuple[int, int, list[ShardReader] | None],
    blocks: Iterator[Block],
    function: Callable[[Any], NDArray[Any]],
) -> tuple[int, NDArray[Any], NDArray[np.int64] | None]:
    """Number of the first row of some blocks, predictions and row numbers of their rows."""
    start, n_rows, readers = item
    found = function(_together(blocks, n_rows))
    keys = None if readers is None else np.concatenate([reader.source_rows() for reader in readers])
    return start, found, keys


def _together(blocks: Iterator[Block], n_rows: int) -> Rows:
    """The features of all blocks, of which one at a time is held beside them."""
    features = next(blocks).features
    if len(features) == n_rows:
        return features
    whole = np.empty((n_rows, features.shape[1]), features.dtype)
    done = len(features)
    whole[:done] = np.asarray(features)
    for block in blocks:
        whole[done : done + block.n_rows] = np.asarray(block.features)
        done += block.n_rows
    return whole


def files_for(
    model: Learner, sources: Iterable[Location], *, zero_based: bool | None = None, **how: Any
) -> FileRows:
    """Files as rows of ``model``; ``how`` they are read is explained at :class:`FileRows`."""
    zero_based = model.zero_based_ if zero_based is None else zero_based
    return FileRows(list(sources), rows_of(model), zero_based=zero_based, **how)


def rows_of(model: Learner) -> Like:
    """How the rows that a model was trained on were prepared."""
    names = getattr(model, "feature_names_in_", None)
    return Like(
        model.width_,
        None if names is None else tuple(names),
        model.target_name_,
        model.scaling_ or Scaling(),
        model.table_,
    )


def predict_files_to(
    model: Learner,
    rows: FileRows,
    out: Location,
    *,
    output: str = "label",
    scheduler: str | None = None,
    workers: int | None = None,
    memory_limit: int | None = None,
) -> int:
    """Write the predictions of rows of files, in their order, as :func:`predict_to` does; with the texts of
    the column ``rows.id``, if they have it."""
    function = model.predictor(None, output)
    labels, columns, dtype = _predicted(model, output)
    read = iter(rows)
    first = next(read)
    id_ = None if first.ids is None else rows.id
    # the rows of a file are not known before it has been read, but what is read at a time is
    like = HeldBlock(Block(first.features))
    cost = _cost(model, Extent.of(like), like.row_numbers, output)
    step = Reduce[Any]("predict", function, max, cost=cost)
    check = check_limit(step, Extent.of(like), memory_limit)
    ids: deque[NDArray[Any] | None] = deque()

    def blocks(given: Iterable[FileBlock]) -> Iterator[Block]:
        for block in given:
            ids.append(block.ids)
            yield Block(block.features)

    done = 0
    with (
        opened_executor(scheduler, workers, memory_limit, check) as executor,
        open_prediction_writer(place_of(out), columns, dtype, _MOST_ROWS_PER_CHUNK, labels, id=id_) as writer,
    ):
        for values in held_in_order(blocks(chain([first], read)), function, executor):
            interrupts.check()
            writer.write(values, ids.popleft())
            done += len(values)
        writer.commit()
    return done


def _cost(model: Learner, extent: Extent, row_numbers: int, output: str, n_blocks: int = 1) -> Cost:
    """Of some blocks; Arrow and the chunks that are read fit what every driver is given."""
    _, columns, _ = _predicted(model, output)
    basis, row_bytes = model.basis(np.float32), 16 * len(columns or [""])
    rows = n_blocks * max(extent.block_rows)
    return Cost(
        workspace_bytes=basis.combining_bytes(row_numbers)
        + 2 * model.coef_.nbytes
        + rows * (row_bytes + 4 * row_numbers)
        # their rows together, beside a block
        + (rows * extent.row_bytes if n_blocks > 1 else 0),
        process_bytes=basis.process_bytes,
        compiled=basis.is_compiled,
        result_bytes=rows * row_bytes,
    )


def _predicted(model: Learner, output: str) -> tuple[list[Any], list[str] | None, np.dtype[Any]]:
    """The labels that predictions may be, names of their columns if there are several, and their dtype."""
    number = np.dtype(np.float64)
    n_outputs = model.coef_.shape[1]
    if model.task == "regression":
        return [], None if n_outputs == 1 else [str(column) for column in range(n_outputs)], number
    classes: NDArray[Any] = cast(Any, model).classes_
    labels = classes.tolist()
    if output == "label":
        return labels, None, classes.dtype
    several = len(labels) > 2 or output == "probability"
    return labels, [str(label) for label in labels] if several else None, number
