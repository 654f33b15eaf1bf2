"""The beginning of a CSV file: lines before the header, delimiter, column names."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from distkern.core.errors import InputError
from distkern.data.columns._reading import parse_number
from distkern.data.formats._columns import TableColumns, choose_columns, given_by_position
from distkern.data.formats._lines import LONGEST_LINE_BYTES, Ahead
from distkern.data.formats._rows import Dialect, RowBlock
from distkern.data.formats.base import ReadOptions

_DELIMITERS = (",", "\t", ";", "|")
#: lines and bytes of a file that show the delimiter
_FIRST_LINES = 20
_FIRST_BYTES = 2**16
_UNNAMED = re.compile(r"Unnamed: \d+")
_SEPARATOR = re.compile(rb'"?[sS][eE][pP]=(.)"?\r*\n')


def begin(stream: Ahead, file: str, options: ReadOptions) -> tuple[Dialect, int]:
    """Find the delimiter of a file and the number of the first line to read.

    Skips the lines that ``options`` say, and Excel's first line ``sep=;``, which names the delimiter.
    """
    line = 1
    for _ in range(options.skip_lines or 0):
        line += stream.skip_line()
    delimiter = options.delimiter
    if named := _SEPARATOR.match(stream.look(16)):
        delimiter = delimiter or named[1].decode("ascii", "replace")
        line += stream.skip_line()
    dialect = Dialect(delimiter or ",", not options.no_quotes, options.escape, options.comment)
    if delimiter is None:
        dialect = replace(dialect, delimiter=_delimiter(stream, file, dialect))
    return dialect, line


def _delimiter(stream: Ahead, file: str, dialect: Dialect) -> str:
    """Return the mark that occurs equally often in each of the first lines outside quotation marks, else
    the most usual mark in the first line.
    """
    usual = "\t" if re.search(r"\.tsv(\.\w+)?$", file.lower()) else ","
    size = _FIRST_BYTES
    while len(text := stream.look(size)) == size < LONGEST_LINE_BYTES and not re.search(
        rb"[^\r\n][\r\n]", text
    ):
        size *= 2
    text = re.sub(rb"\r+\n?", b"\n", text)
    if dialect.quotes:
        text = re.sub(rb'(?<![^,\t;| \n])"[^"]*"', b"", text)
    lines = text.split(b"\n")
    if len(lines) > 1 and len(text) >= _FIRST_BYTES // 2:
        lines.pop()
    if dialect.comment is not None:
        lines = [line for line in lines if not line.lstrip(b" \t").startswith(dialect.comment.encode())]
    # lines with only quoted fields are empty by now
    first, *others = [line for line in lines if line.strip()][:_FIRST_LINES] or [b""]
    there = [mark for mark in dict.fromkeys((usual, *_DELIMITERS)) if mark.encode() in first]
    alike = [
        mark
        for mark in there
        if all(line.count(mark.encode()) == first.count(mark.encode()) for line in others)
    ]
    return next(iter(alike or there), usual)


@dataclass(frozen=True, slots=True)
class TableHeader:
    """The first row of a file.

    Attributes
    ----------
    fields : its fields
    is_named : it holds column names instead of values
    where : file and line
    text : the row as in the file, without its line end
    """

    fields: tuple[str, ...]
    is_named: bool
    where: str
    text: bytes


def first_row(
    block: RowBlock, file: str, dialect: Dialect, options: ReadOptions
) -> tuple[TableHeader | None, RowBlock]:
    """Return the first row that is not blank, and the following rows (including it if it holds no names)."""
    blank = block.blank
    if blank.all():
        return None, block
    at = int(blank.argmin())
    where = f"{file}, line {block.lines[at]}"
    (text,) = block.part(at, at + 1).contents()
    (row,) = split([decoded(text, where)], dialect, where)
    fields = tuple(field.strip() for field in row)
    is_named = options.header
    if is_named is None:
        is_named = _is_header(fields, where, None if options.kinds is None else options.kinds.has_header)
    return TableHeader(fields, is_named, where, text.rstrip(b"\r\n")), block.part(
        at + 1
    ) if is_named else block


def decoded(text: bytes, where: str) -> str:
    """Decode a text from UTF-8; :class:`InputError` if it is not."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8, or give --encoding, which is cp1252 for most of Western Europe"
        raise InputError("not UTF-8 text", where=where, hint=hint) from error


def split(rows: Sequence[str], dialect: Dialect, where: str) -> list[list[str]]:
    """Return the fields of complete rows, none for a blank row; :class:`InputError` for a malformed row."""
    longest = csv.field_size_limit(LONGEST_LINE_BYTES)
    try:
        return list(csv.reader(rows, **dialect.of_csv))
    except csv.Error as error:
        raise InputError(f"not a row of fields ({error})", where=where, hint="correct the line") from error
    finally:
        csv.field_size_limit(longest)


def _is_header(fields: Sequence[str], where: str, by_words: bool | None) -> bool:
    """Whether a line holds column names; ``by_words``: it does if all fields are words, None: infer it."""
    numeric = [field for field in fields if parse_number(field) is not None]
    if by_words is not None:
        return by_words and not numeric
    if not numeric:
        return True
    counted = [[str(first + step) for step in range(len(numeric))] for first in (0, 1)]
    if len(numeric) > 1 and numeric in counted:
        return True
    raise InputError(
        f"the first line holds numbers ({numeric[0]!r}), so it may be a row instead of column names",
        where=where,
        hint="give --no-header if it is a row, --header if it is not",
    )


@dataclass(frozen=True, slots=True)
class Odd:
    """Columns left out because of their names, by position.

    Attributes
    ----------
    left_out : all of them
    empty : columns without name and values
    copies : columns with the name and the values of another column, and that column
    """

    left_out: frozenset[int] = frozenset()
    empty: tuple[int, ...] = ()
    copies: tuple[tuple[int, int], ...] = ()


def columns_of(
    header: TableHeader,
    rows: Sequence[Sequence[str]],
    lines: Sequence[int],
    options: ReadOptions,
    keys: Sequence[str],
) -> tuple[TableColumns, Odd]:
    """Return the columns of a file, and those left out because of their names.

    Raises :class:`InputError` as :func:`~distkern.data.formats._columns.choose_columns`, and for a column
    with values but without a name, or with another column's name.

    Parameters
    ----------
    rows, lines : fields of the first rows after the header, and the lines on which they begin
    keys : column names from the file's folders
    """
    names, odd = [str(position) for position in range(len(header.fields))], Odd()
    try:
        if header.is_named:
            names, odd = _named(header, rows, options)
        columns = choose_columns(
            names,
            where=header.where,
            options=options,
            has_header=header.is_named,
            left_out=odd.left_out,
            keys=keys,
        )
    except InputError as error:
        hint = _before_header(header, rows, lines, options) or error.hint
        raise InputError(error.what, where=error.where, hint=hint) from error
    return columns, odd


def _before_header(
    header: TableHeader, rows: Sequence[Sequence[str]], lines: Sequence[int], options: ReadOptions
) -> str | None:
    """Return a hint if the first line is not the header."""
    if header.fields[0].startswith("#") and options.comment is None:
        return "give --comment '#' if lines that begin with it are comments"
    wanted = options.target if options.features is None else options.features[0]
    if wanted in header.fields and not header.is_named:
        return "leave --no-header out if the first line holds the column names"
    is_name = wanted is not None and parse_number(wanted) is None
    for row, line in zip(rows[:_FIRST_LINES], lines, strict=False):
        if is_name and wanted in [field.strip() for field in row]:
            return f"give --skip-lines {line - 1} if line {line} is the header"
    return None


def _named(header: TableHeader, rows: Sequence[Sequence[str]], options: ReadOptions) -> tuple[list[str], Odd]:
    """Return the column names, also if rows have one more field than the header, and columns to leave out."""
    names, notes, is_short = list(header.fields), options.notes, False
    rows = [row for row in rows if row]
    begins = len(names) > 1 and not names[0].startswith("#")
    if len(rows) > 1 and begins and all(len(row) == len(names) + 1 for row in rows):
        if not any(row[-1].strip() for row in rows):
            names.append("")
        elif _is_index([row[0] for row in rows]):
            names.insert(0, "")
            is_short = True
        else:
            raise InputError(
                f"the header has {len(names)} names and every row {len(names) + 1} fields",
                where=header.where,
                hint="write a name for every column into the header",
            )
    rows = [row for row in rows if len(row) == len(names)]
    # rows of another length are refused later, by line
    roles = (options.target, options.id, options.weight, options.group, *options.drop)
    said = given_by_position(roles, names)
    left_out, empty, copies, first = set(), [], [], dict[str, int]()
    for at, name in enumerate(names):
        values = [row[at].strip() for row in rows]
        if at in said or (name == "" == options.id):
            continue
        if not name:
            if not any(values):
                empty.append(at)
            elif options.features is None and not (at == 0 and _is_index(values)):
                raise InputError(
                    f"column {at + 1} has no name",
                    where=header.where,
                    hint=f"name it if it is a feature, or leave it out with --drop {at}",
                )
            elif at == 0:
                why = "rows have a field more than the header" if is_short else "it has no name"
                notes.say(f"column 1 numbers or names the rows and is left out: {why}")
            else:
                notes.say(f"column {at + 1} has no name and is left out")
            left_out.add(at)
            continue
        if options.features is None and name not in roles and _is_written_index(name, values):
            notes.say(f"column {at + 1}, {name!r}, numbers the rows and is left out")
            left_out.add(at)
            continue
        other = first.setdefault(name, at)
        if other == at:
            continue
        if options.features is not None and name not in options.features:
            left_out.add(at)
        elif rows and values == [row[other].strip() for row in rows]:
            copies.append((at, other))
            left_out.add(at)
            notes.say(
                f"column {at + 1} repeats name and values of column {other + 1}, {name!r}, and is left out"
            )
    if empty:
        which = ", ".join(str(at + 1) for at in empty)
        notes.say(
            f"columns {which} have neither name nor values and are left out"
            if len(empty) > 1
            else f"column {which} has neither name nor values and is left out"
        )
    # a model ignores such columns, even with values
    checked = () if options.features is not None else tuple(empty)
    return names, Odd(frozenset(left_out), checked, tuple(copies))


def _is_written_index(name: str, values: Sequence[str]) -> bool:
    """Whether a column has pandas' name for nameless columns, and counts rows."""
    return bool(_UNNAMED.fullmatch(name)) and all(map(str.isdecimal, values)) and _is_index(values)


def _is_index(values: Sequence[str]) -> bool:
    """Whether values identify rows, as row numbers and row names do."""
    are_counts = all(value.isdecimal() for value in values)
    are_names = all(value and parse_number(value) is None for value in values)
    return len(set(values)) == len(values) and (are_counts or are_names)
