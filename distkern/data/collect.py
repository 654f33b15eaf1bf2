"""Collect rows as they are read: check that files match, and park the rows on disk in runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.held_out import Keys, Sides
from distkern.core.names import order_by_name
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import Rows, SparseRows, converted, count_nonzero, stacked, with_columns
from distkern.data.formats._kinds import TableKinds
from distkern.data.formats.base import CHUNK_BYTES, RawChunk
from distkern.data.manifest import SOURCE_ROWS
from distkern.data.scaling import (
    DEFAULT_SCALING,
    DEFAULT_SPARSE_SCALING,
    ScalingFit,
    ScalingKind,
    refuse_for_sparse,
)
from distkern.data.spool import Parked, Spool, in_field
from distkern.data.writer import SHARD_BYTES, widened

#: data with a smaller share of nonzeros are stored sparse: this takes an eighth of the space, and sparse
#: products were measured to be as fast as dense ones at twice this share
SPARSE_DENSITY = 1 / 16
_LATE_FEATURES = 2000
#: most groups whose side is kept in memory
_MOST_GROUPS = 2**16


class Shape:
    """Width of the rows of all files, and the names of their columns, which are brought into one order.

    Files of other widths, or with missing or unknown columns, are refused.

    Parameters
    ----------
    width : required width, from the data set or model of ``--like``; None: the width of the files
    """

    def __init__(self, width: int | None = None) -> None:
        self.width = width or 0
        self.names: tuple[str, ...] | None = None
        self.target_name: str | None = None
        self._fixed_by = None if width is None else "the data set or model of --like"
        self._named_by: str | None = None

    def accept(self, chunk: RawChunk) -> Rows:
        """Return the chunk's features in the width and column order of earlier ones; :class:`InputError`
        if they do not fit.
        """
        features = self._put_in_order(chunk)
        width = features.shape[1]
        if chunk.may_widen:
            if self._fixed_by is not None and width > self.width:
                self._refuse_width(chunk, width)
        elif self._fixed_by is None:
            if width < self.width:
                self._refuse_width(chunk, width)
            self._fixed_by = chunk.file
        elif width != self.width:
            self._refuse_width(chunk, width)
        self.width = max(self.width, width)
        return widened(features, self.width)

    def _put_in_order(self, chunk: RawChunk) -> Rows:
        if chunk.names is None or not chunk.has_header:
            return chunk.features
        if self.names is None:
            self.names, self.target_name, self._named_by = chunk.names, chunk.target_name, chunk.file
        order = order_by_name(chunk.names, self.names, where=chunk.file, owner=str(self._named_by))
        return chunk.features if order is None else with_columns(chunk.features, order)

    def _refuse_width(self, chunk: RawChunk, width: int) -> None:
        other = self._fixed_by or "an earlier file"
        raise InputError(
            f"{width} features, but {other} has {self.width}",
            where=chunk.file,
            hint="give files with the same columns (check --target: it must be in all of them)",
        )


class Form:
    """Whether rows are stored sparse, and how they are scaled; known after the first run.

    Attributes
    ----------
    is_sparse : the user's choice, else decided on the first run: sparse if fewer than 1 in 16 numbers is
        nonzero; None until then
    fit : fits the scaling; set with the decision, on which its default depends
    kinds : kinds of the columns, for rows of tables
    """

    def __init__(
        self, is_sparse: bool | None, scale: ScalingKind | None, kinds: TableKinds | None = None
    ) -> None:
        self.kinds = kinds
        self.is_sparse: bool | None = None
        self.fit: ScalingFit | None = None
        self._wanted = is_sparse
        self._scale = scale
        self._width = 0

    def decide(self, parts: Sequence[Rows], width: int) -> None:
        """Decide on the rows of the first run; refuse scalings that are impossible for sparse rows."""
        n_rows = sum(len(part) for part in parts)
        entries = sum(count_nonzero(part) for part in parts)
        sparse = entries < SPARSE_DENSITY * n_rows * width if self._wanted is None else self._wanted
        if self.kinds is not None and not self.kinds.all_numbers:
            if self._wanted:
                raise InputError(
                    "tables with non-numeric columns are stored dense",
                    where="--sparse",
                    hint="leave it out, or --drop those columns",
                )
            sparse = False
        kind = self._scale or (DEFAULT_SPARSE_SCALING if sparse else DEFAULT_SCALING)
        if sparse:
            refuse_for_sparse(kind)
        self.is_sparse, self.fit, self._width = sparse, ScalingFit(kind), width

    def check_width(self, width: int, chunk: RawChunk) -> None:
        """Refuse late columns that would make dense rows many times longer."""
        if (
            self.is_sparse is not False
            or self._wanted is False
            or width <= max(2 * self._width, _LATE_FEATURES)
        ):
            return
        row = 0
        if isinstance(chunk.features, SparseRows):
            entry = int(np.argmax(chunk.features.indices))
            row = int(np.searchsorted(chunk.features.indptr, entry, side="right")) - 1
        raise InputError(
            f"feature {width:,}, but earlier rows had {self._width:,} and are stored dense",
            where=chunk.place(row),
            hint="correct the index, or give --sparse (--dense if it is right and the disk is large)",
        )


class Collector:
    """Collects rows, each run in random order if ``seed`` is given, and draws test rows.

    Parameters
    ----------
    spool : destination of the rows
    shape : shared by all splits
    recorded : makes the records of a chunk's rows, without row numbers
    form : shared by all splits
    observe : called with the rows of each run and their records
    seed : seed of the shuffle; None keeps the order
    drawn : spool for test rows, their share of all rows (or of the groups, which stay whole), and the seed
    """

    def __init__(
        self,
        spool: Spool,
        shape: Shape,
        recorded: Callable[[RawChunk], NDArray[Any]],
        form: Form,
        *,
        observe: Callable[[Rows, NDArray[Any]], None] = lambda rows, records: None,
        seed: int | None = None,
        drawn: tuple[Spool, Fraction, int] | None = None,
    ) -> None:
        self._spool = spool
        self._shape = shape
        self._recorded = recorded
        self._form = form
        self._observe = observe
        self._seed = seed
        self._drawn = drawn
        self._kept: list[Parked] = []
        self._kept_rows = self._kept_bytes = 0
        self._runs = 0
        self._seen = self._read = 0
        self._groups: dict[int, bool] = {}

    def add(self, chunk: RawChunk) -> None:
        """Add a chunk; full runs are written to the spool."""
        first, self._read = self._read, self._read + chunk.n_rows + chunk.n_left_out
        if not chunk.n_rows:
            return
        features = _narrowest(self._shape.accept(chunk))
        self._form.check_width(self._shape.width, chunk)
        records = self._recorded(chunk)
        records[SOURCE_ROWS] = first + (np.arange(chunk.n_rows) if chunk.kept is None else chunk.kept)
        start = 0
        while start < len(features):
            stop = min(len(features), start + max(1, self._room()))
            self._keep(features[start:stop], records[start:stop])
            start = stop
            if self._room() < 1:
                self.flush()

    def _room(self) -> int:
        """Return how many rows fit the run; sparse runs are measured in bytes after each chunk."""
        if self._form.is_sparse:
            return 0 if self._kept_bytes >= SHARD_BYTES else self._most
        full = max(1, SHARD_BYTES // (4 * max(1, self._shape.width)))
        return min(full - self._kept_rows, self._most)

    @property
    def _most(self) -> int:
        """Rows to take at once, bounded by their dense size."""
        if self._form.is_sparse:
            return 2**62
        return max(1, CHUNK_BYTES // (8 * max(1, self._shape.width)))

    def _keep(self, features: Rows, records: NDArray[Any]) -> None:
        if self._form.is_sparse is not None:
            features = converted(features, sparse=self._form.is_sparse)
        self._kept.append((features, records))
        self._kept_rows += len(features)
        self._kept_bytes += features.nbytes

    def flush(self) -> None:
        """Write the collected rows as a run."""
        if not self._kept_rows:
            return
        if self._form.is_sparse is None:
            self._form.decide([features for features, _ in self._kept], self._shape.width)
        sparse = bool(self._form.is_sparse)
        width = self._shape.width
        dtype = np.result_type(*{features.dtype for features, _ in self._kept})
        records = np.concatenate([records for _, records in self._kept])
        features: Rows
        if sparse:
            parts = [converted(part, sparse=True).astype(dtype) for part, _ in self._kept]
            features = widened(stacked(parts), width)
            self._kept.clear()
        else:
            features = np.empty((self._kept_rows, width), dtype=dtype)
            filled = 0
            while self._kept:
                piece = np.asarray(converted(self._kept.pop(0)[0], sparse=False))
                features[filled : filled + len(piece), : piece.shape[1]] = piece
                features[filled : filled + len(piece), piece.shape[1] :] = 0
                filled += len(piece)
        self._kept_rows = self._kept_bytes = 0
        self._write_run(features, records)

    def _write_run(self, features: Rows, records: NDArray[Any]) -> None:
        n_rows = len(features)
        order = np.arange(n_rows, dtype=np.int64)
        if self._drawn is not None:
            test_spool, share, seed = self._drawn
            generator = stream(seed, Purpose.TEST_SPLIT, self._runs)
            keys = in_field(records, "group_keys")
            if keys is not None:
                chosen = np.flatnonzero(self._of_drawn_groups(keys, share, seed, generator))
            else:
                chosen = np.sort(_drawn(generator, self._seen, n_rows, share))
            if len(chosen):
                test_spool.append(features[chosen], records.take(chosen))
            order = np.delete(order, chosen)
        if self._seed is not None:
            order = stream(self._seed, Purpose.SHUFFLE, 0, self._runs).permutation(order)
        if len(order):
            if len(order) < n_rows or self._seed is not None:
                # take() copies whole records; indexing would copy field by field
                features, records = features[order], records.take(order)
            self._observe(features, records)
            self._spool.append(features, records)
        self._seen += n_rows
        self._runs += 1

    def _of_drawn_groups(
        self, keys: Keys, share: Fraction, seed: int, generator: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Return a mask (n_rows,) of the rows in test groups, ``share`` of all groups, rounded up.

        Beyond the number of groups kept in memory, a group's key alone decides, with about this share.
        """
        found, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        by_key = Sides((float(share),), seed).of(found) == 0
        new = [at for at in np.argsort(first).tolist() if found[at].item() not in self._groups]
        new = new[: _MOST_GROUPS - len(self._groups)]
        drawn = set(_drawn(generator, len(self._groups), len(new), share).tolist())
        self._groups.update((found[at].item(), place in drawn) for place, at in enumerate(new))
        sides = [self._groups.get(key, other) for key, other in zip(found.tolist(), by_key, strict=True)]
        return np.array(sides, dtype=bool)[inverse]


def _drawn(generator: np.random.Generator, n_before: int, n_new: int, share: Fraction) -> NDArray[np.intp]:
    """Draw from the new rows so that ``share`` of all rows so far is reached, rounded up."""
    size = math.ceil(share * (n_before + n_new)) - math.ceil(share * n_before)
    return generator.choice(n_new, size=size, replace=False)


def _narrowest(features: Rows) -> Rows:
    """Convert to float32 if nothing is lost, which halves the space on disk for most tables."""
    if features.dtype == np.float32:
        return features
    values = features.data if isinstance(features, SparseRows) else features
    with np.errstate(over="ignore", under="ignore"):
        single = values.astype(np.float32)
    if not np.array_equal(single, values, equal_nan=True):
        return features
    return features.with_data(single) if isinstance(features, SparseRows) else single
