"""``distkern submit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.core.errors import DistkernError, InputError
from distkern.data.store.places import Place, absolute, place_of

if TYPE_CHECKING:
    from distkern.cli.job import Job
    from distkern.data.dataset import Dataset
    from distkern.engine.dask.jobs import JobScheduler
    from distkern.jobs.folder import JobFolder
    from distkern.jobs.record import Record
    from distkern.runs.recipe import Recipe


@click.command(cls=options.JobCommand)
@options.job
@click.option("--resume", is_flag=True, help="Continue from the last checkpoint in the model's folder.")
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    metavar="N",
    default=3,
    show_default=True,
    help="Times that the cluster restarts a failed driver.",
)
@click.option(
    "--runs",
    metavar="FOLDER",
    envvar="DISTKERN_RUNS",
    type=options.PLACE,
    help="Folder that `distkern jobs` will list.  [default: DISTKERN_RUNS, else the parent of --out]",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Candidates of a search to train at the same time, each with a share of the workers' memory.",
)
@click.option("--wait", is_flag=True, help="Show the job until it is over; Ctrl-C does not stop it.")
@options.as_json
def submit(
    job_file: Place | None,
    settings: tuple[str, ...],
    resume: bool,
    retries: int,
    runs: Place | None,
    jobs: int | None,
    wait: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Start a training job on a cluster and return at once.

    Takes the options of `distkern train`; --scheduler is required. The driver runs on the cluster too, so
    you may disconnect. A job with a table [search] searches like `distkern tune` and trains the
    best. This machine and all workers must share the data set and the model's folder, on a common file system
    or as URLs of a store. Prints the job's id last.

    \b
    Example:
      distkern submit job.toml --scheduler tcp://10.0.0.5:8786

    Then `distkern status ID`, `logs ID --follow`, `cancel ID` and `fetch ID --out M` from any machine.
    """
    from distkern.cli.job import prepare, resolve_job
    from distkern.cli.jobs import ending, follow_job
    from distkern.jobs.folder import JobFolder

    job = resolve_job(job_file, flags, settings)
    if jobs is not None and job.search is None:
        raise InputError("needs a table [search] in the job", where="--jobs", hint="leave it out")
    if "://" not in job.scheduler:
        raise InputError(
            "a job needs the address of a running scheduler",
            where="--scheduler",
            hint="give --scheduler tcp://HOST:PORT, or run it here with `distkern train`",
        )
    # another machine has another working folder
    update = {"data": str(absolute(job.data)), "out": str(absolute(job.model_folder))}
    job = job.model_copy(update=update)
    recipe, dataset = prepare(job)
    folder = JobFolder(job.model_folder)
    try:
        kind = _checked_search(job, dataset) if job.search else _checked_run(job, recipe, dataset, resume)
    except InputError:
        # a folder in use has a better message
        folder.refuse_if_driven()
        raise
    record = _send(job, jobs, folder, retries, folder.path.parent if runs is None else runs)
    if not as_json:
        click.echo(f"follow it with {record.command('logs', '--follow')}", err=True)
    facts = {"id": record.id, "out": record.out, "scheduler": record.scheduler}
    text = f"{kind} on {place_of(job.data).name} to {job.scheduler}: job {record.id}"
    options.tell(as_json, facts, text)
    if wait:
        state = follow_job(folder, wait=True)
        if state != "finished":
            raise DistkernError(ending(folder, state))


def _checked_run(job: Job, recipe: Recipe, dataset: Dataset, resume: bool) -> str:
    """Check that the model's folder can be written; return a description of the job."""
    from distkern.runs.folder import check_folder, check_resumption

    check_folder(job.model_folder, resume)
    if resume:
        check_resumption(recipe, dataset.train, job.model_folder, test=dataset.test)
    return job.algorithm


def _checked_search(job: Job, dataset: Dataset) -> str:
    """Check that the folder holds no other search; return a description of the job."""
    from distkern.cli.tuning import check_search_folder, in_trials, search_folder, search_of

    search = search_of(job, dataset)
    check_search_folder(job)
    if (search_folder(job) / "search.json").exists():
        search.folder.begin(search.identity())
    return f"{in_trials(search)} of {job.algorithm}"


def _refuse_if_driven(folder: JobFolder, scheduler: JobScheduler) -> None:
    """Refuse a folder whose job is queued or running, unless its scheduler was restarted or gave it up."""
    folder.refuse_if_attached()
    if not folder.has_job:
        return
    record = folder.record()
    if record.scheduler != scheduler.address or scheduler.drives(record.id):
        folder.refuse_if_driven()


def _send(job: Job, jobs: int | None, folder: JobFolder, retries: int, runs: Place) -> Record:
    """Write the job's record and hand its driver to the scheduler."""
    from distkern.cli.train import train_described
    from distkern.cli.tuning import JOBS, tune_described
    from distkern.engine.dask.jobs import JobScheduler
    from distkern.jobs.driver import drive
    from distkern.jobs.folder import JobIndex, check_store
    from distkern.jobs.record import Record, new_id

    description, train = job.model_dump(), train_described
    if job.search is not None:
        description[JOBS], train = jobs or 1, tune_described
    with JobScheduler(job.scheduler) as scheduler:
        _refuse_if_driven(folder, scheduler)
        fresh = not folder.path.exists()
        try:
            check_store(folder.path, job.data, scheduler.everywhere)
        except BaseException:
            if fresh:
                folder.discard()
            raise
        # a resumed job keeps its id
        old = folder.record() if folder.has_job else None
        record = Record(
            id=new_id(job.algorithm) if old is None else old.id,
            algorithm=job.algorithm,
            data=job.data,
            out=str(job.out),
            description=description,
            scheduler=job.scheduler,
            submission=1 if old is None else old.submission + 1,
            epoch=0 if old is None else old.epoch,
            runs=str(absolute(runs)),
        )
        folder.go_on()
        # first: a queued job whose id the user cannot see would block the folder
        JobIndex(runs).add(record.id, folder.path)
        folder.write(record)
        facts = {"out": record.out, "algorithm": record.algorithm, "submitted": record.submitted}
        scheduler.submit(
            drive,
            record.out,
            description,
            train,
            name=record.id,
            submission=record.submission,
            retries=retries,
            facts=facts,
        )
    return record
