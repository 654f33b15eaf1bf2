"""Landmarks drawn uniformly from the rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.sparse import Rows, distinct
from distkern.maths.landmarks.base import AbstractLandmarkRule, RowLayout, gather_rows, pick, rows_cost, stack

if TYPE_CHECKING:
    from distkern.passes import Outline, Pass


@dataclass(frozen=True)
class Uniform(AbstractLandmarkRule):
    """``n_landmarks`` rows drawn without replacement; identical rows are kept once, so there may be fewer.

    Unlike the paper's coverage, it puts few landmarks on outliers.
    """

    name = "uniform"

    def __post_init__(self) -> None:
        if self.n_landmarks is None:
            raise InputError(
                "uniform landmarks need n_landmarks", where="landmarks", hint="give n_landmarks, not diameter"
            )

    def choose(self, layout: RowLayout) -> Generator[Pass, Any, Rows]:
        from distkern.core.rng import Purpose, stream

        size = self.expected_size(layout)
        generator = stream(layout.seed, Purpose.LANDMARKS)
        rows = np.sort(generator.choice(layout.n_rows, size=size, replace=False, shuffle=False))
        features = yield from gather_rows(layout, rows.astype(np.int64), "landmarks")
        first, _ = distinct(features)
        return features[np.sort(first)]

    def outline(self, layout: RowLayout) -> list[Outline]:
        from distkern.passes import Outline, Reduce

        cost = rows_cost(layout, self.expected_size(layout))
        return [Outline(Reduce("landmarks", pick, stack, cost=cost))]

    def expected_size(self, layout: RowLayout) -> int:
        assert self.n_landmarks is not None
        return min(self.n_landmarks, layout.n_rows)
