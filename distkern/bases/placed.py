"""A basis that lies in many places, of which a row needs few: a model that may be larger than memory."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common import tiles
from distkern.common.sparse import Rows
from distkern.common.types import Floats


class AbstractPlacedBasis(AbstractBasis):
    """phi(x) = (mean over the layers of what the place of x in the layer says) + what is added at every row.

    A row lies in one place of each layer. What a place says is read when it is asked for.
    """

    @property
    @abstractmethod
    def is_kept(self) -> bool:
        """Whether a process keeps all places, so that rows in any order cost no more than sorted ones."""

    @property
    @abstractmethod
    def n_places(self) -> int:
        """Of all layers, those of one after those of another."""

    @property
    @abstractmethod
    def n_layers(self) -> int:
        """Places of a row."""

    @property
    @abstractmethod
    def place_bytes(self) -> int:
        """Of what the largest place is made of."""

    @property
    @abstractmethod
    def n_coordinates(self) -> int:
        """d of :meth:`placed`."""

    @property
    @abstractmethod
    def saying_bytes(self) -> int:
        """What :meth:`values_at` takes, the place and the rows apart."""

    @property
    def added(self) -> AbstractBasis | None:
        """The basis of what is added at every row, if there is anything."""
        return None

    @abstractmethod
    def placed(self, features: Rows) -> tuple[Floats, list[NDArray[np.int32]]]:
        """The coordinates of rows, (n, d) in the dtype of the basis, and for each layer their places (n,)."""

    @abstractmethod
    def values_at(self, place: int, coordinates: Floats) -> NDArray[np.float64]:
        """What a place says at rows that lie there, (n, size)."""

    def addition(self, features: Rows) -> NDArray[np.float64] | None:
        """What is added at every row, (n, size), if there is anything."""
        return None

    def finished(self, total: NDArray[np.float64], features: Rows | None) -> Floats:
        """phi of rows, (n, size) in the dtype of the basis, given the sum over the layers: it is overwritten.

        ``features`` may be None where nothing is added.
        """
        tiles.apply(np.divide, total, self.n_layers, into=total)
        values: Floats = total.astype(self.dtype)
        added = None if features is None else self.addition(features)
        if added is not None:
            values += added
        return values

    def fill(self, features: Rows, values: Floats, nearest: NDArray[np.intp] | None = None) -> None:
        coordinates, layers = self.placed(features)
        total = np.zeros((len(coordinates), self.size))
        for places in layers:
            order = np.argsort(places, kind="stable")
            present, starts = np.unique(places[order], return_index=True)
            for place, inside in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
                total[inside] += self.values_at(place, coordinates[inside])
        tiles.copied(self.finished(total, features), into=values)
        if nearest is not None:
            tiles.greatest(values, nearest)
