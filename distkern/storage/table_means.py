"""Means of the target by the values of a column: a training row gets those of rows in other folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: a training row's target means are those of the rows outside its fold
FOLDS = 5
#: rows with the mean of all that are added to each value, so that rare ones have means near it: at least and
#: at most so many
_LEAST, _MOST = 0.1, 100.0


class TargetSums:
    """Sums of targets by value of a column and fold of the row.

    The mean of a value is (sum + s m) / (rows + s), with the mean m of all rows. By default s is the best one
    for a random effect of the values: the variance of targets within a value over that of the means of
    values, both estimated by the analysis of variance, pooled over the
    outputs, and clipped to [0.1, 100]. Values that determine the target are trusted from one row on; values
    that say little need many.

    Parameters
    ----------
    n_values, n_outputs : of the column, and of the targets
    """

    def __init__(self, n_values: int, n_outputs: int) -> None:
        self._counts = np.zeros((FOLDS, n_values))
        self._sums = np.zeros((FOLDS, n_values, n_outputs))
        # of targets less those of the first row, whose squares lose no digits to a large mean
        self._squares = 0.0
        self._shift: NDArray[np.float64] | None = None

    def add(
        self,
        codes: NDArray[np.intp],
        targets: NDArray[Any],
        folds: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Take more rows.

        Parameters
        ----------
        codes : (n,) of the values
        targets : (n, n_outputs)
        folds : (n,)
        weights : (n,) each is that many rows; None for 1
        """
        if self._shift is None and len(targets):
            self._shift = targets[0].astype(np.float64)
        flat = folds * self._counts.shape[1] + codes
        size = self._counts.size
        self._counts += np.bincount(flat, weights, size).reshape(self._counts.shape)
        for output, of_rows in enumerate(targets.T):
            own = of_rows - self.shift[output]
            weighted = own if weights is None else own * weights
            self._sums[:, :, output] += np.bincount(flat, weighted, size).reshape(self._counts.shape)
            self._squares += float(weighted @ own)

    @property
    def shift(self) -> NDArray[np.float64]:
        """Constants (n_outputs,) subtracted from the targets in the sums."""
        return np.zeros(self._sums.shape[2]) if self._shift is None else self._shift

    @property
    def smoothing(self) -> float:
        """s."""
        counts, sums = self._counts.sum(axis=0), self._sums.sum(axis=0)
        there = counts > 0
        counts, sums = counts[there], sums[there]
        total = float(counts.sum())
        if not total:
            return _MOST
        explained = float((np.square(sums).sum(axis=1) / counts).sum())
        within = max(self._squares - explained, 0.0) / max(total - len(counts), 1.0)
        between = explained - float(np.square(sums.sum(axis=0)).sum()) / total - (len(counts) - 1) * within
        between /= max(total - float(np.square(counts).sum()) / total, 1e-300)
        return float(np.clip(within / between, _LEAST, _MOST)) if between > 0 else _MOST

    def means(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The means of all rows: (n_values, n_outputs), and (n_outputs,) m."""
        counts, sums, s = self._counts.sum(axis=0), self._sums.sum(axis=0), self.smoothing
        prior = sums.sum(axis=0) / max(1.0, counts.sum())
        return (sums + s * prior) / (counts[:, None] + s) + self.shift, prior + self.shift

    def of_others(self, codes: NDArray[np.intp], folds: NDArray[np.intp]) -> NDArray[np.float64]:
        """The means (n, n_outputs) of rows that were taken, each of the rows outside its fold."""
        counts, sums, s = self._counts.sum(axis=0), self._sums.sum(axis=0), self.smoothing
        counts, sums = counts - self._counts, sums - self._sums
        n_others = counts.sum(axis=1)[:, None]
        everything = self._sums.sum(axis=(0, 1)) / max(1.0, self._counts.sum())
        prior = np.where(n_others > 0, sums.sum(axis=1) / np.maximum(n_others, 1), everything)
        means = (sums + s * prior[:, None]) / (counts[:, :, None] + s)
        return np.asarray(means[folds, codes] + self.shift)
