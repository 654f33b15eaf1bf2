"""The search itself: which candidate is tried next, on which rows, and which one is the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from distkern.common.errors import DistkernError, InputError
from distkern.storage.dataset import Split
from distkern.tuning.candidate import Candidate, in_words
from distkern.tuning.metric import Metric
from distkern.tuning.record import SearchFolder, Task, Trial
from distkern.tuning.schedule import Rung, rungs_of
from distkern.tuning.workshop import Watcher, Where, Workshop

METHODS = ("grid", "random", "halving")


@dataclass(frozen=True)
class Ranked:
    """What was found of a candidate, in the last rung that it came to.

    Attributes
    ----------
    value : of the metric, averaged over the folds; None if a trial failed
    seconds : of all its trials
    """

    number: int
    settings: dict[str, Any]
    value: float | None
    rung: int
    n_learned: int
    seconds: float
    trials: tuple[Trial, ...]

    @property
    def failed(self) -> str | None:
        """Why there is no value."""
        return next((trial.failed for trial in self.trials if trial.failed), None)


@dataclass
class Search:
    """A search over candidates by held-out rows of a split; the rows of no other split are looked at.

    Which trials there are and what they find depends on the candidates, the data and the seed alone: not on
    where they run, nor on how many run at a time.

    Parameters
    ----------
    candidates : in the order in which they are numbered
    split : rows to learn from and to hold out
    method : "grid", "random" (all candidates learn from all rows that are not held out) or "halving"
    validation : share of the rows that are held out, or a number of folds
    metric : by which candidates are compared; None: the error, or the root mean squared error
    factor : of halving: one of so many goes on
    seed : of the rows that are held out
    own_space : the settings were not asked for: the first ones are the estimator's own and go on through all
        rungs, and others that do not fit the memory limit are left behind
    folder : where trials are kept, and found when the search is taken up again
    """

    candidates: Sequence[Candidate]
    split: Split
    method: str = "grid"
    validation: float | int = 0.2
    metric_name: str | None = None
    factor: int = 3
    seed: int = 0
    own_space: bool = False
    folder: SearchFolder = field(default_factory=lambda: SearchFolder(None))

    @cached_property
    def metric(self) -> Metric:
        """Raises as :meth:`Metric.of`, or if a candidate gives no probabilities that it needs."""
        classes = self.split.dataset.classes
        metric = Metric.of(
            self.metric_name, self.candidates[0].estimator.task, None if classes is None else len(classes)
        )
        for candidate in self.candidates:
            if metric.name == "log_loss" and not hasattr(candidate.estimator, "predict_proba"):
                raise InputError(
                    f"'log_loss' needs probabilities, and there are none with {in_words(candidate.settings)}",
                    where="metric",
                    mend="set loss to one that gives them (logistic), or take error",
                )
        return metric

    @property
    def n_folds(self) -> int:
        """Pairs of rows to learn from and held-out rows."""
        return self.validation if isinstance(self.validation, int) else 1

    @property
    def held_out_share(self) -> float:
        """Of the rows, in each fold."""
        return 1 / self.validation if isinstance(self.validation, int) else self.validation

    @cached_property
    def rungs(self) -> list[Rung]:
        n_rows = int(self.split.n_rows * (1 - self.held_out_share))
        return rungs_of(self.method, len(self.candidates), n_rows, self.factor)

    @property
    def n_trials(self) -> int:
        """Of all rungs."""
        return sum(rung.n_candidates for rung in self.rungs) * self.n_folds

    def identity(self) -> dict[str, Any]:
        """What a search that is taken up again must have in common with the one that was begun."""
        first = self.candidates[0].estimator
        fixed = {
            name: value
            for name, value in first.stored_params().items()
            if name not in self.candidates[0].settings and name != "random_state"
        }
        return {
            "data set": self.split.fingerprint,
            "algorithm": first.name,
            "seed": self.seed,
            "hyperparameters": fixed,
            "candidates": [candidate.settings for candidate in self.candidates],
            "method": self.method,
            "validation": self.validation,
            "metric": self.metric.name,
            "factor": self.factor if self.method == "halving" else None,
        }

    def run(self, where: Where | None = None, watcher: Watcher | None = None) -> list[Ranked]:
        """Make the trials that have not been made, and rank the candidates, the best first.

        Raises
        ------
        InputError
            If the folder holds another search, a candidate has settings that do not go together or does not
            fit the memory limit, or the metric is none of these models'.
        DistkernError
            If no candidate of a rung could be trained.
        Interrupted
            On Ctrl-C; the message says how many trials are kept.
        """
        watcher = watcher or Watcher()
        for candidate in self.candidates:
            candidate.estimator.check_parameters()
        self.folder.begin(self.identity())
        going_on = [candidate.number for candidate in self.candidates]
        found: dict[int, Ranked] = {}
        with Workshop(self, where or Where(), watcher) as workshop:
            for number, rung in enumerate(self.rungs):
                going_on = going_on[: rung.n_candidates]
                if self.own_space and 0 in found and found[0].value is not None and 0 not in going_on:
                    going_on[-1] = 0
                folds = range(self.n_folds)
                trials = workshop.make([Task(one, number, fold) for one in going_on for fold in folds])
                for one in going_on:
                    own = tuple(trials[Task(one, number, fold)] for fold in folds)
                    found[one] = self._ranked(one, own, found.get(one))
                going_on = sorted(
                    (one for one in going_on if found[one].value is not None),
                    key=lambda one: (self.metric.rank(found[one].value), one),
                )
                if not going_on:
                    first = next(iter(found.values()))
                    raise DistkernError(f"no candidate could be trained: {first.failed}")
        self.folder.clear()
        return sorted(found.values(), key=lambda one: (-one.rung, self.metric.rank(one.value), one.number))

    def _ranked(self, number: int, trials: tuple[Trial, ...], before: Ranked | None) -> Ranked:
        values = [trial.value for trial in trials if trial.value is not None]
        value = math.fsum(values) / len(values) if len(values) == len(trials) else None
        seconds = sum(trial.seconds for trial in trials) + (0.0 if before is None else before.seconds)
        settings = self.candidates[number].settings
        earlier = () if before is None else before.trials
        return Ranked(
            number, settings, value, trials[0].rung, trials[0].n_learned, seconds, (*earlier, *trials)
        )
