"""Numbers, dates and times of day in the notations that people use in tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.formats._lines import parse_number

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: the years 1 to 9999, which are those that ISO 8601 and Python write; from the first day, before the last
DAYS = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH).days, (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH).days + 1

_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY|INR|CAD|AUD"
#: what stands between thousands, by what stands before decimals
_SPACES = (" ", "\u00a0", "\u202f", "'", "\u2019")
_THOUSANDS = {".": (",", *_SPACES), ",": (r"\.", *_SPACES)}
#: between a number and what it is of, which typesetters put apart by a space that does not break
_GAP = "[ \u00a0\u202f]?"
_MINUS = "\u2212"

_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>[0-5]\d(?:\.\d{1,9})?))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_ZONE = r"(?P<zone>Z| ?UTC|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?"
_TIME = re.compile(_CLOCK)
_ISO_TIME = rf"(?:[T ](?:(?P<only_hour>\d\d)|{_CLOCK}))?{_ZONE}"
_ISO = re.compile(rf"(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_ISO_TIME}")
_LATER_TIME = rf"(?:,?[T ]+{_CLOCK})?{_ZONE}"
#: the day and the month in either order
_EITHER = re.compile(
    rf"(?P<first>\d{{1,2}})(?P<mark>[./-])(?P<other>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d\d){_LATER_TIME}"
)
#: words that are parsed one by one
_FEW = 8
_NO_DIGIT = re.compile(r"[^0-9]")
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


def _pattern(decimal: str) -> str:
    """The regular expression (RE2) of a number with its unit, in parentheses if negative."""
    groups = "|".join(rf"(?:{mark}\d{{3}})+" for mark in _THOUSANDS[decimal])
    # what stands before thousands begins with no 0: in 0,512 the comma is before decimals
    whole = rf"(?P<whole>[1-9]\d{{0,2}}(?:{groups})|\d*)"
    return (
        rf"^(?P<outer>(?:{_CURRENCY})?){_GAP}(?P<open>\(?)(?P<sign>[-+{_MINUS}]?)(?P<before>(?:{_CURRENCY})?)"
        rf"{_GAP}(?P<minus>[-+{_MINUS}]?){whole}"
        rf"(?:\{decimal}(?P<fraction>\d*))?(?P<exponent>(?:[eE][-+]?\d+)?){_GAP}(?P<after>(?:{_CURRENCY}|%)?)"
        rf"(?P<close>\)?){_GAP}(?P<last>(?:{_CURRENCY}|%)?)$"
    )


def numbers_of(words: Sequence[str | None], decimal: str = ".") -> tuple[NDArray[np.float64], list[str]]:
    """Parse words into numbers (n,), NaN where one is not a number, and their units: "%", a currency or "".

    ``decimal`` is the decimal mark, "." or ","; thousands may be separated. Numbers in parentheses are
    negative.
    """
    if len(words) <= _FEW:
        found = [_number_of(word, decimal) for word in words]
        return np.array([value for value, _ in found], np.float64), [unit for _, unit in found]
    return _many_numbers_of(words, decimal)


def _number_of(word: str | None, decimal: str) -> tuple[float, str]:
    """One word as :func:`_many_numbers_of` parses it; a single row is served without Arrow's overhead."""
    match = None if word is None else _compiled_pattern(decimal).match(word)
    if match is None:
        return np.nan, ""
    part = {name: text or "" for name, text in match.groupdict().items()}
    unit = part["outer"] + part["before"] + part["after"] + part["last"]
    whole, fraction = _NO_DIGIT.sub("", part["whole"]), part["fraction"]
    if (
        (part["open"] == "(") != (part["close"] == ")")
        or not (whole or fraction)
        or (part["sign"] and part["minus"])
    ):
        return np.nan, unit
    value = float(f"{whole}.{fraction}{part['exponent']}")
    is_negative = any(mark in part["open"] + part["sign"] + part["minus"] for mark in f"(-{_MINUS}")
    return -value if is_negative else value, unit


@cache
def _compiled_pattern(decimal: str) -> re.Pattern[str]:
    return re.compile(_pattern(decimal).removesuffix("$") + r"\Z", re.ASCII)


def _many_numbers_of(words: Sequence[str | None], decimal: str) -> tuple[NDArray[np.float64], list[str]]:
    import pyarrow as pa
    from pyarrow import compute

    texts = pa.array(words, pa.string())
    found = compute.extract_regex(texts, pattern=_pattern(decimal))
    part = {name: found.field(name) for name in (field.name for field in found.type)}
    whole = compute.replace_substring_regex(part["whole"], r"\D", "")
    plain = compute.binary_join_element_wise(whole, ".", part["fraction"], part["exponent"], "")
    fine = found.is_valid()
    for wrong in (
        compute.not_equal(compute.equal(part["open"], "("), compute.equal(part["close"], ")")),
        compute.equal(
            compute.binary_length(compute.binary_join_element_wise(whole, part["fraction"], "")), 0
        ),
        compute.and_(compute.not_equal(part["sign"], ""), compute.not_equal(part["minus"], "")),
    ):
        fine = compute.and_(fine, compute.invert(wrong.fill_null(False)))
    # "5." and ".5" are numbers to Arrow, "5.e3" is none
    plain = compute.if_else(fine, compute.replace_substring(plain, ".e", ".0e"), None)
    values = compute.cast(plain, pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False).copy()
    signs = compute.binary_join_element_wise(part["open"], part["sign"], part["minus"], "")
    negative = compute.match_substring_regex(signs, rf"[(\-{_MINUS}]").fill_null(False)
    values[negative.to_numpy(zero_copy_only=False)] *= -1.0
    places = [part[name] for name in ("outer", "before", "after", "last")]
    return values, compute.binary_join_element_wise(*places, "").fill_null("").to_pylist()


def decimal_of(words: Sequence[str]) -> tuple[str | None, bool]:
    """The decimal mark of words, from those that are readable in one way only (None: none decides); and
    whether others are then ambiguous.
    """
    ours, theirs = (numbers_of(words, decimal)[0] for decimal in (".", ","))
    point, comma = ~np.isnan(ours) & np.isnan(theirs), np.isnan(ours) & ~np.isnan(theirs)
    n_point, n_comma = np.count_nonzero(point), np.count_nonzero(comma)
    if n_point != n_comma:
        return "." if n_point > n_comma else ",", False
    differ = ~np.isnan(ours) & ~np.isnan(theirs) & (ours != theirs)
    return None, bool(differ.any())


def order_of_dates(words: Sequence[str]) -> tuple[set[str], str | None]:
    """The orders of day and month that words show, and the first ambiguous word."""
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
    """The order of day and month, from unambiguous dates or else from the user; None if it does not matter.
    Otherwise an ambiguous word, and why it is.
    """
    orders, unsure = order_of_dates([word for word in words if word is not None])
    if len(orders) > 1:
        odd = next(word for word in words if word and tells_order(word))
        return None, odd, "in {} and others of the column the day is first, in some the month"
    if orders:
        return next(iter(orders)), None, ""
    if unsure is not None and day_first is None:
        why = "whether the day or the month is first in {} is told by no other date of the first rows"
        return None, unsure, why
    return None if unsure is None else DAY_FIRST if day_first else MONTH_FIRST, None, ""


def tells_order(word: str) -> bool:
    """Whether a word itself shows that the day or the month is first."""
    return bool(order_of_dates([word])[0])


def is_date(word: str) -> bool:
    """Whether a word is a date, with the day or the month first."""
    return not all(np.isnan(_date_of(word, order)) for order in (DAY_FIRST, MONTH_FIRST))


def is_time(word: str) -> bool:
    """Whether a word is a time of day."""
    return not np.isnan(_time_of(word))


def dates_of(words: Sequence[str | None], order: str = DAY_FIRST) -> NDArray[np.float64]:
    """Seconds since 1970 (n,) of dates: in ISO 8601, with names of months, or with day and month in this
    ``order`` (day first between points); NaN for other words.
    """
    import pyarrow as pa

    seconds = np.full(len(words), np.nan)
    try:
        moments = pa.array(words, pa.string()).cast(pa.timestamp("us")).cast(pa.int64())
        there = moments.is_valid().to_numpy(zero_copy_only=False)
        seconds[there] = moments.drop_null().to_numpy() / 1e6
        # Arrow has a year 0
        seconds[seconds < 86_400.0 * DAYS[0]] = np.nan
    except pa.ArrowInvalid:
        for position, word in enumerate(words):
            seconds[position] = np.nan if word is None else _date_of(word, order)
    return seconds


def times_of(words: Sequence[str | None]) -> NDArray[np.float64]:
    """Seconds of the day (n,) of times of day; NaN for other words."""
    return np.array([np.nan if word is None else _time_of(word) for word in words], dtype=np.float64)


def _time_of(word: str) -> float:
    found = _TIME.fullmatch(word)
    hour = None if found is None else _hour(found)
    if found is None or hour is None or int(found["minute"]) > 59:
        return np.nan
    return 3600.0 * hour + 60.0 * int(found["minute"]) + float(found["second"] or 0)


def _hour(found: re.Match[str]) -> int | None:
    """The hour of a time from 0 to 23, or None."""
    hour = int(found["hour"] or found.groupdict().get("only_hour") or 0)
    if found["half"] is None:
        return hour if hour <= 23 else None
    return hour % 12 + 12 * (found["half"] in "pP") if 1 <= hour <= 12 else None


def _date_of(word: str, order: str) -> float:
    found = next((match for pattern in (_ISO, _EITHER, *_NAMED) if (match := pattern.fullmatch(word))), None)
    if found is None:
        return np.nan
    parts: dict[str, Any] = found.groupdict()
    hour = _hour(found)
    if "first" in parts:
        in_order = [int(parts["first"]), int(parts["other"])]
        day, month = in_order if parts["mark"] == "." or order == DAY_FIRST else in_order[::-1]
    elif "name" in parts:
        day, month = int(parts["day"]), _month(parts["name"])
    else:
        day, month = int(parts["day"]), int(parts["month"])
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        # as POSIX takes them
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
            # 2024-01-01-05 is none
            return np.nan
        minutes = int(zone[-2:]) if len(zone) > 3 else 0
        away = (3600 * int(zone[1:3]) + 60 * minutes) * (-1 if zone[0] == "-" else 1)
    return (moment - _EPOCH) // timedelta(seconds=1) - away + float(parts["second"] or 0)


def _month(name: str) -> int:
    """The month, 1 to 12, of a name or its first letters, else 0."""
    return next((at for at, month in enumerate(_MONTHS, start=1) if month.startswith(name.lower())), 0)


def parsed(words: Sequence[str | None], values: NDArray[np.float64]) -> list[bool]:
    """Which words are numbers; NaN and infinities among them get their values here."""
    fine = []
    for position, word in enumerate(words):
        number = None
        if word is not None and np.isnan(values[position]):
            number = parse_number(word)
            values[position] = np.nan if number is None else number
        fine.append(word is None or number is not None or not np.isnan(values[position]))
    return fine
