"""Build a data set from files or generated rows, atomically and in bounded memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import CorruptDataError, InputError
from distkern.core.sparse import SparseRows, refuse_masked
from distkern.core.targets import targets_of_rows
from distkern.core.types import Block
from distkern.core.urls import redact_urls
from distkern.data.build import Builder, Checked, Chunks, Notice, Progress, Report
from distkern.data.dataset import Dataset, open_dataset
from distkern.data.feature_major import FOLDER
from distkern.data.formats._files import expand
from distkern.data.formats._kinds import TableKinds
from distkern.data.formats._notes import FileNotes, metered
from distkern.data.formats.base import (
    Indices,
    RawChunk,
    ReadOptions,
    TargetKind,
    numeric,
    refuse_non_finite,
    refuse_untaken,
    rows_of,
)
from distkern.data.manifest import FILE, read_manifest
from distkern.data.options import ShardOptions, Task
from distkern.data.scaling import Like
from distkern.data.store.atomic import is_empty_folder, is_left_over, staged_folder, temporary_folder
from distkern.data.store.places import Location, Place, URLPlace, place_of, resolved

Source: TypeAlias = Location
#: features (n, d), an array or scipy.sparse matrix, and targets (n,) or None; or a block, maybe with labels
Generated: TypeAlias = tuple[Any, NDArray[Any] | None] | Block

#: entries of a data set's folder, and remains of writers that died
_OWN = {"zarr.json", FILE, "train", "test", FOLDER}
_HALF_WRITTEN = re.compile(r"\..+\.partial-.+|\.distkern-being-written")
_TARGET_KINDS: dict[str, TargetKind] = {"classification": "label", "regression": "number", "none": "none"}


def shard(
    sources: Source | Sequence[Source],
    out: Source,
    *,
    test: Source | Sequence[Source] | None = None,
    like: Like | None = None,
    report: Report | None = None,
    check_only: bool = False,
    progress: Progress | None = None,
    notice: Notice | None = None,
    **options: Any,
) -> Dataset:
    """Turn files into a sharded data set at ``out``, streaming: memory holds a few shards at any size.

    Parameters
    ----------
    sources, test : files, folders, glob patterns or URLs with the training and the test rows
    out : folder or URL to create; it appears when it is complete
    like : encode rows like these, with their ``positive`` and task, without fitting; excludes ``scale`` and
        options on tables
    report : called with the encoding of every table column, before shards are written
    check_only : then raise :class:`~distkern.data.build.Checked`; see :func:`check`
    progress : called as (what, rows, bytes, rows in all or None)
    notice : called with notes on the rows (with "unit", on rows of norm 0, which stay zeros)
    options : see :class:`~distkern.data.options.ShardOptions`

    Raises
    ------
    InputError
        For any problem of the input, naming file, row and column; for a full disk; for an existing ``out``.
    """
    settings = ShardOptions(**options)
    if settings.task is None:
        task: Task = "classification" if like is None else like.task
        is_labelled = task == "none" and settings.positive is not None
        settings = replace(settings, task="classification" if is_labelled else task)
    _check(settings, test, "--test, --test-fraction")
    for source in _listed(sources):
        if is_dataset(source):
            raise InputError(
                "is a data set already",
                where=redact_urls(str(source)),
                hint="give the files, or --columns without --out to add the feature-major copy to it",
            )
    train_files, meter = metered(expand(map(str, _listed(sources)), settings.format))
    test_files, test_meter = None, None
    if test is not None:
        test_files, test_meter = metered(expand(map(str, _listed(test)), settings.format))
    files = [*train_files, *(test_files or ())]
    # impute="none" suits all formats, which refuse missing values
    on_columns = {
        name: value for name, value in settings.on_columns.items() if (name, value) != ("impute", "none")
    }
    refuse_untaken(
        files,
        on_columns,
        **settings.on_files,
        zero_based=settings.zero_based,
        drop_missing_target=settings.drop_missing_target or None,
    )
    if settings.weight is not None and settings.task == "none":
        raise InputError("weights need a target", where="--weight", hint="leave it out")
    kinds: TableKinds | None = settings.kinds()
    indices, unknown, notes = Indices(settings.zero_based), set[str](), FileNotes()
    given = {settings.weight, settings.group}
    left_out = settings.left_out
    if like is not None:
        kinds = None if like.table is None else like.table.kinds()
        settings = _like(settings, like)
        indices.from_zero = like.from_zero if settings.zero_based is None else settings.zero_based
    assert settings.task is not None
    read_options = ReadOptions(
        _TARGET_KINDS[settings.task],
        **settings.on_files,
        drop=left_out,
        weight=settings.weight,
        group=settings.group,
        drop_missing_target=settings.drop_missing_target,
        kinds=kinds,
        indices=indices,
        notes=notes,
    )
    if like is not None:
        ignored = () if like.table is None else like.table.ignored
        read_options = replace(
            read_options,
            features=like.names,
            ignored=ignored,
            unknown=unknown,
            # weights and groups are used as in earlier rows, if files have them
            may_lack=like.table is not None,
        )
    if kinds is not None:
        kinds.collects = True
    test_options = replace(read_options, may_lack=True)
    train: Chunks = rows_of(train_files, read_options)
    if like is not None and (settings.weight or settings.group):
        train, settings = _with_roles(train, settings, given, notice)
    return _make(
        train,
        None if test_files is None else rows_of(test_files, test_options),
        out,
        settings,
        progress=progress,
        notice=notice,
        kinds=kinds,
        like=like,
        indices=indices,
        meter=meter,
        test_meter=test_meter,
        report=report,
        checks=check_only,
        notes=notes,
        unknown=unknown,
    )


def _like(options: ShardOptions, like: Like) -> ShardOptions:
    """Return the options for preparing rows like earlier ones; :class:`InputError` if they conflict."""
    if options.scale is not None or options.on_columns.keys() - {"weight", "group"}:
        raise InputError(
            "determines the preparation of rows, which other options change",
            where="--like",
            hint="leave out --scale and options on columns (--impute, --categorical, --drop, ...)",
        )
    positive = options.positive
    if like.positive is not None and positive not in (None, like.positive):
        raise InputError(
            f"the data of --like have {like.positive!r} against the rest",
            where=f"--positive {positive}",
            hint=f"give --positive {like.positive}, or leave it out",
        )
    is_of_classes, table = options.task == "classification", like.table
    target = like.target_name if options.target is None and options.task != "none" else options.target
    return replace(
        options,
        scale=like.scaling.kind,
        positive=positive or (like.positive if is_of_classes else None),
        target=target,
        weight=options.weight or (None if table is None else table.weight),
        group=options.group or (None if table is None else table.group),
    )


def _with_roles(
    chunks: Chunks, options: ShardOptions, given: set[str | None], notice: Notice | None
) -> tuple[Chunks, ShardOptions]:
    """Return the chunks, and the options with the weight and group columns that the files have; missing
    columns are reported, or refused if in ``given``.
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
            notice(f"there is no column {name!r} of {role}s, unlike in earlier rows: each row counts as one")
    weight = None if first.weights is None else options.weight
    group = None if first.group_keys is None else options.group
    return chain([first], chunks), replace(options, weight=weight, group=group)


def check(sources: Source | Sequence[Source], *, report: Report, **how: Any) -> Checked:
    """Call ``report`` with the encoding that :func:`shard` would give every table column, and write nothing.

    Returns what it found. Rows are parked in the temporary folder. Raises as
    :func:`shard`.
    """

    with temporary_folder() as folder:
        try:
            shard(sources, f"{folder}/checked.zarr", report=report, check_only=True, **how)
        except Checked as checked:
            return checked
    raise AssertionError("checking ends with Checked")


def write_dataset(
    chunks: Iterable[Generated | RawChunk],
    out: Source,
    test_chunks: Iterable[Generated | RawChunk] | None = None,
    *,
    kinds: TableKinds | None = None,
    progress: Progress | None = None,
    notice: Notice | None = None,
    report: Report | None = None,
    **options: Any,
) -> Dataset:
    """Turn generated rows, in chunks of (features (n, d), targets (n,) or None), into a data set.

    Chunks also give group keys and weights if ``options`` name them. ``kinds`` has read the columns of
    tables. All other parameters are those of :func:`shard`.
    """
    settings = ShardOptions(**{"task": "classification", **options})
    _check(settings, test_chunks, "test_chunks, test_fraction")
    return _make(
        _generated(chunks, "training rows", settings.task, kinds),
        None if test_chunks is None else _generated(test_chunks, "test rows", settings.task, kinds),
        out,
        settings,
        progress=progress,
        notice=notice,
        report=report,
        kinds=kinds,
    )


def _check(options: ShardOptions, test: Any, where: str) -> None:
    if test is not None and options.test_fraction is not None:
        raise InputError("test rows are given twice", where=where, hint="give one of them")


def add_columns(path: Source, *, overwrite: bool = False, progress: Progress | None = None) -> Dataset:
    """Add a feature-major copy of the training rows to the data set at ``path``, atomically.

    Solvers that read single features need it. The data set's own files and fingerprint do not change. A copy
    of other data, or one with a damaged manifest, is replaced. Raises :class:`InputError` if there is no data
    set, it has the copy already, or the disk is full; and :class:`CorruptDataError` if a shard is missing or
    changed.

    Parameters
    ----------
    overwrite : rebuild an existing copy
    progress : called as (what, rows, bytes, rows in all)
    """
    from distkern.data._transpose import write_columns

    dataset = open_dataset(path)
    try:
        present = dataset.train.has_columns
    except CorruptDataError:
        present = False
    if present and not overwrite:
        raise InputError(
            "the data set already has a feature-major copy",
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
    chunks: Iterable[Generated | RawChunk], name: str, task: Task | None, kinds: TableKinds | None
) -> Iterator[RawChunk]:
    first_row = 1
    for item in chunks:
        if isinstance(item, RawChunk):
            chunk = item
        else:
            block = item if isinstance(item, Block) else Block(*item)
            features: Any = block.features
            targets = None if task == "none" else block.targets
            refuse_masked(features, name)
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


def _make(train: Chunks, test: Chunks | None, out: Source, options: ShardOptions, **how: Any) -> Dataset:
    target, overwrite = resolved(out), options.overwrite
    _check_place(target, overwrite)
    with staged_folder(target) as staged:
        given = {name: value for name, value in how.items() if value is not None}
        Builder(staged, options, **given).run(train, test)
        # another process may have created one meanwhile
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
        # no other folder or file is overwritten
        hint = "give --overwrite or another --out" if is_dataset(target) else "give another --out"
        raise InputError("already exists", where=str(target), hint=hint)
    try:
        read_manifest(target)
    except InputError as error:
        # a damaged data set may be replaced, another folder may not
        if not (target / FILE).is_file() or not (target / "zarr.json").is_file():
            raise InputError(
                "is not a data set, so it is not overwritten", where=str(target), hint="remove it yourself"
            ) from error
    _refuse_foreign(target)


def _refuse_foreign(folder: Place) -> None:
    """Raise :class:`InputError` if a data set to be replaced holds foreign files."""
    names = sorted(entry.name for entry in folder.iterdir())
    found = [name for name in names if name not in _OWN and not _HALF_WRITTEN.fullmatch(name)]
    if found:
        raise InputError(
            f"holds other things than a data set ({found[0]!r}), so it is not overwritten",
            where=str(folder),
            hint="move them away, or give another --out",
        )
