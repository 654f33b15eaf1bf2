"""Columns of numbers on a scale, whose missing values are filled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from distkern.data.columns._reading import Array, Fitting
from distkern.data.columns.base import AbstractColumn


@dataclass(frozen=True)
class AbstractMeasure(AbstractColumn):
    """Numbers on a scale.

    Attributes
    ----------
    fill : replacement for a missing number, in ``unit``
    flag : a last feature is 1 where the value is missing, else 0
    span : smallest and largest number of the training rows
    """

    #: unit of the first feature
    unit: ClassVar[float] = 1.0
    #: share of the span by which numbers may lie outside it without a note; None: no span is kept
    far: ClassVar[float | None] = None

    fill: float = 0.0
    flag: bool = False
    span: tuple[float, float] | None = None

    @classmethod
    def fit(cls, facts: Any, how: Fitting) -> Self:
        missing = facts.n_present < how.n_rows
        return cls(
            how.reading.name,
            how.reading.rule,
            has_missing=missing,
            fill=facts.mean / cls.unit,
            flag=missing and how.flags,
            span=None if cls.far is None else (facts.low, facts.high),
        )

    def refilled(self, value: float) -> Self:
        return replace(self, fill=value / self.unit)

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the features that mark missing values."""
        return (f"{self.name} is missing",) if self.flag else ()

    @property
    def filled(self) -> str:
        value = self.shown(self.fill * self.unit, 4)
        return f"filled with {value if isinstance(value, str) else format(value, 'g')}"

    def there(self, features: Array) -> Array:
        """Return the features of rows with a value, as far as the features show it."""
        return features[features[:, -1] < 0.5] if self.flag else features

    @property
    def known(self) -> tuple[float, float]:
        if self.span is None or self.far is None:
            return -np.inf, np.inf
        (low, high), far = self.span, self.far
        return low - far * (high - low), high + far * (high - low)
