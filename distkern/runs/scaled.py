"""Rows whose columns are brought to about one unit before a solver sees them, a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, cast
from uuid import uuid4

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError
from distkern.core.parameters import AUTO
from distkern.core.sparse import Rows
from distkern.core.types import AbstractGroup, AbstractSource, Block, GroupOpener, Indices, Reader
from distkern.data.dataset import Split
from distkern.data.preparation import TOO_LARGE
from distkern.data.scaling import SPARSE_KINDS, Scaling, ScalingKind
from distkern.data.spreads import TILE_BYTES, Spreads
from distkern.engine.executors import AbstractExecutor
from distkern.passes import Cost, Outline, Reduce
from distkern.runs.data import TrainingData

#: what scaling a block takes beside it: a tile in float64, and what is computed of it
_SCALING_TILES = 4
#: from which on time matters more than the last digits
_MANY_ROWS = 4000


class RowScaling(Protocol):
    """What brings rows to another form, with a name that tells it from others."""

    @property
    def kind(self) -> str: ...

    def apply_rows(self, rows: Rows, out_dtype: DTypeLike) -> Rows: ...

    def apply_columns(self, columns: Rows, wanted: NDArray[np.intp], out_dtype: DTypeLike) -> Rows: ...


class ScaledSource(AbstractSource):
    """The rows of another source, scaled in float64 whenever they are read, and then of ``dtype``: its own,
    unless one is given."""

    def __init__(
        self, source: AbstractSource, scaling: RowScaling, dtype: np.dtype[Any] | None = None
    ) -> None:
        self.source, self.scaling = source, scaling
        self.block_rows, self.n_features = source.block_rows, source.n_features
        self.dtype = source.dtype if dtype is None else dtype
        self.fingerprint, self.is_sparse = source.fingerprint, source.is_sparse
        self.is_shuffled, self.is_graph = source.is_shuffled, source.is_graph
        self.has_groups = source.has_groups
        self.reader_bytes = source.reader_bytes + _SCALING_TILES * TILE_BYTES
        if self.dtype != source.dtype:
            self.reader_bytes += max(source.block_rows) * source.row_bytes
        self.kept_as = source.kept_as
        # scaled in the same way, the blocks of equal parts are the same
        self._name = f"{self.kept_as}-{scaling.kind}-{self.dtype}" if self.kept_as else uuid4().hex

    @property
    def row_numbers(self) -> int:
        return self.source.row_numbers

    @property
    def n_nonzero(self) -> int | None:
        # a shift makes numbers of zeros
        return self.source.n_nonzero if self.is_sparse or self.scaling.kind == "none" else None

    def reader(self, index: int) -> ScaledReader:
        return ScaledReader(self._name, index, self.source.reader(index), self.scaling, self.dtype)

    def graph(self, index: int) -> tuple[dict[Any, Any], Any]:
        from distkern.engine.dask.graph import followed

        return followed(
            *self.source.graph(index), partial(scaled_block, self.scaling, self.dtype), self._name
        )

    def group(self, index: int) -> GroupOpener:
        return ScaledOpener(self.source.group(index), self.scaling, self.dtype)


@dataclass(frozen=True)
class ScaledReader:
    """Reads a block and scales it; two of the same source and block are equal."""

    source: str
    index: int
    reader: Reader = field(compare=False)
    scaling: RowScaling = field(compare=False)
    dtype: np.dtype[Any] = field(compare=False)

    def __call__(self) -> Block:
        return scaled_block(self.scaling, self.dtype, self.reader())


@dataclass(frozen=True)
class ScaledOpener:
    """Opens a :class:`ScaledGroup` in any process."""

    opener: GroupOpener
    scaling: RowScaling
    dtype: np.dtype[Any]

    def __call__(self) -> ScaledGroup:
        return ScaledGroup(self.opener(), self.scaling, self.dtype)


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
    """The rows of a block, scaled, and then of ``dtype``."""
    return replace(block, features=scaling.apply_rows(block.features, dtype))


@dataclass(frozen=True)
class Rescaled:
    """Training data as a solver sees it.

    Attributes
    ----------
    data : whose source scales, where that was wanted
    found : "scale", the kind that was chosen, if one was
    notes : what was done, if anything
    spreads : of the columns as they were given, where a pass has looked at them
    """

    data: TrainingData
    found: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    spreads: Spreads | None = None

    def held_out(self, source: AbstractSource) -> AbstractSource:
        """A split of the same data set, scaled as the training rows are; other rows are already."""
        own = self.data.source
        if isinstance(own, ScaledSource) and isinstance(source, Split):
            return ScaledSource(source, own.scaling, own.dtype)
        return source


def rescaled(data: TrainingData, wanted: str, dtype: str, executor: AbstractExecutor) -> Rescaled:
    """Training data with its columns scaled as ``wanted``: "auto", "none" or a kind, by one pass, and then in
    the precision ``dtype``: "auto", "float32" or "float64".

    "auto" leaves data sets that were scaled when they were sharded as they are, and others whose columns have
    about the same unit, see :meth:`~distkern.data.spreads.Spreads.chosen`. The precision that it
    takes is that of :func:`precision_of`, unless
    :meth:`~distkern.data.spreads.Spreads.suit_single` says no.

    Raises
    ------
    InputError
        If a kind is wanted of rows that are scaled already, or one that sparse rows cannot have; or numbers
        are too large for the precision that is wanted.
    """
    source, scales = data.source, bool(spreading(data, wanted))
    precision = precision_of(source, dtype)
    narrows = precision.itemsize < source.dtype.itemsize
    kind: ScalingKind = "none"
    spreads: Spreads | None = None
    if scales or narrows:
        from distkern.engine.drive import Driver

        spreads = Driver({"train": source}, executor).measure(_spreading(source))
        assert spreads is not None
        if scales:
            kind = spreads.chosen() if wanted == AUTO else cast(ScalingKind, wanted)
        if narrows and dtype == AUTO and not spreads.suit_single(kind):
            precision = source.dtype
        elif narrows and kind == "none" and spreads.largest > float(np.finfo(precision).max):
            raise InputError(TOO_LARGE, where="X", hint="scale the columns, or give dtype='float64'")
    if kind == "none":
        same = precision == source.dtype
        kept = data if same else replace(data, source=ScaledSource(source, Scaling(), precision))
        return Rescaled(kept, spreads=spreads)
    assert spreads is not None, "scalings are fitted"
    scaling, chosen = spreads.scaling(kind), {"scale": kind} if wanted == AUTO else {}
    ranges = spreads.ranges[spreads.ranges > 0]
    found = f"{ranges.min(initial=np.inf):.3g} to {ranges.max(initial=0.0):.3g}" if ranges.size else "0"
    note = f"columns scaled ({kind}): their ranges were {found}"
    scaled = ScaledSource(source, scaling, precision)
    return Rescaled(replace(data, source=scaled, scaling=scaling), chosen, (note,), spreads)


def precision_of(source: AbstractSource, wanted: str) -> np.dtype[Any]:
    """What rows are trained in; "auto": their own, but single precision from 4,000 of them on."""
    if wanted != AUTO:
        return np.dtype(wanted)
    return source.dtype if source.n_rows < _MANY_ROWS else np.dtype(np.float32)


def check_stored(wanted: str, dtype: np.dtype[Any], of: str) -> None:
    """Refuse another precision than the one that rows are stored in."""
    if wanted not in (AUTO, dtype.name):
        raise InputError(
            f"is {wanted!r}, and rows of {of} are stored as {dtype.name}", where="dtype", hint="leave it out"
        )


def spreading(data: TrainingData, wanted: str) -> list[Outline]:
    """The pass that :func:`rescaled` makes, if it makes one; raises as that does."""
    stored = None if data.scaling is None or data.scaling.kind == "none" else data.scaling.kind
    if wanted == "none" or (wanted == AUTO and stored is not None):
        return []
    if stored is not None:
        raise InputError(
            f"is {wanted!r}, and the rows are stored scaled ({stored})",
            where="scale",
            hint="leave it out, or shard the data with --scale none",
        )
    if data.source.is_sparse and wanted not in (AUTO, *SPARSE_KINDS):
        raise InputError(
            f"is {wanted!r}, which would turn the zeros of sparse rows into numbers",
            where="scale",
            hint="use 'maxabs' or 'none'",
        )
    return [Outline(_spreading(data.source))]


def as_planned(data: TrainingData, wanted: str) -> Callable[[AbstractSource], AbstractSource]:
    """How a run may read a split of the data, for its plan."""
    scales = bool(spreading(data, wanted))
    return lambda source: ScaledSource(source, Scaling()) if scales else source


def _spreading(source: AbstractSource) -> Reduce[Spreads]:
    task = {"tiles": (3, TILE_BYTES), "sums": (8, source.n_features, 8)}
    cost = Cost().holding(task=task, result={"sums": (4, source.n_features, 8)})
    return Reduce("spreads of the columns", _spreads_of, Spreads.add, cost=cost)


def _spreads_of(block: Block, _: None) -> Spreads:
    return Spreads.of(block.features, block.weights)
