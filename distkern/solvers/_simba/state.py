"""The state of SIMBA between stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.solvers.measuring import MeasuredState


@dataclass(frozen=True)
class SIMBAState(MeasuredState):
    """What the rounds go on from, and the model of the best stage so far.

    Attributes
    ----------
    gamma : of the kernel, 1 without one
    landmarks : (0, n_features)
    radius : the largest norm of a training row's features, in units of the features
    n_zero : training rows without features
    n_held_out, draw : training rows that are held out, and in which draw
    u, behind : (n_outputs, size) float64, ``scale_sum`` and ``sums_of_b`` (n_outputs,), and ``weight``: see
        :class:`~distkern.solvers._simba.primal.Primal`
    units : what the rows that take part weigh, in those of :data:`~distkern.solvers._simba.messages.UNIT`; 0
        where all weigh the same
    round : rounds done
    stale : stages since the fewest held-out rows were mistaken
    accesses, accesses_nonzero : features looked at by the rounds, size a row and n a column; the rows' and
        columns' own numbers
    coefficients, intercept : (size, n_outputs) and (n_outputs,) of the model: of the best stage
    margins : (n_outputs,) of the model, in units of the largest norm
    validation_error : of the model on the held-out rows, NaN without any
    and the figures of the model on the training rows that are not held out
    """

    gamma: float
    landmarks: NDArray[Any]
    radius: float
    n_zero: int
    n_held_out: int
    draw: int
    u: NDArray[np.float64]
    behind: NDArray[np.float64]
    scale_sum: NDArray[np.float64]
    sums_of_b: NDArray[np.float64]
    weight: float
    units: int
    round: int
    stale: int
    accesses: int
    accesses_nonzero: int
    coefficients: NDArray[np.float64]
    intercept: NDArray[np.float64]
    margins: NDArray[np.float64]
    validation_error: float
