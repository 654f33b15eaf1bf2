"""Random features of a kernel, regenerated from a seed wherever needed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from zict import LRU

from distkern.core.errors import InputError, unknown_name
from distkern.core.processes import new_lock
from distkern.core.sparse import Rows, SparseRows
from distkern.core.tiles import copied, scratch
from distkern.core.types import Floats, Indices
from distkern.maths.bases.base import STRIP_ROWS, AbstractBasis, SlopesAt, Tile, multiply, tile_is_large
from distkern.maths.kernels.base import AbstractKernel, require
from distkern.maths.kernels.features import AbstractFeatureBlock, AbstractFeatureKernel
from distkern.maths.samplers import AbstractSampler, Draws, find_sampler

#: a block is a function of kernel, draws and dtype
Key: TypeAlias = tuple[AbstractKernel, Draws, str]

#: bytes of cached blocks in a process
KEPT_BYTES = 64 * 2**20
#: memory of scipy.sparse in a process, for sparse products
_SPARSE_BYTES = 28 * 2**20
_PROBE_ROWS = 4
_PROBE_COLUMNS = 32
_NORMALIZATIONS = ("basis", "block")


class KeptBlocks:
    """Caches up to ``n_bytes`` of recently used blocks, but not all blocks of a larger basis.

    Passes cycle over the blocks of a basis, so the least recently used one is needed next. If the cache is
    full, a new block replaces the last cached one of its basis, or the oldest one of another basis. A block
    larger than ``n_bytes`` is not cached.
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        self._lock = new_lock()
        self._blocks: LRU[Key, AbstractFeatureBlock] = LRU(n_bytes, {}, weight=lambda _, block: block.nbytes)
        self._newest: Key | None = None

    def get(self, key: Key) -> AbstractFeatureBlock | None:
        """The cached block, or None."""
        with self._lock:
            return self._blocks.get(key)

    def keep(self, key: Key, block: AbstractFeatureBlock) -> None:
        """Cache a block."""
        with self._lock:
            oldest = next(iter(self._blocks.order), None)
            is_full = self.nbytes + block.nbytes > self.n_bytes
            if is_full and oldest is not None and _basis_of(oldest) == _basis_of(key):
                assert self._newest is not None
                self._blocks.pop(self._newest, None)
            self._blocks[key] = block
            self._newest = key

    def clear(self) -> None:
        """Drop all blocks."""
        with self._lock:
            self._blocks.clear()
            self._newest = None

    @property
    def nbytes(self) -> int:
        """Bytes of all cached blocks."""
        return int(self._blocks.total_weight)

    def __len__(self) -> int:
        return len(self._blocks)


def _basis_of(key: Key) -> tuple[object, ...]:
    kernel, draws, dtype = key
    return kernel, draws.sampler, draws.seed, draws.n_input, dtype


blocks = KeptBlocks(KEPT_BYTES)


class RandomFeatureBasis(AbstractBasis):
    """z(x) with n_features columns and E[z(x) . z(y)] = k(x, y), in blocks that depend on their number.

    Nothing is stored: block j is regenerated from (seed, j), and each process caches up to 64 MiB of blocks.
    The bits depend only on seed, block, width of the block, kernel and n_input.

    Parameters
    ----------
    kernel : a kernel with random features
    n_input : columns of the rows
    n_features : r; even for kernels with paired features
    seed : seed of all draws, 0 to 2^64 - 1
    sampler : the sampler of the draws, or its name
    dtype : dtype of the features; rows of the other precision are converted a tile at a time
    block_size : columns of a block (the last may be narrower); by default the sampler's ``block_draws``
    normalize : "basis": the products of all r features estimate the kernel, and |z(x)|^2 = k(x, x) exactly
        for paired features. "block": the features of each block do, for a growing basis.
    sparse_rows : whether rows will be sparse, to count the memory of SciPy's product; either form works

    Raises
    ------
    InputError
        If the kernel has no random features, the sampler does not suit it, or a number is out of range.
    """

    is_wide = True

    def __init__(
        self,
        kernel: AbstractKernel,
        n_input: int,
        n_features: int,
        seed: int,
        sampler: AbstractSampler | str = "monte_carlo",
        dtype: DTypeLike = np.float32,
        block_size: int | None = None,
        *,
        normalize: str = "basis",
        sparse_rows: bool = False,
    ) -> None:
        self.kernel = require(kernel, AbstractFeatureKernel)  # type: ignore[type-abstract]
        self.sampler = find_sampler(sampler) if isinstance(sampler, str) else sampler
        self.n_input, self.seed = int(n_input), int(seed)
        per_draw = self.kernel.columns_per_draw
        if block_size is None:
            block_size = per_draw * self.sampler.block_draws(self.n_input)
        for name, value in (("n_features", n_features), ("block_size", block_size)):
            if value < 1 or value % per_draw:
                kind = "a positive number" if per_draw == 1 else "a positive even number"
                raise InputError(
                    f"must be {kind} for kernel {kernel.name}, got {value}",
                    where=name,
                    hint=f"use {max(value + value % per_draw, per_draw)}",
                )
        if normalize not in _NORMALIZATIONS:
            raise unknown_name("normalization", normalize, _NORMALIZATIONS)
        self.block_size = min(int(block_size), int(n_features))
        self.normalize, self.sparse_rows = normalize, sparse_rows
        self._size, self._dtype = int(n_features), np.dtype(dtype)
        # refuse an unsuitable sampler here instead of on a worker
        self.kernel.feature_block(Draws(self.sampler, self.seed, 0, 1, self.n_input), np.float64)

    @property
    def size(self) -> int:
        return self._size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def n_blocks(self) -> int:
        """Number of blocks; the last may be narrower."""
        return -(-self._size // self.block_size)

    def strip_rows(self, n_outputs: int) -> int:
        return STRIP_ROWS

    def in_blocks(self, width: int) -> RandomFeatureBasis:
        """The basis with as many features in blocks of ``width`` columns, pairs together, from other draws.

        Returns this basis if its blocks are as narrow, or if a sampler draws them as a whole.
        """
        per_draw = self.kernel.columns_per_draw
        width = max(per_draw, width - width % per_draw)
        if width >= self.block_size or self.kernel.whole_blocks or not self.sampler.has_single_draws:
            return self
        return RandomFeatureBasis(
            self.kernel,
            self.n_input,
            self._size,
            self.seed,
            self.sampler,
            self._dtype,
            width,
            normalize=self.normalize,
            sparse_rows=self.sparse_rows,
        )

    @property
    def by_blocks(self) -> bool:
        """Whether a tile of all features is too large, so that blocks are evaluated one by one, twice."""
        return tile_is_large(self.size, self.dtype.itemsize)

    def columns_of(self, block: int) -> slice:
        """The columns of a block in the basis."""
        start = block * self.block_size
        return slice(start, min(start + self.block_size, self._size))

    @property
    def loads_library(self) -> bool:
        """Whether drawing or saving features loads SciPy's statistics."""
        return self.sampler.process_bytes > 0

    @property
    def process_bytes(self) -> int:
        numbers = self.n_input * self.block_size // self.kernel.columns_per_draw
        per_process = self.sampler.process_bytes + (_SPARSE_BYTES if self.sparse_rows else 0)
        # a block is drawn in float64, from words and uniform numbers, beside the cached blocks
        return (
            per_process + min(KEPT_BYTES, 8 * self.n_blocks * numbers) + self.sampler.number_bytes * numbers
        )

    def workspace_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        number, column = self.kernel.tile_bytes
        itemsize = self.dtype.itemsize
        # the rows in the other precision, and the temporaries of kernel and sampler
        tile = 2 * self.size * itemsize + column * self.block_size + (number + itemsize) * row_numbers
        return (n_rows or self.tile_rows) * (tile + self.sampler.row_bytes(self.n_input))

    def combining_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        # a tile of one block at a time
        spared = 2 * (self.size - self.block_size) * self.dtype.itemsize
        return self.workspace_bytes(row_numbers, n_rows) - (n_rows or self.tile_rows) * spared

    # -- values

    def fill(self, features: Rows, values: Floats) -> None:
        for block in range(self.n_blocks):
            self.fill_block(features, block, values[:, self.columns_of(block)])

    def fill_block(self, features: Rows, block: int, values: Floats) -> None:
        """Write one block of one tile of rows into ``values`` (n_rows, columns of the block).

        Raises
        ------
        InputError
            If the kernel is not defined for a row (numbered from 0 within the tile).
        """
        self.kernel.check_domain(features)
        self._kept(block).fill(self._narrowed(features), values, self._scale(block))

    def values(self, features: Rows) -> Floats:
        """z(X), (n_rows, size), with the bits of :meth:`fill` but each block drawn once. Mind its size."""
        values = np.empty((features.shape[0], self.size), dtype=self.dtype)
        for block in range(self.n_blocks):
            for rows, tile in self.block_tiles(features, block):
                values[rows, self.columns_of(block)] = tile
        return values

    def block_tiles(
        self, features: Rows, block: int, tile_rows: int | None = None
    ) -> Iterator[tuple[slice, Floats]]:
        """Yield rows and values of all tiles of one block; each overwrites the last."""
        columns = self.columns_of(block)
        width, tile_rows = columns.stop - columns.start, tile_rows or self.tile_rows
        scale, members = self._scale(block), self._kept(block)
        for start in range(0, features.shape[0], tile_rows):
            rows = slice(start, min(start + tile_rows, features.shape[0]))
            tile = features[rows]
            if block == 0:
                self.kernel.check_domain(tile, first_row=start)
            values: Floats = scratch("feature tile", (rows.stop - start, width), self.dtype)
            members.fill(self._narrowed(tile), values, scale)
            yield rows, values

    def column_tiles(self, features: Rows, runs: Sequence[slice]) -> Iterator[tuple[int, Tile]]:
        """Yield tiles as in the base class; a block that a run cuts makes only the draws of its part."""
        for number, run in enumerate(runs):
            parts = []
            for block in range(run.start // self.block_size, -(-run.stop // self.block_size)):
                own = self.columns_of(block)
                start, stop = max(own.start, run.start), min(own.stop, run.stop)
                members, places = self._some(block, np.arange(start, stop) - own.start)
                parts.append(
                    (slice(start - run.start, stop - run.start), members, places, self._scale(block))
                )
            for start in range(0, features.shape[0], self.tile_rows):
                tile = features[start : start + self.tile_rows]
                self.kernel.check_domain(tile, first_row=start)
                narrowed = self._narrowed(tile)
                shape = (tile.shape[0], run.stop - run.start)
                values: Floats = scratch("feature columns of a run", shape, self.dtype)
                for into, members, places, scale in parts:
                    if np.array_equal(places, np.arange(members.n_columns)):
                        members.fill(narrowed, values[:, into], scale)
                        continue
                    part: Floats = scratch("feature columns", (len(values), members.n_columns), self.dtype)
                    members.fill(narrowed, part, scale)
                    values[:, into] = part[:, places]
                yield number, Tile(slice(start, start + len(values)), values)

    def combine(self, features: Rows, coefficients: Floats) -> Floats:
        """f = z(X) coef, (n_rows, n_outputs), for coefficients (size, n_outputs) or of the first blocks.

        Blocks are evaluated one by one, and tile by tile, so that each block is drawn once and at most a tile
        of its features exists, whatever the size of the basis.
        """
        narrow = np.asarray(coefficients, dtype=self.dtype)
        totals = np.zeros((features.shape[0], coefficients.shape[1]), dtype=self.dtype)
        for block in range(-(-len(narrow) // self.block_size)):
            part = narrow[self.columns_of(block)]
            for rows, values in self.block_tiles(features, block):
                share: Floats = scratch("feature share", (len(values), part.shape[1]), self.dtype)
                multiply(values, part, share)
                totals[rows] += share
        return totals

    def transposed(self, features: Rows, weights: Floats) -> NDArray[np.float64]:
        """z(X)' weights, (size, n_outputs) for weights (n_rows, n_outputs); summed over tiles in float64."""
        narrow = np.asarray(weights, dtype=self.dtype)
        totals = np.zeros((self.size, weights.shape[1]))
        for block in range(self.n_blocks):
            total = totals[self.columns_of(block)]
            for rows, values in self.block_tiles(features, block):
                total += values.T @ narrow[rows]
        return totals

    def gradient(
        self, features: Rows, coefficients: Floats, slopes: SlopesAt, n_slopes: int | None = None
    ) -> NDArray[np.float64]:
        if not self.by_blocks:
            return super().gradient(features, coefficients, slopes, n_slopes)
        total = np.zeros((self.size, n_slopes or coefficients.shape[1]))
        for start in range(0, features.shape[0], STRIP_ROWS):
            rows = slice(start, min(start + STRIP_ROWS, features.shape[0]))
            strip = features[rows]
            total += self.transposed(strip, slopes(rows, self.combine(strip, coefficients)))
        return total

    def row_squares(self, features: Rows) -> NDArray[np.float64]:
        found = np.zeros(features.shape[0])
        for block in range(self.n_blocks):
            for rows, values in self.block_tiles(features, block):
                found[rows] += np.einsum("ij,ij->i", values, values)
        return found

    def columns(self, features: Rows, columns: Indices) -> Floats:
        """Single features, (n_columns, n_rows), in the order of ``columns``.

        Blocks that are not cached make only the needed draws if the sampler can.
        """
        numbers = np.asarray(columns)
        values = np.empty((numbers.size, features.shape[0]), dtype=self.dtype)
        for block in np.unique(numbers // self.block_size).tolist():
            wanted = np.flatnonzero(numbers // self.block_size == block)
            members, places = self._some(block, numbers[wanted] - block * self.block_size)
            scale, tile_rows = self._scale(block), self.tile_rows
            for start in range(0, features.shape[0], tile_rows):
                tile = features[start : start + tile_rows]
                self.kernel.check_domain(tile, first_row=start)
                part: Floats = scratch("feature columns", (tile.shape[0], members.n_columns), self.dtype)
                members.fill(self._narrowed(tile), part, scale)
                values[wanted, start : start + tile.shape[0]] = part[:, places].T
        return values

    # -- identity

    def digest(self) -> str:
        """16 hexadecimal digits of the first features at fixed rows, stored with a model.

        They change when a draw does, for instance with the version of a library, but not with the last bits
        of numbers: features are computed in float64 and rounded to 6 places.
        """
        count = min(self.size, _PROBE_COLUMNS)
        twin = RandomFeatureBasis(
            self.kernel,
            self.n_input,
            self.size,
            self.seed,
            self.sampler,
            np.float64,
            self.block_size,
            normalize=self.normalize,
        )
        steps = np.arange(_PROBE_ROWS * self.n_input, dtype=np.float64)
        # golden ratio steps in (0, 1): valid for every kernel, and different for every column
        rows = np.modf((steps + 1.0) * 0.6180339887498949)[0].reshape(_PROBE_ROWS, self.n_input)
        values = twin.columns(rows, np.arange(count))
        # adding 0 turns -0 into 0
        rounded = np.round(values, 6) + 0.0
        return hashlib.blake2b(rounded.astype("<f8").tobytes(), digest_size=8).hexdigest()

    # -- blocks

    def block(self, number: int) -> tuple[AbstractFeatureBlock, float]:
        """A block of features and the scale of its values in this basis."""
        return self._kept(number), self._scale(number)

    def _scale(self, block: int) -> float:
        columns = self.columns_of(block)
        return (
            1.0 if self.normalize == "block" else float(((columns.stop - columns.start) / self._size) ** 0.5)
        )

    def _draws(self, block: int) -> Draws:
        columns = self.columns_of(block)
        n_draws = (columns.stop - columns.start) // self.kernel.columns_per_draw
        usual = self.block_size // self.kernel.columns_per_draw
        n_usual = 0 if n_draws == usual else usual
        return Draws(self.sampler, self.seed, block, n_draws, self.n_input, n_usual=n_usual)

    def _kept(self, block: int) -> AbstractFeatureBlock:
        draws = self._draws(block)
        key = (self.kernel, draws, self.dtype.str)
        found = blocks.get(key)
        if found is None:
            # two threads may draw the same block, with equal results
            found = self.kernel.feature_block(draws, self.dtype)
            blocks.keep(key, found)
        return found

    def _some(self, block: int, places: NDArray[Any]) -> tuple[AbstractFeatureBlock, NDArray[Any]]:
        """Features that include those at some places of a block, and their places among them."""
        draws = self._draws(block)
        if self.kernel.whole_blocks:
            return self._kept(block), places
        chosen, among = np.unique(places % draws.n_draws, return_inverse=True)
        among = among + len(chosen) * (places // draws.n_draws)
        if len(chosen) == draws.n_draws:
            return self._kept(block), places
        if self.sampler.has_single_draws and blocks.get((self.kernel, draws, self.dtype.str)) is None:
            return self.kernel.feature_block(draws.choose(chosen.tolist()), self.dtype), among
        return self._kept(block).take(chosen), among

    def _narrowed(self, features: Rows) -> Rows:
        """A tile of rows in the dtype of the basis."""
        if features.shape[1] != self.n_input:
            raise InputError(
                f"X has {features.shape[1]} features, but the basis has {self.n_input}", where="X"
            )
        if features.dtype == self.dtype:
            return features
        if isinstance(features, SparseRows):
            return features.astype(self.dtype)
        tile: Floats = scratch("narrowed rows", features.shape, self.dtype)
        copied(features, into=tile)
        return tile
