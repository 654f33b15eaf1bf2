"""Estimators that choose the algorithm, by the shape of the rows or by trials on a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core import blas
from distkern.core.choices import Compared, reason
from distkern.core.common_parameters import (
    CHOICE,
    CHOOSABLE,
    CLASS_WEIGHT,
    PROBABILITY,
    RANDOM_STATE,
    THRESHOLD,
)
from distkern.core.errors import InputError, foreign, unknown_name
from distkern.core.parameters import AUTO, NOTHING, Parameter, Whole
from distkern.core.text import held_out_note
from distkern.core.types import AbstractSource
from distkern.estimators.base import AbstractClassifier, AbstractRegressor
from distkern.estimators.cells import CellRecipe
from distkern.estimators.estimator import AbstractEstimator
from distkern.maths.maps.mapping import MapChoice
from distkern.model.settings import ChosenBy, Settings
from distkern.passes import Extent
from distkern.runs.algorithms import algorithm, estimator_of
from distkern.runs.data import TrainingData
from distkern.runs.recipe import Recipe

if TYPE_CHECKING:
    from distkern.choose.choice import TriedSetting
    from distkern.choose.folds import MachineSetting
    from distkern.data.dataset import Split
    from distkern.estimators.arena import ArenaSizes
    from distkern.estimators.sample import FoldedSample

#: most columns for which cells are tried and sampled sparse rows are densified
_NARROW = 1024
#: columns from which sparse rows are nearly separable and kernels gain little
_WIDE = 2**14
#: start of the search for nu of wide rows; sparse rows have norms of about 1
_FIRST_NU = 1e-4
#: least nu for which machines of real targets train in single precision
_LEAST_SINGLE_NU = 1e-6
#: usual tolerance of Newton's method, and its largest share of the expected loss, which may be tiny
_TOLERANCE, _OF_LOSS = 1e-3, 0.1
#: rows of cells to try if the default does not fit the memory limit
_SMALLER_CELLS = (4000, 2000, 1000)


@dataclass(frozen=True)
class Candidate:
    """An algorithm with settings, and the reason for choosing it.

    Attributes
    ----------
    name : name of the algorithm, without a suffix for the task
    because : reason, a clause
    compared : machines tried
    instead : settings of the best machine of Newton's method, if another algorithm is chosen
    expected : expected score on new rows and its standard error
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    because: str = ""
    compared: tuple[Compared, ...] = ()
    instead: dict[str, Any] | None = None
    expected: tuple[float, float] | None = None

    @property
    def description(self) -> str:
        """The algorithm and its settings in words."""
        settings = ", ".join(f"{name}={_short(value)}" for name, value in self.settings.items())
        return f"{self.name} with {settings}" if settings else self.name


N_JOBS = Parameter(
    None,
    (Whole(1), Whole(-math.inf, -1), NOTHING),
    "number of threads of a fit; -1: one for each core, -2: one less, ...; none: one for few rows, else as "
    "Dask is configured. An active Dask client uses its own workers. Results do not depend on it",
)

#: a linear machine of the columns
_LINEAR = Candidate("newton", {"features": "linear"})


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value).lower() if value is None else str(value)


@dataclass(frozen=True)
class ChoosingRecipe(Recipe):
    """A recipe that chooses the algorithm for the rows.

    Attributes
    ----------
    own : hyperparameters of the estimator, as given
    """

    own: Mapping[str, Any] = field(default_factory=dict)
    chooses = True

    def check(self) -> None:
        """Refuse settings that no candidate has; :meth:`chosen_for` refuses the others."""
        algorithm = self.settings.value("algorithm")
        names = CHOOSABLE if algorithm == AUTO else (algorithm,)
        kinds = [self.kind_of(one).hyperparameters for one in names]
        known = {name for one in kinds for name in one}
        for name, value in (self.settings.value("settings") or {}).items():
            if name not in known:
                error = unknown_name("hyperparameter", str(name), known)
                hint = (foreign(name, ()) if algorithm == AUTO else None) or error.hint
                raise InputError(error.what, where="settings", hint=hint)
            having = [one[name] for one in kinds if name in one]
            if not any(kind.accepts(value) for one in having for kind in one.kinds):
                having[0].clean(name, value)

    def chosen_for(self, data: TrainingData, *, has_test: bool) -> Recipe:
        """Return the recipe of the algorithm that suits the rows, with a record of this choice."""
        # a plan is made before the run limits the threads
        with blas.single_threaded():
            chosen = self.candidate(data, has_test=has_test)
        given = self.settings.value("settings") or {}
        kind = self.kind_of(chosen.name)
        for name in given:
            if name not in kind.hyperparameters:
                having = [repr(one) for one in CHOOSABLE if name in self.kind_of(one).hyperparameters]
                raise InputError(
                    f"is no hyperparameter of {chosen.name}, which was chosen",
                    where=f"hyperparameter {name!r}",
                    hint=f"leave it out, or set algorithm to {' or '.join(having)}",
                )
        machine = self.estimator_for(chosen, len(data.classes))
        recipe = machine.recipe()
        recipe.check()
        if isinstance(recipe, CellRecipe):
            recipe = replace(recipe, reports_score=True)
        trained = replace(chosen, settings={**chosen.settings, **given})
        notes = [f"algorithm: {trained.description}, because {chosen.because}"]
        # given settings or class weights make a different machine from the one that was scored
        expected = None if given or self.settings.given.get("class_weight") is not None else chosen.expected
        if expected is not None:
            notes.append(held_out_note(*expected, is_real=self.task == "regression"))
        changed = self._changed_params(machine)
        by = ChosenBy(self.name, self.params, self.estimator, chosen.because, changed, expected)
        recipe = replace(recipe, chosen=by, notes=tuple(notes), candidates=chosen.compared)
        return recipe.seeded().chosen_for(data, has_test=has_test)

    def _changed_params(self, machine: AbstractEstimator) -> dict[str, Any]:
        """Return the hyperparameters of the chosen estimator that differ from the given ones."""
        params = machine.get_params().items()
        return {name: value for name, value in params if name not in self.own or value != self.own[name]}

    def candidate(self, data: TrainingData, *, has_test: bool) -> Candidate:
        """Choose by the shape of the rows, the ladder on a sample of them, and the memory limit."""
        if self.settings.value("algorithm") != AUTO:
            return Candidate(self.settings.value("algorithm"), because="it was requested")
        source = data.source
        noun = "column" if source.n_features == 1 else "columns"
        columns = f"of {source.n_features:,} {'sparse' if source.is_sparse else 'dense'} {noun}"
        if self.settings.value("search") is None:
            default = Candidate("cells") if source.n_features <= _NARROW else self._unsearched(source)
            first = replace(default, because=columns)
        else:
            first = self._searched(data)
        limit = self.settings.value("memory_limit")
        if limit is None:
            return first
        others = [Candidate("svrg"), Candidate("dsg")]
        if first.instead is not None:
            others.insert(0, Candidate("newton", first.instead))
        for candidate in (first, *self._smaller(first, data), *others):
            if self._fits(candidate, data, limit, has_test=has_test):
                if candidate is first:
                    return first
                because = f"{first.description} does not fit the memory limit"
                return replace(candidate, because=because, compared=first.compared, expected=None)
        return first

    def _smaller(self, first: Candidate, data: TrainingData) -> list[Candidate]:
        """Return cells with fewer rows, then cells with a quick search, since metrics need most memory."""
        if first.name != "cells":
            return []
        from distkern.solvers._cells.layout import auto_cell_rows

        source = data.source
        most = auto_cell_rows(source.n_rows, source.n_features, quadratic=self.task == "regression")
        changes: list[dict[str, Any]] = [{"max_cell_rows": rows} for rows in _SMALLER_CELLS if rows < most]
        if self.settings.value("search") == "full" and "search" not in first.settings:
            quick = {"search": "quick"}
            changes += [quick, *({**change, **quick} for change in changes)]
        return [replace(first, settings={**first.settings, **change}) for change in changes]

    def kind_of(self, name: str) -> type[AbstractEstimator]:
        """Return the estimator of an algorithm, without importing others; KeyError if it cannot be chosen."""
        suffix = "_regressor" if self.task == "regression" else ""
        kind: type[AbstractEstimator] | None = algorithm(f"{name}{suffix}")
        if kind is None or name not in CHOOSABLE:
            raise KeyError(name)
        return kind

    def estimator_for(self, chosen: Candidate, n_classes: int = 2) -> AbstractEstimator:
        """Return the estimator of a candidate, with a likelihood as its loss if it needs probabilities."""
        kind = self.kind_of(chosen.name)
        shared = {name: value for name, value in self.own.items() if name in kind.hyperparameters}
        likelihood = {}
        if self.own.get("probability") and "probability" not in shared:
            # sigmoids fitted one by one are underconfident together
            has_softmax = n_classes > 2 and "softmax" in kind.hyperparameters["loss"].words
            likelihood = {"loss": "softmax" if has_softmax else "logistic"}
        given = self.settings.value("settings") or {}
        known = {name: given[name] for name in given if name in kind.hyperparameters}
        return kind(**{**shared, **likelihood, **chosen.settings, **known})

    def _fits(self, candidate: Candidate, data: TrainingData, limit: int, *, has_test: bool) -> bool:
        from distkern.engine.plan import bytes_alone

        recipe = self.estimator_for(candidate, len(data.classes)).recipe().seeded()
        posed = recipe.chosen_for(data, has_test=has_test).pose(data, has_test=has_test)
        outlines = recipe.searched(posed).outline(posed.problem)
        # rows in memory are learned in this process, which holds them too
        kind = "synchronous" if data.source.in_memory else "distributed"
        n_bytes, compiles = self.choosing_bytes(data)
        loaded = {"has_solved": n_bytes > 0, "has_compiled": compiles}
        return bytes_alone(outlines, Extent.of(data.source, "planned"), kind, limit, **loaded) <= limit

    @staticmethod
    def _unsearched(source: AbstractSource) -> Candidate:
        """Return the machine of Newton's method that is the default without a comparison."""
        return _LINEAR if source.is_sparse and source.n_features >= _WIDE else Candidate("newton")

    def _searched(self, data: TrainingData) -> Candidate:
        """Choose the best machine on held-out rows of a sample."""
        # loaded models do not need these modules
        from distkern.choose.ladder import SCORED_UP_TO, STANDARD
        from distkern.estimators.arena import Arena

        source = data.source
        weights = None if self.task == "regression" else self.class_weights(data)
        arena = Arena.of(data, self._seed, self._arena_sizes(data), weights)
        sample = arena.sample
        if not sample.tells:
            of_class = "" if self.task == "regression" else " of each class"
            because = f"there are too few different rows{of_class} to compare algorithms"
            return replace(self._unsearched(source), because=because)
        if source.is_sparse and source.n_features > _NARROW:
            return self._compared(sample, data)
        # keep columns that are scaled or sparse
        result = arena.climb(MapChoice("none") if source.is_sparse or data.is_scaled else STANDARD)
        compared = (sample.constant(data.class_totals), *result.compared(sample.variance))
        because = reason(compared, self._unit)
        inexact, expected = self._settings(result.inexact.setting, data), None
        if self.task == "classification":
            share = result.inexact.score / compared[0].loss
            inexact |= {"tol": share * _OF_LOSS} if share * _OF_LOSS < _TOLERANCE else {}
        if result.chosen.setting.kind == "exact":
            # cells estimate their own score on rows that they hold out
            settings = self._settings(result.chosen.setting, data)
            return Candidate("cells", settings, because, compared, inexact)
        if source.n_rows <= SCORED_UP_TO * sample.rows.n_rows:
            expected = sample.variance * result.expected.score, sample.variance * result.expected.error
        return Candidate("newton", inexact, because, compared, expected=expected)

    def _arena_sizes(self, data: TrainingData) -> ArenaSizes:
        from distkern.estimators.arena import ArenaSizes

        given = (self.settings.value("settings") or {}).get("max_cell_rows")
        rows = given if isinstance(given, int) else None
        return ArenaSizes.of(data.source, len(data.classes), limit=self.choosing_limit, cell_rows=rows)

    def _settings(self, chosen: MachineSetting, data: TrainingData) -> dict[str, Any]:
        """Return the settings of the algorithm that trains the machine chosen on a sample on all rows."""
        from distkern.choose.folds import LANDMARKS
        from distkern.estimators.arena import kernel_params

        kernel, transform, metric = chosen.kernel, chosen.map.transform, chosen.map.metric
        is_exact = chosen.kind == "exact"
        weight = {"C": 1.0 / chosen.ridge} if is_exact else {"nu": chosen.ridge / data.source.n_rows}
        if kernel is None:
            return {"features": "linear", "scale": transform, **weight}
        settings: dict[str, Any] = {"scale": transform, "metric": None if metric == "none" else metric}
        settings |= {**kernel_params(kernel), **weight}
        if chosen.n_centres != LANDMARKS:
            settings["n_landmarks"] = chosen.n_centres
        if is_exact:
            trend = {"trend": "linear" if chosen.has_trend else None} if self.task == "regression" else {}
            return settings | {"search": None, **trend}
        # the sample's machines are in double precision, and rounding would hide functions that they use
        is_smooth = self.task == "regression" and weight["nu"] < _LEAST_SINGLE_NU
        wide = {"dtype": "float64"} if is_smooth and self.own.get("dtype", AUTO) == AUTO else {}
        return settings | wide

    @property
    def _seed(self) -> int:
        state = self.settings.value("random_state")
        return state if isinstance(state, int) else 0

    @property
    def _unit(self) -> str:
        return "squared error" if self.task == "regression" else "log loss"

    def _compared(self, sample: FoldedSample, data: TrainingData) -> Candidate:
        """Choose the linear machine unless kernels at landmarks are better by two standard errors."""
        from distkern.choose.choice import is_better
        from distkern.choose.ladder import SCORED_UP_TO
        from distkern.core.progress import at_step

        source = data.source
        candidates = [_LINEAR] if source.n_features >= _WIDE else [_LINEAR, Candidate("newton")]
        tried = []
        for number, candidate in enumerate(candidates):
            at_step(candidate.description, number, len(candidates))
            tried.append(self._with_nu(candidate, sample))
        chosen = tried[0] if len(tried) == 1 or not is_better(tried[1], tried[0]) else tried[1]
        compared = (
            sample.constant(data.class_totals),
            *(
                Compared(result.setting.description, sample.variance * result.score, chosen=result is chosen)
                for result in tried
            ),
        )
        expected = None
        if source.n_rows <= SCORED_UP_TO * sample.rows.n_rows:
            expected = sample.variance * chosen.score, sample.variance * chosen.error
        because = reason(compared, self._unit)
        return replace(chosen.setting, because=because, compared=compared, expected=expected)

    def _with_nu(self, candidate: Candidate, sample: FoldedSample) -> TriedSetting[Candidate]:
        """Search nu; a large one yields the class shares or the mean."""
        from distkern.choose.choice import TriedSetting, line_search

        n_classes = 0 if sample.classes is None else len(sample.classes)

        @cache
        def at(position: int) -> TriedSetting[Candidate]:
            moved = replace(candidate, settings={**candidate.settings, "nu": _FIRST_NU * 10.0**position})
            estimator = self.estimator_for(moved, n_classes).set_params(random_state=self._seed)
            return TriedSetting(moved, sample.losses(estimator))

        return line_search(at, (1, -1))

    def choosing_bytes(self, data: TrainingData) -> tuple[int, bool]:
        source = data.source
        has_no_search = self.settings.value("search") is None or self.settings.value("algorithm") != AUTO
        if has_no_search or (source.is_sparse and source.n_features > _NARROW):
            return 0, False
        return self._arena_sizes(data).bytes_for(source)

    @property
    def choosing_limit(self) -> int | None:
        limit: int | None = self.settings.value("memory_limit")
        return limit


class AbstractKernelMachine(AbstractEstimator):
    """An estimator that chooses another one and fits it."""

    @property
    def partial_fit(self) -> Any:
        """Not available, since some algorithms read the old rows again."""
        raise AttributeError(f"{type(self).__name__} has no partial_fit: use an estimator of one algorithm")

    def _settings(self) -> Settings:
        # the chosen machine checks the threshold
        return AbstractEstimator._settings(self)

    def value(self, name: str) -> Any:
        return self._settings().value(name)

    def recipe(self) -> ChoosingRecipe:
        own = {name: getattr(self, name) for name in self.hyperparameters}
        return ChoosingRecipe(**vars(super().recipe()), own=own)

    def named(self, split: Split) -> AbstractEstimator:
        """Return the estimator chosen for a split, which ``tune`` tunes."""
        recipe = self.recipe()
        data = recipe.data_of(split)
        with blas.single_threaded():
            chosen = recipe.candidate(data, has_test=False)
        return recipe.estimator_for(chosen, len(data.classes))

    # n_jobs belongs to the machine that trained
    unstored: ClassVar = {**AbstractEstimator.unstored, "n_jobs": None}

    def stored_params(self) -> dict[str, Any]:
        return {name: value for name, value in super().stored_params().items() if name != "n_jobs"}

    def changed(self) -> set[str]:
        return super().changed() | set(self._settings().value("settings") or ())

    # -- the choice

    @property
    def machine_(self) -> AbstractEstimator:
        """The chosen estimator, fitted."""
        machine: AbstractEstimator = estimator_of(replace(self.model_, chosen=None))
        return machine

    @property
    def algorithm_(self) -> str:
        """Name of the chosen algorithm."""
        return self.model_.name.removesuffix("_regressor")

    @property
    def chosen_because_(self) -> str:
        """Reason for the choice, a clause."""
        return self._chosen.because

    @property
    def held_out_score_(self) -> float | None:
        """Held-out log loss, or mean squared error in squared units of the target, of the chosen settings.

        None if the sample that chose them has too small a share of the rows.
        """
        held_out = self._chosen.held_out
        return None if held_out is None else held_out[0]

    @property
    def held_out_error_(self) -> float | None:
        """Standard error of ``held_out_score_``."""
        held_out = self._chosen.held_out
        return None if held_out is None else held_out[1]

    @property
    def metric_importances_(self) -> NDArray[np.float64]:
        """Importances of the columns in the machine's metric, if it has one."""
        if self.model_.metric_weights is None:
            raise AttributeError("no metric was learned")
        importances: NDArray[np.float64] = self.machine_.metric_importances_
        return importances

    @property
    def _chosen(self) -> ChosenBy:
        chosen = self.model_.chosen
        assert chosen is not None, "a model of this estimator records the choice"
        return chosen


class KernelClassifier(AbstractKernelMachine, AbstractClassifier):
    """Classifier that chooses the algorithm for the data.

    Candidates are compared by log loss on held-out rows of a sample (:func:`distkern.choose.ladder.climb`):

    - up to 1,024 columns: a linear machine, kernels at landmarks (both :class:`~distkern.NewtonClassifier`),
      and exact machines in cells (:class:`~distkern.CellClassifier`);
    - more columns: the first two. Sparse rows with 16,384 or more columns always get the linear machine.

    If the chosen cells do not fit ``memory_limit``, smaller cells, a search on fewer rows and the best other
    machine of the sample are tried in turn, then SVRG and DSG. Low limits shrink samples. The choice
    depends on the data, the seed and the limit alone. ``algorithm`` sets the algorithm instead.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = KernelClassifier(search="quick", random_state=0).fit(X, y)
    >>> model.algorithm_, model.score(X, y) > 0.98
    ('newton', True)
    """

    name = "auto"
    hyperparameters: ClassVar = {
        **CHOICE,
        "probability": replace(PROBABILITY, help="whether to compute class probabilities"),
        "class_weight": CLASS_WEIGHT,
        "threshold": THRESHOLD,
        "n_jobs": N_JOBS,
        "random_state": RANDOM_STATE,
    }

    def _has_probabilities(self) -> bool:
        if getattr(self, "probability", False) or self.model_.chances is not None:
            return True
        raise AttributeError("this machine has no probabilities: set probability=True")


class KernelRegressor(AbstractKernelMachine, AbstractRegressor):
    """Regressor that chooses the algorithm for the data, see :class:`KernelClassifier`.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> model = KernelRegressor(search="quick", random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    name = "auto_regressor"
    hyperparameters: ClassVar = {**CHOICE, "n_jobs": N_JOBS, "random_state": RANDOM_STATE}
