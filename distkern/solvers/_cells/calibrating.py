"""Rows held out of some cells, for probabilities of classes and for the reported score.

Probabilities are sigmoids of decision values (Platt 1999) with a common power (Guo et al. 2017). The papers
fit them by cross-validation over all rows; here a few cells are solved once more without some of their rows:

    choose 8 to 32 cells all over the data        cells_held_out
    for each, and one or more of 5 folds:         hold_out, a task for each bucket
        solve the machine without the fold        solve_cell, from the coefficients of the whole machine
        predict the rows of the fold              there
    if these have few rows of the rarest class,
        hold out cells with most of its rows too  hold_rows_out
    fit a sigmoid for each output                 Sigmoids.fit
    score the rows with it                        held_out_score
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.held_out import Keys, groups_of, keys_of, row_keys
from distkern.core.rng import Purpose, stream
from distkern.core.scores import sigmoid_line, temperature
from distkern.core.stores import ArrayStore, Store
from distkern.core.tiles import release
from distkern.core.types import Array, Block, Floats
from distkern.maths.losses.classes import Logistic
from distkern.passes import Each, Outline
from distkern.solvers._cells.buckets import Machines, Solving
from distkern.solvers._cells.layout import CellLayout
from distkern.solvers._cells.machine import solve_cell
from distkern.solvers.base import Problem, Steps

#: folds of a cell's rows
_FOLDS = 5
#: most buckets and cells with held-out rows; fewest cells, if there are enough
_MOST_BUCKETS, MOST_CELLS, _LEAST_CELLS = 16, 32, 8
#: most cells of real targets: these are factorised again, and errors of cells differ by large factors
_MOST_REAL = 12
#: approximate rows of these cells, and the number below which each row is held out once
_ENOUGH_ROWS, _FEW_ROWS = 25_000, 2000
#: the pass over cells with most rows of the rarest class
_RAREST = "calibrate rarest"
#: first index of the streams of a bucket
_ORDER = 6
#: rows of a class below which they are few, and most buckets of which the cell with most of its rows is then
#: held out
_FEW_OF_A_CLASS, _MOST_RARE = 50, 4
#: rows on the common line that are added for an output with few rows of its class, up to this margin
_N_SHARED, _FARTHEST = 9, 4.0

#: what :func:`hold_out` stores
Held = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Sigmoids:
    """p_k = 1 / (1 + exp(-(slope_k f_k + offset_k))) for each output f_k.

    With several outputs the probabilities are p_k^power divided by their sum, since outputs fitted one by one
    are jointly over- or underconfident.

    Attributes
    ----------
    lines : (n_outputs, 3) slopes, offsets, and the common power
    """

    lines: Array

    def __call__(self, predictions: Floats) -> Array:
        """Return class probabilities (n_rows, n_classes) for decision values (n_rows, n_outputs)."""
        margins = self.lines[:, 0] * predictions + self.lines[:, 1]
        if len(self.lines) == 1:
            return Logistic().probabilities(margins)
        # log p_k^power
        logs = -self.lines[0, 2] * np.logaddexp(0.0, -margins)
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    @classmethod
    def fit(cls, predictions: Array, codes: NDArray[np.int64], weights: Array) -> Sigmoids:
        """Fit each output by maximum likelihood (Platt 1999, as scikit-learn's "sigmoid"), then the power
        (Guo et al. 2017).

        For rows of total weight N in a class and N' outside it, the targets are (N + 1) / (N + 2) and 1 / (N'
        + 2) instead of 1 and 0, so that lines stay finite without misclassified rows. Held-out rows may
        include few rows of a class, which hardly determine its line: with fewer than 50 rows inside or
        outside the class, an output gets 9 more rows on the common line of all outputs.

        Parameters
        ----------
        predictions : (n_rows, n_outputs) of held-out rows
        codes : (n_rows,) class codes; with one output the second class is the positive one
        weights : (n_rows,), positive, on any scale
        """
        n_outputs = predictions.shape[1]
        lines = np.zeros((n_outputs, 3))
        lines[:, 2] = 1.0
        if not len(weights):
            # equal rows cannot be held out
            return cls(lines)
        weights = weights / weights.mean()
        positive = codes[:, None] == (1 if n_outputs == 1 else np.arange(n_outputs))
        if n_outputs == 1:
            lines[0, :2] = _line(predictions[:, 0], positive[:, 0], weights)
            return cls(lines)
        counts = positive.sum(axis=0)
        is_rare = np.minimum(counts, len(codes) - counts) < _FEW_OF_A_CLASS
        shared = _shared(predictions, positive, weights) if is_rare.any() else None
        for output, values in enumerate(predictions.T):
            added = shared if is_rare[output] else None
            lines[output, :2] = _line(values, positive[:, output], weights, added)
        logs = -np.logaddexp(0.0, -(lines[:, 0] * predictions + lines[:, 1]))
        lines[:, 2] = temperature(logs, codes, weights)
        return cls(lines)


def _shared(predictions: Array, positive: NDArray[np.bool_], weights: Array) -> tuple[Array, Array] | None:
    """Return values and targets on the common line of all outputs, or None if it does not rise."""
    rows, outputs = np.arange(len(weights)), np.arange(len(weights)) % predictions.shape[1]
    slope, offset = _line(predictions[rows, outputs], positive[rows, outputs], weights)
    margins = np.linspace(-_FARTHEST, _FARTHEST, _N_SHARED)
    return ((margins - offset) / slope, 1.0 / (1.0 + np.exp(-margins))) if slope > 0 else None


def _line(
    values: Array, positive: NDArray[np.bool_], weights: Array, shared: tuple[Array, Array] | None = None
) -> Array:
    """Return slope and offset of a sigmoid; ``shared`` has values and targets of additional rows."""
    inside, outside = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (inside + 1.0) / (inside + 2.0), 1.0 / (outside + 2.0))
    if shared is not None:
        values, targets = np.concatenate([values, shared[0]]), np.concatenate([targets, shared[1]])
        weights = np.concatenate([weights, np.ones(len(shared[0]))])
    scale = float(np.abs(values).max()) or 1.0
    slope, offset = sigmoid_line(values / scale, targets, weights, np.log((inside + 1.0) / (outside + 1.0)))
    return np.array([slope / scale, offset])


@dataclass(frozen=True)
class Calibrating:
    """The operand of :func:`hold_out`.

    Attributes
    ----------
    solving : how machines are solved
    machines : of the buckets, solved on all rows, where the solver starts
    n_cells : cells per bucket
    n_folds : folds held out of each cell
    earlier : the buckets of a first pass. In a second one, the cell with most rows of the rarest class is
        held out, in all folds that were not; None: cells all over the bucket
    """

    solving: Solving
    machines: ArrayStore
    n_cells: int
    n_folds: int
    earlier: tuple[int, ...] | None = None

    def folds(self, number: int, rarest: NDArray[np.int64]) -> dict[int, range]:
        """Return the held-out folds of cells of a bucket, given each cell's rows of the rarest class."""
        even = set(np.linspace(0, len(rarest) - 1, self.n_cells).round().astype(int).tolist())
        if self.earlier is None:
            return dict.fromkeys(even, range(self.n_folds))
        most = int(rarest.argmax())
        done = self.n_folds if number in self.earlier and most in even else 0
        return {most: range(done, _FOLDS)}


def hold_out(
    item: tuple[int, int], _: Iterator[Block], operand: Calibrating
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Predict rows of some cells of a bucket by machines that were solved without them.

    Parameters
    ----------
    item : the bucket's number, and an upper bound on its rows

    Returns
    -------
    an empty record; and for each held-out row its decision "values" (n, n_outputs), "targets" (n,), "weights"
    with class weights, and "cells", the number of its cell in the bucket
    """
    number, solving = item[0], operand.solving
    rows, lies = solving.gathered(*item)
    features = np.asarray(rows.features)
    tree = solving.tree(features, number)
    assert rows.targets is not None
    is_rare = lies & (rows.targets == solving.rarest)
    chosen = operand.folds(number, np.bincount(tree.leaves(features[is_rare]), minlength=tree.n_leaves))
    machines = Machines.of(operand.machines.load(number))
    values, held = [np.zeros((0, solving.risk.n_outputs))], [np.zeros(0, dtype=np.intp)]
    cells = [np.zeros(0, dtype=np.intp)]
    for leaf, inside, in_cell in tree.members(features):
        if leaf not in chosen:
            continue
        inside, in_cell = inside[: solving.cell_rows], in_cell[: solving.cell_rows]
        seed = int(stream(solving.seed, Purpose.ROW_ORDER, _ORDER, number, leaf).integers(2**62))
        whole, _figures = machines.cell(leaf)
        folds = _folds_of(keys_of(rows.take(inside)))
        if not folds.any():
            # with a single group in the cell, only equal rows stay together
            folds = _folds_of(row_keys(features[inside]))
        for fold in chosen[leaf]:
            asked, learned = inside[in_cell & lies[inside] & (folds == fold)], inside[folds != fold]
            if not (len(asked) and len(learned)):
                continue
            cell = rows.take(learned)
            targets, weights = solving.risk.targets(cell).astype(np.float64), solving.risk.repeats(cell)
            machine = solve_cell(solving.settings, features[learned], targets, weights, seed, whole)
            values.append(machine.predict(solving.settings, features[asked]))
            held.append(asked)
            cells.append(np.full(len(asked), leaf))
    release()
    taken, repeats = np.concatenate(held), solving.risk.repeats(rows)
    return {}, {
        "values": np.concatenate(values),
        "targets": rows.targets[taken],
        "weights": np.ones(len(taken)) if repeats is None else repeats[taken],
        "cells": np.concatenate(cells),
    }


def _folds_of(keys: Keys) -> NDArray[np.intp]:
    """Return the fold (n_rows,) of each row of a cell, in turn, the same for rows of one key."""
    return groups_of(keys) % _FOLDS


def held_out_score(
    parts: Sequence[Held], n_cells: int, sigmoids: Sigmoids | None, center: Array, scale: float
) -> Array:
    """Return the score of the machines on held-out rows and its standard error, (2,).

    The error is that of a mean over rows if rows of all cells are held out, else over a sample of cells.

    Parameters
    ----------
    parts : what :func:`hold_out` stored
    n_cells : of all buckets
    sigmoids : of classes, scored by the log loss; None: the squared error of real targets
    center, scale : the unit of real targets
    """
    values, targets, weights = _joined(parts)
    if sigmoids is not None:
        chances = sigmoids(values)[np.arange(len(targets)), targets.astype(np.int64)]
        losses = -np.log(np.maximum(chances, np.finfo(np.float64).tiny))
    else:
        losses = np.square(values[:, 0] * scale + center[0] - targets)
    if not len(weights):
        return np.full(2, np.nan)
    shares = weights / weights.sum()
    mean = float(shares @ losses)
    apart = shares * (losses - mean)
    of_parts = [np.unique(part["cells"][part["weights"] > 0], return_inverse=True) for part in parts]
    starts = np.cumsum([0] + [len(names) for names, _ in of_parts])
    if 1 < starts[-1] < n_cells:
        numbers = [start + cells for start, (_, cells) in zip(starts, of_parts, strict=False)]
        apart = np.bincount(np.concatenate(numbers), weights=apart)
        apart *= np.sqrt(len(apart) / (len(apart) - 1.0))
    return np.array([mean, np.sqrt(np.square(apart).sum())])


def sigmoids_of(parts: Sequence[Held]) -> Sigmoids:
    """Fit sigmoids to what :func:`hold_out` stored."""
    values, targets, weights = _joined(parts)
    return Sigmoids.fit(values, targets.astype(np.int64), weights)


def _joined(parts: Sequence[Held]) -> tuple[Array, NDArray[Any], Array]:
    """Return values, targets and weights of the rows with positive weight."""
    columns = [np.concatenate([part[name] for part in parts]) for name in ("values", "targets", "weights")]
    values, targets, weights = (column[columns[2] > 0] for column in columns)
    return values, targets, weights


# -- the passes


def cells_held_out(layout: CellLayout, n_buckets: int) -> tuple[list[int], int, int]:
    """Return the buckets with held-out rows, the cells of each, and the folds of a cell."""
    problem = layout.problem
    n_cells = min(max(_ENOUGH_ROWS // layout.cell_rows, _LEAST_CELLS), MOST_CELLS)
    n_cells = _MOST_REAL if problem.real_targets else n_cells
    some = min(_MOST_BUCKETS, n_buckets, n_cells)
    chosen = np.unique(np.linspace(0, n_buckets - 1, some).astype(int)).tolist()
    n_rows = min(problem.n_rows, n_cells * layout.cell_rows)
    # rows of a group are alike: few groups are few rows
    n_folds = _FOLDS if problem.has_groups else min(_FOLDS, -(-_FEW_ROWS // n_rows))
    return chosen, -(-n_cells // len(chosen)), n_folds


def rarest_class(problem: Problem) -> int | None:
    """Return the code of the class with the least positive weight; None for real targets."""
    shares = problem.class_shares
    present = [code for code, share in enumerate(shares) if share]
    return min(present, key=shares.__getitem__, default=None)


def _with_rarest(counts: Sequence[int]) -> list[int]:
    """Return enough, but few, of the buckets with most rows of the rarest class, given its rows in each."""
    some = sorted((number for number, count in enumerate(counts) if count), key=lambda one: -counts[one])
    enough = int(np.searchsorted(np.cumsum([counts[number] for number in some]), _FEW_OF_A_CLASS)) + 1
    return some[: min(enough, _MOST_RARE)]


def calibrating(
    layout: CellLayout,
    items: Sequence[tuple[int, int]],
    store: Store | None = None,
    operand: Calibrating | None = None,
    name: str = "calibrate",
) -> Each:
    """Return the pass that predicts rows held out of some cells."""
    problem = layout.problem
    # the number of buckets, and so of cells held out of each, is not known yet
    most = min(problem.n_rows, 2 * MOST_CELLS * layout.cell_rows) + 2 * MOST_CELLS * _FOLDS
    row_bytes = 8 * problem.n_outputs + 24
    result = min(most, layout.bucket_rows + MOST_CELLS * _FOLDS) * row_bytes
    # all held-out rows, and some numbers of each
    driver = layout.places_bytes + most * (2 * row_bytes + 64)
    # the machines where the solver starts
    workspace = layout.solving_bytes() + layout.machine_bytes
    cost = layout.cost(workspace, result, driver=driver, compiled=True)
    return Each(name, hold_out, items, store, operand=operand, cost=cost)


def hold_rows_out(
    layout: CellLayout, solving: Solving, items: Sequence[tuple[int, int]], counts: Sequence[int] | None
) -> Steps[tuple[list[Held], list[Held]]]:
    """Hold rows of cells all over the data out.

    Parameters
    ----------
    items : the buckets
    counts : rows of the rarest class in each bucket. If few held-out rows belong to it, rows of the cells
        with most of its rows are held out too; None: never

    Returns
    -------
    what :func:`hold_out` stored, and the same for these additional cells
    """
    assert layout.problem.workplace is not None
    numbers, n_cells, n_folds = cells_held_out(layout, len(items))
    operand = Calibrating(solving, layout.problem.workplace.arrays("machines"), n_cells, n_folds)
    answers = layout.store("calibrated")
    yield calibrating(layout, [items[number] for number in numbers], answers, operand)
    held: list[Held] = [answers.load(number) for number in range(len(numbers))]
    if counts is None:
        return held, []
    if sum(int(np.count_nonzero(part["targets"] == solving.rarest)) for part in held) >= _FEW_OF_A_CLASS:
        return held, []
    operand = replace(operand, earlier=tuple(numbers))
    rare, answers = _with_rarest(counts), layout.store("rarest")
    yield calibrating(layout, [items[number] for number in rare], answers, operand, _RAREST)
    return held, [answers.load(number) for number in range(len(rare))]


def held_out_outlines(layout: CellLayout, *, has_rarest: bool) -> list[Outline]:
    """Return the passes before they are run; ``has_rarest``: whether cells with a rare class may follow."""

    def step(numbers: Sequence[int], name: str = "calibrate") -> Each:
        return calibrating(layout, [(number, 0) for number in numbers], name=name)

    passes = [Outline(step(cells_held_out(layout, layout.n_buckets)[0]))]
    if has_rarest:
        # only if these have hardly a row of the rarest class
        rare = step(range(min(_MOST_RARE, layout.n_buckets)), _RAREST)
        passes.append(Outline(rare, 0.5))
    return passes
