"""Sums of losses and errors over rows, the measuring passes with their cost, and searchable solvers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.choices import Choices, with_values
from distkern.core.sparse import Rows
from distkern.core.types import Block, Floats
from distkern.maths.bases.base import STRIP_ROWS, AbstractBasis, tile_is_large
from distkern.maths.features import Footprint
from distkern.passes import Cost, Outline, Reduce
from distkern.solvers.base import AbstractSolver, Measures, Problem, Steps
from distkern.solvers.risk import Risk


@dataclass(frozen=True)
class Model:
    """f(x) = phi(x) coef + intercept with its risk: the operand of passes.

    Attributes
    ----------
    basis : phi
    coefficients : (r, k)
    intercept : (k,), or None for 0
    """

    basis: AbstractBasis
    coefficients: Floats
    risk: Risk
    intercept: NDArray[np.float64] | None = None

    def predictions(self, features: Rows) -> Floats:
        """f, (n_rows, k), in the dtype of the basis, or float64 with an intercept."""
        values = self.basis.combine(features, self.coefficients)
        return values if self.intercept is None else values.astype(np.float64) + self.intercept

    def strips(self, block: Block) -> Iterator[Block]:
        """The rows of a block in strips that are predicted at once."""
        rows = self.basis.strip_rows(self.coefficients.shape[1])
        for start in range(0, block.n_rows, rows):
            yield block.take(slice(start, start + rows))


@dataclass(frozen=True)
class Sums:
    """Sums over rows at a fixed model.

    Attributes
    ----------
    losses : sum of s_i l_i
    errors : see :meth:`~distkern.solvers.risk.Risk.errors`
    weight : sum of the rows' weights, the divisor of errors
    gradient : (r, k) in the basis, or None
    largest : the largest s_i |phi(x_i)|^2, 0 if not computed
    balance : see :meth:`~distkern.solvers.risk.Risk.balance`, for bounds, or None
    """

    losses: float
    errors: NDArray[np.float64]
    weight: float
    n_rows: int
    gradient: NDArray[np.float64] | None = None
    largest: float = 0.0
    balance: NDArray[np.float64] | None = None

    @classmethod
    def none(cls, risk: Risk) -> Sums:
        """The sums over no rows, without a gradient."""
        return cls(0.0, np.zeros(risk.n_errors), 0.0, 0, balance=np.zeros((2, risk.n_outputs)))

    @staticmethod
    def add(first: Sums, second: Sums) -> Sums:
        """The sums over the rows of both."""
        gradient = balance = None
        if first.gradient is not None and second.gradient is not None:
            gradient = first.gradient + second.gradient
        if first.balance is not None and second.balance is not None:
            balance = first.balance + second.balance
        return Sums(
            first.losses + second.losses,
            first.errors + second.errors,
            first.weight + second.weight,
            first.n_rows + second.n_rows,
            gradient,
            max(first.largest, second.largest),
            balance,
        )

    @property
    def mean_errors(self) -> NDArray[np.float64]:
        """Errors divided by the weight of the rows; NaN if that is 0."""
        return self.errors / self.weight if self.weight else np.full_like(self.errors, math.nan)

    @property
    def mean_gradient(self) -> NDArray[np.float64]:
        """The gradient of the mean loss."""
        assert self.gradient is not None, "the pass computes no gradient"
        return self.gradient / self.n_rows

    @property
    def mean_balance(self) -> NDArray[np.float64]:
        """The means over the rows of ``balance``; without outputs if not computed."""
        return np.zeros((2, 0)) if self.balance is None else self.balance / self.n_rows


def sums_and_slopes(
    risk: Risk, rows: Block, predictions: Floats, *, slopes: bool = True, balance: bool = False
) -> tuple[Sums, Floats]:
    """Return sums over some rows and their s_i dl/df (n_rows, k), empty unless ``slopes``."""
    targets, weights = risk.targets(rows), risk.weights(rows)
    losses = float(risk.values(predictions, targets, weights).sum())
    weight = float(rows.n_rows if rows.weights is None else rows.weights.sum())
    sums = Sums(losses, risk.errors(predictions, rows), weight, rows.n_rows)
    if not (slopes or balance):
        return sums, predictions[:0]
    found = risk.slopes(predictions, targets, weights)
    if balance:
        sums = replace(sums, balance=risk.balance(predictions, targets, weights, found))
    return sums, found


def measure_gradient(block: Block, model: Model) -> Sums:
    """Return losses, errors and gradient over a block; an intercept must be one of the functions."""
    found = _Strips(block, model)
    gradient = model.basis.gradient(block.features, model.coefficients, found.slopes)
    return replace(found.sums, gradient=gradient, balance=found.balance)


class _Strips:
    """Slopes of a block's tiles, in order, with losses summed over strips of several tiles.

    Tiles are so short that summing the losses of each would take as long as the products. A tile that exceeds
    its strip starts the next one.
    """

    def __init__(self, block: Block, model: Model) -> None:
        self._block, self._risk = block, model.risk
        self._rows = model.basis.strip_rows(model.coefficients.shape[1])
        self._sums = Sums.none(model.risk)
        #: sums for bounds, if a constant function is not regularised
        self.balance = np.zeros((2, model.risk.n_outputs)) if model.basis.n_constant else None
        # the current strip: its first row, rows filled, and capacity
        self._first = self._filled = self._room = 0

    @property
    def sums(self) -> Sums:
        """The sums over all rows of the block, once all slopes were computed."""
        self._close()
        return self._sums

    def slopes(self, rows: slice, predictions: Floats) -> Floats:
        """s_i dl/df of the next rows, (n_rows, k)."""
        if rows.stop > self._first + self._room:
            self._close()
            self._open(rows, predictions)
        own = slice(rows.start - self._first, rows.stop - self._first)
        self._predictions[own] = predictions
        self._filled = own.stop
        weights = None if self._weights is None else self._weights[own]
        slopes = self._risk.slopes(predictions, self._targets[own], weights)
        if self.balance is not None:
            self.balance += self._risk.balance(predictions, self._targets[own], weights, slopes)
        return slopes

    def _open(self, rows: slice, predictions: Floats) -> None:
        end = min(max(rows.start + self._rows, rows.stop), self._block.n_rows)
        self._first, self._room = rows.start, end - rows.start
        self._strip = self._block.take(slice(rows.start, end))
        self._targets, self._weights = self._risk.targets(self._strip), self._risk.weights(self._strip)
        self._predictions = np.empty((self._room, predictions.shape[1]), dtype=predictions.dtype)

    def _close(self) -> None:
        if not self._filled:
            return
        whole = self._filled == self._room
        strip = self._strip if whole else self._strip.take(slice(0, self._filled))
        share, _ = sums_and_slopes(self._risk, strip, self._predictions[: self._filled], slopes=False)
        self._sums = Sums.add(self._sums, share)
        self._filled = 0


def measure(block: Block, model: Model) -> Sums:
    """Return the losses and errors of a block."""
    parts = (
        sums_and_slopes(model.risk, strip, model.predictions(strip.features), slopes=False)[0]
        for strip in model.strips(block)
    )
    return reduce(Sums.add, parts, Sums.none(model.risk))


def held_out(model: Model | None, cost: Cost) -> Reduce[Sums]:
    """The pass that measures the held-out rows."""
    return Reduce("held out", measure, Sums.add, model, split="test", cost=cost, measures_only=True)


def gradient_pass(
    problem: Problem, model: Model | None, footprint: Footprint, name: str = "gradient"
) -> Reduce[Sums]:
    """The pass of a solver over explicit features that sums losses, errors and the gradient."""
    return Reduce(name, measure_gradient, Sums.add, model, cost=pass_cost(problem, footprint, 2))


def measuring_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
    """The pass that sums losses and errors."""
    return Reduce("measure", measure, Sums.add, model, cost=pass_cost(problem, footprint, 1))


def held_out_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
    """The pass that measures the held-out rows."""
    return held_out(model, pass_cost(problem, footprint, 1))


def pass_cost(problem: Problem, footprint: Footprint, uses: int) -> Cost:
    """Cost of a pass that multiplies or sums the features ``uses`` times."""
    size, itemsize, outputs = footprint.size, problem.dtype.itemsize, problem.n_outputs
    # features with large tiles are built again for each use
    times = max(1, uses) if tile_is_large(size, itemsize) else max(1, uses // 2)
    cost = footprint.cost(times * footprint.operations + 2.0 * uses * size * outputs, summed=True)
    # the driver builds the features of landmarks
    cost = replace(cost, driver_compiled=footprint.is_compiled and footprint.driver_bytes > 0)
    return cost.holding(
        task={
            "predictions and slopes of a strip": (STRIP_ROWS, outputs, 48),
            "coefficients and their sums": (2, size, outputs, 8 + itemsize),
        },
        result={"gradient": (size, outputs, 8)},
        driver={"the features": (footprint.driver_bytes,)},
    )


@dataclass(frozen=True, kw_only=True)
class MeasuredState:
    """Fields of every solver's state: stages done and the figures of the model after them.

    ``searched``: the values chosen by a :class:`~distkern.choose.values.Searched`, or empty.
    """

    stage: int = 0
    objective: float = math.nan
    train_error: float = math.nan
    test_error: float | None = None
    searched: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def with_figures(self, figures: Figures, **changes: Any) -> Self:
        """The state with new figures and other changes."""
        changes |= {"train_error": figures.train_error, "test_error": figures.test_error}
        return replace(self, objective=figures.objective, **changes)

    def measures(self, model_size: int, extra: dict[str, float], **more: Any) -> Measures:
        return Measures(self.objective, self.train_error, self.test_error, model_size, extra, **more)


@dataclass(frozen=True)
class Figures:
    """Figures of a model.

    Attributes
    ----------
    sums : over the training rows
    objective : the regulariser plus the mean loss
    train_error, test_error : error rates, or mean squared errors
    absolute_errors : (2,) mean absolute errors of training and held-out rows, NaN for classes
    """

    sums: Sums
    objective: float
    train_error: float
    test_error: float | None
    absolute_errors: NDArray[np.float64]


def measured(
    problem: Problem, train: Reduce[Sums], held_out: Reduce[Sums], regulariser: float, strength: float = 1.0
) -> Steps[Figures]:
    """Measure the training rows in one pass and the held-out rows, if any, in another.

    The objective is ``regulariser`` + ``strength`` times the mean loss.
    """
    sums: Sums = yield train
    return (yield from figures_of(problem, sums, held_out, regulariser, strength))


def figures_of(
    problem: Problem, sums: Sums, held_out: Reduce[Sums], regulariser: float, strength: float = 1.0
) -> Steps[Figures]:
    """Return the figures of a model from its sums over the training rows; held-out rows, if any, take a pass.

    The objective is ``regulariser`` + ``strength`` times the mean loss.
    """
    errors = [sums.mean_errors]
    if problem.has_test:
        test: Sums = yield held_out
        errors.append(test.mean_errors)
    absolute = np.full(2, math.nan)
    for place, found in enumerate(errors):
        absolute[place] = found[1] if len(found) > 1 else math.nan
    return Figures(
        sums,
        regulariser + strength * sums.losses / sums.n_rows,
        float(errors[0][0]),
        float(errors[1][0]) if problem.has_test else None,
        absolute,
    )


def zero_figures(problem: Problem, risk: Risk) -> Steps[Figures]:
    """Return the figures of the model 0, which needs no features."""
    train, test = (zero_pass(problem, risk, split) for split in ("train", "test"))
    return (yield from measured(problem, train, test, 0.0))


def zero_outlines(problem: Problem) -> list[Outline]:
    """The passes of :func:`zero_figures`."""
    return [Outline(zero_pass(problem, None, split)) for split in ("train", "test")]


def zero_pass(problem: Problem, risk: Risk | None, split: str) -> Reduce[Sums]:
    """The pass that measures the model 0 on the rows of a split."""
    cost = Cost().holding(task={"targets and losses": (problem.most_rows, problem.n_outputs + 1, 64)})
    return Reduce("start", _measure_zero, Sums.add, risk, split=split, cost=cost)


def _measure_zero(block: Block, risk: Risk) -> Sums:
    predictions = np.zeros((block.n_rows, risk.n_outputs), dtype=block.features.dtype)
    return sums_and_slopes(risk, block, predictions, slopes=False)[0]


def with_largest(sums: Sums, block: Block, model: Model) -> Sums:
    """Add to the sums of a block the largest s_i |phi(x_i)|^2."""
    weights, squares = model.risk.weights(block), model.basis.row_squares(block.features)
    return replace(sums, largest=float((squares if weights is None else squares * weights).max(initial=0.0)))


State = TypeVar("State", bound=MeasuredState)


class AbstractSearchable(AbstractSolver[State]):
    """A solver whose hyperparameters in ``searched`` are among its fields or its parts' fields.

    Trials make only sums, streams and rounds, so that training on few rows stays within one process.
    """

    #: the values that may be chosen, in the order of the search
    searched: ClassVar[Mapping[str, Choices]] = {}
    #: field values of trials, so that any memory limit leads to the same choice
    in_trials: ClassVar[Mapping[str, Any]] = {}
    #: most work of all trials together by default, in units of one full run
    worth: ClassVar[float] = 1.0
    #: whether rows may be sorted: samples cover all blocks, some of which may have a single class
    rows_in_any_order: ClassVar[bool] = False

    def stand_in(self) -> AbstractSearchable[Any]:
        """The solver of trials, with the names of ``searched``: this one or one with fewer functions."""
        return with_values(self, self.in_trials)

    @abstractmethod
    def model(self, problem: Problem, state: State) -> Model:
        """The model of a state."""
