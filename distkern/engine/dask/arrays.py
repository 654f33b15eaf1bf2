"""Dask collections: read block by block, mapped lazily, scored by sums over their chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.core.targets import keys_of_groups, plain_targets
from distkern.core.types import AbstractSource, Block, Reader, is_dask


def partitions(rows: Any, *extra: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the partitions of a Dask frame or array of rows, with values (n,) of their rows.

    Parameters
    ----------
    extra : one value per row, in memory or in partitions of any sizes; None yields None

    Raises
    ------
    InputError
        If the numbers of rows and values differ.
    """
    import dask

    if hasattr(rows, "chunks"):
        rows = as_array(rows).rechunk({1: -1})
    parts, columns = _parts(rows), [None if values is None else _InTurn(values) for values in extra]
    for part in parts:
        # computed together, since they often derive from the same partition
        upcoming = [None if column is None else column.upcoming(part) for column in columns]
        rows_of_part, *found = dask.compute(part, *upcoming)
        for column, values in zip(columns, found, strict=True):
            if column is not None and values is not None:
                column.put(values)
        n_rows = len(rows_of_part)
        yield rows_of_part, *(None if column is None else column.take(n_rows) for column in columns)
    for column in columns:
        if column is not None:
            column.check_end()


def _parts(collection: Any) -> Iterator[Any]:
    lazy = collection.blocks if hasattr(collection, "chunks") else collection.partitions
    return (lazy[index] for index in range(collection.npartitions))


class _InTurn:
    """A queue of the values of an array, list or series, in memory or of Dask."""

    def __init__(self, values: Any) -> None:
        self._parts = _parts(values) if is_dask(values) else iter(())
        self._is_array = hasattr(values, "chunks")
        self._held = np.empty(0) if is_dask(values) else _column(values)

    def upcoming(self, rows: Any) -> Any:
        """Return the next lazy part if it is like ``rows``; None while values are left, and at the end."""
        is_like = hasattr(rows, "chunks") == self._is_array
        return next(self._parts, None) if is_like and not len(self._held) else None

    def put(self, values: Any) -> None:
        """Add the values of a computed part."""
        found = _column(values)
        self._held = np.concatenate([self._held, found]) if len(self._held) else found

    def take(self, n_rows: int) -> NDArray[Any]:
        """Return the values of the next rows."""
        while len(self._held) < n_rows:
            part = next(self._parts, None)
            if part is None:
                raise _unequal("fewer")
            self.put(part.compute())
        values, self._held = self._held[:n_rows], self._held[n_rows:]
        return values

    def check_end(self) -> None:
        """Refuse remaining values."""
        while not len(self._held):
            part = next(self._parts, None)
            if part is None:
                return
            self.put(part.compute())
        raise _unequal("more")


def _column(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    return array[:, 0] if array.shape[1:] == (1,) else array


def _unequal(how_many: str) -> InputError:
    what = f"y, sample_weight or groups has {how_many} rows than X"
    return InputError(what, where="y", hint="give one value per row")


def has_missing(frame: Any) -> bool:
    """Return whether a Dask frame has missing values, by one pass over it."""
    return bool(frame.isna().any().any().compute())


def map_frame(
    function: Callable[[Any], Any], frame: Any, names: Sequence[str], dtype: Any = np.float32
) -> Any:
    """Return a lazy Dask frame of ``function`` applied to each partition: (n, n_columns) of ``dtype``."""
    empty = frame._meta
    meta = type(empty)(np.empty((0, len(names)), dtype=dtype), columns=list(names), index=empty.index)
    return frame.map_partitions(partial(_framed, function, list(names)), meta=meta)


def map_numbers(function: Callable[[Any], Any], frame: Any, names: Sequence[str], dtype: Any) -> Any:
    """Return :func:`map_frame` for a function of the numbers (n, d) of a partition, in ``dtype``."""
    return map_frame(partial(_of_numbers, function, dtype), _with_nan(frame), names, dtype)


def _of_numbers(function: Callable[[Any], Any], dtype: Any, part: Any) -> Any:
    return function(part.to_numpy(dtype=dtype))


def as_frame(array: Any, names: Sequence[str]) -> Any:
    """Return a lazy Dask frame of a lazy array's columns."""
    return array.to_dask_dataframe(columns=list(names))


def _framed(function: Callable[[Any], Any], names: list[str], part: Any) -> Any:
    return type(part)(function(part), columns=names, index=part.index)


def accuracy(targets: Any, predicted: Any, weights: Any = None) -> float:
    """Return the (weighted) share of correct labels; raises as :func:`r2`."""
    # imported late: it takes 44 MiB and most of a second
    from dask_ml.metrics import accuracy_score

    targets, predicted, weights = _columns(targets, predicted, weights)
    return float(accuracy_score(targets, predicted, sample_weight=weights))


def r2(targets: Any, predicted: Any, weights: Any = None) -> float:
    """Return 1 - sum s_i (y_i - p_i)^2 / sum s_i (y_i - mean)^2; dask-ml's has no weights.

    Raises
    ------
    InputError
        Unless there is one target and one weight per prediction.
    """
    import dask

    targets, predicted, weights = _columns(targets, predicted, weights)
    if weights is None:
        weights = 1.0
        mean = targets.mean().compute()
    else:
        mean = np.divide(*dask.compute((weights * targets).sum(), weights.sum()))
    # with the mean known, no chunk must wait for the others
    residual, spread = dask.compute(
        (weights * (targets - predicted) ** 2).sum(), (weights * (targets - mean) ** 2).sum()
    )
    if spread == 0:
        return float(residual == 0)
    return float(1 - residual / spread)


def _columns(targets: Any, predicted: Any, weights: Any) -> tuple[Any, Any, Any]:
    predicted = as_array(predicted)
    if predicted.ndim != 1:
        raise InputError(
            f"predictions of shape {predicted.shape} have no score",
            where="score",
            hint="give one quantile, or compare predict(X) with y yourself",
        )
    rows = predicted.chunks[0]
    targets = aligned(targets if is_dask(targets) else plain_targets(targets), rows)
    return targets.map_blocks(_plain, dtype=targets.dtype), predicted, aligned(weights, rows)


def _plain(targets: Any, block_id: tuple[int, ...]) -> Any:
    return plain_targets(targets, f"y, block {block_id[0]}")


class DaskArraySource(AbstractSource):
    """Blocks of rows of a Dask array, recomputed in every pass unless the user persisted the array.

    Parameters
    ----------
    features : (n, d) Dask array or frame
    targets, weights, groups : (n,) Dask arrays or None; rechunked to the rows of ``features``
    classes : sorted labels; targets become their positions. None: keep the targets
    """

    is_graph = True
    is_shuffled = False

    def __init__(
        self,
        features: Any,
        targets: Any = None,
        weights: Any = None,
        classes: NDArray[Any] | None = None,
        groups: Any = None,
    ) -> None:
        from dask.base import tokenize

        features = as_array(features)
        if features.ndim != 2:
            raise InputError(
                f"X has {features.ndim} dimensions", where="X", hint="give a two-dimensional array"
            )
        if not isinstance(features._meta, np.ndarray):
            raise InputError(
                f"the blocks of the Dask array have type {type(features._meta).__name__}",
                where="X",
                hint="write them to a sharded data set (write_dataset), or fit to a SciPy matrix",
            )
        if features.dtype.kind == "c":
            hint = "give X.real and X.imag as columns, or abs(X)"
            raise InputError("Complex data not supported", where="X", hint=hint)
        if len(features.chunks[1]) > 1:
            features = features.rechunk({1: -1})
        rows = features.chunks[0]
        self._arrays = [features, *(aligned(array, rows) for array in (targets, weights, groups))]
        self._classes, self.has_groups = classes, groups is not None
        self.block_rows = tuple(int(count) for count in rows)
        self.n_features = int(features.shape[1])
        self.dtype = np.dtype(np.float32 if features.dtype == np.float32 else np.float64)
        self.fingerprint = tokenize(*(None if array is None else array.name for array in self._arrays))
        self._token = f"distkern-block-{tokenize(self.fingerprint, classes)}"
        self._graphs = [None if array is None else dict(array.__dask_graph__()) for array in self._arrays]

    def reader(self, index: int) -> Reader:
        raise TypeError("the blocks of a Dask array are read through its graph")

    def graph(self, index: int) -> tuple[dict[Any, Any], Any]:
        from dask._task_spec import Task, TaskRef
        from dask.optimization import cull

        tasks: dict[Any, Any] = {}
        arguments: list[Any] = []
        for array, graph in zip(self._arrays, self._graphs, strict=True):
            if array is None or graph is None:
                arguments.append(None)
                continue
            key = (array.name, index, 0) if array.ndim == 2 else (array.name, index)
            tasks.update(cull(graph, [key])[0])
            arguments.append(TaskRef(key))
        name = (self._token, index)
        tasks[name] = Task(name, _block, index, self._classes, self.dtype, *arguments)
        return tasks, name

    def with_classes(self, classes: NDArray[Any]) -> DaskArraySource:
        """Return this source with positions of labels in ``classes`` as targets."""
        features, targets, weights, groups = self._arrays
        return DaskArraySource(features, targets, weights, classes, groups)


def _block(
    index: int,
    classes: NDArray[Any] | None,
    dtype: Any,
    features: Any,
    targets: Any,
    weights: Any,
    groups: Any,
) -> Block:
    if targets is not None:
        targets = plain_targets(targets, f"y, block {index}")
        if classes is not None:
            targets = np.searchsorted(classes, targets).astype(np.int32)
    return Block(
        np.ascontiguousarray(features, dtype=dtype),
        targets,
        None if weights is None else _weights(weights, index),
        index,
        None if groups is None else keys_of_groups(groups, len(features), f"groups, block {index}"),
    )


def _weights(weights: Any, index: int) -> NDArray[np.float64]:
    plain = plain_targets(weights, f"sample_weight, block {index}", what="weight")
    return np.asarray(plain, dtype=np.float64)


def as_array(collection: Any) -> Any:
    """Return an array, a Dask array or a Dask frame as a Dask array with known chunks."""
    import dask.array as da

    array = collection
    if not isinstance(array, da.Array):
        if is_dask(array):
            array = _with_nan(array).to_dask_array(lengths=True)
        else:
            array = np.asarray(array)
            # Dask cannot guess the size of objects
            array = da.from_array(array, chunks=-1 if array.dtype == object else "auto")
    if array.ndim and any(np.isnan(count) for count in array.chunks[0]):
        array = array.compute_chunk_sizes()
    return array


def _with_nan(collection: Any) -> Any:
    """Return a Dask frame with NumPy's types and NaN for missing values, or a series of objects."""
    dtypes = collection._meta.dtypes if collection.ndim == 2 else [collection._meta.dtype]
    if all(isinstance(dtype, np.dtype) for dtype in dtypes):
        return collection
    if collection.ndim == 1:
        return collection.astype(object)
    return collection.map_partitions(_in_numpy, meta=_in_numpy(collection._meta))


def _in_numpy(part: Any) -> Any:
    nullable = {
        name: np.float64
        for name, dtype in part.dtypes.items()
        if not isinstance(dtype, np.dtype) and dtype.kind in "biuf"
    }
    return part.astype(nullable) if nullable else part


def in_turn(first: Any, second: Any, codes: tuple[int, int]) -> tuple[Any, Any]:
    """Return the concatenated rows of two arrays and the code of each row, as Dask arrays."""
    import dask.array as da

    parts = as_array(first), as_array(second)
    labels = [da.full(len(part), code, dtype=np.int64) for part, code in zip(parts, codes, strict=True)]
    return da.concatenate(parts), da.concatenate(labels)


def aligned(array: Any, rows: Sequence[int]) -> Any:
    """Return one column as a Dask array (n,) with chunks of ``rows``; None for None."""
    if array is None:
        return None
    array = as_array(array)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        what = f"y, sample_weight or groups has {array.ndim} dimensions"
        raise InputError(what, where="y", hint="give one value per row")
    if array.shape[0] != sum(rows):
        raise InputError(
            f"X has {sum(rows)} rows and y, sample_weight or groups has {array.shape[0]}",
            where="y",
            hint="give one value per row",
        )
    return array if array.chunks[0] == tuple(rows) else array.rechunk({0: tuple(rows)})


def arrays_of_split(split: Any) -> tuple[Any, Any]:
    """Return the unscaled features and the labels of a split as lazy Dask arrays, a block per shard."""
    import dask.array as da
    from dask.delayed import delayed
    from scipy.sparse import csr_matrix

    scaling = split.dataset.scaling
    number = np.dtype(np.float32 if scaling.factor is None else np.float64)
    meta = csr_matrix((0, 0), dtype=number) if split.is_sparse else np.empty((0, 0), dtype=number)
    features, labels = [], []
    for index, n_rows in enumerate(split.block_rows):
        reader = split.reader(index)
        part = delayed(_features, pure=True)(reader, scaling)
        features.append(da.from_delayed(part, shape=(n_rows, split.n_features), meta=meta))
        if split.dataset.task != "none":
            classes = split.dataset.classes
            dtype = np.dtype(np.float64) if classes is None else classes.dtype
            named = delayed(_labels, pure=True)(reader, classes)
            labels.append(da.from_delayed(named, shape=(n_rows,), dtype=dtype))
    return da.concatenate(features), da.concatenate(labels) if labels else None


def _features(reader: Any, scaling: Any) -> Any:
    rows = scaling.in_own_units(reader().features)
    return rows.to_scipy() if isinstance(rows, SparseRows) else rows


def _labels(reader: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    targets: NDArray[Any] = reader.targets()
    return targets if classes is None else classes[targets]


def map_rows(function: Callable[[Any], Any], features: Any, dtype: Any, n_columns: int | None) -> Any:
    """Return a lazy Dask array of ``function`` of each block of rows: (n,) or (n, n_columns)."""
    import dask.array as da

    array, mapped = as_array(features), partial(_apply_to_block, function)
    if len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    rows = array.chunks[0]
    if n_columns is None:
        meta = np.empty(0, dtype=dtype)
        return da.map_blocks(mapped, array, dtype=dtype, drop_axis=1, chunks=(rows,), meta=meta)
    meta = np.empty((0, 0), dtype=dtype)
    return da.map_blocks(mapped, array, dtype=dtype, chunks=(rows, (n_columns,)), meta=meta)


def _apply_to_block(function: Callable[[Any], Any], rows: Any) -> Any:
    return function(SparseRows.of_scipy(rows.tocsr()) if hasattr(rows, "tocsr") else rows)


def map_source(
    function: Callable[[Any], Any], source: AbstractSource, dtype: Any, n_columns: int | None
) -> Any:
    """Return a lazy Dask array of ``function`` of the features of each block of a source."""
    return map_blocks(partial(_read_and_apply, function), source, dtype, n_columns)


def map_blocks(
    function: Callable[[int, int, Reader], Any], source: AbstractSource, dtype: Any, n_columns: int | None
) -> Any:
    """Return a lazy Dask array of ``function(number, n_rows, reader)`` of each block of a source."""
    import dask.array as da
    from dask.delayed import delayed

    parts = []
    for index, n_rows in enumerate(source.block_rows):
        part = delayed(function)(index, n_rows, source.reader(index))
        shape = (n_rows,) if n_columns is None else (n_rows, n_columns)
        parts.append(da.from_delayed(part, shape=shape, dtype=dtype))
    return da.concatenate(parts)


def _read_and_apply(function: Callable[[Any], Any], _number: int, _n_rows: int, reader: Reader) -> Any:
    return function(reader().features)
