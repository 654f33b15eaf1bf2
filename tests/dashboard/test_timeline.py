"""Rates in a fixed number of buckets: nothing is lost, however long the run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern.dashboard.state import BUCKETS, FIRST_WIDTH, Timeline


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(0, 1e6)), min_size=1, max_size=40))
def test_amounts_are_kept_and_buckets_are_few(steps):
    line, now = Timeline(2), 0.0
    for seconds, amount in steps:
        line.add(now, now + seconds, amount, 2 * amount)
        now += seconds
    # a later amount closes the bucket that is still open
    line.add(now + 3 * line.width, now + 3 * line.width, 0.0, 0.0)
    for quantity, factor in ((0, 1), (1, 2)):
        times, rates = line.rates(quantity)
        assert len(times) == len(rates) <= BUCKETS
        assert sum(rates) * line.width == pytest.approx(factor * sum(amount for _, amount in steps))


def test_a_steady_flow_is_a_flat_line_whatever_the_width():
    line = Timeline(1)
    for step in range(3000):
        line.add(step, step + 1, 50.0)
    times, rates = line.rates(0)
    assert line.width > FIRST_WIDTH
    assert rates == pytest.approx([50.0] * len(rates))
    assert times[1] - times[0] == line.width
    assert times[-1] < 3000


def test_nothing_yet():
    assert Timeline(1).rates(0) == ([], [])
