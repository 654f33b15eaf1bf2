"""``distkern evaluate``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.common.errors import InputError

if TYPE_CHECKING:
    from distkern.storage.dataset import Split

_SHARES = ("error", "accuracy", "balanced_accuracy")
_NUMBERS = ("auc", "rmse", "mae", "r2", "objective")
_NAMES = {
    "n": "measured on",
    "balanced_accuracy": "balanced accuracy",
    "auc": "area under the ROC curve",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "r2": "R^2",
    "seconds": "time",
}


@click.command()
@click.argument("model", metavar="M")
@click.option("--data", required=True, metavar="D.zarr", help="The sharded data set, a folder or a URL.")
@click.option(
    "--split", type=click.Choice(["train", "test"]), default="test", show_default=True, help="Which rows."
)
@options.scheduling
@options.as_json
def evaluate(model: str, data: str, split: str, as_json: bool, **where: Any) -> None:
    """Measure a model on a data set: rows, errors, objective and seconds.

    Prints one JSON object where standard output is not a terminal, or with --json.

    \b
    Example:
      distkern evaluate m --data covtype.zarr --split test
    """
    from distkern.runs.persistence import load_model
    from distkern.runs.run import evaluate as evaluate_model

    where = options.where_to_run(**where)
    fitted = load_model(model)
    source = find_split(data, split)
    measured: dict[str, Any] = evaluate_model(fitted, source, **where)
    if as_json or not sys.stdout.isatty():
        click.echo(json.dumps(measured))
        return
    from distkern.cli.tables import console, fact_table
    from distkern.monitor.text import in_number, in_percent, in_time

    shown = {
        "n": f"{source.n_rows:,} {split} rows",
        **{name: in_percent(measured[name]) for name in _SHARES if name in measured},
        **{name: in_number(measured[name]) for name in _NUMBERS if name in measured},
        "seconds": in_time(measured["seconds"]),
    }
    console().print(f"{model} on {data}", markup=False)
    console().print(fact_table({_NAMES.get(name, name): text for name, text in shown.items()}))


def find_split(data: str, split: str) -> Split:
    """The split of a data set; :class:`InputError` if it has none of that name."""
    from distkern.storage.dataset import open_dataset

    dataset = open_dataset(data)
    source = dataset.train if split == "train" else dataset.test
    if source is None:
        raise InputError("has no test split", where=data, mend="use --split train, or shard with --test")
    return source
