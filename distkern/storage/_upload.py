"""Puts finished local files and folders into a store of objects."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from distkern.storage._file_systems import ask
from distkern.storage.places import MARKS, URLPlace, no_bucket

#: files up to this size are sent several at a time; of larger ones a driver may hold pieces in memory
_SMALL_BYTES = 4 * 2**20
_AT_ONCE = 8

#: the object that says that a folder is being written, for :func:`is_left_over`
_BEING_WRITTEN = ".distkern-being-written"


def put_file(file: Path, target: URLPlace) -> None:
    """Make an object of a file: whole or not at all, as an object is."""
    try:
        ask(target.url, lambda system, path: system.put_file(str(file), path))
    except FileNotFoundError as error:
        raise no_bucket(target) from error


def replace_folder(folder: Path, target: URLPlace) -> None:
    """Make objects of all files of a folder, instead of those that are there.

    Between the first removal and the last mark there is no whole folder at the target, and who died then
    leaves one that does not count as there.
    """
    sign = target / _BEING_WRITTEN
    sign.write_bytes(b"")
    present = {entry.name for entry in target.iterdir()} - {_BEING_WRITTEN}
    for name in (*reversed(MARKS), *sorted(present - set(MARKS))):
        if name in present:
            _remove(target / name)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    marks = [folder / name for name in MARKS if (folder / name).is_file()]
    others = [path for path in files if path not in marks]
    small = [path for path in others if path.stat().st_size <= _SMALL_BYTES]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        list(threads.map(lambda path: put_file(path, _below(target, folder, path)), small))
    for path in [*(path for path in others if path not in set(small)), *marks]:
        put_file(path, _below(target, folder, path))
    sign.unlink(missing_ok=True)


def _remove(place: URLPlace) -> None:
    # a store may still list what is gone
    with suppress(FileNotFoundError):
        ask(place.url, lambda system, path: system.rm(path, recursive=True))


def is_left_over(target: URLPlace) -> bool:
    """Whether a writer died, or is at work, at a place where nothing is whole."""
    return (target / _BEING_WRITTEN).is_file()


def _below(target: URLPlace, folder: Path, path: Path) -> URLPlace:
    return target / path.relative_to(folder).as_posix()
