"""Texts, by their words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from distkern.core.errors import InputError
from distkern.data.columns._facts import extremes
from distkern.data.columns._reading import Array, Fitting, Parsed, Reading, word_of
from distkern.data.columns.base import AbstractColumn, Place


class TextFacts:
    """Facts of hashed texts.

    Attributes
    ----------
    n_present : number of rows
    extremes : rows with the smallest and largest word counts
    """

    distinct = None

    def __init__(self) -> None:
        self.n_present, self.extremes = 0, np.zeros((0, TextColumn.width))

    def add(self, values: Array) -> None:
        """Add rows (n, 256)."""
        if len(values):
            self.n_present += len(values)
            rows = np.concatenate([self.extremes, values])
            self.extremes = extremes(rows, rows)

    def merge(self, other: TextFacts) -> None:
        """Add the rows of other facts."""
        n_present = self.n_present + other.n_present
        self.add(other.extremes)
        self.n_present = n_present


@dataclass(frozen=True)
class TextColumn(AbstractColumn):
    """Texts, if the user says so: word counts, hashed with signs into 256 numbers of norm 1; zeros if
    missing.
    """

    kind: ClassVar[str] = "text"
    noun: ClassVar[str] = "a text"
    plural: ClassVar[str] = "words"
    examples: ClassVar[tuple[str, ...]] = ("good and cheap", "bad, bad", "fine")
    width: ClassVar[int] = 256
    is_number: ClassVar[bool] = True
    recurs: ClassVar[bool] = False

    @classmethod
    def by_words(cls, of: Any) -> bool:
        return True

    @classmethod
    def parse(cls, words: Sequence[str | None], reading: Reading) -> Parsed:
        from sklearn.feature_extraction.text import HashingVectorizer

        counted = HashingVectorizer(n_features=cls.width).transform(word or "" for word in words)
        return Parsed(np.asarray(counted.toarray(), dtype=np.float64))

    @classmethod
    def read(
        cls, values: Any, reading: Reading, place: Place, refuse: Callable[[InputError, int], None]
    ) -> Array:
        words = [word_of(value, reading.na) for value in values.to_pylist()]
        reading.n_missing += sum(not word for word in words)
        return cls.parse(words, reading).values

    @classmethod
    def facts(cls) -> TextFacts:
        return TextFacts()

    @classmethod
    def fit(cls, facts: TextFacts, how: Fitting) -> Self:
        return cls(how.reading.name)

    @property
    def features(self) -> tuple[str, ...]:
        return names_of_values(self.name, self.width)

    @property
    def joint(self) -> tuple[slice, str]:
        return slice(0, self.width), f"{self.width} word counts of {self.name}"

    def encode(self, values: Array, out: Array, means: Array | None = None) -> None:
        out[:] = values


def names_of_values(name: str, width: int) -> tuple[str, ...]:
    """Return the names of the numbers that a column's values are read as."""
    return (name,) if width == 1 else tuple(f"{name} words {at + 1}" for at in range(width))
