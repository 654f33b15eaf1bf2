"""``distkern predict``."""

from __future__ import annotations

import json

import click

from distkern.cli import options
from distkern.cli.evaluate import find_split
from distkern.core.errors import InputError
from distkern.storage.places import place_of

_ENDINGS = (".zarr", ".csv", ".npy")


@click.command()
@click.argument("model", metavar="M")
@click.option("--data", required=True, metavar="D.zarr", help="The sharded data set, a folder or a URL.")
@click.option("--out", required=True, metavar="P", help="A path or URL that ends in .zarr, .csv or .npy.")
@click.option(
    "--split", type=click.Choice(["train", "test"]), default="test", show_default=True, help="Which rows."
)
@click.option("--decision", is_flag=True, help="Write decision values instead of classes.")
@click.option("--proba", is_flag=True, help="Write probabilities, for models that have them.")
@options.scheduling
@options.as_json
def predict(
    model: str,
    data: str,
    out: str,
    split: str,
    decision: bool,
    proba: bool,
    scheduler: str | None,
    workers: int | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """Write a model's predictions for a data set, shard by shard.

    \b
    Example:
      distkern predict m --data covtype.zarr --out predictions.csv
    """
    from distkern.estimators import load_model
    from distkern.estimators.run import predict_to

    if not out.endswith(_ENDINGS):
        raise InputError(
            f"{out!r} has an unknown ending", where="--out", mend=f"end it in one of {', '.join(_ENDINGS)}"
        )
    options.use_certificates(scheduler)
    fitted = load_model(model)
    if proba and decision:
        raise InputError("excludes --decision", where="--proba", mend="give one of them")
    if proba and not hasattr(fitted, "predict_proba"):
        raise InputError(
            f"this {type(fitted).__name__} gives no probabilities",
            where="--proba",
            mend="use --decision, or train with loss='logistic' where the algorithm has it",
        )
    source = find_split(data, split)
    predict_to(
        fitted,
        source,
        out,
        output="decision" if decision else "probability" if proba else "label",
        scheduler=scheduler or "local",
        workers=workers,
        memory_limit=memory_limit,
    )
    if as_json:
        click.echo(json.dumps({"n": source.n_rows, "out": str(place_of(out)), "decision": decision}))
    else:
        click.echo(f"{source.n_rows:,} predictions in {out}")
