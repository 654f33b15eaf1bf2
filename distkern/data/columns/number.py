"""Numbers as people write them: with units, thousands separators and local decimal marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from distkern.data.columns._arrow import TICKS, any_matches, are_numbers, compute, in_numpy, is_plain, pa
from distkern.data.columns._facts import NumberFacts
from distkern.data.columns._reading import (
    Array,
    ColumnWords,
    Parsed,
    Reading,
    most_common,
    parse_number,
    recurring,
)
from distkern.data.columns._target_means import AbstractMeansColumn
from distkern.data.columns.base import AbstractMeasure, Place, spread

_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY|INR|CAD|AUD"
#: thousands separators by decimal mark
_SPACES = (" ", "\u00a0", "\u202f", "'", "\u2019")
_THOUSANDS = {".": (",", *_SPACES), ",": (r"\.", *_SPACES)}
#: optional space between a number and its unit; typesetters use a no-break space
_GAP = "[ \u00a0\u202f]?"
_MINUS = "\u2212"
#: words up to which each is parsed by itself
_FEW = 8
_NO_DIGIT = re.compile(r"[^0-9]")

#: an integer with a leading zero
_LEADING_ZERO = r"^0\d+$"
_CODE_NAME = re.compile(
    r"zip|post(al)?[ _-]?code|postal|\bplz\b|phone|(^|[ _-])(code|sku|account|branch)", re.I
)
_ID_NAME = re.compile(
    r"(^|[ _-])(id|key|uuid|guid|index)$|ID$|^(id|row)[ _-]?(no|number|nr)?$|[ _-](no|nr)\.?$"
)


@dataclass(frozen=True)
class NumberColumn(AbstractMeasure, AbstractMeansColumn):
    """Numbers as they are; if single values matter, as in codes, also their target means and signs.

    Attributes
    ----------
    values : sorted numbers of the training rows, if they have target means
    signs : whether they also have signs
    """

    kind: ClassVar[str] = "number"
    noun: ClassVar[str] = "a number"
    plural: ClassVar[str] = "numbers"
    examples: ClassVar[tuple[str, ...]] = ("1", "-2.5", "3e2", "4")
    rank: ClassVar[int | None] = 0
    is_number: ClassVar[bool] = True
    is_plain: ClassVar[bool] = True
    fills: ClassVar[bool] = True
    far: ClassVar[float | None] = 1.0

    values: tuple[float, ...] = ()
    signs: bool = False

    @classmethod
    def claims(cls, words: ColumnWords) -> str | None:
        reading, notation = words.reading, words.reading.notation
        is_plain = notation.decimal != "," and are_numbers(words.values)
        if not (is_plain or words.distinct):
            return None
        if not is_plain:
            numbers, units = numbers_of(words.distinct, notation.decimal or ".")
            fine = parsed(words.distinct, numbers)
            if not (reading.is_target or 2 * sum(fine) >= len(fine)):
                return None
            if not reading.is_target and (several := recurring(words.values, words.distinct, fine)):
                shown = ", ".join(map(repr, several[:3]))
                notation.notes.append(
                    f"column {reading.name!r} holds numbers and words ({shown}), and becomes categories"
                )
                return "category"
            unit = most_common(unit for unit, is_fine in zip(units, fine, strict=True) if is_fine and unit)
            reading.rule = unit or reading.rule
            if unit == "%" and reading.is_target:
                notation.notes.append(
                    f"the target {reading.name!r} is in percent, converted to shares: 5% becomes 0.05"
                )
        reading.with_zeros = reading.with_zeros or any_matches(words.values, _LEADING_ZERO)
        return cls.kind

    @classmethod
    def holds(cls, of: Any) -> bool:
        # values of other types are refused when they are read
        return not pa.types.is_null(of)

    @classmethod
    def from_arrow(cls, values: Any, reading: Reading, place: Place) -> Array | None:
        of = values.type
        if pa.types.is_duration(of):
            numbers = in_numpy(values.cast(pa.int64()).cast(pa.float64(), safe=False)) / TICKS[of.unit]
        elif is_plain(of) and not pa.types.is_temporal(of):
            if pa.types.is_boolean(of):
                values = values.cast(pa.int8())
            numbers = in_numpy(values if pa.types.is_float64(of) else values.cast(pa.float64(), safe=False))
        else:
            return None
        return _without_na(numbers, reading)

    @classmethod
    def parse(cls, words: Sequence[str | None], reading: Reading) -> Parsed:
        # single values may lack the currency, which may first appear late
        values, units = numbers_of(words, reading.notation.decimal or ".")
        fine = parsed(words, values)
        if not (reading.rule or reading.notation.is_fixed):
            currencies = {unit for unit, is_fine in zip(units, fine, strict=True) if is_fine} - {"", "%"}
            reading.rule = min(currencies, default="")
        rule, what = reading.rule, cls.noun
        if all(fine):
            what = f"in {rule or 'plain numbers'}"
        # 0 and NaN have no unit
        is_free = (values == 0) | np.isnan(values)
        wrong = [
            at
            for at, (is_fine, unit, free) in enumerate(zip(fine, units, is_free, strict=True))
            if not (is_fine and (unit == rule or free or (unit == "" and rule != "%")))
        ]
        values = _without_na(values / 100.0 if rule == "%" else values, reading)
        return Parsed(values, wrong, f"{{}} is not {what}{reading.others}")

    @classmethod
    def _hint(cls, word: str | None, reading: Reading, *, is_odd: bool) -> str:
        hint = super()._hint(word, reading, is_odd=is_odd)
        (value,), (unit,) = numbers_of([word], reading.notation.decimal or ".")
        if word is None or reading.is_target or np.isnan(value) or {unit, reading.rule} != {"", "%"}:
            return hint
        if unit:
            return f"write it without %, in the unit of the other values ({value / 100.0:g} or {value:g})"
        shares = "" if is_odd else reading.remedy("as_shares")
        return f"write {100.0 * value:g}% for a share, {word}% for a percentage{shares}"

    def remark(self, facts: NumberFacts, reading: Reading) -> str:
        like = looks_like(facts, self.name, with_zeros=reading.with_zeros)
        if like == "id":
            return f"has another number in each row, as ids have; {reading.remedy('leave_out')}"
        # target means say more about codes than their size
        if like == "code" and not self.values:
            zeros = "some begin with 0" if reading.with_zeros else "by their name"
            return f"has numbers that look like codes ({zeros}); {reading.remedy('as_category')}"
        return ""

    @property
    def n_levels(self) -> int:
        return len(self.values)

    @property
    def has_means(self) -> bool:
        return bool(self.values)

    @property
    def has_signs(self) -> bool:
        return self.signs

    @property
    def at_means(self) -> slice:
        return slice(1, 1 + len(self.default))

    @property
    def is_identity(self) -> bool:
        return not (self.flag or self.values)

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name, *self.names_of_means, *self.names_of_signs, *self.flags)

    def encode(self, values: Array, out: Array, means: Array | None = None) -> None:
        missing = np.isnan(values)
        out[:, 0] = np.where(missing, self.fill, values)
        if self.signs:
            # new ids are often larger, and kernels would see such rows as unlike any other
            out[:, 0] = np.clip(out[:, 0], self.values[0], self.values[-1])
        if self.values:
            codes = self.codes(values)
            self.put_means(codes, out[:, self.at_means], means)
            self.put_signs(codes, out)
        if self.flag:
            out[:, -1] = missing

    @property
    def bytes_of_values(self) -> Iterable[bytes]:
        return (np.float64(value).astype("<f8").tobytes() for value in self.values)

    def codes(self, values: Array) -> NDArray[np.intp]:
        if not self.values:
            return np.full(len(values), -1)
        known = self._known_values
        codes = np.minimum(np.searchsorted(known, values), len(known) - 1)
        return self.with_missing(np.where(known[codes] == values, codes, -1), values)

    @cached_property
    def _known_values(self) -> Array:
        return np.asarray(self.values)

    @property
    def described(self) -> str:
        return {"": self.plural, "%": "percent, as shares"}.get(self.rule, f"money ({self.rule})")

    @property
    def axis(self) -> Any:
        # a line would join values that have nothing to do with each other
        return "category" if self.signs else "number"

    def shown(self, value: float, digits: int) -> float | str:
        return int(value) if self.signs else super().shown(value, digits)

    @property
    def unseen(self) -> str:
        if self.signs:
            return "a number not in the training rows, treated as unknown"
        if self.span is not None and self.span[0] == self.span[1]:
            return "another number than the only one of the training rows"
        return "a number far outside the range of the training rows"

    def grid(self, features: Array, most: int) -> Array:
        found = self.there(features)[:, 0]
        if self.values:
            # stored numbers are rounded, so look up the nearest value with a mean
            known = self._known_values
            found = known[np.abs(found[:, None] - known).argmin(axis=1)]
        return spread(found, most)


def looks_like(facts: NumberFacts, name: str, *, with_zeros: bool) -> Literal["code", "id", "amount"]:
    """Return what a column's numbers resemble."""
    count, n_rows = facts.distinct or 0, facts.n_present
    if not facts.are_whole or count < 3:
        return "amount"
    span = facts.high - facts.low + 1
    # test rows may have the other numbers; n numbers drawn from a span of 2 n would repeat
    if n_rows > 100 and count > 0.9 * n_rows and (_ID_NAME.search(name) or span < 2 * n_rows):
        return "id"
    is_named = _CODE_NAME.search(name) and facts.low >= 0 and 2 * count < n_rows
    return "code" if with_zeros or is_named else "amount"


def _without_na(numbers: Array, reading: Reading) -> Array:
    """Return the numbers, NaN for those that stand for a missing value."""
    wanted = () if reading.keeps_na else reading.notation.numbers_of_na
    found = np.asarray(numbers, dtype=np.float64)
    return np.where(np.isin(found, wanted), np.nan, found) if wanted else found


def _pattern(decimal: str) -> str:
    """Return the regular expression (RE2) of a number with its unit, in parentheses if negative."""
    groups = "|".join(rf"(?:{mark}\d{{3}})+" for mark in _THOUSANDS[decimal])
    # a number with thousands does not begin with 0: in 0,512 the comma is the decimal mark
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
    """Parse one word as :func:`_many_numbers_of` does, without Arrow's overhead per call."""
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
    # Arrow parses "5." and ".5" but not "5.e3"
    plain = compute.if_else(fine, compute.replace_substring(plain, ".e", ".0e"), None)
    values = compute.cast(plain, pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False).copy()
    signs = compute.binary_join_element_wise(part["open"], part["sign"], part["minus"], "")
    negative = compute.match_substring_regex(signs, rf"[(\-{_MINUS}]").fill_null(False)
    values[negative.to_numpy(zero_copy_only=False)] *= -1.0
    places = [part[name] for name in ("outer", "before", "after", "last")]
    return values, compute.binary_join_element_wise(*places, "").fill_null("").to_pylist()


def decimal_of(words: Sequence[str]) -> tuple[str | None, bool]:
    """Return the decimal mark that most unambiguous words have (None if neither), and whether others are
    then ambiguous.
    """
    ours, theirs = (numbers_of(words, decimal)[0] for decimal in (".", ","))
    point, comma = ~np.isnan(ours) & np.isnan(theirs), np.isnan(ours) & ~np.isnan(theirs)
    n_point, n_comma = np.count_nonzero(point), np.count_nonzero(comma)
    if n_point != n_comma:
        return "." if n_point > n_comma else ",", False
    differ = ~np.isnan(ours) & ~np.isnan(theirs) & (ours != theirs)
    return None, bool(differ.any())


def parsed(words: Sequence[str | None], values: NDArray[np.float64]) -> list[bool]:
    """Return which words are numbers; NaN and infinities among them get their values here."""
    fine = []
    for position, word in enumerate(words):
        number = None
        if word is not None and np.isnan(values[position]):
            number = parse_number(word)
            values[position] = np.nan if number is None else number
        fine.append(word is None or number is not None or not np.isnan(values[position]))
    return fine
