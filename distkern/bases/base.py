"""What a basis is: functions phi_1 .. phi_r of which a model f(x) = sum_k coef_k phi_k(x) is made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import Rows
from distkern.core.types import Floats
from distkern.core.workspace import buffer

_TILE_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class Tile:
    """Basis values of some rows; ``values`` is a buffer that the next tile overwrites."""

    rows: slice
    values: Floats


class AbstractBasis(ABC):
    """A picklable set of ``size`` functions, evaluated tile by tile."""

    @property
    @abstractmethod
    def size(self) -> int:
        """r, the number of basis functions."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The dtype in which values are computed."""

    @abstractmethod
    def fill(self, features: Rows, values: Floats, nearest: NDArray[np.intp] | None = None) -> None:
        """Write the values of one tile of rows into ``values`` (n_rows, size).

        ``nearest``, if given, receives for each row the basis function of largest value.
        """

    @property
    def tile_rows(self) -> int:
        """Rows of a tile: as many as keep it in a core's second-level cache.

        It depends on the basis only, never on workers or memory, because the bits of a matrix product
        can depend on the shape.
        """
        return min(max(_TILE_BYTES // (self.size * self.dtype.itemsize), 128), 1024)

    def tiles(
        self, features: Rows, into: Floats | None = None, nearest: NDArray[np.intp] | None = None
    ) -> Iterator[Tile]:
        """The basis values of all rows of ``features``, a tile at a time.

        They are written into the rows of ``into`` (n_rows, size) if given, else into one reused buffer.
        The tiles, and so the bits, are the same. ``nearest`` (n_rows,), if given, receives for each row the
        basis function of largest value, which costs an eighth more.
        """
        tile_rows = self.tile_rows
        for start in range(0, features.shape[0], tile_rows):
            rows = slice(start, min(start + tile_rows, features.shape[0]))
            count = rows.stop - rows.start
            values = buffer("tile", (count, self.size), self.dtype) if into is None else into[rows]
            self.fill(features[rows], values, None if nearest is None else nearest[rows])
            yield Tile(rows, values)

    def combine(self, features: Rows, coefficients: Floats) -> Floats:
        """f = Phi coef for all rows: (n_rows, n_outputs) for coefficients (size, n_outputs)."""
        narrow = np.asarray(coefficients, dtype=self.dtype)
        values = np.empty((features.shape[0], coefficients.shape[1]), dtype=self.dtype)
        for tile in self.tiles(features):
            multiply(tile.values, narrow, values[tile.rows])
        return values

    def squared_norms(self, coefficients: Floats, *, exact: bool = True) -> NDArray[np.float64]:
        """|w|^2 for each of the outputs, (n_outputs,), for coefficients (size, n_outputs).

        The Euclidean norm of the coefficients, unless the basis functions are elements of a space of their
        own. ``exact``: in float64, whatever the dtype of the basis.
        """
        columns = np.asarray(coefficients, dtype=np.float64)
        norms: NDArray[np.float64] = np.square(columns).sum(axis=0)
        return norms

    @property
    def process_bytes(self) -> int:
        """Bytes that a worker process loads once to evaluate the basis."""
        return 0

    def workspace_bytes(self, row_numbers: int) -> int:
        """Bytes that :meth:`tiles` takes in a thread for rows of so many numbers."""
        return self.tile_rows * (2 * self.size + row_numbers + 2) * self.dtype.itemsize

    def combining_bytes(self, row_numbers: int) -> int:
        """Bytes that :meth:`combine` takes in a thread, coefficients and results apart."""
        return self.workspace_bytes(row_numbers)


def multiply(values: Floats, columns: Floats, out: Floats) -> None:
    """out = values @ columns; for two or three columns one by one, which takes half as long (measured)."""
    if columns.shape[1] in (2, 3):
        for column in range(columns.shape[1]):
            out[:, column] = values @ columns[:, column]
    else:
        np.matmul(values, columns, out=out)
