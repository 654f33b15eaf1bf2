"""What the columns of a table hold, decided on its first rows, and the numbers that their values become."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.names import written
from distkern.formats._lines import parse_number

Kind: TypeAlias = Literal["number", "boolean", "date", "category"]

#: what stands for a missing value in text, where its user does not say
MISSING = frozenset(
    ["", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "NaT", "null", "NULL", "None", "none"]
)
#: distinct values that a column of categories may have: they are held in memory
MAX_LEVELS = 100_000

_BOOLEANS = {"true": 1.0, "false": 0.0}
_DATE = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)(?:[T ](\d\d)(?::(\d\d)(?::([0-5]\d(?:\.\d{1,9})?))?)?)?"
    r"(Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?"
)
#: of a text that is an integer
_FRACTION = re.compile(r"(?<=\d)\.0*$")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: of the years 1 to 9999, which are those that ISO 8601 and Python write; from the first day, before the last
_DAYS = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH).days, (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH).days + 1
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_A = {"number": "a number", "boolean": "True or False", "date": "a date", "category": "a category"}


class TableKinds:
    """What each column of some tables holds: numbers, booleans, dates or categories.

    A column's kind is decided on the first rows that are read of it, and stays: a later value of another kind
    is refused by its place. Categories have codes, in the order in which they are met; or, where they are
    those of a model, the positions that they have there, and -1 for all others. A category that is an integer
    is written as one, 1.0 as 1; a text is, where its user says that a column of numbers holds categories.

    Parameters
    ----------
    kinds : of columns of which it is known
    levels : categories of columns by position, of a model
    order : names of the columns of the first table, where it was read before
    is_named : those are the table's own names; else columns stand in this order in all tables
    na : texts that stand for a missing value, of the target too; None: :data:`MISSING`
    unused : columns that become nothing, so that it does not matter what they hold
    fixed : there are no other categories
    refuses_missing : a missing value that is no category is refused

    Attributes
    ----------
    kinds : by name of column
    levels : code of each category, by name of column
    na : texts that stand for a missing value
    missing : values that are missing, by name of column
    order : names of the columns of the first table
    as_category, leave_out : how its user says that a column, ``{}``, holds categories, or is left out
    """

    as_category = "give --categorical {}=onehot (or target, or drop)"
    leave_out = "give --drop {}"

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
        unused: Iterable[str] = (),
    ) -> None:
        self._unused = frozenset(unused)
        self.na = MISSING if na is None else frozenset(na)
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
        """Nothing but numbers is in the tables."""
        return all(kind == "number" for kind in self.kinds.values())

    @property
    def is_plain(self) -> bool:
        """Nothing but numbers, and none is missing."""
        return self.all_numbers and not self.missing

    def keys(self, names: Sequence[str], *, has_header: bool, file: str) -> tuple[str, ...]:
        """The names under which columns are known: those of the first table where a file has none."""
        if self.order is None:
            for name in self.kinds:
                if name not in names:
                    close = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
                    mend = f"did you mean {close[0]!r}?" if close else "check the name"
                    raise InputError(f"there is no column {name!r} of categories", where=file, mend=mend)
            self.order, self._is_named = tuple(names), has_header
        if has_header and self._is_named:
            return tuple(names)
        if len(names) != len(self.order):
            raise InputError(
                f"{len(names):,} features where there were {len(self.order):,}",
                where=file,
                mend="give files with the same columns",
            )
        return self.order

    def unknown(self, keys: Iterable[str]) -> list[str]:
        """The columns whose kind is still to be decided."""
        return [key for key in keys if key not in self.kinds]

    def decide(self, key: str, values: Any, *, from_text: bool) -> None:
        """Decide the kind of a column by its first values, an Arrow array.

        ``from_text``: the file holds nothing but texts; else an Arrow dictionary holds categories, whatever
        they are. Texts are what they say in all files: numbers, booleans, dates or categories.
        """
        import pyarrow as pa

        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if pa.types.is_temporal(kind) and not (pa.types.is_time(kind) or pa.types.is_duration(kind)):
            self.kinds[key] = "date"
        elif pa.types.is_dictionary(values.type) and not from_text:
            self.kinds[key] = "category"
        elif _is_text(kind) and _are_numbers(values):
            self.kinds[key] = "number"
        elif _is_text(kind):
            words = {word.strip() for word in values.unique().to_pylist() if word is not None} - self.na
            self.kinds[key] = _kind_of_words(words)
        else:
            self.kinds[key] = "number"

    def numbers(self, key: str, values: Any, place: Callable[[int], str]) -> NDArray[np.float64]:
        """Numbers (n,) of an Arrow array: NaN where a value is missing, 0 or 1 of a boolean, seconds since
        1970 of a date, the code of a category.

        Raises
        ------
        InputError
            At the ``place`` of the first value that is none of the column's kind.
        """
        import pyarrow as pa
        from pyarrow import compute

        kind, of = self.kinds[key], values.type
        if key in self._unused:
            return np.full(len(values), np.nan)
        if pa.types.is_dictionary(of) and not (_is_text(of.value_type) or kind == "category"):
            values, of = values.cast(of.value_type), of.value_type
        if pa.types.is_dictionary(of) or _is_text(of) or (kind == "category" and _is_plain(of)):
            numbers = self._of_words(key, kind, values, place)
        elif pa.types.is_null(of):
            numbers = np.full(len(values), np.nan)
        elif kind == "date" and (pa.types.is_timestamp(of) or pa.types.is_date(of)):
            row = _first_beyond(values)
            if row is not None:
                raise InputError(
                    "the date is not of the years 1 to 9999",
                    where=place(row),
                    mend="correct it, or leave the value empty if it stands for none",
                )
            whole = values.cast(pa.timestamp("us", getattr(of, "tz", None)), safe=False).cast(pa.int64())
            numbers = compute.divide(whole.cast(pa.float64(), safe=False), 1e6).to_numpy(zero_copy_only=False)
        elif kind in ("number", "boolean") and _is_plain(of) and not pa.types.is_temporal(of):
            if pa.types.is_boolean(of):
                values = values.cast(pa.int8())
            numbers = in_numpy(values.cast(pa.float64(), safe=False))
        else:
            raise InputError(
                f"the column holds {of}, not {_A[kind]}",
                where=place(0),
                mend=f"encode it as numbers, or {self.leave_out.format(key)}",
            )
        absent = int(np.count_nonzero(np.isnan(numbers)))
        if absent:
            if self._refuses_missing and kind != "category":
                row = int(np.flatnonzero(np.isnan(numbers))[0])
                raise InputError(
                    "the value is missing", where=place(row), mend="fill it in, or leave the row out"
                )
            self.missing[key] = self.missing.get(key, 0) + absent
        found: NDArray[np.float64] = np.asarray(numbers, dtype=np.float64)
        return found

    def _of_words(
        self, key: str, kind: Kind, values: Any, place: Callable[[int], str]
    ) -> NDArray[np.float64]:
        import pyarrow as pa

        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        words = [word_of(value, self.na) for value in encoded.dictionary.to_pylist()]
        if kind == "category" and self._is_of_integers(key, words):
            words = [word and _FRACTION.sub("", word) for word in words]
        indices = encoded.indices.cast(pa.int64())
        indices = in_numpy(indices.fill_null(-1) if indices.null_count else indices)

        def refused(position: int, what: str, mend: str) -> InputError | None:
            rows = np.flatnonzero(indices == position)
            return InputError(what, where=place(int(rows[0])), mend=mend) if rows.size else None

        of_words = np.full(len(words) + 1, np.nan)
        if kind == "date":
            of_words[:-1] = _seconds(words)
        for position, word in enumerate(words):
            if word is None:
                continue
            if kind == "category":
                of_words[position] = code = self._code(key, word)
                if code == MAX_LEVELS:
                    what = f"more than {MAX_LEVELS:,} different values in a column of categories"
                    error = refused(position, what, f"{self.leave_out.format(key)}, or group its values")
                    if error:
                        raise error
            elif kind != "date":
                number = parse_number(word) if kind == "number" else None
                of_words[position] = _BOOLEANS.get(word.lower(), np.nan) if number is None else number
                if number is not None:
                    # NaN is no number, whatever stands for a missing value
                    continue
            if np.isnan(of_words[position]):
                mend = "correct it"
                if not self._fixed:
                    mend += f", or {self.as_category.format(key)}"
                what = f"{word[:60]!r} is not {_A[kind]}, as other values of the column are"
                error = refused(position, what, mend)
                if error:
                    raise error
        numbers: NDArray[np.float64] = of_words[indices]
        return numbers

    def _is_of_integers(self, key: str, words: Sequence[str | None]) -> bool:
        """Whether a column whose user says that it holds categories holds nothing but numbers: in the first
        rows, or as the categories of a model, whose integers have no fraction."""
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
        code = levels.get(word)
        if code is not None:
            return code
        if self._fixed:
            return -1
        if len(levels) < MAX_LEVELS:
            levels[word] = len(levels)
            return len(levels) - 1
        return MAX_LEVELS


def in_one_piece(values: Any) -> Any:
    """An Arrow array in one piece."""
    import pyarrow as pa

    if not isinstance(values, pa.ChunkedArray):
        return values
    if pa.types.is_dictionary(values.type):
        values = values.unify_dictionaries()
    whole = values.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], values.type)
    return whole


def in_numpy(values: Any) -> NDArray[Any]:
    """The numbers (n,) of an Arrow array, NaN where one is missing.

    The first number that Arrow itself converts has it import pandas, which takes longer than a small file.
    """
    whole = in_one_piece(values)
    found: NDArray[Any]
    if whole.null_count or whole.type.bit_width < 8:
        found = whole.to_numpy(zero_copy_only=False)
    else:
        found = np.from_dlpack(whole)
    return found


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers or booleans."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _are_numbers(values: Any) -> bool:
    """Whether Arrow, which is quick, takes all texts for numbers."""
    import pyarrow as pa

    texts = values.dictionary if pa.types.is_dictionary(values.type) else values
    try:
        texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _is_plain(kind: Any) -> bool:
    """Single values that can be written down."""
    import pyarrow as pa

    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


def word_of(value: Any, na: frozenset[str]) -> str | None:
    """A value as the category that it is; None where it is missing."""
    if isinstance(value, str):
        word = value.strip()
        return None if word in na else word
    if value is None or value != value:
        return None
    return written(value)


def _kind_of_words(words: set[str]) -> Kind:
    """What most of them are: one that is not is rather a mistake, to be refused, than the name of a
    category."""
    if not words or 2 * sum(parse_number(word) is not None for word in words) >= len(words):
        return "number"
    if all(word.lower() in _BOOLEANS for word in words):
        return "boolean"
    dates = sum(_DATE.fullmatch(word) is not None for word in words)
    return "date" if 2 * dates >= len(words) else "category"


def _first_beyond(values: Any) -> int | None:
    """The first of an Arrow array of dates or timestamps that is of no year from 1 to 9999."""
    import pyarrow as pa

    of = values.type
    if pa.types.is_date32(of):
        days = values.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False)
    else:
        ticks = 86_400 * _TICKS["ms" if pa.types.is_date64(of) else of.unit]
        days = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) // ticks
    beyond = np.flatnonzero((days < _DAYS[0]) | (days >= _DAYS[1]))
    return int(beyond[0]) if beyond.size else None


def _seconds(words: Sequence[str | None]) -> NDArray[np.float64]:
    """Seconds since 1970 of dates as ISO 8601 writes them, NaN for what is none."""
    import pyarrow as pa

    seconds = np.full(len(words), np.nan)
    try:
        moments = pa.array(words, pa.string()).cast(pa.timestamp("us")).cast(pa.int64())
        there = moments.is_valid().to_numpy(zero_copy_only=False)
        seconds[there] = moments.drop_null().to_numpy() / 1e6
        # Arrow has a year 0
        seconds[seconds < 86_400.0 * _DAYS[0]] = np.nan
    except pa.ArrowInvalid:
        for position, word in enumerate(words):
            seconds[position] = np.nan if word is None else _seconds_of(word)
    return seconds


def _seconds_of(word: str) -> float:
    found = _DATE.fullmatch(word)
    if found is None:
        return np.nan
    year, month, day, hour, minute, second, zone = found.groups()
    try:
        moment = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), tzinfo=UTC)
    except ValueError:
        return np.nan
    away = 0
    if zone and zone != "Z":
        away = (3600 * int(zone[1:3]) + 60 * int(zone[-2:])) * (-1 if zone[0] == "-" else 1)
    whole = (moment - _EPOCH) // timedelta(seconds=1) - away
    return whole + float(second or 0)
