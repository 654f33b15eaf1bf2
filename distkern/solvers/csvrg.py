"""CSVRG: coreset stochastic variance-reduced gradient (Tan et al. 2019, Algorithm 1).

The m rows x_i lie near core points; c_i is the nearest one, and alpha_i(w) = lam l'(<w, phi(x_i)>, y_i). The
paper is on the left, our code on the right:

    choose core points (Definition 2)              AbstractExplicit.init, by a rule of landmarks/
    w~_0 <- 0                                      there: coefficients of the landmarks
    for s = 1, 2, ...                              AbstractExplicit.stage
        w~ <- w~_(s-1)                             FeatureState.coefficients
        mu <- 1/m sum_i alpha_i(w~) phi(c_i)       CSVRGState.gradient, by the measuring of the stage before
        w_0 <- w~                                  CSVRGSteps.__init__
        for t = 1 .. T:                            CSVRGSteps.step, by csvrg_loop
            draw a row i                           Problem.visits; workers make k(x_i, C) and alpha_i(w~)
            c_t <- the core point nearest to x_i   prepare_piece
            h_t <- w_(t-1) + mu                    _csvrg, the loop of csvrg_loop, with w = a v + b mu
                + (alpha_i(w_(t-1)) - alpha_i(w~)) phi(c_t)
            w_t <- w_(t-1) - eta h_t               there: v, whose coefficients alone a row changes
            project w_t on a ball around 0         CSVRGSteps.project, every 32 r steps (BallProjection)
        w~_s <- w_T (option I), or w_t of a        CSVRGSteps.coefficients; CSVRG.taken, Mean
            random t < T (option II)

The gradient at the snapshot is w~ + mu; its w~ cancels in h_t (equation 9). :class:`SpanCSVRG` replaces
phi(c_i) by the projection of phi(x_i) on the span of all landmarks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distkern.core.choices import Choices
from distkern.core.compiled import derivative, tuple_type
from distkern.core.parameters import FLAG, NOT_NEGATIVE, NOTHING, Number, Parameter, Whole, Words, parameter
from distkern.core.rng import Purpose, stream
from distkern.core.types import Array, Floats
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.features import Footprint
from distkern.maths.features.landmarks import whitened
from distkern.maths.losses import MARGIN_LOSSES
from distkern.maths.losses.base import AbstractElementwiseLoss
from distkern.passes import Reduce
from distkern.solvers.base import Problem, UpdateRule, order_of_rows, rows_of_stage
from distkern.solvers.bounds import gradient_bound
from distkern.solvers.coreset import (
    AbstractCoresetSolver,
    AbstractSteps,
    BallProjection,
    KernelPiece,
    PieceOperand,
    compiled_steps,
)
from distkern.solvers.explicit import Ended, FeatureState, settled
from distkern.solvers.hyperparameters import CORESET, SEARCHED_GAMMA, SEARCHED_LAM, a_loss
from distkern.solvers.measuring import Figures, Model, Sums, gradient_pass
from distkern.solvers.risk import Risk


@dataclass(frozen=True, kw_only=True)
class CSVRGState(FeatureState):
    """A snapshot w~ with the coreset gradient and the figures at it.

    Attributes
    ----------
    coefficients : of the kernels at the landmarks, or of the Nystroem features for :class:`SpanCSVRG`
    gradient : (r, n_outputs), mu = (1/m) sum_i alpha~_i p(x_i), see :class:`CSVRG`
    change : |w_s - w_(s-1)| / |w_s|, the largest over the outputs; infinite before the first stage
    projections : projections on the ball so far
    """

    gradient: Array
    change: float
    projections: int


@dataclass(frozen=True)
class CSVRG(AbstractCoresetSolver[CSVRGState]):
    """Variance-reduced stochastic gradients over the span of landmarks.

    Minimises f of :class:`~distkern.solvers.coreset.AbstractCoresetSolver`. Starting from the snapshot w~
    with mu = (1/m) sum_i alpha~_i p(x_i), one stage does for t = 1 .. T

        w <- (1 - eta) w - eta (alpha_t - alpha~_t) p(x_t) - eta mu,        w = a v + b mu (lazily scaled),

    at O(r) a step, then computes the new snapshot's gradient in one pass. As in Algorithm 1, p(x) is phi of
    the landmark nearest to x, and the fixed point is near the minimum only if the landmarks are dense. For
    ``projection="span"`` see :class:`SpanCSVRG`.

    Deviations from Algorithm 1: lambda is inside alpha once (the paper's (4)-(7) and (9) disagree); the
    projection is :class:`~distkern.solvers.coreset.BallProjection`, for the hinge loss too; rows are shuffled
    within and between blocks unless ``order`` is "iid". Line 5 of the paper prints w~_0 for w_0.

    The next snapshot is the mean of every eighth iterate in the stage's last quarter, unless ``option`` is
    one of the paper's. Iterates scatter around the minimum by a good part of their distance from w~; their
    mean does not: on covtype and ijcnn1, two stages match five with the last iterate. Steps may then be twice
    as long, 1 / L, which helps if L is many times the number of rows: on 10,000 rows of letter, ijcnn1 and
    covtype the objective after 24 passes is below that of last iterates after 34.
    """

    stages: int = parameter(
        5,
        Whole(),
        help="at most this many; each is one pass for the full gradient and one for the inner loop",
    )
    steps_per_stage: int | float | None = rows_of_stage(
        "one pass, or 3 / eta rows up to three passes or 10,000 rows"
    )
    step_size: float | None = parameter(
        None,
        Number(0, 1, open=(True, True)),
        NOTHING,
        help="eta; none: 1 / L, 0.5 / L without the mean of iterates, and 0.02 / max(1, lam) for nonsmooth "
        "losses",
    )
    option: str = parameter(
        "mean",
        Words("mean", "I", "II"),
        help="the next snapshot: the mean of the iterates in the stage's last quarter, the last iterate (I) "
        "or a random one (II)",
    )
    order: str = order_of_rows()
    projection: bool | str = parameter(
        "span",
        Words("span"),
        FLAG,
        help="span: project gradients on the span of the landmarks, at r^2 more operations a row; true: move "
        "them to the nearest landmark, as in the paper; both keep w in the ball that holds the optimum; "
        "false: as true, without the ball",
    )
    tol: float = parameter(
        1e-2,
        NOT_NEGATIVE,
        help="stop once w changes by less than this share of itself in a stage, or, with projection='span', "
        "the objective is shown to be within this share of f(0) - f of its minimum",
    )

    name = "csvrg"
    cost_of_pass = "n r (r + d + k) for the full gradient, as much for the inner loop"
    memory = "r (r + d + k) numbers and a tile of features"
    searched: ClassVar[Mapping[str, Choices]] = {"lam": SEARCHED_LAM, "gamma": SEARCHED_GAMMA}
    choices: ClassVar[Mapping[str, Parameter]] = {"loss": a_loss("odm", MARGIN_LOSSES), **CORESET}

    states, columns_per_output, updates = CSVRGState, 2, UpdateRule()
    #: whether gradients are projected on the span of the landmarks
    spans: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.spans == (self.projection == "span"), "use SpanCSVRG"

    def eta(self, problem: Problem) -> float:
        """The step size."""
        if self.step_size is not None:
            return self.step_size
        smoothness, share = self.smoothness(problem), 1.0 if self.option == "mean" else 0.5
        return share / smoothness if math.isfinite(smoothness) else 0.02 / max(1.0, self.lam)

    def rows_of_stage(self, problem: Problem) -> int:
        """T with eta T >= 3, for a linear rate, but at least one pass and at most three or 10,000 steps."""
        wanted = min(max(problem.n_rows, 3.0 / self.eta(problem)), max(3.0 * problem.n_rows, 10_000.0))
        return problem.rows_of(self.steps_per_stage, wanted)

    def columns(self, state: CSVRGState) -> Floats:
        return np.concatenate([state.coefficients, state.gradient], axis=1)

    def at_zero(self, problem: Problem, risk: Risk, w: Array, figures: Figures) -> dict[str, Any]:
        return {"gradient": self.lam * figures.sums.mean_gradient, "change": math.inf, "projections": 0}

    def loop(
        self, problem: Problem, state: CSVRGState, basis: AbstractBasis, preconditioner: Any
    ) -> CSVRGSteps:
        return CSVRGSteps(self, problem, state, basis)

    def taken(self, problem: Problem, stage: int) -> tuple[int, int]:
        """First and stop of the t whose w_t are averaged to the next snapshot; if empty, it is w_T."""
        n_steps = self.rows_of_stage(problem)
        if self.option == "mean":
            return n_steps - n_steps // 4, n_steps
        if self.option == "I":
            return n_steps, n_steps
        drawn = int(stream(problem.seed, Purpose.OPTION_II, stage).integers(n_steps))
        return drawn, drawn + 1

    def after(self, state: CSVRGState, figures: Figures, ended: Ended) -> dict[str, Any]:
        return {**ended.solver_state, "gradient": self.lam * figures.sums.mean_gradient}

    def after_shift(self, state: CSVRGState, figures: Figures) -> dict[str, Any]:
        return {"gradient": self.lam * figures.sums.mean_gradient}

    def stopped(self, state: CSVRGState) -> str:
        return settled(self.tol) if state.change <= self.tol and not self.converged(state) else ""

    def figures(self, state: CSVRGState) -> dict[str, float]:
        return {"change": state.change, "projections": float(state.projections)}


@dataclass(frozen=True)
class SpanCSVRG(CSVRG):
    """CSVRG with p(x) the projection of phi(x) on the span of all landmarks, which is not in the paper.

    In orthonormal coordinates these are the Nystroem features K_CC^(-1/2) k(C, x), and the solver ends at the
    minimum of f over that span. A row costs r^2 more operations, on the workers.
    """

    spans = True
    updates = UpdateRule(keeps=("coefficients",))

    def bound(self, state: CSVRGState) -> float:
        """|g|^2 / 2 for the gradient g at w, with the offset of classes fixed."""
        return gradient_bound(1.0, state.coefficients + state.gradient)

    def figures(self, state: CSVRGState) -> dict[str, float]:
        return {**super().figures(state), "bound": self.bound(state)}

    def footprint(self, problem: Problem, size: int) -> Footprint:
        # the root of the kernel matrix takes its eigenvectors
        return replace(whitened(super().footprint(problem, size), problem), driver_bytes=40 * size**2)

    def measuring(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        return gradient_pass(problem, model, footprint, "snapshot")

    def prepared(self, model: Model, state: CSVRGState) -> PieceOperand:
        return replace(super().prepared(model, state), finds_nearest=False)

    def ball(self, basis: AbstractBasis) -> BallProjection:
        # the iterates end at the minimum, and its norm is bounded without the factor of 2
        return BallProjection(basis, self.radius / math.sqrt(2.0))


class CSVRGSteps(AbstractSteps):
    """The inner loop of a stage, with w lazily scaled."""

    def __init__(self, solver: CSVRG, problem: Problem, state: CSVRGState, basis: AbstractBasis) -> None:
        super().__init__(solver, basis)
        self._state, self._basis, loss = state, basis, solver.margin_loss
        self._loop, offset = csvrg_loop(loss, basis.dtype), solver.risk_of(state).offset
        self._rule = (float(solver.eta(problem)), float(solver.lam), solver.spans, offset, loss.parameters)
        v = np.array(state.coefficients.T, dtype=np.float64, order="C")
        self._w = Iterate(v, np.ones(1), np.zeros(problem.n_outputs))
        self._mean = Mean.over(*solver.taken(problem, state.stage), *v.shape)

    def step(self, piece: KernelPiece) -> None:
        self._loop(*piece.loop_arguments(), self._w, self._mean, *self._rule)

    def project(self) -> None:
        self._w.scale(self._ball.shrinkage(self._w.coefficients(self._state.gradient)))

    @cached_property
    def coefficients(self) -> Array:
        found = self._mean if self._mean.counts[1] else self._w
        coefficients = found.coefficients(self._state.gradient)
        return coefficients * self._ball.shrinkage(coefficients)

    def solver_state(self) -> dict[str, Any]:
        change = _relative_change(self._basis, self.coefficients, self._state.coefficients)
        return {"change": change, "projections": self._state.projections + self._ball.applied}


def _relative_change(basis: AbstractBasis, new: Array, old: Array) -> float:
    squares = basis.squared_norms(np.concatenate([new - old, new], axis=1))
    difference, norm = np.sqrt(squares).reshape(2, -1)
    return float(np.max(difference / np.maximum(norm, np.finfo(float).tiny)))


class Iterate(NamedTuple):
    """CSVRG's w = a v + b mu, with ``v`` (k, r), ``a`` (1,) and ``b`` (k,)."""

    v: Array
    a: Array
    b: Array

    def coefficients(self, gradient: Array) -> Array:
        """w (r, k), given mu (r, k)."""
        return self.a * self.v.T + self.b * gradient

    def scale(self, factors: Array) -> None:
        """w <- factor w, for each output."""
        self.v[...] *= factors[:, None]
        self.b[...] *= factors


class Mean(NamedTuple):
    """The mean of the w_t before every eighth step t of ``window`` = (first, last + 1).

    ``v`` (k, r) and ``b`` (k,) are the sums of a v and of b; ``counts`` holds t and the number of terms.
    """

    v: Array
    b: Array
    window: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def over(cls, first: int, stop: int, n_outputs: int, size: int) -> Mean:
        window, counts = np.array([first, stop], dtype=np.int64), np.zeros(2, dtype=np.int64)
        return cls(np.zeros((n_outputs, size)), np.zeros(n_outputs), window, counts)

    def coefficients(self, gradient: Array) -> Array:
        """The mean (r, k), given mu (r, k)."""
        mean: Array = (self.v.T + self.b * gradient) / self.counts[1]
        return mean


def _csvrg(values, nearest, products, signs, weights, w, mean, eta, lam, spans, offset, parameters):  # type: ignore[no-untyped-def]
    v, b, a = w.v, w.b, w.a[0]
    size = values.shape[1]
    outputs = signs.shape[1]
    differences = np.empty(outputs)
    step = mean.counts[0]
    for t in range(values.shape[0]):
        if mean.window[0] <= step < mean.window[1] and (step - mean.window[0]) % 8 == 0:
            for j in range(outputs):
                for i in range(size):
                    mean.v[j, i] += a * v[j, i]
                mean.b[j] += b[j]
            mean.counts[1] += 1
        step += 1
        for j in range(outputs):
            dot = 0.0
            for i in range(size):
                dot += values[t, i] * v[j, i]
            y = np.float64(signs[t, j])
            prediction = a * dot + b[j] * products[t, outputs + j] + offset[j]
            at_snapshot = np.float64(products[t, j]) + offset[j]
            differences[j] = derivative(prediction, y, parameters) - derivative(at_snapshot, y, parameters)
            b[j] = (1.0 - eta) * b[j] - eta
        a *= 1.0 - eta
        # before the division: a is 0 for eta = 1, and negative after a large step on a heavy row
        if abs(a) < 1e-4:
            for j in range(outputs):
                for i in range(size):
                    v[j, i] *= a
            a = 1.0
        for j in range(outputs):
            change = eta * lam * weights[t] * differences[j] / a
            if spans:
                for i in range(size):
                    v[j, i] -= change * values[t, i]
            else:
                v[j, nearest[t]] -= change
    w.a[0], mean.counts[0] = a, step


@cache
def csvrg_loop(loss: AbstractElementwiseLoss, dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the inner loop of Tan et al. 2019, Algorithm 1, over the rows of a piece.

    It takes the arrays of a :class:`~distkern.solvers.coreset.KernelPiece`, whose ``products`` (n, 2 k) are
    the predictions of w~ and mu, an :class:`Iterate` and a :class:`Mean`, both updated in place, eta, lam,
    whether directions are the rows of values instead of the nearest landmarks, the offset (k,) of
    predictions, and the loss's parameters.
    """
    iterate = tuple_type(Iterate, "f8[:, :]! f8[:]! f8[:]!")
    mean = tuple_type(Mean, "f8[:, :]! f8[:]! i8[:]! i8[:]!")
    return compiled_steps(_csvrg, iterate, "mean f8 f8 b1 f8[:]", loss, dtype, mean=mean)
