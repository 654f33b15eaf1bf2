"""Updates: a fitted model and more rows make another model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight

from distkern.core import blas
from distkern.core.errors import InputError
from distkern.core.names import plain_labels
from distkern.core.sparse import Rows as Features
from distkern.core.targets import plain_targets
from distkern.core.types import AbstractSource, Block
from distkern.data.dataset import Dataset, Split
from distkern.data.scaling import SHARD_LIKE
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog
from distkern.engine.executors import AbstractExecutor
from distkern.model.parts import SavedForUpdate
from distkern.model.value import FittedModel
from distkern.passes import Extent, Machine, Outline
from distkern.runs.data import TrainingData, check_task, from_arrays, from_split
from distkern.runs.drift import NEW_ROWS, drift_of, drift_pass
from distkern.runs.evaluation import evaluate_split, evaluation_passes, future_evaluation
from distkern.runs.fitting import RunPlace, model_of, shuffled
from distkern.runs.given import refuse_lazy, rows_for
from distkern.runs.learned import codes_of_labels
from distkern.runs.persistence import fingerprint_of
from distkern.runs.recipe import Posed, Recipe
from distkern.runs.sources import JoinedRows, ScaledSource, itself, made_block
from distkern.solvers.base import AbstractSolver, Problem, cannot_go_on

#: most updates recorded in a model
_MOST_RECORDED = 100


@dataclass(frozen=True, kw_only=True)
class UpdateRecipe(Recipe):
    """How a model learns from more rows: its settings, scaling, map and weights do not change.

    Attributes
    ----------
    model : model before the update
    """

    model: FittedModel

    @property
    def draws_any_row(self) -> bool:
        # cells locate rows in any order
        return super().draws_any_row or self.name.startswith("cells")

    def data_of(self, split: Split) -> TrainingData:
        return self.rows.data

    @property
    def rows(self) -> UpdateRun:
        assert self.update_run is not None, "update_recipe gives it"
        return self.update_run

    def preparing(self, data: TrainingData, problem: Problem) -> list[Outline]:
        return []

    def measuring(
        self, solver: AbstractSolver[Any], problem: Problem, machine: Machine
    ) -> tuple[list[Outline], list[Outline], dict[str, Extent]]:
        new, further = self.rows.new, self.rows.further
        before = [Outline(drift_pass(self.model, new, further.low, further.high), is_before=True)]
        after, extents = [], {NEW_ROWS: Extent.of(new)}
        for number, split in enumerate(self.rows.splits, 1):
            own = f"{NEW_ROWS} {number}"
            extents[own] = Extent.of(split)
            steps = evaluation_passes(self.model, split, machine)
            before += [Outline(step.changed(split=own), is_before=True) for step in steps]
            after += future_evaluation(solver, problem, split, own)
        return before, after, extents

    def memory_hint(self, solver: AbstractSolver[Any]) -> str:
        # an update keeps the settings
        return f"train a new model with {super().memory_hint(solver).replace('=...', '=N')}"

    def as_read(self, data: TrainingData, split: AbstractSource) -> AbstractSource:
        if not isinstance(split, Split) or split.name == "train":
            return mapped_source(self.model, data.source)
        return mapped_source(self.model, as_own(self.model, split))

    def pose(self, data: TrainingData, *, has_test: bool) -> Posed:
        update_run, model = self.rows, self.model
        weights = model.class_weights
        mean = update_run.mean_of(data.mean_weight(weights))
        shares = update_run.shares_of(data.class_totals) if self.task == "classification" else None
        # new rows of a single class do not represent the class shares
        return self.posed(data, weights, shares, mean, has_test=has_test, tells_shares=False)

    def continued(self, solver: AbstractSolver[Any], problem: Problem) -> tuple[AbstractSolver[Any], Problem]:
        return self.model.continued(solver, problem, self.rows)

    def searched(self, posed: Posed) -> AbstractSolver[Any]:
        return posed.solver

    def identity(self, data: TrainingData, posed: Posed) -> dict[str, Any]:
        return super().identity(data, posed) | {"model": self.rows.fingerprint}

    def update(self, test: Split | None, place: RunPlace) -> FittedModel:
        """Return the updated model; ``test`` is measured after every stage."""
        update_run, model, executor = self.rows, self.model, place.executor
        with ExitStack() as stack:
            stack.enter_context(blas.single_threaded())
            events = EventLog(place.listeners)
            data = shuffled(self, update_run.data, executor, stack, events)
            posed = self.pose(data, has_test=test is not None)
            note = f"update: {update_run.new.n_rows:,} new rows, {update_run.n_rows:,} rows in total"
            notes = (*posed.problem.notes, note)
            posed = replace(posed, problem=replace(posed.problem, dtype=data.source.dtype, notes=notes))
            sources = {"train": mapped_source(model, data.source)}
            if test is not None:
                sources["test"] = mapped_source(model, as_own(model, test))
            known = update_run.further.low, update_run.further.high
            driver = Driver({NEW_ROWS: update_run.new}, executor, events)
            drift = drift_of(model, driver.measure(drift_pass(model, update_run.new, *known)), *known)
            before = errors_of(model, update_run, executor)
            driver = Driver(sources, executor, events, self.checkpoints(place.checkpoints, data, posed))
            outcome = driver.run(
                posed.run_by,
                posed.problem,
                resume=place.resume,
                take=self.kind.stored_fields,
                stopping=place.stopping,
            )
            saved, counts = posed.solver.further(outcome.state), (update_run.n_rows, update_run.weight)
            further = SavedForUpdate(
                saved, *counts, update_run.sources, *drift.widened, update_run.fingerprint
            )
            classes = np.empty(0) if model.classes is None else model.classes
            own = model.columns, classes, model.map, further
            updated = model_of(self, posed, outcome, *own)
            after = errors_of(updated, update_run, executor)
        facts = {"rows": update_run.new.n_rows, "before": before, "after": after, **drift.facts}
        number = 1 + (model.updates[-1]["number"] if model.updates else 0)
        recorded = (*model.updates[1 - _MOST_RECORDED :], {"number": number, **facts})
        return replace(updated, updates=recorded)


def update_recipe(model: FittedModel, splits: Sequence[Split]) -> tuple[UpdateRecipe, tuple[Split, ...]]:
    """Return the recipe of an update with the rows of some splits, and the splits that are new to the model.

    The model knows which splits it has learned from. Old splits are read again before the new ones if the
    algorithm needs them.

    Raises
    ------
    InputError
        If the model cannot be updated at all, or not with these rows.
    """
    further = model.further.loaded()
    chosen = chosen_splits(further, splits)
    known = {split.fingerprint for split in chosen.old}
    # rows of arrays belong to no data set
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
    """Return whether an update reads the old rows again; :class:`InputError` if there are no updates."""
    rule = model.solver_of(model.settings.cleaned, model.risk_of(model.settings)).updates
    if rule.refusal:
        raise cannot_go_on(model.name, rule.refusal)
    return rule.needs_old(further.solver_state)


def _missing(model: FittedModel, further: SavedForUpdate, where: str, how: str) -> InputError:
    return InputError(
        f"an update of {model.name} reads the old rows again, and some of its {further.n_rows:,} training "
        "rows are missing",
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
    weights = model.mean_weight, model.class_weights, model.class_shares
    data = update_data(model, [*old, *new])
    fresh = data.source if not old else update_data(model, new).source
    update_run = UpdateRun(further, data, fresh, splits, n_earlier, prints, *weights, fingerprint_of(model))
    # the held-out score belongs to the previous machine
    chosen = None if model.chosen is None else replace(model.chosen, held_out=None)
    own = model.name, model.columns.estimator, model.task, type(model), model.settings.cleaned, model.params
    return UpdateRecipe(*own, chosen, model=model, update_run=update_run)


def mapped_source(model: FittedModel, source: AbstractSource) -> AbstractSource:
    """Return rows of the model's features as its solver sees them."""
    return source if model.map is None else ScaledSource(source, model.map)


def as_own(model: FittedModel, split: Split) -> AbstractSource:
    """Return a split of another data set with the features and class codes of a model."""
    return update_data(model, [UpdateRows.of_split(model, split)]).source


def errors_of(model: FittedModel, update_run: UpdateRun, executor: AbstractExecutor) -> dict[str, float]:
    """Return the error of a model on the new rows of an update: error rate or RMSE."""
    found = [evaluate_split(model, split, executor).figures for split in update_run.splits]
    if not found:
        found = [_figures_on(model, update_run.new)]
    n_rows = np.array([one["n"] for one in found], dtype=np.float64)
    name = "rmse" if model.task == "regression" else "error"
    each = np.array([one[name] for one in found])
    if name == "rmse":
        return {name: float(np.sqrt(np.square(each) @ n_rows / n_rows.sum()))}
    return {name: float(each @ n_rows / n_rows.sum())}


def _figures_on(model: FittedModel, rows: AbstractSource) -> dict[str, float]:
    """Return the error rate or RMSE, and the number of rows, on prepared rows in memory."""
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


def update_recipe_of(model: FittedModel, X: Any, y: Any, sample_weight: Any, old: Any) -> UpdateRecipe:
    """Return the recipe of an update with rows as ``update`` takes them; raises as it does."""
    if isinstance(X, Split | Dataset):
        given = [] if old is None else old if isinstance(old, list) else [old]
        return update_recipe(model, [one.train if isinstance(one, Dataset) else one for one in (*given, X)])[
            0
        ]
    further = model.further.loaded()
    new = _rows_of_arrays(model, X, y, sample_weight)
    needs, earlier = needs_old(model, further), []
    if needs and old is not None:
        given = old if isinstance(old, list) else [old]
        earlier = [_rows_of_arrays(model, *one) for one in given]
        weight = float(sum(part.totals.sum() for part in earlier))
        if not math.isclose(weight, further.weight, rel_tol=1e-6):
            raise InputError(
                f"the old rows have weight {weight:,.10g}, but the training rows had {further.weight:,.10g}",
                where="old",
                hint="give exactly the rows of the training",
            )
    elif needs:
        raise _missing(model, further, "old", "update(X, y, old=(X_old, y_old))")
    n_left = 0 if earlier else further.n_rows
    return _recipe(model, further, earlier, [new], n_left, (*further.sources, ""))


def _rows_of_arrays(model: FittedModel, X: Any, y: Any = None, sample_weight: Any = None) -> UpdateRows:
    """Return arrays in memory as rows that the model knows."""
    refuse_lazy(X)
    known = rows_for(model.columns, X)
    if isinstance(known.rows, AbstractSource):
        raise InputError(f"a {type(X).__name__}", where="X", hint="give arrays or frames in memory")
    features: Features = known.prepared(model.columns.dtype)
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


_WHERE = "--data"


@dataclass(frozen=True)
class UpdateRows:
    """Rows for an update, and how they are brought to the model's columns.

    Attributes
    ----------
    source : source of the rows
    made : picklable function from a block of it to one with the model's features and class codes
    totals, largest : sum and largest of the weights for each of the model's classes, or for all rows
    """

    source: AbstractSource
    made: Callable[[Block], Block]
    totals: NDArray[np.float64]
    largest: NDArray[np.float64]

    @classmethod
    def of_split(cls, model: FittedModel, split: Split) -> UpdateRows:
        """Return the rows of a split of a data set.

        Raises
        ------
        InputError
            If it has other columns or another task, or labels that the model does not know.
        """
        check_task(split.dataset, model.task, f"give a data set that {SHARD_LIKE} made")
        preparation = model.columns.preparation(split.dataset)
        codes = _codes(model, split)
        data = from_split(split, model.task)
        totals, largest = data.class_totals, data.class_largest
        if codes is not None:
            n_classes = 0 if model.classes is None else len(model.classes)
            known = codes >= 0
            totals, largest = np.zeros(n_classes), np.zeros(n_classes)
            totals[codes[known]] = data.class_totals[known]
            largest[codes[known]] = data.class_largest[known]
        made = partial(made_block, preparation, model.columns.dtype or split.dtype, codes)
        return cls(split, made, totals, largest)

    @classmethod
    def of_arrays(cls, data: TrainingData, classes: NDArray[Any]) -> UpdateRows:
        """Return arrays whose rows have the model's features, with codes of its classes as labels."""
        if not len(classes):
            return cls(data.source, itself, data.class_totals, data.class_largest)
        totals, largest = np.zeros((2, len(classes)))
        totals[data.classes], largest[data.classes] = data.class_totals, data.class_largest
        made = partial(made_block, None, data.source.dtype, data.classes.astype(np.int32))
        return cls(data.source, made, totals, largest)


def _codes(model: FittedModel, split: Split) -> NDArray[np.int32] | None:
    """Return the model's code for each class of a data set, -1 for one without rows; None without classes."""
    labels = split.dataset.classes
    if model.task != "classification" or labels is None:
        return None
    known = plain_labels(model.classes)
    counts = split.class_counts
    for code, label in enumerate(plain_labels(labels)):
        if label not in known and (counts is None or counts[code]):
            raise InputError(
                f"has rows of class {label!r}, which the model does not know",
                where=str(split.dataset.path),
                hint=f"remove them (its classes are {known[:12]}), or train on the old and the new rows",
            )
    return np.array(
        [known.index(label) if label in known else -1 for label in plain_labels(labels)], np.int32
    )


@dataclass(frozen=True)
class UpdateRun:
    """The data of a fit that starts from a fitted model.

    Attributes
    ----------
    further : what the model stores for updates
    data : rows to read, with the model's codes
    new : the new ones among them
    splits : their splits, if they belong to data sets
    n_earlier : number of earlier training rows that are not read again
    sources : fingerprints of all training rows after the update
    mean_weight, class_weights, class_shares : those of the model
    fingerprint : see :func:`~distkern.runs.persistence.fingerprint_of`
    """

    further: SavedForUpdate
    data: TrainingData
    new: AbstractSource
    splits: tuple[Split, ...]
    n_earlier: int
    sources: tuple[str, ...]
    mean_weight: float
    class_weights: NDArray[np.float64] | None
    class_shares: NDArray[np.float64] | None
    fingerprint: str

    @property
    def weight(self) -> float:
        """Sum of the weights of all training rows after the update."""
        earlier = self.further.weight if self.n_earlier else 0.0
        return earlier + float(self.data.class_totals.sum())

    @property
    def n_rows(self) -> int:
        """Number of training rows after the update."""
        return self.n_earlier + self.data.source.n_rows

    def mean_of(self, mean_weight: float) -> float:
        """Return the mean weight of the earlier rows and the rows to read, whose mean is given."""
        n_rows = self.data.source.n_rows
        return (mean_weight * n_rows + self.mean_weight * self.n_earlier) / (n_rows + self.n_earlier)

    def shares_of(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return class shares by weight, from the weights of the rows to read and the earlier shares."""
        known = totals
        if self.class_shares is not None and self.n_earlier:
            known = totals + self.class_shares * self.further.weight
        shares: NDArray[np.float64] = known / known.sum()
        return shares


@dataclass(frozen=True)
class UpdateSplits:
    """The splits of an update.

    Attributes
    ----------
    old, new : splits that the model has learned from, in its order, and new ones
    """

    old: tuple[Split, ...]
    new: tuple[Split, ...]


def chosen_splits(further: SavedForUpdate, splits: Sequence[Split]) -> UpdateSplits:
    """Divide splits into old and new ones.

    Raises
    ------
    InputError
        If none is new, or one is given twice.
    """
    prints = [split.fingerprint for split in splits]
    for number, split in enumerate(splits):
        if split.fingerprint in prints[:number]:
            raise InputError("is given twice", where=f"{_WHERE} {split.dataset.path}", hint="give it once")
    new = tuple(split for split in splits if split.fingerprint not in further.sources)
    if not new:
        raise InputError(
            "the model has learned from these rows already", where=_WHERE, hint="give a data set of new rows"
        )
    by_print = dict(zip(prints, splits, strict=True))
    return UpdateSplits(tuple(by_print[one] for one in further.sources if one in by_print), new)


def update_data(model: FittedModel, parts: Sequence[UpdateRows]) -> TrainingData:
    """Return rows of several sources as training data of a model, in their order."""
    sources = [part.source for part in parts]
    if len({source.is_sparse for source in sources}) > 1:
        raise InputError(
            "some of the data sets are stored sparse and others dense",
            where=_WHERE,
            hint="shard them again, all with --sparse or all with --dense",
        )
    joined = JoinedRows(
        sources, [part.made for part in parts], model.width, model.columns.dtype or np.dtype(np.float32)
    )
    totals = np.sum([part.totals for part in parts], axis=0)
    largest = np.max([part.largest for part in parts], axis=0)
    classes = np.empty(0) if model.classes is None else model.classes
    return TrainingData(joined, classes, totals, largest, model.columns.scaling)
