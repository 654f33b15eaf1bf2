"""Takes rows as they are read: checks that files fit together and parks the rows on disk in runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.rng import Purpose, stream
from distkern.core.types import Floats
from distkern.formats.base import RawChunk
from distkern.storage.scaling import ScalingFit
from distkern.storage.spool import Spool
from distkern.storage.writer import SHARD_BYTES, widened


class Shape:
    """The width of the rows of all files, and the names of their columns: files that differ are refused."""

    def __init__(self) -> None:
        self.width = 0
        self.names: tuple[str, ...] | None = None
        self._fixed_by: str | None = None
        self._named_by: str | None = None

    def accept(self, chunk: RawChunk) -> Floats:
        """The chunk's features at the width of what came before, or an :class:`InputError`."""
        width = chunk.features.shape[1]
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
        if chunk.names is not None:
            self._check_names(chunk.names, chunk.file)
        return widened(chunk.features, self.width)

    def _refuse_width(self, chunk: RawChunk, width: int) -> None:
        other = self._fixed_by or "the files before it"
        raise InputError(
            f"{width} features, but {other} has {self.width}",
            where=chunk.file,
            mend="give files with the same columns (check --target: it must be in all of them)",
        )

    def _check_names(self, names: tuple[str, ...], file: str) -> None:
        if self.names is None:
            self.names, self._named_by = names, file
        elif names != self.names:
            pairs = zip(names, self.names, strict=True)
            position, (here, there) = next(
                (at, pair) for at, pair in enumerate(pairs, start=1) if pair[0] != pair[1]
            )
            raise InputError(
                f"feature {position} is column {here!r}, but {there!r} in {self._named_by}",
                where=file,
                mend="give files with the same columns in the same order",
            )


class Collector:
    """Collects rows, each run in random order if ``seed`` is given, drawing test rows and fitting a scaling.

    Parameters
    ----------
    spool : where the rows go
    shape : shared by all splits
    encode : chunk to targets as they are stored in the spool, or None
    fit : takes the training rows into account; None for test rows
    seed : of the shuffle; None keeps the order
    drawn : spool for test rows, their share of all rows, and the seed they are drawn with
    """

    def __init__(
        self,
        spool: Spool,
        shape: Shape,
        encode: Callable[[RawChunk], NDArray[Any] | None],
        *,
        fit: ScalingFit | None = None,
        seed: int | None = None,
        drawn: tuple[Spool, Fraction, int] | None = None,
    ) -> None:
        self._spool = spool
        self._shape = shape
        self._encode = encode
        self._fit = fit
        self._seed = seed
        self._drawn = drawn
        self._kept: list[tuple[Floats, NDArray[Any] | None]] = []
        self._kept_rows = 0
        self._runs = 0
        self._seen = 0

    def add(self, chunk: RawChunk) -> None:
        """Take a chunk; what fills a run is written to the spool."""
        features = _narrowest(self._shape.accept(chunk))
        targets = self._encode(chunk)
        start = 0
        while start < len(features):
            full = max(1, SHARD_BYTES // (4 * max(1, self._shape.width)))
            stop = min(len(features), start + max(1, full - self._kept_rows))
            self._kept.append((features[start:stop], None if targets is None else targets[start:stop]))
            self._kept_rows += stop - start
            start = stop
            if self._kept_rows >= full:
                self.flush()

    def flush(self) -> None:
        """Write what is kept as a run."""
        if not self._kept_rows:
            return
        width = self._shape.width
        dtype = np.result_type(*{features.dtype for features, _ in self._kept})
        features = np.empty((self._kept_rows, width), dtype=dtype)
        filled = 0
        parts: list[NDArray[Any]] = []
        while self._kept:
            piece, labels = self._kept.pop(0)
            features[filled : filled + len(piece), : piece.shape[1]] = piece
            features[filled : filled + len(piece), piece.shape[1] :] = 0
            filled += len(piece)
            if labels is not None:
                parts.append(labels)
        targets = np.concatenate(parts) if parts else None
        self._kept_rows = 0
        self._write_run(features, targets)

    def _write_run(self, features: Floats, targets: NDArray[Any] | None) -> None:
        n_rows = len(features)
        order = np.arange(n_rows)
        if self._drawn is not None:
            test_spool, share, seed = self._drawn
            n_test = math.ceil(share * (self._seen + n_rows)) - math.ceil(share * self._seen)
            generator = stream(seed, Purpose.TEST_SPLIT, self._runs)
            chosen = np.sort(generator.choice(n_rows, size=n_test, replace=False))
            if n_test:
                test_spool.append(features[chosen], None if targets is None else targets[chosen])
            order = np.delete(order, chosen)
        if self._seed is not None:
            order = stream(self._seed, Purpose.SHUFFLE, 0, self._runs).permutation(order)
        if len(order):
            if len(order) < n_rows or self._seed is not None:
                features = features[order]
                targets = None if targets is None else targets[order]
            if self._fit is not None:
                self._fit.update(features)
            self._spool.append(features, targets)
        self._seen += n_rows
        self._runs += 1


def _narrowest(features: Floats) -> Floats:
    """float32 where that loses nothing: half the room on disk for most tables."""
    if features.dtype == np.float32:
        return features
    with np.errstate(over="ignore", under="ignore"):
        single = features.astype(np.float32)
    return single if np.array_equal(single, features) else features
