"""Text files in blocks of complete lines, so that files of any size are parsed in bounded memory."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NoReturn, Protocol

from distkern.core.errors import InputError

BLOCK_BYTES = 2 * 2**20
LONGEST_LINE_BYTES = 64 * 2**20


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Read at most ``size`` bytes, none at the end."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Complete lines of a file, each with its newline; ``first_line`` counts from 1."""

    text: bytes
    first_line: int


class _Recoded:
    """A text stream of another encoding, read as UTF-8."""

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
            # a part of a character decodes to nothing, which is not the end
            if text or not piece:
                return text.encode("utf-8")


def in_utf8(stream: BinaryIO, file: str, encoding: str | None) -> Readable:
    """Return a text stream of the named encoding as UTF-8; None if it is UTF-8 already.

    Raises :class:`InputError` if the encoding is unknown or, on reading, wrong.
    """
    if encoding is None:
        return stream
    try:
        "".encode(encoding)
    except LookupError:
        hint = "give one that Python knows, as cp1252, latin-1 or utf-16"
        raise InputError("unknown text encoding", where=f"--encoding {encoding}", hint=hint) from None
    return _Recoded(stream, file, encoding)


def line_blocks(stream: Readable, file: str, block_bytes: int = BLOCK_BYTES) -> Iterator[LineBlock]:
    """Split ``stream`` into blocks of complete lines of about ``block_bytes``; a byte order mark is dropped.

    Raises :class:`InputError` for NUL bytes (not a text file) and for lines of more than 64 MiB.
    """
    kept = b""
    line = 1
    stream = Ahead(stream)
    while True:
        piece = stream.read(block_bytes)
        refuse_zeros(piece, file)
        if not piece:
            if kept:
                yield LineBlock(kept + b"\n", line)
            return
        cut = piece.rfind(b"\n") + 1
        if cut:
            text = kept + piece[:cut]
            yield LineBlock(text, line)
            line += text.count(b"\n")
            kept = piece[cut:]
        else:
            kept += piece
        if len(kept) > LONGEST_LINE_BYTES:
            refuse_longest(file, line)


class Ahead:
    """A stream without its byte order mark that can be read ahead."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._next = b""
        self.look(3)
        self._next = self._next.removeprefix(b"\xef\xbb\xbf")

    def look(self, size: int) -> bytes:
        """Return the next ``size`` bytes, or all that remain; they are read later."""
        while len(self._next) < size and (more := self._stream.read(size - len(self._next))):
            self._next += more
        return self._next[:size]

    def skip_line(self) -> int:
        """Read a line; return the number of lines read, 1 or 0."""
        size = 2**10
        while True:
            text = self.look(size)
            found = re.search(rb"\r*\n|\r", text)
            is_open = found is None or found.end() == size
            if is_open and len(text) == size < LONGEST_LINE_BYTES:
                size *= 2
                continue
            self.read(len(text) if found is None else found.end())
            return int(bool(text))

    def read(self, size: int) -> bytes:
        """Read at most ``size`` bytes, none at the end."""
        if not self._next:
            return self._stream.read(size)
        found, self._next = self._next[:size], self._next[size:]
        return found


def refuse_zeros(piece: bytes, file: str) -> None:
    """Raise :class:`InputError` for bytes that are not text."""
    if b"\0" in piece:
        raise InputError(
            "not a text file (it has zero bytes)",
            where=file,
            hint="check the extension: compressed files need .gz, .xz, .bz2, .zst, .zip; or give "
            "--encoding, as utf-16",
        )


def refuse_longest(file: str, line: int) -> NoReturn:
    """Raise :class:`InputError` for a line that is too long."""
    raise InputError("the line is longer than 64 MiB", where=f"{file}, line {line}", hint="check the file")
