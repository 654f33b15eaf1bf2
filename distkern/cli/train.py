"""``distkern train``, and the supervised run that ``tune``, ``update``, ``demo`` and jobs share with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from distkern.cli import options
from distkern.core.errors import DistkernError, InputError, MemoryBudgetError
from distkern.data.store.places import Place, is_fleeting

if TYPE_CHECKING:
    from distkern.cli.job import Job
    from distkern.data.dataset import Dataset, Split
    from distkern.engine.events import Listener
    from distkern.engine.executors import AbstractExecutor
    from distkern.model.value import FittedModel
    from distkern.runs.evaluation import Evaluation
    from distkern.runs.recipe import Recipe

Result = TypeVar("Result")


@click.command(cls=options.JobCommand)
@options.job
@click.option("--resume", is_flag=True, help="Continue from the last checkpoint in the model's folder.")
@options.dashboard
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="When a tcp:// or tls:// scheduler fails: connect again and continue, up to N times. Its workers "
    "end with it: both must be restarted.",
)
@options.as_json
def train(
    job_file: Place | None,
    settings: tuple[str, ...],
    resume: bool,
    dashboard: bool | None,
    retries: int,
    as_json: bool,
    **flags: Any,
) -> None:
    """Train a model on a sharded data set.

    The job comes from JOB.toml, from flags, or from both: flags override the file. Without --algorithm,
    distkern chooses one for the data and reports why.

    \b
    Examples:
      distkern train --data covtype.zarr --out m
      distkern train --data covtype.zarr --algorithm csvrg --set gamma=4.0 --out m

    \b
    The same as a file, for `distkern train job.toml`:
      algorithm = "csvrg"
      data = "covtype.zarr"
      out = "m"
      [params]
      gamma = 4.0
      n_landmarks = 512
    """
    from distkern.cli.job import placed, prepare, resolve_job

    job = resolve_job(job_file, flags, settings)
    if job.search is not None:
        click.echo("note: the table [search] is for `distkern tune`; training with [params]", err=True)
    recipe, dataset = prepare(job)
    job = placed(job, dataset, dashboard)

    from distkern.cli.facts import memory_line
    from distkern.show.terminal import Terminal

    with driving(job.model_folder, resume) as guards, Terminal(since=options.began()) as terminal:
        heard = set[str]()
        listeners: list[Listener] = [*guards, terminal, lambda event: heard.add(event.kind)]
        _, history = supervised(
            job,
            lambda tried: run_job(
                job,
                dataset,
                listeners=listeners,
                resume=resume or tried > 0,
                dashboard=dashboard,
                recipe=recipe,
            ),
            retries,
            terminal.line,
        )
    if as_json:
        click.echo(json.dumps({"model": job.out, **history[-1]}))
        return
    if "command_finished" not in heard:
        click.echo(f"{job.out} is finished already; nothing to do")
        return
    click.echo(memory_line(history, job.memory_limit))
    click.echo(f"model in {job.out}, report in {job.model_folder / 'report.html'}")
    if is_fleeting(job.model_folder):
        click.echo(f"note: {job.out} is kept in the memory of this process and ends with it", err=True)
    elif dataset.test is not None:
        click.echo(f"next: distkern evaluate {job.out} --data {job.data} --split both --html evaluation.html")


def run_job(
    job: Job,
    dataset: Dataset,
    *,
    listeners: Sequence[Listener],
    resume: bool = False,
    dashboard: bool | None = None,
    on_cluster: bool = False,
    evaluations: dict[str, Evaluation] | None = None,
    compared: str | None = None,
    recipe: Recipe | None = None,
    test: Split | None = None,
) -> tuple[FittedModel, list[dict[str, Any]]]:
    """Train the job on ``dataset``, save the model under ``job.out`` and write its report there.

    Parameters
    ----------
    on_cluster : whether this process is a task of the job's scheduler; passes then use its client
    evaluations : receives the evaluation of the test rows
    compared : one more figure to compute in the evaluation
    recipe : fit this instead of the job's own estimator
    test : test rows of another data set; None: those of ``dataset``

    Returns
    -------
    The model and the lines of its ``metrics.jsonl``, the last one with the driver's peak until the report.

    Raises
    ------
    InputError
        If the job names no folder for the model, or a dashboard is impossible.
    """
    from distkern.cli.facts import run_facts, worth_sections
    from distkern.cli.job import make_recipe
    from distkern.core.processes import peak_resident_bytes
    from distkern.engine.events import EventLog
    from distkern.runs.limits import opened_executor
    from distkern.runs.run import train as train_model
    from distkern.show.metrics import read, rewrite
    from distkern.show.passes import Clock, PassRecorder
    from distkern.show.report import TIME_OF_COMMAND, write_report

    if "://" in job.scheduler and not on_cluster:
        # choosing an algorithm takes a while, and comes first
        from distkern.engine.dask.handshake import greet

        greet(job.scheduler)
    evaluations = {} if evaluations is None else evaluations
    test = dataset.test if test is None else test
    folder = job.model_folder
    served = has_dashboard(job, dashboard)
    recipe = make_recipe(job) if recipe is None else recipe
    recorder = PassRecorder()
    clock = Clock(options.began())
    heard: tuple[Listener, ...] = (*listeners, recorder, clock)
    shown = served or (dashboard is not False and "://" in job.scheduler)
    fitted = train_model(
        recipe,
        dataset.train,
        test=test,
        scheduler=None if on_cluster else job.scheduler,
        workers=job.workers,
        memory_limit=job.memory_limit,
        out=job.out,
        resume=resume,
        listeners=heard,
        dashboard=served,
        opened=partial(_show_page, job) if shown else None,
        trained=partial(_measure, dataset.train if test is None else test, heard),
        finished=None if test is None else partial(evaluate_test_rows, test, heard, evaluations, compared),
    )
    history = read(folder / "metrics.jsonl")
    # a run whose model was finished already made no passes and must not replace the report
    resumed = not recorder.totals
    unreported = not (folder / "report.html").exists()
    if resumed and test is not None and (unreported or compared is not None):
        scheduler = None if on_cluster else job.scheduler
        with opened_executor(scheduler, job.workers, job.memory_limit, lambda machine: machine) as executor:
            evaluate_test_rows(test, (), evaluations, compared, fitted, executor)
    if not resumed or unreported:
        # importances and the evaluation may take the most; the libraries that draw the report are in no plan
        last = history[-1]
        last["driver_peak_rss_bytes"] = max(last["driver_peak_rss_bytes"], peak_resident_bytes())
        facts = run_facts(job, dataset, fitted, history, evaluations, time_taken=TIME_OF_COMMAND)
        parts = worth_sections(fitted, history, evaluations)
        drawn = facts, history, recorder.totals, parts
        seconds = write_report(folder / "report.html", *drawn, lambda: clock.seconds)
        last["command_seconds"] = round(seconds, 4)
        rewrite(folder / "metrics.jsonl", history)
        EventLog(listeners).emit("command_finished", seconds=seconds)
    return fitted, history


def _measure(
    split: Split, listeners: tuple[Listener, ...], model: FittedModel, executor: AbstractExecutor
) -> FittedModel:
    """Return the model with the permutation importances on rows of the split."""
    from distkern.runs.importance import measured_importances

    return replace(model, importances=measured_importances(model, split, executor, listeners))


def evaluate_test_rows(
    split: Split,
    listeners: tuple[Listener, ...],
    evaluations: dict[str, Evaluation],
    compared: str | None,
    fitted: FittedModel,
    executor: AbstractExecutor,
) -> None:
    """Evaluate the model on the test rows for the report, if memory allows."""
    from distkern.passes import Extent
    from distkern.runs.evaluation import evaluate_split, evaluation_passes
    from distkern.runs.limits import check_limit

    try:
        passes = partial(evaluation_passes, fitted, split, compared=compared)
        check_limit(passes, Extent.of(split), None)(executor.machine)
    except MemoryBudgetError as error:
        click.echo(f"note: the report has no evaluation on the test rows: {error}", err=True)
        return
    evaluations["test"] = evaluate_split(fitted, split, executor, listeners, compared)


def train_described(description: dict[str, Any], listeners: Sequence[Listener], resume: bool) -> None:
    """Train a :class:`~distkern.cli.job.Job`, given by its fields; the driver of a job runs this on a worker.

    If the model exists, only missing files beside it are written.
    """
    from distkern.cli.job import Job, prepare

    job = Job(**description)
    _, dataset = prepare(job)
    run_job(job, dataset, listeners=listeners, resume=resume, on_cluster=True)


def has_dashboard(job: Job, dashboard: bool | None) -> bool:
    """Return whether a local cluster gets a dashboard; refuse it where none is possible."""
    if dashboard and job.scheduler in ("synchronous", "threads", "processes"):
        raise InputError(
            f"scheduler {job.scheduler!r} has no dashboard", where="--dashboard", hint="use --scheduler local"
        )
    return job.scheduler == "local" if dashboard is None else dashboard


def _show_page(job: Job, executor: AbstractExecutor) -> list[Listener]:
    """Show the run on the page /distkern of the scheduler's dashboard, if there is one."""
    from distkern.show.live.forward import Forwarder

    if executor.client is None:
        return []
    try:
        # needs Bokeh
        from distkern.show.live.preload import install

        executor.dashboard = install(executor.client)
    except Exception as error:
        # a run does not fail for its page
        click.echo(f"note: this run has no live page ({type(error).__name__}: {error})", err=True)
        return []
    facts = {
        "algorithm": job.algorithm,
        "data": str(job.data),
        "out": str(job.out),
        "memory_limit": executor.machine.memory_limit,
    }
    return [Forwarder(executor.client, facts)]


@contextmanager
def driving(place: Place, resume: bool) -> Iterator[tuple[Listener, ...]]:
    """Claim a run's folder while the context is open; the listeners stop a run that lost its claim.

    An older driver of the same run, for instance on a host that was cut off, stops at its next check.

    Raises
    ------
    InputError
        If another process writes to the folder, a job is queued for it, or it is not writable.
    """
    from distkern.jobs.driver import Guard, Heartbeat
    from distkern.jobs.folder import JobFolder, attached_facts
    from distkern.runs.folder import check_folder

    folder = JobFolder(place)
    folder.refuse_if_driven()
    check_folder(folder.path, resume)
    folder.go_on()
    fence = folder.claim()
    try:
        with Heartbeat(folder, fence, attached_facts()) as heartbeat:
            yield Guard(folder, fence, lambda: False), heartbeat
    finally:
        # a failing store must not hide the run's own error; the claim expires by itself
        with suppress(DistkernError, OSError):
            folder.release(fence)


def supervised(job: Job, run: Callable[[int], Result], retries: int, say: Callable[[str], None]) -> Result:
    """Call ``run`` with the number of earlier tries, again up to ``retries`` times if the scheduler fails.

    Raises
    ------
    InputError
        If there is no scheduler to reconnect to.
    """
    from distkern.jobs.driver import is_fault_of_cluster, with_retries

    if retries and "://" not in job.scheduler:
        raise InputError(
            f"needs a running scheduler, not {job.scheduler!r}",
            where="--retries",
            hint="give --scheduler tcp://HOST:PORT or tls://HOST:PORT, or leave --retries out",
        )

    def expected(error: BaseException, tried: int) -> bool:
        # a restarting scheduler does not answer for a while
        starting = (
            tried > 0 and isinstance(error, InputError) and error.where == f"--scheduler {job.scheduler}"
        )
        return starting or is_fault_of_cluster(error)

    return with_retries(run, retries, say, expected=expected)
