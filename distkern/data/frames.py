"""pandas, Polars and Arrow frames as tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.held_out import Keys, places_of
from distkern.core.names import near_column, order_by_name, plain_labels, written
from distkern.core.python_words import warn
from distkern.core.targets import keys_of_groups, targets_of_rows, weights_of_rows
from distkern.data.columns._arrow import compute, in_one_piece, in_text, is_number, is_text, pa
from distkern.data.columns._reading import FRAMES
from distkern.data.columns.number import decimal_of
from distkern.data.formats._columns import TableColumns, TableRows
from distkern.data.formats._kinds import TableKinds
from distkern.data.formats.base import RawChunk, ReadOptions, refuse_non_finite
from distkern.data.options import ShardOptions
from distkern.data.scaling import DEFAULT_SCALING, Scaling
from distkern.data.table import Table
from distkern.data.table_fit import TableFit, TablePiece, TableTargets, equal_rows_are_independent
from distkern.data.table_report import column_notes

_MOST_ROWS = 65_536


@dataclass(frozen=True)
class FittedFrame:
    """A frame in memory as training rows.

    Attributes
    ----------
    table, scaling : encoding of later frames
    features : (n, d) float32, scaled
    notes : notes on decimal commas and left-out columns, a sentence each
    """

    table: Table
    scaling: Scaling
    features: NDArray[np.float32]
    notes: list[str]


@dataclass(frozen=True)
class _Columns:
    """Names and Arrow arrays of a frame's columns; ``is_named`` if the names are texts."""

    names: tuple[str, ...]
    arrays: list[Any]
    is_named: bool

    def rows(self, kinds: TableKinds, first_row: int = 1) -> RawChunk:
        """Return the rows of the columns; unknown kinds are decided."""
        columns = TableColumns(self.names, tuple(range(len(self.names))), None)
        options = ReadOptions("none", kinds=kinds)
        rows = TableRows("X", columns, options, from_text=False, has_header=self.is_named)
        if kinds.notation.decimal is None:
            self._settle_decimal(kinds)
        rows.decide(self.arrays)
        chunk = rows.chunk(self.arrays, first_row)
        kinds.raise_problems()
        refuse_non_finite(chunk, may_miss=True)
        return chunk

    def _settle_decimal(self, kinds: TableKinds) -> None:
        """Determine the decimal mark of numbers written as texts, from the first rows."""
        words: set[str] = set()
        for array in self.arrays:
            if is_text(array.type):
                found = array[:_MOST_ROWS].unique().drop_null()
                words.update(found.filter(compute.match_substring_regex(found, r"\d[.,]\d")).to_pylist())
        kinds.usual_decimal = decimal_of(sorted(word.strip() for word in words))[0] or "."
        kinds.notation.decimal = kinds.usual_decimal
        if kinds.usual_decimal == ",":
            kinds.notes.append("numbers written as texts in X are read with decimal commas")

    def without(self, ignored: Sequence[str]) -> _Columns:
        """Return the columns without some existing ones."""
        for name in ignored:
            if name not in self.names:
                raise InputError(f"no column {name!r} (drop)", where="X", hint=near_column(name, self.names))
        return self.only([at for at, name in enumerate(self.names) if name not in ignored])

    def only(self, kept: Sequence[int]) -> _Columns:
        """Return some columns, by position."""
        names, arrays = tuple(self.names[at] for at in kept), [self.arrays[at] for at in kept]
        return _Columns(names, arrays, self.is_named)


def has_other_than_numbers(X: Any) -> bool:
    """Whether ``X`` is a frame in memory with non-numeric columns or missing values."""
    if not is_frame(X):
        return False
    if hasattr(X, "iloc") and all(getattr(dtype, "kind", "O") in "biuf" for dtype in X.dtypes):
        return bool(X.isna().to_numpy().any())
    return any(_is_unusual(array) for array in _columns(X).arrays)


def _is_unusual(array: Any) -> bool:
    if array.null_count or not is_number(array.type):
        return True
    return bool(pa.types.is_floating(array.type) and compute.any(compute.is_nan(array)).as_py())


def is_frame(X: Any) -> bool:
    """Whether ``X`` is a pandas, Polars or Arrow frame."""
    return type(X).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow") and hasattr(X, "columns")


def _columns(X: Any) -> _Columns:
    """Return the columns of a frame in memory, or of an array (n, n_columns)."""
    if hasattr(X, "to_arrow"):
        X = _in_arrow(X)
    if isinstance(X, pa.Table):
        arrays = [_plain(name, column) for name, column in zip(X.column_names, X.columns, strict=True)]
        return _Columns(tuple(X.column_names), arrays, is_named=True)
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        names = tuple(map(str, X.columns))
        if len(set(names)) < len(names):
            raise InputError("two columns have the same name", where="X", hint="rename one of them")
        arrays = [_array(name, column) for name, (_, column) in zip(names, X.items(), strict=True)]
        return _Columns(names, arrays, all(isinstance(name, str) for name in X.columns))
    array = np.asarray(X)
    if array.ndim != 2:
        raise InputError(
            f"X has {array.ndim} dimension{'s' * (array.ndim != 1)}",
            where="X",
            hint="give a frame, or [row] for a row",
        )
    names = tuple(str(at) for at in range(array.shape[1]))
    return _Columns(names, [_array(name, array[:, at]) for at, name in enumerate(names)], is_named=False)


def _in_arrow(X: Any) -> Any:
    """Return a Polars frame as an Arrow table, which has no 128-bit integers."""
    wide = [name for name, of in X.schema.items() if str(of) in ("Int128", "UInt128")]
    if wide:
        polars = sys.modules["polars"]
        X = X.with_columns(polars.col(wide).cast(polars.Float64))
    return X.to_arrow()


def _plain(name: str, values: Any) -> Any:
    """Return a column as one contiguous Arrow array, bytes as texts."""
    return in_text(in_one_piece(values), f"X, column {name!r}")


def _array(name: str, values: Any) -> Any:
    kind = getattr(values.dtype, "kind", "O")
    if kind == "c":
        raise _complex(name)
    if kind in "iuf" and isinstance(values.dtype, np.dtype):
        return pa.array(np.asarray(values), from_pandas=True)
    if hasattr(values.dtype, "categories") and hasattr(values, "cat"):
        codes = values.cat.codes.to_numpy()
        levels = pa.array([written(level) for level in values.cat.categories], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), levels)
    if getattr(values.dtype, "tz", None) is not None:
        # pandas warns when Arrow reads columns with a zone
        plain = _array(name, values.dt.tz_convert(None))
        return plain.cast(pa.timestamp(plain.type.unit, str(values.dtype.tz)))
    try:
        if hasattr(getattr(values, "array", None), "__arrow_array__"):
            # columns backed by Arrow convert directly, faster than through the Series
            return _plain(name, values.array.__arrow_array__())
        return _plain(name, pa.array(values, from_pandas=True))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        if any(isinstance(value, complex | np.complexfloating) for value in values):
            raise _complex(name) from None
        # values of mixed kinds become texts
        return pa.array([None if _is_missing(value) else written(value) for value in values], pa.string())


def _complex(name: str) -> InputError:
    return InputError(
        "features cannot be complex numbers",
        where=f"X, column {name!r}",
        hint="make columns of the real and the imaginary parts, or of abs(X)",
    )


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        # comparisons with pandas.NA have no truth value; nor have arrays
        return type(value).__name__ == "NAType"


def fit_frame(
    X: Any,
    targets: NDArray[Any],
    task: str,
    group_keys: Keys | None = None,
    weights: Any = None,
    options: ShardOptions | None = None,
) -> FittedFrame:
    """Encode a frame in memory, with targets (n,), as ``distkern shard`` does.

    ``group_keys`` (n,) are the groups of the rows, and ``weights`` (n,) their weights, if any. The frame no
    longer has the columns that ``options`` leave out.
    """
    columns = _columns(X)
    kinds = frame_kinds(options)
    kinds.collects = True
    values = np.asarray(columns.rows(kinds).features)
    n_rows = len(values)
    # invalid weights are refused where they are used
    of_rows = None if weights is None else np.asarray(weights, dtype=np.float64)
    if of_rows is not None and of_rows.shape != (n_rows,):
        of_rows = None
    heaviest = 1.0 if of_rows is None else float(np.max(np.abs(of_rows)))
    wanted = TableTargets()
    if task == "classification":
        found, targets = np.unique(targets, return_inverse=True)
        wanted = TableTargets.of_classes(plain_labels(found), heaviest)
    elif task == "regression":
        wanted = TableTargets(("target",), None, (float(targets.min()), float(targets.max())), heaviest)
    fit = TableFit(kinds, options or ShardOptions())
    parts = [slice(start, start + _MOST_ROWS) for start in range(0, n_rows, _MOST_ROWS)]

    def of_groups(part: slice) -> Keys | None:
        return None if group_keys is None else group_keys[part]

    def piece(part: slice) -> TablePiece:
        return values[part], targets[part], of_groups(part), None if of_rows is None else of_rows[part]

    if equal_rows_are_independent(piece(parts[0])):
        group_keys = places_of(0, np.arange(n_rows))
    for part in parts:
        fit.add(values[part])
    encoded = fit.run(map(piece, parts), wanted, is_named=columns.is_named)
    kinds.raise_problems()
    scaling = fit.scaling(DEFAULT_SCALING, (encoded.train(values[part], of_groups(part)) for part in parts))
    features = np.empty((n_rows, encoded.table.n_features), dtype=np.float32)
    for part in parts:
        features[part] = scaling.apply_rows(encoded.train(values[part], of_groups(part)))
    notes = [*kinds.notes, *column_notes(fit.report, left_out=True)]
    return FittedFrame(encoded.table, scaling, features, notes)


def frame_kinds(options: ShardOptions | None = None) -> TableKinds:
    """Return the reader of frames."""
    return (options or ShardOptions()).kinds(FRAMES)


def frame_chunks(
    frames: Iterable[tuple[Any, ...]], kinds: TableKinds, ignored: Sequence[str] = ()
) -> Iterator[RawChunk]:
    """Yield frames in memory as chunks of a data set, without the columns ``ignored``.

    Each frame comes with its targets, and optionally with weights and groups of its rows, (n,) or None.
    """
    first_row = 1
    for frame, targets, *roles in frames:
        columns = _columns(frame).without(ignored)
        if not columns.arrays:
            raise InputError("no column is left", where="X", hint="drop fewer columns")
        if not len(columns.arrays[0]):
            continue
        chunk = columns.rows(kinds, first_row)
        labels = None
        if targets is not None:
            plain = np.asarray(targets)
            # accept a frame of one column
            plain = plain[:, 0] if plain.shape[1:] == (1,) else plain
            labels = targets_of_rows(plain, chunk.n_rows, first_row=first_row)
        weights, groups = roles or (None, None)
        if weights is not None:
            weights = weights_of_rows(weights, first_row)
        if groups is not None:
            groups = keys_of_groups(groups, chunk.n_rows)
        for start in range(0, chunk.n_rows, _MOST_ROWS):
            part = slice(start, start + _MOST_ROWS)
            yield replace(
                chunk,
                features=chunk.features[part],
                targets=None if labels is None else labels[part],
                weights=None if weights is None else weights[part],
                group_keys=None if groups is None else groups[part],
                first_row=first_row + start,
            )
        first_row += chunk.n_rows


def encode_frame(table: Table, scaling: Scaling, X: Any) -> NDArray[np.float32]:
    """Return features (n, d) of a frame in memory, scaled; raises as :meth:`TableKinds.numbers`."""
    columns = _columns(X)
    if columns.is_named and table.is_named:
        order = order_by_name(columns.names, table.names, where="X", owner="the training data")
        columns = columns if order is None else columns.only(order.tolist())
    elif len(columns.names) != len(table.columns):
        raise InputError(
            f"X has {len(columns.names)} columns, but the model expects {len(table.columns)} columns as in "
            f"the table, or {table.n_features} encoded features",
            where="X",
        )
    values = np.asarray(columns.rows(table.kinds(FRAMES)).features)
    unseen = table.unseen(values)
    if scaling.kind == "unit":
        # rows of the data set, already of norm 1, are accepted too
        for column in table.columns:
            if column.is_number:
                unseen.pop((column.name, False), None)
    for note in table.unseen_notes(unseen, "rows"):
        warn(note)
    features = np.empty((len(values), table.n_features), dtype=np.float32)
    for start in range(0, len(values), _MOST_ROWS):
        part = slice(start, start + _MOST_ROWS)
        features[part] = scaling.apply_rows(table.encode(values[part]))
    return features
