"""How many rows, cells and buckets there are, by the sizes of the problem alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.maps.mapping import MapChoice, map_bytes
from distkern.maps.metric import METRIC_ROWS, MORE_METRIC_ROWS
from distkern.solvers._cells.tree import Overlap
from distkern.solvers._cells.trials import most_learned
from distkern.solvers.base import Problem

MIB = 2**20
#: a bucket has a 64th of the rows, but no more than so many bytes, and no fewer than so many cells
_BUCKETS, _BUCKET_BYTES, BUCKET_CELLS = 64, 64 * MIB, 2
#: leaves that are put together to a bucket, and rows of the sample in each; rows and bytes of the sample
LEAVES, _LEAF_SAMPLE = 4, 64
SAMPLE_ROWS, _SAMPLE_BYTES = MORE_METRIC_ROWS, 64 * MIB
#: columns up to which sparse rows are written out
_MOST_COLUMNS = 2**14
#: times the sample's rows, from which on settings are tried on whole cells, and where each is a factorisation
_TUNED_FROM, _TUNED_QUADRATIC_FROM = 1.5, 2.0
#: the same from which on it has other transforms of the columns
_TRANSFORMS_FROM = 4
#: rows of all the cells that are tried, fewer where each setting is a factorisation, and how many cells at
#: least
_TUNED_ROWS, _TUNED_QUADRATIC, LEAST_TUNED = 24000, 12000, 4
#: columns of which borders hurt little
_FEW_COLUMNS = 128
#: outputs from which on a trial has fewer rows, and of how many rows it has no fewer
_MANY_OUTPUTS, _LEAST_LEARNED = 4, 1000
#: rows that are learned from and held out in the rounds on a sample, and rows of metrics that are tried there
_ROUNDS, _ROUND_METRIC_ROWS = ((1000, 3000), (3000, 5000)), 2000
#: fewer rows choose nothing, and are not divided
FEW = 30
#: copies of the rows of a part, in the average of all
_MOST_OF_A_PART = 1.3
#: cells that are few, and shares of neighbours
_FEW_CELLS, _FEW_CELLS_OVERLAP, _OVERLAP = 8, 0.3, 0.1
#: rows of a cell for so many rows that it takes about as long whatever they are, between these limits; those
#: of the square loss are factorised in double precision
_PAIRS, _LEAST_ROWS, _MOST_ROWS, _MOST_QUADRATIC = 700_000_000, 1000, 8000, 4000
#: most rows of a cell with many columns, where borders hurt more
_MOST_ROWS_OF_MANY_COLUMNS = 12000


def auto_cell_rows(n_rows: int, n_features: int, *, quadratic: bool) -> int:
    """Rows of a cell where nothing is said: the more the fewer there are.

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
    searched : settings are searched on the sample, "full" or "quick"; None: they are not
    maps : of the rows, that may be fitted
    costly : C is so large that other losses too are solved in double precision
    """

    problem: Problem
    cell_rows: int
    overlap: float
    quadratic: bool
    searched: str | None
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

    @property
    def is_tuned(self) -> bool:
        """Whether the best settings are tried on whole cells: where the sample is less than most of the rows.

        With 10,000 rows, of which the sample has 9,216, that was two thirds of a run, and of eight data sets
        gained something on three: a point on covtype's 7 classes, R2 .985 to .995 and .819 to .822. With
        15,000 rows of letter the log loss is .069 on the sample and .059 on cells, with 15,480 of cadata the
        root mean squared error 46,890 and 46,926 (three seeds) in 19 and 30 CPU seconds; 40,000 rows of
        kin40k have .043 and .041.
        """
        times = _TUNED_QUADRATIC_FROM if self.quadratic else _TUNED_FROM
        return self.searched is not None and self.problem.n_rows > times * self.sample_rows

    @property
    def tries_transforms(self) -> bool:
        """Whether the second round has the other transforms of what leads too: where rows are many.

        523,000 rows of covtype 2.42 -> 1.78 %, 60,000 of its 7 classes log loss .222 -> .206, 16,512 of
        cadata more work and no gain.
        """
        return self.learns_again and self.problem.n_rows >= _TRANSFORMS_FROM * self.sample_rows

    def asked(self, number: int, n_rows: int) -> tuple[int, int]:
        """Rows of a sample of so many that are learned from, and that are held out, in a round on it."""
        wanted, held_out = _ROUNDS[number]
        return min(self._fewer(wanted), most_learned(n_rows)), min(held_out, n_rows)

    def _fewer(self, n_rows: int) -> int:
        """Rows of a trial: fewer with many outputs, each of which takes its time, or of factorisations."""
        share = 0.5 if self.quadratic else (_MANY_OUTPUTS / self.problem.n_outputs) ** 0.5
        return min(n_rows, max(_LEAST_LEARNED, int(n_rows * share)))

    @property
    def metric_rows(self) -> int:
        """Rows of the sample from which metrics are learned that are tried: none that it holds out."""
        if self.is_tuned:
            return METRIC_ROWS
        return min(_ROUND_METRIC_ROWS, most_learned(self.sample_rows))

    @property
    def more_metric_rows(self) -> int:
        """Rows from which the metric that is chosen is learned again."""
        return MORE_METRIC_ROWS if self.is_tuned else METRIC_ROWS

    @property
    def learns_again(self) -> bool:
        """Whether the metric that is chosen is learned again, from more rows."""
        return self.searched == "full"

    def learns_first(self, choice: MapChoice) -> bool:
        """Whether it is before the last round, as a whole matrix of many numbers, which few rows misjudge."""
        return self.learns_again and self.is_tuned and choice.is_full

    def rows_of_map(self, most: int) -> int:
        """Rows of the sample that a map is learned from, of which weighted ones count as several."""
        return most if self.problem.max_relative_weight != 1.0 else min(self.sample_rows, most)

    @property
    def bucket_sample(self) -> int:
        """Rows of the sample in a bucket, at most."""
        return max(1, math.ceil(self.sample_rows * min(1.0, self.bucket_rows / self.problem.n_rows)))

    @property
    def tuned_rows(self) -> int:
        """Most rows of a cell that settings are tried on: smaller ones have the same rows near each other."""
        return min(self.cell_rows, self._fewer(METRIC_ROWS))

    @property
    def n_tuned(self) -> int:
        """Cells that are tried."""
        wanted = _TUNED_QUADRATIC if self.quadratic else _TUNED_ROWS
        return max(wanted // self.tuned_rows, LEAST_TUNED)

    def tuned(self, n_buckets: int) -> NDArray[np.int32]:
        """The buckets of which cells are tried."""
        return np.unique(np.linspace(0, n_buckets - 1, min(self.n_tuned, n_buckets)).astype(np.int32))

    @property
    def machine_bytes(self) -> int:
        """Bytes of a bucket's machines, if every row has a coefficient."""
        d, k = self.problem.n_features, self.problem.n_outputs
        return (
            self.bucket_rows * (4 * d + (8 if self.is_double else 4) * k)
            + 2 * BUCKET_CELLS * (4 * d + 8 * k + 32)
            + self.bucket_rows * 64
        )
