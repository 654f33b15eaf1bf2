"""What a solver over any loss needs of rows: targets, weights, values, slopes and errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.types import Block, Floats
from distkern.losses.base import AbstractLoss
from distkern.losses.quantile import Quantile


@dataclass(frozen=True)
class Risk:
    """The mean over the rows of s_i l(f(x_i), y_i), for a model with ``n_outputs`` outputs.

    Attributes
    ----------
    loss : l
    n_outputs : k, see :func:`n_outputs`
    class_weights : weight of each class code, or None
    mean_weight : mean of the raw row weights; the s_i are the raw weights divided by it, so their mean is 1
    center, scale : of real targets: y becomes (y - center) / scale, which is what f predicts; center is
        (n_outputs,), or None for 0

    Raises
    ------
    InputError
        If there are more or fewer outputs than quantiles, or less than two that compete.
    """

    loss: AbstractLoss
    n_outputs: int = 1
    class_weights: NDArray[np.float64] | None = None
    mean_weight: float = 1.0
    center: NDArray[np.float64] | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.loss, Quantile) and len(self.loss.quantiles) != self.n_outputs:
            raise InputError(
                f"{len(self.loss.quantiles)} quantiles for {self.n_outputs} outputs", where="quantiles",
                mend="a model has one output for each quantile",
            )  # fmt: skip
        if self.loss.target_kind == "classes" and self.n_outputs < 2:
            raise InputError(
                f"{self.loss.name!r} compares the outputs of at least two classes", where="loss",
                mend="use 'logistic' for a single output",
            )  # fmt: skip

    @property
    def is_real(self) -> bool:
        """Whether targets are real numbers and not classes."""
        return self.loss.target_kind == "real"

    @property
    def n_errors(self) -> int:
        """Figures that :meth:`errors` gives."""
        return 2 if self.is_real else 1

    def targets(self, block: Block) -> Floats:
        """y, (n_rows, n_outputs), in the features' dtype.

        Class codes become -1 and +1 (one output: +1 for code 1; several: one against the rest), or 0 and 1
        where the classes compete; a real target is the same for every output, up to center and scale.
        """
        assert block.targets is not None
        dtype, codes = block.features.dtype, block.targets[:, None]
        if self.is_real:
            return self.scaled(np.repeat(codes.astype(np.float64), self.n_outputs, axis=1)).astype(dtype)
        own = codes == (np.arange(self.n_outputs) if self.n_outputs > 1 else 1)
        other = dtype.type(0 if self.loss.target_kind == "classes" else -1)
        return np.where(own, dtype.type(1), other)

    def scaled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Real targets, or predictions of them, (n_rows, n_outputs): centred, and divided by the scale."""
        return (values - (0.0 if self.center is None else self.center)) / self.scale

    def weights(self, block: Block) -> NDArray[np.float64] | None:
        """s, (n_rows,) with mean 1 over the whole split, or None for all ones."""
        if block.weights is None and self.class_weights is None:
            return None
        weights = np.ones(block.n_rows)
        if block.weights is not None:
            weights *= block.weights
        if self.class_weights is not None:
            weights *= self.class_weights[block.targets]
        weights /= self.mean_weight
        return weights

    def values(
        self, predictions: Floats, targets: Floats, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """s_i l(f_i, y_i) of each row, (n_rows,)."""
        values = self.loss.row_values(predictions, targets).astype(np.float64)
        return values if weights is None else values * weights

    def slopes(self, predictions: Floats, targets: Floats, weights: NDArray[np.float64] | None) -> Floats:
        """s_i dl/df of each row, (n_rows, n_outputs), in the predictions' dtype."""
        slopes = self.loss.row_slopes(predictions, targets)
        if weights is not None:
            slopes = slopes * weights.astype(slopes.dtype)[:, None]
        return slopes

    def errors(self, predictions: Floats, block: Block) -> NDArray[np.float64]:
        """[rows of another class than predicted]; for real targets [sum of (f - y)^2, sum of |f - y|].

        Divided by the rows it is the rate of errors, or the mean squared and the mean absolute error in the
        units of the targets (over several quantiles, their mean). A prediction that is not a number is an
        error, and makes the squared error infinite.
        """
        assert block.targets is not None
        if self.is_real:
            targets = self.scaled(np.asarray(block.targets, dtype=np.float64)[:, None])
            residuals = self.scale * (predictions.astype(np.float64) - targets)
            totals = np.array([np.square(residuals).mean(axis=1).sum(), np.abs(residuals).mean(axis=1).sum()])
            return np.where(np.isfinite(totals), totals, np.inf)
        right = self.codes(predictions) == block.targets
        return np.array([np.count_nonzero(~(right & np.isfinite(predictions).all(axis=1)))], dtype=np.float64)

    def codes(self, predictions: Floats) -> NDArray[np.intp]:
        """The predicted class code of each row, (n_rows,)."""
        if self.n_outputs == 1:
            return (predictions[:, 0] > 0).astype(np.intp)
        largest: NDArray[np.intp] = predictions.argmax(axis=1)
        return largest


def n_outputs(loss: AbstractLoss, n_classes: int = 0) -> int:
    """Outputs that a model needs for this loss: one for each class that competes or is told from the rest.

    Two classes take one output, but two where they compete; real targets take one, or one for each quantile.
    """
    if isinstance(loss, Quantile):
        return len(loss.quantiles)
    if loss.target_kind == "real":
        return 1
    return n_classes if n_classes > 2 or loss.target_kind == "classes" else 1


def split_errors(
    train: NDArray[np.float64], test: NDArray[np.float64] | None
) -> tuple[float, float | None, NDArray[np.float64]]:
    """Mean :meth:`Risk.errors` as errors of training and held-out rows, and (2,) absolute errors, or NaN."""
    absolute = [math.nan if errors is None or len(errors) < 2 else errors[1] for errors in (train, test)]
    return float(train[0]), None if test is None else float(test[0]), np.array(absolute)
