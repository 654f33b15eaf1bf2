"""The base class of bases: the functions phi_1 .. phi_r of a model f(x) = sum_k coef_k phi_k(x).

A basis (:class:`AbstractBasis`) must give:

    size, dtype                   the number of functions, and the dtype of their values
    fill                          the values of a tile of rows

It may give, to avoid tiles of values:

    fill_and_find                 the values, and for each row the function of largest value
    combine, values, column_tiles, columns    f of rows, and values of all or some functions
    cheap_values, outward, inward     cheaper functions, and the matrix F with Phi = P F
    transposed, gradient, row_squares     sums over rows
    squared_norms, metric_product, add_metric     the norm of models, if it is not Euclidean
    over                          a group of rows with the functions as columns

It may give, about its costs:

    is_wide, tile_rows, strip_rows    rows that are processed at once
    process_bytes, norm_bytes, workspace_bytes, combining_bytes, is_compiled    memory
    n_constant                    number of constant functions
    digest                        a fingerprint of the functions, to compare installations
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import CorruptDataError
from distkern.core.sparse import Rows, SparseRows
from distkern.core.tiles import greatest, matmul, scratch
from distkern.core.types import AbstractGroup, Block, Floats, Indices

if TYPE_CHECKING:
    from distkern.maths.bases.gram import GramSum

#: slopes (n_rows, n_outputs) of some rows at their predictions
SlopesAt: TypeAlias = Callable[[slice, Floats], Floats]

#: predictions processed at once: temporaries then stay below 64 KiB, above which the allocator of a worker
#: under a nanny maps them anew each time
STRIP_NUMBERS = 2**14

_TILE_BYTES = 512 * 1024
#: bytes and least rows of a tile whose values are matrix products
_WIDE_TILE_BYTES = 2 * 2**20
_WIDE_TILE_ROWS = 128
#: most bytes of a tile of all random features, and rows for which a block of them is evaluated at once
_MOST_TILE_BYTES, STRIP_ROWS = 16 * 2**20, 8192


@dataclass(frozen=True, slots=True)
class Tile:
    """Basis values of some rows; ``values`` is a buffer that the next tile overwrites."""

    rows: slice
    values: Floats


#: the weights of a tile's rows, for each of several sums
WeightsOf: TypeAlias = Callable[[Tile], Iterable[NDArray[np.float64] | None]]


class AbstractBasis(ABC):
    """A picklable set of ``size`` functions, evaluated tile by tile."""

    #: whether values are matrix products, which are slow for few rows
    is_wide: ClassVar[bool] = False
    #: number of trailing functions that are the constant 1, which no norm counts
    n_constant: int = 0

    @property
    @abstractmethod
    def size(self) -> int:
        """r, the number of basis functions."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The dtype in which values are computed."""

    @abstractmethod
    def fill(self, features: Rows, values: Floats) -> None:
        """Write the values of one tile of rows into ``values`` (n_rows, size)."""

    def fill_and_find(self, features: Rows, values: Floats, nearest: NDArray[np.intp]) -> None:
        """Write the values, and each row's function of largest value into ``nearest``."""
        self.fill(features, values)
        greatest(values, into=nearest)

    @property
    def tile_rows(self) -> int:
        """Rows of a tile: as many as fit a core's second-level cache.

        The number depends on the basis only, never on workers or memory, since the bits of a matrix product
        can depend on its shape.
        """
        return (rows_of_wide_tile if self.is_wide else rows_of_tile)(self.size, self.dtype.itemsize)

    def strip_rows(self, n_outputs: int) -> int:
        """Rows predicted at once: whole tiles with at most 2^14 predictions."""
        return self.tile_rows * max(1, STRIP_NUMBERS // (n_outputs * self.tile_rows))

    def tiles(
        self,
        features: Rows,
        into: Floats | None = None,
        nearest: NDArray[np.intp] | None = None,
        tile_rows: int | None = None,
    ) -> Iterator[Tile]:
        """Yield the basis values of all rows of ``features``, a tile at a time.

        Values go into the rows of ``into`` (n_rows, size) if given, else into one reused buffer, with the
        same tiles and bits. ``nearest`` (n_rows,), if given, receives each row's function of largest value,
        at an eighth more time. ``tile_rows`` overrides the basis's own.
        """
        tile_rows = tile_rows or self.tile_rows
        for start in range(0, features.shape[0], tile_rows):
            rows = slice(start, min(start + tile_rows, features.shape[0]))
            count = rows.stop - rows.start
            values = scratch("tile", (count, self.size), self.dtype) if into is None else into[rows]
            if nearest is None:
                self.fill(features[rows], values)
            else:
                self.fill_and_find(features[rows], values, nearest[rows])
            yield Tile(rows, values)

    def combine(self, features: Rows, coefficients: Floats) -> Floats:
        """f = Phi coef for all rows: (n_rows, n_outputs) for coefficients (size, n_outputs)."""
        narrow = np.asarray(coefficients, dtype=self.dtype)
        values = np.empty((features.shape[0], coefficients.shape[1]), dtype=self.dtype)
        for tile in self.tiles(features):
            multiply(tile.values, narrow, values[tile.rows])
        return values

    def values(self, features: Rows) -> Rows:
        """Phi of a few rows, (n_rows, size), in a new array, or the rows themselves."""
        values: Floats = np.empty((features.shape[0], self.size), dtype=self.dtype)
        for _ in self.tiles(features, into=values):
            pass
        return values

    def cheap_values(self, features: Rows) -> Rows:
        """P of a few rows with Phi = P F: Phi itself, unless other functions are cheaper."""
        return self.values(features)

    def outward(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """F coef, so that Phi coef = P F coef."""
        return coefficients

    def inward(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """F' sums, so that Phi' g = F' P' g."""
        return sums

    def transposed(self, features: Rows, weights: Floats) -> NDArray[np.float64]:
        """Phi' weights, (size, n_outputs) for weights (n_rows, n_outputs); summed over tiles in float64."""
        narrow = np.asarray(weights, dtype=self.dtype)
        return self.gradient(features, weights[:0], lambda rows, found: narrow[rows])

    def gradient(
        self, features: Rows, coefficients: Floats, slopes: SlopesAt, n_slopes: int | None = None
    ) -> NDArray[np.float64]:
        """Phi' g, (size, n_slopes), for the slopes g at f = Phi coef, which depend on f.

        Values are computed once and used for both, a tile at a time; no (n_rows, size) array exists.

        Parameters
        ----------
        coefficients : (size, n_outputs), or (0, n_outputs) for slopes that do not depend on f
        slopes : function of (rows, f (n_rows, n_outputs)), called for all rows in order; f may be overwritten
        n_slopes : slopes of a row; None: n_outputs
        """
        narrow = np.asarray(coefficients, dtype=self.dtype)
        total = np.zeros((self.size, n_slopes or coefficients.shape[1]))
        for tile in self.tiles(features):
            found = scratch("predictions of a tile", (len(tile.values), narrow.shape[1]), self.dtype)
            if len(narrow):
                multiply(tile.values, narrow, found)
            total += tile.values.T @ slopes(tile.rows, found)
        return total

    def gram(
        self, features: Rows, weigh: WeightsOf, n_matrices: int = 1, strip: tuple[int, int] | None = None
    ) -> list[GramSum]:
        """Phi' diag(w) Phi for one or several weights w >= 0.

        Parameters
        ----------
        weigh : function of a tile, called in order, that returns for each matrix the weights (n_rows,) of the
            tile's rows, or None for 1; it must not change the tile's values
        strip : first and end column to compute; None for all
        """
        from distkern.maths.bases.gram import GRAM_ROWS, GramSum

        sums = [GramSum(self.size, *(strip or ())) for _ in range(n_matrices)]
        for tile in self.tiles(features, tile_rows=GRAM_ROWS):
            for total, weights in zip(sums, weigh(tile), strict=True):
                total.add(tile.values, weights)
        return sums

    def row_squares(self, features: Rows) -> NDArray[np.float64]:
        """|phi(x)|^2 of each row."""
        found = np.zeros(features.shape[0])
        for tile in self.tiles(features):
            found[tile.rows] = np.einsum("ij,ij->i", tile.values, tile.values)
        return found

    def norm_squares(self, features: Rows) -> NDArray[np.float64]:
        """z' M^-1 z of each row, or an upper bound, for the values z without constants and the M of
        :meth:`metric_product`.
        """
        return self.row_squares(features)

    def squared_norms(self, coefficients: Floats, *, exact: bool = True) -> NDArray[np.float64]:
        """|w|^2 for each of the outputs, (n_outputs,), for coefficients (size, n_outputs).

        The Euclidean norm of the coefficients, unless the functions are elements of another space. ``exact``:
        in float64, whatever the dtype of the basis.
        """
        columns = np.asarray(coefficients, dtype=np.float64)
        norms: NDArray[np.float64] = np.square(columns).sum(axis=0)
        return norms

    def metric_product(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """M coef, (size, n_outputs), for the norm |w|^2 = coef' M coef of models; by default M = I."""
        return coefficients

    def add_metric(self, matrices: Sequence[NDArray[np.float64]], weight: float) -> None:
        """Add weight M, (size, size), to each matrix."""
        for matrix in matrices:
            matrix[np.diag_indices(self.size)] += weight

    def column_tiles(self, features: Rows, runs: Sequence[slice]) -> Iterator[tuple[int, Tile]]:
        """Yield the number of each run of consecutive functions with tiles of its values at all rows.

        Each tile overwrites the last. The rows of a run come in order; at most a tile of all functions
        exists.
        """
        for tile in self.tiles(features):
            for number, run in enumerate(runs):
                yield number, Tile(tile.rows, tile.values[:, run])

    def columns(self, features: Rows, columns: Indices) -> Floats:
        """Some functions at all rows, (n_columns, n_rows), in the order of ``columns``."""
        raise NotImplementedError(f"{type(self).__name__} has no single columns")

    def over(self, group: AbstractGroup) -> AbstractGroup:
        """A group with the basis functions as columns; its rows remain rows of the data."""
        return FunctionGroup(group, self)

    def digest(self) -> str | None:
        """A fingerprint of the functions, stored with a model; None if they cannot vary."""
        return None

    def check_digest(self, stored: str | None, *, written_with: str, where: str) -> None:
        """Refuse a model whose functions this installation draws differently.

        Parameters
        ----------
        stored : :meth:`digest` when the model was written
        written_with : version of numpy at that time
        where : the model

        Raises
        ------
        CorruptDataError
            Naming both versions of numpy.
        """
        if self.digest() != stored:
            raise CorruptDataError(
                f"its random features, written with numpy {written_with}, are drawn differently by numpy "
                f"{np.__version__} or by this version of SciPy",
                where=where,
                hint=f"install numpy {written_with}, or train the model again",
            )

    @property
    def process_bytes(self) -> int:
        """Bytes that a process loads once to evaluate the basis, excluding compiled loops."""
        return 0

    @property
    def norm_bytes(self) -> int:
        """Bytes for the norm of a combination, excluding tiles of values."""
        return 0

    @property
    def is_compiled(self) -> bool:
        """Whether compiled loops evaluate it."""
        return False

    def workspace_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        """Bytes of :meth:`tiles` in a thread, for rows of ``row_numbers`` and ``n_rows`` rows a tile."""
        return (n_rows or self.tile_rows) * row_bytes(self.size, row_numbers, self.dtype.itemsize)

    def combining_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        """Bytes of :meth:`combine` in a thread, excluding coefficients and results."""
        return self.workspace_bytes(row_numbers, n_rows)


class FunctionGroup(AbstractGroup):
    """The functions of a basis as columns of a group, whose rows remain the data's.

    Parameters
    ----------
    group : of the data
    basis : with single columns
    """

    def __init__(self, group: AbstractGroup, basis: AbstractBasis) -> None:
        self._group, self._basis = group, basis
        self.n_rows, self.n_features = group.n_rows, basis.size

    @property
    def targets(self) -> NDArray[Any] | None:  # type: ignore[override]
        return self._group.targets

    def rows(self, positions: Indices) -> Rows:
        return self._group.rows(positions)

    def columns(self, columns: Indices) -> Rows:
        values: Floats = np.empty((len(columns), self.n_rows), dtype=self._basis.dtype)
        start = 0
        for block in self._group.blocks():
            values[:, start : start + block.n_rows] = self._basis.columns(block.features, columns)
            start += block.n_rows
        return values

    def blocks(self) -> Iterator[Block]:
        return self._group.blocks()


def rows_of_tile(size: int, itemsize: int) -> int:
    """Rows of a tile of functions that are evaluated one by one."""
    return min(max(_TILE_BYTES // (size * itemsize), 128), 1024)


def row_bytes(size: int, row_numbers: int, itemsize: int) -> int:
    """Bytes of a row of a tile of ``size`` functions and of the underlying row."""
    return (2 * size + row_numbers + 2) * itemsize


def rows_of_wide_tile(size: int, itemsize: int) -> int:
    """Rows of a tile of functions that are matrix products, which are slow for few rows."""
    return min(max(_WIDE_TILE_BYTES // (size * itemsize), _WIDE_TILE_ROWS), 1024)


def tile_is_large(size: int, itemsize: int) -> bool:
    """Whether a tile with all random features would be too large."""
    return size * itemsize * _WIDE_TILE_ROWS > _MOST_TILE_BYTES


def multiply(values: Floats, columns: Floats, out: Floats) -> None:
    """out = values @ columns, one by one for two or three columns, in half the time (measured)."""
    if columns.shape[1] in (2, 3):
        for column in range(columns.shape[1]):
            out[:, column] = values @ columns[:, column]
    else:
        matmul(values, columns, into=out)


def product(values: Rows, coefficients: Floats, out: Floats) -> None:
    """out = Z w for values (n, r), dense or sparse, and coefficients (r, k) of their dtype."""
    if not isinstance(values, SparseRows):
        multiply(values, coefficients, out)
        return
    rows = values.row_of_entries
    for output in range(coefficients.shape[1]):
        terms = values.data * coefficients[values.indices, output]
        out[:, output] = np.bincount(rows, weights=terms, minlength=len(values))


def add_transposed(values: Rows, slopes: Floats, total: NDArray[np.float64]) -> None:
    """total += Z' G for values (n, r), slopes (n, k) of their dtype, and a total (r, k)."""
    if not isinstance(values, SparseRows):
        total += values.T @ slopes
        return
    rows = values.row_of_entries
    for output in range(slopes.shape[1]):
        terms = values.data * slopes[rows, output]
        total[:, output] += np.bincount(values.indices, weights=terms, minlength=len(total))


class RowMapping(Protocol):
    """An object that maps rows (n, d) to rows (n, d)."""

    def apply_rows(self, rows: Rows, out_dtype: DTypeLike) -> Rows: ...


class AbstractWrappedBasis(AbstractBasis):
    """Functions computed from those of another basis, in the same number and precision.

    Parameters
    ----------
    inner : the other basis
    """

    def __init__(self, inner: AbstractBasis) -> None:
        self.inner = inner

    @property
    def size(self) -> int:
        return self.inner.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.inner.dtype

    @property
    def tile_rows(self) -> int:
        return self.inner.tile_rows

    @property
    def process_bytes(self) -> int:
        return self.inner.process_bytes

    @property
    def norm_bytes(self) -> int:
        return self.inner.norm_bytes

    @property
    def is_compiled(self) -> bool:
        return self.inner.is_compiled


class MappedBasis(AbstractWrappedBasis):
    """The functions phi(m(x)) for the functions phi of another basis, mapped a tile at a time.

    Parameters
    ----------
    inner : over mapped rows
    mapping : m
    """

    def __init__(self, inner: AbstractBasis, mapping: RowMapping) -> None:
        super().__init__(inner)
        self.mapping = mapping

    def fill(self, features: Rows, values: Floats) -> None:
        self.inner.fill(self.mapping.apply_rows(features, self.dtype), values)

    def norm_squares(self, features: Rows) -> NDArray[np.float64]:
        found = np.empty(features.shape[0])
        for start in range(0, len(found), self.tile_rows):
            own = slice(start, start + self.tile_rows)
            found[own] = self.inner.norm_squares(self.mapping.apply_rows(features[own], self.dtype))
        return found

    def squared_norms(self, coefficients: Floats, *, exact: bool = True) -> NDArray[np.float64]:
        return self.inner.squared_norms(coefficients, exact=exact)

    def metric_product(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner.metric_product(coefficients)

    def workspace_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        # a tile in double precision, mapped, and in the dtype of the basis
        mapped = 20 * (n_rows or self.tile_rows) * row_numbers
        return self.inner.workspace_bytes(row_numbers, n_rows) + mapped
