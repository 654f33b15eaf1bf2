"""The passes that look at rows: a sample of them, how many lie in each leaf, moving them to their buckets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.rng import Purpose, stream
from distkern.common.sparse import converted
from distkern.common.types import Block, Floats
from distkern.solvers._cells.below import Below
from distkern.solvers._cells.place import Places
from distkern.solvers.measuring import Sums, sums_and_slopes
from distkern.solvers.risk import Risk

#: first index of the streams of the sample
_SAMPLE = 6


@dataclass(frozen=True)
class Sampling:
    """The operand of :func:`sample_block`: ``size`` rows of all, as many of a block as are its share.

    ``below``: a model under the cells.
    """

    risk: Risk
    offsets: NDArray[np.int64]
    size: int
    seed: int
    below: Below | None = None


@dataclass(frozen=True)
class Sample:
    """Rows drawn of some blocks, and the sums of the model 0, or of the one below, over all their rows.

    Attributes
    ----------
    features : (n, d), dense
    targets, weights : (n,); weights are 1 where rows have none
    offsets : (n, n_outputs) what the model below predicts; None where there is none
    """

    features: Floats
    targets: NDArray[Any]
    weights: NDArray[np.float64]
    sums: Sums
    offsets: NDArray[np.float64] | None = None

    @staticmethod
    def add(first: Sample, second: Sample) -> Sample:
        """That of earlier and that of later blocks."""
        return Sample(
            np.concatenate([first.features, second.features]),
            np.concatenate([first.targets, second.targets]),
            np.concatenate([first.weights, second.weights]),
            Sums.add(first.sums, second.sums),
            None
            if first.offsets is None or second.offsets is None
            else np.concatenate([first.offsets, second.offsets]),
        )


def sample_block(block: Block, operand: Sampling) -> Sample:
    """The rows drawn of a block."""
    ends = operand.offsets[block.index : block.index + 2] * operand.size // operand.offsets[-1]
    order = stream(operand.seed, Purpose.SAMPLE, _SAMPLE, block.index).permutation(block.n_rows)
    chosen = np.sort(order[: int(ends[1] - ends[0])])
    drawn = block.take(chosen)
    below = None if operand.below is None else operand.below(block.features)
    sums = first_sums(block, operand.risk, below)
    offsets = None if below is None else below[chosen]
    return Sample(dense(drawn), *targets_and_weights(drawn), sums, offsets)


def first_sums(block: Block, risk: Risk, below: NDArray[np.float64] | None) -> Sums:
    """The sums of a block at the model 0, or at what is below it."""
    values = np.zeros((block.n_rows, risk.n_outputs)) if below is None else below
    return sums_and_slopes(risk, block, values, slopes=False)[0]


def dense(block: Block) -> Floats:
    """The features of a block, with their zeros."""
    return np.asarray(converted(block.features, sparse=False))


def targets_and_weights(block: Block) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Targets and weights, 1 where there are none."""
    assert block.targets is not None
    weights = np.ones(block.n_rows) if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    return block.targets, weights


def count_leaves(block: Block, places: Places) -> NDArray[np.int64]:
    """Rows of a block in each leaf, neighbours included, (n_leaves,)."""
    counts = np.zeros(places.tree.n_leaves, dtype=np.int64)
    for leaf, part, _ in places.tree.members(places.rows(dense(block))):
        counts[leaf] = len(part)
    return counts


@dataclass(frozen=True)
class Moving:
    """The operand of :func:`move_rows`.

    Attributes
    ----------
    places : where rows lie
    buckets : those whose rows are moved, with their own features; None: all, with their coordinates
    below : a model under the cells, whose predictions are moved with the rows
    """

    places: Places
    buckets: NDArray[np.int32] | None = None
    below: Below | None = None


def move_rows(
    _: Any, blocks: Iterator[Block], operand: Moving
) -> tuple[dict[str, Any], NDArray[np.int64], dict[str, NDArray[Any]]]:
    """The rows of some blocks, sorted by bucket; neighbours are in several.

    The record has the "counts" of the buckets where these are some.
    """
    places, wanted = operand.places, operand.buckets
    parts = []
    for block in blocks:
        features = dense(block)
        rows = places.rows(features)
        order, buckets, lies = places.sorted_rows(rows)
        if wanted is not None:
            rows, kept = features, np.isin(buckets, wanted)
            order, buckets, lies = order[kept], buckets[kept], lies[kept]
        targets, weights = targets_and_weights(block)
        part = [rows[order], targets[order], weights[order], lies.astype(np.uint8), buckets]
        parts.append(part if operand.below is None else [*part, operand.below(block.features)[order]])
    names = ("features", "targets", "weights", "lies", "bucket", "offsets")
    # without a model below there are no offsets
    arrays = dict(zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=False))
    buckets = arrays.pop("bucket")
    order = np.argsort(buckets, kind="stable")
    numbers = np.arange(places.n_buckets) if wanted is None else wanted
    offsets = np.append(np.searchsorted(buckets[order], numbers), len(order)).astype(np.int64)
    record = {} if wanted is None else {"counts": np.diff(offsets).tolist()}
    return record, offsets, {name: values[order] for name, values in arrays.items()}
