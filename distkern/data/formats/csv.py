"""CSV and TSV with a header of column names, one of which is the target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.data.columns._arrow import in_one_piece, pa
from distkern.data.columns.number import decimal_of
from distkern.data.formats._columns import TableRows
from distkern.data.formats._header import TableHeader, begin, columns_of, decoded, first_row, split
from distkern.data.formats._lines import Ahead, in_utf8
from distkern.data.formats._rows import Dialect, RowBlock, row_blocks
from distkern.data.formats.base import CHUNK_BYTES, AbstractFormat, InputFile, RawChunk, ReadOptions

#: a possible decimal comma: anywhere, or inside quotation marks if the comma is the delimiter
_COMMA, _QUOTED_COMMA = re.compile(rb"\d,\d"), re.compile(rb'"[^"\n]*\d,\d')
_POINT = re.compile(rb"\d\.\d")
#: a byte order mark
_MARK = b"\xef\xbb\xbf"
#: rows after the header, and their bytes, from which the columns are inferred
_FIRST_ROWS, _FIRST_BYTES = 1000, 2**17


class Csv(AbstractFormat):
    """Delimited text; the target is the last column unless ``--target`` names another.

    The first line holds the column names. A first line with numbers counts as names only if these are 0, 1,
    2, ... or 1, 2, 3, ... (which libraries write for columns without names); any other is refused unless
    ``header`` is given, since a wrong guess would lose a row or invent one.

    Rows follow Python's csv module with ``strict=True``: a quotation mark that opens a field closes it at a
    delimiter or at the end of the row, or the file is refused. Fields in quotation marks may span lines; the
    number of such rows is noted. Blank lines are not rows, and are counted; in a file of one column they are
    rows with a missing value. Repeated header lines, as in concatenated files, are left out.
    """

    name: ClassVar[str] = "csv"
    extensions: ClassVar[tuple[str, ...]] = (".csv", ".tsv")
    is_text: ClassVar[bool] = True
    is_table: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = (
        *("target", "drop_missing_target", "header", "delimiter", "decimal", "encoding"),
        *("no_quotes", "escape", "comment", "skip_lines"),
    )

    @classmethod
    def example(cls, path: Path, features: NDArray[Any], targets: NDArray[Any] | None) -> None:
        names = [f"x{i}" for i in range(features.shape[1])]
        rows = [[repr(value) for value in row] for row in features.tolist()]
        if targets is not None:
            names.append("y")
            rows = [[*row, str(target)] for row, target in zip(rows, targets, strict=True)]
        path.write_text("".join(",".join(row) + "\n" for row in [names, *rows]), encoding="utf-8")

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        header: TableHeader | None = None
        layout: _LineLayout | None = None
        next_row = 1
        with file.open() as raw:
            stream = Ahead(in_utf8(raw, file.url, options.encoding))
            dialect, line = begin(stream, file.url, options)
            for block in row_blocks(stream, file.url, dialect, first_line=line):
                options.notes.comments += block.n_comments
                if header is None:
                    header, block = first_row(block, file.url, dialect, options)
                    if header is None:
                        continue
                if layout is None and len(block.ends):
                    layout = _LineLayout(file, dialect, header, block, options)
                if layout is None or not len((block := layout.rows_of(block)).ends):
                    continue
                layout.decide(block, next_row)
                for piece in layout.pieces(block):
                    yield layout.chunk(piece, next_row)
                    next_row += len(piece.ends)


class _LineLayout:
    """How the lines of one file become rows."""

    def __init__(
        self, file: InputFile, dialect: Dialect, header: TableHeader, block: RowBlock, options: ReadOptions
    ) -> None:
        self.file, self.dialect, self.options = file.url, dialect, options
        few = int(np.searchsorted(block.ends, _FIRST_BYTES)) + 1
        first = block.part(0, min(few, _FIRST_ROWS))
        rows = split([text.decode("utf-8", "replace") for text in first.contents()], dialect, header.where)
        keys = [key.name for key in file.keys]
        self.columns, self.odd = columns_of(header, rows, first.lines.tolist(), options, keys)
        self.is_label = options.target_kind == "label"
        self.kinds = options.kinds
        self.decimal = options.decimal
        self.rows = TableRows(
            file.url, self.columns, options, from_text=True, has_header=header.is_named, folder_keys=file.keys
        )
        self.keys, self.target = self.rows.keys, self.rows.target
        if self.kinds is not None and self.target is not None and not self.is_label:
            self.kinds.target = self.columns.target_name
        self.header, self.is_named = header.text, header.is_named
        self.width = self.columns.n_own
        # Arrow skips blank lines, and reads a column as one type only
        self.is_single = self.width == 1
        columns = self.columns
        read_twice = columns.id is not None and columns.id in (self.target, *columns.features)
        self.is_plain = not self.is_single and not read_twice
        self.no_values = dialect.mark.encode() * (self.width - 1)

    def pieces(self, block: RowBlock) -> Iterator[RowBlock]:
        """Yield complete rows in pieces of bounded size."""
        width = len(self.rows.names)
        if width == len(self.keys):
            yield block
            return
        step = max(1, CHUNK_BYTES // (8 * width))
        for start in range(0, len(block.ends), step):
            yield block.part(start, start + step)

    def chunk(self, block: RowBlock, first_row: int) -> RawChunk:
        """Return the rows of a block."""
        arrays = self._typed(block) or self._words(block, first_row)
        self._refuse_odd(arrays, block, first_row)
        self.rows.decide(arrays)
        return self.rows.chunk(arrays, first_row, block.lines)

    def rows_of(self, block: RowBlock) -> RowBlock:
        """Return the lines of a block that are rows; count other lines, and rows of several lines."""
        notes = self.options.notes
        if self.header in block.text and self.is_named:
            again = [text.removeprefix(_MARK).rstrip(b"\r\n") == self.header for text in block.contents()]
            if self.is_single and any(again):
                line = block.lines[again.index(True)]
                what = "the column name is repeated"
                raise InputError(what, where=f"{self.file}, line {line}", hint="remove the line")
            notes.repeated_headers += sum(again)
            block = block.without(np.array(again, dtype=bool))
        if not self.is_single:
            blank = block.blank
            notes.blank_lines += int(np.count_nonzero(blank))
            block = block.without(blank)
            ends = [self.no_values + end for end in (b"\n", b"\r\n")]
            is_there = any(block.text.startswith(end) or b"\n" + end in block.text for end in ends)
            if self.target is not None and is_there:
                mark = self.dialect.mark.encode()
                empty = np.array([not text.strip(mark + b"\r\n") for text in block.contents()], dtype=bool)
                notes.empty_rows += int(np.count_nonzero(empty))
                block = block.without(empty)
        lengths = block.last_lines - block.lines + 1
        is_long = lengths > 1
        if is_long.any():
            notes.long_rows += int(np.count_nonzero(is_long))
            at = int(lengths.argmax())
            place = f"{self.file}, lines {block.lines[at]} to {block.last_lines[at]}"
            notes.longest = max(notes.longest, (int(lengths[at]), place), key=lambda one: one[0])
        return block

    def _refuse_odd(self, arrays: list[Any], block: RowBlock, first_row: int) -> None:
        """Refuse a value in a column that was left out as empty or as a copy."""
        words = self._words(block, first_row) if self.odd.copies else arrays
        for at, other in [*((at, None) for at in self.odd.empty), *self.odd.copies]:
            values = [(word or "").strip() for word in words[at].to_pylist()]
            wanted = [""] * len(values)
            if other is not None:
                wanted = [(word or "").strip() for word in words[other].to_pylist()]
            if values == wanted:
                continue
            row = next(row for row, value in enumerate(values) if value != wanted[row])
            what = f"column {at + 1} has no name, and the value {values[row][:60]!r}"
            if other is not None:
                what = (
                    f"columns {other + 1} and {at + 1} are both named {self.columns.names[at]!r}, and differ"
                )
            raise InputError(
                what,
                where=f"{self.file}, row {first_row + row} (line {block.lines[row]})",
                hint=f"name the column if it is a feature, or leave it out with --drop {at}",
            )

    def decide(self, block: RowBlock, first_row: int) -> None:
        """Decide the file's decimal mark and the kinds of new columns."""
        named = zip(self.keys, self.columns.features, strict=True)
        wanted = {key: at for key, at in named if at < self.width}
        if self.kinds is None:
            self.decimal = self.decimal or "."
            return
        if self.kinds.target is not None and self.target is not None and self.target < self.width:
            wanted[self.kinds.target] = self.target
        unknown = self.kinds.unknown(wanted)
        # columns without values so far are decided later, see chunk()
        unknown = unknown if first_row == 1 else []
        if self.decimal is not None and first_row > 1:
            return
        looks = self.decimal is None and (self._has_commas(block.text) or self.kinds.usual_decimal == ",")
        columns = {}
        if looks or unknown:
            words = self._words(block, first_row)
            columns = {key: words[at] for key, at in wanted.items()}
        if looks:
            self.decimal = self._decimal(columns)
        elif self.decimal is None and b"." in block.text and _POINT.search(block.text):
            # a later comma separates thousands
            self.decimal = "."
        if first_row == 1 or self.decimal is not None:
            self.kinds.note_form(self.file, self.dialect.delimiter, self.decimal)
        for key in unknown:
            self.kinds.decide(key, columns[key], from_text=True)

    def _has_commas(self, text: bytes) -> bool:
        if self.dialect.delimiter == ",":
            return b'"' in text and _QUOTED_COMMA.search(text) is not None
        return _COMMA.search(text) is not None

    def _typed(self, block: RowBlock) -> list[Any] | None:
        """Return the columns by Arrow; None if anything is unusual, or a target or weight is missing."""
        arrays = self._arrays(block)
        needed = [at for at in (self.target, self.columns.weight) if at is not None and at < self.width]
        return None if arrays is None or any(arrays[at].null_count for at in needed) else arrays

    def _words(self, block: RowBlock, first_row: int) -> list[Any]:
        """Return the columns as texts, by Arrow or, to report errors with their place, field by field."""
        arrays = self._arrays(block, as_words=True)
        if arrays is not None:
            return arrays
        fields = self._fields(block, first_row)
        return [pa.array([row[at] for row in fields], pa.string()) for at in range(self.width)]

    def _decimal(self, columns: Mapping[str, Any]) -> str | None:
        assert self.kinds is not None
        words = {word.strip() for column in columns.values() for word in column.unique().to_pylist() if word}
        found, is_open = decimal_of(sorted(words))
        found = found or self.kinds.usual_decimal
        if found is None and is_open and self.dialect.delimiter != ",":
            raise InputError(
                "no number shows whether commas are decimal marks or thousands separators",
                where=self.file,
                hint="give --decimal , or --decimal .",
            )
        return found or ("." if is_open else None)

    def _arrays(self, block: RowBlock, *, as_words: bool = False) -> list[Any] | None:
        """Return the wanted columns by Arrow, None for others; or None if anything is unusual.

        ``as_words``: numbers as texts too.
        """
        from pyarrow import csv as arrow_csv

        if not self.is_plain:
            return None
        words = pa.dictionary(pa.int32(), pa.string())
        numbers = words if as_words else pa.float64()
        types: dict[str, Any] = {}
        for key, at in zip(self.keys, self.columns.features, strict=True):
            types[str(at)] = numbers if self.kinds is None or self.kinds.is_numeric_column(key) else words
            if self.kinds is not None and not self.kinds.recurs(key):
                types[str(at)] = pa.string()
        if self.target is not None:
            is_numeric = self.kinds is None or self.kinds.is_numeric_column(str(self.columns.target_name))
            types[str(self.target)] = words if self.is_label or not is_numeric else numbers
        if self.columns.weight is not None:
            types[str(self.columns.weight)] = pa.string() if as_words else pa.float64()
        more = [self.columns.id, self.columns.group, *self.odd.empty]
        if as_words:
            more += [at for pair in self.odd.copies for at in pair]
        types = dict.fromkeys((str(at) for at in more if at is not None), pa.string()) | types
        types = {at: of for at, of in types.items() if int(at) < self.width}
        text, escape = block.text, self.dialect.escape
        is_escaped = escape is not None and escape.encode() in text
        nulls = (
            []
            if self.kinds is None
            else [space + word for word in sorted(self.kinds.na_of("")) for space in ("", " ")]
        )
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(text),
                read_options=arrow_csv.ReadOptions(
                    column_names=[str(at) for at in range(self.width)],
                    use_threads=False,
                    block_size=len(text) + 1,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.dialect.mark,
                    quote_char='"' if self.dialect.quotes else False,
                    escape_char=escape or False,
                    newlines_in_values=is_escaped or b'"' in text,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    null_values=nulls,
                    strings_can_be_null=False,
                    decimal_point=self.decimal or ".",
                ),
            )
        except pa.ArrowInvalid:
            return None
        if table.num_rows != len(block.ends):
            return None
        names = map(str, range(self.width))
        return [in_one_piece(table[name]) if name in types else None for name in names]

    def _fields(self, block: RowBlock, first_row: int) -> list[list[str]]:
        """Return the fields of every row, split one by one to report errors with their place."""
        rows: list[list[str]] = []
        for line, content in zip(block.lines.tolist(), block.contents(), strict=True):
            where = f"{self.file}, row {first_row + len(rows)} (line {line})"
            (fields,) = split([decoded(content, where)], self.dialect, where)
            fields = fields or [""]
            if len(fields) != self.width:
                hint = f"correct the row (fields are separated by {self.dialect.mark!r}"
                hint += ", and quotation marks hold several lines together" * (b"\n" in content[:-1])
                hint += ", and a carriage return alone ends a row" * block.has_returns
                what = f"the row has {len(fields)} fields and the header {self.width}"
                raise InputError(what, where=where, hint=f"{hint})")
            rows.append(fields)
        return rows
