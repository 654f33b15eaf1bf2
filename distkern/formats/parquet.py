"""Parquet: columns by name, one of them the target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.targets import keys_of_texts
from distkern.common.types import Floats
from distkern.formats._arrow import in_numpy, is_number, is_text
from distkern.formats._columns import Columns, choose_columns
from distkern.formats._kinds import LABELS_OR_NUMBERS
from distkern.formats._words import word_of
from distkern.formats.base import (
    CHUNK_BYTES,
    FILL_OR_DROP,
    AbstractFormat,
    InputFile,
    RawChunk,
    ReadOptions,
    first_line,
    missing_target,
    numeric,
    refuse_missing_groups,
)


class Parquet(AbstractFormat):
    """Parquet tables; the target is the last column unless ``--target`` names another.

    A row index that pandas stored as a column is not a feature and is left out.
    """

    name: ClassVar[str] = "parquet"
    extensions: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    is_table: ClassVar[bool] = True

    @classmethod
    def example(cls, path: Path, features: NDArray[Any], targets: NDArray[Any] | None) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        columns = {f"x{i}": features[:, i] for i in range(features.shape[1])}
        parquet.write_table(pa.table(columns if targets is None else {**columns, "y": targets}), path)

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        import pyarrow as pa
        from pyarrow import parquet

        with file.open() as stream:
            try:
                table = parquet.ParquetFile(stream, page_checksum_verification=True)
                names = [
                    name
                    for name in table.schema_arrow.names
                    if not name.startswith("__index_level_") or name == options.id
                ]
                columns = choose_columns(names, where=file.url, options=options)
                keys = columns.feature_names
                if options.kinds is not None:
                    keys = options.kinds.keys(columns.feature_names, has_header=True, file=file.url)
                first_row = 1
                width = len(names) if options.kinds is None else len(options.kinds.value_names(names))
                rows = max(1, CHUNK_BYTES // (8 * width))
                for batch in table.iter_batches(batch_size=rows, columns=names, use_threads=False):
                    if batch.num_rows:
                        yield _chunk(batch, columns, keys, first_row, file.url, options)
                        first_row += batch.num_rows
            except (pa.ArrowException, pa.ArrowKeyError, UnicodeDecodeError) as error:
                raise InputError(
                    f"not a readable Parquet file ({first_line(error)})",
                    where=file.url,
                    hint="write the file again",
                ) from error


def _chunk(
    batch: Any, columns: Columns, keys: tuple[str, ...], first_row: int, file: str, options: ReadOptions
) -> RawChunk:
    features: Floats = np.column_stack(
        [
            _feature(batch, name, key, first_row, file, options)
            for name, key in zip(columns.feature_names, keys, strict=True)
        ]
    )
    targets: NDArray[Any] | None = None
    if columns.target is not None and options.target_kind != "none":
        name = columns.names[columns.target]
        if options.target_kind == "number":
            targets = _target_numbers(batch, name, first_row, file, options)
        else:
            targets = _labels(batch, name, first_row, file, options)
    weights = None
    if columns.weight is not None:
        weights = _weights(batch, columns.names[columns.weight], first_row, file, options)
    ids = None
    if columns.id is not None:
        name = columns.names[columns.id]
        _refuse_missing(batch.column(name), name, first_row, file)
        ids = np.array([str(value) for value in batch.column(name).to_pylist()], dtype=object)
    group_keys = None
    if columns.group is not None:
        name = columns.names[columns.group]
        texts = [word_of(value, frozenset()) for value in batch.column(name).to_pylist()]
        refuse_missing_groups(texts, name, options, lambda row: _place(file, first_row, row, name))
        group_keys = keys_of_texts([str(text) for text in texts])
    return RawChunk(
        features,
        targets,
        first_row,
        file,
        names=columns.feature_names
        if options.kinds is None
        else options.kinds.value_names(columns.feature_names),
        target_name=columns.target_name,
        ids=ids,
        group_keys=group_keys,
        weights=weights,
    )


def _feature(
    batch: Any, name: str, key: str, first_row: int, file: str, options: ReadOptions
) -> NDArray[Any]:
    kinds, column = options.kinds, batch.column(name)
    if kinds is None:
        return _numbers(batch, name, first_row, file)
    if kinds.unknown([key]):
        kinds.decide(key, column, from_text=False)
    if kinds.kinds[key] == "number" and is_number(column.type) and not column.null_count:
        found = _numbers(batch, name, first_row, file)
        if not np.isnan(found).any():
            return found
    return kinds.features([key], [column], [lambda row: _place(file, first_row, row, name)], batch.num_rows)


def _target_numbers(
    batch: Any, name: str, first_row: int, file: str, options: ReadOptions
) -> NDArray[np.float64]:
    kinds, column = options.kinds, batch.column(name)
    if kinds is None or not is_text(column.type):
        return _numbers(batch, name, first_row, file, is_target=True).astype(np.float64)
    kinds.target = name
    if kinds.unknown([name]):
        kinds.decide(name, column, from_text=True)
    na = options.na_of(name)
    missing = [row for row, text in enumerate(column.to_pylist()) if word_of(text, na) is None]
    if missing:
        error = missing_target(
            column[missing[0]].as_py() or "", _place(file, first_row, missing[0], name), is_label=False
        )
        options.refuse(name, error, len(missing))
    return kinds.target_numbers(column, lambda row: _place(file, first_row, row, name))


def _place(file: str, first_row: int, row: int, name: str) -> str:
    number = first_row + row
    return f"{file}, row {number} (index {number - 1}), column {name!r}"


def _refuse_missing(column: Any, name: str, first_row: int, file: str) -> None:
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        where = _place(file, first_row, row, name)
        raise InputError("the value is missing", where=where, hint=FILL_OR_DROP)


def _numbers(batch: Any, name: str, first_row: int, file: str, *, is_target: bool = False) -> NDArray[Any]:
    import pyarrow as pa

    column = batch.column(name)
    kind = column.type
    if pa.types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    if not is_number(kind):
        hint = "encode the column as numbers (one-hot) or leave it out"
        if is_target:
            hint = LABELS_OR_NUMBERS
        raise InputError(
            f"the column holds {kind}, not numbers", where=_place(file, first_row, 0, name), hint=hint
        )
    _refuse_missing(column, name, first_row, file)
    return numeric(in_numpy(column))


def _weights(batch: Any, name: str, first_row: int, file: str, options: ReadOptions) -> NDArray[np.float64]:
    """The weights (n,), NaN where one is missing, 1 where the column is refused and kept as a problem."""
    import pyarrow as pa

    column = batch.column(name)
    if is_number(column.type) or pa.types.is_decimal(column.type):
        return in_numpy(column.cast(pa.float64())).astype(np.float64)
    what, where = f"the column holds {column.type}, not numbers", _place(file, first_row, 0, name)
    error = InputError(what, where=where, hint="give --weight a column of numbers above 0")
    options.refuse(name, error, batch.num_rows)
    return np.ones(batch.num_rows)


def _labels(batch: Any, name: str, first_row: int, file: str, options: ReadOptions) -> NDArray[Any]:
    import pyarrow as pa

    column = batch.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        try:
            _refuse_missing(column, name, first_row, file)
        except InputError as problem:
            options.refuse(name, problem, column.null_count)
        known = column.drop_null()
        if not len(known):
            return np.full(len(column), "", dtype=object)
        column = column.fill_null(known[0])
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    elif is_text(column.type):
        words = np.array([word.strip() for word in column.to_pylist()], dtype=object)
        na = options.na_of(name, is_label=True) | {""}
        missing = [row for row, word in enumerate(words) if word in na]
        if missing:
            error = missing_target(words[missing[0]], _place(file, first_row, missing[0], name))
            options.refuse(name, error, len(missing))
        return words
    elif not is_number(column.type):
        raise InputError(
            f"the target column holds {column.type}, neither numbers nor text",
            where=_place(file, first_row, 0, name),
            hint="give --target COLUMN",
        )
    return in_numpy(column)
