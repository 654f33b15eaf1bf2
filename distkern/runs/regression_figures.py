"""Exact figures of a regressor on a split, in one pass and constant memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distkern.bases.routing import Found
from distkern.common.types import Block
from distkern.passes import Reduce
from distkern.runs.applied import Applied
from distkern.storage.dataset import Split


@dataclass(frozen=True)
class Residuals:
    """Sums over rows.

    Attributes
    ----------
    n_rows, mean, spread : rows, mean of their targets, sum of (y - mean)^2
    squares, moduli : sums of (f - y)^2 and |f - y|, each the mean over the outputs
    losses : sum of s_i l_i
    """

    n_rows: int
    mean: float
    spread: float
    squares: float
    moduli: float
    losses: float

    @staticmethod
    def add(first: Residuals, second: Residuals) -> Residuals:
        """The sums over the rows of both (Chan et al. 1979 for the spread)."""
        n_rows = first.n_rows + second.n_rows
        apart = second.mean - first.mean
        return Residuals(
            n_rows,
            first.mean + apart * second.n_rows / n_rows,
            first.spread + second.spread + apart**2 * first.n_rows * second.n_rows / n_rows,
            first.squares + second.squares,
            first.moduli + second.moduli,
            first.losses + second.losses,
        )


def _evaluate(block: Block, model: Applied) -> Residuals:
    values = model.predictions(block).astype(np.float64, copy=False)
    targets = np.asarray(block.targets, dtype=np.float64)
    residuals = values - targets[:, None]
    mean = float(targets.mean())
    return Residuals(
        block.n_rows,
        mean,
        float(np.square(targets - mean).sum()),
        float(np.square(residuals).mean(axis=1).sum()),
        float(np.abs(residuals).mean(axis=1).sum()),
        model.losses(values, block),
    )


def residuals_pass(model: Any, split: Split, found: Found | None = None) -> Reduce[Residuals]:
    """The pass that :func:`regression_figures` reads; the split is one for regression."""
    operand, rows = Applied.to(split, model, found), max(split.block_rows)
    cost = operand.cost(split.row_numbers, rows)
    workspace = cost.workspace_bytes + rows * (32 * model.n_outputs() + 64)
    cost = replace(cost, workspace_bytes=workspace)
    return Reduce("evaluate", _evaluate, Residuals.add, operand, "test", cost=cost)


def regression_figures(model: Any, sums: Residuals, seconds: float) -> dict[str, Any]:
    """n, root mean squared and mean absolute error, R^2 (null for a constant target), objective, seconds."""
    return {
        "n": sums.n_rows,
        "rmse": math.sqrt(sums.squares / sums.n_rows),
        "mae": sums.moduli / sums.n_rows,
        "r2": 1.0 - sums.squares / sums.spread if sums.spread > 0 else None,
        "objective": model.objective_value(sums.losses, sums.n_rows),
        "seconds": round(seconds, 4),
    }
