"""The estimators by the names that ``--algorithm`` and model files use, and by those of their classes."""

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


def estimator(class_name: str) -> type[Any] | None:
    """The public class of that name, if it is an estimator's; the file named as it is imported first."""
    from sklearn.base import BaseEstimator

    from distkern.common.registry import lookup_class

    return lookup_class(_PACKAGE, BaseEstimator, class_name)


@cache
def estimators() -> dict[str, type[Any]]:
    """Name of the class -> class, for every estimator in this folder, those that are no algorithm too."""
    from sklearn.base import BaseEstimator

    from distkern.common.registry import classes

    return classes(_PACKAGE, BaseEstimator)
