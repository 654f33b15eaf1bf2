"""Facts of runs, updates, evaluations and data sets as texts, for reports and the terminal."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.names import label_texts, written
from distkern.core.text import error_name, in_bytes, in_error, in_number, in_percent, in_time, shortened
from distkern.core.version import __version__
from distkern.data.store.places import place_of

if TYPE_CHECKING:
    from distkern.cli.job import Job
    from distkern.data.dataset import Dataset
    from distkern.model.value import FittedModel
    from distkern.runs.evaluation import Evaluation
    from distkern.show.page import Section

#: figures of an evaluation in their order: shares, and other numbers
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
    "r2": "R\N{SUPERSCRIPT TWO}",
    "pinball": "pinball loss",
    "mean_decision": "mean decision value",
}


def run_facts(
    job: Job,
    dataset: Dataset | None,
    fitted: FittedModel,
    history: list[dict[str, Any]],
    evaluations: Mapping[str, Evaluation],
    ended: float | None = None,
    time_taken: str | None = None,
) -> dict[str, Any]:
    """Return the facts of a run for its report; fewer without its data set.

    Parameters
    ----------
    ended : end of a run on another machine, in seconds since 1970
    time_taken : time of the whole command, as text
    """
    from distkern.cli.evaluation_page import headline

    last = history[-1] if history else {}
    worker, driver = (
        max((metrics.get(f"{who}_peak_rss_bytes") or 0 for metrics in history), default=0)
        for who in ("worker", "driver")
    )
    target = target_of(fitted)
    large = headline(evaluations, target) or {
        f"{split} {error_name(last)}{f' ({target})' if target else ''}": in_error(last, f"{split}_error")
        for split in ("test", "train")
        if last.get(f"{split}_error") is not None
    }
    run = {
        "ended": fitted.ended or "-",
        "time": time_taken or in_time(last.get("command_seconds") or last.get("seconds", 0.0)),
        "time of the stages": in_time(last.get("seconds", 0.0)),
        f"train {error_name(last)}": in_error(last, "train_error"),
        "objective": in_number(last.get("objective")),
        **({"peak memory of a worker": in_bytes(worker)} if worker else {}),
        "driver's memory": in_bytes(driver),
    }
    limit = "none" if job.memory_limit is None else f"{in_bytes(job.memory_limit)} per worker"
    of_target = f"predicts {fitted.columns.target_name}; " if fitted.columns.target_name else ""
    rows = "" if dataset is None else f"{dataset.n_rows:,} rows x {dataset.n_features:,} features, "
    here = {
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "distkern": __version__,
    }
    return {
        "title": f"{fitted.columns.estimator} on {place_of(job.data).name}",
        "summary": f"{of_target}{rows}seed {job.seed}, "
        f"finished {time.strftime('%Y-%m-%d %H:%M:%S %Z', time.localtime(ended))}",
        "headline": large,
        **({} if fitted.importances is None else {"importances": fitted.importances}),
        **({"Update": update_facts(fitted.updates[-1])} if fitted.updates else {}),
        "Run": run,
        "Hyperparameters": hyperparameters(fitted.saved_params),
        "Data": {"path": job.data} if dataset is None else data_facts(dataset),
        "Machine": {
            "scheduler": job.scheduler,
            "workers": "default" if job.workers is None else job.workers,
            "memory limit": limit,
            **(here if ended is None else {}),
        },
    }


def target_of(fitted: Any) -> str:
    """Return the name of a real target, for errors in its unit; empty for classes."""
    return (fitted.columns.target_name or "target") if fitted.task == "regression" else ""


def worth_sections(
    fitted: Any, history: Sequence[Mapping[str, Any]], evaluations: Mapping[str, Evaluation]
) -> list[Section]:
    """Return the comparison of a model with the linear machine and the base rate, then plots."""
    from distkern.cli.evaluation_page import evaluation_sections, worth
    from distkern.core.choices import Compared

    compared = [Compared(**facts) for facts in (history[-1] if history else {}).get("candidates", ())]
    told = None if fitted.chosen is None or fitted.chosen.held_out is None else fitted.chosen.held_out[0]
    target = target_of(fitted)
    sections: list[Section] = [
        worth(evaluations, target, compared, told, is_real=fitted.task == "regression")
    ]
    return [*sections, *(evaluation_sections(evaluations, target) if evaluations else [])]


def update_facts(update: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts of an update: its rows, the error on them before and after, the drift."""
    from distkern.show.style import short_number

    facts = {"new rows": f"{update['rows']:,}"}
    for name, before in update["before"].items():
        text = in_percent if name == "error" else short_number
        facts[f"{name} on them"] = f"{text(before)} before, {text(update['after'][name])} after"
    drift = update["drift"]
    if drift is None:
        facts["drift"] = "unknown: the model does not hold the ranges of its columns"
    else:
        shares = [f"{one['column']} {in_percent(one['outside'])}" for one in drift["most"]]
        n_columns = f"{drift['columns']:,} column{'s' * (drift['columns'] != 1)}"
        facts["drift"] = f"numbers outside the range of the earlier rows in {n_columns}"
        if not drift["columns"]:
            facts["drift"] = "none: all numbers are within the range of the earlier rows"
        facts["drift"] += f": {', '.join(shares)}" if shares else ""
        away = [one["column"] for one in drift["most"] if one["outside"] > 0.5]
        if away:
            facts["warning"] = (
                f"most new rows are outside the range of {', '.join(away)}, where the model has no "
                "training rows: leave these columns out (--drop), or train again on all rows"
            )
    return facts


def memory_line(history: list[dict[str, Any]], limit: int | None) -> str:
    """Return a line on the peak memory of a run: the largest worker with its limit, and the driver.

    The driver is this process or, before a resumption, an earlier one.
    """
    driver = f"driver {in_bytes(max(metrics['driver_peak_rss_bytes'] for metrics in history))}"
    worker = max(metrics["worker_peak_rss_bytes"] for metrics in history)
    if not worker:
        return f"peak memory: {driver}"
    of = "" if limit is None else f" of {in_bytes(limit)}"
    return f"peak memory: largest worker {in_bytes(worker)}{of}, {driver}"


def hyperparameters(params: Mapping[str, Any]) -> dict[str, str]:
    """Return hyperparameters as text, by name."""

    def in_words(name: str, value: Any) -> str:
        if value is None:
            return "none"
        if name == "memory_limit" and isinstance(value, int):
            return in_bytes(value)
        return f"{value:g}" if isinstance(value, float) else str(value)

    return {name: in_words(name, value) for name, value in sorted(params.items())}


def data_facts(dataset: Dataset) -> dict[str, str]:
    """Return the facts of a data set: task, sizes, classes, scaling, fingerprint."""
    facts = {"path": str(dataset.path), "task": str(dataset.task)}
    for name, split in (("train", dataset.train), ("test", dataset.test)):
        if split is not None:
            features = split.n_rows * split.row_numbers * split.dtype.itemsize
            shards = "1 shard" if split.n_blocks == 1 else f"{split.n_blocks:,} shards"
            facts[name] = f"{split.n_rows:,} rows in {shards}, {in_bytes(features)}"
    if dataset.options.get("test_fraction") is not None:
        facts["test"] += f", random ({dataset.options['test_fraction']:g} of all)"
    facts["features"] = f"{dataset.n_features:,}"
    if dataset.table is not None:
        facts["features"] += f", of {len(dataset.table.columns):,} columns of a table"
    names = dataset.feature_names
    if names is not None and dataset.table is not None:
        names = dataset.table.names
    if names is not None:
        facts["columns"] = ", ".join(shorten(list(names)))
    if dataset.target_name is not None:
        facts["target"] = dataset.target_name
    if dataset.group_name is not None:
        facts["groups"] = f"rows with the same {dataset.group_name!r} are held out together"
    if dataset.is_sparse:
        per_row = dataset.train.n_entries / dataset.n_rows
        facts["stored"] = f"sparse, {per_row:,.1f} numbers per row ({per_row / dataset.n_features:.2%})"
    if dataset.classes is not None:
        facts["classes"] = ", ".join(shorten(label_texts(dataset.classes)))
    facts["scaling"] = str(dataset.scaling.kind)
    facts["fingerprint"] = str(dataset.fingerprint)
    return facts


def shorten(labels: list[Any]) -> list[Any]:
    """Return the first labels and the last one."""
    return labels if len(labels) <= 12 else [*labels[:10], "...", labels[-1]]


def figure_rows(measured: Mapping[str, Evaluation]) -> list[list[str]]:
    """Return rows of a table: the name of a figure and its value on each split."""
    figures = [evaluation.figures for evaluation in measured.values()]
    rows = [["rows", *(f"{split['n']:,}" for split in figures)]]
    for names, text in ((_SHARES, in_percent), (_NUMBERS, in_number)):
        rows += [
            [_named(name, measured), *(text(split.get(name)) for split in figures)]
            for name in names
            if any(name in split for split in figures)
        ]
    rows += [
        [f"rows at or below quantile {level}", *(in_percent(split["below"][level]) for split in figures)]
        for level in figures[0].get("below", ())
    ]
    return [*rows, ["time", *(in_time(split["seconds"]) for split in figures)]]


def _named(figure: str, measured: Mapping[str, Evaluation]) -> str:
    """Return the name of a figure, with the class that it is about."""
    labels = next(iter(measured.values())).predicted
    about = f" of {shortened(str(labels[1]))}" if figure == "average_precision" and len(labels) == 2 else ""
    return f"{_NAMES.get(figure, figure)}{about}"


def mistakes(evaluation: Evaluation, most: int) -> list[tuple[str, str, str, str]]:
    """Return the most frequent mistakes: true and predicted label, rows, and their share of the class."""
    assert evaluation.confusion is not None
    wrong = evaluation.confusion.copy()
    for row, label in enumerate(evaluation.labels):
        if label in evaluation.predicted:
            wrong[row, evaluation.predicted.index(label)] = 0
    totals = evaluation.confusion.sum(axis=1)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    places = zip(*np.unravel_index(order, wrong.shape), strict=True)
    return [
        (
            written(evaluation.labels[row]),
            written(evaluation.predicted[column]),
            f"{wrong[row, column]:,}",
            in_percent(wrong[row, column] / totals[row]),
        )
        for row, column in places
        if wrong[row, column]
    ]
