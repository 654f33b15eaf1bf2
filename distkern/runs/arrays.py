"""Arrays in this process as sources of rows, and the refusals of others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.held_out import Keys
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import Rows, SparseRows, count_nonzero
from distkern.core.types import AbstractSource, ArrayGroup, Block, GroupOpener, Reader
from distkern.engine.dask.arrays import is_dask

#: bytes of a block in single precision, and of a number in it
_BLOCK_BYTES, _SINGLE = 4 * 2**20, 4
#: least rows of a block
_LEAST_ROWS = 1024


class ArraySource(AbstractSource):
    """Rows of arrays in this process, in blocks that threads can share out.

    More than one block of rows is put in random order first, as a data set's rows are when it is sharded,
    for a block of sorted rows may hold one class only. The order is an index of 8 bytes a row, drawn from
    the number of rows alone; a block's rows are gathered when it is read.
    """

    in_memory = True

    def __init__(
        self,
        features: Rows,
        targets: NDArray[Any] | None,
        weights: NDArray[np.float64] | None,
        group_keys: Keys | None = None,
    ) -> None:
        self._block = Block(features, targets, weights, group_keys=group_keys)
        self.has_groups = group_keys is not None
        n_rows, self.n_features = features.shape
        self.dtype = features.dtype
        self.is_sparse = isinstance(features, SparseRows)
        self._row_numbers = self.n_features
        if isinstance(features, SparseRows):
            self._row_numbers = 2 + 2 * features.n_entries // max(n_rows, 1)
        # the same rows in a block whatever the precision, which they may be cast to
        size = int(np.clip(_BLOCK_BYTES // (self._row_numbers * _SINGLE), _LEAST_ROWS, 65_536))
        self._starts = list(range(0, n_rows, size))
        self.block_rows = tuple(min(size, n_rows - start) for start in self._starts)
        self.fingerprint = ""
        self._order: NDArray[np.intp] | None = None
        if len(self.block_rows) > 1:
            self._order = stream(0, Purpose.SHUFFLE).permutation(n_rows)
        self._groups: dict[int, ArrayGroup] = {}

    @property
    def row_numbers(self) -> int:
        return self._row_numbers

    @cached_property
    def n_nonzero(self) -> int:
        return count_nonzero(self._block.features)

    def reader(self, index: int) -> Reader:
        return _GatheredRows(self._block, self._rows((index,)), index)

    def _rows(self, blocks: tuple[int, ...]) -> NDArray[np.intp] | slice:
        """Where the rows of consecutive blocks are."""
        start, rows = self._starts[blocks[0]], sum(self.block_rows[block] for block in blocks)
        part = slice(start, start + rows)
        return part if self._order is None else self._order[part]

    def group(self, index: int) -> GroupOpener:
        found = self._groups.get(index)
        if found is None:
            blocks = self.groups[index]
            rows = tuple(self.block_rows[block] for block in blocks)
            found = ArrayGroup(self._block, self._rows(blocks), rows, blocks[0])
            # kept, because so is the transposed copy of its sparse rows
            self._groups[index] = found
        return OpenGroup(found)


@dataclass(frozen=True)
class _GatheredRows:
    """Gathers some rows of an array when it is called, or when it goes to another process."""

    whole: Block
    rows: NDArray[np.intp] | slice
    index: int

    def __call__(self) -> Block:
        return replace(self.whole.take(self.rows), index=self.index)

    def __reduce__(self) -> tuple[Any, ...]:
        return _GatheredRows, (self(), slice(None), self.index)


@dataclass(frozen=True)
class OpenGroup:
    """Gives the group itself, which has nothing to be opened."""

    group: ArrayGroup

    def __call__(self) -> ArrayGroup:
        return self.group


_LONGEST = 40


def refuse_path(X: Any) -> None:
    """Refuse the name of a file or a data set, and a query of Polars, where rows are expected."""
    if type(X).__name__ == "LazyFrame":
        raise InputError("a LazyFrame, which is not computed", where="X", hint="give X.collect()")
    if isinstance(X, str | os.PathLike):
        path = os.fspath(X)
        hint = f"give distkern.open_dataset({path!r})"
        if not os.path.isdir(path):
            hint = f"give its rows, say pandas.read_csv({path!r}), or what `distkern shard` makes of it"
        raise InputError(f"{path!r} is a path, not rows", where="X", hint=hint)


def refuse_lazy(X: Any) -> None:
    """Refuse rows of Dask, which are not in memory."""
    if is_dask(X):
        raise InputError(f"a {type(X).__name__}", where="X", hint="give arrays or frames in memory")


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
            "fill them in, or fit to a frame with missing values, which become their column's mean",
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
