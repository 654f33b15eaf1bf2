"""How many rows, cells and buckets there are, by the sizes of the problem alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from distkern.core.errors import InputError
from distkern.maths.maps.mapping import MapChoice, map_bytes
from distkern.maths.maps.metric import MORE_METRIC_ROWS
from distkern.solvers._cells.tree import Overlap
from distkern.solvers.base import Problem

MIB = 2**20
#: buckets for all rows, unless one exceeds these bytes or has fewer than these cells
_BUCKETS, _BUCKET_BYTES, BUCKET_CELLS = 64, 64 * MIB, 2
#: leaves that are put together to a bucket, and rows of the sample in each; rows and bytes of the sample
LEAVES, _LEAF_SAMPLE = 4, 64
SAMPLE_ROWS, _SAMPLE_BYTES = MORE_METRIC_ROWS, 64 * MIB
#: columns up to which sparse rows are written out
_MOST_COLUMNS = 2**14
#: columns of which borders hurt little
_FEW_COLUMNS = 128
#: copies of the rows of a part, in the average of all
_MOST_OF_A_PART = 1.3
#: cells that are few, and shares of neighbours
_FEW_CELLS, _FEW_CELLS_OVERLAP, _OVERLAP = 8, 0.3, 0.1
#: rows times rows of a cell, which keeps the time constant, within limits on the rows of a cell; the square
#: loss is factorised in double precision
_PAIRS, _LEAST_ROWS, _MOST_ROWS, _MOST_QUADRATIC = 700_000_000, 1000, 8000, 4000
#: most rows of a cell with many columns, where borders hurt more
_MOST_ROWS_OF_MANY_COLUMNS = 12000


def auto_cell_rows(n_rows: int, n_features: int, *, quadratic: bool) -> int:
    """Return the default rows of a cell: the fewer training rows, the larger cells.

    >>> [auto_cell_rows(n, 54, quadratic=False) for n in (1000, 200_000, 10**7)]
    [8000, 3500, 1000]
    """
    most = _MOST_ROWS if n_features <= _FEW_COLUMNS else _MOST_ROWS_OF_MANY_COLUMNS
    most = _MOST_QUADRATIC if quadratic else most
    return int(min(max(_PAIRS // n_rows, _LEAST_ROWS), most))


def auto_overlap(n_rows: int, cell_rows: int) -> float:
    """The share of neighbours where nothing is said: more where borders are few, and hurt as much each.

    >>> auto_overlap(60000, 8000), auto_overlap(10**6, 2000)
    (0.3, 0.1)
    """
    return _FEW_CELLS_OVERLAP if n_rows <= _FEW_CELLS * cell_rows else _OVERLAP


@dataclass(frozen=True)
class Sizes:
    """The sizes of a run.

    Attributes
    ----------
    problem : what it is given
    cell_rows, overlap : of a cell, at most, and the share of them that are neighbours at a border
    quadratic : the loss is solved by a factorisation
    maps : of the rows, that may be fitted
    costly : C is so large that other losses too are solved in double precision
    """

    problem: Problem
    cell_rows: int
    overlap: float
    quadratic: bool
    maps: tuple[MapChoice, ...] = (MapChoice(),)
    costly: bool = False

    def __post_init__(self) -> None:
        if self.problem.sparse_numbers is not None and self.problem.n_features > _MOST_COLUMNS:
            raise InputError(
                f"cells need rows with all their numbers, and {self.problem.n_features} are too many",
                where="the data",
                hint="train newton, svrg or csvrg, which take sparse rows as they are, or keep at most "
                f"{_MOST_COLUMNS} columns",
            )

    @property
    def is_double(self) -> bool:
        """Whether machines are solved in double precision."""
        return self.quadratic or self.costly

    @property
    def row_bytes(self) -> int:
        """Bytes of a row as it is moved to its bucket."""
        return 4 * self.problem.n_features + self.problem.beside_bytes + 1

    @property
    def bucket_rows(self) -> int:
        """Rows of a bucket, at most, but for rows that are all the same."""
        wanted = min(self.problem.n_rows // _BUCKETS, _BUCKET_BYTES // self.row_bytes)
        return min(max(wanted, BUCKET_CELLS * self.cell_rows), self.problem.n_rows)

    @property
    def leaf_share(self) -> float:
        """Leaves of the tree that is cut from the sample, if none had neighbours."""
        share = self.problem.n_rows / self.bucket_rows
        return LEAVES * share if share > 1.0 else 1.0

    def depth(self, n_parts: float) -> float:
        """Depth of a tree whose leaves have 1 / ``n_parts`` of the rows; each half also has neighbours."""
        return self._cuts(n_parts)[0]

    def copies(self, n_parts: float) -> float:
        """Average number of copies of a row in a tree whose leaves have 1 / ``n_parts`` of the rows."""
        return self._cuts(n_parts)[1]

    def _cuts(self, n_parts: float) -> tuple[float, float]:
        """One after the other, the last one in part if less than half of the rows are too many."""
        n_rows, most = float(self.problem.n_rows), self.problem.n_rows / max(n_parts, 1.0)
        overlap, depth, copies = Overlap(self.overlap, self.cell_rows), 0.0, 1.0
        while n_rows > most * (1.0 + 1e-9):
            growth = 1.0 + overlap.of(n_rows)
            cut = min(1.0, math.log2(n_rows / most) / (1.0 - math.log2(growth)))
            depth, copies = depth + cut, copies * growth**cut
            n_rows *= (growth / 2.0) ** cut
        return depth, copies

    @property
    def n_buckets(self) -> int:
        """Buckets, about: as many as full ones hold the rows and their copies."""
        share = self.problem.n_rows / self.bucket_rows
        return math.ceil(share * self.copies(share))

    @property
    def leaf_copies(self) -> float:
        """Average number of copies of a row in the sample's tree, with 2 ``leaf_share`` leaves, its most."""
        return self.copies(2 * self.leaf_share) if self.leaf_share > 1.0 else 1.0

    @property
    def bucket_copies(self) -> float:
        """Copies of a row in the buckets, which are leaves put together, of an eighth of the rows at most.

        The average is between that of leaves as large as buckets and that of leaves: the geometric mean of
        both was 1 to 5 % above what was counted in seven divisions of 40,000 and 200,000 rows (1.8 to 9.4).
        Neighbouring rows of few columns had up to 1.3 times as many as the average.
        """
        average = math.sqrt(self.leaf_copies * self.copies(self.problem.n_rows / self.bucket_rows))
        return min(_MOST_OF_A_PART * average, self.leaf_copies)

    @property
    def most_leaves(self) -> int:
        """Number of leaves, at most, of the tree that is cut from the sample."""
        return 2 * 2 ** math.ceil(self.depth(self.leaf_share)) if self.leaf_share > 1.0 else 1

    @property
    def map_bytes(self) -> int:
        """Bytes of the largest map that may be fitted."""
        return max(map_bytes(choice, self.problem.n_features) for choice in self.maps)

    @property
    def places_bytes(self) -> int:
        """Bytes of a map and of the tree that places its rows."""
        return self.map_bytes + self.most_leaves * (4 * self.problem.n_features + 32)

    @property
    def sample_rows(self) -> int:
        wanted = max(SAMPLE_ROWS, _LEAF_SAMPLE * LEAVES * self.n_buckets)
        return min(self.problem.n_rows, wanted, max(_SAMPLE_BYTES // self.row_bytes, 64))

    @property
    def leaf_sample(self) -> int:
        """Rows of the sample in a leaf, at most."""
        share = min(1.0, self.bucket_rows / self.problem.n_rows)
        return max(1, math.ceil(self.sample_rows * (share / LEAVES if share < 1.0 else 1.0)))

    def rows_of_map(self, most: int) -> int:
        """Rows of the sample that a map is learned from, of which weighted ones count as several."""
        return most if self.problem.max_relative_weight != 1.0 else min(self.sample_rows, most)

    @property
    def machine_bytes(self) -> int:
        """Bytes of a bucket's machines, if every row has a coefficient."""
        d, k = self.problem.n_features, self.problem.n_outputs
        return (
            self.bucket_rows * (4 * d + (8 if self.is_double else 4) * k)
            + 2 * BUCKET_CELLS * (4 * d + 8 * k + 32)
            + self.bucket_rows * 64
        )
