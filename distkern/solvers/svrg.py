"""SVRG over features that are never stored (Li and Poczos 2016, Section 5; Johnson and Zhang 2013).

The paper (option I of Johnson and Zhang) is on the left, our code, with batches of B rows, on the right. Here
z_i is z(x_i):

    w~_0 <- 0                                    AbstractExplicit.init
    for s = 1, 2, ...                            AbstractExplicit.stage
        w~ <- w~_(s-1)                           FeatureState.coefficients
        mu <- mean_i z_i l'(z_i w~, y_i)         SVRGState.gradient, by the measuring of the stage before
        w_0 <- w~                                InnerLoop.__init__
        for t = 1 .. m:                          InnerLoop.consume, on the rows of SVRG.rows_of_stage
            draw a row i                         Problem.visits; workers make z_i and z_i w~: prepare_piece
            v <- z_i (l'(z_i w_(t-1), y_i)       InnerLoop._add, summed over a batch
                - l'(z_i w~, y_i))
                + mu + nu w_(t-1)                InnerLoop._step
            w_t <- w_(t-1) - eta v               there; P^-1 v for v, P of SVRG.preconditioner
        w~_s <- w_m                              InnerLoop.coefficients
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distkern.core.choices import Choices
from distkern.core.errors import InputError
from distkern.core.parameters import FLAG, NOT_NEGATIVE, NOTHING, POSITIVE, Parameter, Whole, parameter
from distkern.core.types import Array, Block, Floats
from distkern.maths.bases.base import AbstractBasis, add_transposed, product
from distkern.maths.features import Footprint
from distkern.passes import Reduce, Stream
from distkern.solvers.base import (
    Outline,
    Problem,
    Steps,
    UpdateRule,
    order_of_rows,
    piece_rows,
    rows_of_stage,
)
from distkern.solvers.bounds import FreeConstant, gradient_bound
from distkern.solvers.explicit import Ended, FeatureState, settled
from distkern.solvers.gram import Grams, Solve, inverted
from distkern.solvers.hyperparameters import ANY_LOSS, GAMMA_ON_DEMAND, SEARCHED_NU, feature_parameters
from distkern.solvers.measuring import (
    Figures,
    Model,
    Sums,
    gradient_pass,
    measure_gradient,
    pass_cost,
    with_largest,
)
from distkern.solvers.risk import Risk
from distkern.solvers.sample import sample_of
from distkern.solvers.streamed import AbstractLoop, AbstractStreamed, FeaturePiece

#: most features for which steps are preconditioned by default
MOST_PRECONDITIONED = 8192
#: least rows of a sample
_LEAST_SAMPLE = 8192
#: all rows are used up to this multiple of the sample's rows
_ALL_ROWS = 4
#: sampled rows per feature: for isotropic features the sampled Gram matrix is then at least
#: (1 - 1/sqrt(8))^2 = 0.42 of the true one, so that steps of 1/2 are stable
_ROWS_PER_FEATURE = 8
#: least rows of a batch; steps of half the inverse Hessian may diverge on fewer
LEAST_BATCH = 16


@dataclass(frozen=True)
class SVRGState(FeatureState):
    """A snapshot w~ = ``coefficients`` with the gradient and the figures at it.

    Attributes
    ----------
    gradient : (r, k), mu = mean_i z(x_i) s_i l'(f_i, y_i)
    largest : [max_i s_i |z(x_i)|^2]
    change : |w_s - w_(s-1)| / |w_s|, the largest over the outputs; infinite before the first stage
    balance : (2, k) means for bounds, see :class:`~distkern.solvers.bounds.FreeConstant`, or (2, 0)
    """

    gradient: Array
    largest: Array
    change: float
    balance: Array


def is_preconditioned(wanted: bool | None, size: int) -> bool:
    """Whether steps over ``size`` features are preconditioned: as ``wanted``; None means up to 8192 features.

    Raises
    ------
    InputError
        If more than 8192 features are to be preconditioned.
    """
    if wanted and size > MOST_PRECONDITIONED:
        raise InputError(
            f"supports at most {MOST_PRECONDITIONED} features, and there are {size}",
            where="precondition",
            hint="use precondition=False, or fewer features",
        )
    return size <= MOST_PRECONDITIONED if wanted is None else wanted


@dataclass(frozen=True)
class SVRG(AbstractStreamed[SVRGState]):
    """Variance-reduced mini-batch gradients over random, Nystroem or linear features.

    Minimises nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k) for k outputs. Starting from the snapshot w~
    with mu = mean_i z(x_i) s_i l'(z(x_i) w~, y_i), a stage takes batches of B rows:

        v = Z' (s (l'(Z w) - l'(Z w~))) / B + mu + nu w,    w <- w - eta P^-1 v,

    then computes the new snapshot's mu in one pass that builds all features again. With ``precondition``,
    P = c Z_S' diag(s) Z_S / |S| + (nu + damping) I and eta = 1/2: P bounds the Hessian, from a sample S of
    max(8192, 8 r) rows, or all rows if they are at most four times as many; c is the loss's curvature.
    Without, P = I and eta = 1 / (L (2 + 8 / B)) with L = c max_i s_i |z(x_i)|^2 + nu: 1 / (10 L) for single
    rows, as usual for SVRG, up to 1 / (2 L) for batches. A loss whose slope jumps gets c = 1; its steps end
    within noise of their own size and not at the minimum.

    Raises
    ------
    InputError
        If a number is out of range, or ``precondition`` is set for more than 8192 features.
    """

    nu: float = parameter(1e-6, NOT_NEGATIVE, help="weight of |w|^2 / 2 against the mean loss")
    batch_size: int | None = parameter(
        None,
        Whole(),
        NOTHING,
        help="B, rows of a step; none: 256, with a preconditioner at least a quarter of the features; at "
        "most n / 8 and at least 16",
    )
    steps_per_stage: int | float | None = rows_of_stage("two passes, the usual 2 n / B steps")
    step_size: float | None = parameter(
        None, POSITIVE, NOTHING, help="eta; none: from the loss and the features"
    )
    precondition: bool | None = parameter(
        None,
        FLAG,
        NOTHING,
        help="precondition steps by a bound of the Hessian from a sample of rows; none: up to 8192 features",
    )
    damping: float | None = parameter(
        None, NOT_NEGATIVE, NOTHING, help="added to the bound of the Hessian; none: from the batch size"
    )
    stages: int = parameter(
        10, Whole(), help="at most this many; each ends with one pass for the full gradient"
    )
    tol: float = parameter(
        1e-3,
        NOT_NEGATIVE,
        help="stop once the objective is shown to be within this share of f(0) - f of its minimum, or w "
        "changes by less than this share of itself in a stage",
    )
    order: str = order_of_rows()

    name = "svrg"
    cost_of_pass = "n r (d + k) for the full gradient, n r (d + 2 k) + n r^2 / B for the inner loop"
    memory = "r k numbers, and r^2 with a preconditioner"
    searched: ClassVar[Mapping[str, Choices]] = {"nu": SEARCHED_NU, "gamma": GAMMA_ON_DEMAND}
    choices: ClassVar[Mapping[str, Parameter]] = {"loss": ANY_LOSS, **feature_parameters("random")}

    states, updates = SVRGState, UpdateRule()

    def preconditioned(self, size: int) -> bool:
        """Whether steps over ``size`` features are preconditioned."""
        return is_preconditioned(self.precondition, size - self.n_constant)

    def rows_of_batch(self, problem: Problem, size: int) -> int:
        if self.batch_size is not None:
            return min(self.batch_size, problem.n_rows)
        wanted = max(256, size // 4) if self.preconditioned(size) else 256
        return min(problem.n_rows, max(LEAST_BATCH, min(wanted, problem.n_rows // 8)))

    def rows_of_stage(self, problem: Problem) -> int:
        return problem.rows_of(self.steps_per_stage, 2.0 * problem.n_rows)

    def eta(self, size: int, batch: int, largest: float) -> float:
        """The step size."""
        if self.step_size is not None:
            return self.step_size
        if self.preconditioned(size):
            return 0.5
        smoothness = self.risk.curvature * largest + self.nu
        return 1.0 / (max(smoothness, np.finfo(float).tiny) * (2.0 + 8.0 / batch))

    def shift(self, size: int, batch: int, largest: float) -> float:
        """nu plus the damping."""
        if self.damping is not None:
            return self.nu + self.damping
        return max(self.nu, self.eta(size, batch, largest) * self.risk.curvature * largest / (2.0 * batch))

    def step_hint(self) -> str:
        hint = super().step_hint()
        return f"{hint}, or a larger batch_size" if self.step_size is None else hint

    # -- the algorithm

    def init(self, problem: Problem) -> Steps[Any]:
        self.preconditioned(self.expected_size(problem))
        return (yield from super().init(problem))

    def at_zero(self, problem: Problem, risk: Risk, w: Array, figures: Figures) -> dict[str, Any]:
        largest = np.array([figures.sums.largest])
        return {**_slopes(figures), "largest": largest, "change": math.inf}

    def preconditioner(self, problem: Problem, state: SVRGState, basis: AbstractBasis) -> Steps[Solve | None]:
        """P^-1, if steps are preconditioned."""
        if not self.preconditioned(basis.size):
            return None
        shift = self.shift(basis.size, self.rows_of_batch(problem, basis.size), float(state.largest[0]))
        footprint, c = self.footprint(problem, basis.size), self.risk.curvature
        return (yield from preconditioner(problem, basis, self.risk, footprint, c, shift))

    def prepared(self, model: Model, state: Any) -> Model:
        return model

    def loop(
        self, problem: Problem, state: SVRGState, basis: AbstractBasis, preconditioner: Any
    ) -> InnerLoop:
        batch = self.rows_of_batch(problem, basis.size)
        eta = self.eta(basis.size, batch, float(state.largest[0]))
        visits = problem.visits(self.rows_of_stage(problem), state.stage, self.order)
        ends = batch_ends(sum(visit.n_draws for visit in visits), batch)
        w, risk = state.coefficients, self.risk_of(state)
        return InnerLoop(risk, w, state.gradient, self.penalty(basis), eta, preconditioner, basis, ends)

    def after(self, state: SVRGState, figures: Figures, ended: Ended) -> dict[str, Any]:
        change = _relative_change(ended.model.coefficients, state.coefficients)
        return {"change": change, **_slopes(figures)}

    def bound(self, state: SVRGState) -> float:
        """|g|^2 / (2 nu) for the gradient g at w.

        Uses the duality gap with the slopes at w; :func:`~distkern.solvers.bounds.gradient_bound` covers an
        unregularised constant.
        """
        gradient, free = state.gradient + self.nu * state.coefficients, None
        if self.n_constant:
            gradient[-1] = state.gradient[-1]
            length = math.sqrt(float(state.largest[0]))
            free = FreeConstant(self.risk_of(state).loss, length, state.balance, state.objective)
        return gradient_bound(self.nu, gradient, free=free)

    def stopped(self, state: SVRGState) -> str:
        return settled(self.tol) if state.change <= self.tol and not self.converged(state) else ""

    def after_shift(self, state: SVRGState, figures: Figures) -> dict[str, Any]:
        return _slopes(figures)

    def figures(self, state: SVRGState) -> dict[str, float]:
        return {"change": state.change, "bound": self.bound(state)}

    # -- passes

    def first_pass(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        cost = pass_cost(problem, footprint, 4)
        return Reduce("first snapshot", first_snapshot, Sums.add, model, cost=cost)

    def measuring(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        return gradient_pass(problem, model, footprint, "snapshot")

    def stage_pass(
        self, problem: Problem, footprint: Footprint, stage: int, operand: Any
    ) -> Stream[FeaturePiece]:
        size, outputs, itemsize = footprint.size, problem.n_outputs, problem.dtype.itemsize
        numbers = self.numbers(problem, size)
        operations = footprint.operations - footprint.factor_operations + 4.0 * numbers * outputs
        metric = size, size, 8 * self.preconditioned(size)
        cost = footprint.cost(operations).holding(
            task={"coefficients and gradient": (2, size, outputs, 8 + itemsize)},
            result={"features, predictions and signs": (numbers + 2 * outputs, itemsize), "weight": (8,)},
            driver={"metric": metric, "the basis": (footprint.operand_bytes,)},
        )
        visits = problem.visits(self.rows_of_stage(problem), stage, self.order)
        rows = piece_rows(numbers, itemsize, least=1)
        return Stream("inner loop", visits, prepare_piece, operand, piece_rows=rows, cost=cost)

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        passes = super().passes(problem, footprint)
        if self.preconditioned(footprint.size):
            passes.append(sampled_grams(problem, footprint.size).outline(problem, footprint))
        return passes


def _slopes(figures: Figures) -> dict[str, Any]:
    """The fields of a state that depend on its slopes."""
    return {"gradient": figures.sums.mean_gradient, "balance": figures.sums.mean_balance}


def _relative_change(new: Floats, old: Array) -> float:
    difference = np.linalg.norm(new - old, axis=0)
    return float(np.max(difference / np.maximum(np.linalg.norm(new, axis=0), np.finfo(float).tiny)))


def sampled_grams(problem: Problem, size: int) -> Grams:
    """The passes over the sample S: about max(8192, 8 r) rows, or all rows if at most four times as many."""
    wanted = max(_LEAST_SAMPLE, _ROWS_PER_FEATURE * size)
    if problem.n_rows <= _ALL_ROWS * wanted:
        # then all rows cost little and leave no sampling error
        wanted = problem.n_rows
    return Grams(sample=sample_of(problem, wanted))


def preconditioner(
    problem: Problem, basis: AbstractBasis, risk: Risk, footprint: Footprint, curvature: float, shift: float
) -> Steps[Solve]:
    """Return the map by P^-1, P = c Z_S' diag(s) Z_S / |S| + shift I, in float64.

    Each pass over the sampled rows sums a strip of columns below the diagonal. The Gram matrix is inverted
    (by Cholesky) in place, so that the driver holds a single (r, r) matrix.
    """
    model = Model(basis, np.zeros((basis.size, 0)), risk)
    (gram,), sums = yield from sampled_grams(problem, basis.size).matrices(problem, model, footprint)
    gram *= curvature / sums.n_rows
    return inverted(gram, shift)


def first_snapshot(block: Block, model: Model) -> Sums:
    """Return the sums of a block with the gradient and the largest s_i |z(x_i)|^2."""
    return with_largest(measure_gradient(block, model), block, model)


def prepare_piece(block: Block, model: Model) -> FeaturePiece:
    """Prepare the rows of a piece and their predictions at the snapshot ``model``.

    ``values`` holds the inputs of the features, see
    :meth:`~distkern.maths.bases.base.AbstractBasis.cheap_values`.
    """
    values, dtype = model.basis.cheap_values(block.features), model.basis.dtype
    predictions = np.empty((block.n_rows, model.coefficients.shape[1]), dtype=dtype)
    product(values, model.basis.outward(model.coefficients.astype(np.float64)).astype(dtype), predictions)
    risk = model.risk
    return FeaturePiece(values, risk.targets(block), risk.all_weights(block), predictions=predictions)


def batch_ends(n_rows: int, batch_size: int) -> list[int]:
    """Ends of a stage's batches of about ``batch_size`` rows; none is short, since short ones are noisy."""
    n_batches = max(1, round(n_rows / batch_size))
    return [(batch + 1) * n_rows // n_batches for batch in range(n_batches)]


class InnerLoop(AbstractLoop):
    """w during a stage that starts from the snapshot w~ = ``start`` with mu = ``gradient``.

    At the end of each batch of B rows, with f = f~ + Z (w - w~),

        v = Z' (s (l'(f) - l'(f~))) / B + mu + nu w,    w <- w - eta P^-1 v,

    where nu is (r, 1), 0 for a constant function. If features are products with a matrix, Z = K F, rows hold
    K alone and steps apply F, at r^2 operations a batch instead of a row. Slopes are computed in float64 at
    f~ and at f~ plus the change, so that their difference vanishes with w - w~ at any precision of the
    features.
    """

    def __init__(
        self,
        risk: Risk,
        start: Array,
        gradient: Array,
        nu: Array,
        eta: float,
        solve: Solve | None,
        basis: AbstractBasis,
        ends: Sequence[int],
    ) -> None:
        self._risk, self._start, self._gradient = risk, start, gradient
        self._nu, self._eta, self._solve, self._basis = nu, float(eta), solve, basis
        self._dtype = basis.dtype
        self._ends = deque(ends)
        self._rows = self._in_batch = 0
        self._sum = np.zeros_like(start)
        self._w = start.copy()
        self._moved = np.zeros(start.shape, dtype=self._dtype)

    @property
    def coefficients(self) -> Array:
        return self._w

    def consume(self, piece: FeaturePiece) -> None:
        """Make the steps that a piece completes."""
        start, n_rows = 0, len(piece.weights)
        while start < n_rows:
            stop = min(n_rows, start + self._ends[0] - self._rows)
            self._add(piece.take(slice(start, stop)))
            self._rows += stop - start
            start = stop
            if self._rows == self._ends[0]:
                self._ends.popleft()
                self._step()

    def _add(self, part: FeaturePiece) -> None:
        assert part.predictions is not None, "prepared with the snapshot"
        changes = np.empty(part.predictions.shape, dtype=self._dtype)
        product(part.values, self._moved, changes)
        before = part.predictions.astype(np.float64)
        targets = part.signs.astype(np.float64)
        slopes = self._risk.slopes(before + changes, targets, part.weights)
        slopes -= self._risk.slopes(before, targets, part.weights)
        add_transposed(part.values, slopes.astype(self._dtype), self._sum)
        self._in_batch += len(part.weights)

    def _step(self) -> None:
        change = self._basis.inward(self._sum) / self._in_batch
        direction = change + self._gradient + self._nu * self._w
        if self._solve is not None:
            direction = self._solve(direction)
        self._w -= self._eta * direction
        self._moved = self._basis.outward(self._w - self._start).astype(self._dtype)
        self._sum[...] = 0.0
        self._in_batch = 0
