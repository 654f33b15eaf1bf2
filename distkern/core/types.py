"""What passes between the packages: blocks of rows and the sources they are read from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Indices: TypeAlias = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of a data set.

    Attributes
    ----------
    features : (n_rows, n_features) float32 or float64, C-contiguous
    targets : (n_rows,) int32 class codes, float64 regression targets, or None
    weights : (n_rows,) float64 sample weights, or None for all ones
    index : which block of its source it is
    """

    features: Floats
    targets: NDArray[Any] | None = None
    weights: Floats | None = None
    index: int = 0

    @property
    def n_rows(self) -> int:
        return int(self.features.shape[0])

    def take(self, rows: Indices | slice) -> Block:
        """The rows of the given positions, in that order (a view for a slice)."""
        return replace(
            self,
            features=self.features[rows],
            targets=None if self.targets is None else self.targets[rows],
            weights=None if self.weights is None else self.weights[rows],
        )


Reader: TypeAlias = Callable[[], Block]


class AbstractSource(ABC):
    """Rows in blocks that any process can read by number.

    Subclasses set the attributes below and implement :meth:`reader`.

    Attributes
    ----------
    block_rows : rows of each block, in order
    n_features : columns
    dtype : of the features, float32 or float64
    fingerprint : changes when any value changes (used to refuse resuming on other data)
    in_memory : the rows lie in this very process, so sending them elsewhere costs more than it saves
    is_graph : blocks are the results of a lazy graph (:meth:`graph`), which only an executor can run
    """

    block_rows: tuple[int, ...]
    n_features: int
    dtype: np.dtype[Any]
    fingerprint: str
    in_memory: bool = False
    is_graph: bool = False

    @abstractmethod
    def reader(self, index: int) -> Reader:
        """A picklable call that reads block ``index`` in whichever process runs it."""

    def graph(self, index: int) -> tuple[dict[Any, Any], Any]:
        """For ``is_graph``: the tasks that make block ``index`` and the key of the block among them."""
        raise TypeError(f"{type(self).__name__} is not a graph")

    @property
    def n_rows(self) -> int:
        return sum(self.block_rows)

    @property
    def n_blocks(self) -> int:
        return len(self.block_rows)

    @property
    def row_bytes(self) -> int:
        return int(self.n_features * self.dtype.itemsize + 16)
