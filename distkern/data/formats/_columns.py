"""Roles of a table's columns (features, target, ids, ...), and Arrow columns as rows."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.names import near_column, order_by_name
from distkern.core.targets import keys_of_texts, plain_targets
from distkern.core.types import Floats
from distkern.data.columns._arrow import compute, in_numpy, is_label, is_number, is_text, pa
from distkern.data.columns._reading import parse_number, word_of
from distkern.data.columns.base import LABELS_OR_NUMBERS
from distkern.data.formats._folders import FolderKey
from distkern.data.formats.base import (
    FILL_OR_DROP,
    RawChunk,
    ReadOptions,
    missing_target,
    numeric,
    place_of_row,
    refuse_missing_groups,
)

_EMPTY = "the value is missing (empty field)"


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table: all names, and positions of the features and the other roles.

    The last ``n_keys`` come from the names of folders.
    """

    names: tuple[str, ...]
    features: tuple[int, ...]
    target: int | None
    id: int | None = None
    weight: int | None = None
    group: int | None = None
    n_keys: int = 0

    @property
    def n_own(self) -> int:
        """Number of columns in the file."""
        return len(self.names) - self.n_keys

    @property
    def target_name(self) -> str | None:
        return None if self.target is None else self.names[self.target]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(self.names[position] for position in self.features)


def choose_columns(
    names: Sequence[str],
    *,
    where: str,
    options: ReadOptions,
    has_header: bool = True,
    left_out: Collection[int] = (),
    keys: Sequence[str] = (),
) -> TableColumns:
    """Assign roles to a table's columns: ``options.target`` by name, else by position; default the last
    column.

    Positions count from 0 among the file's own columns, negative ones from the end, as in pandas. Columns of
    ``keys``, named by folders, follow unless the file has them itself. Without a target kind every column is
    a feature unless ``options.target`` names one to leave out. With ``options.features``, and names from the
    table itself, exactly these columns are the features, in this order. Columns in ``left_out`` are ignored.
    Raises :class:`InputError` for columns without a name or with the same name, unless they are dropped by
    position; for a missing target or id; for missing or unknown features.
    """
    own, n_own = names, len(names)
    if options.unknown is not None and options.features is None:
        # a model without column names knows no other columns
        known_keys = () if options.kinds is None else options.kinds.order or ()
        keys = [key for key in keys if key in known_keys]
    names = [*own, *(key for key in keys if key not in own)]
    nothing = {*left_out, *(at for at, name in enumerate(names) if name in options.drop)}
    nothing |= given_by_position(options.drop, own)
    roles = given_by_position((options.id, options.weight, options.group), own)
    there: set[str] = set()
    for position, name in enumerate(names):
        if position in nothing or position in roles:
            continue
        if not name:
            raise InputError(
                f"column {position + 1} has no name (is it a row index?)",
                where=where,
                hint=f"name it if it is a feature, else leave it out with --drop {position}",
            )
        if name in there:
            raise InputError(
                f"two columns are named {name!r}",
                where=where,
                hint=f"rename one of them, or leave one out, as with --drop {position}",
            )
        there.add(name)
    target = _target(names, left_out, n_own, where=where, options=options)

    def position_of(wanted: str | None, role: str) -> int | None:
        """Return the position of a column with another role; None if an optional one is missing."""
        is_position = wanted is not None and wanted.lstrip("-").isdecimal()
        if wanted is None or (options.may_lack and wanted not in names and not is_position):
            return None
        position = _position(names, wanted, role, where, n_own)
        if has_header and options.kinds is not None:
            options.kinds.names_of[wanted] = names[position]
        return position

    weight = position_of(options.weight, "--weight")
    group = position_of(options.group, "--group")
    for role, taken, others in (("weight", weight, {target}), ("group", group, {target, weight})):
        if taken is not None and taken in others:
            other = "target" if taken == target else "weight"
            raise InputError(
                f"column {names[taken]!r} cannot be both {other} and {role}",
                where=where,
                hint=f"give --{other} COLUMN",
            )
    id_ = position_of(options.id, "--id")
    wanted = (options.features if has_header else None) or ()
    known = frozenset(wanted)
    aside: set[int | None] = {target, weight, group, *nothing}
    if id_ is not None and names[id_] not in known:
        aside.add(id_)
    aside |= {position_of(name, "--drop, --id") for name in options.drop}
    # if a known column is missing, an unknown one may be it under another name
    if options.unknown is not None and known and known <= there:
        unknown = [at for at, name in enumerate(names) if name not in known and at not in aside]
        options.unknown.update(names[at] for at in unknown if names[at] not in options.ignored)
        aside |= {*unknown}
    ignored = {at for at, name in enumerate(names) if name in options.ignored and name not in known}
    n_known = None if options.kinds is None else options.kinds.n_known
    # without names, the ignored columns are there if the file has the width of the training data with them
    if has_header or (n_known is not None and len(names) - len((aside | ignored) - {None}) == n_known):
        aside |= ignored
    for name in () if options.kinds is None or options.features is not None else options.kinds.keep_na:
        if name not in names and not options.may_lack:
            raise _no_column(names, name, "--keep-na", where)
    features = tuple(position for position in range(len(names)) if position not in aside)
    if wanted:
        order = order_by_name([names[at] for at in features], wanted, where=where, owner="the training data")
        features = features if order is None else tuple(features[at] for at in order.tolist())
    if not features:
        hint = _other_delimiter(own) or "a file needs at least one column besides the target"
        raise InputError("the file has no feature columns", where=where, hint=hint)
    return TableColumns(tuple(names), features, target, id_, weight, group, len(names) - n_own)


def given_by_position(given: Iterable[str | None], names: Sequence[str]) -> set[int]:
    """Return the columns that are given by position."""
    found = set()
    for word in given:
        with suppress(TypeError, ValueError):
            position = int(word or "")
            if word not in names and -len(names) <= position < len(names):
                found.add(position % len(names))
    return found


def _target(
    names: Sequence[str], left_out: Collection[int], n_own: int, *, where: str, options: ReadOptions
) -> int | None:
    if options.target is not None:
        try:
            return _position(names, options.target, "--target", where, n_own)
        except InputError as error:
            if not options.may_lack:
                raise
            file = shlex.quote(where.partition(",")[0])
            hint = (
                f"give rows with targets, or predict: `distkern predict MODEL {file} --out predictions.csv`"
            )
            raise InputError(error.what, where=where, hint=hint) from None
    if options.target_kind == "none":
        return None
    return next((at for at in reversed(range(n_own)) if at not in left_out), None)


def _position(names: Sequence[str], wanted: str, role: str, where: str, n_own: int | None = None) -> int:
    """Return the position of a column, given by name or by position among the first ``n_own``."""
    if wanted in names:
        return list(names).index(wanted)
    n_own = len(names) if n_own is None else n_own
    try:
        position = int(wanted)
    except ValueError:
        raise _no_column(names, wanted, role, where) from None
    if not -n_own <= position < n_own:
        raise InputError(
            f"no column number {position} ({role})",
            where=where,
            hint=f"columns count from 0 to {n_own - 1}; or give the name",
        )
    return position % n_own


def _no_column(names: Sequence[str], wanted: str, role: str, where: str) -> InputError:
    hint = _other_delimiter(names) or near_column(wanted, names)
    return InputError(f"no column {wanted!r} ({role})", where=where, hint=hint)


def _other_delimiter(names: Sequence[str]) -> str | None:
    """Return a hint if the only column name looks like several names."""
    if len(names) != 1:
        return None
    mark = next((mark for mark in "\t;|," if mark in names[0]), "")
    if mark:
        found = f"the only column is {names[0]!r}, with parts separated by {mark!r}: give that as "
        return f"{found}--delimiter, or leave --delimiter out"
    if len(names[0].split()) > 1 and names[0][0] != "#":
        return f"the only column is {names[0]!r}: give --delimiter whitespace if blanks separate its parts"
    return None


class TableRows:
    """Rows of one table, from its Arrow columns; ``from_text``: the file holds only texts.

    Attributes
    ----------
    keys : names under which the feature columns are known
    target : position of the target column, if it is read
    names : names of the numbers of a row
    """

    def __init__(
        self,
        file: str,
        columns: TableColumns,
        options: ReadOptions,
        *,
        from_text: bool,
        has_header: bool = True,
        folder_keys: Sequence[FolderKey] = (),
    ) -> None:
        self._file, self._columns, self._options = file, columns, options
        named = {key.name: key for key in folder_keys}
        self._folder_keys = [named[name] for name in columns.names[columns.n_own :]]
        options.notes.of_folders(columns.names[columns.n_own :])
        for name in named.keys() & set(columns.names[: columns.n_own]):
            options.notes.say(f"column {name!r} is in the files, so the values in folder names are ignored")
        self._from_text, self._has_header = from_text, has_header
        self.target = None if options.target_kind == "none" else columns.target
        self.keys = columns.feature_names
        if options.kinds is not None:
            self.keys = options.kinds.keys(self.keys, has_header=has_header, file=file)
        for name, at in zip(self.keys, columns.features, strict=True):
            # the values of all files decide
            if options.kinds is not None and at >= columns.n_own and options.kinds.unknown([name]):
                sample = self._folder_keys[at - columns.n_own].sample(from_text=from_text)
                options.kinds.decide(name, sample, from_text=from_text)

    @property
    def names(self) -> tuple[str, ...]:
        names, kinds = self._columns.feature_names, self._options.kinds
        return names if kinds is None else kinds.value_names(names)

    def decide(self, arrays: Sequence[Any]) -> None:
        """Decide the kind of new columns, by their types or their texts."""
        kinds = self._options.kinds
        for key, at in zip(self.keys, self._columns.features, strict=True):
            if kinds is not None and at < len(arrays) and kinds.unknown([key]):
                kinds.decide(key, arrays[at], from_text=self._from_text)

    def chunk(
        self, arrays: Sequence[Any], first_row: int, lines: NDArray[np.int64] | None = None, **more: Any
    ) -> RawChunk:
        """Build a chunk of rows from the file's Arrow columns, by position; columns that are not read may be
        None.

        ``more`` are further fields of the chunk. Raises :class:`InputError` with the place of the first value
        that does not fit the kind of its column.
        """
        columns, kinds = self._columns, self._options.kinds
        kept: NDArray[np.intp] | None = None
        n_left_out = 0
        if self._folder_keys:
            n_rows = next(len(array) for array in arrays if array is not None)
            more_columns = [key.column(n_rows, from_text=self._from_text) for key in self._folder_keys]
            arrays = [*arrays, *more_columns]

        def place(at: int) -> Callable[[int], str]:
            def of_row(row: int) -> str:
                row = row if kept is None else int(kept[row])
                line = None if lines is None else int(lines[row])
                where = place_of_row(self._file, first_row + row, line)
                return f"{where}, column {columns.names[at]!r}"

            return of_row

        targets = weights = ids = group_keys = None
        if self.target is not None:
            missing = self._missing_targets(arrays[self.target])
            if missing.any() and self._options.drop_missing_target:
                kept = np.flatnonzero(~missing)
                n_left_out = len(missing) - len(kept)
                if not len(kept):
                    nothing = np.empty((0, len(self.names)))
                    return RawChunk(nothing, None, first_row, self._file, kept=kept, n_left_out=n_left_out)
                arrays = [None if array is None else array.take(pa.array(kept)) for array in arrays]
            targets = self._targets(arrays[self.target], missing, place(self.target), first_row)
        if columns.weight is not None:
            weights = self._weights(arrays[columns.weight], place(columns.weight))
        if columns.id is not None:
            texts_of_ids = arrays[columns.id].to_pylist()
            ids = np.array(["" if value is None else str(value) for value in texts_of_ids], dtype=object)
        if columns.group is not None:
            texts = [word_of(value, frozenset()) for value in arrays[columns.group].to_pylist()]
            name = columns.names[columns.group]
            refuse_missing_groups(texts, name, self._options, place(columns.group))
            group_keys = keys_of_texts([str(text) for text in texts])
        of_features = [arrays[at] for at in columns.features]
        places = [place(at) for at in columns.features]
        if kinds is None:
            features: Floats = np.column_stack([*map(self._numbers, of_features, places)])
        else:
            n_rows = len(of_features[0]) if of_features else 0
            features = kinds.features(self.keys, of_features, places, n_rows)
        return RawChunk(
            features,
            targets,
            first_row,
            self._file,
            lines=lines if lines is None or kept is None else lines[kept],
            names=self.names,
            target_name=columns.target_name,
            has_header=self._has_header,
            ids=ids,
            weights=weights,
            group_keys=group_keys,
            is_untyped=self._from_text,
            kept=kept,
            n_left_out=n_left_out,
            **more,
        )

    def _numbers(self, column: Any, place: Callable[[int], str], *, is_target: bool = False) -> Floats:
        """Return numbers (n,) of a numeric column."""
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if self._from_text and is_text(column.type):
            return np.array([self._number(text, place, row) for row, text in enumerate(column.to_pylist())])
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        if not is_number(column.type):
            hint = "encode the column as numbers (one-hot) or leave it out"
            hint = LABELS_OR_NUMBERS if is_target else hint
            raise InputError(f"the column holds {column.type}, not numbers", where=place(0), hint=hint)
        _refuse_missing(column, place)
        return numeric(in_numpy(column))

    def _number(self, text: str | None, place: Callable[[int], str], row: int) -> float:
        value = None if text is None else parse_number(text)
        if value is not None:
            return value
        if text is None or not text.strip():
            raise InputError(_EMPTY, where=place(row), hint=FILL_OR_DROP)
        hint = "encode the column as numbers (one-hot), leave it out, or fill missing values in"
        if self._columns.target is not None:
            hint += f"; the target is column {self._columns.target_name!r} (--target COLUMN changes it)"
        raise InputError(f"{text.strip()[:60]!r} is not a number", where=place(row), hint=hint)

    def _weights(self, column: Any, place: Callable[[int], str]) -> NDArray[np.float64]:
        """Return weights (n,): NaN if missing, 1 if refused and collected as a problem."""
        name = str(self._options.weight)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if is_number(column.type) or pa.types.is_decimal(column.type):
            return in_numpy(column.cast(pa.float64())).astype(np.float64)
        if not (self._from_text and is_text(column.type)):
            what = f"the column holds {column.type}, not numbers"
            error = InputError(what, where=place(0), hint="give --weight a column of numbers above 0")
            self._options.refuse(name, error, len(column))
            return np.ones(len(column))
        weights = np.ones(len(column))
        for row, text in enumerate(column.to_pylist()):
            value = None if text is None else parse_number(text)
            if value is not None:
                weights[row] = value
                continue
            what = f"{text.strip()[:60]!r} is not a number" if text and text.strip() else _EMPTY
            hint = f"give --weight a column of numbers above 0, or {FILL_OR_DROP}"
            self._options.refuse(name, InputError(what, where=place(row), hint=hint))
        return weights

    @property
    def _is_label(self) -> bool:
        return self._options.target_kind == "label"

    def _missing_targets(self, column: Any) -> NDArray[np.bool_]:
        """Return a mask (n,) of targets that are null, NaN, empty or a text for a missing value."""
        if not _holds_texts(column):
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            absent = column.is_null(nan_is_null=True)
        else:
            na = self._options.na_of(str(self._columns.target_name), is_label=self._is_label) | {""}
            absent = column.is_null()
            words = [word for word in column.unique().to_pylist() if word is not None and word.strip() in na]
            if words:
                # nulls are not in the set
                is_word = compute.is_in(column.cast(pa.string()), value_set=pa.array(words, pa.string()))
                absent = compute.or_(absent, is_word)
        return np.asarray(absent.to_numpy(zero_copy_only=False), dtype=bool)

    def _targets(
        self, column: Any, missing: NDArray[np.bool_], place: Callable[[int], str], first_row: int
    ) -> NDArray[Any]:
        """Return targets (n,): labels or numbers; those collected as a problem have any value."""
        if missing.any() and not self._options.drop_missing_target:
            at = int(missing.argmax())
            text = str(column[at].as_py() or "").strip()
            error = missing_target(text, place(at), is_label=self._is_label)
            self._options.refuse(str(self._columns.target_name), error, int(missing.sum()))
            if missing.all():
                return np.full(len(missing), "", dtype=object) if self._is_label else np.zeros(len(missing))
            # the values of the other rows alone: a wrong one must not be counted for missing ones too
            known = np.flatnonzero(~missing)
            others = column.take(pa.array(known)), missing[:0]
            found = self._targets(*others, lambda row: place(int(known[row])), first_row)
            return np.asarray(found[np.maximum(np.cumsum(~missing) - 1, 0)])
        return (
            self._labels(column, place, first_row) if self._is_label else self._target_numbers(column, place)
        )

    def _target_numbers(self, column: Any, place: Callable[[int], str]) -> NDArray[np.float64]:
        kinds, name = self._options.kinds, str(self._columns.target_name)
        if not _holds_texts(column):
            return self._numbers(column, place, is_target=True).astype(np.float64)
        if kinds is None:
            return self._numbers(column, place).astype(np.float64)
        kinds.target = name
        if kinds.unknown([name]):
            kinds.decide(name, column, from_text=True)
        return kinds.target_numbers(column, place)

    def _labels(self, column: Any, place: Callable[[int], str], first_row: int) -> NDArray[Any]:
        """Return labels (n,): str objects of a text column, else booleans, numbers or dates.

        Texts of a typed file keep surrounding blanks.
        """
        if _holds_texts(column):
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            texts = encoded.dictionary.to_pylist()
            words = np.array([text.strip() if self._from_text else text for text in texts], dtype=object)
            return np.asarray(words[in_numpy(encoded.indices)])
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if not is_label(column.type):
            raise InputError(
                f"the target column holds {column.type}, neither numbers nor text",
                where=place(0),
                hint="give --target COLUMN",
            )
        if is_number(column.type):
            return in_numpy(column)
        return plain_targets(column, f"{self._file}, column {self._columns.target_name!r}", first_row)


def _holds_texts(column: Any) -> bool:
    return is_text(column.type.value_type if pa.types.is_dictionary(column.type) else column.type)


def _refuse_missing(column: Any, place: Callable[[int], str]) -> None:
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError("the value is missing", where=place(row), hint=FILL_OR_DROP)
