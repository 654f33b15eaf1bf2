"""Hyperparameters that choose themselves: fits to a part of a sample, measured on rows that are held out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from distkern.common.parameters import AUTO
from distkern.estimators.hyperparameters import Hyperparameters
from distkern.estimators.trial import Sample
from distkern.runs.data import TrainingData
from distkern.solvers.hyperparameters import Searched

#: rows to learn from below which nothing is searched; a first rung has a fifth of the sample's
_LEAST_ROWS, _FIRST_SHARE = 300, 5
#: candidates that go on to all rows of the sample
_KEPT = 3
#: rows of the sample, at most, and at most a half of all
_MOST_ROWS = 4000


def searched(
    estimator: Any, names: Mapping[str, Searched], data: TrainingData, seed: int
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The best values of some hyperparameters, and a note that says so; nothing if there are too few rows.

    All combinations are tried on a fifth of the sample, the best of these and the usual values on all of it:
    successive halving (Jamieson and Talwalkar 2016). Each trial is a fit of the estimator itself, so what is
    best is best for its own approximations too. A value that goes with the number of rows, as a weight of all
    losses does, is tried at that of the trial and taken at that of the run.

    Parameters
    ----------
    estimator : not fitted
    seed : of the sample and of the trials
    """
    classes = data.classes if estimator.task == "classification" else None
    sample = Sample.of(data.source, classes, seed, min(_MOST_ROWS, data.source.n_rows // 2))
    if not sample.tells or sample.learned.n_rows < _LEAST_ROWS:
        return {}, ()
    shares = [
        dict(zip(names, each, strict=True)) for each in product(*(one.values for one in names.values()))
    ]

    def losses(chosen: list[dict[str, Any]], part: Sample) -> list[float]:
        n_rows = part.learned.n_rows
        values = [{name: names[name].at(value, n_rows) for name, value in each.items()} for each in chosen]
        models = [type(estimator)(**{**_given(estimator, seed), **each}) for each in values]
        return part.scores(models)

    first = losses(shares, sample.first(_FIRST_SHARE))
    best = [shares[place] for place in np.argsort(first, kind="stable")[:_KEPT]]
    second = losses(best, sample)
    place = int(np.argmin(second))
    usual = {name: one.otherwise for name, one in names.items()}
    plain = sample.scores([type(estimator)(**{**_given(estimator, seed), **usual})])[0]
    found, reached = usual, plain
    if second[place] < plain:
        n_rows = data.source.n_rows
        found = {name: names[name].at(value, n_rows) for name, value in best[place].items()}
        reached = second[place]
    said = ", ".join(f"{name} {_spoken(value)}" for name, value in found.items())
    of = "error" if classes is not None else "squared error by variance"
    ranges = ", ".join(f"{name} {one.spoken(data.source.n_rows)}" for name, one in names.items())
    note = f"chosen: {said} (of {ranges}); held-out {of} of a sample {reached:.2%} ({plain:.2%} unsearched)"
    return found, (note,)


def _given(estimator: Any, seed: int) -> dict[str, Any]:
    """Its hyperparameters, with no more functions than a trial needs."""
    given = {**estimator.get_params(deep=False), "random_state": seed}
    most = estimator.most_trial_functions
    for name in ("n_landmarks", "n_features"):
        if estimator.has_effect(name) and given.get("diameter") is None:
            given[name] = most if given[name] is None else min(given[name], most)
    return given


def _spoken(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


class SearchedHyperparameters(Hyperparameters):
    """Hyperparameters of which some choose themselves where they are "auto"."""

    #: hyperparameters that are chosen on a sample where they are "auto"
    searched: ClassVar[Mapping[str, Searched]] = {}
    #: landmarks or random features of a trial of them, at most
    most_trial_functions: ClassVar[int] = 512
    #: what was chosen for them
    found_: Mapping[str, Any] = MappingProxyType({})

    def value(self, name: str) -> Any:
        given = self.given(name)
        if name in self.searched and isinstance(given, str) and given == AUTO:
            return self.found_.get(name, self.searched[name].otherwise)
        return given

    def _search(self, data: TrainingData) -> tuple[str, ...]:
        """Choose what is "auto"; notes of what was chosen."""
        open_names = {
            name: one
            for name, one in self.searched.items()
            if self.given(name) == AUTO and self.has_effect(name)
        }
        if not open_names:
            return ()
        given = {name: self.given(name) for name in self.hyperparameters}
        state, asked = given["random_state"], (data.source.fingerprint, repr(given))
        known = getattr(self, "_known", None)
        if known is None or known[0] != asked or not data.source.fingerprint:
            seed = state if isinstance(state, int) else 0
            known = self._known = asked, searched(self, open_names, data, seed)
        self.found_, notes = known[1]
        return notes
