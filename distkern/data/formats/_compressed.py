"""Compressed text in several streams, as pbzip2, ``xz -T`` and ``cat a.gz b.gz`` write it."""

from __future__ import annotations

import io
import zipfile
from typing import Any, BinaryIO, cast

from distkern.data.columns._arrow import pa

_READ_BYTES = 1 << 17
#: first bytes of a stream, and the unit of the zeros that may pad it (0: no padding)
_KINDS = {"gzip": (b"\x1f\x8b", 1), "bz2": (b"BZh", 0), "xz": (b"\xfd7zXZ\x00", 4)}


def decompressed(raw: BinaryIO, compression: str) -> BinaryIO:
    """Open the decompressed content of ``raw``, to be read from front to back.

    Python's own readers of bz2 and xz treat a damaged header as the end of the file. Here a stream is
    followed by another stream, the format's padding, or an error. Arrow reads zstd in the same way, and a zip
    archive must have one file.
    """
    if compression == "zstd":
        return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd"))
    if compression == "zip":
        archive = zipfile.ZipFile(raw)
        return cast(BinaryIO, archive.open(_only_member(archive)))
    return io.BufferedReader(_Streams(raw, compression), _READ_BYTES)


def name_in_archive(raw: BinaryIO) -> str:
    """Return the name of the only file in a zip archive; :class:`zipfile.BadZipFile` if there are others."""
    with zipfile.ZipFile(raw) as archive:
        return _only_member(archive)


def _only_member(archive: zipfile.ZipFile) -> str:
    names = [
        name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")
    ]
    if len(names) != 1:
        raise zipfile.BadZipFile(f"the archive has {len(names)} files and not one")
    return names[0]


def _decompressor(compression: str) -> Any:
    import bz2
    import lzma
    import zlib

    if compression == "gzip":
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    return bz2.BZ2Decompressor() if compression == "bz2" else lzma.LZMADecompressor(lzma.FORMAT_XZ)


class _Streams(io.RawIOBase):
    def __init__(self, raw: BinaryIO, compression: str) -> None:
        self._raw = raw
        self._compression = compression
        self._magic, self._padding = _KINDS[compression]
        self._stream = _decompressor(compression)
        self._input = b""
        self._finished = False

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._finished:
            if self._stream.eof:
                self._next_stream()
                continue
            # zlib returns unused input, the others keep it and ask for more when they need it
            if not self._input and getattr(self._stream, "needs_input", True):
                self._input = self._raw.read(_READ_BYTES)
                if not self._input:
                    raise EOFError("the last stream has no end")
            piece = self._stream.decompress(self._input, len(target))
            self._input = getattr(self._stream, "unconsumed_tail", b"")
            if piece:
                target[: len(piece)] = piece
                return len(piece)
        return 0

    def _next_stream(self) -> None:
        """Skip the padding after a stream, up to the next stream or the end of the file."""
        rest = self._stream.unused_data or self._raw.read(_READ_BYTES)
        zeros = 0
        while self._padding and rest and not rest.strip(b"\0"):
            zeros += len(rest)
            rest = self._raw.read(_READ_BYTES)
        if self._padding:
            zeros += len(rest) - len(rest.lstrip(b"\0"))
            rest = rest.lstrip(b"\0")
        begins = rest[: len(self._magic)]
        if (zeros and zeros % self._padding) or not self._magic.startswith(begins):
            raise EOFError("the end of a stream is followed by neither another stream nor padding")
        self._finished = not rest
        self._input = rest
        self._stream = _decompressor(self._compression)
