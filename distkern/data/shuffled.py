"""Rows of any source in random order, in files that last as long as a fit or a prediction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from distkern.core.rng import Purpose, stream
from distkern.core.sparse import count_nonzero, from_arrays, stacked, to_arrays
from distkern.core.types import AbstractSource, Block
from distkern.data.spool import RunPiece, Spool, in_field, shuffled
from distkern.data.store.arrays import load_arrays, save_arrays
from distkern.data.store.places import Place, explain_errors
from distkern.data.writer import SHARD_BYTES, numbers_of_a_row, rows_of_a_shard, shard_sizes

#: fixed, so that a resumed run has the same order
_SEED = 0
#: arrays of a block besides its features
_ROW_ARRAYS = ("targets", "weights", "group_keys")


@dataclass(frozen=True, slots=True)
class ParkedBlockReader:
    """Reads a block of arrays that :func:`park_block` wrote, and checks their checksums."""

    folder: Place
    index: int

    def __call__(self) -> Block:
        arrays = load_arrays(self.folder / str(self.index))
        others = {name: arrays.get(name) for name in _ROW_ARRAYS}
        return Block(from_arrays("features", arrays), index=self.index, **others)


def park_block(block: Block, folder: Place, index: int) -> None:
    """Write a block, for :class:`ParkedBlockReader`."""
    others = {name: getattr(block, name) for name in _ROW_ARRAYS}
    kept = {name: np.ascontiguousarray(values) for name, values in others.items() if values is not None}
    save_arrays(folder / str(index), to_arrays("features", block.features) | kept)


class ShuffledRows(AbstractSource):
    """The rows of another source in uniformly random order, neither rounded nor scaled.

    Memory holds a few blocks at a time, whatever their number. Raises :class:`InputError` if the disk is
    full.

    Parameters
    ----------
    source : source of the rows
    blocks : all of its blocks, in order, each taken once
    folder : folder of the files, on a disk that all workers see; its creator removes it
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

    def reader(self, index: int) -> ParkedBlockReader:
        return ParkedBlockReader(self._folder, index)

    def _write(self, blocks: Iterable[Block]) -> None:
        each = iter(blocks)
        first = next(each)
        present = [(name, getattr(first, name)) for name in _ROW_ARRAYS]
        kept = [(name, values.dtype) for name, values in present if values is not None]
        # a record has at least one field
        record = np.dtype(kept or [("nothing", np.uint8)])
        with TemporaryDirectory(dir=self._folder) as parked, Spool(Path(parked), "rows", record) as spool:
            for block in chain([first], each):
                self._park(block, spool)
            for index, pieces in enumerate(shuffled(spool.runs, list(self.block_rows), _SEED)):
                block = _gathered(spool, pieces)
                if self.is_sparse:
                    numbers = numbers_of_a_row(self.block_rows[index], count_nonzero(block.features))
                    self._row_numbers = max(self._row_numbers, numbers)
                park_block(block, self._folder, index)

    def _park(self, block: Block, spool: Spool) -> None:
        """Write a block's rows to the spool, in runs of random order."""
        most = max(1, SHARD_BYTES // (self._row_numbers * self.dtype.itemsize))
        for start in range(0, block.n_rows, most):
            n_rows = min(most, block.n_rows - start)
            order = stream(_SEED, Purpose.SHUFFLE, 0, len(spool.runs)).permutation(n_rows) + start
            run, records = block.take(order), np.zeros(n_rows, dtype=spool.record)
            for name in set(_ROW_ARRAYS).intersection(spool.record.names or ()):
                records[name] = getattr(run, name)
            self._nonzero += count_nonzero(run.features)
            spool.append(run.features, records)


def _gathered(spool: Spool, pieces: list[RunPiece]) -> Block:
    """Return the rows of all pieces, each at its position."""
    found = [spool.read(piece.run, piece.start, piece.rows) for piece in pieces]
    order = np.argsort(np.concatenate([np.asarray(piece.positions) for piece in pieces]))
    records = np.concatenate([part for _, part in found]).take(order)
    others: dict[str, Any] = {name: in_field(records, name) for name in _ROW_ARRAYS}
    return Block(stacked([rows for rows, _ in found])[order], **others)
