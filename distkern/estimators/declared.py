"""What an estimator declares: hyperparameters, the solver most of them come from, what ``fit`` leaves.

``gamma_: float = fitted("the kernel's gamma", fact="gamma", write=float)`` in the body of an estimator is its
annotation for type checkers, the line of the docstring's table, and what is saved and restored.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from distkern.common.errors import InputError, unknown_name
from distkern.common.parameters import AUTO, Parameter, declared
from distkern.common.sparse import from_arrays, to_arrays
from distkern.estimators.documented import with_attributes, with_parameters
from distkern.estimators.public import shown
from distkern.features.kernel_choice import KernelChoice
from distkern.kernels import find_kernel
from distkern.losses import find_loss
from distkern.losses.base import AbstractLoss
from distkern.solvers.base import AbstractSolver
from distkern.solvers.hyperparameters import METRIC, RANDOM_STATE, SCALE, hyperparameters_of

_NO_DEFAULT = object()
#: types that JSON may have for facts written as numbers or texts
_FACTS: dict[Any, tuple[type, ...]] = {int: (int,), float: (int, float), str: (str,)}


@dataclass(frozen=True)
class Fitted:
    """An attribute that ``fit`` leaves.

    Attributes
    ----------
    help : what it is, with its shape and units
    array : name of the array of a model's folder that holds it
    rows : what the names of these arrays begin with, where it is rows, dense or sparse
    fact : key of ``model.json`` that holds it
    write : from its value to the one that is stored
    read : the other way round
    default : its value before ``fit``, if it has one
    """

    help: str
    array: str | None = None
    rows: str | None = None
    fact: str | None = None
    write: Callable[[Any], Any] = lambda value: value
    read: Callable[[Any], Any] = lambda value: value
    default: Any = _NO_DEFAULT

    def taken(self, fact: Any) -> Any:
        """Return the value of a stored fact; raises ValueError where a number or a text is something else."""
        for kind, kinds in _FACTS.items():
            if self.write is kind and type(fact) not in kinds:
                raise ValueError(f"{self.fact} is {fact!r}")
        return self.read(fact)


def fitted(help: str, **how: Any) -> Any:
    """A class attribute that says what ``fit`` leaves under that name, see :class:`Fitted`."""
    return Fitted(help, **how)


class HyperparameterMixin:
    """What an object with hyperparameters and fitted attributes can do with them.

    ``class SVRGClassifier(AbstractExplicitClassifier, solver=SVRG)`` has the solver's name and
    hyperparameters, and those of its kind of targets (:attr:`beside`); others name theirs in
    ``hyperparameters``.
    """

    #: what ``--algorithm`` and models call it
    name: ClassVar[str]
    solver_type: ClassVar[type[Any]]
    hyperparameters: ClassVar[dict[str, Parameter]]
    #: hyperparameters that the solver does not declare, or declares otherwise; None leaves one out
    beside: ClassVar[Mapping[str, Parameter | None]] = {"scale": SCALE, "random_state": RANDOM_STATE}
    #: those of all classes below
    everywhere: ClassVar[Mapping[str, Parameter]] = {}
    #: fitted attributes of this class and those that it derives from, by name
    fitted_attributes: ClassVar[Mapping[str, Fitted]] = {}
    _own_fitted: ClassVar[Mapping[str, Fitted]] = {}
    #: what was found for hyperparameters that are searched
    found_: Mapping[str, Any] = MappingProxyType({})

    def __init_subclass__(cls, *, solver: type[AbstractSolver[Any]] | None = None, **given: Any) -> None:
        if solver is not None:
            cls.solver_type = solver
            cls.name = vars(cls).get("name", cls.name_with(solver))
            cls.hyperparameters = hyperparameters_of(solver, **{**cls.loss_of(solver), **cls.beside})
        cls._own_fitted = {name: one for name, one in vars(cls).items() if isinstance(one, Fitted)}
        for name, one in cls._own_fitted.items():
            # before a fit there is none, as scikit-learn asks by hasattr
            if one.default is _NO_DEFAULT:
                delattr(cls, name)
            else:
                setattr(cls, name, one.default)
        above = [vars(kind).get("_own_fitted", {}) for kind in reversed(cls.__mro__)]
        cls.fitted_attributes = {name: one for part in above for name, one in part.items()}
        super().__init_subclass__(**given)
        if "hyperparameters" in vars(cls):
            cls.hyperparameters = {**cls.hyperparameters, **cls.everywhere}
            give_constructor(cls, cls.hyperparameters)
            cls.__doc__ = with_attributes(cls)

    @classmethod
    def name_with(cls, solver: type[AbstractSolver[Any]]) -> str:
        """Its name, unless the class gives itself another one."""
        return solver.name

    @classmethod
    def loss_of(cls, solver: type[AbstractSolver[Any]]) -> dict[str, Parameter]:
        """The parameter ``loss``, of a kind of targets where the solver takes several."""
        return {}

    def __dir__(self) -> list[str]:
        return shown(self, super().__dir__())

    # -- hyperparameters

    def check_values(self) -> None:
        """Refuse a value that a hyperparameter cannot have, or that has no effect beside the others.

        Raises
        ------
        InputError
            Naming the hyperparameter and its range, or the setting with which it would have an effect.
        """
        values = {name: self.given(name) for name in self.hyperparameters}
        for name, parameter in self.hyperparameters.items():
            if _same(values[name], parameter.default):
                continue
            for other, wanted in parameter.used_with.items():
                if other in values and values[other] not in wanted:
                    choices = " or ".join(repr(value) for value in wanted)
                    raise InputError(
                        f"{name}={values[name]!r} has no effect with {other}={values[other]!r}",
                        where=name,
                        hint=f"leave {name} out, or set {other} to {choices}",
                    )

    def given(self, name: str) -> Any:
        """A hyperparameter as plain Python has it; :class:`InputError` if it cannot be what it is."""
        return self.hyperparameters[name].clean(name, getattr(self, name))

    def value(self, name: str) -> Any:
        """A hyperparameter's value as plain Python has it, after the search if it is one that is searched.

        For one that can be searched and is "auto", it is what was found, or else what is taken where nothing
        is tried.
        """
        choices = self.hyperparameters[name].searched
        if choices is None or self.given(name) != AUTO:
            return self.given(name)
        return self.found_.get(name, choices.default)

    def open_names(self) -> list[str]:
        """The hyperparameters that are to be searched, of those that have an effect beside the others."""
        return [
            name
            for name, parameter in self.hyperparameters.items()
            if parameter.searched is not None and self.given(name) == AUTO and self.has_effect(name)
        ]

    def has_effect(self, name: str) -> bool:
        """Whether a hyperparameter has one beside the others."""
        return all(
            self.given(other) in words
            for other, words in self.hyperparameters[name].used_with.items()
            if other in self.hyperparameters
        )

    def changed(self) -> set[str]:
        """The hyperparameters that have another value than their default."""
        return {
            name for name, one in self.hyperparameters.items() if not _same(getattr(self, name), one.default)
        }

    def stored_params(self) -> dict[str, Any]:
        """The hyperparameters as files have them."""
        params = {name: getattr(self, name) for name in self.hyperparameters}
        # data sets have a precision of their own, so files speak of it only where it was asked for
        return {name: value for name, value in params.items() if name != "dtype" or value != AUTO}

    def values_of(self, part: type) -> dict[str, Any]:
        """The hyperparameters that a part declares; without those that are left to its own default."""
        values = {name: self.value(name) for name in declared(part) if name in self.hyperparameters}
        return {
            name: value
            for name, value in values.items()
            if value is not None or declared(part)[name].can_be_none
        }

    def _seed(self) -> int:
        """The seed that ``random_state`` gives, or a drawn one."""
        random_state = getattr(self, "random_state", None)
        if isinstance(random_state, (int, np.integer)):
            return int(random_state)
        return int(check_random_state(random_state).randint(2**31))

    def _loss(self) -> AbstractLoss:
        """The loss, with its constants."""
        kind = find_loss(self.value("loss"))
        return kind(**self.values_of(kind))

    def row_scale(self) -> str:
        """What columns are scaled by before anything else: "auto", a kind of scaling, or "none".

        Raises
        ------
        InputError
            If it would take numbers out of the kernel's domain.
        """
        if self.hyperparameters.get("scale") is not SCALE:
            return "none"
        wanted = str(self.value("scale"))
        if "features" in self.hyperparameters and self.value("features") == "linear":
            return wanted
        kernel = self.kernel_choice()
        if kernel.with_gamma(1.0).lower_bound == -math.inf:
            return wanted
        metric = self.row_metric()
        if metric is not None or wanted in ("standard", "normal", "ranks"):
            raise InputError(
                f"is {metric or wanted!r}, and kernel {kernel.kind.name} is not for negative numbers",
                where="scale" if metric is None else "metric",
                hint="use scale='minmax', 'maxabs' or 'none', without a metric",
            )
        return "none" if wanted == AUTO else wanted

    def row_metric(self) -> str | None:
        """The metric that is learned before anything else, if one is wanted."""
        wanted: str | None = self.value("metric") if self.hyperparameters.get("metric") is METRIC else None
        return wanted

    def kernel_choice(self) -> KernelChoice:
        """The kernel, with its constants, and gamma or the rule for it."""
        kind = find_kernel(self.value("kernel"))
        constants = {name: value for name, value in self.values_of(kind).items() if name != "gamma"}
        return KernelChoice(kind, self.value("gamma"), constants)

    # -- what a model's files hold of the fitted attributes

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The fitted arrays that a model's folder holds."""
        found: dict[str, NDArray[Any]] = {}
        for name, one in self.fitted_attributes.items():
            if one.rows is not None and len(getattr(self, name)):
                found |= to_arrays(one.rows, getattr(self, name))
            elif one.array is not None:
                found[one.array] = one.write(getattr(self, name))
        return found

    def _facts(self) -> dict[str, Any]:
        """The fitted numbers that ``model.json`` holds beside what it holds of every model."""
        stored = [(name, one) for name, one in self.fitted_attributes.items() if one.fact is not None]
        return {str(one.fact): one.write(getattr(self, name)) for name, one in stored}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        """Take back what :meth:`_arrays` and :meth:`_facts` gave, of the model's folder ``where``.

        An empty row set keeps the attribute's value. Raises :class:`KeyError` if a part is
        missing.
        """
        for name, one in self.fitted_attributes.items():
            if one.array is not None:
                setattr(self, name, one.read(arrays[one.array]))
            elif one.fact is not None:
                setattr(self, name, one.taken(facts[one.fact]))
            elif one.rows is not None and (_holds(arrays, one.rows) or not hasattr(self, name)):
                setattr(self, name, from_arrays(one.rows, arrays))


def _holds(arrays: Mapping[str, NDArray[Any]], rows: str) -> bool:
    return any(key.partition(".")[0] == rows for key in arrays)


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and np.array_equal(value, default))


def give_constructor(estimator: type, parameters: Mapping[str, Parameter]) -> None:
    """Give a class the constructor and the docstring's table that go with its hyperparameters."""

    def __init__(self: Any, **given: Any) -> None:
        for name in given:
            if name not in parameters:
                error = unknown_name(f"hyperparameter of {estimator.__name__}", name, parameters)
                raise TypeError(str(error))
        for name, parameter in parameters.items():
            setattr(self, name, given.get(name, parameter.default))

    signature = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)] + [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default)
        for name, parameter in parameters.items()
    ]
    __init__.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{estimator.__qualname__}.__init__"
    estimator.__init__ = __init__  # type: ignore[misc]
    estimator.__doc__ = with_parameters(estimator.__doc__ or "", parameters)
