"""A fitted model under the cells, whose predictions theirs are added to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.parameters import AbstractKind
from distkern.common.sparse import Rows
from distkern.losses.base import AbstractLoss
from distkern.solvers.risk import Risk

Array = NDArray[np.float64]


class AModel(AbstractKind):
    """The folder of a model, or a fitted estimator."""

    def accepts(self, value: Any) -> bool:
        return bool(value) if isinstance(value, str) else callable(getattr(value, "basis", None))

    @property
    def spoken(self) -> str:
        return "the folder of a model, or a fitted estimator"


@dataclass(frozen=True)
class Below:
    """b of a model f = b + g, where g are the cells' machines.

    Attributes
    ----------
    single, double : the basis of b, computing in float32 and in float64
    coefficients, intercept : (size, k) and (k,)
    risk : of f: real values are centred and scaled as its targets; two outputs that compete are the second's
        lead
    """

    single: AbstractBasis
    double: AbstractBasis
    coefficients: Array
    intercept: Array
    risk: Risk

    def of(self, risk: Risk) -> Below:
        """The same in the units of other targets."""
        return replace(self, risk=risk)

    def __call__(self, features: Rows) -> Array:
        """b (n, n_outputs) of rows."""
        basis = self.basis(features.dtype)
        values = basis.combine(features.astype(basis.dtype), self.coefficients).astype(np.float64)
        values += self.intercept
        if self.risk.is_real:
            return self.risk.scaled(values)
        return values[:, 1:] - values[:, :1] if values.shape[1] > self.risk.n_outputs else values

    def basis(self, dtype: Any) -> AbstractBasis:
        """In a dtype."""
        return self.single if dtype == np.float32 else self.double

    def workspace_bytes(self, row_numbers: int, n_rows: int) -> int:
        """What a thread takes for so many rows."""
        predictions = 24 * len(self.intercept)
        own: int = self.double.combining_bytes(row_numbers)
        return own + n_rows * (predictions + 8 * row_numbers)

    @property
    def process_bytes(self) -> int:
        """What a process loads for it."""
        return int(self.double.process_bytes)

    def flops_per_row(self, row_numbers: int) -> float:
        """Of a prediction."""
        outputs = 2.0 * self.double.size * len(self.intercept)
        return float(self.double.flops_per_row(row_numbers)) + outputs


def left_over(loss: AbstractLoss, targets: Array, offsets: Array | None) -> Array:
    """What b leaves of the targets (n, k): y - b, or of losses of the margin y max(0, 1 - y b)."""
    if offsets is None:
        return targets
    if loss.target_kind == "binary" and not loss.is_quadratic:
        return np.asarray(targets * np.maximum(0.0, 1.0 - targets * offsets))
    return targets - offsets
