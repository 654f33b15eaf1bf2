"""Rows of files in file order, as a model expects them, without a data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import Rows, SparseRows, converted
from distkern.core.types import AbstractSource, Block
from distkern.data.collect import SPARSE_DENSITY
from distkern.data.formats._files import expand
from distkern.data.formats._notes import FileNotes, metered
from distkern.data.formats.base import (
    CHUNK_BYTES,
    Indices,
    RawChunk,
    ReadOptions,
    first_not_finite,
    refuse_untaken,
    rows_of,
)
from distkern.data.scaling import SPARSE_KINDS, Like
from distkern.data.shuffled import ParkedBlockReader, park_block
from distkern.data.store.arrays import load_arrays, save_arrays
from distkern.data.store.atomic import flushed
from distkern.data.store.places import Location, Place
from distkern.data.table import Unseen, add_counts

_MOST_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class FileBlock:
    """Consecutive rows of a file: features (n_rows, n_features) float32, scaled; ids (n_rows,) or None."""

    features: Rows
    ids: NDArray[Any] | None


class FileRows:
    """Rows of some files, read once from front to back, a few MiB at a time.

    Parameters
    ----------
    sources : files, folders, patterns and URLs
    like : training rows of the model; their target is left out if present
    id : column to keep as text
    format : format of files with an unknown extension
    zero_based : whether indices of svmlight files start at 0; None: as in ``like``
    form : see :class:`~distkern.data.formats.base.FileForm`; ``target`` is another column to leave out

    Attributes
    ----------
    by_position : files with columns matched by position although the model's have names; filled while reading
    id : column kept as text: ``id``, or the table's own, which files may lack
    meter : progress of reading
    unseen : rows with values outside the training rows, see :meth:`Table.unseen`; filled while reading
    unknown : columns unknown to the model, which are left out; filled while reading
    notes : notes on the files; filled while reading
    """

    def __init__(
        self,
        sources: Sequence[Location],
        like: Like,
        *,
        id: str | None = None,
        format: str | None = None,
        zero_based: bool | None = None,
        **form: Any,
    ) -> None:
        self._files, self.meter = metered(expand(map(str, sources), format))
        given: Any = {} if id is None else {"id": id}
        refuse_untaken(self._files, given, **form, zero_based=zero_based)
        table, kinds = like.table, None
        ignored = () if like.target_name is None else (like.target_name,)
        if table is not None:
            ignored, kinds = (*ignored, *table.ignored), table.kinds()
        self.unknown, self.notes = set[str](), FileNotes()
        own_id = None if table is None else table.id
        self._options = ReadOptions(
            "none",
            **form,
            id=own_id if id is None else id,
            may_lack=id is None,
            features=like.names,
            ignored=ignored,
            kinds=kinds,
            indices=Indices(like.from_zero if zero_based is None else zero_based),
            notes=self.notes,
            unknown=self.unknown,
        )
        self._table = table
        self.id = self._options.id
        self._has_ids: bool | None = None
        self.unseen: Unseen = {}
        self.n_features, self._scaling = like.n_features, like.scaling
        self.by_position: list[str] = []

    @property
    def unseen_notes(self) -> list[str]:
        """Sentences on rows read so far with values outside the training rows."""
        return [] if self._table is None else self._table.unseen_notes(self.unseen, "rows")

    def __iter__(self) -> Iterator[FileBlock]:
        """Yield blocks of rows; :class:`InputError` for rows that do not fit the model, naming file, row
        and column.
        """
        for chunk in rows_of(self._files, self._options):
            named = chunk.names is not None and chunk.has_header
            if chunk.first_row == 1 and self._options.features is not None and not named:
                self.by_position.append(chunk.file)
            if self._has_ids not in (None, chunk.ids is not None):
                raise InputError(
                    f"column {self.id!r} is missing in some files",
                    where=chunk.file,
                    hint="give files with the same columns",
                )
            self._has_ids = chunk.ids is not None
            yield from self._blocks(chunk)

    def _blocks(self, chunk: RawChunk) -> Iterator[FileBlock]:
        width = chunk.features.shape[1]
        table = self._table
        n_columns = self.n_features if table is None else table.starts[-1]
        if table is not None and chunk.names is None and not table.is_numeric:
            raise InputError(
                "has no columns of categories, dates or missing values, unlike the training data",
                where=chunk.file,
                hint="give files with the columns of the training data",
            )
        if width > n_columns or (width < n_columns and not chunk.may_widen):
            hint = "give files with the columns of the training data"
            if width == n_columns + 1 and not chunk.may_widen:
                hint = "leave out the non-feature column (--target COLUMN, or --id COLUMN)"
            raise InputError(
                f"{width:,} features, but the model has {n_columns:,}", where=chunk.file, hint=hint
            )
        features, sparse = chunk.features, False
        if isinstance(features, SparseRows):
            features = features.widened(self.n_features)
            share = features.n_entries / max(1, chunk.n_rows * self.n_features)
            sparse = self._scaling.kind in SPARSE_KINDS and share < SPARSE_DENSITY
        step = _MOST_ROWS if sparse else rows_of_block(self.n_features)
        for start in range(0, chunk.n_rows, step):
            part = slice(start, start + step)
            raw = converted(features[part], sparse=sparse)
            if table is not None:
                add_counts(self.unseen, table.unseen(np.asarray(raw)))
                raw = table.encode(np.asarray(raw))
            rows = self._scaling.apply_rows(raw, np.float32)
            found = first_not_finite(rows)
            if found is not None:
                raise InputError(
                    f"a value is too large for 32-bit numbers after scaling ({self._scaling.kind})",
                    where=chunk.place(start + found[0], found[1] if table is None else None),
                    hint="correct the value",
                )
            yield FileBlock(rows, None if chunk.ids is None else chunk.ids[part])


def rows_of_block(n_features: int) -> int:
    """Return the largest number of rows in a block of dense rows."""
    return min(_MOST_ROWS, max(1, CHUNK_BYTES // (8 * n_features)))


def dense_blocks(blocks: Iterable[FileBlock]) -> Iterator[FileBlock]:
    """Yield the same rows in dense form; sparse blocks are split into :func:`rows_of_block` rows."""
    for block in blocks:
        if not isinstance(block.features, SparseRows):
            yield block
            continue
        n_rows, step = len(block.features), rows_of_block(block.features.n_features)
        for part in (slice(start, start + step) for start in range(0, n_rows, step)):
            ids = None if block.ids is None else block.ids[part]
            yield FileBlock(converted(block.features[part], sparse=False), ids)


class ParkedRows(AbstractSource):
    """Dense rows of files, written while they are read and kept for one prediction.

    Raises :class:`InputError` if the disk is full.

    Parameters
    ----------
    blocks : all blocks, each taken once
    folder : folder for the blocks, on a disk that all workers see; its creator removes it
    """

    def __init__(self, blocks: Iterable[FileBlock], n_features: int, folder: Place) -> None:
        self.n_features, self.dtype, self.fingerprint = n_features, np.dtype(np.float32), ""
        self._folder, self._has_ids, rows = folder, False, []
        for number, block in enumerate(blocks):
            self._has_ids = block.ids is not None
            with flushed(stays=False):
                park_block(Block(block.features), folder, number)
                if block.ids is not None:
                    texts = [str(text).encode() for text in block.ids]
                    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
                    arrays: dict[str, NDArray[Any]] = {
                        "text": np.frombuffer(b"".join(texts), dtype=np.uint8),
                        "ends": ends,
                    }
                    save_arrays(folder / f"{number}.ids", arrays)
            rows.append(len(block.features))
        self.block_rows = tuple(rows)

    def reader(self, index: int) -> ParkedBlockReader:
        return ParkedBlockReader(self._folder, index)

    def ids(self, index: int) -> NDArray[Any] | None:
        """Return ids (n_rows,) of the rows of a block as text; None without ids."""
        if not self._has_ids:
            return None
        arrays = load_arrays(self._folder / f"{index}.ids")
        text, ends = arrays["text"].tobytes(), arrays["ends"].tolist()
        return np.array([text[low:high].decode() for low, high in pairwise([0, *ends])], dtype=object)
