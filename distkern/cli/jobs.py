"""``distkern jobs``."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from distkern.cli import known_jobs, options
from distkern.data.store.places import Place, absolute

#: the keys of a line, in order
_NOTHING = dict.fromkeys(("id", "state", "algorithm", "out", "stage", "stages", "submitted"))


@click.command()
@known_jobs.runs
@known_jobs.scheduler
@options.as_json
def jobs(runs: Place, scheduler: str | None, as_json: bool) -> None:
    """List the jobs of a folder of runs or of a scheduler.

    Records lie beside the models, so no scheduler is needed.

    \b
    Example:
      distkern jobs --runs /shared/models --scheduler tcp://10.0.0.5:8786
    """
    from distkern.cli.tables import console, table
    from distkern.core.errors import CorruptDataError
    from distkern.core.text import in_time
    from distkern.jobs.folder import JobIndex

    index, found = JobIndex(runs), {}
    for name in index.names():
        try:
            found[name] = _facts(name, index.folder(name))
        except CorruptDataError as error:
            click.echo(f"job {name}: {error}", err=True)
    with known_jobs.ask(scheduler) as asked:
        told = {} if asked is None else asked.jobs()
    for name, facts in told.items():
        if name not in found:
            from distkern.jobs.folder import JobFolder

            found[name] = _facts(name, JobFolder(facts["out"]), facts)
    rows = sorted(found.values(), key=lambda facts: (facts["submitted"] or 0.0, facts["id"]))
    if as_json:
        click.echo(json.dumps({"jobs": rows}))
        return
    if not rows:
        click.echo(f"no jobs in {absolute(runs)}; give --runs FOLDER (or DISTKERN_RUNS)")
        return
    now = time.time()
    lines = [
        (
            row["id"],
            row["state"],
            row["algorithm"],
            "-" if row["stage"] is None else known_jobs.stage_text(row),
            "-" if row["submitted"] is None else in_time(max(0.0, now - row["submitted"])),
        )
        for row in rows
    ]
    printed = console(max(80, *(len(row["id"]) + 50 for row in rows)))
    printed.print(table(("id", "state", "algorithm", "stage", "age"), lines, text=(0, 1, 2)))


def _facts(name: str, folder: Any, told: dict[str, Any] | None = None) -> dict[str, Any]:
    """A line about a job; if its folder is missing or damaged, with facts from elsewhere."""
    from distkern.core.errors import CorruptDataError, DistkernError, InputError

    try:
        facts = known_jobs.facts_of(folder)
    except (DistkernError, OSError) as error:
        is_damaged, is_told = isinstance(error, CorruptDataError), isinstance(error, InputError)
        state = "damaged" if is_damaged else "removed" if is_told else "not seen"
        if state != "removed":
            click.echo(f"job {name}: {error}", err=True)
        if told is None:
            return _NOTHING | {"id": name, "state": state, "algorithm": "-", "out": str(folder.path)}
        states = {"pending": "running", "finished": "finished", "error": "failed", "cancelled": "cancelled"}
        known = {key: told[key] for key in ("algorithm", "out", "submitted")}
        return _NOTHING | known | {"id": name, "state": states.get(told["scheduler_state"], "lost")}
    if facts["id"] != name:
        # the folder has a newer job
        return {**facts, "id": name, "state": "replaced", "stage": None}
    return {key: facts[key] for key in _NOTHING}
