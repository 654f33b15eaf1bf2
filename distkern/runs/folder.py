"""The folder of a run: who owns it, and what is removed from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from distkern.core.errors import CorruptDataError, DistkernError, InputError
from distkern.data.dataset import Split
from distkern.data.store.atomic import staged_folder
from distkern.data.store.places import Place, URLPlace, absolute, remove_tree, resolved
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.events import Event, Listener
from distkern.model.value import FittedModel
from distkern.runs.belongings import OF_A_RUN, PASSING, foreign_in, is_model, refuse_foreign, take_along
from distkern.runs.persistence import refuse_other_model, save_model
from distkern.runs.recipe import Recipe
from distkern.show import metrics

#: what a job leaves in the folder of its run, under a hidden name
_OF_A_JOB = ".job"


def farewell(folder: Place) -> str:
    """The last message of an interrupted run."""
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
        If it holds a model or an unfinished run and is not resumed, things that are not of a run, or links,
        through which the run would write elsewhere.
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


def save_over(model: FittedModel, folder: Place) -> None:
    """Write a model; one that is there stays until the new one is whole.

    So it is where the folder of a disk holds a run and nothing else: the old report goes, and what a job or a
    search wrote stays. Elsewhere the new model is written beside what is there.
    """
    place = resolved(folder)
    is_beside = not isinstance(place, Path) or not is_model(place / "model.json")
    if is_beside or foreign_in(place, hidden=True):
        save_model(model, place)
        return
    assert isinstance(place, Path), "places of a store are written beside what is there"
    with staged_folder(place) as staged:
        save_model(model, staged.path)
        take_along(place, staged.path)
        staged.commit(partial(refuse_foreign, hint="save the model to another folder", hidden=True))


def check_resumption(recipe: Recipe, source: Split, folder: Place, *, test: Split | None) -> None:
    """Refuse to go on with a run of other data or with other hyperparameters, before anything is started.

    Raises
    ------
    InputError
        Naming what differs, then and now.
    """
    recipe.check()
    data, has_test = recipe.data_of(source), test is not None
    recipe = recipe.seeded().chosen_for(data, has_test=has_test)
    identity = recipe.identity(data, recipe.pose(data, has_test=has_test))
    CheckpointFolder(folder / "checkpoints", identity).check()
    if (folder / "model.json").exists():
        refuse_other_model(folder, recipe, data.source.fingerprint)


def _is_unfinished(folder: Place) -> bool:
    checkpoints = folder / "checkpoints"
    if isinstance(checkpoints, URLPlace):
        # half a checkpoint of a writer that died is written over
        return bool(CheckpointFolder(checkpoints, {}).stages())
    return checkpoints.is_dir() and any(checkpoints.iterdir())


def _goes_back(folder: Place, error: CorruptDataError) -> bool:
    """Whether the damaged files are task results that the run in ``folder`` makes again when it resumes.

    The newest checkpoint is then removed: what was stored before it is made by the stage that comes again.
    """
    checkpoints = CheckpointFolder(folder / "checkpoints", {})
    where, own = f"{error.where}/", str(absolute(folder))
    if not where.startswith(f"{own}/") or where.startswith(f"{own}/checkpoints/"):
        return False
    for stage in checkpoints.stages()[-1:]:
        remove_tree(checkpoints.path / f"stage-{stage:05d}")
    return True


def making_again(
    fit: Callable[..., FittedModel], folder: Place | None, resume: bool, listeners: Sequence[Listener]
) -> FittedModel:
    """``fit(resume=...)``; where what tasks have stored is damaged, once more, to make it again."""
    try:
        return fit(resume=resume)
    except CorruptDataError as error:
        if folder is None or not _goes_back(folder, error):
            raise
        told = Event("message", {"text": f"{error.where}: {error.what}; it is made again"})
        for listener in listeners:
            listener(told)
        metrics.rewrite(folder / "metrics.jsonl", checkpointed_history(folder))
        return fit(resume=True)


def clear(folder: Place) -> None:
    """Remove what a model does not need: checkpoints, and half-written files of runs that were killed."""
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
    """Remove the leftovers of a run that failed before its first checkpoint: they are of no use.

    A model that is there stays with its metrics: what failed was its evaluation.
    """
    if isinstance(folder, URLPlace):
        with suppress(DistkernError, OSError):
            _tidy_store(folder)
        return
    if CheckpointFolder(folder / "checkpoints", {}).stages():
        return
    # another driver of a job may be at work here, or have finished
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
    """The lines of metrics up to the newest checkpoint."""
    newest = CheckpointFolder(folder / "checkpoints", {}).newest_header()
    return [] if newest is None else newest.history
