"""Proper scores of a model, and whether one is worse than another on the same test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Array = NDArray[Any]

_BINS = 10
#: standard errors of a difference that are not chance
_CERTAIN = 2.0


def by_row(model: Any, X: Any, truth: Array, *, is_real: bool) -> dict[str, Array]:
    """What a model's scores are means of, a value for each test row.

    Returns
    -------
    squared : of real targets, squared errors
    loss, wrong : of classes, -log of the chance of the true one, and whether another is predicted
    chance, right : the largest chance, and whether its class is the true one
    score, positive : of two classes, the chance of the second, and whether it is the true one
    """
    if is_real:
        return {"squared": (model.predict(X) - truth) ** 2}
    chances, classes = np.asarray(model.predict_proba(X), dtype=float), model.classes_
    known = np.isin(truth, classes)
    columns = np.searchsorted(classes, np.where(known, truth, classes[0]))
    # a class that no training row was of has no chance
    own = np.where(known, chances[np.arange(len(truth)), columns], 0.0)
    found = {
        "loss": -np.log(np.maximum(own, np.finfo(float).eps)),
        "wrong": (model.predict(X) != truth).astype(float),
        "chance": chances.max(axis=1),
        "right": classes[chances.argmax(axis=1)] == truth,
    }
    if len(classes) == 2:
        found |= {"score": chances[:, 1], "positive": truth == classes[1]}
    return found


def figures(rows: Mapping[str, Array]) -> dict[str, float]:
    """Means of what :func:`by_row` has found, by the names that the report has for them."""
    if "squared" in rows:
        return {"RMSE": float(np.sqrt(rows["squared"].mean()))}
    found = {
        "log loss": float(rows["loss"].mean()),
        "error": float(rows["wrong"].mean()),
        "calibration": calibration_error(rows["chance"], rows["right"]),
    }
    if "score" in rows:
        found["AUC"] = float(placements(rows["score"], rows["positive"])[0].mean())
    return found


def calibration_error(chances: Array, right: Array) -> float:
    """sum_b |mean of the chances - share that is right| n_b / n over ten bins b of equal width."""
    bins = np.minimum((chances * _BINS).astype(int), _BINS - 1)
    apart = [abs(float((chances - right)[bins == number].sum())) for number in range(_BINS)]
    return sum(apart) / len(chances)


def placements(scores: Array, positive: Array) -> tuple[Array, Array]:
    """Share of negatives below each positive row, and of positives above each negative one.

    Ties count one half; the mean of either is the AUC (DeLong, DeLong and Clarke-Pearson 1988).
    """
    positive = positive.astype(bool)
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    ranks = rankdata(scores)
    below = (ranks[positive] - rankdata(scores[positive])) / n_negative
    above = 1.0 - (ranks[~positive] - rankdata(scores[~positive])) / n_positive
    return below, above


@dataclass(frozen=True)
class Difference:
    """How much larger a loss is than another's, and the standard error of that over the test rows."""

    mean: float
    error: float

    @property
    def verdict(self) -> str:
        """Worse or better by more than two standard errors, or neither."""
        if self.mean > _CERTAIN * self.error:
            return "worse"
        return "better" if self.mean < -_CERTAIN * self.error else "as good"


def paired(ours: Sequence[Array], theirs: Sequence[Array]) -> Difference:
    """Losses (n,) of a seed each, of the same test rows: each row's difference is its mean over the seeds."""
    rows = np.mean([mine - other for mine, other in zip(ours, theirs, strict=True)], axis=0)
    return Difference(float(rows.mean()), float(rows.std(ddof=1) / np.sqrt(len(rows))))


def auc_lost(ours: Sequence[Array], theirs: Sequence[Array], positive: Array) -> Difference:
    """Their AUC less ours, of scores (n,) of a seed each, means over the seeds; the error is DeLong's."""
    pairs = [placements(other, positive) for other in theirs], [placements(mine, positive) for mine in ours]
    below, above = (
        np.mean([other[side] - mine[side] for other, mine in zip(*pairs, strict=True)], axis=0)
        for side in (0, 1)
    )
    variance = below.var(ddof=1) / len(below) + above.var(ddof=1) / len(above)
    return Difference(float(below.mean()), float(np.sqrt(variance)))
