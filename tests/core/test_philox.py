"""The compiled Philox gives the words of numpy's, and uniform numbers that never reach 0 or 1."""

from functools import cache

import numpy as np
import pytest

from distkern.core.compiled import array_type, compile_loop
from distkern.core.rng import philox, unit


def _fill(key, counters, words, numbers):
    for row in range(counters.shape[0]):
        one, two, three, four = philox(
            key[0], key[1], counters[row, 0], counters[row, 1], counters[row, 2], counters[row, 3]
        )
        words[row, 0], words[row, 1], words[row, 2], words[row, 3] = one, two, three, four
        for column in range(4):
            numbers[row, column] = unit(words[row, column])


@cache
def compiled():
    arguments = (
        array_type(np.uint64, 1),
        array_type(np.uint64, 2),
        array_type(np.uint64, 2, writable=True),
        array_type(np.float64, 2, writable=True),
    )
    return compile_loop(_fill, arguments, helpers={"philox": philox, "unit": unit}, exact=True)


def drawn(key, counters):
    counters = np.asarray(counters, dtype=np.uint64)
    words, numbers = np.empty(counters.shape, np.uint64), np.empty(counters.shape)
    compiled()(np.asarray(key, dtype=np.uint64), counters, words, numbers)
    return words, numbers


@pytest.mark.parametrize(
    "key", [(0, 0), (1, 2), (2**64 - 1, 2**64 - 1), (0x0123456789ABCDEF, 0xFEDCBA9876543210)]
)
def test_word_for_word_the_philox_of_numpy(key):
    generator = np.random.default_rng(0)
    counters = generator.integers(0, 2**64, size=(50, 4), dtype=np.uint64)
    counters[:3] = [[0, 0, 0, 0], [1, 0, 0, 0], [2**64 - 1, 2**64 - 1, 0, 7]]
    words, _ = drawn(key, counters)
    for counter, found in zip(counters, words, strict=True):
        number = sum(int(word) << (64 * place) for place, word in enumerate(counter))
        # numpy counts before it draws
        before = (number - 1) % 2**256
        expected = np.random.Philox(key=np.array(key, np.uint64), counter=before).random_raw(4)
        np.testing.assert_array_equal(found, expected)


def test_numbers_are_uniform_and_strictly_between_0_and_1():
    counters = np.zeros((20_000, 4), np.uint64)
    counters[:, 0] = np.arange(20_000)
    words, numbers = drawn((5, 6), counters)
    np.testing.assert_array_equal(numbers, (words >> np.uint64(11)) * 2.0**-53)
    assert numbers.min() > 0
    assert numbers.max() < 1
    counts, _ = np.histogram(numbers, bins=20, range=(0, 1))
    # 80,000 draws in 20 bins: a standard deviation of 62
    assert np.abs(counts - 4000).max() < 5 * 62


def _units(words, numbers):
    for row in range(words.shape[0]):
        numbers[row] = unit(words[row])


def test_the_ends_of_the_range():
    loop = compile_loop(
        _units,
        (array_type(np.uint64, 1), array_type(np.float64, 1, writable=True)),
        helpers={"unit": unit},
        exact=True,
    )
    words = np.array([0, 2**11 - 1, 2**11, 2**64 - 1], np.uint64)
    numbers = np.empty(4)
    loop(words, numbers)
    np.testing.assert_array_equal(numbers, [2.0**-54, 2.0**-54, 2.0**-53, 1 - 2.0**-53])
