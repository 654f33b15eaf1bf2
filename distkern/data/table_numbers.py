"""Find columns of numbers with information in single values: codes, and amounts with a meaning.

Kernels, like linear machines, treat close numbers as alike. If a column holds the number of an agent, or if
some amounts are frequent for a reason, the target jumps from one value to the next.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from distkern.core import blas
from distkern.core.held_out import Keys, row_keys
from distkern.core.tiles import apply
from distkern.core.types import Array, Floats
from distkern.data.columns._target_means import FOLDS, TargetSums

#: fewest distinct values of such a column, and their least mean number of rows: of any, and of whole numbers
LEAST_VALUES, MEAN_ROWS, MEAN_ROWS_OF_WHOLE = 9, 4, 2
#: fewest rows, most functions of the additive machine, and most values of these
_LEAST_ROWS, _MOST_FUNCTIONS, _MOST_NUMBERS = 300, 1500, 2**23
#: knots of a column's piecewise linear function; most categories with a function each
_KNOTS, _MOST_LEVELS = 17, 32
#: weight of |f|^2 of the additive machine against its squared errors
_RIDGE = 1.0
#: rows of mean 0 added to the rows of each value
_SHRINKING = 10.0
#: least gains in standard deviations: over no correction, and over the neighbouring values
_CERTAIN, _CERTAIN_NEAR = 2.5, 10.0
#: replaces missing values when a row's fold is drawn
_MISSING = np.finfo(np.float64).max


def may_be_ids(column: Array) -> bool:
    """Whether numbers (n,) are whole and distinct enough for ids."""
    return bool((column == np.floor(column)).all()) and len(np.unique(column)) >= LEAST_VALUES


def informative_values(
    rows: Array,
    targets: Array,
    candidates: Sequence[int],
    categories: Sequence[int],
    group_keys: Keys | None = None,
) -> list[int]:
    """Return the candidates whose single values explain the errors of an additive machine better than
    neighbours.

    The machine is a ridge regression on piecewise linear functions of each column, with knots at 17
    quantiles, and a constant for each category, or its target mean if there are more than 32. Let r_i be the
    error on row i of the machine of the other folds, m_i the mean error of the rows of other folds with the
    same value, shrunk by 10 rows of mean 0, and b_i that of the rows with the next smaller and the next
    larger value. Two gains are compared with their standard deviations under random signs:

    - of m: G_i = r_i^2 - (r_i - m_i)^2, with sum_i G_i >= 2.5 sqrt(sum_i G_i^2);
    - of m over b, where m is shrunk towards b: G_i = (r_i - b_i)^2 - (r_i - m_i)^2, with sum_i G_i >= 10
      sqrt(sum_i G_i^2). Smooth functions that the machine misses only pass the first test.

    Parameters
    ----------
    rows : (n, n_columns) numbers and codes of categories, NaN if missing
    targets : (n, n_outputs)
    candidates, categories : columns; the others are numbers too
    group_keys : (n,) rows with one key are in one fold; None: equal rows are
    """
    n_functions = _functions_of(rows.shape[1] - len(categories))
    for at in categories:
        n_levels = len(np.unique(rows[:, at]))
        n_functions += n_levels if n_levels <= _MOST_LEVELS else targets.shape[1]
    if n_functions > _MOST_FUNCTIONS or not candidates:
        return []
    some = slice(None, None, -(-len(rows) * n_functions // _MOST_NUMBERS))
    rows, targets = rows[some], targets[some]
    keys = row_keys(np.where(np.isnan(rows), _MISSING, rows)) if group_keys is None else group_keys[some]
    folds = (keys % np.uint64(FOLDS)).astype(np.intp)
    if len(rows) < _LEAST_ROWS or len(np.unique(folds)) < FOLDS:
        return []
    functions, width = np.empty((len(rows), n_functions), np.float32), 0
    for at, column in enumerate(rows.T):
        own = _of_category(column, targets, folds) if at in categories else _of_number(column)
        functions[:, width : width + own.shape[1]] = own
        width += own.shape[1]
    with blas.single_threaded():
        errors = _errors(functions[:, :width], targets, folds)
    return [at for at in candidates if _is_informative(_codes(rows[:, at]), errors, folds)]


def _functions_of(n_numbers: int) -> int:
    return (_KNOTS + 1) * n_numbers


def too_many_functions(n_numbers: int) -> bool:
    """Whether a table has too many columns of numbers for :func:`informative_values`."""
    return _functions_of(n_numbers) > _MOST_FUNCTIONS


def _codes(column: Array) -> NDArray[np.intp]:
    """Return the rank of each value among the distinct ones; missing values come last."""
    return np.unique(column, return_inverse=True)[1].astype(np.intp)


def _of_category(column: Array, targets: Array, folds: NDArray[np.intp]) -> Array:
    codes = _codes(column)
    n_levels = int(codes.max()) + 1
    if n_levels <= _MOST_LEVELS:
        return np.asarray(codes[:, None] == np.arange(n_levels), dtype=np.float64)
    sums = TargetSums(n_levels, (targets.min(axis=0), targets.max(axis=0)))
    sums.add(codes, targets, folds)
    return sums.of_others(codes, folds)


def _of_number(column: Array) -> Array:
    missing = np.isnan(column)
    if missing.all():
        return np.empty((len(column), 0))
    filled = np.where(missing, column[~missing].mean(), column)
    knots = np.unique(np.quantile(column[~missing], np.linspace(0.0, 1.0, _KNOTS), method="lower"))
    places = np.interp(filled, knots, np.arange(len(knots)))
    hats = np.maximum(0.0, 1.0 - np.abs(places[:, None] - np.arange(len(knots))))
    return np.hstack([hats, missing[:, None]]) if missing.any() else hats


def _errors(functions: Floats, targets: Array, folds: NDArray[np.intp]) -> Array:
    """Return errors (n, n_outputs) on each row of the ridge machine of the other folds, in standard
    deviations.

    ``functions`` (n, n_functions) are centred in place.
    """
    apply(np.subtract, functions, functions.mean(axis=0), into=functions)
    spread = targets.std(axis=0)
    wanted = (targets - targets.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    parts = [np.flatnonzero(folds == fold) for fold in range(FOLDS)]
    grams = [functions[part].T @ functions[part] for part in parts]
    products = [functions[part].T @ wanted[part].astype(np.float32) for part in parts]
    errors: Array = np.empty(wanted.shape)
    ridge = _RIDGE * np.eye(functions.shape[1])
    for part, gram, product in zip(parts, grams, products, strict=True):
        found = np.linalg.solve(sum(grams) - gram + ridge, sum(products) - product)
        errors[part] = wanted[part] - functions[part] @ found
    return errors


def _is_informative(codes: NDArray[np.intp], errors: Array, folds: NDArray[np.intp]) -> bool:
    """Whether the values of a column are informative, see :func:`informative_values`."""
    size = int(codes.max()) + 1
    flat = folds * size + codes

    def of_others(values: Array | None) -> Array:
        found = np.bincount(flat, values, FOLDS * size).reshape(FOLDS, size)
        return np.asarray(found.sum(axis=0) - found, dtype=np.float64)

    def neighbours(values: Array) -> Array:
        found = np.zeros_like(values)
        found[:, 1:] += values[:, :-1]
        found[:, :-1] += values[:, 1:]
        return found

    counts = of_others(None)[:, :, None]
    sums = np.stack([of_others(own) for own in errors.T], axis=2)
    near = neighbours(sums) / (neighbours(counts) + _SHRINKING)
    alone, towards = sums / (counts + _SHRINKING), (sums + _SHRINKING * near) / (counts + _SHRINKING)
    left = [errors - means[folds, codes] for means in (alone, towards, near)]
    return _deviations(errors, left[0]) >= _CERTAIN and _deviations(left[2], left[1]) >= _CERTAIN_NEAR


def _deviations(before: Array, after: Array) -> float:
    """Return the decrease of the sum of squares (n, n_outputs) in standard deviations."""
    gains = (np.square(before) - np.square(after)).sum(axis=1)
    deviation = float(np.sqrt(np.square(gains).sum()))
    return float(gains.sum()) / deviation if deviation > 0 else 0.0
