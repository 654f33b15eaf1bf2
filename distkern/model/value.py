"""A fitted model as a value: all that predicting, measuring, saving and updating need of it.

A run returns one, estimators keep one and show its fields as attributes (``coefficients`` as
``coefficients_``), files hold one. It is frozen: an update or another threshold makes another one.

A kind of model is a class that derives from :class:`FittedModel`, which is also where its solver is made from
settings. It must give:

    solver_of     the solver, of settings and a risk
    of_state      its own fields, of the solver and its last state
    basis         the basis functions, computing in a dtype

It may give:

    loss_of, risk_of, posed       its loss and risk; what rows decide before a run
    features_of, memory_hint      its features; what takes less memory
    weight, penalty, squared_norm    its objective
    own_chances, answer, predictor    probabilities, and what it makes of values
    facts, arrays, read, check    what its files hold beside the fields of :mod:`distkern.model.fields`
    folders, taken, save_parts    what tasks store for it
    own_coefficients              the coefficients that an update begins with
    is_linear                     whether the basis functions are the columns of the rows
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError
from distkern.core.text import in_bytes
from distkern.core.types import Floats
from distkern.data.preparation import Preparation
from distkern.data.store.places import Place
from distkern.maths.bases.base import AbstractBasis, MappedBasis
from distkern.maths.losses.base import AbstractLoss
from distkern.model.columns import Columns
from distkern.model.fields import arrays_of, facts_of, fitted, fitted_fields, restored_fields
from distkern.model.further import SavedForUpdate, StoredForUpdate
from distkern.model.kind import AbstractModelKind
from distkern.model.prediction import answer_of, predict_rows, rearranged, unweighted
from distkern.model.settings import Settings
from distkern.show.explanation import Explanation
from distkern.show.history import History
from distkern.solvers.risk import Risk
from distkern.solvers.targets import scaled_risk

if TYPE_CHECKING:
    from distkern.maths.maps.mapping import RowMap
    from distkern.solvers.base import Problem

#: of the arrays of a model that are its map's
_OF_MAP = "map."
#: bytes that a pickle holds of a model's folder, at most
MOST_PICKLED = 2**30


@dataclass(frozen=True)
class ChosenBy:
    """Which algorithm was chosen for the rows, and by whom.

    Attributes
    ----------
    name, params : of the estimator that chose: what files call the model, and its hyperparameters
    estimator : name of its class
    because : why, a clause
    settings : hyperparameters of the chosen one that are not those of the estimator
    held_out : score on rows that were held out and its standard error, if it is known
    """

    name: str
    params: Mapping[str, Any]
    estimator: str
    because: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    held_out: tuple[float, float] | None = None

    def measured(self, state: Any, *, weighs_classes: bool) -> ChosenBy:
        """With the score that the last state of the run has of rows that it held out, if it has one."""
        found = getattr(state, "held_out", None)
        if found is None or weighs_classes or not np.isfinite(found).all():
            return self
        return replace(self, held_out=(float(found[0]), float(found[1])))


class Told:
    """What files call an algorithm, which may have been chosen."""

    name: str
    params: Mapping[str, Any]
    chosen: ChosenBy | None

    @property
    def told_name(self) -> str:
        """What files call the algorithm: who chose it, where it was chosen."""
        return self.name if self.chosen is None else self.chosen.name

    @property
    def told_params(self) -> Mapping[str, Any]:
        """The hyperparameters that files have."""
        return self.params if self.chosen is None else self.chosen.params


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedModel(Told, AbstractModelKind):
    """A model f(x) = basis(x) @ coefficients + constants of prepared and mapped rows x.

    Attributes
    ----------
    name : of the algorithm
    task : "classification", "regression" or "none"
    params : hyperparameters as files have them
    settings : the same, clean, with what was found
    columns : of the rows
    further : what is kept for updates
    chosen : who chose the algorithm, if it was not asked for
    """

    name: str
    task: str
    params: Mapping[str, Any]
    settings: Settings
    columns: Columns
    coefficients: NDArray[np.float64] = fitted(
        "(size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two classes",
        array="coefficients",
    )
    constants: NDArray[np.float64] = fitted("(n_outputs,) what is added to them", array="intercept")
    classes: NDArray[Any] | None = fitted("(n_classes,) label values", default=None, task="classification")
    seed: int = fitted("of every random choice that was made", fact="seed", write=int, read=int)
    n_iter: int = fitted("stages done, of the model that is kept")
    history: History = fitted(
        ":class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage"
    )
    importances: Explanation | None = fitted(
        ":class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made, "
        "or None",
        default=None,
    )
    ended: str | None = fitted(
        'why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its minimum), '
        '"stages used up", "diverged", "stopped early", "stopped by a callback", or the rule by which the '
        'solver stopped otherwise: "patience: ..." or "settled: ..."'
    )
    updates: tuple[dict[str, Any], ...] = fitted(
        "of each of the last hundred updates its ``number``, its ``rows``, the error on them ``before`` and "
        "``after``, and their ``drift``: how many columns have numbers outside the ranges of before, "
        "and which most; None where these are not known",
        default=(),
    )
    map: RowMap | None = fitted(
        "of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one, or None",
        default=None,
    )
    mean_weight: float = fitted("mean of the rows' weights, which the weights of the losses are divided by")
    class_weights: NDArray[np.float64] | None = fitted(
        "(n_classes,) weight of each class, or None", default=None
    )
    class_shares: NDArray[np.float64] | None = fitted(
        "(n_classes,) of the training rows by ``sample_weight``, or None", default=None
    )
    target_center: NDArray[np.float64] | None = fitted(
        "(n_outputs,), of the square loss the mean of the targets, of the others their median or the "
        "quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g",
        default=None,
        array="target_center",
        task="regression",
    )
    target_scale: float = fitted(
        "of the square loss the standard deviation of the targets, of the others the spread between their "
        "deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`",
        default=1.0,
        array="target_scale",
        write=lambda scale: np.array([scale]),
        read=lambda stored: float(stored[0]),
        task="regression",
    )
    further: SavedForUpdate | StoredForUpdate | None = None
    chosen: ChosenBy | None = None

    # -- what it is

    @property
    def width(self) -> int:
        """Features of a row."""
        return self.columns.width

    @property
    def found(self) -> Mapping[str, Any]:
        """The decided values of hyperparameters that were left open, by name."""
        return self.settings.found

    @cached_property
    def loss(self) -> AbstractLoss:
        """The loss, with its constants."""
        return self.loss_of(self.settings)

    @property
    def n_outputs(self) -> int:
        """Outputs of the model."""
        return int(self.coefficients.shape[1])

    @property
    def risk(self) -> Risk:
        """The risk by which it is measured."""
        own = Risk(self.loss, self.n_outputs, self.class_weights, self.mean_weight)
        if self.target_center is None:
            return own
        return scaled_risk(own, self.target_center, self.target_scale)

    @property
    def levels(self) -> tuple[float, ...]:
        """The quantiles that its outputs are, if they are some."""
        loss = self.risk.loss
        return tuple(loss.levels or ()) if loss.predicts_quantiles else ()

    @property
    def is_linear(self) -> bool:
        """Whether the basis functions are the columns of the rows."""
        return False

    @property
    def metric_importances(self) -> NDArray[np.float64] | None:
        """(d,) weight of each feature in the learned metric of a model that tells of it, or None."""
        return None

    @abstractmethod
    def basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis:
        """The basis over mapped rows, computing in ``dtype``."""

    def applied_basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis:
        """The basis over prepared rows, which it maps itself; made once."""
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
        """The objective on rows whose weighted losses add up to ``losses``."""
        return float(self.weight * losses / n_rows + self.penalty())

    @property
    def weight(self) -> float:
        """Weight of the mean loss in the objective."""
        return 1.0

    def penalty(self) -> float:
        """The rest of the objective: nu/2 |f|^2, or what stands for it."""
        return 0.5 * self.penalty_weight * (self.squared_norm() / self.target_scale**2)

    @property
    def penalty_weight(self) -> float:
        """nu."""
        return float(self.settings.value("nu"))

    def squared_norm(self) -> float:
        """|f|^2, summed over the outputs."""
        raise NotImplementedError

    # -- updates

    @property
    def unit(self) -> tuple[NDArray[np.float64], float]:
        """Centre (k,) and scale of the targets; of classes the offset that it began with, and 1."""
        if self.target_center is not None:
            return self.target_center, self.target_scale
        own = {} if self.further is None else self.further.loaded().solver_state
        return np.asarray(own.get("center", np.zeros(self.n_outputs))), 1.0

    def own_coefficients(self) -> NDArray[np.float64]:
        """Coefficients (r, k) of the solver's functions, of which the last may be a constant one."""
        return self.coefficients

    def begun(self, solver: Any, problem: Problem, begins: Any) -> tuple[Any, Problem]:
        """The solver of an update, which begins from this model, and its problem.

        Raises
        ------
        InputError
            If the algorithm cannot go on from a model.
        """
        from distkern.solvers.base import cannot_go_on

        raise cannot_go_on(self.name, solver.updates.refusal)

    # -- predictions

    @cached_property
    def chances(self) -> Callable[[Floats], NDArray[np.float64]] | None:
        """Function from decision values (n_rows, n_outputs) to unweighted probabilities; None without any."""
        own, weights = self.own_chances(), self.class_weights
        return own if own is None or weights is None else partial(unweighted, own, weights)

    def own_chances(self) -> Callable[[Floats], NDArray[np.float64]] | None:
        """The loss's own probabilities, which include the class weights it was trained with."""
        is_likelihood = self.task == "classification" and self.loss.has_probabilities
        return self.loss.probabilities if is_likelihood else None

    @property
    def threshold(self) -> float | None:
        """The probability from which on the second of two classes is predicted, see ``threshold_``."""
        wanted = self.told_params.get("threshold")
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
            raise InputError("the model knows no shares of classes", where="threshold", hint="give a number")
        return float(self.class_shares[1])

    def with_threshold(self, threshold: float | str | None) -> Self:
        """The same model with another threshold."""
        if self.chosen is not None:
            chosen = replace(self.chosen, params={**self.chosen.params, "threshold": threshold})
            return replace(self, chosen=chosen)
        return replace(self, params={**self.params, "threshold": threshold})

    @property
    def cut(self) -> float | NDArray[np.float64] | None:
        """What labels go by, see :func:`~distkern.model.prediction.codes_of`."""
        threshold = self.threshold
        return self._weights_of_predictions() if threshold is None else threshold

    def _weights_of_predictions(self) -> NDArray[np.float64] | None:
        """The weight of each class, (n_classes,), that probabilities do not count and labels do."""
        return None if self.class_weights is None or self.chances is None else self.class_weights

    def answer(self, output: str) -> partial[NDArray[Any]]:
        """A picklable function of Phi coef (n, n_outputs): "decision" values, a "label" or probabilities."""
        cut = self.cut if output == "label" else None
        found = partial(answer_of, self.constants, self.classes, output, self.chances, cut)
        levels = self.levels
        return found if len(levels) < 2 else partial(rearranged, levels, found)

    def predictor(
        self, preparation: Preparation | None, output: str, dtype: np.dtype[Any] | None = None
    ) -> partial[NDArray[Any]]:
        """A picklable function of features (n, d), which it prepares: "decision" values or a "label" each.

        ``dtype`` is that of the features, where it is known.
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
        """The basis in each of the precisions that rows of a dtype may have once they are prepared."""
        known = dtype if preparation is None or preparation.dtype is None else preparation.dtype
        names = ("float32", "float64") if known is None else (known.name,)
        return tuple(map(self.applied_basis, names))

    # -- files and pickles

    def facts(self) -> dict[str, Any]:
        """The facts of its kind in ``model.json``."""
        return facts_of(self)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a model folder holds, beside what is kept for updates."""
        parts = {}
        if self.map is not None:
            from distkern.maths.maps.mapping import map_to_arrays

            parts = map_to_arrays(self.map)
        return arrays_of(self) | {f"{_OF_MAP}{name}": array for name, array in parts.items()}

    def save_parts(self, folder: Place) -> None:
        """Write what tasks stored to :attr:`folders` in the folder of a model, if it is not there."""

    @classmethod
    def read(
        cls, known: dict[str, Any], arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str
    ) -> Self:
        """The model of ``known`` fields, and of what :meth:`arrays` and :meth:`facts` gave, of a folder.

        Raises
        ------
        KeyError
            If a part is missing.
        ValueError
            If a part is not what it must be.
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
        """Check what was read from a model's folder against each other; raises as :meth:`read`."""
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
            raise ValueError("coefficients that are no numbers")

    def __getstate__(self) -> dict[str, Any]:
        """The fields, in memory: a pickle does without the folder that the model was loaded from.

        Raises
        ------
        InputError
            If more than 1 GiB of them lies in the model's folder.
        CorruptDataError
            If the folder is gone, or changed.
        """
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        stored = {
            name: one for name, one in state.items() if hasattr(one, "loaded") and hasattr(one, "n_bytes")
        }
        n_bytes = sum(one.n_bytes for one in stored.values())
        if n_bytes > MOST_PICKLED:
            raise InputError(
                f"a pickle would hold {in_bytes(n_bytes)} of the model's folder, and holds at most "
                f"{in_bytes(MOST_PICKLED)}",
                where=str(next(iter(stored.values())).folder),
                hint="copy the folder instead, and load it where the model is needed",
            )
        return state | {name: one.loaded() for name, one in stored.items()}


def check_threshold(n_classes: int) -> None:
    """Refuse a threshold of other than two classes."""
    if n_classes != 2:
        raise InputError(
            f"is for two classes, and there are {n_classes}", where="threshold", hint="leave it out"
        )
