"""Quantiles of a model's scores over all training rows, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from distkern.core.types import Array, Block, Floats
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.measuring import Model
from distkern.solvers.sample import Sampled, SampledModel, sample_of_every_block
from distkern.solvers.targets import TargetSummary

#: most rows with exact quantiles after one pass; with more, a sample of this size brackets the quantiles
SAMPLED_ROWS = 2**14
#: bins between the ends of a bracket
_BINS = 4096
#: half width of a bracket in standard errors of the sample
_REACH = 6.0
#: first index of the streams of drawn rows
_SAMPLE = 4


@dataclass(frozen=True)
class Scored(SampledModel):
    """The operand of passes over the scores of rows.

    Attributes
    ----------
    scores : module-level function of predictions (n_rows, k), the model and their block; returns (n_rows, k)
    edges : (k, _BINS + 1) sorted edges to count between; None summarises the scores
    """

    scores: Callable[[Floats, Model, Block], Floats]
    edges: Array | None = None


@dataclass(frozen=True)
class BracketCounts:
    """Weight of the scores in each bin of a bracket.

    Attributes
    ----------
    masses : (k, _BINS + 2), the last one beyond the last edge
    largest : (k, _BINS + 2), the largest score in each bin, -inf if it is empty
    """

    masses: Array
    largest: Array

    @staticmethod
    def add(first: BracketCounts, second: BracketCounts) -> BracketCounts:
        """The counts over the rows of both."""
        return BracketCounts(first.masses + second.masses, np.maximum(first.largest, second.largest))

    def quantile(self, output: int, level: float) -> float:
        """The largest score in the quantile's bin."""
        masses = self.masses[output]
        place = int(np.searchsorted(np.cumsum(masses), level * float(masses.sum())))
        seen = self.largest[output, : min(place, _BINS) + 1]
        finite = seen[np.isfinite(seen)]
        return float(finite[-1]) if len(finite) else float(self.largest[output].max())


def quantiles_of_scores(
    problem: Problem,
    model: Model,
    scores: Callable[[Floats, Model, Block], Floats],
    levels: Sequence[float],
    cost: Cost,
    *,
    sampled: bool,
) -> Steps[Array]:
    """Return the quantile ``levels[j]`` of the weighted scores of output j, (k,).

    Quantiles of up to 2^14 training rows are exact. Of more rows, about 2^14 are sampled from all blocks;
    unless the sample's quantiles suffice (``sampled``), a second pass over all rows counts scores in 4096
    bins within 6 standard errors of them. The result is then the largest score of the quantile's bin, which
    holds about 10^-5 of the rows, or a single score shared by many rows.

    Parameters
    ----------
    scores : see :class:`Scored`
    cost : cost of predicting a block
    """
    is_large = problem.n_rows > SAMPLED_ROWS
    sample = sample_of_every_block(problem, SAMPLED_ROWS, _SAMPLE) if is_large else None
    operand = Scored(model, sample, scores)
    found: tuple[TargetSummary, ...] = yield _summary_pass(cost, operand, len(levels))
    if sampled or sample is None:
        return np.array([one.quantile(level) for one, level in zip(found, levels, strict=True)])
    edges = np.stack([_bracket(one, level) for one, level in zip(found, levels, strict=True)])
    whole = replace(operand, sample=None, edges=edges)
    counts: BracketCounts = yield _counting_pass(cost, whole, len(edges))
    return np.array([counts.quantile(output, level) for output, level in enumerate(levels)])


def quantiles_of_sample(
    model: Model,
    scores: Callable[[Floats, Model, Block], Floats],
    levels: Sequence[float],
    cost: Cost,
    sample: Sampled,
) -> Steps[Array]:
    """Like :func:`quantiles_of_scores`, over the rows selected by ``sample``; NaN if there are none."""
    operand = Scored(model, sample, scores)
    found: tuple[TargetSummary, ...] = yield _summary_pass(cost, operand, len(levels))
    return np.array(
        [one.quantile(level) if one.weight else math.nan for one, level in zip(found, levels, strict=True)]
    )


def residuals(predictions: Floats, model: Model, block: Block) -> Floats:
    """The scores y - f, in the scale of the risk."""
    return model.risk.targets(block) - predictions


def quantiles_outline(problem: Problem, cost: Cost, n_outputs: int, times: int) -> list[Outline]:
    """The passes of ``times`` calls of :func:`quantiles_of_scores`, the last of which is not ``sampled``."""
    passes = [Outline(_summary_pass(cost, None, n_outputs), times)]
    if problem.n_rows > SAMPLED_ROWS:
        passes.append(Outline(_counting_pass(cost, None, n_outputs), 1))
    return passes


def _bracket(summary: TargetSummary, level: float) -> Array:
    """Edges around a quantile of all rows, from the summary of sampled ones."""
    reach = _REACH * math.sqrt(max(level * (1 - level), 1e-4) / SAMPLED_ROWS)
    least, largest = (
        summary.quantile(min(max(level + sign * reach, 0.0), 1.0)) if 0 < level + sign * reach < 1 else end
        for sign, end in ((-1, summary.least), (1, summary.largest))
    )
    return np.linspace(least, largest, _BINS + 1)


def _summary_pass(cost: Cost, operand: Scored | None, n_outputs: int) -> Reduce[tuple[TargetSummary, ...]]:
    cost = replace(cost, result_bytes=16 * SAMPLED_ROWS * n_outputs)
    return Reduce("quantiles of a sample", _summaries, _add_summaries, operand, cost=cost)


def _counting_pass(cost: Cost, operand: Scored | None, n_outputs: int) -> Reduce[BracketCounts]:
    cost = replace(cost, result_bytes=16 * (_BINS + 2) * n_outputs)
    return Reduce("quantiles", _counts, BracketCounts.add, operand, cost=cost)


def _scores(block: Block, operand: Scored) -> tuple[Array, Array]:
    """Return scores (n_rows, k) and weights (n_rows,) of a block's rows."""
    block, model = operand.rows(block), operand.model
    # a sample may select no row of a block
    parts = [np.empty((0, model.risk.n_outputs))] + [
        operand.scores(model.predictions(strip.features), model, strip).astype(np.float64)
        for strip in model.strips(block)
    ]
    return np.concatenate(parts), model.risk.all_weights(block)


def _summaries(block: Block, operand: Scored) -> tuple[TargetSummary, ...]:
    scores, weights = _scores(block, operand)
    return tuple(TargetSummary.of(column, weights) for column in scores.T)


def _add_summaries(
    first: tuple[TargetSummary, ...], second: tuple[TargetSummary, ...]
) -> tuple[TargetSummary, ...]:
    return tuple(TargetSummary.add(one, other) for one, other in zip(first, second, strict=True))


def _counts(block: Block, operand: Scored) -> BracketCounts:
    scores, weights = _scores(block, operand)
    assert operand.edges is not None
    masses = np.zeros((scores.shape[1], _BINS + 2))
    largest = np.full_like(masses, -math.inf)
    for output, edges in enumerate(operand.edges):
        # bin j holds the scores in (edge j - 1, edge j]
        bins = np.searchsorted(edges, scores[:, output], side="left")
        masses[output] = np.bincount(bins, weights=weights, minlength=_BINS + 2)
        np.maximum.at(largest[output], bins, scores[:, output])
    return BracketCounts(masses, largest)
