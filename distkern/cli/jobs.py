"""``distkern jobs``, ``status``, ``logs`` and ``cancel``, and finding a job by its id."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.core.errors import CorruptDataError, DistkernError, InputError
from distkern.data.store.places import Place, absolute

if TYPE_CHECKING:
    from distkern.engine.dask.jobs import JobScheduler
    from distkern.jobs.folder import JobFolder

runs_option: Callable[[Any], Any] = click.option(
    "--runs",
    metavar="FOLDER",
    envvar="DISTKERN_RUNS",
    default=".",
    type=options.PLACE,
    help="Folder or URL with the runs.  [default: DISTKERN_RUNS, else this folder]",
)

_POLL_SECONDS = 0.3
#: the keys of a line of ``jobs``, in order
_NOTHING = dict.fromkeys(("id", "state", "algorithm", "out", "stage", "stages", "submitted"))


def check_address(text: str) -> str:
    """Return the address of a running scheduler; refuse other schedulers."""
    if "://" not in options.check_scheduler(text):
        raise InputError(f"{text!r} ends with this command; give tcp://HOST:PORT")
    return text


scheduler_option = options.together(
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        callback=options.read_by(check_address),
        help="Also ask this scheduler: tcp:// or tls:// address.",
    ),
    options.certificates,
)


def connected(address: str | None) -> AbstractContextManager[JobScheduler | None]:
    """Connect to the scheduler at an address; None without one."""
    options.use_certificates(address)
    if address is None:
        return nullcontext()
    from distkern.engine.dask.jobs import JobScheduler

    return JobScheduler(address, workers=False)


def find(identifier: str, runs_folder: Place, scheduler: JobScheduler | None = None) -> JobFolder:
    """Find the folder of a job in the index of the runs folder, or else through the scheduler.

    Raises
    ------
    InputError
        If the id is unknown; the message lists the known ids.
    """
    from distkern.jobs.folder import JobFolder, JobIndex, unknown_job

    index = JobIndex(runs_folder)
    known = index.names()
    scheduled = {} if scheduler is None else scheduler.jobs()
    if identifier in known:
        try:
            return index.folder(identifier)
        except CorruptDataError:
            if identifier not in scheduled:
                raise
    if identifier in scheduled:
        return JobFolder(scheduled[identifier]["out"])
    where = f"runs folder {index.runs}" + ("" if scheduler is None else f" and {scheduler.address}")
    raise unknown_job(identifier, sorted({*known, *scheduled}), where)


def facts_of(folder: JobFolder) -> dict[str, Any]:
    """Return the facts of a job for ``--json``: record, state, last heartbeat, last line of metrics."""
    from distkern.show.metrics import read

    record, pulse = folder.record(), folder.pulse()
    history = read(folder.path / "metrics.jsonl") if (folder.path / "metrics.jsonl").exists() else []
    state = folder.state()
    running = state == "running"
    return {
        "id": record.id,
        "state": state,
        **{name: getattr(record, name) for name in ("algorithm", "data", "out", "scheduler")},
        **{name: getattr(record, name) or None for name in ("host", "worker")},
        **{name: getattr(record, name) for name in ("epoch", "submitted", "started", "finished")},
        "error": record.error or None,
        "stage": history[-1].get("stage") if history else None,
        "stages": pulse.get("stages"),
        "pass": pulse.get("pass") if running else None,
        "done": pulse.get("done") if running else None,
        "heartbeat": pulse.get("time"),
        "metrics": history[-1] if history else None,
    }


def stage_text(facts: Mapping[str, Any]) -> str:
    """Return the stage of a job; a finished job may have converged before the last one."""
    if facts["state"] == "finished" or not facts["stages"]:
        return str(facts["stage"])
    return f"{facts['stage']} of {facts['stages']}"


def follow_job(folder: JobFolder, *, wait: bool) -> str:
    """Show a job's log as ``train`` shows its run, with ``wait`` until the job ends; return its state.

    Ctrl-C stops following, not the job.
    """
    from distkern.jobs.log import LogReader
    from distkern.jobs.record import OVER
    from distkern.show.terminal import Terminal

    reader = LogReader(folder.log)
    try:
        with Terminal() as terminal:
            while True:
                # the state first: the events written before it changed are still to be read
                state = folder.state()
                for event in reader.new():
                    terminal(event)
                if not wait or state in OVER:
                    return state
                time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        record = folder.record()
        raise KeyboardInterrupt(
            f"job {record.id} continues; follow it with {record.command('logs', '--follow')}, stop it with "
            f"{record.command('cancel')}"
        ) from None


def ending(folder: JobFolder, state: str) -> str:
    """Return a line on how a job ended and what to do next."""
    record = folder.record()
    lines = {
        "finished": f"model in {record.out}; copy it with {record.command('fetch', '--out', 'M')}",
        "failed": record.error,
        "cancelled": "its last checkpoint is kept; continue with `distkern submit ... --resume`",
        "lost": f"{record.error or 'its driver is silent'}; continue with `distkern submit ... --resume`",
    }
    return f"job {record.id} {state}: {lines[state]}" if state in lines else f"job {record.id} is {state}"


@click.command()
@runs_option
@scheduler_option
@options.as_json
def jobs(runs: Place, scheduler: str | None, as_json: bool) -> None:
    """List the jobs of a folder of runs or of a scheduler.

    Records lie beside the models, so no scheduler is needed.

    \b
    Example:
      distkern jobs --runs /shared/models --scheduler tcp://10.0.0.5:8786
    """
    from distkern.cli.tables import console, table
    from distkern.core.text import in_time
    from distkern.jobs.folder import JobFolder, JobIndex

    index, found = JobIndex(runs), {}
    for name in index.names():
        try:
            found[name] = _row(name, index.folder(name))
        except CorruptDataError as error:
            click.echo(f"job {name}: {error}", err=True)
    with connected(scheduler) as connection:
        scheduled = {} if connection is None else connection.jobs()
    for name, facts in scheduled.items():
        if name not in found:
            found[name] = _row(name, JobFolder(facts["out"]), facts)
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
            "-" if row["stage"] is None else stage_text(row),
            "-" if row["submitted"] is None else in_time(max(0.0, now - row["submitted"])),
        )
        for row in rows
    ]
    printed = console(max(80, *(len(row["id"]) + 50 for row in rows)))
    printed.print(table(("id", "state", "algorithm", "stage", "age"), lines, text=(0, 1, 2)))


def _row(name: str, folder: JobFolder, scheduled: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a row of ``jobs``; if the folder is missing or damaged, from the facts of the scheduler."""
    try:
        facts = facts_of(folder)
    except (DistkernError, OSError) as error:
        is_damaged, is_removed = isinstance(error, CorruptDataError), isinstance(error, InputError)
        state = "damaged" if is_damaged else "removed" if is_removed else "not seen"
        if state != "removed":
            click.echo(f"job {name}: {error}", err=True)
        if scheduled is None:
            return _NOTHING | {"id": name, "state": state, "algorithm": "-", "out": str(folder.path)}
        states = {"pending": "running", "finished": "finished", "error": "failed", "cancelled": "cancelled"}
        known = {key: scheduled[key] for key in ("algorithm", "out", "submitted")}
        return _NOTHING | known | {"id": name, "state": states.get(scheduled["scheduler_state"], "lost")}
    if facts["id"] != name:
        # the folder has a newer job
        return {**facts, "id": name, "state": "replaced", "stage": None}
    return {key: facts[key] for key in _NOTHING}


@click.command()
@click.argument("identifier", metavar="ID")
@runs_option
@scheduler_option
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

    with connected(scheduler) as connection:
        folder = find(identifier, runs, connection)
        facts = facts_of(folder)
        if connection is not None:
            scheduled = connection.jobs().get(identifier, {})
            facts["scheduler_state"] = scheduled.get("scheduler_state", "unknown")
            waits = facts["state"] in ("queued", "running") and facts["scheduler"] == connection.address
            if waits and not connection.drives(identifier):
                # the folder shows it only once the driver has been silent for a minute
                facts["state"] = "lost"
    if as_json:
        click.echo(json.dumps(facts))
        return
    now = time.time()
    shown = {"state": facts["state"]}
    if facts["error"]:
        shown["error"] = facts["error"]
    if facts["stage"] is not None:
        shown["stage"] = stage_text(facts)
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
    shown |= {name: facts[name] for name in ("algorithm", "data", "out")}
    click.echo(f"job {facts['id']}")
    console().print(fact_table(shown))


@click.command()
@click.argument("identifier", metavar="ID")
@click.option("--follow", is_flag=True, help="Follow until the job ends; Ctrl-C does not stop the job.")
@runs_option
@scheduler_option
def logs(identifier: str, follow: bool, runs: Place, scheduler: str | None) -> None:
    """Show a job's progress, as `distkern train` prints it.

    \b
    Example:
      distkern logs csvrg-20250131-235959-1a2b3c4d --follow
    """
    with connected(scheduler) as connection:
        folder = find(identifier, runs, connection)
    click.echo(ending(folder, follow_job(folder, wait=follow)))


@click.command()
@click.argument("identifier", metavar="ID")
@runs_option
@scheduler_option
@options.as_json
def cancel(identifier: str, runs: Place, scheduler: str | None, as_json: bool) -> None:
    """Stop a job and keep its last checkpoint.

    The driver stops within the current stage. To continue later: `distkern submit` or `distkern train` with
    the same job and --resume.

    \b
    Example:
      distkern cancel csvrg-20250131-235959-1a2b3c4d
    """
    from distkern.jobs.record import OVER

    with connected(scheduler) as connection:
        folder = find(identifier, runs, connection)
        record, state = folder.record(), folder.state()
        if state in OVER and state != "lost":
            raise InputError(
                f"is {state} already", where=f"job {identifier}", hint="there is nothing to stop"
            )
        folder.ask_to_stop()
        if connection is not None:
            connection.stop(identifier, record.submission)
    text = f"job {identifier} was {state} and stops within a stage; its last checkpoint stays"
    options.tell(as_json, {"id": identifier, "was": state}, text)
