"""The folder of a run: its files, its owner, and what is removed from it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any

from distkern.core.errors import CorruptDataError, DistkernError, InputError
from distkern.core.text import PAGE_BEGINS
from distkern.data.dataset import Split
from distkern.data.store.arrays import array_names
from distkern.data.store.atomic import staged_folder
from distkern.data.store.description import json_object
from distkern.data.store.places import Place, URLPlace, absolute, read_file, read_range, remove_tree, resolved
from distkern.engine.checkpoint import FOLDER as KEPT_PASSES
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.events import Event, Listener
from distkern.model.value import FittedModel
from distkern.runs.algorithms import algorithms
from distkern.runs.persistence import refuse_other_model, save_model
from distkern.runs.recipe import Recipe
from distkern.show import metrics

#: hidden folder of a job in the folder of its run
_OF_A_JOB = ".job"


def farewell(folder: Place) -> str:
    """Return the last message of an interrupted run."""
    if (folder / "model.json").exists():
        return f"interrupted; the model is in {folder}, for its report run the same command with --resume"
    saved = CheckpointFolder(folder / "checkpoints", {}).stages()
    if not saved:
        return "interrupted before the first checkpoint: run the same command again"
    return (
        f"interrupted; a checkpoint of stage {saved[-1]} is in {folder}: run the same command with --resume"
    )


def check_folder(folder: Place, resume: bool) -> None:
    """Refuse a folder that a run cannot train to.

    Raises
    ------
    InputError
        If it holds a model or an unfinished run and is not resumed, files of something else, or links through
        which the run would write elsewhere.
    """
    if not resume and is_model(folder / "model.json"):
        raise InputError(
            "holds a finished model", where=str(folder), hint="train to another folder or remove it"
        )
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError("is a file", where=str(folder), hint="give a folder for the model")
    if isinstance(folder, Path):
        for path in folder.iterdir():
            if path.is_symlink() and (path.name in OF_A_RUN or path.name == _OF_A_JOB):
                hint = "put the file or folder itself there, or give a new folder"
                raise InputError(f"{path.name!r} is a link", where=str(folder), hint=hint)
    refuse_foreign(folder, "give a new folder")
    if not resume and _is_unfinished(folder):
        raise InputError(
            "holds an unfinished run", where=str(folder), hint="use --resume, or remove the folder"
        )


def save_over(model: FittedModel, folder: Place, *, overwrite: bool = False) -> None:
    """Write a model; an existing one stays until the new one is complete.

    A model that was saved is replaced; one with files of a run only with ``overwrite``, which removes the old
    report and keeps the files of a job or search. A folder with files that are not a model's is refused.
    """
    place = resolved(folder)
    if place.is_dir():
        refuse_foreign(place, "save the model to another folder")
        if not overwrite and (names := _of_the_run(place)):
            what = "holds a finished model" if is_model(place / "model.json") else "holds an unfinished run"
            hint = "save the model to another folder, or give --overwrite"
            raise InputError(f"{what} ({', '.join(names)})", where=str(folder), hint=hint)
    is_beside = not isinstance(place, Path) or not is_model(place / "model.json")
    if is_beside or foreign_in(place, hidden=True):
        save_model(model, place)
        return
    assert isinstance(place, Path), "a remote store keeps its other files"
    with staged_folder(place) as staged:
        save_model(model, staged.path)
        take_along(place, staged.path)
        staged.commit(partial(refuse_foreign, hint="save the model to another folder", hidden=True))


def _of_the_run(folder: Place) -> list[str]:
    """Return the files of a run in a folder besides those of its saved model."""
    saved = {"model.json", "arrays"}
    return [name for name in OF_A_RUN if name not in saved and (folder / name).exists()]


def check_resumption(recipe: Recipe, source: Split, folder: Place, *, test: Split | None) -> None:
    """Refuse to resume a run with other data or hyperparameters, before anything starts.

    Raises
    ------
    InputError
        Naming the difference, then and now.
    """
    recipe.check()
    data, has_test = recipe.data_of(source), test is not None
    recipe = recipe.settled(data, has_test=has_test)
    identity = recipe.identity(data, recipe.pose(data, has_test=has_test))
    CheckpointFolder(folder / "checkpoints", identity).check()
    if (folder / "model.json").exists():
        refuse_other_model(folder, recipe, data.source.fingerprint)


def _is_unfinished(folder: Place) -> bool:
    checkpoints = folder / "checkpoints"
    if isinstance(checkpoints, URLPlace):
        # an incomplete checkpoint is overwritten
        return bool(CheckpointFolder(checkpoints, {}).stages())
    return checkpoints.is_dir() and any(checkpoints.iterdir())


def go_back(folder: Place | None, error: CorruptDataError, listeners: Sequence[Listener]) -> None:
    """Let a resumed run recreate damaged results of its tasks; raise the error if it is about other files.

    The newest checkpoint is removed, since the stage after the previous one writes the results again.
    """
    where, own = f"{error.where}/", f"{'' if folder is None else absolute(folder)}/"
    if folder is None or not where.startswith(own) or where.startswith(f"{own}checkpoints/"):
        raise error
    checkpoints = CheckpointFolder(folder / "checkpoints", {})
    for stage in checkpoints.stages()[-1:]:
        remove_tree(checkpoints.path / f"stage-{stage:05d}")
    message = Event("message", {"text": f"{error.where}: {error.what}; it is recreated"})
    for listener in listeners:
        listener(message)
    metrics.rewrite(folder / "metrics.jsonl", checkpointed_history(folder))


def clear(folder: Place) -> None:
    """Remove what a finished model does not need: checkpoints, and incomplete files of killed runs."""
    CheckpointFolder(folder / "checkpoints", {}).remove()
    for name in PASSING:
        if (folder / name).exists():
            remove_tree(folder / name)
    if isinstance(folder, Path):
        for left in folder.glob(".*.partial-*"):
            if left.is_dir():
                remove_tree(left)
            else:
                left.unlink(missing_ok=True)


def tidy(folder: Place) -> None:
    """Remove the files of a run that failed before its first checkpoint.

    An existing model stays with its metrics: only its evaluation failed.
    """
    if isinstance(folder, URLPlace):
        with suppress(DistkernError, OSError):
            _tidy_store(folder)
        return
    if CheckpointFolder(folder / "checkpoints", {}).stages():
        return
    # another driver of the job may be running here or have finished
    if (folder / "job.json").exists() or (folder / "model.json").exists():
        return
    with suppress(OSError):
        (folder / "metrics.jsonl").unlink(missing_ok=True)
        if (folder / "checkpoints").is_dir():
            (folder / "checkpoints").rmdir()
        folder.rmdir()


def _tidy_store(folder: URLPlace) -> None:
    if CheckpointFolder(folder / "checkpoints", {}).stages() or (folder / "job.json").exists():
        return
    if not (folder / "model.json").exists():
        (folder / "metrics.jsonl").unlink(missing_ok=True)
        remove_tree(folder / "checkpoints")


def checkpointed_history(folder: Place) -> list[dict[str, Any]]:
    """Return the lines of metrics up to the newest checkpoint."""
    newest = CheckpointFolder(folder / "checkpoints", {}).newest_header()
    return [] if newest is None else newest.history


def begun_algorithm(folder: Place) -> str | None:
    """Return the algorithm of an unfinished run or search; None if it is unknown."""
    file = folder / "tune" / "search.json"
    with suppress(OSError, ValueError, DistkernError):
        newest = CheckpointFolder(folder / "checkpoints", {}).newest_header()
        known = json_object(read_file(file)) if newest is None else newest.identity
        return str(known["algorithm"]) if "algorithm" in known else None
    return None


#: stores of tasks that a finished model does not need
PASSING = ("search", "moved", "held-out", KEPT_PASSES)
#: files of a job and of a search, which stay when another model replaces theirs
_STAYS = ("job.json", "log.jsonl", "tune")
#: claims of a run, and incomplete files
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
    """Return whether a ``model.json`` describes a model of distkern, of any version."""
    return _is_described(file, "distkern-model")


def _is_arrays(folder: Place) -> bool:
    try:
        array_names(folder)
    except (DistkernError, OSError):
        # the reader of the model refuses damaged arrays
        return is_model(folder.parent / "model.json")
    return True


def _start(file: Place, n_bytes: int) -> bytes | None:
    """Return the first bytes of a file, or None if they cannot be read."""
    try:
        return read_range(file, 0, n_bytes) if file.is_file() else None
    except OSError:
        return None


def _is_metrics(file: Place) -> bool:
    start = _start(file, 2**16)
    return start is not None and (start[:1] in (b"", b"\n") or b'"stage"' in start.partition(b"\n")[0])


def _is_report(file: Place) -> bool:
    return _start(file, len(PAGE_BEGINS)) == PAGE_BEGINS.encode()


def _all_named(folder: Place, names: re.Pattern[str]) -> bool:
    found = folder.iterdir() if folder.is_dir() else [folder]
    return all(entry.name[:1] == "." or names.fullmatch(entry.name) for entry in found)


def _is_parts(folder: Place) -> bool:
    if not folder.is_dir():
        return False
    others = [entry for entry in folder.iterdir() if not _PART.fullmatch(entry.name)]
    return all(entry.name[:1] == "." or (entry.is_dir() and _all_named(entry, _PART)) for entry in others)


def _is_search(folder: Place) -> bool:
    file = folder / "search.json"
    return _is_described(file, "distkern-search") if file.exists() else _all_named(folder, _OF_A_SEARCH)


def _is_cancellation(file: Place) -> bool:
    return file.is_file() and not file.read_bytes()


#: file of a run, without those of its model -> check that distinguishes it from other files
OF_A_RUN: Mapping[str, Callable[[Place], bool]] = {
    "checkpoints": partial(_all_named, names=_STAGE),
    "metrics.jsonl": _is_metrics,
    "arrays": _is_arrays,
    "model.json": is_model,
    "report.html": _is_report,
    "job.json": methodcaller("is_file"),
    "log.jsonl": methodcaller("is_file"),
    "cancel": _is_cancellation,
    "tune": _is_search,
    **dict.fromkeys(PASSING, _is_parts),
}


def foreign_in(folder: Place, *, hidden: bool) -> list[str]:
    """Return names of entries in the folder of a run that no run wrote.

    A file is recognised by its name and content. ``hidden`` files, which no run touches, matter only when the
    whole folder is replaced.
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
        # imports all algorithms, for the folders of their models
        of_models = {name for kind in algorithms().values() for name in kind.kind.folders}
        found += [name for name in others if name not in of_models or not _is_parts(folder / name)]
    return sorted(found)


def refuse_foreign(folder: Place, hint: str, *, hidden: bool = False) -> None:
    """Raise :class:`InputError` if a folder holds files that no run wrote, see :func:`foreign_in`."""
    if found := foreign_in(folder, hidden=hidden):
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        what = f"holds files that are not a model's ({found[0]!r}{more})"
        raise InputError(what, where=str(folder), hint=hint)


def refuse_others_model(folder: Place) -> None:
    """Raise :class:`InputError` for a file, and for a foreign ``model.json`` or ``arrays`` in a folder."""
    if folder.is_file():
        raise InputError("is a file", where=str(folder), hint="give a folder")
    for name in ("model.json", "arrays"):
        if (folder / name).exists() and not OF_A_RUN[name](folder / name):
            what = f"holds something else under the name {name!r}"
            raise InputError(what, where=str(folder), hint="give another folder")


def take_along(source: Path, target: Path) -> None:
    """Copy the files of a job and of a search to the folder that replaces theirs.

    They are hard links if the file system allows it, and the originals stay.
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
