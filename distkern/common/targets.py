"""Targets as users hold them, as plain arrays, and groups of rows (patients, days) as keys of 8 bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.names import written

#: what to do about groups that are all the same
DIFFERENT = "give a column of groups that differ, or none"


def keys_of_texts(texts: Sequence[str]) -> NDArray[np.uint64]:
    """The key (n_rows,) of each row: the first 64 bits of BLAKE2b of its group's name, the same anywhere.

    Two groups have the same key by chance alone: of n groups with a probability of about n^2 / 2^65.
    """
    keys: dict[str, int] = {}
    for text in texts:
        if text not in keys:
            digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
            keys[text] = int.from_bytes(digest, "little")
    return np.fromiter((keys[text] for text in texts), dtype=np.uint64, count=len(texts))


def keys_of_groups(groups: Any, n_rows: int, where: str = "groups") -> NDArray[np.uint64]:
    """The key (n_rows,) of the group of each row, of numbers, texts or dates, see :func:`keys_of_texts`.

    Raises
    ------
    InputError
        If there is not one for each row, or that of a row is missing: None, NaN, NaT, NA or an empty text.
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


def refuse_one_group(keys: NDArray[np.uint64], where: str) -> None:
    """Raise :class:`InputError` if all rows are of one group: none can be held out."""
    if len(keys) and (keys == keys[0]).all():
        raise InputError("all rows are of one group", where=where, hint=DIFFERENT)


def plain_targets(y: Any, where: str = "y", first_row: int = 1, what: str = "target") -> NDArray[Any]:
    """Targets, or ``what`` else rows have, (n,) of a list, an array or a series of pandas, Polars or Arrow:
    numbers, or texts as they are.

    Raises
    ------
    InputError
        With the number of the first row, counted from ``first_row``, that has none: None, NaN, NaT or NA.
    """
    # NumPy has no integers of 128 bits, as Polars has
    values = np.asarray(y.to_list() if str(getattr(y, "dtype", "")) in ("Int128", "UInt128") else y)
    kind, hint = values.dtype.kind, "give the row one, or leave it out"
    if kind in "OU":
        from pandas import isna

        # of a list, as numpy would write NaN among texts as one
        missing = isna(np.asarray(y, dtype=object))
        if kind == "U" and not missing.any():
            missing, hint = values == "nan", f"{hint} (give an array of objects if a class is named 'nan')"
    else:
        missing = np.isnan(values) if kind in "fcmM" else np.zeros(0, dtype=bool)
    if missing.any():
        row = first_row + int(np.argwhere(np.atleast_1d(missing))[0, 0])
        raise InputError(f"the {what} is missing", where=f"{where}, row {row} (index {row - 1})", hint=hint)
    if kind == "O" and all(isinstance(value, _NUMBERS) for value in values.flat):
        # what pandas and Arrow keep beside a mask of what is missing
        return np.array(values.tolist())
    return values


def targets_of_rows(y: Any, n_rows: int, where: str = "y", first_row: int = 1) -> NDArray[Any]:
    """Targets (n_rows,) as files hold them: numbers, or labels as str objects.

    Raises
    ------
    InputError
        If there is not one for each row, or as :func:`plain_targets`.
    """
    values = plain_targets(y, where, first_row)
    if values.shape != (n_rows,):
        raise InputError("targets must have shape (n,)", where=where, hint="give one per row")
    if values.dtype.kind == "S":
        values = values.astype(str)
    if values.dtype.kind in "OU":
        return np.array([str(label) for label in values.tolist()], dtype=object)
    return values


_NUMBERS = (bool, int, float, np.number, np.bool_)
