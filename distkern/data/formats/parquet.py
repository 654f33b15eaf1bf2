"""Parquet: columns by name, one of them the target."""

from __future__ import annotations

from collections.abc import Iterator
from os import SEEK_END
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.data.columns._arrow import in_text, pa
from distkern.data.formats._columns import TableRows, choose_columns
from distkern.data.formats.base import (
    CHUNK_BYTES,
    AbstractFormat,
    InputFile,
    RawChunk,
    ReadOptions,
    first_line,
)


class Parquet(AbstractFormat):
    """Parquet tables; the target is the last column unless ``--target`` names another.

    A row index that pandas stored as a column is not a feature and is left out. Bytes are texts in UTF-8.
    """

    name: ClassVar[str] = "parquet"
    extensions: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    is_table: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("target", "drop_missing_target")

    @classmethod
    def example(cls, path: Path, features: NDArray[Any], targets: NDArray[Any] | None) -> None:
        from pyarrow import parquet

        columns = {f"x{i}": features[:, i] for i in range(features.shape[1])}
        parquet.write_table(pa.table(columns if targets is None else {**columns, "y": targets}), path)

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        from pyarrow import parquet

        with file.open() as stream:
            try:
                if not stream.seek(0, SEEK_END):
                    return
                table = parquet.ParquetFile(stream, page_checksum_verification=True)
                described = table.schema_arrow.pandas_metadata or {}
                index = {name for name in described.get("index_columns", ()) if isinstance(name, str)}
                said = {options.id, options.target, options.group, options.weight}
                names = [
                    name
                    for name in table.schema_arrow.names
                    if not (name in index or name.startswith("__index_level_")) or name in said
                ]
                if not table.metadata.num_rows:
                    return
                keys = [key.name for key in file.keys]
                columns = choose_columns(names, where=file.url, options=options, keys=keys)
                rows = TableRows(file.url, columns, options, from_text=False, folder_keys=file.keys)
                others = (columns.target, columns.id, columns.weight, columns.group)
                used = {*columns.features, *(at for at in others if at is not None)}
                width = len(names) if options.kinds is None else len(options.kinds.value_names(names))
                size, first_row = max(1, CHUNK_BYTES // (8 * width)), 1
                for batch in table.iter_batches(batch_size=size, columns=names, use_threads=False):
                    if not batch.num_rows:
                        continue
                    arrays = [
                        in_text(column, f"{file.url}, column {name!r}") if at in used else column
                        for at, (name, column) in enumerate(zip(names, batch.columns, strict=True))
                    ]
                    rows.decide(arrays)
                    yield rows.chunk(arrays, first_row)
                    first_row += batch.num_rows
            except (pa.ArrowException, pa.ArrowKeyError, UnicodeDecodeError) as error:
                raise InputError(
                    f"not a readable Parquet file ({first_line(error)})",
                    where=file.url,
                    hint="write the file again",
                ) from error
