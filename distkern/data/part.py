"""Part of a split's rows as a split of its own, drawn by a seed and never copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.held_out import Sides, keys_of
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import AbstractGroup, Block, Floats, GroupOpener, Indices
from distkern.data.dataset import Split, rows_at
from distkern.data.feature_major import ColumnsManifest
from distkern.data.manifest import ShardReader

#: rows or groups up to which each class has its exact share on each side; of more rows, up to chance
FEW_ROWS = 4096


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Selects rows of a split: those of one side, or of all others.

    Attributes
    ----------
    sides : assigns rows to sides
    side : the held-out side
    held_out : select the held-out side; otherwise the other rows, limited by ``share``
    share : share of each class to take
    first : take the first of them, so that later shards need not be read; otherwise spread them evenly
    """

    sides: Sides
    side: int
    held_out: bool
    share: float = 1.0
    first: bool = True

    def before(self, ranks: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many rows are selected below rank ``ranks`` of a class's rows on the part's side."""
        if self.held_out or self.share >= 1.0:
            return ranks
        if not self.first:
            return _rounded_up(ranks * self.share)
        first: NDArray[np.int64] = np.minimum(ranks, _rounded_up(totals * self.share))
        return first

    def positions(self, block: Block, earlier: tuple[int, ...], totals: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the positions of the selected rows of a block, in order.

        Parameters
        ----------
        earlier, totals : rows of each class on the part's side in earlier blocks, and in all
        """
        own = np.flatnonzero((self.sides.of(keys_of(block)) == self.side) == self.held_out)
        if self.held_out or self.share >= 1.0:
            return own
        codes = _codes(block, len(totals))[own]
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes, minlength=len(totals))
        ranks = np.empty(len(own), dtype=np.int64)
        ranks[order] = np.arange(len(own)) - (np.cumsum(counts) - counts)[codes[order]]
        ranks += np.array(earlier, dtype=np.int64)[codes]
        of_class = np.array(totals, dtype=np.int64)[codes]
        return own[self.before(ranks + 1, of_class) > self.before(ranks, of_class)]


def _together(split: Split) -> str:
    return f"rows of one {split.dataset.group_name!r}" if split.has_groups else "equal rows"


def _rounded_up(numbers: Floats) -> NDArray[np.int64]:
    whole: NDArray[np.int64] = np.ceil(numbers).astype(np.int64)
    return whole


def _codes(block: Block, n_classes: int) -> NDArray[np.int64]:
    """Return the class codes (n_rows,); 0 without classes."""
    if n_classes == 1 or block.targets is None:
        return np.zeros(block.n_rows, dtype=np.int64)
    return block.targets.astype(np.int64)


@dataclass(frozen=True, slots=True)
class PartReader(ShardReader):
    """Reads the rows of a shard that are in a part, in stored order.

    The selection depends on the rows' content or groups, so every access reads the whole shard.

    Attributes
    ----------
    draw : the selection
    place : number of the block in the part
    earlier, totals : rows of each class on the part's side in earlier shards, and in all
    """

    draw: RowSelection
    place: int
    earlier: tuple[int, ...]
    totals: tuple[int, ...]

    def __call__(self) -> Block:
        block = self.stored()
        return replace(block.take(self.taken(block)), index=self.place)

    @property
    def stored(self) -> ShardReader:
        """The reader of the whole shard."""
        return ShardReader(**{part.name: getattr(self, part.name) for part in fields(ShardReader)})

    def values(self, name: str) -> NDArray[Any] | None:
        found = self.stored.values(name)
        return None if found is None else found[self.positions()]

    def positions(self) -> NDArray[np.int64]:
        """Return the positions of the shard's rows in the part, in order."""
        return self.taken(self.stored())

    def taken(self, block: Block) -> NDArray[np.int64]:
        """Return the positions of the part's rows in the whole shard's block, in order."""
        return self.draw.positions(block, self.earlier, self.totals)


class SplitPart(Split):
    """The rows of a split that a :class:`RowSelection` takes, usable wherever a split is.

    Shards without selected rows are not blocks of it and are never read.

    Attributes
    ----------
    whole : the split
    draw : the selection
    kept_as : as for every source: all fits to equal parts share what a process keeps of them
    """

    def __init__(self, whole: Split, draw: RowSelection, counts: NDArray[np.int64]) -> None:
        """``counts``: (n_blocks, n_sides, n_classes) rows of all sides, see :func:`count_sides`."""
        self.__dict__.update(whole.__dict__)
        self.whole, self.draw = whole, draw
        own = counts[:, draw.side] if draw.held_out else counts.sum(axis=1) - counts[:, draw.side]
        totals = own.sum(axis=0)
        earlier = np.cumsum(own, axis=0) - own
        taken = draw.before(earlier + own, totals) - draw.before(earlier, totals)
        self._present = np.flatnonzero(taken.sum(axis=1)).tolist()
        if not self._present:
            raise InputError(
                f"none of {whole.n_rows:,} rows is {'held out' if draw.held_out else 'left to train on'}",
                where=str(whole.dataset.path),
                hint=f"hold out another share; {_together(whole)} stay together",
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
            n_classes = len(whole.weight_totals)
            self.weight_totals, self.largest_weights = np.zeros(n_classes), np.zeros(n_classes)

    def weigh(self, shard: int, block: Block) -> None:
        """Add the weights of the part's rows; called once per shard of a split with weights."""
        if shard not in self._present:
            return
        own = block.take(self.reader(self._present.index(shard)).taken(block))
        assert own.weights is not None
        assert self.weight_totals is not None
        assert self.largest_weights is not None
        codes = _codes(own, len(self.weight_totals))
        self.weight_totals += np.bincount(codes, weights=own.weights, minlength=len(self.weight_totals))
        np.maximum.at(self.largest_weights, codes, own.weights)

    @property
    def n_nonzero(self) -> int:
        return self.whole.n_nonzero * self.n_rows // self.whole.n_rows

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of the largest block, including its share of rows that are read and left out.

        A shard is read whole, so the largest block counts as much as the largest shard with a selected row.
        """
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
        return partial(PartGroup, openers, sum(self.block_rows[block] for block in blocks), self.n_features)

    def reader(self, index: int) -> PartReader:
        stored = self.whole.reader(self._present[index])
        given: dict[str, Any] = {part.name: getattr(stored, part.name) for part in fields(stored)}
        return PartReader(
            **given, draw=self.draw, place=index, earlier=self._earlier[index], totals=self._totals
        )

    def __repr__(self) -> str:
        return f"<{self.n_rows:,} of the {self.whole!r}>"


class PartGroup(AbstractGroup):
    """Single rows and columns of a part, read like those of the whole split's groups.

    Parameters
    ----------
    groups : for each group of the whole split: the call that opens it, and the readers of its blocks with
        the row of the group at which their shards begin
    n_rows, n_features : size of the part's group
    """

    def __init__(
        self,
        groups: tuple[tuple[GroupOpener, tuple[tuple[int, PartReader], ...]], ...],
        n_rows: int,
        n_features: int,
    ) -> None:
        self.n_rows, self.n_features = n_rows, n_features
        self._groups = [open_group() for open_group, _ in groups]
        # int32, as they are kept for every row while the group is open
        self._readers, self._positions = [], []
        for _, own in groups:
            taken = [(start + reader.positions()).astype(np.int32) for start, reader in own]
            self._positions.append(np.concatenate(taken))
            self._readers += [
                (reader, start, len(part)) for (start, reader), part in zip(own, taken, strict=True)
            ]
        self._ends = np.cumsum([len(positions) for positions in self._positions])

    @property
    def targets(self) -> NDArray[Any] | None:  # type: ignore[override]
        """Targets (n_rows,), read on every access."""
        parts, done, positions = [], 0, np.concatenate(self._positions)
        for reader, start, n_rows in self._readers:
            if (targets := reader.stored.targets()) is not None:
                parts.append(targets[positions[done : done + n_rows] - start])
            done += n_rows
        return np.concatenate(parts) if parts else None

    def rows(self, positions: Indices) -> Rows:
        def of_group(number: int, own: Indices) -> Rows:
            return self._groups[number].rows(self._positions[number][own])

        return rows_at(self._ends, np.asarray(positions), of_group)

    def columns(self, columns: Indices) -> Rows:
        found = [
            _columns_of(group.columns(columns), positions)
            for group, positions in zip(self._groups, self._positions, strict=True)
        ]
        return found[0] if len(found) == 1 else _concatenated(found)

    def column_bytes(self) -> int | None:
        sizes = [group.column_bytes() for group in self._groups]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def blocks(self) -> Iterator[Block]:
        for reader, _, _ in self._readers:
            yield reader()

    def block(self, place: int) -> Block:
        return self._readers[place][0]()


def _columns_of(columns: Rows, positions: Indices) -> Rows:
    """Return the entries (n_columns, n_positions) of columns (n_columns, n_rows) at some positions."""
    if isinstance(columns, SparseRows):
        return SparseRows.of_scipy(columns.to_scipy()[:, positions])
    return np.ascontiguousarray(columns[:, positions])


def _concatenated(parts: Sequence[Rows]) -> Rows:
    """Concatenate the columns of several groups over their rows."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate([np.asarray(part) for part in parts], axis=1)
    from scipy.sparse import hstack

    return SparseRows.of_scipy(
        hstack([part.to_scipy() for part in parts if isinstance(part, SparseRows)], format="csr")
    )


def sides_of(split: Split, validation: float | int, seed: int) -> Sides:
    """Draw the held-out rows by the seed: one side, separate from the rest, or the sides of folds.

    Reads only splits of few rows and, up to a limit, the keys of groups. Raises :class:`InputError` if there
    are more folds than groups.

    Parameters
    ----------
    validation : share of held-out rows, in (0, 1), or a number of folds
    """
    cuts: tuple[float, ...] = (float(validation),)
    if isinstance(validation, int):
        cuts = tuple(fold / validation for fold in range(1, validation))
    if split.has_groups:
        return _sides_of_groups(split, cuts, seed)
    if split.n_rows > FEW_ROWS:
        return Sides(cuts, seed)
    rows = Block.joined([split.reader(number)() for number in range(split.n_blocks)])
    return Sides.of_few(cuts, seed, keys_of(rows), _codes(rows, n_classes_of(split)))


def _sides_of_groups(split: Split, cuts: tuple[float, ...], seed: int) -> Sides:
    """Return sides of whole groups, stratified by the class of their first rows if there are few groups."""
    counts: dict[int, int] = {}
    codes: dict[int, int] = {}
    for number in range(split.n_blocks):
        reader = split.reader(number)
        keys, targets = reader.group_keys(), reader.targets()
        assert keys is not None
        if targets is None or split.class_counts is None:
            targets = np.zeros(len(keys), dtype=np.int64)
        found, first, sizes = np.unique(keys, return_index=True, return_counts=True)
        for key, code, size in zip(found.tolist(), targets[first].tolist(), sizes.tolist(), strict=True):
            codes.setdefault(key, code)
            counts[key] = counts.get(key, 0) + size
        if len(counts) > FEW_ROWS:
            return Sides(cuts, seed)
    if len(counts) <= len(cuts):
        one = "all rows are in one group, so none can be held out"
        raise InputError(
            one if len(counts) == 1 else f"{len(cuts) + 1} folds, but the rows have {len(counts)} groups",
            where=f"{split.dataset.path}, column {split.dataset.group_name!r}",
            hint="give at most as many folds as groups, or shard without --group",
        )
    of_groups = np.array(list(codes.values()), dtype=np.int64)
    sizes = np.array(list(counts.values()), dtype=np.int64)
    return Sides.of_few(cuts, seed, np.array(list(counts), dtype=np.uint64), of_groups, sizes)


def n_classes_of(split: Split) -> int:
    """Return the number of classes to count rows by; 1 without classes."""
    return 1 if split.class_counts is None else len(split.class_counts)


def count_sides(block: Block, operand: tuple[Sides, int]) -> NDArray[np.int64]:
    """Count the rows of a block by side and class, (1, n_sides, n_classes), given the sides and n_classes."""
    sides, n_classes = operand
    cells = sides.of(keys_of(block)) * n_classes + _codes(block, n_classes)
    return np.bincount(cells, minlength=sides.n_sides * n_classes).reshape(1, sides.n_sides, n_classes)


def join_counts(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Join the counts of consecutive blocks."""
    return np.concatenate([first, second])


def held_out_parts(
    split: Split, validation: float | int, sides: Sides, counts: NDArray[np.int64], share: float = 1.0
) -> list[tuple[SplitPart, SplitPart]]:
    """Return pairs of training and held-out rows: one pair, or one per fold.

    No row of one has the key of a row of the other. Rows with weights are read once more, to sum these.
    Raises :class:`InputError` if one of the two has no rows.

    Parameters
    ----------
    validation, sides : see :func:`sides_of`
    counts : (n_blocks, n_sides, n_classes), :func:`count_sides` of all blocks of the split
    share : share of the training rows
    """
    # the first rows of unshuffled data may all be alike
    first = split.is_shuffled
    pairs = [
        (
            SplitPart(split, RowSelection(sides, side, False, share, first), counts),
            SplitPart(split, RowSelection(sides, side, True), counts),
        )
        for side in range(validation if isinstance(validation, int) else 1)
    ]
    if split.weight_totals is not None:
        for shard in range(split.n_blocks):
            block = split.reader(shard)()
            for part in (one for pair in pairs for one in pair):
                part.weigh(shard, block)
    return pairs
