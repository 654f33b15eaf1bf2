"""``distkern shard``."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.core import interrupts
from distkern.core.errors import InputError, Problems, invalid_value
from distkern.core.names import plain_labels, written
from distkern.core.text import in_bytes, in_time, shortened
from distkern.data.options import IMPUTE
from distkern.data.scaling import KINDS, Like
from distkern.data.store.places import Place, size_of_tree
from distkern.show.style import short_number

if TYPE_CHECKING:
    from distkern.data.build import Progress
    from distkern.data.dataset import Dataset, Split
    from distkern.data.scaling import Like
    from distkern.data.table_report import ColumnReport
    from distkern.show.terminal import Terminal

#: steps of a progress bar
_STEPS = 1000
#: classes listed
_MOST_CLASSES = 20


@click.command(cls=options.taking_several("--test"))
@click.argument("src", nargs=-1, required=True)
@click.option("--out", type=options.PLACE, metavar="D.zarr", help="Folder or URL of the new data set.")
@click.option(
    "--test",
    multiple=True,
    metavar="SRC...",
    help="Files with the test rows. Takes everything up to the next option, so name the training SRC first.",
)
@click.option(
    "--test-fraction",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Draw this share of the rows as test rows instead.",
)
@click.option(
    "--target",
    metavar="COLUMN",
    help="Target column by name, or by position from 0 (-1: the last); .npz: name of the array; .npy: a "
    "position.  [default: the last column; array y, target or label]",
)
@click.option(
    "--task",
    type=click.Choice(["classification", "regression", "none"]),
    help="Kind of target: labels, numbers, or none.  [default: the task of --like, else classification]",
)
@click.option(
    "--drop-missing-target",
    is_flag=True,
    help="Leave out rows without a target, and report how many.  [default: refuse them]",
)
@click.option(
    "--impute",
    type=click.Choice(IMPUTE),
    default="mean",
    show_default=True,
    help="For tables: how to fill missing numbers and dates: with the mean or the median of the training "
    "rows; flag: with the mean, and a feature that marks them; none: refuse them.",
)
@click.option(
    "--categorical",
    multiple=True,
    metavar="NAME=HOW",
    help="For tables: treat a column as categories. HOW: onehot (a feature for each), target (the mean "
    "target of other rows in the category), signs (the mean target, and 32 features that tell categories "
    "apart) or drop.  [default for texts: onehot up to 32 categories, else signs]",
)
@click.option(
    "--weight",
    metavar="COLUMN",
    help="For tables: column with the weight (above 0) of each training row's loss. Not a feature.",
)
@click.option(
    "--group",
    metavar="COLUMN",
    help="For tables: column of groups (patient, customer, day). Rows of a group stay together in the drawn "
    "test split and among held-out rows. Not a feature.",
)
@click.option(
    "--id",
    metavar="COLUMN",
    help="For tables: column that identifies the rows, kept with later predictions. Not a feature.",
)
@click.option(
    "--na",
    multiple=True,
    metavar="WORD",
    help="For tables: a text that marks a missing value, in the target too, in addition to the empty text, "
    "NA, N/A, ?, null, None, NaN, missing, unknown, -, ...; --na '' switches these off.",
)
@click.option(
    "--like",
    metavar="D.zarr|M",
    help="Encode the rows like this data set or the training data of this model: same columns, categories, "
    "scaling, task and positive class.",
)
@click.option(
    "--keep-na",
    multiple=True,
    metavar="COLUMN",
    help="For tables: a column in which NA, none, unknown and so on are ordinary values.",
)
@click.option(
    "--text",
    multiple=True,
    metavar="COLUMN",
    help="For tables: treat a column as text: its hashed words become 256 features.",
)
@click.option(
    "--day-first/--month-first",
    default=None,
    help="For tables: read 3/4/2024 as 3 April or as March 4, if no date of the column decides.",
)
@click.option(
    "--check",
    is_flag=True,
    help="For tables: show what each column becomes, report all problems, and write nothing.",
)
@click.option("--drop", multiple=True, metavar="COLUMN", help="For tables: a column to leave out.")
@click.option("--positive", metavar="VALUE", help="Make the task binary: this label against the rest.")
@click.option(
    "--scale",
    type=click.Choice(KINDS),
    help="none; minmax: features to [0, 1]; standard: mean 0, variance 1; unit: rows to norm 1; maxabs: "
    "features divided by their largest absolute value; ball: all rows divided by the largest norm. Fitted on "
    "the training rows and stored for predictions.  [default: minmax; unit for sparse rows]",
)
@click.option(
    "--sparse/--dense",
    default=None,
    help="Store only the nonzero numbers, or all.  [default: sparse if fewer than 1 in 16 is nonzero]",
)
@click.option(
    "--rows-per-shard",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rows of a shard.  [default: 16 MiB of features, less if the data are small]",
)
@click.option(
    "--shuffle/--no-shuffle",
    default=True,
    show_default=True,
    help="Store training rows in random order. Without it every training run shuffles them first.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Seed of shuffle and test rows.",
)
@options.file_kinds
@click.option(
    "--columns",
    is_flag=True,
    help="Also store the training rows feature by feature, for algorithms that read single features. "
    "Without --out: add this copy to the data set SRC.",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace the data set at --out (without --out: its copy by features) once the new one is complete.",
)
@options.as_json
@click.pass_context
def shard(
    context: click.Context,
    /,
    src: tuple[str, ...],
    out: Place | None,
    test: tuple[str, ...],
    categorical: tuple[str, ...],
    like: str | None,
    columns: bool,
    overwrite: bool,
    check: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Turn files into a sharded data set.

    SRC are svmlight, CSV, Parquet, NPY or NPZ files, folders, patterns or URLs. Files are streamed: memory
    holds at most a few shards.

    \b
    Example:
      distkern shard covtype.csv.gz --out covtype.zarr --test-fraction 0.2
      distkern shard a9a.svm.gz --test a9a.t.svm.gz --out a9a.zarr
      distkern shard customers.csv --target churned --check
      distkern shard a9a.zarr --columns
    """
    from distkern.data.ingest import check as look
    from distkern.data.ingest import shard as ingest
    from distkern.show.terminal import Terminal

    if out is None and not check:
        _add_columns(context, src, columns, overwrite, as_json)
        return
    notices: list[str] = []
    started = time.perf_counter()
    reports: list[ColumnReport] = []
    with _interruption_explained(), Terminal(since=options.began()) as terminal:

        def report(found: Sequence[ColumnReport]) -> None:
            reports.extend(found)
            if not as_json and (check or not all(column.is_plain for column in found)):
                from distkern.cli.tables import column_table, console

                terminal.clear()
                console().print(column_table(found))

        how |= {
            "test": test or None,
            "categorical": _by_name(categorical),
            "like": None if like is None else _like(like),
            "report": report,
            "progress": progress_on(terminal),
            "notice": notices.append,
        }
        if not check:
            assert out is not None
            dataset = ingest(src, out, columns=columns, overwrite=overwrite, **how)
        else:
            problems: list[InputError] = []
            target: str | None = None
            rows_of_labels: dict[Any, int] = {}
            try:
                checked = look(src, **how)
                rows_of_labels, target = checked.rows_of_labels, checked.target_name
                if not (reports or as_json or notices):
                    what = "all columns are numbers" if like is None else f"the columns match {like}"
                    click.echo(f"{what}; nothing to report")
            except InputError as error:
                problems = [*error.errors] if isinstance(error, Problems) else [error]
                raise
            finally:
                terminal.clear()
                if not as_json:
                    _tell_target(target, how)
                _show_check(reports, notices, problems, rows_of_labels, as_json)
            return
    seconds = time.perf_counter() - started
    facts = _facts(dataset, seconds) | {"table": [*map(asdict, reports)], "notices": notices}
    if facts["class_rows"] and not as_json:
        _print_classes(facts["class_rows"], len(facts["classes"]))
    if not as_json:
        _tell_target(dataset.target_name, how)
    options.tell(as_json, facts, _closing_line(dataset, out, seconds, notices, like))


def _tell_target(name: str | None, how: Mapping[str, Any]) -> None:
    """Name the target if no option does."""
    if how["target"] is None and how["like"] is None and name is not None:
        click.echo(f"target: {name} (the last column; --target COLUMN for another)")


def _show_check(
    reports: list[ColumnReport],
    notices: list[str],
    problems: list[InputError],
    rows_of_labels: dict[Any, int],
    as_json: bool,
) -> None:
    from distkern.cli.tables import note_line

    if not (reports or notices or as_json):
        return
    closing = "Nothing was written. To write it, leave out --check and give --out D.zarr."
    if problems:
        closing = "Nothing was written. Fix this first:"
    listed = [{"where": one.where, "what": one.what, "hint": one.hint} for one in problems]
    classes = rows_of_classes([*rows_of_labels], {"train": [*rows_of_labels.values()]})
    if classes and not as_json:
        _print_classes(classes, len(rows_of_labels))
    facts = {"table": [*map(asdict, reports)], "notices": notices, "problems": listed, "class_rows": classes}
    options.tell(as_json, facts, "\n".join([*map(note_line, notices), closing]))


def _like(path: str) -> Like:
    """Return the encoding of a data set's rows or of a model's training rows."""
    from distkern.data.dataset import open_dataset
    from distkern.data.ingest import is_dataset
    from distkern.runs.persistence import read_model

    if is_dataset(path):
        data = open_dataset(path)
        names = data.feature_names
        if data.table is not None:
            names = data.table.names if data.table.is_named else None
        return Like(
            data.n_features,
            names,
            data.target_name,
            data.scaling,
            data.table,
            data.classes,
            data.task,
            positive=data.options.get("positive"),
            from_zero=bool(data.options.get("zero_based")),
        )
    model = read_model(path)
    return model.columns.like(model.task, model.classes)


def _by_name(given: tuple[str, ...]) -> dict[str, str]:
    """Parse each NAME=HOW; names may contain equals signs."""
    found: dict[str, str] = {}
    for item in given:
        name, equals, how = item.rpartition("=")
        if not equals or not name:
            name, _, how = item.partition(":")
            example = f"{name or 'NAME'}={how or 'onehot'}"
            raise invalid_value("--categorical", item, "NAME=HOW", f"give for instance {example}")
        found[name] = how
    return found


#: options that adding the feature-major copy accepts
_OF_THE_COPY = ("src", "columns", "overwrite", "as_json")


def _add_columns(
    context: click.Context, src: tuple[str, ...], columns: bool, overwrite: bool, as_json: bool
) -> None:
    from distkern.data.ingest import add_columns, is_dataset
    from distkern.show.terminal import Terminal

    is_made = is_dataset(src[0])
    if not columns or len(src) > 1 or not is_made:
        hint = "give the new data set's folder, --out D.zarr"
        if is_made and len(src) == 1:
            hint = f"give --columns to add the feature-major copy to {src[0]}"
        elif columns:
            hint += ", or one data set to which to add the feature-major copy"
        raise InputError("is missing", where="--out", hint=hint)
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is click.core.ParameterSource.COMMANDLINE
        if given and option.name not in _OF_THE_COPY:
            raise InputError(
                "has no effect on an existing data set",
                where=option.opts[-1],
                hint="leave it out, or give --out and the source files to make another data set",
            )
    started = time.perf_counter()
    with _interruption_explained(), Terminal(since=options.began()) as terminal:
        dataset = add_columns(src[0], overwrite=overwrite, progress=progress_on(terminal))
    seconds = time.perf_counter() - started
    copy = dataset.train.column_copy
    assert copy is not None
    size = f"{dataset.n_rows:,} train rows, {in_bytes(copy.stored_bytes)}, {in_time(seconds)}"
    options.tell(as_json, _facts(dataset, seconds), f"{src[0]}: feature-major copy of {size}")


def _splits(dataset: Dataset) -> dict[str, Split]:
    return {"train": dataset.train} | ({} if dataset.test is None else {"test": dataset.test})


def _facts(dataset: Dataset, seconds: float) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "path": str(dataset.path),
        "task": dataset.task,
        "target": dataset.target_name,
        "n_features": dataset.n_features,
        "sparse": dataset.is_sparse,
    }
    for name, split in _splits(dataset).items():
        facts[name] = {
            "rows": split.n_rows,
            "shards": split.n_blocks,
            "class_counts": None if split.class_counts is None else split.class_counts.tolist(),
        }
    facts["group"] = dataset.group_name
    labels = [] if dataset.classes is None else plain_labels(dataset.classes)
    facts["classes"] = labels or None
    counts = {
        name: split.class_counts.tolist()
        for name, split in _splits(dataset).items()
        if split.class_counts is not None
    }
    facts["class_rows"] = rows_of_classes(labels, counts)
    facts |= {
        "scaling": dataset.scaling.kind,
        "bytes": size_of_tree(dataset.path),
        "seconds": round(seconds, 3),
    }
    facts["columns"] = column_facts(dataset)
    return facts | {"fingerprint": dataset.fingerprint}


def rows_of_classes(labels: Sequence[Any], counts: Mapping[str, Sequence[int]]) -> list[dict[str, Any]]:
    """Return label and rows per split of up to 20 classes, else of the 10 largest and the 10 smallest.

    Small classes are often mistakes in the data.
    """
    codes = list(range(len(labels)))
    if len(codes) > _MOST_CLASSES:
        by_rows = sorted(codes, key=lambda code: -sum(rows[code] for rows in counts.values()))
        codes = by_rows[: _MOST_CLASSES // 2] + by_rows[-_MOST_CLASSES // 2 :]
    return [{"label": labels[code], **{name: rows[code] for name, rows in counts.items()}} for code in codes]


def _print_classes(classes: Sequence[Mapping[str, Any]], n_classes: int) -> None:
    from distkern.cli.tables import console, table

    names = [name for name in classes[0] if name != "label"]
    rows = [[_seen(one["label"]), *(f"{one[name]:,}" for name in names)] for one in classes]
    if n_classes > len(classes):
        rows.insert(len(classes) // 2, [f"{n_classes - len(classes):,} more", *("..." for _ in names)])
    console().print(table(("class", *(f"{name} rows" for name in names)), rows))


def _seen(label: Any) -> str:
    """Return a label, in quotation marks if it begins or ends with a blank."""
    text = written(label)
    return shortened(text if text == text.strip() else repr(text))


def column_facts(dataset: Dataset) -> dict[str, int] | None:
    """Return groups and bytes of the feature-major copy, or None."""
    copy = dataset.train.column_copy
    return None if copy is None else {"groups": len(copy.groups), "bytes": copy.stored_bytes}


def _closing_line(dataset: Dataset, out: Place, seconds: float, notices: list[str], like: str | None) -> str:
    splits = _splits(dataset)
    rows = " + ".join(f"{split.n_rows:,} {name}" for name, split in splits.items())
    form = "sparse " if dataset.is_sparse else ""
    shards = " + ".join(f"{split.n_blocks:,}" for split in splits.values())
    shards += f" {form}shard{'s' * (shards != '1')}, "
    n_classes = 0 if dataset.classes is None else len(dataset.classes)
    classes = f"{n_classes:,} class{'es' * (n_classes != 1)}, " if n_classes else ""
    copy = column_facts(dataset)
    columns = "" if copy is None else f"feature-major copy ({in_bytes(copy['bytes'])}), "
    notes = ""
    if notices:
        from distkern.cli.tables import note_line

        notes = "".join(f"{note_line(notice)}\n" for notice in notices)
    place = shlex.quote(str(out))
    following = f"distkern inspect {place}"
    if like is not None:
        from distkern.data.ingest import is_dataset

        model = "MODEL" if is_dataset(like) else shlex.quote(like)
        following = f"distkern evaluate {model} --data {place} --split train"
        if dataset.task == "none":
            following = f"distkern predict {model} --data {place} --split train --out predictions.csv"
    elif n_classes == 1:
        following = f"distkern update MODEL --data {place}"
    elif dataset.task != "none":
        following = f"distkern train --data {place} --out model"
    return (
        f"{out}: {rows} rows, {dataset.n_features:,} features, {classes}{shards}"
        f"{columns}{in_bytes(size_of_tree(dataset.path))}, {in_time(seconds)}\n"
        f"{notes}next: {following}"
    )


@contextmanager
def _interruption_explained() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt("interrupted; nothing was written, run the same command again") from interrupt


def progress_on(terminal: Terminal, n_rows: int | None = None) -> Progress:
    """Return a callback that shows the progress of a data set on a terminal."""
    shown = ""

    def show(what: str, rows: int, n_bytes: int, total: int | None) -> None:
        nonlocal shown
        interrupts.check()
        if shown != (shown := what.partition(",")[0]):
            # a new step has its own speed
            terminal.clear()
        in_all = total or n_rows
        # the estimated total changes while rows are read, and the end of the bar must not move
        done, of = (rows, None) if in_all is None else (round(_STEPS * rows / in_all), _STEPS)
        terminal.show(what, done, of, f"{short_number(rows)} rows, {in_bytes(n_bytes)}")

    return show
