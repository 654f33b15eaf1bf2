"""Tiles of kernels that are not functions of a distance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.tiles import matmul, scratch, squared_lengths
from distkern.common.types import Floats
from distkern.kernels.base import AbstractPrepared, AbstractTileKernel


@dataclass(frozen=True)
class ClosedFormScores(AbstractPrepared):
    """The kernel values themselves, by the closed form in float64."""

    kernel: AbstractTileKernel
    landmarks: NDArray[np.float64]

    def scores(self, features: Floats, out: Floats) -> None:
        out[...] = self.kernel.closed_form(features.astype(np.float64), self.landmarks)


@dataclass(frozen=True)
class AbstractClosedFormTiles(AbstractTileKernel):
    """A kernel that no matrix product gives: its tiles are its closed form."""

    def prepare(self, landmarks: Floats) -> ClosedFormScores:
        return ClosedFormScores(self, landmarks.astype(np.float64))


@dataclass(frozen=True)
class CompiledScores(AbstractPrepared):
    """What a compiled loop makes of dense rows and landmarks: ``loop`` gives it for a dtype."""

    loop: Callable[[np.dtype[Any]], Callable[..., None]]
    landmarks: Floats
    gamma: float

    def scores(self, features: Floats, out: Floats) -> None:
        self.loop(features.dtype)(features, self.landmarks, features.dtype.type(self.gamma), out)


@dataclass(frozen=True)
class InnerProductScores(AbstractPrepared):
    """The kernel values themselves, of inner products and squared lengths."""

    kernel: AbstractInnerProductKernel
    landmarks: Floats
    squares: Floats

    def scores(self, features: Floats, out: Floats) -> None:
        matmul(features, self.landmarks.T, into=out)
        lengths: Floats = scratch("squared lengths", (features.shape[0],), features.dtype)
        squared_lengths(features, into=lengths)
        self.kernel.of_products(out, lengths, self.squares)


@dataclass(frozen=True)
class AbstractInnerProductKernel(AbstractTileKernel):
    """A kernel that is a function of <x, y>, |x|^2 and |y|^2."""

    @abstractmethod
    def of_products(self, products: Floats, left: Floats, right: Floats) -> None:
        """Turn inner products (n, m) into kernel values, in place, given squared lengths (n,) and (m,)."""

    def closed_form(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        products = left @ right.T
        self.of_products(products, np.square(left).sum(axis=1), np.square(right).sum(axis=1))
        return products

    def prepare(self, landmarks: Floats) -> InnerProductScores:
        return InnerProductScores(self, landmarks, np.einsum("ij,ij->i", landmarks, landmarks))
