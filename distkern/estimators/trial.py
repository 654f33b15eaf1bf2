"""A trial of estimators on a bounded sample: which one errs least on rows that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.rng import Purpose, stream
from distkern.common.sparse import SparseRows, stacked
from distkern.common.types import AbstractSource, Block
from distkern.engine.executors import open_executor
from distkern.runs.spooled import whole_blocks
from distkern.solvers.comparison import mean_difference, stratified_order

#: of the sample: rows, bytes, and blocks that are read; fewer rows tell nothing
_MOST_ROWS, _MOST_BYTES, _MOST_BLOCKS, _LEAST_ROWS = 4000, 32 * 2**20, 16, 60
#: held out: one row in so many
_HELD_OUT = 4
#: standard errors of the difference by which another one must be better than the first
_CERTAIN = 2.0
#: first index of the streams of the sample
_TRIAL = 16


@dataclass(frozen=True)
class Sample:
    """Rows to learn from, and rows that are held out, with each class in its share.

    Attributes
    ----------
    classes : the labels of the codes; None for real targets
    """

    learned: Block
    held_out: Block
    classes: NDArray[Any] | None

    @classmethod
    def of(cls, source: AbstractSource, classes: NDArray[Any] | None, seed: int) -> Sample:
        """Rows of some blocks that lie evenly in the data, drawn by the seed."""
        chosen = sorted({source.n_blocks * place // _MOST_BLOCKS for place in range(_MOST_BLOCKS)})
        row_bytes = source.row_numbers * source.dtype.itemsize
        wanted = min(_MOST_ROWS, max(_MOST_BYTES // row_bytes, _LEAST_ROWS))
        there = sum(source.block_rows[index] for index in chosen)
        parts = []
        for index in chosen:
            block = _block(source, index)
            share = min(block.n_rows, -(-block.n_rows * wanted // there))
            order = stream(seed, Purpose.SAMPLE, _TRIAL, index).permutation(block.n_rows)
            parts.append(block.take(np.sort(order[:share])))
        weighted = parts[0].weights is not None
        rows = Block(
            stacked([part.features for part in parts]),
            np.concatenate([part.targets for part in parts]),
            np.concatenate([part.weights for part in parts]) if weighted else None,
        )
        order = stratified_order(rows.targets if classes is not None else None, rows.n_rows, seed)
        n_held_out = rows.n_rows // _HELD_OUT
        learned, held_out = (rows.take(np.sort(part)) for part in (order[n_held_out:], order[:n_held_out]))
        return cls(learned, held_out, classes)

    @property
    def tells(self) -> bool:
        """Whether there are rows enough to choose by, and more than one class to learn."""
        several = self.classes is None or np.ptp(np.asarray(self.learned.targets)) > 0
        return several and self.learned.n_rows >= _LEAST_ROWS

    def compared(self, models: Sequence[Any]) -> tuple[int, list[float]]:
        """Which model is taken, and what each loses on average: errors, or squares over the variance.

        The first one unless another is better by more than two standard errors of the difference.
        """
        losses = [self._losses(model) for model in models]
        scores = [float(one.mean()) for one in losses]
        best = int(np.argmin(scores))
        mean, error = mean_difference(losses[0], losses[best])
        return best if mean > _CERTAIN * error else 0, scores

    def _losses(self, model: Any) -> NDArray[np.float64]:
        asked, classes = self.held_out, self.classes
        learned, targets = (
            np.asarray(part.targets if classes is None else classes[part.targets])
            for part in (self.learned, asked)
        )
        model.fit(_array(self.learned), learned, sample_weight=self.learned.weights)
        found = np.asarray(model.predict(_array(asked)))
        shares = np.ones(len(targets)) if asked.weights is None else asked.weights / asked.weights.mean()
        if classes is None:
            return np.asarray(shares * np.square(found - targets) / (float(np.var(targets)) or 1.0))
        return np.asarray(shares * (found != targets))


def _block(source: AbstractSource, index: int) -> Block:
    if not source.is_graph:
        return source.reader(index)()
    # what is a graph still is a single block: others have been written
    with open_executor("synchronous") as executor:
        return next(block for place, block in enumerate(whole_blocks(source, executor)) if place == index)


def _array(block: Block) -> Any:
    rows = block.features
    return rows.to_scipy() if isinstance(rows, SparseRows) else rows
