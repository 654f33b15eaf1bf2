"""What scores are worth: their calibration, and ROC and precision-recall curves, sorted on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from distkern.core.scores import row_log_losses
from distkern.data.store.atomic import explain_errors

#: bins of probabilities, equally wide
N_BINS = 20


def row_squares(probabilities: NDArray[np.float64], codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """sum_c (p(c) - [y_i = c])^2 of the same rows, (n_rows,); of two classes half of it (Brier 1950)."""
    own = probabilities[np.arange(len(codes)), codes]
    squares: NDArray[np.float64] = np.square(probabilities).sum(axis=1) + 1.0 - 2.0 * own
    return squares / 2.0 if probabilities.shape[1] == 2 else squares


@dataclass(frozen=True)
class Calibration:
    """Sums over rows, by the probability of class 1 or, of more than two classes, of the predicted class.

    Attributes
    ----------
    counts : (20,) rows whose probability p lies in each bin
    chances : (20,) the sum of their p
    hits : (20,) the number of them in the class of p
    log_losses, squares : sums over all rows of :func:`~distkern.core.scores.row_log_losses` and
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
    def figures(self) -> dict[str, float | None]:
        """``log_loss`` and ``brier_score``, means over rows, as scikit-learn has them; ``calibration_error``:
        by how much the mean p of a bin differs from the share that comes true, averaged with the rows of the
        bins (Naeini, Cooper and Hauskrecht 2015). None without rows.
        """
        n_rows = int(self.counts.sum())
        if not n_rows:
            return dict.fromkeys(("log_loss", "brier_score", "calibration_error"))
        return {
            "log_loss": self.log_losses / n_rows,
            "brier_score": self.squares / n_rows,
            "calibration_error": float(np.abs(self.chances - self.hits).sum()) / n_rows,
        }

    @property
    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean p of the bins that have rows, and the share of their rows that came true."""
        held = self.counts > 0
        return self.chances[held] / self.counts[held], self.hits[held] / self.counts[held]


#: scores that are sorted in memory
RUN_ROWS = 2**18
#: least scores of a run that are read at a time while runs are merged
_LEAST_CHUNK = 1024
#: scores that are looked at together once they are sorted
_FEW = 2**13
#: what a run takes while it is sorted, and as much again when runs are merged
RANKING_BYTES = 2 * 64 * RUN_ROWS
#: a thinned curve has a point at each of so many steps of either rate
_STEPS = 256


@dataclass(frozen=True)
class RankingFigures:
    """How well scores tell two classes apart: rows that score at least t are said to be of class 1.

    Attributes
    ----------
    area : under the ROC curve, the probability that a row of class 1 scores above one of class 0, ties
        counting one half; scikit-learn's ``roc_auc_score``
    average_precision : sum of precision times the recall gained, over all t from the highest one down;
        scikit-learn's ``average_precision_score``
    false_positives, recall, precision : (n,) at thresholds that fall: shares of the rows of class 0 and of
        class 1 that score at least t, and of class 1 among all that do. The thresholds are those where
        one of the first two comes to another 256th
    thresholds : (n,) these t
    totals : weights of the rows of class 0 and of class 1
    """

    area: float
    average_precision: float
    false_positives: NDArray[np.float64]
    recall: NDArray[np.float64]
    precision: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    totals: tuple[float, float]

    @property
    def share(self) -> NDArray[np.float64]:
        """(n,) share of all rows that score at least t."""
        negatives, positives = self.totals
        said = negatives * self.false_positives + positives * self.recall
        return said / (negatives + positives)


class RankedScores:
    """Scores of two classes, from which :class:`RankingFigures` is taken; close it, or use ``with``.

    Its areas are exact to the rounding of their sums. More than ``run_rows`` scores go to a file in
    ``TMPDIR``, 24 bytes for each distinct one of a run; memory holds one run, or a thousand scores of each.
    """

    def __init__(self, run_rows: int = RUN_ROWS) -> None:
        self._run_rows = run_rows
        self._waiting: list[NDArray[np.float64]] = []
        self._n_waiting = 0
        self._file: BinaryIO | None = None
        self._runs: list[tuple[int, int]] = []
        self._numbers = True
        self._totals = np.zeros(2)

    def add(self, scores: ArrayLike, positive: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Take (n,) scores, whether each is of class 1, and their weights."""
        values = np.asarray(scores, dtype=np.float64)
        of_one = np.asarray(positive, dtype=bool)
        mass = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
        self._numbers &= not np.isnan(values).any()
        for start in range(0, len(values), self._run_rows):
            part = slice(start, start + self._run_rows)
            self._waiting.append(
                np.stack([values[part], np.where(of_one, 0.0, mass)[part], np.where(of_one, mass, 0.0)[part]])
            )
            self._totals += self._waiting[-1][1:].sum(axis=1)
            self._n_waiting += self._waiting[-1].shape[1]
            if self._n_waiting >= self._run_rows:
                self._write_run()

    def ranking(self) -> RankingFigures | None:
        """The curves and their areas; None without rows of both classes, or if a score is not a number."""
        if not self._numbers or not self._totals.all():
            return None
        below, area, average, last = np.zeros(2), 0.0, 0.0, np.full((2, 1), -1.0)
        kept = []
        for scores, *pair in self._ascending():
            masses = np.stack(pair)
            passed = below[:, None] + np.cumsum(masses, axis=1)
            before = passed - masses
            area += float(masses[1] @ (before[0] + 0.5 * masses[0]))
            # what scores at least this much, of each class
            above = np.maximum(self._totals[:, None] - before, masses)
            precision = above[1] / above.sum(axis=0)
            average += float(masses[1] @ precision)
            rates = above / self._totals[:, None]
            steps = np.concatenate([last, np.floor(_STEPS * rates)], axis=1)
            points = np.flatnonzero((np.diff(steps, axis=1) != 0).any(axis=0))
            kept.append(np.stack([*rates[:, points], precision[points], scores[points]]))
            below, last = passed[:, -1], steps[:, -1:]
        negatives, positives = map(float, self._totals)
        curve = np.concatenate(kept, axis=1)[:, ::-1]
        area, average = area / (negatives * positives), average / positives
        false_positives, recall, precision, thresholds = curve
        totals = negatives, positives
        return RankingFigures(area, average, false_positives, recall, precision, thresholds, totals)

    def _ascending(self) -> Iterator[NDArray[np.float64]]:
        """Ascending scores with the weight of each class, (3, n), few at a time."""
        for merged in self._merged():
            for start in range(0, merged.shape[1], _FEW):
                yield merged[:, start : start + _FEW]

    def _write_run(self) -> None:
        run = _distinct(self._waiting)
        self._waiting, self._n_waiting = [], 0
        with explain_errors(Path(tempfile.gettempdir())):
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="distkern-scores-")  # noqa: SIM115
            start = self._file.seek(0, 2)
            # a score and its masses lie together, so that any stretch of a run is one read
            self._file.write(np.ascontiguousarray(run.T).data)
        self._runs.append((start, run.shape[1]))

    def _merged(self) -> Iterator[NDArray[np.float64]]:
        """Distinct scores in ascending order with the weight of each class, (3, n) at a time."""
        if self._file is None:
            yield _distinct(self._waiting)
            return
        if self._waiting:
            self._write_run()
        chunk = max(_LEAST_CHUNK, self._run_rows // len(self._runs))
        held = [np.empty((3, 0)) for _ in self._runs]
        read = [0] * len(self._runs)
        while True:
            for number, (start, length) in enumerate(self._runs):
                if not held[number].shape[1] and read[number] < length:
                    count = min(chunk, length - read[number])
                    held[number] = self._stretch(start + 24 * read[number], count)
                    read[number] += count
            unread = [number for number, (_, length) in enumerate(self._runs) if read[number] < length]
            # what is not read yet lies above what was read of its run
            bound = min((held[number][0, -1] for number in unread), default=np.inf)
            ends = [int(np.searchsorted(part[0], bound, side="right")) for part in held]
            taken = [part[:, :end] for part, end in zip(held, ends, strict=True)]
            if not any(ends):
                return
            yield _distinct(taken)
            held = [part[:, end:] for part, end in zip(held, ends, strict=True)]

    def _stretch(self, start: int, count: int) -> NDArray[np.float64]:
        assert self._file is not None
        self._file.seek(start)
        return np.frombuffer(self._file.read(24 * count), dtype=np.float64).reshape(count, 3).T

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _distinct(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Distinct scores in ascending order, with the sums of their masses."""
    if not parts:
        return np.empty((3, 0))
    scores, negative, positive = np.concatenate(parts, axis=1)
    values, places = np.unique(scores, return_inverse=True)
    sums = [np.bincount(places, weights=masses, minlength=len(values)) for masses in (negative, positive)]
    return np.stack([values, *sums])
