"""Independent draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.maths.samplers.base import AbstractSampler, CounterStream, Draws


@dataclass(frozen=True)
class MonteCarlo(AbstractSampler):
    """Independent uniform numbers (Rahimi and Recht 2007): for every kernel, with error 1/sqrt(F)."""

    name = "monte_carlo"
    has_single_draws = True

    def uniforms(self, draws: Draws, per_draw: int) -> NDArray[np.float64]:
        return draws.independent(CounterStream.POINTS, per_draw)
