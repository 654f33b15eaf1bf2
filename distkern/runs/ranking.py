"""The area under the ROC curve, exactly, of any number of scores: sorted on disk, run by run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from distkern.storage.atomic import explain_errors

#: scores that are sorted in memory
RUN_ROWS = 2**18
#: of a run, read at a time while runs are merged
_LEAST_CHUNK = 1024
#: what a run takes while it is sorted, and as much again when runs are merged
RANKING_BYTES = 2 * 64 * RUN_ROWS


class RankedScores:
    """Scores of two classes, from which the area under the ROC curve is taken; close it, or use ``with``.

    The area is the probability that a row of class 1 scores above one of class 0, ties counting one half, as
    scikit-learn's ``roc_auc_score`` has it: exact to the rounding of its sums. More than ``run_rows`` scores
    go to a file in ``TMPDIR``, 24 bytes for each distinct one of a run; memory holds one run, or a thousand
    scores of each.
    """

    def __init__(self, run_rows: int = RUN_ROWS) -> None:
        self._run_rows = run_rows
        self._waiting: list[NDArray[np.float64]] = []
        self._n_waiting = 0
        self._file: BinaryIO | None = None
        self._runs: list[tuple[int, int]] = []
        self._numbers = True

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
            self._n_waiting += self._waiting[-1].shape[1]
            if self._n_waiting >= self._run_rows:
                self._write_run()

    def area(self) -> float | None:
        """The area; None without rows of both classes, or if a score is not a number."""
        below = above = area = 0.0
        if not self._numbers:
            return None
        for _, negative, positive in self._merged():
            before = below + np.concatenate([[0.0], np.cumsum(negative)])
            area += float(positive @ (before[:-1] + 0.5 * negative))
            below, above = float(before[-1]), above + float(positive.sum())
        return area / (below * above) if below and above else None

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
