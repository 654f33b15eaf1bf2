"""Encoding of table columns as features: fitted on training rows, applied to later ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.held_out import Keys
from distkern.core.sparse import Rows, SparseRows, converted
from distkern.core.types import Floats
from distkern.data.columns import COLUMNS, AbstractColumn
from distkern.data.columns._reading import OPTIONS, Remedies
from distkern.data.columns._target_means import N_SIGNS, AbstractMeansColumn
from distkern.data.columns.base import DROP, DroppedColumn
from distkern.data.columns.date import DateColumn
from distkern.data.store.description import described

if TYPE_CHECKING:
    from distkern.data.formats._kinds import TableKinds

#: rows with a value unlike the training rows (False), or without one (True), by column name and this
Unseen: TypeAlias = dict[tuple[str, bool], int]
#: most columns listed in a note
_SHOWN = 8


@dataclass(frozen=True)
class _StoredTable:
    """A table in JSON.

    Attributes
    ----------
    columns : columns that rows have
    ignored : names of columns to leave out if later tables have them
    is_named : files name the columns; otherwise they have this order
    id, weight, group : names of the columns with ids, weights and groups
    refuses_missing : refuse rows with missing values, except of categories
    na : texts for a missing value, if the user gave some
    keep_na : columns in which these texts are ordinary values
    decimal : decimal mark of files that do not show it
    """

    columns: Sequence[Any]
    ignored: tuple[str, ...] = ()
    is_named: bool = True
    refuses_missing: bool = False
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    na: tuple[str, ...] | None = None
    keep_na: tuple[str, ...] = ()
    decimal: str = "."


@dataclass(frozen=True)
class Table(_StoredTable):
    """The columns of a table, in order, and its columns without features."""

    columns: tuple[AbstractColumn, ...]

    def __repr__(self) -> str:
        from distkern.core.text import listed

        rows = [[one.name, one.kind, one.encoding, one.becomes] for one in self.columns]
        title = f"<Table of {len(self.columns)} columns, which become {self.n_features} features>"
        return listed(title, ["column", "kind", "encoding", "becomes"], rows)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Begin of each column's values in a row of values, and the end of the last."""
        return tuple(accumulate((column.width for column in self.columns), initial=0))

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """End of each column's features in an encoded row, after 0."""
        return tuple(accumulate((len(column.features) for column in self.columns), initial=0))

    @cached_property
    def is_numeric(self) -> bool:
        """Whether unnamed rows of numbers may belong to this table."""
        return all(column.is_numeric for column in self.columns)

    @cached_property
    def _lookups(self) -> dict[int, tuple[AbstractMeansColumn, slice]]:
        """Columns that may have target means or signs of their values, and their features, by position."""
        places = enumerate(zip(self.columns, pairwise(self.ends), strict=True))
        return {at: (one, slice(*ends)) for at, (one, ends) in places if isinstance(one, AbstractMeansColumn)}

    @property
    def has_means(self) -> bool:
        """Whether some features are means of the targets of other training rows."""
        return any(column.has_means for column, _ in self._lookups.values())

    @property
    def multiplicity(self) -> tuple[int, ...]:
        """For each feature, the number of features that stand for one value together, and 0 for target means;
        empty if all are 1.
        """
        counts = np.ones(self.n_features, dtype=np.int64)
        for column, features in self._lookups.values():
            counts[features][column.at_means] = 0
            counts[features][column.at_signs] = N_SIGNS
        return tuple(counts.tolist()) if (counts != 1).any() else ()

    @property
    def are_of_values(self) -> NDArray[np.bool_]:
        """Which features (n_features,) are looked up by a value: its target means and signs."""
        found = np.zeros(self.n_features, dtype=bool)
        for column, features in self._lookups.values():
            found[features][column.at_means] = found[features][column.at_signs] = True
        return found

    def by_column(self, of_features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sums (n_columns,) of numbers (n_features,) over the features of each column."""
        return np.array([of_features[first:last].sum() for first, last in pairwise(self.ends)])

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

    @cached_property
    def shown(self) -> tuple[tuple[str, slice], ...]:
        """Names and places of the features for display: one name for all that mean nothing alone."""
        found = []
        for column, first, last in zip(self.columns, self.ends, self.ends[1:], strict=False):
            joint, words = column.joint
            start, stop = first + joint.start, first + joint.stop
            for at in range(first, last):
                if at == start < stop:
                    found.append((words, slice(start, stop)))
                elif not start <= at < stop:
                    found.append((self.features[at], slice(at, at + 1)))
        return tuple(found)

    @property
    def n_features(self) -> int:
        """Number of columns of encoded rows."""
        return self.ends[-1]

    def kinds(self, remedies: Remedies = OPTIONS) -> TableKinds:
        """Return a reader of later tables: each column with its kind and categories."""
        # imported here, as encoding rows needs no reader
        from distkern.data.formats._kinds import TableKinds

        return TableKinds(
            {column.name: column.kind for column in self.columns},
            {column.name: column.known_words for column in self.columns},
            order=self.names,
            fixed=True,
            refuses_missing=self.refuses_missing,
            is_named=self.is_named,
            na=self.na,
            keep_na=self.keep_na,
            rules={column.name: column.rule for column in self.columns},
            zones={column.name: column.zone for column in self.columns if isinstance(column, DateColumn)},
            decimal=self.decimal,
            unused=[column.name for column in self.columns if isinstance(column, DroppedColumn)],
            remedies=remedies,
        )

    def encode(
        self, values: Floats, means: Mapping[int, NDArray[np.float64]] | None = None
    ) -> NDArray[np.float64]:
        """Encode values (n, sum of widths) that :meth:`kinds` has read as features (n, n_features) float64.

        ``means``: for columns by position, target means (n, n_outputs) that replace the categories in these
        rows.
        """
        if self.is_numeric and not np.isnan(values).any():
            # plain numbers are their own encoding
            return np.asarray(values, dtype=np.float64)
        encoded = np.zeros((len(values), self.n_features))
        own = means or {}
        places = zip(self.columns, pairwise(self.starts), pairwise(self.ends), strict=True)
        for position, (column, (start, stop), (first, last)) in enumerate(places):
            if last > first:
                of_column = values[:, start if column.width == 1 else slice(start, stop)]
                column.encode(
                    np.asarray(of_column, dtype=np.float64), encoded[:, first:last], own.get(position)
                )
        return encoded

    @cached_property
    def _known(self) -> NDArray[np.float64]:
        """Interval of each column's values that needs no warning, (2, n_columns)."""
        return np.array([column.known for column in self.columns]).reshape(-1, 2).T

    def unseen(self, values: Floats) -> Unseen:
        """Count the rows with values unlike the training rows (:attr:`AbstractColumn.known`), and those
        without a value in a column that every training row has, by column name.
        """
        own, (low, high) = values[:, self.starts[:-1]], self._known
        are_unseen = (own < low) | (own > high)
        for at, (column, _) in self._lookups.items():
            if column.has_signs:
                of_column = np.asarray(own[:, at], dtype=np.float64)
                are_unseen[:, at] = (column.codes(of_column) < 0) & ~np.isnan(of_column)
        are_new = np.isnan(own) & ~self._may_miss
        return {
            (self.columns[at].name, is_missing): int(count)
            for is_missing, found in ((False, are_unseen), (True, are_new))
            for at, count in enumerate(np.count_nonzero(found, axis=0))
            if count
        }

    @cached_property
    def _may_miss(self) -> NDArray[np.bool_]:
        return np.array([one.has_missing or isinstance(one, DroppedColumn) for one in self.columns])

    def unseen_notes(self, unseen: Unseen, rows: str) -> list[str]:
        """Return sentences on rows with values unlike the training rows, as :meth:`unseen` counts them."""
        lists: dict[str, list[str]] = {}
        for column in self.columns:
            if count := unseen.get((column.name, False)):
                lists.setdefault(f"with {column.unseen}", []).append(f"{column.name} ({count:,})")
        for column in self.columns:
            if count := unseen.get((column.name, True)):
                what = "without a value in columns that have one in every training row"
                lists.setdefault(what, []).append(f"{column.name} ({count:,}, {column.filled})")
        return [
            f"{rows} {what}: {', '.join(some[:_SHOWN])}"
            + (f" and {len(some) - _SHOWN:,} more columns" if len(some) > _SHOWN else "")
            for what, some in lists.items()
        ]

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers, texts and lists, exact; defaults are left out."""
        return {
            "columns": [column.to_json() for column in self.columns],
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

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic import AfterValidator

        # a stored table is an object of JSON with the kind of each column
        return handler(Annotated[dict[str, Any], AfterValidator(_table_of)])


def _table_of(stored: Mapping[str, Any]) -> Table:
    found = described(_StoredTable, stored)
    return Table(**(vars(found) | {"columns": tuple(map(_column_of, found.columns))}))


def _column_of(stored: Mapping[str, Any]) -> AbstractColumn:
    """Return a column from JSON; :class:`ValueError` if it is not one."""
    kind = COLUMNS.get(str(stored.get("kind")))
    if kind is None:
        raise ValueError(f"a column of unknown kind {stored.get('kind')!r}")
    if stored.get("encoding") == DROP:
        return described(DroppedColumn, {**stored, "dropped": kind.kind})
    found = described(kind, stored)
    if found.encoding != stored.get("encoding"):
        raise ValueError(f"a column of kind {kind.kind!r} with encoding {stored.get('encoding')!r}")
    return found


class KnownRows:
    """Encodes rows as features of a table that was fitted to other rows.

    Attributes
    ----------
    table : the table
    unseen : rows with values unlike the training rows, see :meth:`Table.unseen`
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.unseen: Unseen = {}

    def train(self, rows: Rows, keys: Keys | None = None) -> Rows:
        """Encode rows, with the keys of their groups, if any."""
        values = np.asarray(converted(rows, sparse=False))
        add_counts(self.unseen, self.table.unseen(values))
        return converted(self.table.encode(values), sparse=isinstance(rows, SparseRows))

    test = train


def are_alike(first: Table | None, second: Table | None) -> bool:
    """Whether two tables (None: plain numbers) encode their common columns in the same way."""
    if first is None or second is None:
        return all(one is None or one.is_numeric for one in (first, second))
    theirs = {column.name: column.signature for column in second.columns}
    return all(theirs.get(column.name, column.signature) == column.signature for column in first.columns)


def add_counts(total: Unseen, more: Unseen) -> None:
    """Add counts."""
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def unknown_note(names: Collection[str]) -> str:
    """Return a sentence on columns that a model does not know."""
    shown = ", ".join(map(repr, sorted(names)[:_SHOWN])) + (
        f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    )
    return f"column{'s' * (len(names) > 1)} unknown to the model, ignored: {shown}"
