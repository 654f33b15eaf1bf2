"""Fitting an estimator: from what is given to ``fit`` to the attributes that it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from distkern.common import blas
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.drive import Driver
from distkern.engine.ending import Stopping
from distkern.engine.events import EventLog, Listener
from distkern.engine.executors import AbstractExecutor
from distkern.estimators.estimator import AbstractEstimator
from distkern.estimators.given import training_data
from distkern.estimators.held_out import held_out_rows
from distkern.estimators.mapped import mapped
from distkern.monitor.history import History
from distkern.runs.scaled import rescaled
from distkern.runs.spooled import in_random_order
from distkern.search.values import searched
from distkern.storage.dataset import Split
from distkern.storage.places import Place


def fit_estimator(
    model: AbstractEstimator,
    X: Any,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    groups: ArrayLike | None,
    test: Split | None,
    eval_set: Any,
    stopping: Stopping | None,
    executor: AbstractExecutor | None,
    listeners: Sequence[Listener],
    checkpoints: Place | None,
    resume: bool,
) -> None:
    """See :meth:`~distkern.estimators.estimator.AbstractEstimator.fit_with`."""
    model.found_ = {}
    model.check_parameters()
    model.target_name_ = None
    model.table_ = model.zero_based_ = model.importances_ = None
    with ExitStack() as stack:
        stack.enter_context(blas.single_threaded())
        given, executor = training_data(model, X, y, sample_weight, groups, executor, stack)
        data, events = given, EventLog(listeners)
        if not model.draws_any_row:
            data = in_random_order(data, executor, stack, events)
        has_test = test is not None or eval_set is not None
        solver, problem = model.problem(data, has_test=has_test)
        rows = rescaled(data, model._own_scale(data), model.value("dtype"), executor)
        data, model.dtype_, model.found_ = rows.data, rows.data.source.dtype, {**model.found_, **rows.found}
        problem = replace(problem, dtype=model.dtype_, notes=(*problem.notes, *rows.notes))
        seen = mapped(data, model._map_choices(data), problem, executor)
        model.map_, model.found_ = seen.map, {**model.found_, **seen.found}
        solver = searched(solver, model.open_names(), problem)
        model.n_features_in_ = problem.n_features if model.table_ is None else len(model.table_.columns)
        model.scaling_ = data.scaling
        sources = {"train": seen.source}
        if has_test:
            held = held_out_rows(model, given, eval_set) if test is None else test
            sources["test"] = seen.held_out(rows.held_out(held))
        if stopping is not None:
            stopping.check(solver)
        identity = model._identity(data, problem)
        folder = None if checkpoints is None else CheckpointFolder(checkpoints, identity)
        driver = Driver(sources, executor, events, folder)
        outcome = driver.run(solver, problem, resume=resume, take=model._take_parts, stopping=stopping)
    model._keep_data(data)
    model.found_ = {**solver.found(outcome.state), **model.found_}
    model.seed_ = problem.seed
    model.ended_, model.n_iter_ = outcome.ending.reason, outcome.state.stage
    model.history_ = History(outcome.history)
    model._keep(outcome.state)
