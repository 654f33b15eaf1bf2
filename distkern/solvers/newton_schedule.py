"""Rows of the matrices of Newton's method and the number of steps from each, by the sizes of a problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.features import Footprint
from distkern.solvers.base import Problem
from distkern.solvers.sample import RowSample, sample_of

#: least rows of a sample, and rows for each function
_LEAST_SAMPLE, _ROWS_PER_FEATURE = 4096, 4
#: a sample is taken if there are at least so many times its rows
_PAYS = 4
#: operations of a sample's matrices, in passes over all rows
_SAMPLE_PASSES = 0.5
#: expected steps to the minimum of a quadratic with a sample's matrix
_PARABOLA_PASSES = 8
#: least and most steps from one matrix, and their time in units of the next matrix's
_LEAST_STEPS, _MOST_STEPS = 8, 12
_WORTH = 1.5
#: functions up to which the sums of a quadratic over all rows are kept with a model: half a matrix of 32 MiB
MOST_KEPT = 2048


@dataclass(frozen=True)
class Schedule:
    """Rows of matrices and numbers of steps, which follow from the sizes of a problem alone.

    A matrix of q rows takes q r^2 operations, a pass over n rows n times those of the r features and 4 r k;
    an exponential counts as 90. The sample is that of Erdogdu and Montanari (2015); its size and the number
    of steps were measured on nine data sets.

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
        """The rows of a stage's matrices; None for all."""
        return sample_of(self.problem, self.rows(stage)) if self.is_sampled(stage) else None

    def is_sampled(self, stage: int) -> bool:
        """Whether a stage's matrices are made from a sample."""
        # the matrix of all rows is one pass, and what updates of quadratics go on from
        few = self.footprint.size <= MOST_KEPT
        cheap = self.is_quadratic and (few or self._matrix_by_pass < _PARABOLA_PASSES)
        return not cheap and self.problem.n_rows >= _PAYS * self.rows(stage)

    def rows(self, stage: int) -> int:
        """Rows of a sample: as many as take half a pass, within the bounds that :class:`Newton` names."""
        worth = _SAMPLE_PASSES * self.problem.n_rows / self._matrix_by_pass
        most = min(worth / (self.n_outputs if stage else 1), self.problem.n_rows / _PAYS)
        return max(_LEAST_SAMPLE, _ROWS_PER_FEATURE * self.footprint.size, int(most))

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
