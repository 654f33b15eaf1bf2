"""What ``model.json`` may hold."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from distkern.data.scaling import Scaling
from distkern.data.table import Table
from distkern.engine.events import check_line
from distkern.show.explanation import Explanation


@dataclass(frozen=True)
class Labels:
    """Labels of classes: ``dtype`` is numpy's, or "string"."""

    dtype: str
    values: tuple[bool | int | float | str, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.array.tolist())) < len(self.values):
            raise ValueError("no classes, or one of them twice")

    @property
    def array(self) -> NDArray[Any]:
        """Return the labels; raises ValueError where they are not of their type."""
        known = re.fullmatch(r"string|object|[|<>][biuf]\d|[<>]M8\[\w+\]", self.dtype)
        if known is None:
            raise ValueError(f"no labels have type {self.dtype!r}")
        try:
            found = np.asarray(self.values, {"string": str}.get(self.dtype, self.dtype))
        except (TypeError, OverflowError) as error:
            raise ValueError(str(error)) from None
        if found.dtype.kind not in "UM" and found.tolist() != [*self.values]:
            raise ValueError(f"labels that are not of type {self.dtype!r}")
        return found


@dataclass(frozen=True)
class SavedForUpdateFacts:
    """Facts kept for updates: see :class:`~distkern.runs.persistence.SavedForUpdate`."""

    n_rows: int
    weight: float
    sources: tuple[str, ...]
    arrays: tuple[str, ...]
    began: str = ""

    def __post_init__(self) -> None:
        if self.n_rows < 0 or not 0 <= self.weight < math.inf:
            raise ValueError(f"{self.n_rows} rows of weight {self.weight} that the model has learned from")


@dataclass(frozen=True)
class OutsideFacts:
    """A column with numbers outside its range before, and the share of the rows that have them."""

    column: str
    outside: float


@dataclass(frozen=True)
class DriftFacts:
    """How far the rows of an update lie outside those before."""

    columns: int
    most: tuple[OutsideFacts, ...]


@dataclass(frozen=True)
class UpdateFacts:
    """What commands show of an update."""

    number: int
    rows: int
    before: dict[str, float | None]
    after: dict[str, float | None]
    drift: DriftFacts | None

    def __post_init__(self) -> None:
        if self.before.keys() != self.after.keys():
            raise ValueError("an update with other figures before than after")


@dataclass(frozen=True)
class ModelFacts:
    """What ``model.json`` says of every model; estimators add their own facts."""

    algorithm: str
    params: dict[str, Any]
    classes: Labels | None
    n_features: int
    feature_names: tuple[str, ...] | None
    n_iter: int
    scaling: Scaling | None
    class_weights: tuple[float, ...] | None
    mean_weight: float
    history: tuple[dict[str, Any], ...]
    arrays: str
    target_name: str | None = None
    ended: str | None = None
    found: dict[str, Any] = field(default_factory=dict)
    table: Table | None = None
    zero_based: bool | None = None
    dtype: Literal["float32", "float64"] | None = None
    importances: Explanation | None = None
    class_shares: tuple[float, ...] | None = None
    further: SavedForUpdateFacts | None = None
    updates: tuple[UpdateFacts, ...] = ()

    def __post_init__(self) -> None:
        columns = self.n_features if self.table is None else len(self.table.columns)
        if self.table is not None and self.table.n_features != self.n_features:
            raise ValueError(f"a table of {self.table.n_features} features for {self.n_features}")
        n_names = columns if self.feature_names is None else len(self.feature_names)
        if self.n_features < 1 or n_names != columns:
            raise ValueError(f"other names than those of {self.n_features} features")
        if self.scaling is not None:
            self.scaling.check_width(self.n_features)
        n_classes = 0 if self.classes is None else len(self.classes.values)
        for of_classes in (self.class_weights, self.class_shares):
            if of_classes is not None and len(of_classes) != n_classes:
                raise ValueError(f"weights or shares of {len(of_classes)} classes for {n_classes}")
        for line in self.history:
            check_line(line)
