"""``distkern plan``."""

from __future__ import annotations

import json
from typing import Any

import click

from distkern.cli import options
from distkern.core.choices import summaries
from distkern.core.errors import MemoryBudgetError
from distkern.data.store.places import Place

_FIELDS = ("name", "times", "tasks", "rows", "bytes_read", "mode", "worker_bytes", "driver_bytes")


@click.command(cls=options.JobCommand)
@options.job
@options.dashboard
@options.as_json
def plan(
    job_file: Place | None, settings: tuple[str, ...], dashboard: bool | None, as_json: bool, **flags: Any
) -> None:
    """Predict passes, bytes read and peak memory of a training job.

    Takes the options of `distkern train` and trains nothing; it may read a sample to choose an algorithm. If
    the job has a table [search], it also shows the trials of `distkern tune`. Exits with status 2 if the job
    does not fit its memory limit, and names a setting that makes it fit.

    \b
    Example:
      distkern plan --data covtype.zarr --algorithm csvrg --memory-limit 512MiB
    """
    from distkern.cli.job import placed, prepare, resolve_job
    from distkern.cli.train import has_dashboard
    from distkern.show.terminal import Terminal

    job = resolve_job(job_file, flags, settings)
    recipe, dataset = prepare(job)
    job = placed(job, dataset, dashboard)

    from distkern.runs.run import plan as plan_run

    search = None
    with Terminal(since=options.began()) as terminal:
        try:
            planned = plan_run(
                recipe,
                dataset.train,
                test=dataset.test,
                scheduler=job.scheduler,
                workers=job.workers,
                memory_limit=job.memory_limit,
                dashboard=has_dashboard(job, dashboard),
                evaluated=True,
                importances=True,
                listeners=[terminal],
            )
        except MemoryBudgetError as error:
            # the choice itself takes more
            raise _refusal(job.data, error.what) from error
        if job.search is not None:
            from distkern.cli.tuning import search_of

            asked = search_of(job, dataset)
            search = {"trials": asked.n_trials, "runs": asked.n_runs}
        notes = [*planned.recipe.notes, *summaries(planned.recipe.candidates)]
        for note in notes:
            terminal.line(note)
    if as_json:
        facts = {
            name: getattr(planned, name) for name in ("worker_bytes", "driver_bytes", "memory_limit", "fits")
        }
        passes = [{name: getattr(step, name) for name in _FIELDS} for step in planned.passes]
        advice = {"savings": planned.savings, "advice": planned.advice}
        chosen = {"algorithm": planned.recipe.name.removesuffix("_regressor"), "notes": notes}
        click.echo(json.dumps({"passes": passes, **facts, **advice, "search": search, **chosen}))
    else:
        _show(planned)
        if search is not None:
            several = f"{search['trials']} trials, which read"
            trials = "1 trial, which reads" if search["trials"] == 1 else several
            click.echo(
                f"`distkern tune` first counts rows in one pass, then runs {trials} as many rows as "
                f"{search['runs']:.3g} such runs"
            )
    _warn_of_machine(planned, job.scheduler)
    if not planned.fits:
        raise _refusal(job.data, planned.advice)


def _refusal(data: str, advice: str) -> Exception:
    return MemoryBudgetError("does not fit the memory limit", where=data, hint=advice)


def _warn_of_machine(planned: Any, scheduler: str) -> None:
    """Warn if the run needs more memory than this machine has."""
    from distkern.core.processes import memory_bytes
    from distkern.core.text import in_bytes

    n_workers = 0 if "://" in scheduler else planned.machine.processes
    needed, has = planned.driver_bytes + n_workers * planned.worker_bytes, memory_bytes()
    if 0 < has < needed:
        click.echo(
            f"warning: the run needs {in_bytes(needed)} and this machine has {in_bytes(has)}: give "
            "--memory-limit, so that it is planned to fit",
            err=True,
        )


def _show(planned: Any) -> None:
    from distkern.cli.tables import console, picked, table
    from distkern.core.text import in_bytes

    rows = [
        (
            step.name,
            f"{step.times:g}",
            # choosing reads a sample, which is no pass over the data
            f"{step.tasks:,}" if step.tasks else "-",
            in_bytes(step.bytes_read) if step.tasks else "-",
            in_bytes(step.worker_bytes),
            in_bytes(step.driver_bytes),
            step.mode,
        )
        for step in planned.passes
    ]
    header = ("pass", "times", "tasks", "read", "worker", "driver", "work done by")
    # without workers, one process does all the work
    without = ("worker", "work done by") if planned.machine.in_process else ()
    shown = [name for name in header if name not in without]
    console().print(table(shown, picked(header, rows, shown), text=(0, 6)))
    total = sum(step.times * step.bytes_read for step in planned.passes)
    limit = "no limit given" if planned.memory_limit is None else f"limit {in_bytes(planned.memory_limit)}"
    click.echo(f"reads {in_bytes(total)} in total")
    if planned.machine.in_process:
        click.echo(f"peak memory: {in_bytes(planned.driver_bytes)} in this process ({limit})")
    else:
        click.echo(f"peak memory: {in_bytes(planned.worker_bytes)} per worker ({limit})")
        click.echo(f"             {in_bytes(planned.driver_bytes)} in the driver")
    if planned.savings:
        click.echo(f"to fit the limit, {', '.join(planned.savings)}; the model stays the same")
