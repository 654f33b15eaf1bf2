"""The machine that suits the data: which algorithm that is follows from the rows' shape, or from a trial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.common import blas
from distkern.common.choices import Compared
from distkern.common.errors import InputError, unknown_name
from distkern.common.parameters import AUTO, NOTHING, Parameter, Whole
from distkern.common.types import AbstractSource
from distkern.estimators.base import AbstractClassifier, AbstractRegressor
from distkern.estimators.declared import fitted
from distkern.estimators.estimator import AbstractEstimator
from distkern.maps.mapping import MapChoice
from distkern.passes import Extent
from distkern.runs.algorithms import algorithm
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.hyperparameters import (
    CHOICE,
    CHOOSABLE,
    CLASS_WEIGHT,
    PROBABILITY,
    RANDOM_STATE,
    THRESHOLD,
)

if TYPE_CHECKING:
    from distkern.estimators.arena import ArenaSizes
    from distkern.estimators.sample import FoldedSample
    from distkern.runs.data import TrainingData
    from distkern.runs.persistence import SavedForUpdate
    from distkern.runs.update import UpdateRun
    from distkern.search.folds import MachineSetting
    from distkern.storage.dataset import Split

#: columns up to which distances say something, whole metrics can be learned, and sparse rows are written out
_NARROW = 1024
#: columns from which on sparse rows are about as good as separable, and kernels of them gain little
_WIDE = 2**14
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


def _of_machine(name: str) -> Any:
    """The method of that name, which the chosen machine answers."""

    def ask(self: AbstractKernelMachine, *given: Any) -> Any:
        return getattr(self.machine_, name)(*given)

    return ask


class AbstractKernelMachine(AbstractEstimator):
    """A model that is another estimator's, which it chooses."""

    machine_: Any = fitted("the estimator that was chosen, fitted")
    chosen_because_: str = fitted("why, a clause")
    held_out_score_: float | None = fitted(
        "log loss, or mean squared error in squared units of the target, of rows that were held out from a "
        "machine with the chosen settings; None where most rows are not in the sample that chose them",
        default=None,
    )
    held_out_error_: float | None = fitted("the standard error of ``held_out_score_``", default=None)

    @property
    def partial_fit(self) -> Any:
        """There is none, as some of the algorithms that may be chosen read the rows of before again."""
        raise AttributeError(f"{type(self).__name__} has no partial_fit: use an estimator of one algorithm")

    # -- which

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        if self._begins is not None:
            # the updated machine is another one than was judged
            self.held_out_score_ = self.held_out_error_ = None
            solver, problem = self.machine_.problem(data, has_test=has_test)
            self._take_weights()
            return solver, problem
        chosen = self._choice(data, has_test=has_test)
        given = self.value("settings") or {}
        for name in given:
            if name not in self._kind(chosen).hyperparameters:
                raise InputError(
                    f"is no hyperparameter of {chosen.name}, which was chosen",
                    where=f"hyperparameter {name!r}",
                    hint=f"leave it out, or set algorithm to {' or '.join(map(repr, self._takers(name)))}",
                )
        self.machine_, self.chosen_because_ = self._made(chosen, len(data.classes)), chosen.because
        self.machine_.check_parameters()
        if self.algorithm_ == "cells":
            vars(self.machine_)["reports_score"] = True
        solver, problem = self.machine_.problem(data, has_test=has_test)
        self._take_weights()
        taken = replace(chosen, settings={**chosen.settings, **given})
        notes = [f"algorithm: {taken.description}, because {chosen.because}"]
        # other settings, or weights of classes, make another machine than the one that was judged
        expected = None if given or self.class_weights_ is not None else chosen.expected
        self.held_out_score_, self.held_out_error_ = expected or (None, None)
        if expected is not None and self.algorithm_ != "cells":
            notes.append(f"held-out {self._unit}: {expected[0]:.4g} ± {expected[1]:.2g}")
        return solver, replace(problem, notes=(*notes, *problem.notes), candidates=chosen.compared)

    def _take_weights(self) -> None:
        self.class_weights_, self.mean_weight_ = self.machine_.class_weights_, self.machine_.mean_weight_
        self.class_shares_ = self.machine_.class_shares_

    def _choice(self, data: TrainingData, *, has_test: bool) -> Candidate:
        """The choice for these rows; the last one is kept, because a plan asks for it before the run does.

        Rows that are no data set have no fingerprint to be known by, and are looked at each time.
        """
        key = data.source.fingerprint, has_test, repr(sorted(self.get_params().items()))
        kept = getattr(self, "_kept_choice", None)
        if kept is None or not data.source.fingerprint or kept[0] != key:
            # a plan is made before the run has seen to it
            with blas.single_threaded():
                self._kept_choice = kept = (key, self._chosen(data, has_test=has_test))
        found: Candidate = kept[1]
        return found

    def named(self, split: Split) -> AbstractEstimator:
        data = self._data_of_split(split)
        return self._made(self._choice(data, has_test=False), len(data.classes))

    def stored_params(self) -> dict[str, Any]:
        # of where it was trained
        return {name: value for name, value in super().stored_params().items() if name != "n_jobs"}

    def changed(self) -> set[str]:
        return super().changed() | set(self.value("settings") or ())

    @property
    def algorithm_(self) -> str:
        """The name of the algorithm that was chosen."""
        name: str = self.machine_.name
        return name.removesuffix("_regressor")

    def _chosen(self, data: TrainingData, *, has_test: bool) -> Candidate:
        """What the shape of the rows, a ladder of trials on a sample of them, and the memory limit decide."""
        if self.value("algorithm") != AUTO:
            return Candidate(self.value("algorithm"), because="it was asked for")
        source = data.source
        many = "column" if source.n_features == 1 else "columns"
        columns = f"of {source.n_features:,} {'sparse' if source.is_sparse else 'dense'} {many}"
        if source.is_sparse and source.n_features >= _WIDE:
            first = replace(_LINEAR, because=columns)
        elif self.value("search") is None:
            first = Candidate("cells" if source.n_features <= _NARROW else "newton", {}, columns)
        else:
            first = self._searched(data, columns)
        limit = self.value("memory_limit")
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
        if self.value("search") == "full" and "search" not in first.settings:
            quick = {"search": "quick"}
            ways += [quick, *({**way, **quick} for way in ways)]
        return [replace(first, settings={**first.settings, **way}) for way in ways]

    def _kind(self, chosen: Candidate) -> type[AbstractEstimator]:
        """The estimator of the algorithm, KeyError unless it may be chosen; others are not imported."""
        suffix = "_regressor" if self.task == "regression" else ""
        kind: type[AbstractEstimator] | None = algorithm(f"{chosen.name}{suffix}")
        if kind is None or chosen.name not in CHOOSABLE:
            raise KeyError(chosen.name)
        return kind

    def _takers(self, name: str) -> list[str]:
        """The algorithms that may be chosen and have a hyperparameter."""
        kinds = {one: self._kind(Candidate(one)) for one in CHOOSABLE}
        return [one for one, kind in kinds.items() if name in kind.hyperparameters]

    def _check_settings(self) -> None:
        """Refuse settings that no algorithm has, before any is chosen."""
        wanted = self.value("algorithm")
        choosable = CHOOSABLE if wanted == AUTO else (wanted,)
        known = {name for one in choosable for name in self._kind(Candidate(one)).hyperparameters}
        for name in self.value("settings"):
            if name not in known:
                error = unknown_name("hyperparameter", str(name), known)
                raise InputError(error.what, where="settings", hint=error.hint)

    def _made(self, chosen: Candidate, n_classes: int = 2) -> AbstractEstimator:
        """Its estimator, with a likelihood of so many classes as its loss where probabilities are wanted."""
        kind = self._kind(chosen)
        own = {name: getattr(self, name) for name in self.hyperparameters}
        shared = {name: value for name, value in own.items() if name in kind.hyperparameters}
        likelihood = {}
        if self._is_calibrated and "probability" not in shared:
            # sigmoids that are fitted one by one are together less sure than they are right
            several = n_classes > 2 and "softmax" in kind.hyperparameters["loss"].words
            likelihood = {"loss": "softmax" if several else "logistic"}
        given = self.value("settings") or {}
        known = {name: given[name] for name in given if name in kind.hyperparameters}
        return kind(**{**shared, **likelihood, **chosen.settings, **known})

    def _fits(self, candidate: Candidate, data: TrainingData, limit: int, *, has_test: bool) -> bool:
        from distkern.engine.plan import bytes_alone

        solver, problem = self._made(candidate, len(data.classes)).run_of(data, has_test=has_test)
        extent = Extent.of(data.source, "planned")
        return bytes_alone(solver.outline(problem), extent, "distributed", limit) <= limit

    def _searched(self, data: TrainingData, columns: str) -> Candidate:
        """The best on held-out rows of a sample."""
        # a model that is loaded has no use for them
        from distkern.estimators.arena import Arena
        from distkern.search.ladder import KNOWN, STANDARD

        state, source = self.value("random_state"), data.source
        seed = state if isinstance(state, int) else 0
        weights = None if self.task == "regression" else self._class_weights(data)
        arena = Arena.of(data, seed, self._arena_sizes(source), weights)
        sample = arena.sample
        if not sample.tells:
            of_class = "" if self.task == "regression" else " of each class"
            return Candidate("newton", {}, f"{columns}, and too few different rows{of_class} to choose by")
        if source.n_features > _NARROW:
            return self._compared(sample, columns, seed)
        # columns that are scaled already, or sparse, stay as they are
        keeps = source.is_sparse or (data.scaling is not None and data.scaling.kind != "none")
        found = arena.climb(MapChoice("none") if keeps else STANDARD)
        because = f"{columns}, and by {self._unit} on held-out rows of a sample"
        instead, expected = self._settings(found.inexact.setting, data), None
        if source.n_rows <= KNOWN * sample.rows.n_rows:
            expected = arena.variance * found.expected.score, arena.variance * found.expected.error
        if found.chosen.setting.kind != "exact":
            return Candidate("newton", instead, because, found.compared, expected=expected)
        settings = self._settings(found.chosen.setting, data)
        return Candidate("cells", settings, because, found.compared, instead, expected)

    def _arena_sizes(self, source: AbstractSource) -> ArenaSizes:
        from distkern.estimators.arena import ArenaSizes

        given = (self.value("settings") or {}).get("max_cell_rows")
        is_real, rows = self.task == "regression", given if isinstance(given, int) else None
        return ArenaSizes.of(source, is_real=is_real, limit=self.value("memory_limit"), cell_rows=rows)

    def _settings(self, chosen: MachineSetting, data: TrainingData) -> dict[str, Any]:
        """Settings of the algorithm whose machine over all rows is the one chosen on a sample."""
        from distkern.estimators.arena import kernel_params

        kernel, transform, metric = chosen.kernel, chosen.map.transform, chosen.map.metric
        is_exact = chosen.kind == "exact"
        weight = {"C": 1.0 / chosen.ridge} if is_exact else {"nu": chosen.ridge / data.source.n_rows}
        if kernel is None:
            return {"features": "linear", "scale": AUTO if transform == "none" else transform, **weight}
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

    def _compared(self, sample: FoldedSample, columns: str, seed: int) -> Candidate:
        """The linear machine, unless kernels at landmarks lose less by more than two standard errors."""
        from distkern.search.choice import TriedSetting, is_better

        candidates = [_LINEAR, Candidate("newton")]
        n_classes = 0 if sample.classes is None else len(sample.classes)
        made = [self._made(one, n_classes).set_params(random_state=seed) for one in candidates]
        straight, over_landmarks = (
            TriedSetting(*one) for one in zip(candidates, map(sample.losses, made), strict=True)
        )
        compared = tuple(Compared(one.setting.description, one.score) for one in (straight, over_landmarks))
        because = f"{columns}, and by {self._unit} on held-out rows of a sample"
        chosen = over_landmarks if is_better(over_landmarks, straight) else straight
        return replace(chosen.setting, because=because, compared=compared)

    def choosing_bytes(self, data: TrainingData) -> int:
        source = data.source
        is_given = self.value("search") is None or self.value("algorithm") != AUTO
        is_given |= self._begins is not None
        if is_given or source.n_features > _NARROW:
            return 0
        return self._arena_sizes(source).bytes_for(source)

    # -- what the machine is asked

    def check_parameters(self) -> None:
        self.check_values()
        if self.value("settings"):
            self._check_settings()

    open_names = _of_machine("open_names")
    row_scale = _of_machine("row_scale")
    row_metric = _of_machine("row_metric")
    basis = _of_machine("basis")
    risk = _of_machine("risk")
    objective_value = _of_machine("objective_value")
    _loss = _of_machine("_loss")
    _solver = _of_machine("_solver")
    _identity = _of_machine("_identity")
    _take_parts = _of_machine("_take_parts")
    _save_parts = _of_machine("_save_parts")
    _arrays = _of_machine("_arrays")

    def memory_hint(self) -> str:
        # what is of the algorithm alone is taken where it is named
        hint: str = self.machine_.memory_hint()
        return hint.replace("--set ", f"--algorithm {self.algorithm_} --set ")

    @property
    def _is_linear(self) -> bool:
        linear: bool = self.machine_._is_linear
        return linear

    @property
    def metric_importances_(self) -> NDArray[np.float64]:
        """Importances of the machine's metric, if it has one."""
        importances: NDArray[np.float64] = self.machine_.metric_importances_
        return importances

    def _keep(self, state: Any) -> None:
        self._tell_machine()
        self.machine_.seed_ = self.seed_
        self.machine_._keep(state)
        # cells measure it on rows that they hold out
        measured = getattr(state, "held_out", None)
        if measured is not None and self.class_weights_ is None and np.isfinite(measured).all():
            self.held_out_score_, self.held_out_error_ = map(float, measured)
        self.coefficients_, self.constants_ = self.machine_.coefficients_, self.machine_.constants_

    def _tell_machine(self) -> None:
        """Give the machine what is known of the data and of the run."""
        known = {name: value for name, value in vars(self).items() if name.endswith("_")}
        for name in ("machine_", "chosen_because_", "held_out_score_", "held_out_error_"):
            known.pop(name, None)
        vars(self.machine_).update(known)

    def _begin(self, begins: UpdateRun) -> None:
        super()._begin(begins)
        self.machine_ = copy(self.machine_)
        self._tell_machine()
        self.machine_._begin(begins)

    def _end(self, further: SavedForUpdate, told: dict[str, Any]) -> None:
        super()._end(further, told)
        self.machine_._begins = None

    def _facts(self) -> dict[str, Any]:
        given = {
            name: value
            for name, value in self.machine_.get_params().items()
            if name not in self.hyperparameters or value != getattr(self, name)
        }
        chosen: dict[str, Any] = {"name": self.algorithm_, "because": self.chosen_because_, "params": given}
        if self.held_out_score_ is not None:
            chosen["held_out"] = [self.held_out_score_, self.held_out_error_]
        return {**self.machine_._facts(), "chosen": chosen}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        chosen = facts["chosen"]
        self.machine_ = self._made(Candidate(str(chosen["name"]), chosen["params"]))
        self.chosen_because_ = str(chosen["because"])
        self.held_out_score_, self.held_out_error_ = chosen.get("held_out", (None, None))
        self._tell_machine()
        self.machine_._restore(arrays, facts, where)
        self.machine_.check_restored()
        self.seed_ = self.machine_.seed_
        self.coefficients_, self.constants_ = self.machine_.coefficients_, self.machine_.constants_


class KernelClassifier(AbstractKernelMachine, AbstractClassifier):
    """The classifier that suits the data: the package chooses the algorithm and says which and why.

    A sample of rows of up to 1,024 columns decides between a linear machine, kernels at landmarks (both
    :class:`~distkern.NewtonClassifier`) and exact machines in cells (:class:`~distkern.CellClassifier`), by
    log loss on rows that are held out; see :func:`distkern.search.ladder.climb`. With more columns it decides
    between the first two, and sparse rows of 16,384 columns or more get the linear one. Cells that do not
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

    _chances = _of_machine("_chances")


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
