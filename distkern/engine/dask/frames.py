"""Dask frames and arrays, a partition at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from distkern.common.errors import InputError
from distkern.engine.dask.arrays import as_array, is_dask


def partitions(rows: Any, targets: Any) -> Iterator[tuple[Any, Any]]:
    """Each partition of a Dask frame, or block of rows of a Dask array, with its targets, (n,): of an array,
    a series, or one of Dask's; or None."""
    import dask

    if hasattr(rows, "chunks"):
        rows = as_array(rows).rechunk({1: -1})
    parts = _parts(rows)
    beside = None
    if targets is not None and _is_like(targets, rows):
        beside = _parts(targets)
    lazy: Any = None if targets is None or beside is not None else as_array(targets)
    start = 0
    for index in range(rows.npartitions):
        if beside is not None:
            part, of_rows = dask.compute(parts[index], beside[index])
        else:
            (part,) = dask.compute(parts[index])
            of_rows = None if lazy is None else dask.compute(lazy[start : start + part.shape[0]])[0]
        start += part.shape[0]
        if of_rows is not None and len(of_rows) != part.shape[0]:
            raise InputError(
                "X and y have different numbers of rows", where="y", mend="give one for each row"
            )
        yield part, of_rows
    if lazy is not None and start != lazy.shape[0]:
        raise InputError(
            f"X has {start} rows and y has {lazy.shape[0]}", where="y", mend="give one for each row"
        )


def _parts(collection: Any) -> Any:
    return collection.blocks if hasattr(collection, "chunks") else collection.partitions


def _is_like(targets: Any, rows: Any) -> bool:
    """Whether both are frames, or arrays, in as many parts."""
    return (
        is_dask(targets)
        and targets.npartitions == rows.npartitions
        and hasattr(targets, "chunks") == hasattr(rows, "chunks")
    )


def map_frame(function: Callable[[Any], Any], frame: Any, names: Sequence[str]) -> Any:
    """A lazy Dask frame of ``function`` of each partition: (n, n_columns) float32 arrays."""
    empty = frame._meta
    meta = type(empty)(np.empty((0, len(names)), dtype=np.float32), columns=list(names))
    return frame.map_partitions(partial(_framed, function, list(names)), meta=meta)


def _framed(function: Callable[[Any], Any], names: list[str], part: Any) -> Any:
    return type(part)(function(part), columns=names, index=part.index)
