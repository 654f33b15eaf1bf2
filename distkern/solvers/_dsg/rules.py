"""The rules of the doubly stochastic gradient methods: steps, averages, which block of features to change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.parameters import NOT_NEGATIVE, POSITIVE, Declared, parameter

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StepRule(Declared):
    """gamma_t = step_size / (1 + step_decay t) for t = 1, 2, ..., as the authors' published code has it.

    With step_decay = 1 / t0, step_size = theta / t0 it is the theta / (t + t0) of Dai et al. 2014, Theorem 4,
    with an offset: without one the first steps explode unless theta is of the order of 1.
    """

    step_size: float = parameter(0.5, POSITIVE, help="gamma_0")
    step_decay: float = parameter(0.02, NOT_NEGATIVE, help="how fast steps of a given size fall")

    def __call__(self, step: int) -> float:
        return self.step_size / (1.0 + self.step_decay * step)

    def check(self, nu: float) -> None:
        """Refuse steps with gamma_1 nu >= 1, which would turn the sign of what was learnt, or erase it."""
        if self(1) * nu < 1:
            return
        raise InputError(
            f"the first step times nu is {self(1) * nu:.3g}, and must be below 1",
            where="step_size",
            mend=f"use step_size < {(1 + self.step_decay) / nu:.3g}",
        )

    def hint(self) -> str:
        """What to set when the steps were too large."""
        return f"step_size={self.step_size / 10:.3g}"


def average_weight(step: int) -> float:
    """Weight of the iterate in the polynomial-decay average: 1 for the first four, then 4 / (t + 3).

    Shamir and Zhang (2013) with eta = 3.
    """
    return min(1.0, 4.0 / (step + 3.0))


def reusable_steps(betas: Array, slope: Array, step: float, variance: float) -> Array:
    """The largest steps eta_k > 0 at which an old block k is as good as a new one (Li and Poczos 2016, (9)).

    The larger root of 2 (|g|^2 + V) eta^2 - 4 (beta_k . g) eta + |beta_k|^2 - gamma^2 |g|^2 = 0. The batch's
    variance is divided by the batch size once, where (9) has its square, and the step is positive, as
    Algorithm 4 subtracts it. An old block is used if its step exceeds gamma.

    Parameters
    ----------
    betas : (n_blocks, k): what the blocks' coefficients stand for, sum of -eta_i g_i, decayed
    slope : (k,), g: mean of dl/df over the batch
    step : gamma
    variance : V = M^2 sigma^2 / B

    Returns
    -------
    (n_blocks,), 0 where no step does
    """
    a = 2.0 * float(slope @ slope) + 2.0 * variance
    if a == 0.0:
        return np.zeros(len(betas))
    b = betas @ slope
    inside = 4.0 * b**2 - a * (np.einsum("ij,ij->i", betas, betas) - step**2 * float(slope @ slope))
    root = (2.0 * b + np.sqrt(np.maximum(inside, 0.0))) / a
    return np.where((inside >= 0) & (root > 0), root, 0.0)
