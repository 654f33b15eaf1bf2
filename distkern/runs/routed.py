"""Predictions by a model that no process keeps: rows are brought to its places, and what they say back.

Every place is read once for all rows that lie there, however the rows are ordered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis, multiply
from distkern.bases.placed import AbstractPlacedBasis
from distkern.common import blas
from distkern.common.sparse import Rows
from distkern.common.stores import SliceStore
from distkern.common.types import AbstractSource, Block, Floats
from distkern.engine.budget import Machine
from distkern.engine.drive import Driver
from distkern.passes import Cost, Each
from distkern.runs.learner import Learner
from distkern.runs.spooled import temporary_folder
from distkern.storage.atomic import staged_folder
from distkern.storage.dataset import Split
from distkern.storage.parts import SlicedParts
from distkern.storage.places import Location, place_of
from distkern.storage.preparation import Preparation

#: rows that are placed in a task, or that a place is read for, unless a block or a part has more
_PART_BYTES = 16 * 2**20


@dataclass(frozen=True)
class _Placing:
    basis: AbstractPlacedBasis
    preparation: Preparation | None


@dataclass(frozen=True)
class _Saying:
    basis: AbstractPlacedBasis
    moved: SliceStore | None
    #: first rows of all blocks but the first
    starts: tuple[int, ...]


@dataclass(frozen=True)
class Found:
    """What the places said about the rows of a split, block by block.

    Attributes
    ----------
    store, n_tasks : of the pass that asked them; None where it is only planned
    starts : first rows of the blocks
    """

    basis: AbstractPlacedBasis
    store: SliceStore | None
    n_tasks: int
    starts: tuple[int, ...]

    def combine(self, block: int, n_rows: int, features: Rows | None, coefficients: Floats) -> Floats:
        """f = Phi coef for the rows of a block, (n_rows, n_outputs) in the dtype of the basis; ``features``
        may be None where :attr:`needs_rows` is false."""
        assert self.store is not None
        total, n_found = np.zeros((n_rows, self.basis.size)), 0
        for part in self.store.slices(block, range(self.n_tasks)):
            total[part["row"] - self.starts[block]] += part["values"]
            n_found += len(part["row"])
        if n_found != n_rows * self.basis.n_layers:
            raise RuntimeError(f"block {block}: {n_found} predictions of {n_rows} rows")
        values: Floats = np.empty((n_rows, coefficients.shape[1]), self.basis.dtype)
        narrow = coefficients.astype(self.basis.dtype)
        multiply(self.basis.finished(total, features), narrow, values)
        return values

    @property
    def needs_rows(self) -> bool:
        """Whether the rows themselves are needed."""
        return self.basis.added is not None

    def cost(self, row_numbers: int, n_rows: int) -> Cost:
        """Of :meth:`combine`."""
        size, added = self.basis.size, self.basis.added
        own = Cost() if added is None else combining_cost(added, row_numbers, n_rows, size)
        return replace(own, workspace_bytes=own.workspace_bytes + 64 * n_rows * size)


def combining_cost(basis: AbstractBasis, row_numbers: int, n_rows: int, n_outputs: int) -> Cost:
    """Of combining a basis at the rows of a block, which may be prepared for that."""
    return Cost(
        workspace_bytes=basis.combining_bytes(row_numbers) + 4 * n_rows * row_numbers,
        process_bytes=basis.process_bytes,
        compiled=basis.is_compiled,
        flops_per_row=basis.flops_per_row(row_numbers) + 2.0 * basis.size * n_outputs,
        entries_per_row=basis.entries_per_row,
    )


@dataclass(frozen=True)
class Routing:
    """The passes that ask the places: rows sorted by place, then each place, its answers sorted by block.

    Attributes
    ----------
    source : the rows
    split : its name in the passes
    """

    basis: AbstractPlacedBasis
    preparation: Preparation | None
    source: AbstractSource
    split: str

    @classmethod
    def of(
        cls, model: Learner, source: Split, split: str, out: Location | None, machine: Machine
    ) -> Self | None:
        """That of a model that is not kept, and None of any other; also where rows are sparse, or where
        workers of other hosts would not see them moved: ``out`` is where the predictions go, if anywhere."""
        basis = unkept(model.basis(source.dtype), out, machine)
        if basis is None or source.is_sparse:
            return None
        return cls(basis, model.preparation_for(source), source, split)

    @property
    def planned(self) -> tuple[list[Each], Found]:
        """The passes and what they find, before they are run."""
        items = [(place, range(1)) for place in range(self.basis.n_places)]
        return [self._placing(None), self._saying(items, None, None)], self._found(None, len(items))

    def run(self, driver: Driver, folder: Path) -> Found:
        """What the passes find, as long as the folder is there."""
        layout: dict[str, tuple[str, tuple[int, ...]]] = {
            "row": ("<i8", ()),
            "coordinates": (self.basis.dtype.str, (self.basis.n_coordinates,)),
        }
        said: dict[str, tuple[str, tuple[int, ...]]] = {
            "row": ("<i8", ()),
            "values": ("<f8", (self.basis.size,)),
        }
        moved = SlicedParts(folder / "moved", "moved", layout, stays=False)
        found = SlicedParts(folder / "found", "found", said, stays=False)
        with blas.single_threaded():
            counts = [record["counts"] for record in driver.each(self._placing(moved))]
            items = asked(np.array(counts), max(1, _PART_BYTES // self._row_bytes))
            driver.each(self._saying(items, moved, found))
        return self._found(found, len(items))

    def _found(self, store: SliceStore | None, n_tasks: int) -> Found:
        return Found(self.basis, store, n_tasks, self._starts)

    @property
    def _starts(self) -> tuple[int, ...]:
        return tuple(accumulate(self.source.block_rows[:-1], initial=0))

    @property
    def _row_bytes(self) -> int:
        """Of a row as it is moved."""
        return self.basis.n_coordinates * self.basis.dtype.itemsize + 8

    @property
    def _parts(self) -> list[tuple[int, ...]]:
        """The blocks whose rows are placed together; all but the last have as many rows."""
        at_once = max(1, _PART_BYTES // (self._row_bytes * self.basis.n_layers * max(self.source.block_rows)))
        blocks = range(self.source.n_blocks)
        return [tuple(blocks[first : first + at_once]) for first in blocks[::at_once]]

    @property
    def _part_rows(self) -> int:
        return max(sum(self.source.block_rows[block] for block in part) for part in self._parts)

    def _placing(self, store: SliceStore | None) -> Each:
        parts, rows, n_places = self._parts, self._part_rows, self.basis.n_places
        moved = rows * self._row_bytes * self.basis.n_layers
        cost = Cost(
            # of a block prepared and placed; of all blocks, and the same sorted
            workspace_bytes=max(self.source.block_rows) * (3 * self._row_bytes + 16) + 2 * moved + 64 * rows,
            result_bytes=moved + 32 * n_places,
            entries_per_row=float(self.basis.n_coordinates * n_places.bit_length()),
        )
        items, operand = [self._starts[part[0]] for part in parts], _Placing(self.basis, self.preparation)
        record_bytes = 1024 + 10 * n_places
        return Each(
            "place", _place, items, store, parts, operand, self.split, record_bytes=record_bytes, cost=cost
        )

    def _saying(
        self, items: list[tuple[int, range]], moved: SliceStore | None, store: SliceStore | None
    ) -> Each:
        rows = max(self._part_rows, _PART_BYTES // self._row_bytes)
        said = rows * (8 + 8 * self.basis.size)
        cost = Cost(
            # rows as they are read, together, of a cell; places as they are read
            workspace_bytes=3 * rows * self._row_bytes
            + 2 * self.basis.place_bytes
            + self.basis.saying_bytes
            + 3 * said,
            result_bytes=said + 32 * self.source.n_blocks,
        )
        operand = _Saying(self.basis, moved, self._starts[1:])
        return Each("say", _say, items, store, operand=operand, split=self.split, cost=cost)


def unkept(basis: AbstractBasis, out: Location | None, machine: Machine) -> AbstractPlacedBasis | None:
    """A basis that no process keeps, where workers can see what lies beside the predictions."""
    away = machine.kind == "distributed" and not machine.same_host
    if away and not (out is not None and isinstance(place_of(out), Path)):
        return None
    return basis if isinstance(basis, AbstractPlacedBasis) and not basis.is_kept else None


def scratch_folder(out: Location | None, stack: ExitStack) -> Path:
    """A folder beside the predictions, or in ``TMPDIR``, that is there until ``stack`` closes."""
    place = None if out is None else place_of(out)
    if isinstance(place, Path):
        return stack.enter_context(staged_folder(place.with_name(f"{place.name}.rows"))).path
    return temporary_folder(stack)


def asked(counts: NDArray[np.int64], most: int) -> list[tuple[int, range]]:
    """The places where rows lie, each with the parts about whose rows it is asked at a time.

    Parameters
    ----------
    counts : (n_parts, n_places) rows
    most : rows at a time, if no part has more

    >>> asked(np.array([[3, 0, 1], [3, 0, 0], [2, 0, 1]]), 5)
    [(0, range(0, 1)), (0, range(1, 3)), (2, range(0, 3))]
    """
    items = []
    for place in range(counts.shape[1]):
        first, stop, n_rows = 0, 0, 0
        for part in np.flatnonzero(counts[:, place]).tolist():
            if n_rows and n_rows + counts[part, place] > most:
                items.append((place, range(first, stop)))
                n_rows = 0
            first, stop = (first if n_rows else part), part + 1
            n_rows += counts[part, place]
        if n_rows:
            items.append((place, range(first, stop)))
    return items


def _place(
    start: int, blocks: Iterator[Block], operand: _Placing
) -> tuple[dict[str, Any], NDArray[np.int64], dict[str, NDArray[Any]]]:
    """The rows of some blocks, of which the first is number ``start``, sorted by place; a row of several
    layers is there several times. The record has the "counts" of the places."""
    basis = operand.basis
    coordinates, places = [], []
    for block in blocks:
        features = block.features
        if operand.preparation is not None:
            features = operand.preparation.apply_rows(features, features.dtype)
        found, layers = basis.placed(np.asarray(features, basis.dtype))
        coordinates.append(found)
        places.append(layers)
    together = np.concatenate(coordinates)
    coordinates.clear()
    by_layer = np.concatenate([np.concatenate(layer) for layer in zip(*places, strict=True)])
    order = np.argsort(by_layer, kind="stable")
    offsets = np.searchsorted(by_layer[order], np.arange(basis.n_places + 1)).astype(np.int64)
    rows = order % len(together)
    record = {"counts": np.diff(offsets).tolist()}
    return record, offsets, {"row": start + rows, "coordinates": together[rows]}


def _say(
    item: tuple[int, range], _: Iterator[Block], operand: _Saying
) -> tuple[dict[str, Any], NDArray[np.int64], dict[str, NDArray[Any]]]:
    """What a place says about the rows of some parts, which are in their own order, by block."""
    assert operand.moved is not None
    parts = list(operand.moved.slices(*item))
    rows = np.concatenate([part["row"] for part in parts])
    coordinates = np.concatenate([part["coordinates"] for part in parts])
    del parts
    values = operand.basis.values_at(item[0], coordinates)
    offsets = np.concatenate([[0], np.searchsorted(rows, operand.starts), [len(rows)]]).astype(np.int64)
    return {}, offsets, {"row": rows, "values": values}
