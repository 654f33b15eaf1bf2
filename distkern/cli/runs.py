"""``distkern runs``."""

from __future__ import annotations

import json
from typing import Any

import click

from distkern.cli import options
from distkern.common.errors import InputError
from distkern.storage.places import Place

#: figures of the last stage in the facts of a run
_FIGURES = ("train_error", "test_error", "train_rmse", "test_rmse", "error", "objective", "passes", "seconds")


@click.command()
@click.argument("folder", type=options.PLACE)
@options.as_json
def runs(folder: Place, as_json: bool) -> None:
    """Compare the models and the unfinished runs in a folder, the best on test rows first.

    Below the figures stand the hyperparameters in which they differ, with the values that were chosen for
    those that were left open (auto). Errors are compared as they are:
    keep the runs on one data set in a folder of their own.

    \b
    Example:
      distkern runs models
    """
    found = sorted(_found(folder), key=_rank)
    if as_json:
        click.echo(json.dumps(found))
        return
    from distkern.cli.tables import console, table
    from distkern.monitor.text import error_name, in_bytes, in_error, in_time

    names = {error_name(run) for run in found}
    error = names.pop() if len(names) == 1 else "error"
    header = ("run", "algorithm", f"test {error}", f"train {error}", "time", "peak", "ended")
    rows = [
        (
            run["run"],
            run["algorithm"] or "-",
            in_error(run, "test_error"),
            in_error(run, "train_error"),
            in_time(run["seconds"]),
            in_bytes(run["peak_bytes"]),
            run["ended"] or "not yet",
        )
        for run in found
    ]
    console().print(table(header, rows, text=(0, 1, 6)))
    differing = _differing(found)
    if differing:
        console().print(table(("run", "hyperparameters that differ"), differing, text=(0, 1)))


def _found(folder: Place) -> list[dict[str, Any]]:
    """The facts of each run in a folder."""
    from distkern.monitor.metrics import read
    from distkern.runs.persistence import read_description

    if not folder.is_dir():
        raise InputError("no such folder", where=str(folder), hint="give the folder that your models are in")
    found = []
    for path in folder.iterdir():
        metrics = path / "metrics.jsonl"
        history = read(metrics) if metrics.exists() else []
        if not history:
            continue
        last = history[-1]
        known = read_description(path) if (path / "model.json").exists() else {}
        peaks = [last.get(f"{who}peak_rss_bytes") or 0 for who in ("worker_", "driver_", "")]
        found.append(
            {
                "run": path.name,
                "algorithm": known.get("algorithm"),
                "ended": known.get("ended"),
                **{figure: last[figure] for figure in _FIGURES if figure in last},
                "peak_bytes": max(peaks),
                "hyperparameters": _in_use(known),
            }
        )
    if not found:
        raise InputError(
            "holds no model and no run", where=str(folder), hint="make one: distkern train --out FOLDER/NAME"
        )
    return found


def _in_use(known: dict[str, Any]) -> dict[str, Any]:
    """The hyperparameters of a model, with what was chosen in the place of the words that left it open."""
    params, found = dict(known.get("params", {})), {**known.get("found", {})}
    if (machine := known.get("chosen")) is not None:
        params |= {**machine["params"], "algorithm": machine["name"]}
    if isinstance(known.get("gamma"), float):
        found.setdefault("gamma", known["gamma"])
    words = {name for name, value in params.items() if isinstance(value, str)}
    return params | {name: value for name, value in found.items() if name in words}


def _rank(run: dict[str, Any]) -> tuple[float, float, str]:
    """A key that sorts by the error on test rows, runs without one last."""
    errors = (run.get(f"{split}_rmse", run.get(f"{split}_error")) for split in ("test", "train"))
    test, train = (float("inf") if error is None else float(error) for error in errors)
    return test, train, str(run["run"])


def _differing(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Pairs of a run's name and its hyperparameters whose values differ in another run of its algorithm.

    Runs without such hyperparameters are left out.
    """
    texts = []
    for run in found:
        others = [other["hyperparameters"] for other in found if other["algorithm"] == run["algorithm"]]
        own = run["hyperparameters"]
        differing = {
            name: value for name, value in own.items() if any(other.get(name) != value for other in others)
        }
        texts.append(", ".join(f"{name}={json.dumps(value)}" for name, value in differing.items()))
    return [(run["run"], text) for run, text in zip(found, texts, strict=True) if text]
