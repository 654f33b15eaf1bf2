"""A split as something to look at: its rows by position, its labels, its first rows as a frame."""

from __future__ import annotations

import html
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.sparse import Rows, SparseRows, converted, stacked
from distkern.common.types import AbstractSource

if TYPE_CHECKING:
    from distkern.storage.dataset import Dataset
    from distkern.storage.shard_reader import ShardReader


class RowsView(AbstractSource):
    """Rows in the order in which they are stored; what is asked for is read, a shard at a time."""

    dataset: Dataset
    name: str

    if TYPE_CHECKING:

        def reader(self, index: int) -> ShardReader: ...

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        return self.n_rows, self.n_features

    def __getitem__(self, rows: Any) -> Any:
        """Features by position, in their own units: a slice, positions or a mask give (n, n_features), one
        position (n_features,); sparse ones as a matrix of SciPy.

        They are float32 as they are stored, or float64 where the data set was scaled when it was stored,
        which is undone (``dataset.scaling``). The scaling ``unit`` cannot be: such rows have norm 1.
        """
        taken = self._in_own_units(self._positions(rows))
        found = taken.to_scipy() if isinstance(taken, SparseRows) else taken
        return found[0] if isinstance(rows, int | np.integer) else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        features = self._in_own_units(np.arange(self.n_rows))
        return np.asarray(converted(features, sparse=False), dtype=dtype)

    def _in_own_units(self, positions: NDArray[np.int64]) -> Rows:
        return self.dataset.scaling.in_own_units(self._taken(positions))

    def _positions(self, rows: Any) -> NDArray[np.int64]:
        everything = range(self.n_rows)
        if isinstance(rows, slice):
            return np.array(everything[rows], dtype=np.int64)
        positions = np.atleast_1d(np.asarray(rows))
        if positions.ndim != 1 or positions.dtype.kind not in "biu":
            raise InputError(f"rows by {type(rows).__name__}", where=repr(self), hint="give positions")
        if positions.dtype.kind == "b" and len(positions) == self.n_rows:
            positions = np.flatnonzero(positions)
        if positions.dtype.kind == "b" or (
            positions.size and not -self.n_rows <= positions.min() <= positions.max() < self.n_rows
        ):
            # by which iteration ends as well
            raise IndexError(f"there are {self.n_rows:,} rows")
        return positions.astype(np.int64) % self.n_rows

    def _taken(self, positions: NDArray[np.int64]) -> Rows:
        ends = np.cumsum(self.block_rows)
        shards = np.searchsorted(ends, positions, side="right")
        parts: list[Rows] = []
        order = []
        for shard in np.unique(shards).tolist():
            wanted = np.flatnonzero(shards == shard)
            start = int(ends[shard]) - self.block_rows[shard]
            parts.append(self.reader(shard)().features[positions[wanted] - start])
            order.append(wanted)
        if not parts:
            return self.reader(0)().features[:0]
        back = np.argsort(np.concatenate(order), kind="stable")
        return stacked(parts)[back]

    @property
    def labels(self) -> NDArray[Any] | None:
        """(n_rows,) labels, or the numbers of a regression; read whenever it is asked for, and None if there
        are none."""
        return self._labels(self.n_rows)

    def _labels(self, n_rows: int) -> NDArray[Any] | None:
        if self.dataset.task == "none":
            return None
        parts: list[NDArray[Any]] = []
        found = 0
        for shard in range(self.n_blocks):
            targets = self.reader(shard).targets()
            assert targets is not None
            parts.append(targets)
            found += len(targets)
            if found >= n_rows:
                break
        values = np.concatenate(parts)[:n_rows]
        classes = self.dataset.classes
        return values if classes is None else classes[values]

    def head(self, n_rows: int = 5) -> Any:
        """The first rows as a frame of pandas, the target last; features are in their own units."""
        import pandas as pd

        n_rows = max(0, min(n_rows, self.n_rows))
        names = self.dataset.feature_names
        features = np.asarray(converted(self._in_own_units(np.arange(n_rows)), sparse=False))
        frame = pd.DataFrame(features, columns=None if names is None else list(names))
        labels = self._labels(n_rows)
        if labels is not None:
            frame[self.dataset.target_name or "target"] = labels[:n_rows]
        return frame

    def to_dask(self) -> tuple[Any, Any]:
        """Features and labels as lazy Dask arrays, a block for each shard; features are what ``split[:]``
        gives, of sparse data in blocks that are matrices of SciPy. The labels are None if there are none."""
        # nothing in this layer loads Dask
        arrays: tuple[Any, Any] = import_module("distkern.engine.dask.arrays").arrays_of_split(self)
        return arrays

    def _repr_html_(self) -> str:
        rows = f"{self.n_rows:,} {html.escape(self.name)} rows &times; {self.n_features:,} features"
        if self.n_features > 50:
            return f"<p>{rows}, {self.n_blocks:,} shards</p>"
        shown: str = self.head()._repr_html_()
        return f"<p>{rows}, {self.n_blocks:,} shards; the first of them:</p>{shown}"
