"""Dask frames, a partition at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from distkern.common.errors import InputError
from distkern.engine.dask.arrays import as_array


def partitions(frame: Any, targets: Any) -> Iterator[tuple[Any, Any]]:
    """Each partition of a Dask frame with its targets, (n,): an array, a series, or one of Dask's."""
    import dask

    has_parts = getattr(targets, "npartitions", None) == frame.npartitions and hasattr(targets, "partitions")
    lazy: Any = None if has_parts else as_array(targets)
    start = 0
    for index in range(frame.npartitions):
        if has_parts:
            part, of_rows = dask.compute(frame.partitions[index], targets.partitions[index])
        else:
            (part,) = dask.compute(frame.partitions[index])
            (of_rows,) = dask.compute(lazy[start : start + len(part)])
        start += len(part)
        if len(of_rows) != len(part):
            raise InputError(
                "X and y have different numbers of rows", where="y", mend="give one for each row"
            )
        yield part, of_rows
    if lazy is not None and start != lazy.shape[0]:
        raise InputError(
            f"X has {start} rows and y has {lazy.shape[0]}", where="y", mend="give one for each row"
        )


def map_frame(function: Callable[[Any], Any], frame: Any, names: Sequence[str]) -> Any:
    """A lazy Dask frame of ``function`` of each partition: (n, n_columns) float32 arrays."""
    empty = frame._meta
    meta = type(empty)(np.empty((0, len(names)), dtype=np.float32), columns=list(names))
    return frame.map_partitions(partial(_framed, function, list(names)), meta=meta)


def _framed(function: Callable[[Any], Any], names: list[str], part: Any) -> Any:
    return type(part)(function(part), columns=names, index=part.index)
