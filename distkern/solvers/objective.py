"""The regularised risk that the coreset solvers minimise, one-vs-rest over the outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.core.types import Block, Floats
from distkern.losses.base import AbstractElementwiseLoss


@dataclass(frozen=True)
class Objective:
    """f(w) = sum over outputs of 1/2 |w|^2 + (lam/m) sum_i s_i l(<w, phi(x_i)>, y_i) (csvrg.txt, (3)).

    Attributes
    ----------
    loss : l
    lam : the papers' lambda
    n_outputs : 1: targets y = -1, +1 for codes 0, 1; k > 1: output j has y = +1 for code j and -1 elsewhere
    class_weights : weight of each class code, or None
    mean_weight : mean of the raw row weights; the s_i are the raw weights divided by it, so their mean is 1
    """

    loss: AbstractElementwiseLoss
    lam: float
    n_outputs: int
    class_weights: NDArray[np.float64] | None = None
    mean_weight: float = 1.0

    def signs(self, block: Block) -> Floats:
        """y, (n_rows, n_outputs), in the features' dtype."""
        assert block.targets is not None
        codes, one = block.targets, block.features.dtype.type(1)
        own = codes[:, None] == (np.arange(self.n_outputs) if self.n_outputs > 1 else 1)
        return np.where(own, one, -one)

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

    def alpha(self, predictions: Floats, signs: Floats, weights: NDArray[np.float64] | None) -> Floats:
        """alpha_i = lam s_i dl/df: lambda inside, once (csvrg.txt, Algorithm 1; its (4)-(7) differ)."""
        # a numpy scalar for lambda would turn single into double precision
        slopes: Floats = float(self.lam) * self.loss.derivative(predictions, signs, self.loss.parameters)
        return slopes if weights is None else slopes * weights[:, None]

    def losses(
        self, predictions: Floats, signs: Floats, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Sum over the rows of s_i l(f_i, y_i), for each output: (n_outputs,)."""
        values = self.loss.value(predictions, signs, self.loss.parameters)
        if weights is not None:
            values = values * weights[:, None]
        total: NDArray[np.float64] = np.sum(values, axis=0, dtype=np.float64)
        return total

    def mistakes(self, predictions: Floats, block: Block) -> int:
        """Rows whose predicted class is not theirs; a prediction that is not a number counts as one."""
        if self.n_outputs == 1:
            right = (predictions[:, 0] > 0) == (block.targets == 1)
        else:
            right = predictions.argmax(axis=1) == block.targets
        return int(np.count_nonzero(~(right & np.isfinite(predictions).all(axis=1))))

    def smoothness(self, max_relative_weight: float) -> float:
        """L = 1 + lam max_i s_i l'': the smoothness of the worst single term psi_i."""
        return 1.0 + float(self.lam) * max_relative_weight * self.loss.curvature
