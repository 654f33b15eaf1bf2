"""Rows of delimited text in blocks of any size, split exactly as Python's strict csv module does.

A quotation mark opens a field at its beginning, possibly after blanks, and closes it at a delimiter or at the
end of the row; elsewhere it is an ordinary character. Rows end at newlines, carriage returns, or both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.data.formats import _lines

WHITESPACE = "whitespace"
_NEWLINE, _RETURN, _BLANK, _TAB, _QUOTE = b'\n\r \t"'
#: number of blanks before a quotation mark that is checked for all marks at once
_FEW_BLANKS = 64

_CLOSE = (
    "close the field, and double the quotation marks inside it; or give --no-quotes if quotation marks are "
    "ordinary characters"
)

Positions: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Dialect:
    """How fields and rows of a text file are separated.

    Attributes
    ----------
    delimiter : one character between fields, or :data:`WHITESPACE` for runs of blanks and tabs
    quotes : quotation marks enclose fields
    escape : escape character
    comment : prefix of comment lines
    """

    delimiter: str = ","
    quotes: bool = True
    escape: str | None = None
    comment: str | None = None

    @property
    def mark(self) -> str:
        """The delimiter in the rows of a :class:`RowBlock`."""
        return " " if self.delimiter == WHITESPACE else self.delimiter

    @property
    def of_csv(self) -> dict[str, Any]:
        """The arguments with which ``csv.reader`` reads rows of a :class:`RowBlock`."""
        import csv

        quoting = csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE
        return {"delimiter": self.mark, "quoting": quoting, "escapechar": self.escape, "strict": True}

    @property
    def skips_blanks(self) -> bool:
        """Whether blanks between a delimiter and a quotation mark are ignored."""
        return self.delimiter not in (WHITESPACE, " ")

    @property
    def before_field(self) -> bytes:
        """The characters after which fields may begin."""
        return b"\n\r" + (b" \t" if self.delimiter == WHITESPACE else self.delimiter.encode())

    def is_plain(self, text: bytes) -> bool:
        """Whether exactly the newlines of ``text`` end its rows."""
        return not (
            self.delimiter == WHITESPACE
            or (self.quotes and b'"' in text)
            or (b"\r" in text and text.count(b"\r") != text.count(b"\r\n"))
            or any(mark is not None and mark.encode() in text for mark in (self.escape, self.comment))
        )

    @cached_property
    def tokens(self) -> re.Pattern[bytes]:
        """Comments, quoted fields and escaped characters: groups ``comment``, ``blanks`` before an opening
        quotation mark, and ``closed``, the closing mark or nothing.
        """
        kinds = []
        escaped = None if self.escape is None else re.escape(self.escape.encode())
        before = b"(?:\\A|[" + re.escape(self.before_field) + b"])"
        if self.comment is not None:
            mark = re.escape(self.comment.encode())
            kinds.append(b"(?:\\A|[\\n\\r])(?P<comment>[ \\t]*" + mark + b"[^\\n\\r]*)")
        if self.quotes:
            body = b'[^"]*+(?:""[^"]*+)*+'
            if escaped is not None:
                body = b'(?:[^"' + escaped + b']|""|' + escaped + b".)*+"
            blanks = b" *" if self.skips_blanks else b""
            kinds.append(before + b"(?P<blanks>" + blanks + b')"' + body + b'(?P<closed>"?)')
        if escaped is not None:
            kinds.append(escaped + b".")
        return re.compile(b"|".join(kinds) or b"(?!)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Complete rows of a file, in which only newlines end rows and only ``Dialect.mark`` ends fields.

    Attributes
    ----------
    text : the rows, without comments and without blanks before quotation marks
    ends : positions (n_rows,) of the newlines that end them
    lines, last_lines : lines (n_rows,) of the file on which they begin and end, counted from 1
    n_comments : number of comment lines left out
    has_returns : a carriage return alone ends some row
    """

    text: bytes
    ends: Positions
    lines: Positions
    last_lines: Positions
    n_comments: int = 0
    has_returns: bool = False

    @property
    def starts(self) -> Positions:
        """Beginnings of the rows (n_rows,)."""
        return np.concatenate(([0], self.ends[:-1] + 1)) if len(self.ends) else self.ends

    def part(self, start: int, stop: int | None = None) -> RowBlock:
        """Return the rows from ``start`` to before ``stop``."""
        stop = len(self.ends) if stop is None else min(stop, len(self.ends))
        if start == 0 and stop == len(self.ends):
            return self
        first = int(self.ends[start - 1]) + 1 if start else 0
        last = int(self.ends[stop - 1]) + 1 if stop > start else first
        taken = slice(start, stop)
        return replace(
            self,
            text=self.text[first:last],
            ends=self.ends[taken] - first,
            lines=self.lines[taken],
            last_lines=self.last_lines[taken],
            n_comments=0,
        )

    def without(self, rows: NDArray[np.bool_]) -> RowBlock:
        """Return the rows outside a mask (n_rows,)."""
        if not rows.any():
            return self
        kept = np.repeat(~rows, self.ends + 1 - self.starts)
        text = np.frombuffer(self.text, np.uint8)[kept].tobytes()
        ends = (np.cumsum(kept) - 1)[self.ends[~rows]]
        return replace(self, text=text, ends=ends, lines=self.lines[~rows], last_lines=self.last_lines[~rows])

    def contents(self) -> list[bytes]:
        """Return the text of every row, with its newline."""
        cuts = [0, *(self.ends + 1).tolist()]
        return [self.text[start:stop] for start, stop in pairwise(cuts)]

    @property
    def blank(self) -> NDArray[np.bool_]:
        """Mask (n_rows,) of blank rows."""
        length = self.ends - self.starts
        returns = np.frombuffer(self.text, np.uint8)[np.maximum(self.ends - 1, 0)] == _RETURN
        found: NDArray[np.bool_] = (length == 0) | ((length == 1) & returns)
        return found


def row_blocks(
    stream: _lines.Readable,
    file: str,
    dialect: Dialect,
    block_bytes: int = _lines.BLOCK_BYTES,
    first_line: int = 1,
) -> Iterator[RowBlock]:
    """Split ``stream``, whose first line has number ``first_line``, into blocks of about ``block_bytes``.

    Raises :class:`InputError` for zero bytes; for a quotation mark that opens a field and closes it neither
    at a delimiter nor at the end of a row, with its line; and for rows of more than 64 MiB.
    """
    kept, line = b"", first_line
    while True:
        # a long row is scanned again from its start, twice as far each time
        piece = stream.read(max(block_bytes, len(kept)))
        while piece.endswith(b"\r") and (more := stream.read(1)):
            piece += more
        _lines.refuse_zeros(piece, file)
        text, at_end = kept + piece, not piece
        if at_end:
            if not text:
                return
            text += b"\n"
        if dialect.is_plain(text):
            ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE)
            cut = int(ends[-1]) + 1 if len(ends) else 0
            lines = np.arange(line, line + len(ends))
            block, n_lines, opened = RowBlock(text[:cut], ends, lines, lines), len(ends), None
        else:
            found = _Scan(text, dialect, file, line)
            block, cut, n_lines = found.block(), found.cut, found.n_lines
            opened = None if found.opened is None else found.line_of(found.opened)
        if len(block.ends) or block.n_comments:
            yield block
        line += n_lines
        kept = text[cut:]
        if kept and (at_end or len(kept) > _lines.LONGEST_LINE_BYTES):
            if opened is not None:
                _refuse_open(file, opened)
            if at_end:
                raise InputError(
                    f"the file ends in {dialect.escape!r}, the escape character",
                    where=f"{file}, line {line}",
                    hint="correct the line",
                )
            _lines.refuse_longest(file, line)
        if at_end:
            return


class _Scan:
    """Scans a text that begins with a row for anything that is not plain text and newlines.

    Attributes
    ----------
    cut : end of the last complete row
    n_lines : number of lines before it
    opened : the quotation mark that opens an unfinished field, or None
    """

    def __init__(self, text: bytes, dialect: Dialect, file: str, line: int) -> None:
        self._dialect, self._file, self._line, self._text = dialect, file, line, text
        self._characters = np.frombuffer(text, np.uint8).copy()
        self._dropped: list[Positions] = []
        self.opened: int | None = None
        nothing = np.empty(0, dtype=np.int64)
        #: starts and ends of spans in which characters have no special meaning
        self._spans = nothing, nothing
        self._comments = nothing
        self._has_returns = False
        if not self._by_pairs():
            self._by_tokens()
        self._end_lines()
        if dialect.delimiter == WHITESPACE:
            self._join_blanks()
        newlines = np.flatnonzero(self._characters == _NEWLINE)
        ends = newlines[~self._within(newlines)]
        self.cut = int(ends[-1]) + 1 if len(ends) else 0
        self.n_lines = int(np.searchsorted(newlines, self.cut))
        self._ends, self._newlines = ends, newlines

    def block(self) -> RowBlock:
        """Return the complete rows."""
        ends, newlines = self._ends, self._newlines
        starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
        lines = self._line + np.searchsorted(newlines, starts)
        last_lines = self._line + np.searchsorted(newlines, ends)
        is_comment = np.zeros(len(ends), dtype=bool)
        is_comment[np.searchsorted(ends, self._comments[self._comments < self.cut])] = True
        characters = self._characters[: self.cut]
        kept = ~np.repeat(is_comment, ends + 1 - starts)
        for positions in self._dropped:
            kept[positions[positions < self.cut]] = False
        ends, lines, last_lines = (array[~is_comment] for array in (ends, lines, last_lines))
        if not kept.all():
            characters, ends = characters[kept], (np.cumsum(kept) - 1)[ends]
        n_comments = int(np.count_nonzero(is_comment))
        return RowBlock(characters.tobytes(), ends, lines, last_lines, n_comments, self._has_returns)

    def _within(self, positions: Positions) -> NDArray[np.bool_]:
        """Return a mask of the positions inside a quoted field or escaped."""
        starts, stops = self._spans
        before = np.searchsorted(starts, positions, side="right")
        found: NDArray[np.bool_] = before > np.searchsorted(stops, positions, side="right")
        return found

    def _by_pairs(self) -> bool:
        """Find quoted fields by pairs of quotation marks; False if some mark does not pair up."""
        dialect, text, characters = self._dialect, self._text, self._characters
        extra = [mark.encode() for mark in (dialect.escape, dialect.comment) if mark is not None]
        if any(mark in text for mark in extra) or text.count(b"\r") != text.count(b"\r\n"):
            return False
        marks = np.flatnonzero(characters == _QUOTE) if dialect.quotes else np.empty(0, dtype=np.int64)
        begins, ends = marks[::2], marks[1::2]
        allowed = np.zeros(256, dtype=bool)
        allowed[[*dialect.before_field, _QUOTE]] = True
        after = np.append(characters, _NEWLINE)[ends + 1]
        before = np.append(characters, _NEWLINE)[begins - 1]
        if not allowed[after].all():
            return False
        if dialect.skips_blanks:
            at = begins[before == _BLANK] - 1
            for _ in range(_FEW_BLANKS):
                if not at.size:
                    break
                self._dropped.append(at)
                at = at[at > 0] - 1
                found = characters[at]
                # after blanks that follow a closing mark, a mark opens no field
                if not (allowed[found] | (found == _BLANK)).all() or (found == _QUOTE).any():
                    return self._forget()
                at = at[found == _BLANK]
            if at.size:
                return self._forget()
            before = before[before != _BLANK]
        if not allowed[before].all():
            return self._forget()
        self.opened = int(marks[-1]) if len(marks) % 2 else None
        self._spans = begins, np.append(ends, len(text)) if len(marks) % 2 else ends
        return True

    def _forget(self) -> bool:
        self._dropped.clear()
        return False

    def _by_tokens(self) -> None:
        """Find comments, quoted fields and escaped characters one after another."""
        starts: list[int] = []
        stops: list[int] = []
        comments: list[int] = []
        follows = self._dialect.before_field
        named = self._dialect.tokens.groupindex
        for found in self._dialect.tokens.finditer(self._text):
            stop = found.end()
            if "comment" in named and found["comment"] is not None:
                start = found.start("comment")
                comments.append(start)
            elif "blanks" in named and found["blanks"] is not None:
                start = found.end("blanks")
                if found["blanks"]:
                    self._dropped.append(np.arange(found.start("blanks"), start))
                if not found["closed"]:
                    self.opened = start
                elif stop < len(self._text) and self._text[stop] not in follows:
                    self._spans = np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)
                    self._refuse_mark(start, stop - 1)
            else:
                start = found.start()
            starts.append(start)
            stops.append(stop)
        self._spans = np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)
        self._comments = np.array(comments, dtype=np.int64)

    def _end_lines(self) -> None:
        """Replace every end of a row by one newline."""
        returns = np.flatnonzero(self._characters == _RETURN)
        if not returns.size:
            return
        returns = returns[~self._within(returns)]
        if not returns.size:
            return
        last = np.append(np.diff(returns) != 1, True)
        run = np.cumsum(np.append(0, last[:-1]))
        following = np.append(self._characters, _RETURN)[returns[last] + 1]
        before_newline = (following == _NEWLINE)[run]
        self._dropped.append(returns[before_newline & ~last])
        self._characters[returns[~before_newline]] = _NEWLINE
        self._has_returns = not before_newline.all()

    def _join_blanks(self) -> None:
        """Replace runs of blanks and tabs between fields by one blank, and remove them around rows."""
        characters = self._characters
        blanks = np.flatnonzero((characters == _BLANK) | (characters == _TAB))
        blanks = blanks[~self._within(blanks)]
        if not blanks.size:
            return
        apart = np.diff(blanks) != 1
        first, last = np.append(True, apart), np.append(apart, True)
        ends_row = np.zeros(256, dtype=bool)
        ends_row[[_NEWLINE, _RETURN]] = True
        around = np.append(characters, _NEWLINE)
        outer = ends_row[around[blanks[first] - 1]] | ends_row[around[blanks[last] + 1]]
        self._dropped += [blanks[~last], blanks[last][outer]]
        characters[blanks[last]] = _BLANK

    def line_of(self, position: int) -> int:
        """Return the line of a character in or after the last complete row."""
        return self._line + int(np.count_nonzero(self._characters[:position] == _NEWLINE))

    def _refuse_mark(self, opens: int, closes: int) -> NoReturn:
        self._end_lines()
        lines = [self.line_of(at) for at in (opens, closes)]
        other = "" if lines[0] == lines[1] else f" in line {lines[1]}"
        following = self._text[closes + 1 : closes + 21].decode("utf-8", "replace").split("\n")[0]
        raise InputError(
            f"a quotation mark opens a field here, and the next one{other} does not close it, as "
            f"{following!r} follows",
            where=f"{self._file}, line {lines[0]}",
            hint=f"give --escape '\\' if a backslash stands before marks; else {_CLOSE}"
            if self._text[closes - 1 : closes] == b"\\"
            else _CLOSE,
        )


def _refuse_open(file: str, line: int) -> NoReturn:
    what = "a quotation mark opens a field here and is not closed"
    raise InputError(what, where=f"{file}, line {line}", hint=_CLOSE)
