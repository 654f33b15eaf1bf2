"""The base class of samplers, and the draws of a block, which are equal in every process.

To add a sampler, write a file in this folder with a frozen dataclass that derives from
:class:`AbstractSampler`, has a ``name`` and implements ``uniforms``, or only ``gaussians`` for
rotation-invariant kernels; the contract tests find it.

Numbers are computed from raw words of Philox (Salmon et al. 2011), which numpy promises never to change, by
closed forms or rational approximations; ``Generator.normal`` and others may change between versions of numpy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.maths.samplers.frequencies import AbstractFrequencies, DenseFrequencies
from distkern.maths.samplers.normal import normal_quantiles

#: words of one step of Philox's counter
_WORDS = 4
#: replaces the block for draws shared by all blocks of a seed
_ALL_BLOCKS = 2**64 - 1
_BLOCK_NUMBERS = 2**21


class CounterStream(IntEnum):
    """Independent words of the same draw: the high word of the counter."""

    POINTS = 0
    RADII = 1
    DEGREES = 2
    BUCKETS = 3
    SIGNS = 4
    SCRAMBLE = 5
    COLUMNS = 6
    #: this and all later ones: the factors of a product, one stream each
    FACTORS = 64


@dataclass(frozen=True)
class Draws:
    """Some draws of one block of random features: a pure function of its fields.

    Attributes
    ----------
    sampler : makes uniform and Gaussian numbers
    seed, block : identify the block
    n_draws : draws of the whole block
    n_input : columns of the rows
    chosen : positions of the selected draws within the block (None for all)
    n_usual : draws of earlier blocks, if this is the last one, which may be smaller; 0 for ``n_draws``
    """

    sampler: AbstractSampler
    seed: int
    block: int
    n_draws: int
    n_input: int
    chosen: tuple[int, ...] | None = None
    n_usual: int = 0

    @property
    def n_before(self) -> int:
        """Draws of all earlier blocks."""
        return self.block * (self.n_usual or self.n_draws)

    def choose(self, positions: Sequence[int]) -> Draws:
        """Select the draws at some positions of the block."""
        return replace(self, chosen=tuple(int(position) for position in positions))

    @property
    def positions(self) -> NDArray[np.intp]:
        """Positions of the selected draws within the block."""
        return np.arange(self.n_draws) if self.chosen is None else np.array(self.chosen, dtype=np.intp)

    def words(self, stream: int, per_draw: int) -> NDArray[np.uint64]:
        """(n_chosen, per_draw) random words of 64 bits, for any sampler."""
        key = (self.seed % 2**64, self.block)
        if self.chosen is None:
            return _words(key, stream, 0, self.n_draws * per_draw).reshape(self.n_draws, per_draw)
        parts = [_words(key, stream, position * per_draw, per_draw) for position in self.chosen]
        return np.stack(parts) if parts else np.empty((0, per_draw), dtype=np.uint64)

    def independent(self, stream: int, per_draw: int) -> NDArray[np.float64]:
        """(n_chosen, per_draw) independent uniform numbers inside (0, 1), for any sampler."""
        return unit_interval(self.words(stream, per_draw))

    def shared_word(self, stream: int) -> int:
        """A random word shared by all blocks of the seed."""
        return int(_words((self.seed % 2**64, _ALL_BLOCKS), stream, 0, 1)[0])

    def signs(self, stream: int, per_draw: int) -> NDArray[np.float64]:
        """(n_chosen, per_draw) independent -1 or 1, one bit each."""
        words = self.words(stream, -(-per_draw // 64))
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        return np.where(bits[:, :per_draw] == 1, 1.0, -1.0)

    def uniforms(self, per_draw: int) -> NDArray[np.float64]:
        """(n_chosen, per_draw) numbers inside (0, 1) by the sampler."""
        return self.sampler.uniforms(self, per_draw)

    def gaussians(self, n_extra: int = 0) -> tuple[AbstractFrequencies, NDArray[np.float64]]:
        """Standard normal frequencies, see :meth:`AbstractSampler.gaussians`."""
        return self.sampler.gaussians(self, n_extra)


@dataclass(frozen=True)
class AbstractSampler(ABC):
    """Makes the numbers for draws of random features."""

    name: ClassVar[str]
    #: bytes that a process loads to use it
    process_bytes: ClassVar[int] = 0
    #: bytes for each number of a block while it is drawn
    number_bytes: ClassVar[int] = 24
    #: whether a draw costs the same without the others of its block
    has_single_draws: ClassVar[bool] = False

    def row_bytes(self, n_input: int) -> int:
        """Additional bytes of a row of a tile for this sampler."""
        return 0

    def block_draws(self, n_input: int) -> int:
        """Default number of draws in a block: a power of two that depends on n_input alone.

        It gives wide matrix products, with frequencies of at most about 2^21 numbers.
        """
        return 1 << min(max((_BLOCK_NUMBERS // max(n_input, 1)).bit_length() - 1, 5), 9)

    @abstractmethod
    def uniforms(self, draws: Draws, per_draw: int) -> NDArray[np.float64]:
        """(n_chosen, per_draw) numbers, each marginally uniform inside (0, 1).

        Raises
        ------
        InputError
            If the sampler does not support it.
        """

    def gaussians(self, draws: Draws, n_extra: int = 0) -> tuple[AbstractFrequencies, NDArray[np.float64]]:
        """Return frequencies, each marginally standard normal in n_input dimensions, and extra normals.

        Returns
        -------
        frequencies : of the selected draws
        extra : (n_chosen, n_extra) standard normal, independent of the frequencies
        """
        normals = normal_quantiles(self.uniforms(draws, draws.n_input + n_extra))
        return DenseFrequencies(normals[:, : draws.n_input].T), normals[:, draws.n_input :]


def radial_only(name: str) -> InputError:
    """Return the error of a sampler of directions, for a kernel that needs single coordinates."""
    return InputError(
        f"sampler {name} supports only rotation-invariant kernels (rbf, matern, arc_cosine)",
        where="sampler",
        hint="use monte_carlo or quasi_monte_carlo",
    )


def unit_interval(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return (floor(word / 2^11) + 1/2) 2^-53, inside (0, 1); the words are overwritten."""
    words >>= np.uint64(11)
    numbers = words.astype(np.float64)
    numbers += 0.5
    numbers *= 2.0**-53
    return numbers


def _words(key: tuple[int, int], stream: int, start: int, count: int) -> NDArray[np.uint64]:
    """Return words ``start`` to ``start + count`` of a stream."""
    counter = [start // _WORDS, 0, 0, stream]
    bits = np.random.Philox(counter=np.array(counter, np.uint64), key=np.array(key, np.uint64))
    skipped = start % _WORDS
    return np.asarray(bits.random_raw(skipped + count))[skipped:]


def monte_carlo_only(draws: Draws, kernel: str) -> None:
    """Refuse other samplers for kernels that draw signs or buckets, which no sampler improves.

    Raises
    ------
    InputError
        If it is another sampler.
    """
    if draws.sampler.name != "monte_carlo":
        raise InputError(
            f"sampler {draws.sampler.name} does not support kernel {kernel}, which draws no real numbers",
            where="sampler",
            hint="use monte_carlo",
        )
