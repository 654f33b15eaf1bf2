"""The rows on which machines are compared before a run: a sample, and all rows near some of its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.choose.folds import LANDMARKS, memory_of
from distkern.choose.ladder import EXACT_ROWS, STANDARD, LadderResult, choose_exact, climb
from distkern.choose.machines import Kernel, SampleRows
from distkern.choose.rungs import LADDER_ROWS, compiles_city_block
from distkern.core.processes import trim
from distkern.core.tiles import release
from distkern.core.types import AbstractSource, Block
from distkern.estimators.sample import FoldedSample, most_rows, neighbourhood_bytes, neighbourhoods
from distkern.maths.maps.mapping import MapChoice, RowMap, fitting_bytes
from distkern.passes import Extent, Machine
from distkern.passes.machine import COMPILING_BYTES
from distkern.solvers._cells.layout import auto_cell_rows
from distkern.solvers._cells.machine import solved_values

if TYPE_CHECKING:
    from distkern.choose.folds import TriedMachine
    from distkern.maths.losses.base import AbstractDualLoss
    from distkern.runs.data import TrainingData


#: fewest rows of a sample that memory limits leave
_LEAST_SAMPLE = 1000
#: bytes of a pair of rows: kernel values of classes; of real targets, with their factor; and of both while
#: kernels are compared (:data:`~distkern.choose.rungs.LADDER_ROWS`)
_CLASS_PAIR, _REAL_PAIR, _RUNG_PAIR = 4, 8, 16


@dataclass(frozen=True)
class ArenaSizes:
    """Numbers of rows on which machines are compared.

    Attributes
    ----------
    n_classes : number of classes; 0 for real targets
    sample_rows : most rows of the sample
    exact_rows : most training rows of exact machines while settings are searched
    cell_rows : most training rows of the delivered machine: the rows of a cell, or fewer if memory is limited
    """

    n_classes: int
    sample_rows: int
    exact_rows: int
    cell_rows: int

    @classmethod
    def of(
        cls, source: AbstractSource, n_classes: int, *, limit: int | None = None, cell_rows: int | None = None
    ) -> ArenaSizes:
        """Return the sizes for a source, as large as a memory limit allows.

        Exact machines shrink to 1,000 rows first, then the sample to a tenth, or 1,000 rows if that is more.
        The smallest sizes may still exceed the limit.

        Parameters
        ----------
        limit : memory limit of the process in bytes. All libraries count, so that the choice does not depend
            on what the process has loaded
        cell_rows : rows of a cell; None: the number that suits the source
        """
        is_real, full = not n_classes, most_rows(source)
        if cell_rows is None:
            cell_rows = auto_cell_rows(source.n_rows, source.n_features, quadratic=is_real)

        def sizes(of_exact: int, of_sample: int) -> ArenaSizes:
            most = max(EXACT_ROWS * of_exact // 10, LADDER_ROWS)
            rows = min(cell_rows, (1 if is_real else 2) * most)
            sample_rows = max(full * of_sample // 10, min(full, _LEAST_SAMPLE))
            return cls(n_classes, sample_rows, min(most, rows), rows)

        tenths = [*((exact, 10) for exact in range(10, 1, -1)), *((0, sample) for sample in range(9, 0, -1))]
        process = Machine("synchronous", 1, has_library=True).driver_base_bytes
        for found in starmap(sizes, tenths):
            if limit is None or process + found.bytes_for(source)[0] <= limit:
                break
        return found

    def bytes_for(self, source: AbstractSource, *, always_exact: bool = False) -> tuple[int, bool]:
        """Return the most bytes that a comparison needs besides the process itself; whether it compiles.

        ``always_exact`` : whether exact machines are compared even if all rows may be centres
        """
        n_rows, n_features = source.n_rows, source.n_features
        n_bytes = memory_of(self.sample_rows, n_features, max(self.n_classes, 1))
        is_exact = always_exact or n_rows > LANDMARKS
        if is_exact:
            pair = _CLASS_PAIR if self.n_classes else _REAL_PAIR
            rung = _RUNG_PAIR * min(n_rows, LADDER_ROWS) ** 2
            learned = min(n_rows, max(self.exact_rows, LADDER_ROWS))
            fitting = fitting_bytes(MapChoice(metric="full"), learned, n_features, max(self.n_classes, 1))
            n_bytes += max(pair * min(n_rows, self.cell_rows) ** 2, rung, fitting)
        centres = min(n_rows, max(LANDMARKS, self.exact_rows))
        compiles = (is_exact and self.n_classes > 0) or compiles_city_block(centres, n_features)
        n_bytes += COMPILING_BYTES if compiles else 0
        extent = Extent.of(source)
        read = 2 * extent.largest_block_bytes + extent.reader_bytes
        n_bytes += extent.all_bytes if extent.in_memory else read
        near = 0 if source.is_sparse else neighbourhood_bytes(source, self.cell_rows)
        return n_bytes + near, compiles


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
        sample = FoldedSample.of(
            data.source, classes, seed, shares, together=data.has_means, n_rows=sizes.sample_rows
        )
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
        trim()
        return result

    def exact(
        self,
        maps: Sequence[MapChoice],
        kernels: Sequence[Kernel],
        ridges: Sequence[float] | None,
        loss: AbstractDualLoss,
        trend: str | None = None,
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
            trend=trend if self.is_real else None,
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
