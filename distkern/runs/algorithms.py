"""Estimators by algorithm name (``--algorithm``, model files), by class name, and of saved models."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from distkern.core.python_words import in_python

if TYPE_CHECKING:
    from distkern.core.registry import Family
    from distkern.data.store.places import Location
    from distkern.model.value import FittedModel


def algorithm(name: str) -> type[Any] | None:
    """Return the estimator class of an algorithm, or None; other estimators are not imported."""
    return _family(by_class=False).get(name)


def algorithms() -> Mapping[str, type[Any]]:
    """Return every algorithm: name -> estimator class."""
    return _family(by_class=False)


def estimators() -> Mapping[str, type[Any]]:
    """Return every public class: name -> class, including those that are not algorithms.

    ``get`` imports files with similar names first, and no others if they hold the class.
    """
    return _family(by_class=True)


@cache
def _family(*, by_class: bool) -> Family[Any]:
    from sklearn.base import BaseEstimator

    from distkern.core.registry import Family, class_name, member_name

    return Family("distkern.estimators", BaseEstimator, class_name if by_class else member_name)


@in_python
def load_model(path: Location) -> Any:
    """Load the fitted estimator that :meth:`save` or ``distkern train`` wrote.

    Parameters
    ----------
    path : str or path-like
        Folder or URL of the model. Loading executes no code from it.

    Returns
    -------
    model : estimator
        The fitted estimator, of the class that was saved.

    Raises
    ------
    InputError
        If there is no complete model, or another version wrote it.
    CorruptDataError
        If a file differs from what was written.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]] * 5), [0, 0, 1, 1] * 5
    >>> dk.NewtonClassifier(features="linear", random_state=0).fit(X, y).save("model")
    >>> load_model("model").predict([[0.0], [3.0]])
    array([0, 1])
    """
    from distkern.runs.persistence import read_model

    return estimator_of(read_model(path))


def estimator_of(model: FittedModel) -> Any:
    """Return the estimator of a fitted model."""
    kind = algorithm(model.saved_name)
    assert kind is not None, "an estimator made the model"
    # its constructor would import the solver
    estimator = object.__new__(kind)
    vars(estimator).update({**kind.unstored, **model.saved_params}, _model=model)
    return estimator
