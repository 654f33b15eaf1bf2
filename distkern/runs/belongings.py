"""The folder of a run or a model: which of its files distkern wrote, and which are somebody else's."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from distkern.core.errors import DistkernError, InputError
from distkern.core.text import PAGE_BEGINS
from distkern.data.store.arrays import array_names
from distkern.data.store.description import json_object
from distkern.data.store.places import Place, read_file, read_range
from distkern.engine.kept_passes import FOLDER as KEPT_PASSES
from distkern.runs.algorithms import algorithms

#: stores of tasks that no model needs
PASSING = ("search", "moved", "held-out", KEPT_PASSES)
#: files of a job and of a search, which stay when another model takes the place of theirs
_STAYS = ("job.json", "log.jsonl", "tune")
#: the claims of a run, and half-written files
_HIDDEN = re.compile(r"\.job|\..+\.partial-.+")
_STAGE = re.compile(r"stage-\d{5,}")
_PART = re.compile(r"here|\d+(\.json|\.rows)?")
_OF_A_SEARCH = re.compile(r"trials|running|report\.html")


def _is_described(file: Place, encoding: str) -> bool:
    try:
        return json_object(read_file(file)).get("encoding-type") == encoding
    except (OSError, ValueError):
        return False


def is_model(file: Place) -> bool:
    """Whether a ``model.json`` describes a model of distkern, of whatever version."""
    return _is_described(file, "distkern-model")


def _is_arrays(folder: Place) -> bool:
    try:
        array_names(folder)
    except (DistkernError, OSError):
        # damaged arrays of a model are for its reader to refuse
        return is_model(folder.parent / "model.json")
    return True


def _is_metrics(file: Place) -> bool:
    if not file.is_file():
        return False
    try:
        first, _, _ = read_range(file, 0, 2**16).partition(b"\n")
        return not first or b'"stage"' in first
    except OSError:
        return False


def _is_report(file: Place) -> bool:
    if not file.is_file():
        return False
    try:
        return read_range(file, 0, len(PAGE_BEGINS)) == PAGE_BEGINS.encode()
    except OSError:
        return False


def _all_named(folder: Place, names: re.Pattern[str]) -> bool:
    found = folder.iterdir() if folder.is_dir() else [folder]
    return all(entry.name[:1] == "." or names.fullmatch(entry.name) for entry in found)


def _is_checkpoints(folder: Place) -> bool:
    return _all_named(folder, _STAGE)


def _is_parts(folder: Place) -> bool:
    if not folder.is_dir():
        return False
    others = [entry for entry in folder.iterdir() if not _PART.fullmatch(entry.name)]
    return all(entry.name[:1] == "." or (entry.is_dir() and _all_named(entry, _PART)) for entry in others)


def _is_search(folder: Place) -> bool:
    file = folder / "search.json"
    return _is_described(file, "distkern-search") if file.exists() else _all_named(folder, _OF_A_SEARCH)


def _is_wish(file: Place) -> bool:
    return file.is_file() and not file.read_bytes()


def _is_file(file: Place) -> bool:
    return file.is_file()


#: what a run leaves in its folder beside the folders of its model, and how it is told from others' files
OF_A_RUN: Mapping[str, Callable[[Place], bool]] = {
    "checkpoints": _is_checkpoints,
    "metrics.jsonl": _is_metrics,
    "arrays": _is_arrays,
    "model.json": is_model,
    "report.html": _is_report,
    "job.json": _is_file,
    "log.jsonl": _is_file,
    "cancel": _is_wish,
    "tune": _is_search,
    **dict.fromkeys(PASSING, _is_parts),
}


def foreign_in(folder: Place, *, hidden: bool) -> list[str]:
    """Names of entries in the folder of a run that no run wrote.

    A run names its files the same always, so a file is known by its name and its content. Of ``hidden``
    files, which no run touches, only those that whoever replaces the whole folder has to know of matter.
    """
    names = sorted(entry.name for entry in folder.iterdir())
    found = [name for name in names if name[:1] == "." and hidden and not _HIDDEN.fullmatch(name)]
    others = []
    for name in names:
        if name[:1] == ".":
            continue
        if name not in OF_A_RUN:
            others.append(name)
        elif not OF_A_RUN[name](folder / name):
            found.append(name)
    if others:
        # all algorithms are imported only to know the folders of their models
        of_models = {name for kind in algorithms().values() for name in kind.kind.folders}
        found += [name for name in others if name not in of_models or not _is_parts(folder / name)]
    return sorted(found)


def refuse_foreign(folder: Place, hint: str, *, hidden: bool = False) -> None:
    """Raise :class:`InputError` if a folder holds files that no run wrote, see :func:`foreign_in`."""
    if found := foreign_in(folder, hidden=hidden):
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        what = f"holds other things than a model ({found[0]!r}{more})"
        raise InputError(what, where=str(folder), hint=hint)


def refuse_others_model(folder: Place) -> None:
    """Raise :class:`InputError` for a file, and for a folder whose ``model.json`` or ``arrays`` are none of a
    model."""
    if folder.is_file():
        raise InputError("is a file", where=str(folder), hint="give a folder")
    for name in ("model.json", "arrays"):
        if (folder / name).exists() and not OF_A_RUN[name](folder / name):
            what = f"holds something else under the name {name!r}"
            raise InputError(what, where=str(folder), hint="give another folder")


def take_along(source: Path, target: Path) -> None:
    """Give the files of a job and of a search to the folder that takes the place of theirs.

    They are linked where the file system can do that, and stay where they are.
    """
    for name in _STAYS:
        there, here = source / name, target / name
        if here.is_dir():
            shutil.rmtree(here)
        else:
            here.unlink(missing_ok=True)
        if there.is_dir():
            shutil.copytree(there, here, symlinks=True, copy_function=_link)
        elif there.is_file():
            _link(there, here)


def _link(source: Any, target: Any) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
