"""Find input files, local or through fsspec, and recognise their format by name."""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from distkern.core.errors import InputError
from distkern.core.urls import is_url, redact_urls, refuse_password
from distkern.data.formats._compressed import name_in_archive
from distkern.data.formats._folders import keys_of
from distkern.data.formats.base import FORMATS, InputFile, explain_errors, file_system_of

COMPRESSIONS = {".gz": "gzip", ".xz": "xz", ".bz2": "bz2", ".zst": "zstd", ".zip": "zip"}
#: extensions of tables in formats of other programs
_OTHER_TABLES = (
    ".xlsx",
    ".xls",
    ".ods",
    ".json",
    ".jsonl",
    ".feather",
    ".orc",
    ".sav",
    ".dta",
    ".pkl",
    ".h5",
)
_WEB = ("http://", "https://")


def expand(sources: Iterable[str | os.PathLike[str]], format_name: str | None = None) -> list[InputFile]:
    """Return the files of paths, folders, glob patterns and URLs, each source's in sorted order.

    A folder stands for all files below it with a known extension. Files and folders with names that begin
    with ``_`` or ``.`` are skipped there and in what a wildcard matches. Folders named ``key=value`` become
    columns of their files, see :class:`~distkern.data.formats._folders.FolderKey`. Raises :class:`InputError`
    for a missing file, an unknown extension (unless ``format_name`` is given), and an empty list.
    """
    if format_name is not None:
        FORMATS.find(format_name)
    files = [file for source in sources for file in _expand_one(os.fspath(source), format_name)]
    if not files:
        raise InputError("no input file given", hint="name at least one file, folder, pattern or URL")
    keys = keys_of(["" if file.url.startswith(_WEB) else file.url for file in files])
    return [replace(file, keys=own) for file, own in zip(files, keys, strict=True)]


def _expand_one(source: str, format_name: str | None) -> list[InputFile]:
    refuse_password(source)
    with explain_errors(InputFile(redact_urls(source), "")):
        paths, from_folder = _remote(source) if is_url(source) else _local(source)
    found = [_identify(path, format_name, quiet=from_folder) for path in paths]
    files = [file for file in found if file is not None]
    if not files:
        raise InputError(
            "the folder has no file of a known format",
            where=redact_urls(source),
            hint=f"known extensions: {_known_extensions()}; or give --format",
        )
    return files


def _local(source: str) -> tuple[Sequence[str], bool]:
    path = os.path.expanduser(source)
    if os.path.isdir(path):
        return sorted(_inside(path), key=_by_parts), True
    if os.path.exists(path):
        return [path], False
    found = [item for item in glob.glob(path, recursive=True) if os.path.isfile(item)]
    if found:
        return _visible(found, path), False
    folder, name = os.path.split(path)
    near: list[str] = []
    if os.path.isdir(folder or "."):
        near = difflib.get_close_matches(name, os.listdir(folder or "."), n=1)
    hint = f"did you mean {os.path.join(folder, near[0])!r}?" if near else "check the path"
    what = "no file matches the pattern" if glob.has_magic(path) else "file not found"
    raise InputError(what, where=source, hint=hint)


def _inside(path: str) -> Iterator[str]:
    """Yield the visible files below a folder; cyclic links are not followed."""
    entered: set[str] = set()
    for folder, folders, names in os.walk(path, followlinks=True):
        here = os.path.realpath(folder)
        if here in entered:
            folders.clear()
            continue
        entered.add(here)
        folders[:] = [name for name in folders if name[0] not in "._"]
        for name in names:
            if name[0] not in "._" and os.path.isfile(os.path.join(folder, name)):
                yield os.path.join(folder, name)


def _by_parts(path: str) -> list[str]:
    return re.split(r"[/\\]", path)


def _visible(paths: Iterable[str], pattern: str) -> list[str]:
    """Return the paths that match a pattern, sorted, without hidden ones that only a wildcard matches."""
    given = {part for part in _by_parts(pattern) if part[:1] in ("_", ".")}
    shown = []
    for path in paths:
        hidden = [part for part in _by_parts(path) if part[:1] in ("_", ".")]
        if all(any(fnmatchcase(part, one) for one in given) for part in hidden):
            shown.append(path)
    if not shown:
        raise InputError(
            "all files that match the pattern, or their folders, begin with _ or .",
            where=redact_urls(pattern),
            hint="write _ or . in the pattern",
        )
    return sorted(shown, key=_by_parts)


def _remote(source: str) -> tuple[Sequence[str], bool]:
    file_system, path = file_system_of(source)
    if glob.has_magic(path) and not file_system.exists(path):
        matches = [str(item) for item in file_system.glob(path)]
        if not matches:
            raise InputError("no file matches the pattern", where=redact_urls(source), hint="check the URL")
        return [file_system.unstrip_protocol(item) for item in _visible(matches, path)], False
    if file_system.isfile(path):
        return [source], False
    if file_system.isdir(path):
        names = [str(name) for name in file_system.find(path)]
        depth = len(_by_parts(path.rstrip("/")))
        visible = [
            name for name in names if all(part[:1] not in ("_", ".") for part in _by_parts(name)[depth:])
        ]
        return [file_system.unstrip_protocol(name) for name in sorted(visible, key=_by_parts)], True
    raise InputError("file not found", where=redact_urls(source), hint="check the URL")


def _identify(url: str, format_name: str | None, *, quiet: bool) -> InputFile | None:
    shown, mark, query = url.partition("?") if url.startswith(_WEB) else (url, "", "")
    lower = shown.lower()
    stem, suffix = os.path.splitext(lower)
    compression = COMPRESSIONS.get(suffix)
    extension = os.path.splitext(stem)[1] if compression else suffix
    if compression == "zip" and not extension and format_name is None:
        extension = _extension_in_archive(InputFile(shown, "", compression, mark + query))
    for kind in FORMATS.values():
        if kind.name == format_name or (format_name is None and extension in kind.extensions):
            if compression and not kind.is_text:
                raise InputError(
                    f"{kind.name} files are read in place and cannot be compressed as a whole",
                    where=shown,
                    hint="decompress the file first",
                )
            return InputFile(shown, kind.name, compression, mark + query)
    if quiet:
        return None
    hint = f"known: {_known_extensions()}; or give --format {'|'.join(FORMATS)}"
    if extension in _OTHER_TABLES:
        hint = "save it as CSV or Parquet"
    raise InputError(
        f"unknown extension {extension!r}"
        if extension
        else "the name has no extension that shows the format",
        where=shown,
        hint=hint,
    )


def _extension_in_archive(file: InputFile) -> str:
    """Return the extension of the one file in an archive, for archives without an extension before .zip."""
    with explain_errors(file):
        file_system, path = file_system_of(file.url + file.query)
        with file_system.open(path, "rb") as raw:
            return os.path.splitext(name_in_archive(raw).lower())[1]


def _known_extensions() -> str:
    plain = [extension for kind in FORMATS.values() for extension in kind.extensions]
    return f"{' '.join(plain)} (text also with {' '.join(COMPRESSIONS)})"
