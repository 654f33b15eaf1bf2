"""Kinds of the columns of a table, decided on the first rows, and the numbers of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError, Problems
from distkern.core.names import near_column
from distkern.data.columns import COLUMNS, AbstractColumn
from distkern.data.columns._arrow import is_text, pa, value_type
from distkern.data.columns._reading import (
    MISSING,
    MISSING_LABELS,
    OPTIONS,
    ColumnWords,
    Notation,
    Reading,
    Remedies,
    parse_number,
)
from distkern.data.columns.text import names_of_values

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


class Refusals:
    """Problems of the columns of tables: raised at once, or collected and reported together.

    Attributes
    ----------
    collects : collect problems instead of raising them
    problems : the first problem of each column, by name
    """

    def __init__(self) -> None:
        self.collects = False
        self.problems: dict[str, InputError] = {}
        # by column and hint without its examples: one remedy, one problem
        self._found: dict[tuple[str, str], InputError] = {}
        self._n_refused: dict[tuple[str, str], int] = {}

    def refuse(self, key: str, error: InputError, count: int = 1) -> None:
        """Raise a problem of ``count`` rows of a column (0: not of single rows), or collect it for
        :meth:`raise_problems`.
        """
        if not self.collects:
            raise error
        self.problems.setdefault(key, error)
        problem = key, _QUOTED.sub("", error.hint or "")
        self._found.setdefault(problem, error)
        self._n_refused[problem] = self._n_refused.get(problem, 0) + count

    def raise_problems(self) -> None:
        """Raise all collected problems at once, each at its first row with the number of further rows."""
        found = []
        for key, error in self._found.items():
            more = self._n_refused[key] - 1
            what = f"{error.what} (and {more:,} more row{'s' * (more > 1)})" if more > 0 else error.what
            found.append(InputError(what, where=error.where, hint=error.hint))
        if found:
            raise found[0] if len(found) == 1 else Problems(found)


class TableKinds(Refusals):
    """Kinds of the columns of some tables, see :mod:`distkern.data.columns.base`.

    A column's kind is decided on its first rows and stays: a later value of another kind is refused by its
    place. Categories have codes in order of first appearance; categories of a model have their positions
    there, and all others -1. Integer categories are written as integers, 1.0 as 1; so are texts in a numeric
    column that the user declares categorical.

    Parameters
    ----------
    kinds : names of known kinds of columns
    levels : categories of columns by position, from a model
    order : column names of the first table, if it was read before
    is_named : these names come from the table; otherwise columns have this order in all tables
    na : texts for a missing value, also of the target, in addition to :data:`MISSING` (labels:
        :data:`MISSING_LABELS`), or instead of them if the empty text is included
    keep_na : columns in which these texts, except the empty one, are ordinary values
    rules, zones : notation and time zones of columns, see :class:`Reading`
    decimal : decimal mark of files that do not show it
    day_first : whether 3/4/2024 is in April, in columns that do not show it
    unused : columns without features, which are not read
    fixed : no new categories
    refuses_missing : refuse missing values, except of categories
    remedies : remedies for messages

    Attributes
    ----------
    kinds : by column name
    notation : settings of all columns
    usual_decimal : decimal mark of the first file that shows one
    names_of : name of a column by the position that the user gave
    target : name of a numeric target column
    order : column names of the first table
    """

    def __init__(
        self,
        kinds: Mapping[str, str] | None = None,
        levels: Mapping[str, Sequence[str]] | None = None,
        *,
        order: Sequence[str] | None = None,
        fixed: bool = False,
        refuses_missing: bool = False,
        is_named: bool = True,
        na: Sequence[str] | None = None,
        keep_na: Iterable[str] = (),
        rules: Mapping[str, str] | None = None,
        zones: Mapping[str, str | None] | None = None,
        decimal: str | None = None,
        day_first: bool | None = None,
        unused: Iterable[str] = (),
        remedies: Remedies = OPTIONS,
    ) -> None:
        super().__init__()
        self._unused = frozenset(unused)
        self._na = None if na is None else frozenset(na)
        own = [parse_number(word) for word in na or ()]
        numbers_of_na = tuple(number for number in own if number is not None and not np.isnan(number))
        self.notation = Notation(decimal, day_first, fixed, numbers_of_na, remedies)
        self.usual_decimal = decimal
        self.keep_na = frozenset(keep_na)
        self.names_of: dict[str, str] = {}
        self.target: str | None = None
        self.kinds: dict[str, type[AbstractColumn]] = {
            name: COLUMNS.find(kind) for name, kind in (kinds or {}).items()
        }
        self._given = frozenset(self.kinds)
        self._rules, self._zones, self._levels = rules or {}, zones or {}, levels or {}
        self._readings: dict[str, Reading] = {}
        self.order = None if order is None else tuple(order)
        self._is_named = is_named
        self._refuses_missing = refuses_missing

    def reading(self, key: str) -> Reading:
        """Return how a column is read."""
        if key not in self._readings:
            levels = {level: code for code, level in enumerate(self._levels.get(key, ()))}
            is_given, is_target = key in self._given, key == self.target
            keeps = key in self.keep_na
            rule, zone = self._rules.get(key, ""), self._zones.get(key)
            self._readings[key] = Reading(
                key, self.notation, self.na_of(key), keeps, is_given, is_target, rule, zone, levels
            )
        return self._readings[key]

    @property
    def notes(self) -> list[str]:
        """Notes for the user, a sentence each."""
        return self.notation.notes

    @property
    def all_numbers(self) -> bool:
        """Whether the tables hold only numbers, yes and no, or texts that become numbers."""
        return all(kind.is_number for kind in self.kinds.values())

    @property
    def is_numeric(self) -> bool:
        """Whether the tables hold only plain numbers without units, none of them missing."""
        readings = [one for one in self._readings.values() if not one.is_target]
        has_notation = any(one.n_missing or one.rule for one in readings)
        return self.all_numbers and not has_notation and all(one.width == 1 for one in self.kinds.values())

    @property
    def has_header(self) -> bool | None:
        """Whether files have a header line, if a model has no column names; None: detect it.

        A header is a line without numbers above columns with numbers.
        """
        if self._is_named or not self.notation.is_fixed:
            return None
        return any(kind.is_plain for kind in self.kinds.values())

    @property
    def n_known(self) -> int | None:
        """Number of feature columns of the model's tables; None without a model."""
        return len(self.order) if self.notation.is_fixed and self.order is not None else None

    @property
    def has_own_na(self) -> bool:
        """Whether the user gives texts for missing labels."""
        return self._na is not None or bool(self.keep_na)

    def na_of(self, key: str, *, is_label: bool = False) -> frozenset[str]:
        """Return the texts for a missing value of a column."""
        if key in self.keep_na:
            return frozenset([""])
        default = MISSING_LABELS if is_label else MISSING
        if self._na is None:
            return default
        return self._na if "" in self._na else self._na | default

    def is_numeric_column(self, key: str) -> bool:
        """Whether a column holds numbers in Python's notation, as far as known."""
        is_plain = key in self.kinds and self.kinds[key].is_plain
        return is_plain and not self.reading(key).rule and key not in self.keep_na

    def recurs(self, key: str) -> bool:
        """Whether values of a column recur, as far as known."""
        return key not in self.kinds or self.kinds[key].recurs

    def note_form(self, file: str, delimiter: str, decimal: str | None) -> None:
        """Note the delimiter and the decimal mark of a text file; None: the file does not show it."""
        self.notation.decimal = decimal
        self.usual_decimal = self.usual_decimal or decimal
        form = f"fields are separated by {delimiter!r}"
        form += "" if decimal is None else f", decimals by {decimal!r}"
        is_usual = delimiter in ",\t" and decimal != ","
        if not (is_usual or any(form in note for note in self.notes)):
            self.notes.append(f"{file}: {form} (--delimiter and --decimal override this)")

    def width(self, key: str) -> int:
        """Return how many numbers a value of a column becomes."""
        return self.kinds[key].width if key in self.kinds else 1

    def value_names(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the numbers that the values of columns become."""
        return tuple(name for key in keys for name in names_of_values(key, self.width(key)))

    def keys(self, names: Sequence[str], *, has_header: bool, file: str) -> tuple[str, ...]:
        """Return the names under which columns are known: those of the first table if a file has none."""
        if self.order is None:
            for name in self.kinds:
                if name not in names:
                    option = "--text" if self.kinds[name].kind == "text" else "--categorical"
                    hint = near_column(name, names)
                    raise InputError(f"no column {name!r} ({option})", where=file, hint=hint)
            self.order, self._is_named = tuple(names), has_header
        if has_header and self._is_named:
            return tuple(names)
        if len(names) != len(self.order):
            raise InputError(
                f"{len(names):,} features instead of {len(self.order):,}",
                where=file,
                hint="give files with the same columns",
            )
        return self.order

    def unknown(self, keys: Iterable[str]) -> list[str]:
        """Return the columns of undecided kind."""
        return [key for key in keys if key not in self.kinds]

    def decide(self, key: str, values: Any, *, from_text: bool) -> None:
        """Decide the kind of a column from its first values, an Arrow array.

        ``from_text``: the file holds only texts; otherwise an Arrow dictionary means categories. Texts have
        the same meaning in all files: their kind is the first by rank that claims them.
        """

        ranked, found = _ranked(), None
        if is_text(values.type if not from_text else value_type(values.type)):
            if values.null_count < len(values):
                words = ColumnWords(values, self.reading(key))
                found = next((name for kind in ranked if (name := kind.claims(words))), None)
        else:
            of = value_type(values.type) if from_text else values.type
            # from the last rank to numbers, which take the rest
            kind = next((kind for kind in ranked[::-1] if kind.holds(of)), None)
            found = None if kind is None else kind.kind
        if found is not None:
            self.kinds[key] = COLUMNS[found]

    def settle(self) -> None:
        """Decide the kind of columns without values."""
        self.kinds |= dict.fromkeys(self.unknown(self.order or ()), COLUMNS["number"])

    def features(
        self, keys: Sequence[str], columns: Iterable[Any], places: Sequence[Callable[[int], str]], n_rows: int
    ) -> NDArray[np.float64]:
        """Return the numbers (n_rows, sum of widths) of columns, as :meth:`numbers` returns them."""
        found = np.empty((n_rows, sum(map(self.width, keys))))
        first = 0
        for key, column, place in zip(keys, columns, places, strict=True):
            last = first + self.width(key)
            found[:, first:last] = self.numbers(key, column, place).reshape(n_rows, last - first)
            first = last
        return found

    def numbers(self, key: str, values: Any, place: Callable[[int], str]) -> NDArray[np.float64]:
        """Return the numbers (n,) or (n, width) of an Arrow array; NaN if missing.

        Raises :class:`InputError` at the ``place`` of the first value that does not fit the kind of the
        column.
        """
        kind, reading = self.kinds.get(key), self.reading(key)
        nothing = np.full(len(values), np.nan)
        if key in self._unused or reading.overflows:
            return nothing
        if kind is None:
            reading.n_missing += len(values)
            return nothing
        of = values.type
        if pa.types.is_dictionary(of) and not kind.by_words(of):
            values, of = values.cast(of.value_type), of.value_type
        refuse = partial(self.refuse, key)
        numbers: NDArray[np.float64] | None = nothing
        if kind.by_words(of):
            numbers = kind.read(values, reading, place, refuse)
        elif not pa.types.is_null(of):
            numbers = kind.from_arrow(values, reading, place)
            if numbers is None and values.null_count == len(values):
                numbers = nothing
        if numbers is None:
            what, hint = f"the column holds {of}, not {kind.noun}", reading.remedy("leave_out")
            refuse(InputError(what, where=place(0), hint=f"encode it as numbers, or {hint}"), len(values))
            return nothing
        if numbers.ndim == 1 and not reading.overflows:
            absent = np.flatnonzero(np.isnan(numbers))
            if absent.size and self._refuses_missing and not kind.missing_is_a_value:
                hint = "fill it in, or leave the row out"
                refuse(
                    InputError("the value is missing", where=place(int(absent[0])), hint=hint), absent.size
                )
            reading.n_missing += absent.size
        return np.asarray(numbers, dtype=np.float64)

    def target_numbers(self, values: Any, place: Callable[[int], str]) -> NDArray[np.float64]:
        """Return the numbers (n,) of targets, 0 for those collected as a problem."""
        assert self.target is not None
        numbers = self.numbers(self.target, values, place)
        return np.where(np.isnan(numbers), 0.0, numbers) if self.target in self.problems else numbers


def _ranked() -> list[type[AbstractColumn]]:
    """Return the kinds that inspect new columns, in their order."""
    kinds = [kind for kind in COLUMNS.values() if kind.rank is not None]
    return sorted(kinds, key=lambda kind: (kind.rank, kind.kind))
