"""``distkern fetch``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from distkern.cli import jobs, options
from distkern.core.errors import CorruptDataError, DistkernError, InputError
from distkern.data.store.places import Place, URLPlace, place_of, resolved

if TYPE_CHECKING:
    from distkern.cli.job import Job
    from distkern.data.dataset import Dataset
    from distkern.jobs.record import Record
    from distkern.runs.evaluation import Evaluation


@click.command()
@click.argument("identifier", metavar="ID")
@click.option(
    "--out", required=True, metavar="M", type=options.PLACE, help="New folder or URL for the model."
)
@jobs.runs_option
@jobs.scheduler_option
@options.as_json
def fetch(identifier: str, out: Place, runs: Place, scheduler: str | None, as_json: bool) -> None:
    """Copy the model of a finished job.

    \b
    Example:
      distkern fetch csvrg-20250131-235959-1a2b3c4d --out m
    """
    from distkern.data.store.atomic import staged_folder
    from distkern.runs.persistence import read_model, save_model
    from distkern.show.metrics import of_finished, rewrite

    with jobs.connected(scheduler) as connection:
        folder = jobs.find(identifier, runs, connection)
    state, record = folder.state(), folder.record()
    if state != "finished":
        raise InputError(
            f"is {state} and has no model",
            where=f"job {identifier}",
            hint=f"wait for it: {record.command('logs', '--follow')}"
            if state in ("queued", "running")
            else f"see {record.command('logs')}",
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("exists already", where=f"--out {out}", hint="give a new folder")
    with staged_folder(resolved(out)) as staged:
        # reading verifies checksums and leaves out foreign files
        model = read_model(folder.path)
        save_model(model, staged.path)
        history = of_finished(folder.path / "metrics.jsonl", model.history)
        rewrite(staged.path / "metrics.jsonl", history)
        _write_pages(record, folder.path, staged.path, model, history)
        staged.commit_new()
    options.tell(as_json, {"id": identifier, "model": str(out)}, f"model in {out}")


def _write_pages(record: Record, source: Place, target: Path, model: Any, history: list[Any]) -> None:
    """Write the report, and a search's trials with their page, anew: pages of others are never copied."""
    from distkern.choose.tuning.record import SearchFolder
    from distkern.cli.facts import run_facts, worth_sections
    from distkern.cli.job import Job
    from distkern.cli.train import evaluate_test_rows
    from distkern.cli.tuning import JOBS, search_folder
    from distkern.engine.executors import open_executor
    from distkern.show.report import write_report

    try:
        job = Job(**{key: value for key, value in record.description.items() if key != JOBS})
    except ValueError:
        raise CorruptDataError(
            "the description of the job is damaged", where=str(source / "job.json"), hint="submit it again"
        ) from None
    try:
        dataset = _dataset_of(job.data, source)
    except DistkernError as error:
        dataset = None
        click.echo(f"note: the report leaves out the data set: {error}", err=True)
    found: dict[str, Evaluation] = {}
    if dataset is not None and dataset.test is not None:
        with open_executor("threads") as executor:
            evaluate_test_rows(dataset.test, (), found, None, model, executor)
    facts = run_facts(job, dataset, model, history, found, record.finished or 0.0)
    write_report(target / "report.html", facts, history, (), worth_sections(model, history, found))
    there = job.model_copy(update={"out": str(source)})
    if job.search is not None and search_folder(there).exists():
        here = job.model_copy(update={"out": str(target)})
        SearchFolder(search_folder(there)).copy_to(search_folder(here))
        if dataset is not None:
            _write_search_page(here, dataset)


def _dataset_of(data: str, source: Place) -> Dataset:
    """Return the data set of a job whose run lies at ``source``.

    Anybody may have written ``job.json``, so the only server it may name is the store of the run.

    Raises
    ------
    DistkernError
        If the data set lies elsewhere or cannot be opened.
    """
    from distkern.data.dataset import open_dataset

    place = place_of(data)
    if isinstance(place, URLPlace):
        store = urlsplit(source.url)[:2] if isinstance(source, URLPlace) else None
        if urlsplit(place.url)[:2] != store:
            raise InputError(
                "is in another store than the run",
                where=str(place),
                hint="if you trust this address, see it with `distkern inspect`",
            )
    return open_dataset(place)


def _write_search_page(job: Job, dataset: Dataset) -> None:
    from distkern.choose.tuning.record import Task, TuningCandidate
    from distkern.choose.tuning.runner import Watcher, Where
    from distkern.cli.tuning import search_of, searched

    class Reading(Watcher):
        def began(self, candidate: TuningCandidate, task: Task) -> None:
            raise CorruptDataError(f"trial {task.name} of the search is missing", hint="submit the job again")

    # a finished job has all trials, so none runs here
    searched(job, dataset, search_of(job, dataset), Where("synchronous"), Reading())
