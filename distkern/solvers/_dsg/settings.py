"""Settings of a run of doubly stochastic gradients, and its state after a stage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.parameters import (
    FLAG,
    NOT_NEGATIVE,
    NOTHING,
    POSITIVE,
    Declared,
    Numbers,
    Whole,
    Words,
    parameter,
)
from distkern.core.types import Array
from distkern.maths.features.base import KernelChoice
from distkern.passes.batches import BatchOrder
from distkern.solvers.base import Problem, rows_of_stage
from distkern.solvers.explicit import CountingState
from distkern.solvers.risk import Risk


@dataclass(frozen=True, kw_only=True)
class DSGState(CountingState):
    """f(x) = scale sum_j z_j(x) A_j over the first ``n_blocks`` blocks of features.

    Attributes
    ----------
    coefficients : (n_features, n_outputs), the A_j one below the other, 0 for blocks not in use
    average : (n_features, n_outputs) of the averaged model, scale included; (0, n_outputs) without averaging
    betas : (n_blocks in all, n_outputs), the blocks' terms in CDSG's inequality
    cursor : position of the next batch in the data, see :class:`~distkern.passes.batches.BatchOrder`
    step : gradient steps done, of ``n_steps``
    first_loss : mean loss of the first batch, a reference for divergence
    polish_gap : after a polish, its relative distance to the minimum; before it NaN
    batch_loss, batch_error : means over the last stage's batches, each before its step; NaN before any
    """

    average: NDArray[np.float64]
    betas: NDArray[np.float64]
    cursor: NDArray[np.int64]
    scale: float
    n_blocks: int
    step: int
    n_steps: int
    first_loss: float = math.nan
    batch_loss: float = math.nan
    batch_error: float = math.nan
    polish_gap: float = math.nan

    @property
    def is_polished(self) -> bool:
        """Whether the coefficients come from a polish."""
        return not math.isnan(self.polish_gap)

    @property
    def n_functions(self) -> int:
        return self.n_blocks * (len(self.coefficients) // len(self.betas))


@dataclass(frozen=True)
class DSGSettings(Declared):
    """The settings of DSG, explained in its class, and derived values."""

    risk: Risk
    kernel: KernelChoice
    sampler: str = "monte_carlo"
    n_features: int = parameter(16384, Whole(), help="random features at most, rounded up to whole blocks")
    block_size: int = parameter(
        512, Whole(), help="features of a block, added by one step; even for paired features"
    )
    batch_size: int = parameter(4096, Whole(), help="B, rows of a step; at most all rows")
    nu: float = parameter(1e-6, NOT_NEGATIVE, help="weight of |f|^2 / 2 against the mean loss")
    steps: StepRule | None = None
    variant: str = parameter(
        "dsg",
        Words("dsg", "udsg", "cdsg"),
        help="dsg: a new block each step; udsg: every other step in an old one; cdsg: in an old one if "
        "its inequality allows",
    )
    udsg_pattern: tuple[int, int] = parameter(
        (1, 1),
        Numbers(Whole(0), length=2),
        help="steps in new blocks, then steps in old blocks, and so on",
        variant=("udsg",),
    )
    largest_reuse: float = parameter(
        4.0, POSITIVE, help="largest step in an old block, in units of steps in new blocks", variant=("cdsg",)
    )
    feature_variance: float = parameter(
        1.0, POSITIVE, help="variance over x of phi(x) phi(x'), about 1 for cosines", variant=("cdsg",)
    )
    precondition: bool = parameter(
        True, FLAG, help="divide a block's step by its damped curvature, as the authors' published code does"
    )
    damping: float | None = parameter(
        None,
        NOT_NEGATIVE,
        NOTHING,
        help="damping of the block's curvature; none: 0.3 / n (10 / n for density ratios), from 1e-5 to 1e-2",
    )
    average: bool = parameter(
        True, FLAG, help="the model is the average of the iterates, weighted towards late ones"
    )
    polish: str | None = parameter(
        None,
        Words("exact"),
        NOTHING,
        help="exact: after the steps, compute the minimiser over the features in use, up to 8192",
    )
    stages: int = parameter(10, Whole(), help="parts of the run; the model is measured after each")
    steps_per_stage: int | float | None = rows_of_stage("until there are n_features, 32 steps at least")
    least_steps: int = 1
    #: the damping times n
    damping_rows: ClassVar[float] = 0.3

    @property
    def step_rule(self) -> StepRule:
        """gamma_t, the default included."""
        # 20 for the logistic loss, and less for losses of larger curvature
        usual = 20.0 if math.isinf(self.risk.loss.curvature) else min(20.0, 5.0 / self.curvature)
        return self.steps or StepRule(0.5 if self.precondition else usual, 0.02)

    def damping_for(self, n_rows: int) -> float:
        """The damping for ``n_rows`` training rows, of order 1 / n like the noise."""
        return min(max(self.damping_rows / n_rows, 1e-5), 1e-2) if self.damping is None else self.damping

    @property
    def most_blocks(self) -> int:
        """Number of blocks for ``n_features``."""
        return -(-self.n_features // self.block_size)

    @property
    def strength(self) -> float:
        """nu J, the weight of sum_j |A_j|^2 / 2."""
        return self.nu * self.most_blocks

    @property
    def curvature(self) -> float:
        """c, the factor of block Gram matrices."""
        return self.risk.curvature

    def batches(self, problem: Problem) -> BatchOrder:
        """The order of rows in batches."""
        return BatchOrder(problem.block_rows, min(self.batch_size, problem.n_rows), problem.seed)


@dataclass(frozen=True)
class StepRule(Declared):
    """gamma_t = step_size / (1 + step_decay t) for t = 1, 2, ..., as in the authors' published code.

    With step_decay = 1 / t0, step_size = theta / t0 it is the theta / (t + t0) of Dai et al. 2014, Theorem 4,
    with an offset: without one the first steps explode unless theta is about 1.
    """

    step_size: float = parameter(0.5, POSITIVE, help="gamma_0")
    step_decay: float = parameter(0.02, NOT_NEGATIVE, help="decay of a given step_size")

    def __call__(self, step: int) -> float:
        return self.step_size / (1.0 + self.step_decay * step)

    def check(self, nu: float) -> None:
        """Refuse steps with gamma_1 nu >= 1, which would erase the coefficients or reverse their sign."""
        if self(1) * nu < 1:
            return
        raise InputError(
            f"the first step times nu is {self(1) * nu:.3g}, and must be below 1",
            where="step_size",
            hint=f"use step_size < {(1 + self.step_decay) / nu:.3g}",
        )

    def hint(self) -> str:
        """Advice for steps that were too large."""
        return f"step_size={self.step_size / 10:.3g}"


def average_weight(step: int) -> float:
    """Weight of the iterate after step t in the polynomial-decay average: 4 / (t + 3), 1 for the first.

    Shamir and Zhang (2013) with eta = 3.
    """
    return min(1.0, 4.0 / (step + 3.0))


def reusable_steps(betas: Array, slope: Array, step: float, variance: float) -> Array:
    """The largest steps eta_k > 0 for which an old block k is as good as a new one (Li and Poczos 2016, (9)).

    The larger root of 2 (|g|^2 + V) eta^2 - 4 (beta_k . g) eta + |beta_k|^2 - gamma^2 |g|^2 = 0. The batch's
    variance is divided by the batch size once, where (9) has its square, and the step is positive, since
    Algorithm 4 subtracts it. An old block is used if its step exceeds gamma.

    Parameters
    ----------
    betas : (n_blocks, k): the decayed sums of -eta_i g_i of the blocks
    slope : (k,), g: mean of dl/df over the batch
    step : gamma
    variance : V = M^2 sigma^2 / B

    Returns
    -------
    (n_blocks,), 0 if there is no such step
    """
    a = 2.0 * float(slope @ slope) + 2.0 * variance
    if a == 0.0:
        return np.zeros(len(betas))
    b = betas @ slope
    inside = 4.0 * b**2 - a * (np.einsum("ij,ij->i", betas, betas) - step**2 * float(slope @ slope))
    root = (2.0 * b + np.sqrt(np.maximum(inside, 0.0))) / a
    return np.where((inside >= 0) & (root > 0), root, 0.0)
