"""Updates of fitted estimators: fits that begin from a model and learn from more rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight

from distkern.common import blas
from distkern.common.errors import InputError
from distkern.common.sparse import Rows as Features
from distkern.common.targets import plain_targets
from distkern.common.types import AbstractSource
from distkern.engine.drive import Driver
from distkern.engine.ending import Stopping
from distkern.engine.events import EventLog, Listener
from distkern.engine.executors import AbstractExecutor, open_executor
from distkern.estimators.fitting import run_solver
from distkern.runs.arrays import refuse_lazy
from distkern.runs.data import from_arrays
from distkern.runs.drift import drift_of, drift_pass
from distkern.runs.evaluation import evaluate_split
from distkern.runs.given import codes_of_labels, rows_for
from distkern.runs.persistence import SavedForUpdate, fingerprint_of
from distkern.runs.scaled import ScaledSource
from distkern.runs.spooled import in_random_order
from distkern.runs.update import UpdateRows, UpdateRun, chosen_splits, further_of, update_data
from distkern.solvers.base import cannot_go_on
from distkern.storage.dataset import Dataset, Split
from distkern.storage.places import Place
from distkern.storage.preparation import Preparation

if TYPE_CHECKING:
    from distkern.estimators.estimator import AbstractEstimator


def begun(model: AbstractEstimator, splits: Sequence[Split]) -> tuple[AbstractEstimator, tuple[Split, ...]]:
    """A copy of a fitted model that a fit updates with the rows of some splits, and those that are new.

    Which are new follows from what the model has learned from. Old ones are read again where that is what the
    algorithm asks for, before the new ones.

    Raises
    ------
    InputError
        If the model cannot be updated, with these rows or at all.
    """
    further = further_of(model)
    chosen = chosen_splits(further, splits)
    known = {split.fingerprint for split in chosen.old}
    # rows of arrays are of no data set
    missing = [one for one in further.sources if one not in known]
    new = [UpdateRows.of_split(model, split) for split in chosen.new]
    old: list[UpdateRows] = []
    if _needs_old(model, further):
        if missing:
            raise _missing(model, further, "--data", "--data OLD.zarr NEW.zarr")
        old = [UpdateRows.of_split(model, split) for split in chosen.old]
    prints = (*further.sources, *(split.fingerprint for split in chosen.new))
    n_earlier = 0 if old else further.n_rows
    return _copy(model, further, old, new, n_earlier, prints, chosen.new), chosen.new


def _needs_old(model: AbstractEstimator, further: SavedForUpdate) -> bool:
    rule = model._solver(model.class_weights_, model.mean_weight_).updates
    if rule.refusal:
        raise cannot_go_on(model.name, rule.refusal)
    return rule.needs_old(further.solver_state)


def _missing(model: AbstractEstimator, further: SavedForUpdate, where: str, how: str) -> InputError:
    return InputError(
        f"an update of {model.name} reads the old rows again, and some of the {further.n_rows:,} that it was "
        "trained on are missing",
        where=where,
        hint=f"add them: {how}",
    )


def _copy(
    model: AbstractEstimator,
    further: SavedForUpdate,
    old: Sequence[UpdateRows],
    new: Sequence[UpdateRows],
    n_earlier: int,
    prints: tuple[str, ...],
    splits: tuple[Split, ...] = (),
) -> AbstractEstimator:
    """A copy of a model that says which rows its fit reads."""
    found = copy(model)
    weights = model.mean_weight_, model.class_weights_, model.class_shares_
    seed = getattr(model, "seed_", None)
    data = update_data(model, [*old, *new])
    fresh = data.source if not old else update_data(model, new).source
    own = fingerprint_of(model, further)
    found._begin(UpdateRun(further, data, fresh, splits, n_earlier, prints, *weights, seed, own))
    return found


def mapped_source(model: AbstractEstimator, source: AbstractSource) -> AbstractSource:
    """Rows of the model's features as its solver sees them."""
    return source if model.map_ is None else ScaledSource(source, model.map_)


def fit_further(
    model: AbstractEstimator,
    test: Split | None,
    executor: AbstractExecutor | None,
    listeners: Sequence[Listener],
    *,
    stopping: Stopping | None,
    checkpoints: Place | None,
    resume: bool,
) -> None:
    """Fit a model that says what its fit begins from, see :func:`begun`."""
    begins = model._begins
    assert begins is not None, "it says so"
    how: dict[str, Any] = {"stopping": stopping, "checkpoints": checkpoints, "resume": resume}
    with ExitStack() as stack:
        stack.enter_context(blas.single_threaded())
        executor = executor or stack.enter_context(open_executor("synchronous"))
        data, events = begins.data, EventLog(listeners)
        if not (model.draws_any_row or data.source.is_shuffled or data.source.n_blocks == 1):
            data = in_random_order(data, executor, stack, events)
        solver, problem = model.problem(data, has_test=test is not None)
        note = f"update: {begins.new.n_rows:,} new rows, {begins.n_rows:,} with those before"
        problem = replace(problem, dtype=data.source.dtype, notes=(*problem.notes, note))
        sources = {"train": mapped_source(model, data.source)}
        if test is not None:
            sources["test"] = mapped_source(model, model._as_own(test))
        known = begins.further.low, begins.further.high
        driver = Driver({"train": begins.new}, executor, events)
        drift = drift_of(model, driver.measure(drift_pass(model, begins.new, *known)), *known)
        before = errors_of(model, begins, executor)
        outcome = run_solver(model, solver, problem, data, Driver(sources, executor, events), **how)
        after = errors_of(model, begins, executor)
    facts = {"rows": begins.new.n_rows, "before": before, "after": after, **drift.facts}
    counts = begins.n_rows, begins.weight, begins.sources
    further = SavedForUpdate(solver.further(outcome.state), *counts, *drift.widened, begins.fingerprint)
    model._end(further, facts)


def errors_of(model: Any, begins: UpdateRun, executor: AbstractExecutor) -> dict[str, float]:
    """Errors of a model on the new rows of an update: shares of wrong labels, or root mean squared ones."""
    found = [evaluate_split(model, split, executor).figures for split in begins.splits]
    if not found:
        found = [_figures_on(model, begins.new)]
    n_rows = np.array([one["n"] for one in found], dtype=np.float64)
    name = "rmse" if model.task == "regression" else "error"
    each = np.array([one[name] for one in found])
    if name == "rmse":
        return {name: float(np.sqrt(np.square(each) @ n_rows / n_rows.sum()))}
    return {name: float(each @ n_rows / n_rows.sum())}


def _figures_on(model: Any, rows: AbstractSource) -> dict[str, float]:
    """The error or RMSE, and the number of rows, on prepared rows in memory."""
    is_real = model.task == "regression"
    predict = model.predictor(None, "decision" if is_real else "label", rows.dtype)
    lost = 0.0
    for index in range(rows.n_blocks):
        block = rows.reader(index)()
        targets, found = np.asarray(block.targets), predict(block.features)
        if is_real:
            lost += float(np.square(found.reshape(len(targets), -1) - targets[:, None]).mean(axis=1).sum())
        else:
            lost += float((found != model.classes_[targets]).sum())
    mean = lost / rows.n_rows
    return {"n": rows.n_rows, "rmse": math.sqrt(mean)} if is_real else {"n": rows.n_rows, "error": mean}


def update_estimator(
    model: AbstractEstimator, X: Any, y: Any, sample_weight: Any, *, old: Any, listeners: Sequence[Listener]
) -> None:
    """See :meth:`~distkern.estimators.estimator.AbstractEstimator.update`."""
    model._fitted()
    if isinstance(X, Split | Dataset):
        given = [] if old is None else old if isinstance(old, list) else [old]
        splits = [one.train if isinstance(one, Dataset) else one for one in (*given, X)]
        updated, _ = begun(model, splits)
    else:
        further = further_of(model)
        new = _rows_of_arrays(model, X, y, sample_weight)
        needs, earlier = _needs_old(model, further), []
        if needs and old is not None:
            given = old if isinstance(old, list) else [old]
            earlier = [_rows_of_arrays(model, *one) for one in given]
            weight = float(sum(part.totals.sum() for part in earlier))
            if not math.isclose(weight, further.weight, rel_tol=1e-6):
                raise InputError(
                    f"{weight:,.10g} rows or their weight, and the model has learned from "
                    f"{further.weight:,.10g}",
                    where="old",
                    hint="give all of them, and only those",
                )
        elif needs:
            raise _missing(model, further, "old", "update(X, y, old=(X_old, y_old))")
        n_left = 0 if earlier else further.n_rows
        updated = _copy(model, further, earlier, [new], n_left, (*further.sources, ""))
    fit_further(updated, None, None, listeners, stopping=None, checkpoints=None, resume=False)
    model.__dict__.update(vars(updated))


def _rows_of_arrays(model: AbstractEstimator, X: Any, y: Any = None, sample_weight: Any = None) -> UpdateRows:
    """Arrays in memory as rows that the model knows."""
    refuse_lazy(X)
    known = rows_for(model, X)
    if isinstance(known.rows, AbstractSource):
        raise InputError(f"a {type(X).__name__}", where="X", hint="give arrays or frames in memory")
    prepare = (known.preparation or Preparation()).apply_rows
    features: Features = known.map(partial(prepare, out_dtype=model.dtype_ or np.float32), None)
    targets = column_or_1d(plain_targets(y), warn=True)
    check_consistent_length(features, targets)
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, np.empty((len(targets), 1)), dtype=np.float64)
    if model.task != "classification":
        data = from_arrays(features, targets.astype(np.float64), weights, "regression")
        return UpdateRows.of_arrays(data, np.empty(0))
    classes = model._classes()
    assert classes is not None, "it is a classifier"
    data = from_arrays(features, codes_of_labels(classes, targets, "y"), weights)
    return UpdateRows.of_arrays(data, classes)
