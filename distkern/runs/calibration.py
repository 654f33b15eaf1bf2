"""Whether probabilities come true: rows counted by what they were given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from distkern.common.scores import row_log_losses

#: of probabilities, all as wide
N_BINS = 20


def row_squares(probabilities: NDArray[np.float64], codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """sum_c (p(c) - [y_i = c])^2 of the same rows, (n_rows,); of two classes half of it (Brier 1950)."""
    own = probabilities[np.arange(len(codes)), codes]
    squares: NDArray[np.float64] = np.square(probabilities).sum(axis=1) + 1.0 - 2.0 * own
    return squares / 2.0 if probabilities.shape[1] == 2 else squares


@dataclass(frozen=True)
class Calibration:
    """Sums over rows, by the probability of class 1 or, of more than two classes, that of the predicted one.

    Attributes
    ----------
    counts : (20,) rows whose probability p lies in each bin
    chances : (20,) the sum of their p
    hits : (20,) those of them that are of the class that p is of
    log_losses, squares : sums over all rows of :func:`~distkern.common.scores.row_log_losses` and
        :func:`row_squares`
    """

    counts: NDArray[np.int64]
    chances: NDArray[np.float64]
    hits: NDArray[np.int64]
    log_losses: float
    squares: float

    @classmethod
    def of(cls, probabilities: NDArray[np.float64], codes: NDArray[np.integer]) -> Calibration:
        """The sums over rows with probabilities (n_rows, n_classes) and class codes (n_rows,)."""
        rows = np.arange(len(codes))
        told = probabilities.argmax(axis=1) if probabilities.shape[1] > 2 else np.ones(len(codes), np.intp)
        chances = probabilities[rows, told]
        bins = np.minimum((chances * N_BINS).astype(np.intp), N_BINS - 1)
        return cls(
            np.bincount(bins, minlength=N_BINS),
            np.bincount(bins, weights=chances, minlength=N_BINS).astype(np.float64),
            np.bincount(bins[told == codes], minlength=N_BINS),
            float(row_log_losses(probabilities, codes).sum()),
            float(row_squares(probabilities, codes).sum()),
        )

    @staticmethod
    def add(first: Calibration, second: Calibration) -> Calibration:
        """The sums over the rows of both."""
        return Calibration(
            *(getattr(first, field.name) + getattr(second, field.name) for field in fields(Calibration))
        )

    @property
    def figures(self) -> dict[str, float]:
        """``log_loss`` and ``brier_score``, means over rows, as scikit-learn has them; ``calibration_error``:
        by how much the mean p of a bin differs from the share that comes true, averaged with the rows of the
        bins (Naeini, Cooper and Hauskrecht 2015).
        """
        n_rows = max(int(self.counts.sum()), 1)
        return {
            "log_loss": self.log_losses / n_rows,
            "brier_score": self.squares / n_rows,
            "calibration_error": float(np.abs(self.chances - self.hits).sum()) / n_rows,
        }

    def thresholds(self, asked: Iterable[float]) -> dict[float, tuple[float | None, ...]]:
        """Recall and precision of class 1, error and balanced accuracy at each threshold, for two classes.

        Rows whose probability is at least the threshold are said to be of class 1. Thresholds are borders of
        the 20 bins. A figure is None where it is not defined.
        """
        n_rows, positives = int(self.counts.sum()), int(self.hits.sum())
        found: dict[float, tuple[float | None, ...]] = {}
        for threshold in asked:
            above = slice(round(threshold * N_BINS), None)
            said, right = int(self.counts[above].sum()), int(self.hits[above].sum())
            wrong = said - right
            recall = right / positives if positives else None
            precision = right / said if said else None
            error = (wrong + positives - right) / n_rows if n_rows else None
            balanced = None
            if recall is not None and positives < n_rows:
                balanced = (recall + 1 - wrong / (n_rows - positives)) / 2
            found[threshold] = (recall, precision, error, balanced)
        return found

    @property
    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean p of the bins that have rows, and the share of their rows that came true."""
        held = self.counts > 0
        return self.chances[held] / self.counts[held], self.hits[held] / self.counts[held]
