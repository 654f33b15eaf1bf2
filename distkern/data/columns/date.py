"""Times of day, and dates with or without one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self

import numpy as np

from distkern.core.errors import InputError
from distkern.data.columns._arrow import TICKS, compute, in_numpy, pa, value_type
from distkern.data.columns._facts import NumberFacts
from distkern.data.columns._reading import Array, ColumnWords, Fitting, Parsed, Reading
from distkern.data.columns.base import AbstractMeasure, Place, spread

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


_YEAR = 365.2425 * DAY
#: name, period and offset of each wave; 1970 began on a Thursday
_WAVES = ("year", _YEAR, 0.0), ("week", 7 * DAY, 3 * DAY), ("day", DAY, 0.0)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: first day, and end, of the years 1 to 9999, the range of ISO 8601 and of Python
_DAYS = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH).days, (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH).days + 1

_ZONE = r"(?P<zone>Z| ?UTC|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?"
_ISO_TIME = rf"(?:[T ](?:(?P<only_hour>\d\d)|{CLOCK}))?{_ZONE}"
_ISO = re.compile(rf"(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_ISO_TIME}")
_LATER_TIME = rf"(?:,?[T ]+{CLOCK})?{_ZONE}"
#: day and month in either order
_EITHER = re.compile(
    rf"(?P<first>\d{{1,2}})(?P<mark>[./-])(?P<other>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d\d){_LATER_TIME}"
)
_NAMED = (
    re.compile(
        rf"(?P<day>\d{{1,2}})[ -](?P<name>[A-Za-z]{{3,9}})\.?,?[ -](?P<year>\d{{4}}|\d\d){_LATER_TIME}"
    ),
    re.compile(rf"(?P<name>[A-Za-z]{{3,9}})\.? (?P<day>\d{{1,2}}),? (?P<year>\d{{4}}){_LATER_TIME}"),
)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)

DAY_FIRST, MONTH_FIRST = "day first", "month first"


@dataclass(frozen=True)
class DateColumn(AbstractMeasure):
    """Dates: days since 1970, and sine and cosine of the time of the year, of the week and, if some training
    row has one, of the day; 0 where the date is missing.

    Attributes
    ----------
    hours : some training row has a time of day
    span : first and last date of the training rows in seconds since 1970; others are clipped, see
        :func:`within`
    zone : time zone of a typed column of the training rows, "" without one; None: they were texts
    """

    kind: ClassVar[str] = "date"
    axis: ClassVar[Any] = "date"
    noun: ClassVar[str] = "a date"
    plural: ClassVar[str] = "dates"
    examples: ClassVar[tuple[str, ...]] = ("2024-01-31", "2024-07-01 06:00", "2025-02-28")
    rank: ClassVar[int | None] = 2
    fills: ClassVar[bool] = True
    unit: ClassVar[float] = DAY
    far: ClassVar[float | None] = 0.01
    unseen: ClassVar[str] = "a date outside the range of the training rows, clipped to it"

    hours: bool = False
    zone: str | None = None

    @classmethod
    def claims(cls, words: ColumnWords) -> str | None:
        return cls.kind if words.mostly(is_date) else None

    @classmethod
    def holds(cls, of: Any) -> bool:
        of = value_type(of)
        return bool(pa.types.is_temporal(of) and not (pa.types.is_time(of) or pa.types.is_duration(of)))

    @classmethod
    def parse(cls, words: Sequence[str | None], reading: Reading) -> Parsed:
        if not reading.rule:
            order, unsure, why = settled_order(words, reading.notation.day_first)
            reading.rule = order or ""
            if unsure is not None:
                is_fixed = reading.notation.is_fixed
                # no option fixes two orders in one column
                remedy = reading.remedy("as_category" if shows_order(unsure) else "as_dates")
                hint = "write dates as 2024-12-31" if is_fixed else remedy
                return Parsed(np.full(len(words), np.nan), [words.index(unsure)], why, hint)
        return cls.parsed(words, dates_of(words, reading.rule or DAY_FIRST), reading)

    @classmethod
    def from_arrow(cls, values: Any, reading: Reading, place: Place) -> Array | None:
        of = values.type
        if not (pa.types.is_timestamp(of) or pa.types.is_date(of)):
            return None
        row = _first_beyond(values)
        if row is not None:
            raise InputError(
                "the date is not between the years 1 and 9999",
                where=place(row),
                hint="correct it, or leave it empty if it is missing",
            )
        zone = getattr(of, "tz", None) or ""
        if reading.zone is not None and bool(zone) != bool(reading.zone):
            raise _of_two_clocks(zone, reading, place(0))
        reading.zone = zone if reading.zone is None else reading.zone
        whole = values.cast(pa.timestamp("us", getattr(of, "tz", None)), safe=False).cast(pa.int64())
        seconds: Array = compute.divide(whole.cast(pa.float64(), safe=False), 1e6).to_numpy(
            zero_copy_only=False
        )
        return seconds

    @classmethod
    def signals(cls, values: Array) -> Array:
        of_waves = [waves(values, period, start) for _, period, start in _WAVES]
        return np.column_stack([values, *of_waves, np.mod(values, DAY)])

    @classmethod
    def fit(cls, facts: NumberFacts, how: Fitting) -> Self:
        # the extremes include the latest hour
        hours = bool(np.mod(facts.extremes, DAY).any())
        return replace(super().fit(facts, how), hours=hours, zone=how.reading.zone)

    @property
    def signature(self) -> Any:
        # files of texts and typed ones are encoded alike
        return replace(self, zone=None)

    @property
    def features(self) -> tuple[str, ...]:
        name = self.name
        of_waves = [f"{name} {wave} of {span}" for span, _, _ in self._waves for wave in ("sin", "cos")]
        return (f"{name} days", *of_waves, *self.flags)

    @property
    def _waves(self) -> tuple[tuple[str, float, float], ...]:
        return _WAVES[: 2 + self.hours]

    def encode(self, values: Array, out: Array, means: Array | None = None) -> None:
        missing = np.isnan(values)
        seconds = values if self.span is None else np.clip(values, *self.span)
        out[:, 0] = np.where(missing, self.fill, seconds / DAY)
        for number, (_, period, start) in enumerate(self._waves):
            seconds = values if self.span is None else within(values, *self.span, period)
            out[:, 1 + 2 * number : 3 + 2 * number] = waves(seconds, period, start)
        if self.flag:
            out[:, -1] = missing

    def grid(self, features: Array, most: int) -> Array:
        days = self.there(features)[:, 0]
        step = _MINUTE if self.hours else DAY
        return spread((days * DAY / step).round(), most) * step

    def shown(self, value: float, digits: int) -> float | str:
        moment = str(np.datetime64(round(value), "s"))
        return moment[:16].replace("T", " ") if self.hours else moment[:10]


def _of_two_clocks(zone: str, reading: Reading, where: str) -> InputError:
    """Return the error for dates with a time zone among dates without one, or the converse."""
    earlier = "in the training data" if reading.notation.is_fixed else "in earlier rows"
    if zone:
        what, hint = f"has time zone {zone} and had none {earlier}", "use .dt.tz_localize(None)"
    else:
        what = f"had time zone {reading.zone} {earlier} and has none"
        hint = f"use .dt.tz_localize({reading.zone!r})"
    return InputError(what, where=where, hint=hint)


def within(values: Array, first: float, last: float, period: float) -> Array:
    """Clip periodic values (n,) to the phases between ``first`` and ``last``; NaN stays NaN.

    A value with (v - first) mod period > last - first becomes ``first`` or ``last``, whichever is nearer on
    the circle of the period. All arguments have the same unit.

    Kernels are 0 in seasons without training rows, and linear machines extrapolate there.

    >>> within(np.array([1.0, 3.0, 5.0, 9.0, 12.0, 23.0]), 2.0, 4.0, 10.0)
    array([ 2.,  3.,  4.,  2., 12., 23.])
    """
    unseen = period - (last - first)
    if unseen <= 0.0:
        return values
    beyond = np.mod(values - first, period) - (last - first)
    return np.where(beyond > 0.0, np.where(beyond < 0.5 * unseen, last, first), values)


def order_of_dates(words: Sequence[str]) -> tuple[set[str], str | None]:
    """Return the orders of day and month that words show, and the first ambiguous word."""
    orders: set[str] = set()
    unsure: str | None = None
    for word in words:
        found = _EITHER.fullmatch(word)
        if found is None or found["mark"] == ".":
            continue
        if int(found["first"]) > 12:
            orders.add(DAY_FIRST)
        elif int(found["other"]) > 12:
            orders.add(MONTH_FIRST)
        elif unsure is None and found["first"] != found["other"]:
            unsure = word
    return orders, unsure


def settled_order(words: Sequence[str | None], day_first: bool | None) -> tuple[str | None, str | None, str]:
    """Return the order of day and month, from unambiguous dates or else from the user; None if it does not
    matter. If it cannot be settled, also return an ambiguous word and the reason.
    """
    orders, unsure = order_of_dates([word for word in words if word is not None])
    if len(orders) > 1:
        odd = next(word for word in words if word and shows_order(word))
        return None, odd, "in {} and others of the column the day is first, in some the month"
    if orders:
        return next(iter(orders)), None, ""
    if unsure is not None and day_first is None:
        return None, unsure, "no date in the first rows shows whether {} begins with the day or the month"
    return None if unsure is None else DAY_FIRST if day_first else MONTH_FIRST, None, ""


def shows_order(word: str) -> bool:
    """Whether a word itself shows that the day or the month is first."""
    return bool(order_of_dates([word])[0])


def is_date(word: str) -> bool:
    """Whether a word is a date, with the day or the month first."""
    return not all(np.isnan(_date_of(word, order)) for order in (DAY_FIRST, MONTH_FIRST))


def dates_of(words: Sequence[str | None], order: str = DAY_FIRST) -> Array:
    """Return dates as seconds since 1970 (n,): in ISO 8601, with names of months, or with day and month in
    this ``order`` (day first between points); NaN for other words.
    """
    seconds = np.full(len(words), np.nan)
    try:
        moments = pa.array(words, pa.string()).cast(pa.timestamp("us")).cast(pa.int64())
        there = moments.is_valid().to_numpy(zero_copy_only=False)
        seconds[there] = moments.drop_null().to_numpy() / 1e6
        # Arrow has a year 0
        seconds[seconds < 86_400.0 * _DAYS[0]] = np.nan
    except pa.ArrowInvalid:
        for position, word in enumerate(words):
            seconds[position] = np.nan if word is None else _date_of(word, order)
    return seconds


def _date_of(word: str, order: str) -> float:
    found = next((match for pattern in (_ISO, _EITHER, *_NAMED) if (match := pattern.fullmatch(word))), None)
    if found is None:
        return np.nan
    parts: dict[str, Any] = found.groupdict()
    hour = hour_of(found)
    if "first" in parts:
        in_order = [int(parts["first"]), int(parts["other"])]
        day, month = in_order if parts["mark"] == "." or order == DAY_FIRST else in_order[::-1]
    elif "name" in parts:
        day, month = int(parts["day"]), _month(parts["name"])
    else:
        day, month = int(parts["day"]), int(parts["month"])
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        # as in POSIX
        year += 1900 if year >= 69 else 2000
    try:
        if hour is None:
            return np.nan
        moment = datetime(year, month, day, hour, int(parts["minute"] or 0), tzinfo=UTC)
    except ValueError:
        return np.nan
    away, zone = 0, parts["zone"] or ""
    if zone[:1] in ("+", "-"):
        if len(zone) == 3 and parts["minute"] is None:
            # 2024-01-01-05 is not a date
            return np.nan
        minutes = int(zone[-2:]) if len(zone) > 3 else 0
        away = (3600 * int(zone[1:3]) + 60 * minutes) * (-1 if zone[0] == "-" else 1)
    return (moment - _EPOCH) // timedelta(seconds=1) - away + float(parts["second"] or 0)


def _month(name: str) -> int:
    """Return the month, 1 to 12, of a name or its first letters, else 0."""
    return next((at for at, month in enumerate(_MONTHS, start=1) if month.startswith(name.lower())), 0)


def _first_beyond(values: Any) -> int | None:
    """Return the first date or timestamp of an Arrow array outside the years 1 to 9999."""
    of = values.type
    if pa.types.is_date32(of):
        days = values.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False)
    else:
        ticks = 86_400 * TICKS["ms" if pa.types.is_date64(of) else of.unit]
        days = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) // ticks
    beyond = np.flatnonzero((days < _DAYS[0]) | (days >= _DAYS[1]))
    return int(beyond[0]) if beyond.size else None
