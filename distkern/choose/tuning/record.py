"""Candidates, and what a search has found of them so far: a file for each trial that has finished."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from distkern.core.errors import CorruptDataError, InputError
from distkern.data.store.atomic import explain_errors, write_text_atomic
from distkern.data.store.description import Description, as_read, fingerprint
from distkern.data.store.places import Place, remove_tree

_SEARCH = Description("distkern-search", "a search", 1, "search again in another folder")
_TRIAL = Description(
    "distkern-trial", "a trial", 1, "remove this file, and search again: the trial is made anew"
)


@dataclass(frozen=True)
class TuningCandidate:
    """Settings that are tried, and the estimator that has them, not fitted."""

    number: int
    settings: dict[str, Any]
    estimator: Any


def in_words(settings: dict[str, Any]) -> str:
    """Settings as they are given on a command line: ``gamma=4 lam=64``."""
    return " ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in settings.items()
    )


@dataclass(frozen=True)
class Task:
    """A candidate to be tried: its number, and those of the rung and of the fold."""

    candidate: int
    rung: int
    fold: int

    @property
    def name(self) -> str:
        return f"{self.candidate:04d}-{self.rung}-{self.fold}"


@dataclass(frozen=True)
class Trial:
    """A candidate that was tried.

    Attributes
    ----------
    candidate, rung, fold : of its :class:`Task`
    n_learned, n_held_out : rows
    value : of the metric on the held-out rows; None if it failed
    figures : all that is known of the held-out rows
    losses : of groups of them, see :func:`~distkern.runs.row_losses.losses_of_groups`; none for other metrics
    work : rows that the fit has looked at, times functions of the model
    n_stages, ended : of the fit
    found : what was chosen in it for hyperparameters that are "auto"
    seconds : of the fit and of the evaluation
    failed : why there is no value
    """

    candidate: int
    rung: int
    fold: int
    n_learned: int
    n_held_out: int
    seconds: float
    value: float | None = None
    figures: dict[str, Any] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    work: float = 0.0
    n_stages: int | None = None
    ended: str | None = None
    found: dict[str, Any] = field(default_factory=dict)
    failed: str | None = None

    @property
    def task(self) -> Task:
        return Task(self.candidate, self.rung, self.fold)


class SearchFolder:
    """Where trials are kept; without a place they stay in memory.

    ``search.json`` says which search it is, ``trials/`` has a file for each trial that has finished, whole or
    not at all, and ``running/`` the checkpoints of those under way. A trial's file says of which search,
    candidate, rung and fold it is.
    """

    def __init__(self, place: Place | None) -> None:
        self.place = place
        self._search = ""
        self._found: dict[Task, Trial] = {}

    def begin(self, identity: Mapping[str, Any]) -> None:
        """Start a search here, or go on with the one that was started.

        Raises
        ------
        InputError
            If that was another one; the message says in what.
        """
        if self.place is None:
            return
        now = as_read(identity)
        self._search = fingerprint(now)
        file = self.place / "search.json"
        if file.exists():
            then, _ = _SEARCH.load(file)
            for key, value in now.items():
                if then.get(key) != value:
                    raise InputError(
                        f"holds a search with another {key} than now",
                        where=str(self.place),
                        hint="search with the same job and data, or give another folder",
                    )
            return
        with explain_errors(self.place):
            (self.place / "trials").mkdir(parents=True, exist_ok=True)
        write_text_atomic(file, _SEARCH.text(now))

    def trial(self, task: Task) -> Trial | None:
        """The trial of a task, if it has finished.

        Raises
        ------
        CorruptDataError
            If its file is damaged, or of another trial.
        """
        if task not in self._found and self.place is not None:
            file = self.place / "trials" / f"{task.name}.json"
            if file.exists():
                self._found[task] = self._read(file)
        return self._found.get(task)

    def _read(self, file: Place) -> Trial:
        content, _ = _TRIAL.load(file)
        trial = _TRIAL.read(Trial, content, str(file))
        whose = f"trial {trial.task.name}" if trial.task.name != file.stem else "a trial of another search"
        if trial.task.name != file.stem or content.get("search") != self._search:
            raise CorruptDataError(f"is {whose}", where=str(file), hint=_TRIAL.again)
        return trial

    def keep(self, trial: Trial, *, stays: bool = True) -> None:
        """Add a trial, which is never made again; unless it ``stays``, but by the next process."""
        if self.place is not None and stays:
            content = {**asdict(trial), "search": self._search}
            write_text_atomic(self.place / "trials" / f"{trial.task.name}.json", _TRIAL.text(content))
            self.clear(trial.task)
        self._found[trial.task] = trial

    def copy_to(self, place: Place) -> None:
        """Write the search and its trials to another folder; each is read and checked, as :meth:`trial`."""
        assert self.place is not None, "what is copied is stored"
        file = self.place / "search.json"
        content, _ = _SEARCH.load(file)
        identity = {key: value for key, value in content.items() if not key.startswith("encoding-")}
        self._search = fingerprint(identity)
        copy = SearchFolder(place)
        copy.begin(identity)
        for file in self._files():
            copy.keep(self._read(file))

    def _files(self) -> list[Place]:
        assert self.place is not None, "trials without a place are in memory"
        return [file for file in (self.place / "trials").iterdir() if file.name[:1] != "."]

    def n_kept(self) -> int:
        """Trials that are kept; by their files, for an interruption may come right after one is written."""
        if self.place is None:
            return len(self._found)
        return len(self._files())

    def checkpoints(self, task: Task) -> Place | None:
        """The folder of the checkpoints of a trial's fit."""
        return None if self.place is None else self.place / "running" / task.name / "checkpoints"

    def clear(self, task: Task | None = None) -> None:
        """Remove what a fit leaves beside its result; of all fits, if no task is given."""
        if self.place is None:
            return
        left = self.place / "running"
        if task is not None:
            left = left / task.name
        if left.exists():
            remove_tree(left)
