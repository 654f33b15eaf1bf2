"""How many rows Newton's matrices are of, and how many steps follow each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.features import Footprint
from distkern.solvers.base import Problem
from distkern.solvers.sample import Sample, sample_of

#: of a sample, at least, and for each function
_LEAST_SAMPLE, _ROWS_PER_FEATURE = 8192, 4
#: a sample is taken of so many times its rows, or more
_PAYS = 4
#: passes over all rows whose operations are as many as a sample's matrices take, which have the better rate
_SAMPLE_PASSES = 0.5
#: steps that a matrix of a sample is expected to take to the minimum of a parabola
_PARABOLA_PASSES = 8
#: steps from a matrix on, and how much of its time they may take: each makes the next ones better
_LEAST_STEPS, _MOST_STEPS = 8, 12
_WORTH = 1.5


@dataclass(frozen=True)
class Schedule:
    """What follows from the sizes of a problem alone, so that a plan knows it.

    A matrix of q rows takes q r^2 operations (the symmetric half, by multiply and add), a pass over n rows
    n times those of the r features and 4 r k of their products; an exponential counts as 90 of them. The
    sample is Erdogdu and Montanari's (2015), its size and the number of steps are ours, measured on nine
    data sets.

    Attributes
    ----------
    footprint : r functions, and what it takes to make them
    n_outputs : k; matrices are one for all outputs in the first stage, later one for each
    is_quadratic : the loss is the square loss, of which a matrix of all rows is needed once
    """

    problem: Problem
    footprint: Footprint
    n_outputs: int
    is_quadratic: bool

    def sample(self, stage: int) -> Sample | None:
        """The rows that a stage's matrices are of; None for all, of which a parabola needs but one matrix."""
        return sample_of(self.problem, self.rows(stage)) if self.is_sampled(stage) else None

    def is_sampled(self, stage: int) -> bool:
        """Whether a stage's matrices are of a sample."""
        cheap = self.is_quadratic and self._matrix_by_pass < _PARABOLA_PASSES
        return not cheap and self.problem.n_rows >= _PAYS * self.rows(stage)

    def rows(self, stage: int) -> int:
        """Rows of a sample: as many as take half a pass, and no fewer than show all directions."""
        worth = _SAMPLE_PASSES * self.problem.n_rows / self._matrix_by_pass
        most = min(worth / (self.n_outputs if stage else 1), self.problem.n_rows / _PAYS)
        return max(_LEAST_SAMPLE, _ROWS_PER_FEATURE * self.footprint.size, int(most))

    @property
    def most_steps(self) -> int:
        """Steps from a matrix on: about as many as their passes take the time of making the next one."""
        if self.is_quadratic:
            return _MOST_STEPS
        share = self.rows(1) / self.problem.n_rows if self.is_sampled(1) else 1.0
        return int(np.clip(_WORTH * share * self.n_outputs * self._matrix_by_pass, _LEAST_STEPS, _MOST_STEPS))

    @property
    def _matrix_by_pass(self) -> float:
        """The operations that a row of a matrix takes, by those of a pass."""
        size = self.footprint.size
        return size**2 / (self.footprint.operations + 4.0 * size * self.n_outputs)
