"""The weights of the columns in linear models, as scikit-learn has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from distkern.data.scaling import Scaling
from distkern.model.value import FittedModel


class Weighted:
    """A model f(x) = basis(x) @ coefficients_ + constants_, whose basis may be the columns of the rows."""

    _model: FittedModel | None

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the weights
        of the columns of X, in their own units.

        f(x) = coef_ @ x + intercept_, whatever scaling lies before the model. Other models have no
        such attribute: kernel machines and machines over features of a kernel; models of encoded columns
        (texts, dates); models of rows scaled to norm 1 or by ranks or normal quantiles, which are not linear.
        The weights of their basis functions are ``coefficients_``.
        """
        model = self._checked()
        weights = self._linear(model)[0].T
        return weights[0] if _is_flat(model) else np.ascontiguousarray(weights)

    @property
    def intercept_(self) -> Any:
        """(n_outputs,), of regressors with one output a float: the constant of f, in linear models beside
        ``coef_``."""
        model = self._checked()
        constants = self._linear(model)[1] if hasattr(self, "coef_") else _lead(model, model.constants)
        return float(constants[0]) if _is_flat(model) else constants

    def _checked(self) -> FittedModel:
        check_is_fitted(self, "coefficients_")
        assert self._model is not None
        return self._model

    def _linear(self, model: FittedModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights (n_features, n_outputs) and constants (n_outputs,) of the columns in their own units."""
        if not model.is_linear:
            raise AttributeError(f"this {type(self).__name__} is not linear in the columns of X: no coef_")
        columns = () if model.columns.table is None else model.columns.table.columns
        if not all(column.is_itself for column in columns):
            raise AttributeError("columns of X were encoded: the model has no coef_ for each")
        scaling = model.columns.scaling or Scaling()
        # a map without a metric, which linear models do not take, transforms columns by their quantiles
        if model.map is not None or scaling.kind == "unit":
            raise AttributeError(
                "rows are transformed before the model in a way that is not linear: no coef_"
            )
        return scaling.pulled_back(_lead(model, model.coefficients), _lead(model, model.constants))


def _is_flat(model: FittedModel) -> bool:
    """Whether there is one output that needs no axis, as scikit-learn's regressors have it."""
    return model.task == "regression" and len(model.constants) == 1


def _lead(model: FittedModel, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Decisions of outputs along the last axis: of two competing classes, the lead of the second."""
    competing = model.classes is not None and outputs.shape[-1] == len(model.classes) == 2
    return outputs[..., 1:] - outputs[..., :1] if competing else outputs
