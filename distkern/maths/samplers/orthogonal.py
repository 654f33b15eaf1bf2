"""Orthogonal random features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.maths.samplers.base import AbstractSampler, CounterStream, Draws, radial_only
from distkern.maths.samplers.frequencies import DenseFrequencies
from distkern.maths.samplers.normal import normal_quantiles


@dataclass(frozen=True)
class Orthogonal(AbstractSampler):
    """Frequencies in orthogonal groups of n_input, with independent chi lengths (Yu et al. 2016).

    Each frequency is marginally standard normal. A group is a uniformly drawn orthonormal basis: the QR
    decomposition of a Gaussian matrix with the signs of R's diagonal moved to Q (Mezzadri 2007). Groups end
    with their block, so a block is independent of the others; blocks with fewer than n_input draws are
    entirely orthogonal. Halves the error of the Gaussian kernel from 8 dimensions on (measured).
    """

    name = "orthogonal"
    number_bytes: ClassVar[int] = 44

    def uniforms(self, draws: Draws, per_draw: int) -> NDArray[np.float64]:
        raise radial_only(self.name)

    def gaussians(self, draws: Draws, n_extra: int = 0) -> tuple[DenseFrequencies, NDArray[np.float64]]:
        whole = Draws(self, draws.seed, draws.block, draws.n_draws, draws.n_input)
        n_input = draws.n_input
        normals = normal_quantiles(whole.independent(CounterStream.POINTS, n_input))
        matrix = np.empty((n_input, draws.n_draws))
        for start in range(0, draws.n_draws, n_input):
            group = slice(start, min(start + n_input, draws.n_draws))
            q, r = np.linalg.qr(normals[group].T)
            matrix[:, group] = q * np.where(np.diagonal(r) < 0.0, -1.0, 1.0)
        radii = normal_quantiles(whole.independent(CounterStream.RADII, n_input + n_extra))
        matrix *= np.sqrt(np.square(radii[:, :n_input]).sum(axis=1))
        wanted = draws.positions
        return DenseFrequencies(matrix[:, wanted]), radii[wanted, n_input:]
