"""Refusing rows for which a kernel is not defined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distkern.common.errors import InputError
from distkern.common.sparse import Rows, SparseRows


def check_lower_bound(
    name: str, bound: float, rows: Rows, *, first_row: int, where: str, columns: Sequence[str] | None
) -> None:
    """Refuse numbers below a kernel's bound: below 0 if that is 0, else at the bound too.

    Raises
    ------
    InputError
        Naming the first such row, and its column.
    """
    numbers = rows.data if isinstance(rows, SparseRows) else rows
    smallest = numbers.min() if numbers.size else 0.0
    if smallest > bound or smallest == bound == 0.0:
        return
    # what is not a number fails either comparison
    wrong = ~(numbers >= 0.0) if bound == 0.0 else ~(numbers > bound)
    if isinstance(rows, SparseRows):
        entry = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        column, value = int(rows.indices[entry]), float(rows.data[entry])
    else:
        row, column = (int(axis[0]) for axis in np.nonzero(wrong))
        value = float(rows[row, column])
    wanted = "of at least 0" if bound == 0.0 else f"greater than {bound:g}"
    label = str(column) if columns is None else repr(columns[column])
    raise InputError(
        f"kernel {name} needs numbers {wanted}, got {value:g}",
        where=f"{where}, row {first_row + row}, column {label}",
        mend="scale the data to [0, 1] (shard with --scale minmax) or choose another kernel",
    )
