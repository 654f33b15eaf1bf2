"""Sources of rows: arrays in this process, joined sources, and sources that scale rows as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.held_out import Keys
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import Rows, SparseRows, count_nonzero
from distkern.core.types import AbstractGroup, AbstractSource, ArrayGroup, Block, GroupOpener, Indices, Reader
from distkern.data.scaling import Preparation
from distkern.data.spreads import TILE_BYTES

#: bytes of a block and of a number in single precision
_BLOCK_BYTES, _SINGLE = 4 * 2**20, 4
#: fewest rows of a block
_LEAST_ROWS = 1024


class ArraySource(AbstractSource):
    """Rows of arrays in this process, in blocks that threads can share.

    Rows of more than one block are read in random order, as a sharded data set stores them, because a block
    of sorted rows may hold a single class. The order is an index of 8 bytes for each row and depends only on
    the number of rows. A block's rows are gathered when it is read.
    """

    in_memory = True

    def __init__(
        self,
        features: Rows,
        targets: NDArray[Any] | None,
        weights: NDArray[np.float64] | None,
        group_keys: Keys | None = None,
    ) -> None:
        self._block = Block(features, targets, weights, group_keys=group_keys)
        self.has_groups = group_keys is not None
        n_rows, self.n_features = features.shape
        self.dtype = features.dtype
        self.is_sparse = isinstance(features, SparseRows)
        self._row_numbers = self.n_features
        if isinstance(features, SparseRows):
            self._row_numbers = 2 + 2 * features.n_entries // max(n_rows, 1)
        # rows may be cast to another precision, so the size of a block does not depend on it
        size = int(np.clip(_BLOCK_BYTES // (self._row_numbers * _SINGLE), _LEAST_ROWS, 65_536))
        self._starts = list(range(0, n_rows, size))
        self.block_rows = tuple(min(size, n_rows - start) for start in self._starts)
        self.fingerprint = ""
        self._order: NDArray[np.intp] | None = None
        if len(self.block_rows) > 1:
            self._order = stream(0, Purpose.SHUFFLE).permutation(n_rows)
        self._groups: dict[int, ArrayGroup] = {}

    @property
    def row_numbers(self) -> int:
        return self._row_numbers

    @cached_property
    def n_nonzero(self) -> int:
        return count_nonzero(self._block.features)

    def reader(self, index: int) -> Reader:
        return _GatheredRows(self._block, self._rows((index,)), index)

    def _rows(self, blocks: tuple[int, ...]) -> NDArray[np.intp] | slice:
        """Return the positions of the rows of consecutive blocks."""
        start, rows = self._starts[blocks[0]], sum(self.block_rows[block] for block in blocks)
        part = slice(start, start + rows)
        return part if self._order is None else self._order[part]

    def group(self, index: int) -> GroupOpener:
        found = self._groups.get(index)
        if found is None:
            blocks = self.groups[index]
            rows = tuple(self.block_rows[block] for block in blocks)
            found = ArrayGroup(self._block, self._rows(blocks), rows, blocks[0])
            # kept with the transposed copy of its sparse rows
            self._groups[index] = found
        return partial(itself, found)


@dataclass(frozen=True)
class _GatheredRows:
    """Gathers rows of an array when it is called or sent to another process."""

    whole: Block
    rows: NDArray[np.intp] | slice
    index: int

    def __call__(self) -> Block:
        return replace(self.whole.take(self.rows), index=self.index)

    def __reduce__(self) -> tuple[Any, ...]:
        return _GatheredRows, (self(), slice(None), self.index)


def itself(value: Any) -> Any:
    """Return the value; picklable."""
    return value


class JoinedRows(AbstractSource):
    """The blocks of several sources, one source after the other, each changed by a picklable function.

    Parameters
    ----------
    parts : sources; their functions return blocks with the same number of features
    functions : function of a block for each part
    n_features, dtype : of the returned blocks
    """

    def __init__(
        self,
        parts: Sequence[AbstractSource],
        functions: Sequence[Callable[[Block], Block]],
        n_features: int,
        dtype: np.dtype[Any],
    ) -> None:
        self._parts, self._functions = tuple(parts), tuple(functions)
        self._places = [(number, own) for number, part in enumerate(parts) for own in range(part.n_blocks)]
        self.block_rows = tuple(rows for part in parts for rows in part.block_rows)
        self.n_features, self.dtype, self.is_sparse = n_features, dtype, parts[0].is_sparse
        self.fingerprint = "+".join(part.fingerprint for part in parts)
        self.has_groups = all(part.has_groups for part in parts)
        # solvers draw blocks in random order, so shuffled parts suffice
        self.is_shuffled = all(part.is_shuffled for part in parts)
        # the block as read, in addition to the returned one
        self.reader_bytes = max(part.reader_bytes + max(part.block_rows) * part.row_bytes for part in parts)
        self._name = uuid4().hex

    @property
    def row_numbers(self) -> int:
        return max(part.row_numbers for part in self._parts) if self.is_sparse else self.n_features

    @property
    def n_nonzero(self) -> int | None:
        counts = [part.n_nonzero for part in self._parts]
        return None if None in counts else sum(count or 0 for count in counts)

    def reader(self, index: int) -> Reader:
        number, own = self._places[index]
        return _MappedReader(self._name, index, self._parts[number].reader(own), self._functions[number])


@dataclass(frozen=True, slots=True)
class _MappedReader:
    """Reads a block and applies a function; readers of the same source and block are equal."""

    source: str
    index: int
    read: Reader = field(compare=False)
    function: Callable[[Block], Block] = field(compare=False)

    def __call__(self) -> Block:
        return replace(self.function(self.read()), index=self.index)


class BlockSource(AbstractSource):
    """A source of one block, which travels with its readers."""

    def __init__(self, block: Block) -> None:
        features = block.features
        self._block = block
        self.block_rows = (block.n_rows,)
        self.n_features = int(features.shape[1])
        self.dtype = features.dtype
        self.is_sparse = isinstance(features, SparseRows)
        self.fingerprint = ""

    @property
    def row_numbers(self) -> int:
        features = self._block.features
        if not isinstance(features, SparseRows):
            return self.n_features
        return 2 + -(-2 * features.n_entries // max(self._block.n_rows, 1))

    def reader(self, index: int) -> Reader:
        return partial(itself, self._block)


#: tiles in float64 that scaling a block needs
_SCALING_TILES = 4


class RowScaling(Protocol):
    """Transforms rows; its name distinguishes it from other transformations."""

    @property
    def kind(self) -> str: ...

    def apply_rows(self, rows: Rows, out_dtype: DTypeLike) -> Rows: ...

    def apply_columns(self, columns: Rows, wanted: NDArray[np.intp], out_dtype: DTypeLike) -> Rows: ...


class ScaledSource(AbstractSource):
    """The rows of another source, scaled in float64 as they are read, in ``dtype`` or their own precision."""

    def __init__(
        self, source: AbstractSource, scaling: RowScaling, dtype: np.dtype[Any] | None = None
    ) -> None:
        self.source, self.scaling = source, scaling
        self.block_rows, self.n_features = source.block_rows, source.n_features
        self.dtype = source.dtype if dtype is None else dtype
        self._scaled = partial(scaled_block, scaling, self.dtype)
        self.fingerprint, self.is_sparse = source.fingerprint, source.is_sparse
        self.is_shuffled, self.is_graph = source.is_shuffled, source.is_graph
        self.has_groups = source.has_groups
        self.reader_bytes = source.reader_bytes + _SCALING_TILES * TILE_BYTES
        if self.dtype != source.dtype:
            self.reader_bytes += max(source.block_rows) * source.row_bytes
        self.kept_as = source.kept_as
        # equal parts with the same scaling have equal blocks
        self._name = f"{self.kept_as}-{scaling.kind}-{self.dtype}" if self.kept_as else uuid4().hex

    @property
    def row_numbers(self) -> int:
        return self.source.row_numbers

    @property
    def n_nonzero(self) -> int | None:
        # a shift changes zeros
        return self.source.n_nonzero if self.is_sparse or self.scaling.kind == "none" else None

    def reader(self, index: int) -> Reader:
        return _MappedReader(self._name, index, self.source.reader(index), self._scaled)

    def graph(self, index: int) -> tuple[dict[Any, Any], Any]:
        from distkern.engine.dask.graph import followed

        return followed(*self.source.graph(index), self._scaled, self._name)

    def group(self, index: int) -> GroupOpener:
        return partial(_scaled_group, self.source.group(index), self.scaling, self.dtype)


def _scaled_group(opener: GroupOpener, scaling: RowScaling, dtype: np.dtype[Any]) -> ScaledGroup:
    return ScaledGroup(opener(), scaling, dtype)


class ScaledGroup(AbstractGroup):
    """Single rows and columns of a group, scaled."""

    def __init__(self, group: AbstractGroup, scaling: RowScaling, dtype: np.dtype[Any]) -> None:
        self._group, self._scaling, self._dtype = group, scaling, dtype
        self.n_rows, self.n_features = group.n_rows, group.n_features

    @property
    def targets(self) -> NDArray[Any] | None:  # type: ignore[override]
        return self._group.targets

    def rows(self, positions: Indices) -> Rows:
        return self._scaling.apply_rows(self._group.rows(positions), self._dtype)

    def columns(self, columns: Indices) -> Rows:
        return self._scaling.apply_columns(self._group.columns(columns), np.asarray(columns), self._dtype)

    def column_bytes(self) -> int | None:
        return self._group.column_bytes()

    def blocks(self) -> Iterator[Block]:
        for block in self._group.blocks():
            yield scaled_block(self._scaling, self._dtype, block)


def scaled_block(scaling: RowScaling, dtype: np.dtype[Any], block: Block) -> Block:
    """Return a block with scaled rows of ``dtype``."""
    return replace(block, features=scaling.apply_rows(block.features, dtype))


def made_block(
    preparation: Preparation | None, dtype: np.dtype[Any], codes: NDArray[np.int32] | None, block: Block
) -> Block:
    """Return a block with prepared features, and with class codes mapped by ``codes`` unless it is None."""
    features = block.features
    if preparation is not None:
        features = preparation.apply_rows(features, dtype)
    elif features.dtype != dtype:
        features = features.astype(dtype)
    targets = block.targets if codes is None or block.targets is None else codes[block.targets]
    return replace(block, features=features, targets=targets)
