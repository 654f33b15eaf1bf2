"""The optimum over the random features in use: exactly, or by Newton sweeps over blocks of them."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace

import numpy as np

from distkern.bases.base import multiply
from distkern.bases.gram import GatheredGram
from distkern.bases.random_features import RandomFeatureBasis
from distkern.common.errors import InputError
from distkern.common.rng import Purpose, stream
from distkern.common.tiles import scratch
from distkern.common.types import Array, Block, Floats, groups_of
from distkern.features.random import footprint_of_random
from distkern.passes import EXPONENTIAL, Cost, Message, Rounds
from distkern.solvers._dsg.rounds import predict, tiles
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.descent import BoundedMetric
from distkern.solvers.explicit import gradient_pass
from distkern.solvers.gram import Grams, inverted, solved, with_slopes
from distkern.solvers.measuring import Model
from distkern.solvers.residents import GroupResident
from distkern.solvers.risk import Risk

MOST_EXACT_FEATURES = 8192
#: rows that a block's Gram matrix is made of in a sweep, for each of its columns: sampling then changes its
#: eigenvalues by less than the factor of 2 from which on a Newton step overshoots
_ROWS_PER_COLUMN = 32
_ORDER = 3
_MOST_PASSES = 150
#: how far above its minimum an exact polish may leave the objective, divided by it
TOLERANCE = 1e-7
#: share of what the slope promises that a step has to reach, share of the objective that rounding may take,
#: and the shortest step that is tried before the bound alone
_DESCENT, _ROUNDING, _SHORTEST = 1e-4, 1e-9, 0.05
#: the metric of an exact polish, and the gradient where it starts
GRAMS = Grams(weigh=with_slopes, strip_bytes=128 * 2**20)


def check_polish(polish: str | None, risk: Risk, n_features: int) -> None:
    """Refuse what cannot be done.

    Raises
    ------
    InputError
        If the loss has no curvature, or there are too many features for one matrix.
    """
    if polish is None:
        return
    if not math.isfinite(risk.loss.curvature):
        raise InputError(
            f"{risk.loss.name!r} has a slope that jumps, so no Newton step bounds it",
            where="polish",
            hint="use polish=None, or a smooth loss such as 'squared_hinge', 'logistic' or 'huber'",
        )
    if polish == "exact" and n_features > MOST_EXACT_FEATURES:
        raise InputError(
            f"'exact' is for at most {MOST_EXACT_FEATURES} features, not {n_features}",
            where="polish",
            hint="use polish='sweeps'",
        )


def sweep(
    problem: Problem, risk: Risk, basis: RandomFeatureBasis, start: Array, strength: float, number: int
) -> Steps[Array]:
    """Sweep ``number``: one Newton step in each block of coefficients, in random order, over all rows.

    A_j <- A_j - (c Z_j^T S Z_j / n + strength I)^-1 (Z_j^T G / n + strength A_j), which decreases the
    objective, as c bounds the curvature. Predictions stay with the rows and are brought up to date with every
    message.
    """
    width, coefficients = basis.block_size, start.copy()
    n_blocks = len(coefficients) // width
    dtype = basis.dtype
    yield _sweep_rounds(problem, risk, basis, SweepOperand(basis, risk, n_blocks))
    rows = [sum(problem.block_rows[block] for block in group) for group in groups_of(problem.block_rows)]
    # predictions go on from sweep to sweep, and the first starts from the coefficients
    table = coefficients.astype(dtype) if number == 0 else None
    change: tuple[int, Floats] | None = None
    order = stream(problem.seed, Purpose.VISIT_ORDER, _ORDER, number).permutation(n_blocks)
    for place, block in enumerate(order):
        groups = _gram_groups(rows, place, _ROWS_PER_COLUMN * width)
        sums = total((yield Message(SweepAsk(table, change, int(block), groups))))
        own = coefficients[block * width : (block + 1) * width]
        assert sums.gram is not None
        curvature = risk.loss.curvature / sums.gram_rows * sums.gram
        step = solved(curvature, strength)(sums.columns / problem.n_rows + strength * own)
        # what the rows are told is what the coefficients change by
        narrow = (-step).astype(dtype)
        own += narrow
        table, change = None, (int(block), narrow)
    yield Message(SweepAsk(None, change, None, {}))
    return coefficients


def _gram_groups(rows: list[int], place: int, wanted: int) -> dict[int, int]:
    """Group -> take every so many of its rows: groups in turn, until there are enough rows."""
    chosen: dict[int, int] = {}
    found = 0
    for number in range(len(rows)):
        group = (place + number) % len(rows)
        chosen[group] = max(1, rows[group] // wanted)
        found += rows[group]
        if found >= wanted:
            break
    return chosen


def exact_polish(
    problem: Problem, risk: Risk, basis: RandomFeatureBasis, start: Array, strength: float
) -> Steps[tuple[Array, int, float]]:
    """The minimiser over all features of the basis of mean s l + strength/2 sum_j |A_j|^2.

    BFGS of limited memory (Nocedal 1980) in the metric H = c Z^T S Z / n + strength I, which bounds the
    Hessian, since the curvature is at most c, and for softmax at most c for each output: one pass (a few of
    many features) makes H and the first gradient, one more a step. A step that does not descend is tried
    shorter, and then as one with H alone, which does. For the square loss the first step is the solution.

    Returns
    -------
    coefficients, passes made, and an estimate of (F - min F) / F there: half the last step's decrement
    """
    # the rows see coefficients in the dtype of the features, so that those are what is searched among
    point = start.astype(basis.dtype).astype(np.float64)
    model = Model(basis, point.astype(basis.dtype), risk)
    footprint = footprint_of_random(problem, basis)
    (gram,), sums = yield from GRAMS.matrices(problem, model, footprint)
    gram *= risk.loss.curvature / problem.n_rows
    metric = BoundedMetric(inverted(gram, strength))
    first = len(GRAMS.strips(basis.size))
    tolerance = TOLERANCE if basis.dtype == np.float32 else 0.01 * TOLERANCE
    value, gradient, best, length = math.inf, point, point, 1.0
    direction = np.zeros_like(point)
    for n_passes in range(first, first + _MOST_PASSES):
        if n_passes > first:
            operand = replace(model, coefficients=point.astype(basis.dtype))
            sums = yield gradient_pass(problem, operand, footprint)
        here = sums.losses / problem.n_rows + 0.5 * strength * float(np.einsum("ij,ij->", point, point))
        descent = -length * float(np.einsum("ij,ij->", gradient, direction))
        if here > value - _DESCENT * descent + _ROUNDING * abs(value):
            # a step with the bound alone descends at every length, but for rounding
            if metric.is_plain:
                return best, n_passes, 0.5 * descent / max(value, np.finfo(float).tiny)
            length *= 0.3
            if length < _SHORTEST:
                metric.forget()
                direction, length = -metric.solve(gradient), 1.0
        else:
            before, value, slope = gradient, here, sums.mean_gradient + strength * point
            metric.learn(point - best, slope - before)
            best, gradient, length = point, slope, 1.0
            direction = -metric.solve(gradient)
            decrement = -float(np.einsum("ij,ij->", gradient, direction))
            if risk.loss.is_quadratic:
                return best + direction, n_passes, 0.0
            if 0.5 * decrement <= tolerance * value:
                return best, n_passes, 0.5 * decrement / max(value, np.finfo(float).tiny)
        point = (best + length * direction).astype(basis.dtype).astype(np.float64)
    return best, first + _MOST_PASSES - 1, max(0.5 * decrement / value, 2 * TOLERANCE)


def _sweep_rounds(
    problem: Problem, risk: Risk, basis: RandomFeatureBasis, operand: SweepOperand | None
) -> Rounds:
    itemsize, outputs, width = problem.dtype.itemsize, risk.n_outputs, basis.block_size
    n_blocks = basis.n_blocks if operand is None else operand.n_blocks
    groups, operations = len(groups_of(problem.block_rows)), 2 * width * (problem.row_numbers + EXPONENTIAL)
    return Rounds(
        "sweeps",
        SweepResident,
        # the solver adds parts up, from the first group to the last
        operator.add,
        operand,
        n_rounds=n_blocks + 1,
        state_bytes_per_row=float(outputs * itemsize),
        cost=Cost(
            process_bytes=basis.process_bytes, operations=operations, driver_library=basis.loads_library
        ).holding(
            task={
                "rows and predictions": (problem.most_rows, problem.row_numbers + 4 * outputs, itemsize),
                "coefficients": (n_blocks, width, outputs, itemsize),
                "a block's matrices": (4, width, width, 8),
                "a tile": (2**21,),
            },
            result={"gradients of groups and a matrix": (width, outputs * groups + width, 8)},
        ),
    )


def polish_outline(
    polish: str | None, problem: Problem, risk: Risk, basis: RandomFeatureBasis, n_sweeps: int
) -> list[Outline]:
    """The passes of polishing, for the planner."""
    if polish == "sweeps":
        return [Outline(_sweep_rounds(problem, risk, basis, None), n_sweeps)]
    if polish == "exact":
        footprint = footprint_of_random(problem, basis)
        steps = [Outline(gradient_pass(problem, None, footprint), _MOST_PASSES / 3)]
        return [GRAMS.outline(problem, footprint), *(() if risk.loss.is_quadratic else steps)]
    return []


@dataclass(frozen=True)
class SweepOperand:
    """What every process knows: the features, of which ``n_blocks`` blocks are in use, and the risk."""

    basis: RandomFeatureBasis
    risk: Risk
    n_blocks: int


@dataclass(frozen=True)
class SweepAsk:
    """One message.

    Attributes
    ----------
    table : all coefficients, to start from; None: predictions are there already
    change : a block of features and what its coefficients change by, in the dtype of the basis
    block : the block whose gradient is wanted, or None
    gram_groups : group -> every so many of its rows go into the block's Gram matrix
    """

    table: Floats | None
    change: tuple[int, Floats] | None
    block: int | None
    gram_groups: dict[int, int]


@dataclass(frozen=True)
class SweepPart:
    """Sums over a group: Z_j^T G (block_size, n_outputs), and Z_j^T S Z_j over ``gram_rows`` of its rows."""

    columns: Array
    gram: Array | None
    gram_rows: int


def total(parts: tuple[SweepPart, ...]) -> SweepPart:
    """The sums over all groups, from the first to the last."""
    columns, gram, rows = np.zeros_like(parts[0].columns), None, 0
    for part in parts:
        columns += part.columns
        if part.gram is not None:
            gram = part.gram if gram is None else gram + part.gram
            rows += part.gram_rows
    return SweepPart(columns, gram, rows)


class SweepResident(GroupResident):
    """Keeps the predictions of its rows, (n_rows, n_outputs) of each group, in the dtype of the basis."""

    keeps = "predictions"

    def answer(self, message: SweepAsk) -> tuple[SweepPart, ...]:
        if message.table is not None:
            self._start(message.table)
        return tuple(self._visit(group, message) for group in self.groups)

    def replay(self, message: SweepAsk) -> None:
        self.answer(replace(message, block=None))

    def _start(self, table: Floats) -> None:
        basis, n_blocks = self.operand.basis, self.operand.n_blocks
        for number, group in self.groups.items():
            self.kept[number] = np.concatenate(
                [
                    predict(basis, [block.features], table, n_blocks)[0].astype(basis.dtype)
                    for block in group.blocks()
                ]
            )

    def _visit(self, group: int, message: SweepAsk) -> SweepPart:
        """Bring a group's predictions up to date, then take its sums, in one reading."""
        basis, outputs = self.operand.basis, self.operand.risk.n_outputs
        stride = message.gram_groups.get(group) if message.block is not None else None
        gram = None if stride is None else GatheredGram(basis.block_size)
        columns, gram_rows = np.zeros((basis.block_size, outputs)), 0
        for block, predictions in self.blocks(group):
            if message.change is not None:
                number, change = message.change
                for rows, values in tiles(basis, block.features, number):
                    shares = scratch("dsg shares", (len(values), outputs), basis.dtype)
                    multiply(values, change, shares)
                    predictions[rows] += shares
            if message.block is not None:
                slopes, weights = self._slopes(block, predictions)
                for rows, values in tiles(basis, block.features, message.block):
                    columns += values.T @ slopes[rows]
                    if gram is not None and stride is not None:
                        sampled = values[::stride]
                        gram_rows += len(sampled)
                        gram.add(sampled, None if weights is None else weights[rows][::stride])
        return SweepPart(columns, None if gram is None else gram.total(basis.dtype), gram_rows)

    def _slopes(self, block: Block, predictions: Floats) -> tuple[Floats, Array | None]:
        risk = self.operand.risk
        weights = risk.weights(block)
        return risk.slopes(predictions, risk.targets(block), weights), weights
