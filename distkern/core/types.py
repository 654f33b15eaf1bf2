"""Blocks of rows, and the sources that they are read from."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import Rows, SparseRows, stacked

Array: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.floating[Any]]
Indices: TypeAlias = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of a data set.

    Attributes
    ----------
    features : (n_rows, n_features) float32 or float64, a C-contiguous array or :class:`SparseRows`
    targets : (n_rows,) int32 class codes, float64 regression targets, or None
    weights : (n_rows,) float64 sample weights, or None for all ones
    index : number of the block in its source
    group_keys : (n_rows,) uint64, equal for rows that must be held out together
        (:mod:`~distkern.core.targets`); None without groups
    """

    features: Rows
    targets: NDArray[Any] | None = None
    weights: Floats | None = None
    index: int = 0
    group_keys: NDArray[np.uint64] | None = None

    @classmethod
    def joined(cls, blocks: Sequence[Block]) -> Block:
        """Concatenate blocks, keeping the data that all of them have."""
        if len(blocks) == 1:
            return blocks[0]

        def all_of(name: str) -> Any:
            parts = [getattr(block, name) for block in blocks]
            return None if any(part is None for part in parts) else np.concatenate(parts)

        names = ("targets", "weights", "group_keys")
        return cls(stacked([block.features for block in blocks]), **{name: all_of(name) for name in names})

    @property
    def n_rows(self) -> int:
        return int(self.features.shape[0])

    @property
    def nbytes(self) -> int:
        others = (self.targets, self.weights, self.group_keys)
        return self.features.nbytes + sum(array.nbytes for array in others if array is not None)

    def freeze(self) -> None:
        """Make the features read-only, before several readers share them."""
        features = self.features
        if isinstance(features, SparseRows):
            arrays: tuple[NDArray[Any], ...] = (features.data, features.indices, features.indptr)
        else:
            arrays = (features,)
        for array in arrays:
            array.flags.writeable = False

    def take(self, rows: Indices | slice) -> Block:
        """Return the rows at the given positions, in that order (a view for a slice)."""
        names = ("targets", "weights", "group_keys")
        taken = {name: values[rows] for name in names if (values := getattr(self, name)) is not None}
        return replace(self, features=self.features[rows], **taken)


Reader: TypeAlias = Callable[[], Block]


class AbstractGroup(ABC):
    """A group of blocks, open in one process for small reads of single rows and columns.

    Attributes
    ----------
    n_rows, n_features : size of the group
    targets : (n_rows,) as in :class:`Block`, or None; access may read them
    """

    n_rows: int
    n_features: int
    targets: NDArray[Any] | None

    @abstractmethod
    def rows(self, positions: Indices) -> Rows:
        """Return the rows at the given positions within the group, in that order."""

    @abstractmethod
    def columns(self, columns: Indices) -> Rows:
        """Return the given columns as rows (n_columns, n_rows), dense or sparse as the data.

        Raises :class:`InputError` if the data has no feature-major copy; the message gives the command that
        adds it.
        """

    def columns_into(self, columns: Indices, places: Sequence[Floats]) -> None:
        """Fill ``places[i]``, (n_rows,), with dense column i of ``columns``; raises as :meth:`columns`."""
        for place, values in zip(places, np.asarray(self.columns(columns)), strict=True):
            place[:] = values

    def column_bytes(self) -> int | None:
        """Return the bytes of all columns in memory; None if unknown before they are read."""
        return None

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Iterate over all rows of the group, a block at a time, in order."""

    def block(self, place: int) -> Block:
        """Return a block by its position within the group."""
        return next(islice(self.blocks(), place, None))


GroupOpener: TypeAlias = Callable[[], AbstractGroup]

_LEAST_GROUPS = 8
_GROUP_ROWS = 2**18


def groups_of(block_rows: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Split consecutive blocks into groups of about an eighth of the rows, and of at most 2^18 rows plus a
    block.

    A group is the unit that a process keeps from round to round, and the unit of a feature-major copy.

    >>> groups_of([10] * 20)[:2]
    ((0, 1, 2), (3, 4))
    """
    n_rows = sum(block_rows)
    n_groups = max(min(_LEAST_GROUPS, len(block_rows)), -(-n_rows // _GROUP_ROWS))
    groups: list[tuple[int, ...]] = []
    current: list[int] = []
    done = 0
    for block, rows in enumerate(block_rows):
        current.append(block)
        done += rows
        # the group ends where its share of the rows does
        if done * n_groups >= n_rows * (len(groups) + 1):
            groups.append(tuple(current))
            current = []
    return (*groups, tuple(current)) if current else tuple(groups)


class AbstractSource(ABC):
    """Rows in blocks that any process can read by number.

    Subclasses set the attributes below and implement :meth:`reader`.

    Attributes
    ----------
    block_rows : rows of each block, in order
    n_features : number of columns
    dtype : float32 or float64, the type of the features
    fingerprint : changes with any value, so that a run does not resume on other data
    row_numbers : numbers that a row takes in memory: n_features; for sparse rows two per entry (value and
        column) and two more, on average over the fullest block
    is_sparse : blocks hold :class:`SparseRows`
    in_memory : the rows are in this process, so sending them elsewhere costs more than it saves
    is_graph : blocks are results of a lazy graph (:meth:`graph`), which only an executor can run
    has_groups : blocks have group keys
    is_shuffled : the rows are in random order, as far as is known; otherwise a block may hold a single class
    reader_bytes : memory of a process for reading, besides blocks: the driver of a store
    kept_as : if not empty, the name under which processes keep blocks for later runs
    """

    block_rows: tuple[int, ...]
    n_features: int
    dtype: np.dtype[Any]
    fingerprint: str
    is_sparse: bool = False
    in_memory: bool = False
    is_graph: bool = False
    has_groups: bool = False
    is_shuffled: bool = True
    reader_bytes: int = 0
    kept_as: str = ""

    @abstractmethod
    def reader(self, index: int) -> Reader:
        """Return a picklable call that reads block ``index`` in any process."""

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Return the blocks of each group, see :func:`groups_of`."""
        return groups_of(self.block_rows)

    def group(self, index: int) -> GroupOpener:
        """Return a picklable call that opens group ``index`` for single rows and, with a copy, columns.

        Raises :class:`InputError` if this source has no random access.
        """
        if self.is_graph:
            raise InputError(
                "single rows can only be read from arrays in memory and sharded data sets",
                where="the data",
                hint="shard it with `distkern shard`, or give NumPy or SciPy arrays",
            )
        blocks = self.groups[index]
        readers = tuple(self.reader(block) for block in blocks)
        rows = tuple(self.block_rows[block] for block in blocks)
        return partial(BlocksGroup, readers, rows, self.n_features)

    def graph(self, index: int) -> tuple[dict[Any, Any], Any]:
        """Return the tasks that compute block ``index``, and the block's key among them, for ``is_graph``."""
        raise TypeError(f"{type(self).__name__} is not a graph")

    @property
    def n_rows(self) -> int:
        return sum(self.block_rows)

    @property
    def n_blocks(self) -> int:
        return len(self.block_rows)

    @property
    def row_numbers(self) -> int:
        return self.n_features

    @property
    def n_nonzero(self) -> int | None:
        """Return the number of nonzero values in all rows; None if unknown."""
        return None

    @property
    def row_accesses(self) -> float:
        """Return the mean number of nonzero features of a row or, if unknown, of stored ones."""
        if self.n_nonzero is not None:
            return self.n_nonzero / self.n_rows
        return self.row_numbers // 2 - 1 if self.is_sparse else self.n_features

    @property
    def row_bytes(self) -> int:
        return int(self.row_numbers * self.dtype.itemsize + 16 + 8 * self.has_groups)


class BlocksGroup(AbstractGroup):
    """A group that reads the whole block for any of its rows, and keeps the last one."""

    def __init__(self, readers: tuple[Reader, ...], block_rows: tuple[int, ...], n_features: int) -> None:
        self.n_features = n_features
        self.n_rows = sum(block_rows)
        self._readers = readers
        self._ends = np.cumsum(block_rows)
        self._last: tuple[int, Block] | None = None

    @cached_property
    def targets(self) -> NDArray[Any] | None:  # type: ignore[override]
        """Return the targets (n_rows,) of all blocks, read on first access."""
        parts = [block.targets for block in self.blocks() if block.targets is not None]
        return np.concatenate(parts) if parts else None

    def rows(self, positions: Indices) -> Rows:
        places = np.searchsorted(self._ends, positions, side="right")
        parts = []
        for place, position in zip(places.tolist(), np.asarray(positions).tolist(), strict=True):
            start = int(self._ends[place - 1]) if place else 0
            # a slice would be a view that keeps its whole block
            parts.append(self.block(place).features[np.array([position - start])])
        return stacked(parts)

    def columns(self, columns: Indices) -> Rows:
        raise InputError(
            "single columns can only be read from arrays and data sets with a feature-major copy",
            where="the data",
            hint="shard it with `distkern shard ... --columns`",
        )

    def block(self, place: int) -> Block:
        if self._last is None or self._last[0] != place:
            self._last = place, self._readers[place]()
        return self._last[1]

    def blocks(self) -> Iterator[Block]:
        for reader in self._readers:
            yield reader()


class ArrayGroup(AbstractGroup):
    """Consecutive blocks of an array read in a given order of rows.

    Rows and dense columns are gathered on demand. The first sparse column makes a transposed copy, which
    takes as much memory as the rows.

    Parameters
    ----------
    whole : rows of the array
    order : positions of the group's rows in ``whole``
    block_rows : rows of each of its blocks, in order
    first : number of its first block
    """

    def __init__(self, whole: Block, order: Indices | slice, block_rows: tuple[int, ...], first: int) -> None:
        self._order: Indices | None = None
        if isinstance(order, slice):
            self._whole = whole.take(order)
            self.targets = self._whole.targets
        else:
            self._whole, self._order = whole, order
            self.targets = None if whole.targets is None else whole.targets[order]
        self._block_rows, self._first = block_rows, first
        self.n_rows, self.n_features = sum(block_rows), whole.features.shape[1]

    def rows(self, positions: Indices) -> Rows:
        return self._whole.features[positions if self._order is None else self._order[positions]]

    def columns(self, columns: Indices) -> Rows:
        if isinstance(self._whole.features, SparseRows):
            return self._transposed[columns]
        order = np.arange(self.n_rows) if self._order is None else self._order
        return self._whole.features[order, np.asarray(columns)[:, None]]

    def blocks(self) -> Iterator[Block]:
        start = 0
        for number, rows in enumerate(self._block_rows):
            yield replace(self._taken(slice(start, start + rows)), index=self._first + number)
            start += rows

    def column_bytes(self) -> int | None:
        return self._transposed.nbytes if isinstance(self._whole.features, SparseRows) else None

    def _taken(self, rows: slice) -> Block:
        return self._whole.take(rows if self._order is None else self._order[rows])

    @cached_property
    def _transposed(self) -> SparseRows:
        features = self._taken(slice(None)).features
        assert isinstance(features, SparseRows)
        order = np.argsort(features.indices, kind="stable")
        counts = np.bincount(features.indices, minlength=self.n_features)
        return SparseRows(
            features.data[order],
            features.row_of_entries[order].astype(np.int32),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            self.n_rows,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # send only the group's rows to another process
        return ArrayGroup, (self._taken(slice(None)), slice(None), self._block_rows, self._first)


def is_dask(*arrays: Any) -> bool:
    """Return whether any argument is a Dask collection."""
    # whoever has one has imported Dask
    base = sys.modules.get("dask.base")
    return base is not None and any(base.is_dask_collection(array) for array in arrays)
