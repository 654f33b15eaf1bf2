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
    chances, own : (n, number of classes) all chances, and 1 for the true class
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
        "chances": chances,
        "own": np.asarray(truth)[:, None] == np.asarray(classes)[None, :],
    }
    if len(classes) == 2:
        found |= {"score": chances[:, 1], "positive": truth == classes[1]}
    return found


def figures(rows: Mapping[str, Array]) -> dict[str, Any]:
    """Means of what :func:`by_row` has found, by the names that the report has for them.

    Returns
    -------
    loss, loss_error : log loss or squared error, and the standard error of that mean
    classes : share, mean probability and standard error of their difference, of each class
    """
    losses = rows["squared"] if "squared" in rows else rows["loss"]
    found: dict[str, Any] = {"loss": float(losses.mean()), "loss_error": _error(losses)}
    if "squared" in rows:
        return found | {"RMSE": float(np.sqrt(losses.mean()))}
    found |= {
        "log loss": float(losses.mean()),
        "error": float(rows["wrong"].mean()),
        "calibration": calibration_error(rows["chance"], rows["right"]),
        "classes": [
            [float(own.mean()), float(chances.mean()), _error(chances - own)]
            for own, chances in zip(rows["own"].T.astype(float), rows["chances"].T, strict=True)
        ],
    }
    if "score" in rows:
        found["AUC"] = float(placements(rows["score"], rows["positive"])[0].mean())
    return found


def _error(values: Array) -> float:
    """Standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def constant(y: Array, truth: Array, *, is_real: bool) -> float:
    """Loss of the training rows' mean, or of their shares, on test rows."""
    if is_real:
        return float(np.square(truth - y.mean()).mean())
    classes, counts = np.unique(y, return_counts=True)
    share = dict(zip(classes.tolist(), (counts / len(y)).tolist(), strict=True))
    least = float(np.finfo(float).eps)
    return float(-np.log([share.get(one, least) for one in truth.tolist()]).mean())


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


def paired(ours: Sequence[Array], theirs: Sequence[Array], rows: Sequence[Array] | None = None) -> Difference:
    """Mean difference of losses (n,) of a seed each, and its standard error over the rows of the set.

    Parameters
    ----------
    rows : of each seed the numbers of its test rows; None if all seeds have the same. The differences of a
        row with several seeds are not independent: they are summed before their squares are.
    """
    differences = [mine - other for mine, other in zip(ours, theirs, strict=True)]
    if rows is None:
        rows = [np.arange(len(one)) for one in differences]
    every = np.concatenate(differences)
    mean = float(every.mean())
    known, places = np.unique(np.concatenate(rows), return_inverse=True)
    sums = np.bincount(places, weights=every - mean)
    share = len(known) / max(len(known) - 1, 1)
    return Difference(mean, float(np.sqrt(share * np.square(sums).sum()) / len(every)))


def auc_lost(ours: Sequence[Array], theirs: Sequence[Array], positive: Sequence[Array]) -> Difference:
    """Their AUC less ours, of scores (n,) of a seed each, mean over the seeds.

    The error is DeLong's, as if all seeds had one test set: their test rows overlap.
    """
    found = [_auc_lost(*of) for of in zip(ours, theirs, positive, strict=True)]
    mean, square = (np.mean(values) for values in zip(*((a, b * b) for a, b in found), strict=True))
    return Difference(float(mean), float(np.sqrt(square)))


def _auc_lost(ours: Array, theirs: Array, positive: Array) -> tuple[float, float]:
    pairs = placements(theirs, positive), placements(ours, positive)
    below, above = (other - mine for other, mine in zip(*pairs, strict=True))
    variance = below.var(ddof=1) / len(below) + above.var(ddof=1) / len(above)
    return float(below.mean()), float(np.sqrt(variance))
