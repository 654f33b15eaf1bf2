"""Passes that route rows to the places of a basis that no process keeps, and collect the answers.

Each place is read once for all its rows, whatever the order of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import CorruptDataError
from distkern.core.sparse import Rows, converted
from distkern.core.stores import SliceStore
from distkern.core.types import Block, Floats
from distkern.maths.bases.base import multiply
from distkern.maths.bases.placed import AbstractPlacedBasis, PlacedSizes
from distkern.passes import Cost, Each

#: dtype and row shape of arrays by name
Columns: TypeAlias = Mapping[str, tuple[str, tuple[int, ...]]]

#: bytes of the rows routed in a task, or sent to a place at once, unless a block or a part has more
_PART_BYTES = 16 * 2**20


@dataclass(frozen=True)
class _Placing:
    basis: AbstractPlacedBasis | None
    prepare: Callable[[Rows, Any], Rows] | None


@dataclass(frozen=True)
class _Saying:
    basis: AbstractPlacedBasis | None
    moved: SliceStore | None
    #: first rows of all blocks but the first
    starts: tuple[int, ...]


@dataclass(frozen=True)
class RoutedAnswers:
    """The answers of the places about the rows of a split, block by block.

    Attributes
    ----------
    store, n_tasks : of the pass that made the answers; None if it is only planned
    starts : first rows of the blocks
    """

    basis: AbstractPlacedBasis
    store: SliceStore | None
    n_tasks: int
    starts: tuple[int, ...]

    def combine(self, block: int, n_rows: int, coefficients: Floats) -> Floats:
        """f = Phi coef for the rows of a block, (n_rows, n_outputs) in the dtype of the basis."""
        assert self.store is not None
        found, n_found = np.zeros((n_rows, self.basis.size), self.basis.dtype), 0
        for part in self.store.slices(block, range(self.n_tasks)):
            found[part["row"] - self.starts[block]] = part["values"]
            n_found += len(part["row"])
        if n_found != n_rows:
            raise RuntimeError(f"block {block}: {n_found} predictions of {n_rows} rows")
        values: Floats = np.empty((n_rows, coefficients.shape[1]), self.basis.dtype)
        multiply(found, coefficients.astype(self.basis.dtype), values)
        return values

    def cost(self, n_rows: int) -> Cost:
        """Cost of :meth:`combine`."""
        return Cost().holding(task={"what places said": (n_rows, self.basis.size, 64)})


@dataclass(frozen=True)
class Routing:
    """The passes: rows are sorted by place, then each place answers, sorted by block.

    Attributes
    ----------
    sizes : of the basis
    block_rows, split : of the blocks of a split, and its name
    basis : None if the passes are only planned
    prepare : applied to features first, or None
    """

    sizes: PlacedSizes
    block_rows: tuple[int, ...]
    split: str
    basis: AbstractPlacedBasis | None = None
    prepare: Callable[[Rows, Any], Rows] | None = None

    @property
    def planned(self) -> list[Each]:
        """The passes, for the planner."""
        items = [(place, range(1)) for place in range(self.sizes.n_places)]
        return [self._placing(None), self._saying(items, None, None)]

    def found(self, store: SliceStore | None = None, n_tasks: int = 0) -> RoutedAnswers:
        """The answers; without a store for the planner."""
        assert self.basis is not None
        return RoutedAnswers(self.basis, store, n_tasks, self._starts)

    def steps(self, slices: Callable[[str, Columns], SliceStore]) -> Generator[Each, Any, RoutedAnswers]:
        """Make the passes in turn; ``slices`` opens stores by name."""
        sizes = self.sizes
        moved = slices(
            "moved", {"row": ("<i8", ()), "coordinates": (sizes.dtype.str, (sizes.n_coordinates,))}
        )
        found = slices("found", {"row": ("<i8", ()), "values": ("<f8", (sizes.n_outputs,))})
        records = yield self._placing(moved)
        counts = (_counts(moved, number, record) for number, record in enumerate(records))
        items = asked(counts, sizes.n_places, max(1, _PART_BYTES // sizes.row_bytes))
        yield self._saying(items, moved, found)
        return self.found(found, len(items))

    @property
    def _starts(self) -> tuple[int, ...]:
        return tuple(accumulate(self.block_rows[:-1], initial=0))

    @property
    def _parts(self) -> list[tuple[int, ...]]:
        """The blocks routed together; all but the last have the same number of rows."""
        at_once = max(1, _PART_BYTES // (self.sizes.row_bytes * max(self.block_rows)))
        blocks = range(len(self.block_rows))
        return [tuple(blocks[first : first + at_once]) for first in blocks[::at_once]]

    @property
    def _part_rows(self) -> int:
        return max(sum(self.block_rows[block] for block in part) for part in self._parts)

    def _placing(self, store: SliceStore | None) -> Each:
        parts, rows, n_places = self._parts, self._part_rows, self.sizes.n_places
        row_bytes = self.sizes.row_bytes
        cost = Cost().holding(
            task={
                "a block, prepared and placed": (max(self.block_rows), 3 * row_bytes + 16),
                "all blocks, and sorted": (rows, 2 * row_bytes + 64),
            },
            result={"rows": (rows, row_bytes), "offsets": (n_places, 32)},
            driver={"counts of one part at a time": (n_places, 200)},
        )
        items, operand = [self._starts[part[0]] for part in parts], _Placing(self.basis, self.prepare)
        return Each("place", _place, items, store, parts, operand, self.split, cost=cost)

    def _saying(
        self, items: list[tuple[int, range]], moved: SliceStore | None, store: SliceStore | None
    ) -> Each:
        rows = max(self._part_rows, _PART_BYTES // self.sizes.row_bytes)
        said = rows, 1 + self.sizes.n_outputs, 8
        cost = Cost(self.sizes.saying_bytes).holding(
            task={
                "rows as they are read, together, of a cell": (3, rows, self.sizes.row_bytes),
                "places as they are read": (2, self.sizes.place_bytes),
                "answers": (3, *said),
            },
            result={"answers": said, "offsets": (len(self.block_rows), 32)},
        )
        operand = _Saying(self.basis, moved, self._starts[1:])
        return Each("say", _say, items, store, operand=operand, split=self.split, cost=cost)


def asked(counts: Iterable[NDArray[np.int64]], n_places: int, most: int) -> list[tuple[int, range]]:
    """Return the tasks of a prediction: places with rows, each with a range of parts.

    A task predicts the rows of these parts that are in the place.

    Parameters
    ----------
    counts : for each part, its rows in each place (n_places,); an iterator, since all would take too much
        memory
    most : most rows of a task, unless a part has more

    >>> asked(np.array([[3, 0, 1], [3, 0, 0], [2, 0, 1]]), 3, 5)
    [(0, range(0, 1)), (0, range(1, 3)), (2, range(0, 3))]
    """
    items = []
    first, stop, n_rows = (np.zeros(n_places, dtype=np.int64) for _ in range(3))
    for part, found in enumerate(counts):
        full = np.flatnonzero((n_rows > 0) & (found > 0) & (n_rows + found > most))
        items += _items(full, first, stop)
        n_rows[full] = 0
        first[(n_rows == 0) & (found > 0)] = part
        stop[found > 0] = part + 1
        n_rows += found
    items += _items(np.flatnonzero(n_rows), first, stop)
    return sorted(items, key=lambda item: (item[0], item[1].start))


def _items(
    places: NDArray[np.intp], first: NDArray[np.int64], stop: NDArray[np.int64]
) -> list[tuple[int, range]]:
    ranges = map(range, first[places].tolist(), stop[places].tolist())
    return list(zip(places.tolist(), ranges, strict=True))


def _counts(store: SliceStore, number: int, record: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return a part's rows in each place."""
    offsets = store.offsets(number)
    if crc32(offsets.data) != record["offsets"]:
        raise CorruptDataError(
            f"the routed rows of part {number} are damaged", where="moved rows", hint="predict again"
        )
    return np.diff(offsets)


def _place(
    start: int, blocks: Iterator[Block], operand: _Placing
) -> tuple[dict[str, Any], NDArray[np.int64], dict[str, NDArray[Any]]]:
    """Sort the rows of some blocks, numbered from ``start`` on, by place.

    The record holds the checksum of the "offsets".
    """
    basis = operand.basis
    assert basis is not None
    coordinates, found = [], []
    for block in blocks:
        features = block.features
        if operand.prepare is not None:
            features = operand.prepare(features, features.dtype)
        own, own_places = basis.placed(np.asarray(converted(features, sparse=False), basis.dtype))
        coordinates.append(own)
        found.append(own_places)
    together, places = np.concatenate(coordinates), np.concatenate(found)
    coordinates.clear()
    order = np.argsort(places, kind="stable")
    offsets = np.searchsorted(places[order], np.arange(basis.sizes.n_places + 1)).astype(np.int64)
    return {"offsets": crc32(offsets.data)}, offsets, {"row": start + order, "coordinates": together[order]}


def _say(
    item: tuple[int, range], _: Iterator[Block], operand: _Saying
) -> tuple[dict[str, Any], NDArray[np.int64], dict[str, NDArray[Any]]]:
    """Return the answers of a place for the rows of some parts, in their order, with offsets by block."""
    assert operand.moved is not None
    assert operand.basis is not None
    parts = list(operand.moved.slices(*item))
    rows = np.concatenate([part["row"] for part in parts])
    coordinates = np.concatenate([part["coordinates"] for part in parts])
    del parts
    values = operand.basis.values_at(item[0], coordinates)
    offsets = np.concatenate([[0], np.searchsorted(rows, operand.starts), [len(rows)]]).astype(np.int64)
    return {}, offsets, {"row": rows, "values": values}
