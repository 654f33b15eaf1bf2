"""``distkern cancel``."""

from __future__ import annotations

import click

from distkern.cli import known_jobs, options
from distkern.data.store.places import Place


@click.command()
@click.argument("identifier", metavar="ID")
@known_jobs.runs
@known_jobs.scheduler
@options.as_json
def cancel(identifier: str, runs: Place, scheduler: str | None, as_json: bool) -> None:
    """Stop a job and keep its last checkpoint.

    The driver stops within the current stage. To continue later: `distkern submit` or `distkern train` with
    the same job and --resume.

    \b
    Example:
      distkern cancel csvrg-20250131-235959-1a2b3c4d
    """
    from distkern.core.errors import InputError
    from distkern.jobs.record import OVER

    with known_jobs.ask(scheduler) as asked:
        folder = known_jobs.find(identifier, runs, asked)
        record, state = folder.record(), folder.state()
        if state in OVER and state != "lost":
            raise InputError(
                f"is {state} already", where=f"job {identifier}", hint="there is nothing to stop"
            )
        folder.ask_to_stop()
        if asked is not None:
            asked.stop(identifier, record.submission)
    text = f"job {identifier} was {state} and stops within a stage; its last checkpoint stays"
    options.tell(as_json, {"id": identifier, "was": state}, text)
