"""One cell's machine: its kernel matrix, its exact solution, its predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError
from distkern.core.ridge import solve_ridge
from distkern.core.rng import Purpose, stream
from distkern.core.tiles import scratch
from distkern.core.types import Array, Floats
from distkern.maths.kernels.base import AbstractLandmarkKernel, AbstractPrepared, AbstractTileKernel, Powers
from distkern.maths.losses.conjugate import AbstractDualLoss
from distkern.solvers._cells.dual import solve_dual
from distkern.solvers._cells.newton import TILE_ROWS

#: numbers of a tile of kernel values, rows and columns of one of all pairs, and numbers of rows that are
#: converted
_TILE, _STRIP, _STRIP_NUMBERS = 2**20, 256, 2**18
#: largest C s_i of equal rows that contradict each other, and of any row: the reciprocal, which is added to
#: the diagonal of a kernel matrix, must stay above the rounding of double precision
_MOST_APART, MOST_COST = 1e4, 1e10
#: what sums of coefficients in single precision may be off by, in units of predictions, at worst
_ROUNDING = 1e-3
#: share of the targets that machines of several C, which are ranked, may leave
_RANKING_TOLERANCE = 1e-6


@dataclass(frozen=True)
class CellSettings:
    """What all cells have in common.

    Attributes
    ----------
    kernel : of the mapped rows
    loss : with a conjugate
    cost : C, of a row of weight 1; the objective is 1/2 f' K^-1 f + C sum_i weight_i l(f_i, y_i)
    tolerance, most_sweeps : of the dual solver
    double : kernels are of double precision whatever the loss; with the square loss they always are
    """

    kernel: AbstractTileKernel
    loss: AbstractDualLoss
    cost: float
    tolerance: float = 0.05
    most_sweeps: int | None = None
    double: bool = False

    @property
    def is_double(self) -> bool:
        """Whether kernels are of double precision."""
        return self.double or self.loss.is_quadratic


@dataclass(frozen=True)
class CellMachine:
    """f(x) = constants + sum_i coefficients_i k(x, rows_i).

    Attributes
    ----------
    rows : (n_support, d)
    coefficients : (n_support, k), in the dtype of the rows, or float64 where these would not do; kernels are
        then of double precision too
    constants : (k,) float64
    squared_norm : |w|^2, summed over the outputs
    work : multiplications that finding it took, nearly; it does not depend on the machine's speed
    converged : of all outputs
    left : multiplications that it would take to converge, nearly; 0 if it has
    primal, gap : the objective, and at least what it is above its minimum, summed over the outputs; 0 with
        the square loss, whose solution is exact
    """

    rows: Floats
    coefficients: Floats
    constants: Array
    squared_norm: float = 0.0
    work: float = 0.0
    converged: bool = True
    left: float = 0.0
    primal: float = 0.0
    gap: float = 0.0

    def predict(self, settings: CellSettings, rows: Floats) -> Array:
        """f of mapped rows (n, d): (n, k) float64."""
        return predict_cell(settings, self.rows, self.coefficients, self.constants, rows)

    def trimmed(self) -> CellMachine:
        """Without the rows whose coefficients are 0."""
        support = self.coefficients.any(axis=1)
        return replace(self, rows=self.rows[support], coefficients=self.coefficients[support])


def solve_cell(
    settings: CellSettings,
    rows: Floats,
    targets: Array,
    weights: Array | None,
    seed: int,
    before: CellMachine | None = None,
) -> CellMachine:
    """The exact machine of a cell's rows.

    Several outputs (one-vs-rest) share the kernel matrix, and with the square loss its factorisation. An
    output whose targets are all equal is a constant. Real targets are centred.

    Parameters
    ----------
    rows : (m, d) mapped rows
    targets : (m, k): -1 and +1, or real numbers
    weights : (m,), or None for all ones; rows of weight 0 are left out
    seed : of the cell
    before : a machine of some of the rows, from whose coefficients the dual is solved on

    Notes
    -----
    Equal rows count as one. The square loss is predicted in double precision where coefficients are large,
    other losses where they are solved in it. For other losses than the square one: where equal rows have
    different targets and cost more than 10^4 together, they are taken to cost that much there, for only the
    ratio of their costs counts, and more would lose digits.

    Raises
    ------
    InputError
        If C s_i of a row is more than 10^10.
    """
    return solve_costs(settings, rows, targets, weights, seed, [settings.cost], before)[0].trimmed()


def solve_costs(
    settings: CellSettings,
    rows: Floats,
    targets: Array,
    weights: Array | None,
    seed: int,
    costs_of_one: Sequence[float],
    before: CellMachine | None = None,
    matrices: Powers | None = None,
) -> list[CellMachine]:
    """The machines of :func:`solve_cell` for several C, with one kernel matrix for all.

    ``matrices`` has the one that was used last, of the same rows.

    The machines have the same rows, whatever their coefficients; each is started from the one before, and
    its work is counted with that one's.
    """
    importance = np.ones(len(rows)) if weights is None else weights
    kept = np.flatnonzero(importance > 0)
    n_outputs, is_real = targets.shape[1], settings.loss.target_kind == "real"
    constants = np.zeros(n_outputs)
    if not len(kept):
        nothing = np.zeros((0, n_outputs), rows.dtype)
        return [CellMachine(rows[:0], nothing, constants) for _ in costs_of_one]
    points, targets, importance, places = merged(rows[kept], targets[kept], importance[kept])
    if is_real and settings.loss.levels is not None:
        # what minimises the loss, as coefficients of at most C do not get back from a few targets far away
        pairs = zip(targets.T, settings.loss.levels, strict=True)
        how: dict[str, Any] = {"method": "inverted_cdf", "weights": importance}
        constants = np.array([np.quantile(column, level, **how) for column, level in pairs])
    elif is_real:
        constants = importance @ targets / importance.sum()
    same = (targets == targets[0]).all(axis=0)
    constants[same] = targets[0, same]
    centred = targets - constants if is_real else targets
    asked = np.flatnonzero(~same)
    kernel = np.zeros((0, 0), rows.dtype)
    if len(asked):
        dtype = np.float64 if settings.is_double else rows.dtype
        powers = Powers() if matrices is None else matrices
        kernel = powers.of(settings.kernel, lambda: kernel_matrix(settings.kernel, points, dtype))
    machines = []
    coefficients, values = _continued(before, points, n_outputs), np.zeros(targets.shape)
    work = float(kernel.size) * rows.shape[1]
    for cost in costs_of_one:
        costs = cost * importance
        _check_costs(costs)
        if not settings.loss.is_quadratic:
            together = np.where(np.bincount(places) > 1, np.bincount(places, costs), 0.0)
            costs *= _MOST_APART / np.maximum(together, _MOST_APART)[places]
        converged, left, primal, gap = True, 0.0, 0.0, 0.0
        if settings.loss.is_quadratic and len(asked):
            # memory for a whole factor serves all of several
            is_only = len(costs_of_one) == 1 and matrices is None
            tolerance = 0.0 if is_only else _RANKING_TOLERANCE
            coefficients[:, asked] = solve_ridge(
                kernel, centred[:, asked], costs, overwrite=is_only, tolerance=tolerance
            )
            values = centred - coefficients / costs[:, None]
            work += kernel.size * (len(kernel) / 3 + len(asked))
        elif len(asked):
            for output in asked:
                wanted = centred[:, output]
                found = solve_dual(
                    kernel,
                    wanted,
                    costs,
                    settings.loss,
                    seed=seed,
                    tolerance=settings.tolerance,
                    most_sweeps=settings.most_sweeps,
                    start=_start(settings.loss, wanted, costs, places, coefficients[:, output]),
                )
                coefficients[:, output], values[:, output] = found.coefficients, found.values
                converged, work, left = converged and found.converged, work + found.work, left + found.left
                primal, gap = primal + found.primal, gap + max(0.0, found.gap)
        square = float((coefficients * values).sum())
        dtype = _dtype_of(coefficients, rows.dtype) if settings.loss.is_quadratic else kernel.dtype
        machines.append(
            CellMachine(
                points, coefficients.astype(dtype), constants, square, work, converged, left, primal, gap
            )
        )
    return machines


def _check_costs(costs: Array) -> None:
    largest = float(costs.max())
    if largest > MOST_COST:
        raise InputError(
            f"C times the weight of a row is {largest:.3g}, and {MOST_COST:g} at most can be solved",
            where="C",
            hint="set a smaller C, or divide the weights by a number",
        )


def _dtype_of(coefficients: Array, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The precision that does for sums of these coefficients times kernel values."""
    most = float(np.abs(coefficients).sum(axis=0).max(initial=0.0))
    return np.dtype(np.float64) if most * np.finfo(dtype).eps > _ROUNDING else dtype


def solving_bytes(n_rows: int, n_features: int, n_outputs: int, n_costs: int, *, double: bool) -> int:
    """What :func:`solve_costs` takes, and then predictions of no more rows, beside what they are given."""
    rows = 4 * n_rows * n_features
    pairs = (8 if double else 4) * n_rows**2
    # what is factorised: by Newton's method half of a matrix at most; of the square loss a copy, for one cost
    # in single precision
    factor = pairs if double and n_costs > 1 else pairs // 2
    # equal ones are sought among the rows, or rows compared, or those with coefficients kept
    most = max(3 * rows, pairs + rows * (4 if double else 1), pairs + factor + rows)
    # tiles; rows predicted in double precision take one more copy
    tiles = (3 if double else 2) * 4 * _TILE
    products = TILE_ROWS * n_rows * (8 if double else 4)
    return rows + most + products + n_rows * (96 * n_outputs + 128) + tiles


def predict_cell(
    settings: CellSettings,
    support: Floats,
    coefficients: Floats,
    constants: Array,
    rows: Floats,
    prepare: Callable[[int, Floats], AbstractPrepared] | None = None,
) -> Array:
    """f of mapped rows (n, d): (n, k) float64, by kernels in the precision of the rows or the coefficients,
    whichever is higher.

    ``prepare`` makes of support rows, given the number of the first of them, what the kernel does.
    """
    values = np.tile(constants, (len(rows), 1))
    dtype, n_features = np.result_type(rows, coefficients), rows.shape[1]
    # what has to be converted first is converted in strips
    strip, most = max(1, len(support)), max(1, len(rows))
    if dtype != rows.dtype:
        strip, most = (
            min(strip, max(1, _STRIP_NUMBERS // n_features)),
            max(1, 2 * _STRIP_NUMBERS // n_features),
        )
    step = min(most, max(1, _TILE // strip))
    for first in range(0, len(support) if len(rows) else 0, strip):
        some = slice(first, first + strip)
        asked = support[some].astype(dtype, copy=False)
        prepared = settings.kernel.prepare(asked) if prepare is None else prepare(first, asked)
        shares = coefficients[some].astype(dtype, copy=False)
        tile: Floats = scratch("cell tile", (min(step, len(rows)), len(shares)), dtype)
        for start in range(0, len(rows), step):
            part = rows[start : start + step].astype(dtype, copy=False)
            prepared.scores(part, tile[: len(part)])
            settings.kernel.finish(tile[: len(part)])
            values[start : start + step] += tile[: len(part)] @ shares
    return values


def kernel_matrix(kernel: AbstractTileKernel, rows: Floats, dtype: DTypeLike) -> Floats:
    """K of rows with each other, (m, m), symmetric but for rounding: tiles, of which one serves for two.

    It lies in memory that the thread's next one is written into.
    """
    points = np.ascontiguousarray(rows, dtype=dtype)
    n_rows = len(points)
    matrix: Floats = scratch("kernel matrix", (n_rows, n_rows), points.dtype)
    # square tiles, which stay in a processor's cache until they are written both ways
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


def merged(rows: Floats, targets: Array, weights: Array) -> tuple[Floats, Array, Array, NDArray[np.intp]]:
    """Rows that are equal and have equal targets, once, with the sum of their weights, in their first order.

    Returns
    -------
    rows, targets, weights, and the place of each row: a number that rows have in common which are equal, with
    whatever targets
    """
    if len(np.unique(_sums_of_bits(_without_negative_zeros(rows)))) == len(rows):
        return rows, targets, weights, np.arange(len(rows))
    places = _distinct(rows)[1]
    pairs = np.column_stack([places, _distinct(targets)[1]])
    first, inverse = _distinct(pairs.astype(np.float64))
    order = np.argsort(first)
    sums: Array = np.bincount(inverse, weights, minlength=len(first))[order].astype(np.float64)
    chosen = first[order]
    return rows[chosen], targets[chosen], sums, places[chosen]


def _distinct(rows: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first of each set of equal rows, and the set of each row."""
    exact = _without_negative_zeros(rows)
    whole = exact.view(np.dtype((np.void, exact.shape[1] * exact.itemsize))).ravel()
    keys: NDArray[Any]
    for keys in (_sums_of_bits(exact), whole):
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        if len(first) == len(exact) or np.array_equal(exact[first[inverse]], exact):
            break
    return first, inverse


def shared_rows(parts: Sequence[Floats]) -> tuple[Floats, NDArray[np.int32]]:
    """Rows of which some are in several parts, each once, in the order in which they come first; and which of
    them each row of the parts, one after the other, is. No more than these rows and a part are made."""
    keys = np.concatenate([_sums_of_bits(np.ascontiguousarray(rows)) for rows in parts])
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first))
    places, ends = rank[inverse], np.cumsum([len(rows) for rows in parts])
    is_first = np.zeros(len(keys), bool)
    is_first[first] = True
    chosen = np.split(is_first, ends[:-1])
    shared: Floats = np.concatenate([rows[own] for rows, own in zip(parts, chosen, strict=True)])
    pairs = zip(parts, np.split(places, ends[:-1]), strict=True)
    if all(np.array_equal(rows, shared[own]) for rows, own in pairs):
        return shared, places
    # two rows had the same sum
    return np.concatenate(parts), np.arange(len(keys), dtype=np.int32)


def _without_negative_zeros(rows: Floats) -> Floats:
    """Equal rows have equal bits here; a negative zero is a zero."""
    return np.ascontiguousarray(rows + 0.0)


def _sums_of_bits(exact: Floats) -> NDArray[np.uint64]:
    """Sums of the bit patterns times odd numbers, modulo 2^64: they tell rows apart and are sorted fast."""
    factors = stream(0, Purpose.ROW_DRAWS).integers(0, 2**63, exact.shape[1], dtype=np.uint64) * 2 + 1
    patterns = exact.view(np.dtype(f"u{exact.itemsize}"))
    sums: NDArray[np.uint64] = np.einsum("ij,j->i", patterns, factors, dtype=np.uint64, casting="same_kind")
    return sums


def _continued(before: CellMachine | None, points: Floats, n_outputs: int) -> Array:
    """What rows (m, d) have for coefficients in a machine of some of them, (m, n_outputs).

    Others have none, and neither have equal ones, of which those with a coefficient are not known. Sums of
    bits do to find rows: a solution does not depend on where it was started.
    """
    found = np.zeros((len(points), n_outputs))
    if before is None:
        return found
    keys = [_sums_of_bits(_without_negative_zeros(rows)) for rows in (before.rows, points)]
    kinds = np.unique(np.concatenate(keys), return_inverse=True)[1]
    theirs, ours = np.split(kinds, [len(before.rows)])
    is_only = (np.bincount(theirs, minlength=len(kinds)) == 1) & (
        np.bincount(ours, minlength=len(kinds)) == 1
    )
    row_of = np.zeros(len(kinds), dtype=np.intp)
    row_of[theirs] = np.arange(len(theirs))
    known = is_only[ours]
    found[known] = before.coefficients[row_of[ours[known]]]
    return found


def _start(
    loss: AbstractDualLoss, targets: Array, costs: Array, places: NDArray[np.intp], before: Array
) -> Array:
    """Where to start: from the solution for other costs, but for equal rows with opposite targets.

    If each of these pulls as far as its cost allows, the side that costs less is at its bound, as a rule, and
    the other makes up for it; single coordinates would take as many sweeps to get there.
    """
    if (
        loss.target_kind != "binary"
        or not np.isfinite(loss.conjugate.above)
        or places.max() + 1 == len(places)
    ):
        return before
    sides = [np.bincount(places, np.where(targets * sign > 0, costs, 0.0)) for sign in (1.0, -1.0)]
    own = np.where(targets > 0, sides[0][places], sides[1][places])
    return np.asarray(targets * costs * (np.minimum(*sides)[places] / own))
