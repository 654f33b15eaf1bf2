"""A basis divided into places, of which a row needs few: a model may be larger than memory."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import Rows
from distkern.core.types import Floats
from distkern.maths.bases.base import AbstractBasis


@dataclass(frozen=True)
class PlacedSizes:
    """Sizes of a basis in places, for the planner.

    Attributes
    ----------
    n_outputs : number of functions
    n_places : number of places
    n_coordinates : numbers of a row that places read
    place_bytes : bytes of the largest place in memory
    saying_bytes : bytes of an answer, excluding the place and the rows
    dtype : of the coordinates
    """

    n_outputs: int
    n_places: int
    n_coordinates: int
    place_bytes: int
    saying_bytes: int
    dtype: np.dtype[Any]

    @property
    def row_bytes(self) -> int:
        """Bytes of a row's coordinates and of its number."""
        return self.n_coordinates * self.dtype.itemsize + 8


class AbstractPlacedBasis(AbstractBasis):
    """phi(x) is the answer of x's place; a row lies in one place, which is read on demand."""

    @property
    @abstractmethod
    def is_kept(self) -> bool:
        """Whether a process keeps all places, so that the order of rows does not matter."""

    @property
    @abstractmethod
    def sizes(self) -> PlacedSizes:
        """Sizes for the planner."""

    @abstractmethod
    def placed(self, features: Rows) -> tuple[Floats, NDArray[np.int32]]:
        """The coordinates of rows, (n, d) in the dtype of the basis, and their places, (n,)."""

    @abstractmethod
    def values_at(self, place: int, coordinates: Floats) -> NDArray[np.float64]:
        """The answers of a place at its rows, (n, size)."""

    def fill(self, features: Rows, values: Floats) -> None:
        coordinates, places = self.placed(features)
        order = np.argsort(places, kind="stable")
        present, starts = np.unique(places[order], return_index=True)
        for place, inside in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
            values[inside] = self.values_at(place, coordinates[inside])
