"""SVRG over features that are never stored (Li and Poczos 2016, Section 5; Johnson and Zhang 2013)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.choices import Choices
from distkern.common.errors import InputError
from distkern.common.parameters import FLAG, NOT_NEGATIVE, NOTHING, POSITIVE, Parameter, Whole, parameter
from distkern.features import Footprint
from distkern.losses import SUPERVISED, loss_names
from distkern.passes import Derived
from distkern.solvers._svrg.inner import InnerLoop, Piece, batch_ends, inner_pass
from distkern.solvers._svrg.passes import preconditioner, sampled_grams, snapshot_pass
from distkern.solvers.base import Measures, Outline, Problem, Steps, order_of_rows, rows_of_stage
from distkern.solvers.explicit import AbstractExplicit, FeatureState, held_out_pass
from distkern.solvers.gram import Solve
from distkern.solvers.hyperparameters import SEARCHED_GAMMA, SEARCHED_NU, a_loss, feature_parameters
from distkern.solvers.measuring import Model, measured
from distkern.solvers.targets import figures_of_targets, scaled_risk

#: features up to which steps are preconditioned unless the user says otherwise, and may be at all
MOST_PRECONDITIONED = 8192
#: rows of a batch, if there are so many: steps of half the inverse Hessian diverge on fewer rows now and then
LEAST_BATCH = 16


@dataclass(frozen=True)
class SVRGState(FeatureState):
    """A snapshot w~ = ``coefficients`` with the gradient and the figures at it.

    Attributes
    ----------
    gradient : (r, k), mu = mean_i z(x_i) s_i l'(f_i, y_i)
    largest : [max_i s_i |z(x_i)|^2]
    change : |w_s - w_(s-1)| / |w_s|, the largest over the outputs; infinite before the first stage
    """

    gradient: NDArray[np.float64]
    largest: NDArray[np.float64]
    change: float


def is_preconditioned(wanted: bool | None, size: int) -> bool:
    """Whether steps over so many features are preconditioned: as ``wanted``, or None, where there are few.

    Raises
    ------
    InputError
        If it is wanted for more than 8192 features.
    """
    if wanted and size > MOST_PRECONDITIONED:
        raise InputError(
            f"is asked for {size} features, and is for at most {MOST_PRECONDITIONED}",
            where="precondition",
            mend="use precondition=False, or fewer features",
        )
    return size <= MOST_PRECONDITIONED if wanted is None else wanted


@dataclass(frozen=True)
class SVRG(AbstractExplicit[SVRGState]):
    """Variance-reduced mini-batch gradients over random, Nystroem or linear features.

    Minimises nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k): k outputs share the features. A stage takes
    batches of B rows from the snapshot w~ with mu = mean_i z(x_i) s_i l'(z(x_i) w~, y_i) on,

        v = Z' (s (l'(Z w) - l'(Z w~))) / B + mu + nu w,    w <- w - eta P^-1 v,

    then the new snapshot's mu in one pass that makes all features anew. With ``precondition``, P = c Z_S'
    diag(s) Z_S / |S| + (nu + damping) I, a bound of the Hessian from a sample S of max(8192, 8 r) rows, or
    all rows if they are at most four times as many, c the loss's curvature, and eta = 1/2; without, P = I and
    eta = 1 / (L (2 + 8 / B)) with L = c max_i s_i |z(x_i)|^2 + nu: 1 / (10 L) for single rows, as usual for
    SVRG, up to 1 / (2 L) for batches. For a loss whose slope jumps, c is taken for 1; the steps then end at a
    noise of their own size and not in the minimum.

    Raises
    ------
    InputError
        If a number is out of range, or ``precondition`` is asked for more than 8192 features.
    """

    nu: float = parameter(1e-6, NOT_NEGATIVE, help="weight of |w|^2 / 2 against the mean loss")
    batch_size: int | None = parameter(
        None,
        Whole(),
        NOTHING,
        help="B, rows of a step; none: 256, with a preconditioner a quarter of the features if that is more, "
        "at most n / 8 of more than 128 rows, and no fewer than 16",
    )
    steps_per_stage: int | float | None = rows_of_stage("two passes, the usual 2 n / B steps")
    step_size: float | None = parameter(
        None, POSITIVE, NOTHING, help="eta; none: by the loss and the features"
    )
    precondition: bool | None = parameter(
        None,
        FLAG,
        NOTHING,
        help="divide steps by a bound of the Hessian from a sample of rows; none: for up to 8192 features",
    )
    damping: float | None = parameter(
        None, NOT_NEGATIVE, NOTHING, help="added to that bound; none: by the batch"
    )
    stages: int = parameter(
        10, Whole(), help="at most this many; each ends with one pass for the full gradient"
    )
    tol: float = parameter(
        1e-3, NOT_NEGATIVE, help="stop once w changes by less than this share of itself in a stage"
    )
    order: str = order_of_rows()

    name = "svrg"
    cost_of_pass = "n r (d + k) for the full gradient, n r (d + 2 k) + n r^2 / B for the inner loop"
    memory = "r k numbers, and r^2 with a preconditioner"
    # what gamma suits the few random features of a trial may mislead
    searched: ClassVar[Mapping[str, Choices]] = {
        "nu": SEARCHED_NU,
        "gamma": replace(SEARCHED_GAMMA, by_default=False),
    }
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("logistic", partial(loss_names, *SUPERVISED)),
        **feature_parameters("random"),
    }

    # -- what the problem decides

    @property
    def curvature(self) -> float:
        """c."""
        return self.risk.loss.curvature if math.isfinite(self.risk.loss.curvature) else 1.0

    def preconditioned(self, size: int) -> bool:
        """Whether steps over so many features are preconditioned."""
        return is_preconditioned(self.precondition, size)

    def rows_of_batch(self, problem: Problem, size: int) -> int:
        """B."""
        if self.batch_size is not None:
            return min(self.batch_size, problem.n_rows)
        wanted = max(256, size // 4) if self.preconditioned(size) else 256
        return min(problem.n_rows, max(LEAST_BATCH, min(wanted, problem.n_rows // 8)))

    def rows_of_stage(self, problem: Problem) -> int:
        """Rows that the batches of a stage hold together."""
        rows = 2.0 if self.steps_per_stage is None else self.steps_per_stage
        return max(1, math.ceil(rows * problem.n_rows) if isinstance(rows, float) else rows)

    def eta(self, size: int, batch: int, largest: float) -> float:
        """The step size."""
        if self.step_size is not None:
            return self.step_size
        if self.preconditioned(size):
            return 0.5
        smoothness = self.curvature * largest + self.nu
        return 1.0 / (max(smoothness, np.finfo(float).tiny) * (2.0 + 8.0 / batch))

    def shift(self, size: int, batch: int, largest: float) -> float:
        """nu and the damping."""
        if self.damping is not None:
            return self.nu + self.damping
        return max(self.nu, self.eta(size, batch, largest) * self.curvature * largest / (2.0 * batch))

    # -- the algorithm

    def state_type(self) -> type[SVRGState]:
        return SVRGState

    def step_hint(self) -> str:
        if self.step_size is None:
            return "a tenth of the present one, or a larger batch_size"
        return f"step_size={self.step_size / 10:.3g}"

    def init(self, problem: Problem) -> Steps[SVRGState]:
        self.preconditioned(self.expected_size(problem))
        begun, _ = yield from self.begun(problem)
        basis = self.basis(problem, begun.landmarks, begun.gamma)
        zero = np.zeros((basis.size, self.risk.n_outputs))
        state = SVRGState(
            coefficients=zero, gradient=zero, largest=np.zeros(1), change=math.inf, **vars(begun)
        )
        return (yield from self._measured(problem, basis, state))

    def stage(self, problem: Problem, state: SVRGState) -> Steps[SVRGState]:
        basis, solve = yield Derived("metric", partial(self._metric, problem, state))
        risk = scaled_risk(self.risk, state.center, state.target_scale)
        batch, largest = self.rows_of_batch(problem, basis.size), float(state.largest[0])
        footprint = self.footprint(problem, basis.size)
        visits = problem.visits(self.rows_of_stage(problem), state.stage, self.order)
        pieces: Iterator[Piece] = yield inner_pass(
            problem,
            Model(basis, state.coefficients, risk),
            footprint,
            visits,
            numbers=self.choice(problem).prepared_numbers(problem, basis.size),
            preconditioned=solve is not None,
        )
        eta = self.eta(basis.size, batch, largest)
        ends = batch_ends(sum(visit.n_draws for visit in visits), batch)
        inner = InnerLoop(risk, state.coefficients, state.gradient, self.nu, eta, solve, basis, ends)
        with np.errstate(all="ignore"):
            for piece in pieces:
                inner.consume(piece)
        after = replace(
            state,
            coefficients=inner.coefficients,
            stage=state.stage + 1,
            change=_relative_change(inner.coefficients, state.coefficients),
        )
        with np.errstate(all="ignore"):
            return (yield from self._measured(problem, basis, after))

    def finished(self, state: SVRGState) -> bool:
        return state.stage >= self.stages or self._converged(state)

    def _converged(self, state: SVRGState) -> bool:
        return state.change <= self.tol

    def measures(self, state: SVRGState) -> Measures:
        extra = {"change": state.change, **figures_of_targets(state)}
        return state.measures(len(state.coefficients), extra, converged=self._converged(state))

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        size, preconditioned = footprint.size, self.preconditioned(footprint.size)
        inner = inner_pass(
            problem,
            None,
            footprint,
            problem.visits(self.rows_of_stage(problem), 0, self.order),
            numbers=self.choice(problem).prepared_numbers(problem, size),
            preconditioned=preconditioned,
        )
        passes = [
            Outline(snapshot_pass(problem, None, footprint, first=True)),
            Outline(inner, self.stages),
            Outline(snapshot_pass(problem, None, footprint), self.stages),
            Outline(held_out_pass(problem, None, footprint), self.stages + 1),
        ]
        if preconditioned:
            passes.append(sampled_grams(problem, size).outline(problem, footprint))
        return passes

    def _metric(self, problem: Problem, state: SVRGState) -> Steps[tuple[AbstractBasis, Solve | None]]:
        """The features and, if steps are preconditioned, P^-1: functions of what the first stage finds."""
        basis = self.basis(problem, state.landmarks, state.gamma)
        size = basis.size
        if not self.preconditioned(size):
            return basis, None
        shift = self.shift(size, self.rows_of_batch(problem, size), float(state.largest[0]))
        footprint = self.footprint(problem, size)
        return basis, (yield from preconditioner(problem, basis, self.risk, footprint, self.curvature, shift))

    def _measured(self, problem: Problem, basis: AbstractBasis, state: SVRGState) -> Steps[SVRGState]:
        """The state with the gradient, the objective and the errors at it."""
        first = state.stage == 0
        model = Model(basis, state.coefficients, scaled_risk(self.risk, state.center, state.target_scale))
        footprint = self.footprint(problem, basis.size)
        w = state.coefficients
        figures = yield from measured(
            problem,
            snapshot_pass(problem, model, footprint, first=first),
            held_out_pass(problem, model, footprint),
            0.5 * self.nu * float(np.einsum("ij,ij->", w, w)),
        )
        return state.with_figures(
            figures,
            gradient=figures.sums.mean_gradient,
            largest=np.array([figures.sums.largest]) if first else state.largest,
        )


def _relative_change(new: NDArray[np.float64], old: NDArray[np.float64]) -> float:
    difference = np.linalg.norm(new - old, axis=0)
    return float(np.max(difference / np.maximum(np.linalg.norm(new, axis=0), np.finfo(float).tiny)))
