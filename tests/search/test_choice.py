"""The rule by which one of several is chosen, whatever they are."""

import math

import numpy as np
import pytest

from distkern.search.choice import (
    Rung,
    Tried,
    best_of_each,
    cheapest,
    going_on,
    is_better,
    not_worse,
    rungs_of,
    worth_its_work,
)


def test_a_third_goes_on_to_three_times_the_rows():
    assert rungs_of(20, 10**6) == [Rung(20, 1 / 9), Rung(7, 1 / 3), Rung(3, 1.0)]
    assert rungs_of(3, 10**6) == [Rung(3, 1.0)]
    assert rungs_of(8, 10**6, factor=2) == [Rung(8, 0.25), Rung(4, 0.5), Rung(2, 1.0)]


def test_rungs_of_few_rows_are_left_out():
    assert rungs_of(20, 1600) == [Rung(20, 1 / 3), Rung(7, 1.0)]
    assert rungs_of(20, 1000) == [Rung(20, 1.0)]
    assert rungs_of(20, 1000, least_rows=100) == [Rung(20, 1 / 9), Rung(7, 1 / 3), Rung(3, 1.0)]


@pytest.mark.parametrize(
    ("staying", "expected"), [((), [3, 1]), ((2,), [3, 2]), ((1,), [3, 1]), ((0,), [3, 1])]
)
def test_the_best_go_on_and_what_stays_but_nothing_that_failed(staying, expected):
    scores = {0: math.inf, 1: 0.5, 2: 0.7, 3: 0.1, 4: 0.5}
    assert going_on(scores, 2, staying) == expected


def test_differences_are_judged_on_the_same_rows():
    losses, noise = np.random.default_rng(0).normal(size=(2, 1000))
    # by none, 3 and 30 standard errors
    tried = [Tried(gap, losses + gap + noise * (gap > 0)) for gap in (0.0, 0.1, 1.0)]
    assert [len(not_worse(tried, certain)) for certain in (math.inf, 6.0, 2.0)] == [3, 2, 1]
    assert is_better(tried[0], tried[1])
    assert not is_better(tried[1], tried[0])
    assert best_of_each(tried[::-1], lambda one: one.setting > 0.5) == [tried[0], tried[2]]


def test_of_what_cannot_be_told_apart_the_cheaper_wins():
    ranked = [
        Tried(0, np.array([1.0, 2.0, 3.0, 4.0]), 100.0),
        # a little worse everywhere, and by chance worse in one row alone
        Tried(1, np.array([1.1, 2.1, 3.1, 4.1]), 10.0),
        Tried(2, np.array([1.0, 2.0, 3.0, 5.0]), 10.0),
        Tried(3, np.array([3.0, 4.0, 5.0, 6.0]), 1.0),
    ]
    near = not_worse(ranked)
    assert [one.setting for one in near] == [0, 2]
    # it is for no more work, though it is surely not the best
    assert cheapest(ranked, near).setting == 1
    assert cheapest(ranked[2:], ranked[2:3]).setting == 2


def test_work_is_weighed_with_what_it_gains():
    """Half the work is worth a fifth of a standard error."""
    losses = np.zeros(400)
    losses[:8], losses[8:12] = 1.0, -1.0
    mean, error = 4 / 400, losses.std() / 20
    worth = mean / error / 0.2
    for more, chosen in ((0.1, 1), (-0.1, 0)):
        tried = [Tried(0, np.zeros(400), 2.0 ** (worth + more)), Tried(1, losses, 1.0)]
        assert worth_its_work(tried).setting == chosen
    # every row is worse by as much
    assert worth_its_work([Tried(0, np.zeros(9), 1e9), Tried(1, np.ones(9), 1.0)]).setting == 0
