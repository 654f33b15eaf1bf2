"""CSV and TSV with a header line that names the columns; one of them is the target."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.formats._arrow import in_one_piece
from distkern.formats._columns import Columns, TableRows, choose_columns
from distkern.formats._lines import LineBlock, in_utf8, line_blocks, parse_number, row_ends
from distkern.formats._texts import decimal_of
from distkern.formats.base import CHUNK_BYTES, AbstractFormat, InputFile, RawChunk, ReadOptions

_DELIMITERS = (",", "\t", ";", "|")
#: what may be a decimal comma: outside quotation marks where the comma is no delimiter, else inside
_COMMA, _QUOTED_COMMA = re.compile(rb"\d,\d"), re.compile(rb'"[^"\n]*\d,\d')
_POINT = re.compile(rb"\d\.\d")
_NOT_UTF8 = "save the file as UTF-8, or give --encoding, which is cp1252 for most of Western Europe"
#: of a file, to tell the delimiter by
_FIRST_LINES = 20


class Csv(AbstractFormat):
    """Delimited text; the target is the last column unless ``--target`` names another.

    The first line names the columns. A first line with numbers in it is taken for names only where those are
    0, 1, 2, ... or 1, 2, 3, ... (what libraries write for columns without names); any other is refused unless
    ``header`` says what it is, because guessing wrong would lose a row or invent one.

    A row may go over several lines, in fields between quotation marks. A blank line is no row, and is
    counted; in a file of one column it is a row whose value is missing. So is the line of the names where it
    comes again, as in files that were put together.
    """

    name: ClassVar[str] = "csv"
    extensions: ClassVar[tuple[str, ...]] = (".csv", ".tsv")
    is_text: ClassVar[bool] = True
    is_table: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("target", "header", "delimiter", "decimal", "encoding")

    @classmethod
    def example(cls, path: Path, features: NDArray[Any], targets: NDArray[Any] | None) -> None:
        names = [f"x{i}" for i in range(features.shape[1])]
        rows = [[repr(value) for value in row] for row in features.tolist()]
        if targets is not None:
            names.append("y")
            rows = [[*row, str(target)] for row, target in zip(rows, targets, strict=True)]
        path.write_text("".join(",".join(row) + "\n" for row in [names, *rows]), encoding="utf-8")

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        layout: _LineLayout | None = None
        first_row, n_repeated = 1, 0
        with file.open() as stream:
            for block in line_blocks(in_utf8(stream, file.url, options.encoding), file.url, quoted=True):
                _check_characters(block, file.url)
                if layout is None:
                    if not block.text.strip():
                        continue
                    layout, block = _read_header(block, file.url, options)
                block, n_blanked = layout.without_headers(block)
                n_repeated += n_blanked
                layout.decide(block, first_row)
                for piece in layout.pieces(block):
                    chunk = layout.chunk(piece, first_row)
                    if chunk is None:
                        continue
                    n_there = min(n_blanked, chunk.blank_lines)
                    n_blanked -= n_there
                    n_blank = chunk.blank_lines - n_there
                    yield replace(chunk, blank_lines=n_blank, repeated_headers=n_repeated)
                    first_row, n_repeated = first_row + chunk.n_rows, 0


def _check_characters(block: LineBlock, file: str) -> None:
    text = block.text
    if text.count(b"\r") != text.count(b"\r\n"):
        line = block.first_line + text[: text.replace(b"\r\n", b"  ").index(b"\r")].count(b"\n")
        raise InputError(
            "a carriage return stands inside the line",
            where=f"{file}, line {line}",
            hint="end lines with newlines",
        )


def _decode(text: bytes, where: str) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", where=where, hint=_NOT_UTF8) from error


def _fields(line: str, delimiter: str, where: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error as error:
        if "new-line" in str(error):
            # marks inside two fields were taken for the ends of one
            raise InputError(
                "a quotation mark stands inside a field that none are around",
                where=where,
                hint="put the field between quotation marks, and double those inside it",
            ) from error
        raise InputError(f"not a row of fields ({error})", where=where, hint="correct the line") from error


def _read_header(block: LineBlock, file: str, options: ReadOptions) -> tuple[_LineLayout, LineBlock]:
    """What the first row that is not blank says, and the block without it (with it, if it is a row)."""
    blank = len(block.text) - len(block.text.lstrip(b"\r\n"))
    end = blank + int(row_ends(block.text[blank:])[0]) + 1
    line = block.first_line + block.text[:blank].count(b"\n")
    where = f"{file}, line {line}"
    text = _decode(block.text[blank:end].rstrip(b"\r\n"), where)
    delimiter = options.delimiter or _delimiter(block.text[blank:], file)
    fields = [field.strip() for field in _fields(text, delimiter, where)]
    has_header = options.header
    if has_header is None:
        has_header = _is_header(fields, where, None if options.kinds is None else options.kinds.has_header)
    if has_header:
        names: Sequence[str] = fields
        header = block.text[blank:end].rstrip(b"\r\n")
        block = LineBlock(block.text[end:], line + block.text[blank:end].count(b"\n"))
    else:
        names, header = [str(position) for position in range(len(fields))], b""
    columns = choose_columns(names, where=where, options=options, has_header=has_header)
    return _LineLayout(file, delimiter, columns, options, header), block


def _delimiter(text: bytes, file: str) -> str:
    """What stands between the fields of a file: as often in the first lines as in the first of them, outside
    quotation marks; else what stands in that."""
    usual = "\t" if re.search(r"\.tsv(\.\w+)?$", file.lower()) else ","
    lines = re.sub(rb'"[^"]*"', b"", text[: int(row_ends(text)[0]) + 2**16])
    # lines of nothing but quoted fields are empty by now
    filled = [line for line in lines.split(b"\n")[:-1] if line.strip()]
    first, *others = filled[:_FIRST_LINES] or [b""]
    there = [mark for mark in dict.fromkeys((usual, *_DELIMITERS)) if mark.encode() in first]
    alike = [
        mark
        for mark in there
        if all(line.count(mark.encode()) == first.count(mark.encode()) for line in others)
    ]
    return next(iter(alike or there), usual)


def _is_header(fields: Sequence[str], where: str, by_words: bool | None) -> bool:
    """Whether a line names the columns; ``by_words``: of columns without names, if it has words alone."""
    numeric = [field for field in fields if parse_number(field) is not None]
    if by_words is not None:
        return by_words and not numeric
    if not numeric:
        return True
    counted = [[str(first + step) for step in range(len(numeric))] for first in (0, 1)]
    if len(numeric) > 1 and numeric in counted:
        return True
    raise InputError(
        f"the first line holds numbers ({numeric[0]!r}), so it may be a row and not the names of the columns",
        where=where,
        hint="give --no-header if it is a row, --header if it is not",
    )


class _LineLayout:
    """How the lines of one file become rows."""

    def __init__(
        self, file: str, delimiter: str, columns: Columns, options: ReadOptions, header: bytes
    ) -> None:
        self.file = file
        self.delimiter = delimiter
        self.columns = columns
        self.is_label = options.target_kind == "label"
        self.kinds = options.kinds
        self.decimal = options.decimal
        self.rows = TableRows(file, columns, options, from_text=True, has_header=bool(header))
        self.header = header
        self.keys, self.target = self.rows.keys, self.rows.target
        if self.kinds is not None and self.target is not None and not self.is_label:
            self.kinds.target = columns.target_name
        # Arrow skips a blank line, and reads a column in one way
        self.is_single = len(columns.names) == 1
        read_twice = columns.id is not None and columns.id in (self.target, *columns.features)
        self.is_plain = not self.is_single and not read_twice

    def without_headers(self, block: LineBlock) -> tuple[LineBlock, int]:
        """A block whose lines of names are blank, and how many these are."""
        if not self.header or self.header not in block.text:
            return block, 0
        again = re.compile(rb"^(?:\xef\xbb\xbf)?" + re.escape(self.header) + rb"(?=\r?$)", re.MULTILINE)
        # a line that goes on from a quoted field is none
        starts = {0, *(row_ends(block.text) + 1).tolist()}
        found = [match for match in again.finditer(block.text) if match.start() in starts]
        if found and self.is_single:
            line = block.first_line + block.text.count(b"\n", 0, found[0].start())
            raise InputError(
                "the name of the column comes again",
                where=f"{self.file}, line {line}",
                hint="remove the line",
            )
        text = bytearray(block.text)
        for match in reversed(found):
            del text[match.start() : match.end()]
        return LineBlock(bytes(text), block.first_line), len(found)

    def pieces(self, block: LineBlock) -> Iterator[LineBlock]:
        """Whole lines in pieces whose numbers are few enough."""
        width = len(self.rows.names)
        if width == len(self.keys):
            yield block
            return
        step = max(1, CHUNK_BYTES // (8 * width))
        cuts = [*(row_ends(block.text)[step - 1 :: step] + 1).tolist(), len(block.text)]
        line = block.first_line
        for start, stop in pairwise(dict.fromkeys([0, *cuts])):
            yield LineBlock(block.text[start:stop], line)
            line += block.text.count(b"\n", start, stop)

    def chunk(self, block: LineBlock, first_row: int) -> RawChunk | None:
        """The rows of whole lines, None if all are blank."""
        lines, n_blank = _lines_of_rows(block, blank=self.is_single)
        if not lines.size:
            return None
        arrays = self._typed(block.text, len(lines)) or self._words(block, len(lines), first_row)
        self.rows.decide(arrays)
        return self.rows.chunk(arrays, first_row, lines, blank_lines=n_blank)

    def decide(self, block: LineBlock, first_row: int) -> None:
        """What stands before decimals in the file, and what columns hold that are met for the first time."""
        wanted = dict(zip(self.keys, self.columns.features, strict=True))
        if self.kinds is None:
            self.decimal = self.decimal or "."
            return
        if self.kinds.target is not None and self.target is not None:
            wanted[self.kinds.target] = self.target
        unknown = self.kinds.unknown(wanted)
        # columns in which nothing was yet are decided as they are read, see chunk()
        unknown = unknown if first_row == 1 else []
        if self.decimal is not None and first_row > 1:
            return
        looks = self.decimal is None and (self._has_commas(block.text) or self.kinds.usual_decimal == ",")
        columns = {}
        if looks or unknown:
            words = self._words(block, len(_lines_of_rows(block)[0]), first_row)
            columns = {key: words[at] for key, at in wanted.items()}
        if looks:
            self.decimal = self._decimal(columns)
        elif self.decimal is None and b"." in block.text and _POINT.search(block.text):
            # a comma that comes later stands between thousands
            self.decimal = "."
        if first_row == 1 or self.decimal is not None:
            self.kinds.tell_form(self.file, self.delimiter, self.decimal)
        for key in unknown:
            self.kinds.decide(key, columns[key], from_text=True)

    def _has_commas(self, text: bytes) -> bool:
        if self.delimiter == ",":
            return b'"' in text and _QUOTED_COMMA.search(text) is not None
        return _COMMA.search(text) is not None

    def _typed(self, text: bytes, n_rows: int) -> list[Any] | None:
        """The columns by Arrow, or None if anything at all is unusual, or a target or weight is missing."""
        arrays = self._arrays(text, n_rows)
        needed = [at for at in (self.target, self.columns.weight) if at is not None]
        return None if arrays is None or any(arrays[at].null_count for at in needed) else arrays

    def _words(self, block: LineBlock, n_rows: int, first_row: int) -> list[Any]:
        """The columns as texts: by Arrow or, to say what is wrong and where, field by field."""
        import pyarrow as pa

        arrays = self._arrays(block.text, n_rows, as_words=True)
        if arrays is not None:
            return arrays
        fields = self._fields(block, first_row)
        return [pa.array([row[at] for row in fields], pa.string()) for at in range(len(self.columns.names))]

    def _decimal(self, columns: Mapping[str, Any]) -> str | None:
        assert self.kinds is not None
        words = {word.strip() for column in columns.values() for word in column.unique().to_pylist() if word}
        found, is_open = decimal_of(sorted(words))
        found = found or self.kinds.usual_decimal
        if found is None and is_open and self.delimiter != ",":
            raise InputError(
                "whether commas in numbers stand before decimals or between thousands is told by no number",
                where=self.file,
                hint="give --decimal , or --decimal .",
            )
        return found or ("." if is_open else None)

    def _arrays(self, text: bytes, n_rows: int, *, as_words: bool = False) -> list[Any] | None:
        """The columns that are wanted, None for others, by Arrow; or None if anything at all is unusual.

        ``as_words``: numbers too are texts.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        if not self.is_plain:
            return None
        words = pa.dictionary(pa.int32(), pa.string())
        numbers = words if as_words else pa.float64()
        types: dict[str, Any] = {}
        for key, at in zip(self.keys, self.columns.features, strict=True):
            types[str(at)] = numbers if self.kinds is None or self.kinds.is_mere_number(key) else words
            if self.kinds is not None and self.kinds.kinds.get(key) == "text":
                types[str(at)] = pa.string()
        if self.target is not None:
            is_mere = self.kinds is None or self.kinds.is_mere_number(str(self.columns.target_name))
            types[str(self.target)] = words if self.is_label or not is_mere else numbers
        if self.columns.weight is not None:
            types[str(self.columns.weight)] = pa.string() if as_words else pa.float64()
        for column in (self.columns.id, self.columns.group):
            if column is not None:
                types[str(column)] = pa.string()
        nulls = (
            []
            if self.kinds is None
            else [space + word for word in sorted(self.kinds.na_of("")) for space in ("", " ")]
        )
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(text),
                read_options=arrow_csv.ReadOptions(
                    column_names=[str(at) for at in range(len(self.columns.names))],
                    use_threads=False,
                    block_size=len(text) + 1,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=b'"' in text
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
        if table.num_rows != n_rows:
            return None
        names = map(str, range(len(self.columns.names)))
        return [in_one_piece(table[name]) if name in types else None for name in names]

    def _fields(self, block: LineBlock, first_row: int) -> list[list[str]]:
        """The fields of every row, field by field: says what is wrong and where."""
        rows: list[list[str]] = []
        lines, _ = _lines_of_rows(block, blank=True)
        cuts = pairwise([0, *(row_ends(block.text) + 1).tolist()])
        for line, (start, stop) in zip(lines, cuts, strict=True):
            content = block.text[start:stop].rstrip(b"\r\n")
            if not content and not self.is_single:
                continue
            where = f"{self.file}, row {first_row + len(rows)} (line {line})"
            fields = _fields(_decode(content, where), self.delimiter, where) or [""]
            if len(fields) != len(self.columns.names):
                raise InputError(
                    f"the row has {len(fields)} fields and the header {len(self.columns.names)}",
                    where=where,
                    hint=f"correct the row (fields are separated by {self.delimiter!r}"
                    + (", and quotation marks hold several lines together)" if b"\n" in content else ")"),
                )
            rows.append(fields)
        return rows


def _lines_of_rows(block: LineBlock, *, blank: bool = False) -> tuple[NDArray[np.int64], int]:
    """The lines on which rows begin, and how many lines are left out: those that are blank, unless these are
    rows too."""
    characters = np.frombuffer(block.text, np.uint8)
    ends, newlines = row_ends(block.text), np.flatnonzero(characters == ord("\n"))
    starts = np.concatenate(([0], ends[:-1] + 1)) if ends.size else ends
    lines = np.searchsorted(newlines, starts) + block.first_line
    if blank:
        return lines, 0
    length = ends - starts
    is_blank = (length == 0) | (
        (length == 1) & (characters[np.minimum(starts, characters.size - 1)] == ord("\r"))
    )
    return lines[~is_blank], int(np.count_nonzero(is_blank))
