"""``distkern evaluate``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.core.errors import InputError

if TYPE_CHECKING:
    from distkern.storage.dataset import Split


@click.command()
@click.argument("model", metavar="M")
@click.option("--data", required=True, metavar="D.zarr", help="The sharded data set.")
@click.option(
    "--split", type=click.Choice(["train", "test"]), default="test", show_default=True, help="Which rows."
)
@options.scheduling
@options.as_json
def evaluate(
    model: str,
    data: str,
    split: str,
    scheduler: str | None,
    workers: int | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """Measure a model on a data set: rows, error, accuracy, objective and seconds.

    Prints one JSON object where standard output is not a terminal, or with --json.

    \b
    Example:
      distkern evaluate m --data covtype.zarr --split test
    """
    from distkern.estimators import load_model
    from distkern.estimators.run import evaluate as evaluate_model

    fitted = load_model(model)
    source = find_split(data, split)
    measured: dict[str, Any] = evaluate_model(
        fitted, source, scheduler=scheduler or "local", workers=workers, memory_limit=memory_limit
    )
    if as_json or not sys.stdout.isatty():
        click.echo(json.dumps(measured))
        return
    width = max(map(len, measured))
    for name, value in measured.items():
        click.echo(
            f"{name:<{width}}  {value:.6g}" if isinstance(value, float) else f"{name:<{width}}  {value:,}"
        )


def find_split(data: str, split: str) -> Split:
    """The split of a data set; :class:`InputError` if it has none of that name."""
    from distkern.storage.dataset import open_dataset

    dataset = open_dataset(data)
    source = dataset.train if split == "train" else dataset.test
    if source is None:
        raise InputError("has no test split", where=data, mend="use --split train, or shard with --test")
    return source
