"""The methods: what each needs, which settings are tried, and how it is fitted."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from workflows.benchmarks.rows import Facts, Part

Settings: TypeAlias = dict[str, Any]
#: rows to codes of classes or real targets
Predict: TypeAlias = Callable[[Any], np.ndarray]

#: widths that every kernel method is tried with: gamma in 1 / the median squared distance of two rows
WIDTHS = (1.0, 4.0, 16.0)


@dataclass(frozen=True)
class Given:
    """What a method is fitted to."""

    facts: Facts
    train: Part
    valid: Part
    threads: int

    @property
    def is_regression(self) -> bool:
        """Whether targets are real."""
        return self.facts.task == "regression"


@dataclass(frozen=True)
class Method:
    """One line of the tables.

    Attributes
    ----------
    package : required package; without it the method is skipped by name
    candidates : of a data set, the settings of which the best on the validation rows is taken
    fit : settings and rows to a function that predicts
    ours : whether it belongs to this package
    sparse : whether it accepts sparse rows
    tasks : that it can do
    most_rows : of training rows, the first so many: what it is given says the table
    choosing_rows : that settings are chosen with
    whole : in place of ``fit``, of a program that fits and predicts: the predictions for some rows, the
        settings that it has chosen, and its peak of memory
    """

    name: str
    package: str
    candidates: Callable[[Facts], list[Settings]]
    fit: Callable[[Settings, Given], Predict] | None
    ours: bool = False
    sparse: bool = False
    tasks: tuple[str, ...] = ("classification", "regression")
    most_rows: int | None = None
    choosing_rows: int = 20_000
    whole: Callable[[Given, Any], tuple[np.ndarray, Settings, int]] | None = None

    @property
    def is_there(self) -> bool:
        """Whether its package is installed."""
        return importlib.util.find_spec(self.package) is not None

    def takes(self, facts: Facts) -> bool:
        """Whether it can be given a data set."""
        return facts.task in self.tasks and (self.sparse or not facts.sparse)


def error(facts: Facts, predicted: np.ndarray, targets: np.ndarray) -> float:
    """The share of wrong classes, or the root of the mean squared error."""
    if facts.task == "regression":
        return float(np.sqrt(np.mean(np.square(predicted - targets))))
    return float(np.mean(predicted != targets))


def grid(**values: Iterable[Any]) -> list[Settings]:
    """All combinations."""
    found: list[Settings] = [{}]
    for name, choices in values.items():
        found = [{**one, name: choice} for one in found for choice in choices]
    return found


def widths(facts: Facts) -> list[float]:
    """The gammas of :data:`WIDTHS`."""
    return [width * facts.gamma for width in WIDTHS]


def scaled(given: Given) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Real targets of mean 0 and variance 1, as kernel methods want them, and the way back."""
    center, scale = float(given.train.y.mean()), float(given.train.y.std()) or 1.0
    return (given.train.y - center) / scale, lambda found: center + scale * found
