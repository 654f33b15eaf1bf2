"""Evaluation of a model on a split: exact figures in one pass and bounded memory."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import takewhile
from statistics import fmean
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from distkern.core import blas
from distkern.core.errors import InputError
from distkern.core.names import plain_labels
from distkern.core.targets import plain_targets
from distkern.core.types import Block, Floats, is_dask
from distkern.data.dataset import Split
from distkern.data.scaling import SHARD_LIKE
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog, Listener
from distkern.engine.executors import AbstractExecutor, open_executor
from distkern.maths.bases.routing import RoutedAnswers
from distkern.model.prediction import codes_of
from distkern.model.value import FittedModel
from distkern.passes import Cost, Each, Machine, Outline, Pass, Reduce, Stream, whole_visits
from distkern.runs.applied import Applied, routing_of, run, scratch_folder
from distkern.runs.ranking import (
    GROUPS,
    KEPT_BYTES,
    RANKING_BYTES,
    Calibration,
    Losing,
    Lost,
    RankedScores,
    RankingFigures,
    losses_of_groups,
)
from distkern.runs.regression_figures import (
    PointGrid,
    Residuals,
    regression_figures,
    residuals_cost,
    residuals_pass,
)
from distkern.solvers.base import AbstractSolver, Problem


@dataclass(frozen=True)
class Outliers:
    """Sums over rows.

    Attributes
    ----------
    n_rows, n_outliers : number of rows, and of rows below the threshold
    distances : sum of f - tau
    losses : sum of s_i max(0, tau - f)
    """

    n_rows: int
    n_outliers: int
    distances: float
    losses: float

    @staticmethod
    def add(first: Outliers, second: Outliers) -> Outliers:
        return Outliers(
            first.n_rows + second.n_rows,
            first.n_outliers + second.n_outliers,
            first.distances + second.distances,
            first.losses + second.losses,
        )


def outliers_pass(model: FittedModel, split: Split, found: RoutedAnswers | None = None) -> Reduce[Outliers]:
    """Return the pass that :func:`outlier_figures` evaluates; labels of the split are ignored."""
    applied, rows = Applied.to(split, model, found), max(split.block_rows)
    cost = applied.cost(split.row_numbers, rows)
    cost = cost.holding(task={"scores": (rows, 64)}, result={"sums": (64,)})
    return Reduce("evaluate", _outliers_of, Outliers.add, applied, "test", cost=cost)


def outlier_figures(model: FittedModel, sums: Outliers, seconds: float) -> dict[str, Any]:
    """Return n, share of outliers, mean of f - tau, threshold tau, objective and seconds."""
    return {
        "n": sums.n_rows,
        "outliers": sums.n_outliers / sums.n_rows,
        "mean_decision": sums.distances / sums.n_rows,
        "threshold": -float(model.constants[0]),
        "objective": model.objective(sums.losses, sums.n_rows),
        "seconds": round(seconds, 4),
    }


def _outliers_of(block: Block, model: Applied) -> Outliers:
    values = model.predictions(block).astype(np.float64, copy=False)
    n_outliers = int(np.count_nonzero(values < 0))
    return Outliers(block.n_rows, n_outliers, float(values.sum()), model.losses(values, block))


@dataclass(frozen=True)
class EvaluationSums:
    """Sums over rows.

    Attributes
    ----------
    confusion : (n_classes of the data, n_classes of the model) number of rows by true and predicted label
    losses : sum of s_i l_i over rows and outputs
    calibration : calibration of models with probabilities
    """

    confusion: NDArray[np.int64]
    losses: float
    calibration: Calibration | None

    @staticmethod
    def add(first: EvaluationSums, second: EvaluationSums) -> EvaluationSums:
        calibration = None
        if first.calibration is not None and second.calibration is not None:
            calibration = Calibration.add(first.calibration, second.calibration)
        return EvaluationSums(first.confusion + second.confusion, first.losses + second.losses, calibration)


@dataclass(frozen=True)
class Evaluation:
    """Result of a model on a split.

    Attributes
    ----------
    figures : see :func:`evaluate_split`
    labels, predicted : labels of the split and of the predictions; empty for real targets
    confusion : (n_labels, n_predicted) number of rows by true and predicted label
    ranking : ranking figures of two classes
    calibration : calibration of models with probabilities
    chances : (n,) probabilities of class 1 at the thresholds of ``ranking``, for models with one output
    balanced : probability from which ``threshold="balanced"`` predicts class 1
    base : figures of the best constant prediction: the most frequent class with the class shares as
        probabilities, or the mean target
    predictions : number of rows by real target and prediction
    losses : (128,) losses of groups of rows, see :func:`~distkern.runs.ranking.losses_of_groups`; empty for
        figures that are not a mean over rows
    """

    figures: dict[str, Any]
    labels: tuple[Any, ...] = ()
    predicted: tuple[Any, ...] = ()
    confusion: NDArray[np.int64] | None = None
    ranking: RankingFigures | None = None
    calibration: Calibration | None = None
    chances: NDArray[np.float64] | None = None
    balanced: float | None = None
    base: Mapping[str, float] = field(default_factory=dict)
    predictions: PointGrid | None = None
    losses: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class _Counted:
    """Counts and losses of a block; for two classes also the scores and a mask of class 1."""

    counts: EvaluationSums
    scores: Floats
    positive: NDArray[np.bool_]
    lost: Lost | None


@dataclass(frozen=True)
class _Evaluated:
    model: Applied
    codes: NDArray[np.int64]
    n_predicted: int
    chances: Callable[[Floats], NDArray[np.float64]] | None
    losing: Losing | None
    cut: float | NDArray[np.float64] | None


def _evaluate(block: Block, operand: _Evaluated) -> _Counted:
    predictions = operand.model.predictions(block)
    binary = predictions.shape[1] == 1
    predicted = codes_of(predictions.astype(np.float64), operand.chances, operand.cut)
    assert block.targets is not None
    shape = len(operand.codes), operand.n_predicted
    cells = block.targets.astype(np.int64) * shape[1] + predicted
    confusion = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    codes = operand.codes[block.targets]
    known = codes >= 0
    rows = replace(block.take(np.flatnonzero(known)), targets=codes[known])
    losses = operand.model.losses(predictions[known], rows)
    exact = predictions[known].astype(np.float64)
    # two competing classes: the second minus the first
    scores = exact[:, 0] if binary else exact[:, -1] - exact[:, 0]
    if operand.n_predicted > 2:
        scores = scores[:0]
    chances = None if operand.chances is None else operand.chances(exact)
    calibration = None if chances is None else Calibration.of(chances, codes[known])
    lost = None
    if operand.losing is not None:
        wrong = (predicted != codes)[known].astype(np.float64)
        lost = operand.losing.lost(rows, exact, chances, wrong, codes[known])
    # weights apply to losses; in all other figures every row counts once
    return _Counted(EvaluationSums(confusion, losses, calibration), scores, codes[known] == 1, lost)


def evaluate_split(
    model: FittedModel,
    split: Split,
    executor: AbstractExecutor,
    listeners: tuple[Listener, ...] = (),
    compared: str | None = None,
) -> Evaluation:
    """Evaluate a model on a split.

    The figures of a classifier are n, error, accuracy, balanced accuracy, AUC and average precision (two
    classes), log loss, Brier score and calibration error (with probabilities), objective and seconds. For
    regressors see :func:`~distkern.runs.regression_figures.regression_figures`, for novelty detectors
    :func:`~distkern.runs.evaluation.outlier_figures`.

    Labels of the split are matched to the model's by value. Rows with an unknown label count as errors and
    are excluded from objective, curves and calibration. For a ``compared`` figure, losses of rows are summed
    by groups. A log loss without probabilities uses the sigmoid or temperature that fits these rows best
    (:func:`~distkern.core.scores.log_losses`).

    Raises
    ------
    InputError
        If the split has other features, another scaling or no label in common.
    """
    started = time.perf_counter()
    step = evaluation_pass(model, split, None, compared)
    driver = Driver({"test": split}, executor, EventLog(listeners))
    routing = routing_of(model, split, "test", None, executor.machine)
    with blas.single_threaded(), ExitStack() as stack:
        if routing is not None:
            found = run(routing, driver, scratch_folder(None, stack))
            step = evaluation_pass(model, split, found, compared)
        if model.task == "none":
            outliers: Outliers = driver.measure(cast(Reduce[Outliers], step))
            return Evaluation(outlier_figures(model, outliers, time.perf_counter() - started))
        if model.task == "regression":
            sums: Residuals = driver.measure(cast(Reduce[Residuals], step))
            figures = regression_figures(model, sums, time.perf_counter() - started)
            losses = losses_of_groups(sums.lost, sums.n_rows)
            base = {"rmse": math.sqrt(sums.spread / sums.n_rows), "r2": 0.0}
            return Evaluation(figures, base=base, predictions=sums.grid, losses=losses)
        step = cast(Stream[_Counted], step)
        losing = step.operand.losing
        lost = []
        with RankedScores() as ranked:
            total: EvaluationSums | None = None
            for block in driver.stream(step):
                total = block.counts if total is None else EvaluationSums.add(total, block.counts)
                if len(block.scores):
                    ranked.add(block.scores, block.positive)
                if block.lost is not None:
                    lost.append(block.lost)
            ranking = ranked.ranking()
        losses = losing.total(lost) if lost else []
    assert total is not None
    assert split.dataset.classes is not None
    figures = _figures(model, total, ranking, step.operand.codes, time.perf_counter() - started)
    if losses and compared == "log_loss":
        figures = {compared: fmean(losses), **figures}
    return Evaluation(
        figures,
        tuple(plain_labels(split.dataset.classes)),
        tuple(plain_labels(_classes(model))),
        total.confusion,
        ranking,
        total.calibration,
        None if ranking is None else _chances_at(ranking.thresholds, model),
        _balanced(model),
        _base(total, ranking),
        losses=losses,
    )


def _chances_at(scores: NDArray[np.float64], model: Any) -> NDArray[np.float64] | None:
    """Return probabilities of class 1 at decision values (n,), or None if they depend on more."""
    chances = model.chances
    if chances is None or model.n_outputs != 1:
        return None
    found: NDArray[np.float64] = chances(scores[:, None])[:, 1]
    return found


def _balanced(model: Any) -> float | None:
    shares = model.class_shares
    return None if shares is None or len(shares) != 2 else float(shares[1])


def _base(total: EvaluationSums, ranking: RankingFigures | None) -> dict[str, float]:
    """Return figures of predicting the most frequent class, with the class shares as probabilities."""
    shares = total.confusion.sum(axis=1) / total.confusion.sum()
    base = {"error": 1.0 - float(shares.max()), "accuracy": float(shares.max())}
    if total.calibration is not None:
        own = shares[shares > 0]
        base["log_loss"] = float(-(own * np.log(own)).sum())
    return base if ranking is None else {**base, "auc": 0.5}


def score_of(
    model: FittedModel,
    predict: Callable[[Any], Any],
    X: Any,
    y: Any,
    sample_weight: Any,
    name: str,
    of_dask: Callable[..., float],
    of_arrays: Callable[..., Any],
) -> float:
    """Return a figure of predictions: by name for a split, by function for arrays."""
    if isinstance(X, Split):
        if y is not None or sample_weight is not None:
            what = "a split of a data set has its own labels and weights"
            raise InputError(what, where="score", hint="give the split alone")
        with open_executor() as executor:
            figures = evaluate_split(model, X, executor).figures
        found = figures[name]
        # scikit-learn's r2 for constant targets
        return float(figures["rmse"] == 0) if found is None else float(found)
    if y is None:
        raise InputError("is missing", where="y", hint="give labels or targets with the rows")
    predicted = predict(X)
    if is_dask(predicted, y):
        return of_dask(y, predicted, sample_weight)
    targets = plain_targets(y)
    if targets.ndim > 1 and targets.shape[1] > 1 and targets.shape != np.shape(predicted):
        what = f"has {targets.shape[1]} columns, and the model predicts one value for each row"
        raise InputError(what, where="y", hint="give one column, y['name']")
    return float(of_arrays(targets, predicted, sample_weight=sample_weight))


def _classes(model: FittedModel) -> NDArray[Any]:
    assert model.classes is not None, "it is a classifier"
    return model.classes


def evaluation_passes(
    model: FittedModel, split: Split, machine: Machine, compared: str | None = None
) -> list[Pass]:
    """Return the passes of :func:`evaluate_split`, for a plan."""
    routing = routing_of(model, split, "test", None, machine)
    if routing is None:
        return [evaluation_pass(model, split, None, compared)]
    return [*routing.planned, evaluation_pass(model, split, routing.found(), compared)]


def evaluation_pass(
    model: FittedModel, split: Split, found: RoutedAnswers | None = None, compared: str | None = None
) -> Reduce[Residuals] | Reduce[Outliers] | Stream[_Counted]:
    """Return the last pass of :func:`evaluate_split`; raises as it does."""
    if model.task == "none":
        return outliers_pass(model, split, found)
    if split.dataset.task != model.task:
        raise InputError(
            f"is a data set for task {split.dataset.task!r}, but "
            f"{model.columns.estimator} is for {model.task}",
            where=str(split.dataset.path),
            hint=f"give a data set of the same table and task, as {SHARD_LIKE} makes",
        )
    make = residuals_pass if model.task == "regression" else _counting_pass
    return make(model, split, found, compared)


def _counting_pass(
    model: FittedModel, split: Split, found: RoutedAnswers | None, compared: str | None
) -> Stream[_Counted]:
    applied, known = Applied.to(split, model, found), plain_labels(_classes(model))
    assert split.dataset.classes is not None
    labels = plain_labels(split.dataset.classes)
    codes = np.array([known.index(label) if label in known else -1 for label in labels], dtype=np.int64)
    if (codes < 0).all():
        raise InputError(
            f"its labels {labels[:5]} differ from the model's {known[:5]}",
            where=str(split.dataset.path),
            hint="evaluate on data with the training labels",
        )
    n_outputs = model.n_outputs
    losing = Losing.of(compared, split.n_rows, n_outputs)
    operand = _Evaluated(applied, codes, len(known), model.chances, losing, model.cut)
    rows = max(split.block_rows)
    cost = _counting_cost(
        applied.cost(split.row_numbers, rows), rows, n_outputs, len(labels), len(known), losing is not None
    )
    cost = cost.holding(driver={"norm": (applied.basis.norm_bytes,)})
    visits = whole_visits(split.block_rows)
    return Stream("evaluate", visits, _evaluate, operand, piece_rows=rows, split="test", cost=cost)


def _counting_cost(
    cost: Cost, n_rows: int, n_outputs: int, n_labels: int, n_predicted: int, is_lost: bool = False
) -> Cost:
    """Return the cost of predicting the largest block, and of counting its ``n_rows`` rows."""
    is_ranked = n_predicted == 2
    return cost.holding(
        task={"scores and probabilities": (n_rows, 32 * n_outputs + 128)},
        result={
            "a row's score, class and weight": (is_ranked, 17),
            "its losses": (is_lost, 8 * n_outputs + 16),
            "its part of a block's confusion": (-(-8 * (n_labels * n_predicted + GROUPS) // n_rows),),
        },
        driver={"ranking": (is_ranked, RANKING_BYTES), "losses": (is_lost, KEPT_BYTES)},
    )


def measuring_passes(
    solver: AbstractSolver[Any], problem: Problem, block_rows: tuple[int, ...]
) -> list[Pass]:
    """Return the passes that measure a finished stage on test rows; predicting costs about as much."""
    held_out = replace(problem, has_test=True, test_block_rows=block_rows)
    of_test = [one.step for one in solver.outline(held_out) if one.step.split == "test"]
    # the last one, and those that route rows to it
    before = takewhile(lambda step: isinstance(step, Each), reversed(of_test[:-1]))
    return [*[*before][::-1], *of_test[-1:]]


def future_evaluation(
    solver: AbstractSolver[Any], problem: Problem, split: Split, name: str
) -> list[Outline]:
    """Return the passes of :func:`evaluate_split` before there is a model, for a plan.

    Parameters
    ----------
    solver, problem : those of the run that makes the model
    name : name of the split in the plan
    """
    steps = [step.changed(split=name) for step in measuring_passes(solver, problem, split.block_rows)]
    if not steps:
        return []
    labels, rows, measuring = split.dataset.classes, max(split.block_rows), steps.pop()
    cost, n_outputs = replace(measuring.cost, result_bytes=0, total_result_bytes=None), problem.n_outputs
    last: Pass
    if problem.real_targets:
        last = measuring.changed(name="evaluate", cost=residuals_cost(cost, rows, n_outputs))
    elif labels is None:
        last = measuring.changed(name="evaluate")
    else:
        cost = _counting_cost(cost, rows, n_outputs, len(labels), max(2, n_outputs))
        visits, cost = whole_visits(split.block_rows), replace(cost, operations=0.0)
        last = Stream("evaluate", visits, _evaluate, piece_rows=rows, split=name, cost=cost)
    return [Outline(step) for step in (*steps, last)]


def _figures(
    model: FittedModel,
    counts: EvaluationSums,
    ranking: RankingFigures | None,
    codes: NDArray[np.int64],
    seconds: float,
) -> dict[str, Any]:
    n_rows = int(counts.confusion.sum())
    right = np.array([counts.confusion[row, code] if code >= 0 else 0 for row, code in enumerate(codes)])
    per_class = counts.confusion.sum(axis=1)
    present = per_class > 0
    n_known = int(per_class[codes >= 0].sum())
    figures: dict[str, Any] = {
        "n": n_rows,
        "error": 1.0 - float(right.sum()) / n_rows,
        "accuracy": float(right.sum()) / n_rows,
        "balanced_accuracy": float(np.mean(right[present] / per_class[present])),
    }
    if ranking is not None:
        figures |= {"auc": ranking.area, "average_precision": ranking.average_precision}
    if counts.calibration is not None:
        figures |= counts.calibration.figures
    # rows of unknown classes have no loss
    figures["objective"] = model.objective(counts.losses, n_known) if n_known else None
    figures["seconds"] = round(seconds, 4)
    return figures
