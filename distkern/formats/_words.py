"""Meanings of single words in tables, and problems of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError, Problems
from distkern.common.names import written

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
#: what a value of each kind is called
KINDS_IN_WORDS = {
    "number": "a number",
    "boolean": "yes or no",
    "date": "a date",
    "time": "a time of day",
    "category": "a category",
    "text": "a text",
}
#: words among numbers make categories from this share of the rows and this many rows on; among more numbers,
#: which are measured rather than codes, from this many words with digits on: others stand for missing values
_SHARE_OF_WORDS, _ROWS_OF_WORDS, _FEW_NUMBERS, _CODES = 0.01, 5, 50, 5
#: features that the words of a text become
TEXT_FEATURES = 256
PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"))
BOOLEANS = {word: float(word == pair[0]) for pair in PAIRS for word in pair}


def word_of(value: Any, na: frozenset[str]) -> str | None:
    """A value as a category; None if it is missing."""
    if isinstance(value, str):
        word = value.strip()
        return None if word in na else word
    if value is None or value != value:
        return None
    return written(value)


def are_booleans(words: set[str]) -> bool:
    """Whether words are yes and no; one of the two alone may be joined by other words later."""
    lower = {word.lower() for word in words}
    return lower <= {*BOOLEANS} and all(lower.isdisjoint(pair) or lower.issuperset(pair) for pair in PAIRS)


def recurring(values: Any, words: Sequence[str], are_numbers: Sequence[bool]) -> list[str]:
    """Words that recur like categories among numbers, the most frequent first; else none.

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


def hashed(texts: Sequence[str]) -> NDArray[np.float64]:
    """Word counts of texts (n, 256), hashed with signs and normalised; zeros where there are none."""
    from sklearn.feature_extraction.text import HashingVectorizer

    counted = HashingVectorizer(n_features=TEXT_FEATURES).transform(texts)
    return np.asarray(counted.toarray(), dtype=np.float64)


def width_of(kind: str | None) -> int:
    """Number of numbers that a value of such a column becomes."""
    return TEXT_FEATURES if kind == "text" else 1


def names_of_values(key: str, width: int) -> tuple[str, ...]:
    """Names of the numbers that a value of a column becomes."""
    return (key,) if width == 1 else tuple(f"{key} words {at + 1}" for at in range(width))


class Refusals:
    """Problems of the columns of tables: raised at once, or collected and reported together.

    Attributes
    ----------
    collects : collect problems instead of raising them
    problems : the first problem of each column, by name
    """

    def __init__(self) -> None:
        self.collects = False
        self.problems: dict[str, InputError] = {}
        # by column and hint: one remedy, one problem
        self._found: dict[tuple[str, str | None], InputError] = {}
        self._n_refused: dict[tuple[str, str | None], int] = {}

    def refuse(self, key: str, error: InputError, count: int = 1) -> None:
        """Raise a problem of ``count`` rows of a column (0: not of single rows), or collect it for
        :meth:`raise_problems`.
        """
        if not self.collects:
            raise error
        self.problems.setdefault(key, error)
        self._found.setdefault((key, error.hint), error)
        self._n_refused[key, error.hint] = self._n_refused.get((key, error.hint), 0) + count

    def raise_problems(self) -> None:
        """Raise all collected problems at once, each at its first row with the number of further rows."""
        found = []
        for key, error in self._found.items():
            more = self._n_refused[key] - 1
            what = f"{error.what} (and {more:,} more row{'s' * (more > 1)})" if more > 0 else error.what
            found.append(InputError(what, where=error.where, hint=error.hint))
        if found:
            raise found[0] if len(found) == 1 else Problems(found)
