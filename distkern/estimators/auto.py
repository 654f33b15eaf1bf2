"""The machine that suits the data: which algorithm that is follows from the rows' shape, or from a trial."""

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
from distkern.core.errors import InputError, unknown_name
from distkern.core.parameters import AUTO, NOTHING, Parameter, Whole
from distkern.core.types import AbstractSource
from distkern.estimators.base import AbstractClassifier, AbstractRegressor
from distkern.estimators.cells import CellRecipe
from distkern.estimators.estimator import AbstractEstimator
from distkern.estimators.loading import estimator_of
from distkern.maths.maps.mapping import MapChoice
from distkern.model.settings import ChosenBy, Settings
from distkern.passes import Extent
from distkern.runs.algorithms import algorithm
from distkern.runs.data import TrainingData
from distkern.runs.recipe import Recipe
from distkern.solvers.hyperparameters import (
    CHOICE,
    CHOOSABLE,
    CLASS_WEIGHT,
    PROBABILITY,
    RANDOM_STATE,
    THRESHOLD,
)

if TYPE_CHECKING:
    from distkern.choose.choice import TriedSetting
    from distkern.choose.folds import MachineSetting
    from distkern.data.dataset import Split
    from distkern.estimators.arena import ArenaSizes
    from distkern.estimators.sample import FoldedSample

#: columns up to which machines in cells are tried, and sparse rows of a sample are written out
_NARROW = 1024
#: columns from which on sparse rows are about as good as separable, and kernels of them gain little
_WIDE = 2**14
#: where the search for nu of sparse rows, whose norms are about 1, begins
_FIRST_NU = 1e-4
#: rows of cells where those of the usual number do not fit the memory limit
_SMALLER_CELLS = (4000, 2000, 1000)


@dataclass(frozen=True)
class Candidate:
    """An algorithm with settings, and why it is the one for such data.

    Attributes
    ----------
    name : of the algorithm, of whatever targets
    compared : what was tried
    instead : settings of the best machine that Newton's method finds, where that is not the one
    expected : score on new rows and its standard error, of the machine with these settings
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    because: str = ""
    compared: tuple[Compared, ...] = ()
    instead: dict[str, Any] | None = None
    expected: tuple[float, float] | None = None

    @property
    def description(self) -> str:
        """The algorithm, and what is set of it."""
        given = ", ".join(f"{name}={_short(value)}" for name, value in self.settings.items())
        return f"{self.name} with {given}" if given else self.name


N_JOBS = Parameter(
    None,
    (Whole(1), Whole(-math.inf, -1), NOTHING),
    "threads of a fit, of at least 1; of -1 one for each core, of -2 one less, ...; none: one for few rows, "
    "else as Dask is configured. A Dask client that is active has workers of its own. The bits are the same",
)

#: over the columns themselves
_LINEAR = Candidate("newton", {"features": "linear"})


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value).lower() if value is None else str(value)


@dataclass(frozen=True)
class ChoosingRecipe(Recipe):
    """How the algorithm is chosen for the rows.

    Attributes
    ----------
    own : hyperparameters of the estimator, as they were given
    """

    own: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse settings that no algorithm has; others are refused where it is known."""
        wanted = self.settings.value("algorithm")
        choosable = CHOOSABLE if wanted == AUTO else (wanted,)
        known = {name for one in choosable for name in self.kind_of(Candidate(one)).hyperparameters}
        for name in self.settings.value("settings") or ():
            if name not in known:
                error = unknown_name("hyperparameter", str(name), known)
                raise InputError(error.what, where="settings", hint=error.hint)

    def chosen_for(self, data: TrainingData, *, has_test: bool) -> Recipe:
        """The recipe of the algorithm that suits the rows, of which it says who chose it."""
        # a plan is made before the run has seen to it
        with blas.single_threaded():
            chosen = self.candidate(data, has_test=has_test)
        given = self.settings.value("settings") or {}
        for name in given:
            if name not in self.kind_of(chosen).hyperparameters:
                raise InputError(
                    f"is no hyperparameter of {chosen.name}, which was chosen",
                    where=f"hyperparameter {name!r}",
                    hint=f"leave it out, or set algorithm to {' or '.join(map(repr, self._takers(name)))}",
                )
        machine = self.made(chosen, len(data.classes))
        recipe = machine.recipe()
        recipe.check()
        if isinstance(recipe, CellRecipe):
            recipe = replace(recipe, reports_score=True)
        taken = replace(chosen, settings={**chosen.settings, **given})
        notes = [f"algorithm: {taken.description}, because {chosen.because}"]
        # other settings, or weights of classes, make another machine than the one that was judged
        expected = None if given or self.settings.given.get("class_weight") is not None else chosen.expected
        if expected is not None:
            notes.append(f"held-out {self._unit}: {expected[0]:.4g} ± {expected[1]:.2g}")
        by = ChosenBy(self.name, self.params, self.estimator, chosen.because, self.unlike(machine), expected)
        recipe = replace(recipe, chosen=by, notes=tuple(notes), candidates=chosen.compared)
        return recipe.seeded().chosen_for(data, has_test=has_test)

    def unlike(self, machine: AbstractEstimator) -> dict[str, Any]:
        """The hyperparameters of the chosen estimator that are not those of this one."""
        known = machine.get_params().items()
        return {name: value for name, value in known if name not in self.own or value != self.own[name]}

    def candidate(self, data: TrainingData, *, has_test: bool) -> Candidate:
        """What the shape of the rows, a ladder of trials on a sample of them, and the memory limit decide."""
        if self.settings.value("algorithm") != AUTO:
            return Candidate(self.settings.value("algorithm"), because="it was asked for")
        source = data.source
        many = "column" if source.n_features == 1 else "columns"
        columns = f"of {source.n_features:,} {'sparse' if source.is_sparse else 'dense'} {many}"
        if self.settings.value("search") is None:
            usual = Candidate("cells") if source.n_features <= _NARROW else self._unsearched(source)
            first = replace(usual, because=columns)
        else:
            first = self._searched(data, columns)
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
        """Cells of fewer rows, then ones that are searched on fewer rows: their metrics take most of all."""
        if first.name != "cells":
            return []
        from distkern.solvers._cells.sizes import auto_cell_rows

        usual = auto_cell_rows(
            data.source.n_rows, data.source.n_features, quadratic=self.task == "regression"
        )
        sizes = [rows for rows in _SMALLER_CELLS if rows < usual]
        ways: list[dict[str, Any]] = [{"max_cell_rows": rows} for rows in sizes]
        if self.settings.value("search") == "full" and "search" not in first.settings:
            quick = {"search": "quick"}
            ways += [quick, *({**way, **quick} for way in ways)]
        return [replace(first, settings={**first.settings, **way}) for way in ways]

    def kind_of(self, chosen: Candidate) -> type[AbstractEstimator]:
        """The estimator of the algorithm, KeyError unless it may be chosen; others are not imported."""
        suffix = "_regressor" if self.task == "regression" else ""
        kind: type[AbstractEstimator] | None = algorithm(f"{chosen.name}{suffix}")
        if kind is None or chosen.name not in CHOOSABLE:
            raise KeyError(chosen.name)
        return kind

    def _takers(self, name: str) -> list[str]:
        """The algorithms that may be chosen and have a hyperparameter."""
        kinds = {one: self.kind_of(Candidate(one)) for one in CHOOSABLE}
        return [one for one, kind in kinds.items() if name in kind.hyperparameters]

    def made(self, chosen: Candidate, n_classes: int = 2) -> AbstractEstimator:
        """Return its estimator, with a likelihood as its loss if probabilities are wanted."""
        kind = self.kind_of(chosen)
        own = dict(self.own)
        shared = {name: value for name, value in own.items() if name in kind.hyperparameters}
        likelihood = {}
        if self.own.get("probability") and "probability" not in shared:
            # sigmoids that are fitted one by one are together less sure than they are right
            several = n_classes > 2 and "softmax" in kind.hyperparameters["loss"].words
            likelihood = {"loss": "softmax" if several else "logistic"}
        given = self.settings.value("settings") or {}
        known = {name: given[name] for name in given if name in kind.hyperparameters}
        return kind(**{**shared, **likelihood, **chosen.settings, **known})

    def _fits(self, candidate: Candidate, data: TrainingData, limit: int, *, has_test: bool) -> bool:
        from distkern.engine.plan import bytes_alone

        recipe = self.made(candidate, len(data.classes)).recipe().seeded()
        posed = recipe.chosen_for(data, has_test=has_test).pose(data, has_test=has_test)
        outlines = recipe.searched(posed).outline(posed.problem)
        return bytes_alone(outlines, Extent.of(data.source, "planned"), "distributed", limit) <= limit

    @staticmethod
    def _unsearched(source: AbstractSource) -> Candidate:
        """Newton's machine where nothing is compared."""
        return _LINEAR if source.is_sparse and source.n_features >= _WIDE else Candidate("newton")

    def _searched(self, data: TrainingData, columns: str) -> Candidate:
        """The best on held-out rows of a sample."""
        # a model that is loaded has no use for them
        from distkern.choose.ladder import KNOWN, STANDARD
        from distkern.estimators.arena import Arena

        state, source = self.settings.value("random_state"), data.source
        seed = state if isinstance(state, int) else 0
        weights = None if self.task == "regression" else self.class_weights(data)
        arena = Arena.of(data, seed, self._arena_sizes(source), weights)
        sample = arena.sample
        if not sample.tells:
            of_class = "" if self.task == "regression" else " of each class"
            because = f"there are too few different rows{of_class} to compare algorithms"
            return replace(self._unsearched(source), because=because)
        if source.is_sparse and source.n_features > _NARROW:
            return self._compared(sample, columns, source)
        # columns that are scaled already, or sparse, stay as they are
        keeps = source.is_sparse or (data.scaling is not None and data.scaling.kind != "none")
        found = arena.climb(MapChoice("none") if keeps else STANDARD)
        because = reason(found.compared, self._unit)
        instead, expected = self._settings(found.inexact.setting, data), None
        if found.chosen.setting.kind == "exact":
            # cells hold out rows of their own
            settings = self._settings(found.chosen.setting, data)
            return Candidate("cells", settings, because, found.compared, instead)
        if source.n_rows <= KNOWN * sample.rows.n_rows:
            expected = sample.variance * found.expected.score, sample.variance * found.expected.error
        return Candidate("newton", instead, because, found.compared, expected=expected)

    def _arena_sizes(self, source: AbstractSource) -> ArenaSizes:
        from distkern.estimators.arena import ArenaSizes

        given = (self.settings.value("settings") or {}).get("max_cell_rows")
        is_real, rows = self.task == "regression", given if isinstance(given, int) else None
        return ArenaSizes.of(
            source, is_real=is_real, limit=self.settings.value("memory_limit"), cell_rows=rows
        )

    def _settings(self, chosen: MachineSetting, data: TrainingData) -> dict[str, Any]:
        """Settings of the algorithm whose machine over all rows is the one chosen on a sample."""
        from distkern.estimators.arena import kernel_params

        kernel, transform, metric = chosen.kernel, chosen.map.transform, chosen.map.metric
        is_exact = chosen.kind == "exact"
        weight = {"C": 1.0 / chosen.ridge} if is_exact else {"nu": chosen.ridge / data.source.n_rows}
        if kernel is None:
            return {"features": "linear", "scale": transform, **weight}
        # rows that are stored scaled are standardised by a map alone, and there is none without a metric
        keeps = data.scaling is not None and data.scaling.kind != "none" and metric == "none"
        settings: dict[str, Any] = {
            "scale": AUTO if keeps and transform == "standard" else transform,
            "metric": None if metric == "none" else metric,
        }
        settings |= {**kernel_params(kernel), **weight}
        return settings | ({"search": None} if is_exact else {})

    @property
    def _unit(self) -> str:
        return "squared error" if self.task == "regression" else "log loss"

    def _compared(self, sample: FoldedSample, columns: str, source: AbstractSource) -> Candidate:
        """The linear machine of sparse rows, unless kernels at landmarks lose less by two standard errors."""
        from distkern.choose.choice import is_better
        from distkern.choose.ladder import KNOWN
        from distkern.core.progress import at_step

        names = [_LINEAR] if source.n_features >= _WIDE else [_LINEAR, Candidate("newton")]
        tried = []
        for number, one in enumerate(names):
            at_step(one.description, number, len(names))
            tried.append(self._with_nu(one, sample))
        chosen = tried[0] if len(tried) == 1 or not is_better(tried[1], tried[0]) else tried[1]
        compared = tuple(Compared(one.setting.description, one.score, chosen=one is chosen) for one in tried)
        expected = None
        if source.n_rows <= KNOWN * sample.rows.n_rows:
            expected = sample.variance * chosen.score, sample.variance * chosen.error
        because = reason(compared, self._unit)
        return replace(chosen.setting, because=because, compared=compared, expected=expected)

    def _with_nu(self, candidate: Candidate, sample: FoldedSample) -> TriedSetting[Candidate]:
        """The candidate with the best nu; a large one leaves the shares of classes, or the mean."""
        from distkern.choose.choice import TriedSetting, walk

        state = self.settings.value("random_state")
        seed = state if isinstance(state, int) else 0
        n_classes = 0 if sample.classes is None else len(sample.classes)

        @cache
        def at(move: int) -> TriedSetting[Candidate]:
            one = replace(candidate, settings={**candidate.settings, "nu": _FIRST_NU * 10.0**move})
            made = self.made(one, n_classes).set_params(random_state=seed)
            return TriedSetting(one, sample.losses(made))

        return walk(at, (1, -1))

    def choosing_bytes(self, data: TrainingData) -> int:
        source = data.source
        is_given = self.settings.value("search") is None or self.settings.value("algorithm") != AUTO
        if is_given or (source.is_sparse and source.n_features > _NARROW):
            return 0
        return self._arena_sizes(source).bytes_for(source)


class AbstractKernelMachine(AbstractEstimator):
    """A model that is another estimator's, which it chooses."""

    @property
    def partial_fit(self) -> Any:
        """There is none, as some of the algorithms that may be chosen read the old rows again."""
        raise AttributeError(f"{type(self).__name__} has no partial_fit: use an estimator of one algorithm")

    def _settings(self) -> Settings:
        # the machine that is chosen has its say on a threshold
        return AbstractEstimator._settings(self)

    def value(self, name: str) -> Any:
        return self._settings().value(name)

    def recipe(self) -> ChoosingRecipe:
        own = {name: getattr(self, name) for name in self.hyperparameters}
        return ChoosingRecipe(**vars(super().recipe()), own=own)

    def named(self, split: Split) -> AbstractEstimator:
        """What ``tune`` tunes for a split: the estimator that it chooses for the rows."""
        recipe = self.recipe()
        data = recipe.data_of(split)
        with blas.single_threaded():
            chosen = recipe.candidate(data, has_test=False)
        return recipe.made(chosen, len(data.classes))

    def stored_params(self) -> dict[str, Any]:
        # of where it was trained
        return {name: value for name, value in super().stored_params().items() if name != "n_jobs"}

    def changed(self) -> set[str]:
        return super().changed() | set(self._settings().value("settings") or ())

    # -- what was chosen

    @property
    def machine_(self) -> AbstractEstimator:
        """The estimator that was chosen, fitted."""
        machine: AbstractEstimator = estimator_of(replace(self.model_, chosen=None))
        return machine

    @property
    def algorithm_(self) -> str:
        """The name of the algorithm that was chosen."""
        return self.model_.name.removesuffix("_regressor")

    @property
    def chosen_because_(self) -> str:
        """Why, a clause."""
        return self._chosen.because

    @property
    def held_out_score_(self) -> float | None:
        """Log loss, or mean squared error in squared units of the target, of rows that were held out from a
        machine with the chosen settings; None where most rows are not in the sample that chose them."""
        found = self._chosen.held_out
        return None if found is None else found[0]

    @property
    def held_out_error_(self) -> float | None:
        """The standard error of ``held_out_score_``."""
        found = self._chosen.held_out
        return None if found is None else found[1]

    @property
    def metric_importances_(self) -> NDArray[np.float64]:
        """Importances of the machine's metric, if it has one."""
        found = self.model_.metric_importances
        if found is None:
            raise AttributeError("no metric was learned")
        return found

    @property
    def _chosen(self) -> ChosenBy:
        chosen = self.model_.chosen
        assert chosen is not None, "a model of this estimator says who chose it"
        return chosen


class KernelClassifier(AbstractKernelMachine, AbstractClassifier):
    """The classifier that suits the data: the package chooses the algorithm and says which and why.

    A sample of rows of up to 1,024 columns decides between a linear machine, kernels at landmarks (both
    :class:`~distkern.NewtonClassifier`) and exact machines in cells (:class:`~distkern.CellClassifier`), by
    log loss on rows that are held out; see :func:`distkern.choose.ladder.climb`. With more columns it decides
    between the first two; sparse rows of 16,384 columns or more get the linear one. Cells that do not
    fit ``memory_limit`` give way to smaller ones, to a search on fewer rows or to the best other machine of
    the sample, and what does not fit to SVRG or DSG. The choice depends on the data, the seed and the limit
    alone. ``algorithm`` names one of them instead.

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
        "probability": replace(PROBABILITY, help="whether the model is to give probabilities of classes"),
        "class_weight": CLASS_WEIGHT,
        "threshold": THRESHOLD,
        "n_jobs": N_JOBS,
        "random_state": RANDOM_STATE,
    }

    def _has_probabilities(self) -> bool:
        if getattr(self, "probability", False) or self.model_.chances is not None:
            return True
        raise AttributeError("the machine gives no probabilities: set probability=True")


class KernelRegressor(AbstractKernelMachine, AbstractRegressor):
    """The regressor that suits the data, see :class:`KernelClassifier`.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> model = KernelRegressor(search="quick", random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    name = "auto_regressor"
    hyperparameters: ClassVar = {**CHOICE, "n_jobs": N_JOBS, "random_state": RANDOM_STATE}
