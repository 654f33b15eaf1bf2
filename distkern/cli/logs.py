"""``distkern logs``."""

from __future__ import annotations

import click

from distkern.cli import known_jobs
from distkern.data.store.places import Place


@click.command()
@click.argument("identifier", metavar="ID")
@click.option("--follow", is_flag=True, help="Follow until the job ends; Ctrl-C does not stop the job.")
@known_jobs.runs
@known_jobs.scheduler
def logs(identifier: str, follow: bool, runs: Place, scheduler: str | None) -> None:
    """Show a job's progress, as `distkern train` prints it.

    \b
    Example:
      distkern logs csvrg-20250131-235959-1a2b3c4d --follow
    """

    with known_jobs.ask(scheduler) as asked:
        folder = known_jobs.find(identifier, runs, asked)
    state = known_jobs.follow(folder, wait=follow)
    click.echo(known_jobs.ending(folder, state))
