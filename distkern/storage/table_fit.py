"""Fits the encoding of table columns on training rows that come a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError, unknown_name
from distkern.common.held_out import Keys, keys_of
from distkern.common.sparse import Rows, SparseRows, converted
from distkern.common.types import Block, Floats
from distkern.formats._kinds import MAX_LEVELS, Kind, TableKinds
from distkern.storage.table import Column, Encoding, KnownRows, Table
from distkern.storage.table_means import FOLDS, TargetSums
from distkern.storage.table_numbers import LEAST_VALUES, MEAN_ROWS, telling_numbers
from distkern.storage.table_report import ColumnReport, NumberFacts, TableSample, told_columns

Impute: TypeAlias = Literal["mean", "median", "flag", "none"]
IMPUTE: tuple[Impute, ...] = get_args(Impute)
CATEGORICAL = ("onehot", "target", "drop")

#: a column with more categories than this gets target means
MAX_ONEHOT = 32
#: more one-hot columns are a mistake, and rows are stored dense
_MOST_ONEHOT = 2_000
#: most outputs of target means, one for each class, for categories and for numbers
_MOST_OUTPUTS, _MOST_OF_NUMBERS = 32, 8
#: rows that a median is taken of
_SAMPLE = 100_000
#: replaces missing values when a row's fold is drawn
_MISSING = np.finfo(np.float64).max


@dataclass(frozen=True)
class TableOptions:
    """Options on the columns of tables; unknown words raise :class:`InputError`.

    Attributes
    ----------
    impute : replacement for missing numbers: the mean of the training rows, or their median (of up to
        100,000 of them); "flag" is the mean with a feature that marks them; "none" refuses them
    categorical : "onehot", "target" or "drop" by column name
    drop : columns to leave out
    weight : column with the weights of the training rows
    group : column with the groups of the training rows, which are held out together
    id : column with the names of the rows, not a feature, written beside predictions
    na : texts for a missing value, in the target too, in addition to common ones, or instead of them if the
        empty text is included
    keep_na : columns in which these texts, except the empty one, are ordinary values
    text : columns whose words are hashed
    day_first : whether 3/4/2024 is in April, in columns that do not show it
    """

    impute: Impute = "mean"
    categorical: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    weight: str | None = None
    id: str | None = None
    na: tuple[str, ...] | None = None
    group: str | None = None
    keep_na: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    day_first: bool | None = None

    def __post_init__(self) -> None:
        for name in self.text:
            if name in self.categorical or name in self.left_out:
                where = f"--text {name}"
                raise InputError("the column has another role too", where=where, hint="give one of them")
        if self.impute not in IMPUTE:
            raise unknown_name("filling of missing values", self.impute, IMPUTE)
        for word in self.categorical.values():
            if word not in CATEGORICAL:
                raise unknown_name("encoding of categories", word, CATEGORICAL)

    def said(self) -> dict[str, Any]:
        """Options that differ from their defaults; that no value may be missing is always included."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        usual = TableOptions(impute="none" if self.impute == "none" else "mean")
        return {name: value for name, value in values.items() if value != getattr(usual, name)}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns without features."""
        own = () if self.id is None else (self.id,)
        return (*self.drop, *own, *(name for name, word in self.categorical.items() if word == "drop"))

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that later tables may lack."""
        return (*self.left_out, *(name for name in (self.weight, self.group) if name is not None))

    def kinds(self) -> TableKinds:
        """A reader of the tables."""
        said: dict[str, Kind] = {
            name: "category" for name, word in self.categorical.items() if word != "drop"
        }
        said |= dict.fromkeys(self.text, "text")
        return TableKinds(
            said,
            refuses_missing=self.impute == "none",
            na=self.na,
            keep_na=self.keep_na,
            day_first=self.day_first,
        )


#: values (n, sum of widths); targets (n,), which are numbers or class codes or None; keys of groups and
#: weights, if there are
TablePiece: TypeAlias = tuple[Floats, NDArray[Any] | None, Keys | None, NDArray[np.float64] | None]


class TableFit:
    """Fits a :class:`Table` to the training rows, see :meth:`run`.

    Parameters
    ----------
    kinds : reader of the rows
    n_rows : number of training rows
    target_name : name of a numeric target, for target means
    classes : classes with target means otherwise: class 1 of two, or all
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
        self._starts = list(accumulate((kinds.width(name) for name in self._names), initial=0))
        self._present = np.zeros(width, dtype=np.int64)
        self._sums = np.zeros(width)
        self._hours = np.zeros(width, dtype=bool)
        self._counts = {
            at: np.zeros(len(kinds.levels.get(name, ())), dtype=np.int64)
            for at, name in enumerate(self._names)
            if kinds.kinds[name] == "category" and name not in kinds.overflowing
        }
        self._facts = {
            at: NumberFacts()
            for at, name in enumerate(self._names)
            if kinds.kinds[name] not in ("category", "text")
        }
        self._rows = TableSample(n_rows, width)
        self._sample: list[NDArray[np.float64]] = []
        self._seen = 0
        self._order: dict[int, NDArray[np.float64]] = {}
        self._means: dict[int, TargetSums] = {}
        self.columns: list[Column] = []
        self.report: list[ColumnReport] = []

    def run(self, pieces: Callable[[], Iterable[TablePiece]]) -> EncodedRows:
        """Fit to all training rows in stored order; return the encoder.

        Two passes are made if some columns get target means.

        Raises
        ------
        InputError
            If a column has too many categories for its encoding.
        """
        for values, targets, keys, _ in pieces():
            self._count(values, targets, keys)
        self._settle()
        if self._means:
            for values, targets, keys, weights in pieces():
                assert targets is not None
                self._add_targets(values, targets, keys, weights)
        return EncodedRows(self)

    def _count(self, values: Floats, targets: NDArray[Any] | None, keys: Keys | None) -> None:
        # the first hash of a text says nothing, and is never missing
        rows = np.asarray(values[:, self._starts[:-1]], dtype=np.float64)
        self._rows.add(rows, targets, keys)
        there = ~np.isnan(rows)
        self._present += there.sum(axis=0)
        self._sums += np.where(there, rows, 0.0).sum(axis=0)
        for at, counts in self._counts.items():
            counts += np.bincount(rows[there[:, at], at].astype(np.intp), minlength=len(counts))
        for at, facts in self._facts.items():
            facts.add(rows[there[:, at], at])
        for at, name in enumerate(self._names):
            if self._kinds.kinds[name] == "date":
                self._hours[at] |= bool(np.any(np.mod(rows[there[:, at], at], 86_400.0)))
        if self._options.impute == "median":
            step = -(-self._n_rows // _SAMPLE)
            self._sample.append(rows[-self._seen % step :: step].copy())
        self._seen += len(rows)

    def _settle(self) -> None:
        """Decide the encoding of each column, once all rows are counted."""
        fills = self._sums / np.maximum(self._present, 1)
        if self._options.impute == "median":
            sample = np.concatenate(self._sample)
            with np.errstate(invalid="ignore"):
                for column in np.flatnonzero(~np.isnan(sample).all(axis=0)):
                    fills[column] = np.nanmedian(sample[:, column])
        for at, name in enumerate(self._names):
            missing = bool(self._present[at] < self._n_rows)
            kind = self._kinds.kinds[name]
            if not self._present[at] or name in self._kinds.overflowing:
                self.columns.append(Column(name, kind, "drop"))
            elif kind == "text":
                self.columns.append(Column(name, kind, "text"))
            elif kind == "category":
                self.columns.append(self._category(at, name, missing))
            else:
                flag = missing and self._options.impute == "flag"
                days = kind == "date"
                fill = float(fills[at]) / (86_400.0 if days else 1.0)
                hours = bool(self._hours[at])
                encoding: Encoding = "date" if days else "time" if kind == "time" else "number"
                rule = self._kinds.rules.get(name, "")
                span = None if kind in ("boolean", "time") else (self._facts[at].low, self._facts[at].high)
                found = Column(name, kind, encoding, fill, flag=flag, hours=hours, span=span, rule=rule)
                self.columns.append(replace(found, has_missing=missing))
        for at, values in self._telling().items():
            self.columns[at] = self._with_means(at, self.columns[at], values=tuple(values.tolist()))
        self._tell()

    def _telling(self) -> dict[int, NDArray[np.float64]]:
        """Columns of numbers that get target means too, and their values; none in tables of mere numbers,
        which may be arrays as well."""
        if all(column.encoding in ("number", "drop") for column in self.columns):
            return {}
        values = {
            at: facts.values
            for at, facts in self._facts.items()
            if facts.values is not None
            and self.columns[at].encoding == self.columns[at].kind == "number"
            and LEAST_VALUES <= len(facts.values) <= self._present[at] / MEAN_ROWS
        }
        if not (values and 0 < len(self._target_names) <= _MOST_OF_NUMBERS):
            return {}
        rows, targets, keys = self._rows.found
        found = telling_numbers(rows, self._of_outputs(targets), list(values), list(self._counts), keys)
        return {at: values[at] for at in found}

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
            error = InputError(
                f"{n_levels:,} categories; one-hot encoding takes at most {_MOST_ONEHOT:,}",
                where=where,
                hint=f"give --categorical {name}=target (or drop)",
            )
            self._kinds.refuse(name, error)
        if encoding == "target" and not 0 < len(self._target_names) <= _MOST_OUTPUTS:
            said = f"{len(self._target_names):,} classes" if self._target_names else "no target"
            error = InputError(
                f"{n_levels:,} categories cannot be encoded by target means: there are {said}",
                where=where,
                hint=self._kinds.as_columns.format(name),
            )
            # without a target, which is a problem itself, there is no saying
            if self._kinds.target not in self._kinds.problems:
                self._kinds.refuse(name, error)
            encoding = "onehot"
        position = {level: rank for rank, level in enumerate(levels)}
        self._order[at] = np.array([position.get(word, -1) for word in words], dtype=np.float64)
        found = Column(name, "category", "onehot", levels=tuple(levels), has_missing=missing)
        return self._with_means(at, found, encoding="target") if encoding == "target" else found

    def _with_means(self, at: int, column: Column, **changes: Any) -> Column:
        """The column with target means, which are still to be found."""
        outputs, values = self._target_names, changes.get("values", ())
        size = len(column.levels) + len(values) + column.has_missing
        self._means[at] = TargetSums(size, len(outputs))
        zeros = (0.0,) * len(outputs)
        return replace(column, means=(zeros,) * size, default=zeros, outputs=outputs, **changes)

    def _tell(self) -> None:
        """Report the encoding of each column and anything odd about it."""
        copies = self._rows.copies(self._outputs is not None)
        for at, column in enumerate(self.columns):
            facts, kinds = self._facts.get(at), self._kinds
            note = self._left_out(at) if column.encoding == "drop" else ""
            if at in copies:
                share = f"{copies[at]:.1%}".replace("100.0%", "wholly")
                note = f"alone nearly predicts the target ({share}); if it is a copy, "
                note += kinds.leave_out.format(column.name)
            elif facts is not None and column.encoding == "number" and column.kind == "number":
                with_zeros = column.name in kinds.with_zeros
                like = facts.looks_like(column.name, int(self._present[at]), with_zeros=with_zeros)
                if like == "id":
                    note = (
                        f"has another number in each row, as ids have; {kinds.leave_out.format(column.name)}"
                    )
                elif like == "code":
                    zeros = "some begin with 0" if with_zeros else "by their name"
                    note = (
                        f"has numbers that look like codes ({zeros}); {kinds.as_category.format(column.name)}"
                    )
            distinct = None if facts is None else facts.distinct.count
            if column.kind == "category":
                distinct = len(self._kinds.levels.get(column.name, ())) or None
            missing = self._n_rows - int(self._present[at])
            if column.kind == "text" or column.name in self._kinds.overflowing:
                missing = self._kinds.missing.get(column.name, 0)
            self.report.append(
                ColumnReport(column.name, _said(column), column.becomes, missing, distinct, note)
            )

    def _left_out(self, at: int) -> str:
        """Why a column is left out, and how to keep it."""
        name, why = self.columns[at].name, "is left out: most of its values occur once"
        if not (self._present[at] or name in self._kinds.overflowing):
            return "is left out: it has no value"
        keeps = f"--categorical {name}=target keeps it as categories"
        if name in self._kinds.overflowing:
            why = f"is left out: it has more than {MAX_LEVELS:,} different texts"
            keeps = f"--drop {name} leaves it out from the start"
        if self._kinds.leave_out != TableKinds.leave_out:
            return why
        return f"{why} (--text {name} uses its words, --id {name} makes it the row id, {keeps})"

    @property
    def told(self) -> list[str]:
        """Notes on the columns, a sentence each."""
        told = told_columns(self.report)
        kinds = ("number", "boolean", "date")
        if any(
            one.missing and column.kind in kinds
            for one, column in zip(self.report, self.columns, strict=True)
        ):
            how = {"flag": "mean, with a feature that marks them"}.get(
                self._options.impute, self._options.impute
            )
            told.insert(0, f"missing numbers and dates are filled with the {how} (--impute)")
        return told

    def _add_targets(
        self, values: Floats, targets: NDArray[Any], keys: Keys | None, weights: NDArray[np.float64] | None
    ) -> None:
        """Add the targets of rows to their categories; a weight counts as that many rows."""
        translated = self.translated(values)
        folds = self.folds(translated, keys)
        of_rows = self._of_outputs(targets)
        for at, sums in self._means.items():
            sums.add(self._codes(at, translated), of_rows, folds, weights)

    def _of_outputs(self, targets: NDArray[Any]) -> NDArray[np.float64]:
        """Targets (n, n_outputs) of numbers or class codes (n,)."""
        of_rows = targets[:, None] if self._outputs is None else targets[:, None] == self._outputs
        return np.asarray(of_rows, dtype=np.float64)

    def _codes(self, at: int, translated: NDArray[np.float64]) -> NDArray[np.intp]:
        return self.columns[at].codes(translated[:, self._starts[at]])

    def translated(self, values: Floats) -> NDArray[np.float64]:
        """Values with categories as positions in the table instead of provisional codes; -1 for unknown
        ones.
        """
        if not self._order:
            return np.asarray(values, dtype=np.float64)
        rows = np.array(values, dtype=np.float64)
        for at, order in self._order.items():
            place = self._starts[at]
            there = ~np.isnan(rows[:, place])
            rows[there, place] = order[rows[there, place].astype(np.intp)]
        return rows

    def result(self) -> Table:
        """The fitted table."""
        columns, name_of = list(self.columns), self._kinds.names_of
        for at, sums in self._means.items():
            means, prior = sums.means()
            rows = tuple(map(tuple, means.tolist()))
            columns[at] = replace(columns[at], means=rows, default=tuple(prior.tolist()))
        said = self._options
        nothing = tuple(column.name for column in columns if not self._stays(column))
        return Table(
            tuple(column for column in columns if self._stays(column)),
            (*(name_of.get(name, name) for name in said.ignored), *nothing),
            self._is_named,
            refuses_missing=said.impute == "none",
            **{
                role: None if name is None else name_of.get(name, name)
                for role, name in (("id", said.id), ("weight", said.weight), ("group", said.group))
            },
            na=said.na,
            keep_na=said.keep_na,
            decimal=self._kinds.usual_decimal or ".",
        )

    def _stays(self, column: Column) -> bool:
        """Whether later files with column names must have the column: not if it has no features."""
        return column.encoding != "drop" or not self._is_named

    @cached_property
    def kept(self) -> tuple[list[int], list[int] | slice]:
        """Positions of the columns that later files must have, and of their values in a row."""
        columns = [at for at, column in enumerate(self.columns) if self._stays(column)]
        if len(columns) == len(self.columns):
            # no copy of the rows
            return columns, slice(None)
        return columns, [place for at in columns for place in range(*self._starts[at : at + 2])]

    def folds(self, translated: NDArray[np.float64], group_keys: Keys | None = None) -> NDArray[np.intp]:
        """The fold (n_rows,) of each row, by its group or its values alone, so that rows of one group and
        equal rows do not reveal each other's targets.
        """
        kept = [
            place
            for at, column in enumerate(self.columns)
            for place in range(*self._starts[at : at + 2])
            if column.encoding != "drop"
        ]
        some = translated[:, kept]
        # missing values have one bit pattern, which no number has
        keys = keys_of(Block(np.where(np.isnan(some), _MISSING, some), group_keys=group_keys))
        return (keys % np.uint64(FOLDS)).astype(np.intp)

    def own_means(self, translated: NDArray[np.float64], keys: Keys | None) -> dict[int, NDArray[np.float64]]:
        """Smoothed target means (n_rows, n_outputs) of each target-encoded column, by its position in the
        table.

        A row's means come from the training rows with its category outside its fold.
        """
        if not self._means:
            return {}
        folds, kept = self.folds(translated, keys), self.kept[0]
        return {
            kept.index(at): sums.of_others(self._codes(at, translated), folds)
            for at, sums in self._means.items()
        }


class EncodedRows(KnownRows):
    """The rows of a new data set, encoded by its table.

    Attributes
    ----------
    table : fitted on the training rows
    unseen : test rows with values outside the training rows, see :meth:`Table.unseen`
    """

    def __init__(self, fit: TableFit) -> None:
        super().__init__(fit.result())
        self._fit = fit

    def train(self, rows: Rows, keys: Keys | None = None) -> Rows:
        """Encode training rows, with target means of other rows."""
        values = self._fit.translated(np.asarray(converted(rows, sparse=False)))
        encoded = self.table.encode(values[:, self._fit.kept[1]], self._fit.own_means(values, keys))
        return converted(encoded, sparse=isinstance(rows, SparseRows))

    def test(self, rows: Rows, keys: Keys | None = None) -> Rows:
        """Encode test rows."""
        values = self._fit.translated(np.asarray(converted(rows, sparse=False)))[:, self._fit.kept[1]]
        return super().train(converted(values, sparse=isinstance(rows, SparseRows)))


def _said(column: Column) -> str:
    """The kind of a column and the notation of its values."""
    if column.kind == "category":
        return "categories"
    if column.kind == "number":
        return {"": "numbers", "%": "percent, as shares"}.get(column.rule, f"money ({column.rule})")
    plural = {"boolean": "yes or no", "date": "dates", "time": "times of day", "text": "words"}[column.kind]
    return f"{plural}, {column.rule}" if column.rule else plural
