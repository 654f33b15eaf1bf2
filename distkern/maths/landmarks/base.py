"""The base class of landmark rules, the uniform rule, and the passes that fetch single rows.

To add a rule, write a file in this folder with a frozen dataclass that derives from
:class:`AbstractLandmarkRule` and has a ``name``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import Rows, comparing_bytes, distinct, stacked

if TYPE_CHECKING:
    from distkern.core.types import Block
    from distkern.passes import Cost, Outline, Pass


_SAMPLED_BLOCKS = 8


@dataclass(frozen=True)
class RowLayout:
    """Facts about the data before any row is read.

    Attributes
    ----------
    block_rows : rows of each block
    n_features : d
    dtype : dtype of the features
    seed : seed of all random choices
    sparse_numbers : None for dense rows, else numbers stored for a sparse row
    """

    block_rows: tuple[int, ...]
    n_features: int
    dtype: np.dtype[Any]
    seed: int
    sparse_numbers: int | None = None

    @property
    def is_sparse(self) -> bool:
        return self.sparse_numbers is not None

    @property
    def row_numbers(self) -> int:
        """Numbers stored for a row."""
        return self.n_features if self.sparse_numbers is None else self.sparse_numbers

    @property
    def most_rows(self) -> int:
        """Rows of the largest block."""
        return max(self.block_rows)

    @property
    def row_accesses(self) -> int:
        """Stored features of a row, approximately the nonzero ones."""
        return self.n_features if self.sparse_numbers is None else self.sparse_numbers // 2 - 1

    @property
    def row_bytes(self) -> int:
        """Bytes of a row in memory."""
        return self.row_numbers * self.dtype.itemsize

    @property
    def comparing_bytes(self) -> int:
        """Bytes for comparing rows, besides the rows."""
        return comparing_bytes(self.n_features) if self.is_sparse else 0

    @property
    def n_rows(self) -> int:
        """m, the rows of all blocks."""
        return sum(self.block_rows)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """First row of each block, and the total: (n_blocks + 1,)."""
        return np.concatenate([[0], np.cumsum(self.block_rows)]).astype(np.int64)


@dataclass(frozen=True)
class AbstractLandmarkRule(ABC):
    """Chooses at most ``n_landmarks`` landmarks, or enough for a ``diameter``."""

    n_landmarks: int | None = None
    diameter: float | None = None

    name: ClassVar[str]

    @abstractmethod
    def choose(self, layout: RowLayout) -> Generator[Pass, Any, Rows]:
        """Yield the passes of the choice; return the landmarks (r, n_features)."""

    @abstractmethod
    def outline(self, layout: RowLayout) -> list[Outline]:
        """The passes, for the planner."""

    @abstractmethod
    def expected_size(self, layout: RowLayout) -> int:
        """An upper bound of r, before any row is read."""


@dataclass(frozen=True)
class _Wanted:
    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]


def pick(block: Block, wanted: _Wanted) -> Rows:
    """The wanted rows of a block."""
    low, high = wanted.offsets[block.index], wanted.offsets[block.index + 1]
    inside = wanted.rows[(wanted.rows >= low) & (wanted.rows < high)]
    return block.features[inside - low]


def stack(first: Rows, second: Rows) -> Rows:
    """Rows of ``first``, then rows of ``second``."""
    return stacked([first, second])


def rows_cost(layout: RowLayout, n_rows: int) -> Cost:
    """Cost of a pass that picks ``n_rows`` rows in total."""
    from distkern.passes import Cost

    return Cost().holding(joined={"rows": (n_rows, layout.row_bytes)})


def gather_rows(layout: RowLayout, rows: NDArray[np.int64], name: str) -> Generator[Pass, Any, Rows]:
    """Fetch the features of rows with the given sorted numbers; only their blocks are read."""
    from distkern.passes import Reduce

    offsets = layout.offsets
    blocks = np.unique(np.searchsorted(offsets, rows, side="right") - 1)
    result: Rows = yield Reduce(
        name,
        pick,
        stack,
        _Wanted(offsets, rows),
        blocks=tuple(int(block) for block in blocks),
        cost=rows_cost(layout, int(rows.size)),
    )
    return result


def sample_rows(layout: RowLayout, n_sample: int, name: str = "sample") -> Generator[Pass, Any, Rows]:
    """Draw at most ``n_sample`` rows uniformly from at most 8 random blocks, in the order of the data."""
    from distkern.core.rng import Purpose, stream

    generator = stream(layout.seed, Purpose.SAMPLE)
    n_blocks = len(layout.block_rows)
    blocks = np.sort(generator.choice(n_blocks, size=min(_SAMPLED_BLOCKS, n_blocks), replace=False))
    offsets = layout.offsets
    pool = np.concatenate([np.arange(offsets[block], offsets[block + 1]) for block in blocks])
    rows = np.sort(generator.choice(pool, size=min(n_sample, pool.size), replace=False))
    return (yield from gather_rows(layout, rows, name))


def sample_outline(layout: RowLayout, n_sample: int, name: str = "sample", driver_bytes: int = 0) -> Outline:
    """The pass of :func:`sample_rows`; ``driver_bytes`` are for the driver's work on the rows."""
    from distkern.passes import Outline, Reduce

    largest = np.argsort(layout.block_rows, kind="stable")[::-1][:_SAMPLED_BLOCKS]
    n_rows = min(n_sample, int(np.asarray(layout.block_rows)[largest].sum()))
    cost = replace(rows_cost(layout, n_rows), driver_bytes=driver_bytes)
    return Outline(Reduce(name, pick, stack, blocks=tuple(sorted(largest.tolist())), cost=cost))


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
