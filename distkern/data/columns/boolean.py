"""Yes and no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distkern.data.columns._arrow import pa
from distkern.data.columns._facts import NumberFacts
from distkern.data.columns._reading import Array, ColumnWords, Parsed, Reading
from distkern.data.columns.number import NumberColumn

_PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"))
_BOOLEANS = {word: float(word == pair[0]) for pair in _PAIRS for word in pair}


@dataclass(frozen=True)
class BooleanColumn(NumberColumn):
    """Yes and no, as 1 and 0."""

    kind: ClassVar[str] = "boolean"
    noun: ClassVar[str] = "yes or no"
    plural: ClassVar[str] = "yes or no"
    examples: ClassVar[tuple[str, ...]] = ("yes", "no")
    axis: ClassVar[Any] = "category"
    rank: ClassVar[int | None] = 1
    is_plain: ClassVar[bool] = False
    far: ClassVar[float | None] = None

    @classmethod
    def claims(cls, words: ColumnWords) -> str | None:
        # with one word of a pair only, other words may still follow
        lower = {word.lower() for word in words.distinct}
        pairs = all(lower.isdisjoint(pair) or lower.issuperset(pair) for pair in _PAIRS)
        return cls.kind if lower and lower <= _BOOLEANS.keys() and pairs else None

    @classmethod
    def holds(cls, of: Any) -> bool:
        return bool(pa.types.is_boolean(of))

    @classmethod
    def parse(cls, words: Sequence[str | None], reading: Reading) -> Parsed:
        values = np.array([_BOOLEANS.get((word or "").lower(), np.nan) for word in words])
        return cls.parsed(words, values, reading)

    def grid(self, features: Array, most: int) -> Array:
        return np.array([0.0, 1.0, np.nan] if self.has_missing else [0.0, 1.0])

    def shown(self, value: float, digits: int) -> float | str:
        return "missing" if np.isnan(value) else ("no", "yes")[int(value)]

    def remark(self, facts: NumberFacts, reading: Reading) -> str:
        return ""

    @property
    def encoding(self) -> str:
        return NumberColumn.kind
