"""Permutation importances of the columns of a model, and partial dependence on the most important ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
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
from distkern.data.scaling import Preparation, Scaling
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog, Listener, steps_heard
from distkern.engine.executors import AbstractExecutor
from distkern.engine.plan import needed_bytes, plan_run
from distkern.maths.bases.placed import AbstractPlacedBasis
from distkern.passes import Cost, Extent, Outline, Reduce
from distkern.runs.applied import combining_cost
from distkern.runs.dependence import ColumnGrid, InputColumn, averages, input_columns, outputs_of
from distkern.runs.ranking import Calibration
from distkern.show.explanation import Dependence, Explanation, Importance

if TYPE_CHECKING:
    # workers import this file without scikit-learn
    from distkern.model.value import FittedModel

MOST_ROWS, MOST_COLUMNS = 2000, 30
#: default permutations of all columns together, and most of one column
_PERMUTATIONS, _MOST_REPEATS = 60, 5
#: columns with partial dependence, unless they are given
_N_CURVES = 5
#: most bytes of the rows, which travel with their pass
_MOST_BYTES = 8 * 2**20
#: shares of the target's variance above which a column is suspected to be a copy of it, for classes and for
#: real targets; most columns compared
_COPIES, _MOST_COMPARED = (0.8, 0.99), 1000
#: blocks from which rows are drawn; more if these have too few rows
_LEAST_BLOCKS = 16


@dataclass(frozen=True)
class ExplanationEffort:
    """How much is measured; the defaults are those of ``distkern train``.

    Attributes
    ----------
    seed : seed of the drawn rows and the permutations
    n_rows : most rows; the sample also takes at most 8 MiB
    n_repeats : permutations of each column; None: 60 in all, from 1 to 5 of each
    n_values : most values of a column in a partial dependence curve
    n_averaged : most rows over which partial dependence is averaged
    columns : positions of given columns, which all get partial dependence
    """

    seed: int
    n_rows: int = MOST_ROWS
    n_repeats: int | None = None
    n_values: int = 20
    n_averaged: int = 250
    columns: tuple[int, ...] | None = None

    def n_drawn(self, source: AbstractSource) -> int:
        return max(1, min(self.n_rows, source.n_rows, _MOST_BYTES // source.row_bytes))


@dataclass(frozen=True)
class LabelledRows:
    """Rows on which a model is measured.

    Attributes
    ----------
    source : its targets are real numbers, codes of ``labels``, or labels if these are None
    name : name of the source
    columns : input columns of the rows
    scaling : scaling of the features
    preparation : preparation that the rows still need
    """

    source: AbstractSource
    name: str
    columns: list[InputColumn]
    scaling: Scaling
    preparation: Preparation | None
    labels: NDArray[Any] | None = None

    @classmethod
    def of_split(cls, model: FittedModel, split: Split) -> LabelledRows:
        """Return the rows of a split of a data set, with the columns that the model knows."""
        data, preparation = split.dataset, model.columns.preparation(split.dataset)
        columns = input_columns(data.table, data.feature_names, data.n_features)
        if preparation is not None and preparation.order is not None:
            columns = [each for each in columns if {*each.places} <= {*preparation.order.tolist()}]
        return cls(split, split.name, columns, data.scaling, preparation, data.classes)

    def targets_for(self, model: FittedModel, targets: NDArray[Any]) -> NDArray[Any]:
        """Return real targets, or codes of the model's classes with -1 for unknown labels."""
        if model.task == "regression":
            return targets.astype(np.float64)
        known = {label: code for code, label in enumerate(plain_labels(np.asarray(model.classes)))}
        labels = plain_labels(targets if self.labels is None else self.labels)
        codes: NDArray[Any] = np.array([known.get(label, -1) for label in labels])
        return codes if self.labels is None else np.asarray(codes[targets])


@dataclass(frozen=True)
class _Sample:
    """Rows with real targets or codes of the model's classes.

    ``scored`` is the mean loss of predictions and such targets.
    """

    rows: Block
    predict: Callable[[Any], NDArray[Any]]
    scored: Callable[[NDArray[Any], NDArray[Any]], float]

    def loss(self, features: Rows) -> float:
        assert self.rows.targets is not None
        return self.scored(self.predict(features), self.rows.targets)

    def permuted(self, places: tuple[int, ...], seed: int, n_repeats: int) -> list[float]:
        """Return the mean losses with the features of one column permuted."""
        features, generator = self.rows.features, stream(seed, Purpose.IMPORTANCE, places[0])
        own = values_at(features, places)
        orders = (generator.permutation(self.rows.n_rows) for _ in range(n_repeats))
        return [self.loss(with_values(features, places, own[order])) for order in orders]


def measured_importances(
    model: FittedModel, split: Split, executor: AbstractExecutor, listeners: tuple[Listener, ...] = ()
) -> Explanation | None:
    """Measure the importances that ``distkern train`` shows and stores, with the model's seed.

    Return None for a model without targets. If nothing can be measured, the explanation has no columns but a
    reason, which is also reported.
    """
    if model.task == "none":
        return None
    events = EventLog(listeners)
    with steps_heard(events, "importances"):
        rows = LabelledRows.of_split(model, split)
        found = explained(model, rows, ExplanationEffort(model.seed), executor, events)
    if isinstance(found, str):
        found = Explanation((), "", 0, split.name, reason=found)
        events.emit("message", text=found.summary)
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
    """Measure the increase in mean loss when a column is permuted, and partial dependence on the most
    important columns.

    Up to 30 columns are permuted: those with the largest weight in the model's metric, or else the largest
    variance. A table's column is permuted with all its features. The loss is -log p; for classifiers without
    probabilities it is their own loss, for quantiles the pinball loss, and for other real targets the squared
    error divided by their variance. Partial dependence averages probabilities, decision values if there are
    none, or real predictions.

    The result is a text if nothing can be measured: the machines of the model are not kept in memory, all
    targets are equal, a number or a loss is not finite, or the memory limit is too low.
    """
    columns = given.columns
    basis = model.applied_basis(given.source.dtype)
    if isinstance(basis, AbstractPlacedBasis) and not basis.is_kept:
        return "the model is larger than a process can keep"
    combining = combining_cost(basis, given.source.row_numbers, how.n_rows)
    combining = combining.holding(task={"coefficients": (2, model.coefficients.nbytes)})
    step = sampling(given.source, given.name, how, combining, model.n_outputs)
    machine = executor.machine
    needed = needed_bytes(plan_run([Outline(step)], {given.name: Extent.of(given.source)}, machine), machine)
    if machine.memory_limit is not None and needed > machine.memory_limit:
        return f"that takes {in_bytes(needed)}, and the memory limit is {in_bytes(machine.memory_limit)}"
    driver = Driver({given.name: given.source}, executor, events)
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
        quantity=_quantity(model),
        n_averaged=n_averaged,
        n_columns=int(model.columns.n_features_in),
    )


def sampling(
    source: AbstractSource, name: str, how: ExplanationEffort, combining: Cost, n_outputs: int
) -> Reduce[Block]:
    """Return the pass that takes the sample; it counts the driver's memory for measuring the sample too.

    ``combining`` is the cost of predicting rows in addition to the rows themselves.
    """
    drawn = _drawn(source, how)
    n_rows = sum(map(len, drawn.values()))
    rows = n_rows, source.row_bytes
    cost = Cost(
        driver_compiled=combining.compiled or combining.driver_compiled,
        driver_library=combining.driver_library,
    ).holding(
        joined={"rows": rows},
        driver={
            "rows, those with a class, permuted": (5, *rows),
            "predictions": (n_rows, n_outputs + 1, 64),
            "the basis, and a tile of it": (combining.process_bytes + combining.workspace_bytes,),
        },
    )
    return Reduce("importances", _taken, _joined, drawn, name, blocks=tuple(drawn), cost=cost)


def _quantity(model: FittedModel) -> str:
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
    """Return partial dependence of the first columns that have one, and the number of averaged rows."""
    n_rows = features.shape[0]
    rows = features[np.unique(np.linspace(0, n_rows - 1, min(how.n_averaged, n_rows)).astype(np.intp))]
    found = (ColumnGrid.of(column, features, given.scaling, how.n_values) for column in columns)
    n_curves = _N_CURVES if how.columns is None else len(columns)
    output, n_outputs = (
        "probability" if _quantity(model) == "probability" else "decision",
        len(outputs_of(model)),
    )
    predict = model.predictor(given.preparation, output, features.dtype)
    curves = (
        Dependence(grid.column, grid.values, averages(grid, rows, predict, n_outputs), grid.kind, grid.rug)
        for grid in islice((grid for grid in found if grid is not None), n_curves)
    )
    return tuple(curves), len(rows)


def _copies(rows: Block, columns: list[InputColumn], *, is_real: bool) -> tuple[str, ...]:
    """Return the columns whose features leave hardly any of the target's variance in a least-squares fit."""
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
    """Draw rows from some blocks; return their positions by block."""
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
    # weights apply to training losses only
    return replace(block.take(drawn[block.index]), weights=None)


def _joined(first: Block, second: Block) -> Block:
    return Block.joined([first, second])


def _sample(model: FittedModel, given: LabelledRows, rows: Block) -> tuple[_Sample | None, str]:
    """Return the rows as the model expects them and the name of the loss, or None and the reason."""
    assert rows.targets is not None
    numbers = rows.features.data if isinstance(rows.features, SparseRows) else rows.features
    if not np.isfinite(numbers).all():
        return None, "the rows hold NaN or infinity"
    targets = given.targets_for(model, rows.targets)
    scored: Callable[[NDArray[Any], NDArray[Any]], float]
    if model.task == "regression":
        output, levels = "decision", model.levels
        scored, loss = (
            (partial(_pinball, levels), "pinball loss")
            if levels
            else (_squares, "squared error relative to the variance")
        )
        rows = replace(rows, targets=targets)
        if targets.min() == targets.max():
            return None, "all targets of the rows are equal"
    else:
        rows = replace(rows.take(np.flatnonzero(targets >= 0)), targets=targets[targets >= 0])
        has_chances = model.chances is not None
        own = model.loss
        output, loss = ("probability", "log loss") if has_chances else ("decision", f"{own.name} loss")
        scored = _log_loss if has_chances else partial(_own_loss, model.risk)
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


def _own_loss(risk: Any, values: NDArray[Any], codes: NDArray[Any]) -> float:
    """Return the model's own loss, which varies even if all predicted labels are equal."""
    predictions = values.reshape(len(codes), -1)
    targets = risk.targets(Block(predictions, codes))
    return float(risk.values(predictions, targets, None).mean())


def _pinball(levels: tuple[float, ...], values: NDArray[Any], targets: NDArray[Any]) -> float:
    quantiles, over = np.array(levels), targets[:, None] - values.reshape(len(targets), -1)
    return float(np.maximum(quantiles * over, (quantiles - 1) * over).mean())


def _chosen(model: FittedModel, features: Rows, given: LabelledRows, how: ExplanationEffort) -> list[int]:
    columns = given.columns
    if how.columns is not None:
        return list(how.columns)
    if len(columns) <= MOST_COLUMNS:
        return list(range(len(columns)))
    shares = model.metric_weights
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
