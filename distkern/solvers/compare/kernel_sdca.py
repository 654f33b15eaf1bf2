"""SDCA with the kernel itself: the model is a combination of kernels at training rows (k-SDCA).

The method of :mod:`~distkern.solvers.compare.sdca` is on the left, with f = sum_i a_i k(x_i, .) / (nu n) for
w, our code on the right:

    a <- 0                                        AbstractExplicit.init
    repeat:                                       KernelSDCA.steps: a turn for each group of rows
        draw a row i                              AbstractTurns.order; AbstractTurns.pieces, of 256 rows
        f(x_i) <- sum_j a_j k(x_j, x_i) / (nu n)  _Sum.at: all rows outside the piece; _kernel_turn: its own
        d <- argmax -l*(-(a_i + d), y_i)          _kernel_turn, the loop of kernel_turn_loop
            - nu n/2 |f + d k(x_i, .) / (nu n)|^2
        a_i <- a_i + d                            there; Share.duals, which all processes are sent
    until P(f) - D(a) <= tol (P(0) - P(f))        SDCA.bound, AbstractExplicit.converged
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.compiled import argument_types, compile_loop, parameters_type
from distkern.core.errors import InputError
from distkern.core.sparse import Rows, stacked
from distkern.core.types import Array, Block, Floats, groups_of
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.features import Footprint
from distkern.maths.features.landmarks import Support, support_cost
from distkern.maths.kernels.base import AbstractKernel
from distkern.maths.losses.base import AbstractCoordinateLoss
from distkern.passes import Message, Rounds
from distkern.solvers.base import Problem, Steps
from distkern.solvers.compare._residents import AbstractTurns, either, rows_of_groups
from distkern.solvers.compare.sdca import SDCA, SDCAState, dual_cost, dual_minimum
from distkern.solvers.explicit import Ended
from distkern.solvers.measuring import Model
from distkern.solvers.risk import Risk

#: rows whose steps share one kernel matrix
PIECE_ROWS = 256


@dataclass(frozen=True)
class Share:
    """The rows of a group with nonzero dual variables; one row if no group has any.

    Attributes
    ----------
    places : (m,) in the group, ascending
    rows : (m, n_features)
    duals : (m, k)
    """

    places: NDArray[np.int64]
    rows: Rows
    duals: Array


@dataclass(frozen=True)
class KernelOperand:
    """The operand of every process.

    Attributes
    ----------
    kernel : k
    risk : risk of a loss with single dual coordinates
    strength : nu n
    seed : seed of the order of rows
    block_rows : rows of the blocks of each group
    dtype : dtype of kernel values
    max_support : most rows of all shares together
    """

    kernel: AbstractKernel
    risk: Risk
    strength: float
    seed: int
    block_rows: tuple[tuple[int, ...], ...]
    dtype: np.dtype[Any]
    max_support: int


@dataclass(frozen=True)
class KernelTurn:
    """A round: the changed shares (all if ``anew``), and the group whose turn it is."""

    group: int
    epoch: int
    shares: dict[int, Share]
    anew: bool


@dataclass(frozen=True)
class KernelTurned:
    """A group's share after its turn, and its sum of (s_i l)*(-a_i) over rows and outputs."""

    share: Share
    costs: float


class ShareResident(AbstractTurns):
    """The resident that keeps all shares, received at the start of each stage."""

    key = 6
    _shares: dict[int, Share]

    def answer(self, message: KernelTurn) -> KernelTurned | None:
        self.replay(message)
        found: KernelTurned | None = super().answer(message)
        return found

    def replay(self, message: KernelTurn) -> None:
        self._shares = message.shares if message.anew else self._shares | message.shares

    def turn(self, message: KernelTurn) -> KernelTurned:
        steps = _DualSteps(self.operand, self._shares, message.group)
        for places, rows in self.pieces(message.group, message.epoch, PIECE_ROWS):
            steps.take(places, rows)
        return steps.turned()


class _DualSteps:
    """The steps of a group's rows, piece by piece.

    f at a piece sums the shares of other groups, the group's pending rows with their old variables, the
    group's finished rows with their new ones, and the piece's own rows one by one.
    """

    def __init__(self, operand: KernelOperand, shares: Mapping[int, Share], number: int) -> None:
        self._operand = operand
        known = [shares[group] for group in sorted(shares) if len(shares[group].places)]
        own = shares.get(number)
        self._n_others = sum(len(share.places) for share in known) - (0 if own is None else len(own.places))
        self._before = _Sum(operand, [(share.rows, share.duals) for share in known])
        #: position in that sum where the group's rows start
        self._first = sum(len(shares[group].places) for group in sorted(shares) if group < number)
        self._places = np.empty(0, np.int64) if own is None else own.places
        self._done: list[tuple[Rows, Array]] = []
        self._found: list[NDArray[np.int64]] = []
        self._costs = 0.0

    def take(self, places: NDArray[np.int64], piece: Block) -> None:
        """Make the steps of some rows."""
        operand, risk = self._operand, self._operand.risk
        loss = risk.loss
        assert isinstance(loss, AbstractCoordinateLoss)
        duals = np.zeros((piece.n_rows, risk.n_outputs))
        if len(self._places):
            there = np.minimum(np.searchsorted(self._places, places), len(self._places) - 1)
            (known,) = np.nonzero(self._places[there] == places)
            at = self._first + there[known]
            duals[known] = self._before.duals[at]
            # the piece counts them now
            self._before.duals[at] = 0.0
        basis = LandmarkBasis(operand.kernel, piece.features.astype(operand.dtype))
        kernels = np.ascontiguousarray(basis.values(basis.landmarks))
        predictions = self._before.at(piece.features) + _Sum(operand, self._done).at(piece.features)
        predictions += (kernels @ duals.astype(operand.dtype)).astype(np.float64)
        predictions /= operand.strength
        predictions += risk.offset
        costs = np.ascontiguousarray(risk.all_weights(piece))
        targets = risk.targets(piece).astype(np.float64)
        loop = kernel_turn_loop(loss, operand.dtype)
        scale = 1.0 / operand.strength
        self._costs += loop(kernels, predictions, targets, costs, scale, duals, loss.dual_parameters)
        # the conjugate of l(f + b) at -a is the conjugate of l plus a b
        self._costs += float((duals @ risk.offset).sum())
        (kept,) = np.nonzero(duals.any(axis=1))
        if not len(kept) + self._n_others + sum(map(len, self._found)):
            # a model without support keeps one row
            kept = np.zeros(1, np.intp)
        self._done.append((piece.features[kept], duals[kept]))
        self._found.append(places[kept])
        support = self._n_others + sum(len(one) for one in self._found)
        if support > operand.max_support:
            raise InputError(
                f"more than {operand.max_support:,} training rows have nonzero coefficients",
                where="max_support",
                hint="set a larger max_support, at more memory and time, a larger nu, loss='hinge' or "
                "'epsilon_insensitive', which need fewer rows, or features='nystroem'",
            )

    def turned(self) -> KernelTurned:
        """The group's share after its turn."""
        places = np.concatenate(self._found)
        order = np.argsort(places)
        rows = stacked([part for part, _ in self._done])[order]
        duals = np.concatenate([part for _, part in self._done])[order]
        return KernelTurned(Share(places[order], rows, duals), self._costs)


class _Sum:
    """nu n f = sum_i a_i k(x_i, .) over some rows; ``duals`` may be modified."""

    def __init__(self, operand: KernelOperand, parts: list[tuple[Rows, Array]]) -> None:
        there = [(rows, duals) for rows, duals in parts if len(duals)]
        self._outputs = operand.risk.n_outputs
        self.duals = np.concatenate([duals for _, duals in there]) if there else np.zeros((0, self._outputs))
        self._basis = None
        if there:
            rows = stacked([rows for rows, _ in there]).astype(operand.dtype)
            self._basis = LandmarkBasis(operand.kernel, rows)

    def at(self, features: Rows) -> Array:
        if self._basis is None:
            return np.zeros((features.shape[0], self._outputs))
        values: Floats = self._basis.combine(features, self.duals)
        return values.astype(np.float64)


@dataclass(frozen=True)
class KernelSDCA(SDCA):
    """Dual coordinate ascent on f = sum_i a_i k(x_i, .) / (nu n) with the norm |f|^2 of the kernel's space.

    A stage is one pass, or up to 32 with fewer than 5,462 rows. It is not accelerated, since u would keep
    every row that was ever in the model. All processes keep the support, the at most ``max_support`` rows
    with nonzero a_i. In its turn a group processes 256 rows at a time: it computes f at them from the
    support, then makes their steps with their kernel matrix. No other kernel values exist.
    """

    least_passes = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.features, Support)

    def steps(self, problem: Problem, state: SDCAState, basis: Any, preconditioner: Any) -> Steps[Ended]:
        features, risk = self.features, self.risk_of(state)
        assert isinstance(features, Support)
        block_rows, strength = rows_of_groups(problem), self.nu * problem.n_rows
        kernel, most = features.kernel.with_gamma(state.gamma), features.max_support
        operand = KernelOperand(kernel, risk, strength, problem.seed, block_rows, problem.dtype, most)
        footprint = self.footprint(problem, self.expected_size(problem))
        yield self.stage_pass(problem, footprint, state.stage, operand)
        shares, costs, passes = _shares_of(state, strength), 0.0, self._passes(problem)
        changed, anew = dict(shares), True
        for epoch in range(passes * state.stage, passes * (state.stage + 1)):
            costs = 0.0
            for group in ShareResident.order(problem, epoch):
                turned: KernelTurned = yield Message(KernelTurn(group, epoch, changed, anew))
                shares[group], costs = turned.share, costs + turned.costs
                changed, anew = {group: turned.share}, False
        support = np.array(
            [(group, place) for group in sorted(shares) for place in shares[group].places], dtype=np.int64
        ).reshape(-1, 2)
        there = [shares[group] for group in sorted(shares) if len(shares[group].places)]
        landmarks = stacked([share.rows for share in there])
        coefficients = np.concatenate([share.duals for share in there]) / strength
        model = Model(self.basis(problem, landmarks, state.gamma), coefficients, risk)
        dual = -costs / problem.n_rows - self.regulariser(model)
        own = {"landmarks": landmarks, "support": support, "dual": dual}
        return Ended(model, passes * problem.n_rows, own)

    def stage_pass(self, problem: Problem, footprint: Footprint, stage: int, operand: Any) -> Rounds:
        outputs = self.risk.n_outputs
        n_rounds = self._passes(problem) * len(groups_of(problem.block_rows))
        return Rounds(
            "dual steps",
            ShareResident,
            either,
            operand,
            n_rounds=n_rounds,
            state_bytes_per_row=0.0,
            cost=replace(support_cost(problem, footprint, outputs, PIECE_ROWS, n_rounds), compiled=True),
        )


def _shares_of(state: SDCAState, strength: float) -> dict[int, Share]:
    """The support of a state, by groups."""
    shares = {}
    for group in np.unique(state.support[:, 0]).tolist():
        (own,) = np.nonzero(state.support[:, 0] == group)
        shares[group] = Share(
            np.ascontiguousarray(state.support[own, 1]),
            state.landmarks[own],
            state.coefficients[own] * strength,
        )
    return shares


def _kernel_turn(kernels, predictions, targets, costs, scale, duals, parameters):  # type: ignore[no-untyped-def]
    n_rows, outputs = targets.shape
    total = 0.0
    for t in range(n_rows):
        cost = costs[t]
        if cost <= 0.0:
            continue
        for j in range(outputs):
            before = duals[t, j]
            square = scale * np.float64(kernels[t, t])
            after = dual_minimum(predictions[t, j], square, before, targets[t, j], cost, parameters)
            total += dual_cost(after, targets[t, j], cost, parameters)
            if after != before:
                duals[t, j] = after
                change = scale * (after - before)
                for s in range(t, n_rows):
                    predictions[s, j] += change * np.float64(kernels[t, s])
    return total


@cache
def kernel_turn_loop(loss: AbstractCoordinateLoss, dtype: np.dtype[Any]) -> Callable[..., float]:
    """Compile one exact step in the dual variables of each of some rows, given their kernel matrix.

    It takes the matrix (n, n), f at the rows (n, k), targets (n, k), costs (n,), 1 / (nu n), the dual
    variables (n, k) and the loss's dual parameters; f and the variables are updated in place.
    """
    names = {"x": dtype, "parameters": parameters_type(len(loss.dual_parameters))}
    arguments = argument_types("x[:, :] f8[:, :]! f8[:, :] f8[:] f8 f8[:, :]! parameters", **names)
    helpers: dict[str, Callable[..., Any]] = {
        "dual_minimum": type(loss).dual_minimum,
        "dual_cost": type(loss).dual_cost,
    }
    return compile_loop(_kernel_turn, arguments, helpers=helpers)
