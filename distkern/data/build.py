"""Build a data set in a staged folder: rows to spool files, then shards, then the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.held_out import Keys, places_of
from distkern.core.names import plain_labels
from distkern.core.sparse import Rows, SparseRows, converted
from distkern.core.targets import DIFFERENT
from distkern.data import writer
from distkern.data.collect import Collector, Form, Shape
from distkern.data.dataset import TARGET_TYPES, Dataset
from distkern.data.feature_major import FOLDER
from distkern.data.formats._kinds import TableKinds
from distkern.data.formats._notes import FileNotes, Meter
from distkern.data.formats.base import CHUNK_BYTES, Indices, RawChunk
from distkern.data.labels import LabelEncoder, lookalike_notes, names_note, quantity_note, rare_first_note
from distkern.data.manifest import FILE, SOURCE_ROWS, Manifest, SplitEntry
from distkern.data.options import ShardOptions, Task
from distkern.data.scaling import Like, Scaling
from distkern.data.spool import Spool, in_field, in_order, shuffled
from distkern.data.store.atomic import StagedFolder, write_text_atomic
from distkern.data.store.places import disk_full, free_bytes
from distkern.data.table import KnownRows, unknown_note
from distkern.data.table_fit import TableFit, TablePiece, TableTargets, equal_rows_are_independent
from distkern.data.table_report import ColumnReport

#: rows as they are read
Chunks: TypeAlias = Iterator[RawChunk]
#: called with the activity, finished rows, finished bytes of float32 features, and total rows: while reading,
#: an estimate from the read share of the files; None if unknown
Progress: TypeAlias = Callable[[str, int, int, int | None], None]

#: called with notes for the user on the finished data set, one sentence each without full stop
Notice: TypeAlias = Callable[[str], None]

#: called with the encoding of every table column
Report: TypeAlias = Callable[[Sequence[ColumnReport]], None]


class Checked(Exception):
    """Raised after ``--check`` has reported on the files.

    Attributes
    ----------
    rows_of_labels : training rows of each label
    target_name : name of the target, if the files name it
    """

    def __init__(self, labels: Sequence[Any], counts: Sequence[int], target_name: str | None) -> None:
        super().__init__()
        self.target_name = target_name
        self.rows_of_labels = dict(zip(labels, counts, strict=True))


class _Seen:
    """Counts of the targets, weights and groups of the training rows read so far.

    Attributes
    ----------
    codes : rows of each provisional label code
    span : smallest and largest numeric target
    heaviest : largest weight
    has_one_group : there are groups, and all rows are in one
    """

    def __init__(self) -> None:
        self.codes = np.zeros(0, dtype=np.int64)
        self.span, self.heaviest = (np.inf, -np.inf), 1.0
        self.has_one_group = False
        self._group: int | None = None

    def add(self, records: NDArray[Any]) -> None:
        """Add the records of some rows."""
        targets, weights, keys = (in_field(records, name) for name in ("targets", "weights", "group_keys"))
        if targets is not None and targets.dtype.kind == "f":
            low, high = float(targets.min()), float(targets.max())
            self.span = min(self.span[0], low), max(self.span[1], high)
        elif targets is not None:
            counts = np.bincount(targets, minlength=len(self.codes))
            counts[: len(self.codes)] += self.codes
            self.codes = counts
        if weights is not None:
            self.heaviest = max(self.heaviest, float(weights.max()))
        if keys is not None:
            is_first = self._group is None
            self._group = int(keys[0]) if self._group is None else self._group
            self.has_one_group = (is_first or self.has_one_group) and bool((keys == self._group).all())


@dataclass
class Builder:
    """Builds one data set in a staged folder.

    Attributes
    ----------
    kinds : reader of tables, if any
    like : preparation of other rows to reproduce
    indices : first index of svmlight files, once known
    report : called with the encoding of every table column, before shards are written
    checks : only report, write nothing
    notes : notes on the files
    unknown : table columns that ``like`` does not have
    meter, test_meter : progress of the training and the test files, if rows come from files
    """

    staged: StagedFolder
    options: ShardOptions
    progress: Progress = lambda what, rows, n_bytes, total: None
    notice: Notice = lambda sentence: None
    kinds: TableKinds | None = None
    like: Like | None = None
    indices: Indices = field(default_factory=Indices)
    report: Report = lambda columns: None
    checks: bool = False
    notes: FileNotes = field(default_factory=FileNotes)
    unknown: set[str] = field(default_factory=set)
    meter: Meter | None = None
    test_meter: Meter | None = None

    def __post_init__(self) -> None:
        assert self.options.task is not None
        self.task: Task = self.options.task
        wanted = None
        if self.like is not None:
            wanted = self.like.n_features if self.like.table is None else self.like.table.starts[-1]
        self.shape = Shape(wanted)
        self.nameless: str | None = None
        self.rows_of_classes: list[int] = []
        self.seen = _Seen()
        self.scaling: Scaling | None = None
        self.table_fit = None if self.kinds is None else TableFit(self.kinds, self.options)
        #: equal rows lie in different folds of the target means
        self.holds_apart = False
        self.form = Form(self.options.sparse, self.options.scale, self.kinds)
        own_na = self.kinds is not None and self.kinds.has_own_na
        self.labels = LabelEncoder(own_na)
        fields: list[tuple[str, Any]] = [(SOURCE_ROWS, np.int64)]
        if self.task != "none":
            fields.append(("targets", TARGET_TYPES[self.task]))
        if self.options.weight is not None:
            fields.append(("weights", np.float64))
        if self.options.group is not None:
            fields.append(("group_keys", np.uint64))
        #: data of a row besides its features
        self.record = np.dtype(fields)

    def run(self, train: Chunks, test: Chunks | None) -> None:
        """Read everything, then write the shards and finally the manifest."""
        spools = self.staged.path / "spool"
        spools.mkdir()
        with ExitStack() as stack:
            train_spool = stack.enter_context(Spool(spools, "train", self.record))
            test_spool = stack.enter_context(Spool(spools, "test", self.record))
            self._collect(train, test, train_spool, test_spool)
            manifest = self._write(train_spool, test_spool)
        for file in spools.iterdir():
            file.unlink()
        spools.rmdir()
        if self.options.columns:
            from distkern.data._transpose import write_columns

            dataset = Dataset(self.staged.path, manifest, manifest.fingerprint)
            write_columns(dataset, self.staged.path / FOLDER, self.staged.target, self.progress)
        write_text_atomic(self.staged.path / FILE, manifest.to_text())

    def _collect(
        self,
        train: Iterator[RawChunk],
        test: Iterator[RawChunk] | None,
        train_spool: Spool,
        test_spool: Spool,
    ) -> None:
        options = self.options
        # take decimals literally: 0.1 of 30 rows are 3, although the nearest double to 0.1 is larger
        drawn = None
        if options.test_fraction is not None:
            drawn = (test_spool, Fraction(repr(float(options.test_fraction))), options.seed)
        seed = options.seed if options.shuffle else None
        self.of_test = False
        self._feed(
            Collector(
                train_spool,
                self.shape,
                self._records,
                self.form,
                observe=self._observe,
                seed=seed,
                drawn=drawn,
            ),
            train,
            "reading",
            self.meter,
        )
        if self.seen.has_one_group:
            where = f"column {self.options.group!r}"
            raise InputError("all training rows are in one group", where=where, hint=DIFFERENT)
        if test is not None:
            # weights and groups of test rows are not needed
            self.of_test = True
            tests = Collector(test_spool, self.shape, self._records, self.form)
            self._feed(tests, test, "reading test rows", self.test_meter)
        for sentence in self.notes.lines():
            self.notice(sentence)
        if not train_spool.n_rows:
            left_out = " with a target" if self.notes.missing_targets else ""
            what = (
                f"no rows{left_out}"
                if not test_spool.n_rows
                else "all rows became test rows, none is left for training"
            )
            if test_spool.n_rows and self.options.group is not None:
                what += f" (rows of one {self.options.group!r} go together)"
            hint = "give more rows" + " or a smaller --test-fraction" * bool(test_spool.n_rows)
            raise InputError(what, where="the input", hint=hint)
        if not self.shape.width:
            raise InputError("the rows have no features", where="the input", hint="check the files")

    def _feed(self, collector: Collector, chunks: Chunks, what: str, meter: Meter | None) -> None:
        rows = n_bytes = 0
        for chunk in chunks:
            collector.add(chunk)
            if chunk.names is None:
                self.nameless = chunk.file
            if self.nameless is not None and self.kinds is not None and not self.kinds.is_numeric:
                raise InputError(
                    "has no columns of categories, dates or missing values, unlike other files",
                    where=self.nameless,
                    hint="give files with the same columns",
                )
            rows += chunk.n_rows
            n_entries = chunk.features.n_entries if isinstance(chunk.features, SparseRows) else None
            n_bytes += 4 * chunk.n_rows * chunk.features.shape[1] if n_entries is None else 8 * n_entries
            share = 0.0 if meter is None else meter.share
            self.progress(what, rows, n_bytes, round(rows / share) if share else None)
        collector.flush()

    def _observe(self, rows: Rows, records: NDArray[Any]) -> None:
        """Update all fits with a run of training rows while it is in memory."""
        self.seen.add(records)
        if self.like is not None:
            return
        if self.table_fit is not None and self.table_fit.kinds.order is not None:
            for start in range(0, len(rows), self._most_rows):
                self.table_fit.add(np.asarray(converted(rows[start : start + self._most_rows], sparse=False)))
        elif self.form.fit is not None:
            self.form.fit.update(rows)

    @property
    def _most_rows(self) -> int:
        """Rows to process at once in float64."""
        return max(1, CHUNK_BYTES // (8 * self.shape.width))

    def _records(self, chunk: RawChunk) -> NDArray[Any]:
        """Return the records (n_rows,) of a chunk, without row numbers."""
        found = np.zeros(chunk.n_rows, dtype=self.record)
        if self.task != "none":
            found["targets"] = self._targets(chunk)
        for name, values in (("weights", chunk.weights), ("group_keys", chunk.group_keys)):
            if name not in (self.record.names or ()):
                continue
            if values is not None:
                found[name] = values
            elif not self.of_test:
                raise InputError(
                    f"has no column of {name.partition('_')[0]}s, unlike other files",
                    where=chunk.file,
                    hint="give files with the same columns",
                )
        return found

    def _targets(self, chunk: RawChunk) -> NDArray[Any]:
        if self.task == "classification":
            try:
                return self.labels.encode(chunk)
            except InputError as error:
                self._refuse_target(error, 0)
                return np.zeros(chunk.n_rows, dtype=np.int32)
        if chunk.targets is None or chunk.targets.dtype.kind not in "biuf":
            raise InputError(
                "the targets are not numbers",
                where=chunk.place(0),
                hint="give --task classification for labels, or --target for another column",
            )
        return chunk.targets.astype(np.float64)

    def _refuse_target(self, error: InputError, count: int = 1) -> None:
        """Raise a problem of targets, or collect it with other problems of a table."""
        if self.kinds is None:
            raise error
        self.kinds.target = self.shape.target_name or "target"
        self.kinds.refuse(self.kinds.target, error, count)

    def _encoded(
        self, spool: Spool, classes: Sequence[Any] | None, mapping: NDArray[np.int32] | None
    ) -> KnownRows | None:
        """Return the encoding of table columns, fitted to the training rows; None without tables."""
        kinds = self.kinds
        if self.like is not None:
            return None if self.like.table is None else KnownRows(self.like.table)
        if kinds is None or kinds.order is None:
            return None
        fit, seen, most = self.table_fit, self.seen, self._most_rows
        assert fit is not None
        assert self.form.fit is not None
        if fit.n_rows < spool.n_rows:
            # earlier rows had no columns
            self.table_fit = fit = TableFit(kinds, self.options)
            for rows, _ in spool.pieces(most):
                fit.add(np.asarray(converted(rows, sparse=False)))
        targets = None if classes is None else TableTargets.of_classes(classes, seen.heaviest)
        if self.task == "regression":
            name = self.shape.target_name or "target"
            targets = TableTargets((name,), None, seen.span, seen.heaviest)

        def pieces() -> Iterator[TablePiece]:
            for number, (rows, records) in enumerate(spool.pieces(most)):
                of_rows = in_field(records, "targets")
                if mapping is not None and of_rows is not None:
                    of_rows = mapping[of_rows]
                values, weights = np.asarray(converted(rows, sparse=False)), in_field(records, "weights")
                if not number:
                    piece = values, of_rows, in_field(records, "group_keys"), weights
                    self.holds_apart = equal_rows_are_independent(piece)
                yield values, of_rows, self._fold_keys(records), weights

        encoded = fit.run(pieces(), targets, is_named=self.shape.names is not None)
        if not self.checks:
            kinds.raise_problems()
        for sentence in (*kinds.notes, *fit.notes):
            self.notice(sentence)
        self.report(fit.report)
        kinds.raise_problems()
        if not encoded.table.n_features:
            why = "; ".join(f"{one.name!r} {one.note}" for one in fit.report if one.note)
            raise InputError(
                f"the rows have no features: {why}" if why else "the rows have no features",
                where="the input",
                hint="check the files",
            )
        parts = spool.pieces(max(1, CHUNK_BYTES // (8 * encoded.table.n_features)))
        again = (encoded.train(rows, self._fold_keys(records)) for rows, records in parts)
        self.scaling = fit.scaling(self.form.fit.kind, again)
        return encoded

    def _fold_keys(self, records: NDArray[Any]) -> Keys | None:
        """Return keys (n,) of training rows that share a fold of the target means; None: equal rows do."""
        return places_of(0, records[SOURCE_ROWS]) if self.holds_apart else in_field(records, "group_keys")

    def _note_unseen(self, encoded: KnownRows) -> None:
        rows = "test rows" if self.like is None else "rows"
        for note in encoded.table.unseen_notes(encoded.unseen, rows):
            self.notice(note)

    def _classes(self) -> tuple[NDArray[Any] | None, NDArray[np.int32] | None]:
        if self.kinds is not None and (self.shape.target_name or "target") in self.kinds.problems:
            return None, None
        try:
            counts = np.pad(self.seen.codes, (0, self.labels.n_codes - len(self.seen.codes)))
            classes, mapping = self.labels.finish(
                counts, self.options.positive, known=None if self.like is None else self.like.classes
            )
        except InputError as error:
            self._refuse_target(error)
            return None, None
        labels = plain_labels(classes)
        rows = np.bincount(mapping, weights=counts, minlength=len(labels))
        self.rows_of_classes = rows.astype(np.int64).tolist()
        is_open = self.options.positive is None and self.like is None
        rare = rare_first_note(labels, self.rows_of_classes) if is_open else ""
        alike = lookalike_notes(labels, self.rows_of_classes)
        for note in (quantity_note(labels), names_note(labels, self.rows_of_classes), rare, *alike):
            if note:
                self.notice(note)
        return classes, mapping

    def _write(self, train_spool: Spool, test_spool: Spool) -> Manifest:
        from distkern.data.store._zarr import create_group

        options = self.options
        classes: NDArray[Any] | None = None
        mapping: NDArray[np.int32] | None = None
        if self.task == "classification":
            classes, mapping = self._classes()
        labels = None if classes is None else plain_labels(classes)
        encoded = self._encoded(train_spool, labels, mapping)
        if self.kinds is not None:
            self.kinds.raise_problems()
        if self.unknown:
            self.notice(unknown_note(self.unknown))
        if self.checks:
            if self.like is not None and encoded is not None:
                for rows, _ in train_spool.pieces(max(1, CHUNK_BYTES // (8 * self.shape.width))):
                    encoded.train(rows)
                self._note_unseen(encoded)
            raise Checked(labels or (), self.rows_of_classes, self.shape.target_name)
        table = None if encoded is None else encoded.table
        width, is_sparse = self.shape.width, bool(self.form.is_sparse)
        names = self.shape.names
        if table is not None:
            width = table.n_features
            # unnamed columns of plain numbers need no names
            names = table.features if table.is_named or not table.is_numeric else None
        scaling = self.scaling if self.like is None else self.like.scaling
        if scaling is None:
            assert self.form.fit is not None
            scaling = self.form.fit.result(width)
        present = {"train": train_spool} | ({"test": test_spool} if test_spool.n_rows else {})
        row_numbers = {
            name: writer.numbers_of_a_row(spool.n_rows, spool.n_entries) if is_sparse else width
            for name, spool in present.items()
        }
        chosen = options.rows_per_shard or writer.rows_of_a_shard(train_spool.n_rows, row_numbers["train"])
        rows_per_shard = {name: min(chosen, spool.n_rows) for name, spool in present.items()}
        needed = sum(
            writer.stored_bytes(spool.n_rows, row_numbers[name], rows_per_shard[name], self.record.itemsize)
            for name, spool in present.items()
        )
        if needed > free_bytes(self.staged.path):
            raise disk_full(self.staged.target, needed)
        create_group(self.staged.path)
        splits: dict[str, SplitEntry] = {}
        done = zero_rows = 0
        n_rows = sum(spool.n_rows for spool in present.values())

        def on_shard(rows: int, zeros: int) -> None:
            nonlocal done, zero_rows
            done += rows
            zero_rows += zeros
            self.progress("writing shards", done, 4 * row_numbers["train"] * done, n_rows)

        for name, spool in present.items():
            sizes = writer.shard_sizes(spool.n_rows, rows_per_shard[name])
            is_train = name == "train"
            stored = [
                part for part in self.record.names or () if is_train or part in ("targets", SOURCE_ROWS)
            ]
            splits[name] = writer.write_split(
                self.staged.path / name,
                spool,
                shuffled(spool.runs, sizes, options.seed)
                if is_train and options.shuffle
                else in_order(spool.runs, sizes),
                sizes,
                n_features=width,
                is_sparse=is_sparse,
                rows_per_shard=rows_per_shard[name],
                scaling=scaling,
                stored=stored,
                mapping=mapping,
                n_classes=None if classes is None else len(classes),
                on_shard=on_shard,
                of_table=None if encoded is None else encoded.train if is_train else encoded.test,
                fold_keys=self._fold_keys if is_train else None,
            )
        if encoded is not None:
            self._note_unseen(encoded)
        if scaling.kind == "unit" and zero_rows:
            self.notice(
                f"{zero_rows:,} of {done:,} rows {'has' if zero_rows == 1 else 'have'} norm 0: kept as zeros"
            )
        stored_options = replace(options, scale=scaling.kind, sparse=is_sparse).stored
        return Manifest(
            self.task,
            width,
            names,
            None if labels is None else tuple(labels),
            scaling,
            splits,
            stored_options | ({"zero_based": True} if self.indices.from_zero else {}),
            is_sparse,
            self.shape.target_name,
            table,
            self.options.group,
            None if classes is None or classes.dtype.kind != "M" else classes.dtype.str,
        )
