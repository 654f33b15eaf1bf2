"""Atomic files and folders: complete or absent, whenever the process is killed."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeAlias

from distkern.core.errors import InputError
from distkern.core.processes import birth, is_running
from distkern.data.store._file_systems import ask
from distkern.data.store.places import MARKS, Location, Place, URLPlace, explain_errors, no_bucket, place_of

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
#: files up to this size are uploaded several at a time; drivers may hold pieces of larger ones in memory
_SMALL_BYTES = 4 * 2**20
_AT_ONCE = 8
#: object that marks a folder under construction, for :func:`is_left_over`
_BEING_WRITTEN = ".distkern-being-written"
#: tries to remove a folder that a thread may still write into, and seconds between them
_REMOVALS, _UNTIL_WRITTEN = 20, 0.05
#: called with the folder to be replaced; raises if it must stay
Check: TypeAlias = Callable[[Any], object]
_FLUSHED: ContextVar[bool] = ContextVar("_FLUSHED", default=True)


@contextmanager
def flushed(stays: bool) -> Iterator[None]:
    """Set whether this thread flushes its files to disk, as files that outlive a run need.

    Flushing takes milliseconds per file; files that the process removes at its end do not need it.
    """
    token = _FLUSHED.set(stays)
    try:
        yield
    finally:
        _FLUSHED.reset(token)


def write_text_atomic(path: Location, text: str) -> None:
    """Write a UTF-8 text file, as :func:`write_bytes_atomic` does."""
    write_bytes_atomic(path, text.encode())


def write_bytes_atomic(path: Location, content: bytes | bytearray) -> None:
    """Write a file atomically: after any crash it has the old content or the new.

    Raises :class:`InputError` if the disk is full or the place cannot be written.
    """
    target = place_of(path)
    if isinstance(target, URLPlace):
        target.write_bytes(bytes(content))
        return
    partial = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
    with explain_errors(target):
        try:
            with open(partial, "wb") as file:
                file.write(content)
                file.flush()
                if _FLUSHED.get():
                    os.fsync(file.fileno())
            os.replace(partial, target)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
        _fsync(target.parent)


class StagedFolder:
    """A folder under construction beside its final place.

    Attributes
    ----------
    target : the final place
    path : where to write until :meth:`commit`
    """

    target: Place

    def __init__(self, target: Path) -> None:
        _remove_stale(target)
        self.target = self._final = target
        self.path = target.with_name(f".{target.name}.partial-{_token()}")
        try:
            self.path.mkdir(parents=True)
        except FileNotFoundError as error:
            # file systems without new folders, such as /proc, raise this
            raise InputError("cannot be written", where=str(target), hint="choose another place") from error

    def commit(self, check: Check | None = None) -> None:
        """Flush everything to disk and move the folder to its place, see :func:`put_in_place`."""
        put_in_place(self.path, self._final, check)

    def commit_new(self) -> None:
        """Move the folder to its place, where nothing may exist; of several processes that try at once, one
        succeeds.

        Raises :class:`InputError` if something exists there.
        """
        fsync_tree(self.path)
        try:
            # a folder can only replace an empty folder
            os.rename(self.path, self._final)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            raise already_there(self.target) from None
        _fsync(self._final.parent)

    def publish(self, name: str, *, overwrite: bool = False) -> None:
        """Move only the file ``name`` of this folder to its place; without ``overwrite`` as
        :meth:`commit_new`.
        """
        _fsync(self.path / name)
        if overwrite:
            os.replace(self.path / name, self._final)
            _fsync(self._final.parent)
            return
        try:
            os.link(self.path / name, self._final)
        except FileExistsError:
            raise already_there(self.target) from None
        except OSError:
            # a file system without links
            if self._final.exists():
                raise already_there(self.target) from None
            os.replace(self.path / name, self._final)
        _fsync(self._final.parent)

    def discard(self) -> None:
        """Remove the folder, including files that a thread still writes after an interruption."""
        for _ in range(_REMOVALS):
            if not self.path.exists():
                break
            shutil.rmtree(self.path, ignore_errors=True)
            time.sleep(_UNTIL_WRITTEN)


def put_in_place(folder: Path, target: Path, check: Check | None = None) -> None:
    """Flush a folder to disk and give it the name of another one beside it, whose content is removed.

    Where the file system can exchange two names (Linux), the target is a complete folder at every moment.
    Elsewhere it is missing between two renames, after which :func:`put_back` restores the old one.

    ``check`` is called with the folder to be removed, and raises if it must stay: once before the exchange
    and once after it, when nobody can add to the folder by its name any more. The two are then exchanged
    back.
    """
    fsync_tree(folder)
    if not target.exists() or is_empty_folder(target):
        os.replace(folder, target)
        _fsync(target.parent)
        return
    old = _old(folder)
    if check is not None:
        check(target)
    if _exchange(folder, target):
        try:
            if check is not None:
                check(folder)
        except BaseException:
            _exchange(folder, target)
            raise
        # a process that starts anew under this name keeps its files
        os.rename(folder, old)
    else:
        try:
            os.rename(target, old)
            os.rename(folder, target)
        except BaseException:
            put_back(folder, target)
            raise
    _remove(old)
    _fsync(target.parent)


def put_back(folder: Path, target: Path) -> None:
    """Restore a folder that was to be replaced, unless something took its place; then remove its remains."""
    old = _old(folder)
    if not os.path.lexists(old):
        return
    if os.path.lexists(target):
        _remove(old)
    else:
        os.rename(old, target)


def _old(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-old")


class StagedUpload(StagedFolder):
    """A folder under construction in this machine's temporary folder, for a place in a store."""

    def __init__(self, target: URLPlace) -> None:
        super().__init__(Path(tempfile.gettempdir(), "distkern-upload"))
        self.path.chmod(0o700)
        self.target = self._place = target

    def commit(self, check: Check | None = None) -> None:
        """Replace the target; the marks of a complete folder are removed first and written last."""
        if check is not None and self._place.exists():
            check(self._place)
        replace_folder(self.path, self._place)

    def commit_new(self) -> None:
        if self._place.exists():
            raise already_there(self._place)
        self.commit()

    def publish(self, name: str, *, overwrite: bool = False) -> None:
        if not overwrite and self._place.exists():
            raise already_there(self._place)
        put_file(self.path / name, self._place)


def already_there(target: Place) -> InputError:
    """Return the error for a place that exists and is not overwritten."""
    return InputError("already exists", where=str(target), hint="choose another place or remove it")


@contextmanager
def staged_folder(target: Location) -> Iterator[StagedFolder]:
    """Open a :class:`StagedFolder` that is removed unless it is committed inside the context.

    Remains of killed processes of this machine for the same target are removed first. Folders for a store are
    built in the temporary folder of this machine, which must have room for them.
    """
    final = place_of(target)
    if isinstance(final, Path):
        final = Path(os.path.abspath(final))
    with explain_errors(final):
        folder = StagedFolder(final) if isinstance(final, Path) else StagedUpload(final)
        try:
            yield folder
        finally:
            folder.discard()


def fsync_tree(folder: Path) -> None:
    """Flush a folder and everything below it to disk, see :func:`flushed`."""
    if not _FLUSHED.get():
        return
    for root, _, files in os.walk(folder):
        for name in files:
            _fsync(Path(root, name))
        _fsync(Path(root))


def _fsync(path: Path) -> None:
    if not _FLUSHED.get():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # some network file systems cannot flush a folder
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names atomically; False if the system or file system cannot. FileNotFoundError if one is
    gone.
    """
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    code = rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
    if code and ctypes.get_errno() == errno.ENOENT:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(first))
    return bool(code == 0)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def is_empty_folder(path: Path) -> bool:
    """Whether a new folder may take the place: an empty folder, not a link to one."""
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())


def _remove_stale(target: Path) -> None:
    """Remove partial folders for ``target`` of dead processes of this machine; restore a folder that one
    of them was about to replace.
    """
    if not target.parent.is_dir():
        return
    for entry in _orphans(target.parent, f".{target.name}.partial-"):
        with suppress(OSError):
            put_back(entry.with_name(entry.name.removesuffix("-old")), target)
        shutil.rmtree(entry, ignore_errors=True)


def _token() -> str:
    """Return a name for a folder of this process that :func:`_orphans` recognises after the process ends."""
    born = f".{ticks}" if (ticks := birth(os.getpid())) else ""
    return f"{_host()}-{os.getpid()}{born}-{secrets.token_hex(4)}"


def _orphans(parent: Path, prefix: str) -> list[Path]:
    """Return folders that dead processes of this machine left: names of ``prefix`` and a token."""
    pattern = re.compile(
        rf"{re.escape(f'{prefix}{_host()}-')}(?P<pid>[0-9]+)([.](?P<born>[0-9]+))?-[0-9a-f]{{8}}(-old)?"
    )
    found = ((parent / name, pattern.fullmatch(name)) for name in os.listdir(parent))
    return [path for path, match in found if match and not is_running(int(match["pid"]), match["born"] or "")]


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Open a folder in ``TMPDIR``, removed with the context; after a kill, when the user opens another."""
    _remove_orphans()
    path = Path(tempfile.gettempdir(), f"{_temporary()}{_token()}")
    path.mkdir(mode=0o700)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _remove_orphans() -> None:
    """Remove the folders of :func:`temporary_folder` of killed processes of this user and machine."""
    for path in _orphans(Path(tempfile.gettempdir()), _temporary()):
        with suppress(OSError):
            if path.lstat().st_uid == os.getuid():
                shutil.rmtree(path)


def _temporary() -> str:
    # containers that share the folder and host name do not see each other's processes
    try:
        return f"distkern-{os.stat('/proc/self/ns/pid').st_ino}-"
    except OSError:
        return "distkern-"


def put_file(file: Path, target: URLPlace) -> None:
    """Upload a file as an object, which is atomic."""
    try:
        ask(target.url, lambda system, path: system.put_file(str(file), path))
    except FileNotFoundError as error:
        raise no_bucket(target) from error


def replace_folder(folder: Path, target: URLPlace) -> None:
    """Upload all files of a folder in place of the present objects.

    Between the first removal and the last mark the target is incomplete; if the process dies then, the folder
    does not count.
    """
    sign = target / _BEING_WRITTEN
    sign.write_bytes(b"")
    present = {entry.name for entry in target.iterdir()} - {_BEING_WRITTEN}
    for name in (*reversed(MARKS), *sorted(present - set(MARKS))):
        if name in present:
            _remove_objects(target / name)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    marks = [folder / name for name in MARKS if (folder / name).is_file()]
    others = [path for path in files if path not in marks]
    small = [path for path in others if path.stat().st_size <= _SMALL_BYTES]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        list(threads.map(lambda path: put_file(path, _below(target, folder, path)), small))
    for path in [*(path for path in others if path not in set(small)), *marks]:
        put_file(path, _below(target, folder, path))
    sign.unlink(missing_ok=True)


def _remove_objects(place: URLPlace) -> None:
    # stores may still list removed objects
    with suppress(FileNotFoundError):
        ask(place.url, lambda system, path: system.rm(path, recursive=True))


def is_left_over(target: URLPlace) -> bool:
    """Whether an incomplete place is under construction or was left by a writer that died."""
    return (target / _BEING_WRITTEN).is_file()


def _below(target: URLPlace, folder: Path, path: Path) -> URLPlace:
    return target / path.relative_to(folder).as_posix()
