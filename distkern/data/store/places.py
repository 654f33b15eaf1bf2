"""Places of storage: local paths, and URLs with the part of pathlib's interface that the package uses.

A place is a :class:`pathlib.Path` or a :class:`URLPlace`. Operations that differ between them are functions
here or in :mod:`distkern.data.store.atomic`; everything else is a method of both. A single object of a store
is atomic. A folder, which is only a common prefix of names, exists when its mark does (:data:`MARKS`), which
is written last and removed first.
"""

from __future__ import annotations

import errno
import math
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeAlias, TypeVar

from distkern.core.errors import InputError

#: the objects that make a folder of a store whole; of several, the last one does
MARKS = ("zarr.json", "manifest.json", "model.json")
#: largest description or list of metrics to read, in bytes; a sparse file of any size takes no disk
MOST_READ = 2**30


_FULL = {errno.ENOSPC, errno.EDQUOT}
_REFUSED = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.EEXIST,
}

Result = TypeVar("Result")


def _ask(url: str, question: Callable[[Any, str], Result]) -> Result:
    # local folders do without this import
    from distkern.data.store._file_systems import ask

    return ask(url, question)


@dataclass(frozen=True, order=True, slots=True)
class URLPlace:
    """An object of a store, or the folder of all objects below its name.

    Methods are those of :class:`pathlib.Path`. All raise :class:`~distkern.core.errors.StoreError` when the
    store does not answer and :class:`~distkern.core.errors.InputError` when it refuses.

    Attributes
    ----------
    url : without password, query and final slash
    """

    url: str

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> URLPlace:
        return URLPlace(f"{self.url}/{name}")

    @property
    def name(self) -> str:
        return self.url.partition("://")[2].rpartition("/")[2] or self.url.partition("://")[2]

    @property
    def stem(self) -> str:
        return Path(self.name).stem

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    @property
    def parent(self) -> URLPlace:
        head, _, rest = self.url.partition("://")
        return URLPlace(f"{head}://{rest.rpartition('/')[0]}") if "/" in rest else self

    # -- looking

    def _info(self) -> dict[str, Any] | None:
        try:
            info: dict[str, Any] = _ask(self.url, lambda system, path: system.info(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return info

    def exists(self) -> bool:
        return self._info() is not None

    def is_file(self) -> bool:
        info = self._info()
        return info is not None and info["type"] == "file"

    def is_dir(self) -> bool:
        info = self._info()
        return info is not None and info["type"] == "directory"

    def iterdir(self) -> Iterator[URLPlace]:
        """Yield the direct entries in order; none if there is no such folder."""
        try:
            own, found = _ask(self.url, lambda system, path: (path, system.ls(path, detail=False)))
        except (FileNotFoundError, NotADirectoryError):
            return
        # an object with the folder's own name may be among them
        paths = {str(entry).strip("/") for entry in found} - {own.strip("/")}
        for name in sorted(path.rpartition("/")[2] for path in paths):
            yield self / name

    # -- reading and writing

    def read_bytes(self) -> bytes:
        content: bytes = _ask(self.url, lambda system, path: system.cat_file(path))
        return content

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def write_bytes(self, data: bytes) -> int:
        """Replace the object atomically."""
        try:
            _ask(self.url, lambda system, path: system.pipe_file(path, data))
        except FileNotFoundError as error:
            raise no_bucket(self) from error
        return len(data)

    def write_text(self, data: str, encoding: str = "utf-8") -> int:
        """Replace the object atomically."""
        return self.write_bytes(data.encode(encoding))

    def unlink(self, missing_ok: bool = False) -> None:
        try:
            _ask(self.url, lambda system, path: system.rm_file(path))
        except FileNotFoundError:
            if not missing_ok:
                raise

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a folder of a store exists when it has content."""

    def rmdir(self) -> None:
        """Do nothing: a folder of a store is gone when it is empty."""


Place: TypeAlias = Path | URLPlace
#: what users may give
Location: TypeAlias = str | os.PathLike[str] | URLPlace


def place_of(where: Location) -> Place:
    """Return the place of a path or a URL; ``file://`` becomes a path.

    Raises :class:`InputError` if the URL has a password or a query.
    """
    if isinstance(where, (URLPlace, Path)):
        return where
    text = os.fspath(where)
    if "://" not in text:
        return Path(text)
    # local folders do without this import
    from distkern.core.urls import local_path, redact_urls, refuse_password

    refuse_password(text)
    path = local_path(text)
    if path is not None:
        return Path(path)
    if "?" in text:
        raise InputError(
            "contains a question mark",
            where=redact_urls(text),
            hint="give the URL of a folder or object, and set the store's options in the environment",
        )
    return URLPlace(text.rstrip("/"))


def absolute(where: Location) -> Place:
    """Return the absolute place, valid in a process with another working folder."""
    place = place_of(where)
    return place if isinstance(place, URLPlace) else Path(os.path.abspath(os.path.expanduser(place)))


def resolved(where: Location) -> Place:
    """Return the :func:`absolute` place with links followed, so that replacing it keeps the link."""
    place = absolute(where)
    return place if isinstance(place, URLPlace) else Path(os.path.realpath(place))


def is_fleeting(place: Place) -> bool:
    """Whether a place lies in the memory of this process."""
    return isinstance(place, URLPlace) and place.url.startswith("memory://")


class NotAFileError(OSError):
    """A folder, FIFO, socket or device in place of a file; reading the last three may never end."""


def size_of_file(place: Place) -> int:
    """Return the size of a file or object in bytes.

    Raises :class:`FileNotFoundError` if it does not exist and :class:`NotAFileError` if it is something else.
    """
    if isinstance(place, Path):
        status = place.stat()
        if not stat.S_ISREG(status.st_mode):
            raise NotAFileError(errno.EISDIR, "not a regular file", str(place))
        return status.st_size
    return int(_ask(place.url, lambda system, path: system.info(path))["size"])


def modified(place: Place) -> float:
    """Return the modification time of a file or object in seconds since 1970, by the clock of its disk or
    store; infinite if a store has none.
    """
    if isinstance(place, Path):
        return place.stat().st_mtime
    try:
        return float(_ask(place.url, lambda system, path: system.modified(path)).timestamp())
    except (NotImplementedError, KeyError):
        return math.inf


def read_file(place: Place) -> bytes:
    """Read a file or object that others may have written; raises as :func:`size_of_file`, also for more
    than :data:`MOST_READ` bytes.
    """
    # an object of a store is always a regular file, and asking for its size takes a request
    if isinstance(place, Path) and size_of_file(place) > MOST_READ:
        raise NotAFileError(errno.EFBIG, os.strerror(errno.EFBIG), str(place))
    return place.read_bytes()


def size_of_tree(place: Place) -> int:
    """Return the bytes of all files below a place."""
    if isinstance(place, Path):
        return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    return int(_ask(place.url, lambda system, path: system.du(path)))


def read_range(place: Place, start: int, stop: int | None = None) -> bytes:
    """Read bytes ``start : stop`` of a file or object; fewer if it ends earlier."""
    if isinstance(place, Path):
        size_of_file(place)
        with open(place, "rb") as file:
            file.seek(start)
            return file.read() if stop is None else file.read(stop - start)
    content: bytes = _ask(place.url, lambda system, path: system.cat_file(path, start=start, end=stop))
    return content


def create_exclusively(place: Place, text: str) -> None:
    """Create a file that must not exist; of several processes that try at once, one succeeds.

    Stores with a conditional put ensure this themselves (S3: ``If-None-Match``). In others the object is
    looked up before and read again after. ``text`` must be unique to the caller. Raises
    :class:`FileExistsError` if the file exists.
    """
    if isinstance(place, Path):
        descriptor = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        return
    content = text.encode()
    if place.exists():
        raise FileExistsError(str(place))
    try:
        _ask(place.url, lambda system, path: system.pipe_file(path, content, mode="create"))
    except FileExistsError:
        # an earlier try of ours may have succeeded and only its answer been lost
        if place.read_bytes() != content:
            raise
    except FileNotFoundError as error:
        raise no_bucket(place) from error
    if place.read_bytes() != content:
        raise FileExistsError(str(place))


def remove_tree(place: Place) -> None:
    """Remove a folder and its content, marks first; a missing one is ignored."""
    if isinstance(place, Path):
        import shutil

        shutil.rmtree(place, ignore_errors=True)
        return
    with suppress(FileNotFoundError):
        for name in reversed(MARKS):
            (place / name).unlink(missing_ok=True)
        _ask(place.url, lambda system, path: system.rm(path, recursive=True))


def is_whole(folder: Place) -> bool:
    """Whether a complete folder exists: on a store, whether a mark does."""
    if isinstance(folder, Path):
        return folder.is_dir()
    return any((folder / name).is_file() for name in MARKS)


def no_bucket(place: URLPlace) -> InputError:
    """Return the error for a place in a bucket that does not exist."""
    return InputError("cannot be written: there is no such bucket", where=str(place), hint="check the URL")


@contextmanager
def explain_errors(target: Place) -> Iterator[None]:
    """Turn a full disk and an unwritable place into an :class:`InputError` that names ``target``."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise disk_full(target) from error
        if error.errno in _REFUSED:
            raise InputError(
                f"cannot be written ({error.strerror})", where=str(target), hint="choose another place"
            ) from error
        raise


def make_folder(folder: Place, target: Place) -> None:
    """Create a folder to write ``target``; :class:`InputError` if it cannot be created."""
    try:
        with explain_errors(target):
            folder.mkdir(parents=True, exist_ok=True)
    except FileNotFoundError as error:
        # file systems without new folders, such as /proc, raise this
        raise InputError("cannot be written", where=str(target), hint="choose another place") from error


def disk_full(target: Place, needed_bytes: int | None = None) -> InputError:
    """Return the error for a full disk, with the needed (if known) and the free space."""
    if isinstance(target, URLPlace):
        return _no_room_to_stage(target, needed_bytes)
    free = free_bytes(target)
    needed = "" if needed_bytes is None else f"{needed_bytes / 2**20:,.1f} MiB needed, "
    return InputError(
        f"the disk is full ({needed}{free / 2**20:,.1f} MiB free)",
        where=str(target),
        hint="free some space or choose another place",
    )


def _no_room_to_stage(target: URLPlace, needed_bytes: int | None) -> InputError:
    folder = Path(tempfile.gettempdir())
    full = disk_full(folder, needed_bytes)
    return InputError(
        f"is built in {folder} first, and {full.what}",
        where=str(target),
        hint="free some space there or set TMPDIR to another folder",
    )


def free_bytes(target: Path) -> int:
    """Return free bytes on the file system of the nearest existing parent of ``target``."""
    place = target
    while not place.exists() and place != place.parent:
        place = place.parent
    return shutil.disk_usage(place).free


def append_text(place: Place, text: str) -> None:
    """Append to a UTF-8 text file; on disk when this returns.

    Objects of a store are rewritten, which suits small ones only. Raises :class:`InputError` if the disk is
    full or the place cannot be written.
    """
    if isinstance(place, URLPlace):
        try:
            before = place.read_bytes()
        except FileNotFoundError:
            before = b""
        place.write_bytes(before + text.encode())
        return
    with open_to_append(place) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def open_to_append(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 text file for appending.

    Raises :class:`InputError` if the disk is full or the place cannot be written, also for a link and for a
    FIFO, which would wait for a reader.
    """
    with explain_errors(path):
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            what, hint = "cannot be written (not a regular file)", "remove it or use another folder"
            raise InputError(what, where=str(path), hint=hint)
        with path.open("a", encoding="utf-8") as file:
            yield file
