"""Numbers, dates and times of day, as people write them."""

import numpy as np
import pandas
import pytest

from distkern.data.columns.date import dates_of, times_of
from distkern.data.columns.number import decimal_of, numbers_of


@pytest.mark.parametrize(
    ("word", "number", "unit"),
    [
        ("$1,200.50", 1200.5, "$"),
        ("(3,000)", -3000.0, ""),
        ("$(1,200.50)", -1200.5, "$"),
        ("(1,200.50) €", -1200.5, "€"),
        ("(5)%", -5.0, "%"),
        ("-$5", -5.0, "$"),
        ("$ -5.", -5.0, "$"),
        ("7 EUR", 7.0, "EUR"),
        ("12.5 %", 12.5, "%"),
        ("12.5\u00a0%", 12.5, "%"),
        ("1\u202f200.50\u202f€", 1200.5, "€"),
        ("1'000'000", 1e6, ""),
        ("\u22121e3", -1000.0, ""),
        ("5.e3", 5000.0, ""),
        ("1,2,3", np.nan, ""),
        ("12,34", np.nan, ""),
        ("(5", np.nan, ""),
        ("--5", np.nan, ""),
        ("$", np.nan, ""),
        (".", np.nan, ""),
        ("1 200 5", np.nan, ""),
    ],
)
def test_numbers_as_people_write_them(word, number, unit):
    values, units = numbers_of([word, None])
    np.testing.assert_array_equal(values, [number, np.nan])
    assert np.isnan(number) or units[0] == unit
    exchanged = word.translate(str.maketrans(",.", ".,"))
    np.testing.assert_array_equal(numbers_of([exchanged], ",")[0], [number])


@pytest.mark.parametrize("decimal", [".", ","])
def test_few_words_are_parsed_as_many_are(decimal):
    generator = np.random.default_rng(0)
    letters = [*"0123456789" * 3, *"..,,  '-+()$€%eE", "USD", "\u2212", "\u00a0", "EUR"]
    words = ["".join(generator.choice(letters, generator.integers(0, 9))) for _ in range(8000)]
    words += [None, "", "1", "-1.5", "(1,234.50)", "$ 5", "5 %", "1e3", "5.e3", ".5", "+-1", "1\n", "٣"]
    values, units = numbers_of(words, decimal)
    assert np.count_nonzero(~np.isnan(values)) > 1000
    parts = [numbers_of(words[start : start + 5], decimal) for start in range(0, len(words), 5)]
    np.testing.assert_array_equal(np.concatenate([part for part, _ in parts]), values)
    assert [unit for _, part in parts for unit in part] == units


def test_the_decimal_mark_follows_from_numbers_that_can_be_read_in_one_way():
    assert decimal_of(["1,5", "1.200"]) == (",", False)
    assert decimal_of(["1.5", "1,200", "word"]) == (".", False)
    assert decimal_of(["1,200"]) == (None, True)
    assert decimal_of(["0,512"]) == (",", False)
    assert decimal_of(["7", "word"]) == (None, False)


@pytest.mark.parametrize(
    ("word", "moment"),
    [
        ("2024-03-04", "2024-03-04"),
        ("2024/3/4 5:06", "2024-03-04 05:06"),
        ("4.3.2024", "2024-03-04"),
        ("4/3/24", "2024-03-04"),
        ("4 Mar 2024", "2024-03-04"),
        ("March 4, 2024 3:04 PM", "2024-03-04 15:04"),
        ("04-03-1999 12:00:30 am", "1999-03-04 00:00:30"),
        ("4/3/1970 01:00+01:00", "1970-03-04"),
        ("30/2/2024", None),
        ("4 Foo 2024", None),
        ("4/3/2024 25:00", None),
        ("4/3-2024", None),
    ],
)
def test_dates_as_people_write_them(word, moment):
    expected = np.nan if moment is None else pandas.Timestamp(moment).timestamp()
    np.testing.assert_array_equal(dates_of([word, None]), [expected, np.nan])


def test_times_of_day():
    found = times_of(["1:30 PM", "13:30", "00:00:01.5", "12:00 AM", "24:00", "7:60", None])
    np.testing.assert_array_equal(found, [48_600, 48_600, 1.5, 0, np.nan, np.nan, np.nan])
