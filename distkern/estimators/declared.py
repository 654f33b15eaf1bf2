"""Declarations of an estimator: its hyperparameters, its solver, and the kind of its models.

Each field of the model with a help text (:func:`~distkern.model.fields.fitted`) becomes an attribute of the
estimator with a trailing underscore, and a row of the docstring's table.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from distkern.core.common_parameters import CHOOSABLE, RANDOM_STATE, SCALE
from distkern.core.errors import InputError, belongs_to, foreign, nearest, unknown_name
from distkern.core.parameters import AUTO, Parameter
from distkern.model.fields import Fitted, fitted_fields
from distkern.model.parts import Columns
from distkern.model.settings import is_same
from distkern.model.value import FittedModel

if TYPE_CHECKING:
    from distkern.solvers.base import AbstractSolver

#: annotation -> type in docstrings
_TYPES = {"NDArray": "ndarray", "Mapping": "dict", "Floats": "ndarray", "Any": "object"}
_WIDTH = 96
_EXAMPLES = "\nExamples\n"
#: public methods in the order of their use; an estimator has some of them
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
    """Return a class docstring with the table of the hyperparameters before the examples."""
    table = {name: (one.docstring_type, one.help) for name, one in parameters.items()}
    return _with_table(inspect.cleandoc(text), "Parameters", table)


def with_attributes(kind: type[Any], text: str) -> str:
    """Return a class docstring with the table of the fitted attributes before the examples."""
    return _with_table(
        text, "Attributes", {name: (of_type, meaning) for name, of_type, meaning in attributes_of(kind)}
    )


def attributes_of(kind: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and meaning of each fitted attribute of a class.

    Fields of its own kind of model come first, then its properties, then fields of all models and their
    columns.
    """
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
                summary = (inspect.getdoc(getattr(kind, name)) or "").partition("\n\n")[0]
                meaning = " ".join(summary.split()).removesuffix(".")
                yield name, annotation_of(kind, name), meaning


def _fields_of(kind: type[Any]) -> Iterator[tuple[type[Any], str, Fitted]]:
    """Yield the declaring class, name and declaration of each shown field, the nearest class first."""
    for model in (kind.kind, Columns):
        known = fitted_fields(model, getattr(kind, "task", "any"))
        for owner in model.__mro__:
            for field in vars(owner).get("__annotations__", {}):
                if field in known:
                    yield owner, field, known[field]


def _field_annotation(owner: type[Any], field: str, one: Fitted) -> str:
    annotation = str(owner.__annotations__[field])
    # the attribute is missing without a value, or every model of the task has one
    is_there = one.task is not None or not one.always
    return annotation.removesuffix(" | None") if is_there else annotation


def annotation_of(kind: type[Any], name: str) -> str:
    """Return the annotation of a fitted attribute or property, as written in the source."""
    for base in kind.__mro__:
        own = vars(base).get(name)
        if isinstance(own, property) and own.fget is not None:
            return str(own.fget.__annotations__.get("return", "Any"))
    for owner, field, one in _fields_of(kind):
        if f"{field}_" == name:
            return _field_annotation(owner, field, one)
    return "Any"


def home_of(kind: type[Any], name: str) -> str:
    """Return the module that annotates an attribute or property."""
    for base in kind.__mro__:
        if isinstance(vars(base).get(name), property):
            return base.__module__
    for owner, field, _ in _fields_of(kind):
        if f"{field}_" == name:
            return owner.__module__
    return kind.__module__


def docstring_type(annotation: str) -> str:
    """Return an annotation in the notation of docstrings.

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
            _sentence(meaning),
            _WIDTH,
            initial_indent="    ",
            subsequent_indent="    ",
            break_long_words=False,
        )
    before, mark, examples = text.partition(_EXAMPLES)
    listed = "\n".join(lines)
    return f"{before.rstrip()}\n\n{title}\n{'-' * len(title)}\n{listed}\n{mark}{examples}"


def _sentence(help: str) -> str:
    """Return a help text with a capital letter, unless it begins with a symbol, and a full stop."""
    capital = re.sub(r"^[a-z]{2,}(?= )", lambda word: word[0].capitalize(), help)
    return capital if capital.endswith((".", "?")) else f"{capital}."


def shown(model: Any, names: Iterable[str]) -> list[str]:
    """Keep the hyperparameters, public methods and fitted attributes that are not internal.

    Names with a leading underscore stay because Python's own have one.
    """

    def is_shown(name: str) -> bool:
        if name.startswith("_") or name in model.hyperparameters:
            return True
        attribute = model.fitted_attributes.get(name)
        if attribute is not None and attribute.internal:
            return False
        # a request is for arguments of a method
        method = name[len("set_") : -len("_request")] if name.endswith("_request") else name
        # hasattr is False before fit, and for methods that the loss does not support
        return (name.endswith("_") or name in METHODS) and hasattr(model, name) and hasattr(model, method)

    return [name for name in names if is_shown(name)]


Method = TypeVar("Method", bound=Callable[..., Any])


class _Available:
    """A method that is missing if ``check`` of the object raises.

    scikit-learn's own descriptor raises "has no attribute" and hides the reason in the error's cause.
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
    """Decorate a method that some objects lack: ``check`` raises :class:`AttributeError` with the reason."""

    def decorate(method: Method) -> Method:
        found: Any = _Available(method, check)
        return found  # type: ignore[no-any-return]

    return decorate


class FittedAttribute:
    """An attribute that reads a field of the fitted model; it is missing before ``fit``."""

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
        raise AttributeError(f"{self._name}_ belongs to the fitted model and cannot be set: fit again")


class Elsewhere:
    """An attribute of other libraries that estimators lack; the error says what to use instead."""

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, kind: type, name: str) -> None:
        self._name = name

    def __get__(self, estimator: Any, kind: type | None = None) -> Any:
        if estimator is None:
            return self
        name = type(estimator).__name__
        raise AttributeError(f"{name} has no {self._name}: use {self._instead}")


class _MadeWhenRead:
    """An attribute or method of a class that is made, and takes this one's place, when it is first read."""

    def __init__(self, owner: type[Any], name: str, make: Callable[[type[Any]], Any]) -> None:
        self._owner, self._name, self._make = owner, name, make

    def __get__(self, instance: Any, kind: type) -> Any:
        made = self._make(self._owner)
        setattr(self._owner, self._name, made)
        return MethodType(made, instance) if callable(made) and instance is not None else made


class HyperparameterMixin:
    """Hyperparameters, constructor and fitted attributes of an estimator.

    ``class SVRGClassifier(AbstractExplicitClassifier, solver="svrg")`` gets its name from the solver's, and
    its hyperparameters from the solver and from :attr:`extra_parameters`. Other classes set
    ``hyperparameters`` themselves. A solver is imported when hyperparameters, constructor or docstring are
    read, so that a loaded model predicts without it.
    """

    #: its name for ``--algorithm`` and in model files
    name: ClassVar[str]
    task: ClassVar[str]
    solver_name: ClassVar[str | None] = None
    #: class of its models
    kind: ClassVar[type[Any]]
    hyperparameters: ClassVar[dict[str, Parameter]]
    #: hyperparameters in addition to the solver's or instead of them; None leaves one out
    extra_parameters: ClassVar[Mapping[str, Parameter | None]] = {
        "scale": SCALE,
        "random_state": RANDOM_STATE,
    }
    #: hyperparameters of all subclasses
    common_parameters: ClassVar[Mapping[str, Parameter]] = {}
    #: hyperparameters that files of models may lack, with their values in loaded ones
    unstored: ClassVar[Mapping[str, Any]] = {"dtype": AUTO}
    #: values of hyperparameters that depend on the rows, used if the rows decide nothing
    left_open: ClassVar[Mapping[str, Any]] = {}
    #: fitted attribute by name, with the underscore
    fitted_attributes: ClassVar[Mapping[str, Fitted]] = {}
    _model: Any = None

    def __init_subclass__(cls, *, solver: str | None = None, **given: Any) -> None:
        if solver is not None:
            cls.solver_name = solver
            cls.name = vars(cls).get("name", cls.name_with(solver))
        super().__init_subclass__(**given)
        declared, text = vars(cls).get("hyperparameters"), cls.__doc__ or ""
        if solver is None and declared is None:
            return
        cls.fitted_attributes = cls._attributes()
        made: dict[str, Callable[[type[Any]], Any]] = {
            "hyperparameters": lambda kind: {**(declared or kind.declared()), **kind.common_parameters},
            "__init__": constructor_of,
            "__doc__": lambda kind: with_attributes(kind, with_parameters(text, kind.hyperparameters)),
        }
        for name, make in made.items():
            setattr(cls, name, _MadeWhenRead(cls, name, make))

    @classmethod
    def solver_type(cls) -> type[AbstractSolver[Any]] | None:
        """Import and return the solver; None for classes that choose one."""
        from distkern.solvers.base import SOLVERS

        return None if cls.solver_name is None else SOLVERS[cls.solver_name]

    @classmethod
    def declared(cls) -> dict[str, Parameter]:
        """Return the hyperparameters that the solver and the class declare."""
        from distkern.solvers.hyperparameters import hyperparameters_of

        solver = cls.solver_type()
        assert solver is not None, "other classes set their hyperparameters"
        return hyperparameters_of(solver, **{**cls.loss_of(solver), **cls.extra_parameters})

    @classmethod
    def _attributes(cls) -> dict[str, Fitted]:
        """Set the fitted attributes on the class and return them by name."""
        parts = {True: fitted_fields(Columns), False: fitted_fields(cls.kind, cls.task)}
        for of_columns, known in parts.items():
            for name, one in known.items():
                setattr(cls, f"{name}_", FittedAttribute(name, one, of_columns=of_columns))
        return {f"{name}_": one for known in parts.values() for name, one in known.items()}

    @classmethod
    def name_with(cls, solver: str) -> str:
        """Return the name of a class that does not set its own, from the solver's name."""
        return solver

    @classmethod
    def loss_of(cls, solver: type[AbstractSolver[Any]]) -> dict[str, Parameter]:
        """Return the parameter ``loss``, limited to the kind of targets."""
        return {}

    def __dir__(self) -> list[str]:
        return shown(self, super().__dir__())

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def set_params(self, **params: Any) -> Self:
        """Set hyperparameters.

        Raises
        ------
        InputError
            If a name is unknown; the message suggests the right one.
        """
        for name in params:
            if name not in self.hyperparameters:
                raise unknown_hyperparameter(type(self), name)
        found: Self = super().set_params(**params)  # type: ignore[misc]
        return found

    def changed(self) -> set[str]:
        """Return the hyperparameters that differ from their defaults."""
        known = self.hyperparameters.items()
        return {name for name, one in known if not is_same(getattr(self, name), one.default)}

    def stored_params(self) -> dict[str, Any]:
        """Return the hyperparameters as model files store them."""
        params = {name: getattr(self, name) for name in self.hyperparameters}
        # data sets have their own precision, so dtype is stored only if it was given
        return {name: value for name, value in params.items() if name != "dtype" or value != AUTO}


def unknown_hyperparameter(estimator: Any, name: str) -> InputError:
    """Return the error for a name that is no hyperparameter, with where it belongs or what is meant."""
    error = unknown_name(f"hyperparameter of {estimator.__name__}", name, estimator.hyperparameters)
    fit = inspect.signature(estimator.fit).parameters
    near = nearest(name, estimator.hyperparameters)
    if error.hint == foreign(name, estimator.hyperparameters):
        return error
    if near is None and "settings" in estimator.hyperparameters and (ours := _of_choosable(name)):
        return InputError(error.what, hint=f"give it to the chosen algorithm: settings={{{ours!r}: ...}}")
    if near is None and (ours := nearest(name, list(fit)[2:])):
        return InputError(error.what, hint=f"it belongs to fit: fit(X, y, {ours}=...)")
    if near is None and (owners := _owners(name)):
        return InputError(error.what, hint=belongs_to(owners))
    return error


def _owners(name: str) -> list[str]:
    """Return the algorithms that have a hyperparameter."""
    from distkern.solvers.base import SOLVERS
    from distkern.solvers.hyperparameters import hyperparameters_of

    return sorted(algorithm for algorithm, one in SOLVERS.items() if name in hyperparameters_of(one))


def _of_choosable(name: str) -> str | None:
    """Return the hyperparameter of an automatically chosen algorithm that a name means."""
    from distkern.solvers.base import SOLVERS
    from distkern.solvers.hyperparameters import hyperparameters_of

    known = {one for algorithm in CHOOSABLE for one in hyperparameters_of(SOLVERS[algorithm])}
    return nearest(name, known)


def constructor_of(estimator: type[Any]) -> Callable[..., None]:
    """Return the constructor of an estimator."""
    parameters: dict[str, Parameter] = estimator.hyperparameters

    def __init__(self: Any, **given: Any) -> None:
        for name in given:
            if name not in parameters:
                raise TypeError(str(unknown_hyperparameter(estimator, name)))
        for name, parameter in parameters.items():
            setattr(self, name, given.get(name, parameter.default))

    signature = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)] + [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default)
        for name, parameter in parameters.items()
    ]
    __init__.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{estimator.__qualname__}.__init__"
    return __init__
