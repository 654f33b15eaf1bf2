"""What permuting a column costs a model on rows of a split: how much the column matters to it, measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.placed import AbstractPlacedBasis
from distkern.bases.routing import combining_cost
from distkern.common import blas
from distkern.common.rng import Purpose, stream
from distkern.common.sparse import Rows, SparseRows
from distkern.common.types import Block
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog, Listener
from distkern.engine.executors import AbstractExecutor
from distkern.engine.plan import needed_bytes, plan_run
from distkern.monitor.text import in_bytes
from distkern.passes import Cost, Each, Extent, Machine, Pass, PassPlan, Reduce
from distkern.runs.importance_figures import Importance, Importances
from distkern.runs.ranking import Calibration
from distkern.runs.regression_figures import quantiles_of
from distkern.storage.dataset import Split

MOST_ROWS, MOST_COLUMNS = 2000, 30
#: of the rows, which travel with their pass
_MOST_BYTES = 8 * 2**20
#: share of the target's variance that a column explains which nearly is it: of classes, of real targets;
#: columns that are compared
_COPIES, _MOST_COMPARED = (0.8, 0.99), 1000
#: that rows are drawn from, unless these have too few
_LEAST_BLOCKS = 16


@dataclass(frozen=True)
class _Trial:
    """The operand of :func:`_lost`.

    ``rows`` have real targets, or codes of the model's classes; ``scored`` is the mean loss of what is
    predicted of rows with such targets.
    """

    rows: Block
    predict: Callable[[Any], NDArray[Any]]
    scored: Callable[[NDArray[Any], NDArray[Any]], float]
    seed: int


class _Records:
    """A store that keeps nothing: what a task finds is its record."""

    def is_here(self) -> bool:
        return True

    def put(self, number: int, result: Any) -> Any:
        return result

    def records(self) -> Mapping[int, Any]:
        return {}


@dataclass(frozen=True)
class Planned:
    """The two passes that measure importances, in order, with neither rows nor a model in them.

    Attributes
    ----------
    drawing : takes the rows
    permuting : one task for the rows as they are, and one for each column
    """

    drawing: Reduce[Block]
    permuting: Each

    @classmethod
    def over(cls, split: Split, seed: int, combining: Cost, n_outputs: int) -> Planned:
        """The passes over rows of a split that are drawn by a seed.

        Parameters
        ----------
        combining : of a task that predicts some thousand rows, beside these rows
        n_outputs : of the model
        """
        drawn = _drawn(split, seed)
        n_rows = sum(map(len, drawn.values()))
        rows = n_rows, split.row_bytes
        sample = Cost().holding(joined={"rows": rows}, driver={"rows, once more": (2, *rows)})
        cost = replace(
            combining, result_bytes=0, total_result_bytes=None, driver_bytes=0, driver_compiled=False
        )
        cost = cost.holding(
            task={"rows as sent, permuted, prepared": (4, *rows), "predictions": (n_rows, n_outputs + 1, 64)},
            driver={"rows": (3, *rows)},
        )
        items: list[tuple[int, ...]] = [()] * (1 + min(MOST_COLUMNS, len(_columns(split))))
        return cls(
            Reduce(
                "sample for importances", _taken, _joined, drawn, split.name, blocks=tuple(drawn), cost=sample
            ),
            Each("importances", _lost, items, _Records(), split=split.name, cost=cost),
        )

    @property
    def steps(self) -> list[Pass]:
        """Both passes."""
        return [self.drawing, self.permuting]


def excess(plans: Sequence[PassPlan], machine: Machine) -> str:
    """Why passes with these plans are left out, in words; empty where they fit the memory limit."""
    needed, limit = needed_bytes(plans, machine), machine.memory_limit
    if limit is None or needed <= limit:
        return ""
    return f"that takes {in_bytes(needed)}, and the memory limit is {in_bytes(limit)}"


def measured_importances(
    model: Any, split: Split, executor: AbstractExecutor, listeners: tuple[Listener, ...] = ()
) -> Importances | None:
    """The mean loss on up to 2,000 rows in which a column is permuted, less that on the rows as they are.

    The columns are those of the table, whose features are permuted together, or the features where there is
    none: up to 30, those of the largest weight in the model's metric, if it has one, else of the largest
    variance. What is lost is -log p, of classifiers without probabilities 1 for a wrong label, of quantiles
    the pinball loss, and of other real targets the squared error divided by their variance. Rows and
    permutations follow from the model's seed.

    None of a model without targets. Where the machines of a model are not kept, all targets are the same, a
    loss is not finite, or it takes more than the memory limit, there are no columns but the reason, which is
    told as well.
    """
    if model.task == "none":
        return None
    events = EventLog(listeners)
    found = _measured(model, split, executor, events)
    if isinstance(found, str):
        found = Importances((), "", 0, split.name, reason=found)
        events.emit("message", text=found.told)
    if found.copies:
        events.emit("message", text=found.warning)
    return found


def _measured(model: Any, split: Split, executor: AbstractExecutor, events: EventLog) -> Importances | str:
    """What was measured, or why nothing was."""
    basis = model.applied_basis(split.dtype)
    if isinstance(basis, AbstractPlacedBasis) and not basis.is_kept:
        return "the model is larger than what a process keeps"
    n_outputs = model.coef_.shape[1]
    cost = combining_cost(basis, split.row_numbers, MOST_ROWS)
    cost = cost.holding(task={"coefficients": (2, model.coef_.nbytes)})
    planned = Planned.over(split, model.seed_, cost, n_outputs)
    plans = plan_run(planned.steps, {split.name: Extent.of(split)}, executor.machine)
    if reason := excess(plans, executor.machine):
        return reason
    driver = Driver({split.name: split}, executor, events)
    with blas.single_threaded():
        rows: Block = driver.measure(planned.drawing)
        trial, loss = _trial(model, split, rows)
        if trial is None:
            return loss
        columns = _columns(split)
        chosen = _chosen(model, trial.rows.features, columns)
        items = [(), *(columns[place][1] for place in chosen)]
        base, *lost = driver.each(replace(planned.permuting, items=items, operand=trial))
    if not np.isfinite([base, *lost]).all():
        return "the loss is not finite"
    found = [Importance(columns[place][0], value - base) for place, value in zip(chosen, lost, strict=True)]
    found.sort(key=lambda each: -each.loss)
    copies = _copies(trial.rows, columns, is_real=model.task == "regression")
    left_out = len(columns) - len(chosen)
    return Importances(tuple(found), loss, trial.rows.n_rows, split.name, left_out, copies=copies)


def _copies(rows: Block, columns: list[tuple[str, tuple[int, ...]]], *, is_real: bool) -> tuple[str, ...]:
    """The columns whose features, by least squares, leave hardly any of the target's variance."""
    from scipy.linalg import lstsq

    targets = np.asarray(rows.targets, dtype=np.float64)
    if not is_real:
        targets = targets[:, None] == np.unique(targets)
    wanted = targets.reshape(rows.n_rows, -1) - targets.reshape(rows.n_rows, -1).mean(axis=0)
    most = (1.0 - _COPIES[is_real]) * np.square(wanted).sum()
    given, found = rows.features, []
    table: Any = given.to_scipy().tocsc() if isinstance(given, SparseRows) else given
    for name, places in columns[:_MOST_COMPARED] if most > 0 else []:
        own = table[:, list(places)]
        features = np.asarray(own.toarray() if isinstance(given, SparseRows) else own, dtype=np.float64)
        features = features - features.mean(axis=0)
        if len(places) < rows.n_rows // 4 and features.any():
            left = wanted - features @ lstsq(features, wanted)[0]
            if np.square(left).sum() <= most:
                found.append(name)
    return tuple(found)


def _drawn(split: Split, seed: int) -> dict[int, NDArray[np.int64]]:
    """Rows of some blocks, by block, drawn from all rows of them."""
    wanted = max(1, min(MOST_ROWS, split.n_rows, _MOST_BYTES // split.row_bytes))
    generator = stream(seed, Purpose.IMPORTANCE)
    order = generator.permutation(split.n_blocks)
    sums = np.cumsum([split.block_rows[block] for block in order])
    blocks = order[: max(_LEAST_BLOCKS, int(np.searchsorted(sums, wanted)) + 1)]
    ends = sums[: len(blocks)]
    rows = np.sort(generator.choice(int(ends[-1]), wanted, replace=False))
    places = np.searchsorted(ends, rows, side="right")
    of_block = {
        int(block): rows[places == place] - (int(ends[place]) - split.block_rows[block])
        for place, block in enumerate(blocks)
    }
    return {block: of_block[block] for block in sorted(of_block) if len(of_block[block])}


def _taken(block: Block, drawn: Mapping[int, NDArray[np.int64]]) -> Block:
    # weights are those of losses that are learned from
    return replace(block.take(drawn[block.index]), weights=None)


def _joined(first: Block, second: Block) -> Block:
    return Block.joined([first, second])


def _trial(model: Any, split: Split, rows: Block) -> tuple[_Trial | None, str]:
    """What each task is given, and what is lost in words; or None, and why nothing can be."""
    assert rows.targets is not None
    preparation = model.preparation_for(split)
    scored: Callable[[NDArray[Any], NDArray[Any]], float]
    if model.task == "regression":
        output, levels = "decision", quantiles_of(model)
        scored, loss = (
            (_Pinball(levels), "pinball loss")
            if levels
            else (_squares, "squared error relative to the variance")
        )
        if rows.targets.min() == rows.targets.max():
            return None, "all targets of the rows are the same"
    else:
        assert split.dataset.classes is not None
        known = model.classes_.tolist()
        labels = split.dataset.classes.tolist()
        codes = np.array([known.index(label) if label in known else -1 for label in labels])[rows.targets]
        rows = replace(rows.take(np.flatnonzero(codes >= 0)), targets=codes[codes >= 0])
        has_chances = model._chances() is not None
        output, loss = ("probability", "log loss") if has_chances else ("label", "share of errors")
        scored = _log_loss if has_chances else _Errors(model.classes_)
        if not rows.n_rows:
            return None, "no row has a class of the model"
    return _Trial(rows, model.predictor(preparation, output), scored, model.seed_), loss


def _log_loss(chances: NDArray[Any], codes: NDArray[Any]) -> float:
    return Calibration.of(chances, codes).figures["log_loss"]


def _squares(values: NDArray[Any], targets: NDArray[Any]) -> float:
    return float(np.square(values - targets).mean() / targets.var())


@dataclass(frozen=True)
class _Errors:
    classes: NDArray[Any]

    def __call__(self, labels: NDArray[Any], codes: NDArray[Any]) -> float:
        return float(np.mean(labels != self.classes[codes]))


@dataclass(frozen=True)
class _Pinball:
    levels: tuple[float, ...]

    def __call__(self, values: NDArray[Any], targets: NDArray[Any]) -> float:
        levels, over = np.array(self.levels), targets[:, None] - values.reshape(len(targets), -1)
        return float(np.maximum(levels * over, (levels - 1) * over).mean())


def _columns(split: Split) -> list[tuple[str, tuple[int, ...]]]:
    """Names of the columns and the features that each has become, of those that have become some."""
    dataset = split.dataset
    if dataset.table is None:
        names = dataset.feature_names or [f"column {place + 1}" for place in range(dataset.n_features)]
        return [(str(name), (place,)) for place, name in enumerate(names)]
    found, first = [], 0
    for column in dataset.table.columns:
        last = first + len(column.features)
        if last > first:
            found.append((column.name, tuple(range(first, last))))
        first = last
    return found


def _chosen(model: Any, features: Rows, columns: list[tuple[str, tuple[int, ...]]]) -> list[int]:
    """The places of the columns that are permuted."""
    if len(columns) <= MOST_COLUMNS:
        return list(range(len(columns)))
    shares = getattr(model, "metric_importances_", None)
    if shares is None:
        shares = _variances(features)
    sums = np.array([shares[list(places)].sum() for _, places in columns])
    return sorted(np.argsort(-sums, kind="stable")[:MOST_COLUMNS].tolist())


def _variances(features: Rows) -> NDArray[np.float64]:
    if not isinstance(features, SparseRows):
        return np.asarray(features.var(axis=0, dtype=np.float64))
    n_rows, n_columns = features.shape
    exact = features.data.astype(np.float64)
    sums, squares = (
        np.bincount(features.indices, values, minlength=n_columns) / n_rows
        for values in (exact, np.square(exact))
    )
    return np.asarray(squares - np.square(sums))


def _lost(places: tuple[int, ...], _: Iterator[Block], trial: _Trial) -> float:
    """The mean loss where the features of one column are permuted, or none."""
    features = trial.rows.features
    if places:
        order = stream(trial.seed, Purpose.IMPORTANCE, places[0]).permutation(trial.rows.n_rows)
        features = _permuted(features, places, order)
    assert trial.rows.targets is not None
    return trial.scored(trial.predict(features), trial.rows.targets)


def _permuted(features: Rows, places: tuple[int, ...], order: NDArray[np.intp]) -> Rows:
    """The rows with the given features of the rows ``order``, and all others as they are."""
    if not isinstance(features, SparseRows):
        found = features.copy()
        found[:, list(places)] = features[order][:, list(places)]
        return found
    from scipy.sparse import coo_matrix

    target = np.argsort(order)
    rows = features.row_of_entries
    moved = np.where(np.isin(features.indices, places), target[rows], rows)
    return SparseRows.of_scipy(coo_matrix((features.data, (moved, features.indices)), features.shape))
