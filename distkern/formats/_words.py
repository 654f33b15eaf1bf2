"""What single words of a table mean: missing, yes, no, or words of a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
#: features that the words of a text become
TEXT_FEATURES = 256
PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"))
BOOLEANS = {word: float(word == pair[0]) for pair in PAIRS for word in pair}


def word_of(value: Any, na: frozenset[str]) -> str | None:
    """A value as the category that it is; None where it is missing."""
    if isinstance(value, str):
        word = value.strip()
        return None if word in na else word
    if value is None or value != value:
        return None
    return written(value)


def are_booleans(words: set[str]) -> bool:
    """Whether these are yes and no; a letter alone may stand for anything else."""
    lower = {word.lower() for word in words}
    pairs = [pair for pair in PAIRS if not lower.isdisjoint(pair)]
    return lower <= {*BOOLEANS} and all(len(pair[0]) > 1 or lower.issuperset(pair) for pair in pairs)


def most_common(words: Iterable[str]) -> str | None:
    """The most frequent word, the first in alphabetical order of several; None of no words."""
    counts = Counter(words)
    return min(counts, key=lambda word: (-counts[word], word)) if counts else None


def hashed(texts: Sequence[str]) -> NDArray[np.float64]:
    """(n, 256) words of texts, counted by their hashes with signs, of norm 1; zeros where there are none."""
    from sklearn.feature_extraction.text import HashingVectorizer

    counted = HashingVectorizer(n_features=TEXT_FEATURES).transform(texts)
    return np.asarray(counted.toarray(), dtype=np.float64)


def names_of_values(key: str, width: int) -> tuple[str, ...]:
    """Names of the numbers that a value of a column becomes."""
    return (key,) if width == 1 else tuple(f"{key} words {at + 1}" for at in range(width))
