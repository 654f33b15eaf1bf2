"""Figures of scores: calibration, ROC and precision-recall curves sorted on disk, and losses by groups of
rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from distkern.core.held_out import Keys, keys_of, row_keys, stirred_bits
from distkern.core.scores import log_losses, row_log_losses
from distkern.core.types import Array, Block
from distkern.data.store.places import explain_errors

#: number of equally wide bins of probabilities
N_BINS = 20


def row_squares(probabilities: NDArray[np.float64], codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return sum_c (p(c) - [y_i = c])^2 of each row, (n_rows,); half of it for two classes (Brier 1950)."""
    own = probabilities[np.arange(len(codes)), codes]
    squares: NDArray[np.float64] = np.square(probabilities).sum(axis=1) + 1.0 - 2.0 * own
    return squares / 2.0 if probabilities.shape[1] == 2 else squares


@dataclass(frozen=True)
class Calibration:
    """Sums over rows, binned by the probability of class 1 or, for more than two classes, of the predicted
    class.

    Attributes
    ----------
    counts : (20,) number of rows with probability p in each bin
    chances : (20,) sum of p
    hits : (20,) number of rows in the class of p
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
        """Return the sums over rows with probabilities (n_rows, n_classes) and class codes (n_rows,)."""
        rows = np.arange(len(codes))
        predicted = (
            probabilities.argmax(axis=1) if probabilities.shape[1] > 2 else np.ones(len(codes), np.intp)
        )
        chances = probabilities[rows, predicted]
        bins = np.minimum((chances * N_BINS).astype(np.intp), N_BINS - 1)
        return cls(
            np.bincount(bins, minlength=N_BINS),
            np.bincount(bins, weights=chances, minlength=N_BINS).astype(np.float64),
            np.bincount(bins[predicted == codes], minlength=N_BINS),
            float(row_log_losses(probabilities, codes).sum()),
            float(row_squares(probabilities, codes).sum()),
        )

    @staticmethod
    def add(first: Calibration, second: Calibration) -> Calibration:
        return Calibration(
            *(getattr(first, field.name) + getattr(second, field.name) for field in fields(Calibration))
        )

    @property
    def figures(self) -> dict[str, float | None]:
        """Mean ``log_loss`` and ``brier_score``, as scikit-learn defines them, and ``calibration_error``;
        None without rows.

        The calibration error is the difference between the mean p of a bin and the share of hits, averaged
        over the rows of all bins (Naeini, Cooper and Hauskrecht 2015).
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
        """Mean p and share of hits of neighbouring bins, joined until each has enough rows to show a share.

        These are :data:`CURVE_ROWS` rows, or a tenth of all rows if that is less.
        """
        least = max(1, min(CURVE_ROWS, int(self.counts.sum()) // 10))
        parts, part = list[NDArray[np.float64]](), np.zeros(3)
        for sums in np.stack([self.counts, self.chances, self.hits], axis=1):
            part = part + sums
            if part[0] >= least:
                parts.append(part)
                part = np.zeros(3)
        if parts:
            parts[-1] = parts[-1] + part
        counts, chances, hits = np.array(parts).reshape(-1, 3).T
        return chances / counts, hits / counts


#: fewest rows of a point of a calibration curve: its share has a standard error of at most 0.07
CURVE_ROWS = 50
#: number of scores sorted in memory
RUN_ROWS = 2**18
#: fewest scores of a run read at a time in a merge
_LEAST_CHUNK = 1024
#: sorted scores processed at a time
_FEW = 2**13
#: memory for sorting a run, and the same again for merging
RANKING_BYTES = 2 * 64 * RUN_ROWS
#: a thinned curve has a point at each of this many steps of either rate
_STEPS = 256


@dataclass(frozen=True)
class RankingFigures:
    """How well scores separate two classes when rows with a score of at least t are predicted as class 1.

    Attributes
    ----------
    area : area under the ROC curve: the probability that a row of class 1 scores above one of class 0,
        counting ties one half; scikit-learn's ``roc_auc_score``
    average_precision : sum of precision times the increase in recall, over all t from the highest down;
        scikit-learn's ``average_precision_score``
    false_positives, recall, precision : (n,) at falling thresholds: shares of the rows of class 0 and of
        class 1 with a score of at least t, and share of class 1 among the rows with such a score. There is a
        threshold wherever one of the first two reaches another 256th
    thresholds : (n,) values of t
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
        """Share of all rows with a score of at least t, (n,)."""
        negatives, positives = self.totals
        reached = negatives * self.false_positives + positives * self.recall
        return reached / (negatives + positives)


class RankedScores:
    """Collects scores of two classes for :class:`RankingFigures`; close it, or use ``with``.

    The areas are exact up to the rounding of sums. Scores beyond ``run_rows`` go to a file in ``TMPDIR``,
    with 24 bytes for each distinct score of a run. Memory holds one run, or a thousand scores of each run.
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
        """Add scores (n,), whether each row is of class 1, and weights."""
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
        """Return the curves and their areas; None without rows of both classes, or for scores of NaN."""
        if not self._numbers or not self._totals.all():
            return None
        below, area, average, last = np.zeros(2), 0.0, 0.0, np.full((2, 1), -1.0)
        kept = []
        for scores, *pair in self._ascending():
            masses = np.stack(pair)
            passed = below[:, None] + np.cumsum(masses, axis=1)
            before = passed - masses
            area += float(masses[1] @ (before[0] + 0.5 * masses[0]))
            # weight of each class with at least this score
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
        """Yield ascending scores with the weight of each class, (3, n), a few at a time."""
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
            # a score is stored next to its masses, so one read gets any part of a run
            self._file.write(np.ascontiguousarray(run.T).data)
        self._runs.append((start, run.shape[1]))

    def _merged(self) -> Iterator[NDArray[np.float64]]:
        """Yield distinct scores in ascending order with the weight of each class, (3, n)."""
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
            # unread scores of a run are above those already read
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
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _distinct(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return distinct scores in ascending order with the sums of their masses."""
    if not parts:
        return np.empty((3, 0))
    scores, negative, positive = np.concatenate(parts, axis=1)
    values, places = np.unique(scores, return_inverse=True)
    sums = [np.bincount(places, weights=masses, minlength=len(values)) for masses in (negative, positive)]
    return np.stack([values, *sums])


Codes = NDArray[np.int64]

_BITS = 7
#: number of groups; rows with equal keys share a group
GROUPS = 2**_BITS
#: most decision values without probabilities that are kept until all are known
_KEPT_NUMBERS = 2**18
#: driver memory for keeping them and fitting a sigmoid or temperature
KEPT_BYTES = 80 * _KEPT_NUMBERS


def group_sums(block: Block, losses: Array) -> Array:
    """Return sums (128,) of the losses (n_rows,) by group; a row's key determines its group."""
    return _summed(keys_of(block), losses)


def _summed(keys: Keys, losses: Array) -> Array:
    groups = (keys >> np.uint64(64 - _BITS)).astype(np.intp)
    return np.bincount(groups, weights=losses, minlength=GROUPS).astype(np.float64)


def losses_of_groups(sums: Array, n_rows: int) -> list[float]:
    """Return 128 numbers whose mean is the mean loss of all rows.

    The mean difference between two models is then the mean difference over the rows. Its standard error
    (:func:`~distkern.core.scores.mean_difference`) is estimated from the variation between groups, so that
    rows with equal keys count as one.
    """
    return list((sums * (GROUPS / max(n_rows, 1))).tolist())


@dataclass(frozen=True)
class Lost:
    """Losses of rows for a figure that is a mean over rows.

    Attributes
    ----------
    n_rows : number of rows in the sums
    sums : (128,) losses of each group
    keys, values, codes : (n,), (n, k), (n,) keys, decision values and class codes of rows without
        probabilities
    """

    n_rows: int
    sums: Array
    keys: Keys
    values: Array
    codes: Codes


@dataclass(frozen=True)
class Losing:
    """Computes losses of rows of classes.

    Decision values without probabilities are kept: their log losses use the sigmoid or temperature that fits
    all of them best.

    Attributes
    ----------
    figure : "error", "accuracy", "brier_score" or "log_loss"
    share : share of the rows in the log loss, drawn by their content and position
    """

    figure: str
    share: float

    @classmethod
    def of(cls, figure: str | None, n_rows: int, n_outputs: int) -> Losing | None:
        """Return an object for this many rows; None for figures that are not a mean over rows."""
        if figure not in ("error", "accuracy", "brier_score", "log_loss"):
            return None
        return cls(figure, min(1.0, _KEPT_NUMBERS / (n_rows * n_outputs)))

    def lost(self, block: Block, values: Array, chances: Array | None, wrong: Array, codes: Codes) -> Lost:
        """Return the losses of a block of rows, summed by groups.

        For a log loss without probabilities, the keys, decision values and codes of the rows are kept
        instead.

        Parameters
        ----------
        block : n rows
        values : (n, k) decision values
        chances : (n, n_classes) probabilities, or None
        wrong : (n,) whether the prediction is wrong
        codes : (n,) class codes
        """
        keys = keys_of(block)
        if self.figure == "log_loss":
            # bits independent of the group and different for equal rows
            places = np.uint64(block.index) * np.uint64(2**32) + np.arange(block.n_rows, dtype=np.uint64)
            drawn = stirred_bits(row_keys(block.features) + stirred_bits(places))
            taken = (drawn % np.uint64(2**32)) < self.share * 2**32
            keys, values, codes = keys[taken], values[taken], codes[taken]
            chances = None if chances is None else chances[taken]
        if chances is None and self.figure == "log_loss":
            return Lost(0, np.zeros(GROUPS), keys, values, codes)
        losses = wrong
        if chances is not None and self.figure in ("log_loss", "brier_score"):
            losses = (row_log_losses if self.figure == "log_loss" else row_squares)(chances, codes)
        return Lost(len(keys), _summed(keys, losses), keys[:0], values[:0], codes[:0])

    @staticmethod
    def total(parts: Sequence[Lost]) -> list[float]:
        """Return the losses of all rows, see :func:`losses_of_groups`."""
        keys, values, codes = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("keys", "values", "codes")
        )
        sums = np.sum([part.sums for part in parts], axis=0)
        if len(keys):
            sums = sums + _summed(keys, log_losses(values, codes, by_sign=True))
        return losses_of_groups(sums, sum(part.n_rows for part in parts) + len(keys))
