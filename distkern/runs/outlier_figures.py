"""Figures of a novelty detector on a split, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.bases.routing import Found
from distkern.common.types import Block
from distkern.passes import Reduce
from distkern.runs.applied import Applied
from distkern.storage.dataset import Split


@dataclass(frozen=True)
class Sides:
    """Sums over rows.

    Attributes
    ----------
    n_rows, n_outliers : rows, and those below the threshold
    distances : sum of f - tau
    losses : sum of s_i max(0, tau - f)
    """

    n_rows: int
    n_outliers: int
    distances: float
    losses: float

    @staticmethod
    def add(first: Sides, second: Sides) -> Sides:
        """The sums over the rows of both."""
        return Sides(
            first.n_rows + second.n_rows,
            first.n_outliers + second.n_outliers,
            first.distances + second.distances,
            first.losses + second.losses,
        )


def sides_pass(model: Any, split: Split, found: Found | None = None) -> Reduce[Sides]:
    """The pass that :func:`outlier_figures` reads; labels of the split are not looked at."""
    applied, rows = Applied.to(split, model, found), max(split.block_rows)
    cost = applied.cost(split.row_numbers, rows)
    cost = cost.holding(task={"scores": (rows, 64)}, result={"sums": (64,)})
    return Reduce("evaluate", _evaluate, Sides.add, applied, "test", cost=cost)


def outlier_figures(model: Any, sums: Sides, seconds: float) -> dict[str, Any]:
    """n, share of outliers, mean of f - tau, threshold tau, objective, seconds."""
    return {
        "n": sums.n_rows,
        "outliers": sums.n_outliers / sums.n_rows,
        "mean_decision": sums.distances / sums.n_rows,
        "threshold": model.offset_,
        "objective": model.objective_value(sums.losses, sums.n_rows),
        "seconds": round(seconds, 4),
    }


def _evaluate(block: Block, model: Applied) -> Sides:
    values = model.predictions(block).astype(np.float64, copy=False)
    n_outliers = int(np.count_nonzero(values < 0))
    return Sides(block.n_rows, n_outliers, float(values.sum()), model.losses(values, block))
