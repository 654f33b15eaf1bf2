"""The rows on which machines are compared before a run: a sample, and all rows near some of its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.choose.folds import memory_of
from distkern.choose.ladder import EXACT_ROWS, STANDARD, LadderResult, choose_exact, climb
from distkern.choose.machines import Kernel, SampleRows
from distkern.core.tiles import release
from distkern.core.types import AbstractSource, Block
from distkern.estimators.sample import FoldedSample, most_rows, neighbourhood_bytes, neighbourhoods
from distkern.maths.maps.mapping import MapChoice, RowMap
from distkern.solvers._cells.layout import auto_cell_rows
from distkern.solvers._cells.machine import solved_values

if TYPE_CHECKING:
    from distkern.choose.folds import TriedMachine
    from distkern.maths.losses.base import AbstractDualLoss
    from distkern.runs.data import TrainingData


@dataclass(frozen=True)
class ArenaSizes:
    """Numbers of rows on which exact machines are compared.

    Attributes
    ----------
    exact_rows : most training rows while settings are searched
    cell_rows : most training rows of the delivered machine: the rows of a cell, or fewer if memory is limited
    """

    exact_rows: int
    cell_rows: int

    @classmethod
    def of(
        cls, source: AbstractSource, *, is_real: bool, limit: int | None = None, cell_rows: int | None = None
    ) -> ArenaSizes:
        """Return the sizes for a source.

        The matrices fit in a quarter of the memory limit, but have at least 500 rows. A matrix of the squared
        loss has double precision, others have single precision.

        Parameters
        ----------
        limit : memory limit of the process in bytes
        cell_rows : rows of a cell; None: the number that suits the source
        """
        most = EXACT_ROWS if limit is None else min(EXACT_ROWS, max(500, math.isqrt(limit // 96)))
        if cell_rows is None:
            cell_rows = auto_cell_rows(source.n_rows, source.n_features, quadratic=is_real)
        cell_rows = min(cell_rows, (1 if is_real else 2) * most)
        return cls(min(most, cell_rows), cell_rows)

    def bytes_for(self, source: AbstractSource) -> int:
        """Return the most bytes that a comparison needs besides the process itself."""
        n_bytes = memory_of(most_rows(source), source.n_features, self.exact_rows)
        return n_bytes if source.is_sparse else n_bytes + neighbourhood_bytes(source, self.cell_rows)


@dataclass(frozen=True)
class Arena:
    """A sample of the training data on which machines are compared.

    Attributes
    ----------
    data : the training data of the run
    sample : sampled rows
    seed : seed of all draws
    sizes : sizes of exact machines
    class_weights : (n_classes,), or None
    """

    data: TrainingData
    sample: FoldedSample
    seed: int
    sizes: ArenaSizes
    class_weights: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        data: TrainingData,
        seed: int,
        sizes: ArenaSizes,
        class_weights: NDArray[np.float64] | None = None,
    ) -> Arena:
        """Draw the sample."""
        classes, shares = None, None
        if len(data.classes):
            classes, shares = data.classes, data.class_totals / max(data.class_totals.sum(), 1.0)
        sample = FoldedSample.of(data.source, classes, seed, shares, together=data.has_means)
        return cls(data, sample, seed, sizes, class_weights)

    @property
    def is_real(self) -> bool:
        """Whether the targets are real numbers."""
        return self.sample.classes is None

    def climb(self, linear_map: MapChoice = STANDARD) -> LadderResult:
        """Choose a machine, see :func:`~distkern.choose.ladder.climb`.

        Parameters
        ----------
        linear_map : map of linear machines
        """
        source = self.data.source
        # rows of very different sizes overflow in maps that are then not chosen
        with np.errstate(all="ignore"):
            result = climb(
                self._rows(self.sample.rows),
                list(self.sample.parts()),
                source.n_rows,
                self.seed,
                # maps turn the zeros of sparse rows into other numbers
                maps=[MapChoice("none")] if source.is_sparse else None,
                linear_map=linear_map,
                exact_rows=self.sizes.exact_rows,
                cell_rows=self.sizes.cell_rows,
                solve=None if self.is_real else partial(solved_values, seed=self.seed),
                around=None if source.is_sparse else self._around,
            )
        release()
        return result

    def exact(
        self,
        maps: Sequence[MapChoice],
        kernels: Sequence[Kernel],
        ridges: Sequence[float] | None,
        loss: AbstractDualLoss,
        *,
        is_wide: bool,
    ) -> TriedMachine:
        """Choose an exact machine, see :func:`~distkern.choose.ladder.choose_exact`.

        Parameters
        ----------
        loss : loss of machines for classes
        """
        result = choose_exact(
            self._rows(self.sample.rows),
            list(self.sample.parts()),
            self.data.source.n_rows,
            self.seed,
            maps=maps,
            kernels=kernels,
            ridges=ridges,
            is_wide=is_wide,
            exact_rows=self.sizes.exact_rows,
            cell_rows=self.sizes.cell_rows,
            solve=None if self.is_real else partial(solved_values, seed=self.seed, loss=loss),
            around=None if self.data.source.is_sparse else self._around,
        )
        release()
        return result

    def _rows(self, block: Block) -> SampleRows:
        unit = np.asarray(self.sample.rows.targets, dtype=np.float64)
        n_classes, multiplicity = len(self.data.classes), self.data.multiplicity
        return SampleRows.of(block, n_classes, self.class_weights, unit, multiplicity)

    def _around(
        self, mapping: RowMap, n_near: int, n_anchors: int | None = None
    ) -> list[tuple[SampleRows, SampleRows]]:
        pairs = neighbourhoods(self.data.source, self.sample, mapping, n_near, self.seed, n_anchors)
        return [(self._rows(train), self._rows(held_out)) for train, held_out in pairs]


def gamma_rule(kernel: Kernel) -> str:
    """Return the ``gamma`` of a kernel's width: the rule divides sqrt(2) times the median distance."""
    return f"median/{math.sqrt(2.0) / kernel.width:.4g}"


def kernel_params(kernel: Kernel) -> dict[str, Any]:
    """Return the hyperparameters of a kernel."""
    return {"kernel": kernel.name, **dict(kernel.parameters), "gamma": gamma_rule(kernel)}
