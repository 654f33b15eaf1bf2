"""Random block coordinate descent over features (Dai et al. 2014, Table 2; Richtarik and Takac 2014).

F(w) = nu/2 |w|^2 + mean_i l(z(x_i) w, y_i), whose gradient in block j of the coefficients has the Lipschitz
constant L_j. The paper is on the left, our code on the right:

    w <- 0                                        AbstractExplicit.init
    repeat:                                       RBCD.steps: a message for each step
        draw a block j                            RBCD._order
        g <- the gradient of F in block j         PredictionResident._gradient, summed over all rows
        d <- argmin_d <g, d> + L_j/2 |d|^2        -H_j^-1 g, H_j = L_j I or a bound of the Hessian
                                                      (RBCD.preconditioner)
        w_j <- w_j + d                            RBCD.steps; BlockMessage.change has the rows' f follow
                                                      in the next step (PredictionResident._move)
    until the objective hardly falls              RBCD._is_slow
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.choices import Choices
from distkern.core.errors import InputError
from distkern.core.parameters import FLAG, NOT_NEGATIVE, Parameter, Whole, Words, parameter
from distkern.core.rng import Purpose, stream
from distkern.core.tiles import scratch
from distkern.core.types import Array, Block, Floats, groups_of
from distkern.maths.bases.base import AbstractBasis, multiply
from distkern.maths.features import Footprint
from distkern.maths.losses import CURVED_LOSSES, SUPERVISED, takes
from distkern.passes import EXPONENTIAL, Message, Rounds
from distkern.solvers.base import Outline, Problem, Steps, Trouble, UpdateRule
from distkern.solvers.bounds import FreeConstant, gradient_bound
from distkern.solvers.compare._blocks import (
    BlockGrams,
    GramOperand,
    block_solves,
    gram_pass,
    runs_of,
    tiles_cost,
)
from distkern.solvers.compare._residents import GroupResident
from distkern.solvers.explicit import AbstractExplicit, CountingState, Ended
from distkern.solvers.gram import Solve
from distkern.solvers.hyperparameters import SEARCHED_NU, a_loss, feature_parameters
from distkern.solvers.measuring import Figures, Model, Sums, sums_and_slopes
from distkern.solvers.risk import Risk

#: first index of the stream that orders blocks
_ORDER = 4


@dataclass(frozen=True, kw_only=True)
class RBCDState(CountingState):
    """Coefficients after a stage; the predictions at them stay with the rows.

    Attributes
    ----------
    decrease : decrease of the objective in the last stage; infinite before the first
    is_slow : whether further stages would hardly lower it, extrapolating the last two
    upper : bound of its distance to the minimum if ``is_slow``, else infinite
    """

    decrease: float
    is_slow: bool
    upper: float


@dataclass(frozen=True)
class RBCD(AbstractExplicit[RBCDState]):
    """Block coordinate descent over random, Nystroem or linear features, each step over all rows.

    Minimises nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k) for k outputs. A step draws a
    block j of c consecutive coefficients and does

        w_j <- w_j - H_j^-1 (Z_j' S l'(f) / n + nu w_j),    H_j = L_j I,  L_j = lambda_max(B_j),

    (Richtarik and Takac 2014), where B_j = curvature Z_j' S Z_j / n + nu I bounds the Hessian in the block;
    with ``precondition``, H_j = B_j itself, whose bound is never worse. Every step lowers the objective. One
    pass at the start sums the B_j of all blocks, r c numbers held by the driver. Predictions f stay with
    their rows: a step sends them the change of the previous block and receives the gradient, so that features
    are built twice for each block. ``order`` "shuffled" visits every block once a stage, a deviation from the
    paper, whose draws are independent.

    A run ends when stages lower the objective so slowly that, at the rate of the last two, it would fall by
    less than tol of f(0) - f in all further ones. The rows then return the gradient g of all blocks, for the
    bound :func:`~distkern.solvers.bounds.gradient_bound` of the distance, |g|^2 / (2 nu) without a constant.

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
        True, FLAG, help="H_j bounds the block's second derivatives instead of their largest eigenvalue"
    )
    stages: int = parameter(30, Whole(), help="at most this many, each with one step per block")
    tol: float = parameter(
        1e-4,
        NOT_NEGATIVE,
        help="stop once the objective would fall by less than this share of f(0) - f in all further stages, "
        "extrapolating the last two",
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
    states, updates = RBCDState, UpdateRule()
    hints: ClassVar[Mapping[Trouble, str]] = {
        Trouble.DIVERGED: "set a larger nu than {nu:g}, and check for very large features"
    }
    # no trials, since predictions stay with all rows
    searched: ClassVar[Mapping[str, Choices]] = {}
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("logistic", CURVED_LOSSES.where(SUPERVISED)),
        **feature_parameters("random"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.risk.loss.curvature):
            raise InputError(
                f"{self.risk.loss.name!r} has a slope that jumps, so steps of block descent may diverge",
                where="loss",
                hint=f"use one of {', '.join(CURVED_LOSSES.where(takes(self.risk.loss.target_kind)))}",
            )

    def at_zero(self, problem: Problem, risk: Risk, w: Array, figures: Figures) -> dict[str, Any]:
        # in an update, w as sent to the rows
        own = {} if self.before is None else {"coefficients": w.astype(problem.dtype).astype(np.float64)}
        return {"decrease": math.inf, "is_slow": False, "upper": math.inf, **own}

    def steps(
        self, problem: Problem, state: RBCDState, basis: AbstractBasis, preconditioner: Any
    ) -> Steps[Ended]:
        risk, w = self.risk_of(state), state.coefficients.copy()
        solves, length = preconditioner
        nu = self.penalty(basis)
        runs = runs_of(basis.size, self.block_size)
        change: tuple[slice, Floats] | None = None
        footprint = self.footprint(problem, basis.size)
        yield self.stage_pass(problem, footprint, state.stage, RBCDOperand(basis, risk))
        if self.at_model is not None and state.stage == 0:
            for run in runs:
                yield Message(BlockMessage((run, w[run].astype(basis.dtype)), run))
        for block in self._order(len(runs), problem.seed, state.stage):
            run = runs[block]
            gradients: tuple[Array, ...] = yield Message(BlockMessage(change, run))
            slopes = reduce(operator.add, gradients)
            step = solves[block](slopes / problem.n_rows + nu[run] * w[run])
            # the rows receive the change of the coefficients
            narrow = (-step).astype(basis.dtype)
            w[run] += narrow
            change = run, narrow
        shares: tuple[Sums, ...] = yield Message(BlockMessage(change, None))
        sums, model, upper = reduce(Sums.add, shares), Model(basis, w, risk), math.inf
        objective = self.regulariser(model) + sums.losses / problem.n_rows
        is_slow = self._is_slow(state.zero - objective, state.objective - objective, state.decrease)
        if is_slow:
            gradient = nu * w
            for run in runs:
                gradients = yield Message(BlockMessage(None, run))
                gradient[run] += reduce(operator.add, gradients) / problem.n_rows
            free = None
            if length is not None:
                free = FreeConstant(risk.loss, length, sums.mean_balance, objective)
            upper = gradient_bound(self.nu, gradient, free=free)
        return Ended(model, (len(runs) + 1) * problem.n_rows, {"upper": upper, "is_slow": is_slow}, sums)

    def after(self, state: RBCDState, figures: Figures, ended: Ended) -> dict[str, Any]:
        return {**ended.solver_state, "decrease": state.objective - figures.objective}

    def bound(self, state: RBCDState) -> float:
        return state.upper

    def stopped(self, state: RBCDState) -> str:
        if not state.is_slow or self.converged(state):
            return ""
        return f"settled: stages lower the objective by less than {self.tol:g} of its decrease"

    def figures(self, state: RBCDState) -> dict[str, float]:
        return {"decrease": state.decrease, "bound": state.upper}

    def _is_slow(self, fallen: float, now: float, before: float) -> bool:
        """Whether the sum of all further decreases is small, extrapolated geometrically."""
        # d + q d + q^2 d + ... for q = d / before
        return now <= 0.0 or (now < before and now / (1.0 - now / before) <= self.tol * fallen)

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        # the steps measure the training rows, except for an updated or shifted model
        own = [each for each in super().passes(problem, footprint) if each.step.name != "measure"]
        if self.shifts_offset or self.at_model is not None:
            own.append(Outline(self.measuring(problem, None, footprint)))
        return [*own, Outline(gram_pass(problem, footprint, self.block_size, None))]

    def _order(self, n_blocks: int, seed: int, stage: int) -> NDArray[np.int64]:
        """The order of blocks in a stage."""
        generator = stream(seed, Purpose.VISIT_ORDER, _ORDER, stage)
        if self.order == "iid":
            return generator.integers(0, n_blocks, n_blocks)
        return generator.permutation(n_blocks)

    def preconditioner(self, problem: Problem, state: RBCDState, basis: AbstractBasis) -> Steps[Made]:
        """Return H_j^-1 of each block, and the root of the mean of |z|^2 beside a constant."""
        operand = GramOperand(basis, self.risk, self.block_size)
        footprint = self.footprint(problem, basis.size)
        grams: BlockGrams = yield gram_pass(problem, footprint, self.block_size, operand)
        scale = self.risk.loss.scaled(state.target_scale).curvature / problem.n_rows
        length = None
        if basis.n_constant:
            length = math.sqrt(sum(float(np.trace(gram)) for gram in grams.matrices) / problem.n_rows)
        return block_solves(grams, scale, self.nu, whole=self.precondition), length

    def stage_pass(self, problem: Problem, footprint: Footprint, stage: int, operand: Any) -> Rounds:
        outputs, size = self.risk.n_outputs, footprint.size
        width = min(self.block_size, size)
        n_blocks, groups = -(-size // width), len(groups_of(problem.block_rows))
        # a round builds two blocks; any block of Nystroem features needs the kernels at all landmarks
        share = 1.0 if footprint.block_size >= size else width / size
        operations = 2 * (share * footprint.operations + EXPONENTIAL * width)
        return Rounds(
            "block steps",
            PredictionResident,
            # the solver sums over groups in a fixed order
            operator.add,
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


#: see :meth:`RBCD.preconditioner`
Made: TypeAlias = tuple[list[Solve], float | None]


@dataclass(frozen=True)
class RBCDOperand:
    """Operand of every process."""

    basis: AbstractBasis
    risk: Risk


@dataclass(frozen=True)
class BlockMessage:
    """A message to all residents.

    Attributes
    ----------
    change : a run of coefficients and their change (run, n_outputs), in the dtype of the basis
    wanted : the run whose gradient to return; None for losses and errors
    """

    change: tuple[slice, Floats] | None
    wanted: slice | None


#: for each group Z_j' G (run, n_outputs), or its losses and errors
Answer: TypeAlias = tuple[Array | Sums, ...]


class PredictionResident(GroupResident):
    """Keeps f, (n_rows, n_outputs) float64, for the rows of some groups."""

    keeps = "predictions"

    def answer(self, message: BlockMessage) -> Answer:
        return tuple(self._visit(number, message) for number in self.groups)

    def replay(self, message: BlockMessage) -> None:
        if message.change is not None:
            for number in self.groups:
                for block, predictions in self.blocks(number):
                    self._move(block, predictions, message.change)

    def _visit(self, number: int, message: BlockMessage) -> Array | Sums:
        """Update a group's predictions, then compute its sums, reading rows once."""
        risk = self.operand.risk
        sums, gradient = Sums.none(risk), None
        for block, predictions in self.blocks(number):
            if message.change is not None:
                self._move(block, predictions, message.change)
            if message.wanted is None:
                sums = Sums.add(sums, self._sums(block, predictions))
                continue
            share = self._gradient(block, predictions, message.wanted)
            gradient = share if gradient is None else gradient + share
        return sums if gradient is None else gradient

    def _sums(self, block: Block, predictions: Array) -> Sums:
        balance = bool(self.operand.basis.n_constant)
        risk = self.operand.risk
        return sums_and_slopes(risk, block, predictions, slopes=False, balance=balance)[0]

    def _move(self, block: Block, predictions: Array, change: tuple[slice, Floats]) -> None:
        run, coefficients = change
        for _, tile in self.operand.basis.column_tiles(block.features, [run]):
            shape = (len(tile.values), coefficients.shape[1])
            share: Floats = scratch("predictions of a run", shape, tile.values.dtype)
            multiply(tile.values, coefficients, share)
            predictions[tile.rows] += share

    def _gradient(self, block: Block, predictions: Array, wanted: slice) -> Array:
        basis, risk = self.operand.basis, self.operand.risk
        # in double precision, as small slopes are differences of large numbers
        targets = risk.targets(block).astype(np.float64)
        slopes = risk.slopes(predictions, targets, risk.weights(block)).astype(basis.dtype)
        gradient = np.zeros((wanted.stop - wanted.start, predictions.shape[1]))
        for _, tile in basis.column_tiles(block.features, [wanted]):
            gradient += tile.values.T @ slopes[tile.rows]
        return gradient
