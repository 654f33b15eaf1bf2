"""A model as passes apply it to the blocks of a split: what their operands hold of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.sparse import Rows
from distkern.core.types import Block, Floats
from distkern.data.dataset import Split
from distkern.data.preparation import Preparation
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.routing import RoutedAnswers, combining_cost
from distkern.model.value import FittedModel
from distkern.passes import Cost


@dataclass(frozen=True)
class Applied:
    """What passes that evaluate a model take of it.

    Attributes
    ----------
    losses : of predictions and their rows, the sum of s_i l_i
    preparation : what is done to rows before, if anything
    found : what the places of a model that is not kept say, where they were asked
    """

    basis: AbstractBasis
    coefficients: Floats
    intercept: NDArray[np.float64]
    losses: Callable[[Floats, Block], float]
    preparation: Preparation | None
    found: RoutedAnswers | None = None

    @classmethod
    def to(cls, split: Split, model: FittedModel, found: RoutedAnswers | None = None) -> Applied:
        """A model that is applied to a split."""
        return cls.of(model, split.dtype, model.columns.preparation(split.dataset), found)

    @classmethod
    def of(
        cls,
        model: FittedModel,
        dtype: DTypeLike,
        preparation: Preparation | None,
        found: RoutedAnswers | None,
    ) -> Applied:
        """A model that is applied to rows."""
        basis = model.applied_basis(dtype)
        own = model.coefficients, model.constants, model.risk.losses
        return cls(basis, *own, preparation, found)

    def predictions(self, block: Block) -> Floats:
        """f, (n_rows, n_outputs), in the dtype of the basis, or float64 with an intercept."""
        values = self.combined(block.index, block.n_rows, block.features)
        return values.astype(np.float64) + self.intercept if self.intercept.any() else values

    def combined(self, number: int, n_rows: int, features: Rows | None) -> Floats:
        """Phi coef of a block; the features may be None where the places were asked."""
        if self.found is not None:
            return self.found.combine(number, n_rows, self.coefficients)
        assert features is not None
        if self.preparation is not None:
            features = self.preparation.apply_rows(features, features.dtype)
        return self.basis.combine(features, self.coefficients)

    def cost(self, row_numbers: int, n_rows: int) -> Cost:
        """Cost of the predictions of a block of ``n_rows`` rows of ``row_numbers`` numbers each."""
        if self.found is not None:
            return self.found.cost(n_rows)
        own = combining_cost(self.basis, row_numbers, n_rows)
        return own.holding(task={"coefficients": (2, self.coefficients.nbytes)})
