"""What an update begins from: a fitted model, and what its solver has kept of the run that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.sparse import Rows

Array = NDArray[np.float64]


class OldRows(Enum):
    """What an update does with the rows that the model has learned from before."""

    #: they are read again, as what is minimised is the mean loss over all rows
    NEEDED = "needed"
    #: they are read again if they are given; else what was kept stands for them
    USED = "used"
    #: what was kept stands for them
    LEFT = "left out"


@dataclass(frozen=True)
class Before:
    """The model that an update of a solver over explicit features begins from.

    Attributes
    ----------
    landmarks, gamma, coefficients, center, target_scale : as in the states of these solvers
    own : what the solver has kept of its last state, by name, see ``kept`` of
        :class:`~distkern.solvers.base.AbstractSolver`
    n_rows : rows that it has learned from and that are not read again
    """

    landmarks: Rows
    gamma: float
    coefficients: Array
    center: Array
    target_scale: float
    own: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 0
