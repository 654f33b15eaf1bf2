"""Candidates and finished trials of a search, with one file for each trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from distkern.core.errors import CorruptDataError, InputError
from distkern.data.store.atomic import write_text_atomic
from distkern.data.store.description import Description, as_read, fingerprint
from distkern.data.store.places import Place, explain_errors, remove_tree

_SEARCH = Description("distkern-search", "a search", 1, "search again in another folder")
_TRIAL = Description(
    "distkern-trial", "a trial", 1, "remove this file, and search again: the trial is repeated"
)


@dataclass(frozen=True)
class TuningCandidate:
    """Settings to try, and an unfitted estimator with them."""

    number: int
    settings: dict[str, Any]
    estimator: Any


def in_words(settings: dict[str, Any]) -> str:
    """Return settings as on a command line: ``gamma=4 lam=64``."""
    return " ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in settings.items()
    )


@dataclass(frozen=True)
class Task:
    """A trial to make: numbers of the candidate, the rung and the fold."""

    candidate: int
    rung: int
    fold: int

    @property
    def name(self) -> str:
        return f"{self.candidate:04d}-{self.rung}-{self.fold}"


@dataclass(frozen=True)
class Trial:
    """A finished trial of a candidate.

    Attributes
    ----------
    candidate, rung, fold : see :class:`Task`
    n_learned, n_held_out : number of training and held-out rows
    value : metric on the held-out rows; None if the trial failed
    figures : all figures on the held-out rows
    losses : losses of groups of held-out rows, see :func:`~distkern.runs.ranking.losses_of_groups`; empty for
        other metrics
    work : number of rows read by the fit times number of basis functions
    n_stages, ended : of the fit
    found : values chosen for "auto" hyperparameters
    seconds : time of fit and evaluation
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
    """The folder of a search; without a place, trials stay in memory.

    ``search.json`` identifies the search, ``trials/`` holds a file for each finished trial, complete or
    absent, and ``running/`` the checkpoints of running trials. A trial's file names its search, candidate,
    rung and fold.
    """

    def __init__(self, place: Place | None) -> None:
        self.place = place
        self._search = ""
        self._found: dict[Task, Trial] = {}

    def begin(self, identity: Mapping[str, Any]) -> None:
        """Start a search here, or continue the one that was started.

        Raises
        ------
        InputError
            If the folder holds another search; the message names the difference.
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
                        f"holds a search with another {key}",
                        where=str(self.place),
                        hint="search with the same job and data, or give another folder",
                    )
            return
        with explain_errors(self.place):
            (self.place / "trials").mkdir(parents=True, exist_ok=True)
        write_text_atomic(file, _SEARCH.text(now))

    def trial(self, task: Task) -> Trial | None:
        """Return the trial of a task, if it has finished.

        Raises
        ------
        CorruptDataError
            If its file is damaged or belongs to another trial.
        """
        if task not in self._found and self.place is not None:
            file = self.place / "trials" / f"{task.name}.json"
            if file.exists():
                self._found[task] = self._read(file)
        return self._found.get(task)

    def _read(self, file: Place) -> Trial:
        content, _ = _TRIAL.load(file)
        trial = _TRIAL.read(Trial, content, str(file))
        found = f"trial {trial.task.name}" if trial.task.name != file.stem else "a trial of another search"
        if trial.task.name != file.stem or content.get("search") != self._search:
            raise CorruptDataError(f"is {found}", where=str(file), hint=_TRIAL.again)
        return trial

    def keep(self, trial: Trial, *, stays: bool = True) -> None:
        """Add a finished trial; unless it ``stays``, only this process remembers it."""
        if self.place is not None and stays:
            content = {**asdict(trial), "search": self._search}
            write_text_atomic(self.place / "trials" / f"{trial.task.name}.json", _TRIAL.text(content))
            self.clear(trial.task)
        self._found[trial.task] = trial

    def copy_to(self, place: Place) -> None:
        """Copy the search and its trials to another folder; each is read and checked as in :meth:`trial`."""
        assert self.place is not None, "only stored trials are copied"
        file = self.place / "search.json"
        content, _ = _SEARCH.load(file)
        identity = {key: value for key, value in content.items() if not key.startswith("encoding-")}
        self._search = fingerprint(identity)
        copy = SearchFolder(place)
        copy.begin(identity)
        for file in self._files():
            copy.keep(self._read(file))

    def _files(self) -> list[Place]:
        assert self.place is not None, "trials without a folder are in memory"
        return [file for file in (self.place / "trials").iterdir() if file.name[:1] != "."]

    def n_kept(self) -> int:
        """Return the number of kept trials by their files: an interruption may follow right after writing."""
        if self.place is None:
            return len(self._found)
        return len(self._files())

    def checkpoints(self, task: Task) -> Place | None:
        return None if self.place is None else self.place / "running" / task.name / "checkpoints"

    def clear(self, task: Task | None = None) -> None:
        """Remove the checkpoints of a task, or of all tasks."""
        if self.place is None:
            return
        left = self.place / "running"
        if task is not None:
            left = left / task.name
        if left.exists():
            remove_tree(left)
