"""Fitting an estimator: from what is given to ``fit`` to the attributes that it leaves.

A map in front of the model, a transform of the columns and a metric, is learned before the first pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from distkern.common import blas
from distkern.common.errors import InputError
from distkern.common.held_out import keys_of, order_of_keys, parted, row_keys
from distkern.common.parameters import AUTO
from distkern.common.types import AbstractSource, Block
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.drive import Driver, RunOutcome
from distkern.engine.ending import Stopping
from distkern.engine.events import CHOOSING, CHOOSING_ANNOUNCED, EventLog, Listener, steps_heard
from distkern.engine.executors import AbstractExecutor
from distkern.maps.mapping import MapChoice, RowMap, as_rows, fitting_bytes, pulled_targets
from distkern.maps.transform import TRANSFORMS
from distkern.monitor.history import History
from distkern.passes import Outline, Reduce
from distkern.runs.data import TrainingData
from distkern.runs.given import held_out_rows, training_data
from distkern.runs.persistence import SavedForUpdate
from distkern.runs.scaled import Rescaled, ScaledSource, rescaled
from distkern.runs.spooled import in_random_order
from distkern.search.values import searched
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.sample import sample_of, sampling
from distkern.storage.atomic import remove_orphans
from distkern.storage.dataset import Split
from distkern.storage.places import Place
from distkern.storage.spreads import Spreads

if TYPE_CHECKING:
    from distkern.estimators.estimator import AbstractEstimator

#: rows that a map is learned from, and rounds of its metric
_MAP_ROWS, _ROUNDS = 2000, 2
#: of fewer rows the first map is taken
_FEW = 60


def fit_estimator(
    model: AbstractEstimator,
    X: Any,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    groups: ArrayLike | None = None,
    test: Split | None = None,
    eval_set: Any = None,
    stopping: Stopping | None = None,
    executor: AbstractExecutor | None = None,
    listeners: Sequence[Listener] = (),
    checkpoints: Place | None = None,
    resume: bool = False,
) -> None:
    """Fit a model to rows as ``fit`` takes them, on an executor or on the one that suits the rows.

    Parameters
    ----------
    groups : (n_rows,) of the rows, those of one held out together
    test, eval_set : rows that are measured after each stage: a split, or what ``fit`` takes
    stopping : what may end the fit early
    checkpoints, resume : folder of the states after each stage, and whether to go on from the newest
    """
    how: dict[str, Any] = {"stopping": stopping, "checkpoints": checkpoints, "resume": resume}
    if model._begins is not None:
        from distkern.estimators.updating import fit_further

        fit_further(model, test, executor, listeners, **how)
        return
    before = dict(vars(model))
    remove_orphans()
    try:
        _fit(model, X, y, sample_weight, groups, test, eval_set, executor, listeners, how)
    except BaseException:
        # a model of before, whole, and not its coefficients with the units of other rows
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


def _fit(
    model: AbstractEstimator,
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    test: Split | None,
    eval_set: Any,
    executor: AbstractExecutor | None,
    listeners: Sequence[Listener],
    how: dict[str, Any],
) -> None:
    model.found_ = {}
    model.check_parameters()
    model.target_name_ = None
    model.table_ = model.zero_based_ = model.importances_ = None
    model.updates_ = ()
    with ExitStack() as stack:
        stack.enter_context(blas.single_threaded())
        given, executor = training_data(model, X, y, sample_weight, groups, executor, stack)
        data, events = given, EventLog(listeners)
        if not (model.draws_any_row or data.source.is_shuffled or data.source.n_blocks == 1):
            data = in_random_order(data, executor, stack, events)
        has_test = test is not None or eval_set is not None
        with steps_heard(events, CHOOSING, CHOOSING_ANNOUNCED):
            solver, problem = model.problem(data, has_test=has_test)
        rows = rescaled(data, model._own_scale(data), model.value("dtype"), executor)
        data, model.dtype_, model.found_ = rows.data, rows.data.source.dtype, {**model.found_, **rows.found}
        problem = replace(problem, dtype=model.dtype_, notes=(*problem.notes, *rows.notes))
        seen = mapped(data, model._map_choices(data), problem, executor)
        model.map_, model.found_ = seen.map, {**model.found_, **seen.found}
        if names := model.open_names():
            solver = searched(solver, names, problem)
        model.n_features_in_ = problem.n_features if model.table_ is None else len(model.table_.columns)
        model.scaling_ = data.scaling
        sources = {"train": seen.source}
        if has_test:
            held = held_out_rows(model, given, eval_set) if test is None else test
            sources["test"] = seen.held_out(rows.held_out(held))
        if how["stopping"] is not None:
            how["stopping"].check(solver)
        outcome = run_solver(model, solver, problem, data, Driver(sources, executor, events), **how)
        low, high = ranges_of(given, rows)
    own = solver.further(outcome.state)
    counts = given.source.n_rows, float(given.class_totals.sum()), (given.source.fingerprint,)
    model._further = SavedForUpdate(own, *counts, low, high)


def run_solver(
    model: AbstractEstimator,
    solver: AbstractSolver[Any],
    problem: Problem,
    data: TrainingData,
    driver: Driver,
    *,
    stopping: Stopping | None,
    checkpoints: Place | None,
    resume: bool,
) -> RunOutcome:
    """Run the solver of a model, which takes from it what a fit leaves."""
    identity = model._identity(data, problem)
    driver.checkpoints = None if checkpoints is None else CheckpointFolder(checkpoints, identity)
    outcome = driver.run(solver, problem, resume=resume, take=model._take_parts, stopping=stopping)
    model._keep_data(data)
    model.found_ = {**solver.found(outcome.state), **model.found_}
    model.seed_ = problem.seed
    model.ended_, model.n_iter_ = outcome.ending.reason, outcome.state.stage
    model.history_ = History(outcome.history)
    model._keep(outcome.state)
    return outcome


def ranges_of(data: TrainingData, rows: Rescaled) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smallest and the largest number of each column of training rows, in their own units; without
    numbers where no pass has seen them and the scaling of the data set does not say."""
    source, stored = data.source, data.scaling
    if stored is not None and stored.kind == "minmax" and stored.shift is not None:
        assert stored.factor is not None
        return stored.shift, stored.shift + 1.0 / stored.factor
    if stored is not None and stored.kind != "none":
        return np.zeros(0), np.zeros(0)
    spreads = rows.spreads
    if spreads is None and source.in_memory:
        parts = (source.reader(block)().features for block in range(source.n_blocks))
        spreads = reduce(Spreads.add, (Spreads.of(part, None) for part in parts))
    return (np.zeros(0), np.zeros(0)) if spreads is None else (spreads.low, spreads.high)


# -- a map in front of the model


def map_choices(scale: str, metric: str | None, source: AbstractSource) -> tuple[MapChoice, ...]:
    """The maps that are wanted, to choose from: metrics, or transforms that no scaling is.

    Raises
    ------
    InputError
        If rows are sparse, whose zeros would become numbers, or the scaling is none that goes with a metric.
    """
    if metric is None and scale not in ("normal", "ranks"):
        return ()
    if source.is_sparse:
        name = "scale" if metric is None else "metric"
        raise InputError(
            "maps of columns would turn the zeros of sparse rows into numbers",
            where=name,
            hint=f"leave {name} out, or give dense rows",
        )
    from distkern.search.ladder import maps_of

    known = maps_of(source.n_features) if metric == AUTO else []
    if scale == AUTO:
        transforms: list[Any] = list(dict.fromkeys(choice.transform for choice in known)) or ["standard"]
    else:
        transforms = [scale]
    if not set(transforms) <= set(TRANSFORMS):
        raise InputError(
            f"is {scale!r}, and metrics are learned of standardised columns, their normal quantiles or ranks",
            where="scale",
            hint="set it to standard, normal, ranks or none, or leave it out",
        )
    given: list[Any] = [metric or "none"]
    kinds = list(dict.fromkeys(choice.metric for choice in known)) or given
    return tuple(MapChoice(transform, kind, _ROUNDS) for kind in kinds for transform in transforms)


@dataclass(frozen=True)
class Mapped:
    """Training data as a solver sees it.

    Attributes
    ----------
    source : whose rows are mapped whenever they are read
    map : of the rows, if there is one
    found : what was chosen for hyperparameters that are "auto", by name
    """

    source: AbstractSource
    map: RowMap | None = None
    found: Mapping[str, Any] = field(default_factory=dict)

    def held_out(self, source: AbstractSource) -> AbstractSource:
        """Other rows, which were scaled as the training rows were, mapped as they are."""
        return source if self.map is None else ScaledSource(source, self.map)


def mapped(
    data: TrainingData, choices: Sequence[MapChoice], problem: Problem, executor: AbstractExecutor
) -> Mapped:
    """Training data with a map in front, learned from 2,000 rows of them in one pass.

    Among several choices the one taken is the map of the ladder's best machine over centres on a third of
    these rows, or the first that cannot be told from it.
    """
    if not choices:
        return Mapped(data.source)
    rows: Block = Driver({"train": data.source}, executor).measure(_sampling(problem))
    rows = rows.take(order_of_keys(row_keys(np.asarray(rows.features)), None, problem.seed))
    # a map takes unweighted rows, so weights become repetitions
    places = np.arange(rows.n_rows)[as_rows(rows.weights, _MAP_ROWS)]
    some, found = replace(rows.take(places), weights=None), {}
    choice = choices[0]
    if len(choices) > 1:
        choice = _chosen(choices, some, problem)
        found = {"metric": None if choice.metric == "none" else choice.metric, "scale": choice.transform}
    learned = learned_map(choice, some, problem)
    return Mapped(ScaledSource(data.source, learned), learned, found)


def _chosen(choices: Sequence[MapChoice], rows: Block, problem: Problem) -> MapChoice:
    """The best map by rows that are held out of these, which are in random order."""
    from distkern.search.ladder import best_map
    from distkern.search.machines import SampleRows

    n_classes = len(problem.class_shares)
    codes = np.asarray(rows.targets) if n_classes else None
    n_learned = 2 * rows.n_rows // 3
    if rows.targets is None or rows.n_rows < _FEW:
        return choices[0]
    part = parted(keys_of(rows), codes, problem.seed, n_learned, rows.n_rows)
    several = [len(side) and np.ptp(np.asarray(rows.targets)[side]) > 0 for side in part]
    return best_map(SampleRows.of(rows, n_classes, None), part, choices) if all(several) else choices[0]


def learned_map(choice: MapChoice, some: Block, problem: Problem) -> RowMap:
    """From rows in random order."""
    # without targets there is no metric, and nothing to pull rows apart
    given = np.zeros(some.n_rows) if some.targets is None else np.asarray(some.targets)
    targets = pulled_targets(given, len(problem.class_shares))
    return RowMap.fit(choice, np.asarray(some.features), targets)


def mapping(choices: Sequence[MapChoice], problem: Problem) -> list[Outline]:
    """The pass that :func:`mapped` makes, if it makes one, with what is learned from its result."""
    return [Outline(_sampling(problem, choices))] if choices else []


def _sampling(problem: Problem, choices: Sequence[MapChoice] = ()) -> Reduce[Block]:
    sample = sample_of(problem, _MAP_ROWS)
    n_rows = min(problem.n_rows, sample.rows_per_block * len(sample.blocks))
    n_bytes = n_rows * (problem.row_bytes + problem.beside_bytes)
    learning = 0
    if choices:
        n_outputs = max(len(problem.class_shares), 1)
        n_rows = n_rows if problem.max_relative_weight == 1.0 else max(n_rows, _MAP_ROWS)
        learning = max(fitting_bytes(choice, n_rows, problem.n_features, n_outputs) for choice in choices)
    if len(choices) > 1:
        from distkern.search.ladder import memory_of

        learning = max(learning, memory_of(n_rows, problem.n_features, 0))
    return sampling("sample for the map", problem, sample, 2 * n_bytes + learning)
