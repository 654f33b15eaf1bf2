"""Stochastic dual coordinate ascent on features (Dai et al. 2014, Table 2; Shalev-Shwartz, Zhang 2013)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.choices import Choices
from distkern.common.errors import InputError
from distkern.common.parameters import NOT_NEGATIVE, POSITIVE, Parameter, Whole, parameter
from distkern.common.rng import Purpose, stream
from distkern.common.sparse import Rows
from distkern.common.types import groups_of
from distkern.features import Footprint
from distkern.losses import SUPERVISED, AbstractCoordinateLoss, coordinate_loss_names
from distkern.passes import EXPONENTIAL, Derived, Message, Rounds
from distkern.solvers._sdca.resident import Operand, Turn, Turned, either, open_duals
from distkern.solvers.base import Measures, Outline, Problem, Steps, Trouble
from distkern.solvers.explicit import (
    AbstractExplicit,
    ExplicitState,
    figures_at,
    held_out_pass,
    measuring_pass,
    zero_figures,
    zero_outlines,
)
from distkern.solvers.hyperparameters import SEARCHED_GAMMA, a_loss, feature_parameters
from distkern.solvers.measuring import Figures, Model
from distkern.solvers.targets import scaled_risk

#: first index of the stream that orders groups
_ORDER = 5
_PIECE_BYTES = 4 * 2**20
#: a stage makes about so many steps, in no less and no more passes than these
_STEPS, _MOST_PASSES = 8192, 32


@dataclass(frozen=True, kw_only=True)
class SDCAState(ExplicitState):
    """w after a stage; the dual variables stay with the rows.

    Attributes
    ----------
    coefficients : (r, k), w
    nearby : (r, k), u, near which the next stage stays; without rows for kernels at rows
    dual_sum : (r, k), v = sum_i a_i z(x_i) / n; without rows for kernels at rows
    support : (r, 2) group and place in it of the rows at which kernels are; without rows for other features
    dual : the largest D(a) so far
    mean_square : mean of |z(x_i)|^2; 0 before the first stage
    """

    nearby: NDArray[np.float64]
    dual_sum: NDArray[np.float64]
    support: NDArray[np.int64]
    dual: float
    mean_square: float = 0.0

    @property
    def gap(self) -> float:
        """P(w) - D(a), at least what the objective lacks to its minimum; 0 if rounded below."""
        return max(0.0, self.objective - self.dual)


@dataclass(frozen=True)
class SDCA(AbstractExplicit[SDCAState]):
    """Dual coordinate ascent over random, Nystroem or linear features, one row at a time.

    Minimises P(w) = nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k), by maximising

        D(a) = -mean_i (s_i l)*(-a_i) - nu/2 |w(a)|^2,    w(a) = sum_i a_i z(x_i) / (nu n),

    for every output by itself. A step sets a_i to its exact maximum, in closed form (for the logistic loss by
    Newton's method in one variable), and adds what it changes to w. a stays with its rows, k numbers each. A
    pass takes the groups of rows one after the other in random order, and within a group its blocks and
    their rows: the process that has a group is sent w, makes the steps of its rows, and sends w on. So every
    row has one step a pass (the paper's SDCA-Perm, but for the order of the groups), and processes take
    turns, as the steps are sequential. A stage is two passes, and of less than 4,096 rows p = up to 32.

    Where nu n is small beside |z|^2, steps of rows that are alike undo each other, and a pass achieves
    little. So stages are those of Shalev-Shwartz and Zhang's accelerated method (Accelerated proximal
    stochastic dual coordinate ascent for regularized loss minimization, Mathematical Programming 155, 2016):
    the passes of one work on P(w) + kappa/2 |w - u|^2, whose w(a) = (kappa u + sum_i a_i z(x_i) / n) /
    (nu + kappa). There (nu + kappa) n = 2/p c mean |z|^2, c the curvature of the loss or 1 if that is less,
    unless nu n is larger and kappa = 0. Then u goes beyond w by (1 - q) / (1 + q) of the way that w came,
    q^2 = nu / (nu + kappa), but stays at w if P has risen (O'Donoghue and Candes, Adaptive restart for
    accelerated gradient schemes, Foundations of Computational Mathematics 15, 2015).

    The duality gap P(w) - max D(a) over the stages so far bounds what P lacks to its minimum, whatever u is;
    it ends the run, and the user is told if it has not closed. With the kernel itself as features see
    :class:`~distkern.solvers._sdca.kernel.KernelSDCA`.

    Raises
    ------
    InputError
        If a number is out of range, or the dual of the loss has no exact steps in single coordinates.
    """

    nu: float = parameter(1e-5, POSITIVE, help="weight of |w|^2 / 2 against the mean loss")
    stages: int = parameter(
        20,
        Whole(),
        help="at most so many, each two passes over the rows, with features='kernel' one; more of few rows",
    )
    tol: float = parameter(
        1e-3, NOT_NEGATIVE, help="stop once the duality gap is less than this share of the objective"
    )

    name = "sdca"
    cost_of_pass = "n r (d + 3 k), by one process after the other; n r (d + k) for the duality gap"
    memory = "k numbers a row where the row is; 3 r k numbers"
    searched: ClassVar[Mapping[str, Choices]] = {
        # with less the gap is still wide after the stages that there are
        "nu": Choices(1e-5, (1.0, 0.3, 0.1, 0.03, 0.01), -1, 1e-9),
        "gamma": replace(SEARCHED_GAMMA, by_default=False),
    }
    #: of a stage
    least_passes: ClassVar[int] = 2
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("logistic", partial(coordinate_loss_names, *SUPERVISED)),
        **feature_parameters("random", found=True),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.risk.loss, AbstractCoordinateLoss):
            raise InputError(
                f"the dual of {self.risk.loss.name!r} has no exact steps in single coordinates",
                where="loss",
                mend=f"use one of: {', '.join(coordinate_loss_names(self.risk.loss.target_kind))}",
            )

    def state_type(self) -> type[SDCAState]:
        return SDCAState

    def step_hint(self) -> str:
        return "here by a larger nu"

    def mend(self, trouble: Trouble) -> str:
        if trouble is Trouble.DIVERGED:
            return f"set a larger nu than {self.nu:g}"
        if trouble is Trouble.UNFINISHED:
            return f"set more stages than {self.stages}, or a larger nu than {self.nu:g}, which needs fewer"
        return super().mend(trouble)

    def init(self, problem: Problem) -> Steps[SDCAState]:
        begun, risk = yield from self.begun(problem)
        figures = yield from zero_figures(problem, risk)
        zero = np.zeros((self.first_size(problem, begun.landmarks, begun.gamma), risk.n_outputs))
        state = SDCAState(
            coefficients=zero,
            nearby=zero,
            dual_sum=zero,
            support=np.zeros((0, 2), np.int64),
            dual=0.0,
            **vars(begun),
        )
        return state.with_figures(figures)

    def stage(self, problem: Problem, state: SDCAState) -> Steps[SDCAState]:
        basis: AbstractBasis = yield Derived("features", partial(self.basis_of, problem, state))
        risk = scaled_risk(self.risk, state.center, state.target_scale)
        footprint = self.footprint(problem, basis.size)
        groups, n = groups_of(problem.block_rows), problem.n_rows
        block_rows = tuple(tuple(problem.block_rows[block] for block in group) for group in groups)
        rows = self._piece_rows(problem, footprint)
        yield self._rounds(problem, footprint, Operand(basis, risk, problem.seed, block_rows, rows))
        passes = self._passes(problem)
        curvature = 2.0 / passes * min(self.risk.loss.curvature, 1.0)
        kappa = max(0.0, curvature * state.mean_square / n - self.nu)
        strength, before, u = self.nu + kappa, state.coefficients, state.nearby
        w = np.ascontiguousarray((kappa * u + state.dual_sum).T) / strength
        for epoch in range(passes * state.stage, passes * (state.stage + 1)):
            order = stream(problem.seed, Purpose.VISIT_ORDER, _ORDER, epoch)
            costs = squares = 0.0
            for group in order.permutation(len(groups)).tolist():
                turned: Turned = yield Message(Turn(group, epoch, 1.0 / (strength * n), w))
                w, costs, squares = turned.w, costs + turned.costs, squares + turned.squares
        w = np.ascontiguousarray(w.T)
        model, norm = Model(basis, w, risk), 0.5 * self.nu * float(np.square(w).sum())
        figures = yield from figures_at(problem, model, footprint, norm)
        dual_sum, q = strength * w - kappa * u, math.sqrt(self.nu / strength)
        beyond = (1.0 - q) / (1.0 + q) if figures.objective <= state.objective else 0.0
        return self.following(
            problem,
            state,
            figures,
            -costs / n - 0.5 / self.nu * float(np.square(dual_sum).sum()),
            passes,
            coefficients=w,
            nearby=w + beyond * (w - before),
            dual_sum=dual_sum,
            mean_square=squares / n,
        )

    def _passes(self, problem: Problem) -> int:
        """Number of passes over the rows in a stage."""
        return int(np.clip(round(_STEPS / problem.n_rows), self.least_passes, _MOST_PASSES))

    def first_size(self, problem: Problem, landmarks: Rows, gamma: float) -> int:
        """Coefficients before the first stage."""
        return self.basis(problem, landmarks, gamma).size

    def following(
        self, problem: Problem, state: SDCAState, figures: Figures, dual: float, passes: int, **changes: Any
    ) -> SDCAState:
        """The state after the next stage of so many passes, which has found D(a)."""
        # of the model 0 it is 0
        dual = max(dual, state.dual)
        return state.following(problem, figures, passes * problem.n_rows, dual=dual, **changes)

    def finished(self, state: SDCAState) -> bool:
        return state.stage >= self.stages or (state.stage > 0 and self._converged(state))

    def _converged(self, state: SDCAState) -> bool:
        return state.gap < self.tol * abs(state.objective)

    def measures(self, state: SDCAState) -> Measures:
        shortfall = ""
        if state.stage and state.gap > self.tol * abs(state.objective):
            share = 100 * state.gap / abs(state.objective)
            shortfall = (
                f"the duality gap, which bounds what the objective is above its minimum, is {share:.2g} % of "
                f"it, with tol={self.tol:g}: {self.mend(Trouble.UNFINISHED)}"
            )
        return state.told({"gap": state.gap}, converged=self._converged(state), shortfall=shortfall)

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        return [
            *zero_outlines(problem),
            Outline(self._rounds(problem, footprint, None), self.stages),
            Outline(measuring_pass(problem, None, footprint), self.stages),
            Outline(held_out_pass(problem, None, footprint), self.stages),
        ]

    def _numbers(self, problem: Problem, footprint: Footprint) -> int:
        """How many numbers a row's features take up."""
        return self.choice(problem).prepared_numbers(problem, footprint.size)

    def _piece_rows(self, problem: Problem, footprint: Footprint) -> int:
        numbers = self._numbers(problem, footprint)
        return int(np.clip(_PIECE_BYTES // (numbers * problem.dtype.itemsize), 1, 1024))

    def _rounds(self, problem: Problem, footprint: Footprint, operand: Any) -> Rounds:
        outputs, size, itemsize = self.risk.n_outputs, footprint.size, problem.dtype.itemsize
        passes = self._passes(problem)
        n_rounds = passes * len(groups_of(problem.block_rows))
        numbers = self._numbers(problem, footprint)
        # in each round one group has its turn; more passes than two are of few rows
        operations = footprint.operations + EXPONENTIAL * numbers * outputs
        operations *= self.least_passes / n_rounds
        rows = min(self._piece_rows(problem, footprint), problem.most_rows)
        return Rounds(
            "dual steps",
            open_duals,
            either,
            operand,
            n_rounds=n_rounds,
            state_bytes_per_row=8.0 * outputs,
            cost=replace(footprint.cost(operations), compiled=True).holding(
                task={
                    "a piece": (rows, numbers + problem.row_numbers + 4 * outputs, itemsize + 8),
                    "w, u and v": (size, outputs, 32),
                    "order of a block's rows": (problem.most_rows, 16),
                },
                result={"w": (size, outputs, 8), "figures": (256,)},
                driver={"w, u and v before, now, and on their way": (11, size, outputs, 8)},
            ),
        )
