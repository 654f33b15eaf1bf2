"""``distkern update``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.common.errors import InputError
from distkern.storage.places import Place, place_of, remove_tree

if TYPE_CHECKING:
    from distkern.cli.job import Job
    from distkern.engine.events import Listener


@click.command(cls=options.taking_several("--data"))
@click.argument("model", metavar="M")
@click.option(
    "--data",
    multiple=True,
    required=True,
    metavar="D.zarr...",
    help="The data set with the new rows, and the old ones where they are read again: everything up to the "
    "next option, in any order.",
)
@click.option(
    "--out", metavar="M2", help="Folder or URL of the updated model.  [default: it takes the place of M]"
)
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint of an update that was stopped.")
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
    """Bring a model up to date with the training rows of new data sets, exactly where sums allow it.

    What it learns, scales and encodes them by is that of the model. The square loss with newton needs the new
    rows alone and gives the minimum over old and new rows; others say if they need the old ones too. M is
    there and whole until the updated model takes its place.

    \b
    Examples:
      distkern update m --data today.zarr
      distkern update m --data history.zarr today.zarr --out m2
    """
    from distkern.cli.supervision import driving
    from distkern.cli.training import memory_line, run_job
    from distkern.estimators.updating import begun
    from distkern.monitor.terminal import Terminal
    from distkern.runs.persistence import load_model
    from distkern.storage.dataset import open_dataset

    options.use_certificates(where["scheduler"])
    folder = place_of(model)
    staged = _staged(folder, out)
    fitted = load_model(folder)
    splits = [open_dataset(path).train for path in data]
    estimator, new = begun(fitted, splits)
    if out is None:
        begins = estimator._begins
        _clear(staged, begins.sources if resume and begins is not None else None)
    job = _job(estimator, new[0].dataset.path, staged, dashboard, where)
    with driving(job, resume) as guards, Terminal() as terminal:
        listeners: list[Listener] = [*guards, terminal]
        updated, history = run_job(
            job, new[0].dataset, listeners=listeners, resume=resume, dashboard=dashboard, estimator=estimator
        )
        place = staged
        if out is None:
            # while the claim holds: nobody else begins an update of this model
            place = _in_place(staged, folder)
    told = updated.updates_[-1]
    if as_json:
        click.echo(json.dumps({"model": str(place), "update": told, **history[-1]}))
        return
    _print(told)
    click.echo(memory_line(history, job.memory_limit))
    click.echo(f"model in {place}, report in {place / 'report.html'}")


def _staged(folder: Place, out: str | None) -> Place:
    """Where the updated model is made: where it is wanted, or beside the one that it takes the place of."""
    from distkern.storage.atomic import put_back

    if out is not None:
        return place_of(out)
    if not isinstance(folder, Path):
        raise InputError(
            "models in a store are not written over", where=str(folder), hint="give --out for the updated one"
        )
    folder = folder.absolute()
    staged = folder.with_name(f".{folder.name}.update")
    put_back(staged, folder)
    return staged


def _clear(staged: Place, wanted: tuple[str, ...] | None) -> None:
    """Remove an update that has ended and has not taken its place, unless it has learned from what is
    ``wanted``, and is resumed."""
    from distkern.jobs.folder import JobFolder
    from distkern.runs.persistence import learned_from

    JobFolder(staged).refuse_if_driven()
    if (staged / "model.json").exists() and (wanted is None or learned_from(staged) != wanted):
        remove_tree(staged)


def _in_place(staged: Place, folder: Place) -> Place:
    """Put the updated model into the place of the one before."""
    from distkern.jobs.folder import JobFolder
    from distkern.storage.atomic import put_in_place

    assert isinstance(staged, Path)
    assert isinstance(folder, Path)
    put_in_place(staged, folder)
    # the claim has gone along, and is no part of the model
    JobFolder(folder).discard()
    return folder


def _job(model: Any, data: Any, out: Place, dashboard: bool | None, where: dict[str, Any]) -> Job:
    """The job of an update, for its claims and its report."""
    from distkern.cli.job import Job

    given = {name: value for name, value in where.items() if value is not None}
    if "scheduler" not in given:
        source = model._begins.data.source
        anything_given = bool(given) or bool(dashboard)
        n_bytes = source.n_rows * source.row_bytes
        given["scheduler"] = options.scheduler_for(n_bytes, anything_given=anything_given)
    name = model.name.removesuffix("_regressor")
    return Job(algorithm=name, data=str(data), out=str(out), **given)


def _print(told: dict[str, Any]) -> None:
    """The drift and the errors of an update."""
    from distkern.cli.tables import console, note_line, table
    from distkern.cli.training import update_facts
    from distkern.monitor.style import short_number
    from distkern.monitor.text import in_percent

    facts, drift = update_facts(told), told["drift"]
    if drift is not None and drift["most"]:
        rows = [
            [
                one["column"] if len(one["column"]) <= 24 else f"{one['column'][:21]}...",
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
