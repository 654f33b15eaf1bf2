"""Load saved models as estimators."""

from __future__ import annotations

from typing import Any

from distkern.core.python_words import in_python
from distkern.data.store.places import Location
from distkern.model.value import FittedModel
from distkern.runs.algorithms import algorithm
from distkern.runs.persistence import read_model


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
    return estimator_of(read_model(path))


def estimator_of(model: FittedModel) -> Any:
    """Return the estimator of a fitted model."""
    kind = algorithm(model.saved_name)
    assert kind is not None, "an estimator made the model"
    # its constructor would import the solver
    estimator = object.__new__(kind)
    vars(estimator).update({**kind.unstored, **model.saved_params}, _model=model)
    return estimator
