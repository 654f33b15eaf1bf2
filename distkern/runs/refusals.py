"""Refusals of what ``fit`` and ``predict`` cannot take, with a remedy, and the names of columns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from distkern.core.errors import InputError
from distkern.core.python_words import warn
from distkern.core.sparse import refuse_masked
from distkern.core.types import is_dask

_LONGEST = 40
#: values that are compared before those of all rows
_FIRST = 64
#: how scikit-learn refuses infinite numbers
_INFINITE = "Input X contains infinity"


def names_of(X: Any) -> list[str] | None:
    """Return the column names of a frame of pandas, Polars, Arrow or Dask, or None."""
    if type(X).__module__.startswith("distkern") or not hasattr(X, "columns"):
        return None
    return list(X.column_names) if hasattr(X, "column_names") else list(X.columns)


def refuse_path(X: Any) -> None:
    """Refuse a path, a lazy query of Polars, a row or column of a frame, and masked numbers, as rows."""
    if X is None:
        raise InputError("is None", where="X", hint="give rows")
    refuse_masked(X)
    if hasattr(X, "iloc") and not hasattr(X, "columns"):
        hint = "give a frame: X.iloc[[0]] for a row, X[['name']] for a column"
        raise InputError("is a Series, not rows", where="X", hint=hint)
    if type(X).__name__ == "LazyFrame":
        raise InputError("is a LazyFrame, which holds no rows yet", where="X", hint="give X.collect()")
    if isinstance(X, str | os.PathLike):
        path = os.fspath(X)
        hint = f"give distkern.open_dataset({path!r})"
        if not os.path.isdir(path):
            hint = f"give its rows, for instance pandas.read_csv({path!r}), or shard it with `distkern shard`"
        raise InputError(f"{path!r} is a path, not rows", where="X", hint=hint)


def refuse_names(X: Any, **values: Any) -> None:
    """Refuse the name of a column instead of its values, for arguments with a value for each row."""
    for argument, value in values.items():
        if isinstance(value, str):
            hint = "give one value for each row"
            if value in (names_of(X) or ()):
                hint = f"give the values: {argument}=X[{value!r}], and leave the column out of X"
            raise InputError(f"is the text {value!r}, not a value for each row", where=argument, hint=hint)
    name, times = next(iter(Counter(names_of(X) or [""]).most_common(1)))
    if times > 1:
        raise InputError(f"two columns are named {name!r}", where="X", hint="rename one of them")


def warn_of_target(X: Any, y: NDArray[Any]) -> None:
    """Warn if a column of a frame in memory equals the targets (n,)."""
    copies = []
    for name in names_of(X) or ():
        # columns of some types do not become arrays, and comparisons with pandas.NA have no truth value
        with suppress(Exception):
            column = X[name]
            # a few values tell most columns apart, which saves converting the texts of all rows
            parts = (slice(_FIRST), slice(None)) if len(y) else ()
            if parts and all(np.array_equal(np.asarray(column[part]), y[part]) for part in parts):
                copies.append(name)
    for name in copies:
        warn(f"column {name!r} equals y; leave it out")


def refuse_lazy(X: Any) -> None:
    """Refuse Dask collections, which are not in memory."""
    if is_dask(X):
        what = "is a Dask frame" if hasattr(X, "dtypes") else "is a Dask array"
        hint = "give rows in memory, as X.compute(), or a data set: write_dataset(X, y, path).train"
        raise InputError(f"{what}, whose rows are not in memory", where="X", hint=hint)


def refuse_labels(y: NDArray[Any]) -> None:
    """Refuse non-numeric targets (n,) of a regression."""
    word = _first_word(y) if y.dtype.kind in "OSU" else None
    if word is not None:
        hint = "give numbers, or use a classifier for labels"
        raise InputError(f"the target {word!r} is not a number", where="y", hint=hint)


@contextmanager
def explained(X: Any, *, is_fit: bool = False) -> Iterator[None]:
    """Turn scikit-learn's errors about rows into messages with a remedy.

    This covers NaN and texts in arrays, which tables may hold, rows of several lengths, and complex numbers.
    """
    try:
        yield
    except (ValueError, OverflowError) as error:
        message, word = str(error), None
        if message.startswith("int too large"):
            hint = "give numbers below 1e308"
            raise InputError("a number is too large for float64", where="X", hint=hint) from None
        if message.startswith("Expected 2D array, got 1D"):
            what, hint = "Expected 2D array, got 1D array", "X.reshape(1, -1) for one row"
            hint = f"Reshape your data: X.reshape(-1, 1) for one column, {hint}"
            raise InputError(what, where="X", hint=hint) from None
        if message.startswith(_INFINITE) and (cell := _first_infinite(X)):
            raise InputError(f"{_INFINITE} ({cell})", where="X", hint="correct it") from None
        if "inhomogeneous shape" in message and (place := _first_uneven(X)) is not None:
            what = f"row {place} has length {len(X[place])}, and row 0 has {len(X[0])}"
            raise InputError(what, where="X", hint="give rows of one length") from None
        if message.startswith("Complex data not supported"):
            hint = "give X.real and X.imag as columns, or abs(X)"
            raise InputError("Complex data not supported", where="X", hint=hint) from None
        if message.startswith("could not convert string to float"):
            word = _first_word(X)
        if word is not None:
            hint = "give pandas.DataFrame(X), whose texts become categories, dates or numbers"
            if not is_fit:
                hint = "give numbers, as the model was fitted to, or fit to pandas.DataFrame(X)"
            raise InputError(f"{word!r} is not a number", where="X", hint=hint) from None
        if not message.startswith("Input X contains NaN"):
            raise
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
        raise InputError(what, where="fit" if is_fit else "X", hint=hint) from None


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
