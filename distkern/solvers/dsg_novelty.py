"""One-class machines by doubly stochastic gradients: novelty detection (Dai et al. 2014, Section 4).

The paper is on the left, our code, with batches of rows and blocks of features, on the right:

    f <- 0;  tau <- 0                                      DSG.init
    for i = 1 .. t:                                        DSG.stage: some of the steps, each a Growth.step
        draw x_i;  draw w_i with seed i                    DSGSettings.batches; Growth._next_block
        f(x_i) <- sum_(j < i) alpha_j phi_wj(x_i)          NoveltyGrowth._prepare asks for it
        tau <- tau - gamma_i (1[f(x_i) < tau] - nu)        there: best_threshold(), the minimiser of the batch
        alpha_i <- gamma_i 1[f(x_i) < tau] phi_wi(x_i)     Growth._update, with the slopes at this tau
        alpha_j <- (1 - gamma_i nu) alpha_j, j < i         DSGState.scale
    return f, tau                                          DSGNovelty._completed: tau by a pass over all rows

``polish="exact"`` solves the dual instead, see :func:`exact_novelty`.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.held_out import Sides, groups_of, keys_of, order_of_keys
from distkern.core.parameters import NOTHING, Number, Words, parameter, redeclared
from distkern.core.sparse import Rows
from distkern.core.types import Array, Block, Floats
from distkern.maths.bases.gram import COLUMNS, GramSum, column_blocks, fill_columns
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.losses.unlabelled import Novelty
from distkern.passes import Reduce, Rounds
from distkern.solvers._dsg.growth import Growth
from distkern.solvers._dsg.rounds import DSGOperand
from distkern.solvers._dsg.settings import DSGSettings, DSGState, StepRule
from distkern.solvers.base import Measures, Outline, Problem, Steps
from distkern.solvers.dsg import UnpolishedDSG
from distkern.solvers.measuring import Model
from distkern.solvers.quantiles import quantiles_of_sample, quantiles_of_scores, quantiles_outline
from distkern.solvers.risk import Risk
from distkern.solvers.sample import sample_of, sampling

_CURVATURE = 0.2
#: rounding of scores, in units of the last place
_ROUNDING = 4.0
#: folds of the rows, each held out once
_FOLDS = 5
#: share of rows held out to set the threshold, and most such rows
_HELD_OUT_SHARE, _MOST_HELD_OUT = 0.2, 2**14
#: most rows of an exact polish
MOST_EXACT_ROWS = 2048
#: tolerance of f at rows where it should be tau, in units of the mean of k over all pairs of rows; above
#: single precision, so that the share of these rows below the threshold is right
_TOLERANCE = 1e-5
#: smallest tolerance, for kernels in single precision
_LEAST_TOLERANCE = 1e-10


@dataclass(frozen=True, kw_only=True)
class NoveltyState(DSGState):
    """A state of DSG with the threshold tau of its model."""

    threshold: float = 0.0


@dataclass(frozen=True)
class LearnedRisk(Risk):
    """The risk over the rows on the first of two ``sides``; the others have weight 0.

    Attributes
    ----------
    sides : by the keys of rows
    """

    sides: Sides | None = None

    def repeats(self, block: Block) -> Array | None:
        repeats = super().repeats(block)
        if self.sides is None:
            return repeats
        # the mean stays 1 in expectation
        learned: Array = (self.sides.of(keys_of(block)) == 0) / self.sides.cuts[0]
        return learned if repeats is None else repeats * learned


@dataclass(frozen=True)
class HeldOutRows:
    """The rows on the second of two sides, as a sample of a block."""

    sides: Sides

    def rows(self, block: Block) -> Block:
        """The held-out rows of a block, in their order."""
        return block.take(np.flatnonzero(self.sides.of(keys_of(block)) == 1))


def held_out_of(risk: Risk, n_rows: int, seed: int) -> Risk:
    """The risk over four fifths of the rows, or all but 16,384; the others set the threshold."""
    share = min(_HELD_OUT_SHARE, _MOST_HELD_OUT / n_rows)
    fields = {one.name: getattr(risk, one.name) for one in dataclasses.fields(Risk)}
    return LearnedRisk(**fields, sides=Sides((1.0 - share,), seed))


@dataclass(frozen=True)
class DSGNovelty(UnpolishedDSG):
    """A function with a threshold below most rows, by the steps of :class:`~distkern.solvers.dsg.DSG`.

    Minimises mean_i s_i max(0, tau - f(x_i)) - nu tau + nu/2 |f|^2 over f and tau, which is nu times the
    objective of Schoelkopf et al. (2001). At the minimum a share of at most nu of the rows lies below tau.

    A kink has no curvature: Newton steps in a block use c = 0.2, and the m-th step in a block has size
    1 / (1 + 0.4 m). With c from 0.1 to 0.3, 32 steps ended within 1.2 % of the minimum, with c = 1 within 9 %
    (measured).

    For few rows, ``polish="exact"`` finds the minimiser over all features by its dual, see
    :func:`exact_novelty`; tau is then a quantile over held-out rows, see :func:`held_out_threshold`.

    The paper makes steps in tau too, tau <- tau - gamma (mean[f < tau] - nu), which make that share noisy.
    Here tau is the minimiser, the nu-quantile of f, over each step's batch. At the end it is the quantile
    over the rows held out by a :class:`LearnedRisk`, or over all rows with any other risk, see
    :func:`~distkern.solvers.quantiles.quantiles_of_scores`.

    ``objective`` is this sum, 0 at f = 0 and negative at the minimum; ``train_error`` and ``test_error`` are
    shares of rows below tau.

    Parameters
    ----------
    as in :class:`~distkern.solvers.dsg.DSG`

    Raises
    ------
    InputError
        If an exact polish is requested for more than 2,048 rows.
    """

    nu: float = parameter(
        0.1,
        Number(0, 1, open=(True, True)),
        help="share of rows treated as outliers, and weight of |f|^2 / 2",
    )
    n_features: int = redeclared(DSGSettings, "n_features", 2048)
    block_size: int = redeclared(DSGSettings, "block_size", 256)
    polish: str | None = parameter(
        None,
        Words("exact"),
        NOTHING,
        help=f"exact: compute the minimiser over all n_features, for up to {MOST_EXACT_ROWS} rows; earlier "
        "steps are made only if steps_per_stage is given",
    )

    name = "dsg_novelty"
    starts_at_zero = False
    # rows on the margin differ by about 10^-5 in single precision (measured)
    polish_tolerance = 1e-3

    def state_type(self) -> type[NoveltyState]:
        return NoveltyState

    @property
    def step_rule(self) -> StepRule:
        if self.steps is not None:
            return self.steps
        if self.precondition:
            # the m-th step in a block is about 1 / (1 + 0.4 m)
            return StepRule(1.0, 0.4 / self.most_blocks)
        # a larger first step would reverse the sign of the coefficients
        return StepRule(min(20.0, 0.5 / self.nu), 0.02)

    @property
    def curvature(self) -> float:
        return _CURVATURE

    def n_steps(self, problem: Problem) -> int:
        if self.polish == "exact" and self.steps_per_stage is None:
            return 0
        return super().n_steps(problem)

    def check_rows(self, n_rows: int) -> None:
        """Refuse more rows than an exact polish supports."""
        if self.polish == "exact" and n_rows > MOST_EXACT_ROWS:
            raise InputError(
                f"'exact' supports at most {MOST_EXACT_ROWS} rows, and there are {n_rows}",
                where="polish",
                hint="leave it out",
            )

    def risk_at(self, state: DSGState) -> Risk:
        assert isinstance(state, NoveltyState)
        # figures are measured over all rows
        risk = replace(self.risk, sides=None) if isinstance(self.risk, LearnedRisk) else self.risk
        return with_threshold(risk, state.threshold)

    def growth(self, problem: Problem, basis: RandomFeatureBasis, state: DSGState) -> Growth:
        return NoveltyGrowth(self, problem, basis, state)

    def measures(self, state: DSGState) -> Measures:
        assert isinstance(state, NoveltyState)
        measures = super().measures(state)
        return replace(measures, extra=measures.extra | {"threshold": state.threshold})

    def outline(self, problem: Problem) -> list[Outline]:
        # a polish takes its threshold from held-out rows
        stages = self._n_stages(problem)
        own = quantiles_outline(problem, self.scoring_cost(problem), 1, stages) if stages else []
        return [*super().outline(problem), *own]

    def _completed(self, problem: Problem, state: DSGState) -> Steps[DSGState]:
        if state.n_blocks == 0:
            return state
        assert isinstance(state, NoveltyState)
        if state.is_polished:
            basis = self.basis(problem, state.gamma)
            held_out = yield from held_out_threshold(problem, self.risk, basis, self.nu)
            return replace(state, threshold=held_out)
        model, cost = self.model(problem, state), self.scoring_cost(problem)
        scored = model, predictions_as_they_are, (self.nu,), cost
        threshold = math.nan
        if isinstance(self.risk, LearnedRisk) and self.risk.sides is not None:
            (threshold,) = yield from quantiles_of_sample(*scored, HeldOutRows(self.risk.sides))
        if math.isnan(threshold):
            (threshold,) = yield from quantiles_of_scores(problem, *scored, sampled=not self.finished(state))
        # the row whose score is the threshold must not fall below it by rounding
        threshold -= _ROUNDING * np.finfo(problem.dtype).eps * abs(threshold)
        return replace(state, threshold=float(threshold))

    def _check_polish(self) -> None:
        """Accept any loss and number of features: the dual supports all."""

    def _polished(self, problem: Problem, state: DSGState) -> Steps[tuple[Array, int, float]]:
        basis = self.basis(problem, state.gamma)
        coefficients, gap = yield from exact_novelty(problem, self.risk, basis, self.nu)
        return coefficients, 1, gap

    def _polish_outline(self, problem: Problem) -> list[Outline]:
        return [Outline(gathering(problem, self.basis(problem, 1.0)), 2)]

    def _steps(self, problem: Problem, operand: DSGOperand | None) -> Rounds:
        # two messages per batch: predictions, then slopes at the best threshold
        step = super()._steps(problem, operand and replace(operand, risk=self.risk))
        cost = replace(step.cost, operations=0.5 * step.cost.operations)
        return replace(
            step,
            n_rounds=2 * step.n_rounds,
            cost=cost.holding(result={"scores": (min(self.batch_size, problem.n_rows), 16)}),
        )


class NoveltyGrowth(Growth):
    """Steps with slopes at the best threshold of the batch."""

    def _prepare(self, t: int) -> Steps[None]:
        look = yield from self._ask(t, None, values=True)
        assert look.values is not None
        scores, weights = look.values.T
        threshold, at_threshold = best_threshold(scores, weights, self._settings.nu)
        self._risk = with_threshold(self._settings.risk, threshold, at_threshold)


def with_threshold(risk: Risk, threshold: float, at_threshold: float = 0.0) -> Risk:
    """Return the risk of novelty detection with this threshold."""
    assert isinstance(risk.loss, Novelty)
    return replace(risk, loss=replace(risk.loss, threshold=threshold, at_threshold=at_threshold))


def predictions_as_they_are(predictions: Floats, model: Model, block: Block) -> Floats:
    """The scores of novelty detection."""
    return predictions


def exact_novelty(
    problem: Problem, risk: Risk, basis: RandomFeatureBasis, nu: float
) -> Steps[tuple[Array, float]]:
    """Minimise mean_i s_i max(0, tau - f(x_i)) - nu tau + nu/2 |f|^2 over all features of the basis.

    f = sum_i a_i k(x_i, .), where k(x, y) = sum_j z_j(x)' z_j(y) / J over the J blocks, and a minimises a' K
    a / 2 with 0 <= a_i <= s_i / (n nu) and sum_i a_i = 1 (Schoelkopf et al. 2001, (11) to (13)), by
    sequential minimal optimisation (Fan et al. 2005). One pass collects all rows on the driver, which sums K
    over strips of 512 features, so that no array of all rows and all features exists.

    Returns
    -------
    coefficients : (size, 1), A_j = sum_i a_i z_j(x_i) / J
    gap : between the objective and the dual, divided by the modulus of the dual
    """
    rows: Block = yield gathering(problem, basis)
    n_rows, weights = rows.n_rows, risk.all_weights(rows)
    matrix, _ = _kernel_matrix(basis, rows.features)
    support, dual = _solved(matrix, weights, nu)
    scores = matrix[:, support] @ dual
    square = float(dual @ scores[support])
    threshold = best_threshold(scores, weights, nu)[0]
    short = float(weights @ np.maximum(threshold - scores, 0.0)) / n_rows
    gap = (short / nu - threshold + square) / square if square else 0.0
    coefficients = basis.transposed(rows.features[support], dual[:, None]) / basis.n_blocks
    return coefficients, gap


def held_out_threshold(problem: Problem, risk: Risk, basis: RandomFeatureBasis, nu: float) -> Steps[float]:
    """Return the nu-quantile of f over held-out rows: each fifth of the rows is held out once.

    f is large at its training rows. If few rows determine their own threshold, they lie above it, and a
    multiple of nu of other rows lies below.
    """
    rows: Block = yield gathering(problem, basis)
    weights = risk.all_weights(rows)
    matrix, unit = _kernel_matrix(basis, rows.features)
    # equal rows are held out together
    order = order_of_keys(keys_of(rows), None, problem.seed)
    scores, folds = np.empty(rows.n_rows), np.empty(rows.n_rows, dtype=np.intp)
    groups = groups_of(keys_of(rows))
    folds[order] = np.minimum(_FOLDS * np.arange(rows.n_rows) // rows.n_rows, _FOLDS - 1)
    # a group has the fold of its first row
    folds = folds[np.unique(groups, return_index=True)[1]][groups]
    for fold in range(_FOLDS):
        (left,), (own,) = np.nonzero(folds == fold), np.nonzero(folds != fold)
        if not len(own):
            # all rows are equal
            own = left
        support, dual = _solved(matrix[np.ix_(own, own)], weights[own], nu)
        scores[left] = matrix[np.ix_(left, own[support])] @ dual
    threshold, _ = best_threshold(scores, weights, nu)
    # convert to the unit of the model
    threshold *= unit / basis.n_blocks
    return float(threshold - _ROUNDING * np.finfo(problem.dtype).eps * abs(threshold))


def _solved(matrix: Array, weights: Array, nu: float) -> tuple[NDArray[np.int32], Array]:
    """Return the rows with nonzero a_i and these a_i, by sequential minimal optimisation."""
    # slow to import
    from sklearn.svm import OneClassSVM

    total = float(weights.sum())
    tolerance = _TOLERANCE * float(weights @ matrix @ weights) / total**2
    machine = OneClassSVM(kernel="precomputed", nu=nu, tol=max(tolerance, _LEAST_TOLERANCE))
    machine.fit(matrix, sample_weight=weights / (total * nu))
    return machine.support_, machine.dual_coef_[0]


def gathering(problem: Problem, basis: RandomFeatureBasis) -> Reduce[Block]:
    """The pass that collects the rows for :func:`exact_novelty`."""
    n_rows, row_numbers = problem.n_rows, problem.row_numbers
    # K in halves, whole and in the machine, and a strip of features with its inputs
    matrices = 32 * n_rows**2 + 3 * COLUMNS * n_rows * basis.dtype.itemsize
    features = basis.process_bytes + basis.combining_bytes(row_numbers)
    rows = 2 * n_rows * problem.row_bytes
    step = sampling("rows", problem, sample_of(problem, n_rows), matrices + features + rows)
    return replace(step, cost=replace(step.cost, driver_library=True))


def best_threshold(scores: Array, weights: Array, share: float) -> tuple[float, float]:
    """Return the threshold below which rows have at most ``share`` of the weight.

    Also return the share of the rows at the threshold that completes ``share``.

    Parameters
    ----------
    scores, weights : (n_rows,)
    """
    wanted, order = share * float(weights.sum()), np.argsort(scores, kind="stable")
    place = int(np.searchsorted(np.cumsum(weights[order]), wanted))
    threshold = float(scores[order[min(place, len(order) - 1)]])
    below, tied = (float(weights[chosen].sum()) for chosen in (scores < threshold, scores == threshold))
    # a batch may have no weight
    return threshold, max(wanted - below, 0.0) / tied if tied else 0.0


def _kernel_matrix(basis: RandomFeatureBasis, rows: Rows) -> tuple[Array, float]:
    """Return Z Z' divided by its mean diagonal, (n_rows, n_rows), and the divisor: the dual has no unit."""
    n_rows = rows.shape[0]
    gram = GramSum(n_rows)
    for own in column_blocks(0, basis.size):
        gram.add(basis.columns(rows, np.arange(own.start, own.stop)))
    matrix = np.empty((n_rows, n_rows))
    fill_columns(matrix, 0, n_rows, gram.parts)
    unit = float(np.trace(matrix)) / n_rows or 1.0
    matrix /= unit
    return matrix, unit
