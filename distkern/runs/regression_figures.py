"""Exact figures of a regressor on a split, in one pass and constant memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.routing import Found
from distkern.common.types import Block
from distkern.passes import Reduce
from distkern.runs.applied import Applied
from distkern.runs.grid import GRID_BYTES, Grid
from distkern.runs.prediction import in_order
from distkern.runs.row_losses import GROUPS, group_sums
from distkern.storage.dataset import Split


@dataclass(frozen=True)
class Residuals:
    """Sums over rows.

    Attributes
    ----------
    n_rows, mean, spread : rows, mean of their targets, sum of (y - mean)^2
    squares, moduli : sums of (f - y)^2 and |f - y|, each the mean over the outputs
    losses : sum of s_i l_i
    below : (n_outputs,) rows with y <= f_j
    pinballs : of an output for each quantile q_j, the sum over rows of the mean over outputs of
        max(q_j (y - f_j), (q_j - 1) (y - f_j))
    grid : rows by f and y - f; of several quantiles, f is the one next to the median
    lost : (128,) sums of one of these over groups of rows, for a figure by which models are compared
    """

    n_rows: int
    mean: float
    spread: float
    squares: float
    moduli: float
    losses: float
    below: NDArray[np.int64]
    pinballs: float
    grid: Grid
    lost: NDArray[np.float64]

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
            first.below + second.below,
            first.pinballs + second.pinballs,
            Grid.add(first.grid, second.grid),
            first.lost + second.lost,
        )


def _evaluate(block: Block, operand: tuple[Applied, tuple[float, ...], str | None]) -> Residuals:
    model, quantiles, compared = operand
    values = model.predictions(block).astype(np.float64, copy=False)
    losses = model.losses(values, block)
    values = in_order(quantiles, values) if quantiles else values
    targets = np.asarray(block.targets, dtype=np.float64)
    residuals = values - targets[:, None]
    mean = float(targets.mean())
    levels = np.array(quantiles)
    middle = int(np.abs(levels - 0.5).argmin()) if quantiles else 0
    squares, moduli = np.square(residuals).mean(axis=1), np.abs(residuals).mean(axis=1)
    pinballs = np.maximum(-levels * residuals, (1 - levels) * residuals).mean(axis=1) if quantiles else moduli
    losses_of = {"rmse": squares, "r2": squares, "mae": moduli, "pinball": pinballs}.get(compared or "")
    return Residuals(
        block.n_rows,
        mean,
        float(np.square(targets - mean).sum()),
        float(squares.sum()),
        float(moduli.sum()),
        losses,
        (residuals >= 0).sum(axis=0),
        float(pinballs.sum()),
        Grid.of(values[:, middle], -residuals[:, middle]),
        np.zeros(0) if losses_of is None else group_sums(block, losses_of),
    )


def residuals_pass(
    model: Any, split: Split, found: Found | None = None, compared: str | None = None
) -> Reduce[Residuals]:
    """The pass that :func:`regression_figures` reads; the split is one for regression."""
    applied, rows = Applied.to(split, model, found), max(split.block_rows)
    cost = applied.cost(split.row_numbers, rows)
    cost = cost.holding(
        task={"residuals": (rows, 56 * model.n_outputs() + 128)},
        result={"grid": (GRID_BYTES,), "groups": (GROUPS, 8)},
        driver={"norm": (applied.basis.norm_bytes,)},
    )
    operand = applied, quantiles_of(model), compared
    return Reduce("evaluate", _evaluate, Residuals.add, operand, "test", cost=cost)


def quantiles_of(model: Any) -> tuple[float, ...]:
    """The quantiles that the outputs of a model are, if they are some."""
    loss = model.risk().loss
    return tuple(loss.levels) if loss.predicts_quantiles else ()


def regression_figures(model: Any, sums: Residuals, seconds: float) -> dict[str, Any]:
    """n, root mean squared and mean absolute error, R^2 (null for a constant target), objective, seconds; of
    quantiles the pinball loss, averaged over them, and the share of rows that lies at or below each.
    """
    quantiles = quantiles_of(model)
    own: dict[str, Any] = {}
    if quantiles:
        own["pinball"] = sums.pinballs / sums.n_rows
        shares = (sums.below / sums.n_rows).tolist()
        own["below"] = dict(zip(map(str, quantiles), shares, strict=True))
    return {
        "n": sums.n_rows,
        "rmse": math.sqrt(sums.squares / sums.n_rows),
        "mae": sums.moduli / sums.n_rows,
        "r2": 1.0 - sums.squares / sums.spread if sums.spread > 0 else None,
        **own,
        "objective": model.objective_value(sums.losses, sums.n_rows),
        "seconds": round(seconds, 4),
    }
