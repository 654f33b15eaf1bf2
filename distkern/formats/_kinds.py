"""Kinds of the columns of a table, decided on the first rows, and the numbers of their values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.formats import _texts
from distkern.formats._arrow import (
    TICKS,
    any_matches,
    are_numbers,
    distinct_values,
    first_beyond,
    in_numpy,
    is_plain,
    is_text,
)
from distkern.formats._lines import parse_number
from distkern.formats._words import (
    BOOLEANS,
    KINDS_IN_WORDS,
    MISSING,
    MISSING_LABELS,
    Refusals,
    are_booleans,
    hashed,
    most_common,
    names_of_values,
    recurring,
    width_of,
    word_of,
)

Kind: TypeAlias = Literal["number", "boolean", "date", "time", "category", "text"]

LABELS_OR_NUMBERS = (
    "a regression target is a number; give --task classification for labels, or --target COLUMN"
)
#: distinct values that a column of categories may have: they are held in memory
MAX_LEVELS = 100_000

#: of a text that is an integer
_FRACTION = re.compile(r"(?<=\d)\.0*$")
_LEADING_ZERO = r"^0\d+$"


class TableKinds(Refusals):
    """Kinds of the columns of some tables: numbers, booleans, dates, times, categories or texts.

    A column's kind is decided on its first rows and stays: a later value of another kind is refused by its
    place. Categories have codes in order of first appearance; categories of a model have their positions
    there, and all others -1. Integer categories are written as integers, 1.0 as 1; so are texts in a numeric
    column that the user declares categorical.

    Parameters
    ----------
    kinds : known kinds of columns
    levels : categories of columns by position, from a model
    order : column names of the first table, if it was read before
    is_named : these names come from the table; otherwise columns have this order in all tables
    na : texts for a missing value, also of the target, in addition to :data:`MISSING` (labels:
        :data:`MISSING_LABELS`), or instead of them if the empty text is included
    keep_na : columns in which these texts, except the empty one, are ordinary values
    rules : notation of numbers and dates, by column name, see below
    decimal : decimal mark of files that do not show it
    day_first : whether 3/4/2024 is in April, in columns that do not show it
    unused : columns without features, whose values do not matter
    fixed : no new categories
    refuses_missing : refuse missing values, except of categories

    Attributes
    ----------
    kinds : by column name
    levels : code of each category, by column name
    rules : unit of a column's numbers ("%", a currency), or the order of day and month in its dates
    decimal : decimal mark of the current file
    usual_decimal : decimal mark of the first file that shows one
    names_of : name of a column by the position that the user gave
    target : name of a numeric target column
    overflowing : columns with too many categories, which are left out
    with_zeros : numeric columns with insignificant leading zeros
    told : notes for the user, a sentence each
    missing : number of missing values, by column name
    order : column names of the first table
    as_category, as_columns, leave_out, as_dates, as_missing : options for the user: to declare a column
        ``{}`` categorical, to encode it by one feature per category, to leave it out, to give the notation
        of its dates, to declare a text as missing
    """

    as_category = "give --categorical {}=onehot (or target, or drop)"
    leave_out = "give --drop {}"
    as_columns = "give --categorical {}=onehot (or drop)"
    as_dates = "give --day-first or --month-first"
    as_missing = "--na {} if it stands for a missing value"

    def __init__(
        self,
        kinds: Mapping[str, Kind] | None = None,
        levels: Mapping[str, Sequence[str]] | None = None,
        *,
        order: Sequence[str] | None = None,
        fixed: bool = False,
        refuses_missing: bool = False,
        is_named: bool = True,
        na: Sequence[str] | None = None,
        keep_na: Iterable[str] = (),
        rules: Mapping[str, str] | None = None,
        decimal: str | None = None,
        day_first: bool | None = None,
        unused: Iterable[str] = (),
    ) -> None:
        self._unused = frozenset(unused)
        self._na = None if na is None else frozenset(na)
        own = [parse_number(word) for word in na or ()]
        self._numbers_of_na = [number for number in own if number is not None and not np.isnan(number)]
        self.keep_na = frozenset(keep_na)
        self.rules: dict[str, str] = dict(rules or {})
        self.decimal = self.usual_decimal = decimal
        self.names_of: dict[str, str] = {}
        self._day_first = day_first
        self.target: str | None = None
        super().__init__()
        self.overflowing: set[str] = set()
        self.with_zeros: set[str] = set()
        self.told: list[str] = []
        self.kinds: dict[str, Kind] = dict(kinds or {})
        self._said = frozenset(self.kinds)
        self._of_integers: dict[str, bool] = {}
        self.levels = {
            name: {level: code for code, level in enumerate(known)} for name, known in (levels or {}).items()
        }
        self.missing: dict[str, int] = {}
        self.order = None if order is None else tuple(order)
        self._is_named = is_named
        self._fixed = fixed
        self._refuses_missing = refuses_missing

    @property
    def all_numbers(self) -> bool:
        """Whether the tables hold only numbers, yes and no, or texts that become numbers."""
        return all(kind in ("number", "boolean", "text") for kind in self.kinds.values())

    @property
    def is_mere(self) -> bool:
        """Whether the tables hold only plain numbers without units, none of them missing."""
        rules = any(name != self.target for name in self.rules)
        return self.all_numbers and not (self.missing or rules or "text" in self.kinds.values())

    @property
    def has_header(self) -> bool | None:
        """Whether files have a header line, if a model has no column names; None: detect it.

        A header is a line without numbers above columns with numbers.
        """
        return None if self._is_named or not self._fixed else "number" in self.kinds.values()

    @property
    def n_known(self) -> int | None:
        """Number of feature columns of a model's tables, which are read later."""
        return len(self.order) if self._fixed and self.order is not None else None

    @property
    def has_own_na(self) -> bool:
        """Whether the user gives texts for missing labels."""
        return self._na is not None or bool(self.keep_na)

    def na_of(self, key: str, *, is_label: bool = False) -> frozenset[str]:
        """The texts for a missing value of a column."""
        if key in self.keep_na:
            return frozenset([""])
        default = MISSING_LABELS if is_label else MISSING
        if self._na is None:
            return default
        return self._na if "" in self._na else self._na | default

    def is_mere_number(self, key: str) -> bool:
        """Whether a column holds plain Python numbers, as far as known."""
        return self.kinds.get(key) == "number" and key not in self.rules and key not in self.keep_na

    def tell_form(self, file: str, delimiter: str, decimal: str | None) -> None:
        """Note the delimiter and the decimal mark of a text file; None: the file does not show it."""
        self.decimal = decimal
        self.usual_decimal = self.usual_decimal or decimal
        said = f"fields are separated by {delimiter!r}"
        said += "" if decimal is None else f", decimals by {decimal!r}"
        is_usual = delimiter in ",\t" and decimal != ","
        if not (is_usual or any(said in told for told in self.told)):
            self.told.append(f"{file}: {said} (--delimiter and --decimal say otherwise)")

    def width(self, key: str) -> int:
        """Number of numbers that a value of a column becomes."""
        return width_of(self.kinds.get(key))

    def value_names(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Names of the numbers that the values of columns become."""
        if "text" not in self.kinds.values():
            return tuple(keys)
        return tuple(name for key in keys for name in names_of_values(key, self.width(key)))

    def keys(self, names: Sequence[str], *, has_header: bool, file: str) -> tuple[str, ...]:
        """Names under which columns are known: those of the first table if a file has none."""
        if self.order is None:
            for name in self.kinds:
                if name not in names:
                    close = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
                    hint = f"did you mean {close[0]!r}?" if close else "check the name"
                    of = "texts" if self.kinds[name] == "text" else "categories"
                    raise InputError(f"there is no column {name!r} of {of}", where=file, hint=hint)
            self.order, self._is_named = tuple(names), has_header
        if has_header and self._is_named:
            return tuple(names)
        if len(names) != len(self.order):
            raise InputError(
                f"{len(names):,} features where there were {len(self.order):,}",
                where=file,
                hint="give files with the same columns",
            )
        return self.order

    def unknown(self, keys: Iterable[str]) -> list[str]:
        """Columns whose kind is undecided."""
        return [key for key in keys if key not in self.kinds]

    def decide(self, key: str, values: Any, *, from_text: bool) -> None:
        """Decide the kind of a column from its first values, an Arrow array.

        ``from_text``: the file holds only texts; otherwise an Arrow dictionary means categories. Texts have
        the same meaning in all files: numbers, booleans, dates, times or categories.
        """
        import pyarrow as pa

        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if pa.types.is_time(kind):
            self.kinds[key] = "time"
        elif pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
            self.kinds[key] = "date"
        elif pa.types.is_dictionary(values.type) and not from_text:
            self.kinds[key] = "category"
        elif is_text(kind):
            self._decide_texts(key, values)
        elif pa.types.is_boolean(kind):
            self.kinds[key] = "boolean"
        elif not pa.types.is_null(kind):
            self.kinds[key] = "number"

    def settle(self) -> None:
        """Decide the kind of columns without values."""
        self.kinds |= dict.fromkeys(self.unknown(self.order or ()), "number")

    def _decide_texts(self, key: str, values: Any) -> None:
        """Decide by the majority of words; a rare other word is refused as a mistake, unless it recurs."""
        if values.null_count == len(values):
            return
        if self.decimal != "," and are_numbers(values):
            self.kinds[key] = "number"
            if any_matches(values, _LEADING_ZERO):
                self.with_zeros.add(key)
            return
        words = {word.strip() for word in values.unique().to_pylist() if word is not None}
        some = sorted(words - self.na_of(key))
        if not some:
            return
        numbers, units = _texts.numbers_of(some, self.decimal or ".")
        fine = _texts.parsed(some, numbers)
        is_number = key == self.target or 2 * sum(fine) >= len(some)
        if is_number and key != self.target and (several := recurring(values, some, fine)):
            self.kinds[key] = "category"
            shown = ", ".join(map(repr, several[:3]))
            self.told.append(f"column {key!r} holds numbers and words ({shown}), and becomes categories")
        elif is_number:
            self.kinds[key] = "number"
            unit = most_common(unit for unit, is_fine in zip(units, fine, strict=True) if is_fine and unit)
            if unit:
                self.rules[key] = unit
            if unit == "%" and key == self.target:
                self.told.append(f"the target {key!r} is in percent, converted to shares: 5% becomes 0.05")
            if any_matches(values, _LEADING_ZERO):
                self.with_zeros.add(key)
        elif are_booleans(set(some)):
            self.kinds[key] = "boolean"
        elif 2 * sum(map(_texts.is_date, some)) >= len(some):
            self.kinds[key] = "date"
        elif 2 * sum(map(_texts.is_time, some)) >= len(some):
            self.kinds[key] = "time"
        else:
            self.kinds[key] = "category"

    def features(
        self, keys: Sequence[str], columns: Iterable[Any], places: Sequence[Callable[[int], str]], n_rows: int
    ) -> NDArray[np.float64]:
        """Numbers (n_rows, sum of widths) of columns, as :meth:`numbers` returns them."""
        found = np.empty((n_rows, sum(map(self.width, keys))))
        first = 0
        for key, column, place in zip(keys, columns, places, strict=True):
            last = first + self.width(key)
            if self.kinds.get(key) == "text":
                found[:, first:last] = self._hashed(key, column)
            else:
                found[:, first] = self.numbers(key, column, place)
            first = last
        return found

    def _hashed(self, key: str, column: Any) -> NDArray[np.float64]:
        """Word counts of texts (n, 256), hashed with signs and normalised; zeros where missing."""
        words = [word_of(value, self.na_of(key)) or "" for value in column.to_pylist()]
        absent = sum(not word for word in words)
        if absent:
            self.missing[key] = self.missing.get(key, 0) + absent
        return hashed(words)

    def numbers(self, key: str, values: Any, place: Callable[[int], str]) -> NDArray[np.float64]:
        """Numbers (n,) of an Arrow array: NaN if missing, 0 or 1 for booleans, seconds since 1970 for dates,
        seconds of the day for times, codes for categories.

        Raises
        ------
        InputError
            At the ``place`` of the first value that does not fit the kind of the column.
        """
        import pyarrow as pa
        from pyarrow import compute

        kind, of = self.kinds.get(key, "number"), values.type
        if key in self._unused or key in self.overflowing:
            return np.full(len(values), np.nan)
        if key not in self.kinds:
            self.missing[key] = self.missing.get(key, 0) + len(values)
            return np.full(len(values), np.nan)
        if pa.types.is_dictionary(of) and not (is_text(of.value_type) or kind == "category"):
            values, of = values.cast(of.value_type), of.value_type
        if pa.types.is_dictionary(of) or is_text(of) or (kind == "category" and is_plain(of)):
            numbers = self._of_words(key, kind, values, place)
        elif pa.types.is_null(of):
            numbers = np.full(len(values), np.nan)
        elif kind == "date" and (pa.types.is_timestamp(of) or pa.types.is_date(of)):
            row = first_beyond(values)
            if row is not None:
                raise InputError(
                    "the date is not between the years 1 and 9999",
                    where=place(row),
                    hint="correct it, or leave it empty if it is missing",
                )
            whole = values.cast(pa.timestamp("us", getattr(of, "tz", None)), safe=False).cast(pa.int64())
            numbers = compute.divide(whole.cast(pa.float64(), safe=False), 1e6).to_numpy(zero_copy_only=False)
        elif kind == "time" and pa.types.is_time(of):
            ticks = values.cast(pa.int32() if pa.types.is_time32(of) else pa.int64()).cast(pa.float64())
            numbers = in_numpy(ticks) / TICKS[of.unit]
        elif kind == "number" and pa.types.is_duration(of):
            numbers = in_numpy(values.cast(pa.int64()).cast(pa.float64(), safe=False)) / TICKS[of.unit]
        elif kind in ("number", "boolean") and is_plain(of) and not pa.types.is_temporal(of):
            if pa.types.is_boolean(of):
                values = values.cast(pa.int8())
            numbers = in_numpy(values if pa.types.is_float64(of) else values.cast(pa.float64(), safe=False))
        else:
            what, hint = f"the column holds {of}, not {KINDS_IN_WORDS[kind]}", self.leave_out.format(key)
            error = InputError(what, where=place(0), hint=f"encode it as numbers, or {hint}")
            self.refuse(key, error, len(values))
            return np.full(len(values), np.nan)
        if kind == "number" and self._numbers_of_na and key not in self.keep_na:
            # however they are written
            numbers = np.where(np.isin(numbers, self._numbers_of_na), np.nan, numbers)
        absent = int(np.count_nonzero(np.isnan(numbers)))
        if absent and key not in self.overflowing:
            if self._refuses_missing and kind != "category":
                row = int(np.flatnonzero(np.isnan(numbers))[0])
                hint = "fill it in, or leave the row out"
                self.refuse(key, InputError("the value is missing", where=place(row), hint=hint), absent)
            self.missing[key] = self.missing.get(key, 0) + absent
        found: NDArray[np.float64] = np.asarray(numbers, dtype=np.float64)
        return found

    def target_numbers(self, values: Any, place: Callable[[int], str]) -> NDArray[np.float64]:
        """Numbers (n,) of targets, 0 where one is collected as a problem."""
        assert self.target is not None
        numbers = self.numbers(self.target, values, place)
        return np.where(np.isnan(numbers), 0.0, numbers) if self.target in self.problems else numbers

    def _of_words(
        self, key: str, kind: Kind, values: Any, place: Callable[[int], str]
    ) -> NDArray[np.float64]:
        na = self.na_of(key)
        distinct, indices = distinct_values(values)
        words = [word_of(value, na) for value in distinct]
        if kind == "category" and self._is_of_integers(key, words):
            words = [word and _FRACTION.sub("", word) for word in words]

        def refuse(positions: list[int], what: str, hint: str) -> None:
            rows = np.flatnonzero(np.isin(indices, positions))
            if rows.size:
                word = words[indices[rows[0]]] or ""
                error = InputError(what.format(repr(word[:60])), where=place(int(rows[0])), hint=hint)
                self.refuse(key, error, rows.size)

        of_words = np.full(len(words) + 1, np.nan)
        if kind == "category":
            codes = [np.nan if word is None else self._code(key, word) for word in words]
            if MAX_LEVELS in codes:
                if key in self._said:
                    what = f"more than {MAX_LEVELS:,} different values in a column of categories"
                    refuse(
                        [codes.index(MAX_LEVELS)], what, f"{self.leave_out.format(key)}, or group its values"
                    )
                self.overflowing.add(key)
                self.levels[key] = {}
                return np.full(len(indices), np.nan)
            of_words[:-1] = codes
        else:
            hint = "correct it"
            if key == self.target:
                hint = LABELS_OR_NUMBERS
            elif not self._fixed:
                hint += f", or {self.as_category.format(key)}"
            if kind == "date":
                unsure, why = None, ""
                if key not in self.rules:
                    order, unsure, why = _texts.settled_order(words, self._day_first)
                    self.rules |= {} if order is None else {key: order}
                if unsure is not None:
                    how = "write dates as 2024-12-31" if self._fixed else self.as_dates.format(key)
                    if _texts.tells_order(unsure) and not self._fixed:
                        # no order mends that
                        how = self.as_category.format(key)
                    refuse([words.index(unsure)], why, how)
                    return np.full(len(indices), np.nan)
            of_words[:-1], fine, what = self._values(key, kind, words)
            odd = [position for position, is_fine in enumerate(fine) if not is_fine]
            if odd:
                if self.as_missing and key != self.target and not self._fixed:
                    hint += f", or {self.as_missing.format(repr(words[odd[0]]))}"
                refuse(odd, what, hint)
        numbers: NDArray[np.float64] = of_words[indices]
        return numbers

    def _values(
        self, key: str, kind: Kind, words: Sequence[str | None]
    ) -> tuple[NDArray[np.float64], list[bool], str]:
        """Numbers (n,) of words, NaN where one is missing; which words are fine; the message about others."""
        if kind == "number":
            return self._amounts(key, words)
        if kind == "boolean":
            values = np.array([BOOLEANS.get((word or "").lower(), np.nan) for word in words], np.float64)
        elif kind == "time":
            values = _texts.times_of(words)
        else:
            values = _texts.dates_of(words, self.rules.get(key, _texts.DAY_FIRST))
        fine = [word is None or value == value for word, value in zip(words, values.tolist(), strict=True)]
        return values, fine, f"{{}} is not {KINDS_IN_WORDS[kind]}, as other values of the column are"

    def _amounts(self, key: str, words: Sequence[str | None]) -> tuple[NDArray[np.float64], list[bool], str]:
        """Numbers from words in the column's unit. Single values may lack the currency, which may first
        appear late."""
        values, units = _texts.numbers_of(words, self.decimal or ".")
        fine = _texts.parsed(words, values)
        rule = self.rules.get(key, "")
        if not (rule or self._fixed):
            currencies = {unit for unit, is_fine in zip(units, fine, strict=True) if is_fine} - {"", "%"}
            if currencies:
                rule = self.rules[key] = min(currencies)
        said = "{} is not a number, as other values of the column are"
        if all(fine):
            said = f"{{}} is not in {rule or 'plain numbers'}, as other values of the column are"
        # 0 % is 0, and NaN is in no unit
        is_free = (values == 0) | np.isnan(values)
        wanted = [
            unit == rule or free or (unit == "" and rule != "%")
            for unit, free in zip(units, is_free, strict=True)
        ]
        if rule == "%":
            values /= 100.0
        return values, [one and other for one, other in zip(fine, wanted, strict=True)], said

    def _is_of_integers(self, key: str, words: Sequence[str | None]) -> bool:
        """Whether a column declared categorical holds only numbers: in its first rows, or in a model's
        categories, whose integers have no fraction.
        """
        if key not in self._of_integers:
            known = [*self.levels.get(key, ())] if self._fixed else [word for word in words if word]
            if not known:
                return False
            self._of_integers[key] = (
                key in self._said
                and all(parse_number(word) is not None for word in known)
                and not (self._fixed and any(_FRACTION.search(word) for word in known))
            )
        return self._of_integers[key]

    def _code(self, key: str, word: str) -> int:
        levels = self.levels.setdefault(key, {})
        if word not in levels:
            if self._fixed or len(levels) >= MAX_LEVELS:
                return -1 if self._fixed else MAX_LEVELS
            levels[word] = len(levels)
        return levels[word]
