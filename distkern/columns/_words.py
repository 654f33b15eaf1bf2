"""Meanings of single words in tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from distkern.common.names import written

#: what counts as a number in a text file; Python's float() alone would also take "1_000" and foreign digits
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOT_FINITE = re.compile(r"[+-]?(?:nan(?:\([a-z0-9_]*\))?|inf|infinity)", re.IGNORECASE)
#: what stands for a missing label or group, where its user does not say: classes may be + and -
MISSING_LABELS = frozenset(
    [
        "",
        "?",
        "NA",
        "N/A",
        "n/a",
        "#N/A",
        "#NA",
        "#N/A N/A",
        "<NA>",
        "NaN",
        "nan",
        "NAN",
        "-NaN",
        "-nan",
        "NaT",
    ]
).union(["null", "Null", "NULL", "None", "none", "NONE", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"])
#: what stands for any other missing value: pandas' own list, and some more
MISSING = MISSING_LABELS.union(
    ["-", "--", "---", ".", "missing", "Missing", "MISSING", "unknown", "Unknown", "UNKNOWN"]
)
#: words among numbers make categories from this share of the rows and this many rows on; among more numbers,
#: which are measured rather than codes, from this many words with digits on: others stand for missing values
_SHARE_OF_WORDS, _ROWS_OF_WORDS, _FEW_NUMBERS, _CODES = 0.01, 5, 50, 5


def parse_number(text: str) -> float | None:
    """The number in a field (NaN and infinities included), or None."""
    stripped = text.strip(" \t\r\n")
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    if NOT_FINITE.fullmatch(stripped):
        return float(stripped.partition("(")[0])
    return None


def word_of(value: Any, na: frozenset[str]) -> str | None:
    """A value as a category; None if it is missing."""
    if isinstance(value, str):
        word = value.strip()
        return None if word in na else word
    if value is None or value != value:
        return None
    return written(value)


def recurring(values: Any, words: Sequence[str], are_numbers: Sequence[bool]) -> list[str]:
    """ColumnWords that recur like categories among numbers, the most frequent first; else none.

    Parameters
    ----------
    values : Arrow array of a column
    words, are_numbers : its distinct texts, and which of them are numbers
    """
    others = {word for word, is_number in zip(words, are_numbers, strict=True) if not is_number}
    n_codes = sum(any(map(str.isdigit, word)) for word in others)
    if not others or (len(words) - len(others) > _FEW_NUMBERS and n_codes < _CODES):
        return []
    counts: Counter[str] = Counter()
    for pair in values.value_counts().to_pylist():
        if pair["values"] is not None and pair["values"].strip() in others:
            counts[pair["values"].strip()] += pair["counts"]
    if counts.total() < max(_ROWS_OF_WORDS, _SHARE_OF_WORDS * (len(values) - values.null_count)):
        return []
    return sorted(counts, key=lambda word: (-counts[word], word))


def most_common(words: Iterable[str]) -> str | None:
    """The most frequent word, of several the alphabetically first; None without words."""
    counts = Counter(words)
    return min(counts, key=lambda word: (-counts[word], word)) if counts else None
