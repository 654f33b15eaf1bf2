"""The estimators by the names that ``--algorithm`` and model files use."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def algorithms() -> dict[str, type[Any]]:
    """Name -> estimator class, for every estimator in this folder."""
    from sklearn.base import BaseEstimator

    from distkern.common.registry import members

    return members("distkern.estimators", BaseEstimator)
