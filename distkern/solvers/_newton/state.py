"""What Newton's method knows after a stage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.sparse import Rows
from distkern.solvers.measuring import MeasuredState

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NewtonState(MeasuredState):
    """A model with the figures at it.

    Attributes
    ----------
    landmarks : (n_landmarks, n_features), without rows where the features have none
    gamma : of the kernel
    coefficients : (r, k), w
    decrement : what the next step would lower the objective by, see
        :class:`~distkern.solvers.descent.Descent`
    steps : of the last stage; those of conjugate gradients where it made no matrix
    sampled : whether the last stage's matrix was of a sample of rows
    damping : beside nu, of the matrices that do not bound the Hessian
    gradient : there, in the coordinates that matrices are made in; without rows before the first stage
    center, target_scale, variances : of real targets, see :class:`~distkern.solvers.targets.TargetScale`
    absolute_errors : (2,) mean absolute errors of training and of held-out rows, NaN for classes
    """

    landmarks: Rows
    gamma: float
    coefficients: Array
    decrement: float
    steps: int
    sampled: bool
    damping: float
    gradient: Array
    center: Array
    target_scale: float
    variances: Array
    absolute_errors: Array
