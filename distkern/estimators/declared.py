"""What an estimator declares: hyperparameters, the solver most of them come from, the kind of its models.

The fields of the model that have a help (:func:`~distkern.model.fields.fitted`) are attributes of the
estimator, with an underscore behind their name, and lines of its docstring's table.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

from distkern.common.errors import unknown_name
from distkern.common.parameters import AUTO, Parameter
from distkern.estimators.documented import with_attributes, with_parameters
from distkern.model.columns import Columns
from distkern.model.fields import Fitted, fitted_fields
from distkern.model.settings import is_same
from distkern.solvers.base import AbstractSolver
from distkern.solvers.hyperparameters import RANDOM_STATE, SCALE, hyperparameters_of


class FittedAttribute:
    """A fitted estimator's attribute, which reads the field of the model; before ``fit`` there is none."""

    def __init__(self, name: str, one: Fitted, *, of_columns: bool) -> None:
        self._name, self._one, self._of_columns = name, one, of_columns

    def __get__(self, estimator: Any, kind: type | None = None) -> Any:
        if estimator is None:
            return self
        model = estimator._model
        if model is not None:
            value = getattr(model.columns if self._of_columns else model, self._name)
            if value is not None or self._one.always:
                return value
        raise AttributeError(f"{type(estimator).__name__} has no {self._name}_")

    def __set__(self, estimator: Any, value: Any) -> None:
        raise AttributeError(f"{self._name}_ is of the fitted model, which does not change: fit another one")


class HyperparameterMixin:
    """What an object with hyperparameters and a model can do with them.

    ``class SVRGClassifier(AbstractExplicitClassifier, solver=SVRG)`` has the solver's name and
    hyperparameters, and those of its kind of targets (:attr:`beside`); others name theirs in
    ``hyperparameters``.
    """

    #: what ``--algorithm`` and models call it
    name: ClassVar[str]
    task: ClassVar[str]
    solver_type: ClassVar[type[Any] | None] = None
    #: of its models
    kind: ClassVar[type[Any]]
    hyperparameters: ClassVar[dict[str, Parameter]]
    #: hyperparameters that the solver does not declare, or declares otherwise; None leaves one out
    beside: ClassVar[Mapping[str, Parameter | None]] = {"scale": SCALE, "random_state": RANDOM_STATE}
    #: those of all classes below
    everywhere: ClassVar[Mapping[str, Parameter]] = {}
    #: what is taken for hyperparameters that the rows decide where they have their defaults
    left_open: ClassVar[Mapping[str, Any]] = {}
    #: by name, with the underscore
    fitted_attributes: ClassVar[Mapping[str, Fitted]] = {}
    _model: Any = None

    def __init_subclass__(cls, *, solver: type[AbstractSolver[Any]] | None = None, **given: Any) -> None:
        if solver is not None:
            cls.solver_type = solver
            cls.name = vars(cls).get("name", cls.name_with(solver))
            cls.hyperparameters = hyperparameters_of(solver, **{**cls.loss_of(solver), **cls.beside})
        super().__init_subclass__(**given)
        if "hyperparameters" in vars(cls):
            cls.hyperparameters = {**cls.hyperparameters, **cls.everywhere}
            cls.fitted_attributes = cls._attributes()
            give_constructor(cls, cls.hyperparameters)
            cls.__doc__ = with_attributes(cls)

    @classmethod
    def _attributes(cls) -> dict[str, Fitted]:
        """The fitted attributes, each of which it is given."""
        parts = {True: fitted_fields(Columns), False: fitted_fields(cls.kind, cls.task)}
        for of_columns, known in parts.items():
            for name, one in known.items():
                setattr(cls, f"{name}_", FittedAttribute(name, one, of_columns=of_columns))
        return {f"{name}_": one for known in parts.values() for name, one in known.items()}

    @classmethod
    def name_with(cls, solver: type[AbstractSolver[Any]]) -> str:
        """Its name, unless the class gives itself another one."""
        return solver.name

    @classmethod
    def loss_of(cls, solver: type[AbstractSolver[Any]]) -> dict[str, Parameter]:
        """The parameter ``loss``, of a kind of targets where the solver takes several."""
        return {}

    def __dir__(self) -> list[str]:
        # predicting does without
        from distkern.estimators.public import shown

        return shown(self, super().__dir__())

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def changed(self) -> set[str]:
        """The hyperparameters that have another value than their default."""
        known = self.hyperparameters.items()
        return {name for name, one in known if not is_same(getattr(self, name), one.default)}

    def stored_params(self) -> dict[str, Any]:
        """The hyperparameters as files have them."""
        params = {name: getattr(self, name) for name in self.hyperparameters}
        # data sets have a precision of their own, so files speak of it only where it was asked for
        return {name: value for name, value in params.items() if name != "dtype" or value != AUTO}


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
