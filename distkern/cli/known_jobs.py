"""Finding and showing a job by its id, for all commands about jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.cli.values import check_scheduler
from distkern.core.errors import CorruptDataError, InputError
from distkern.data.store.places import Place

if TYPE_CHECKING:
    from distkern.engine.dask.jobs import JobScheduler
    from distkern.jobs.folder import JobFolder

#: where jobs are looked for
runs: Callable[[Any], Any] = click.option(
    "--runs",
    metavar="FOLDER",
    envvar="DISTKERN_RUNS",
    default=".",
    type=options.PLACE,
    help="Folder or URL with the runs.  [default: DISTKERN_RUNS, else this folder]",
)

_TERMINAL_PAUSE = 0.3


def check_address(text: str) -> str:
    """Return the address of a running scheduler; refuse other schedulers."""
    if "://" not in check_scheduler(text):
        raise InputError(f"{text!r} ends with this command; give tcp://HOST:PORT")
    return text


#: the scheduler to ask as well, and who one is to it
scheduler = options.together(
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        callback=options.read_by(check_address),
        help="Also ask this scheduler: tcp:// or tls:// address.",
    ),
    options.certificates,
)


def ask(address: str | None) -> AbstractContextManager[JobScheduler | None]:
    """The given scheduler, or None."""
    from distkern.engine.dask.jobs import job_scheduler

    options.use_certificates(address)
    return job_scheduler(address)


def find(identifier: str, runs_folder: Place, asked: JobScheduler | None = None) -> JobFolder:
    """Find the folder of a job in the index of the runs folder, or else through the scheduler.

    Raises
    ------
    InputError
        If the id is unknown; the message lists the known ids.
    """
    from distkern.jobs.folder import JobFolder, JobIndex, unknown_job

    index = JobIndex(runs_folder)
    known = index.names()
    told = {} if asked is None else asked.jobs()
    if identifier in known:
        try:
            return index.folder(identifier)
        except CorruptDataError:
            if identifier not in told:
                raise
    if identifier in told:
        return JobFolder(told[identifier]["out"])
    where = f"runs folder {index.runs}" + ("" if asked is None else f" and {asked.address}")
    raise unknown_job(identifier, sorted({*known, *told}), where)


def facts_of(folder: JobFolder) -> dict[str, Any]:
    """The facts of a job for ``--json``: record, state, last sign of life, last line of metrics."""
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
    """The stage of a job; without the total if it is finished, as it may have converged earlier."""
    if facts["state"] == "finished" or not facts["stages"]:
        return str(facts["stage"])
    return f"{facts['stage']} of {facts['stages']}"


def follow(folder: JobFolder, *, wait: bool) -> str:
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
                # the state first: what is written before it changes is still to be read
                state = folder.state()
                for event in reader.new():
                    terminal(event)
                if not wait or state in OVER:
                    return state
                time.sleep(_TERMINAL_PAUSE)
    except KeyboardInterrupt:
        record = folder.record()
        raise KeyboardInterrupt(
            f"job {record.id} continues; follow it with {record.command('logs', '--follow')}, stop it with "
            f"{record.command('cancel')}"
        ) from None


def ending(folder: JobFolder, state: str) -> str:
    """One line on how a job ended and what to do next."""
    record = folder.record()
    said = {
        "finished": f"model in {record.out}; copy it with {record.command('fetch', '--out', 'M')}",
        "failed": record.error,
        "cancelled": "its last checkpoint is kept; continue with `distkern submit ... --resume`",
        "lost": f"{record.error or 'its driver is silent'}; continue with `distkern submit ... --resume`",
    }
    return f"job {record.id} {state}: {said[state]}" if state in said else f"job {record.id} is {state}"
