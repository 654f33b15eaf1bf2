"""Makes a data set from files or generated rows, atomically and in bounded memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import CorruptDataError, InputError
from distkern.common.sparse import SparseRows
from distkern.common.targets import targets_of_rows
from distkern.common.types import Block
from distkern.common.urls import redact_urls
from distkern.formats._files import expand
from distkern.formats._kinds import TableKinds
from distkern.formats._meter import metered
from distkern.formats._notes import FileNotes
from distkern.formats.base import (
    Indices,
    RawChunk,
    ReadOptions,
    TargetKind,
    numeric,
    refuse_non_finite,
    refuse_untaken,
    rows_of,
)
from distkern.storage.atomic import is_empty_folder, is_left_over, staged_folder, temporary_folder
from distkern.storage.build import Builder, Checked, Chunks, Notice, Options, Progress, Report, Task
from distkern.storage.columns import FOLDER
from distkern.storage.dataset import Dataset, open_dataset
from distkern.storage.manifest import FILE, read_manifest
from distkern.storage.places import Location, Place, URLPlace, place_of, resolved
from distkern.storage.preparation import Like
from distkern.storage.scaling import ScalingKind
from distkern.storage.table_fit import Impute, TableOptions

Source: TypeAlias = Location
#: features (n, d), an array or of scipy.sparse, and targets (n,) or None; or a block, whose targets may be
#: labels
Generated: TypeAlias = tuple[Any, NDArray[Any] | None] | Block

#: what a data set's folder holds, and what writers that died leave there
_OWN = {"zarr.json", FILE, "train", "test", FOLDER}
_HALF_WRITTEN = re.compile(r"\..+\.partial-.+|\.distkern-being-written")
_TARGET_KINDS: dict[str, TargetKind] = {"classification": "label", "regression": "number", "none": "none"}


def shard(
    sources: Source | Sequence[Source],
    out: Source,
    *,
    test: Source | Sequence[Source] | None = None,
    test_fraction: float | None = None,
    target: str | None = None,
    task: Task | None = None,
    positive: str | None = None,
    scale: ScalingKind | None = None,
    rows_per_shard: int | None = None,
    shuffle: bool = True,
    seed: int = 0,
    sparse: bool | None = None,
    columns: bool = False,
    overwrite: bool = False,
    format: str | None = None,
    header: bool | None = None,
    zero_based: bool | None = None,
    impute: Impute = "mean",
    categorical: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    weight: str | None = None,
    id: str | None = None,
    na: Sequence[str] = (),
    group: str | None = None,
    keep_na: Sequence[str] = (),
    text: Sequence[str] = (),
    day_first: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    no_quotes: bool | None = None,
    escape: str | None = None,
    comment: str | None = None,
    skip_lines: int | None = None,
    like: Like | None = None,
    report: Report | None = None,
    check_only: bool = False,
    progress: Progress | None = None,
    notice: Notice | None = None,
) -> Dataset:
    """Turn files into a sharded data set at ``out``, streaming: memory holds a few shards, whatever their
    size.

    Parameters
    ----------
    sources, test : files, folders, glob patterns or URLs with the training and the test rows
    out : folder or URL to create; it appears when it is complete
    test_fraction : share of the rows (rounded up; with groups, of these) drawn at random as test split
        instead
    target : target column (CSV, Parquet; default the last) or array (.npz)
    task : "classification" (labels), "regression" (numbers) or "none"; None: the task of ``like``, else
        "classification"
    positive : this label against all others; classes are then ("not V", "V")
    scale : scaling of features, see :class:`distkern.storage.scaling.Scaling`, fitted on training rows only.
        The default is "minmax" for dense rows (the papers scale to [0, 1] and the solvers' defaults expect
        it) and "unit" for sparse rows, whose zeros must stay zero
    rows_per_shard : default see :func:`distkern.storage.writer.rows_of_a_shard`
    shuffle : store the training rows in uniformly random order; test rows keep theirs
    seed : seed of the shuffle and the drawn test rows, which depend on nothing else
    sparse : store rows sparse (True) or dense (False); None decides on the first 16 MiB, see
        :class:`distkern.storage.collect.Form`
    columns : add a feature-major copy of the training rows, see :func:`add_columns`
    overwrite : replace the data set at ``out``, which stays until the new one is complete
    format, header : format of files without a known ending; whether CSV files have a header line
    zero_based : indices of svmlight files start at 0; None: if the first block has a 0
    impute, categorical, drop, weight, id, na, group, keep_na, text, day_first : encoding of table columns
        (CSV, Parquet), see :class:`distkern.storage.table_fit.TableOptions`
    delimiter, decimal : delimiter and decimal mark of CSV files; None: detect and report them
    encoding : Python's name of the encoding of CSV files; None: UTF-8
    no_quotes : treat quotation marks in CSV files as ordinary characters, and each line as a row
    escape : escape character of CSV files, such as a backslash
    comment : prefix of comment lines in CSV files
    skip_lines : number of lines of CSV files before the header
    like : encode rows like these, with their ``positive`` and task, without fitting; excludes ``scale`` and
        options on tables
    report : called with the encoding of every table column, before shards are written
    check_only : raise :class:`~distkern.storage.build.Checked` then; see :func:`check`
    progress : called as (what, rows, bytes, rows in all or None)
    notice : called with notes on the rows (with "unit", on rows of norm 0, which stay zeros)

    Raises
    ------
    InputError
        For any problem of the input, naming file, row and column; for a full disk; for an existing ``out``.
    """
    if task is None:
        task = "classification" if like is None else like.task
        if task == "none" and positive is not None:
            task = "classification"
    options = Options(task, positive, scale, test_fraction, rows_per_shard, shuffle, seed, sparse)
    _check(options, test, "--test, --test-fraction")
    for source in _listed(sources):
        if is_dataset(source):
            raise InputError(
                "a data set already, not files to make one from",
                where=redact_urls(str(source)),
                hint="give the files, or --columns without --out to add the feature-major copy to it",
            )
    train_files, meter = metered(expand(map(str, _listed(sources)), format))
    test_files, test_meter = None, None
    if test is not None:
        test_files, test_meter = metered(expand(map(str, _listed(test)), format))
    words = tuple(sorted({word.strip() for word in na})) or None
    table_options = TableOptions(
        impute,
        categorical or {},
        tuple(drop),
        weight,
        id,
        words,
        group,
        tuple(keep_na),
        tuple(text),
        day_first,
    )
    said: dict[str, Any] = {
        "target": target,
        "header": header,
        "delimiter": delimiter,
        "decimal": decimal,
        "encoding": encoding,
        "no_quotes": no_quotes,
        "escape": escape,
        "comment": comment,
        "skip_lines": skip_lines,
    }
    files = [*train_files, *(test_files or ())]
    refuse_untaken(files, table_options.said(), **said, zero_based=zero_based)
    kinds: TableKinds | None = table_options.kinds()
    indices, unknown, notes = Indices(zero_based), set[str](), FileNotes()
    if weight is not None and task == "none":
        raise InputError("weights need a target", where="--weight", hint="leave it out")
    read_options = ReadOptions(
        _TARGET_KINDS[task],
        **said,
        drop=table_options.left_out,
        weight=weight,
        group=group,
        kinds=kinds,
        indices=indices,
        notes=notes,
    )
    if like is not None:
        if scale is not None or replace(table_options, weight=None, group=None) != TableOptions():
            raise InputError(
                "sets the preparation of rows, and so do other options",
                where="--like",
                hint="leave out --scale and what is said of columns (--impute, --categorical, --drop, ...)",
            )
        if like.positive is not None and positive not in (None, like.positive):
            raise InputError(
                f"the data of --like are {like.positive!r} against the rest",
                where=f"--positive {positive}",
                hint=f"give --positive {like.positive}, or leave it out",
            )
        label = positive or (like.positive if task == "classification" else None)
        options = replace(options, scale=like.scaling.kind, positive=label)
        kinds = None if like.table is None else like.table.kinds()
        indices.from_zero = like.from_zero if zero_based is None else zero_based
        if like.table is not None:
            # weights and groups are used as in earlier rows, if files have them
            of_weights, of_groups = weight or like.table.weight, group or like.table.group
            table_options = replace(table_options, weight=of_weights, group=of_groups)
            read_options = replace(read_options, weight=of_weights, group=of_groups, may_lack=True)
        read_options = replace(
            read_options,
            target=like.target_name if target is None and task != "none" else target,
            features=like.names,
            ignored=() if like.table is None else like.table.ignored,
            kinds=kinds,
            unknown=unknown,
        )
    if kinds is not None:
        kinds.collects = True
    test_options = replace(read_options, may_lack=True)
    train: Chunks = rows_of(train_files, read_options)
    if like is not None and (table_options.weight or table_options.group):
        train, table_options = _with_roles(train, table_options, {weight, group}, notice)
    return _make(
        train,
        None if test_files is None else rows_of(test_files, test_options),
        out,
        options,
        overwrite,
        columns=columns,
        progress=progress,
        notice=notice,
        kinds=kinds,
        table_options=table_options,
        like=like,
        indices=indices,
        meter=meter,
        test_meter=test_meter,
        report=report,
        checks=check_only,
        notes=notes,
        unknown=unknown,
    )


def _with_roles(
    chunks: Chunks, options: TableOptions, given: set[str | None], notice: Notice | None
) -> tuple[Chunks, TableOptions]:
    """Chunks, and the columns of weights and groups that their files have; missing ones are reported, or
    refused if ``given``.
    """
    first = next(chunks, None)
    if first is None:
        return iter(()), options
    for role, found in (("weight", first.weights), ("group", first.group_keys)):
        name = getattr(options, role)
        if name is None or found is not None:
            continue
        if name in given:
            raise InputError(f"there is no column {name!r}", where=f"--{role}", hint="check the name")
        if notice is not None:
            notice(f"there is no column {name!r} of {role}s, which earlier rows had: each row counts as one")
    weight = None if first.weights is None else options.weight
    group = None if first.group_keys is None else options.group
    return chain([first], chunks), replace(options, weight=weight, group=group)


def check(sources: Source | Sequence[Source], *, report: Report, **how: Any) -> dict[Any, int]:
    """Call ``report`` with the encoding that :func:`shard` would give every table column, and write nothing.

    Returns the number of training rows of each label. Rows lie in the folder for temporary files meanwhile.
    Raises as :func:`shard`.
    """

    with temporary_folder() as folder:
        try:
            shard(sources, f"{folder}/checked.zarr", report=report, check_only=True, **how)
        except Checked as checked:
            return checked.rows_of_labels
    raise AssertionError("what is checked is not written")


def write_dataset(
    chunks: Iterable[Generated | RawChunk],
    out: Source,
    test_chunks: Iterable[Generated | RawChunk] | None = None,
    *,
    columns: bool = False,
    overwrite: bool = False,
    kinds: TableKinds | None = None,
    table_options: TableOptions | None = None,
    progress: Progress | None = None,
    notice: Notice | None = None,
    report: Report | None = None,
    **options: Any,
) -> Dataset:
    """Turn generated rows, in chunks of (features (n, d), targets (n,) or None), into a data set.

    Chunks also give the keys of groups and weights if ``table_options`` name them. All other parameters are
    those of :func:`shard`. ``kinds`` has read the columns of tables, and ``table_options`` determine their
    encoding.
    """
    made = Options(**options)
    _check(made, test_chunks, "test_chunks, test_fraction")
    return _make(
        _generated(chunks, "training rows", made.task, kinds),
        None if test_chunks is None else _generated(test_chunks, "test rows", made.task, kinds),
        out,
        made,
        overwrite,
        columns=columns,
        progress=progress,
        notice=notice,
        report=report,
        kinds=kinds,
        table_options=table_options,
    )


def _check(options: Options, test: Any, where: str) -> None:
    options.check()
    if test is not None and options.test_fraction is not None:
        raise InputError("test rows are given twice", where=where, hint="give one of them")


def add_columns(path: Source, *, overwrite: bool = False, progress: Progress | None = None) -> Dataset:
    """Add a feature-major copy of the training rows to the data set at ``path``, atomically.

    Solvers that read single features need it. The data set's own files and fingerprint do not change. A copy
    of other data, or one with a damaged manifest, is replaced.

    Parameters
    ----------
    overwrite : rebuild an existing copy
    progress : called as (what, rows, bytes, rows in all)

    Raises
    ------
    InputError
        If there is no data set, it has the copy already, or the disk has no room.
    CorruptDataError
        If a shard is missing or changed.
    """
    from distkern.storage._transpose import write_columns

    dataset = open_dataset(path)
    try:
        present = dataset.train.has_columns
    except CorruptDataError:
        present = False
    if present and not overwrite:
        raise InputError(
            "the data set has a feature-major copy already",
            where=str(dataset.path),
            hint="use it, or rebuild it with --overwrite",
        )
    with staged_folder(dataset.path / FOLDER) as staged:
        write_columns(dataset, staged.path, dataset.path, progress or Builder.progress)
        staged.commit()
    return open_dataset(dataset.path)


def _listed(sources: Source | Sequence[Source]) -> list[Source]:
    return [sources] if isinstance(sources, str | os.PathLike | URLPlace) else list(sources)


def is_dataset(source: Source) -> bool:
    """Whether a source of rows is a data set."""
    if "*" in str(source) or "?" in str(source):
        return False
    place = place_of(source)
    return (place / FILE).is_file() and (place / "zarr.json").is_file()


def _generated(
    chunks: Iterable[Generated | RawChunk], name: str, task: Task, kinds: TableKinds | None
) -> Iterator[RawChunk]:
    first_row = 1
    for item in chunks:
        if isinstance(item, RawChunk):
            chunk = item
        else:
            block = item if isinstance(item, Block) else Block(*item)
            features: Any = block.features
            targets = None if task == "none" else block.targets
            sparse = hasattr(features, "tocsr")
            features = features.tocsr() if sparse else np.asarray(features)
            if features.ndim != 2 or features.dtype.kind not in "biuf":
                raise InputError("features must be numbers of shape (n, d)", where=name, hint="reshape them")
            if targets is not None:
                targets = targets_of_rows(targets, features.shape[0], name, first_row)
            rows = (
                SparseRows.of_scipy(features, numeric(np.asarray(features.data)).dtype)
                if sparse
                else numeric(features)
            )
            chunk = RawChunk(
                rows, targets, first_row, name, group_keys=block.group_keys, weights=block.weights
            )
        refuse_non_finite(chunk, may_miss=kinds is not None)
        first_row += chunk.n_rows
        yield chunk


def _make(
    train: Chunks, test: Chunks | None, out: Source, options: Options, overwrite: bool, **how: Any
) -> Dataset:
    target = resolved(out)
    _check_place(target, overwrite)
    with staged_folder(target) as staged:
        given = {name: value for name, value in how.items() if value is not None}
        Builder(staged, options, **given).run(train, test)
        # another process may have made one meanwhile
        _check_place(target, overwrite)
        if overwrite or isinstance(target, URLPlace):
            staged.commit(_refuse_foreign)
        else:
            staged.commit_new()
    return open_dataset(target)


def _check_place(target: Place, overwrite: bool) -> None:
    if isinstance(target, URLPlace):
        if not target.exists() or (is_left_over(target) and not (target / FILE).exists()):
            return
    elif not os.path.lexists(target) or is_empty_folder(target):
        return
    if not overwrite:
        raise InputError("already exists", where=str(target), hint="give --overwrite or another --out")
    try:
        read_manifest(target)
    except InputError as error:
        # a damaged data set may be replaced; a folder of something else may not
        if not (target / FILE).is_file() or not (target / "zarr.json").is_file():
            raise InputError(
                "is not a data set, so it is not overwritten", where=str(target), hint="remove it yourself"
            ) from error
    _refuse_foreign(target)


def _refuse_foreign(folder: Place) -> None:
    """Raise :class:`InputError` if a data set to be replaced holds other people's files."""
    names = sorted(entry.name for entry in folder.iterdir())
    found = [name for name in names if name not in _OWN and not _HALF_WRITTEN.fullmatch(name)]
    if found:
        raise InputError(
            f"holds other things than a data set ({found[0]!r}), so it is not overwritten",
            where=str(folder),
            hint="move them away, or give another --out",
        )
