"""Rows that are held out of some cells: for probabilities of classes, and for the score that is reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.held_out import keys_of, row_keys
from distkern.core.rng import Purpose, stream
from distkern.core.scores import temperature
from distkern.core.stores import ArrayStore
from distkern.core.tiles import release
from distkern.core.types import Array, Block, Floats
from distkern.maths.losses.classes import Logistic
from distkern.solvers._cells.buckets import Machines, Solving
from distkern.solvers._cells.held_out import HELD_OUT, folds_of
from distkern.solvers._cells.machine import solve_cell

#: most buckets and cells with held-out rows; fewest cells, if there are enough
MOST_BUCKETS, MOST_CELLS, LEAST_CELLS = 16, 32, 8
#: cells of real targets, at most: these are factorised again, and errors differ from cell to cell by factors
MOST_REAL = 12
#: rows of these cells, about; and below which each of them is held out once
ENOUGH_ROWS, FEW_ROWS = 25_000, 2000
#: the pass over cells with most rows of the rarest class
RAREST = "calibrate rarest"
#: first index of the streams of a bucket
_ORDER = 6
#: rows of a class that are few; buckets, at most, of which cells with most of its rows are held out then
FEW_OF_A_CLASS, MOST_RARE = 50, 4
#: rows on the line that outputs share, which an output gets with few of its class, up to this margin
_N_SHARED, _FARTHEST = 9, 4.0


@dataclass(frozen=True)
class Sigmoids:
    """p_k = 1 / (1 + exp(-(slope_k f_k + offset_k))) for each output f_k; of several, p_k^power, divided by
    their sum: outputs that are fitted one by one are together too unsure or too sure.

    Attributes
    ----------
    lines : (n_outputs, 3) slopes, offsets, and the power, the same for all
    """

    lines: Array

    def __call__(self, predictions: Floats) -> Array:
        """The probability of each class code, (n_rows, n_classes), of decision values (n_rows, n_outputs)."""
        margins = self.lines[:, 0] * predictions + self.lines[:, 1]
        if len(self.lines) == 1:
            return Logistic().probabilities(margins)
        # log p_k, whose powers are multiples
        logs = -self.lines[0, 2] * np.logaddexp(0.0, -margins)
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    @classmethod
    def fit(cls, predictions: Array, codes: NDArray[np.int64], weights: Array) -> Sigmoids:
        """Platt's maximum likelihood, each output by itself (Platt 1999, as scikit-learn's "sigmoid" does).

        The power has the largest likelihood after that (Guo et al. 2017).

        Where rows of weight N are of a class and rows of weight N' are not, the targets are (N + 1) / (N + 2)
        and 1 / (N' + 2), not 1 and 0, so that the lines stay finite where no row is on the wrong side. Cells
        that rows are held out of may have few rows of a class, or none, which say little of its line: below
        50, or with as few others, its output has 9 more on the line of all outputs together.

        Parameters
        ----------
        predictions : (n_rows, n_outputs) of rows that are held out
        codes : (n_rows,) of the classes; of one output the second is the positive one
        weights : (n_rows,), positive, of any scale
        """
        n_outputs = predictions.shape[1]
        lines = np.zeros((n_outputs, 3))
        lines[:, 2] = 1.0
        if not len(weights):
            # rows that are all equal say nothing
            return cls(lines)
        weights = weights / weights.mean()
        positive = codes[:, None] == (1 if n_outputs == 1 else np.arange(n_outputs))
        if n_outputs == 1:
            lines[0, :2] = _line(predictions[:, 0], positive[:, 0], weights)
            return cls(lines)
        is_rare = np.minimum(positive.sum(axis=0), len(codes) - positive.sum(axis=0)) < FEW_OF_A_CLASS
        shared = _shared(predictions, positive, weights) if is_rare.any() else None
        for output, values in enumerate(predictions.T):
            lines[output, :2] = _line(
                values, positive[:, output], weights, shared if is_rare[output] else None
            )
        logs = -np.logaddexp(0.0, -(lines[:, 0] * predictions + lines[:, 1]))
        lines[:, 2] = temperature(logs, codes, weights)
        return cls(lines)


def _shared(predictions: Array, positive: NDArray[np.bool_], weights: Array) -> tuple[Array, Array] | None:
    """Values and targets on the line of all outputs together, if that rises."""
    rows, outputs = np.arange(len(weights)), np.arange(len(weights)) % predictions.shape[1]
    slope, offset = _line(predictions[rows, outputs], positive[rows, outputs], weights)
    margins = np.linspace(-_FARTHEST, _FARTHEST, _N_SHARED)
    return ((margins - offset) / slope, 1.0 / (1.0 + np.exp(-margins))) if slope > 0 else None


def _line(
    values: Array, positive: NDArray[np.bool_], weights: Array, shared: tuple[Array, Array] | None = None
) -> Array:
    """Slope and offset of one sigmoid; ``shared`` has values and targets that count as a row each."""
    from sklearn.linear_model import LogisticRegression

    inside, outside = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (inside + 1.0) / (inside + 2.0), 1.0 / (outside + 2.0))
    if shared is not None:
        values, targets = np.concatenate([values, shared[0]]), np.concatenate([targets, shared[1]])
        weights = np.concatenate([weights, np.ones(len(shared[0]))])
    # a row counts as both labels, by its target
    rows, labels = np.tile(values, 2)[:, None], np.repeat([1, 0], len(values))
    shares = np.concatenate([targets, 1.0 - targets]) * np.tile(weights, 2)
    fitted = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(rows, labels, shares)
    return np.array([fitted.coef_[0, 0], fitted.intercept_[0]])


@dataclass(frozen=True)
class Calibrating:
    """The operand of :func:`hold_out`.

    Attributes
    ----------
    solving : how machines are solved
    machines : of the buckets, with all rows, from which these are solved on
    n_cells : of a bucket
    n_folds : of the folds of a cell's rows, those that are held out, one after the other
    earlier : buckets of which that was done before: now it is the cell with most rows of the rarest class,
        with all of its folds that were not held out then; None: cells all over the bucket
    """

    solving: Solving
    machines: ArrayStore
    n_cells: int
    n_folds: int
    earlier: tuple[int, ...] | None = None

    def folds(self, number: int, rarest: NDArray[np.int64]) -> dict[int, range]:
        """Which folds of which cells of a bucket are held out, given each cell's rows of the rarest class."""
        even = set(np.linspace(0, len(rarest) - 1, self.n_cells).round().astype(int).tolist())
        if self.earlier is None:
            return dict.fromkeys(even, range(self.n_folds))
        most = int(rarest.argmax())
        done = self.n_folds if number in self.earlier and most in even else 0
        return {most: range(done, HELD_OUT)}


def hold_out(
    item: tuple[int, int], _: Iterator[Block], operand: Calibrating
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Decision values of rows of some cells of a bucket, by machines that have not seen them.

    Parameters
    ----------
    item : the bucket's number, and how many rows it has at most

    Returns
    -------
    an empty record; and of each row that was held out its decision "values" (n, n_outputs), its "targets"
    (n,), its weight times that of its class, "weights", and its cell's number in the bucket, "cells"
    """
    number, cut, settings = item[0], operand.solving.cut, operand.solving.settings
    rows, lies = cut.gathered(*item)
    features = np.asarray(rows.features)
    tree = cut.tree(features, number)
    assert rows.targets is not None
    is_rare = lies & (rows.targets == operand.solving.rarest)
    chosen = operand.folds(number, np.bincount(tree.leaves(features[is_rare]), minlength=tree.n_leaves))
    machines = Machines.of(operand.machines.load(number))
    values, held = [np.zeros((0, cut.risk.n_outputs))], [np.zeros(0, dtype=np.intp)]
    cells = [np.zeros(0, dtype=np.intp)]
    for leaf, inside, own in tree.members(features):
        if leaf not in chosen:
            continue
        inside, own = inside[: cut.cell_rows], own[: cut.cell_rows]
        seed = int(stream(cut.seed, Purpose.ROW_ORDER, _ORDER, number, leaf).integers(2**62))
        whole, _figures = machines.cell(leaf)
        folds = folds_of(keys_of(rows.take(inside)))
        if not folds.any():
            # a cell of a single group has no others to hold out, so equal rows make the folds
            folds = folds_of(row_keys(features[inside]))
        for fold in chosen[leaf]:
            mine, learned = inside[own & lies[inside] & (folds == fold)], inside[folds != fold]
            if not (len(mine) and len(learned)):
                continue
            cell = rows.take(learned)
            targets = cut.risk.targets(cell).astype(np.float64)
            machine = solve_cell(settings, features[learned], targets, cut.risk.repeats(cell), seed, whole)
            values.append(machine.predict(settings, features[mine]))
            held.append(mine)
            cells.append(np.full(len(mine), leaf))
    release()
    taken, repeats = np.concatenate(held), cut.risk.repeats(rows)
    return {}, {
        "values": np.concatenate(values),
        "targets": rows.targets[taken],
        "weights": np.ones(len(taken)) if repeats is None else repeats[taken],
        "cells": np.concatenate(cells),
    }


def sigmoids_of(parts: Sequence[Mapping[str, NDArray[Any]]]) -> Sigmoids:
    """Fitted to what :func:`hold_out` stored."""
    return Sigmoids.fit(*_codes_of(parts))


def held_out_score(
    parts: Sequence[Mapping[str, NDArray[Any]]],
    n_cells: int,
    sigmoids: Sigmoids | None,
    center: Array,
    scale: float,
) -> Array:
    """The score of the machines on rows that they have not seen, and its standard error, (2,).

    The error is that of a mean of rows where all cells are asked, else of a mean of cells drawn from them.

    Parameters
    ----------
    parts : what :func:`hold_out` stored
    n_cells : of all buckets
    sigmoids : of classes, whose score is the log loss; None: the squared error of real targets
    center, scale : the unit of real targets
    """
    if sigmoids is not None:
        values, codes, weights = _codes_of(parts)
        chances = sigmoids(values)
        losses = -np.log(np.maximum(chances[np.arange(len(codes)), codes], np.finfo(np.float64).tiny))
    else:
        values, targets, weights = (
            np.concatenate([part[name] for part in parts]) for name in ("values", "targets", "weights")
        )
        losses = np.square(values[:, 0] * scale + center[0] - targets)[weights > 0]
        weights = weights[weights > 0]
    if not len(weights):
        return np.full(2, np.nan)
    shares = weights / weights.sum()
    mean = float(shares @ losses)
    apart = shares * (losses - mean)
    of_parts = [np.unique(part["cells"][part["weights"] > 0], return_inverse=True) for part in parts]
    starts = np.cumsum([0] + [len(names) for names, _ in of_parts])
    if 1 < starts[-1] < n_cells:
        numbers = [start + own for start, (_, own) in zip(starts, of_parts, strict=False)]
        apart = np.bincount(np.concatenate(numbers), weights=apart)
        apart *= np.sqrt(len(apart) / (len(apart) - 1.0))
    return np.array([mean, np.sqrt(np.square(apart).sum())])


def _codes_of(parts: Sequence[Mapping[str, NDArray[Any]]]) -> tuple[Array, NDArray[np.int64], Array]:
    """Values, class codes and weights of the rows that count."""
    values, codes, weights = (
        np.concatenate([part[name] for part in parts]) for name in ("values", "targets", "weights")
    )
    counted = weights > 0
    return values[counted], codes[counted].astype(np.int64), weights[counted]
