"""The template of solvers over explicit features z.

A run starts at w = 0 or at the updated model. It builds the features and the preconditioner once. A stage
makes the solver's steps (:meth:`AbstractExplicit.steps`) and measures w on training and held-out rows.
Solvers that step through streamed rows derive from :mod:`~distkern.solvers.streamed`.

A solver must give, besides ``name``, ``cost_of_pass`` and ``memory``:

    nu, stages                    its parameters, with others of its own
    steps, stage_pass             the steps (yield passes, return Ended), and their pass; or stage and passes

It may give:

    states, at_zero               the dataclass of its states; its own fields before the first stage
    after, after_shift            its own fields after a stage, and after the offset of classes changes
    preconditioner                the preconditioner of its steps
    searched, choices             parameters with "auto"; parameters of loss and features
    makes_blocks, regularises_all     what it needs of the features
    regulariser, strength         the objective
    first_pass, measuring, held_out   the measuring passes
    passes                        the passes of a run, if stages make several
    bound                         an upper bound of the distance to the minimum, compared with ``tol``
    stopped, shortfall, figures   another stopping rule; a goal not reached; its own figures
    choice, footprint             the features and their cost
    begin, at_model               where a run starts
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from distkern.core.choices import Choices
from distkern.core.sparse import Rows
from distkern.core.types import Array
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.features import AbstractFeatures, Footprint
from distkern.passes import Derived, Outline, Reduce
from distkern.solvers.base import Measures, PreviousModel, Problem, Steps
from distkern.solvers.hyperparameters import SEARCHED_GAMMA, SEARCHED_NU
from distkern.solvers.measuring import (
    AbstractSearchable,
    Figures,
    MeasuredState,
    Model,
    State,
    Sums,
    figures_of,
    held_out_pass,
    measuring_pass,
    pass_cost,
    zero_figures,
    zero_outlines,
    zero_pass,
)
from distkern.solvers.risk import Risk
from distkern.solvers.targets import (
    TargetScale,
    figures_of_targets,
    offsets_of_scores,
    offsets_pass,
    scaled_risk,
    target_outline,
    target_scale,
)


def settled(tol: float) -> str:
    """The stopping message of solvers whose last stage hardly changed w."""
    return f"settled: w changes by less than {tol:g} of itself in a stage"


@dataclass(frozen=True, kw_only=True)
class FeatureState(MeasuredState):
    """Fields of the states of all solvers over features.

    Attributes
    ----------
    landmarks : (n_landmarks, n_features), without rows if the features have none
    gamma : the kernel's gamma
    coefficients : (r, k)
    center, target_scale, variances : see :class:`~distkern.solvers.targets.TargetScale`
    absolute_errors : (2,) mean absolute errors of training and held-out rows, NaN for classes
    zero : objective of the model 0; NaN if nothing compares with it
    """

    landmarks: Rows
    gamma: float
    coefficients: Array
    center: Array
    target_scale: float
    variances: Array
    absolute_errors: Array = field(default_factory=lambda: np.full(2, math.nan))
    zero: float = math.nan

    def with_figures(self, figures: Figures, **changes: Any) -> Self:
        return super().with_figures(figures, absolute_errors=figures.absolute_errors, **changes)

    def following(self, problem: Problem, figures: Figures, n_rows: int, **changes: Any) -> Self:
        """The state after a stage that read ``n_rows`` rows."""
        return self.with_figures(figures, stage=self.stage + 1, **changes)

    def summary(self, extra: Mapping[str, float], **more: Any) -> Measures:
        """The measures of the state, with the solver's own figures."""
        return self.measures(self.n_functions, {**extra, **figures_of_targets(self)}, **more)

    @property
    def n_functions(self) -> int:
        """Number of functions in the model."""
        return len(self.coefficients)


@dataclass(frozen=True, kw_only=True)
class CountingState(FeatureState):
    """Fields of the states of solvers that count the rows of their steps.

    ``accesses`` counts the features read by steps, n_features for a row; ``accesses_nonzero`` the nonzero
    ones.
    """

    accesses: int = 0
    accesses_nonzero: int = 0

    def following(self, problem: Problem, figures: Figures, n_rows: int, **changes: Any) -> Self:
        return super().following(problem, figures, n_rows, **self.seen(problem, n_rows) | changes)

    def seen(self, problem: Problem, n_rows: int) -> dict[str, Any]:
        """The counts after steps over ``n_rows`` more rows."""
        return {
            "accesses": self.accesses + n_rows * problem.n_features,
            "accesses_nonzero": self.accesses_nonzero + n_rows * problem.row_accesses,
        }

    def summary(self, extra: Mapping[str, float], **more: Any) -> Measures:
        return super().summary(extra, accesses=(self.accesses, self.accesses_nonzero), **more)


@dataclass(frozen=True)
class Ended:
    """Results of the steps of a stage.

    Attributes
    ----------
    model : after the steps
    n_rows : rows read by the steps
    solver_state : the solver's own fields of the state
    sums : over the training rows, if the steps computed them
    """

    model: Model
    n_rows: int
    solver_state: Mapping[str, Any]
    sums: Sums | None = None


@dataclass(frozen=True)
class AbstractExplicit(AbstractSearchable[State]):
    """Template that minimises nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k) for k outputs.

    Real targets are centred and scaled first, see :func:`~distkern.solvers.targets.target_scale`: f, nu and
    the objective have no unit; errors are mean squared errors in the units of the targets. For a loss with
    probabilities, f starts at the log-odds of the classes and is shifted at the end, see
    :func:`~distkern.solvers.targets.offsets_of_scores`. Linear features, and with such a loss all features,
    get a constant one; its coefficient, the intercept, is not regularised.

    ``nu`` and ``gamma`` default to "auto" unless the solver's ``searched`` differs. No parameter may be
    called ``steps`` or ``passes``, which are methods.

    Parameters
    ----------
    risk : loss, outputs, weights
    features : the features
    before : the model to update, or None
    """

    risk: Risk
    features: AbstractFeatures
    before: PreviousModel | None = field(default=None, kw_only=True)
    if TYPE_CHECKING:
        # every solver declares these with its own defaults and help
        nu: float
        stages: int

    #: whether a step changes ``block_size`` features, at all rows
    makes_blocks: ClassVar[bool] = False
    #: whether it also regularises a constant feature
    regularises_all: ClassVar[bool] = False
    #: the dataclass of its states
    states: ClassVar[type[FeatureState]] = CountingState
    searched: ClassVar[Mapping[str, Choices]] = {"nu": SEARCHED_NU, "gamma": SEARCHED_GAMMA}

    # -- hooks

    @classmethod
    def kind_for(cls, features: AbstractFeatures) -> type[AbstractExplicit[Any]]:
        """The class that runs this algorithm over such features: itself, or one that finds their rows."""
        return cls

    def notes(self, problem: Problem) -> tuple[str, ...]:
        """Notes for the user before a run, in short lines."""
        return ()

    def at_zero(self, problem: Problem, risk: Risk, w: Array, figures: Figures) -> dict[str, Any]:
        """The solver's own fields before the first stage, at w; w is 0 except in an update."""
        return {}

    def preconditioner(self, problem: Problem, state: Any, basis: Any) -> Steps[Any]:
        """Build the preconditioner of the steps, once in a run."""
        yield from ()
        return None

    def steps(self, problem: Problem, state: Any, basis: Any, preconditioner: Any) -> Steps[Ended]:
        """Make the steps of a stage."""
        raise NotImplementedError("write steps, or stage in their place")

    def after(self, state: Any, figures: Figures, ended: Ended) -> Mapping[str, Any]:
        """The solver's own fields after a stage from ``state`` to ``figures``."""
        return ended.solver_state

    def after_shift(self, state: Any, figures: Figures) -> Mapping[str, Any]:
        """The fields that depend on the offset of classes, after the offset in ``state`` changed."""
        return {}

    def stage_pass(self, problem: Problem, footprint: Footprint, stage: int, operand: Any) -> Any:
        """The pass for the steps of a stage."""
        raise NotImplementedError("write stage_pass, or passes in its place")

    def first_pass(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums] | None:
        """The pass that measures w = 0 on the training rows; None if it needs no features."""
        return None

    @property
    def strength(self) -> float:
        """Weight of the mean loss in the objective."""
        return 1.0

    def measuring(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        """The pass that measures the training rows after a stage."""
        return measuring_pass(problem, model, footprint)

    def held_out(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        """The pass that measures the held-out rows."""
        return held_out_pass(problem, model, footprint)

    def regulariser(self, model: Model) -> float:
        """nu/2 |w|^2; for kernels at rows, |w| is the norm in the kernel's space."""
        if self.features.finds_rows:
            return 0.5 * self.nu * float(model.basis.squared_norms(model.coefficients, exact=False).sum())
        return 0.5 * float(np.vdot(model.coefficients, self.penalty(model.basis) * model.coefficients))

    def penalty(self, basis: AbstractBasis) -> Array:
        """(r, 1), nu for each coefficient, 0 for a constant function."""
        nu = np.full((basis.size, 1), float(self.nu))
        if not self.regularises_all:
            nu[basis.size - basis.n_constant :] = 0.0
        return nu

    def bound(self, state: Any) -> float:
        """An upper bound of the objective's distance to its minimum; infinite if unknown."""
        return math.inf

    def converged(self, state: Any) -> bool:
        """Whether the bound shows that f is within ``tol`` (f(0) - f) of its minimum."""
        # those without a bound need no tolerance
        tol, bound = getattr(self, "tol", 0.0), self.bound(state) if state.stage else math.inf
        return bool(math.isfinite(bound) and bound <= tol * (state.zero - state.objective))

    def stopped(self, state: Any) -> str:
        """The stopping rule that applies although the solver has not converged, or empty."""
        return ""

    def shortfall(self, state: Any) -> str:
        """A goal that was not reached, with a hint, or empty."""
        return ""

    def figures(self, state: Any) -> dict[str, float]:
        """The solver's own figures."""
        return {}

    # -- the features

    def choice(self, problem: Problem) -> AbstractFeatures:
        """The features, including a constant one if needed."""
        return self.features.with_constant() if self.n_constant else self.features

    @property
    def n_constant(self) -> int:
        """Number of constant features, 0 or 1."""
        if not self.risk.loss.has_probabilities:
            return int(not self.features.spans_constant)
        return int(not (self.features.finds_rows or self.regularises_all))

    @property
    def shifts_offset(self) -> bool:
        """Whether the offset of classes is shifted at the end."""
        return self.risk.loss.has_probabilities and self.before is None

    def basis(self, problem: Problem, landmarks: Rows, gamma: float) -> AbstractBasis:
        """The basis of the features z."""
        return self.choice(problem).basis(problem, landmarks, gamma)

    def risk_of(self, state: Any) -> Risk:
        """The risk for scaled targets, or for classes with their offset."""
        return scaled_risk(self.risk, state.center, state.target_scale)

    def model(self, problem: Problem, state: Any) -> Model:
        basis = self.basis(problem, state.landmarks, state.gamma)
        return Model(basis, state.coefficients, self.risk_of(state))

    def further(self, state: Any) -> dict[str, Any]:
        """The saved fields, with the offset for losses with probabilities."""
        kept = super().further(state)
        return {**kept, "center": state.center} if self.risk.loss.has_probabilities else kept

    @property
    def starts_at_zero(self) -> bool:  # type: ignore[override]
        return self.before is None

    @property
    def at_model(self) -> PreviousModel | None:
        """The model at which the run starts; None for w = 0."""
        return self.before

    def expected_size(self, problem: Problem) -> int:
        """Upper bound of the number of features."""
        return self.choice(problem).expected_size(problem)

    def footprint(self, problem: Problem, size: int) -> Footprint:
        """Memory and operations of evaluating ``size`` features."""
        return replace(self.choice(problem).footprint(problem), size=size)

    def numbers(self, problem: Problem, size: int) -> int:
        """Numbers per row when its features are sent or cached."""
        return self.choice(problem).prepared_numbers(problem, size)

    # -- the run

    def state_type(self) -> type[Any]:
        return self.states

    def init(self, problem: Problem) -> Steps[Any]:
        landmarks, gamma, targets = yield from self.begin(problem)
        risk = scaled_risk(self.risk, targets.center, targets.scale)
        basis: AbstractBasis | None = yield self._features(problem, landmarks, gamma)
        before = self.at_model
        if before is None:
            w = np.zeros((0 if basis is None else basis.size, risk.n_outputs))
            figures = yield from self._figures_at_zero(problem, risk, basis, w)
            own = self.at_zero(problem, risk, w, figures)
            zero = figures.objective
        else:
            w = before.coefficients
            basis = self.basis(problem, landmarks, gamma) if basis is None else basis
            model = Model(basis, w, risk, before.solver_state.get("intercept"))
            first = self.first_pass(problem, model, self.footprint(problem, basis.size))
            figures = yield from self._figures_of(problem, model, first)
            kept = {name: value for name, value in before.solver_state.items() if name in self.updates.keeps}
            own = {**self.at_zero(problem, risk, w, figures), **kept}
            zero = math.nan
            if self.compares:
                sums: Sums = yield zero_pass(problem, risk, "train")
                zero = self.strength * sums.losses / sums.n_rows
        chosen = {"landmarks": landmarks, "gamma": gamma, **targets.fields}
        state: Any = self.states(**{"coefficients": w, "zero": zero, **chosen, **own})
        return state.with_figures(figures)

    def _figures_at_zero(
        self, problem: Problem, risk: Risk, basis: AbstractBasis | None, w: Array
    ) -> Steps[Figures]:
        """The figures at w = 0, by the solver's own pass if it has one."""
        if basis is not None:
            model, footprint = Model(basis, w, risk), self.footprint(problem, basis.size)
            first = self.first_pass(problem, model, footprint)
            if first is not None:
                sums: Sums = yield first
                held_out = self.held_out(problem, model, footprint)
                return (yield from figures_of(problem, sums, held_out, 0.0, self.strength))
        return (yield from zero_figures(problem, risk))

    @property
    def compares(self) -> bool:
        """Whether a bound of the distance to the minimum is compared with f(0) - f."""
        return type(self).bound is not AbstractExplicit.bound

    def _figures_of(self, problem: Problem, model: Model, first: Reduce[Sums] | None) -> Steps[Figures]:
        """The figures of a model, from the pass ``first`` or a measuring pass."""
        footprint = self.footprint(problem, model.basis.size)
        sums: Sums = yield self.measuring(problem, model, footprint) if first is None else first
        held_out = self.held_out(problem, model, footprint)
        return (yield from figures_of(problem, sums, held_out, self.regulariser(model), self.strength))

    def begin(self, problem: Problem) -> Steps[tuple[Rows, float, TargetScale]]:
        """Landmarks, gamma and the unit of real targets: chosen, or taken from the updated model."""
        before = self.before
        if before is None:
            landmarks, gamma = yield from self.features.begin(problem)
            return landmarks, gamma, (yield from target_scale(problem, self.risk))
        targets = yield from target_scale(problem, self.risk)
        targets = replace(targets, center=before.center, scale=before.target_scale)
        return before.landmarks.astype(problem.dtype), before.gamma, targets

    def stage(self, problem: Problem, state: Any) -> Steps[Any]:
        basis: AbstractBasis | None = yield self._features(problem, state.landmarks, state.gamma)
        preconditioner = yield Derived("own", partial(self.preconditioner, problem, state, basis))
        with np.errstate(all="ignore"):
            ended = yield from self.steps(problem, state, basis, preconditioner)
            model, norm = ended.model, self.regulariser(ended.model)
            footprint = self.footprint(problem, model.basis.size)
            sums = ended.sums
            if sums is None:
                sums = yield self.measuring(problem, model, footprint)
            held_out = self.held_out(problem, model, footprint)
            figures = yield from figures_of(problem, sums, held_out, norm, self.strength)
        own = {"coefficients": model.coefficients, **self.after(state, figures, ended)}
        found = state.following(problem, figures, ended.n_rows, **own)
        if not (self.shifts_offset and self.finished(found)):
            return found
        cost = pass_cost(problem, footprint, 1)
        shift = yield from offsets_of_scores(problem, self.model(problem, found), cost)
        shifted = replace(found, center=found.center + shift)
        figures = yield from self._figures_of(problem, self.model(problem, shifted), None)
        return shifted.with_figures(figures, **self.after_shift(found, figures))

    def _features(self, problem: Problem, landmarks: Rows, gamma: float) -> Derived:
        """z, built once in a run; None for stages that find the rows of their kernels."""

        def make() -> Steps[AbstractBasis | None]:
            yield from ()
            return None if self.features.finds_rows else self.basis(problem, landmarks, gamma)

        return Derived("features", make)

    def finished(self, state: State) -> bool:
        return state.stage >= self.stages or self.converged(state) or bool(self.stopped(state))

    def measures(self, state: Any) -> Measures:
        own: FeatureState = state
        return own.summary(
            self.figures(state),
            converged=self.converged(state),
            stopped=self.stopped(state),
            shortfall=self.shortfall(state),
        )

    def outline(self, problem: Problem) -> list[Outline]:
        footprint = self.footprint(problem, self.expected_size(problem))
        splits = ("train", "test") if problem.has_test else ("train",)
        own = [each for each in self.passes(problem, footprint) if each.step.split in splits]
        features = self.features.outline(problem) if self.before is None else []
        return [*features, *target_outline(problem), *own]

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        """The passes of a run after choosing features and target scale, including test rows."""
        first, times = self.first_pass(problem, None, footprint), self.stages
        if first is None and self.at_model is not None:
            first = self.measuring(problem, None, footprint)
        shifts = int(self.shifts_offset)
        scores = offsets_pass(problem, None, pass_cost(problem, footprint, 1))
        compares = self.at_model is not None and self.compares
        return [
            *(zero_outlines(problem) if first is None else [Outline(first)]),
            *([Outline(zero_pass(problem, None, "train"))] if compares else []),
            Outline(self.stage_pass(problem, footprint, 0, None), times),
            *([Outline(scores)] if shifts else []),
            Outline(self.measuring(problem, None, footprint), times + shifts),
            Outline(self.held_out(problem, None, footprint), times + shifts + (first is not None)),
        ]
