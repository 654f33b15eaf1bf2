"""Fitted attributes: what they are and where a model's files hold them, declared once as class attributes.

``gamma_: float = fitted("the kernel's gamma", fact="gamma", write=float)`` in the body of an estimator is its
annotation for type checkers, the line of the docstring's table, and what is saved and restored.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from distkern.common.sparse import from_arrays, to_arrays
from distkern.estimators.hyperparameters import Hyperparameters

_NO_DEFAULT = object()


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


def fitted(help: str, **how: Any) -> Any:
    """A class attribute that says what ``fit`` leaves under that name, see :class:`Fitted`."""
    return Fitted(help, **how)


class FittedAttributes(Hyperparameters):
    """Hyperparameters, and the fitted attributes that the classes declare."""

    #: of this class and those that it derives from, by name
    fitted_attributes: ClassVar[Mapping[str, Fitted]] = {}
    _own_fitted: ClassVar[Mapping[str, Fitted]] = {}

    def __init_subclass__(cls, **given: Any) -> None:
        own = {name: one for name, one in vars(cls).items() if isinstance(one, Fitted)}
        for name, one in own.items():
            # before a fit there is none, as scikit-learn asks by hasattr
            if one.default is _NO_DEFAULT:
                delattr(cls, name)
            else:
                setattr(cls, name, one.default)
        cls._own_fitted = own
        above = [vars(kind).get("_own_fitted", {}) for kind in reversed(cls.__mro__)]
        cls.fitted_attributes = {name: one for part in above for name, one in part.items()}
        super().__init_subclass__(**given)
        if "hyperparameters" in vars(cls):
            _describe(cls)

    def fitted_arrays(self) -> dict[str, NDArray[Any]]:
        """The declared arrays that a model's folder holds."""
        found: dict[str, NDArray[Any]] = {}
        for name, one in self.fitted_attributes.items():
            if one.rows is not None and len(getattr(self, name)):
                found |= to_arrays(one.rows, getattr(self, name))
            elif one.array is not None:
                found[one.array] = one.write(getattr(self, name))
        return found

    def fitted_facts(self) -> dict[str, Any]:
        """The declared entries of ``model.json``."""
        stored = [(name, one) for name, one in self.fitted_attributes.items() if one.fact is not None]
        return {str(one.fact): one.write(getattr(self, name)) for name, one in stored}

    def take_fitted(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
        """Take back what these gave; :class:`KeyError` if a part is missing.

        Rows that there are none of are what the attribute is already.
        """
        for name, one in self.fitted_attributes.items():
            if one.array is not None:
                setattr(self, name, one.read(arrays[one.array]))
            elif one.fact is not None:
                setattr(self, name, one.read(facts[one.fact]))
            elif one.rows is not None and (_holds(arrays, one.rows) or not hasattr(self, name)):
                setattr(self, name, from_arrays(one.rows, arrays))


def _holds(arrays: Mapping[str, NDArray[Any]], rows: str) -> bool:
    return any(key.partition(".")[0] == rows for key in arrays)


def _describe(kind: type[FittedAttributes]) -> None:
    """Give the docstring of a class the table of its fitted attributes."""
    lines: dict[str, str] = {}
    for base in kind.__mro__:
        for name, one in vars(base).get("_own_fitted", {}).items():
            lines.setdefault(name, one.help)
        for name, value in vars(base).items():
            if isinstance(value, property) and name.endswith("_") and not name.startswith("_"):
                told = inspect.getdoc(getattr(kind, name)) or ""
                lines.setdefault(name, " ".join(told.partition("\n\n")[0].split()).removesuffix("."))
    table = "\n".join(f"{name} : {told}" for name, told in lines.items())
    text, mark, examples = (kind.__doc__ or "").partition("\nExamples\n")
    kind.__doc__ = f"{text.rstrip()}\n\nAttributes\n----------\n{table}\n{mark}{examples}"
