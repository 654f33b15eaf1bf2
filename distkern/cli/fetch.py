"""``distkern fetch``."""

from __future__ import annotations

import click

from distkern.cli import known_jobs, options
from distkern.storage.places import Place, copy_to_local

#: the last is of a search: its trials and their page
_PARTS = ("model.json", "arrays", "metrics.jsonl", "report.html", "tune")


@click.command()
@click.argument("identifier", metavar="ID")
@click.option("--out", required=True, metavar="M", type=options.PLACE, help="Folder or URL to make.")
@known_jobs.runs
@known_jobs.scheduler
@options.as_json
def fetch(identifier: str, out: Place, runs: Place, scheduler: str | None, as_json: bool) -> None:
    """Copy the model of a finished job.

    \b
    Example:
      distkern fetch csvrg-20250131-235959-1a2b --out m
    """
    from distkern.common.errors import InputError
    from distkern.runs.persistence import load_model
    from distkern.storage.atomic import staged_folder

    with known_jobs.ask(scheduler) as asked:
        folder = known_jobs.find(identifier, runs, asked)
    state, record = folder.state(), folder.record()
    if state != "finished":
        raise InputError(
            f"is {state} and has no model",
            where=f"job {identifier}",
            mend=f"wait for it: {record.command('logs', '--follow')}"
            if state in ("queued", "running")
            else f"see {record.command('logs')}",
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("is there already", where=f"--out {out}", mend="give a new folder")
    with staged_folder(out) as staged:
        for part in _PARTS:
            source = folder.path / part
            if source.exists():
                copy_to_local(source, staged.path / part)
        # reads every array against its checksum
        load_model(staged.path)
        staged.commit()
    options.tell(as_json, {"id": identifier, "model": str(out)}, f"model in {out}")
