"""Updates: a fitted model and more rows make another model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight

from distkern.core import blas
from distkern.core.errors import InputError
from distkern.core.sparse import Rows as Features
from distkern.core.targets import plain_targets
from distkern.core.types import AbstractSource
from distkern.data.dataset import Dataset, Split
from distkern.data.preparation import Preparation
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog
from distkern.engine.executors import AbstractExecutor
from distkern.model.files import fingerprint_of
from distkern.model.further import SavedForUpdate
from distkern.model.value import FittedModel
from distkern.passes import Outline
from distkern.runs.arrays import refuse_lazy
from distkern.runs.data import TrainingData, from_arrays
from distkern.runs.drift import drift_of, drift_pass
from distkern.runs.evaluation import evaluate_split
from distkern.runs.fitting import RunPlace, model_of, run_solver, shuffled
from distkern.runs.given import rows_for
from distkern.runs.learned import codes_of_labels
from distkern.runs.recipe import Posed, Recipe
from distkern.runs.scaled import ScaledSource
from distkern.runs.update import UpdateRows, UpdateRun, chosen_splits, further_of, update_data
from distkern.solvers.base import AbstractSolver, Problem, cannot_go_on

#: updates that a model tells of, at most
_MOST_TOLD = 100


@dataclass(frozen=True)
class UpdateRecipe(Recipe):
    """How a model learns from more rows: its settings, scaling, map and weights stay what they are.

    Attributes
    ----------
    model : that the update begins from
    """

    model: FittedModel | None = None

    @property
    def draws_any_row(self) -> bool:
        # cells find the places of rows wherever they are
        return super().draws_any_row or self.name.startswith("cells")

    def data_of(self, split: Split) -> TrainingData:
        return self.rows.data

    @property
    def rows(self) -> UpdateRun:
        """What the update learns from."""
        assert self.begins is not None, "begun gives it"
        return self.begins

    @property
    def _model(self) -> FittedModel:
        assert self.model is not None, "begun gives it"
        return self.model

    def preparing(self, data: TrainingData, problem: Problem) -> list[Outline]:
        return []

    def as_read(self, data: TrainingData, split: Split) -> AbstractSource:
        if split.name == "train":
            return mapped_source(self._model, data.source)
        return mapped_source(self._model, as_own(self._model, split))

    def pose(self, data: TrainingData, *, has_test: bool) -> Posed:
        begins, model = self.rows, self._model
        weights = model.class_weights
        mean = begins.mean_of(data.mean_weight(weights))
        shares = begins.shares_of(data.class_totals) if self.task == "classification" else None
        # new rows may be of one class alone, which says nothing of the model
        return self.posed(data, weights, shares, mean, has_test=has_test, tells_shares=False)

    def begun(self, solver: AbstractSolver[Any], problem: Problem) -> tuple[AbstractSolver[Any], Problem]:
        return self._model.begun(solver, problem, self.rows)

    def searched(self, posed: Posed) -> AbstractSolver[Any]:
        return posed.solver

    def identity(self, data: TrainingData, posed: Posed) -> dict[str, Any]:
        return super().identity(data, posed) | {"model": self.rows.fingerprint}

    def update(self, test: Split | None, place: RunPlace) -> FittedModel:
        """The updated model; ``test`` is measured after every stage."""
        begins, model, executor = self.rows, self._model, place.executor
        with ExitStack() as stack:
            stack.enter_context(blas.single_threaded())
            events = EventLog(place.listeners)
            data = shuffled(self, begins.data, executor, stack, events)
            posed = self.pose(data, has_test=test is not None)
            note = f"update: {begins.new.n_rows:,} new rows, {begins.n_rows:,} with those before"
            notes = (*posed.problem.notes, note)
            posed = replace(posed, problem=replace(posed.problem, dtype=data.source.dtype, notes=notes))
            sources = {"train": mapped_source(model, data.source)}
            if test is not None:
                sources["test"] = mapped_source(model, as_own(model, test))
            known = begins.further.low, begins.further.high
            driver = Driver({"train": begins.new}, executor, events)
            drift = drift_of(model, driver.measure(drift_pass(model, begins.new, *known)), *known)
            before = errors_of(model, begins, executor)
            outcome, parts = run_solver(self, posed, data, Driver(sources, executor, events), place)
            saved, counts = posed.solver.further(outcome.state), (begins.n_rows, begins.weight)
            further = SavedForUpdate(saved, *counts, begins.sources, *drift.widened, begins.fingerprint)
            classes = np.empty(0) if model.classes is None else model.classes
            own = model.columns, classes, model.map, further
            updated = model_of(self, posed, outcome, parts, *own)
            after = errors_of(updated, begins, executor)
        facts = {"rows": begins.new.n_rows, "before": before, "after": after, **drift.facts}
        number = 1 + (model.updates[-1]["number"] if model.updates else 0)
        told = (*model.updates[1 - _MOST_TOLD :], {"number": number, **facts})
        return replace(updated, updates=told)


def begun(model: FittedModel, splits: Sequence[Split]) -> tuple[UpdateRecipe, tuple[Split, ...]]:
    """How a fitted model is updated with the rows of some splits, and which of them are new.

    Which are new follows from what the model has learned from. Old ones are read again where that is what the
    algorithm asks for, before the new ones.

    Raises
    ------
    InputError
        If the model cannot be updated, with these rows or at all.
    """
    further = further_of(model)
    chosen = chosen_splits(further, splits)
    known = {split.fingerprint for split in chosen.old}
    # rows of arrays are of no data set
    missing = [one for one in further.sources if one not in known]
    new = [UpdateRows.of_split(model, split) for split in chosen.new]
    old: list[UpdateRows] = []
    if needs_old(model, further):
        if missing:
            raise _missing(model, further, "--data", "--data OLD.zarr NEW.zarr")
        old = [UpdateRows.of_split(model, split) for split in chosen.old]
    prints = (*further.sources, *(split.fingerprint for split in chosen.new))
    n_earlier = 0 if old else further.n_rows
    return _recipe(model, further, old, new, n_earlier, prints, chosen.new), chosen.new


def needs_old(model: FittedModel, further: SavedForUpdate) -> bool:
    """Whether an update reads the old rows again; :class:`InputError` if there is no update."""
    rule = model.solver_of(model.settings, model.risk_of(model.settings)).updates
    if rule.refusal:
        raise cannot_go_on(model.name, rule.refusal)
    return rule.needs_old(further.solver_state)


def _missing(model: FittedModel, further: SavedForUpdate, where: str, how: str) -> InputError:
    return InputError(
        f"an update of {model.name} reads the old rows again, and some of the {further.n_rows:,} that it was "
        "trained on are missing",
        where=where,
        hint=f"add them: {how}",
    )


def _recipe(
    model: FittedModel,
    further: SavedForUpdate,
    old: Sequence[UpdateRows],
    new: Sequence[UpdateRows],
    n_earlier: int,
    prints: tuple[str, ...],
    splits: tuple[Split, ...] = (),
) -> UpdateRecipe:
    """How a model is updated with rows."""
    weights = model.mean_weight, model.class_weights, model.class_shares
    data = update_data(model, [*old, *new])
    fresh = data.source if not old else update_data(model, new).source
    begins = UpdateRun(further, data, fresh, splits, n_earlier, prints, *weights, fingerprint_of(model))
    # the updated machine is another one than was judged
    chosen = None if model.chosen is None else replace(model.chosen, held_out=None)
    own = model.name, model.columns.estimator, model.task, type(model), model.settings, model.params
    return UpdateRecipe(*own, chosen, model=model, begins=begins)


def mapped_source(model: FittedModel, source: AbstractSource) -> AbstractSource:
    """Rows of the model's features as its solver sees them."""
    return source if model.map is None else ScaledSource(source, model.map)


def as_own(model: FittedModel, split: Split) -> AbstractSource:
    """A split of another data set, with the features and class codes of a model."""
    return update_data(model, [UpdateRows.of_split(model, split)]).source


def errors_of(model: FittedModel, begins: UpdateRun, executor: AbstractExecutor) -> dict[str, float]:
    """Errors of a model on the new rows of an update: shares of wrong labels, or root mean squared ones."""
    found = [evaluate_split(model, split, executor).figures for split in begins.splits]
    if not found:
        found = [_figures_on(model, begins.new)]
    n_rows = np.array([one["n"] for one in found], dtype=np.float64)
    name = "rmse" if model.task == "regression" else "error"
    each = np.array([one[name] for one in found])
    if name == "rmse":
        return {name: float(np.sqrt(np.square(each) @ n_rows / n_rows.sum()))}
    return {name: float(each @ n_rows / n_rows.sum())}


def _figures_on(model: FittedModel, rows: AbstractSource) -> dict[str, float]:
    """The error or RMSE, and the number of rows, on prepared rows in memory."""
    is_real = model.task == "regression"
    predict = model.predictor(None, "decision" if is_real else "label", rows.dtype)
    lost = 0.0
    for index in range(rows.n_blocks):
        block = rows.reader(index)()
        targets, found = np.asarray(block.targets), predict(block.features)
        if is_real:
            lost += float(np.square(found.reshape(len(targets), -1) - targets[:, None]).mean(axis=1).sum())
        else:
            assert model.classes is not None
            lost += float((found != model.classes[targets]).sum())
    mean = lost / rows.n_rows
    return {"n": rows.n_rows, "rmse": math.sqrt(mean)} if is_real else {"n": rows.n_rows, "error": mean}


def begun_with(model: FittedModel, X: Any, y: Any, sample_weight: Any, old: Any) -> UpdateRecipe:
    """How a model is updated with rows as ``update`` takes them; raises as it does."""
    if isinstance(X, Split | Dataset):
        given = [] if old is None else old if isinstance(old, list) else [old]
        return begun(model, [one.train if isinstance(one, Dataset) else one for one in (*given, X)])[0]
    further = further_of(model)
    new = _rows_of_arrays(model, X, y, sample_weight)
    needs, earlier = needs_old(model, further), []
    if needs and old is not None:
        given = old if isinstance(old, list) else [old]
        earlier = [_rows_of_arrays(model, *one) for one in given]
        weight = float(sum(part.totals.sum() for part in earlier))
        if not math.isclose(weight, further.weight, rel_tol=1e-6):
            raise InputError(
                f"{weight:,.10g} rows or their weight, and the model has learned from {further.weight:,.10g}",
                where="old",
                hint="give all of them, and only those",
            )
    elif needs:
        raise _missing(model, further, "old", "update(X, y, old=(X_old, y_old))")
    n_left = 0 if earlier else further.n_rows
    return _recipe(model, further, earlier, [new], n_left, (*further.sources, ""))


def _rows_of_arrays(model: FittedModel, X: Any, y: Any = None, sample_weight: Any = None) -> UpdateRows:
    """Arrays in memory as rows that the model knows."""
    refuse_lazy(X)
    known = rows_for(model.columns, X)
    if isinstance(known.rows, AbstractSource):
        raise InputError(f"a {type(X).__name__}", where="X", hint="give arrays or frames in memory")
    prepare = (known.preparation or Preparation()).apply_rows
    dtype = model.columns.dtype or np.float32
    features: Features = known.map(partial(prepare, out_dtype=dtype), None)
    targets = column_or_1d(plain_targets(y), warn=True)
    check_consistent_length(features, targets)
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, np.empty((len(targets), 1)), dtype=np.float64)
    if model.task != "classification":
        data = from_arrays(features, targets.astype(np.float64), weights, "regression")
        return UpdateRows.of_arrays(data, np.empty(0))
    assert model.classes is not None
    data = from_arrays(features, codes_of_labels(model.classes, targets, "y"), weights)
    return UpdateRows.of_arrays(data, model.classes)
