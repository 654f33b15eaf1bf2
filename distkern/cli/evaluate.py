"""``distkern evaluate``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.core.errors import InputError
from distkern.data.store.places import Place

if TYPE_CHECKING:
    from distkern.data.dataset import Split
    from distkern.runs.evaluation import Evaluation

#: whose names and confusion are in the JSON
_MOST_LABELS = 100
_SHARES = ("error", "accuracy", "balanced_accuracy", "outliers")
_NUMBERS = (
    "auc",
    "average_precision",
    "log_loss",
    "brier_score",
    "calibration_error",
    "rmse",
    "mae",
    "r2",
    "pinball",
    "mean_decision",
    "threshold",
    "objective",
)
_NAMES = {
    "balanced_accuracy": "balanced accuracy",
    "auc": "area under the ROC curve",
    "average_precision": "average precision",
    "log_loss": "log loss",
    "brier_score": "Brier score",
    "calibration_error": "calibration error",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "r2": "R^2",
    "pinball": "pinball loss",
    "mean_decision": "mean decision value",
}


@click.command()
@click.argument("model", metavar="M")
@click.option("--data", required=True, metavar="D.zarr", help="The sharded data set, a folder or a URL.")
@click.option(
    "--split",
    type=click.Choice(["train", "test", "both"]),
    default="test",
    show_default=True,
    help="Rows to measure on.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=options.PLACE,
    help="Write a page: ROC and calibration curves, thresholds and confusion matrix, or predictions against "
    "targets.",
)
@options.threshold
@options.scheduling
@options.as_json
def evaluate(
    model: str,
    data: str,
    split: str,
    html: Place | None,
    threshold: float | str | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Measure a model on a data set.

    Reports errors, probability scores, the objective and the confusion matrix. Prints one JSON object with
    --json or if standard output is not a terminal.

    \b
    Examples:
      distkern evaluate m --data covtype.zarr
      distkern evaluate m --data covtype.zarr --split both --html m/evaluation.html
    """
    from distkern.data.table import unknown_note
    from distkern.estimators.loading import load_model
    from distkern.runs.given import unknown_columns
    from distkern.runs.run import evaluations
    from distkern.show.terminal import Terminal

    if html is not None:
        _check_page(html)
    fitted = options.with_threshold(load_model(model), threshold)
    names = ["train", "test"] if split == "both" else [split]
    sources = [find_split(model, data, name) for name in names]
    where = options.where_to_run(sum(source.n_rows * source.row_bytes for source in sources), **where)
    unknown = unknown_columns(fitted.model_.columns, sources[0].dataset)
    if unknown:
        click.echo(f"note: {unknown_note(unknown)}", err=True)
    with Terminal() as terminal:
        found = evaluations(fitted.model_, sources, listeners=[terminal], **where)
    measured = dict(zip(names, found, strict=True))
    for name, evaluation in measured.items():
        _tell_strangers(name, evaluation)
    if html is not None:
        from distkern.cli.evaluation_page import evaluation_page
        from distkern.cli.training import target_of
        from distkern.data.store.atomic import write_text_atomic

        page = evaluation_page(
            f"{model} on {data}", type(fitted).__name__, measured, target_of(fitted.model_)
        )
        write_text_atomic(html, page)
    if as_json or not sys.stdout.isatty():
        facts = {name: _record(evaluation) for name, evaluation in measured.items()}
        click.echo(json.dumps(facts if split == "both" else facts[split]))
        return
    from distkern.cli.confusion import confusion_lines
    from distkern.cli.tables import console, table

    printed = console()
    printed.print(f"{model} on {data}")
    printed.print(table(("", *names), figure_rows(measured)))
    for name, evaluation in measured.items():
        for line in confusion_lines(evaluation, name):
            printed.print(line)
    if html is not None:
        printed.print(f"page in {html}")


def _tell_strangers(split: str, evaluation: Evaluation) -> None:
    """Say how many rows have classes that the model does not know: losses and rankings leave them out."""
    if evaluation.confusion is None:
        return
    known = set(evaluation.predicted)
    strangers = {
        label: int(row.sum())
        for label, row in zip(evaluation.labels, evaluation.confusion, strict=True)
        if label not in known and row.any()
    }
    if strangers:
        named = ", ".join(f"{label} ({count})" for label, count in [*strangers.items()][:5])
        more = ", ..." if len(strangers) > 5 else ""
        click.echo(
            f"note: {split} rows of classes that the model does not know count as errors, and losses leave "
            f"them out: {named}{more}",
            err=True,
        )


def _check_page(place: Place) -> None:
    """Refuse a page that cannot be written, before anything is measured."""
    if place.is_dir():
        raise InputError("is a folder", where=f"--html {place}", hint="name a file in it")
    if isinstance(place, Path) and not place.parent.is_dir():
        raise InputError(
            f"there is no folder {place.parent}", where=f"--html {place}", hint="make it, or check the path"
        )


def _record(evaluation: Evaluation) -> dict[str, Any]:
    """The figures as printed in JSON, with the confusion matrix of a few classes."""
    confusion = evaluation.confusion
    if confusion is None or len(evaluation.labels) > _MOST_LABELS:
        return evaluation.figures
    named = {"labels": evaluation.labels, "predicted": evaluation.predicted, "confusion": confusion.tolist()}
    return {**evaluation.figures, **named}


def figure_rows(measured: Mapping[str, Evaluation]) -> list[list[str]]:
    """Rows of a table: the name of a figure and its value on each split."""
    from distkern.core.text import in_number, in_percent, in_time

    figures = [evaluation.figures for evaluation in measured.values()]
    rows = [["rows", *(f"{own['n']:,}" for own in figures)]]
    for names, text in ((_SHARES, in_percent), (_NUMBERS, in_number)):
        rows += [
            [_NAMES.get(name, name), *(text(own.get(name)) for own in figures)]
            for name in names
            if any(name in own for own in figures)
        ]
    rows += [
        [f"rows at or below quantile {level}", *(in_percent(own["below"][level]) for own in figures)]
        for level in figures[0].get("below", ())
    ]
    return [*rows, ["time", *(in_time(own["seconds"]) for own in figures)]]


def find_split(model: str, data: str, split: str) -> Split:
    """The split of a data set for a model; :class:`InputError` if it has none of that name."""
    dataset = options.open_for(model, data)
    source = dataset.train if split == "train" else dataset.test
    if source is None:
        raise InputError("has no test split", where=data, hint="use --split train")
    return source
