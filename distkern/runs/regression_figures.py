"""Exact figures of a regressor on a split, and a grid of predictions by targets, in one pass and constant
memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from distkern.core.types import Block
from distkern.data.dataset import Split
from distkern.maths.bases.routing import RoutedAnswers
from distkern.model.prediction import in_order
from distkern.model.value import FittedModel
from distkern.passes import Cost, Reduce
from distkern.runs.applied import Applied
from distkern.runs.ranking import GROUPS, group_sums

#: most cells in each direction
MOST_CELLS = 64
#: bytes of the counts
GRID_BYTES = 8 * MOST_CELLS**2
#: the largest coordinate is at most the side of a cell times 2 to this power
_DIGITS = 40
#: power of 2 of a cell's side where all coordinates are 0
_LEAST = -1100


@dataclass(frozen=True)
class PointGrid:
    """Points counted in cells [i 2^a, (i + 1) 2^a) x [j 2^b, (j + 1) 2^b).

    a and b are the smallest exponents for which 64 cells in each direction hold all points. They depend only
    on the smallest and largest coordinates, so grids can be added in any order with the same result.

    Attributes
    ----------
    exponents : a, b
    first : i and j of the first row and column
    counts : (rows, columns); empty without points
    """

    exponents: tuple[int, int]
    first: tuple[int, int]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, across: NDArray[np.float64], up: NDArray[np.float64]) -> Self:
        """Return the grid of points with coordinates (n,) and (n,), without points that are not finite."""
        known = np.isfinite(across) & np.isfinite(up)
        if not known.any():
            return cls((_LEAST, _LEAST), (0, 0), np.zeros((0, 0), dtype=np.int64))
        exponents, first, places = [], [], []
        for values in (across[known], up[known]):
            exponent = _exponent(float(values.min()), float(values.max()))
            cells = np.floor(np.ldexp(values, -exponent)).astype(np.int64)
            exponents.append(exponent)
            first.append(int(cells.min()))
            places.append(cells - first[-1])
        shape = int(places[0].max()) + 1, int(places[1].max()) + 1
        counts = np.bincount(np.ravel_multi_index((places[0], places[1]), shape), minlength=math.prod(shape))
        return cls((exponents[0], exponents[1]), (first[0], first[1]), counts.reshape(shape))

    @classmethod
    def add(cls, one: Self, other: Self) -> Self:
        if not one.counts.size or not other.counts.size:
            return one if one.counts.size else other
        exponents, first, shape = [], [], []
        for axis in (0, 1):
            exponent = max(one.exponents[axis], other.exponents[axis])
            while True:
                ends = [grid._ends(axis, exponent) for grid in (one, other)]
                low, high = min(low for low, _ in ends), max(high for _, high in ends)
                if high - low < MOST_CELLS:
                    break
                exponent += 1
            exponents.append(exponent)
            first.append(low)
            shape.append(high - low + 1)
        counts = np.zeros(shape, dtype=np.int64)
        for grid in (one, other):
            places = [grid._cells(axis, exponents[axis]) - first[axis] for axis in (0, 1)]
            np.add.at(counts, np.ix_(*places), grid.counts)
        return cls((exponents[0], exponents[1]), (first[0], first[1]), counts)

    def _ends(self, axis: int, exponent: int) -> tuple[int, int]:
        """Return the first and last cell for another cell size."""
        shift = exponent - self.exponents[axis]
        return self.first[axis] >> shift, (self.first[axis] + self.counts.shape[axis] - 1) >> shift

    def _cells(self, axis: int, exponent: int) -> NDArray[np.int64]:
        cells = self.first[axis] + np.arange(self.counts.shape[axis], dtype=np.int64)
        return cells >> min(exponent - self.exponents[axis], 63)

    def edges(self, axis: int) -> NDArray[np.float64]:
        """Return the lower edges of the cells in a direction, and the upper edge of the last."""
        cells = self.first[axis] + np.arange(self.counts.shape[axis] + 1)
        return np.ldexp(cells.astype(np.float64), self.exponents[axis])


def _exponent(low: float, high: float) -> int:
    """Return the smallest exponent of a side for which 64 cells span two numbers."""
    largest = max(abs(low), abs(high))
    exponent = _LEAST if largest == 0 else math.frexp(largest)[1] - _DIGITS
    if high > low:
        # one less than the range needs, in steps that do not overflow
        exponent = max(exponent, math.frexp(high / MOST_CELLS - low / MOST_CELLS)[1] - 1)
    while _cell(high, exponent) - _cell(low, exponent) >= MOST_CELLS:
        exponent += 1
    return exponent


def _cell(value: float, exponent: int) -> int:
    return math.floor(math.ldexp(value, -exponent))


@dataclass(frozen=True)
class Residuals:
    """Sums over rows.

    Attributes
    ----------
    n_rows, mean, spread : number of rows, mean of their targets, sum of (y - mean)^2
    squares, moduli : sums of (f - y)^2 and |f - y|, averaged over the outputs
    losses : sum of s_i l_i
    below : (n_outputs,) number of rows with y <= f_j
    pinballs : sum over rows of the mean over quantiles q_j of max(q_j (y - f_j), (q_j - 1) (y - f_j))
    grid : rows by y and f; with several quantiles, f is the one nearest the median
    lost : (128,) sums of one of these over groups of rows, for a compared figure
    """

    n_rows: int
    mean: float
    spread: float
    squares: float
    moduli: float
    losses: float
    below: NDArray[np.int64]
    pinballs: float
    grid: PointGrid
    lost: NDArray[np.float64]

    @staticmethod
    def add(first: Residuals, second: Residuals) -> Residuals:
        """Return the sums over the rows of both (Chan et al. 1979 for the spread)."""
        n_rows = first.n_rows + second.n_rows
        apart = second.mean - first.mean
        return Residuals(
            n_rows,
            first.mean + apart * second.n_rows / n_rows,
            first.spread + second.spread + apart**2 * first.n_rows * second.n_rows / n_rows,
            first.squares + second.squares,
            first.moduli + second.moduli,
            first.losses + second.losses,
            first.below + second.below,
            first.pinballs + second.pinballs,
            PointGrid.add(first.grid, second.grid),
            first.lost + second.lost,
        )


def _evaluate(block: Block, operand: tuple[Applied, tuple[float, ...], str | None]) -> Residuals:
    model, quantiles, compared = operand
    values = model.predictions(block).astype(np.float64, copy=False)
    losses = model.losses(values, block)
    values = in_order(quantiles, values) if quantiles else values
    targets = np.asarray(block.targets, dtype=np.float64)
    residuals = values - targets[:, None]
    mean = float(targets.mean())
    levels = np.array(quantiles)
    middle = int(np.abs(levels - 0.5).argmin()) if quantiles else 0
    squares, moduli = np.square(residuals).mean(axis=1), np.abs(residuals).mean(axis=1)
    pinballs = np.maximum(-levels * residuals, (1 - levels) * residuals).mean(axis=1) if quantiles else moduli
    losses_of = {"rmse": squares, "r2": squares, "mae": moduli, "pinball": pinballs}.get(compared or "")
    return Residuals(
        block.n_rows,
        mean,
        float(np.square(targets - mean).sum()),
        float(squares.sum()),
        float(moduli.sum()),
        losses,
        (residuals >= 0).sum(axis=0),
        float(pinballs.sum()),
        PointGrid.of(targets, values[:, middle]),
        np.zeros(0) if losses_of is None else group_sums(block, losses_of),
    )


def residuals_pass(
    model: FittedModel, split: Split, found: RoutedAnswers | None = None, compared: str | None = None
) -> Reduce[Residuals]:
    """Return the pass that :func:`regression_figures` evaluates, for a regression split."""
    applied, rows = Applied.to(split, model, found), max(split.block_rows)
    cost = residuals_cost(applied.cost(split.row_numbers, rows), rows, model.n_outputs)
    cost = cost.holding(driver={"norm": (applied.basis.norm_bytes,)})
    operand = applied, model.levels, compared
    return Reduce("evaluate", _evaluate, Residuals.add, operand, "test", cost=cost)


def residuals_cost(cost: Cost, n_rows: int, n_outputs: int) -> Cost:
    """Return the cost of predicting the largest block, and of summing its ``n_rows`` residuals."""
    return cost.holding(
        task={"residuals": (n_rows, 56 * n_outputs + 128)},
        result={"grid": (GRID_BYTES,), "groups": (GROUPS, 8)},
    )


def regression_figures(model: FittedModel, sums: Residuals, seconds: float) -> dict[str, Any]:
    """Return n, RMSE, mean absolute error, R^2 (null for a constant target), objective and seconds.

    For quantiles there are also the pinball loss, averaged over them, and the share of rows at or below each.
    """
    quantiles = model.levels
    own: dict[str, Any] = {}
    if quantiles:
        own["pinball"] = sums.pinballs / sums.n_rows
        shares = (sums.below / sums.n_rows).tolist()
        own["below"] = dict(zip(map(str, quantiles), shares, strict=True))
    return {
        "n": sums.n_rows,
        "rmse": math.sqrt(sums.squares / sums.n_rows),
        "mae": sums.moduli / sums.n_rows,
        "r2": 1.0 - sums.squares / sums.spread if sums.spread > 0 else None,
        **own,
        "objective": model.objective(sums.losses, sums.n_rows),
        "seconds": round(seconds, 4),
    }
