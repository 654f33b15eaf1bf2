"""Files that are read piece by piece: each is checked once, and a bounded number of them is open."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from itertools import count
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from zict import LRU

from distkern.common.urls import is_url
from distkern.storage import chunks
from distkern.storage._file_systems import ask
from distkern.storage.places import URLPlace, read_range


def _most_open() -> int:
    try:
        import resource
    except ImportError:
        return 256
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 256 if limit == resource.RLIM_INFINITY else max(4, min(256, limit // 4))


#: most open files of this process: a quarter of its limit at most, which sockets and others share
MOST_OPEN = _most_open()

_VERIFIED_AT_ONCE = 2**20
#: least bytes of a request to a store: what is read next is mostly right behind
_WINDOW_BYTES = 2**16

#: device, number, size and time of change of a file: another file has another identity
Identity: TypeAlias = tuple[int, int, int, int]


class AbstractFile(ABC):
    """A file or an object of a store, open for reading at any place.

    Attributes
    ----------
    path : of the file
    identity : see :data:`Identity`

    Raises
    ------
    CorruptDataError
        If the file is missing or cannot be read.
    """

    path: str
    identity: Identity

    @abstractmethod
    def read_into(self, out: NDArray[np.uint8], offset: int) -> None:
        """Fill contiguous bytes with those at ``offset``."""

    def read(self, size: int, offset: int) -> memoryview:
        """``size`` bytes at ``offset``."""
        out = np.empty(size, dtype=np.uint8)
        self.read_into(out, offset)
        return out.data


class _LocalFile(AbstractFile):
    """It is closed when nobody holds it any longer."""

    def __init__(self, path: str) -> None:
        self._descriptor = -1
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            found = os.fstat(self._descriptor)
        except (FileNotFoundError, NotADirectoryError):
            raise chunks.damaged("the file is missing", path) from None
        except OSError as error:
            raise self._unreadable(error) from error
        self.identity = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def read_into(self, out: NDArray[np.uint8], offset: int) -> None:
        view = out.data
        done = 0
        while done < len(view):
            try:
                # one call gives at most 2 GiB
                got = os.preadv(self._descriptor, [view[done:]], offset + done)
            except OSError as error:
                raise self._unreadable(error) from error
            if not got:
                raise chunks.damaged(f"the file ends before byte {offset + len(view):,}", self.path)
            done += got

    def _unreadable(self, error: OSError) -> Exception:
        return chunks.damaged(f"the file cannot be read ({error.strerror})", self.path)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


class _RemoteFile(AbstractFile):
    """The last small piece that came is kept."""

    def __init__(self, url: str) -> None:
        self.path = url
        self._place = URLPlace(url)
        self._window = (0, b"")
        try:
            info = ask(url, lambda system, path: system.info(path))
        except FileNotFoundError:
            raise chunks.damaged("the file is missing", url) from None
        changed = str([info.get(key) for key in ("ETag", "etag", "LastModified", "mtime", "created")])
        number = chunks.crc32c(np.frombuffer(changed.encode(), np.uint8))
        self.identity = 0, number, int(info["size"]), 0

    def read_into(self, out: NDArray[np.uint8], offset: int) -> None:
        size = len(out)
        # one assignment, so that another thread finds the old window or the new
        start, window = self._window
        if not start <= offset <= offset + size <= start + len(window):
            start, window = offset, self._fetched(offset, max(size, _WINDOW_BYTES))
            if size < _WINDOW_BYTES:
                self._window = start, window
        piece = window[offset - start : offset - start + size]
        if len(piece) != size:
            raise chunks.damaged(f"the file ends before byte {offset + size:,}", self.path)
        out[...] = np.frombuffer(piece, dtype=np.uint8)

    def _fetched(self, start: int, size: int) -> bytes:
        stop = min(start + size, self.identity[2])
        try:
            return read_range(self._place, start, stop) if start < stop else b""
        except FileNotFoundError:
            raise chunks.damaged("the file is missing", self.path) from None


class OpenFiles:
    """The files of one reader among those that the process keeps open, which are the ones used last.

    A file that another thread pushes out is closed only when its read is done.
    """

    kept: ClassVar[LRU[tuple[int, str], AbstractFile]] = LRU(MOST_OPEN, {})
    _numbers: ClassVar[count[int]] = count()

    def __init__(self) -> None:
        self._owner = next(self._numbers)
        self._verified: dict[str, Identity] = {}

    def get(self, path: str, size: int, checksum: int) -> AbstractFile:
        """The file of a chunk, a path or a URL, opened if it is not.

        It is read whole once, a piece in memory at a time, to compare it with its crc32c.

        Raises
        ------
        CorruptDataError
            If it is missing or not what was written.
        """
        key = self._owner, path
        file = self.kept.get(key)
        if file is None:
            file = self.kept[key] = _RemoteFile(path) if is_url(path) else _LocalFile(path)
        # by what the file is, because one that was closed may be another when it is opened again
        if self._verified.get(path) != file.identity:
            _verify(file, size, checksum)
            self._verified[path] = file.identity
        return file

    def close(self) -> None:
        """Let go of all files of this reader."""
        for key in list(self.kept):
            if key[0] == self._owner:
                self.kept.pop(key, None)


def _verify(file: AbstractFile, size: int, checksum: int) -> None:
    if file.identity[2] != size:
        raise chunks.damaged(f"the chunk has {file.identity[2]:,} bytes instead of {size:,}", file.path)
    end = size - chunks.CRC_BYTES
    if int.from_bytes(file.read(chunks.CRC_BYTES, end), "little") != checksum:
        raise chunks.damaged("the chunk is not the one that was written", file.path)
    found = 0
    buffer = np.empty(min(_VERIFIED_AT_ONCE, end), dtype=np.uint8)
    for start in range(0, end, _VERIFIED_AT_ONCE):
        piece = buffer[: min(_VERIFIED_AT_ONCE, end - start)]
        file.read_into(piece, start)
        found = chunks.crc32c(piece, found)
    if found != checksum:
        raise chunks.damaged("the stored values are damaged (their checksum is wrong)", file.path)
