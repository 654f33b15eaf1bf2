"""Pegasos: stochastic subgradients of the primal (Shalev-Shwartz, Singer, Srebro 2007).

The paper, for the hinge loss, is on the left, our code, for every margin loss, on the right:

    w_1 <- 0                                      AbstractExplicit.init
    for t = 1 .. T:                               Subgradients.consume, by _steps, the loop of steps_loop
        draw a batch A of B rows                  Problem.visits; workers make z(x_i): prepare_piece
        A+ <- the rows of A with                  _steps: the slope l' is 0 at the other rows
            y_i <w_t, x_i> < 1
        eta <- 1 / (lam t)                        Rule.offset: 1 / (lam (t0 + t))
        w <- (1 - eta lam) w_t                    shrink()
        w <- w + eta/B sum of y_i x_i over A+     _steps
        w_(t+1) <- w, projected on the ball       close(); Pegasos.radius
            of radius 1 / sqrt(lam)
    return w_(T+1)                                Subgradients.coefficients: an average of all iterates
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from distkern.core.choices import Choices
from distkern.core.compiled import argument_types, compile_loop, derivative, parameters_type, tuple_type
from distkern.core.parameters import FLAG, POSITIVE, Parameter, Whole, parameter
from distkern.core.types import Array
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.features import AbstractFeatures, Footprint
from distkern.maths.losses import MARGIN_LOSSES, margin_loss
from distkern.maths.losses.base import AbstractElementwiseLoss
from distkern.passes import Reduce, Stream
from distkern.solvers.base import (
    Problem,
    Trouble,
    UpdateRule,
    averaged_iterates,
    order_of_rows,
    rows_of_stage,
)
from distkern.solvers.explicit import CountingState
from distkern.solvers.hyperparameters import GAMMA_ON_DEMAND, a_loss, feature_parameters
from distkern.solvers.measuring import Figures, Model, Sums, held_out_pass, measuring_pass
from distkern.solvers.risk import Risk
from distkern.solvers.streamed import (
    AbstractLoop,
    AbstractStreamed,
    FeaturePiece,
    column_of,
    dense_column,
    few_steps,
    measure_largest,
    sparse_column,
)


@dataclass(frozen=True, kw_only=True)
class PegasosState(CountingState):
    """w = scale * vectors, the weighted sum of the iterates so far, and the model.

    Attributes
    ----------
    vectors : (r + 1, n_outputs); the intercept is the last row
    scale, norms : (n_outputs,); norms are the squared norms of the vectors
    early, scale_sum : the weighted sum of the iterates is scale_sum * vectors - early
    total : sum of the iterates' weights
    offset : t0
    step : t, the steps so far
    intercept : (n_outputs,) of the model
    """

    vectors: Array
    scale: Array
    norms: Array
    early: Array
    scale_sum: Array
    total: float
    offset: float
    step: int
    intercept: Array


class Iterates(NamedTuple):
    """w = scale v for each output, with scale_sum v - early the weighted sum of the iterates.

    Attributes
    ----------
    v, early : (r + 1, k), the intercept is the last row
    scale, scale_sum : (k,)
    norms : (k,) |v|^2
    total : (1,) sum of the weights
    """

    v: Array
    early: Array
    scale: Array
    scale_sum: Array
    norms: Array
    total: Array


class Rule(NamedTuple):
    """Steps of 1 / (lam (offset + t)) over ``batch`` rows in a ball, with iterates averaged by t^power.

    A negative ``power`` means no averaging. ``bias`` is the value of the constant feature, ``center`` (k,)
    the offset of predictions.
    """

    offset: float
    lam: float
    radius: float
    power: int
    batch: int
    bias: float
    center: Array


class Subgradients(AbstractLoop):
    """The steps of a stage."""

    def __init__(
        self,
        solver: Pegasos,
        problem: Problem,
        state: PegasosState,
        basis: AbstractBasis,
        preconditioner: Any,
    ) -> None:
        kept = (
            state.vectors,
            state.early,
            state.scale,
            state.scale_sum,
            state.norms,
            np.array([state.total]),
        )
        self._iterates, self._step = Iterates(*(array.copy() for array in kept)), state.step
        power = -1 if solver.averaging is None else int(solver.averaging)
        batch, bias = int(solver.batch_size), float(solver.fit_intercept)
        center = np.array(solver.risk_of(state).offset)
        self._rule = Rule(state.offset, float(solver.lam), solver.radius(), power, batch, bias, center)
        self._loss, self._dtype = margin_loss(solver.risk.loss), basis.dtype
        self._entries = state.accesses_nonzero

    def consume(self, piece: FeaturePiece) -> None:
        loop, parameters = steps_loop(self._loss, self._dtype, piece.is_dense), self._loss.parameters
        self._step = loop(*piece.loop_arguments(), self._iterates, self._rule, self._step, parameters)
        self._entries += piece.n_nonzero
        self.n_rows += len(piece.weights)

    @property
    def _w(self) -> Array:
        """The average of the iterates, or the last one, (r + 1, k)."""
        v, early, scale, scale_sum, _, (total,) = self._iterates
        return scale * v if self._rule.power < 0 else np.asarray((scale_sum * v - early) / total)

    @property
    def coefficients(self) -> Array:
        return self._w[:-1]

    @property
    def intercept(self) -> Array:
        last: Array = self._w[-1]
        return last

    def solver_state(self) -> dict[str, Any]:
        v, early, scale, scale_sum, norms, (total,) = self._iterates
        kept = {"vectors": v, "early": early, "scale": scale, "scale_sum": scale_sum, "norms": norms}
        more = {"total": float(total), "step": self._step, "intercept": self.intercept}
        return {**kept, **more, "accesses_nonzero": self._entries}


def shrink(factor: float, w: Any) -> None:
    """w <- factor w, for all outputs, in O(1) except for rare flushes."""
    v, early, scale, scale_sum, norms, _ = w
    for j in range(scale.shape[0]):
        scale[j] *= factor
        # the first step of the hinge has factor 0, and divisions by the scale would overflow
        if scale[j] < 1e-6:
            norms[j] = 0.0
            for i in range(v.shape[0]):
                early[i, j] -= scale_sum[j] * v[i, j]
                v[i, j] *= scale[j]
                norms[j] += v[i, j] * v[i, j]
            scale[j] = 1.0
            scale_sum[j] = 0.0


def close(step: int, radius: float, power: int, w: Any) -> None:
    """Project w on the ball and add it to the average with weight step^power."""
    _, _, scale, scale_sum, norms, total = w
    weight = 0.0
    if power >= 0:
        weight = 1.0
        for _ in range(power):
            weight *= step
    for j in range(scale.shape[0]):
        square = scale[j] * scale[j] * norms[j]
        if square > radius * radius:
            scale[j] *= radius / np.sqrt(square)
        scale_sum[j] += weight * scale[j]
    total[0] += weight


def _steps(data, indices, indptr, targets, weights, w, rule, step, parameters):  # type: ignore[no-untyped-def]
    v, early, scale, scale_sum, norms, _ = w
    offset, lam, radius, power, batch, bias, center = rule
    n_rows, outputs = targets.shape
    size = v.shape[0] - 1
    dots, moves = np.empty(outputs), np.empty((min(batch, n_rows), outputs))
    for start in range(0, n_rows, batch):
        stop = min(start + batch, n_rows)
        step += 1
        for t in range(start, stop):
            first, last = indptr[t], indptr[t + 1]
            if outputs == 1:
                dot = np.float64(0.0)
                for entry in range(first, last):
                    dot += np.float64(data[entry]) * v[column_of(indices, first, entry), 0]
                dots[0] = dot
            else:
                for j in range(outputs):
                    dots[j] = 0.0
                for entry in range(first, last):
                    i, x = column_of(indices, first, entry), np.float64(data[entry])
                    for j in range(outputs):
                        dots[j] += x * v[i, j]
            for j in range(outputs):
                prediction = scale[j] * (dots[j] + bias * v[size, j]) + center[j]
                slope = derivative(prediction, np.float64(targets[t, j]), parameters)
                moves[t - start, j] = -weights[t] * slope / (lam * (offset + step) * (stop - start))
        shrink(1.0 - 1.0 / (offset + step), w)
        for t in range(start, stop):
            moved = False
            for j in range(outputs):
                dots[j] = moves[t - start, j] / scale[j]
                moved |= dots[j] != 0.0
            if moved:
                first, last = indptr[t], indptr[t + 1]
                # the entry after the last is the constant feature
                for entry in range(first, last + 1):
                    i, x = size, bias
                    if entry < last:
                        i, x = column_of(indices, first, entry), np.float64(data[entry])
                    if x != 0.0:
                        for j in range(outputs):
                            change = dots[j] * x
                            before = v[i, j]
                            v[i, j] = before + change
                            norms[j] += change * (before + v[i, j])
                            early[i, j] += scale_sum[j] * change
        close(step, radius, power, w)
    return step


@cache
def steps_loop(loss: AbstractElementwiseLoss, dtype: np.dtype[Any], is_dense: bool) -> Callable[..., int]:
    """Compile the steps of Pegasos over the rows of a piece, ``batch`` rows a step.

    Dense and sparse rows are summed in the same order and give the same bits.

    The function takes the arrays of a :class:`~distkern.solvers.streamed.FeaturePiece`, :class:`Iterates`
    that it updates in place, the :class:`Rule`, the last ``step`` and the loss's parameters; it returns the
    new step.
    """
    w = tuple_type(Iterates, "f8[:, :]! f8[:, :]! f8[:]! f8[:]! f8[:]! f8[:]!")
    rule = tuple_type(Rule, "f8 f8 f8 i8 i8 f8 f8[:]!")
    names = {"x": dtype, "w": w, "rule": rule, "parameters": parameters_type(len(loss.parameters))}
    arguments = argument_types("x[:] i4[:] i8[:] x[:, :] f8[:] w rule i8 parameters", **names)
    helpers: dict[str, Callable[..., Any]] = {
        "derivative": type(loss).derivative,
        "shrink": shrink,
        "close": close,
        "column_of": dense_column if is_dense else sparse_column,
    }
    return compile_loop(_steps, arguments, helpers=helpers, exact=True)


@dataclass(frozen=True)
class Pegasos(AbstractStreamed[PegasosState]):
    """Minimises lam/2 |w|^2 + mean_i s_i l(<w, phi(x_i)> + b, y_i), one-vs-rest over the outputs.

    w <- (1 - eta_t lam) w - (eta_t / B) sum over the batch of s_i l' phi(x_i), eta_t = 1 / (lam (t0 + t)),
    then w is optionally projected on a ball that holds the optimum.

    Deviations: t0 = L / lam for smooth losses, so that no step exceeds 1 / L (L = curvature times the largest
    s_i |phi(x_i)|^2), and 0 for the hinge as in the paper; the ball's radius is
    sqrt(min(max -f l'(f), 2 l(0)) / lam), the paper's 1 / sqrt(lam) for the hinge; rows are drawn without
    replacement unless ``order`` is "iid"; the model is a weighted average of the iterates; a batch ends with
    its block; the intercept is the regularised weight of a constant feature 1. The logistic loss adds an
    unregularised one: it starts at the log-odds and is shifted at the end, see
    :func:`~distkern.solvers.targets.offsets_of_scores`.
    """

    lam: float = parameter(
        1e-4,
        POSITIVE,
        help="weight of |w|^2 / 2 against the mean loss: larger fits less closely, unlike CSVRG's",
    )
    batch_size: int = parameter(1, Whole(), help="B, rows of a step")
    stages: int = parameter(5, Whole(), help="number of stages; the model is measured after each")
    steps_per_stage: int | float | None = rows_of_stage(
        "one pass, or more if that is less than 1 / lam steps (at most 2^14 of them)"
    )
    projection: bool = parameter(
        True, FLAG, help="project w on the ball that holds the optimum after every step"
    )
    averaging: int | None = averaged_iterates()
    fit_intercept: bool = parameter(
        True, FLAG, help="learn b, as the weight of a constant feature 1, regularised with the others"
    )
    order: str = order_of_rows()

    name = "pegasos"
    regularises_all = True
    cost_of_pass = "n d k, or n times the entries of a row; n r (d + k) over r features"
    memory = "r k numbers"
    states, loop_type = PegasosState, Subgradients
    updates = UpdateRule(
        False, ("vectors", "early", "scale", "scale_sum", "norms", "total", "offset", "step", "intercept")
    )
    searched: ClassVar[Mapping[str, Choices]] = {
        "lam": Choices(1e-4, (10.0, 1.0, 0.1, 0.01), -1, 1e-9, by_default=False),
        "gamma": GAMMA_ON_DEMAND,
    }
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("hinge", MARGIN_LOSSES),
        **feature_parameters("linear"),
    }
    explosion = math.inf

    def hint(self, trouble: Trouble) -> str:
        if trouble is Trouble.IDLE:
            return (
                f"scale the features (distkern shard --scale standard), set a smaller lam than {self.lam:g}, "
                "or give --set class_weight=balanced or --set features=random"
            )
        return (
            f"scale the features (distkern shard --scale standard), set a larger lam than {self.lam:g}, or "
            f"more stages than {self.stages}"
        )

    # -- the algorithm

    def at_zero(self, problem: Problem, risk: Risk, w: Array, figures: Figures) -> dict[str, Any]:
        size, outputs = w.shape
        curvature, offset = risk.loss.curvature, 0.0
        if math.isfinite(curvature):
            # the constant feature adds 1 to |phi|^2
            constant = problem.max_relative_weight if self.fit_intercept else 0.0
            offset = curvature * (figures.sums.largest + constant) / self.lam
        zero = np.zeros((size + 1, outputs))
        return {
            **dict.fromkeys(("vectors", "early"), zero),
            **dict.fromkeys(("norms", "scale_sum", "intercept"), np.zeros(outputs)),
            **{"scale": np.ones(outputs), "total": 0.0, "offset": offset, "step": 0},
        }

    @property
    def rows_to_forget(self) -> int:
        return few_steps(1.0 / self.lam) * int(self.batch_size)

    def radius(self) -> float:
        """Radius of the ball that holds the optimum; infinite without projection."""
        if not self.projection:
            return math.inf
        loss = margin_loss(self.risk.loss)
        at_zero = float(loss.value(0.0, 1.0, loss.parameters))
        # with an offset the loss at w = 0 is at most l(0)
        bound = 2.0 * at_zero if loss.has_probabilities else min(loss.norm_bound, 2.0 * at_zero)
        return math.sqrt(bound / self.lam)

    # -- measuring, with its own intercept

    def choice(self, problem: Problem) -> AbstractFeatures:
        return self.features

    def model(self, problem: Problem, state: PegasosState) -> Model:
        return replace(super().model(problem, state), intercept=state.intercept)

    def regulariser(self, model: Model) -> float:
        intercept: Any = model.intercept
        norms = np.square(model.coefficients).sum() + np.square(intercept).sum()
        return float(0.5 * self.lam * norms)

    def first_pass(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        own = self.measuring(problem, model, footprint)
        if not math.isfinite(self.risk.loss.curvature):
            return own
        return replace(own, map=measure_largest, measures_only=False)

    def measuring(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        return replace(measuring_pass(problem, _with_intercept(model), footprint), measures_only=True)

    def held_out(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        return held_out_pass(problem, _with_intercept(model), footprint)

    def stage_pass(
        self, problem: Problem, footprint: Footprint, stage: int, operand: Any
    ) -> Stream[FeaturePiece]:
        plain = super().stage_pass(problem, footprint, stage, operand)
        return replace(plain, cost=replace(plain.cost, driver_compiled=True))


def _with_intercept(model: Model | None) -> Model | None:
    """The model, with intercept 0 before the first stage."""
    if model is None or model.intercept is not None:
        return model
    return replace(model, intercept=np.zeros(model.risk.n_outputs))
