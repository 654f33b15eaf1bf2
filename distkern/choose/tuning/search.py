"""The search: which candidates are tried next, on which rows, by which metric, and which one is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.choose.choice import Rung, cheapest, going_on, is_near, rungs_of
from distkern.choose.tuning.record import SearchFolder, Task, Trial, TuningCandidate, in_words
from distkern.choose.tuning.runner import TrialRunner, Watcher, Where
from distkern.core.errors import DistkernError, InputError, unknown_name
from distkern.core.scores import mean_difference
from distkern.data.dataset import Split

#: task -> figure of an evaluation -> whether smaller is better; the first is the default
_FIGURES = {
    "classification": {
        "log_loss": True,
        "brier_score": True,
        "error": True,
        "accuracy": False,
        "balanced_accuracy": False,
        "auc": False,
        "average_precision": False,
    },
    "regression": {"rmse": True, "mae": True, "r2": False, "pinball": True},
}
#: scikit-learn's names of scores -> figures with the same ranking
_SCORERS = {
    "roc_auc": "auc",
    "neg_log_loss": "log_loss",
    "neg_brier_score": "brier_score",
    "neg_root_mean_squared_error": "rmse",
    "neg_mean_squared_error": "rmse",
    "neg_mean_absolute_error": "mae",
    "neg_mean_pinball_loss": "pinball",
}
_OF_TWO = ("auc", "average_precision")
#: undefined for rows of one class or with one target
_OF_SEVERAL = (*_OF_TWO, "r2")


@dataclass(frozen=True)
class Metric:
    """A figure of :func:`distkern.runs.evaluation.evaluate_split`."""

    name: str
    is_loss: bool

    @classmethod
    def of(cls, name: str | None, task: str, n_classes: int | None) -> Metric:
        """Return the metric of that name; None: the log loss, or the RMSE.

        Raises
        ------
        InputError
            If the task has no such metric, it is not defined for this number of classes, or there are no
            targets.
        """
        if task not in _FIGURES:
            raise InputError(
                "candidates cannot be compared without targets",
                where="metric",
                hint="give a data set with labels or targets",
            )
        known = _FIGURES[task]
        name = next(iter(known)) if name is None else _SCORERS.get(name, name)
        if name not in known:
            theirs = [one for one, ours in _SCORERS.items() if ours in known]
            error = unknown_name(f"metric of {task}", name, [*known, *theirs])
            raise InputError(error.what, where="metric", hint=error.hint)
        if name in _OF_TWO and n_classes != 2:
            raise InputError(
                f"{name!r} is for two classes, and there are {n_classes}",
                where="metric",
                hint="use error or balanced_accuracy",
            )
        return cls(name, known[name])

    def value(self, figures: Mapping[str, Any]) -> float:
        """Return the metric's value among the figures of an evaluation; NaN if it is undefined on these rows.

        Raises
        ------
        InputError
            If the model has no such figure.
        """
        value = figures.get(self.name)
        if value is None and self.name in _OF_SEVERAL:
            return float("nan")
        if value is None:
            known = ", ".join(name for names in _FIGURES.values() for name in names if name in figures)
            raise InputError(
                f"these models have no {self.name!r}", where="metric", hint=f"use one of {known}"
            )
        return float(value)

    def undefined(self, value: float) -> str:
        """Return the message for a trial with an undefined value."""
        if self.name in _OF_SEVERAL and value != value:
            return f"its held-out rows have no {self.name}: they have one class or one target value"
        return f"its {self.name} is {value}"

    def rank(self, value: float | None) -> float:
        """Return a number that is smaller for better values; infinity for a failed trial."""
        if value is None:
            return float("inf")
        return value if self.is_loss else -value


@dataclass(frozen=True)
class Ranked:
    """Result of a candidate in its last rung.

    Attributes
    ----------
    value : metric, averaged over the folds; None if a trial failed
    work : work of its last trials: rows read times basis functions
    apart : its loss minus that of the best value, and the standard error of the difference on the same rows,
        for candidates of the last rung and metrics that are a mean over rows or a function of one
    is_near : whether chance may explain the difference from the best, see
        :func:`~distkern.choose.choice.is_near`
    seconds : time of all its trials
    """

    number: int
    settings: dict[str, Any]
    value: float | None
    work: float
    rung: int
    n_learned: int
    seconds: float
    trials: tuple[Trial, ...]
    apart: tuple[float, float] | None = None
    is_near: bool = False

    @property
    def losses(self) -> NDArray[np.float64]:
        """Losses of the groups of held-out rows in its last rung, fold after fold, (n_folds * 128,).

        Empty if a trial failed, and for metrics that are neither a mean over rows nor a function of one.
        """
        last = [trial.losses for trial in self.trials if trial.rung == self.rung]
        return np.concatenate(last) if all(last) else np.empty(0)

    @property
    def failed(self) -> str | None:
        """Why there is no value, or None."""
        return next((trial.failed for trial in self.trials if trial.failed), None)


@dataclass
class Search:
    """A search over candidates by held-out rows of a split; no other split is read.

    Trials and their results depend only on the candidates, the data and the seed, not on where or how many at
    a time they run.

    Parameters
    ----------
    candidates : in the order of their numbers
    split : rows to learn from and to hold out
    method : "grid", "random" (all candidates learn from all rows that are not held out) or "halving"
    validation : share of held-out rows, or a number of folds
    metric_name : metric by which candidates are compared; None: the log loss, or the RMSE
    factor : in halving, one of ``factor`` candidates continues
    seed : seed of the held-out rows
    own_space : whether the space is the default one: the first candidate has the estimator's own settings and
        continues through all rungs, and other candidates that do not fit the memory limit are skipped
    folder : where trials are kept and found again
    """

    candidates: Sequence[TuningCandidate]
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
        """The metric; raises as :meth:`Metric.of`, or if a candidate lacks probabilities that it needs."""
        classes = self.split.dataset.classes
        metric = Metric.of(
            self.metric_name, self.candidates[0].estimator.task, None if classes is None else len(classes)
        )
        for candidate in self.candidates:
            if metric.name == "brier_score" and not hasattr(candidate.estimator, "predict_proba"):
                raise InputError(
                    f"{metric.name!r} needs probabilities, and {in_words(candidate.settings)} has none",
                    where="metric",
                    hint="set loss to one with probabilities (logistic), or use log_loss",
                )
        return metric

    @property
    def n_folds(self) -> int:
        """Number of pairs of training and held-out rows."""
        return self.validation if isinstance(self.validation, int) else 1

    @property
    def held_out_share(self) -> float:
        """Share of the rows that each fold holds out."""
        return 1 / self.validation if isinstance(self.validation, int) else self.validation

    @cached_property
    def rungs(self) -> list[Rung]:
        n_rows = int(self.split.n_rows * (1 - self.held_out_share))
        n_tried = len(self.candidates)
        return rungs_of(n_tried, n_rows, self.factor) if self.method == "halving" else [Rung(n_tried, 1.0)]

    @property
    def n_trials(self) -> int:
        return sum(rung.n_candidates for rung in self.rungs) * self.n_folds

    @property
    def n_runs(self) -> float:
        """Work of all trials, as a number of runs on all rows."""
        learned = sum(rung.n_candidates * rung.share for rung in self.rungs)
        return learned * self.n_folds * (1 - self.held_out_share)

    def identity(self) -> dict[str, Any]:
        """Return everything that a resumed search must share with the original."""
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
        """Run the trials that have not finished, and rank the candidates: the chosen one first, then by
        value.

        The chosen candidate has the best value among those of the last rung whose work is at most 1.5 times
        the least work of the near-best ones. A candidate is near-best if its losses on the held-out rows do
        not differ significantly from the best, see :func:`~distkern.choose.choice.is_near`.

        Raises
        ------
        InputError
            If the folder holds another search, a candidate has incompatible settings or does not fit the
            memory limit, or the models have no such metric.
        DistkernError
            If no candidate of a rung could be trained.
        Interrupted
            On Ctrl-C; the message gives the number of kept trials.
        """
        watcher = watcher or Watcher()
        for candidate in self.candidates:
            candidate.estimator.check_parameters()
        self.folder.begin(self.identity())
        trying = [candidate.number for candidate in self.candidates]
        found: dict[int, Ranked] = {}
        with TrialRunner(self, where or Where(), watcher) as runner:
            for number, rung in enumerate(self.rungs):
                if number:
                    ranks = {one: self.metric.rank(found[one].value) for one in trying}
                    trying = going_on(ranks, rung.n_candidates, [0] if self.own_space else [])
                folds = range(self.n_folds)
                trials = runner.make([Task(one, number, fold) for one in trying for fold in folds])
                for one in trying:
                    own = tuple(trials[Task(one, number, fold)] for fold in folds)
                    found[one] = self._ranked(one, own, found.get(one))
                if all(found[one].value is None for one in trying):
                    raise DistkernError(f"no candidate could be trained: {found[trying[0]].failed}")
        self.folder.clear()
        return self._chosen_first(
            sorted(found.values(), key=lambda one: (-one.rung, self.metric.rank(one.value), one.number))
        )

    @staticmethod
    def _chosen_first(ranked: list[Ranked]) -> list[Ranked]:
        best = ranked[0]
        for place, one in enumerate(ranked):
            if one.rung == best.rung and len(one.losses) == len(best.losses) > 0:
                apart = mean_difference(one.losses, best.losses)
                ranked[place] = replace(one, apart=apart, is_near=is_near(one, best))
        # differences between similar models are more certain, so a better value need not be near
        near = [one for one in ranked if one.is_near] or ranked[:1]
        chosen = cheapest([one for one in ranked if one.rung == best.rung], near)
        return [chosen, *(one for one in ranked if one is not chosen)]

    def _ranked(self, number: int, trials: tuple[Trial, ...], before: Ranked | None) -> Ranked:
        values = [trial.value for trial in trials if trial.value is not None]
        value = math.fsum(values) / len(values) if len(values) == len(trials) else None
        seconds = sum(trial.seconds for trial in trials) + (0.0 if before is None else before.seconds)
        settings = self.candidates[number].settings
        earlier = () if before is None else before.trials
        work = sum(trial.work for trial in trials)
        rung, n_learned = trials[0].rung, trials[0].n_learned
        return Ranked(number, settings, value, work, rung, n_learned, seconds, (*earlier, *trials))
