"""What a search will take, before it starts."""

from __future__ import annotations

from distkern.engine.budget import Machine
from distkern.runs.run import plan_on
from distkern.tuning.search import Search


def seconds_of(search: Search, machine: Machine) -> float:
    """Of all trials, one after another; of those that go on nobody knows which they are: the mean of all."""
    total = 0.0
    for number, rung in enumerate(search.rungs):
        folds = search.parts(number)
        each = [
            plan_on(machine, candidate.estimator, folds[0][0], None, None).seconds
            for candidate in search.candidates
        ]
        total += rung.n_candidates * len(folds) * sum(each) / len(each)
    return total
