"""``distkern inspect``."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import click
import numpy as np

from distkern.cli import options
from distkern.core.choices import Compared, summaries
from distkern.core.errors import InputError
from distkern.core.names import label_texts, plain_labels
from distkern.core.text import error_name, in_bytes, in_error, in_number, in_percent, in_time
from distkern.data.store.places import Place

#: importances listed
_MOST_IMPORTANT = 8
_MARKS = {
    "manifest.json": "data set",
    "model.json": "model",
    "checkpoints": "unfinished run",
    "metrics.jsonl": "unfinished run",
}


@click.command(name="inspect")
@click.argument("path", type=options.PLACE)
@options.as_json
def inspect(path: Place, as_json: bool) -> None:
    """Describe a data set, a model or an unfinished run.

    \b
    Example:
      distkern inspect covtype.zarr
      distkern inspect m --json
    """
    kind = kind_of(path)
    found = _READERS[kind](path)
    if as_json:
        click.echo(json.dumps({"kind": kind, **found.record}))
        return
    from distkern.cli.tables import console, fact_table

    console().print(f"{path}: {kind}")
    console().print(fact_table(found.facts))
    if found.hyperparameters:
        console().print("\nhyperparameters")
        console().print(fact_table(found.hyperparameters))
    if found.history:
        console().print(_history_table(found.history))


@dataclass(frozen=True)
class PathDescription:
    """A described path: ``record`` for programs; facts, hyperparameters and history for people."""

    record: dict[str, Any]
    facts: dict[str, str]
    hyperparameters: dict[str, str] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)


def kind_of(path: Place) -> str:
    """Return "data set", "model" or "unfinished run"; :class:`InputError` for other paths."""
    if not path.exists():
        raise InputError("no such file or folder", where=str(path), hint="check the path")
    for mark, kind in _MARKS.items():
        if (path / mark).exists():
            return kind
    raise InputError(
        "is neither a data set, a model nor a run",
        where=str(path),
        hint="make a data set with `distkern shard`, or a model with `distkern train`",
    )


def _dataset(path: Place) -> PathDescription:
    from distkern.cli.facts import data_facts
    from distkern.cli.shard import column_facts
    from distkern.data.dataset import open_dataset

    dataset = open_dataset(path)
    record: dict[str, Any] = {
        "task": dataset.task,
        "n_features": dataset.n_features,
        "sparse": dataset.is_sparse,
    }
    for name, split in (("train", dataset.train), ("test", dataset.test)):
        if split is not None:
            record[name] = {"n_rows": split.n_rows, "n_shards": split.n_blocks}
    record["classes"] = None if dataset.classes is None else plain_labels(dataset.classes)
    record["feature_names"] = None if dataset.feature_names is None else list(dataset.feature_names)
    record |= {"target_name": dataset.target_name, "group_name": dataset.group_name}
    copy = column_facts(dataset)
    record |= {"scaling": dataset.scaling.kind, "columns": copy, "fingerprint": dataset.fingerprint}
    facts = data_facts(dataset)
    del facts["path"]
    facts["feature-major copy"] = f"none (`distkern shard {path} --columns` adds it)"
    if copy is not None:
        facts["feature-major copy"] = (
            f"{in_bytes(copy['bytes'])}, {copy['groups']:,} group{'s' * (copy['groups'] > 1)} of rows"
        )
    return PathDescription(record, facts)


def _model(path: Place) -> PathDescription:
    from distkern.cli.facts import hyperparameters, shorten
    from distkern.runs.algorithms import load_model
    from distkern.show.stages import FIGURES_OF_TARGETS, own_figures
    from distkern.show.style import short_number

    model = load_model(path)
    history = _history(path)
    parameters = model.get_params()
    record: dict[str, Any] = {"class": type(model).__name__, "n_features": int(model.width_)}
    facts = {"class": type(model).__name__, "features": f"{model.width_:,}"}
    if (algorithm := getattr(model, "algorithm_", None)) is not None:
        facts["class"] += f" ({algorithm})"
    if model.table_ is not None:
        facts["features"] += f", of {model.n_features_in_:,} columns of a table"
    names = getattr(model, "feature_names_in_", None)
    record["feature_names"] = None if names is None else names.tolist()
    if names is not None:
        facts["columns"] = ", ".join(shorten(names.tolist()))
    if hasattr(model, "classes_"):
        record["classes"] = plain_labels(model.classes_)
        facts["classes"] = ", ".join(label_texts(model.classes_))
    if model.task == "regression":
        centers = [float(center) for center in model.target_center_]
        record["targets"] = {"center": centers, "scale": model.target_scale_}
        facts["targets"] = (
            f"minus {', '.join(f'{one:.6g}' for one in centers)}, divided by {model.target_scale_:.6g}"
        )
    if (path / "tune" / "report.html").exists():
        record["tune"] = facts["search"] = str(path / "tune" / "report.html")
    if model.ended_ is not None:
        record["ended"] = facts["ended"] = model.ended_
    for text in history[-1].get("warnings", ()) if history else ():
        facts["warning"] = text if "warning" not in facts else f"{facts['warning']}; {text}"
    if model.updates_:
        from distkern.cli.facts import update_facts

        record["updates"] = list(model.updates_)
        facts["updates"] = f"{model.updates_[-1]['number']:,}"
        facts |= {f"last update: {name}": text for name, text in update_facts(model.updates_[-1]).items()}
    if (measured := model.importances_) is not None:
        record["importances"] = asdict(measured)
        texts = [f"{name} {text}" for name, _, text in measured.texts]
        facts["importance"] = f"{_listed(texts)} ({measured.summary})" if texts else measured.summary
    if (weights := getattr(model, "metric_importances_", None)) is not None:
        record["metric_importances"] = weights.tolist()
        columns = names if model.table_ is None else model.table_.names
        order = np.argsort(-weights, kind="stable").tolist()
        texts = [
            f"{f'column {place + 1}' if columns is None else columns[place]} {in_percent(weights[place])}"
            for place in order
        ]
        has_trend = getattr(getattr(model.model_, "places", None), "trend", None) is not None
        rest = " (of what a linear trend leaves)" if has_trend else ""
        facts["weight in the learned metric"] = _listed(texts) + rest
    if history:
        compared = summaries([Compared(**one) for one in history[-1].get("candidates", ())])
        if notes := [*history[-1].get("notes", ()), *compared]:
            facts["notes"] = "\n".join(notes)
        if "command_seconds" in history[-1]:
            facts["time"] = in_time(history[-1]["command_seconds"])
        facts["last stage"] = ", ".join(
            f"{name.replace('_', ' ')} {short_number(history[-1][name])}"
            for name in (*own_figures(history), *FIGURES_OF_TARGETS)
            if name in history[-1]
        )
        if "validation_error" in history[-1]:
            facts["last stage"] += f", validation error {in_error(history[-1], 'validation_error')}"
    record |= {"hyperparameters": parameters, "history": history}
    return PathDescription(record, facts, hyperparameters(model.model_.saved_params), history)


def _listed(texts: list[str]) -> str:
    return ", ".join([*texts[:_MOST_IMPORTANT], *(["..."] if len(texts) > _MOST_IMPORTANT else [])])


def _run(path: Place) -> PathDescription:
    from distkern.runs.folder import begun_algorithm

    history = _history(path)
    folder = path / "checkpoints"
    entries = folder.iterdir() if folder.is_dir() else ()
    saved = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    stage = int(history[-1]["stage"]) if history else None
    algorithm = begun_algorithm(path)
    facts = {
        "algorithm": algorithm or "unknown",
        "checkpoints": ", ".join(saved) or "none",
        "last finished stage": "none" if stage is None else str(stage),
        "to continue": "run the same `distkern train` command with --resume",
    }
    record = {"algorithm": algorithm, "checkpoints": saved, "stage": stage, "history": history}
    return PathDescription(record, facts, history=history)


_READERS = {"data set": _dataset, "model": _model, "unfinished run": _run}


def _history(path: Place) -> list[dict[str, Any]]:
    from distkern.show.metrics import read

    metrics = path / "metrics.jsonl"
    return read(metrics) if metrics.exists() else []


def _history_table(history: list[dict[str, Any]]) -> Any:
    from distkern.cli.tables import table

    rows = [
        (
            str(metrics["stage"]),
            in_number(metrics["passes"]),
            in_time(metrics["seconds"]),
            in_number(metrics["objective"]),
            in_error(metrics, "train_error"),
            in_error(metrics, "test_error"),
            in_bytes(metrics["worker_peak_rss_bytes"]) if metrics.get("worker_peak_rss_bytes") else "-",
            in_bytes(metrics.get("driver_peak_rss_bytes") or metrics.get("peak_rss_bytes") or 0),
        )
        for metrics in history
    ]
    error = error_name(history[-1]) if history else "error"
    header = ("stage", "passes", "time", "objective", f"train {error}", f"test {error}", "worker", "driver")
    return table(header, rows, text=())
