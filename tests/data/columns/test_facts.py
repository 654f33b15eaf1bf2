"""Facts of columns: bounded, exact, and independent of the order of rows."""

from fractions import Fraction

import numpy as np
import pytest

from distkern.data.columns._facts import Distinct, NumberFacts, in_parts


def test_distinct_numbers_are_counted_in_little_memory():
    values = np.random.default_rng(0).permutation(np.arange(50_000) / 7)
    parts, whole = Distinct(), Distinct()
    for part in np.array_split(values, 13):
        parts.add(part)
    whole.add(values[::-1].copy())
    assert parts.count == whole.count == pytest.approx(50_000, rel=0.1)
    few = Distinct()
    few.add(np.array([0.0, -0.0, 1.0, 1.0]))
    assert few.count == 2


@pytest.mark.parametrize("scale", [1e-320, 1e-9, 1.0, 1e300])
def test_sums_are_exact(scale):
    generator = np.random.default_rng(0)
    values = generator.normal(size=1000) * 10.0 ** generator.integers(-9, 5, 1000) * scale
    values = np.concatenate([values, -values[::3], np.full(5, np.nan)])
    facts = NumberFacts()
    for part in np.array_split(generator.permutation(values), 7):
        facts.add(part)
    exact = sum(map(Fraction, values[~np.isnan(values)].tolist()))
    assert facts.total == exact
    assert facts.mean == float(exact / facts.n_present)


def test_two_values_that_are_known_are_added_exactly_too():
    facts = NumberFacts()
    for _ in range(3):
        facts.add(np.array([0.1, 0.7, 0.1]))
    facts.add(np.array([0.7]))
    assert facts.total == 6 * Fraction(0.1) + 4 * Fraction(0.7)
    facts = NumberFacts()
    facts.add(np.array([0.1]))
    facts.add(np.array([0.1, 0.1]))
    assert (facts.total, facts.n_present) == (3 * Fraction(0.1), 3)


def test_numbers_in_a_bounded_number_of_parts_are_rounded_in_any_order_alike():
    values = np.random.default_rng(0).normal(size=100)
    parts = list(in_parts(values, 8.0, 2))
    assert all((whole == np.rint(whole)).all() for whole, _ in parts)
    found = sum(np.ldexp(whole, exponent) for whole, exponent in parts)
    np.testing.assert_allclose(found, values, rtol=0, atol=2.0**-49)
