"""Text files as blocks of whole lines, so that any size of file is parsed in bounded memory."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError

BLOCK_BYTES = 2 * 2**20
LONGEST_LINE_BYTES = 64 * 2**20

#: what counts as a number in a text file; Python's float() alone would also take "1_000" and foreign digits
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOT_FINITE = re.compile(r"[+-]?(?:nan(?:\([a-z0-9_]*\))?|inf|infinity)", re.IGNORECASE)


def parse_number(text: str) -> float | None:
    """The number a field holds (NaN and infinities too), or None if it is not a number."""
    stripped = text.strip(" \t\r\n")
    if NUMBER.fullmatch(stripped):
        return float(stripped)
    if NOT_FINITE.fullmatch(stripped):
        return float(stripped.partition("(")[0])
    return None


class Readable(Protocol):
    """What bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes, or none at the end."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole rows of a file, each ended by a newline; ``first_line`` is counted from 1."""

    text: bytes
    first_line: int


class _Recoded:
    """A stream of text in another encoding, as UTF-8."""

    def __init__(self, stream: BinaryIO, file: str, encoding: str) -> None:
        self._stream, self._file, self._encoding = stream, file, encoding
        self._decoder, self._n_lines = codecs.getincrementaldecoder(encoding)(), 0

    def read(self, size: int) -> bytes:
        while True:
            piece = self._stream.read(size)
            try:
                text = self._decoder.decode(piece, final=not piece)
            except UnicodeError as error:
                before = piece[: error.start] if isinstance(error, UnicodeDecodeError) else b""
                line = 1 + self._n_lines + before.count(b"\n")
                raise InputError(
                    f"not text in {self._encoding}",
                    where=f"{self._file}, line {line}",
                    hint="give the --encoding that it was saved in",
                ) from error
            self._n_lines += text.count("\n")
            # nothing but a part of a character is not the end
            if text or not piece:
                return text.encode("utf-8")


def in_utf8(stream: BinaryIO, file: str, encoding: str | None) -> Readable:
    """Text in an encoding that Python knows by that name, as UTF-8; None for what is UTF-8.

    Raises
    ------
    InputError
        If there is no such encoding or, when it is read, for text that is in another.
    """
    if encoding is None:
        return stream
    try:
        "".encode(encoding)
    except LookupError:
        hint = "give one that Python knows, as cp1252, latin-1 or utf-16"
        raise InputError(
            "no encoding of text is called so", where=f"--encoding {encoding}", hint=hint
        ) from None
    return _Recoded(stream, file, encoding)


def row_ends(text: bytes) -> NDArray[np.int64]:
    """Where the newlines are that end rows: those between an even number of quotation marks and the next."""
    characters = np.frombuffer(text, np.uint8)
    ends: NDArray[np.int64] = np.flatnonzero(characters == ord("\n"))
    if b'"' not in text:
        return ends
    marks_before = np.searchsorted(np.flatnonzero(characters == ord('"')), ends)
    return np.compress(marks_before % 2 == 0, ends)


def _last_end(kept: bytes, piece: bytes) -> int:
    """Behind the last newline of ``piece`` that ends a row, which may begin in ``kept``; 0 if none does."""
    mark = b'"' * (kept.count(b'"') % 2)
    if not mark and b'"' not in piece:
        return piece.rfind(b"\n") + 1
    ends = row_ends(mark + piece)
    return int(ends[-1]) + 1 - len(mark) if len(ends) else 0


def line_blocks(
    stream: Readable, file: str, block_bytes: int = BLOCK_BYTES, *, quoted: bool = False
) -> Iterator[LineBlock]:
    """The rows of ``stream`` in blocks of about ``block_bytes``; a byte order mark is dropped.

    A row is a line; ``quoted``: newlines between quotation marks end none.

    Raises :class:`InputError` for NUL bytes (not a text file) and for rows of more than 64 MiB.
    """
    kept = b""
    line = 1
    start = True
    while True:
        piece = stream.read(block_bytes)
        if start:
            piece = piece.removeprefix(b"\xef\xbb\xbf")
            start = False
            if not piece:
                piece = stream.read(block_bytes)
        if b"\0" in piece:
            raise InputError(
                "not a text file (it has zero bytes)",
                where=file,
                hint="check the extension: compressed files need .gz, .xz, .bz2, .zst, .zip; or give "
                "--encoding, as utf-16",
            )
        if not piece:
            if quoted and kept.count(b'"') % 2:
                raise _not_closed(file, line)
            if kept:
                yield LineBlock(kept + b"\n", line)
            return
        cut = _last_end(kept, piece) if quoted else piece.rfind(b"\n") + 1
        if cut:
            text = kept + piece[:cut]
            yield LineBlock(text, line)
            line += text.count(b"\n")
            kept = piece[cut:]
        else:
            kept += piece
        if len(kept) > LONGEST_LINE_BYTES:
            if quoted and kept.count(b'"') % 2:
                raise _not_closed(file, line)
            raise InputError(
                "the line is longer than 64 MiB", where=f"{file}, line {line}", hint="check the file"
            )


def _not_closed(file: str, line: int) -> InputError:
    return InputError(
        "a quotation mark is not closed in the row that begins here",
        where=f"{file}, line {line}",
        hint="close it, and double the quotation marks inside a quoted field",
    )
