"""Scores of Dask collections: sums over their chunks, which are let go as they are added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.common.errors import InputError
from distkern.common.targets import plain_targets
from distkern.engine.dask.arrays import aligned, as_array, is_dask


def accuracy(targets: Any, predicted: Any, weights: Any = None) -> float:
    """The share of right labels, or of their rows' weights; raises as :func:`r2`."""
    # here, because it takes 44 MiB and most of a second
    from dask_ml.metrics import accuracy_score

    targets, predicted, weights = _columns(targets, predicted, weights)
    return float(accuracy_score(targets, predicted, sample_weight=weights))


def r2(targets: Any, predicted: Any, weights: Any = None) -> float:
    """1 - sum s_i (y_i - p_i)^2 / sum s_i (y_i - mean)^2; dask-ml has it without weights.

    Raises
    ------
    InputError
        If there are not as many targets and weights as predictions, one for each row.
    """
    import dask

    targets, predicted, weights = _columns(targets, predicted, weights)
    if weights is None:
        weights = 1.0
        mean = targets.mean().compute()
    else:
        mean = np.divide(*dask.compute((weights * targets).sum(), weights.sum()))
    # once the mean is known, no target waits for the last one
    residual, spread = dask.compute(
        (weights * (targets - predicted) ** 2).sum(), (weights * (targets - mean) ** 2).sum()
    )
    if spread == 0:
        return float(residual == 0)
    return float(1 - residual / spread)


def _columns(targets: Any, predicted: Any, weights: Any) -> tuple[Any, Any, Any]:
    predicted = as_array(predicted)
    if predicted.ndim != 1:
        raise InputError(
            f"predictions of shape {predicted.shape} have no score",
            where="score",
            mend="give one quantile, or compare predict(X) with y yourself",
        )
    rows = predicted.chunks[0]
    targets = aligned(targets if is_dask(targets) else plain_targets(targets), rows)
    return targets.map_blocks(_plain, dtype=targets.dtype), predicted, aligned(weights, rows)


def _plain(targets: Any, block_id: tuple[int, ...]) -> Any:
    return plain_targets(targets, f"y, block {block_id[0]}")
