"""What an estimator declares: hyperparameters, the solver most of them come from, the kind of its models.

The fields of the model that have a help (:func:`~distkern.model.fields.fitted`) are attributes of the
estimator, with an underscore behind their name, and lines of its docstring's table.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MethodType
from typing import Any, ClassVar, TypeVar

from distkern.core.errors import unknown_name
from distkern.core.parameters import AUTO, Parameter
from distkern.model.columns import Columns
from distkern.model.fields import Fitted, fitted_fields
from distkern.model.settings import is_same
from distkern.model.value import FittedModel
from distkern.solvers.base import AbstractSolver
from distkern.solvers.hyperparameters import RANDOM_STATE, SCALE, hyperparameters_of

#: annotations -> types as docstrings write them
_TYPES = {"NDArray": "ndarray", "Mapping": "dict", "Floats": "ndarray", "Any": "object"}
_WIDTH = 96
_EXAMPLES = "\nExamples\n"
#: methods for users, in the order in which they are used; each estimator has some of them
METHODS = (
    "fit",
    "fit_predict",
    "fit_transform",
    "partial_fit",
    "update",
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "log_ratio",
    "kl_divergence",
    "permutation_test",
    "transform",
    "score",
    "explain",
    "save",
    "get_params",
    "set_params",
    "set_output",
    "get_feature_names_out",
    "get_metadata_routing",
    "set_fit_request",
    "set_partial_fit_request",
    "set_predict_request",
    "set_score_request",
)


def with_parameters(text: str, parameters: Mapping[str, Parameter]) -> str:
    """The docstring of a class with the table of its hyperparameters, before its examples."""
    table = {name: (one.docstring_type, one.help) for name, one in parameters.items()}
    return _with_table(inspect.cleandoc(text), "Parameters", table)


def with_attributes(kind: type[Any]) -> str:
    """The docstring of a class with the table of its fitted attributes, before its examples."""
    return _with_table(
        kind.__doc__ or "",
        "Attributes",
        {name: (of_type, meaning) for name, of_type, meaning in attributes_of(kind)},
    )


def attributes_of(kind: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of each fitted attribute of a class: fields of its own kind of model, its
    properties, then fields of all models and of their columns."""
    seen: set[str] = set()
    own: list[tuple[str, str, str]] = []
    common: list[tuple[str, str, str]] = []
    for owner, field, one in _fields_of(kind):
        of_all = issubclass(FittedModel, owner) or owner is Columns
        row = f"{field}_", _field_annotation(owner, field, one), one.help
        (common if of_all else own).append(row)
    for name, annotation, meaning in (*own, *_properties_of(kind), *common):
        if name not in seen:
            seen.add(name)
            yield name, annotation, meaning


def _properties_of(kind: type[Any]) -> Iterator[tuple[str, str, str]]:
    for base in kind.__mro__:
        for name, one in vars(base).items():
            if isinstance(one, property) and name.endswith("_") and not name.startswith("_"):
                told = inspect.getdoc(getattr(kind, name)) or ""
                meaning = " ".join(told.partition("\n\n")[0].split()).removesuffix(".")
                yield name, annotation_of(kind, name), meaning


def _fields_of(kind: type[Any]) -> Iterator[tuple[type[Any], str, Fitted]]:
    """The class that declares each shown field of an estimator's models or columns, the nearest one first;
    its name and what is said of it."""
    for model in (kind.kind, Columns):
        known = fitted_fields(model, getattr(kind, "task", "any"))
        for owner in model.__mro__:
            for field in vars(owner).get("__annotations__", {}):
                if field in known:
                    yield owner, field, known[field]


def _field_annotation(owner: type[Any], field: str, one: Fitted) -> str:
    annotation = str(owner.__annotations__[field])
    # there is no attribute without a value, or all models of the task have one
    is_there = one.task is not None or not one.always
    return annotation.removesuffix(" | None") if is_there else annotation


def annotation_of(kind: type[Any], name: str) -> str:
    """The annotation of a fitted attribute or property of a class, as its source has it."""
    for base in kind.__mro__:
        own = vars(base).get(name)
        if isinstance(own, property) and own.fget is not None:
            return str(own.fget.__annotations__.get("return", "Any"))
    for owner, field, one in _fields_of(kind):
        if f"{field}_" == name:
            return _field_annotation(owner, field, one)
    return "Any"


def home_of(kind: type[Any], name: str) -> str:
    """The module in which an attribute or property of a class is annotated."""
    for base in kind.__mro__:
        if isinstance(vars(base).get(name), property):
            return base.__module__
    for owner, field, _ in _fields_of(kind):
        if f"{field}_" == name:
            return owner.__module__
    return kind.__module__


def docstring_type(annotation: str) -> str:
    """An annotation as docstrings write it.

    >>> docstring_type("NDArray[np.float64] | None")
    'ndarray or None'
    >>> docstring_type("tuple[dict[str, Any], ...]")
    'tuple'
    """
    plain, n_removed = annotation, 1
    while n_removed:
        plain, n_removed = re.subn(r"\[[^\[\]]*\]", "", plain)
    names = [part.strip().rpartition(".")[2] for part in plain.split("|")]
    return " or ".join(_TYPES.get(name, name) for name in names)


def _with_table(text: str, title: str, table: Mapping[str, tuple[str, str]]) -> str:
    lines = []
    for name, (of_type, meaning) in table.items():
        written = docstring_type(of_type) if title == "Attributes" else of_type
        lines.append(f"{name} : {written}")
        lines += textwrap.wrap(
            meaning, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False
        )
    before, mark, examples = text.partition(_EXAMPLES)
    listed = "\n".join(lines)
    return f"{before.rstrip()}\n\n{title}\n{'-' * len(title)}\n{listed}\n{mark}{examples}"


def shown(model: Any, names: Iterable[str]) -> list[str]:
    """Of all names of an estimator its hyperparameters, fitted attributes and methods for users.

    Names that begin with an underscore stay: Python's own come with them.
    """

    def is_shown(name: str) -> bool:
        if name.startswith("_") or name in model.hyperparameters:
            return True
        # scikit-learn's way to say that there is no model yet, or that this loss gives no probabilities
        return (name.endswith("_") or name in METHODS) and hasattr(model, name)

    return [name for name in names if is_shown(name)]


Method = TypeVar("Method", bound=Callable[..., Any])


class _Available:
    """A method that exists where ``check`` of the object does not raise.

    scikit-learn's own descriptor raises "has no attribute" and leaves the reason to the error's cause.
    """

    def __init__(self, fn: Callable[..., Any], check: Callable[[Any], object]) -> None:
        self.fn, self.check = fn, check
        self.__doc__ = fn.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self.fn
        self.check(instance)
        return MethodType(self.fn, instance)


def available_if(check: Callable[[Any], object]) -> Callable[[Method], Method]:
    """Decorate a method: ``check`` of the object raises :class:`AttributeError` with the reason where there
    is none."""

    def decorate(method: Method) -> Method:
        found: Any = _Available(method, check)
        return found  # type: ignore[no-any-return]

    return decorate


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
