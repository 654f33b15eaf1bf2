"""The template of solvers that step through streamed rows, one piece at a time.

A solver (:class:`AbstractStreamed`) must give what :mod:`~distkern.solvers.explicit` asks for except
``steps`` and ``stage_pass``, and:

    loop_type                     the class of its steps; or loop, which creates them

It may give:

    rows_of_batch                 rows of a step, if they are no parameter ``batch_size``
    steps_per_stage, rows_of_stage    rows of a stage
    rows_to_forget                rows after which the first steps are forgotten
    order                         "shuffled" or "iid"
    prepared, stage_pass          the operand of the stream, and the stream

A loop (:class:`AbstractLoop`) must give:

    consume                       the steps over a piece
    coefficients                  of the model

It may give:

    intercept                     of the model
    solver_state                  the solver's own fields of the state

A loop whose batches end with their piece (:class:`BatchLoop`) must give:

    step                          a step over a batch
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import Rows, SparseRows, count_nonzero
from distkern.core.tiles import aligned
from distkern.core.types import Array, Block, Floats
from distkern.maths.bases.base import AbstractBasis, add_transposed, product
from distkern.maths.features import Footprint
from distkern.passes import Stream
from distkern.solvers.base import Problem, Steps, piece_rows
from distkern.solvers.explicit import AbstractExplicit, Ended
from distkern.solvers.measuring import Model, State, Sums, measure, with_largest


@dataclass(frozen=True)
class FeaturePiece:
    """Feature rows of a stream.

    Attributes
    ----------
    values : (n, r)
    signs : (n, n_outputs), the targets
    weights : (n,) float64
    n_nonzero : nonzero features of the rows, if counted
    predictions : (n, n_outputs) at the snapshot, or None
    """

    values: Rows
    signs: Floats
    weights: Array
    n_nonzero: int = 0
    predictions: Floats | None = None

    @property
    def is_dense(self) -> bool:
        """Whether ``values`` is an array."""
        return not isinstance(self.values, SparseRows)

    def take(self, rows: slice) -> FeaturePiece:
        """Some of the rows."""
        values = self.values[rows]
        if not isinstance(values, SparseRows):
            # arrays from a worker may not be aligned
            values = np.require(values, requirements=("C", "A"))
        predictions = None if self.predictions is None else self.predictions[rows]
        return FeaturePiece(values, self.signs[rows], self.weights[rows], 0, predictions)

    def loop_arguments(self) -> tuple[NDArray[Any], ...]:
        """Data, columns and row ends in the layout of the compiled loop, then signs and weights."""
        rows: tuple[NDArray[Any], ...]
        if isinstance(self.values, SparseRows):
            rows = self.values.data, self.values.indices, self.values.indptr
        else:
            n_rows, size = self.values.shape
            rows = self.values.reshape(-1), np.empty(0, np.int32), np.arange(n_rows + 1) * size
        return aligned(*rows, self.signs, self.weights)


def prepare_piece(block: Block, model: Model) -> FeaturePiece:
    """Prepare the feature rows, targets and weights of a piece."""
    signs = model.risk.targets(block).astype(model.basis.dtype, copy=False)
    values, weights = model.basis.values(block.features), model.risk.all_weights(block)
    return FeaturePiece(values, signs, weights, count_nonzero(block.features))


def measure_largest(block: Block, model: Model) -> Sums:
    """Return the sums of a block with the largest s_i |phi(x_i)|^2."""
    return with_largest(measure(block, model), block, model)


def column_of(indices: Any, first: int, entry: int) -> int:
    """The column of an entry of a row that begins with entry ``first``."""
    raise NotImplementedError


def dense_column(indices: Any, first: int, entry: int) -> int:
    """:func:`column_of` for arrays."""
    return entry - first


def sparse_column(indices: Any, first: int, entry: int) -> int:
    """:func:`column_of` for sparse rows."""
    return np.int64(indices[entry])  # type: ignore[return-value]


class AbstractLoop(ABC):
    """The steps of a stage; ``n_rows`` counts the rows so far."""

    n_rows = 0

    @abstractmethod
    def consume(self, piece: Any) -> None:
        """Make the steps over a piece."""

    @property
    @abstractmethod
    def coefficients(self) -> Array:
        """Coefficients (r, k) of the model."""

    @property
    def intercept(self) -> Array | None:
        """Intercept (k,) of the model, None for 0."""
        return None

    def solver_state(self) -> Mapping[str, Any]:
        """The solver's own fields of the state."""
        return {}


class BatchLoop(AbstractLoop):
    """Steps over batches of B rows, at w (r, k); the last batch of a piece may be shorter.

    ``w`` is float64 and ``narrow`` its copy in the dtype of the features; a step sets both.
    """

    def __init__(
        self, solver: Any, problem: Problem, state: Any, basis: AbstractBasis, preconditioner: Any
    ) -> None:
        self.solver = solver
        self._risk, self._batch = solver.risk_of(state), solver.rows_of_batch(problem, basis.size)
        #: (r, 1), nu of each coefficient
        self.penalty = solver.penalty(basis)
        self.w: Array = state.coefficients.copy()
        self.narrow: Floats = self.w.astype(basis.dtype)

    @property
    def coefficients(self) -> Array:
        return self.w

    def consume(self, piece: FeaturePiece) -> None:
        for start in range(0, len(piece.weights), self._batch):
            self.step(piece.take(slice(start, start + self._batch)))
        self.n_rows += len(piece.weights)

    @abstractmethod
    def step(self, batch: FeaturePiece) -> None:
        """Make a step over a batch."""

    def slopes(self, batch: FeaturePiece, at: Floats) -> tuple[Rows, Floats]:
        """z(x_i) (B, r) and s_i l'(z(x_i) w, y_i) (B, k) over a batch at w = ``at``."""
        predictions = np.empty(batch.signs.shape, dtype=at.dtype)
        product(batch.values, at, predictions)
        return batch.values, self._risk.slopes(predictions, batch.signs, batch.weights)

    def gradient(self, batch: FeaturePiece, at: Floats, run: slice = slice(None)) -> Array:
        """mean_i s_i z(x_i) l'(z(x_i) w, y_i) over a batch at w = ``at``, for a run of coefficients."""
        values, slopes = self.slopes(batch, at)
        slopes = (slopes / len(slopes)).astype(at.dtype)
        if not isinstance(values, SparseRows):
            return np.asarray(values[:, run].T @ slopes, dtype=np.float64)
        total = np.zeros(at.shape)
        add_transposed(values, slopes, total)
        return total[run]


#: most steps of a stage that needs more than one pass
_FEW_STEPS = 2**14


def few_steps(number: float) -> int:
    """Return ``number`` steps, 2^14 at most, for stages over few rows."""
    return min(math.ceil(number), _FEW_STEPS)


class AbstractStreamed(AbstractExplicit[State]):
    """Template of solvers over explicit features that stream rows to a loop."""

    #: defaults, for solvers without these parameters
    order: str = "shuffled"
    steps_per_stage: int | float | None = None

    #: the class of its steps, constructed by :meth:`loop`
    loop_type: ClassVar[Callable[..., AbstractLoop]]

    @property
    def counts_on(self) -> bool:  # type: ignore[override]
        return self.before is not None and not self.updates.reads_old

    def loop(self, problem: Problem, state: Any, basis: AbstractBasis, preconditioner: Any) -> AbstractLoop:
        """Return the steps of a stage, before the first of them."""
        return type(self).loop_type(self, problem, state, basis, preconditioner)

    def rows_of_batch(self, problem: Problem, size: int) -> int:
        """B, the rows of a batch."""
        own: Any = self
        return int(own.batch_size)

    @property
    def rows_to_forget(self) -> int:
        """Rows after which the first steps are forgotten, see :func:`few_steps`."""
        return 1

    def rows_of_stage(self, problem: Problem) -> int:
        """Rows that a stage of a fit streams: by ``steps_per_stage``, else one pass or ``rows_to_forget``."""
        return problem.rows_of(self.steps_per_stage, max(problem.n_rows, self.rows_to_forget))

    def rows_streamed(self, problem: Problem) -> int:
        """Rows that a stage streams; an update streams the same share of its rows as the fit."""
        before = self.before
        if before is None or not self.counts_on:
            return self.rows_of_stage(problem)
        earlier = self.rows_of_stage(replace(problem, block_rows=(before.n_rows,)))
        return max(1, math.ceil(earlier * problem.n_rows / before.n_rows))

    def steps(self, problem: Problem, state: Any, basis: Any, preconditioner: Any) -> Steps[Ended]:
        risk, footprint = self.risk_of(state), self.footprint(problem, basis.size)
        prepared = self.prepared(Model(basis, state.coefficients, risk), state)
        pieces: Iterator[Any] = yield self.stage_pass(problem, footprint, state.stage, prepared)
        loop = self.loop(problem, state, basis, preconditioner)
        for piece in pieces:
            loop.consume(piece)
        model = Model(basis, loop.coefficients, risk, loop.intercept)
        return Ended(model, loop.n_rows, loop.solver_state())

    def prepared(self, model: Model, state: Any) -> Any:
        """Operand of the stream: the model without coefficients, which may be large."""
        return Model(model.basis, np.zeros((0, model.risk.n_outputs)), model.risk)

    def stage_pass(self, problem: Problem, footprint: Footprint, stage: int, operand: Any) -> Stream[Any]:
        """The stream of feature rows in pieces of whole batches."""
        size, itemsize, outputs = footprint.size, problem.dtype.itemsize, self.risk.n_outputs
        numbers, batch = self.numbers(problem, size), self.rows_of_batch(problem, size)
        # a batch does not cross pieces
        rows = -(-piece_rows(numbers, itemsize) // batch) * batch
        cost = footprint.cost(footprint.operations + 4.0 * numbers * outputs).holding(
            task={"coefficients": (2, size, outputs, itemsize)},
            result={"features and signs": (numbers + outputs, itemsize), "weight": (8,)},
            driver={"iterate, sums of it and the model, before the stage and now": (size, outputs, 64)},
        )
        visits = problem.visits(self.rows_streamed(problem), stage, self.order)
        return Stream("inner loop", visits, prepare_piece, operand, piece_rows=rows, cost=cost)
