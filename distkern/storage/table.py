"""Encoding of table columns as features: fitted on training rows, applied to later ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.common.held_out import Keys
from distkern.common.screens import listed
from distkern.common.sparse import Rows, SparseRows, converted
from distkern.common.types import Floats
from distkern.formats._kinds import Kind, TableKinds
from distkern.formats._words import names_of_values, width_of

#: encoding of a column that is left out
NOTHING = "nothing"

Encoding: TypeAlias = Literal["number", "date", "time", "text", "onehot", "target", "drop"]

_DAY = 86_400.0
_YEAR = 365.2425 * _DAY
#: period of a wave, and what is added to a date so that one begins; 1970 began on a Thursday
_WAVES = (_YEAR, 0.0), (7 * _DAY, 3 * _DAY), (_DAY, 0.0)

#: share of their span by which values may lie outside it without a note
_FAR = {"date": 0.01, "number": 1.0}
#: notes on values outside the training rows, by encoding, and number of columns listed
_UNSEEN = {
    ("onehot", "target"): "a category not in the training rows, treated as unknown",
    ("date",): "a date outside the range of the training rows, clipped to it",
    ("number",): "a number far outside the range of the training rows",
}
_SHOWN = 8


@dataclass(frozen=True)
class Column:
    """A column of a table and its features.

    Attributes
    ----------
    name : name of the column
    kind : kind of its values
    rule : notation of its values, see :attr:`TableKinds.rules`
    encoding : ``number`` unchanged; ``date`` days since 1970 and sine and cosine of the time of the year,
        of the week and, if some training row has one, of the day, where dates outside ``span`` are clipped,
        see :func:`within`; ``time`` sine and cosine of the time of the day; ``text`` hashed words;
        ``onehot`` 0 or 1 for each category; ``target`` mean target of the category's training rows;
        ``drop`` nothing
    fill : replacement for missing numbers, and for the days of missing dates
    flag : a further feature is 1 where the value is missing, else 0
    hours : some training row has a time of day
    span : minimum and maximum over the training rows, of dates in seconds since 1970
    levels : categories of the training rows, sorted
    has_missing : some training row has no value: for categories this is one more category, the last
    values : sorted values in the training rows, for numbers that have target means too
    means : (n_levels + has_missing, n_outputs) target means, for numbers of ``values`` in place of levels;
        unknown categories and numbers get ``default``
    outputs : names of the target means, if there are several
    """

    name: str
    kind: Kind
    encoding: Encoding
    fill: float = 0.0
    flag: bool = False
    hours: bool = False
    span: tuple[float, float] | None = None
    levels: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    has_missing: bool = False
    means: tuple[tuple[float, ...], ...] = ()
    default: tuple[float, ...] = ()
    outputs: tuple[str, ...] = ()
    rule: str = ""

    def __post_init__(self) -> None:
        n_levels = len(self.levels) + len(self.values) + self.has_missing
        if self.has_means and (
            len(self.means) != n_levels or {len(row) for row in self.means} - {len(self.default)}
        ):
            raise ValueError(f"column {self.name!r} has other means than those of {n_levels} values")

    @property
    def width(self) -> int:
        """Number of numbers that a value is read as."""
        return width_of(self.kind)

    @property
    def has_means(self) -> bool:
        """Some of its features are target means."""
        return self.encoding == "target" or bool(self.values)

    @property
    def is_mere(self) -> bool:
        """Whether the column is used unchanged: plain numbers, none missing."""
        return self.encoding == "number" and not (self.flag or self.has_missing or self.values)

    @property
    def made(self) -> Any:
        """A value that is equal for columns with the same encoding."""
        return self.name if self.is_mere else self

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        name = self.name
        names: tuple[str, ...] = ()
        if self.encoding == "number":
            names = (name,)
        elif self.encoding == "date":
            spans = ("year", "week", *(("day",) if self.hours else ()))
            waves = [f"{name} {wave} of {span}" for span in spans for wave in ("sin", "cos")]
            names = (f"{name} days", *waves)
        elif self.encoding == "time":
            names = (f"{name} sin of day", f"{name} cos of day")
        elif self.encoding == "text":
            names = names_of_values(name, self.width)
        elif self.encoding == "onehot":
            names = tuple(f"{name}={level}" for level in self.levels)
            names += (f"{name} is missing",) if self.has_missing else ()
        if self.has_means:
            names += tuple(f"mean of {output} by {name}" for output in self.outputs)
        return (*names, f"{name} is missing") if self.flag else names

    @property
    def becomes(self) -> str:
        """The features, in words."""
        n_means = len(self.default)
        counts = {"feature": len(self.features) - n_means, "mean target": n_means}
        told = [f"{count:,} {what}{'s' * (count > 1)}" for what, count in counts.items() if count]
        return " and ".join(told) or NOTHING

    def encode(
        self, values: NDArray[np.float64], out: NDArray[np.float64], means: NDArray[np.float64] | None
    ) -> None:
        """Fill ``out``, (n, n_features) zeros, from values (n,), or (n, width) of texts, as
        :class:`TableKinds` returns them; ``means``, (n, n_outputs), replace the categories of these rows.
        """
        if self.encoding == "text":
            out[:] = values
            return
        missing = np.isnan(values)
        if self.encoding == "number":
            out[:, 0] = np.where(missing, self.fill, values)
            if self.values:
                self._put_means(self.codes(values), out[:, 1:], means)
        elif self.encoding == "date":
            seconds = values if self.span is None else np.clip(values, *self.span)
            out[:, 0] = np.where(missing, self.fill, seconds / _DAY)
            for number, (period, start) in enumerate(_WAVES[: 2 + self.hours]):
                seconds = values if self.span is None else within(values, *self.span, period)
                angle = 2 * np.pi * np.where(missing, 0.0, np.mod((seconds + start) / period, 1.0))
                # a date that is missing is in the middle of each circle
                out[:, 1 + 2 * number] = np.where(missing, 0.0, np.sin(angle))
                out[:, 2 + 2 * number] = np.where(missing, 0.0, np.cos(angle))
        elif self.encoding == "time":
            angle = 2 * np.pi * np.where(missing, 0.0, values / _DAY)
            out[:, 0] = np.where(missing, 0.0, np.sin(angle))
            out[:, 1] = np.where(missing, 0.0, np.cos(angle))
        elif self.encoding in ("onehot", "target"):
            codes = self.codes(values)
            if self.encoding == "onehot":
                known = np.flatnonzero(codes >= 0)
                out[known, codes[known]] = 1.0
            else:
                self._put_means(codes, out, means)
        if self.flag:
            out[:, -1] = missing

    def codes(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        """Positions (n,) of values (n,) among the levels, or among ``values``; what is missing is the next
        one, if it is known, and what is unknown -1."""
        codes = values
        if self.values:
            known = np.asarray(self.values)
            codes = np.minimum(np.searchsorted(known, values), len(known) - 1)
            codes = np.where(known[codes] == values, codes, -1)
        n_levels = len(self.levels) + len(self.values)
        return np.where(np.isnan(values), n_levels if self.has_missing else -1, codes).astype(np.intp)

    def _put_means(
        self, codes: NDArray[np.intp], out: NDArray[np.float64], means: NDArray[np.float64] | None
    ) -> None:
        # the last row stands for -1
        out[:, : len(self.default)] = self._table_of_means[codes] if means is None else means

    @cached_property
    def _table_of_means(self) -> NDArray[np.float64]:
        return np.array([*self.means, self.default], dtype=np.float64)


def within(values: NDArray[np.float64], first: float, last: float, period: float) -> NDArray[np.float64]:
    """Clip periodic values (n,) to the phases between ``first`` and ``last``; NaN stays NaN.

    A value whose (v - first) mod period exceeds last - first becomes ``first`` or ``last``, whichever is
    nearer on the circle of the period. All arguments have the same unit.

    Kernels are 0 in seasons without training rows, and linear machines extrapolate there.

    >>> within(np.array([1.0, 3.0, 5.0, 9.0, 12.0, 23.0]), 2.0, 4.0, 10.0)
    array([ 2.,  3.,  4.,  2., 12., 23.])
    """
    unseen = period - (last - first)
    if unseen <= 0.0:
        return values
    beyond = np.mod(values - first, period) - (last - first)
    return np.where(beyond > 0.0, np.where(beyond < 0.5 * unseen, last, first), values)


@dataclass(frozen=True)
class Table:
    """The columns of a table, in order, and its columns without features.

    Attributes
    ----------
    columns : columns that rows have
    ignored : names of columns that later tables may have and that are left out
    is_named : files name the columns; otherwise they have this order
    id, weight, group : names of the columns with ids, weights and groups
    refuses_missing : refuse rows with missing values, except of categories
    na : texts for a missing value, if the user gave some
    keep_na : columns in which these texts are ordinary values
    decimal : decimal mark of files that do not show it
    """

    columns: tuple[Column, ...]
    ignored: tuple[str, ...] = ()
    is_named: bool = True
    refuses_missing: bool = False
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    na: tuple[str, ...] | None = None
    keep_na: tuple[str, ...] = ()
    decimal: str = "."

    def __repr__(self) -> str:
        rows = [[one.name, one.kind, one.encoding, one.becomes] for one in self.columns]
        title = f"<Table of {len(self.columns)} columns, which become {self.n_features} features>"
        return listed(title, ["column", "kind", "encoding", "becomes"], rows)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Begin of each column's values in a row of values, and the end of the last."""
        return tuple(accumulate((column.width for column in self.columns), initial=0))

    @cached_property
    def is_mere(self) -> bool:
        """Whether unnamed rows of numbers may belong to this table."""
        return all(column.is_mere for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the features, each unique."""
        seen: dict[str, int] = {}
        names = []
        for name in (name for column in self.columns for name in column.features):
            count = seen[name] = seen.get(name, 0) + 1
            names.append(name if count == 1 else f"{name} ({count})")
        return tuple(names)

    @property
    def n_features(self) -> int:
        """Number of columns of encoded rows."""
        return len(self.features)

    def kinds(self) -> TableKinds:
        """A reader of later tables: each column with its kind and categories."""
        return TableKinds(
            {column.name: column.kind for column in self.columns},
            {column.name: column.levels for column in self.columns if column.kind == "category"},
            order=self.names,
            fixed=True,
            refuses_missing=self.refuses_missing,
            is_named=self.is_named,
            na=self.na,
            keep_na=self.keep_na,
            rules={column.name: column.rule for column in self.columns if column.rule},
            decimal=self.decimal,
            unused=[column.name for column in self.columns if column.encoding == "drop"],
        )

    def encode(
        self, values: Floats, means: Mapping[int, NDArray[np.float64]] | None = None
    ) -> NDArray[np.float64]:
        """Encode values (n, sum of widths) that :meth:`kinds` has read as features (n, n_features) float64.

        ``means``: for columns by position, target means (n, n_outputs) that replace the categories in these
        rows.
        """
        if self.is_mere and not np.isnan(values).any():
            # numbers are what they become
            return np.asarray(values, dtype=np.float64)
        encoded = np.zeros((len(values), self.n_features))
        own = means or {}
        first = 0
        for position, column in enumerate(self.columns):
            last = first + len(column.features)
            if last > first:
                start, stop = self.starts[position : position + 2]
                of_column = np.asarray(
                    values[:, start if column.width == 1 else slice(start, stop)], np.float64
                )
                column.encode(of_column, encoded[:, first:last], own.get(position))
            first = last
        return encoded

    @cached_property
    def _known(self) -> NDArray[np.float64]:
        """Least and largest value of each column that needs no warning, (2, n_columns)."""
        known = np.full((2, len(self.columns)), np.inf)
        known[0] = -np.inf
        for position, column in enumerate(self.columns):
            if column.encoding in ("onehot", "target"):
                known[0, position] = 0.0
            elif column.span is not None:
                low, high = column.span
                beyond = _FAR[column.encoding] * (high - low)
                known[:, position] = low - beyond, high + beyond
        return known

    def unseen(self, values: Floats) -> dict[str, int]:
        """Number of rows with values outside the training rows, by column name, for columns with such rows.

        These are unknown categories, dates outside the training range by more than a hundredth of it, and
        numbers outside the training range by more than it.
        """
        own, (low, high) = values[:, self.starts[:-1]], self._known
        counts = np.count_nonzero((own < low) | (own > high), axis=0)
        return {self.columns[at].name: int(counts[at]) for at in np.flatnonzero(counts)}

    def told_unseen(self, unseen: Mapping[str, int], rows: str) -> list[str]:
        """Sentences on rows with values outside the training rows, as :meth:`unseen` counts them."""
        told = []
        for encodings, what in _UNSEEN.items():
            names = [column.name for column in self.columns if column.encoding in encodings]
            some = [f"{name} ({unseen[name]:,})" for name in names if name in unseen]
            if some:
                more = f" and {len(some) - _SHOWN:,} more columns" if len(some) > _SHOWN else ""
                told.append(f"{rows} with {what}: {', '.join(some[:_SHOWN])}{more}")
        return told

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, exact; defaults are left out."""
        standard = asdict(Column("", "number", "number"))
        columns = [
            {name: value for name, value in asdict(column).items() if value != standard.get(name)}
            | {"name": column.name, "kind": column.kind, "encoding": column.encoding}
            for column in self.columns
        ]
        return {
            "columns": columns,
            "ignored": list(self.ignored),
            "is_named": self.is_named,
            "refuses_missing": self.refuses_missing,
            "id": self.id,
            **({} if self.weight is None else {"weight": self.weight}),
            **({} if self.group is None else {"group": self.group}),
            **({} if self.na is None else {"na": list(self.na)}),
            **({"keep_na": list(self.keep_na)} if self.keep_na else {}),
            **({"decimal": self.decimal} if self.decimal != "." else {}),
        }


class KnownRows:
    """Encodes rows as features of a table that was fitted on others.

    Attributes
    ----------
    table : the table
    unseen : rows with values outside the training rows, see :meth:`Table.unseen`
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.unseen: dict[str, int] = {}

    def train(self, rows: Rows, keys: Keys | None = None) -> Rows:
        """Encode rows, with the keys of their groups, if any."""
        values = np.asarray(converted(rows, sparse=False))
        add_counts(self.unseen, self.table.unseen(values))
        return converted(self.table.encode(values), sparse=isinstance(rows, SparseRows))

    test = train


def are_alike(first: Table | None, second: Table | None) -> bool:
    """Whether two tables (None: plain numbers) encode their common columns in the same way."""
    if first is None or second is None:
        return all(one is None or one.is_mere for one in (first, second))
    theirs = {column.name: column.made for column in second.columns}
    return all(theirs.get(column.name, column.made) == column.made for column in first.columns)


def add_counts(total: dict[str, int], more: Mapping[str, int]) -> None:
    """Add counts by name."""
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def told_unknown(names: Collection[str]) -> str:
    """A sentence on columns that a model does not know."""
    shown = ", ".join(map(repr, sorted(names)[:_SHOWN])) + (
        f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    )
    return f"column{'s' * (len(names) > 1)} unknown to the model, ignored: {shown}"
