"""The weights of the columns in linear models, as scikit-learn has them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from distkern.storage.scaling import Scaling
from distkern.storage.table import Table


class Weighted:
    """A model f(x) = basis(x) @ coefficients_ + constants_, whose basis may be the columns of the rows."""

    task: ClassVar[str]
    coefficients_: NDArray[np.float64]
    constants_: NDArray[np.float64]
    table_: Table | None
    scaling_: Scaling | None
    map_: Any

    @abstractmethod
    def _classes(self) -> NDArray[Any] | None:
        """The labels that predictions are turned into; None for real predictions."""

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the weights
        of the columns of X, in their own units.

        f(x) = coef_ @ x + intercept_, whatever scaling lies before the model. Other models have no
        such attribute: kernel machines and machines over features of a kernel; models of encoded columns
        (texts, dates); models of rows scaled to norm 1 or by ranks or normal quantiles, which are not linear.
        The weights of their basis functions are ``coefficients_``.
        """
        weights = self._linear()[0].T
        return weights[0] if self._is_flat else np.ascontiguousarray(weights)

    @property
    def intercept_(self) -> Any:
        """(n_outputs,), of regressors with one output a float: the constant of f, in linear models beside
        ``coef_``."""
        check_is_fitted(self, "coefficients_")
        constants = self._linear()[1] if hasattr(self, "coef_") else self._lead(self.constants_)
        return float(constants[0]) if self._is_flat else constants

    @property
    def _is_linear(self) -> bool:
        """Whether the basis functions are the columns of the rows."""
        return False

    @property
    def _is_flat(self) -> bool:
        """Whether there is one output that needs no axis, as scikit-learn's regressors have it."""
        return self.task == "regression" and len(self.constants_) == 1

    def _lead(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Decisions of outputs along the last axis: of two competing classes, the lead of the second."""
        classes = self._classes()
        competing = classes is not None and outputs.shape[-1] == len(classes) == 2
        return outputs[..., 1:] - outputs[..., :1] if competing else outputs

    def _linear(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights (n_features, n_outputs) and constants (n_outputs,) of the columns in their own units."""
        check_is_fitted(self, "coefficients_")
        if not self._is_linear:
            raise AttributeError(f"this {type(self).__name__} is not linear in the columns of X: no coef_")
        columns = () if self.table_ is None else self.table_.columns
        if not all(column.is_itself for column in columns):
            raise AttributeError("columns of X were encoded: the model has no coef_ for each")
        scaling = Scaling() if self.scaling_ is None else self.scaling_
        # a map without a metric, which linear models do not take, transforms columns by their quantiles
        if self.map_ is not None or scaling.kind == "unit":
            raise AttributeError(
                "rows are transformed before the model in a way that is not linear: no coef_"
            )
        return scaling.pulled_back(self._lead(self.coefficients_), self._lead(self.constants_))
