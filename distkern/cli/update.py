"""``distkern update``."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.core.errors import InputError
from distkern.data.store.places import Place, place_of, remove_tree

if TYPE_CHECKING:
    from distkern.cli.job import Job
    from distkern.engine.events import Listener
    from distkern.runs.updating import UpdateRecipe

#: hint about files in a model's folder that an update in place would remove
_ELSEWHERE = "move them away, or give --out M2"


@click.command(cls=options.taking_several("--data"))
@click.argument("model", metavar="M")
@click.option(
    "--data",
    multiple=True,
    required=True,
    metavar="D.zarr...",
    help="Data sets with the new rows and, for algorithms that need them, the old rows, in any order. "
    "Takes everything up to the next option.",
)
@click.option("--out", metavar="M2", help="Folder or URL of the updated model.  [default: replace M]")
@click.option("--resume", is_flag=True, help="Continue a stopped update from its last checkpoint.")
@options.scheduling
@options.dashboard
@options.as_json
def update(
    model: str,
    data: tuple[str, ...],
    out: str | None,
    resume: bool,
    dashboard: bool | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Update a model with the training rows of new data sets.

    Hyperparameters, scaling and encoding stay as they are. newton with the square loss needs only the new
    rows and returns the minimum over old and new rows; other algorithms say if they need the old rows too.
    M stays complete until the updated model replaces it. A folder with other files is refused.

    Errors on test rows are those of the first new data set that has any, or of the first old one.

    \b
    Examples:
      distkern update m --data today.zarr
      distkern update m --data history.zarr today.zarr --out m2
    """
    from distkern.cli.facts import memory_line
    from distkern.cli.train import driving, run_job
    from distkern.engine.events import Event
    from distkern.runs.persistence import read_fingerprint, read_model
    from distkern.runs.updating import update_recipe
    from distkern.show.terminal import Terminal

    options.use_certificates(where["scheduler"])
    folder = place_of(model)
    staged = place_of(out) if out is not None else _staged(folder)
    if out is not None and os.path.realpath(out) == os.path.realpath(model):
        raise InputError("is the model itself", where="--out", hint="leave it out to replace the model")
    # refuse a path without a model before anything is created
    read_fingerprint(folder)
    splits = [options.open_for(model, path).train for path in data]
    with driving(staged, resume or out is None) as guards, Terminal(since=options.began()) as terminal:
        # under the claim: the second of two updates in place starts from the result of the first
        base = read_fingerprint(folder)
        recipe, new = update_recipe(read_model(folder), splits)
        if out is None:
            _clear(staged, recipe if resume else None)
        job = _job(recipe, new[0].dataset.path, staged, dashboard, where)
        listeners: list[Listener] = [*guards, terminal]
        tests = (split.dataset.test for split in (*new, *splits))
        updated, history = run_job(
            job,
            new[0].dataset,
            listeners=listeners,
            resume=resume,
            dashboard=dashboard,
            recipe=recipe,
            test=next((test for test in tests if test is not None), None),
        )
        place = staged
        if out is None:
            for guard in guards:
                guard(Event("run_finished"))
            assert isinstance(folder, Path), "a model in a store cannot be updated in place"
            place = _in_place(staged, folder, base)
    facts = updated.updates[-1]
    if as_json:
        click.echo(json.dumps({"model": str(place), "update": facts, **history[-1]}))
        return
    _print(facts)
    click.echo(memory_line(history, job.memory_limit))
    click.echo(f"model in {place}, report in {place / 'report.html'}")


def _staged(folder: Place) -> Path:
    """Return the folder in which to build an update in place: beside the model, or beside a link's target.

    Raises
    ------
    InputError
        If the model's folder cannot be replaced: it lies in a store, is in use, or holds other files.
    """
    from distkern.data.store.atomic import put_back
    from distkern.jobs.folder import JobFolder
    from distkern.runs.folder import refuse_foreign

    if not isinstance(folder, Path):
        raise InputError(
            "a model in a store cannot be updated in place", where=str(folder), hint="give --out M2"
        )
    real = Path(os.path.realpath(folder))
    staged = real.with_name(f".{real.name}.update")
    JobFolder(staged).refuse_if_driven()
    put_back(staged, real)
    JobFolder(real).refuse_if_driven()
    if real.is_dir():
        refuse_foreign(folder, _ELSEWHERE, hidden=True)
    return staged


def _clear(staged: Place, resumed: UpdateRecipe | None) -> None:
    """Remove a finished update that never replaced its model, unless it is being resumed."""
    from distkern.jobs.folder import OWN
    from distkern.runs.folder import refuse_foreign
    from distkern.runs.persistence import refuse_other_model

    if not (staged / "model.json").exists():
        return
    if resumed is not None:
        with suppress(InputError):
            refuse_other_model(staged, resumed, "")
            return
    refuse_foreign(staged, "move them away", hidden=True)
    # first: without its description it is no longer a model
    (staged / "model.json").unlink()
    for entry in staged.iterdir():
        if entry.name == OWN:
            continue
        if entry.is_dir():
            remove_tree(entry)
        else:
            entry.unlink()


def _in_place(staged: Place, folder: Path, base: str) -> Path:
    """Replace the model that the update started from, with the fingerprint ``base``, by the updated one.

    Raises
    ------
    InputError
        If another model or foreign files are there now; nothing is changed.
    """
    from distkern.data.store.atomic import put_in_place
    from distkern.jobs.folder import JobFolder
    from distkern.runs.folder import refuse_foreign, take_along
    from distkern.runs.persistence import check_model, read_fingerprint

    def check(replaced: Path) -> None:
        is_exchanged = replaced != real
        if read_fingerprint(replaced) != base or (is_exchanged and read_fingerprint(real) != made):
            raise InputError(
                "was changed during the update and is not replaced",
                where=str(folder),
                hint="run the same command again",
            )
        refuse_foreign(replaced, f"{_ELSEWHERE}, and run the same command again with --resume", hidden=True)

    assert isinstance(staged, Path), "it lies beside the folder"
    real = Path(os.path.realpath(folder))
    check(real)
    # the files may have been damaged since they were written
    made = check_model(staged)
    take_along(real, staged)
    put_in_place(staged, real, check)
    # the claim moved along and is not part of the model
    JobFolder(real).discard()
    return folder


def _job(recipe: UpdateRecipe, data: Any, out: Place, dashboard: bool | None, where: dict[str, Any]) -> Job:
    """Return the job of an update, for its claim and its report."""
    from distkern.cli.job import Job

    given = {name: value for name, value in where.items() if value is not None}
    if "scheduler" not in given:
        source = recipe.rows.data.source
        anything_given = bool(given) or bool(dashboard)
        n_bytes = source.n_rows * source.row_bytes
        given["scheduler"] = options.scheduler_for(n_bytes, anything_given=anything_given)
    name = recipe.saved_name.removesuffix("_regressor")
    return Job(algorithm=name, data=str(data), out=str(out), **given)


def _print(update: dict[str, Any]) -> None:
    """Print drift and errors of an update."""
    from distkern.cli.facts import update_facts
    from distkern.cli.tables import console, note_line, table
    from distkern.core.text import in_percent, shortened
    from distkern.show.style import short_number

    facts, drift = update_facts(update), update["drift"]
    if drift is not None and drift["most"]:
        rows = [
            [
                shortened(one["column"]),
                in_percent(one["outside"]),
                f"{short_number(one['low'])} to {short_number(one['high'])}",
                f"{short_number(one['new_low'])} to {short_number(one['new_high'])}",
            ]
            for one in drift["most"]
        ]
        console().print(table(("column", "outside", "range before", "range now"), rows))
        left = drift["columns"] - len(rows)
        facts["drift"] = f"{left:,} more columns have numbers outside their range" if left else ""
    for name, text in facts.items():
        if text:
            click.echo(note_line(text, name))
