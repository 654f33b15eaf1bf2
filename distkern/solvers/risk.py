"""Targets, weights, losses, slopes and errors of rows for any loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.types import Block, Floats
from distkern.maths.losses.base import AbstractLoss

Number = TypeVar("Number", bound=np.floating[Any])


@dataclass(frozen=True)
class Risk:
    """The mean over the rows of s_i l(f(x_i), y_i), for a model with ``n_outputs`` outputs.

    Attributes
    ----------
    loss : l
    n_outputs : k, see :meth:`~distkern.maths.losses.base.AbstractLoss.n_outputs`
    class_weights : weight of each class code, or None
    mean_weight : mean of the raw row weights; the s_i are the raw weights divided by it, so their mean is 1
    center, scale : the unit of real targets: f predicts (y - center) / scale; center is (n_outputs,), or
        None for 0. For classes, center is added to predictions

    Raises
    ------
    InputError
        If the number of outputs differs from that of quantiles, or fewer than two outputs compete.
    """

    loss: AbstractLoss
    n_outputs: int = 1
    class_weights: NDArray[np.float64] | None = None
    mean_weight: float = 1.0
    center: NDArray[np.float64] | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        self.loss.check_outputs(self.n_outputs)

    @property
    def is_real(self) -> bool:
        """Whether targets are real numbers."""
        return self.loss.target_kind == "real"

    @property
    def curvature(self) -> float:
        """c: the curvature of the loss, or 1 if its slope jumps."""
        return self.loss.curvature if math.isfinite(self.loss.curvature) else 1.0

    @property
    def offset(self) -> NDArray[np.float64]:
        """The constant added to each output's predictions for classes, (n_outputs,); 0 for real targets."""
        return np.zeros(self.n_outputs) if self.is_real or self.center is None else self.center

    def shifted(self, predictions: NDArray[Number]) -> NDArray[Number]:
        """f, with the offset of classes, in the predictions' dtype."""
        if self.is_real or self.center is None:
            return predictions
        found: NDArray[Number] = predictions + self.center.astype(predictions.dtype)
        return found

    @property
    def has_targets(self) -> bool:
        """Whether there are targets to predict."""
        return self.loss.target_kind != "none"

    @property
    def n_errors(self) -> int:
        """Length of :meth:`errors`."""
        return 2 if self.is_real else 1

    def targets(self, block: Block) -> Floats:
        """y, (n_rows, n_outputs), in the features' dtype.

        Class codes become -1 and +1 (one output: +1 for code 1; several: one against the rest), or 0 and 1 if
        the classes compete. A real target is the same for every output, up to center and scale. Targets are 0
        for losses without them.
        """
        dtype = block.features.dtype
        if not self.has_targets:
            return np.zeros((block.n_rows, self.n_outputs), dtype=dtype)
        assert block.targets is not None
        codes = block.targets[:, None]
        if self.is_real:
            return self.scaled(np.repeat(codes.astype(np.float64), self.n_outputs, axis=1)).astype(dtype)
        own = codes == (np.arange(self.n_outputs) if self.n_outputs > 1 else 1)
        other = dtype.type(0 if self.loss.target_kind == "classes" else -1)
        return np.where(own, dtype.type(1), other)

    def scaled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Centre real targets or predictions (n_rows, n_outputs) and divide them by the scale."""
        return (values - (0.0 if self.center is None else self.center)) / self.scale

    def weights(self, block: Block) -> NDArray[np.float64] | None:
        """s, (n_rows,) with mean 1 over the whole split, or None if all are 1."""
        repeats = self.repeats(block)
        return None if repeats is None else repeats / self.mean_weight

    def all_weights(self, block: Block) -> NDArray[np.float64]:
        """:meth:`weights`, with ones for None."""
        weights = self.weights(block)
        return np.ones(block.n_rows) if weights is None else weights

    def repeats(self, block: Block) -> NDArray[np.float64] | None:
        """Number of rows each row counts as, (n_rows,): its weight times its class's; None for 1."""
        if block.weights is None and self.class_weights is None:
            return None
        weights = np.ones(block.n_rows)
        if block.weights is not None:
            weights *= block.weights
        if self.class_weights is not None:
            weights *= self.class_weights[block.targets]
        return weights

    def values(
        self, predictions: Floats, targets: Floats, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """s_i l(f_i, y_i) of each row, (n_rows,)."""
        values = self.loss.row_values(self.shifted(predictions), targets).astype(np.float64)
        return values if weights is None else values * weights

    def slopes(self, predictions: Floats, targets: Floats, weights: NDArray[np.float64] | None) -> Floats:
        """s_i dl/df of each row, (n_rows, n_outputs), in the predictions' dtype."""
        slopes = self.loss.row_slopes(self.shifted(predictions), targets)
        if weights is not None:
            slopes = slopes * weights.astype(slopes.dtype)[:, None]
        return slopes

    def balance(
        self, predictions: Floats, targets: Floats, weights: NDArray[np.float64] | None, slopes: Floats
    ) -> NDArray[np.float64]:
        """Sums over rows of s_i :meth:`~distkern.maths.losses.base.AbstractLoss.row_balance`, (2, n_outputs).

        Parameters
        ----------
        slopes : s_i dl/df of each row, (n_rows, n_outputs)
        """
        plain, factors = slopes.astype(np.float64), np.ones(len(slopes)) if weights is None else weights
        if weights is not None:
            plain = plain / np.where(weights > 0, weights, 1.0)[:, None]
        exact = self.shifted(predictions.astype(np.float64))
        parts = self.loss.row_balance(exact, targets.astype(np.float64), plain)
        return np.stack([factors @ each for each in parts])

    def curvatures(
        self, predictions: Floats, targets: Floats, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """s_i d2l/df2 of each row, (n_rows, n_outputs)."""
        bends = self.loss.row_curvatures(self.shifted(predictions), targets).astype(np.float64)
        return bends if weights is None else bends * weights[:, None]

    def products(
        self, predictions: Floats, targets: Floats, weights: NDArray[np.float64] | None, directions: Floats
    ) -> Floats:
        """s_i d2l/df2 of each row times its direction, (n_rows, n_outputs), in the predictions' dtype."""
        products = self.loss.row_products(self.shifted(predictions), targets, directions)
        if weights is not None:
            products = products * weights.astype(products.dtype)[:, None]
        return products

    def errors(self, predictions: Floats, block: Block) -> NDArray[np.float64]:
        """Weighted errors of some rows.

        For classes: [weight of misclassified rows]. For real targets: [sum of (f - y)^2, sum of |f - y|] in
        their units, averaged over quantiles. Without targets: [weight of the rows whose loss falls with f],
        the outliers of novelty detection.

        Only row weights count, not class weights: divided by their sum, the errors equal scikit-learn's
        scores with ``sample_weight``. A NaN or infinite prediction counts as an error and makes the squared
        error infinite.
        """
        if not self.has_targets:
            slopes = self.loss.row_slopes(predictions, self.targets(block))
            chosen: NDArray[np.bool_] = np.any(slopes < 0, axis=1)
            return self._total(chosen, block)
        assert block.targets is not None
        if self.is_real:
            targets = self.scaled(np.asarray(block.targets, dtype=np.float64)[:, None])
            residuals = self.scale * (predictions.astype(np.float64) - targets)
            each = np.stack([np.square(residuals).mean(axis=1), np.abs(residuals).mean(axis=1)])
            totals = each.sum(axis=1) if block.weights is None else each @ block.weights
            return np.where(np.isfinite(totals), totals, np.inf)
        right = self.codes(predictions) == block.targets
        return self._total(~(right & np.isfinite(predictions).all(axis=1)), block)

    @staticmethod
    def _total(chosen: NDArray[np.bool_], block: Block) -> NDArray[np.float64]:
        total = np.count_nonzero(chosen) if block.weights is None else block.weights[chosen].sum()
        return np.array([total], dtype=np.float64)

    def losses(self, predictions: Floats, block: Block) -> float:
        """Sum of s_i l_i at predictions in the units of the targets."""
        if self.is_real:
            predictions = self.scaled(predictions.astype(np.float64))
        return float(self.values(predictions, self.targets(block), self.weights(block)).sum())

    def codes(self, predictions: Floats) -> NDArray[np.intp]:
        """The predicted class code of each row, (n_rows,)."""
        predictions = self.shifted(predictions)
        if self.n_outputs == 1:
            return (predictions[:, 0] > 0).astype(np.intp)
        largest: NDArray[np.intp] = predictions.argmax(axis=1)
        return largest
