"""A fitted model as a value: all that prediction, evaluation, files and updates need.

A run returns a model, estimators show its fields as attributes (``coefficients`` as ``coefficients_``), and
files store it. It is frozen: an update or another threshold makes a new model.

A kind of model is a class that derives from :class:`FittedModel`. It also makes the solver from settings. It
must give:

    solver_of     the solver, from settings and a risk
    of_state      its own fields, from the solver and its last state
    basis         the basis functions, computing in a dtype

It may give:

    loss_of, risk_of, posed       its loss and risk; what the rows decide before a run
    features_of, memory_hint      its features; how to use less memory
    weight, penalty, squared_norm    its objective
    raw_chances, answer, predictor    probabilities, and its answers from decision values
    facts, arrays, read, check    contents of its files besides :mod:`distkern.model.fields`
    folders, stored_fields, save_parts    what tasks store for it
    own_coefficients              coefficients with which an update starts
    is_linear                     whether the basis functions are the columns of the rows
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError
from distkern.core.types import Floats
from distkern.data.scaling import Preparation
from distkern.data.store.places import Place
from distkern.maths.bases.base import AbstractBasis, MappedBasis
from distkern.maths.losses.base import AbstractLoss
from distkern.model.fields import arrays_of, facts_of, fitted, fitted_fields, restored_fields
from distkern.model.parts import Columns, SavedForUpdate, StoredForUpdate
from distkern.model.prediction import answer_of, predict_rows, rearranged, unweighted
from distkern.model.settings import AbstractSettings, ChosenBy, SavedAs, Settings

if TYPE_CHECKING:
    from distkern.engine.checkpoint import RunWorkplace
    from distkern.maths.features import AbstractFeatures
    from distkern.maths.maps.mapping import RowMap
    from distkern.model.parts import History
    from distkern.show.explanation import Explanation
    from distkern.solvers.base import AbstractSolver, Problem
    from distkern.solvers.risk import Risk

#: prefix of the map's arrays
_OF_MAP = "map."
#: most bytes of a model's folder in a pickle
MOST_PICKLED = 2**30


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedModel(SavedAs, ABC):
    """A model f(x) = basis(x) @ coefficients + constants of prepared and mapped rows x.

    Attributes
    ----------
    name : name of the algorithm
    task : "classification", "regression" or "none"
    params : hyperparameters as files store them
    settings : the same, cleaned, with the decided values
    columns : columns of the rows
    further : what is stored for updates
    chosen : which estimator chose the algorithm, if one did
    """

    #: subfolders of a model's folder that tasks write
    folders: ClassVar[tuple[str, ...]] = ()

    name: str
    task: str
    params: Mapping[str, Any]
    settings: AbstractSettings
    columns: Columns
    coefficients: NDArray[np.float64] = fitted(
        "(size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two classes",
        array="coefficients",
    )
    constants: NDArray[np.float64] = fitted(
        "(n_outputs,) constants added to the weighted sum", array="intercept"
    )
    classes: NDArray[Any] | None = fitted("(n_classes,) label values", default=None, task="classification")
    seed: int = fitted("seed of every random choice", fact="seed", write=int, read=int)
    n_iter: int = fitted("number of stages of the returned model")
    history: History = fitted(
        ":class:`~distkern.model.parts.History`, a list with a dict of figures for each stage"
    )
    importances: Explanation | None = fitted(
        ":class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or None",
        default=None,
    )
    ended: str | None = fitted(
        'why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of '
        'its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or another '
        'stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ..."'
    )
    updates: tuple[dict[str, Any], ...] = fitted(
        "one dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows "
        "``before`` and ``after``, and ``drift``: how many columns have numbers outside their previous "
        "ranges, and which have most; None if the ranges are unknown",
        default=(),
    )
    map: RowMap | None = fitted(
        "map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None",
        default=None,
        internal=True,
    )
    mean_weight: float = fitted(
        "mean weight of the rows, by which the weights of the losses are divided", internal=True
    )
    class_weights: NDArray[np.float64] | None = fitted(
        "(n_classes,) weight of each class, or None", default=None
    )
    class_shares: NDArray[np.float64] | None = fitted(
        "(n_classes,) share of each class in the training rows by ``sample_weight``, or None", default=None
    )
    target_center: NDArray[np.float64] | None = fitted(
        "(n_outputs,) mean of the targets for the square loss, otherwise their median or the requested "
        "quantiles; for quantiles by DSG those of y - target_scale_ g",
        default=None,
        array="target_center",
        task="regression",
    )
    target_scale: float = fitted(
        "standard deviation of the targets for the square loss, otherwise the distance between their first "
        "and ninth decile divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`",
        default=1.0,
        array="target_scale",
        write=lambda scale: np.array([scale]),
        read=lambda stored: float(stored[0]),
        task="regression",
    )
    further: SavedForUpdate | StoredForUpdate
    chosen: ChosenBy | None = None

    # -- before there is a model

    @classmethod
    @abstractmethod
    def solver_of(cls, settings: Settings, risk: Risk) -> AbstractSolver[Any]:
        """Return the solver with these hyperparameters; refuse incompatible ones."""

    @classmethod
    @abstractmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        """Return ``coefficients``, ``constants`` and the kind's own fields from the solver's last state."""

    @classmethod
    def loss_of(cls, settings: AbstractSettings) -> AbstractLoss:
        return settings.loss()

    @classmethod
    def risk_of(
        cls,
        settings: AbstractSettings,
        n_classes: int = 2,
        class_weights: NDArray[np.float64] | None = None,
        mean_weight: float = 1.0,
    ) -> Risk:
        """Return the risk that the solver minimises for ``n_classes`` classes."""
        from distkern.solvers.risk import Risk

        loss = cls.loss_of(settings)
        return Risk(loss, loss.n_outputs(n_classes), class_weights, mean_weight)

    @classmethod
    def posed(
        cls, settings: Settings, solver: Any, problem: Problem, mean_weight: float
    ) -> tuple[Settings, Any, Problem]:
        """Return settings, solver and problem with everything that the size of the problem decides."""
        return settings, solver, problem

    @classmethod
    def features_of(cls, settings: AbstractSettings) -> AbstractFeatures:
        """Return the features of a model over explicit ones, before any row is read."""
        raise NotImplementedError

    @classmethod
    def memory_hint(cls, settings: Settings, solver: Any) -> str:
        """Return advice on how the model can use less memory."""
        if "n_landmarks" in settings.given:
            return "fewer landmarks (--set n_landmarks=...)"
        return "fewer features (--set n_features=...)"

    @classmethod
    def stored_fields(cls, state: Any, workplace: RunWorkplace) -> dict[str, Any]:
        """Return the fields that tasks of the run have stored, before their folder closes."""
        return {}

    @staticmethod
    def unit_parts(coefficients: NDArray[np.float64], state: Any, *, is_real: bool) -> dict[str, Any]:
        """Return coefficients and constants of a state over scaled targets, in the targets' own unit."""
        if not is_real:
            return {"coefficients": np.ascontiguousarray(coefficients), "constants": state.center.copy()}
        scaled = np.ascontiguousarray(state.target_scale * coefficients)
        unit = {"target_center": state.center, "target_scale": state.target_scale}
        return {"coefficients": scaled, "constants": state.center.copy(), **unit}

    # -- basic properties

    @property
    def width(self) -> int:
        return self.columns.width

    @property
    def found(self) -> Mapping[str, Any]:
        """Decided values of hyperparameters that were left open, by name."""
        return self.settings.found

    @cached_property
    def loss(self) -> AbstractLoss:
        return self.loss_of(self.settings)

    @property
    def n_outputs(self) -> int:
        return int(self.coefficients.shape[1])

    @property
    def risk(self) -> Risk:
        """The loss, with class weights and the unit of the targets, that evaluates the model."""
        # predictions do without these imports
        from distkern.solvers.risk import Risk
        from distkern.solvers.targets import scaled_risk

        own = Risk(self.loss, self.n_outputs, self.class_weights, self.mean_weight)
        if self.target_center is None:
            return own
        return scaled_risk(own, self.target_center, self.target_scale)

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of the quantiles that the outputs predict; empty for other models."""
        loss = self.loss
        return tuple(loss.levels or ()) if loss.predicts_quantiles else ()

    @property
    def is_linear(self) -> bool:
        """Whether the basis functions are the columns of the rows."""
        return False

    @property
    def metric_weights(self) -> NDArray[np.float64] | None:
        """Weight of each feature in the learned metric, (d,), with sum 1; None for models without one."""
        return None

    @abstractmethod
    def basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis:
        """Return the basis over mapped rows, computing in ``dtype``."""

    def applied_basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis:
        """Return the basis over prepared rows, which maps them itself; made once."""
        name = np.dtype(dtype).name
        if name not in self._bases:
            basis = self.basis(dtype)
            self._bases[name] = basis if self.map is None else MappedBasis(basis, self.map)
        return self._bases[name]

    @cached_property
    def _bases(self) -> dict[str, AbstractBasis]:
        return {}

    # -- the objective

    def objective(self, losses: float, n_rows: int) -> float:
        """Return the objective on rows whose weighted losses sum to ``losses``."""
        return float(self.weight * losses / n_rows + self.penalty())

    @property
    def weight(self) -> float:
        """Weight of the mean loss in the objective."""
        return 1.0

    def penalty(self) -> float:
        """Return the rest of the objective: nu/2 |f|^2 or the equivalent."""
        return 0.5 * self.penalty_weight * (self.squared_norm() / self.target_scale**2)

    @property
    def penalty_weight(self) -> float:
        return float(self.settings.value("nu"))

    def squared_norm(self) -> float:
        """Return |f|^2, summed over the outputs."""
        raise NotImplementedError

    # -- updates

    @property
    def unit(self) -> tuple[NDArray[np.float64], float]:
        """Centre (k,) and scale of the targets; for classes the initial offset and 1."""
        if self.target_center is not None:
            return self.target_center, self.target_scale
        own = self.further.loaded().solver_state
        return np.asarray(own.get("center", np.zeros(self.n_outputs))), 1.0

    def own_coefficients(self) -> NDArray[np.float64]:
        """Return the coefficients (r, k) of the solver's functions; the last may belong to a constant one."""
        return self.coefficients

    def continued(self, solver: Any, problem: Problem, update_run: Any) -> tuple[Any, Problem]:
        """Return the solver of an update that starts from this model, and its problem.

        Raises
        ------
        InputError
            If the algorithm has no updates.
        """
        from distkern.solvers.base import cannot_go_on

        raise cannot_go_on(self.name, solver.updates.refusal)

    # -- predictions

    @cached_property
    def chances(self) -> Callable[[Floats], NDArray[np.float64]] | None:
        """Function from decision values (n_rows, n_outputs) to unweighted probabilities, or None."""
        own, weights = self.raw_chances(), self.class_weights
        return own if own is None or weights is None else partial(unweighted, own, weights)

    def raw_chances(self) -> Callable[[Floats], NDArray[np.float64]] | None:
        """Return the loss's own probabilities, which include the class weights of the training."""
        is_likelihood = self.task == "classification" and self.loss.has_probabilities
        return self.loss.probabilities if is_likelihood else None

    @property
    def threshold(self) -> float | None:
        """Probability from which the second of two classes is predicted, see ``threshold_``."""
        wanted = self.saved_params.get("threshold")
        if self.classes is None:
            return None
        if wanted is None:
            weights = self._weights_of_predictions()
            is_binary = weights is not None and len(weights) == 2
            return float(weights[0] / weights.sum()) if weights is not None and is_binary else None
        check_threshold(len(self.classes))
        if wanted != "balanced":
            return float(wanted)
        if self.class_shares is None:
            raise InputError(
                "the model does not know the class shares", where="threshold", hint="give a number"
            )
        return float(self.class_shares[1])

    def with_threshold(self, threshold: float | str | None) -> Self:
        if self.chosen is not None:
            chosen = replace(self.chosen, params={**self.chosen.params, "threshold": threshold})
            return replace(self, chosen=chosen)
        return replace(self, params={**self.params, "threshold": threshold})

    @property
    def cut(self) -> float | NDArray[np.float64] | None:
        """Rule for predicted labels, see :func:`~distkern.model.prediction.codes_of`."""
        threshold = self.threshold
        return self._weights_of_predictions() if threshold is None else threshold

    def _weights_of_predictions(self) -> NDArray[np.float64] | None:
        """Return class weights (n_classes,) that affect labels but not probabilities, or None."""
        return None if self.class_weights is None or self.chances is None else self.class_weights

    def answer(self, output: str) -> partial[NDArray[Any]]:
        """Return a picklable function of Phi coef (n, n_outputs) for "decision", "label" or "probability"."""
        cut = self.cut if output == "label" else None
        found = partial(answer_of, self.constants, self.classes, output, self.chances, cut)
        levels = self.levels
        return found if len(levels) < 2 else partial(rearranged, levels, found)

    def predictor(
        self, preparation: Preparation | None, output: str, dtype: np.dtype[Any] | None = None
    ) -> partial[NDArray[Any]]:
        """Return a picklable function of features (n, d), which it prepares; see :meth:`answer` for
        ``output``.

        ``dtype`` is the precision of the features, if it is known.
        """
        if output not in self._answers:
            self._answers[output] = self.answer(output)
        bases, answer = self.bases(preparation, dtype), self._answers[output]
        return partial(predict_rows, bases, self.coefficients, self.width, preparation, answer)

    @cached_property
    def _answers(self) -> dict[str, partial[NDArray[Any]]]:
        return {}

    def bases(
        self, preparation: Preparation | None, dtype: np.dtype[Any] | None
    ) -> tuple[AbstractBasis, ...]:
        """Return the basis in each precision that prepared rows of a dtype may have."""
        known = dtype if preparation is None or preparation.dtype is None else preparation.dtype
        names = ("float32", "float64") if known is None else (known.name,)
        return tuple(map(self.applied_basis, names))

    # -- files and pickles

    def facts(self) -> dict[str, Any]:
        """Return the facts of this kind for ``model.json``."""
        return facts_of(self)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a model folder, without those for updates."""
        parts = {}
        if self.map is not None:
            from distkern.maths.maps.mapping import map_to_arrays

            parts = map_to_arrays(self.map)
        return arrays_of(self) | {f"{_OF_MAP}{name}": array for name, array in parts.items()}

    def save_parts(self, folder: Place) -> None:
        """Write what tasks stored to the :attr:`folders` of a model folder, unless it is already there."""

    @classmethod
    def read(
        cls, known: dict[str, Any], arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str
    ) -> Self:
        """Return the model of ``known`` fields and of the arrays and facts in a folder.

        Raises
        ------
        KeyError
            If a part is missing.
        ValueError
            If a part is invalid.
        """
        parts = {key.removeprefix(_OF_MAP): one for key, one in arrays.items() if key.startswith(_OF_MAP)}
        own = restored_fields(cls, known["task"], arrays, facts, known["columns"].width)
        if parts:
            from distkern.maths.maps.mapping import map_from_arrays

            own["map"] = map_from_arrays(parts)
        found = cls(**known, **own)
        found.check(facts, where)
        return found

    def check(self, facts: Mapping[str, Any], where: str) -> None:
        """Check the parts of a stored model against each other; raises as :meth:`read`."""
        if self.task == "classification" and self.classes is None:
            raise ValueError("a classifier without classes")
        n_classes = 2 if self.classes is None else len(self.classes)
        if n_classes < 2:
            raise ValueError("a classifier of one class")
        n_outputs = self.loss.n_outputs(n_classes)
        for name, one in fitted_fields(type(self), self.task).items():
            if one.rows is not None and np.shape(getattr(self, name))[1:] != (self.width,):
                raise ValueError(f"{one.rows} {np.shape(getattr(self, name))} for {self.width} features")
            if one.array is not None and np.asarray(one.write(getattr(self, name))).dtype.kind not in "fiu":
                raise ValueError(f"array {one.array!r} is not of real numbers")
        if self.map is not None and len(self.map.factors) != self.width:
            raise ValueError(f"a map of {len(self.map.factors)} features for {self.width}")
        size = self.basis(np.float32).size
        if self.coefficients.shape != (size, n_outputs) or self.constants.shape != (n_outputs,):
            raise ValueError(
                f"coefficients {self.coefficients.shape} and constants {self.constants.shape} of {size} "
                f"functions and {n_outputs} outputs"
            )
        if not (np.isfinite(self.coefficients).all() and np.isfinite(self.constants).all()):
            raise ValueError("coefficients that are not finite")

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields in memory: a pickle does not need the folder that the model was loaded from.

        Raises
        ------
        InputError
            If more than 1 GiB of them is in the model's folder.
        CorruptDataError
            If the folder is missing or was changed.
        """
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        state["settings"] = self.settings.cleaned
        stored = {
            name: one for name, one in state.items() if hasattr(one, "loaded") and hasattr(one, "n_bytes")
        }
        n_bytes = sum(one.n_bytes for one in stored.values())
        if n_bytes > MOST_PICKLED:
            from distkern.core.text import in_bytes

            raise InputError(
                f"a pickle would hold {in_bytes(n_bytes)} of the model's folder, and holds at most "
                f"{in_bytes(MOST_PICKLED)}",
                where=str(next(iter(stored.values())).folder),
                hint="copy the folder instead, and load it where the model is needed",
            )
        return state | {name: one.loaded() for name, one in stored.items()}


def check_threshold(n_classes: int) -> None:
    """Raise :class:`InputError` for a threshold unless there are two classes."""
    if n_classes != 2:
        raise InputError(
            f"is for two classes, and there are {n_classes}", where="threshold", hint="leave it out"
        )
