"""What a sampler is, and the draws of a block that every process makes alike.

To add one, write a file in this folder with a frozen dataclass that derives from :class:`AbstractSampler`,
gives itself a ``name`` and implements ``uniforms``, or ``gaussians`` if it is for rotation-invariant kernels
only; the contract tests pick it up.

Numbers are made of raw words of Philox (Salmon et al. 2011), which numpy promises never to change, and by
closed forms or rational approximations; ``Generator.normal`` and the like may change between versions of
numpy.
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

#: words that come of one step of Philox's counter
_WORDS = 4
#: stands for the block where a draw belongs to all blocks of a seed
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
    sampler : how uniform and Gaussian numbers are made
    seed, block : which block of which basis
    n_draws : draws of the whole block
    n_input : columns of the rows
    chosen : positions within the block of the draws that are wanted (None for all)
    n_usual : draws of a block before, where this is the last one, which may have fewer; 0: as many
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
        """Draws of all blocks before."""
        return self.block * (self.n_usual or self.n_draws)

    def choose(self, positions: Sequence[int]) -> Draws:
        """The draws of the same block at some positions within it."""
        return replace(self, chosen=tuple(int(position) for position in positions))

    @property
    def positions(self) -> NDArray[np.intp]:
        """Positions within the block of the wanted draws."""
        return np.arange(self.n_draws) if self.chosen is None else np.array(self.chosen, dtype=np.intp)

    def words(self, stream: int, per_draw: int) -> NDArray[np.uint64]:
        """(n_wanted, per_draw) random words of 64 bits, whatever the sampler."""
        key = (self.seed % 2**64, self.block)
        if self.chosen is None:
            return _words(key, stream, 0, self.n_draws * per_draw).reshape(self.n_draws, per_draw)
        parts = [_words(key, stream, position * per_draw, per_draw) for position in self.chosen]
        return np.stack(parts) if parts else np.empty((0, per_draw), dtype=np.uint64)

    def independent(self, stream: int, per_draw: int) -> NDArray[np.float64]:
        """(n_wanted, per_draw) independent uniform numbers inside (0, 1), whatever the sampler."""
        return unit_interval(self.words(stream, per_draw))

    def shared_words(self, stream: int, count: int) -> NDArray[np.uint64]:
        """(count,) random words that all blocks of the seed share."""
        return _words((self.seed % 2**64, _ALL_BLOCKS), stream, 0, count)

    def signs(self, stream: int, per_draw: int) -> NDArray[np.float64]:
        """(n_wanted, per_draw) independent -1 or 1, one bit each."""
        words = self.words(stream, -(-per_draw // 64))
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        return np.where(bits[:, :per_draw] == 1, 1.0, -1.0)

    def uniforms(self, per_draw: int) -> NDArray[np.float64]:
        """(n_wanted, per_draw) numbers inside (0, 1) as the sampler makes them."""
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
    #: bytes for each number of a block while the block is made
    number_bytes: ClassVar[int] = 24
    #: a draw costs the same without the others of its block
    has_single_draws: ClassVar[bool] = False

    def row_bytes(self, n_input: int) -> int:
        """Bytes that a row of a tile takes beside its features and what every sampler takes."""
        return 0

    def block_draws(self, n_input: int) -> int:
        """Draws of a block unless the user says otherwise: a power of two, of n_input alone.

        As many as give wide matrix products, but with frequencies of at most 2^21 numbers or so.
        """
        return 1 << min(max((_BLOCK_NUMBERS // max(n_input, 1)).bit_length() - 1, 5), 9)

    @abstractmethod
    def uniforms(self, draws: Draws, per_draw: int) -> NDArray[np.float64]:
        """(n_wanted, per_draw) numbers, each uniform inside (0, 1) by itself.

        Raises
        ------
        InputError
            If the sampler has none.
        """

    def gaussians(self, draws: Draws, n_extra: int = 0) -> tuple[AbstractFrequencies, NDArray[np.float64]]:
        """Frequencies, each standard normal in n_input dimensions by itself, and further normal numbers.

        Returns
        -------
        frequencies : of the wanted draws
        extra : (n_wanted, n_extra) standard normal, independent of the frequencies
        """
        normals = normal_quantiles(self.uniforms(draws, draws.n_input + n_extra))
        return DenseFrequencies(normals[:, : draws.n_input].T), normals[:, draws.n_input :]


def radial_only(name: str) -> InputError:
    """The error of a sampler that draws directions, for a kernel that asks for single coordinates."""
    return InputError(
        f"sampler {name} is for kernels that rotations leave as they are (rbf, matern, arc_cosine)",
        where="sampler",
        hint="use monte_carlo or quasi_monte_carlo",
    )


def unit_interval(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Uniform numbers inside (0, 1), (floor(word / 2^11) + 1/2) 2^-53; the words are overwritten."""
    words >>= np.uint64(11)
    numbers = words.astype(np.float64)
    numbers += 0.5
    numbers *= 2.0**-53
    return numbers


def _words(key: tuple[int, int], stream: int, start: int, count: int) -> NDArray[np.uint64]:
    """Words ``start`` to ``start + count`` of a stream."""
    counter = [start // _WORDS, 0, 0, stream]
    bits = np.random.Philox(counter=np.array(counter, np.uint64), key=np.array(key, np.uint64))
    skipped = start % _WORDS
    return np.asarray(bits.random_raw(skipped + count))[skipped:]


def monte_carlo_only(draws: Draws, kernel: str) -> None:
    """Refuse another sampler for a kernel that draws signs or buckets, which no sampler spreads better.

    Raises
    ------
    InputError
        If it is another one.
    """
    if draws.sampler.name != "monte_carlo":
        raise InputError(
            f"sampler {draws.sampler.name} is not for kernel {kernel}, which draws no real numbers",
            where="sampler",
            hint="use monte_carlo",
        )
