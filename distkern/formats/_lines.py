"""Text files as blocks of whole lines, so that any size of file is parsed in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from distkern.common.errors import InputError

BLOCK_BYTES = 2 * 2**20
LONGEST_LINE_BYTES = 64 * 2**20

#: what counts as a number in a text file; Python's float() alone would also take "1_000" and foreign digits
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOT_FINITE = re.compile(r"[+-]?(?:nan(?:\([a-z0-9_]*\))?|inf|infinity)", re.IGNORECASE)


def parse_number(text: str) -> float | None:
    """The number a field holds (NaN and infinities too), or None if it is not a number."""
    stripped = text.strip(" \t\r")
    if NUMBER.fullmatch(stripped):
        return float(stripped)
    if NOT_FINITE.fullmatch(stripped):
        return float(stripped.partition("(")[0])
    return None


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines of a file, each ended by a newline; ``first_line`` is counted from 1."""

    text: bytes
    first_line: int


def line_blocks(stream: BinaryIO, file: str, block_bytes: int = BLOCK_BYTES) -> Iterator[LineBlock]:
    """The lines of ``stream`` in blocks of about ``block_bytes``; a byte order mark is dropped.

    Raises :class:`InputError` for NUL bytes (not a text file) and for lines of more than 64 MiB.
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
                hint="check the extension: compressed files need .gz, .xz, .bz2, .zst, .zip; text is UTF-8",
            )
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
            raise InputError(
                "the line is longer than 64 MiB", where=f"{file}, line {line}", hint="check the file"
            )
