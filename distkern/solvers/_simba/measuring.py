"""Measurements of SIMBA in passes over all rows, and its state with the best model so far."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.held_out import STIRRED_BYTES
from distkern.core.tiles import apply
from distkern.core.types import Block
from distkern.maths.features import Footprint
from distkern.passes import Cost, Reduce
from distkern.solvers._simba.messages import UNIT, HoldOut, in_units
from distkern.solvers.base import Problem, Steps
from distkern.solvers.measuring import MeasuredState, Model

#: bins of the margins of rows of norm at most 1, which lie in [-2, 2]
BINS = 2**13
_REACH = 2.0
#: its square is still a normal number with half the digits
_SMALLEST_NORM = 2.0**-960
#: margins processed at once
_STRIP_NUMBERS = 2**16


@dataclass(frozen=True)
class LinearModel(Model):
    """f(x) = phi(x) coef + intercept: the operand of the measuring passes.

    With one output f > 0 predicts code 1, with more the largest f decides.

    Attributes
    ----------
    hold_out : which training rows are held out; None to hold out none
    """

    hold_out: HoldOut | None = None

    @property
    def n_outputs(self) -> int:
        return int(self.coefficients.shape[1])

    def parts(self, block: Block) -> Iterator[tuple[Block, NDArray[np.float64], NDArray[np.bool_]]]:
        """Yield rows of a block, their f (n_rows, n_outputs), and which of them are held out."""
        held = self.held_out_mask(block)
        rows = max(_STRIP_NUMBERS // self.n_outputs, 256)
        for start in range(0, block.n_rows, rows):
            part = slice(start, start + rows)
            strip = block.take(part)
            yield strip, self.predictions(strip.features).astype(np.float64, copy=False), held[part]

    def held_out_mask(self, block: Block) -> NDArray[np.bool_]:
        """(n_rows,): which rows of a block are held out."""
        if self.hold_out is None:
            return np.zeros(block.n_rows, dtype=bool)
        return self.hold_out.mask(block)


@dataclass(frozen=True)
class Norms:
    """Sizes and weights of the rows, measured before the first round.

    Attributes
    ----------
    largest : the largest squared norm
    n_zero : rows without features
    active : (n_classes,) weights of the rows that take part, by class code
    present : (n_classes,) classes with rows of positive weight, whether these take part or not
    n_held_out : held-out rows
    units : weight, including class weights, of the rows that take part; 0 without weights
    differ : whether some of these differ from the mean weight of all rows
    """

    largest: float
    n_zero: int
    active: NDArray[Any]
    present: NDArray[np.bool_]
    n_held_out: int = 0
    units: int = 0
    differ: bool = False

    @staticmethod
    def join(first: Norms, second: Norms) -> Norms:
        """The figures over the rows of both."""
        return Norms(
            max(first.largest, second.largest),
            first.n_zero + second.n_zero,
            first.active + second.active,
            first.present | second.present,
            first.n_held_out + second.n_held_out,
            first.units + second.units,
            first.differ or second.differ,
        )

    @property
    def is_parted(self) -> bool:
        """Whether some rows are held out, and every class with rows keeps some."""
        return bool(self.n_held_out and self.active[self.present].all())

    def check(self, *, holds_out: bool) -> None:
        """Refuse rows without information, or too few rows to hold some out.

        Raises
        ------
        InputError
            If all features are zero, squares overflow, no row is held out, or a whole class is.
        """
        if self.largest < _SMALLEST_NORM:
            raise InputError(
                "all features of all training rows are zero, or too small to be squared",
                where="the data",
                hint="give rows with features, or scale them",
            )
        if not np.isfinite(self.largest):
            raise InputError("the norm of a training row overflows", where="the data", hint="scale the data")
        if not holds_out or self.is_parted:
            return
        raise InputError(
            "all rows of a class are held out" if self.n_held_out else "no row can be held out for patience",
            where="validation_fraction",
            hint="use more rows, another seed or fraction, or 0 with patience none",
        )


def measure_norms(block: Block, model: LinearModel) -> Norms:
    """Return the :class:`Norms` of a block's rows; the model's coefficients do not matter."""
    found = model.basis.row_squares(block.features)
    assert block.targets is not None
    takes_part = ~model.held_out_mask(block)
    codes, weights = np.asarray(block.targets).astype(np.int64), block.weights
    own, n_classes = None if weights is None else weights[takes_part], max(2, model.n_outputs)
    active = np.bincount(codes[takes_part], own, minlength=n_classes)
    present = np.bincount(codes, weights, minlength=n_classes) > 0
    units = np.zeros(0, np.int64)
    if own is not None or model.risk.class_weights is not None:
        units = in_units(model.risk, block)[takes_part]
    n_zero, n_held_out = int(np.count_nonzero(found == 0)), int(np.count_nonzero(~takes_part))
    weigh = int(units.sum()), bool((units != UNIT).any())
    return Norms(float(found.max(initial=0.0)), n_zero, active, present, n_held_out, *weigh)


@dataclass(frozen=True)
class Mistakes:
    """Weights of misclassified rows and of all rows, without class weights.

    Attributes
    ----------
    wrong, all : (2,) for the rows that take part, and the held-out ones
    """

    wrong: NDArray[np.float64]
    all: NDArray[np.float64]

    @classmethod
    def none(cls) -> Mistakes:
        """The mistakes among no rows."""
        return cls(np.zeros(2), np.zeros(2))

    @staticmethod
    def add(first: Mistakes, second: Mistakes) -> Mistakes:
        """The mistakes among the rows of both."""
        return Mistakes(first.wrong + second.wrong, first.all + second.all)

    @property
    def rates(self) -> tuple[float, float]:
        """Error rates of the learning rows and the held-out rows; NaN if there are none."""
        active, held_out = (
            wrong / weight if weight else math.nan
            for wrong, weight in zip(self.wrong.tolist(), self.all.tolist(), strict=True)
        )
        return active, held_out


@dataclass(frozen=True)
class Margins:
    """Histograms by output of the margins y f of the rows that take part, and mistakes.

    Attributes
    ----------
    counts, sums : (n_outputs, BINS) weight and weighted sum of the margins in each bin of [-2, 2]
    mistakes : counted only if there is one output
    """

    counts: NDArray[Any]
    sums: NDArray[np.float64]
    mistakes: Mistakes

    @staticmethod
    def add(first: Margins, second: Margins) -> Margins:
        """The histograms and mistakes over the rows of both."""
        return Margins(
            first.counts + second.counts,
            first.sums + second.sums,
            Mistakes.add(first.mistakes, second.mistakes),
        )

    def best_margin(self, output: int, slack: float) -> float:
        """max{g : sum_i s_i [g - m_i]_+ <= slack}: the value of (3) at this (w, b) with the best slacks.

        Rows in the bin of g are assumed to lie at their mean; the other bins count exactly.
        """
        counts, sums = self.counts[output].astype(np.float64), self.sums[output]
        below, sum_below = np.cumsum(counts), np.cumsum(sums)
        edges = np.linspace(-_REACH, _REACH, BINS + 1)[1:]
        needed = below * edges - sum_below
        place = int(np.searchsorted(needed, slack, side="right"))
        if place >= BINS:
            return float((slack + sum_below[-1]) / below[-1])
        before = below[place] - counts[place]
        sum_before = sum_below[place] - sums[place]
        mean = sums[place] / counts[place] if counts[place] else edges[place]
        if before > 0 and (slack + sum_before) / before <= mean:
            return float((slack + sum_before) / before)
        return float((slack + sum_below[place]) / below[place])

    def hinge(self, output: int, margin: float) -> float:
        """sum_i s_i [margin - m_i]_+, from the means of bins."""
        counts, sums = self.counts[output], self.sums[output]
        means = apply(np.divide, sums, counts, into=np.full(BINS, np.inf), where=counts > 0)
        below = means < margin
        return float(margin * counts[below].sum() - sums[below].sum())


def measure_margins(block: Block, model: LinearModel) -> Margins:
    """Return a block's histograms and, with one output, its mistakes."""
    counts, sums = np.zeros((model.n_outputs, BINS)), np.zeros((model.n_outputs, BINS))
    mistakes = Mistakes.none()
    for strip, values, held in model.parts(block):
        assert strip.targets is not None
        if model.n_outputs == 1:
            mistakes = Mistakes.add(mistakes, _mistakes(strip, values, held))
        active = values[~held]
        codes = strip.targets[~held]
        weights = model.risk.weights(strip)
        own = None if weights is None else weights[~held]
        for output in range(model.n_outputs):
            wanted = 1 if model.n_outputs == 1 else output
            margins = np.where(codes == wanted, active[:, output], -active[:, output])
            places = np.clip((margins + _REACH) * (BINS / (2 * _REACH)), 0, BINS - 1).astype(np.int64)
            counts[output] += np.bincount(places, own, minlength=BINS)
            sums[output] += np.bincount(places, margins if own is None else own * margins, minlength=BINS)
    return Margins(counts, sums, mistakes)


def measure_mistakes(block: Block, model: LinearModel) -> Mistakes:
    """Return a block's mistakes."""
    found = Mistakes.none()
    for strip, values, held in model.parts(block):
        found = Mistakes.add(found, _mistakes(strip, values, held))
    return found


def _mistakes(strip: Block, values: NDArray[np.float64], held: NDArray[np.bool_]) -> Mistakes:
    codes, weights = strip.targets, strip.weights
    assert codes is not None
    wrong = (values[:, 0] > 0) != (codes == 1) if values.shape[1] == 1 else values.argmax(axis=1) != codes
    own = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    sums = [[float(part[which].sum()) for which in (~held, held)] for part in (wrong * own, own)]
    return Mistakes(*np.array(sums))


@dataclass(frozen=True, kw_only=True)
class SIMBAState(MeasuredState):
    """The state after a stage's rounds, and the model of the best stage so far.

    Attributes
    ----------
    gamma : the kernel's gamma, 1 without a kernel
    landmarks : (0, n_features)
    radius : the largest norm of a training row's features, in units of the features
    n_zero : training rows without features
    n_held_out, draw : number of held-out training rows, and number of their draw
    u, behind : (n_outputs, size) float64, ``scale_sum`` and ``sums_of_b`` (n_outputs,), and ``weight``: see
        :class:`~distkern.solvers._simba.rounds.Primal`
    units : weight of the learning rows, in units of :data:`~distkern.solvers._simba.messages.UNIT`; 0 if all
        are equal
    round : rounds done
    stale : stages since the fewest held-out mistakes
    accesses, accesses_nonzero : features read by the rounds, size a row and n a column; the actual numbers of
        these rows and columns
    coefficients, intercept : (size, n_outputs) and (n_outputs,) of the best stage's model
    margins : (n_outputs,) of the model, in units of the largest norm
    validation_error : the model's error on the held-out rows, NaN without any
    and the figures of the model on the other training rows
    """

    gamma: float
    landmarks: NDArray[Any]
    radius: float
    n_zero: int
    n_held_out: int
    draw: int
    u: NDArray[np.float64]
    behind: NDArray[np.float64]
    scale_sum: NDArray[np.float64]
    sums_of_b: NDArray[np.float64]
    units: int
    weight: float = 0.0
    round: int = 0
    stale: int = 0
    accesses: int = 0
    accesses_nonzero: int = 0
    coefficients: NDArray[np.float64]
    intercept: NDArray[np.float64]
    margins: NDArray[np.float64]
    validation_error: float = math.nan


@dataclass(frozen=True)
class MeasuringPasses:
    """Passes over the rows of a problem, for outlines if the model is None."""

    problem: Problem
    footprint: Footprint
    hold_out: HoldOut

    def norms(self, model: LinearModel | None) -> Reduce[Norms]:
        """The :class:`Norms` of the rows."""
        cost = self._cost(1, 64 + 9 * self.problem.n_outputs)
        return Reduce("norms", measure_norms, Norms.join, model, cost=cost)

    def margins(self, model: LinearModel | None) -> Reduce[Margins]:
        """Histograms of margins."""
        outputs = self.problem.n_outputs
        cost = self._cost(outputs, outputs * BINS * 16)
        return Reduce(
            "margins",
            measure_margins,
            Margins.add,
            model,
            cost=cost,
            measures_only=not self.hold_out.fraction,
        )

    def errors(self, model: LinearModel | None, split: str) -> Reduce[Mistakes]:
        """Mistakes on the rows of a split."""
        train = split == "train"
        return Reduce(
            "errors" if train else "held out",
            measure_mistakes,
            Mistakes.add,
            model,
            split=split,
            cost=self._cost(self.problem.n_outputs, 16),
            measures_only=not (train and self.hold_out.fraction),
        )

    def _cost(self, outputs: int, result_bytes: int) -> Cost:
        problem, footprint = self.problem, self.footprint
        stirred = STIRRED_BYTES if self.hold_out.fraction else 0
        cost = footprint.cost(footprint.operations + 2.0 * problem.row_numbers * outputs)
        return replace(cost, compiled=True).holding(
            task={
                "coefficients": (footprint.size, outputs, 16 + problem.dtype.itemsize),
                "f in both precisions, margins and bins of a strip": (2**16 + 256 * outputs, 48),
                "held out": (stirred,),
                "sums": (result_bytes,),
            },
            result={"sums": (result_bytes,)},
        )


def measured(
    measuring: MeasuringPasses, unscaled: LinearModel, nu: float, state: SIMBAState
) -> Steps[SIMBAState]:
    """Return the state with the best model so far and its figures.

    Parameters
    ----------
    unscaled : the model after the rounds of the stage
    """
    problem, n_held_out, outputs = measuring.problem, state.n_held_out, unscaled.n_outputs
    weight = state.units / UNIT if state.units else float(problem.n_rows - n_held_out)
    found: Margins = yield measuring.margins(unscaled)
    gammas = np.array([found.best_margin(output, nu * weight) for output in range(outputs)])
    scales = np.where(gammas > 0, gammas, 1.0)
    assert unscaled.intercept is not None
    intercept = unscaled.intercept / scales
    model = replace(unscaled, coefficients=unscaled.coefficients / scales, intercept=intercept)
    mistakes = found.mistakes
    if outputs > 1:
        mistakes = yield measuring.errors(model, "train")
    train_error, validation_error = mistakes.rates
    if n_held_out and state.stage > 1 and validation_error > state.validation_error:
        return replace(state, stale=state.stale + 1)
    improved = not n_held_out or state.stage == 1 or validation_error < state.validation_error
    test_error = None
    if problem.has_test:
        test: Mistakes = yield measuring.errors(replace(model, hold_out=None), "test")
        test_error = test.rates[0]
    hinge = sum(found.hinge(output, scale) / scale for output, scale in enumerate(scales.tolist()))
    return replace(
        state,
        stale=0 if improved else state.stale + 1,
        coefficients=np.ascontiguousarray(model.coefficients),
        intercept=intercept,
        margins=gammas,
        validation_error=validation_error,
        objective=hinge / weight,
        train_error=train_error,
        test_error=test_error,
    )
