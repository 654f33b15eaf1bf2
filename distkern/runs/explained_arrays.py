"""What scikit-learn and NumPy refuse of arrays, with what to do about it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError

_LONGEST = 40


def refuse_path(X: Any) -> None:
    """Refuse the name of a file or a data set where rows are expected."""
    if isinstance(X, str | os.PathLike):
        path = os.fspath(X)
        hint = f"give distkern.open_dataset({path!r})"
        if not os.path.isdir(path):
            hint = f"give its rows, say pandas.read_csv({path!r}), or what `distkern shard` makes of it"
        raise InputError(f"{path!r} is a path, not rows", where="X", hint=hint)


def refuse_labels(y: NDArray[Any]) -> None:
    """Refuse targets (n,) of a regression that are texts and no numbers."""
    word = _first_word(y) if y.dtype.kind in "OSU" else None
    if word is not None:
        hint = "give numbers, or take a classifier, which learns labels"
        raise InputError(f"the target {word!r} is not a number", where="y", hint=hint)


@contextmanager
def explained(X: Any, *, is_fit: bool = False) -> Iterator[None]:
    """Say of arrays with NaN or with texts, which scikit-learn refuses, how they are read as tables; of rows
    of several lengths, which; and of complex numbers no more than that.
    """
    try:
        yield
    except ValueError as error:
        said, word = str(error), None
        if "inhomogeneous shape" in said and (place := _first_uneven(X)) is not None:
            what = f"row {place} has length {len(X[place])}, and row 0 has {len(X[0])}"
            raise InputError(what, where="X", hint="give rows of one length") from None
        if said.startswith("Complex data not supported"):
            hint = "give X.real and X.imag as columns, or abs(X)"
            raise InputError("Complex data not supported", where="X", hint=hint) from None
        if said.startswith("could not convert string to float"):
            word = _first_word(X)
        if word is not None:
            hint = "give pandas.DataFrame(X), whose texts become categories, dates or numbers"
            if not is_fit:
                hint = "give numbers, as the model was fitted to, or fit to pandas.DataFrame(X)"
            raise InputError(f"{word!r} is not a number", where="X", hint=hint) from None
        if not said.startswith("Input X contains NaN"):
            raise
        what, hint = (
            "Input X contains NaN, and the model was fitted to rows without missing values",
            "fill them in, or fit to pandas.DataFrame(X), whose missing values become their column's mean",
        )
        if is_fit:
            what = "Input X contains NaN, and what is missing is filled in for tables alone"
            hint = (
                "give pandas.DataFrame(X), whose missing values become the mean of their column, or fit to "
                "distkern.write_dataset(pandas.DataFrame(X), y, path, impute='median')"
            )
        raise InputError(what, where="fit" if is_fit else "X", hint=hint) from None


def _first_uneven(rows: Any) -> int | None:
    """The first row that is not as long as the one before all."""
    try:
        lengths = [len(row) for row in rows]
    except TypeError:
        return None
    return next((place for place, length in enumerate(lengths) if length != lengths[0]), None)


def _first_word(values: Any) -> str | None:
    """The first text of an array that is no number."""
    if hasattr(values, "tocsr"):
        return None
    for value in np.asarray(values, dtype=object).ravel():
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return str(value)[:_LONGEST]
    return None
