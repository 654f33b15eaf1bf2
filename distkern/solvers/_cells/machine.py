"""One cell's machine: its kernel matrix, its exact solution and its predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError
from distkern.core.held_out import groups_of, row_keys
from distkern.core.ridge import solve_ridge
from distkern.core.tiles import scratch
from distkern.core.types import Array, Floats
from distkern.maths.kernels.base import AbstractLandmarkKernel, AbstractPrepared, AbstractTileKernel
from distkern.maths.losses.base import AbstractDualLoss
from distkern.maths.losses.classes import SquaredHinge
from distkern.solvers._cells.dual import solve_dual

if TYPE_CHECKING:
    from distkern.choose.machines import SampleRows

#: numbers of a tile of kernel values, rows and columns of a tile of all pairs, and numbers of rows converted
#: at a time
_TILE, _STRIP, _STRIP_NUMBERS = 2**20, 256, 2**18
#: largest C s_i of equal rows with different targets, and of any row: the reciprocal is added to the diagonal
#: of a kernel matrix and must exceed rounding in double precision
_MOST_APART, MOST_COST = 1e4, 1e10
#: largest error of predictions from coefficients in single precision
_ROUNDING = 1e-3
#: tolerance and most sweeps of the dual solver in a search, which suffice to rank settings
_SEARCH_TOLERANCE, _SEARCH_SWEEPS = 0.1, 40


@dataclass(frozen=True)
class CellSettings:
    """Settings that all cells share.

    Attributes
    ----------
    kernel : of the mapped rows
    loss : with a conjugate
    cost : C; the objective is 1/2 f' K^-1 f + C sum_i weight_i l(f_i, y_i)
    tolerance, most_sweeps : of the dual solver
    double : whether kernels have double precision for every loss; for the square loss they always have
    """

    kernel: AbstractTileKernel
    loss: AbstractDualLoss
    cost: float
    tolerance: float = 0.05
    most_sweeps: int | None = None
    double: bool = False

    @property
    def is_double(self) -> bool:
        """Whether kernels have double precision."""
        return self.double or self.loss.is_quadratic


@dataclass(frozen=True)
class CellMachine:
    """f(x) = constants + sum_i coefficients_i k(x, rows_i).

    Attributes
    ----------
    rows : (n_support, d)
    coefficients : (n_support, k), in the dtype of the rows, or float64 if that is not precise enough; kernels
        then have double precision too
    constants : (k,) float64
    squared_norm : |w|^2, summed over the outputs
    converged : whether all outputs have
    primal, gap : the objective and the duality gap, summed over the outputs; 0 for the square loss, which is
        solved exactly
    """

    rows: Floats
    coefficients: Floats
    constants: Array
    squared_norm: float = 0.0
    converged: bool = True
    primal: float = 0.0
    gap: float = 0.0

    def predict(self, settings: CellSettings, rows: Floats) -> Array:
        """Return f at mapped rows (n, d), (n, k) float64."""
        return predict_cell(settings, self.rows, self.coefficients, self.constants, rows)


def solve_cell(
    settings: CellSettings,
    rows: Floats,
    targets: Array,
    weights: Array | None,
    seed: int,
    before: CellMachine | None = None,
) -> CellMachine:
    """Solve the machine of a cell's rows exactly.

    Several outputs (one-vs-rest) share the kernel matrix, and for the square loss its factorisation. If all
    targets of an output are equal, it is constant. Real targets are centred.

    Parameters
    ----------
    rows : (m, d) mapped rows
    targets : (m, k): -1 and +1, or real numbers
    weights : (m,), or None for all ones; rows of weight 0 are dropped
    seed : of the cell
    before : a machine of some of the rows; the dual solver starts from its coefficients

    Notes
    -----
    Equal rows are merged. The square loss is predicted in double precision if coefficients are large, other
    losses if they are solved in it. If equal rows with different targets cost more than 10^4 together, other
    losses than the square one take their cost as 10^4, since only the ratio of their costs matters and larger
    costs lose digits.

    Raises
    ------
    InputError
        If C s_i of a row is more than 10^10.
    """
    loss = settings.loss
    importance = np.ones(len(rows)) if weights is None else weights
    weighted = np.flatnonzero(importance > 0)
    n_outputs, is_real = targets.shape[1], loss.target_kind == "real"
    constants = np.zeros(n_outputs)
    if not len(weighted):
        return CellMachine(rows[:0], np.zeros((0, n_outputs), rows.dtype), constants)
    points, targets, importance, places = merged(rows[weighted], targets[weighted], importance[weighted])
    if is_real and loss.levels is not None:
        # the minimiser of the loss: coefficients of at most C do not return from a few distant targets
        pairs = zip(targets.T, loss.levels, strict=True)
        how: dict[str, Any] = {"method": "inverted_cdf", "weights": importance}
        constants = np.array([np.quantile(column, level, **how) for column, level in pairs])
    elif is_real:
        constants = importance @ targets / importance.sum()
    same = (targets == targets[0]).all(axis=0)
    constants[same] = targets[0, same]
    centred = targets - constants if is_real else targets
    costs = _checked_costs(settings.cost * importance)
    coefficients, values = _continued(before, points, n_outputs), np.zeros(targets.shape)
    converged, primal, gap = True, 0.0, 0.0
    solved, dtype = np.flatnonzero(~same), rows.dtype
    if len(solved):
        dtype = np.dtype(np.float64) if settings.is_double else dtype
        kernel = kernel_matrix(settings.kernel, points, dtype)
    if loss.is_quadratic:
        if len(solved):
            coefficients[:, solved] = solve_ridge(kernel, centred[:, solved], costs, overwrite=True)
            values = centred - coefficients / costs[:, None]
        dtype = _sufficient_dtype(coefficients, rows.dtype)
    else:
        together = np.where(np.bincount(places) > 1, np.bincount(places, costs), 0.0)
        costs *= _MOST_APART / np.maximum(together, _MOST_APART)[places]
        for output in solved:
            solution = solve_dual(
                kernel,
                centred[:, output],
                costs,
                loss,
                seed=seed,
                tolerance=settings.tolerance,
                most_sweeps=settings.most_sweeps,
                start=_start(loss, centred[:, output], costs, places, coefficients[:, output]),
            )
            coefficients[:, output], values[:, output] = solution.coefficients, solution.values
            converged = converged and solution.converged
            primal, gap = primal + solution.primal, gap + max(0.0, solution.gap)
    square = float((coefficients * values).sum())
    shares = coefficients.astype(dtype)
    support = shares.any(axis=1)
    return CellMachine(points[support], shares[support], constants, square, converged, primal, gap)


def _checked_costs(costs: Array) -> Array:
    largest = float(costs.max())
    if largest > MOST_COST:
        raise InputError(
            f"C times the weight of a row is {largest:.3g}, and {MOST_COST:g} at most can be solved",
            where="C",
            hint="set a smaller C, or divide the weights by a number",
        )
    return costs


def _sufficient_dtype(coefficients: Array, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a precision that suffices for sums of these coefficients times kernel values."""
    most = float(np.abs(coefficients).sum(axis=0).max(initial=0.0))
    return np.dtype(np.float64) if most * np.finfo(dtype).eps > _ROUNDING else dtype


def solving_bytes(n_rows: int, n_features: int, n_outputs: int, *, double: bool) -> int:
    """Return the memory of :func:`solve_cell` and of predictions of at most as many rows, without inputs."""
    rows = 4 * n_rows * n_features
    pairs = (8 if double else 4) * n_rows**2
    # Newton's method factorises half a matrix at most; for the square loss a copy in single precision
    factor = pairs // 2
    # searching equal rows; comparing rows; keeping those with coefficients
    most = max(3 * rows, pairs + rows * (4 if double else 1), pairs + factor + rows)
    # tiles; predictions in double precision copy their rows once more
    tiles = (3 if double else 2) * 4 * _TILE
    return rows + most + n_rows * (96 * n_outputs + 128) + tiles


def predict_cell(
    settings: CellSettings,
    support: Floats,
    coefficients: Floats,
    constants: Array,
    rows: Floats,
    prepare: Callable[[int, Floats], AbstractPrepared] | None = None,
) -> Array:
    """Return f at mapped rows (n, d), (n, k) float64, from kernels in the higher precision of the rows and
    the coefficients.

    ``prepare`` replaces the kernel's own method for support rows, and gets the number of the first of them.
    """
    values = np.tile(constants, (len(rows), 1))
    dtype, n_features = np.result_type(rows, coefficients), rows.shape[1]
    # rows are converted in strips
    strip, most = max(1, len(support)), max(1, len(rows))
    if dtype != rows.dtype:
        strip, most = (
            min(strip, max(1, _STRIP_NUMBERS // n_features)),
            max(1, 2 * _STRIP_NUMBERS // n_features),
        )
    step = min(most, max(1, _TILE // strip))
    for first in range(0, len(support) if len(rows) else 0, strip):
        some = slice(first, first + strip)
        converted = support[some].astype(dtype, copy=False)
        prepared = settings.kernel.prepare(converted) if prepare is None else prepare(first, converted)
        shares = coefficients[some].astype(dtype, copy=False)
        tile: Floats = scratch("cell tile", (min(step, len(rows)), len(shares)), dtype)
        for start in range(0, len(rows), step):
            part = rows[start : start + step].astype(dtype, copy=False)
            prepared.scores(part, tile[: len(part)])
            settings.kernel.finish(tile[: len(part)])
            values[start : start + step] += tile[: len(part)] @ shares
    return values


def kernel_matrix(kernel: AbstractTileKernel, rows: Floats, dtype: DTypeLike) -> Floats:
    """Return K (m, m) of all pairs of rows, symmetric up to rounding; the next call overwrites it."""
    points = np.ascontiguousarray(rows, dtype=dtype)
    n_rows = len(points)
    matrix: Floats = scratch("kernel matrix", (n_rows, n_rows), points.dtype)
    # each tile also serves its mirror image; square tiles stay in the processor's cache for both writes
    strips = [slice(start, start + _STRIP) for start in range(0, n_rows, _STRIP)]
    for number, strip in enumerate(strips):
        some = points[strip]
        prepared = kernel.prepare(some)
        for place in strips[number:]:
            others = points[place]
            tile: Floats = scratch("cell tile", (len(others), len(some)), points.dtype)
            prepared.scores(others, tile)
            kernel.finish(tile)
            matrix[place, strip] = tile
            matrix[strip, place] = tile.T
    if isinstance(kernel, AbstractLandmarkKernel):
        np.fill_diagonal(matrix, 1.0)
    return matrix


def solved_values(
    kernel: AbstractTileKernel,
    costs: Sequence[float],
    learned: SampleRows,
    asked: SampleRows,
    *,
    seed: int,
    loss: AbstractDualLoss | None = None,
) -> list[Array]:
    """Return decision values (n_asked, k) of machines of classes for each C, solved well enough for a search.

    The memory of the kernel matrix is kept for the next call, until the search releases it.

    Parameters
    ----------
    loss : None: the squared hinge, the default of cells
    """
    values, targets = [], learned.targets.astype(np.float64)
    for cost in costs:
        settings = CellSettings(kernel, loss or SquaredHinge(), cost, _SEARCH_TOLERANCE, _SEARCH_SWEEPS)
        machine = solve_cell(settings, learned.features, targets, learned.weights, seed)
        values.append(machine.predict(settings, asked.features))
    return values


def merged(rows: Floats, targets: Array, weights: Array) -> tuple[Floats, Array, Array, NDArray[np.intp]]:
    """Merge equal rows with equal targets, adding up their weights, in order of first appearance.

    Returns
    -------
    rows, targets, weights, and the place of each row: a number that equal rows share, whatever their targets
    """
    places = groups_of(row_keys(rows))
    if places.max() + 1 == len(rows):
        return rows, targets, weights, places
    pairs = groups_of(row_keys(np.column_stack([places, targets])))
    chosen = np.unique(pairs, return_index=True)[1]
    sums: Array = np.bincount(pairs, weights).astype(np.float64)
    return rows[chosen], targets[chosen], sums, places[chosen]


def shared_rows(parts: Sequence[Floats]) -> tuple[Floats, NDArray[np.int32]]:
    """Return the distinct rows of all parts in order of first appearance, and the number of the distinct row
    for each row of the concatenated parts.

    Needs no more memory than the result and a part.
    """
    places = groups_of(np.concatenate([row_keys(rows) for rows in parts]))
    is_first = np.zeros(len(places), bool)
    is_first[np.unique(places, return_index=True)[1]] = True
    ends = np.cumsum([len(rows) for rows in parts])[:-1]
    pairs = zip(parts, np.split(is_first, ends), strict=True)
    return np.concatenate([rows[some] for rows, some in pairs]), places.astype(np.int32)


def _continued(before: CellMachine | None, points: Floats, n_outputs: int) -> Array:
    """Return the coefficients (m, n_outputs) that rows (m, d) have in another machine, 0 for other rows.

    Equal rows get 0 too, since it is unknown to which of them a coefficient belongs.
    """
    coefficients = np.zeros((len(points), n_outputs))
    if before is None:
        return coefficients
    kinds = groups_of(np.concatenate([row_keys(rows) for rows in (before.rows, points)]))
    old, new = np.split(kinds, [len(before.rows)])
    is_only = (np.bincount(old, minlength=len(kinds)) == 1) & (np.bincount(new, minlength=len(kinds)) == 1)
    row_of = np.zeros(len(kinds), dtype=np.intp)
    row_of[old] = np.arange(len(old))
    known = is_only[new]
    coefficients[known] = before.coefficients[row_of[new[known]]]
    return coefficients


def _start(
    loss: AbstractDualLoss, targets: Array, costs: Array, places: NDArray[np.intp], before: Array
) -> Array:
    """Return initial coefficients: the previous ones, except if equal rows have opposite targets.

    The side of these that costs less is usually at its bound, and the other side balances it. Coordinate
    descent would need as many sweeps as their cost to get there.
    """
    if (
        loss.target_kind != "binary"
        or not np.isfinite(loss.conjugate.above)
        or places.max() + 1 == len(places)
    ):
        return before
    sides = [np.bincount(places, np.where(targets * sign > 0, costs, 0.0)) for sign in (1.0, -1.0)]
    side = np.where(targets > 0, sides[0][places], sides[1][places])
    return np.asarray(targets * costs * (np.minimum(*sides)[places] / side))
