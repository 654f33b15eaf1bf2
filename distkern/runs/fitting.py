"""One run: from rows and a recipe to a model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core import blas
from distkern.data.spreads import Spreads
from distkern.data.store.places import Place
from distkern.engine.drive import Driver, RunOutcome
from distkern.engine.ending import Stopping
from distkern.engine.events import EventLog, Listener
from distkern.engine.executors import AbstractExecutor
from distkern.maths.maps.mapping import RowMap
from distkern.model.parts import Columns, History, SavedForUpdate
from distkern.model.value import FittedModel
from distkern.runs.data import TrainingData
from distkern.runs.learned import GivenTraining
from distkern.runs.recipe import Posed, Recipe
from distkern.runs.scaled import Rescaled, mapped, rescaled
from distkern.runs.spooled import in_random_order


@dataclass(frozen=True)
class RunPlace:
    """Where a run takes place, who is informed, and what may stop it.

    Attributes
    ----------
    executor : runs the passes
    listeners : receive the events
    checkpoints, resume : folder of the states after each stage, and whether to continue from the newest
    stopping : early stopping, or None
    """

    executor: AbstractExecutor
    listeners: Sequence[Listener] = ()
    checkpoints: Place | None = None
    resume: bool = False
    stopping: Stopping | None = None


def run(recipe: Recipe, given: GivenTraining, place: RunPlace) -> FittedModel:
    """Return the model that a recipe makes from rows."""
    with ExitStack() as stack:
        stack.enter_context(blas.single_threaded())
        events, executor = EventLog(place.listeners), place.executor
        recipe = recipe.settled(given.data, place.listeners, has_test=given.has_test)
        data = shuffled(recipe, given.data, executor, stack, events)
        posed = recipe.pose(data, has_test=given.has_test)
        rows = rescaled(data, recipe.own_scale(data), recipe.settings.value("dtype"), executor)
        notes = (*posed.problem.notes, *rows.notes)
        problem = replace(posed.problem, dtype=rows.data.source.dtype, notes=notes)
        seen = mapped(rows.data, recipe.map_choices(data), problem, executor)
        posed = replace(posed, problem=problem, settings=posed.settings.finding({**rows.found, **seen.found}))
        posed = replace(posed, runner=recipe.searched(posed))
        columns = replace(given.columns, scaling=rows.data.scaling, dtype=problem.dtype)
        sources = {"train": seen.source}
        if given.has_test:
            sources["test"] = seen.held_out(rows.held_out(given.test_rows(columns)))
        driver = Driver(sources, executor, events, recipe.checkpoints(place.checkpoints, rows.data, posed))
        outcome = driver.run(
            posed.run_by,
            posed.problem,
            resume=place.resume,
            take=recipe.kind.stored_fields,
            stopping=place.stopping,
        )
        low, high = ranges_of(given.data, rows)
    source = given.data.source
    weight, prints = float(given.data.class_totals.sum()), (source.fingerprint,)
    saved = posed.run_by.further(outcome.state)
    further = SavedForUpdate(saved, source.n_rows, weight, prints, low, high)
    return model_of(recipe, posed, outcome, columns, data.classes, seen.map, further)


def shuffled(
    recipe: Recipe, data: TrainingData, executor: AbstractExecutor, stack: ExitStack, events: EventLog
) -> TrainingData:
    """Return the rows in random order if the recipe needs it and they are not shuffled yet."""
    if recipe.draws_any_row or data.source.is_shuffled or data.source.n_blocks == 1:
        return data
    return in_random_order(data, executor, stack, events)


def model_of(
    recipe: Recipe,
    posed: Posed,
    outcome: RunOutcome,
    columns: Columns,
    classes: NDArray[Any],
    map: RowMap | None,
    further: SavedForUpdate,
    updates: tuple[dict[str, Any], ...] = (),
) -> FittedModel:
    """Return the model of a finished run."""
    state, chosen = outcome.state, recipe.chosen
    settings = replace(posed.settings, found={**posed.run_by.found(state), **posed.settings.found})
    if chosen is not None:
        chosen = chosen.measured(state, weighs_classes=posed.class_weights is not None)
    return recipe.kind(
        name=recipe.name,
        task=recipe.task,
        params=recipe.params,
        settings=settings,
        columns=columns,
        classes=classes if recipe.task == "classification" else None,
        seed=posed.problem.seed,
        n_iter=state.stage,
        history=History(outcome.history),
        ended=outcome.ending.reason,
        updates=updates,
        map=map,
        mean_weight=posed.mean_weight,
        class_weights=posed.class_weights,
        class_shares=posed.class_shares,
        further=further,
        chosen=chosen,
        **recipe.kind.of_state(settings, posed.solver, state),
        **outcome.taken,
    )


def ranges_of(data: TrainingData, rows: Rescaled) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest and largest number of each column of the training rows, in their own units.

    Both are empty if no pass has read the rows and the data set's scaling does not determine them.
    """
    source, stored = data.source, data.scaling
    if stored is not None and stored.kind == "minmax" and stored.shift is not None:
        assert stored.factor is not None
        return stored.shift, stored.shift + 1.0 / stored.factor
    if stored is not None and stored.kind != "none":
        return np.zeros(0), np.zeros(0)
    spreads = rows.spreads
    if spreads is None and source.in_memory:
        parts = (source.reader(block)().features for block in range(source.n_blocks))
        spreads = reduce(Spreads.add, (Spreads.of(part, None) for part in parts))
    return (np.zeros(0), np.zeros(0)) if spreads is None else (spreads.low, spreads.high)
