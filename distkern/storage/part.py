"""Part of a split's rows as a split of its own: drawn by a seed, stratified, and never copied out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.rng import Purpose, stream
from distkern.common.sparse import Rows, SparseRows, stacked
from distkern.common.types import AbstractGroup, Block, Floats, GroupOpener, Indices
from distkern.storage.columns import ColumnsManifest
from distkern.storage.dataset import Split
from distkern.storage.shard_reader import ShardReader

#: first index of the streams that order the rows of shards
_ORDER = 1


@dataclass(frozen=True, slots=True)
class Fraction:
    """Of ranks 0, 1, 2, ... those at which r f passes a whole number."""

    share: float

    def before(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many smaller ranks are taken."""
        found: NDArray[np.int64] = np.floor(ranks * self.share).astype(np.int64)
        return found


@dataclass(frozen=True, slots=True)
class Fold:
    """Of ranks 0, 1, 2, ... every ``of``-th, from ``number`` on."""

    number: int
    of: int

    def before(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many smaller ranks are taken."""
        return np.maximum(0, -((self.number - ranks) // self.of))


@dataclass(frozen=True, slots=True)
class Draw:
    """Which rows a part has.

    The rows of a class are ranked through all shards: in their order, and within a shard at random. ``rule``
    says which ranks are held out. So each class is held out in its share, to one row, and each shard gives
    about its own, and what a shard gives follows from the rows of each class in the shards before it.

    Attributes
    ----------
    seed : of the order within shards
    rule : which rows are held out
    held_out : whether these are the part; otherwise it is the others, of which
    share : of each class are taken
    first : these are the first ones, so that later shards need not be read; otherwise they lie evenly in all
    """

    seed: int
    rule: Fraction | Fold
    held_out: bool
    share: float = 1.0
    first: bool = True

    def takes(self, ranks: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which ranks, of classes with so many rows each, are taken."""
        held = self.rule.before(ranks + 1) > self.rule.before(ranks)
        if self.held_out:
            return held
        return ~held & (self._kept_before(ranks + 1, totals) > self._kept_before(ranks, totals))

    def before(self, ranks: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many smaller ranks are taken."""
        return self.rule.before(ranks) if self.held_out else self._kept_before(ranks, totals)

    def _kept_before(self, ranks: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
        learned = ranks - self.rule.before(ranks)
        if self.share >= 1.0:
            return learned
        if not self.first:
            return _rounded_up(learned * self.share)
        most = _rounded_up((totals - self.rule.before(totals)) * self.share)
        first: NDArray[np.int64] = np.minimum(learned, most)
        return first


def _rounded_up(numbers: Floats) -> NDArray[np.int64]:
    whole: NDArray[np.int64] = np.ceil(numbers).astype(np.int64)
    return whole


@dataclass(frozen=True, slots=True)
class PartReader(ShardReader):
    """Reads the rows of a shard that are in a part, in the order in which they are stored.

    Attributes
    ----------
    draw : which they are
    place : of the block among those of the part
    earlier, totals : rows of each class in earlier shards, and in all
    """

    draw: Draw
    place: int
    earlier: tuple[int, ...]
    totals: tuple[int, ...]

    def __call__(self) -> Block:
        block = self._stored()
        return replace(block.take(self._positions(block.targets)), index=self.place)

    @property
    def _stored(self) -> ShardReader:
        """What reads the whole shard."""
        return ShardReader(**{part.name: getattr(self, part.name) for part in fields(ShardReader)})

    def targets(self) -> NDArray[Any] | None:
        values = self._stored.targets()
        return None if values is None else values[self._positions(values)]

    def weights(self) -> NDArray[np.float64] | None:
        values = self._stored.weights()
        return None if values is None else values[self.positions()]

    def source_rows(self) -> NDArray[np.int64] | None:
        values = self._stored.source_rows()
        return None if values is None else values[self.positions()]

    def positions(self) -> NDArray[np.int64]:
        """The rows of the shard that are in the part, in order."""
        return self._positions(self._stored.targets() if len(self.totals) > 1 else None)

    def _positions(self, targets: NDArray[Any] | None) -> NDArray[np.int64]:
        n_rows = self.entry.rows
        codes = np.zeros(n_rows, dtype=np.int64)
        if len(self.totals) > 1 and targets is not None:
            codes = targets.astype(np.int64)
        keys = stream(self.draw.seed, Purpose.VALIDATION, _ORDER, self.index).permutation(n_rows)
        order = np.lexsort((keys, codes))
        counts = np.bincount(codes, minlength=len(self.totals))
        starts = np.cumsum(counts) - counts
        ranks = np.empty(n_rows, dtype=np.int64)
        ranks[order] = np.arange(n_rows) - starts[codes[order]]
        ranks += np.array(self.earlier, dtype=np.int64)[codes]
        return np.flatnonzero(self.draw.takes(ranks, np.array(self.totals, dtype=np.int64)[codes]))


class Part(Split):
    """The rows of a split that a :class:`Draw` takes; whatever takes a split takes it.

    Shards without a row in it are no blocks of it, and never read. How many rows a block has follows from the
    manifest; only of data with weights of rows are the targets and weights read when a part is made.

    Attributes
    ----------
    whole : what it is a part of
    draw : which rows
    kept_as : as of every source: all fits to equal parts share what a process keeps of them
    """

    def __init__(self, whole: Split, draw: Draw) -> None:
        self.__dict__.update(whole.__dict__)
        self.whole, self.draw = whole, draw
        counts = _class_rows(whole)
        totals = counts.sum(axis=0)
        earlier = np.cumsum(counts, axis=0) - counts
        taken = draw.before(earlier + counts, totals) - draw.before(earlier, totals)
        self._present = np.flatnonzero(taken.sum(axis=1)).tolist()
        if not self._present:
            raise InputError(
                f"of {whole.n_rows:,} rows none is {'held out' if draw.held_out else 'left to learn from'}",
                where=str(whole.dataset.path),
                mend="hold out another share of them",
            )
        self._totals = tuple(totals.tolist())
        self._earlier = [tuple(earlier[shard].tolist()) for shard in self._present]
        self.block_rows = tuple(taken.sum(axis=1)[self._present].tolist())
        self.fingerprint = f"{whole.fingerprint}/{draw}"
        self.kept_as = self.fingerprint
        if whole.class_counts is not None:
            self.class_counts = taken.sum(axis=0)
        self.n_entries = whole.n_entries * self.n_rows // whole.n_rows
        if whole.weight_totals is not None:
            self._weigh(len(whole.weight_totals))

    def _weigh(self, n_classes: int) -> None:
        totals, largest = np.zeros(n_classes), np.zeros(n_classes)
        for block in range(self.n_blocks):
            reader = self.reader(block)
            weights, targets = reader.weights(), reader.targets()
            assert weights is not None
            codes = np.zeros(len(weights), dtype=np.int64)
            if self.class_counts is not None and targets is not None:
                codes = targets.astype(np.int64)
            totals += np.bincount(codes, weights=weights, minlength=n_classes)
            np.maximum.at(largest, codes, weights)
        self.weight_totals, self.largest_weights = totals, largest

    @property
    def n_nonzero(self) -> int | None:
        of_all = self.whole.n_nonzero
        return None if of_all is None else of_all * self.n_rows // self.whole.n_rows

    @property
    def row_bytes(self) -> int:
        """Of a row, with those that are read with it and left out, where a block is largest."""
        stored = max(self.whole.block_rows[shard] for shard in self._present)
        return -(-self.whole.row_bytes * stored // max(self.block_rows))

    @property
    def column_copy(self) -> ColumnsManifest | None:
        return self.whole.column_copy

    def group(self, index: int) -> GroupOpener:
        blocks = self.groups[index]
        place_of = {
            shard: (group, at)
            for group, shards in enumerate(self.whole.groups)
            for at, shard in enumerate(shards)
        }
        wanted: dict[int, list[tuple[int, PartReader]]] = {}
        for block in blocks:
            group, at = place_of[self._present[block]]
            start = sum(self.whole.block_rows[shard] for shard in self.whole.groups[group][:at])
            wanted.setdefault(group, []).append((start, self.reader(block)))
        openers = tuple((self.whole.group(group), tuple(own)) for group, own in wanted.items())
        return PartGroupOpener(openers, sum(self.block_rows[block] for block in blocks), self.n_features)

    def reader(self, index: int) -> PartReader:
        stored = self.whole.reader(self._present[index])
        given: dict[str, Any] = {part.name: getattr(stored, part.name) for part in fields(stored)}
        return PartReader(
            **given, draw=self.draw, place=index, earlier=self._earlier[index], totals=self._totals
        )

    def __repr__(self) -> str:
        return f"<{self.n_rows:,} of the {self.whole!r}>"


def _class_rows(split: Split) -> NDArray[np.int64]:
    """(n_shards, n_classes) rows of each class in each shard; one class where there are none."""
    counts = [shard.class_counts or (shard.rows,) for shard in split._shards]
    return np.array(counts, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class PartGroupOpener:
    """Opens a :class:`PartGroup` in any process.

    Attributes
    ----------
    groups : of the whole split: what opens each, and the readers of the blocks that are among its rows, with
        the row of the group at which their shards begin
    n_rows, n_features : of the part's group
    """

    groups: tuple[tuple[GroupOpener, tuple[tuple[int, PartReader], ...]], ...]
    n_rows: int
    n_features: int

    def __call__(self) -> PartGroup:
        return PartGroup(self)


class PartGroup(AbstractGroup):
    """Single rows and columns of a part, read as those of the groups of the whole split."""

    def __init__(self, opener: PartGroupOpener) -> None:
        self.n_rows, self.n_features = opener.n_rows, opener.n_features
        self._readers = [reader for _, own in opener.groups for _, reader in own]
        self._groups = [open_group() for open_group, _ in opener.groups]
        self._positions = [
            np.concatenate([start + reader.positions() for start, reader in own]) for _, own in opener.groups
        ]
        self._ends = np.cumsum([len(positions) for positions in self._positions])

    @cached_property
    def targets(self) -> NDArray[Any] | None:  # type: ignore[override]
        """(n_rows,), read when first asked for."""
        parts = [targets for reader in self._readers if (targets := reader.targets()) is not None]
        return np.concatenate(parts) if parts else None

    def rows(self, positions: Indices) -> Rows:
        wanted = np.asarray(positions)
        places = np.searchsorted(self._ends, wanted, side="right")
        parts: list[Rows] = []
        order = []
        for place in np.unique(places).tolist():
            own = np.flatnonzero(places == place)
            start = int(self._ends[place - 1]) if place else 0
            parts.append(self._groups[place].rows(self._positions[place][wanted[own] - start]))
            order.append(own)
        if not parts:
            return self._groups[0].rows(wanted)
        return stacked(parts)[np.argsort(np.concatenate(order), kind="stable")]

    def columns(self, columns: Indices) -> Rows:
        found = [
            _columns_of(group.columns(columns), positions)
            for group, positions in zip(self._groups, self._positions, strict=True)
        ]
        return found[0] if len(found) == 1 else _beside(found)

    def column_bytes(self) -> int | None:
        sizes = [group.column_bytes() for group in self._groups]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def blocks(self) -> Iterator[Block]:
        for reader in self._readers:
            yield reader()

    def block(self, place: int) -> Block:
        return self._readers[place]()


def _columns_of(columns: Rows, positions: Indices) -> Rows:
    """Of columns (n_columns, n_rows) the entries of some rows."""
    if isinstance(columns, SparseRows):
        return SparseRows.of_scipy(columns.to_scipy()[:, positions])
    return np.ascontiguousarray(columns[:, positions])


def _beside(parts: Sequence[Rows]) -> Rows:
    """Columns of several groups as columns of all their rows."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate([np.asarray(part) for part in parts], axis=1)
    from scipy.sparse import hstack

    return SparseRows.of_scipy(
        hstack([part.to_scipy() for part in parts if isinstance(part, SparseRows)], format="csr")
    )


def held_out_parts(
    split: Split, validation: float | int, seed: int, share: float = 1.0
) -> list[tuple[Part, Part]]:
    """Rows to learn from and rows that are held out, drawn by the seed alone: one pair, or one of each fold.

    Parameters
    ----------
    validation : share of the rows that are held out, in (0, 1), or a number of folds
    share : of the rows to learn from

    Raises
    ------
    InputError
        If no rows are left of one or the other.
    """
    rules: list[Fraction | Fold] = [Fraction(float(validation))]
    if isinstance(validation, int):
        rules = [Fold(number, validation) for number in range(validation)]
    # the first rows of data that were not shuffled may be of one kind
    first = split.is_shuffled
    return [
        (Part(split, Draw(seed, rule, False, share, first)), Part(split, Draw(seed, rule, True)))
        for rule in rules
    ]
