"""The base of input formats: rows in bounded chunks, each row traceable to its place in a file.

To add a format, put a file with a subclass of :class:`AbstractFormat` into this folder: the command line and
the contract tests find it there. Text formats read blocks of lines with :mod:`distkern.data.formats._lines`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import DistkernError, InputError, invalid_value
from distkern.core.registry import Family
from distkern.core.sparse import Rows, SparseRows, first_place, sum_is_finite
from distkern.core.types import Floats
from distkern.core.urls import is_url, no_driver, redact_urls
from distkern.data.columns._reading import MISSING_LABELS
from distkern.data.formats._compressed import decompressed
from distkern.data.formats._folders import FolderKey
from distkern.data.formats._kinds import TableKinds
from distkern.data.formats._notes import FileNotes, Meter
from distkern.data.formats._rows import WHITESPACE

#: upper bound of the features of one chunk, in bytes (one row may be larger)
CHUNK_BYTES = 8 * 2**20

#: content of the target column: class labels, numbers for regression, or not read
TargetKind: TypeAlias = Literal["label", "number", "none"]


@dataclass(frozen=True, kw_only=True)
class FileForm:
    """The form of files as given by the user.

    Attributes
    ----------
    target : name or position of the target (formats with named columns or arrays); None: the format's default
    header : whether the first line holds column names (CSV); None: detect it
    delimiter, decimal : delimiter and decimal mark of CSV files; None: detect and report them
    encoding : Python's name of the encoding of CSV files; None: UTF-8
    no_quotes : treat quotation marks in CSV files as ordinary characters, and each line as a row
    escape : escape character of CSV files, such as a backslash
    comment : prefix of comment lines in CSV files
    skip_lines : number of lines of CSV files before the header
    """

    target: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    no_quotes: bool | None = None
    escape: str | None = None
    comment: str | None = None
    skip_lines: int | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise invalid_value("--decimal", self.decimal, "'.' or ','")
        marks = {"delimiter": self.delimiter, "escape": self.escape}
        for name, mark in marks.items():
            if mark is None or (name == "delimiter" and mark == WHITESPACE):
                continue
            is_free = len(mark) == 1 and mark.isascii() and mark not in '\r\n\0"'
            if not is_free or list(marks.values()).count(mark) > 1:
                words = f", or '{WHITESPACE}'" if name == "delimiter" else ""
                accepted = f"one ASCII character without another use in the file{words}"
                raise invalid_value(f"--{name}", mark, accepted)
        if self.comment is not None and (not self.comment.strip() or set(self.comment) & set('\r\n"')):
            raise InputError(f"{self.comment!r} cannot start a comment", where="--comment", hint="give '#'")


@dataclass(slots=True)
class Indices:
    """Whether indices of svmlight files start at 0; None until the first block of the first file shows it."""

    from_zero: bool | None = None


@dataclass(frozen=True)
class ReadOptions(FileForm):
    """Options for reading files, besides their form.

    Attributes
    ----------
    target_kind : kind of the target, see :data:`TargetKind`
    id : name or position of a column that is kept as text beside the rows and is not a feature
    may_lack : files may lack the columns ``id``, ``drop``, ``weight`` and ``group``
    features : wanted columns of tables with names, in this order; None: all
    ignored : columns to leave out if present, for instance the target of a model
    drop : columns to leave out, which must be present
    weight, group : columns of tables with the weights and the groups of the rows
    drop_missing_target : leave out rows without a target instead of refusing them
    kinds : kinds of table columns, for features other than numbers; None: only numbers
    indices : first index of svmlight files
    notes : filled with notes on the files
    unknown : filled with unwanted columns, which are left out; None: refuse them
    """

    target_kind: TargetKind = "label"
    id: str | None = None
    may_lack: bool = False
    features: tuple[str, ...] | None = None
    ignored: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    weight: str | None = None
    group: str | None = None
    drop_missing_target: bool = False
    kinds: TableKinds | None = None
    indices: Indices = field(default_factory=Indices)
    notes: FileNotes = field(default_factory=FileNotes)
    unknown: set[str] | None = None

    def na_of(self, column: str, *, is_label: bool = False) -> frozenset[str]:
        """Return the texts for a missing value of a column."""
        return MISSING_LABELS if self.kinds is None else self.kinds.na_of(column, is_label=is_label)

    def refuse(self, column: str, error: InputError, count: int = 1) -> None:
        """Raise a problem of rows of a column, or collect it with others."""
        if self.kinds is None:
            raise error
        self.kinds.refuse(column, error, count)


@dataclass(frozen=True, slots=True)
class RawChunk:
    """Consecutive rows of one file, as written there.

    Attributes
    ----------
    features : (n_rows, n_features) float32 or float64, all finite: an array, or sparse rows
    targets : (n_rows,) booleans, numbers, dates, or str objects; None if no target is read
    is_untyped : targets come from a text file, and their kind depends on the rest of it
    first_row : number of the first row in its file, counted from 1 without comments and header
    file : name of the file
    lines : (n_rows,) line numbers counted from 1 (text formats), else None
    names : names of the feature columns, or None
    target_name : name of the target column, or None
    has_header : the names come from the file instead of the positions of its columns
    may_widen : the width is only the largest feature so far (svmlight)
    ids : (n_rows,) str objects, if an id column is read
    weights : (n_rows,) float64, likewise
    group_keys : (n_rows,) uint64 of :mod:`~distkern.core.targets`, likewise
    kept : (n_rows,) positions of the rows among those read, if some had no target and are left out, else None
    n_left_out : number of these
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
    weights: Floats | None = None
    group_keys: NDArray[np.uint64] | None = None
    is_untyped: bool = False
    kept: NDArray[np.intp] | None = None
    n_left_out: int = 0

    @property
    def n_rows(self) -> int:
        return int(self.features.shape[0])

    def place(self, row: int, column: int | None = None) -> str:
        """Return the place of a value for an error message: file, row and column, counted from 1."""
        at = row if self.kept is None else int(self.kept[row])
        line = None if self.lines is None else int(self.lines[row])
        text = place_of_row(self.file, self.first_row + at, line)
        if column is None:
            return text
        if self.names is not None:
            return f"{text}, column {self.names[column]!r}"
        if self.lines is not None:
            return f"{text}, feature {column + 1}"
        return f"{text}, column {column + 1} (index {column})"


def place_of_row(file: str, number: int, line: int | None) -> str:
    """Return the place of a row in its file, by its number and, in text formats, its line."""
    return f"{file}, row {number} ({f'index {number - 1}' if line is None else f'line {line}'})"


def not_finite(value: float, where: str, hint: str | None = None) -> InputError:
    """Return the error for a NaN or infinite number."""
    kind = "NaN (a missing value)" if np.isnan(value) else "infinite or too large for a 64-bit number"
    return InputError(
        f"the value is {kind}; kernels need finite numbers", where=where, hint=hint or FILL_OR_DROP
    )


FILL_OR_DROP = "fill the value in or leave the row out"
_FILL_OR_DROP_TARGET = "fill it in, or leave such rows out with shard --drop-missing-target"
_IS_MISSING = ", or give --na {} if it stands for a missing value"


#: remedy for a text that stands for a missing value but may also be a name
_BY_NAME = "; if it is the name of a {}, give --keep-na and the column, or set the missing texts, as --na ''"


def missing_target(text: str, where: str, *, is_label: bool = True) -> InputError:
    """Return the error for a missing target at ``where``, given its text."""
    if not text:
        return InputError("the target is missing", where=where, hint=_FILL_OR_DROP_TARGET)
    hint = _FILL_OR_DROP_TARGET + (_BY_NAME.format("class") if is_label else "")
    return InputError(f"the target is missing ({text[:60]!r})", where=where, hint=hint)


def refuse_missing_groups(
    texts: Sequence[str | None], column: str, options: ReadOptions, place_of: Callable[[int], str]
) -> None:
    """Refuse rows without a group; the error names the first one."""
    na = options.na_of(column, is_label=True)
    missing = [row for row, text in enumerate(texts) if not text or text in na]
    if missing:
        what, hint, text = "the group is missing", FILL_OR_DROP, texts[missing[0]]
        if text:
            what, hint = f"{what} ({text!r})", hint + _BY_NAME.format("group")
        options.refuse(column, InputError(what, where=place_of(missing[0]), hint=hint), len(missing))


class AbstractFormat(ABC):
    """A file format: a subclass has a ``name`` and ``extensions`` and implements :meth:`read`.

    Attributes
    ----------
    name : name for ``--format``
    extensions : extensions of its files, with the dot
    is_text : may be compressed (.gz, .xz, .bz2, .zst, .zip) and is read from front to back
    is_table : has columns, one of which can be an id
    holds_targets : stores targets beside the features
    takes : names of :class:`ReadOptions`, or ``zero_based``, for its files only; options on table columns
        apply to all table formats
    """

    name: ClassVar[str]
    extensions: ClassVar[tuple[str, ...]]
    is_text: ClassVar[bool] = False
    is_table: ClassVar[bool] = False
    holds_targets: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def example(cls, path: Path, features: NDArray[Any], targets: NDArray[Any] | None) -> None:
        """Write a few rows in this format, which the contract tests read back.

        Named columns are x0, x1, ... and the target is ``y``, or the format's default.
        """
        raise NotImplementedError(f"write {cls.__name__}.example: the contract tests of formats need it")

    @abstractmethod
    def read(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        """Yield the rows of ``file`` in order, in chunks of at most :data:`CHUNK_BYTES`.

        Never holds more than a few chunks in memory. Raises :class:`InputError` with the place of the first
        malformed row; non-finite numbers may be passed on.
        """

    def chunks(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        """Yield chunks of :meth:`read`; a chunk with a non-finite number is refused."""
        for chunk in self.read(file, options):
            if options.drop_missing_target:
                chunk = _with_targets(chunk)
                options.notes.missing_targets += chunk.n_left_out
            if chunk.weights is not None:
                chunk = replace(chunk, weights=_fine_weights(chunk.weights, chunk, options))
            of_table = self.is_table and options.kinds is not None
            # a model fixes the texts for missing values
            hint = _IS_MISSING if of_table and options.unknown is None else ""
            refuse_non_finite(chunk, may_miss=of_table, hint=hint)
            yield chunk


def _with_targets(chunk: RawChunk) -> RawChunk:
    """Return the rows of a chunk whose target is not NaN."""
    if chunk.targets is None or chunk.targets.dtype.kind != "f" or not np.isnan(chunk.targets).any():
        return chunk
    kept = np.flatnonzero(~np.isnan(chunk.targets))
    names = ("targets", "lines", "ids", "weights", "group_keys")
    values: dict[str, Any] = {name: getattr(chunk, name) for name in names}
    of_kept: dict[str, Any] = {name: None if value is None else value[kept] for name, value in values.items()}
    n_left_out = chunk.n_left_out + chunk.n_rows - len(kept)
    places = kept if chunk.kept is None else chunk.kept[kept]
    return replace(chunk, features=chunk.features[kept], **of_kept, kept=places, n_left_out=n_left_out)


def _fine_weights(weights: Floats, chunk: RawChunk, options: ReadOptions) -> Floats:
    """Return the weights (n,), 1 for those refused and collected as a problem."""
    is_fine, column = (weights > 0) & np.isfinite(weights), str(options.weight)
    wrong = np.flatnonzero(~is_fine)
    if wrong.size:
        first = weights[wrong[0]]
        error = InputError(
            "the weight is missing" if np.isnan(first) else f"the weight {first} is not a number above 0",
            where=f"{chunk.place(int(wrong[0]))}, column {column!r}",
            hint="correct it, or leave the row out",
        )
        options.refuse(column, error, wrong.size)
    return np.where(is_fine, weights, 1.0)


def refuse_non_finite(chunk: RawChunk, *, may_miss: bool = False, hint: str = "") -> None:
    """Raise :class:`InputError` at the first NaN or infinity in features or targets; if ``may_miss``, NaN
    in features is allowed. ``hint`` is a further remedy with ``{}``.
    """
    if not sum_is_finite(chunk.features):
        values = chunk.features.data if isinstance(chunk.features, SparseRows) else chunk.features
        found = first_place(chunk.features, np.isinf(values) if may_miss else ~np.isfinite(values))
        if found is not None:
            row, column, value = found
            raise not_finite(value, chunk.place(row, column), FILL_OR_DROP + hint.format(value))
    if chunk.targets is not None and chunk.targets.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(chunk.targets))
        if bad.size:
            value, where = float(chunk.targets[bad[0]]), f"{chunk.place(int(bad[0]))}, target"
            raise missing_target("", where) if np.isnan(value) else not_finite(value, where)


def first_not_finite(rows: Rows) -> tuple[int, int, float] | None:
    """Return row, column and value of the first NaN or infinite number, or None."""
    return first_place(rows, ~np.isfinite(rows.data if isinstance(rows, SparseRows) else rows))


def numeric(values: NDArray[Any]) -> Floats:
    """Return numbers as float32 if it represents their type exactly, else as float64."""
    exact = values.dtype.kind == "b" or np.can_cast(values.dtype, np.float32, "safe")
    return np.ascontiguousarray(values, dtype=np.float32 if exact else np.float64)


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to read: path or URL as shown to the user, format, and compression.

    ``query`` is the hidden part of a web address after the question mark; ``meter`` tracks the reading;
    ``keys`` are the columns from folder names.
    """

    url: str
    format: str
    compression: str | None = None
    query: str = field(default="", repr=False)
    keys: tuple[FolderKey, ...] = ()
    meter: Meter | None = field(default=None, repr=False, compare=False)

    @property
    def is_local(self) -> bool:
        return not is_url(self.url)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the decompressed bytes; every error of the file becomes an :class:`InputError`."""
        with explain_errors(self):
            file_system, path = file_system_of(self.url + self.query)
            with file_system.open(path, "rb") as raw:
                if self.meter is not None:
                    self.meter.begin(self, raw)
                stream = raw if self.compression is None else decompressed(raw, self.compression)
                yield cast(BinaryIO, stream)
                if self.meter is not None:
                    self.meter.end()

    def chunks(self, options: ReadOptions) -> Iterator[RawChunk]:
        """Yield the rows of this file, see :meth:`AbstractFormat.chunks`; a file without rows is refused."""
        return rows_of([self], options)


def rows_of(files: Sequence[InputFile], options: ReadOptions) -> Iterator[RawChunk]:
    """Yield the rows of files, one after another; files without rows are left out, with a note.

    Raises :class:`InputError` if no file has rows.
    """
    n_rows = 0
    for file in files:
        kind, before = FORMATS.find(file.format), n_rows
        if file.keys and not kind.is_table:
            options.notes.say(f"folder names do not become columns of {file.format} files")
        for chunk in kind().chunks(file, options):
            n_rows += chunk.n_rows + chunk.n_left_out
            yield chunk
        if n_rows == before:
            options.notes.empty_files.append(file.url)
    if not n_rows:
        what = "the file has no rows" if len(files) == 1 else f"none of the {len(files):,} files has rows"
        raise InputError(what, where=files[0].url, hint="leave it out or fill it")


FORMATS = Family("distkern.data.formats", AbstractFormat)  # type: ignore[type-abstract]


def refuse_untaken(files: Sequence[InputFile], of_tables: Mapping[str, Any], **given: Any) -> None:
    """Refuse options on table columns if a file has none, and options of formats that no file has.

    Parameters
    ----------
    of_tables : options on columns of tables, which all files must support
    given : options of single formats; None if not given
    """
    kinds = {file.format: FORMATS.find(file.format) for file in files}
    for name in of_tables:
        for file in files:
            kind = kinds[file.format]
            if not kind.is_table and name not in kind.takes:
                raise _untaken(name, file)
    for name, value in given.items():
        if value is not None and files and not any(name in kind.takes for kind in kinds.values()):
            raise _untaken(name, files[0])


def _untaken(name: str, file: InputFile) -> InputError:
    option = f"--{name.replace('_', '-')}"
    return InputError(
        f"does not apply to {file.format} files", where=f"{file.url}, {option}", hint="leave it out"
    )


def file_system_of(url: str) -> tuple[Any, str]:
    """Return fsspec's file system of a path or URL, and the path in it."""
    import fsspec

    if not is_url(url):
        return fsspec.filesystem("file"), url
    try:
        file_system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise no_driver(url, error) from error
    return file_system, str(path)


@contextmanager
def explain_errors(file: InputFile) -> Iterator[None]:
    """Turn any error of reading a file into one that names the file."""
    import lzma
    import zipfile
    import zlib

    try:
        yield
    except DistkernError:
        raise
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise _damaged(file, error) from error
    except OSError as error:
        # gzip and bz2 report damage as an OSError without errno
        if file.compression is not None and error.errno is None:
            raise _damaged(file, error) from error
        reason = error.strerror or first_line(error)
        raise InputError(
            f"cannot be read ({reason})", where=file.url, hint="check path and permissions"
        ) from error
    except ValueError as error:
        if not is_url(file.url) or file.format:
            raise
        raise InputError(
            f"cannot be opened ({first_line(error)})", where=file.url, hint="check the URL"
        ) from error


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message, as messages of the package have one line."""
    text = redact_urls(str(error).strip())
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


def _damaged(file: InputFile, error: Exception) -> InputError:
    return InputError(
        f"the {file.compression or 'compressed'} data are truncated or damaged ({first_line(error)})",
        where=file.url,
        hint="fetch or compress the file again",
    )
