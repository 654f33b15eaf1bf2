"""Pegasos: stochastic subgradients of the primal (Shalev-Shwartz, Singer, Srebro 2007)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import STRIP_NUMBERS
from distkern.bases.random_features import STRIP_ROWS
from distkern.common.choices import Choices
from distkern.common.parameters import FLAG, NOTHING, POSITIVE, Parameter, Whole, parameter
from distkern.common.sparse import Rows
from distkern.features import AbstractFeatures
from distkern.losses import margin_loss, margin_loss_names
from distkern.losses.base import AbstractLoss
from distkern.passes import Cost, Reduce, Stream
from distkern.solvers._pegasos.pieces import Piece, measure_largest, prepare_piece
from distkern.solvers.base import Measures, Outline, Problem, Steps, Trouble, order_of_rows, rows_of_stage
from distkern.solvers.hyperparameters import SEARCHED_GAMMA, a_loss, feature_parameters
from distkern.solvers.measuring import Figures, MeasuredState, Model, Sums, measure, measured
from distkern.solvers.pieces import piece_rows
from distkern.solvers.risk import Risk
from distkern.solvers.searchable import AbstractSearchable

#: steps of a stage at most where a pass over the rows makes fewer
_FEW_STEPS = 2**14


@dataclass(frozen=True)
class PegasosState(MeasuredState):
    """w = scale * vectors, the weighted sum of the iterates so far, and the model.

    Attributes
    ----------
    landmarks, gamma : what the features need of the data
    vectors : (r + 1, n_outputs); the last row is the intercept's
    scale, norms : (n_outputs,), the latter the squared norms of the vectors
    early, banked : the weighted sum of the iterates is banked * vectors - early
    total : sum of the iterates' weights
    offset : t0
    step : t, the updates so far
    accesses, accesses_nonzero : features looked at by the steps, n_features a row, and those not zero
    coefficients, intercept : (r, n_outputs) and (n_outputs,), of the model
    """

    landmarks: Rows
    gamma: float
    vectors: NDArray[np.float64]
    scale: NDArray[np.float64]
    norms: NDArray[np.float64]
    early: NDArray[np.float64]
    banked: NDArray[np.float64]
    total: float
    offset: float
    step: int
    accesses: int
    accesses_nonzero: int
    coefficients: NDArray[np.float64]
    intercept: NDArray[np.float64]


@dataclass(frozen=True)
class Pegasos(AbstractSearchable[PegasosState]):
    """Minimises lam/2 |w|^2 + mean_i s_i l(<w, phi(x_i)> + b, y_i), one-vs-rest over the outputs.

    w <- (1 - eta_t lam) w - (eta_t / B) sum over the batch of s_i l' phi(x_i), eta_t = 1 / (lam (t0 + t)),
    and then, as an option, w is projected on a ball that holds the optimum.

    Deviations: t0 = L / lam for smooth losses, so that no step exceeds 1 / L (L = curvature times the largest
    s_i |phi(x_i)|^2), and 0 for the hinge as in the paper; the radius of the ball is
    sqrt(min(max -f l'(f), 2 l(0)) / lam), 1 / sqrt(lam) for the hinge as there; rows are drawn without
    replacement unless ``order`` is "iid"; the model is a weighted average of the iterates; a batch ends with
    its block; the intercept is the weight of a constant feature 1 and regularised with the others.

    Parameters
    ----------
    features : phi
    loss : of the margin
    class_weights, mean_weight : see :class:`~distkern.solvers.risk.Risk`
    """

    features: AbstractFeatures
    loss: AbstractLoss
    lam: float = parameter(
        1e-4,
        POSITIVE,
        help="weight of |w|^2 / 2 against the mean loss: larger fits less closely, unlike CSVRG's",
    )
    batch_size: int = parameter(1, Whole(), help="B, rows of a step")
    stages: int = parameter(5, Whole(), help="the model is measured after each")
    steps_per_stage: int | float | None = rows_of_stage(
        "one pass, or more where that would be less than 1 / lam steps (at most 2^14 of them)"
    )
    projection: bool = parameter(
        True, FLAG, help="project w on the ball that holds the optimum after every step"
    )
    averaging: int | None = parameter(
        3,
        Whole(0, 8),
        NOTHING,
        help="k: the model is the mean of the iterates weighted with step^k; none: the last iterate",
    )
    fit_intercept: bool = parameter(
        True, FLAG, help="learn b, as the weight of a constant feature 1, regularised with the others"
    )
    order: str = order_of_rows()
    class_weights: NDArray[np.float64] | None = None
    mean_weight: float = 1.0

    name = "pegasos"
    cost_of_pass = "n d k, or n times the entries of a row; n r (d + k) over r features"
    memory = "r k numbers"
    searched: ClassVar[Mapping[str, Choices]] = {
        "lam": Choices(1e-4, (10.0, 1.0, 0.1, 0.01), -1, 1e-9, by_default=False),
        "gamma": replace(SEARCHED_GAMMA, by_default=False),
    }
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("hinge", margin_loss_names),
        **feature_parameters("linear"),
    }
    explosion = math.inf

    def state_type(self) -> type[PegasosState]:
        return PegasosState

    def init(self, problem: Problem) -> Steps[PegasosState]:
        landmarks, gamma = yield from self.features.begin(problem)
        size, outputs = self.features.basis(problem, landmarks, gamma).size, problem.n_outputs
        state = PegasosState(
            landmarks,
            gamma,
            vectors=np.zeros((size + 1, outputs)),
            scale=np.ones(outputs),
            norms=np.zeros(outputs),
            early=np.zeros((size + 1, outputs)),
            banked=np.zeros(outputs),
            total=0.0,
            offset=0.0,
            step=0,
            accesses=0,
            accesses_nonzero=0,
            coefficients=np.zeros((size, outputs)),
            intercept=np.zeros(outputs),
        )
        return (yield from self._measured(problem, state, first=True))

    def stage(self, problem: Problem, state: PegasosState) -> Steps[PegasosState]:
        from distkern.solvers._pegasos.loops import Iterates, Rule, steps_loop

        model = self.model(problem, state)
        pieces: Iterator[Piece] = yield self._stream(problem, state.stage, model)
        loss, radius = margin_loss(self.loss), self._radius()
        kept = (state.vectors, state.early, state.scale, state.banked, state.norms, np.array([state.total]))
        iterates = Iterates(*(array.copy() for array in kept))
        power = -1 if self.averaging is None else int(self.averaging)
        steps = (float(self.lam), radius, power, int(self.batch_size), float(self.fit_intercept))
        rule, step, rows, entries = Rule(state.offset, *steps), state.step, 0, 0
        for piece in pieces:
            loop = steps_loop(loss, model.basis.dtype, piece.is_dense)
            step = loop(*piece.loop_arguments(), iterates, rule, step, loss.parameters)
            entries += piece.n_nonzero
            rows += len(piece.weights)
        v, early, scale, banked, norms, (total,) = iterates
        w = scale * v if self.averaging is None else (banked * v - early) / total
        after = replace(
            state,
            vectors=v,
            early=early,
            scale=scale,
            banked=banked,
            norms=norms,
            total=float(total),
            step=step,
            accesses=state.accesses + rows * problem.n_features,
            accesses_nonzero=state.accesses_nonzero + entries,
            coefficients=w[:-1],
            intercept=w[-1],
            stage=state.stage + 1,
        )
        return (yield from self._measured(problem, after))

    def finished(self, state: PegasosState) -> bool:
        return state.stage >= self.stages

    def measures(self, state: PegasosState) -> Measures:
        accesses = (state.accesses, state.accesses_nonzero)
        size = len(state.coefficients)
        return state.measures(size, {}, accesses=accesses)

    def step_hint(self) -> str:
        return "here by a larger lam, or projection=true"

    def mend(self, trouble: Trouble) -> str:
        if trouble is Trouble.IDLE:
            return (
                f"scale the features (distkern shard --scale standard), set a smaller lam than {self.lam:g}, "
                "class_weight='balanced' or features='random'"
            )
        return (
            f"scale the features (distkern shard --scale standard), set a larger lam than {self.lam:g}, or "
            f"more stages than {self.stages}"
        )

    def outline(self, problem: Problem) -> list[Outline]:
        passes = [
            *self.features.outline(problem),
            Outline(self._measuring(problem, None), self.stages + 1),
            Outline(self._stream(problem, 0, None), self.stages),
        ]
        if problem.has_test:
            passes.append(Outline(self._measuring(problem, None, split="test"), self.stages + 1))
        return passes

    def steps(self, problem: Problem) -> int:
        """Rows of a stage."""
        wanted = self.steps_per_stage
        if wanted is None:
            # it takes some 1 / lam steps to forget the first ones, whatever the number of rows
            return max(problem.n_rows, min(math.ceil(1.0 / self.lam), _FEW_STEPS) * int(self.batch_size))
        return max(1, math.ceil(wanted * problem.n_rows)) if isinstance(wanted, float) else int(wanted)

    def model(self, problem: Problem, state: PegasosState) -> Model:
        basis = self.features.basis(problem, state.landmarks, state.gamma)
        risk = Risk(margin_loss(self.loss), problem.n_outputs, self.class_weights, self.mean_weight)
        return Model(basis, state.coefficients, risk, state.intercept)

    def _radius(self) -> float:
        if not self.projection:
            return math.inf
        loss = margin_loss(self.loss)
        at_zero = float(loss.value(0.0, 1.0, loss.parameters))
        return math.sqrt(min(loss.norm_bound, 2.0 * at_zero) / self.lam)

    def _measured(self, problem: Problem, state: PegasosState, *, first: bool = False) -> Steps[PegasosState]:
        """The state with objective and errors filled in, and t0 before the first step."""
        model = self.model(problem, state)
        curvature = model.risk.loss.curvature
        bounds_steps = first and math.isfinite(curvature)
        norms = np.square(state.coefficients).sum() + np.square(state.intercept).sum()
        figures: Figures = yield from measured(
            problem,
            self._measuring(problem, model, largest=bounds_steps),
            self._measuring(problem, model, split="test"),
            float(0.5 * self.lam * norms),
        )
        offset = state.offset
        if bounds_steps:
            # the constant feature adds 1 to |phi|^2
            constant = problem.max_relative_weight if self.fit_intercept else 0.0
            offset = curvature * (figures.sums.largest + constant) / self.lam
        return state.with_figures(figures, offset=offset)

    # -- passes

    def _stream(self, problem: Problem, stage: int, model: Model | None) -> Stream[Piece]:
        visits = problem.visits(self.steps(problem), stage, self.order)
        footprint, itemsize = self.features.footprint(problem), problem.dtype.itemsize
        size = footprint.size if model is None else model.basis.size
        numbers = self.features.prepared_numbers(problem, size)
        rows = piece_rows(numbers, itemsize)
        # a batch does not cross pieces
        rows = -(-rows // self.batch_size) * self.batch_size
        outputs = problem.n_outputs
        cost = replace(self._cost(problem, 4.0 * numbers * outputs), driver_compiled=True).holding(
            task={"the loop's arrays before the stage, now and as the model": (footprint.size, outputs, 64)},
            result={"features and signs": (numbers + outputs, itemsize), "weight": (8,)},
        )
        if model is not None:
            # rows are prepared without the coefficients, which may be many
            model = replace(model, coefficients=np.zeros((0, problem.n_outputs)))
        return Stream("inner loop", visits, prepare_piece, model, piece_rows=rows, cost=cost)

    def _measuring(
        self, problem: Problem, model: Model | None, *, split: str = "train", largest: bool = False
    ) -> Reduce[Sums]:
        size = self.features.footprint(problem).size
        cost = self._cost(problem, 2.0 * size * problem.n_outputs)
        cost = cost.holding(result={"sums": (problem.n_outputs, 8)})
        name = "measure" if split == "train" else "held out"
        function = measure_largest if largest else measure
        return Reduce(name, function, Sums.add, model, split=split, cost=cost, measures_only=not largest)

    def _cost(self, problem: Problem, operations: float) -> Cost:
        """Cost of evaluating the features, and of operations on a row of them."""
        footprint, outputs = self.features.footprint(problem), problem.n_outputs
        itemsize = problem.dtype.itemsize
        return footprint.cost(footprint.operations + operations).holding(
            task={
                "coefficients": (footprint.size, outputs, 16 + itemsize),
                "predictions and signs of a strip": (max(STRIP_NUMBERS, STRIP_ROWS * outputs), 48),
            }
        )
