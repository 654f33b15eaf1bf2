"""What permuting a column costs a model on some rows, and how it depends on the columns that cost most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.core import blas
from distkern.core.names import plain_labels
from distkern.core.progress import at_step
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import Rows, SparseRows, values_at, with_values
from distkern.core.text import in_bytes
from distkern.core.types import AbstractSource, Block
from distkern.data.dataset import Split
from distkern.data.preparation import Preparation
from distkern.data.scaling import Scaling
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog, Listener, steps_heard
from distkern.engine.executors import AbstractExecutor
from distkern.engine.plan import needed_bytes, plan_run
from distkern.maths.bases.placed import AbstractPlacedBasis
from distkern.maths.bases.routing import combining_cost
from distkern.passes import Cost, Extent, Machine, Outline, PassPlan, Reduce
from distkern.runs.dependence import ColumnGrid, InputColumn, averages, input_columns, outputs_of
from distkern.runs.ranking import Calibration
from distkern.show.explanation import Dependence, Explanation, Importance

if TYPE_CHECKING:
    # workers import this file, and no scikit-learn
    from distkern.model.value import FittedModel

MOST_ROWS, MOST_COLUMNS = 2000, 30
#: permutations of all columns together, and of one, where no number is given
_PERMUTATIONS, _MOST_REPEATS = 60, 5
#: of the rows, which travel with their pass
_MOST_BYTES = 8 * 2**20
#: share of the target's variance that a column explains which nearly is it: of classes, of real targets;
#: columns that are compared
_COPIES, _MOST_COMPARED = (0.8, 0.99), 1000
#: that rows are drawn from, unless these have too few
_LEAST_BLOCKS = 16


@dataclass(frozen=True)
class ExplanationEffort:
    """How much is measured: by itself what ``distkern train`` shows.

    Attributes
    ----------
    seed : of the rows that are drawn, and of the permutations
    n_rows : at most, and at most 8 MiB of them
    n_repeats : permutations of each column; None: as many as 60 in all, from 1 to 5
    n_values : of a column for partial dependence, at most
    n_averaged : rows that partial dependence is averaged over, at most
    n_curves : columns whose partial dependence is measured
    columns : the places of the columns, where these are given; partial dependence is measured for all of them
    """

    seed: int
    n_rows: int = MOST_ROWS
    n_repeats: int | None = None
    n_values: int = 20
    n_averaged: int = 250
    n_curves: int = 5
    columns: tuple[int, ...] | None = None

    def n_drawn(self, source: AbstractSource) -> int:
        """How many rows of a source are drawn."""
        return max(1, min(self.n_rows, source.n_rows, _MOST_BYTES // source.row_bytes))


@dataclass(frozen=True)
class LabelledRows:
    """Rows that a model is measured on.

    Attributes
    ----------
    source : its targets are real, codes of ``labels``, or labels where these are None
    name : of the source
    columns : of the rows, before they became features
    scaling : what was done to the features
    preparation : what is still to be done before the model sees them
    """

    source: AbstractSource
    name: str
    columns: list[InputColumn]
    scaling: Scaling
    preparation: Preparation | None
    labels: NDArray[Any] | None = None

    @classmethod
    def of_split(cls, model: FittedModel, split: Split) -> LabelledRows:
        """The rows of a split of a data set, with the columns that the model knows."""
        data, preparation = split.dataset, model.columns.preparation(split.dataset)
        columns = input_columns(data.table, data.feature_names, data.n_features)
        if preparation is not None and preparation.order is not None:
            columns = [each for each in columns if {*each.places} <= {*preparation.order.tolist()}]
        return cls(split, split.name, columns, data.scaling, preparation, data.classes)

    def targets_for(self, model: FittedModel, targets: NDArray[Any]) -> NDArray[Any]:
        """Real targets, or codes of the model's classes, -1 for others."""
        if model.task == "regression":
            return targets.astype(np.float64)
        known = {label: code for code, label in enumerate(plain_labels(np.asarray(model.classes)))}
        labels = plain_labels(targets if self.labels is None else self.labels)
        codes: NDArray[Any] = np.array([known.get(label, -1) for label in labels])
        return codes if self.labels is None else np.asarray(codes[targets])


@dataclass(frozen=True)
class _Sample:
    """Rows with real targets, or codes of the model's classes.

    ``scored`` is the mean loss of what is predicted of rows with such targets.
    """

    rows: Block
    predict: Callable[[Any], NDArray[Any]]
    scored: Callable[[NDArray[Any], NDArray[Any]], float]

    def loss(self, features: Rows) -> float:
        """The mean loss if these were the features."""
        assert self.rows.targets is not None
        return self.scored(self.predict(features), self.rows.targets)

    def permuted(self, places: tuple[int, ...], seed: int, n_repeats: int) -> list[float]:
        """The mean losses where the features of one column are permuted."""
        features, generator = self.rows.features, stream(seed, Purpose.IMPORTANCE, places[0])
        own = values_at(features, places)
        orders = (generator.permutation(self.rows.n_rows) for _ in range(n_repeats))
        return [self.loss(with_values(features, places, own[order])) for order in orders]


def sampling(
    source: AbstractSource, name: str, how: ExplanationEffort, combining: Cost, n_outputs: int
) -> Reduce[Block]:
    """The pass that takes the sample, with neither rows nor a model in it.

    What the driver then does with the sample is counted as its memory: ``combining`` is what predicting rows
    takes, beside these rows, of a model with ``n_outputs`` outputs.
    """
    drawn = _drawn(source, how)
    n_rows = sum(map(len, drawn.values()))
    rows = n_rows, source.row_bytes
    cost = Cost(
        driver_compiled=combining.compiled or combining.driver_compiled,
        driver_library=combining.driver_library,
    )
    cost = cost.holding(
        joined={"rows": rows},
        driver={
            "rows, those with a class, permuted": (5, *rows),
            "predictions": (n_rows, n_outputs + 1, 64),
            "the basis, and a tile of it": (combining.process_bytes + combining.workspace_bytes,),
        },
    )
    return Reduce("importances", _taken, _joined, drawn, name, blocks=tuple(drawn), cost=cost)


def excess(plans: Sequence[PassPlan], machine: Machine) -> str:
    """Why passes with these plans are left out, in words; empty where they fit the memory limit."""
    needed, limit = needed_bytes(plans, machine), machine.memory_limit
    if limit is None or needed <= limit:
        return ""
    return f"that takes {in_bytes(needed)}, and the memory limit is {in_bytes(limit)}"


def measured_importances(
    model: FittedModel, split: Split, executor: AbstractExecutor, listeners: tuple[Listener, ...] = ()
) -> Explanation | None:
    """What ``distkern train`` shows and keeps of :func:`explained`, by the model's seed.

    None of a model without targets. Where nothing can be measured there are no columns but the reason, which
    is told as well.
    """
    if model.task == "none":
        return None
    events = EventLog(listeners)
    with steps_heard(events, "importances"):
        rows = LabelledRows.of_split(model, split)
        found = explained(model, rows, ExplanationEffort(model.seed), executor, events)
    if isinstance(found, str):
        found = Explanation((), "", 0, split.name, reason=found)
        events.emit("message", text=found.told)
    if found.copies:
        events.emit("message", text=found.warning)
    return found


def explained(
    model: FittedModel,
    given: LabelledRows,
    how: ExplanationEffort,
    executor: AbstractExecutor,
    events: EventLog,
) -> Explanation | str:
    """The rise of the mean loss when a column is permuted, and the partial dependence on the columns with the
    largest rise.

    Up to 30 columns are permuted, with the largest weight in the model's metric, if it has one, else with the
    largest variance. A column of a table is permuted with all its features. The loss is -log p, of
    classifiers without probabilities their own loss, of quantiles the pinball loss, and of other real targets
    the squared error divided by their variance. Averages are over probabilities, decision values where there
    are none, or real predictions.

    A text says why nothing can be measured: the machines of the model are not kept, all targets are the same,
    a number or a loss is not finite, or it takes more than the memory limit.
    """
    source, columns = given.source, given.columns
    basis = model.applied_basis(source.dtype)
    if isinstance(basis, AbstractPlacedBasis) and not basis.is_kept:
        return "the model is larger than what a process keeps"
    cost = combining_cost(basis, source.row_numbers, how.n_rows)
    cost = cost.holding(task={"coefficients": (2, model.coefficients.nbytes)})
    step = sampling(source, given.name, how, cost, model.coefficients.shape[1])
    plans = plan_run([Outline(step)], {given.name: Extent.of(source)}, executor.machine)
    if reason := excess(plans, executor.machine):
        return reason
    driver = Driver({given.name: source}, executor, events)
    with blas.single_threaded():
        sample, loss = _sample(model, given, driver.measure(step))
        if sample is None:
            return loss
        rows = sample.rows
        chosen = [columns[place] for place in _chosen(model, rows.features, given, how)]
        base = sample.loss(rows.features)
        n_repeats = how.n_repeats or min(max(_PERMUTATIONS // max(len(chosen), 1), 1), _MOST_REPEATS)
        lost = []
        for number, column in enumerate(chosen):
            at_step(column.name, number, len(chosen) + 1)
            lost.append(sample.permuted(column.places, how.seed, n_repeats))
        if not np.isfinite([base, *(value for values in lost for value in values)]).all():
            return "the loss is not finite"
        costs = [(float(np.mean(values)) - base, float(np.std(values))) for values in lost]
        order = sorted(range(len(chosen)), key=lambda place: -costs[place][0])
        largest = [chosen[place] for place in order]
        at_step("partial dependence", len(chosen), len(chosen) + 1)
        curves, n_averaged = _curves(model, given, rows.features, largest, how)
    return Explanation(
        tuple(Importance(chosen[place].name, *costs[place], chosen[place].number) for place in order),
        loss,
        rows.n_rows,
        given.name,
        len(columns) - len(chosen),
        copies=_copies(rows, columns, is_real=model.task == "regression"),
        curves=curves,
        outputs=outputs_of(model),
        quantity=_said(model),
        n_averaged=n_averaged,
        n_columns=int(model.columns.n_features_in),
    )


def _said(model: FittedModel) -> str:
    """What of a model's answers is averaged."""
    if model.task == "regression":
        target = model.columns.target_name
        return f"predicted {target}" if target else "prediction"
    return "decision value" if model.chances is None else "probability"


def _curves(
    model: FittedModel,
    given: LabelledRows,
    features: Rows,
    columns: list[InputColumn],
    how: ExplanationEffort,
) -> tuple[tuple[Dependence, ...], int]:
    """The partial dependence on the first of the columns that have one, and of how many rows it is a mean."""
    n_rows = features.shape[0]
    rows = features[np.unique(np.linspace(0, n_rows - 1, min(how.n_averaged, n_rows)).astype(np.intp))]
    found = (ColumnGrid.of(column, features, given.scaling, how.n_values) for column in columns)
    n_curves = how.n_curves if how.columns is None else len(columns)
    output, n_outputs = "probability" if _said(model) == "probability" else "decision", len(outputs_of(model))
    predict = model.predictor(given.preparation, output, features.dtype)
    curves = (
        Dependence(grid.column, grid.values, averages(grid, rows, predict, n_outputs), grid.kind, grid.rug)
        for grid in islice((grid for grid in found if grid is not None), n_curves)
    )
    return tuple(curves), len(rows)


def _copies(rows: Block, columns: list[InputColumn], *, is_real: bool) -> tuple[str, ...]:
    """The columns whose features, by least squares, leave hardly any of the target's variance."""
    from scipy.linalg import lstsq

    targets = np.asarray(rows.targets, dtype=np.float64)
    if not is_real:
        targets = targets[:, None] == np.unique(targets)
    wanted = targets.reshape(rows.n_rows, -1) - targets.reshape(rows.n_rows, -1).mean(axis=0)
    most = (1.0 - _COPIES[is_real]) * np.square(wanted).sum()
    given, found = rows.features, []
    table: Any = given.to_scipy().tocsc() if isinstance(given, SparseRows) else given
    for column in columns[:_MOST_COMPARED] if most > 0 else []:
        own = table[:, list(column.places)]
        features = np.asarray(own.toarray() if isinstance(given, SparseRows) else own, dtype=np.float64)
        features = features - features.mean(axis=0)
        if len(column.places) < rows.n_rows // 4 and features.any():
            left = wanted - features @ lstsq(features, wanted)[0]
            if np.square(left).sum() <= most:
                found.append(column.name)
    return tuple(found)


def _drawn(source: AbstractSource, how: ExplanationEffort) -> dict[int, NDArray[np.int64]]:
    """Rows of some blocks, by block, drawn from all rows of them."""
    wanted = how.n_drawn(source)
    generator = stream(how.seed, Purpose.IMPORTANCE)
    order = generator.permutation(source.n_blocks)
    sums = np.cumsum([source.block_rows[block] for block in order])
    blocks = order[: max(_LEAST_BLOCKS, int(np.searchsorted(sums, wanted)) + 1)]
    ends = sums[: len(blocks)]
    rows = np.sort(generator.choice(int(ends[-1]), wanted, replace=False))
    places = np.searchsorted(ends, rows, side="right")
    of_block = {
        int(block): rows[places == place] - (int(ends[place]) - source.block_rows[block])
        for place, block in enumerate(blocks)
    }
    return {block: of_block[block] for block in sorted(of_block) if len(of_block[block])}


def _taken(block: Block, drawn: Mapping[int, NDArray[np.int64]]) -> Block:
    # weights are those of losses that are learned from
    return replace(block.take(drawn[block.index]), weights=None)


def _joined(first: Block, second: Block) -> Block:
    return Block.joined([first, second])


def _sample(model: FittedModel, given: LabelledRows, rows: Block) -> tuple[_Sample | None, str]:
    """The rows as the model knows them, and the name of the loss; or None and the reason."""
    assert rows.targets is not None
    numbers = rows.features.data if isinstance(rows.features, SparseRows) else rows.features
    if not np.isfinite(numbers).all():
        return None, "the rows hold NaN or infinity"
    targets = given.targets_for(model, rows.targets)
    scored: Callable[[NDArray[Any], NDArray[Any]], float]
    if model.task == "regression":
        output, levels = "decision", model.levels
        scored, loss = (
            (_Pinball(levels), "pinball loss")
            if levels
            else (_squares, "squared error relative to the variance")
        )
        rows = replace(rows, targets=targets)
        if targets.min() == targets.max():
            return None, "all targets of the rows are the same"
    else:
        rows = replace(rows.take(np.flatnonzero(targets >= 0)), targets=targets[targets >= 0])
        has_chances = model.chances is not None
        own = model.loss
        output, loss = ("probability", "log loss") if has_chances else ("decision", f"{own.name} loss")
        scored = _log_loss if has_chances else _OwnLoss(model.risk)
        if not rows.n_rows:
            return None, "no row has a class of the model"
    predict = model.predictor(given.preparation, output, rows.features.dtype)
    return _Sample(rows, predict, scored), loss


def _log_loss(chances: NDArray[Any], codes: NDArray[Any]) -> float:
    loss = Calibration.of(chances, codes).figures["log_loss"]
    assert loss is not None, "there are rows"
    return loss


def _squares(values: NDArray[Any], targets: NDArray[Any]) -> float:
    return float(np.square(values - targets).mean() / targets.var())


@dataclass(frozen=True)
class _OwnLoss:
    """The model's own loss: labels may all be the largest class, whatever the columns say."""

    risk: Any

    def __call__(self, values: NDArray[Any], codes: NDArray[Any]) -> float:
        predictions = values.reshape(len(codes), -1)
        targets = self.risk.targets(Block(predictions, codes))
        return float(self.risk.values(predictions, targets, None).mean())


@dataclass(frozen=True)
class _Pinball:
    levels: tuple[float, ...]

    def __call__(self, values: NDArray[Any], targets: NDArray[Any]) -> float:
        levels, over = np.array(self.levels), targets[:, None] - values.reshape(len(targets), -1)
        return float(np.maximum(levels * over, (levels - 1) * over).mean())


def _chosen(model: FittedModel, features: Rows, given: LabelledRows, how: ExplanationEffort) -> list[int]:
    """The places of the columns that are permuted."""
    columns = given.columns
    if how.columns is not None:
        return list(how.columns)
    if len(columns) <= MOST_COLUMNS:
        return list(range(len(columns)))
    shares = model.metric_importances
    if shares is None:
        shares = _variances(features)
    elif given.preparation is not None and given.preparation.order is not None:
        known, shares = shares, np.zeros(features.shape[1])
        shares[given.preparation.order] = known
    sums = np.array([shares[list(column.places)].sum() for column in columns])
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
