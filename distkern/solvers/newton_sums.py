"""Newton's method for the square loss by sums over rows, for updates with new rows.

For the square loss, of curvature c, the losses of rows are a parabola,

    sum_i s_i l(z_i w, y_i) = c/2 w' A w + G . w + L,    A = Z' S Z,  G and L slopes and losses at w = 0,

so the saved sums determine the minimum over old and new rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.types import Array
from distkern.maths.bases.coordinates import Coordinates
from distkern.maths.features import Footprint
from distkern.passes import Derived
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.descent import BoundedMetric, Descent, Point, descend
from distkern.solvers.measuring import Model, Sums, held_out_pass, measuring_pass
from distkern.solvers.sample import RowSample, sample_of
from distkern.solvers.targets import TargetSummary

if TYPE_CHECKING:
    from distkern.solvers.newton import Newton, NewtonState

#: steps to the minimum of the parabola
_STEPS = 12


@dataclass(frozen=True)
class RowSums:
    """Sums over rows of q functions z, k outputs.

    Attributes
    ----------
    gram : (q, q), A
    slopes : (q, k), G
    ones : (q,), Z' S 1, for real targets, whose centre moves; else (0,)
    n_rows : number of rows
    mean_weight : divisor of the weights in s
    weight : sum of their weights, without class weights
    losses : L
    spread : for real targets, sum of the weighted squared distances from their mean
    """

    gram: Array
    slopes: Array
    ones: Array
    n_rows: float
    mean_weight: float
    weight: float
    losses: float
    spread: float

    @classmethod
    def of(cls, gram: Array, sums: Sums, n_outputs: int, mean_weight: float) -> RowSums:
        """The sums of a pass at w = 0; its gradient has one column more than outputs, Z' S 1."""
        assert sums.gradient is not None, "the pass has slopes"
        slopes = np.ascontiguousarray(sums.gradient[:, :n_outputs])
        ones = sums.gradient[:, n_outputs:].reshape(-1)
        return cls(
            gram, slopes, ones, sums.n_rows, mean_weight, sums.weight, sums.losses, float(sums.errors[0])
        )

    @classmethod
    def kept(cls, own: Mapping[str, Any]) -> RowSums | None:
        """The stored sums, or None."""
        packed = own.get("gram")
        if packed is None or not len(packed):
            return None
        size = len(own["slopes"])
        gram, stop = np.empty((size, size)), 0
        for row in range(size):
            start, stop = stop, stop + row + 1
            gram[row, : row + 1] = gram[: row + 1, row] = packed[start:stop]
        return cls(gram, np.asarray(own["slopes"]), np.asarray(own["ones"]), *own["totals"].tolist())

    @property
    def fields(self) -> dict[str, Array]:
        """The sums as arrays, with half of the symmetric one."""
        totals = (self.n_rows, self.mean_weight, self.weight, self.losses, self.spread)
        return {
            "gram": np.concatenate([self.gram[row, : row + 1] for row in range(len(self.gram))]),
            "slopes": self.slopes,
            "ones": np.ascontiguousarray(self.ones),
            "totals": np.array(totals, dtype=np.float64),
        }

    def targets(self, center: Array) -> TargetSummary:
        """The summary of real targets with this mean."""
        mean, apart, none = float(center[0]), float(self.spread > 0), np.zeros(0)
        return TargetSummary(self.weight, mean, self.spread, mean - apart, mean + apart, none, none)

    def in_unit(self, curvature: float, shift: float, factor: float, mean_weight: float) -> RowSums:
        """The sums for targets y' = (y + shift) factor and weights divided by another mean."""
        share = self.mean_weight / mean_weight
        slopes, losses = self.slopes, self.losses
        if shift or factor != 1.0:
            # G = -c Z' S y, whose y have the mean 0
            slopes = factor * (slopes - curvature * shift * self.ones[:, None])
            losses = factor**2 * (losses + 0.5 * curvature * self.n_rows * shift**2)
        return replace(
            self,
            gram=share * self.gram,
            slopes=share * slopes,
            ones=share * self.ones,
            losses=share * losses,
            mean_weight=mean_weight,
        )

    def added(self, other: RowSums) -> RowSums:
        """The sums over the rows of both, in the same unit and mean weight; the caller sets ``spread``."""
        return RowSums(
            self.gram + other.gram,
            self.slopes + other.slopes,
            self.ones + other.ones,
            self.n_rows + other.n_rows,
            self.mean_weight,
            self.weight + other.weight,
            self.losses + other.losses,
            self.spread,
        )

    def definite(self) -> RowSums:
        """The sums with a gram matrix that has no negative eigenvalue.

        In single precision, rounding leaves some about 1e-9 of the largest, so that the parabola has no
        minimum and a weight may grow along them without end. Four times the size of the most negative one is
        added to the diagonal; rounding errors of the other sign are as large.
        """
        from scipy.linalg import eigvalsh

        least = float(eigvalsh(self.gram, subset_by_index=(0, 0))[0])
        if least >= 0.0:
            return self
        return replace(self, gram=self.gram + np.diag(np.full(len(self.gram), -4.0 * least)))

    def point(self, at: Array, curvature: float, nu: float, metric: Array) -> Point:
        """The objective and its gradient at ``at``, given its product with the metric."""
        bent = curvature * (self.gram @ at)
        losses = self.losses + float(np.einsum("ij,ij->", at, 0.5 * bent + self.slopes))
        norm = 0.5 * nu * float(np.einsum("ij,ij->", at, metric))
        gradient = (bent + self.slopes) / self.n_rows + nu * metric
        sums = Sums(losses, np.zeros(0), self.weight, int(self.n_rows))
        return Point(at, losses / self.n_rows + norm, gradient, sums)


def kept_bytes(size: int) -> int:
    """Bytes that the driver keeps for ``size`` functions."""
    return 4 * size * (size + 1)


def keeps_sums(solver: Newton, size: int) -> bool:
    """Whether the first stage saves the sums of its matrix."""
    return solver.risk.loss.is_quadratic and size <= MOST_KEPT


class BySums:
    """The stage of :class:`~distkern.solvers.newton.Newton` in an update for the square loss.

    One pass sums over the new rows, which determines the minimum over old and new rows without reading the
    old ones; a second pass measures the new rows there. The objective is that over old and new rows.
    """

    def __init__(self, solver: Newton, kept: RowSums) -> None:
        self._solver, self._kept = solver, kept

    def is_stuck(self, state: NewtonState) -> bool:
        """Whether the only stage is done."""
        return state.stage > 0

    def descent(
        self, problem: Problem, state: NewtonState, model: Model, footprint: Footprint
    ) -> Steps[tuple[Descent, Array, dict[str, Any]]]:
        """The descent, its coefficients, and the solver's own fields of the state."""
        solver, before = self._solver, self._solver.before
        assert before is not None, "sums come from a model"
        matrices = solver.matrices
        coordinates: Coordinates = yield Derived("coordinates", partial(matrices.coordinates, problem, state))
        own, risk = coordinates.basis, model.risk
        _check_pivots(coordinates, before.solver_state)
        zero = np.zeros((own.size, risk.n_outputs))
        grams = matrices.grams(0, own.size, None)
        (gram,), sums = yield from grams.matrices(
            problem, Model(own, zero, risk), replace(footprint, size=own.size)
        )
        bend = matrices.bend(0, risk.offset)
        new = RowSums.of(np.ascontiguousarray(gram), sums, risk.n_outputs, risk.mean_weight)
        shift = float((before.center - state.center)[0]) / before.target_scale
        factor = before.target_scale / state.target_scale
        both = self._kept.in_unit(bend, shift, factor, risk.mean_weight).added(new)
        both = replace(both, spread=float(state.variances[0]) * both.weight if risk.is_real else 0.0)

        definite = both.definite()

        def measure(at: Array) -> Steps[Point]:
            yield from ()
            return definite.point(at, bend, solver.nu, own.metric_product(at))

        start = yield from measure(zero)
        gram[...] = definite.gram * (bend / both.n_rows)
        metric = BoundedMetric(*matrices.inverse(own, [gram], solver.nu), apart=True)
        found = yield from descend(measure, start, metric, _STEPS, solver.tol, start.value)
        found = replace(found, bound=metric.decrement(found.point.gradient))
        coefficients = coordinates.outward(found.point.at)
        errors: Sums = yield measuring_pass(problem, replace(model, coefficients=coefficients), footprint)
        assert found.point.sums is not None
        measured = replace(found.point.sums, errors=errors.errors, weight=errors.weight)
        found = replace(found, point=replace(found.point, sums=measured))
        kept = {**both.fields, "pivots": coordinates.pivots}
        return found, coefficients, {"sampled": False, "damping": 0.0, "zero": start.value, **kept}

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        """The passes of the stage."""
        sums = self._solver.matrices.grams(0, footprint.size, None).outline(problem, footprint)
        size = footprint.size
        cost = sums.step.cost.holding(driver={"sums of old rows, of both, and packed": (6, size, size, 8)})
        return [
            replace(sums, step=sums.step.changed(cost=cost)),
            Outline(measuring_pass(problem, None, footprint), 1),
            Outline(held_out_pass(problem, None, footprint), 1),
        ]


def _check_pivots(coordinates: Coordinates, own: Mapping[str, Any]) -> None:
    """Refuse sums over other functions: with different linear algebra, landmarks may be reordered."""
    if not np.array_equal(coordinates.pivots, own["pivots"]):
        raise InputError(
            "the linear algebra of this machine orders the landmarks differently from the machine that made "
            "the sums",
            where="update",
            hint="update the model there, or train on all rows",
        )


#: least rows of a sample, and rows for each function
_LEAST_SAMPLE, _ROWS_PER_FEATURE = 4096, 4
#: a sample is used from this many times its rows on
_PAYS = 4
#: operations of a sample's matrices, in passes over all rows
_SAMPLE_PASSES = 0.5
#: expected steps to the minimum of a quadratic with a sample's matrix
_PARABOLA_PASSES = 8
#: functions of all matrices together up to which matrices of all rows are cheap
_FEW = 512
#: stages with sampled matrices before those of all rows, if the latter are cheap
_SAMPLED_STAGES = 2
#: least and most steps from one matrix, and their time in units of the next matrix's
_LEAST_STEPS, _MOST_STEPS = 8, 12
_WORTH = 1.5
#: functions up to which the sums of a quadratic over all rows are saved with a model: half a matrix of 32 MiB
MOST_KEPT = 2048


@dataclass(frozen=True)
class Schedule:
    """Rows of matrices and numbers of steps, determined by the sizes of a problem.

    A matrix of q rows takes q r^2 operations, a pass over n rows n times those of the r features plus 4 r k;
    an exponential counts as 90. The sample follows Erdogdu and Montanari (2015); its size and the number of
    steps were tuned on nine data sets.

    Attributes
    ----------
    footprint : memory and operations of the r functions
    n_outputs : k
    is_quadratic : whether the loss is the square loss
    """

    problem: Problem
    footprint: Footprint
    n_outputs: int
    is_quadratic: bool

    def sample(self, stage: int) -> RowSample | None:
        """The sampled rows of a stage's matrices; None for all."""
        return sample_of(self.problem, self.rows(stage)) if self.is_sampled(stage) else None

    def is_sampled(self, stage: int) -> bool:
        """Whether a stage's matrices use a sample."""
        # the matrix of all rows is one pass, and updates of quadratics need it
        few = self.footprint.size <= MOST_KEPT
        is_next = self.is_quadratic or stage >= _SAMPLED_STAGES
        matrices = self.n_matrices(stage)
        # products of few functions wait for memory, matrices do not
        is_fast = matrices * self._matrix_by_pass < _PARABOLA_PASSES or matrices * self.footprint.size <= _FEW
        cheap = is_next and is_fast
        cheap |= self.is_quadratic and few
        return not cheap and self.problem.n_rows >= _PAYS * self.rows(stage)

    def n_matrices(self, stage: int) -> int:
        """Number of matrices: one in the first stage, then one for each output."""
        return self.n_outputs if stage and not self.is_quadratic else 1

    def rows(self, stage: int) -> int:
        """Rows of a sample: as many as take half a pass, within the bounds stated in :class:`Newton`."""
        worth = _SAMPLE_PASSES * self.problem.n_rows / self._matrix_by_pass
        most = min(worth / (self.n_outputs if stage else 1), self.problem.n_rows / _PAYS)
        return max(_LEAST_SAMPLE, _ROWS_PER_FEATURE * self.footprint.size, int(most))

    def overstated(self, stage: int) -> float:
        """The factor by which a sample's matrix may exceed the matrix of all rows in r directions.

        (1 + (r / q)^(1/2))^2, the edge of the spectrum for q rows of independent functions (Marchenko and
        Pastur 1967).
        """
        return float((1.0 + (self.footprint.size / self.rows(stage)) ** 0.5) ** 2)

    @property
    def most_steps(self) -> int:
        """Most steps from a matrix: their passes take about 1.5 times as long as the next matrix."""
        if self.is_quadratic:
            return _MOST_STEPS
        share = self.rows(1) / self.problem.n_rows if self.is_sampled(1) else 1.0
        return int(np.clip(_WORTH * share * self.n_outputs * self._matrix_by_pass, _LEAST_STEPS, _MOST_STEPS))

    @property
    def _matrix_by_pass(self) -> float:
        """Operations of a row in a matrix, divided by those in a pass."""
        size = self.footprint.size
        return size**2 / (self.footprint.operations + 4.0 * size * self.n_outputs)
