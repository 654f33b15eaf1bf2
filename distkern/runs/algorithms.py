"""The estimators by the names that ``--algorithm`` and model files use, and by class name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distkern.core.registry import Family


def algorithm(name: str) -> type[Any] | None:
    """The estimator class of that name, if there is one; others are not imported."""
    return _family(by_class=False).get(name)


def algorithms() -> Mapping[str, type[Any]]:
    """Name -> estimator class, for every estimator in their folder."""
    return _family(by_class=False)


def estimator(class_name: str) -> type[Any] | None:
    """The public class of that name, if it is an estimator's; the file named as it is imported first."""
    return _family(by_class=True).get(class_name)


def estimators() -> Mapping[str, type[Any]]:
    """Class name -> class, for every estimator in their folder, including ones that are no algorithm."""
    return _family(by_class=True)


@cache
def _family(*, by_class: bool) -> Family[Any]:
    from sklearn.base import BaseEstimator

    from distkern.core.registry import Family, class_name, member_name

    return Family("distkern.estimators", BaseEstimator, class_name if by_class else member_name)
