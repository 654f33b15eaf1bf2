"""CSV and TSV with a header line that names the columns; one of them is the target."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.groups import keys_of_texts
from distkern.common.types import Floats
from distkern.formats._columns import Columns, choose_columns
from distkern.formats._kinds import MISSING, in_numpy, in_one_piece
from distkern.formats._lines import LineBlock, line_blocks, parse_number
from distkern.formats.base import (
    FILL_OR_DROP,
    LABELS_OR_NUMBERS,
    AbstractFormat,
    InputFile,
    RawChunk,
    ReadOptions,
    missing_target,
    refuse_missing_groups,
)

#: features, targets, and by name what else a chunk has of each row
_Parsed: TypeAlias = tuple[Floats, NDArray[Any] | None, dict[str, Any]]
_DELIMITERS = (",", "\t", ";")


class Csv(AbstractFormat):
    """Delimited text; the target is the last column unless ``--target`` names another.

    The first line names the columns. A first line with numbers in it is taken for names only where those are
    0, 1, 2, ... or 1, 2, 3, ... (what libraries write for columns without names); any other is refused unless
    ``header`` says what it is, because guessing wrong would lose a row or invent one.

    A blank line is no row, and is counted; in a file of one column it is a row whose value is missing.
    """

    name: ClassVar[str] = "csv"
    extensions: ClassVar[tuple[str, ...]] = (".csv", ".tsv")
    is_text: ClassVar[bool] = True
    is_table: ClassVar[bool] = True

    @classmethod
    def example(cls, path: Path, features: NDArray[Any], targets: NDArray[Any] | None) -> None:
        names = [f"x{i}" for i in range(features.shape[1])]
        rows = [[repr(value) for value in row] for row in features.tolist()]
        if targets is not None:
            names.append("y")
            rows = [[*row, str(target)] for row, target in zip(rows, targets, strict=True)]
        path.write_text("".join(",".join(row) + "\n" for row in [names, *rows]), encoding="utf-8")

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        layout: _Layout | None = None
        first_row = 1
        with file.open() as stream:
            for block in line_blocks(stream, file.url):
                _check_characters(block, file.url)
                if layout is None:
                    if not block.text.strip():
                        continue
                    layout, block = _read_header(block, file.url, options)
                features, targets, beside, lines = layout.parse(block, first_row)
                if len(features):
                    yield RawChunk(
                        features,
                        targets,
                        first_row,
                        file.url,
                        lines=lines,
                        names=layout.columns.feature_names,
                        target_name=layout.columns.target_name,
                        has_header=layout.has_header,
                        **beside,
                        blank_lines=block.text.count(b"\n") - len(lines),
                    )
                    first_row += len(features)


def _check_characters(block: LineBlock, file: str) -> None:
    text = block.text
    if text.count(b"\r") != text.count(b"\r\n"):
        line = block.first_line + text[: text.replace(b"\r\n", b"  ").index(b"\r")].count(b"\n")
        raise InputError(
            "a carriage return stands inside the line",
            where=f"{file}, line {line}",
            mend="end lines with newlines",
        )
    if b'"' in text:
        for number, line_text in enumerate(text.split(b"\n"), start=block.first_line):
            if line_text.count(b'"') % 2:
                raise InputError(
                    "a quotation mark is not closed on the line",
                    where=f"{file}, line {number}",
                    mend="keep each row on one line and double the quotation marks inside a quoted field",
                )


def _decode(text: bytes, where: str) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", where=where, mend="save the file as UTF-8") from error


def _fields(line: str, delimiter: str, where: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error as error:
        raise InputError(f"not a row of fields ({error})", where=where, mend="correct the line") from error


def _read_header(block: LineBlock, file: str, options: ReadOptions) -> tuple[_Layout, LineBlock]:
    """What the first line that is not blank says, and the block without it (with it, if it is a row)."""
    blank = len(block.text) - len(block.text.lstrip(b"\r\n"))
    end = block.text.index(b"\n", blank) + 1
    line = block.first_line + block.text[:blank].count(b"\n")
    where = f"{file}, line {line}"
    text = _decode(block.text[blank:end].rstrip(b"\r\n"), where)
    delimiter = "\t" if re.search(r"\.tsv(\.\w+)?$", file.lower()) else ","
    # a name may have one in it
    outside = re.sub(r'"[^"]*"', "", text)
    if delimiter not in outside:
        delimiter = next((mark for mark in _DELIMITERS if mark in outside), delimiter)
    fields = [field.strip() for field in _fields(text, delimiter, where)]
    has_header = _is_header(fields, where) if options.header is None else options.header
    if has_header:
        names: Sequence[str] = fields
        block = LineBlock(block.text[end:], line + 1)
    else:
        names = [str(position) for position in range(len(fields))]
    columns = choose_columns(names, where=where, options=options, has_header=has_header)
    return _Layout(file, delimiter, columns, options, has_header), block


def _is_header(fields: Sequence[str], where: str) -> bool:
    numeric = [field for field in fields if parse_number(field) is not None]
    if not numeric:
        return True
    counted = [[str(first + step) for step in range(len(numeric))] for first in (0, 1)]
    if len(numeric) > 1 and numeric in counted:
        return True
    raise InputError(
        f"the first line holds numbers ({numeric[0]!r}), so it may be a row and not the names of the columns",
        where=where,
        mend="give --no-header if it is a row, --header if it is not",
    )


class _Layout:
    """How the lines of one file become rows."""

    def __init__(
        self, file: str, delimiter: str, columns: Columns, options: ReadOptions, has_header: bool
    ) -> None:
        self.file = file
        self.has_header = has_header
        self.delimiter = delimiter
        self.columns = columns
        self.target = None if options.target_kind == "none" else columns.target
        self.is_label = options.target_kind == "label"
        self.kinds = options.kinds
        self.na = MISSING if options.kinds is None else options.kinds.na
        self.keys = columns.feature_names
        if self.kinds is not None:
            self.keys = self.kinds.keys(self.keys, has_header=has_header, file=file)
        # Arrow skips a blank line, and reads a column in one way
        self.is_single = len(columns.names) == 1
        read_twice = columns.id is not None and columns.id in (self.target, *columns.features)
        self.is_plain = not self.is_single and not read_twice

    def parse(self, block: LineBlock, first_row: int) -> tuple[*_Parsed, NDArray[np.int64]]:
        """Features (n, d) float64, targets (n,) str objects or float64, what else there is, line numbers."""
        lines = block.first_line + np.arange(block.text.count(b"\n"))
        if not self.is_single:
            lines = _filled_lines(block)
        if not lines.size:
            return np.zeros((0, len(self.columns.features))), None, {}, lines
        if self.kinds is not None and self.kinds.unknown(self.keys):
            self._decide(block, lines, first_row)
        fast = self._parse_fast(block.text, lines, first_row)
        if fast is None:
            return *self._parse_slowly(block, lines, first_row), lines
        return *fast, lines

    def _decide(self, block: LineBlock, lines: NDArray[np.int64], first_row: int) -> None:
        """What the columns hold that are met for the first time."""
        import pyarrow as pa

        assert self.kinds is not None
        table = self._table(block.text, len(lines))
        fields = None if table is not None else self._fields(block, first_row)
        for key, at in zip(self.keys, self.columns.features, strict=True):
            if self.kinds.unknown([key]):
                texts = pa.array(row[at] for row in fields) if fields else in_one_piece(table[str(at)])
                self.kinds.decide(key, texts, from_text=True)

    def _table(self, text: bytes, n_rows: int) -> Any:
        """The columns that are wanted, by Arrow, or None if anything at all is unusual."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        if not self.is_plain:
            return None
        words = pa.dictionary(pa.int32(), pa.string())
        types: dict[str, Any] = {}
        for key, at in zip(self.keys, self.columns.features, strict=True):
            is_number = self.kinds is None or self.kinds.kinds.get(key) == "number"
            types[str(at)] = pa.float64() if is_number else words
        if self.target is not None:
            types[str(self.target)] = words if self.is_label else pa.float64()
        if self.columns.weight is not None:
            types[str(self.columns.weight)] = pa.float64()
        for column in (self.columns.id, self.columns.group):
            if column is not None:
                types[str(column)] = pa.string()
        nulls = (
            [] if self.kinds is None else [space + word for word in sorted(self.na) for space in ("", " ")]
        )
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(text),
                read_options=arrow_csv.ReadOptions(
                    column_names=[str(at) for at in range(len(self.columns.names))],
                    use_threads=False,
                    block_size=len(text) + 1,
                ),
                parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    null_values=nulls,
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            return None
        return table if table.num_rows == n_rows else None

    def _parse_fast(self, text: bytes, lines: NDArray[np.int64], first_row: int) -> _Parsed | None:
        """The rows by Arrow, or None if anything at all is unusual."""
        table = self._table(text, len(lines))
        if table is None:
            return None
        features = np.empty((len(lines), len(self.columns.features)))
        for position, column in enumerate(self.columns.features):
            values = table[str(column)]
            features[:, position] = (
                in_numpy(values)
                if self.kinds is None
                else self.kinds.numbers(
                    self.keys[position], in_one_piece(values), self._place(column, lines, first_row)
                )
            )
        beside: dict[str, Any] = {}
        if self.columns.id is not None:
            beside["ids"] = np.array(table[str(self.columns.id)].to_pylist(), dtype=object)
        if self.columns.weight is not None:
            if table[str(self.columns.weight)].null_count:
                return None
            beside["weights"] = in_numpy(table[str(self.columns.weight)])
        if self.columns.group is not None:
            texts = table[str(self.columns.group)].to_pylist()
            beside["group_keys"] = self._group_keys(texts, lines, first_row)
        if self.target is None:
            return features, None, beside
        values = table[str(self.target)]
        if not self.is_label:
            return None if values.null_count else (features, in_numpy(values), beside)
        labels = in_one_piece(values)
        words = np.array([word.strip() for word in labels.dictionary.to_pylist()] + [None], dtype=object)
        if not self.na.union([""]).isdisjoint(words[:-1]):
            return None
        return features, words[in_numpy(labels.indices)], beside

    def _group_keys(
        self, texts: Sequence[str], lines: NDArray[np.int64], first_row: int
    ) -> NDArray[np.uint64]:
        assert self.columns.group is not None
        plain = [text.strip() for text in texts]
        refuse_missing_groups(plain, self.na, self._place(self.columns.group, lines, first_row))
        return keys_of_texts(plain)

    def _place(self, column: int, lines: NDArray[np.int64], first_row: int) -> Callable[[int], str]:
        name = self.columns.names[column]
        return lambda row: f"{self.file}, row {first_row + row} (line {lines[row]}), column {name!r}"

    def _fields(self, block: LineBlock, first_row: int) -> list[list[str]]:
        """The fields of every row, field by field: says what is wrong and where."""
        rows: list[list[str]] = []
        for line, raw in enumerate(io.BytesIO(block.text), start=block.first_line):
            content = raw.rstrip(b"\r\n")
            if not content and not self.is_single:
                continue
            where = f"{self.file}, row {first_row + len(rows)} (line {line})"
            fields = _fields(_decode(content, where), self.delimiter, where) or [""]
            if len(fields) != len(self.columns.names):
                raise InputError(
                    f"the row has {len(fields)} fields and the header {len(self.columns.names)}",
                    where=where,
                    mend=f"correct the row (fields are separated by {self.delimiter!r})",
                )
            rows.append(fields)
        return rows

    def _parse_slowly(self, block: LineBlock, lines: NDArray[np.int64], first_row: int) -> _Parsed:
        """Field by field: says what is wrong and where, and takes the spellings that Arrow does not."""
        import pyarrow as pa

        fields = self._fields(block, first_row)
        features = np.empty((len(fields), len(self.columns.features)))
        targets: list[Any] = []
        weighed: list[float] = []
        for row, texts in enumerate(fields):
            where = f"{self.file}, row {first_row + row} (line {lines[row]})"
            if self.kinds is None:
                names = self.columns.names
                features[row] = [
                    self._number(texts[i], f"{where}, column {names[i]!r}") for i in self.columns.features
                ]
            if self.columns.weight is not None:
                name, text = self.columns.names[self.columns.weight], texts[self.columns.weight]
                weighed.append(self._number(text, f"{where}, column {name!r}"))
            if self.target is not None:
                text, place = texts[self.target].strip(), f"{where}, column {self.columns.target_name!r}"
                if not text or text in self.na:
                    raise missing_target(text, place, is_label=self.is_label)
                targets.append(text if self.is_label else self._number(text, place, is_target=True))
        if self.kinds is not None:
            for position, (key, at) in enumerate(zip(self.keys, self.columns.features, strict=True)):
                place_of = self._place(at, lines, first_row)
                features[:, position] = self.kinds.numbers(
                    key, pa.array(texts[at] for texts in fields), place_of
                )
        beside: dict[str, Any] = {}
        if (at_id := self.columns.id) is not None:
            beside["ids"] = np.array([texts[at_id] for texts in fields], dtype=object)
        if self.columns.weight is not None:
            beside["weights"] = np.array(weighed)
        if (at_group := self.columns.group) is not None:
            beside["group_keys"] = self._group_keys([texts[at_group] for texts in fields], lines, first_row)
        if self.target is None:
            return features, None, beside
        return features, np.array(targets, dtype=object if self.is_label else np.float64), beside

    def _number(self, text: str, where: str, *, is_target: bool = False) -> float:
        value = parse_number(text)
        if value is not None:
            return value
        if not text.strip():
            raise InputError("the value is missing (empty field)", where=where, mend=FILL_OR_DROP)
        mend = "encode the column as numbers (one-hot), leave it out, or fill missing values in"
        if is_target:
            mend = LABELS_OR_NUMBERS
        elif self.columns.target is not None:
            target = self.columns.names[self.columns.target]
            mend += f"; the target is column {target!r} (--target COLUMN changes it)"
        raise InputError(f"{text.strip()[:60]!r} is not a number", where=where, mend=mend)


def _filled_lines(block: LineBlock) -> NDArray[np.int64]:
    """The numbers of the lines that are not blank."""
    characters = np.frombuffer(block.text, np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    starts = np.concatenate(([0], ends[:-1] + 1)) if ends.size else ends
    length = ends - starts
    blank = (length == 0) | (
        (length == 1) & (characters[np.minimum(starts, characters.size - 1)] == ord("\r"))
    )
    return np.flatnonzero(~blank) + block.first_line
