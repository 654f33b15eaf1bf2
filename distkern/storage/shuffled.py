"""Rows of any source in random order, in files that last as long as a fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.rng import Purpose, stream
from distkern.common.sparse import Rows, count_nonzero, from_arrays, stacked, to_arrays
from distkern.common.types import AbstractSource, Block
from distkern.storage.arrays import load_arrays, save_arrays
from distkern.storage.atomic import explain_errors
from distkern.storage.spool import RunPiece, Spool, shuffled
from distkern.storage.writer import SHARD_BYTES, numbers_of_a_row, rows_of_a_shard, shard_sizes

#: the order is a function of the rows alone, so that a resumed run finds the same
_SEED = 0
#: what rows may have beside their features
_BESIDE = ("targets", "weights", "group_keys")


class ShuffledRows(AbstractSource):
    """The rows of another source in a uniformly random order, as they are: no value is rounded or scaled.

    A few blocks are in memory at a time, however many there are.

    Parameters
    ----------
    source : what the rows are of
    blocks : all of its blocks, in order, each taken once
    folder : of the files, on a disk that all workers see; whoever made it removes it

    Raises
    ------
    InputError
        If the disk is full.
    """

    def __init__(self, source: AbstractSource, blocks: Iterable[Block], folder: Path) -> None:
        self.n_features, self.dtype, self.is_sparse = source.n_features, source.dtype, source.is_sparse
        self.fingerprint, self.has_groups = source.fingerprint, source.has_groups
        self.block_rows = source.block_rows
        if source.is_graph:
            numbers = source.row_numbers * source.dtype.itemsize // 4
            self.block_rows = tuple(shard_sizes(source.n_rows, rows_of_a_shard(source.n_rows, numbers)))
        self._folder = folder
        self._row_numbers = source.row_numbers
        self._nonzero = 0
        with explain_errors(folder):
            self._write(blocks)

    @property
    def row_numbers(self) -> int:
        return self._row_numbers

    @property
    def n_nonzero(self) -> int:
        return self._nonzero

    def reader(self, index: int) -> _BlockReader:
        return _BlockReader(str(self._folder / str(index)), index)

    def _write(self, blocks: Iterable[Block]) -> None:
        each = iter(blocks)
        first = next(each)
        beside = _beside(first)
        with TemporaryDirectory(dir=self._folder) as parked, Spool(Path(parked), "rows", beside) as spool:
            for block in chain([first], each):
                self._park(block, spool, beside)
            for index, pieces in enumerate(shuffled(spool.runs, list(self.block_rows), _SEED)):
                arrays = _gathered(spool, pieces)
                if self.is_sparse:
                    numbers = numbers_of_a_row(self.block_rows[index], arrays["features.data"].size)
                    self._row_numbers = max(self._row_numbers, numbers)
                save_arrays(self._folder / str(index), arrays)

    def _park(self, block: Block, spool: Spool, beside: np.dtype[Any] | None) -> None:
        """Write a block's rows to the spool, in runs each of which is in random order."""
        most = max(1, SHARD_BYTES // (self._row_numbers * self.dtype.itemsize))
        for start in range(0, block.n_rows, most):
            n_rows = min(most, block.n_rows - start)
            order = stream(_SEED, Purpose.SHUFFLE, 0, len(spool.runs)).permutation(n_rows) + start
            run, others = block.take(order), None
            if beside is not None:
                others = np.empty(n_rows, dtype=beside)
                for name in beside.names or ():
                    others[name] = getattr(run, name)
            self._nonzero += count_nonzero(run.features)
            spool.append(run.features, others)


@dataclass(frozen=True, slots=True)
class _BlockReader:
    """Reads a block, whose checksums are compared."""

    folder: str
    index: int

    def __call__(self) -> Block:
        arrays = load_arrays(Path(self.folder))
        rows = from_arrays("features", arrays)
        beside = {name: arrays.get(name) for name in _BESIDE}
        return Block(rows, index=self.index, **beside)


def _beside(block: Block) -> np.dtype[Any] | None:
    """What is kept of a row beside its features, if anything."""
    present = [(name, getattr(block, name)) for name in _BESIDE]
    kept = [(name, values.dtype) for name, values in present if values is not None]
    return np.dtype(kept) if kept else None


def _gathered(spool: Spool, pieces: list[RunPiece]) -> dict[str, NDArray[Any]]:
    """The rows of all pieces, each at its position, as named arrays."""
    features: list[Rows] = []
    others: list[NDArray[Any]] = []
    for piece in pieces:
        rows, beside = spool.read(piece.run, piece.start, piece.rows)
        features.append(rows)
        if beside is not None:
            others.append(beside)
    order = np.argsort(np.concatenate([np.asarray(piece.positions) for piece in pieces]))
    kept: dict[str, NDArray[Any]] = {}
    if others:
        joined = np.concatenate(others)[order]
        kept = {name: np.ascontiguousarray(joined[name]) for name in joined.dtype.names or ()}
    return to_arrays("features", stacked(features)[order]) | kept
