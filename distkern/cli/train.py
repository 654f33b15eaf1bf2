"""``distkern train``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.data.store.places import Place, is_fleeting

if TYPE_CHECKING:
    from distkern.engine.events import Listener


@click.command(cls=options.JobCommand)
@options.job
@click.option("--resume", is_flag=True, help="Continue from the last checkpoint in the model's folder.")
@options.dashboard
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="When a tcp:// or tls:// scheduler fails: connect again and go on, up to N times. Its workers end "
    "with it, and something must start both again.",
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
      distkern train --data covtype.zarr --algorithm csvrg --out m --set gamma=4.0 --set n_landmarks=512

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
    _, dataset = prepare(job)
    job = placed(job, dataset, dashboard)

    from distkern.cli.supervision import driving, supervised
    from distkern.cli.training import memory_line, run_job
    from distkern.show.terminal import Terminal

    with driving(job.model_folder, resume) as guards, Terminal(since=options.began()) as terminal:
        listeners: list[Listener] = [*guards, terminal]
        _, history = supervised(
            job,
            lambda tried: run_job(
                job, dataset, listeners=listeners, resume=resume or tried > 0, dashboard=dashboard
            ),
            retries,
            terminal.line,
        )
    if as_json:
        click.echo(json.dumps({"model": job.out, **history[-1]}))
        return
    click.echo(memory_line(history, job.memory_limit))
    click.echo(f"model in {job.out}, report in {job.model_folder / 'report.html'}")
    if is_fleeting(job.model_folder):
        click.echo(f"note: {job.out} lies in the memory of this process and ends with it", err=True)
    elif dataset.test is not None:
        click.echo(f"next: distkern evaluate {job.out} --data {job.data} --split both --html evaluation.html")
