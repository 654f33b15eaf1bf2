"""A model as it is applied to the blocks of a split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.bases.base import AbstractBasis
from distkern.bases.routing import RoutedAnswers, combining_cost
from distkern.common.sparse import Rows
from distkern.common.types import Block, Floats
from distkern.passes import Cost
from distkern.storage.dataset import Dataset, Split
from distkern.storage.preparation import Preparation, preparation_for
from distkern.storage.scaling import Scaling


def preparation_of(estimator: Any, dataset: Dataset) -> Preparation | None:
    """What a fitted estimator does to the stored rows of a data set, see :func:`preparation_for`."""
    names = getattr(estimator, "feature_names_in_", None)
    own: Scaling | None = estimator.scaling_
    width = estimator.n_features_in_
    if estimator.table_ is not None:
        own_names = estimator.table_.is_named or not estimator.table_.is_mere
        names, width = estimator.table_.features if own_names else None, estimator.table_.n_features
    return preparation_for(dataset, width, None if names is None else tuple(names), own, estimator.table_)


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
    def to(cls, split: Split, model: Any, found: RoutedAnswers | None = None) -> Applied:
        """A model that is applied to a split."""
        return cls.of(model, split.dtype, preparation_of(model, split.dataset), found)

    @classmethod
    def of(
        cls, model: Any, dtype: DTypeLike, preparation: Preparation | None, found: RoutedAnswers | None
    ) -> Applied:
        """A model that is applied to rows."""
        basis = model.applied_basis(dtype)
        return cls(basis, model.coefficients_, model.constants_, model.losses(), preparation, found)

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
