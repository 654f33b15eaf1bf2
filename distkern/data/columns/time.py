"""Times of day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distkern.data.columns._arrow import TICKS, in_numpy, pa, value_type
from distkern.data.columns._measures import AbstractMeasure
from distkern.data.columns._reading import Array, ColumnWords, Parsed, Reading
from distkern.data.columns.base import Place, spread

DAY, _MINUTE = 86_400.0, 60.0
CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>[0-5]\d(?:\.\d{1,9})?))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_TIME = re.compile(CLOCK)


@dataclass(frozen=True)
class TimeColumn(AbstractMeasure):
    """Times of day, in seconds, encoded as sine and cosine; both are 0 if the time is missing."""

    kind: ClassVar[str] = "time"
    axis: ClassVar[Any] = "time"
    noun: ClassVar[str] = "a time of day"
    plural: ClassVar[str] = "times of day"
    examples: ClassVar[tuple[str, ...]] = ("06:30", "18:00", "11:15 PM")
    rank: ClassVar[int | None] = 3

    @classmethod
    def claims(cls, words: ColumnWords) -> str | None:
        return cls.kind if words.mostly(lambda word: not np.isnan(_time_of(word))) else None

    @classmethod
    def holds(cls, of: Any) -> bool:
        return bool(pa.types.is_time(value_type(of)))

    @classmethod
    def parse(cls, words: Sequence[str | None], reading: Reading) -> Parsed:
        return cls.parsed(words, times_of(words), reading)

    @classmethod
    def from_arrow(cls, values: Any, reading: Reading, place: Place) -> Array | None:
        of = values.type
        if not pa.types.is_time(of):
            return None
        ticks = values.cast(pa.int32() if pa.types.is_time32(of) else pa.int64()).cast(pa.float64())
        return in_numpy(ticks) / TICKS[of.unit]

    @property
    def features(self) -> tuple[str, ...]:
        return (f"{self.name} sin of day", f"{self.name} cos of day", *self.flags)

    @classmethod
    def signals(cls, values: Array) -> Array:
        return waves(values, DAY)

    @property
    def filled(self) -> str:
        return "no time of day"

    def encode(self, values: Array, out: Array, means: Array | None = None) -> None:
        out[:, :2] = self.signals(values)
        if self.flag:
            out[:, 2] = np.isnan(values)

    def grid(self, features: Array, most: int) -> Array:
        # missing values are at the centre of the circle
        there = np.hypot(features[:, 0], features[:, 1]) > 0.5
        days = np.arctan2(features[there, 0], features[there, 1]) / (2 * np.pi) % 1.0
        return spread((days * DAY / _MINUTE).round(), most) * _MINUTE

    def shown(self, value: float, digits: int) -> float | str:
        return str(np.datetime64(round(value), "s"))[11:16]


def waves(values: Array, period: float, start: float = 0.0) -> Array:
    """Return sine and cosine (n, 2) of the phase of values (n,) + start in a period; zeros for NaN."""
    missing = np.isnan(values)
    angle = 2 * np.pi * np.where(missing, 0.0, np.mod((values + start) / period, 1.0))
    return np.where(missing, 0.0, [np.sin(angle), np.cos(angle)]).T


def times_of(words: Sequence[str | None]) -> Array:
    """Return seconds of the day (n,) of times of day; NaN for other words."""
    return np.array([np.nan if word is None else _time_of(word) for word in words], dtype=np.float64)


def _time_of(word: str) -> float:
    found = _TIME.fullmatch(word)
    hour = None if found is None else hour_of(found)
    if found is None or hour is None or int(found["minute"]) > 59:
        return np.nan
    return 3600.0 * hour + 60.0 * int(found["minute"]) + float(found["second"] or 0)


def hour_of(found: re.Match[str]) -> int | None:
    """Return the hour of a time from 0 to 23, or None."""
    hour = int(found["hour"] or found.groupdict().get("only_hour") or 0)
    if found["half"] is None:
        return hour if hour <= 23 else None
    return hour % 12 + 12 * (found["half"] in "pP") if 1 <= hour <= 12 else None
