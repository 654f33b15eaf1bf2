"""What a job's driver runs on a worker: the training of the command line, told to a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distkern.engine.events import Listener


def train_described(description: dict[str, Any], listeners: Sequence[Listener], resume: bool) -> None:
    """Train a job on the cluster this runs on; of a model that is there, write what is missing beside it.

    Parameters
    ----------
    description : the fields of :class:`distkern.cli.job.Job`
    listeners : of the run; the first hears of everything first
    resume : go on from the newest checkpoint
    """
    from distkern.cli.job import Job, prepare
    from distkern.cli.training import run_job

    job = Job(**description)
    _, dataset = prepare(job)
    run_job(job, dataset, listeners=listeners, resume=resume, on_cluster=True)
