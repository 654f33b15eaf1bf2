"""SIMBA: linear support vector machines from single rows and columns (Hazan et al. 2011, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.choices import Choices
from distkern.common.errors import InputError
from distkern.common.parameters import (
    AUTO,
    FLAG,
    NOTHING,
    POSITIVE,
    Number,
    Parameter,
    Whole,
    Words,
    parameter,
)
from distkern.common.sparse import Rows
from distkern.common.types import groups_of
from distkern.features import AbstractFeatures, feature_names
from distkern.losses import find_loss
from distkern.passes import Cost, Message, Rounds
from distkern.solvers._simba.columns import COLUMN_BYTES, ROW_BYTES
from distkern.solvers._simba.measure import BINS, LaneModel, Mistakes, Norms
from distkern.solvers._simba.measuring import Measuring, measured
from distkern.solvers._simba.messages import Ask, HoldOut, Update, join
from distkern.solvers._simba.primal import Primal
from distkern.solvers._simba.resident import Operand, open_simba
from distkern.solvers._simba.rounds import Schedule, rounds
from distkern.solvers._simba.state import SIMBAState
from distkern.solvers.base import AbstractSolver, Measures, Outline, Problem, Steps, Trouble
from distkern.solvers.hyperparameters import feature_parameters
from distkern.solvers.risk import Risk

_UNWEIGHTED = Risk(find_loss("hinge")())
#: candidates of a search for nu
SEARCHED = tuple(float(nu) for nu in np.geomspace(3e-4, 3e-2, 9))


@dataclass(frozen=True)
class SIMBA(AbstractSolver[SIMBAState]):
    """Sublinear importance-sampling bi-stochastic algorithm for soft margins (Hazan et al. 2011, (3)).

    max over |w| <= 1, |b| <= 1, 0 <= xi <= 2, sum xi <= n nu of min_i y_i (<w, x_i> + b) + xi_i, for rows
    divided by the largest norm. Round t with eta_t = sqrt(log n / t): draw a row by p = q / |q|_1 and add
    y x / sqrt(2 t) to u; w = u / max(1, |u|); b = sign(p'y); draw a column j by w_j^2; then multiply q_i with
    1 - eta v_i + eta^2 v_i^2 where v_i = clip(y_i (x_ij |w|^2 / w_j + b) + xi_i, 1 / eta). The model is the
    average of w and b.

    Deviations from Algorithm 1: steps fall with t, as in the paper's experiments, instead of being fixed for
    a horizon; its line 2 starts from u_0 and line 11 has eta (printed nu), line 13 p_(t+1). Slacks are kept
    for ``selection_every`` rounds. q is kept above 1e-60 of a sum of n. Averages may be weighted. The slacks
    of the model are the best for its w and b, which is never worse than the average of the slacks (water
    filling over a histogram of margins); it is then scaled to the soft-margin problem by Lemma 2.1: w / gamma
    and b / gamma for a margin gamma > 0, and left as it is otherwise.

    Several outputs and candidates of nu are lanes with q, u, b and xi of their own that share what is read: a
    lane is drawn uniformly, then a row by its p (a column by its w^2), and the others use it with importance
    weights, so every lane's estimates stay unbiased. With one lane this is the paper's algorithm.

    Parameters
    ----------
    features : "linear" features, of data with a feature-major copy, or "random" ones
    nus : one value in [0, 1], or several in order to choose among by the held-out rows: half of them go on
        after each stage, the best and its neighbours
    risk : the weights s of rows and classes, of mean 1; a row is then s rows: sum s xi <= n nu, p of s q
    and others, described in their declarations
    """

    features: AbstractFeatures
    nus: tuple[float, ...] = SEARCHED
    risk: Risk = _UNWEIGHTED
    fit_intercept: bool = parameter(True, FLAG, help="learn b in [-1, 1], in units of the largest norm")
    max_rounds: int = parameter(20_000, Whole(), help="T, rounds")
    max_feature_accesses: float | None = parameter(
        None,
        POSITIVE,
        NOTHING,
        help="stop after so many, counted as n_features a row and n_rows a column; none: no limit",
    )
    rows_per_round: int = parameter(4, Whole(), help="rows (times the outputs) of a round; the paper has 1")
    columns_per_round: int = parameter(1, Whole(), help="the same of columns")
    selection_every: int = parameter(16, Whole(), help="rounds until it is chosen anew who may fall short")
    averaging: int = parameter(
        2, Whole(0, 8), help="k: the model is the mean of the iterates weighted with round^k; 0: the paper's"
    )
    stages: int = parameter(10, Whole(), help="the rounds are cut into so many, measured after each")
    validation_fraction: float = parameter(
        0.1, Number(0, 1, open=(False, True)), help="of the training rows, held out for nu and patience"
    )
    patience: int | None = parameter(
        5,
        Whole(),
        NOTHING,
        help="stop after so many stages without fewer mistakes on them, keep the best model; none: go on",
    )

    name = "simba"
    cost_of_pass = "a round n + d numbers: one row, one column"
    memory = "24 bytes a row and output where the row is, d k numbers in the driver"
    choices: ClassVar[Mapping[str, Parameter]] = {
        "nu": Parameter(
            AUTO,
            (Number(0, 1), Words(AUTO, "search")),
            "how far rows may fall short, on average, mostly .0003 to .03: about the hinge loss of a good "
            "model by |w| and the largest norm; auto, or search: nine of that range at once, by the "
            "held-out rows; half of them go on after each stage, the best and its neighbours",
            tried=Choices(0.003, (0.0003, 0.001, 0.01, 0.03)),
        ),
        **feature_parameters("linear", with_columns=True),
    }
    explosion = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.features.has_columns:
            raise InputError(
                f"{self.features.name!r} features have no single columns",
                where="features",
                mend=f"use one of: {', '.join(feature_names(with_columns=True))}",
            )
        if not self.nus or not all(0 <= nu <= 1 for nu in self.nus):
            raise InputError(f"is {self.nus!r}", where="nu", mend="use a number from 0 to 1")
        if not self.validation_fraction and (len(self.nus) > 1 or self.patience is not None):
            raise InputError(
                "nothing is held out, but the held-out error is to choose",
                where="validation_fraction",
                mend="use a number > 0, or give one nu and patience none",
            )

    @property
    def holds_out(self) -> bool:
        """Whether held-out rows decide anything."""
        return len(self.nus) > 1 or self.patience is not None

    def state_type(self) -> type[SIMBAState]:
        return SIMBAState

    def found(self, state: SIMBAState) -> dict[str, Any]:
        return {"nu": state.nu} if len(self.nus) > 1 else {}

    def step_hint(self) -> str:
        return "SIMBA has none; look for features that are not finite"

    def mend(self, trouble: Trouble) -> str:
        also = ", features='random' or scaled ones" if trouble is Trouble.IDLE else ""
        return f"set more max_rounds than {self.max_rounds}, or another nu{also}"

    def init(self, problem: Problem) -> Steps[SIMBAState]:
        landmarks, gamma = yield from self.features.begin(problem)
        basis, lanes = self._basis(problem, landmarks, gamma), len(self.nus) * problem.n_outputs
        size, outputs = basis.size, problem.n_outputs
        zero = LaneModel(
            basis,
            np.zeros((size, outputs)),
            np.zeros(outputs),
            outputs,
            self._hold_out(problem),
            problem.block_rows,
            self.risk,
        )
        norms: Norms = yield self._measuring(problem).norms(zero)
        norms.check(self._measuring(problem).n_held_out if self.holds_out else None)
        if self.features.reads_columns:
            # refuses data without single columns before a round
            yield self._rounds(problem, self._operand(problem, basis, norms.units))
            zeros = np.zeros((lanes, 1))
            yield Message(Ask(Update(np.zeros(1, np.int64), zeros, zeros[:, 0], 0.0, None, None), None))
        test_error = None
        if problem.has_test:
            test: Mistakes = yield self._measuring(problem).errors(replace(zero, hold_out=None), "test")
            test_error = float(test.active[0]) / test.n_active
        return SIMBAState(
            gamma=gamma,
            landmarks=np.asarray(landmarks),
            radius=math.sqrt(norms.largest),
            n_zero=norms.n_zero,
            units=norms.units,
            candidates=np.arange(len(self.nus)),
            kept=np.arange(lanes),
            u=np.zeros((lanes, size)),
            behind=np.zeros((lanes, size)),
            banked=np.zeros(lanes),
            sums_of_b=np.zeros(lanes),
            weight=0.0,
            round=0,
            stale=0,
            accesses=0,
            accesses_nonzero=0,
            coefficients=np.zeros((size, outputs)),
            intercept=np.zeros(outputs),
            margins=np.zeros(outputs),
            nu=self.nus[0],
            held_error=math.nan,
            objective=float(outputs),
            # f = 0 means code 0, with one output and with several
            train_error=float(norms.active[1:].sum() / norms.active.sum()),
            test_error=test_error,
        )

    def stage(self, problem: Problem, state: SIMBAState) -> Steps[SIMBAState]:
        basis = self._basis(problem, state.landmarks, state.gamma)
        yield self._rounds(problem, self._operand(problem, basis, state.units))
        primal = Primal(basis, state.u, state.behind, state.banked, state.sums_of_b, state.weight)
        first, last = state.round + 1, min(state.round + self._rounds_per_stage, self.max_rounds)
        limit = math.inf if self.max_feature_accesses is None else self.max_feature_accesses
        schedule = self._schedule(problem, state)
        done = yield from rounds(schedule, primal, first, last, limit - state.accesses, state.kept)
        after = replace(
            state,
            u=primal.u,
            behind=primal.behind,
            banked=primal.banked,
            sums_of_b=primal.sums_of_b,
            weight=primal.weight,
            round=done.round,
            stage=state.stage + 1,
            accesses=state.accesses + done.accesses,
            accesses_nonzero=state.accesses_nonzero + done.entries,
        )
        w, b = primal.averaged()
        w = np.ascontiguousarray(w.T) / state.radius
        hold_out, outputs = self._hold_out(problem), problem.n_outputs
        models = LaneModel(basis, w, b, outputs, hold_out, problem.block_rows, self.risk)
        measuring = self._measuring(problem, len(state.candidates))
        return (yield from measured(measuring, models, self._nus(state), after))

    def finished(self, state: SIMBAState) -> bool:
        if self.max_feature_accesses is not None and state.accesses >= self.max_feature_accesses:
            return True
        return state.round >= self.max_rounds or state.stale >= (self.patience or math.inf)

    def measures(self, state: SIMBAState) -> Measures:
        # in units of the largest row, where neither overflows
        norm = float(np.linalg.norm(state.coefficients * state.radius))
        extra = {
            "rounds": float(state.round),
            "nu": state.nu,
            "margin": float(state.margins.min()),
            "norm": norm,
            "zero_rows": float(state.n_zero),
            "validation_error": state.held_error,
        }
        accesses = (state.accesses, state.accesses_nonzero)
        size = int(np.count_nonzero(state.coefficients.any(axis=1)))
        stale = state.stale >= (self.patience or math.inf)
        notes: tuple[str, ...] = ()
        if len(self.nus) > 1 and self.finished(state):
            notes = (f"chosen: nu={state.nu:.3g} of {min(self.nus):.3g}..{max(self.nus):.3g}",)
        return state.measures(size, extra, accesses=accesses, converged=stale, notes=notes)

    def outline(self, problem: Problem) -> list[Outline]:
        stages, measuring = -(-self.max_rounds // self._rounds_per_stage), self._measuring(problem)
        passes = [*self.features.outline(problem), Outline(measuring.norms(None), 1.0)]
        if self.features.reads_columns:
            passes.append(Outline(self._rounds(problem, None), 1.0))
        candidates, left = len(self.nus), stages
        while left:
            times = 1 if candidates > 1 else left
            measuring = self._measuring(problem, candidates)
            passes.append(Outline(self._rounds(problem, None, candidates), times))
            passes.append(Outline(measuring.margins(None), times))
            if problem.n_outputs > 1:
                passes.append(Outline(measuring.errors(None, "train"), times))
            candidates, left = -(-candidates // 2), left - times
        if problem.has_test:
            passes.append(Outline(measuring.errors(None, "test"), stages + 1.0))
        return passes

    # -- rounds

    @property
    def _rounds_per_stage(self) -> int:
        return -(-self.max_rounds // self.stages)

    def _hold_out(self, problem: Problem) -> HoldOut:
        return HoldOut(self.validation_fraction if self.holds_out else 0.0, problem.seed)

    def _nus(self, state: SIMBAState) -> NDArray[np.float64]:
        """Of the candidates that are left."""
        return np.array(self.nus)[state.candidates]

    def _basis(self, problem: Problem, landmarks: Rows, gamma: float) -> AbstractBasis:
        return self.features.with_exact_sums().basis(problem, landmarks, gamma)

    def _operand(self, problem: Problem, basis: AbstractBasis, units: int) -> Operand:
        return Operand(
            problem.n_outputs,
            len(self.nus),
            self.rows_per_round * problem.n_outputs,
            self.fit_intercept,
            self._hold_out(problem),
            problem.seed,
            basis,
            self.risk if units else None,
        )

    def _schedule(self, problem: Problem, state: SIMBAState) -> Schedule:
        n_active = problem.n_rows - self._measuring(problem).n_held_out
        return Schedule(
            np.repeat(self._nus(state), problem.n_outputs),
            n_active,
            state.units or n_active,
            problem.n_rows,
            state.radius,
            self.columns_per_round * problem.n_outputs,
            self.selection_every,
            self.averaging,
            self.fit_intercept,
            problem.seed,
        )

    def _rounds(self, problem: Problem, operand: Operand | None, n_candidates: int = 0) -> Rounds:
        lanes, outputs = (n_candidates or len(self.nus)) * problem.n_outputs, problem.n_outputs
        size, itemsize = self.features.expected_size(problem), problem.dtype.itemsize
        n_columns, n_draws = min(self.columns_per_round * outputs, size), self.rows_per_round * outputs
        sparse = problem.is_sparse and self.features.reads_columns
        # of dense columns those of a group and their joint copy; of sparse ones what is expected to be there
        share = min(1.0, problem.row_numbers / problem.n_features) if sparse else 1.0
        seconds = lanes * (0.8e-9 + n_columns * share * 0.3e-9) + n_columns * share * 1e-9
        if not self.features.reads_columns:
            seconds += n_columns * (10e-9 + 1e-9 * problem.row_numbers)
        groups = len(groups_of(problem.block_rows))
        row_bytes = problem.row_numbers * itemsize + 16
        return Rounds(
            "rounds",
            open_simba,
            join,
            operand,
            n_rounds=self._rounds_per_stage,
            state_bytes_per_row=9.0 * lanes + outputs + 24 + 2 * n_columns * share * (itemsize + 4),
            seconds_per_row=seconds,
            answer_bytes=groups * lanes * 16 + n_draws * (row_bytes + 8 * lanes) + lanes * BINS * 8,
            cost=Cost(
                workspace_bytes=COLUMN_BYTES + ROW_BYTES + lanes * 2**17,
                # the driver's variables before the stage, now, and their average
                driver_bytes=8 * size * (5 * lanes + 2 * outputs),
                process_bytes=self.features.footprint(problem).process_bytes,
                compiled=True,
                driver_compiled=True,
            ),
        )

    def _measuring(self, problem: Problem, n_candidates: int = 0) -> Measuring:
        footprint = self.features.with_exact_sums().footprint(problem)
        return Measuring(problem, footprint, n_candidates or len(self.nus), self._hold_out(problem))
