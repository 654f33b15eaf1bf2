"""Runs of estimators: what commands do with recipes and models, for the estimators that tests have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from distkern.engine.drive import Driver
from distkern.runs import evaluation, run, updating
from distkern.runs.recipe import Recipe


def _recipe(of: Any) -> Recipe:
    return of if isinstance(of, Recipe) else of.recipe()


def train(of: Any, source: Any, **how: Any) -> Any:
    """An estimator, fitted as ``distkern train`` does, or the estimator around what an update makes."""
    from distkern.runs.algorithms import estimator_of

    model = run.train(_recipe(of), source, **how)
    if isinstance(of, Recipe):
        return estimator_of(model)
    of._model = model
    return of


@contextmanager
def interrupted_after(name: str) -> Iterator[None]:
    """Ctrl-C arrives in every run at the end of its passes of this name."""
    execute = Driver._execute

    def interrupted(self: Driver, step: Any) -> Any:
        found = execute(self, step)
        if step.name == name:
            raise KeyboardInterrupt
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Driver, "_execute", interrupted)
        yield


def plan(of: Any, source: Any, **how: Any) -> run.Plan:
    """The plan of a run of an estimator or an update."""
    return run.plan(_recipe(of), source, **how)


def evaluate(model: Any, source: Any, **how: Any) -> dict[str, Any]:
    """Figures of a fitted estimator on a split."""
    return run.evaluate(model.model_, source, **how)


def evaluations(model: Any, sources: Any, **how: Any) -> list[Any]:
    """What a fitted estimator makes of splits."""
    return run.evaluations(model.model_, sources, **how)


def evaluate_split(model: Any, split: Any, *given: Any, **how: Any) -> Any:
    """What a fitted estimator makes of a split, on an executor."""
    return evaluation.evaluate_split(model.model_, split, *given, **how)


def begun(model: Any, splits: Any) -> tuple[Recipe, Any]:
    """How a fitted estimator is updated with splits, and which of them are new."""
    return updating.update_recipe(model.model_, splits)


def posed_problem(of: Any, data: Any, *, has_test: bool = False, searched: bool = False) -> tuple[Any, Any]:
    """The solver of an estimator, which searches first if asked, and its problem, on a split or its rows."""
    recipe = _recipe(of)
    data = recipe.data_of(data) if hasattr(data, "dataset") else data
    recipe = recipe.settled(data, has_test=has_test)
    found = recipe.pose(data, has_test=has_test)
    return recipe.searched(found) if searched else found.solver, found.problem


def outlines_of(of: Any, split: Any, *, has_test: bool) -> tuple[Any, Any, list[Any]]:
    """The solver of a run, which searches what is open, its problem and the passes that its plan expects."""
    recipe = _recipe(of)
    data = recipe.data_of(split)
    recipe = recipe.settled(data, has_test=has_test)
    posed = recipe.pose(data, has_test=has_test)
    solver = recipe.searched(posed)
    outlines = [*recipe.preparing(data, posed.problem), *solver.outline(posed.problem)]
    return solver, posed.problem, outlines


def solver_of(of: Any) -> Any:
    """The solver of an estimator before rows are known."""
    return _recipe(of).solver
