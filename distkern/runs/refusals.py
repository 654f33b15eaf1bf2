"""Messages with a remedy for rows that scikit-learn refuses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from distkern.core.errors import InputError
from distkern.runs.algorithms import estimators
from distkern.runs.given import names_of

_LONGEST = 40
#: how scikit-learn refuses infinite numbers
_INFINITE = "Input X contains infinity"
#: what the command line gives for targets that are no labels
_TASK = "give --task regression"


def name_regressor(error: InputError, estimator: str) -> None:
    """Reword the refusal of labels that may be a quantity: name the regressor to use, as ``fit`` has no task.

    Data sets that ``fit`` makes of Dask collections name rows of ``X``, but their labels come from ``y``.
    """
    for one in getattr(error, "errors", (error,)):
        if one.hint and _TASK in one.hint:
            regressor = estimator.replace("Classifier", "Regressor")
            regressor = regressor if regressor in estimators() else "KernelRegressor"
            one.where = re.sub("^X(?=,)", "y", one.where or "y")
            one.hint = one.hint.replace(_TASK, f"use {regressor}")
            one.reword(str)


def refuse_labels(y: NDArray[Any]) -> None:
    """Refuse non-numeric targets (n,) of a regression."""
    word = _first_word(y) if y.dtype.kind in "OSU" else None
    if word is not None:
        hint = "give numbers, or use a classifier for labels"
        raise InputError(f"the target {word!r} is not a number", where="y", hint=hint)


def explained(error: ValueError | OverflowError, X: Any, *, is_fit: bool = False) -> Exception:
    """Return an error of scikit-learn about rows as a message with a remedy; other errors unchanged.

    This covers NaN and texts in arrays, which tables may hold, rows of several lengths, and complex numbers.
    """
    message, word = str(error), None
    if message.startswith("int too large"):
        hint = "give numbers below 1e308"
        return InputError("a number is too large for float64", where="X", hint=hint)
    if message.startswith("Expected 2D array, got 1D"):
        what, hint = "Expected 2D array, got 1D array", "X.reshape(1, -1) for one row"
        hint = f"Reshape your data: X.reshape(-1, 1) for one column, {hint}"
        return InputError(what, where="X", hint=hint)
    if message.startswith(_INFINITE) and (cell := _first_infinite(X)):
        return InputError(f"{_INFINITE} ({cell})", where="X", hint="correct it")
    if "inhomogeneous shape" in message and (place := _first_uneven(X)) is not None:
        what = f"row {place} has length {len(X[place])}, and row 0 has {len(X[0])}"
        return InputError(what, where="X", hint="give rows of one length")
    if message.startswith("Complex data not supported"):
        hint = "give X.real and X.imag as columns, or abs(X)"
        return InputError("Complex data not supported", where="X", hint=hint)
    if message.startswith("could not convert string to float"):
        word = _first_word(X)
    if word is not None:
        hint = "give pandas.DataFrame(X), whose texts become categories, dates or numbers"
        if not is_fit:
            hint = "give numbers, as the model was fitted to, or fit to pandas.DataFrame(X)"
        return InputError(f"{word!r} is not a number", where="X", hint=hint)
    if not message.startswith("Input X contains NaN"):
        return error
    what, hint = (
        "Input X contains NaN, and the model was fitted to rows without missing values",
        "impute them, or fit to a frame with missing values, which become their column's mean",
    )
    if is_fit:
        what = "Input X contains NaN, and missing values are imputed for frames only"
        hint = "set the missing entries (X.data holds NaN)"
        if not issparse(X):
            hint = (
                "give pandas.DataFrame(X), whose missing values become the mean of their column, or fit "
                "to distkern.write_dataset(pandas.DataFrame(X), y, path, impute='median')"
            )
    return InputError(what, where="fit" if is_fit else "X", hint=hint)


def _first_infinite(X: Any) -> str:
    """Return row and column of the first infinite number, or "" for rows that are not dense numbers."""
    try:
        rows, columns = np.nonzero(np.isinf(np.asarray(X, dtype=np.float64)))
    except (TypeError, ValueError):
        return ""
    if not len(rows):
        return ""
    name = list(names_of(X) or range(columns[0] + 1))[columns[0]]
    return f"row {rows[0] + 1} (index {rows[0]}), column {name!r}"


def _first_uneven(rows: Any) -> int | None:
    """Return the first row whose length differs from that of row 0, or None."""
    try:
        lengths = [len(row) for row in rows]
    except TypeError:
        return None
    return next((place for place, length in enumerate(lengths) if length != lengths[0]), None)


def _first_word(values: Any) -> str | None:
    """Return the first text in an array that is not a number, or None."""
    if hasattr(values, "tocsr"):
        return None
    for value in np.asarray(values, dtype=object).ravel():
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return str(value)[:_LONGEST]
    return None
