"""The estimators by the names that ``--algorithm`` and model files use."""

from __future__ import annotations

from functools import cache
from typing import Any

_PACKAGE = "distkern.estimators"


def algorithm(name: str) -> type[Any] | None:
    """The estimator class of that name, if there is one; others are not imported."""
    from sklearn.base import BaseEstimator

    from distkern.common.registry import lookup

    return lookup(_PACKAGE, BaseEstimator, name)


@cache
def algorithms() -> dict[str, type[Any]]:
    """Name -> estimator class, for every estimator in this folder."""
    from sklearn.base import BaseEstimator

    from distkern.common.registry import members

    return members(_PACKAGE, BaseEstimator)
