"""By which figure of the held-out rows candidates are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from distkern.common.errors import InputError, unknown_name

#: task -> figure of an evaluation -> whether smaller is better; the first is taken where none is given
_FIGURES = {
    "classification": {
        "error": True,
        "accuracy": False,
        "balanced_accuracy": False,
        "auc": False,
        "average_precision": False,
        "log_loss": True,
    },
    "regression": {"rmse": True, "mae": True, "r2": False, "pinball": True},
}
_OF_TWO = ("auc", "average_precision")


@dataclass(frozen=True)
class Metric:
    """A figure of :func:`distkern.runs.evaluation.evaluate_split`."""

    name: str
    is_loss: bool

    @classmethod
    def of(cls, name: str | None, task: str, n_classes: int | None) -> Metric:
        """The one of that name; of None the error, or the root mean squared error.

        Raises
        ------
        InputError
            If there is none of that name for the task, none for so many classes, or none at all.
        """
        if task not in _FIGURES:
            raise InputError(
                "without targets there is nothing to compare candidates by",
                where="metric",
                mend="make a data set with labels or numbers to predict",
            )
        known = _FIGURES[task]
        if name is None:
            name = next(iter(known))
        if name not in known:
            error = unknown_name(f"metric of {task}", name, known)
            raise InputError(error.what, where="metric", mend=error.mend)
        if name in _OF_TWO and n_classes != 2:
            raise InputError(
                f"{name!r} is for two classes, and there are {n_classes}",
                where="metric",
                mend="take error or balanced_accuracy",
            )
        return cls(name, known[name])

    def value(self, figures: Mapping[str, Any]) -> float:
        """Of an evaluation.

        Raises
        ------
        InputError
            If the model has no such figure.
        """
        value = figures.get(self.name)
        if value is None:
            raise InputError(
                f"these models have no {self.name!r}",
                where="metric",
                mend=f"take one of {', '.join(known for known in figures if known in _NAMES)}",
            )
        return float(value)

    def rank(self, value: float | None) -> float:
        """A number that is smaller the better the value is; of a failed trial the largest of all."""
        if value is None:
            return float("inf")
        return value if self.is_loss else -value


_NAMES = {name for known in _FIGURES.values() for name in known}
