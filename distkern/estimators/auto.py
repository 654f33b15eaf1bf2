"""The machine that suits the data: which algorithm that is follows from the rows' shape, or from a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.types import Floats
from distkern.engine.plan import Extent
from distkern.engine.plan_run import bytes_alone
from distkern.engine.workplace import RunWorkplace
from distkern.estimators.base import AbstractClassifier
from distkern.estimators.cells import CellClassifier, CellRegressor
from distkern.estimators.dsg import DSGClassifier, DSGRegressor
from distkern.estimators.estimator import AbstractEstimator
from distkern.estimators.newton import NewtonClassifier, NewtonRegressor
from distkern.estimators.pegasos import PegasosClassifier
from distkern.estimators.regressor import AbstractRegressor
from distkern.estimators.svrg import SVRGClassifier, SVRGRegressor
from distkern.estimators.trial import Sample
from distkern.losses.base import AbstractLoss
from distkern.runs.data import TrainingData
from distkern.solvers._cells.sizes import auto_cell_rows
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.hyperparameters import CHOICE, CLASS_WEIGHT, PROBABILITY, RANDOM_STATE
from distkern.solvers.risk import Risk
from distkern.storage.places import Place

#: columns up to which distances say something, whole metrics can be learned, and sparse rows are written out
_NARROW = 1024
#: columns from which on sparse rows are about as good as separable, and kernels of them gain little
_WIDE = 2**14
#: rows of cells where those of the usual number do not fit the memory limit
_SMALLER_CELLS = (4000, 2000, 1000)


@dataclass(frozen=True)
class Candidate:
    """An algorithm with settings, and why it is the one for such data."""

    kind: type[AbstractEstimator]
    settings: dict[str, Any] = field(default_factory=dict)
    because: str = ""

    @property
    def spoken(self) -> str:
        """The algorithm, and what is set of it."""
        given = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        name = self.kind.name.removesuffix("_regressor")
        return f"{name} with {given}" if given else name


class AbstractKernelMachine(AbstractEstimator):
    """A model that is another estimator's, which it chooses.

    Fitted attributes
    -----------------
    machine_ : the estimator that was chosen, fitted
    algorithm_ : its name
    chosen_because_ : why, a clause
    """

    cells: ClassVar[type[AbstractEstimator]]
    newton: ClassVar[type[AbstractEstimator]]
    dsg: ClassVar[type[AbstractEstimator]]
    svrg: ClassVar[type[AbstractEstimator]]
    #: over the columns themselves
    linear: ClassVar[Candidate]

    machine_: Any

    # -- which

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        chosen = self._chosen(data, has_test=has_test)
        self.machine_, self.chosen_because_ = self._made(chosen), chosen.because
        solver, problem = self.machine_.problem(data, has_test=has_test)
        self.class_weights_, self.mean_weight_ = self.machine_.class_weights_, self.machine_.mean_weight_
        note = f"algorithm: {chosen.spoken}, because {chosen.because}"
        return solver, replace(problem, notes=(note, *problem.notes))

    @property
    def algorithm_(self) -> str:
        """The name of the algorithm that was chosen."""
        name: str = self.machine_.name
        return name.removesuffix("_regressor")

    def _chosen(self, data: TrainingData, *, has_test: bool) -> Candidate:
        """What the shape of the rows, the memory limit and, if these leave it open, a trial decide."""
        source = data.source
        columns = f"{source.n_features:,} {'sparse' if source.is_sparse else 'dense'} columns"
        kernels = Candidate(self.newton, {}, f"of {columns}")
        if source.n_features <= _NARROW:
            first = Candidate(self.cells, {}, f"of {columns}")
        elif source.is_sparse and source.n_features >= _WIDE:
            first = replace(self.linear, because=f"of {columns}")
        else:
            first = self._tried([replace(self.linear, because=f"of {columns}"), kernels], data)
        limit = self.value("memory_limit")
        if limit is None:
            return first
        others = [Candidate(self.svrg), Candidate(self.dsg)]
        for candidate in (first, *self._smaller(first, data), *others):
            if self._fits(candidate, data, limit, has_test=has_test):
                if candidate is first:
                    return first
                because = f"{first.spoken} does not fit the memory limit"
                return replace(candidate, because=because)
        return first

    def _smaller(self, first: Candidate, data: TrainingData) -> list[Candidate]:
        """Cells of fewer rows, then ones that are searched on fewer rows: their metrics take most of all."""
        if first.kind is not self.cells:
            return []
        usual = auto_cell_rows(
            data.source.n_rows, data.source.n_features, quadratic=self.task == "regression"
        )
        sizes = [rows for rows in _SMALLER_CELLS if rows < usual]
        found = [Candidate(self.cells, {"max_cell_rows": rows}) for rows in sizes]
        if self.value("search") == "full":
            quick = Candidate(self.cells, {"search": "quick"})
            found += [quick, *(replace(one, settings={**one.settings, **quick.settings}) for one in found)]
        return found

    def _made(self, chosen: Candidate) -> AbstractEstimator:
        own = {name: getattr(self, name) for name in self.hyperparameters}
        shared = {name: value for name, value in own.items() if name in chosen.kind.hyperparameters}
        likelihood = {"loss": "logistic"} if self._is_calibrated and "probability" not in shared else {}
        return chosen.kind(**{**shared, **likelihood, **chosen.settings})

    def _fits(self, candidate: Candidate, data: TrainingData, limit: int, *, has_test: bool) -> bool:
        solver, problem = self._made(candidate).run_of(data, has_test=has_test)
        extent = Extent.of(data.source, "planned")
        steps = [outline.step for outline in solver.outline(problem)]
        return bytes_alone(steps, extent, "distributed", limit) <= limit

    def _tried(self, candidates: Sequence[Candidate], data: TrainingData) -> Candidate:
        """The best on held-out rows of a sample; the first one unless another is surely better."""
        state = self.value("random_state")
        classes = data.classes if self.task == "classification" else None
        seed = state if isinstance(state, int) else 0
        if self.value("search") is None:
            return candidates[0]
        sample = Sample.of(data.source, classes, seed)
        if not sample.tells:
            return candidates[0]
        models = [self._made(candidate).set_params(random_state=seed) for candidate in candidates]
        place, scores = sample.compared(models)
        figures = [f"R2 {1 - score:.3f}" if classes is None else f"error {score:.2%}" for score in scores]
        told = ", ".join(
            f"{candidate.spoken} {figure}" for candidate, figure in zip(candidates, figures, strict=True)
        )
        best = candidates[place]
        return replace(best, because=f"{best.because}, and on held-out rows of a sample: {told}")

    # -- what the machine is asked

    def open_names(self) -> list[str]:
        names: list[str] = self.machine_.open_names()
        return names

    def check_parameters(self) -> None:
        self.check_values()

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> AbstractSolver[Any]:
        solver: AbstractSolver[Any] = self.machine_._solver(class_weights, mean_weight)
        return solver

    def _identity(self, data: TrainingData, problem: Problem) -> dict[str, Any]:
        identity: dict[str, Any] = self.machine_._identity(data, problem)
        return identity

    def row_scale(self) -> str:
        scale: str = self.machine_.row_scale()
        return scale

    def memory_knob(self) -> str:
        knob: str = self.machine_.memory_knob()
        return knob

    def _loss(self) -> AbstractLoss:
        loss: AbstractLoss = self.machine_._loss()
        return loss

    def risk(self) -> Risk:
        risk: Risk = self.machine_.risk()
        return risk

    def objective_value(self, losses: float, n_rows: int) -> float:
        return float(self.machine_.objective_value(losses, n_rows))

    def basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis:
        basis: AbstractBasis = self.machine_.basis(dtype)
        return basis

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Those of the machine, if it has some."""
        importances: NDArray[np.float64] = self.machine_.feature_importances_
        return importances

    def _keep(self, state: Any) -> None:
        self._tell_machine()
        self.machine_.seed_ = self.seed_
        self.machine_._keep(state)
        self.coef_, self.intercept_ = self.machine_.coef_, self.machine_.intercept_

    def _tell_machine(self) -> None:
        """Give the machine what is known of the data and of the run."""
        known = {name: value for name, value in vars(self).items() if name.endswith("_")}
        for name in ("machine_", "chosen_because_"):
            known.pop(name)
        vars(self.machine_).update(known)

    def _take_parts(self, state: Any, workplace: RunWorkplace) -> None:
        self.machine_._take_parts(state, workplace)

    def _save_parts(self, folder: Place) -> None:
        self.machine_._save_parts(folder)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = self.machine_._arrays()
        return arrays

    def _facts(self) -> dict[str, Any]:
        given = {
            name: value
            for name, value in self.machine_.get_params().items()
            if name not in self.hyperparameters or value != getattr(self, name)
        }
        chosen = {"name": self.algorithm_, "because": self.chosen_because_, "params": given}
        return {**self.machine_._facts(), "chosen": chosen}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        chosen = facts["chosen"]
        kinds = (self.cells, self.newton, self.dsg, self.svrg, self.linear.kind)
        kind = {each.name.removesuffix("_regressor"): each for each in kinds}[chosen["name"]]
        self.machine_ = self._made(Candidate(kind, chosen["params"]))
        self.chosen_because_ = str(chosen["because"])
        self._tell_machine()
        self.machine_._restore(arrays, facts, where)
        self.coef_, self.intercept_ = self.machine_.coef_, self.machine_.intercept_


class KernelClassifier(AbstractKernelMachine, AbstractClassifier):
    """The classifier that suits the data: the package chooses the algorithm and says which and why.

    Rows of up to 1,024 columns get exact machines in cells (:class:`~distkern.CellClassifier`), sparse rows
    of 16,384 columns or more a linear machine (:class:`~distkern.PegasosClassifier`); between them a trial on
    a sample of the rows decides between that and kernels at landmarks (:class:`~distkern.NewtonClassifier`).
    What does not fit ``memory_limit`` gives way to smaller cells, to a search on fewer rows, to SVRG or to
    DSG. The choice depends on the data, the seed and the limit alone.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = KernelClassifier(search="quick", random_state=0).fit(X, y)
    >>> model.algorithm_, model.score(X, y) > 0.98
    ('cells', True)
    """

    name = "auto"
    hyperparameters: ClassVar = {
        **CHOICE,
        "probability": replace(PROBABILITY, help="whether the model is to give probabilities of classes"),
        "class_weight": CLASS_WEIGHT,
        "random_state": RANDOM_STATE,
    }
    cells, newton, dsg, svrg = CellClassifier, NewtonClassifier, DSGClassifier, SVRGClassifier
    linear = Candidate(PegasosClassifier)

    def _chances(self) -> Callable[[Floats], NDArray[np.float64]] | None:
        found: Callable[[Floats], NDArray[np.float64]] | None = self.machine_._chances()
        return found


class KernelRegressor(AbstractKernelMachine, AbstractRegressor):
    """The regressor that suits the data, see :class:`KernelClassifier`; the linear one is
    :class:`~distkern.SVRGRegressor` over the columns.
    """

    name = "auto_regressor"
    hyperparameters: ClassVar = {**CHOICE, "random_state": RANDOM_STATE}
    cells, newton, dsg, svrg = CellRegressor, NewtonRegressor, DSGRegressor, SVRGRegressor
    linear = Candidate(SVRGRegressor, {"features": "linear"})
