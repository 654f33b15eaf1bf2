"""``distkern predict``."""

from __future__ import annotations

from typing import Any

import click

from distkern.cli import options
from distkern.cli.evaluate import find_split
from distkern.core.errors import InputError
from distkern.data.store.places import Place, place_of

_ENDINGS = (".zarr", ".csv", ".npy")


@click.command()
@click.argument("model", metavar="M")
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option("--data", metavar="D.zarr", help="A sharded data set, a folder or a URL, instead of files.")
@click.option("--out", required=True, metavar="P.csv", help="A path or URL that ends in .zarr, .csv or .npy.")
@click.option("--split", type=click.Choice(["train", "test"]), help="Rows of the data set.  [default: test]")
@click.option(
    "--id",
    metavar="COLUMN",
    help="Keep this column of the files with the predictions.  [default: the training data's --id]",
)
@click.option(
    "--target",
    metavar="COLUMN",
    help="Leave out this column of the files, by name or by position from 0.  [default: the training data's "
    "target, if present]",
)
@options.file_kinds
@click.option(
    "--overwrite", is_flag=True, help="Replace existing predictions once the new ones are complete."
)
@click.option("--decision", is_flag=True, help="Write decision values instead of classes.")
@click.option("--proba", is_flag=True, help="Write probabilities, for models that have them.")
@options.threshold
@options.scheduling
@options.as_json
def predict(
    model: str,
    files: tuple[str, ...],
    data: str | None,
    out: str,
    split: str | None,
    decision: bool,
    proba: bool,
    overwrite: bool,
    threshold: float | str | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Write a model's predictions for files or for a data set.

    FILE are svmlight, CSV, Parquet, NPY or NPZ files, folders, patterns or URLs. Predictions keep the order
    of the files. Columns are matched by name; unknown ones are ignored with a note. With --data, .zarr and
    .csv also hold each row's number in its source.

    \b
    Example:
      distkern predict m new.csv --id customer --out predictions.csv
      distkern predict m --data covtype.zarr --out predictions.csv
    """
    from distkern.data.formats.base import FileForm
    from distkern.data.table import unknown_note
    from distkern.runs.algorithms import load_model
    from distkern.runs.given import unknown_columns
    from distkern.runs.scoring import files_for, predict_files_to, predict_to
    from distkern.show.terminal import Terminal

    if not out.endswith(_ENDINGS):
        raise InputError(
            f"{out!r} has an unknown ending", where="--out", hint=f"end it in one of {', '.join(_ENDINGS)}"
        )
    how = {name: where.pop(name) for name in ("id", "format", "zero_based", *FileForm.__annotations__)}
    _check_source(files, data, split, how)
    fitted = options.with_threshold(load_model(model), threshold)
    if proba and decision:
        raise InputError("cannot be combined with --decision", where="--proba", hint="give one of them")
    if threshold is not None and (proba or decision):
        raise InputError(
            f"chooses classes, which {'--proba' if proba else '--decision'} does not write",
            where="--threshold",
            hint="give one of them",
        )
    if proba and fitted.task != "classification":
        raise InputError("is for classifiers", where="--proba", hint="leave it out")
    if proba and not hasattr(fitted, "predict_proba"):
        setting = "--set loss=logistic"
        if "probability" in fitted.hyperparameters:
            setting = "--set probability=true"
        elif "logistic" not in fitted.hyperparameters["loss"].words:
            setting = "--algorithm auto"
        raise InputError(
            f"this {type(fitted).__name__} has no probabilities",
            where="--proba",
            hint=f"use --decision, or train with {setting}",
        )
    output = "decision" if decision else "probability" if proba else "label"
    wanted: dict[str, Any] = {"output": output, "overwrite": overwrite}
    notes: list[str]
    if data is not None:
        source = find_split(model, data, split or "test")
        unknown = unknown_columns(fitted.model_.columns, source.dataset)
        notes = [unknown_note(unknown)] if unknown else []
        where = options.where_to_run(source.n_rows * source.row_bytes, **where)
        with Terminal(since=options.began()) as terminal:
            n_rows = predict_to(fitted.model_, source, out, **wanted, **where, listeners=[terminal])
    else:
        rows = files_for(fitted.model_, files, **how)
        where = options.where_to_run(rows.meter.n_bytes, **where)
        with Terminal(since=options.began()) as terminal:
            n_rows = predict_files_to(fitted.model_, rows, out, **wanted, **where, listeners=[terminal])
        notes = [
            f"{file} has no column names: columns are read in the order of training"
            for file in rows.by_position
        ]
        notes += rows.notes.lines()
        if rows.unknown:
            notes.append(unknown_note(rows.unknown))
        notes += rows.unseen_notes
    if output == "label" and n_rows > 1 and fitted.task == "classification":
        notes += _of_one_class(fitted, place_of(out))
    for note in notes:
        click.echo(f"note: {note}", err=True)
    facts = {"n": n_rows, "out": str(place_of(out)), "decision": decision}
    options.tell(as_json, facts, f"{n_rows:,} predictions in {out}")


def _of_one_class(model: Any, out: Place) -> list[str]:
    """Return a note if every row is predicted as one class."""
    from distkern.data.predictions import only_label

    label = only_label(out, model.classes_)
    if label is None or len(model.classes_) < 2:
        return []
    note = f"every row is predicted {label!r}"
    if len(model.classes_) == 2 and hasattr(model, "predict_proba"):
        note += "; the probabilities may still be good: choose a threshold, for instance --threshold balanced"
    return [note]


def _check_source(files: tuple[str, ...], data: str | None, split: str | None, how: dict[str, Any]) -> None:
    from distkern.data.ingest import is_dataset

    if bool(files) == (data is not None):
        raise InputError(
            "files and a data set at once" if files else "nothing to predict",
            where="--data",
            hint="give files, FILE..., or a data set, --data D.zarr",
        )
    if files:
        if split is not None:
            raise InputError("files have no splits", where="--split", hint="leave it out")
        for file in files:
            if is_dataset(file):
                raise InputError("is a data set, not a file", where=file, hint=f"give it as --data {file}")
        return
    for name, value in how.items():
        if value is not None:
            raise InputError(
                "has no effect on a data set", where=f"--{name.replace('_', '-')}", hint="leave it out"
            )
    place = place_of(str(data))
    if place.exists() and not place.is_dir():
        raise InputError(
            "is a file, not a data set", where=str(data), hint=f"give it without --data: predict M {data}"
        )
