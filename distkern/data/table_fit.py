"""Fit the encoding of table columns to training rows that come a few at a time, see :class:`TableFit`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.held_out import Keys, are_independent, keys_of, row_keys
from distkern.core.sparse import Rows, SparseRows, converted
from distkern.core.types import Block, Floats
from distkern.data.columns import AbstractColumn
from distkern.data.columns._reading import Fitting
from distkern.data.columns._target_means import FOLDS, AbstractMeansColumn, TargetSums
from distkern.data.columns.base import DroppedColumn
from distkern.data.columns.category import MAX_LEVELS, CategoryColumn, LevelFacts, remark_on_unit
from distkern.data.columns.number import NumberColumn
from distkern.data.formats._kinds import TableKinds
from distkern.data.options import ShardOptions
from distkern.data.scaling import Scaling, ScalingFit, ScalingKind, scaling_of
from distkern.data.table import KnownRows, Table
from distkern.data.table_numbers import (
    LEAST_VALUES,
    MEAN_ROWS,
    MEAN_ROWS_OF_WHOLE,
    informative_values,
    too_many_functions,
)
from distkern.data.table_report import ColumnReport, TableSample, column_notes

#: most outputs of target means by numbers, one per class
_MOST_OF_NUMBERS = 8
#: most sums over the values of all columns of numbers; each takes 80 bytes
_MOST_SUMS = 2**19
#: most rows to compute a median from
_SAMPLE = 100_000
#: replaces missing values when a row's fold is drawn
_MISSING = np.finfo(np.float64).max

#: values (n, sum of widths); targets (n,), numbers or class codes, or None; group keys and weights, if any
TablePiece: TypeAlias = tuple[Floats, NDArray[Any] | None, Keys | None, NDArray[np.float64] | None]


def equal_rows_are_independent(piece: TablePiece) -> bool:
    """Return whether equal rows of a table are :func:`~distkern.core.held_out.are_independent` observations,
    by its first piece.

    Each row then has its own fold of the target means, since a new row has the targets of all its equals in
    its means.
    """
    values, targets, keys, weights = piece
    if keys is not None:
        return False
    return are_independent(row_keys(_without_nan(values)), targets, weights)


def _without_nan(values: Floats) -> Floats:
    # missing values get one bit pattern
    return np.where(np.isnan(values), _MISSING, values)


@dataclass(frozen=True)
class TableTargets:
    """Targets whose means encode columns.

    Attributes
    ----------
    names : names of the outputs: a numeric target; the second of two classes, or all
    classes : codes of these classes; None for numbers
    span : smallest and largest numeric target
    heaviest : largest weight of a row
    """

    names: tuple[str, ...] = ()
    classes: NDArray[np.intp] | None = None
    span: tuple[float, float] = (0.0, 1.0)
    heaviest: float = 1.0

    @classmethod
    def of_classes(cls, classes: Sequence[Any], heaviest: float = 1.0) -> TableTargets:
        """Return targets of class labels."""
        first = 1 if len(classes) == 2 else 0
        return cls(tuple(map(str, classes[first:])), np.arange(first, len(classes)), heaviest=heaviest)

    def outputs(self, targets: NDArray[Any]) -> NDArray[np.float64]:
        """Return targets (n, n_outputs) of numbers or class codes (n,)."""
        found = targets[:, None] if self.classes is None else targets[:, None] == self.classes
        return np.asarray(found, dtype=np.float64)

    def sums(self, column: AbstractMeansColumn) -> TargetSums:
        """Return empty sums of the values of a column."""
        low, high = (np.full(len(self.names), end) for end in self.span)
        return TargetSums(column.n_levels + column.has_missing, (low, high), self.heaviest)


class TableFit:
    """Fits a :class:`Table` to training rows in two passes.

    1. :meth:`add` counts them, as they are read.
    2. :meth:`run` uses them again for what depends on the counts: target means, and a sample that shows which
    columns need them. It returns the encoder of the rows.

    Parameters
    ----------
    kinds : reader of the rows
    options : options on the columns
    """

    def __init__(self, kinds: TableKinds, options: ShardOptions) -> None:
        self.kinds = kinds
        self._options = options
        self._n_rows, self._facts = 0, dict[str, Any]()
        self._means: dict[int, TargetSums] = {}
        self._targets = TableTargets()
        self._is_named = True
        self.columns: list[AbstractColumn] = []
        self.report: list[ColumnReport] = []

    @property
    def n_rows(self) -> int:
        """Number of rows counted so far."""
        return self._n_rows

    def add(self, values: Floats) -> None:
        """Count rows (n, sum of widths)."""
        self._n_rows += len(values)
        # one column after another, each in one piece
        columns = np.ascontiguousarray(values.T, dtype=np.float64)
        for name, (start, stop) in zip(self.kinds.order or (), pairwise(self._starts), strict=True):
            kind = self.kinds.kinds.get(name)
            if kind is not None and not self.kinds.reading(name).overflows:
                facts = self._facts.setdefault(name, kind.facts())
                facts.add(columns[start] if stop == start + 1 else columns[start:stop].T)

    @property
    def _starts(self) -> list[int]:
        return list(accumulate((self.kinds.width(name) for name in self.kinds.order or ()), initial=0))

    def run(
        self, pieces: Iterable[TablePiece], targets: TableTargets | None = None, *, is_named: bool = True
    ) -> EncodedRows:
        """Fit to all training rows in stored order, after they were counted; return the encoder.

        Raises :class:`InputError` if a column has too many categories for its encoding.
        """
        self._targets, self._is_named = targets or TableTargets(), is_named
        self.kinds.settle()
        self.columns = [self._fitted(name) for name in self.kinds.order or ()]
        numbers = self._numbers()
        means = ((at, one) for at, one in enumerate(self.columns) if isinstance(one, AbstractMeansColumn))
        with_means = {at: one for at, one in means if one.has_means} | numbers
        self._means = {at: self._targets.sums(column) for at, column in with_means.items()}
        sample, medians = TableSample(self._n_rows, len(self.columns)), list[NDArray[np.float64]]()
        seen, step = 0, -(-self._n_rows // _SAMPLE)
        firsts = self._starts[:-1]
        for values, of_rows, keys, weights in pieces:
            sample.add(values, firsts, of_rows, keys)
            if self._options.impute == "median":
                medians.append(np.array(values[-seen % step :: step, firsts], dtype=np.float64))
            seen += len(values)
            if with_means and of_rows is not None:
                translated = self.translated(values)
                folds, outputs = self.folds(translated, keys), self._targets.outputs(of_rows)
                for at, column in with_means.items():
                    self._means[at].add(
                        column.codes(translated[:, self._starts[at]]), outputs, folds, weights
                    )
        if numbers:
            rows, of_sample, keys = sample.found
            categories = self._categories
            outputs = self._targets.outputs(of_sample)
            for at in informative_values(rows, outputs, list(numbers), categories, keys):
                self.columns[at] = numbers.pop(at)
            # the other columns stay plain numbers
            for at in numbers:
                del self._means[at]
        for at, median in self._medians(medians).items():
            self.columns[at] = self.columns[at].refilled(median)
        for at, sums in self._means.items():
            mean = self.columns[at]
            assert isinstance(mean, AbstractMeansColumn)
            self.columns[at] = mean.with_means(sums)
        self._tell(sample)
        return EncodedRows(self)

    def _fitted(self, name: str) -> AbstractColumn:
        kind, reading = self.kinds.kinds[name], self.kinds.reading(name)
        facts = self._facts.setdefault(name, kind.facts())
        if not facts.n_present or reading.overflows:
            return DroppedColumn(name, dropped=kind.kind)
        how = Fitting(
            reading,
            self._n_rows,
            flags=self._options.impute == "flag",
            outputs=self._targets.names,
            wanted=self._options.categorical.get(name),
            has_target=self.kinds.target not in self.kinds.problems,
            refuse=partial(self.kinds.refuse, name),
        )
        return kind.fit(facts, how)

    def _numbers(self) -> dict[int, AbstractMeansColumn]:
        """Return columns of numbers that may also get target means, with these, and with signs if they are
        whole; only such columns in tables of plain numbers, and none without names, as in arrays.
        """
        are_plain = all(column.is_identity or isinstance(column, DroppedColumn) for column in self.columns)
        n_numbers = len(self.columns) - len(self._categories)
        has_targets = 0 < len(self._targets.names) <= _MOST_OF_NUMBERS
        if not has_targets or too_many_functions(n_numbers) or (are_plain and not self._is_named):
            return {}
        found: dict[int, AbstractMeansColumn] = {}
        n_values = 0
        numbers = [(at, column) for at, column in enumerate(self.columns) if type(column) is NumberColumn]
        for at, column in sorted(numbers, key=lambda one: self._facts[one[1].name].distinct or 0):
            facts = self._facts[column.name]
            values, is_whole = facts.values, facts.are_whole
            most = facts.n_present / (MEAN_ROWS_OF_WHOLE if is_whole else MEAN_ROWS)
            if values is None or not LEAST_VALUES <= len(values) <= most or (are_plain and not is_whole):
                continue
            n_values += len(values) * (2 + len(self._targets.names))
            if n_values > _MOST_SUMS:
                break
            changes = {"values": tuple(values.tolist()), "signs": is_whole}
            found[at] = column.with_outputs(self._targets.names, **changes)
        return dict(sorted(found.items()))

    @property
    def _categories(self) -> list[int]:
        """Columns with codes of categories."""
        return [
            at
            for at, column in enumerate(self.columns)
            if isinstance(self._facts[column.name], LevelFacts)
            and not self.kinds.reading(column.name).overflows
        ]

    def _medians(self, samples: Sequence[NDArray[np.float64]]) -> dict[int, float]:
        """Return medians of the columns with values in a sample."""
        if not samples:
            return {}
        sample = np.concatenate(samples)
        there = np.flatnonzero(~np.isnan(sample).all(axis=0)).tolist()
        return {at: float(np.nanmedian(sample[:, at])) for at in there}

    def scaling(self, kind: ScalingKind, encoded: Iterable[Rows]) -> Scaling:
        """Return the scaling of the encoded training rows: from the counted ranges, or from ``encoded``
        for kinds that need more.
        """
        if kind in ("standard", "ball"):
            fit = ScalingFit(kind)
            for rows in encoded:
                fit.update(rows)
            return fit.result(sum(len(column.features) for column in self.columns))
        if kind in ("none", "unit"):
            return Scaling(kind)
        nothing = np.zeros(0)
        ranges = [
            column.ranges(
                self._facts[column.name],
                self._means[at].ranges() if at in self._means else (nothing, nothing),
            )
            for at, column in enumerate(self.columns)
        ]
        low, high = (np.concatenate(ends) for ends in zip(*ranges, strict=True))
        return scaling_of(kind, low, high, nothing, nothing, 0)

    def _tell(self, sample: TableSample) -> None:
        """Report the encoding of each column and anything odd about it."""
        copies = sample.copies(self._targets.classes is not None)
        for at, column in enumerate(self.columns):
            reading, facts = self.kinds.reading(column.name), self._facts[column.name]
            note = column.remark(facts, reading)
            if isinstance(column, DroppedColumn):
                note = self._left_out(column.name)
            if at in copies:
                share = f"{copies[at]:.1%}".replace("100.0%", "wholly")
                note = f"alone nearly predicts the target ({share}); if it is a copy, "
                note += reading.remedy("leave_out")
            missing = self._n_rows - facts.n_present
            if column.width > 1 or reading.overflows:
                missing = reading.n_missing
            distinct = None if reading.overflows else facts.distinct
            is_dropped = isinstance(column, DroppedColumn)
            described = self.kinds.kinds[column.name].plural if is_dropped else column.described
            report = ColumnReport(column.name, described, column.becomes, missing, distinct, note)
            self.report.append(report)

    def _left_out(self, name: str) -> str:
        """Return why a column is left out, and how to keep it."""
        reading, quoted = self.kinds.reading(name), shlex.quote(name)
        if not (self._facts[name].n_present or reading.overflows):
            return "is left out: it has no value in any row"
        why, keeps = (
            "is left out: most of its values occur once",
            f"--categorical {quoted}=target keeps it as categories",
        )
        if reading.overflows:
            why = f"is left out: it has more than {MAX_LEVELS:,} different texts"
            keeps = f"--drop {quoted} leaves it out from the start"
        if unit := remark_on_unit(reading):
            return f"is left out: it {unit}"
        return f"{why} (--text {quoted} uses its words, --id {quoted} makes it the row id, {keeps})"

    @property
    def notes(self) -> list[str]:
        """Notes on the columns, a sentence each."""
        notes = column_notes(self.report)
        pairs = zip(self.report, self.columns, strict=True)
        if any(one.missing and column.fills for one, column in pairs):
            impute = self._options.impute
            how = "mean, with a feature that marks them" if impute == "flag" else impute
            notes.insert(0, f"missing numbers and dates are filled with the {how} (--impute)")
        return notes

    @cached_property
    def _positions(self) -> dict[int, NDArray[np.float64]]:
        """Positions of the codes of categories, by the place of the column's values."""
        return {
            self._starts[at]: column.positions(self.kinds.reading(column.name))
            for at, column in enumerate(self.columns)
            if isinstance(column, CategoryColumn)
        }

    def translated(self, values: Floats) -> NDArray[np.float64]:
        """Return values with categories as positions in the table instead of provisional codes; -1 if
        unknown.
        """
        if not self._positions:
            return np.asarray(values, dtype=np.float64)
        rows = np.array(values, dtype=np.float64)
        for place, positions in self._positions.items():
            there = ~np.isnan(rows[:, place])
            rows[there, place] = positions[rows[there, place].astype(np.intp)]
        return rows

    def result(self) -> Table:
        """Return the fitted table."""
        name_of, said = self.kinds.names_of, self._options
        nothing = tuple(column.name for column in self.columns if not self._stays(column))
        return Table(
            tuple(column for column in self.columns if self._stays(column)),
            (*(name_of.get(name, name) for name in said.ignored), *nothing),
            self._is_named,
            refuses_missing=said.impute == "none",
            **{
                role: None if name is None else name_of.get(name, name)
                for role, name in (("id", said.id), ("weight", said.weight), ("group", said.group))
            },
            na=said.na,
            keep_na=said.keep_na,
            decimal=self.kinds.usual_decimal or ".",
        )

    def _stays(self, column: AbstractColumn) -> bool:
        """Whether later files with column names must have the column: not without features."""
        return not (isinstance(column, DroppedColumn) and self._is_named)

    @cached_property
    def kept(self) -> tuple[list[int], list[int] | slice]:
        """Positions of the columns that later files must have, and of their values in a row."""
        columns = [at for at, column in enumerate(self.columns) if self._stays(column)]
        if len(columns) == len(self.columns):
            # a slice avoids a copy of the rows
            return columns, slice(None)
        starts = self._starts
        return columns, [place for at in columns for place in range(*starts[at : at + 2])]

    @cached_property
    def _with_features(self) -> list[int]:
        starts = self._starts
        columns = [at for at, column in enumerate(self.columns) if not isinstance(column, DroppedColumn)]
        return [place for at in columns for place in range(*starts[at : at + 2])]

    def folds(self, translated: NDArray[np.float64], group_keys: Keys | None = None) -> NDArray[np.intp]:
        """Return the fold (n_rows,) of each row, by its group or its values alone, so that rows of one
        group and equal rows do not reveal each other's targets.
        """
        some = translated[:, self._with_features]
        keys = keys_of(Block(_without_nan(some), group_keys=group_keys))
        return (keys % np.uint64(FOLDS)).astype(np.intp)

    def own_means(self, translated: NDArray[np.float64], keys: Keys | None) -> dict[int, NDArray[np.float64]]:
        """Return smoothed target means (n_rows, n_outputs) of each column with such means, by table position.

        A row's means come from the training rows with its value outside its fold.
        """
        if not self._means:
            return {}
        folds, (kept, _), starts = self.folds(translated, keys), self.kept, self._starts
        found = {}
        for at, sums in self._means.items():
            column = self.columns[at]
            assert isinstance(column, AbstractMeansColumn)
            found[kept.index(at)] = sums.of_others(column.codes(translated[:, starts[at]]), folds)
        return found


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
