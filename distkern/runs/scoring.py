"""Predictions of a whole data set, or of files as they are, written as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from distkern.core import interrupts
from distkern.core.types import Block
from distkern.engine.drive import blocks_in_order
from distkern.engine.held import HeldBlock, held_in_order
from distkern.engine.plan import Extent
from distkern.passes import Cost, Reduce
from distkern.runs.learner import Learner
from distkern.runs.run import check_limit, opened_executor
from distkern.storage.dataset import Split
from distkern.storage.file_rows import FileBlock, FileRows
from distkern.storage.places import Location, place_of
from distkern.storage.predictions import open_prediction_writer

_MOST_ROWS_PER_CHUNK = 2**18


def predict_to(
    model: Learner, source: Split, out: Location, *, output: str = "label",
    scheduler: str | None = None, workers: int | None = None, memory_limit: int | None = None,
) -> int:  # fmt: skip
    """Write the predictions of all rows of a split, shard by shard, to ``.zarr``, ``.csv`` or ``.npy``, the
    first two with each row's number in its source.

    Returns the number of rows. ``output``: "label" (of a regressor, its predictions), "decision" values or,
    of a model that has them, "probability".
    """
    function = model.predictor(model.preparation_for(source), output)
    step = _step(model, function, Extent.of(source), source.row_numbers, output)
    check = check_limit(step, Extent.of(source), memory_limit)
    labels, columns, dtype = _predicted(model, output)
    done = 0
    with (
        opened_executor(scheduler, workers, memory_limit, check) as executor,
        open_prediction_writer(
            place_of(out), columns, dtype, max(source.block_rows), labels, rows=source.has_source_rows
        ) as writer,
    ):
        for block, values in enumerate(blocks_in_order(source, function, executor)):
            interrupts.check()
            writer.write(values, source.reader(block).source_rows())
            done += len(values)
        if done != source.n_rows:
            raise RuntimeError(f"{done} of {source.n_rows} rows were predicted")
        writer.commit()
    return done


def files_for(model: Learner, sources: Iterable[Location], **how: Any) -> FileRows:
    """Files as rows of ``model``; ``how`` they are read is explained at :class:`FileRows`."""
    names = getattr(model, "feature_names_in_", None)
    return FileRows(
        list(sources), model.n_features_in_, names=None if names is None else tuple(names),
        scaling=model.scaling_, target_name=model.target_name_, **how,
    )  # fmt: skip


def predict_files_to(
    model: Learner, rows: FileRows, out: Location, *, id: str | None = None, output: str =
    "label", scheduler: str | None = None, workers: int | None = None, memory_limit: int | None = None,
) -> int:  # fmt: skip
    """Write the predictions of rows of files, in their order, as :func:`predict_to` does; with the texts of
    the column ``id``, if ``rows`` keep it."""
    function = model.predictor(None, output)
    labels, columns, dtype = _predicted(model, output)
    read = iter(rows)
    first = next(read)
    # the rows of a file are not known before it has been read, but what is read at a time is
    like = HeldBlock(Block(first.features))
    step = _step(model, function, Extent.of(like), like.row_numbers, output)
    check = check_limit(step, Extent.of(like), memory_limit)
    ids: deque[NDArray[Any] | None] = deque()

    def blocks(given: Iterable[FileBlock]) -> Iterator[Block]:
        for block in given:
            ids.append(block.ids)
            yield Block(block.features)

    done = 0
    with (
        opened_executor(scheduler, workers, memory_limit, check) as executor,
        open_prediction_writer(place_of(out), columns, dtype, _MOST_ROWS_PER_CHUNK, labels, id=id) as writer,
    ):
        for values in held_in_order(blocks(chain([first], read)), function, executor):
            interrupts.check()
            writer.write(values, ids.popleft())
            done += len(values)
        writer.commit()
    return done


def _step(model: Learner, function: Any, extent: Extent, row_numbers: int, output: str) -> Reduce[Any]:
    """The pass as it is planned; Arrow and the chunks that are read fit what every driver is given."""
    _, columns, _ = _predicted(model, output)
    basis = model.basis(np.float32)
    cost = Cost(
        workspace_bytes=basis.combining_bytes(row_numbers)
        + 2 * model.coef_.nbytes
        + max(extent.block_rows) * (16 * len(columns or [""]) + 4 * row_numbers),
        process_bytes=basis.process_bytes,
        compiled=basis.is_compiled,
    )
    return Reduce("predict", function, max, cost=cost)


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
