"""Settings with which any algorithm runs within a moment, by the names of the hyperparameters it declares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from distkern.runs.data import from_arrays

#: short runs that do not end before their last stage
SMALL: dict[str, Any] = {
    "stages": 2,
    "n_landmarks": 16,
    "n_features": 32,
    "block_size": 16,
    "batch_size": 32,
    "max_rounds": 20,
    "steps_per_stage": 600,
    "patience": None,
    "tol": 0.0,
    "nu": 0.01,
    "lam": 0.1,
    "step_size": 0.01,
    "max_cell_rows": 96,
    "search": None,
    "random_state": 0,
}

#: estimators made of what others have as well, and those that tests of every estimator try in their place
REPEATED = {
    "auto_regressor": ("auto", "newton_regressor"),
    "avm": ("csvrg",),
    "cells_regressor": ("cells", "newton_regressor"),
    "dsg_density_ratio": ("dsg",),
    "dsg_regressor": ("dsg", "dsg_gaussian_process"),
    "norma": ("svrg",),
    "norma_regressor": ("svrg_regressor",),
    "rbcd_regressor": ("rbcd", "svrg_regressor"),
    "sbmd": ("svrg",),
    "sbmd_regressor": ("svrg_regressor",),
    "sdca_regressor": ("sdca", "svrg_regressor"),
}


def each(names: Iterable[str]) -> list[Any]:
    """Names as parameters of a test, which is slow where others show the same; one that is new is not."""
    names = [*names]
    return slow_but(names, *(name for name in names if name not in REPEATED))


def slow_but(values: Iterable[Any], *kept: Any) -> list[Any]:
    """Values, or tuples of them, as parameters of a test, which is slow with all but those that are kept."""
    found = []
    for value in values:
        given = value if isinstance(value, tuple) else (value,)
        found.append(pytest.param(*given, marks=[pytest.mark.slow] * (value not in kept)))
    return found


def taken(kind: type[Any], chosen: dict[str, Any]) -> list[str]:
    """The hyperparameters of an estimator that have an effect beside the chosen ones."""
    settings = {name: one.default for name, one in kind.hyperparameters.items()} | chosen
    return [
        name
        for name, one in kind.hyperparameters.items()
        if all(settings[other] in words for other, words in one.used_with.items() if other in settings)
    ]


def small(kind: type[Any], **chosen: Any) -> dict[str, Any]:
    """Settings of an estimator: the chosen ones, and small ones of the others that it has."""
    names = taken(kind, chosen)
    return {name: SMALL[name] for name in names if name in SMALL} | chosen


def most_classes(kind: type[Any]) -> int:
    """Classes of the data that an estimator is tried on: three, or as many as it takes."""
    return min(3, getattr(kind, "most_classes", 3))


def recipe_for(model, X, y):
    """Recipe of the machine that an estimator chooses."""
    return model.recipe().chosen_for(from_arrays(X, y, None, model.task), has_test=False)


def chosen(model, X, y):
    """Name of the algorithm that an estimator chooses, and why."""
    recipe = recipe_for(model, X, y)
    return recipe.name.removesuffix("_regressor"), recipe.chosen.because
