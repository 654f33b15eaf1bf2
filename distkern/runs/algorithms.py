"""The estimators by algorithm name (``--algorithm``, model files) and by class name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distkern.core.registry import Family


def algorithm(name: str) -> type[Any] | None:
    """Return the estimator class of an algorithm, or None; other estimators are not imported."""
    return _family(by_class=False).get(name)


def algorithms() -> Mapping[str, type[Any]]:
    """Return every algorithm: name -> estimator class."""
    return _family(by_class=False)


def estimator(class_name: str) -> type[Any] | None:
    """Return the public estimator class of that name, or None; files with similar names come first."""
    return _family(by_class=True).get(class_name)


def estimators() -> Mapping[str, type[Any]]:
    """Return every public class: name -> class, including those that are not algorithms."""
    return _family(by_class=True)


@cache
def _family(*, by_class: bool) -> Family[Any]:
    from sklearn.base import BaseEstimator

    from distkern.core.registry import Family, class_name, member_name

    return Family("distkern.estimators", BaseEstimator, class_name if by_class else member_name)
