"""What every input format gives: rows in chunks of bounded size, each row traceable to where it was written.

To add a format, put a file with a subclass of :class:`AbstractFormat` into this folder: the command line, the
documentation and the contract test find it there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Floats

if TYPE_CHECKING:
    from distkern.formats._files import InputFile

#: upper bound of the features of one chunk, in bytes (one row may be larger)
CHUNK_BYTES = 8 * 2**20

#: what the target column holds: class labels, numbers to regress on, or nothing that is read
TargetKind: TypeAlias = Literal["label", "number", "none"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user said about the files.

    Attributes
    ----------
    target_kind : what the target is, see :data:`TargetKind`
    target : name or position of the target (formats with named columns or arrays); None: the format's default
    header : whether the first line names the columns (CSV); None: decided by looking at it
    id : name or position of a column that is kept as text beside the rows and is no feature
    features : the columns that are wanted, by name and in this order, of tables that name theirs; None: all
    ignored : a column that is left out where it is there, for instance the target of a model
    """

    target_kind: TargetKind = "label"
    target: str | None = None
    header: bool | None = None
    id: str | None = None
    features: tuple[str, ...] | None = None
    ignored: str | None = None


@dataclass(frozen=True, slots=True)
class RawChunk:
    """Consecutive rows of one file, as written there.

    Attributes
    ----------
    features : (n_rows, n_features) float32 or float64, all finite: an array, or sparse rows if that is what
        the format holds
    targets : (n_rows,) integers, floats, or str objects; None when no target is read
    first_row : number of the first row in its file, counted from 1, comments and header not counted
    file : name of the file
    lines : (n_rows,) line numbers counted from 1 (text formats), else None
    names : names of the feature columns, or None
    target_name : of the column that holds the targets, or None
    has_header : the names are the file's own, not the positions of its columns
    may_widen : the width is only the largest feature met so far (svmlight)
    ids : (n_rows,) str objects, where an id column was asked for
    """

    features: Rows
    targets: NDArray[Any] | None
    first_row: int
    file: str
    lines: NDArray[np.int64] | None = None
    names: tuple[str, ...] | None = None
    may_widen: bool = False
    target_name: str | None = None
    has_header: bool = True
    ids: NDArray[Any] | None = None

    @property
    def n_rows(self) -> int:
        return int(self.features.shape[0])

    def place(self, row: int, column: int | None = None) -> str:
        """Where a value stands, for an error message: file, row and column, all counted from 1."""
        number = self.first_row + row
        exact = f"index {number - 1}" if self.lines is None else f"line {self.lines[row]}"
        text = f"{self.file}, row {number} ({exact})"
        if column is None:
            return text
        if self.names is not None:
            return f"{text}, column {self.names[column]!r}"
        if self.lines is not None:
            return f"{text}, feature {column + 1}"
        return f"{text}, column {column + 1} (index {column})"


def not_finite(value: float, where: str) -> InputError:
    """The error for a NaN or infinite number."""
    kind = "NaN (a missing value)" if np.isnan(value) else "infinite, or too large for a 64-bit number,"
    return InputError(f"the value is {kind} and no kernel is defined on it", where=where, mend=FILL_OR_DROP)


FILL_OR_DROP = "fill the value in or leave the row out"


class AbstractFormat(ABC):
    """A file format: a subclass says its ``name`` and ``extensions`` and implements :meth:`read`.

    Attributes
    ----------
    name : of the format, as ``--format`` takes it
    extensions : of its files, with the dot
    is_text : may be compressed (.gz, .xz, .bz2) and is read from front to back
    is_table : has columns, of which one can be an id
    """

    name: ClassVar[str]
    extensions: ClassVar[tuple[str, ...]]
    is_text: ClassVar[bool] = False
    is_table: ClassVar[bool] = False

    @abstractmethod
    def read(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        """The rows of ``file`` in order, in chunks of at most :data:`CHUNK_BYTES`.

        Never holds more than a few chunks in memory. Raises :class:`InputError` with the place of the first
        thing that is not a row of numbers; a number that is not finite may be passed on.
        """

    def chunks(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        """What :meth:`read` gives, each chunk refused if it has a number that is not finite."""
        if options.id is not None and not self.is_table:
            raise InputError(
                f"{self.name} files have no column {options.id!r} to keep as id",
                where=f"{file.url}, --id", mend="leave it out: rows keep their order",
            )  # fmt: skip
        for chunk in self.read(file, options):
            refuse_non_finite(chunk)
            yield chunk


def refuse_non_finite(chunk: RawChunk) -> None:
    """Raise :class:`InputError` with the place of the first NaN or infinity in features or targets."""
    # a sum is finite unless some term is not (or it overflows): one cheap pass for the usual case
    with np.errstate(over="ignore", invalid="ignore"):
        values = chunk.features.data if isinstance(chunk.features, SparseRows) else chunk.features
        suspicious = not np.isfinite(np.sum(values))
    if suspicious:
        found = first_not_finite(chunk.features)
        if found is not None:
            row, column, value = found
            raise not_finite(value, chunk.place(row, column))
    if chunk.targets is not None and chunk.targets.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(chunk.targets))
        if bad.size:
            raise not_finite(float(chunk.targets[bad[0]]), f"{chunk.place(int(bad[0]))}, target")


def first_not_finite(rows: Rows) -> tuple[int, int, float] | None:
    """Row, column and value of the first number that is NaN or infinite."""
    if isinstance(rows, SparseRows):
        bad = np.flatnonzero(~np.isfinite(rows.data))
        if not bad.size:
            return None
        entry = int(bad[0])
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        return row, int(rows.indices[entry]), float(rows.data[entry])
    places = np.argwhere(~np.isfinite(rows))
    if not places.size:
        return None
    row, column = (int(position) for position in places[0])
    return row, column, float(rows[row, column])


def numeric(values: NDArray[Any]) -> Floats:
    """Numbers of any kind as float32 where that is exact by type, else as float64."""
    exact = values.dtype.kind == "b" or np.can_cast(values.dtype, np.float32, "safe")
    return np.ascontiguousarray(values, dtype=np.float32 if exact else np.float64)
