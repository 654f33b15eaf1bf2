"""A search as a job of a cluster makes it: what its driver runs on a worker, and what its log hears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distkern.cli.job import Job, prepare
from distkern.cli.tuning import chosen_words, search_of, searched, train_best, trial_words
from distkern.engine.events import Event, Listener
from distkern.tuning.record import Candidate, Task, Trial
from distkern.tuning.search import Search
from distkern.tuning.workshop import Watcher, Where

#: key of a description: how many candidates are tried at a time
JOBS = "jobs"


def tune_described(description: dict[str, Any], listeners: Sequence[Listener], resume: bool) -> None:
    """What a job's driver runs on a worker: the search of a :class:`~distkern.cli.job.Job` from its fields.

    The training of what it has found follows. Trials and fits that were begun go on.
    """
    fields = dict(description)
    jobs = int(fields.pop(JOBS))
    job = Job(**fields)
    _, dataset = prepare(job)
    search = search_of(job, dataset)
    told = TellingSearch(search, listeners)
    where = Where(None, job.workers, job.memory_limit, jobs=jobs)
    ranked = searched(job, dataset, search, where, told)
    told.say(chosen_words(search, ranked))
    train_best(job, dataset, search, ranked, listeners=listeners, on_cluster=True)


class TellingSearch(Watcher):
    """Tells the listeners of a run about a search: each trial is a message and counts as a checkpoint.

    From the fits of trials they hear what concerns the job: checkpoints and lost workers. All else is a sign
    of life, at which a job that was cancelled stops.
    """

    def __init__(self, search: Search, listeners: Sequence[Listener]) -> None:
        self._search, self._listeners, self._done = search, listeners, 0

    def say(self, text: str) -> None:
        """A line of the log."""
        self._tell(Event("message", {"text": text}))

    def began(self, candidate: Candidate, task: Task) -> None:
        self._tell(Event("pass_started", {**self._at(), "bytes": 0, "unit": "tasks"}))

    def finished(self, candidate: Candidate, trial: Trial, n_done: int, n_all: int) -> None:
        self._done = n_done
        for line in trial_words(self._search, candidate, trial, n_done, n_all):
            self.say(line)
        path = str(self._search.folder.place)
        self._tell(Event("checkpoint_saved", {"stage": 0, "path": path, "seconds": 0.0}))

    def resumed(self, n_found: int) -> None:
        self._done = n_found
        self.say(f"{n_found} trials were made before, and are not made again")

    def listeners(self, candidate: Candidate, task: Task) -> Sequence[Listener]:
        def hear(event: Event) -> None:
            if event.kind in ("checkpoint_saved", "worker_lost"):
                self._tell(event)
            else:
                self.look()

        return (hear,)

    def look(self) -> None:
        self._tell(Event("pass_progress", {**self._at(), "rows_done": 0, "bytes_done": 0}))

    def _at(self) -> dict[str, Any]:
        n_trials = self._search.n_trials
        name = f"trial {min(self._done + 1, n_trials)} of {n_trials}"
        return {"name": name, "stage": 0, "tasks": n_trials, "tasks_done": self._done, "rows": 0}

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)
