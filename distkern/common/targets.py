"""Targets as users hold them, as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError


def plain_targets(y: Any, where: str = "y", first_row: int = 1, what: str = "target") -> NDArray[Any]:
    """Targets, or ``what`` else rows have, (n,) of a list, an array or a series of pandas, Polars or Arrow:
    numbers, or texts as they are.

    Raises
    ------
    InputError
        With the number of the first row, counted from ``first_row``, that has none: None, NaN, NaT or NA.
    """
    values = np.asarray(y)
    kind, mend = values.dtype.kind, "give the row one, or leave it out"
    if kind in "OU":
        from pandas import isna

        # of a list, as numpy would write NaN among texts as one
        missing = isna(np.asarray(y, dtype=object))
        if kind == "U" and not missing.any():
            missing, mend = values == "nan", f"{mend} (give an array of objects if a class is named 'nan')"
    else:
        missing = np.isnan(values) if kind in "fcmM" else np.zeros(0, dtype=bool)
    if missing.any():
        row = first_row + int(np.argwhere(np.atleast_1d(missing))[0, 0])
        raise InputError(f"the {what} is missing", where=f"{where}, row {row} (index {row - 1})", mend=mend)
    if kind == "O" and all(isinstance(value, _NUMBERS) for value in values.flat):
        # what pandas and Arrow keep beside a mask of what is missing
        return np.array(values.tolist())
    return values


_NUMBERS = (bool, int, float, np.number, np.bool_)
