"""``distkern evaluate``: figures, confusion matrices and frequent mistakes in the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.cli.facts import figure_rows, mistakes, target_of
from distkern.core.errors import InputError
from distkern.core.names import written
from distkern.data.store.places import Place

if TYPE_CHECKING:
    from rich.console import RenderableType

    from distkern.data.dataset import Split
    from distkern.runs.evaluation import Evaluation

#: classes up to which the JSON has the confusion matrix
_MOST_LABELS = 100
#: classes up to which the terminal shows the matrix, beyond them the most frequent mistakes
MOST_CLASSES, MOST_MISTAKES = 12, 8
#: characters of a label beside the matrix
_LABEL = 10


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
      distkern evaluate m --data covtype.zarr --split both --html page.html
    """
    from distkern.data.table import unknown_note
    from distkern.runs.algorithms import load_model
    from distkern.runs.given import unknown_columns
    from distkern.runs.run import evaluations
    from distkern.show.terminal import Terminal

    if html is not None:
        _check_page(html)
    fitted = options.with_threshold(load_model(model), threshold)
    names = ["test", "train"] if split == "both" else [split]
    sources = [find_split(model, data, name) for name in names]
    where = options.where_to_run(sum(source.n_rows * source.row_bytes for source in sources), **where)
    unknown = unknown_columns(fitted.model_.columns, sources[0].dataset)
    if unknown:
        click.echo(f"note: {unknown_note(unknown)}", err=True)
    with Terminal(since=options.began()) as terminal:
        found = evaluations(fitted.model_, sources, listeners=[terminal], **where)
        measured = dict(zip(names, found, strict=True))
        if html is not None:
            terminal.show("drawing the page", 0, None)
            _write_page(html, f"{model} on {data}", fitted, measured)
    for name, evaluation in measured.items():
        _note_unknown_classes(name, evaluation)
    if as_json or not sys.stdout.isatty():
        facts = {name: _record(evaluation) for name, evaluation in measured.items()}
        click.echo(json.dumps(facts if split == "both" else facts[split]))
        return
    from distkern.cli.tables import console, table

    printed = console()
    printed.print(f"{model} on {data}")
    printed.print(table(("", *names), figure_rows(measured)))
    for name, evaluation in measured.items():
        for line in confusion_lines(evaluation, name):
            printed.print(line)
    if html is not None:
        printed.print(f"page in {html}")


def _note_unknown_classes(split: str, evaluation: Evaluation) -> None:
    """Report the rows of classes that the model does not know: losses and rankings leave them out."""
    if evaluation.confusion is None:
        return
    known = set(evaluation.predicted)
    unknown = {
        label: int(row.sum())
        for label, row in zip(evaluation.labels, evaluation.confusion, strict=True)
        if label not in known and row.any()
    }
    if unknown:
        named = ", ".join(f"{label} ({count})" for label, count in [*unknown.items()][:5])
        more = ", ..." if len(unknown) > 5 else ""
        click.echo(
            f"note: {split} rows of classes unknown to the model count as errors and are left out of "
            f"losses: {named}{more}",
            err=True,
        )


def _write_page(html: Place, title: str, fitted: Any, measured: dict[str, Evaluation]) -> None:
    from distkern.cli.evaluation_page import evaluation_page
    from distkern.data.store.atomic import write_text_atomic

    page = evaluation_page(title, type(fitted).__name__, measured, target_of(fitted.model_))
    write_text_atomic(html, page)


def _check_page(place: Place) -> None:
    """Refuse a page that cannot be written, before anything is measured."""
    if place.is_dir():
        raise InputError("is a folder", where=f"--html {place}", hint="name a file in it")
    if isinstance(place, Path) and not place.parent.is_dir():
        raise InputError(
            f"there is no folder {place.parent}", where=f"--html {place}", hint="create it, or check the path"
        )


def _record(evaluation: Evaluation) -> dict[str, Any]:
    """Return the figures for JSON, with the confusion matrix unless there are many classes."""
    confusion = evaluation.confusion
    if confusion is None or len(evaluation.labels) > _MOST_LABELS:
        return evaluation.figures
    named = {"labels": evaluation.labels, "predicted": evaluation.predicted, "confusion": confusion.tolist()}
    return {**evaluation.figures, **named}


def find_split(model: str, data: str, split: str) -> Split:
    """Return a split of a data set for a model; :class:`InputError` if it has no test split."""
    dataset = options.open_for(model, data)
    source = dataset.train if split == "train" else dataset.test
    if source is None:
        raise InputError("has no test split", where=data, hint="use --split train")
    return source


def confusion_lines(evaluation: Evaluation, split: str) -> Iterator[RenderableType]:
    """Yield a matrix for few classes, a table of mistakes for many, nothing for real targets."""
    from distkern.cli.tables import WIDTH, table

    counts = evaluation.confusion
    if counts is None:
        return
    if max(counts.shape) > MOST_CLASSES:
        found = mistakes(evaluation, MOST_MISTAKES)
        if found:
            yield f"most frequent mistakes, {split} rows"
            yield table(("class", "predicted as", "rows", "share of the class"), found, text=(0, 1))
        return
    yield f"{split} rows: true class down, predicted class across"
    rows, columns = (
        [_shortened(written(label)) for label in labels]
        for labels in (evaluation.labels, evaluation.predicted)
    )
    cells = [[f"{count:,}" if count else "." for count in row] for row in counts.tolist()]
    if _width(rows, columns, cells) > WIDTH:
        cells = [[_brief(count) if count else "." for count in row] for row in counts.tolist()]
    over = _width(rows, columns, cells) - WIDTH
    if over > 0:
        room = max(len(_brief(int(counts.max()))), max(map(len, columns)) - -(-over // len(columns)))
        columns = [label[:room] for label in columns]
        over = max(_width(rows, columns, cells) - WIDTH, 0)
        rows = [_shortened(label, _LABEL - over) for label in rows]
    yield table(("", *columns), ([label, *row] for label, row in zip(rows, cells, strict=True)))


def _width(rows: list[str], columns: list[str], cells: list[list[str]]) -> int:
    """Return the width of the printed table in characters."""
    widths = [max(len(name), *(len(row[place]) for row in cells)) + 2 for place, name in enumerate(columns)]
    return max(map(len, rows)) + 2 + sum(widths)


def _shortened(label: str, most: int = _LABEL) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def _brief(count: int) -> str:
    """Return at most five characters: ``_brief(12345) == "12k"``."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= limit:
            return f"{count / limit:.1f}{letter}" if count < 10 * limit else f"{count / limit:.0f}{letter}"
    return str(count)
