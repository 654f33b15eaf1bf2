"""svmlight / LIBSVM text: ``label index:value index:value ...``, one row per line, indices from 1 or 0."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import MAX_FEATURES, SparseRows
from distkern.core.types import Floats
from distkern.data.columns._arrow import in_numpy, pa
from distkern.data.columns._reading import NOT_FINITE, parse_number
from distkern.data.formats._lines import LineBlock, line_blocks
from distkern.data.formats.base import AbstractFormat, InputFile, RawChunk, ReadOptions, not_finite

_COMMENT = re.compile(rb"#[^\n]*")
_QUERY = re.compile(rb"^([ \t]*[^\s:]+[ \t]+)qid:[0-9]+(?=\s)", re.MULTILINE)
_ZERO = re.compile(rb"[ \t]0+:")
_INDEX = re.compile(r"[0-9]{1,18}")
#: most digits of integers that floats represent exactly
_FEW_DIGITS = 15
_SPACES = bytes.maketrans(b"\t\r", b"  ")
_ONE_PER_LINE = bytes.maketrans(b": ", b"\n\n")

#: labels (n,), row of each stored value, column of each, values, line of each row
_Entries = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64], Floats, NDArray[np.int64]]


class Svmlight(AbstractFormat):
    """Sparse text rows; they are stored sparse if enough numbers are zero.

    ``qid:`` fields and ``#`` comments are skipped. Labels may be words without commas: lists of labels
    (``1,3``) are refused. Indices count from 1, unless the first block of the first file has an index 0, or
    the user gives the first index; a later index 0 is refused, as are indices that do not increase within a
    row.
    """

    name: ClassVar[str] = "svmlight"
    extensions: ClassVar[tuple[str, ...]] = (".svm", ".libsvm", ".svmlight")
    is_text: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("zero_based",)

    @classmethod
    def example(cls, path: Path, features: NDArray[Any], targets: NDArray[Any] | None) -> None:
        labels = np.zeros(len(features)) if targets is None else targets
        with path.open("w", encoding="utf-8") as file:
            for label, row in zip(labels.tolist(), features.tolist(), strict=True):
                entries = (f"{index}:{value!r}" for index, value in enumerate(row, start=1) if value)
                file.write(" ".join([repr(label), *entries]) + "\n")

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        width = 0
        first_row = 1
        indices, words = options.indices, options.target_kind != "number"
        with file.open() as stream:
            for block in line_blocks(stream, file.url, block_bytes=2**20):
                if indices.from_zero is None:
                    indices.from_zero = _ZERO.search(_COMMENT.sub(b"", block.text)) is not None
                first = 0 if indices.from_zero else 1
                labels, rows, columns, values, lines = _parse(block, file.url, first_row, first, words)
                width = max(width, int(columns.max(initial=-1)) + 1)
                if width > MAX_FEATURES:
                    row = int(rows[np.argmax(columns >= MAX_FEATURES)])
                    raise InputError(
                        f"feature {width}: indices go up to {MAX_FEATURES:,}",
                        where=f"{file.url}, row {first_row + row} (line {lines[row]})",
                        hint="correct the index, or number the features anew",
                    )
                if options.target_kind == "label":
                    _refuse_lists(labels, file.url, first_row, lines)
                indptr = np.searchsorted(rows, np.arange(len(labels) + 1)).astype(np.int64)
                written = SparseRows(values, columns.astype(np.int32), indptr, width)
                yield RawChunk(
                    written.with_data(values),
                    None if options.target_kind == "none" else labels,
                    first_row,
                    file.url,
                    lines=lines,
                    may_widen=True,
                    is_untyped=True,
                )
                first_row += len(labels)


def _refuse_lists(labels: NDArray[Any], file: str, first_row: int, lines: NDArray[np.int64]) -> None:
    """Refuse rows with several labels; the error names the first one."""
    lists = {label for label in {*labels.tolist()} if "," in label} if labels.dtype.kind == "O" else None
    if lists:
        row = next(row for row, label in enumerate(labels) if label in lists)
        raise InputError(
            f"the row has a list of labels, {labels[row]!r} (multi-label data)",
            where=f"{file}, row {first_row + row} (line {lines[row]})",
            hint="give each row one label: make a data set per class, or repeat the row for each label",
        )


def _parse(block: LineBlock, file: str, first_row: int, first: int, words: bool) -> _Entries:
    """Return the rows of a block, with indices from ``first`` on and labels that may be ``words``."""
    text = block.text
    if b"#" in text:
        text = _COMMENT.sub(b"", text)
    if b"qid:" in text:
        text = _QUERY.sub(rb"\1", text)
    text = text.translate(_SPACES)
    fast = _parse_fast(text, block.first_line, first, words)
    return _parse_slowly(text, block.first_line, file, first_row, first, words) if fast is None else fast


def _parse_fast(text: bytes, first_line: int, first: int, words: bool) -> _Entries | None:
    """Parse all rows at once; None if anything is unusual."""
    characters = np.frombuffer(text, np.uint8)
    colon = characters == ord(":")
    newline = characters == ord("\n")
    gap = colon | newline | (characters == ord(" "))
    after_gap = np.concatenate(([True], gap[:-1]))
    starts = np.flatnonzero(~gap & after_gap)
    ends = np.flatnonzero(gap & ~after_gap)
    if not starts.size:
        nothing = np.zeros(0, np.int64)
        return np.zeros(0), nothing, nothing, np.zeros(0), nothing
    # a colon joins exactly two tokens
    if np.any(colon & (after_gap | np.concatenate((gap[1:], [True])))):
        return None
    is_index = colon[ends]
    is_value = np.concatenate(([False], is_index[:-1]))
    line = np.searchsorted(np.flatnonzero(newline), starts)
    is_label = np.concatenate(([True], line[1:] != line[:-1]))
    if np.any(is_index & is_value) or np.any(is_label == (is_index | is_value)):
        return None
    digit = (characters >= ord("0")) & (characters <= ord("9"))
    plain = np.concatenate(([0], np.cumsum(~digit, dtype=np.int64)))
    index_starts, index_ends = starts[is_index], ends[is_index]
    if np.any(plain[index_starts] != plain[index_ends]) or np.any(index_ends - index_starts > 9):
        return None
    labels: NDArray[Any] | None = None
    numbers = _numbers(text, len(starts))
    if words and (numbers is None or not _are_plain(characters, digit, starts[is_label], ends[is_label])):
        # replace the labels by numbers
        labels = _words(text, starts[is_label], ends[is_label])
        at_label = np.zeros(len(text) + 1, dtype=np.int8)
        at_label[starts[is_label]], at_label[ends[is_label]] = 1, -1
        covered = np.where(np.cumsum(at_label[:-1]) == 1, np.uint8(ord("0")), characters)
        numbers = None if labels is None else _numbers(covered.tobytes(), len(starts))
    if numbers is None:
        return None
    row = np.cumsum(is_label) - 1
    rows, columns = row[is_index], numbers[is_index].astype(np.int64) - first
    if np.any(columns < 0) or np.any((np.diff(columns) <= 0) & (np.diff(rows) == 0)):
        return None
    found: NDArray[Any] = numbers[is_label] if labels is None else labels
    if words and labels is None:
        found = found.astype(np.int64)
    return found, rows, columns, numbers[is_value], line[is_label] + first_line


def _are_plain(
    characters: NDArray[np.uint8],
    digit: NDArray[np.bool_],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> bool:
    """Whether all labels are short integers without leading zeros, with or without a sign."""
    first = characters[starts]
    starts = starts + ((first == ord("+")) | (first == ord("-")))
    length, other = ends - starts, np.concatenate(([0], np.cumsum(~digit, dtype=np.int64)))
    is_integer = (length > 0) & (length <= _FEW_DIGITS) & (other[starts] == other[ends])
    return bool(np.all(is_integer & ((length == 1) | (characters[starts] != ord("0")))))


def _words(text: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[Any] | None:
    """Return labels as texts; None if one is not UTF-8, or is NaN or infinite."""
    try:
        labels = [text[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    except UnicodeDecodeError:
        return None
    if any(NOT_FINITE.fullmatch(label) for label in set(labels)):
        return None
    return _unsigned(labels)


def _unsigned(labels: list[str]) -> NDArray[Any]:
    """Return labels without a plus sign before a number, as :func:`_are_plain` does."""
    signed = {
        label: label[1:] for label in set(labels) if label[0] == "+" and parse_number(label) is not None
    }
    return np.array([signed.get(label, label) for label in labels] if signed else labels, dtype=object)


def _numbers(text: bytes, expected: int) -> Floats | None:
    """Parse all tokens as numbers with Arrow's CSV parser, one token per line (NumPy's is not strict)."""
    from pyarrow import csv

    try:
        table = csv.read_csv(
            pa.BufferReader(text.translate(_ONE_PER_LINE)),
            read_options=csv.ReadOptions(column_names=["token"], use_threads=False, block_size=len(text) + 1),
            convert_options=csv.ConvertOptions(column_types={"token": pa.float64()}, null_values=[]),
            parse_options=csv.ParseOptions(quote_char=False),
        )
    except pa.ArrowInvalid:
        return None
    numbers: Floats = in_numpy(table["token"])
    return numbers if len(numbers) == expected else None


def _parse_slowly(
    text: bytes, first_line: int, file: str, first_row: int, first: int, words: bool
) -> _Entries:
    """Parse line by line, to report errors with their place and read unusual notations."""
    labels: list[float] = []
    texts: list[str] = []
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    lines: list[int] = []
    for number, raw in enumerate(text.split(b"\n"), start=first_line):
        tokens = raw.decode("utf-8", errors="replace").split(" ")
        tokens = [token for token in tokens if token]
        if not tokens:
            continue
        where = f"{file}, row {first_row + len(labels)} (line {number})"
        label = parse_number(tokens[0])
        if label is None:
            if ":" in tokens[0]:
                raise InputError("the label is missing", where=where, hint="start the line with a number")
            if not words:
                raise InputError(
                    f"the label {tokens[0]!r} is not a number",
                    where=where,
                    hint="give --task classification for labels, or code them as numbers",
                )
            if "\ufffd" in tokens[0]:
                raise InputError("the label is not UTF-8 text", where=where, hint="save the file as UTF-8")
            label = 0.0
        if not np.isfinite(label):
            raise not_finite(label, f"{where}, target")
        previous = first - 1
        for token in tokens[1:]:
            index, value = _entry(token, where)
            if index <= previous:
                hint = f"write each row's indices from {first} in increasing order"
                if index == 0 and first:
                    what = "the index 0, but earlier indices count from 1"
                    hint = "give --zero-based if they count from 0"
                elif index == previous:
                    what = f"the index {index} twice"
                else:
                    what = f"the index {index} after {previous}"
                raise InputError(what, where=where, hint=hint)
            previous = index
            rows.append(len(labels))
            columns.append(index - first)
            values.append(value)
        labels.append(label)
        texts.append(tokens[0])
        lines.append(number)
    return (
        _unsigned(texts) if words else np.array(labels, dtype=np.float64),
        np.array(rows, dtype=np.int64),
        np.array(columns, dtype=np.int64),
        np.array(values, dtype=np.float64),
        np.array(lines, dtype=np.int64),
    )


def _entry(token: str, where: str) -> tuple[int, float]:
    index, colon, text = token.partition(":")
    if not colon or not _INDEX.fullmatch(index):
        raise InputError(f"{token!r} is not of the form index:value", where=where, hint="correct the line")
    value = parse_number(text)
    if value is None:
        raise InputError(
            f"{text!r} is not a number",
            where=f"{where}, feature {index}",
            hint="write numbers as 0.5 or 5e-1",
        )
    return int(index), value
