"""A model as it is applied to the blocks of a split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.types import Block, Floats
from distkern.storage.dataset import Split
from distkern.storage.preparation import Preparation


@dataclass(frozen=True)
class Applied:
    """What passes that evaluate a model take of it.

    Attributes
    ----------
    losses : of predictions and their rows, the sum of s_i l_i
    preparation : what is done to rows before, if anything
    """

    basis: AbstractBasis
    coefficients: Floats
    intercept: NDArray[np.float64]
    losses: Callable[[Floats, Block], float]
    preparation: Preparation | None

    @classmethod
    def to(cls, split: Split, model: Any) -> Applied:
        """A model that is applied to a split."""
        return cls(
            model.basis(split.dtype),
            model.coef_,
            model.intercept_,
            model.losses(),
            model.preparation_for(split),
        )

    def predictions(self, block: Block) -> Floats:
        """f, (n_rows, n_outputs), in the dtype of the basis, or float64 with an intercept."""
        features = block.features
        if self.preparation is not None:
            features = self.preparation.apply_rows(features, features.dtype)
        values = self.basis.combine(features, self.coefficients)
        return values.astype(np.float64) + self.intercept if self.intercept.any() else values
