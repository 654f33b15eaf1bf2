"""Explanations of a model: permutation importances of its columns, and partial dependence on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.text import listed, magnitude
from distkern.data.store.places import Location

if TYPE_CHECKING:
    from pandas import DataFrame

    from distkern.show.page import PlotPage

_ROWS = {"test": "held-out test rows", "train": "training rows"}

#: a class, a quantile, or "" for a single real target
Output: TypeAlias = bool | int | float | str


@dataclass(frozen=True)
class Importance:
    """Increase in loss when a column is shuffled.

    Attributes
    ----------
    loss : mean increase over the permutations
    spread : standard deviation over the permutations; 0 for one permutation
    number : position of the column among all columns, from 0
    """

    column: str
    loss: float
    spread: float = 0.0
    number: int = 0


@dataclass(frozen=True)
class Dependence:
    """Partial dependence: the mean prediction over rows whose column is set to one value.

    Attributes
    ----------
    values : values of the column, numbers or texts (categories, dates, times of the day)
    averages : mean predictions (n_outputs, n_values)
    kind : "number", "category", "date" or "time"
    rug : quantiles of the column over the rows, of numbers and dates
    """

    column: str
    values: tuple[float | str, ...]
    averages: tuple[tuple[float, ...], ...]
    kind: Literal["number", "category", "date", "time"] = "number"
    rug: tuple[float | str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """Permutation importances of columns, the largest first, and partial dependence on the largest.

    ``importances`` and ``dependence`` are pandas frames. ``plot()`` draws both in a notebook, and
    ``save(path)`` writes them to a page.

    Attributes
    ----------
    columns : the importances
    loss : name of the loss
    n_rows, split : number of rows and their split, "given" for other rows
    left_out : number of columns that were not shuffled
    reason : why nothing was measured, if there are no columns
    copies : columns that alone nearly predict the target
    curves : partial dependence on the most important columns
    outputs : class or quantile of each average
    quantity : name of the averaged prediction
    n_averaged : number of rows in each average
    n_columns : number of all columns
    """

    columns: tuple[Importance, ...]
    loss: str
    n_rows: int
    split: str
    left_out: int = 0
    reason: str = ""
    copies: tuple[str, ...] = ()
    curves: tuple[Dependence, ...] = ()
    outputs: tuple[Output, ...] = ()
    quantity: str = ""
    n_averaged: int = 0
    n_columns: int = 0

    def __post_init__(self) -> None:
        for curve in self.curves:
            if [len(values) for values in curve.averages] != [len(curve.values)] * len(self.outputs):
                raise ValueError(f"averages of {curve.column!r} do not match its values and the outputs")

    @property
    def importances_mean(self) -> NDArray[np.float64]:
        """Mean increase in loss (n_columns,) for each column of X, as scikit-learn's
        ``permutation_importance`` returns it; NaN for columns that were not shuffled.
        """
        return self._of_columns([each.loss for each in self.columns])

    @property
    def importances_std(self) -> NDArray[np.float64]:
        """Standard deviation (n_columns,) over the permutations for each column of X."""
        return self._of_columns([each.spread for each in self.columns])

    def _of_columns(self, values: list[float]) -> NDArray[np.float64]:
        found = np.full(self.n_columns, np.nan)
        found[[each.number for each in self.columns]] = values
        return found

    @property
    def importances(self) -> DataFrame:
        """A frame with columns column, importance, std (over permutations) and share of positive ones."""
        from pandas import DataFrame

        total = sum(max(each.loss, 0.0) for each in self.columns) or 1.0
        rows = [(each.column, each.loss, each.spread, max(each.loss, 0.0) / total) for each in self.columns]
        return DataFrame(rows, columns=["column", "importance", "std", "share"])

    @property
    def dependence(self) -> DataFrame:
        """A frame with columns column, value, output (class, quantile or "") and average."""
        from pandas import DataFrame

        rows = [
            (curve.column, value, output, average)
            for curve in self.curves
            for output, averages in zip(self.outputs, curve.averages, strict=True)
            for value, average in zip(curve.values, averages, strict=True)
        ]
        return DataFrame(rows, columns=["column", "value", "output", "average"])

    def plot(self) -> PlotPage:
        """Draw bars of the importances and plots of the partial dependence."""
        from distkern.show.page import PlotPage
        from distkern.show.report import dependence_sections, importance_sections

        sections = (*importance_sections(self), *dependence_sections(self))
        return PlotPage("Feature importance and partial dependence", sections, f"{len(self.columns)} columns")

    def save(self, path: Location) -> None:
        """Write the page, which needs no network."""
        self.plot().save(path)

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_()

    def __repr__(self) -> str:
        rows = [[each.column, each.loss, each.spread] for each in self.columns]
        return listed(f"<Explanation: {self.summary}>", ["column", "importance", "std"], rows)

    @property
    def is_repeated(self) -> bool:
        """Whether columns were shuffled several times."""
        return any(each.spread for each in self.columns)

    @property
    def rows(self) -> str:
        """The kind of rows, in words."""
        return _ROWS.get(self.split, "rows")

    @property
    def summary(self) -> str:
        """The meaning of the numbers, or why there are none."""
        if self.reason:
            return f"importances were not measured: {self.reason}"
        others = f"; {self.left_out:,} other columns were not shuffled" if self.left_out else ""
        copies = f"; {self.warning}" if self.copies else ""
        rows = f"{self.n_rows:,} {self.rows}"
        return f"increase in {self.loss} when a column is shuffled, on {rows}{others}{copies}"

    @property
    def warning(self) -> str:
        """Advice about columns that alone nearly predict the target; empty if there are none."""
        if not self.copies:
            return ""
        names = ", ".join(map(repr, self.copies))
        alone = "alone nearly predicts" if len(self.copies) == 1 else "each alone nearly predict"
        are, them = ("is it", "it") if len(self.copies) == 1 else ("are they", "them")
        return f"{names} {alone} the target: {are} known when predictions are made? If not, leave {them} out"

    @property
    def texts(self) -> list[tuple[str, float, str]]:
        """Columns with their importances as numbers and as text."""
        return [(each.column, each.loss, magnitude(each.loss, 3, 1e4)) for each in self.columns]
