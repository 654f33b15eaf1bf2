"""The delta-coverage coreset: online hyperballs."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Block
from distkern.maths.landmarks._cover import EXACT_ROWS, scanner_for, tile_rows, uncovered_tiles
from distkern.maths.landmarks.base import AbstractLandmarkRule, RowLayout, sample_outline, sample_rows, stack
from distkern.passes import Cost, Outline, Pass, Reduce

_FIRST_WAVE_ROWS = 4096
_LARGEST_WAVE_BLOCKS = 64
_MOST_CANDIDATES = 4096
_CEILING = 100_000
_SWEEPS = 8
#: share of ``n_landmarks`` at which a coverage is fine enough
_FULL = 0.85


@dataclass(frozen=True)
class Coverage(AbstractLandmarkRule):
    """Landmarks of a sequential scan: a row farther than diameter/2 from all earlier landmarks becomes one.

    Tan et al. 2019, Definitions 1 and 2 and Remark 1 (online, as in Le et al. 2017, with Euclidean balls).
    The scan runs in waves: workers drop the rows covered by landmarks of earlier waves, and the driver scans
    the rest in order with float64 distances. Rows covered by earlier landmarks are covered in the sequential
    scan too, so the result does not depend on the waves.

    Parameters
    ----------
    n_landmarks : int, optional
        Upper bound of the number of landmarks: the diameter is found by bisection on a sample, then corrected
        until a sweep over all rows yields at most this many.
    diameter : float >= 0, optional
        Diameter of the balls; 0 keeps every distinct row.
    """

    name = "coverage"

    def __post_init__(self) -> None:
        if (self.n_landmarks is None) == (self.diameter is None):
            raise InputError(
                "coverage landmarks need either n_landmarks or diameter",
                where="landmarks",
                hint="set diameter and n_landmarks=None, or only n_landmarks",
            )

    def choose(self, layout: RowLayout) -> Generator[Pass, Any, Rows]:
        if self.diameter is not None:
            found = yield from _sweep(layout, self.diameter / 2, _CEILING)
            if found is None:
                raise InputError(
                    f"diameter {self.diameter:g} needs more than {_CEILING:,} landmarks",
                    where="diameter",
                    hint="use a larger diameter, or set n_landmarks instead",
                )
            return found
        assert self.n_landmarks is not None
        if self.n_landmarks >= layout.n_rows:
            everything = yield from _sweep(layout, 0.0, layout.n_rows)
            assert everything is not None
            return everything
        return (yield from self._search(layout, self.n_landmarks))

    def _search(self, layout: RowLayout, n_landmarks: int) -> Generator[Pass, Any, Rows]:
        """Find a fine coverage with at most n_landmarks in a few sweeps: bisect on a sample, then correct."""
        sample = yield from sample_rows(layout, _sample_size(layout, n_landmarks))
        radius = _radius_for(sample, n_landmarks, layout.n_rows)
        smallest = 1e-6 * _farthest(sample, from_origin=True) or 1.0
        best: Rows | None = None
        too_small, large_enough = 0.0, math.inf
        n_sweeps = failures = 0
        while best is None or n_sweeps < _SWEEPS:
            found = yield from _sweep(layout, radius, n_landmarks)
            n_sweeps += 1
            if found is None:
                too_small = radius
                if math.isinf(large_enough):
                    # accelerate, since a sample of equal rows does not represent the others
                    radius = max(radius, smallest) * 1.05 ** min(2**failures, 256)
                    failures += 1
                else:
                    radius = (too_small + large_enough) / 2
                continue
            no_finer = best is not None and len(found) <= len(best)
            if best is None or len(found) > len(best):
                best, large_enough = found, radius
            if no_finer or len(found) >= _FULL * n_landmarks or radius <= too_small:
                break
            finer = radius * max(0.9, len(found) / n_landmarks)
            radius = finer if finer > too_small else (radius + too_small) / 2
        return best

    def outline(self, layout: RowLayout) -> list[Outline]:
        cost = _sweep_cost(layout, self.expected_size(layout))
        # with n_landmarks two to four sweeps over the rows were measured
        n_sweeps = 1.0 if self.n_landmarks is None else 3.0
        sweeps = Outline(Reduce("coverage", _uncovered, _UncoveredRows.join, cost=cost), n_sweeps)
        if self.n_landmarks is None or self.n_landmarks >= layout.n_rows:
            return [sweeps]
        n_sample = _sample_size(layout, self.n_landmarks)
        # a second copy of half of the sample, and its landmarks
        driver_bytes = (n_sample // 2 + self.n_landmarks) * layout.row_bytes + layout.comparing_bytes
        return [sample_outline(layout, n_sample, driver_bytes=driver_bytes), sweeps]

    def expected_size(self, layout: RowLayout) -> int:
        return min(self.n_landmarks or _CEILING, layout.n_rows)


@dataclass(frozen=True)
class _Cover:
    """The operand of workers that drop covered rows."""

    landmarks: Rows
    squared_radius: float
    first_row: int
    end_row: int
    offsets: NDArray[np.int64]


@dataclass(frozen=True)
class _UncoveredRows:
    """Rows that may be uncovered, and their numbers in the data, in order.

    There are at most ``_MOST_CANDIDATES``, to bound the result: all candidates before ``end`` are included,
    and the next wave starts there.
    """

    rows: Rows
    numbers: NDArray[np.int64]
    end: int
    is_cut: bool = False

    def limited(self) -> _UncoveredRows:
        if len(self.rows) <= _MOST_CANDIDATES:
            return self
        kept = slice(0, _MOST_CANDIDATES)
        return _UncoveredRows(self.rows[kept], self.numbers[kept], int(self.numbers[_MOST_CANDIDATES]), True)

    @staticmethod
    def join(first: _UncoveredRows, second: _UncoveredRows) -> _UncoveredRows:
        """The rows of ``first``, then the rows of ``second``."""
        if first.is_cut:
            return first
        rows, numbers = stack(first.rows, second.rows), np.concatenate([first.numbers, second.numbers])
        return _UncoveredRows(rows, numbers, second.end, second.is_cut).limited()


def _sample_size(layout: RowLayout, n_landmarks: int) -> int:
    """Rows of the sample from which the radius is estimated."""
    numbers = n_landmarks * layout.row_bytes // layout.dtype.itemsize
    return max(int(np.clip(400_000_000 // numbers, 2_000, 20_000)), 4 * n_landmarks)


def _uncovered(block: Block, cover: _Cover) -> _UncoveredRows:
    """Return the block's rows in the wave that the landmarks do not cover."""
    start = int(cover.offsets[block.index])
    first, end = max(cover.first_row - start, 0), min(cover.end_row - start, block.n_rows)
    features = block.features[first:end]
    if len(cover.landmarks) == 0:
        numbers = np.arange(start + first, start + end)
        return _UncoveredRows(features.copy(), numbers, start + end).limited()
    kept: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    n_kept = 0
    for rows, tile_kept in uncovered_tiles(features, cover.landmarks, cover.squared_radius):
        kept.append(tile_kept + rows.start)
        n_kept += len(tile_kept)
        if n_kept > _MOST_CANDIDATES:
            break
    inside = np.concatenate(kept)
    return _UncoveredRows(features[inside], inside + start + first, start + end).limited()


def _sweep(layout: RowLayout, radius: float, limit: int) -> Generator[Pass, Any, Rows | None]:
    """Return the coverage of radius ``radius``, or None once it exceeds ``limit`` landmarks."""
    scanner = scanner_for(layout, radius, limit)
    offsets = layout.offsets
    first_row, wave_rows = 0, _FIRST_WAVE_ROWS
    largest_wave = max(_LARGEST_WAVE_BLOCKS * layout.most_rows, _FIRST_WAVE_ROWS)
    while first_row < layout.n_rows:
        end_row = min(first_row + wave_rows, layout.n_rows)
        blocks = range(
            int(np.searchsorted(offsets, first_row, side="right")) - 1,
            int(np.searchsorted(offsets, end_row, side="left")),
        )
        cover = _Cover(scanner.found, radius**2, first_row, end_row, offsets)
        candidates: _UncoveredRows = yield Reduce(
            "coverage",
            _uncovered,
            _UncoveredRows.join,
            cover,
            blocks=tuple(blocks),
            cost=_sweep_cost(layout, max(len(cover.landmarks), 1)),
        )
        if not scanner.scan(candidates.rows):
            return None
        first_row = candidates.end
        wave_rows = wave_rows // 2 if candidates.is_cut else 2 * wave_rows
        wave_rows = min(max(wave_rows, _FIRST_WAVE_ROWS), largest_wave)
    return scanner.found


def _sweep_cost(layout: RowLayout, size: int) -> Cost:
    row_bytes, itemsize = layout.row_bytes, layout.dtype.itemsize
    numbers = 1 if layout.is_sparse else layout.n_features
    rows = min(tile_rows(size, itemsize, numbers), layout.most_rows)
    cost = Cost(
        total_result_bytes=layout.n_rows * (row_bytes + 8),
        operations=2.0 * size * row_bytes / itemsize,
        compiled=layout.is_sparse,
        driver_compiled=True,
    )
    return cost.holding(
        task={
            "scores": (rows, size, itemsize),
            "shifted rows, for scores and norms": (2, rows, row_bytes),
            "some in double precision": (6, EXACT_ROWS, row_bytes),
            "landmarks in two forms": (2, size, row_bytes),
            "comparing": (layout.comparing_bytes,),
        },
        result={"candidates": (min(_MOST_CANDIDATES, layout.n_rows), row_bytes + 8)},
    )


def _count(sample: Rows, radius: float, limit: int) -> int:
    sparse_numbers = 0 if isinstance(sample, SparseRows) else None
    layout = RowLayout((len(sample),), sample.shape[1], sample.dtype, 0, sparse_numbers)
    scanner = scanner_for(layout, radius, limit)
    return scanner.size if scanner.scan(sample) else limit + 1


def _radius_for(sample: Rows, n_landmarks: int, n_rows: int) -> float:
    """Estimate from a sample the smallest radius whose coverage of all rows has at most n_landmarks.

    The number of landmarks grows with a power of the number of rows, estimated from half of the sample.
    """
    high = _farthest(sample)
    low = 0.0
    growth = math.log2(max(n_rows / len(sample), 1.0))
    for _ in range(16):
        radius = (low + high) / 2
        whole = _count(sample, radius, n_landmarks)
        fits = whole <= n_landmarks
        if fits and growth > 0:
            exponent = math.log2(whole / max(_count(sample[::2], radius, n_landmarks), 1))
            fits = whole * 2.0 ** (growth * min(max(exponent, 0.0), 1.0)) <= 0.97 * n_landmarks
        low, high = (low, radius) if fits else (radius, high)
    return high


def _farthest(sample: Rows, *, from_origin: bool = False) -> float:
    """An upper bound on the distance of two rows, or of a row from the origin."""
    if isinstance(sample, SparseRows):
        return (1.0 if from_origin else 2.0) * float(sample.norms().max(initial=0.0))
    low, high = sample.min(axis=0).astype(np.float64), sample.max(axis=0)
    return float(np.linalg.norm(np.maximum(-low, high) if from_origin else high - low))
