"""Stochastic dual coordinate ascent on features (Dai et al. 2014, Table 2; Shalev-Shwartz, Zhang 2013).

:class:`SDCA` defines P and D; z_i = z(x_i). The paper is on the left, our code on the right:

    a <- 0;  w <- 0                               AbstractExplicit.init; Duals, which stay with their rows
    repeat:                                       SDCA.steps: a turn for each group of rows
        draw a row i                              AbstractTurns.order; AbstractTurns.pieces
        d <- argmax -l*(-(a_i + d), y_i)          _turn, the loop of turn_loop, by the loss's dual_minimum
            - nu n/2 |w + d z_i / (nu n)|^2
        a_i <- a_i + d                            there; Duals.turn keeps them
        w <- w + d z_i / (nu n)                   there; Turned.w goes to the next group
    until P(w) - D(a) <= tol (P(0) - P(w))        SDCA.bound, AbstractExplicit.converged

If that takes many passes, a stage minimises P(w) + kappa/2 |w - u|^2, with the u of SDCA.after.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.choices import Choices
from distkern.core.compiled import argument_types, compile_loop, parameters_type
from distkern.core.errors import InputError
from distkern.core.parameters import NOT_NEGATIVE, POSITIVE, Parameter, Whole, parameter
from distkern.core.tiles import aligned
from distkern.core.types import Array, groups_of
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.features import FEATURES, Footprint
from distkern.maths.losses import COORDINATE_LOSSES, SUPERVISED, AbstractCoordinateLoss, takes
from distkern.passes import EXPONENTIAL, Message, Rounds
from distkern.solvers.base import Problem, Steps, Trouble, UpdateRule
from distkern.solvers.compare._residents import AbstractTurns, either, rows_of_groups
from distkern.solvers.explicit import AbstractExplicit, CountingState, Ended
from distkern.solvers.hyperparameters import GAMMA_ON_DEMAND, a_loss, feature_parameters
from distkern.solvers.measuring import Figures, Model
from distkern.solvers.risk import Risk
from distkern.solvers.streamed import column_of, dense_column, prepare_piece, sparse_column

_PIECE_BYTES = 4 * 2**20
#: approximate steps of a stage, and its most passes
_STEPS, _MOST_PASSES = 8192, 32


@dataclass(frozen=True, kw_only=True)
class SDCAState(CountingState):
    """w after a stage; the dual variables stay with the rows.

    Attributes
    ----------
    coefficients : (r, k), w
    nearby : (r, k), u, the centre of the next stage's proximal term; without rows for kernels at rows
    dual_sum : (r, k), v = sum_i a_i z(x_i) / n; without rows for kernels at rows
    support : (r, 2) group and position of the rows of kernels; without rows for other features
    dual : the largest D(a) so far
    mean_square : mean of |z(x_i)|^2; 0 before the first stage
    lowered : decrease of P by the final offset of classes
    """

    nearby: NDArray[np.float64]
    dual_sum: NDArray[np.float64]
    support: NDArray[np.int64]
    dual: float
    mean_square: float = 0.0
    lowered: float = 0.0

    @property
    def gap(self) -> float:
        """P(w) - D(a) >= 0 with the offset of the steps: an upper bound of the distance to the minimum."""
        return max(0.0, self.objective + self.lowered - self.dual)


@dataclass(frozen=True)
class SDCA(AbstractExplicit[SDCAState]):
    """Dual coordinate ascent over random, Nystroem or linear features, one row at a time.

    Minimises P(w) = nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k), by maximising

        D(a) = -mean_i (s_i l)*(-a_i) - nu/2 |w(a)|^2,    w(a) = sum_i a_i z(x_i) / (nu n),

    for each output separately. A step sets a_i to its exact maximum, in closed form (for the logistic loss by
    Newton's method in one variable), and updates w. a stays with its rows, k numbers each. A pass visits the
    groups of rows in random order, and within a group its blocks and their rows: the process that holds a
    group receives w, makes the steps of its rows, and sends w on. So every row has one step a pass (the
    paper's SDCA-Perm, up to the order of groups), and processes take turns, since steps are sequential. A
    stage is p = 2 passes, or up to 32 with fewer than 3,277 rows.

    If nu n is small relative to |z|^2, steps of similar rows undo each other, and a pass achieves little. So
    stages follow Shalev-Shwartz and Zhang's accelerated method (Accelerated proximal stochastic dual
    coordinate ascent for regularized loss minimization, Mathematical Programming 155, 2016): a stage works on
    P(w) + kappa/2 |w - u|^2, with w(a) = (kappa u + sum_i a_i z(x_i) / n) / (nu + kappa). There (nu + kappa)
    n = 2/p c mean |z|^2, c the smaller of 1 and the loss's curvature, unless nu n is larger and kappa = 0.
    Then u extrapolates w by (1 - q) / (1 + q) of its last change, q^2 = nu / (nu + kappa), but stays at w if
    P has risen (O'Donoghue and Candes, Adaptive restart for accelerated gradient schemes, Foundations of
    Computational Mathematics 15, 2015).

    The duality gap P(w) - max D(a) over the stages so far bounds the distance of P to its minimum for any u.
    It ends the run, and a gap that has not closed is reported. With the logistic loss P has the initial
    offset; the shift at the end only lowers it. For the kernel itself as features see
    :class:`~distkern.solvers.compare.kernel_sdca.KernelSDCA`.

    Raises
    ------
    InputError
        If a number is out of range, or the dual of the loss has no exact steps in single coordinates.
    """

    nu: float = parameter(1e-5, POSITIVE, help="weight of |w|^2 / 2 against the mean loss")
    stages: int = parameter(
        20,
        Whole(),
        help="at most this many, each two passes over the rows, one with features='kernel'; more if few",
    )
    tol: float = parameter(
        1e-3, NOT_NEGATIVE, help="stop once the duality gap is at most this share of f(0) - f"
    )

    name = "sdca"
    regularises_all = True
    cost_of_pass = "n r (d + 3 k), by one process after the other; n r (d + k) for the duality gap"
    memory = "k numbers a row where the row is; 3 r k numbers"
    searched: ClassVar[Mapping[str, Choices]] = {
        # with smaller values the gap stays wide after all stages
        "nu": Choices(1e-5, (1.0, 0.3, 0.1, 0.03, 0.01), -1, 1e-9),
        "gamma": GAMMA_ON_DEMAND,
    }
    #: least passes of a stage over the rows
    least_passes: ClassVar[int] = 2
    states = SDCAState
    updates = UpdateRule(refusal="its dual variables, one for each row, are not saved with it")
    hints: ClassVar[Mapping[Trouble, str]] = {
        Trouble.DIVERGED: "set a larger nu than {nu:g}",
        Trouble.UNFINISHED: "set more stages than {stages}, or a larger nu than {nu:g}, which needs fewer",
    }
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("logistic", COORDINATE_LOSSES.where(SUPERVISED)),
        **feature_parameters("random", FEATURES),
    }

    @classmethod
    def kind_for(cls, features: Any) -> type[Any]:
        if not features.finds_rows:
            return cls
        from distkern.solvers.compare.kernel_sdca import KernelSDCA

        return KernelSDCA

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.risk.loss, AbstractCoordinateLoss):
            raise InputError(
                f"the dual of {self.risk.loss.name!r} has no exact steps in single coordinates",
                where="loss",
                hint=f"use one of {', '.join(COORDINATE_LOSSES.where(takes(self.risk.loss.target_kind)))}",
            )

    def at_zero(self, problem: Problem, risk: Risk, w: Array, figures: Figures) -> dict[str, Any]:
        return {"nearby": w, "dual_sum": w, "support": np.zeros((0, 2), np.int64), "dual": 0.0}

    def steps(self, problem: Problem, state: SDCAState, basis: Any, preconditioner: Any) -> Steps[Ended]:
        risk, footprint = self.risk_of(state), self.footprint(problem, basis.size)
        block_rows, n = rows_of_groups(problem), problem.n_rows
        operand = SDCAOperand(basis, risk, problem.seed, block_rows, self._piece_rows(problem, footprint))
        yield self.stage_pass(problem, footprint, state.stage, operand)
        passes = self._passes(problem)
        curvature = 2.0 / passes * min(self.risk.loss.curvature, 1.0)
        kappa = max(0.0, curvature * state.mean_square / n - self.nu)
        strength, u = self.nu + kappa, state.nearby
        w = np.ascontiguousarray((kappa * u + state.dual_sum).T) / strength
        for epoch in range(passes * state.stage, passes * (state.stage + 1)):
            costs = squares = 0.0
            for group in Duals.order(problem, epoch):
                turned: Turned = yield Message(Turn(group, epoch, 1.0 / (strength * n), w))
                w, costs, squares = turned.w, costs + turned.costs, squares + turned.squares
        w = np.ascontiguousarray(w.T)
        dual_sum, q = strength * w - kappa * u, math.sqrt(self.nu / strength)
        own = {
            # share of the extrapolation, if P has not risen
            "nearby": (1.0 - q) / (1.0 + q),
            "dual_sum": dual_sum,
            "dual": -costs / n - 0.5 / self.nu * float(np.square(dual_sum).sum()),
            "mean_square": squares / n,
        }
        return Ended(Model(basis, w, risk), passes * n, own)

    def after(self, state: SDCAState, figures: Figures, ended: Ended) -> Mapping[str, Any]:
        # D of the model 0 is 0, so the largest is at least 0
        own = {**ended.solver_state, "dual": max(ended.solver_state["dual"], state.dual)}
        if "nearby" in own:
            w = ended.model.coefficients
            beyond = own["nearby"] if figures.objective <= state.objective else 0.0
            own["nearby"] = w + beyond * (w - state.coefficients)
        return own

    def after_shift(self, state: SDCAState, figures: Figures) -> Mapping[str, Any]:
        return {"lowered": state.objective - figures.objective}

    def regulariser(self, model: Model) -> float:
        if self.features.finds_rows:
            return super().regulariser(model)
        return 0.5 * self.nu * float(np.square(model.coefficients).sum())

    def _passes(self, problem: Problem) -> int:
        """Number of passes over the rows in a stage."""
        return int(np.clip(round(_STEPS / problem.n_rows), self.least_passes, _MOST_PASSES))

    def bound(self, state: SDCAState) -> float:
        return state.gap

    def shortfall(self, state: SDCAState) -> str:
        if not state.stage or self.converged(state):
            return ""
        share = 100 * state.gap / abs(state.objective)
        return (
            f"the duality gap, which bounds the objective's distance to its minimum, is {share:.2g} % of the "
            f"objective, with tol={self.tol:g} of f(0) - f: {self.hint(Trouble.UNFINISHED)}"
        )

    def figures(self, state: SDCAState) -> dict[str, float]:
        return {"gap": state.gap}

    def _piece_rows(self, problem: Problem, footprint: Footprint) -> int:
        numbers = self.numbers(problem, footprint.size)
        return int(np.clip(_PIECE_BYTES // (numbers * problem.dtype.itemsize), 1, 1024))

    def stage_pass(self, problem: Problem, footprint: Footprint, stage: int, operand: Any) -> Rounds:
        outputs, size, itemsize = self.risk.n_outputs, footprint.size, problem.dtype.itemsize
        passes = self._passes(problem)
        n_rounds = passes * len(groups_of(problem.block_rows))
        numbers = self.numbers(problem, size)
        # one group takes its turn in each round; more than two passes are over few rows
        operations = footprint.operations + EXPONENTIAL * numbers * outputs
        operations *= self.least_passes / n_rounds
        rows = min(self._piece_rows(problem, footprint), problem.most_rows)
        return Rounds(
            "dual steps",
            Duals,
            either,
            operand,
            n_rounds=n_rounds,
            state_bytes_per_row=8.0 * outputs,
            message_bytes=8 * size * outputs,
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


@dataclass(frozen=True)
class SDCAOperand:
    """Operand of every process.

    Attributes
    ----------
    basis : z
    risk : risk of a loss with single dual coordinates
    seed : seed of the order of rows
    block_rows : rows of the blocks of each group
    piece_rows : rows whose features exist at once
    """

    basis: AbstractBasis
    risk: Risk
    seed: int
    block_rows: tuple[tuple[int, ...], ...]
    piece_rows: int


@dataclass(frozen=True)
class Turn:
    """A round: one group takes its turn.

    Attributes
    ----------
    group : the group
    epoch : number of the pass
    scale : factor of a_i z(x_i) in w
    w : (k, r) before the turn
    """

    group: int
    epoch: int
    scale: float
    w: Array


@dataclass(frozen=True)
class Turned:
    """The answer of the process that holds the group.

    Attributes
    ----------
    w : (k, r) after the turn
    costs : sum of (s_i l)*(-a_i) over the group and the outputs
    squares : sum of |z(x_i)|^2 over the group
    """

    w: Array
    costs: float
    squares: float


class Duals(AbstractTurns):
    """Keeps a, (n_rows, n_outputs) float64, for the rows of some groups."""

    keeps, key = "duals", 5

    def turn(self, message: Turn) -> Turned:
        operand: SDCAOperand = self.operand
        duals, loss = self.kept[message.group], operand.risk.loss
        assert isinstance(loss, AbstractCoordinateLoss)
        model = Model(operand.basis, np.zeros((0, duals.shape[1])), operand.risk)
        (w,) = aligned(message.w.copy())
        costs = squares = 0.0
        for places, rows in self.pieces(message.group, message.epoch, operand.piece_rows):
            piece, own = prepare_piece(rows, model), np.ascontiguousarray(duals[places])
            loop = turn_loop(loss, operand.basis.dtype, piece.is_dense)
            arguments = piece.loop_arguments()
            offset = operand.risk.offset
            cost, square = loop(*arguments, message.scale, offset, own, w, loss.dual_parameters)
            # the conjugate of l(f + b) at -a is the conjugate of l plus a b
            costs, squares = costs + cost + float((own @ offset).sum()), squares + square
            duals[places] = own
        return Turned(w, costs, squares)


def dual_cost(dual: Any, target: Any, cost: Any, parameters: Any) -> Any:
    """Placeholder for the loss's method."""
    raise NotImplementedError


def dual_minimum(prediction: Any, square: Any, dual: Any, target: Any, cost: Any, parameters: Any) -> Any:
    """Placeholder for the loss's method."""
    raise NotImplementedError


def _turn(data, indices, indptr, targets, costs, scale, offset, duals, w, parameters):  # type: ignore[no-untyped-def]
    n_rows, outputs = targets.shape
    total = squares = 0.0
    # convert a row to the precision of w once for all outputs
    most = 1
    for t in range(n_rows):
        most = max(most, indptr[t + 1] - indptr[t])
    row = np.empty(most)
    for t in range(n_rows):
        first, n_entries = indptr[t], indptr[t + 1] - indptr[t]
        for entry in range(n_entries):
            row[entry] = data[first + entry]
        # a separate loop: with stores in it, the order of its sum would depend on memory alignment
        square = 0.0
        for entry in range(n_entries):
            square += row[entry] * row[entry]
        squares += square
        for j in range(outputs):
            target, cost, before = np.float64(targets[t, j]), costs[t], duals[t, j]
            if cost <= 0.0:
                continue
            prediction = offset[j]
            for entry in range(n_entries):
                prediction += row[entry] * w[j, column_of(indices, first, first + entry)]
            after = dual_minimum(prediction, square * scale, before, target, cost, parameters)
            total += dual_cost(after, target, cost, parameters)
            if after != before:
                duals[t, j] = after
                change = scale * (after - before)
                for entry in range(n_entries):
                    w[j, column_of(indices, first, first + entry)] += change * row[entry]
    return total, squares


@cache
def turn_loop(
    loss: AbstractCoordinateLoss, dtype: np.dtype[Any], is_dense: bool
) -> Callable[..., tuple[float, float]]:
    """Compile one exact step in the dual variables of each of some rows, in their order.

    It takes the arrays of a :class:`~distkern.solvers.streamed.FeaturePiece` (with its weights as costs), the
    factor of a_i z(x_i) in w, the offset (k,) of predictions, the dual variables (n, k) and w (k, r), both
    updated in place, and the loss's dual parameters; it returns the sums of the conjugates and of |z(x_i)|^2.
    """
    names = {"x": dtype, "parameters": parameters_type(len(loss.dual_parameters))}
    arguments = argument_types(
        "x[:] i4[:] i8[:] x[:, :] f8[:] f8 f8[:] f8[:, :]! f8[:, :]! parameters", **names
    )
    helpers: dict[str, Callable[..., Any]] = {
        "dual_minimum": type(loss).dual_minimum,
        "dual_cost": type(loss).dual_cost,
        "column_of": dense_column if is_dense else sparse_column,
    }
    return compile_loop(_turn, arguments, helpers=helpers)
