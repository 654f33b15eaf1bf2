"""SIMBA: linear support vector machines from single rows and columns (Hazan et al. 2011, Algorithm 1).

Rows x_i have norm at most 1 and are multiplied by their labels y_i; p_t = q_t / |q_t|_1. The paper, with its
misprints corrected (see :class:`SIMBA`) and the bias of its Section 4, is on the left, our code on the right:

    T <- 100^2 log(n) / epsilon^2                        SIMBA.max_rounds
    eta <- sqrt(log(n) / T)                              rounds(): sqrt(log(n) / t)
    u_0 <- 0;  q_1(i) <- 1 for all i                     SIMBA.init; SimbaResident, at the rows
    for t = 1 .. T:                                      rounds() of _simba/rounds.py, one exchange each
        draw a row i with probability p_t(i)             RoundMessage: candidates, of which join() keeps one
        u_t <- u_(t-1) + x_i / sqrt(2 T)                 Primal.add
        w_t <- u_t / max(1, |u_t|)                       there
        xi_t <- 2 for the largest p_t(i), 0 for others,  select() of selection.py, every 16 rounds
            sum_i xi_t(i) <= nu n
        b_t <- sign of p_t . y                           Primal.signs_of
        draw a column j with probability                 Primal.draw
            w_t(j)^2 / |w_t|^2
        v(i) <- clip(x_i(j) |w_t|^2 / w_t(j)             Update, sent to the residents, which keep q
            + xi_t(i) + y_i b_t, 1 / eta) for all i
        q_(t+1)(i) <- q_t(i) (1 - eta v(i)               there, and then the next candidates
            + eta^2 v(i)^2) for all i
    return the means of w_t, xi_t and b_t                Primal.averaged

Here clip(z, C) = max(min(z, C), -C).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from distkern.core.choices import Choices
from distkern.core.errors import InputError
from distkern.core.parameters import FLAG, NOTHING, POSITIVE, Number, Parameter, Whole, parameter
from distkern.core.sparse import Rows
from distkern.core.types import groups_of
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.features import COLUMN_FEATURES, AbstractFeatures
from distkern.maths.losses import find_loss
from distkern.passes import EXPONENTIAL, Cost, Message, Rounds
from distkern.solvers._simba.columns import reading_bytes
from distkern.solvers._simba.measuring import (
    BINS,
    LinearModel,
    MeasuringPasses,
    Mistakes,
    Norms,
    SIMBAState,
    measured,
)
from distkern.solvers._simba.messages import HoldOut, RoundMessage, Update, join
from distkern.solvers._simba.resident import SEGMENT_ROWS, SIMBAOperand, SimbaResident
from distkern.solvers._simba.rounds import Primal, rounds
from distkern.solvers.base import Measures, Outline, Problem, Steps, Trouble, UpdateRule
from distkern.solvers.hyperparameters import feature_parameters
from distkern.solvers.measuring import AbstractSearchable, Model
from distkern.solvers.risk import Risk

#: most draws of held-out rows, one pass each, until there are some and every class keeps rows
_MOST_DRAWS = 100
_UNWEIGHTED = Risk(find_loss("hinge")())


@dataclass(frozen=True)
class SIMBA(AbstractSearchable[SIMBAState]):
    """Sublinear importance-sampling bi-stochastic algorithm for soft margins (Hazan et al. 2011, (3)).

    Maximises min_i y_i (<w, x_i> + b) + xi_i over |w| <= 1, |b| <= 1, 0 <= xi <= 2 and sum xi <= n nu, for
    rows divided by the largest norm. Round t follows this module's pseudo-code with
    eta_t = sqrt(log n / t) and steps y x / sqrt(2 t); the model is the average of w and b.

    Deviations from Algorithm 1: steps fall with t, as in the paper's experiments (which print sqrt(log n) /
    t); line 2 starts from u_0 (printed u_1), line 11 has eta (printed nu), line 13 p_(t+1) of q_(t+1)
    (printed p_t of q_t). Slacks are kept for ``selection_every`` rounds, q is kept above 1e-60 at a sum of n,
    and averages may be weighted. The model's slacks are optimal for its w and b, found by water filling over
    a histogram of margins. Lemma 2.1 scales a model of margin gamma > 0 to the soft-margin problem: w / gamma
    and b / gamma.

    Each output has its own q, u, b and xi, and all outputs share the rows and columns read: an output is
    drawn uniformly, then a row by its p or a column by its w^2, and the others use it with importance
    weights, so that the estimates of every output stay unbiased. With one output this is the paper's
    algorithm.

    Parameters
    ----------
    features : "linear" features, for data with a feature-major copy, or "random" ones
    risk : weights s of rows and classes, with mean 1; a row counts as s rows: sum s xi <= n nu, p is
        proportional to s q
    others : described in their declarations
    """

    features: AbstractFeatures
    risk: Risk = _UNWEIGHTED
    nu: float = parameter(
        0.01,
        Number(0, 1),
        help="mean slack of the rows, usually .0003 to .03: about the hinge loss of a good model divided by "
        "|w| and the largest norm",
    )
    fit_intercept: bool = parameter(True, FLAG, help="learn b in [-1, 1], in units of the largest norm")
    max_rounds: int = parameter(20_000, Whole(), help="T, rounds")
    max_feature_accesses: float | None = parameter(
        None,
        POSITIVE,
        NOTHING,
        help="stop after this many, counted as n_features a row and n_rows a column; none: no limit",
    )
    rows_per_round: int = parameter(4, Whole(), help="rows (times the outputs) of a round; the paper has 1")
    columns_per_round: int = parameter(1, Whole(), help="columns (times the outputs) of a round")
    selection_every: int = parameter(16, Whole(), help="rounds between selections of the rows with slack")
    averaging: int = parameter(
        2, Whole(0, 8), help="k: the model is the mean of the iterates weighted with round^k; 0: the paper's"
    )
    stages: int = parameter(10, Whole(), help="parts of the run; the model is measured after each")
    validation_fraction: float = parameter(
        0.1, Number(0, 1, open=(False, True)), help="share of the training rows held out for patience"
    )
    patience: int | None = parameter(
        5,
        Whole(),
        NOTHING,
        help="stop after this many stages without fewer held-out mistakes, keeping the best; none: never",
    )

    draws_any_row = True
    name = "simba"
    updates = UpdateRule(refusal="the weights of all rows are found together")
    cost_of_pass = "a round 4 d + n numbers: four rows and a column, unless set otherwise"
    memory = "10 bytes a row and output where the row is, 16 more with weights, d k numbers in the driver"
    choices: ClassVar[Mapping[str, Parameter]] = {**feature_parameters("linear", COLUMN_FEATURES)}
    searched: ClassVar[Mapping[str, Choices]] = {"nu": Choices(0.01, (0.001, 0.003, 0.03), certain=0.5)}
    # trials make all rounds
    worth = 2.0
    rows_in_any_order = True
    explosion = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.features.has_columns:
            raise InputError(
                f"{self.features.name!r} features have no single columns",
                where="features",
                hint=f"use one of {', '.join(COLUMN_FEATURES)}",
            )
        if not self.validation_fraction and self.patience is not None:
            raise InputError(
                "no rows are held out, but patience needs the held-out error",
                where="validation_fraction",
                hint="use a number > 0, or set patience to none",
            )

    def stand_in(self) -> SIMBA:
        """This solver with all rounds: a fifth of them would not finish models of small nu, the best ones for
        rare classes.
        """
        return replace(self, stages=1, max_feature_accesses=None, validation_fraction=0.0, patience=None)

    def model(self, problem: Problem, state: SIMBAState) -> Model:
        """The model in units of the largest norm, so that outputs can be compared.

        Dividing by each output's margin would fail, as the margin of a rare class is near 0.
        """
        basis = self._basis(problem, state.landmarks, state.gamma)
        scales = np.where(state.margins > 0, state.margins, 1.0)
        return Model(basis, state.coefficients * scales, self.risk, state.intercept * scales)

    def state_type(self) -> type[SIMBAState]:
        return SIMBAState

    def hint(self, trouble: Trouble) -> str:
        also = ", features='random' or scaled ones" if trouble is Trouble.IDLE else ""
        return f"set more max_rounds than {self.max_rounds}, or another nu{also}"

    def init(self, problem: Problem) -> Steps[SIMBAState]:
        landmarks, gamma = yield from self.features.begin(problem)
        basis, outputs = self._basis(problem, landmarks, gamma), problem.n_outputs
        size = basis.size
        zero = LinearModel(
            basis, np.zeros((size, outputs)), self.risk, np.zeros(outputs), self._hold_out(problem)
        )
        norms: Norms = yield self._measuring(problem).norms(zero)
        draw, holds_out = 0, self.patience is not None
        # with few rows or groups, a draw may hold out no row or a whole class
        while holds_out and not norms.is_parted and draw < _MOST_DRAWS:
            draw += 1
            norms = yield self._measuring(problem).norms(
                replace(zero, hold_out=self._hold_out(problem, draw))
            )
        norms.check(holds_out=holds_out)
        units = norms.units if norms.differ else 0
        if self.features.reads_columns:
            # refuse data without single columns before the first round
            yield self._rounds(problem, self._operand(problem, basis, units, draw))
            zeros = np.zeros((outputs, 1))
            yield Message(
                RoundMessage(Update(np.zeros(1, np.int64), zeros, zeros[:, 0], 0.0, None, None), None)
            )
        test_error = None
        if problem.has_test:
            test: Mistakes = yield self._measuring(problem).errors(replace(zero, hold_out=None), "test")
            test_error = test.rates[0]
        return SIMBAState(
            gamma=gamma,
            landmarks=np.asarray(landmarks),
            radius=math.sqrt(norms.largest),
            n_zero=norms.n_zero,
            n_held_out=norms.n_held_out,
            draw=draw,
            units=units,
            u=np.zeros((outputs, size)),
            behind=np.zeros((outputs, size)),
            scale_sum=np.zeros(outputs),
            sums_of_b=np.zeros(outputs),
            coefficients=np.zeros((size, outputs)),
            intercept=np.zeros(outputs),
            margins=np.zeros(outputs),
            objective=float(outputs),
            # f = 0 predicts code 0, with one output and with several
            train_error=float(norms.active[1:].sum() / norms.active.sum()),
            test_error=test_error,
        )

    def stage(self, problem: Problem, state: SIMBAState) -> Steps[SIMBAState]:
        basis = self._basis(problem, state.landmarks, state.gamma)
        yield self._rounds(problem, self._operand(problem, basis, state.units, state.draw))
        primal = Primal(basis, state.u, state.behind, state.scale_sum, state.sums_of_b, state.weight)
        counts = yield from rounds(self, problem, state, primal)
        after = replace(state, stage=state.stage + 1, **counts, **primal.fields)
        w, b = primal.averaged()
        w = np.ascontiguousarray(w.T) / state.radius
        model = LinearModel(basis, w, self.risk, b, self._hold_out(problem, state.draw))
        return (yield from measured(self._measuring(problem), model, self.nu, after))

    def finished(self, state: SIMBAState) -> bool:
        spent = state.round >= self.max_rounds or state.accesses >= self.most_accesses
        return spent or state.stale >= (self.patience or math.inf)

    def measures(self, state: SIMBAState) -> Measures:
        # in units of the largest row, so that neither factor overflows
        norm = float(np.linalg.norm(state.coefficients * state.radius))
        extra = {
            "rounds": float(state.round),
            "nu": self.nu,
            "margin": float(state.margins.min()),
            "norm": norm,
            "zero_rows": float(state.n_zero),
            "validation_error": state.validation_error,
        }
        accesses = (state.accesses, state.accesses_nonzero)
        size = int(np.count_nonzero(state.coefficients.any(axis=1)))
        stale = state.stale >= (self.patience or math.inf)
        reason = f"patience: no fewer mistakes for {self.patience} stages" if stale else ""
        return state.measures(size, extra, accesses=accesses, stopped=reason)

    def outline(self, problem: Problem) -> list[Outline]:
        stages, measuring = -(-self.max_rounds // self.rounds_per_stage), self._measuring(problem)
        passes = [*self.features.outline(problem), Outline(measuring.norms(None), 1.0)]
        if self.features.reads_columns:
            passes.append(Outline(self._rounds(problem, None), 1.0))
        passes += [Outline(self._rounds(problem, None), stages), Outline(measuring.margins(None), stages)]
        if problem.n_outputs > 1:
            passes.append(Outline(measuring.errors(None, "train"), stages))
        if problem.has_test:
            passes.append(Outline(measuring.errors(None, "test"), stages + 1.0))
        return passes

    # -- rounds

    @property
    def most_accesses(self) -> float:
        """Most features to read."""
        return math.inf if self.max_feature_accesses is None else self.max_feature_accesses

    @property
    def rounds_per_stage(self) -> int:
        """Most rounds of a stage."""
        return -(-self.max_rounds // self.stages)

    def _hold_out(self, problem: Problem, draw: int = 0) -> HoldOut:
        return HoldOut(0.0 if self.patience is None else self.validation_fraction, problem.seed, draw)

    def _basis(self, problem: Problem, landmarks: Rows, gamma: float) -> AbstractBasis:
        return self.features.with_exact_sums().basis(problem, landmarks, gamma)

    def _operand(self, problem: Problem, basis: AbstractBasis, units: int, draw: int) -> SIMBAOperand:
        return SIMBAOperand(
            problem.n_outputs,
            self.rows_per_round * problem.n_outputs,
            self.fit_intercept,
            self._hold_out(problem, draw),
            problem.seed,
            basis,
            self.risk if units else None,
        )

    def _rounds(self, problem: Problem, operand: SIMBAOperand | None) -> Rounds:
        outputs = problem.n_outputs
        size, itemsize = self.features.expected_size(problem), problem.dtype.itemsize
        n_columns, n_draws = min(self.columns_per_round * outputs, size), self.rows_per_round * outputs
        sparse = problem.is_sparse and self.features.reads_columns
        # dense: a segment's columns and one copy; sparse: the expected number of entries
        share = min(1.0, problem.row_numbers / problem.n_features) if sparse else 1.0
        looked = share if self.features.reads_columns else problem.row_numbers
        groups = groups_of(problem.block_rows)
        largest = max(sum(problem.block_rows[block] for block in group) for group in groups)
        row_bytes = problem.row_numbers * itemsize + 16
        n_bytes = problem.n_rows * max(problem.row_numbers, 0 if sparse else size) * itemsize
        kept = reading_bytes(problem.n_rows, min(size, self.max_rounds * n_columns), n_bytes)
        together = min(problem.n_rows, max(SEGMENT_ROWS, largest))
        weighted = problem.weighs_classes or problem.max_relative_weight != 1.0
        return Rounds(
            "rounds",
            SimbaResident,
            join,
            operand,
            n_rounds=self.rounds_per_stage,
            state_bytes_per_row=10.0 * outputs + 16.0 * weighted,
            cost=Cost(
                process_bytes=self.features.footprint(problem).process_bytes,
                operations=EXPONENTIAL * (outputs + n_columns * looked),
                compiled=True,
                driver_compiled=True,
            ).holding(
                task={
                    "rows and columns that are kept": (kept,),
                    "columns of a round": (together, math.ceil(2 * n_columns * share * (itemsize + 4))),
                    "signs and slacks as they are made": (together, 24 + 8 * outputs),
                    "bins": (outputs, 2**17),
                },
                result={
                    "sums of groups": (len(groups), outputs, 16),
                    "candidates": (n_draws, row_bytes + 8 * outputs),
                    "bins": (outputs, BINS, 8),
                },
                driver={"variables before the stage, now, and their average": (7, size, outputs, 8)},
            ),
        )

    def _measuring(self, problem: Problem) -> MeasuringPasses:
        footprint = self.features.with_exact_sums().footprint(problem)
        return MeasuringPasses(problem, footprint, self._hold_out(problem))
