"""What a search will take, before it starts."""

from __future__ import annotations

from distkern.engine.budget import Machine
from distkern.runs.run import plan_on
from distkern.tuning.search import Search


def seconds_of(search: Search, machine: Machine) -> float:
    """Of all trials, one after another; of those that go on nobody knows which they are: the mean of all.

    Nothing is read: a trial takes its share of what the candidate would take on all rows.
    """
    each = [
        plan_on(machine, candidate.estimator, search.split, None, None).seconds
        for candidate in search.candidates
    ]
    learned = sum(rung.n_candidates * rung.share for rung in search.rungs) * (1 - search.held_out_share)
    return learned * search.n_folds * sum(each) / len(each)
