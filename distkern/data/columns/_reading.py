"""How table columns are read and fitted: settings of all columns, of each, and the words of new ones."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.names import written

#: numbers in text files; Python's float() would also accept "1_000" and non-ASCII digits
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOT_FINITE = re.compile(r"[+-]?(?:nan(?:\([a-z0-9_]*\))?|inf|infinity)", re.IGNORECASE)
#: default texts for a missing label or group, without "-": classes may be + and -
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
#: default texts for other missing values: pandas' own list and some more
MISSING = MISSING_LABELS.union(
    ["-", "--", "---", ".", "missing", "Missing", "MISSING", "unknown", "Unknown", "UNKNOWN"]
)
#: words among numbers make categories from this share and this number of rows on; with more distinct numbers,
#: probably measurements, only if this many words have digits, as codes do and missing values do not
_SHARE_OF_WORDS, _ROWS_OF_WORDS, _FEW_NUMBERS, _CODES = 0.01, 5, 50, 5


def parse_number(text: str) -> float | None:
    """Return the number in a field (NaN and infinities included), or None."""
    stripped = text.strip(" \t\r\n")
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    if NOT_FINITE.fullmatch(stripped):
        return float(stripped.partition("(")[0])
    return None


def word_of(value: Any, na: frozenset[str]) -> str | None:
    """Return a value as a category; None if it is missing."""
    if isinstance(value, str):
        word = value.strip()
        return None if word in na else word
    if value is None or value != value:
        return None
    return written(value)


def recurring(values: Any, words: Sequence[str], are_numbers: Sequence[bool]) -> list[str]:
    """Return the words that recur like categories among numbers, the most frequent first; empty if there are
    none.

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
    """Return the most frequent word, of several the alphabetically first; None without words."""
    counts = Counter(words)
    return min(counts, key=lambda word: (-counts[word], word)) if counts else None


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Remedies:
    """Remedies with ``{}`` for the name of the column.

    Attributes
    ----------
    as_category : declare the column categorical
    as_columns : encode it by one feature per category
    leave_out : leave it out
    as_dates : give the notation of its dates
    as_shares : give the column's shares as numbers, the end of a sentence; "" if files hold only texts
    as_missing : declare a text as missing, with ``{}`` for the text; "" if that cannot be said
    """

    as_category: str = "give --categorical {}=onehot (or target, signs, drop)"
    as_columns: str = "give --categorical {}=onehot (or drop)"
    leave_out: str = "give --drop {}"
    as_dates: str = "give --day-first or --month-first"
    as_shares: str = ""
    as_missing: str = "--na {} if it stands for a missing value"


OPTIONS = Remedies()
FRAMES = Remedies(
    as_category="make the column one of categories: X[{!r}].astype('category')",
    as_columns="make columns of them: pandas.get_dummies(X, columns=[{!r}])",
    leave_out="leave it out: X.drop(columns={!r})",
    as_dates="make dates of the column: X[{0!r}] = pandas.to_datetime(X[{0!r}], dayfirst=...)",
    as_shares=", or give shares as numbers: X[{0!r}] = X[{0!r}].astype(float)",
    as_missing="",
)


@dataclass
class Notation:
    """How all columns of some tables are read.

    Attributes
    ----------
    decimal : decimal mark of the current file; None if unknown
    day_first : whether 3/4/2024 is in April, in columns that do not show it
    is_fixed : the tables belong to a model, so nothing more is learned from them
    numbers_of_na : numbers that stand for a missing value, in any notation
    remedies : remedies for messages
    notes : notes for the user, a sentence each
    """

    decimal: str | None = None
    day_first: bool | None = None
    is_fixed: bool = False
    numbers_of_na: tuple[float, ...] = ()
    remedies: Remedies = OPTIONS
    notes: list[str] = field(default_factory=list)


@dataclass
class Reading:
    """How one column is read, learned from its first values.

    Attributes
    ----------
    name : name of the column
    notation : settings of all columns
    na : texts for a missing value
    keeps_na : they are ordinary values in this column
    is_given : the user has given the kind
    is_target : the column holds the target
    rule : notation of the values: unit of numbers ("%", a currency), or the order of day and month in dates
    zone : time zone of dates in typed columns, "" if they have none; None: unknown
    levels : code of each category, in order of appearance or as in the model
    is_of_integers : the categories are numbers, and integers among them are written without fraction
    with_zeros : some numbers have insignificant leading zeros
    overflows : too many categories: the column is left out
    n_missing : number of missing values
    """

    name: str
    notation: Notation = field(default_factory=Notation)
    na: frozenset[str] = frozenset([""])
    keeps_na: bool = False
    is_given: bool = False
    is_target: bool = False
    rule: str = ""
    zone: str | None = None
    levels: dict[str, int] = field(default_factory=dict)
    is_of_integers: bool | None = None
    with_zeros: bool = False
    overflows: bool = False
    n_missing: int = 0

    def remedy(self, name: str) -> str:
        """Return a remedy of :class:`Remedies` for this column."""
        remedy: str = getattr(self.notation.remedies, name)
        return remedy.format(shlex.quote(self.name) if self.notation.remedies is OPTIONS else self.name)

    @property
    def others(self) -> str:
        """End of a message about a word of another kind; a target of words has no values of its kind."""
        return "" if self.is_target else ", as other values of the column are"


@dataclass(frozen=True)
class Parsed:
    """Numbers parsed from words.

    Attributes
    ----------
    values : (n,) or (n, width); NaN for missing words and words of another kind
    wrong : positions of words to refuse
    what : message about them, with ``{}`` for the word
    hint : remedy; None: correct the word, or make the column categorical
    """

    values: Array
    wrong: Sequence[int] = ()
    what: str = ""
    hint: str | None = None


@dataclass(frozen=True)
class ColumnWords:
    """The texts of the first values of a new column.

    Attributes
    ----------
    values : Arrow array
    reading : how the column is read
    """

    values: Any
    reading: Reading

    @cached_property
    def distinct(self) -> list[str]:
        """The distinct words, stripped and sorted, without missing values."""
        words = {word.strip() for word in self.values.unique().to_pylist() if word is not None}
        return sorted(words - self.reading.na)

    def mostly(self, is_of_kind: Callable[[str], object]) -> bool:
        """Return whether ``is_of_kind`` holds for at least half of the distinct words."""
        n_of_kind = sum(bool(is_of_kind(word)) for word in self.distinct)
        return bool(self.distinct) and 2 * n_of_kind >= len(self.distinct)


@dataclass(frozen=True)
class Fitting:
    """What a column is fitted to besides the facts of its rows.

    Attributes
    ----------
    reading : how the rows were read
    n_rows : number of training rows
    flags : add a feature that marks missing numbers
    outputs : names of the outputs of target means; empty without targets
    wanted : "onehot", "target" or "signs", given by the user for categories
    has_target : ``outputs`` is known; otherwise the target itself has a problem
    refuse : raises or collects a problem of the column
    """

    reading: Reading
    n_rows: int
    flags: bool = False
    outputs: tuple[str, ...] = ()
    wanted: str | None = None
    has_target: bool = True
    refuse: Callable[[InputError], None] = lambda error: None
