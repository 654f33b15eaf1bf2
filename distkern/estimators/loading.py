"""Stored models as estimators."""

from __future__ import annotations

from typing import Any

from distkern.model.value import FittedModel
from distkern.runs.algorithms import algorithm
from distkern.runs.persistence import read_model
from distkern.storage.places import Location


def load_model(path: Location) -> Any:
    """The fitted estimator that :meth:`save` or ``distkern train`` wrote to the folder or URL ``path``.

    Raises
    ------
    InputError
        If there is no finished model, or another version wrote it.
    CorruptDataError
        If anything in it is not what was written.
    """
    return estimator_of(read_model(path))


def estimator_of(model: FittedModel) -> Any:
    """The estimator around a model."""
    kind = algorithm(model.told_name)
    assert kind is not None, "a model has been made by an estimator"
    estimator = kind(**model.told_params)
    estimator._model = model
    return estimator
