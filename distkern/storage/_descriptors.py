"""Files that are read piece by piece: a bounded number of them is open, whatever is read."""

from __future__ import annotations

import os
from itertools import count
from typing import Any, ClassVar, TypeAlias

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


#: of this process, whatever it reads: at most a quarter of its limit, which sockets and others share
MOST_OPEN = _most_open()

#: device, number, size and time of change of a file: another file has another identity
Identity: TypeAlias = tuple[int, int, int, int]


class ReadFile:
    """A file open for reading at any place; it is closed when nobody holds it any longer.

    Attributes
    ----------
    path : of the file
    size : bytes
    identity : see :data:`Identity`
    table : what a reader keeps of the file while it is open

    Raises
    ------
    CorruptDataError
        If the file is missing or cannot be read.
    """

    __slots__ = ("_descriptor", "identity", "path", "size", "table")

    def __init__(self, path: str) -> None:
        self._descriptor = -1
        self.path = path
        self.table: NDArray[Any] | None = None
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            found = os.fstat(self._descriptor)
        except (FileNotFoundError, NotADirectoryError):
            raise chunks.damaged("the file is missing", path) from None
        except OSError as error:
            raise self._unreadable(error) from error
        self.size = found.st_size
        self.identity: Identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def read(self, size: int, offset: int) -> bytes:
        """``size`` bytes at ``offset``."""
        try:
            piece = os.pread(self._descriptor, size, offset)
        except OSError as error:
            raise self._unreadable(error) from error
        if len(piece) == size:
            return piece
        whole = np.empty(size, dtype=np.uint8)
        self.read_into(whole, offset)
        return whole.tobytes()

    def read_into(self, out: NDArray[np.uint8], offset: int) -> None:
        """Fill contiguous bytes with those at ``offset``."""
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


#: least bytes that are asked of a store at a time: what is read next is mostly right behind
_WINDOW_BYTES = 2**16


class RemoteFile:
    """An object of a store, read at any place; a :class:`ReadFile` in all else.

    The last bytes that came are kept, at most twice :data:`_WINDOW_BYTES`.
    """

    __slots__ = ("_place", "_window", "identity", "path", "size", "table")

    def __init__(self, url: str) -> None:
        self.path = url
        self.table: NDArray[Any] | None = None
        self._place = URLPlace(url)
        self._window = (0, b"")
        try:
            info = ask(url, lambda system, path: system.info(path))
        except FileNotFoundError:
            raise chunks.damaged("the file is missing", url) from None
        self.size = int(info["size"])
        changed = str([info.get(key) for key in ("ETag", "etag", "LastModified", "mtime", "created")])
        self.identity: Identity = (0, chunks.crc32c(np.frombuffer(changed.encode(), np.uint8)), self.size, 0)

    def read(self, size: int, offset: int) -> bytes:
        """``size`` bytes at ``offset``."""
        # one assignment, so that another thread finds the old window or the new
        start, window = self._window
        if not start <= offset <= offset + size <= start + len(window):
            start, window = offset, self._fetched(offset, min(offset + size + _WINDOW_BYTES, self.size))
            # a long piece is not read again, what is behind it is
            kept = min(size, max(0, len(window) - 2 * _WINDOW_BYTES))
            self._window = (start + kept, window[kept:] if kept else window)
        piece = window[offset - start : offset - start + size]
        if len(piece) != size:
            raise chunks.damaged(f"the file ends before byte {offset + size:,}", self.path)
        return piece

    def _fetched(self, start: int, stop: int) -> bytes:
        if stop <= start:
            return b""
        try:
            return read_range(self._place, start, stop)
        except FileNotFoundError:
            raise chunks.damaged("the file is missing", self.path) from None

    def read_into(self, out: NDArray[np.uint8], offset: int) -> None:
        """Fill contiguous bytes with those at ``offset``."""
        out[...] = np.frombuffer(self.read(len(out), offset), dtype=np.uint8)


AnyFile: TypeAlias = ReadFile | RemoteFile


class OpenFiles:
    """The files of one reader among those that the process keeps open, which are the ones used last.

    A file that another thread pushes out is closed only when its read is done.
    """

    kept: ClassVar[LRU[tuple[int, str], AnyFile]] = LRU(MOST_OPEN, {})
    _numbers: ClassVar[count[int]] = count()

    def __init__(self) -> None:
        self._owner = next(self._numbers)

    def get(self, path: str) -> AnyFile:
        """The file at ``path``, a path or a URL, opened if it is not.

        Raises
        ------
        CorruptDataError
            If it is missing or cannot be read.
        """
        key = self._owner, path
        file = self.kept.get(key)
        if file is None:
            file = self.kept[key] = RemoteFile(path) if is_url(path) else ReadFile(path)
        return file

    def close(self) -> None:
        """Let go of all files of this reader."""
        for key in list(self.kept):
            if key[0] == self._owner:
                self.kept.pop(key, None)
