"""Random block coordinate descent over features (Dai et al. 2014, Table 2; Richtarik and Takac 2014)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.choices import Choices
from distkern.common.errors import InputError
from distkern.common.parameters import FLAG, NOT_NEGATIVE, Parameter, Whole, Words, parameter
from distkern.common.rng import Purpose, stream
from distkern.common.types import Floats, groups_of
from distkern.features import Footprint
from distkern.losses import SUPERVISED, curved_loss_names
from distkern.passes import EXPONENTIAL, Derived, Message, Rounds
from distkern.solvers._rbcd.blocks import (
    BlockGrams,
    GramOperand,
    block_solves,
    gram_pass,
    runs_of,
    tiles_cost,
)
from distkern.solvers._rbcd.resident import Ask, Operand, open_predictions, total_gradient, total_sums
from distkern.solvers.base import Measures, Outline, Problem, Steps, Trouble
from distkern.solvers.explicit import (
    AbstractExplicit,
    ExplicitState,
    held_out_pass,
    zero_figures,
    zero_outlines,
)
from distkern.solvers.gram import Solve
from distkern.solvers.hyperparameters import SEARCHED_NU, a_loss, feature_parameters
from distkern.solvers.measuring import Model, figures_of
from distkern.solvers.targets import scaled_risk

#: first index of the stream that orders blocks
_ORDER = 4


@dataclass(frozen=True, kw_only=True)
class RBCDState(ExplicitState):
    """Coefficients after a stage; the predictions at them stay with the rows.

    Attributes
    ----------
    decrease : of the objective in the last stage; infinite before the first
    """

    decrease: float


@dataclass(frozen=True)
class RBCD(AbstractExplicit[RBCDState]):
    """Block coordinate descent over random, Nystroem or linear features, each step over all rows.

    Minimises nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k): k outputs share the features. A step draws a
    block j of c consecutive coefficients and does

        w_j <- w_j - H_j^-1 (Z_j' S l'(f) / n + nu w_j),    H_j = L_j I,  L_j = lambda_max(B_j),

    (Richtarik and Takac 2014), where B_j = curvature Z_j' S Z_j / n + nu I bounds the Hessian in the block;
    with ``precondition`` H_j = B_j itself, whose bound is never worse. Every step lowers the objective. The
    B_j of all blocks are made in one pass at the start, r c numbers, and kept by the driver. Predictions f
    stay with their rows: a step sends them the change of the block before and gets the gradient, so that
    features are made twice for each block. ``order`` "shuffled" takes every block once a stage, a deviation
    from the paper, whose draws are independent.

    Raises
    ------
    InputError
        If a number is out of range, or the slope of the loss jumps.
    """

    nu: float = parameter(
        1e-6, NOT_NEGATIVE, help="weight of |w|^2 / 2 against the mean loss", tried=SEARCHED_NU
    )
    block_size: int = parameter(256, Whole(), help="c, coefficients of a step")
    precondition: bool = parameter(
        True, FLAG, help="H_j is a bound of the block's second derivatives, and not their largest eigenvalue"
    )
    stages: int = parameter(30, Whole(), help="at most this many, each of as many steps as there are blocks")
    tol: float = parameter(
        1e-4, NOT_NEGATIVE, help="stop once a stage lowers the objective by less than this share of it"
    )
    order: str = parameter(
        "shuffled",
        Words("shuffled", "iid"),
        help="shuffled: every block once a stage, in random order; iid: independent draws of blocks",
    )

    name = "rbcd"
    cost_of_pass = "a step n c (d + k), a stage n r (2 d + 2 k); n r c once"
    memory = "k numbers a row where the row is; r c in the driver"
    makes_blocks = True
    # its predictions stay with all rows, so that no sample is tried
    searched: ClassVar[Mapping[str, Choices]] = {}
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("logistic", partial(curved_loss_names, *SUPERVISED)),
        **feature_parameters("random"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.risk.loss.curvature):
            raise InputError(
                f"{self.risk.loss.name!r} has a slope that jumps, so no step of block descent is safe",
                where="loss",
                mend=f"use one of: {', '.join(curved_loss_names(self.risk.loss.target_kind))}",
            )

    def state_type(self) -> type[RBCDState]:
        return RBCDState

    def step_hint(self) -> str:
        return "here by a larger nu"

    def mend(self, trouble: Trouble) -> str:
        if trouble is Trouble.DIVERGED:
            return f"set a larger nu than {self.nu:g}, and look for features that are very large"
        return super().mend(trouble)

    def init(self, problem: Problem) -> Steps[RBCDState]:
        begun, risk = yield from self.begun(problem)
        figures = yield from zero_figures(problem, risk)
        state = RBCDState(
            coefficients=np.zeros((self.basis(problem, begun.landmarks, begun.gamma).size, risk.n_outputs)),
            decrease=math.inf,
            **vars(begun),
        )
        return state.with_figures(figures)

    def stage(self, problem: Problem, state: RBCDState) -> Steps[RBCDState]:
        basis, solves = yield Derived("blocks", partial(self._blocks, problem, state))
        risk = scaled_risk(self.risk, state.center, state.target_scale)
        footprint, runs = self.footprint(problem, basis.size), runs_of(basis.size, self.block_size)
        w = state.coefficients.copy()
        change: tuple[slice, Floats] | None = None
        yield self._rounds(problem, footprint, Operand(basis, risk))
        for block in self._order(len(runs), problem.seed, state.stage):
            run = runs[block]
            slopes = total_gradient((yield Message(Ask(change, run))))
            step = solves[block](slopes / problem.n_rows + self.nu * w[run])
            # what the rows are told is what the coefficients change by
            narrow = (-step).astype(basis.dtype)
            w[run] += narrow
            change = run, narrow
        sums = total_sums((yield Message(Ask(change, None))))
        figures = yield from figures_of(
            problem,
            sums,
            held_out_pass(problem, Model(basis, w, risk), footprint),
            0.5 * self.nu * float(np.einsum("ij,ij->", w, w)),
        )
        rows, decrease = (len(runs) + 1) * problem.n_rows, state.objective - figures.objective
        return state.following(problem, figures, rows, coefficients=w, decrease=decrease)

    def finished(self, state: RBCDState) -> bool:
        return state.stage >= self.stages or self._converged(state)

    def _converged(self, state: RBCDState) -> bool:
        return state.decrease <= self.tol * abs(state.objective)

    def measures(self, state: RBCDState) -> Measures:
        return state.told({"decrease": state.decrease}, converged=self._converged(state))

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        return [
            *zero_outlines(problem),
            Outline(gram_pass(problem, footprint, self.block_size, None)),
            Outline(self._rounds(problem, footprint, None), self.stages),
            Outline(held_out_pass(problem, None, footprint), self.stages),
        ]

    def _order(self, n_blocks: int, seed: int, stage: int) -> NDArray[np.int64]:
        """The blocks of a stage."""
        generator = stream(seed, Purpose.VISIT_ORDER, _ORDER, stage)
        if self.order == "iid":
            return generator.integers(0, n_blocks, n_blocks)
        return generator.permutation(n_blocks)

    def _blocks(self, problem: Problem, state: RBCDState) -> Steps[tuple[AbstractBasis, list[Solve]]]:
        """The features, and H_j^-1 of each block."""
        basis = self.basis(problem, state.landmarks, state.gamma)
        operand = GramOperand(basis, self.risk, self.block_size)
        footprint = self.footprint(problem, basis.size)
        grams: BlockGrams = yield gram_pass(problem, footprint, self.block_size, operand)
        scale = self.risk.loss.scaled(state.target_scale).curvature / problem.n_rows
        return basis, block_solves(grams, scale, self.nu, whole=self.precondition)

    def _rounds(self, problem: Problem, footprint: Footprint, operand: Operand | None) -> Rounds:
        outputs, size = self.risk.n_outputs, footprint.size
        width = min(self.block_size, size)
        n_blocks, groups = -(-size // width), len(groups_of(problem.block_rows))
        # of two blocks; kernels at landmarks are all made for any block of Nystroem features
        share = 1.0 if footprint.block_size >= size else width / size
        operations = 2 * (share * footprint.operations + EXPONENTIAL * width)
        return Rounds(
            "block steps",
            open_predictions,
            # the solver adds groups up, so that the order of sums never changes
            add,
            operand,
            n_rounds=n_blocks + 1,
            state_bytes_per_row=8.0 * outputs,
            cost=tiles_cost(problem, footprint, width, operations).holding(
                task={
                    "predictions and slopes": (problem.most_rows, outputs, 48),
                    "coefficients and gradient": (2, width, outputs, 8),
                },
                result={"gradients of groups": (groups, width * outputs + 8, 8)},
                driver={
                    "coefficients before, now, and their figures": (3, size, outputs, 8),
                    "factors": (size, width, 8),
                },
            ),
        )
