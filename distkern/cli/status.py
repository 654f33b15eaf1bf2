"""``distkern status``."""

from __future__ import annotations

import json
import time

import click

from distkern.cli import known_jobs, options
from distkern.data.store.places import Place


@click.command()
@click.argument("identifier", metavar="ID")
@known_jobs.runs
@known_jobs.scheduler
@options.as_json
def status(identifier: str, runs: Place, scheduler: str | None, as_json: bool) -> None:
    """Show a job's state, stage, latest figures and place.

    States: queued, running, finished, failed, cancelled, lost (its driver was silent for a minute, or its
    cluster failed; submit it again with --resume to continue).

    \b
    Example:
      distkern status csvrg-20250131-235959-1a2b3c4d --runs /shared/models
    """
    from distkern.cli.tables import console, fact_table
    from distkern.core.text import error_name, in_error, in_number, in_time

    with known_jobs.ask(scheduler) as asked:
        folder = known_jobs.find(identifier, runs, asked)
        facts = known_jobs.facts_of(folder)
        if asked is not None:
            facts["scheduler_state"] = asked.jobs().get(identifier, {}).get("scheduler_state", "unknown")
            waits = facts["state"] in ("queued", "running") and facts["scheduler"] == asked.address
            if waits and not asked.drives(identifier):
                # the store hears of it only by the driver's silence
                facts["state"] = "lost"
    if as_json:
        click.echo(json.dumps(facts))
        return
    now = time.time()
    shown = {"state": facts["state"]}
    if facts["error"]:
        shown["error"] = facts["error"]
    if facts["stage"] is not None:
        shown["stage"] = known_jobs.stage_text(facts)
    if facts["pass"]:
        shown["at"] = f"{facts['pass']}, {100 * (facts['done'] or 0.0):.0f} %"
    metrics = facts["metrics"]
    if metrics is not None:
        shown["objective"] = in_number(metrics.get("objective"))
        for split in ("train", "test"):
            shown[f"{split} {error_name(metrics)}"] = in_error(metrics, f"{split}_error")
    if facts["host"]:
        shown["driver"] = f"{facts['host']}, {facts['worker']} (start {facts['epoch']})"
    if facts["heartbeat"] and facts["state"] in ("running", "lost"):
        shown["last seen"] = f"{in_time(max(0.0, now - facts['heartbeat']))} ago"
    shown["submitted"] = f"{in_time(max(0.0, now - facts['submitted']))} ago to {facts['scheduler']}"
    shown["algorithm"], shown["data"], shown["out"] = facts["algorithm"], facts["data"], facts["out"]
    click.echo(f"job {facts['id']}")
    console().print(fact_table(shown))
