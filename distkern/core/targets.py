"""Targets in any form as plain arrays, and groups of rows (patients, days) as 64-bit keys."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.names import written

#: remedy for groups that are all the same
DIFFERENT = "give a column with several groups, or none"


def keys_of_texts(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return the key (n_rows,) of each row: the first 64 bits of BLAKE2b of its group's name.

    Of n groups, two collide with a probability of about n^2 / 2^65.
    """
    keys: dict[str, int] = {}
    for text in texts:
        if text not in keys:
            digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
            keys[text] = int.from_bytes(digest, "little")
    return np.fromiter((keys[text] for text in texts), dtype=np.uint64, count=len(texts))


def weights_of_rows(weights: Any, first_row: int = 1) -> NDArray[np.float64]:
    """Return weights (n_rows,) as float64; :class:`InputError` for a negative or non-finite one."""
    found: NDArray[np.float64] = plain_targets(weights, "sample_weight", first_row, "weight").astype(
        np.float64
    )
    wrong = np.flatnonzero(~((found >= 0) & (found < np.inf)))
    if len(wrong):
        where = f"sample_weight, row {first_row + wrong[0]}"
        raise InputError(f"must be a finite number >= 0, got {found[wrong[0]]:g}", where=where)
    return found


def keys_of_groups(groups: Any, n_rows: int, where: str = "groups") -> NDArray[np.uint64]:
    """Return the key (n_rows,) of each row's group: a number, text or date, see :func:`keys_of_texts`.

    Raises :class:`InputError` if there is not one per row, or one is missing: None, NaN, NaT, NA or an empty
    text.
    """
    values = plain_targets(groups, where, what="group")
    if values.shape != (n_rows,):
        raise InputError(
            f"groups of shape {values.shape} for {n_rows:,} rows", where=where, hint="give one for each row"
        )
    if values.dtype.kind != "O":
        values, inverse = np.unique(values, return_inverse=True)
        return _keys_of(values, where)[inverse]
    return _keys_of(values, where)


def _keys_of(values: NDArray[Any], where: str) -> NDArray[np.uint64]:
    texts = [written(value).strip() for value in values.tolist()]
    if "" in texts:
        hint = "give such rows one, or leave them out"
        raise InputError("the group is missing (an empty text)", where=where, hint=hint)
    return keys_of_texts(texts)


def refuse_one_group(keys: NDArray[np.uint64]) -> None:
    """Raise :class:`InputError` if all rows are in one group, so that none can be held out."""
    if len(keys) and (keys == keys[0]).all():
        raise InputError("all rows are in one group", where="groups", hint=DIFFERENT)


def plain_targets(y: Any, where: str = "y", first_row: int = 1, what: str = "target") -> NDArray[Any]:
    """Return targets (n,) of a list, an array or a series of pandas, Polars or Arrow as booleans, numbers,
    dates (datetime64; those with a time zone in UTC) or unchanged texts. ``what`` names them in errors.

    Raises :class:`InputError`, naming the first row, counted from ``first_row``, without a target (None, NaN,
    NaT, NA or masked), and for durations, complex numbers, bytes that are not UTF-8, and integers beyond 64
    bits.
    """
    if y is None:
        raise InputError(f"{where} is missing", hint=f"give {what}s with the rows")
    # NumPy lacks Polars' 128-bit integers
    values = np.asarray(y.to_list() if str(getattr(y, "dtype", "")) in ("Int128", "UInt128") else y)
    if values.dtype == np.longdouble:
        values = values.astype(np.float64)
    if values.ndim == 0:
        what = f"is {y!r}, not a value for each row"
        raise InputError(what, where=where, hint="give one value for each row")
    kind, hint = values.dtype.kind, "give the row one, or leave it out"
    if what == "target":
        hint = "give such rows one, or leave them out: known = pandas.notna(y); X[known], y[known]"

    def place(at: int) -> str:
        return f"{where}, row {first_row + at} (index {first_row + at - 1})"

    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        missing = np.ma.getmaskarray(y)
    elif kind in "OU":
        from pandas import isna

        # from the original, as NumPy turns a NaN among texts into the text "nan"
        missing = isna(np.asarray(y, dtype=object))
        if kind == "U" and not missing.any():
            missing, hint = values == "nan", f"{hint} (give an array of objects if a class is named 'nan')"
    else:
        missing = np.isnan(values) if kind in "fcmM" else np.zeros(0, dtype=bool)
    if missing.any():
        row = int(np.argwhere(np.atleast_1d(missing))[0, 0])
        more = int(missing.sum()) - 1
        others = f" (and {more:,} more row{'s' * (more > 1)})" if more else ""
        raise InputError(f"the {what} is missing{others}", where=place(row), hint=hint)
    if kind == "m":
        raise InputError(
            f"the {what}s are durations", where=where, hint="give numbers, as y / numpy.timedelta64(1, 's')"
        )
    if kind == "c":
        # scikit-learn's words, which its checks look for
        problem = f"Complex data not supported: the {what}s are complex numbers"
        raise InputError(problem, where=where, hint="give real numbers or texts")
    if kind == "S":
        values, kind = values.astype(object), "O"
    if kind != "O" or not values.size:
        return values
    return _of_objects(values.reshape(-1), place).reshape(values.shape)


def _of_objects(values: NDArray[Any], place: Callable[[int], str]) -> NDArray[Any]:
    """Convert objects to the numbers, dates or texts that they are; others are returned unchanged."""
    kinds = {type(value) for value in values}
    if all(issubclass(kind, _NUMBERS) for kind in kinds):
        # nullable columns of pandas and Arrow, and decimals
        numbers = [_number_of(value) if isinstance(value, Decimal) else value for value in values]
        found = np.array(numbers)
        is_integer = all(isinstance(number, int | np.integer) for number in numbers)
        if is_integer and found.dtype.kind not in "biu":
            at = max(range(len(numbers)), key=lambda row: abs(int(numbers[row])))
            hint = "give texts, or numbers of one type"
            raise InputError(f"{numbers[at]} is beyond integers of 64 bits", where=place(at), hint=hint)
        return found
    if kinds == {date}:
        return values.astype("M8[D]")
    if all(issubclass(kind, date | np.datetime64) for kind in kinds):
        from pandas import to_datetime

        return np.asarray(to_datetime(list(values), utc=True).tz_localize(None))
    if all(issubclass(kind, bytes) for kind in kinds):
        texts = []
        for row, value in enumerate(values):
            try:
                texts.append(value.decode())
            except UnicodeDecodeError as error:
                hint = "give texts"
                raise InputError("the bytes are not UTF-8 text", where=place(row), hint=hint) from error
        return np.array(texts, dtype=object)
    return values


def _number_of(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def targets_of_rows(y: Any, n_rows: int, where: str = "y", first_row: int = 1) -> NDArray[Any]:
    """Return targets (n_rows,) in the form of files: booleans, numbers, dates, or labels as str objects.

    Raises :class:`InputError` if there is not one per row, for mixed or other types, and as
    :func:`plain_targets`.
    """
    values = plain_targets(y, where, first_row)
    if values.shape != (n_rows,):
        raise InputError("targets must have shape (n,)", where=where, hint="give one per row")
    if values.dtype.kind == "U":
        return values.astype(object)
    refuse_unknown(values, where, first_row)
    return values


def refuse_unknown(values: NDArray[Any], where: str = "y", first_row: int = 1) -> None:
    """Raise :class:`InputError` for objects, (n,) or (n, 1), that are not all texts, naming the first."""
    if values.dtype.kind not in "OV":
        return
    values = values.reshape(-1)
    wrong = [row for row, value in enumerate(values) if not isinstance(value, str)]
    if not wrong:
        return
    row = first_row + wrong[0]
    kinds = sorted({type(value).__name__ for value in values})
    what = f"the target has type {type(values[wrong[0]]).__name__}"
    what += f"; the column mixes {', '.join(kinds)}" if len(kinds) > 1 else ""
    hint = "give texts, numbers, booleans or dates, all of one type"
    raise InputError(what, where=f"{where}, row {row} (index {row - 1})", hint=hint)


_NUMBERS = (bool, int, float, np.number, np.bool_, Decimal)
