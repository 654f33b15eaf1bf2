"""Numbers in the notations that people use in tables."""

import numpy as np
import pytest

from distkern.data.columns.number import numbers_of


@pytest.mark.parametrize("decimal", [".", ","])
def test_few_words_are_parsed_as_many_are(decimal):
    generator = np.random.default_rng(0)
    letters = [*"0123456789" * 3, *"..,,  '-+()$€%eE", "USD", "\u2212", "\u00a0", "EUR"]
    words = ["".join(generator.choice(letters, generator.integers(0, 9))) for _ in range(20_000)]
    words += [None, "", "1", "-1.5", "(1,234.50)", "$ 5", "5 %", "1e3", "5.e3", ".5", "+-1", "1\n", "٣"]
    values, units = numbers_of(words, decimal)
    assert np.count_nonzero(~np.isnan(values)) > 1000
    parts = [numbers_of(words[start : start + 5], decimal) for start in range(0, len(words), 5)]
    np.testing.assert_array_equal(np.concatenate([part for part, _ in parts]), values)
    assert [unit for _, part in parts for unit in part] == units
