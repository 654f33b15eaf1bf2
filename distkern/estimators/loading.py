"""Stored models as estimators."""

from __future__ import annotations

from typing import Any

from distkern.core.python_words import in_python
from distkern.data.store.places import Location
from distkern.model.value import FittedModel
from distkern.runs.algorithms import algorithm
from distkern.runs.persistence import read_model


@in_python
def load_model(path: Location) -> Any:
    """Load the fitted estimator that :meth:`save` or ``distkern train`` wrote to a folder or URL.

    Parameters
    ----------
    path : str or path-like
        The model's folder. Loading executes nothing that lies in it.

    Returns
    -------
    model : estimator
        The estimator of the class that was saved, fitted.

    Raises
    ------
    InputError
        If there is no finished model, or another version wrote it.
    CorruptDataError
        If anything in it is not what was written.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]] * 5), [0, 0, 1, 1] * 5
    >>> dk.NewtonClassifier(features="linear", random_state=0).fit(X, y).save("model")
    >>> load_model("model").predict([[0.0], [3.0]])
    array([0, 1])
    """
    return estimator_of(read_model(path))


def estimator_of(model: FittedModel) -> Any:
    """The estimator around a model."""
    kind = algorithm(model.told_name)
    assert kind is not None, "a model has been made by an estimator"
    estimator = kind(**model.told_params)
    estimator._model = model
    return estimator
