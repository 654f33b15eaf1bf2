"""Trials of hyperparameters: a sample of the rows, and what is lost on those of it that are held out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.choices import with_values
from distkern.common.sparse import stacked
from distkern.common.tiles import release
from distkern.common.types import Block
from distkern.solvers._searched.alone import run_alone
from distkern.solvers.base import Problem
from distkern.solvers.measuring import Model
from distkern.solvers.sample import Sample
from distkern.solvers.searchable import AbstractSearchable

Array = NDArray[np.float64]

#: of a row, at most: a trial that diverges is worse than any other, and can be compared
_MOST_LOST = 1e6


@dataclass(frozen=True)
class Trials:
    """The operand of :func:`try_values`.

    Attributes
    ----------
    solver : with fewer functions than the run's
    problem : of the rows that are learned from
    """

    solver: AbstractSearchable[Any]
    problem: Problem
    learned: Block
    held_out: Block


def sampled(block: Block, sample: Sample) -> Block:
    """The sample's rows of a block."""
    return sample.rows(block)


def joined(first: Block, second: Block) -> Block:
    """Rows of ``first``, then rows of ``second``."""
    assert first.targets is not None
    assert second.targets is not None
    weights = None
    if first.weights is not None and second.weights is not None:
        weights = np.concatenate([first.weights, second.weights])
    targets = np.concatenate([first.targets, second.targets])
    return Block(stacked([first.features, second.features]), targets, weights)


def try_values(
    values: Mapping[str, Any], _: Iterator[Block], operand: Trials
) -> tuple[dict[str, float], dict[str, Array]]:
    """A run with some values.

    Returns
    -------
    a record without anything in it, and an array: "losses" (n_held_out,), see :func:`losses_of`
    """
    with np.errstate(all="ignore"):
        solver = with_values(operand.solver, values)
        state = run_alone(solver, operand.problem, operand.learned)
        losses = losses_of(solver.model(operand.problem, state), operand.held_out)
    release()
    return {}, {"losses": losses}


def losses_of(model: Model, rows: Block) -> Array:
    """Of each row: its weight where its class is not the predicted one, or its loss, of real targets."""
    found = []
    for strip in model.strips(rows):
        predictions, weights = model.predictions(strip.features), model.risk.weights(strip)
        if model.risk.is_real:
            losses = model.risk.values(predictions, model.risk.targets(strip), weights)
        else:
            wrong = model.risk.codes(predictions) != strip.targets
            losses = (wrong | ~np.isfinite(predictions).all(axis=1)).astype(np.float64)
            losses = losses if weights is None else losses * weights
        found.append(losses)
    return np.nan_to_num(np.concatenate(found), nan=_MOST_LOST, posinf=_MOST_LOST).clip(max=_MOST_LOST)
