"""The rules of the doubly stochastic gradient methods: steps, averages, which block of features to change."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StepRule:
    """gamma_t = step0 / (1 + step1 t) for t = 1, 2, ..., as the authors' published code has it.

    With step1 = 1 / t0, step0 = theta / t0 it is the theta / (t + t0) of dsg.txt's Theorem 4, with an offset:
    without one the first steps explode unless theta is of the order of 1.

    Raises
    ------
    InputError
        If a constant is out of range.
    """

    step0: float = 0.5
    step1: float = 0.02

    def __post_init__(self) -> None:
        for option, value in (("step0", self.step0), ("step1", self.step1)):
            strict = option == "step0"
            if not math.isfinite(value) or value < 0 or (strict and value == 0):
                raise InputError(
                    f"is {value!r}", where=option, mend=f"use a number {'> 0' if strict else '>= 0'}"
                )

    def __call__(self, step: int) -> float:
        return self.step0 / (1.0 + self.step1 * step)

    def check(self, nu: float) -> None:
        """Refuse steps with gamma_1 nu >= 1, which would turn the sign of what was learnt, or erase it."""
        if self(1) * nu < 1:
            return
        raise InputError(
            f"the first step times nu is {self(1) * nu:.3g}, and must be below 1",
            where="step0",
            mend=f"use step0 < {(1 + self.step1) / nu:.3g}",
        )

    def hint(self) -> str:
        """What to set when the steps were too large."""
        return f"step0={self.step0 / 10:.3g}"


def average_weight(step: int) -> float:
    """Weight of the iterate in the polynomial-decay average: 1 for the first four, then 4 / (t + 3).

    Shamir and Zhang (2013) with eta = 3.
    """
    return min(1.0, 4.0 / (step + 3.0))


def reusable_steps(betas: Array, slope: Array, step: float, variance: float) -> Array:
    """The largest steps eta_k > 0 at which an old block k serves as well as a new one would (cdsg.txt, (9)).

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
