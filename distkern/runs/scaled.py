"""Rows whose columns are brought to about one unit before a solver sees them, a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast
from uuid import uuid4

import numpy as np

from distkern.common.errors import InputError
from distkern.common.parameters import AUTO
from distkern.common.sparse import Rows, SparseRows
from distkern.common.types import AbstractGroup, AbstractSource, Block, GroupOpener, Indices, Reader
from distkern.engine.dask.graph import followed
from distkern.engine.drive import Driver
from distkern.engine.executors import AbstractExecutor
from distkern.passes import Cost, Outline, Reduce
from distkern.runs.data import TrainingData
from distkern.storage.dataset import Split
from distkern.storage.scaling import SPARSE_KINDS, Scaling, ScalingKind
from distkern.storage.spreads import TILE_BYTES, Spreads

#: what scaling a block takes beside it: a tile in float64, and what is computed of it
_SCALING_TILES = 4


class ScaledSource(AbstractSource):
    """The rows of another source, scaled whenever they are read."""

    def __init__(self, source: AbstractSource, scaling: Scaling) -> None:
        self.source, self.scaling = source, scaling
        self.block_rows, self.n_features, self.dtype = source.block_rows, source.n_features, source.dtype
        self.fingerprint, self.is_sparse = source.fingerprint, source.is_sparse
        self.is_shuffled, self.is_graph = source.is_shuffled, source.is_graph
        self.reader_bytes = source.reader_bytes + _SCALING_TILES * TILE_BYTES
        self.kept_as = source.kept_as
        # scaled in the same way, the blocks of equal parts are the same
        self._name = f"{self.kept_as}-{scaling.kind}" if self.kept_as else uuid4().hex

    @property
    def row_numbers(self) -> int:
        return self.source.row_numbers

    @property
    def n_nonzero(self) -> int | None:
        # a shift makes numbers of zeros
        return self.source.n_nonzero if self.is_sparse else None

    def reader(self, index: int) -> ScaledReader:
        return ScaledReader(self._name, index, self.source.reader(index), self.scaling)

    def graph(self, index: int) -> tuple[dict[Any, Any], Any]:
        return followed(*self.source.graph(index), partial(scaled_block, self.scaling), self._name)

    def group(self, index: int) -> GroupOpener:
        return ScaledOpener(self.source.group(index), self.scaling)


@dataclass(frozen=True)
class ScaledReader:
    """Reads a block and scales it; two of the same source and block are equal."""

    source: str
    index: int
    reader: Reader = field(compare=False)
    scaling: Scaling = field(compare=False)

    def __call__(self) -> Block:
        return scaled_block(self.scaling, self.reader())


@dataclass(frozen=True)
class ScaledOpener:
    """Opens a :class:`ScaledGroup` in any process."""

    opener: GroupOpener
    scaling: Scaling

    def __call__(self) -> ScaledGroup:
        return ScaledGroup(self.opener(), self.scaling)


class ScaledGroup(AbstractGroup):
    """Single rows and columns of a group, scaled."""

    def __init__(self, group: AbstractGroup, scaling: Scaling) -> None:
        self._group, self._scaling = group, scaling
        self.n_rows, self.n_features, self.targets = group.n_rows, group.n_features, group.targets

    def rows(self, positions: Indices) -> Rows:
        rows = self._group.rows(positions)
        return self._scaling.apply_rows(rows, rows.dtype)

    def columns(self, columns: Indices) -> Rows:
        found, wanted = self._group.columns(columns), np.asarray(columns)
        shift, factor = self._scaling.shift, self._scaling.factor
        assert shift is not None
        assert factor is not None
        # the operations of rows, so that a number is the same in its row and in its column
        if isinstance(found, SparseRows):
            entries = found.data.astype(np.float64) * factor[wanted][found.row_of_entries]
            return found.with_data(entries.astype(found.dtype))
        values = found.astype(np.float64)
        values -= shift[wanted][:, None]
        values *= factor[wanted][:, None]
        return values.astype(found.dtype)

    def column_bytes(self) -> int | None:
        return self._group.column_bytes()

    def blocks(self) -> Iterator[Block]:
        for block in self._group.blocks():
            yield scaled_block(self._scaling, block)


def scaled_block(scaling: Scaling, block: Block) -> Block:
    """The rows of a block, scaled."""
    return replace(block, features=scaling.apply_rows(block.features, block.features.dtype))


@dataclass(frozen=True)
class Rescaled:
    """Training data as a solver sees it.

    Attributes
    ----------
    data : whose source scales, where that was wanted
    found : "scale", the kind that was chosen, if one was
    notes : what was done, if anything
    """

    data: TrainingData
    found: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def scaling(self) -> Scaling | None:
        """What is done to rows when they are read; None if nothing is."""
        source = self.data.source
        return source.scaling if isinstance(source, ScaledSource) else None

    def held_out(self, source: AbstractSource) -> AbstractSource:
        """A split of the same data set, scaled as the training rows are; other rows are already."""
        scaled = self.scaling is not None and isinstance(source, Split)
        return ScaledSource(source, self.scaling) if scaled and self.scaling is not None else source


def rescaled(data: TrainingData, wanted: str, executor: AbstractExecutor) -> Rescaled:
    """Training data with its columns scaled as ``wanted``: "auto", "none" or a kind, by one pass.

    "auto" leaves data sets that were scaled when they were sharded as they are, and others whose columns have
    about the same unit, see :meth:`~distkern.storage.spreads.Spreads.chosen`.

    Raises
    ------
    InputError
        If a kind is wanted of rows that are scaled already, or one that sparse rows cannot have.
    """
    if not spreading(data, wanted):
        return Rescaled(data)
    source = data.source
    spreads: Spreads = Driver({"train": source}, executor).measure(_spreading(source))
    kind = spreads.chosen() if wanted == AUTO else cast(ScalingKind, wanted)
    if kind == "none":
        return Rescaled(data)
    scaling, chosen = spreads.scaling(kind), {"scale": kind} if wanted == AUTO else {}
    ranges = spreads.ranges[spreads.ranges > 0]
    found = f"{ranges.min(initial=np.inf):.3g} to {ranges.max(initial=0.0):.3g}" if ranges.size else "0"
    note = f"columns scaled ({kind}): their ranges were {found}"
    return Rescaled(replace(data, source=ScaledSource(source, scaling), scaling=scaling), chosen, (note,))


def spreading(data: TrainingData, wanted: str) -> list[Outline]:
    """The pass that :func:`rescaled` makes, if it makes one; raises as that does."""
    stored = None if data.scaling is None or data.scaling.kind == "none" else data.scaling.kind
    if wanted == "none" or (wanted == AUTO and stored is not None):
        return []
    if stored is not None:
        raise InputError(
            f"is {wanted!r}, and the rows are stored scaled ({stored})",
            where="scale",
            mend="leave it out, or shard the data with --scale none",
        )
    if data.source.is_sparse and wanted not in (AUTO, *SPARSE_KINDS):
        raise InputError(
            f"is {wanted!r}, which would turn the zeros of sparse rows into numbers",
            where="scale",
            mend="use 'maxabs' or 'none'",
        )
    return [Outline(_spreading(data.source))]


def as_planned(data: TrainingData, wanted: str) -> Callable[[AbstractSource], AbstractSource]:
    """How a run may read a split of the data, for its plan."""
    scales = bool(spreading(data, wanted))
    return lambda source: ScaledSource(source, Scaling()) if scales else source


def _spreading(source: AbstractSource) -> Reduce[Spreads]:
    width = 8 * source.n_features
    cost = Cost(workspace_bytes=3 * TILE_BYTES + 8 * width, result_bytes=4 * width)
    return Reduce("spreads of the columns", _spreads_of, Spreads.add, cost=cost)


def _spreads_of(block: Block, _: None) -> Spreads:
    return Spreads.of(block.features, block.weights)
