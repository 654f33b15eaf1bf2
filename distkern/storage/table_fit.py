"""Fits how the columns of a table become features, on training rows that come a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError, unknown_name
from distkern.common.held_out import Keys, keys_of
from distkern.common.sparse import Rows, SparseRows, converted
from distkern.common.types import Block, Floats
from distkern.formats._kinds import TableKinds
from distkern.storage.table import Column, Encoding, Table, add_counts

Impute: TypeAlias = Literal["mean", "median", "flag", "none"]
IMPUTE: tuple[Impute, ...] = get_args(Impute)
CATEGORICAL = ("onehot", "target", "drop")

#: a column with more categories than this gets target means
MAX_ONEHOT = 32
#: nobody means a column for each of more, and rows are stored dense
_MOST_ONEHOT = 2_000
#: of target means: one for each class
_MOST_OUTPUTS = 32
#: a training row's target means are those of the rows outside its fold
_FOLDS = 5
#: of target means: as many rows of the mean of all are added to each category, so that rare ones are near it
_SMOOTHING = 10.0
#: rows that a median is taken of
_SAMPLE = 100_000
#: stands for what is missing where the fold of a row is found
_MISSING = np.finfo(np.float64).max


@dataclass(frozen=True)
class TableOptions:
    """What the user said about the columns of tables; words that are not known raise :class:`InputError`.

    Attributes
    ----------
    impute : what stands for a missing number: the mean of the training rows' or (of up to 100,000 of them)
        their median; "flag" is the mean, and another feature that says so; "none" refuses it
    categorical : "onehot", "target" or "drop" by name of column
    drop : columns that are no features
    weight : column with the weights of the training rows
    group : column with the groups of the training rows, which are held out together
    id : column that names the rows, which is no feature and is written beside predictions
    na : texts that stand for a missing value, in the target too; None: those that commonly do
    """

    impute: Impute = "mean"
    categorical: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    weight: str | None = None
    id: str | None = None
    na: tuple[str, ...] | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        if self.impute not in IMPUTE:
            raise unknown_name("filling of missing values", self.impute, IMPUTE)
        for word in self.categorical.values():
            if word not in CATEGORICAL:
                raise unknown_name("encoding of categories", word, CATEGORICAL)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that become no features."""
        own = () if self.id is None else (self.id,)
        return (*self.drop, *own, *(name for name, word in self.categorical.items() if word == "drop"))

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that later tables need not have."""
        return (*self.left_out, *(name for name in (self.weight, self.group) if name is not None))

    def kinds(self) -> TableKinds:
        """What reads the tables."""
        categories = [name for name, word in self.categorical.items() if word != "drop"]
        return TableKinds(
            dict.fromkeys(categories, "category"), refuses_missing=self.impute == "none", na=self.na
        )


#: values (n, n_columns); targets (n,), which are numbers or class codes or None; keys of groups, if there are
Piece: TypeAlias = tuple[Floats, NDArray[Any] | None, Keys | None]


class TableFit:
    """Fits a :class:`Table` to the training rows, see :meth:`run`.

    Parameters
    ----------
    kinds : has read the rows
    n_rows : training rows
    target_name : of what target means are of, if it is a number
    classes : else those of which there are means: class 1 of two, or all
    """

    def __init__(
        self,
        kinds: TableKinds,
        options: TableOptions,
        n_rows: int,
        target_name: str | None,
        classes: Sequence[Any] | None,
        *,
        is_named: bool = True,
    ) -> None:
        assert kinds.order is not None
        self._kinds, self._options, self._is_named = kinds, options, is_named
        self._names, self._n_rows = kinds.order, n_rows
        self._target_names: tuple[str, ...] = () if target_name is None else (target_name,)
        self._outputs: NDArray[np.intp] | None = None
        if classes is not None:
            first = 1 if len(classes) == 2 else 0
            self._outputs = np.arange(first, len(classes))
            self._target_names = tuple(map(str, classes[first:]))
        width = len(self._names)
        self._present = np.zeros(width, dtype=np.int64)
        self._sums = np.zeros(width)
        self._hours = np.zeros(width, dtype=bool)
        self._counts = {
            at: np.zeros(len(kinds.levels.get(name, ())), dtype=np.int64)
            for at, name in enumerate(self._names)
            if kinds.kinds[name] == "category"
        }
        self._sample: list[NDArray[np.float64]] = []
        self._seen = 0
        self._order: dict[int, NDArray[np.float64]] = {}
        self._folds: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self.columns: list[Column] = []
        self.left_out: list[str] = []
        self.notices: list[str] = []

    def run(self, pieces: Callable[[], Iterable[Piece]]) -> EncodedRows:
        """Fit to all training rows, in the order in which they are stored; what makes features of them.

        They are gone through twice if some columns get target means.

        Raises
        ------
        InputError
            If a column has too many categories for what is wanted of it.
        """
        for values, _, _ in pieces():
            self._count(values)
        self._settle()
        if self._folds:
            for values, targets, keys in pieces():
                assert targets is not None
                self._add_targets(values, targets, keys)
        return EncodedRows(self)

    def _count(self, values: Floats) -> None:
        rows = np.asarray(values, dtype=np.float64)
        there = ~np.isnan(rows)
        self._present += there.sum(axis=0)
        self._sums += np.where(there, rows, 0.0).sum(axis=0)
        for at, counts in self._counts.items():
            counts += np.bincount(rows[there[:, at], at].astype(np.intp), minlength=len(counts))
        for at, name in enumerate(self._names):
            if self._kinds.kinds[name] == "date":
                self._hours[at] |= bool(np.any(np.mod(rows[there[:, at], at], 86_400.0)))
        if self._options.impute == "median":
            step = -(-self._n_rows // _SAMPLE)
            self._sample.append(rows[-self._seen % step :: step])
        self._seen += len(rows)

    def _settle(self) -> None:
        """Decide what becomes of each column, once all rows are counted."""
        fills = self._sums / np.maximum(self._present, 1)
        if self._options.impute == "median":
            sample = np.concatenate(self._sample)
            with np.errstate(invalid="ignore"):
                for column in np.flatnonzero(~np.isnan(sample).all(axis=0)):
                    fills[column] = np.nanmedian(sample[:, column])
        for at, name in enumerate(self._names):
            missing = bool(self._present[at] < self._n_rows)
            kind = self._kinds.kinds[name]
            if not self._present[at]:
                self.columns.append(Column(name, kind, "drop"))
            elif kind == "category":
                self.columns.append(self._category(at, name, missing))
            else:
                flag = missing and self._options.impute == "flag"
                days = kind == "date"
                fill = float(fills[at]) / (86_400.0 if days else 1.0)
                hours = bool(self._hours[at])
                self.columns.append(
                    Column(name, kind, "date" if days else "number", fill, flag=flag, hours=hours)
                )
        self._tell()

    def _category(self, at: int, name: str, missing: bool) -> Column:
        counts = self._counts[at]
        words = list(self._kinds.levels.get(name, ()))
        levels = sorted(word for word, count in zip(words, counts.tolist(), strict=True) if count)
        n_levels = len(levels)
        encoding: Encoding = "onehot" if n_levels <= MAX_ONEHOT else "target"
        wanted = self._options.categorical.get(name)
        where = f"column {name!r}"
        if wanted is None and n_levels > MAX_ONEHOT and 2 * np.count_nonzero(counts == 1) > self._present[at]:
            return Column(name, "category", "drop")
        if wanted is not None:
            encoding = "onehot" if wanted == "onehot" else "target"
        if encoding == "onehot" and n_levels > _MOST_ONEHOT:
            raise InputError(
                f"{n_levels:,} categories, and one feature for each can be had of {_MOST_ONEHOT:,}",
                where=where,
                mend=f"give --categorical {name}=target (or drop)",
            )
        if encoding == "target" and not 0 < len(self._target_names) <= _MOST_OUTPUTS:
            said = f"{len(self._target_names):,} classes" if self._target_names else "no target"
            raise InputError(
                f"{n_levels:,} categories, and no means of the target can stand for them: there are {said}",
                where=where,
                mend=f"give --categorical {name}=onehot (or drop)",
            )
        position = {level: rank for rank, level in enumerate(levels)}
        self._order[at] = np.array([position.get(word, -1) for word in words], dtype=np.float64)
        size = n_levels + missing
        outputs = self._target_names if encoding == "target" else ()
        zeros = np.zeros((size, len(outputs)))
        if encoding == "target":
            self._folds[at] = np.zeros((_FOLDS, size)), np.zeros((_FOLDS, size, len(outputs)))
        return Column(
            name,
            "category",
            encoding,
            levels=tuple(levels),
            has_missing=missing,
            means=tuple(map(tuple, zeros.tolist())) if outputs else (),
            default=(0.0,) * len(outputs),
            outputs=outputs,
        )

    def _tell(self) -> None:
        """Say what was decided, and what is missing."""

        def listed(what: str, columns: Mapping[str, int]) -> None:
            if columns:
                shown = [f"{name} ({count:,})" for name, count in [*columns.items()][:8]]
                more = f" and {len(columns) - 8:,} more" if len(columns) > 8 else ""
                self.notices.append(f"{what}: {', '.join(shown)}{more}")

        by_encoding = {
            encoding: {
                column.name: len(column.levels) for column in self.columns if column.encoding == encoding
            }
            for encoding in ("onehot", "target")
        }
        listed("categories, one feature for each", by_encoding["onehot"])
        listed("categories as mean targets", by_encoding["target"])
        absent = dict(zip(self._names, (self._n_rows - self._present).tolist(), strict=True))
        filled = [column for column in self.columns if column.encoding in ("number", "date")]
        how = {"flag": "mean and a flag"}.get(self._options.impute, self._options.impute)
        listed(
            f"missing values filled with the {how}",
            {column.name: absent[column.name] for column in filled if absent[column.name]},
        )
        for column in self.columns:
            if column.encoding == "drop":
                at = self._names.index(column.name)
                why = "most of its values occur once" if self._present[at] else "it has no value"
                of_files = self._kinds.leave_out == TableKinds.leave_out and self._present[at]
                keep = f" (--categorical {column.name}=target keeps it)" if of_files else ""
                self.left_out.append(f"column {column.name!r} is left out: {why}{keep}")
        self.notices += self.left_out

    def _add_targets(self, values: Floats, targets: NDArray[Any], keys: Keys | None) -> None:
        translated = self.translated(values)
        folds = self.folds(translated, keys)
        of_rows = targets[:, None] if self._outputs is None else targets[:, None] == self._outputs
        for at, (counts, sums) in self._folds.items():
            flat = folds * counts.shape[1] + self._codes(at, translated)
            counts += np.bincount(flat, minlength=counts.size).reshape(counts.shape)
            for output in range(sums.shape[2]):
                found = np.bincount(flat, weights=of_rows[:, output], minlength=counts.size)
                sums[:, :, output] += found.reshape(counts.shape)

    def _codes(self, at: int, translated: NDArray[np.float64]) -> NDArray[np.intp]:
        codes = translated[:, at]
        return np.where(np.isnan(codes), len(self.columns[at].levels), codes).astype(np.intp)

    def translated(self, values: Floats) -> NDArray[np.float64]:
        """Values in which categories are their positions in the table and no longer those in which they were
        met; -1 for those that no training row has."""
        rows = np.array(values, dtype=np.float64)
        for at, order in self._order.items():
            there = ~np.isnan(rows[:, at])
            rows[there, at] = order[rows[there, at].astype(np.intp)]
        return rows

    def result(self) -> Table:
        """The fitted table."""
        columns = list(self.columns)
        for at, (counts, sums) in self._folds.items():
            total, of_level = sums.sum(axis=0), counts.sum(axis=0)
            prior = total.sum(axis=0) / max(1.0, of_level.sum())
            means = (total + _SMOOTHING * prior) / (of_level[:, None] + _SMOOTHING)
            rows = tuple(map(tuple, means.tolist()))
            columns[at] = replace(columns[at], means=rows, default=tuple(prior.tolist()))
        return Table(
            tuple(columns),
            self._options.ignored,
            self._is_named,
            refuses_missing=self._options.impute == "none",
            id=self._options.id,
            na=self._options.na,
        )

    def folds(self, translated: NDArray[np.float64], group_keys: Keys | None = None) -> NDArray[np.intp]:
        """The fold (n_rows,) of a row, by its group or its values alone: neither those of one group nor equal
        rows tell each other's targets."""
        kept = [at for at, column in enumerate(self.columns) if column.encoding != "drop"]
        some = translated[:, kept]
        # what is missing has one pattern of bits, which no number has
        keys = keys_of(Block(np.where(np.isnan(some), _MISSING, some), group_keys=group_keys))
        return (keys % np.uint64(_FOLDS)).astype(np.intp)

    def own_means(self, translated: NDArray[np.float64], keys: Keys | None) -> dict[int, NDArray[np.float64]]:
        """Smoothed target means (n_rows, n_outputs) for each target-encoded column, by its position.

        A row's means are those of the training rows with its category that are outside its fold.
        """
        folds = self.folds(translated, keys)
        found = {}
        for at, (counts, sums) in self._folds.items():
            other_counts, other_sums = counts.sum(axis=0) - counts, sums.sum(axis=0) - sums
            n_others = other_counts.sum(axis=1)
            everything = sums.sum(axis=(0, 1)) / max(1.0, counts.sum())
            prior = np.where(
                n_others[:, None] > 0, other_sums.sum(axis=1) / np.maximum(n_others, 1)[:, None], everything
            )
            means = (other_sums + _SMOOTHING * prior[:, None]) / (other_counts[:, :, None] + _SMOOTHING)
            found[at] = means[folds, self._codes(at, translated)]
        return found


class KnownRows:
    """Rows as features of a table that was fitted on others.

    Attributes
    ----------
    table : how
    unseen : rows with a category that no training row has, by name of column
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.unseen: dict[str, int] = {}

    def train(self, rows: Rows, keys: Keys | None = None) -> Rows:
        """Rows as they were read, with the keys of their groups, if there are any."""
        values = np.asarray(converted(rows, sparse=False))
        add_counts(self.unseen, self.table.unseen(values))
        return converted(self.table.encode(values), sparse=isinstance(rows, SparseRows))

    test = train


class EncodedRows(KnownRows):
    """The rows of a data set that is made, in the columns of its table.

    Attributes
    ----------
    table : fitted on the training rows
    unseen : test rows with a category that no training row has, by name of column
    """

    def __init__(self, fit: TableFit) -> None:
        super().__init__(fit.result())
        self._fit = fit

    def train(self, rows: Rows, keys: Keys | None = None) -> Rows:
        """Training rows, with the target means of other rows."""
        values = self._fit.translated(np.asarray(converted(rows, sparse=False)))
        encoded = self.table.encode(values, self._fit.own_means(values, keys))
        return converted(encoded, sparse=isinstance(rows, SparseRows))

    def test(self, rows: Rows, keys: Keys | None = None) -> Rows:
        """Test rows."""
        return super().train(self._fit.translated(np.asarray(converted(rows, sparse=False))))
