"""Fields of a fitted model: their help texts, and how the model's files store them.

``gamma: float = fitted("gamma of the kernel", fact="gamma", write=float)`` in the body of a model declares
the field, the row ``gamma_`` in the docstring of its estimators, and how it is saved and loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import from_arrays, to_arrays

_KEY = "fitted"
#: types that JSON may hold for facts written as numbers or strings
_FACTS: dict[Any, tuple[type, ...]] = {int: (int,), float: (int, float), str: (str,)}


@dataclass(frozen=True)
class Fitted:
    """A field of a model that its estimators show.

    Attributes
    ----------
    help : description with shape and units
    array : name of the array in the model's folder
    rows : prefix of the arrays that hold dense or sparse rows
    fact : key in ``model.json``
    write : from the value to the stored one
    read : from the stored value to the value
    task : task of the models with this field; None for all
    always : whether estimators show it if it is None
    needed : whether a model without these rows is damaged
    internal : whether ``dir`` of estimators leaves it out
    """

    help: str
    array: str | None = None
    rows: str | None = None
    fact: str | None = None
    write: Callable[[Any], Any] = lambda value: value
    read: Callable[[Any], Any] = lambda value: value
    task: str | None = None
    always: bool = True
    needed: bool = False
    internal: bool = False

    def value_of(self, fact: Any) -> Any:
        """Return the value of a stored fact; raise ValueError if a number or string has another type."""
        for kind, kinds in _FACTS.items():
            if self.write is kind and type(fact) not in kinds:
                raise ValueError(f"{self.fact} is {fact!r}")
        return self.read(fact)


def fitted(help: str, *, default: Any = MISSING, **how: Any) -> Any:
    """Declare a dataclass field that estimators show, see :class:`Fitted`."""
    metadata = {_KEY: Fitted(help, **how)}
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


def fitted_fields(kind: type[Any], task: str | None = None) -> dict[str, Fitted]:
    """Return the fields of a dataclass that estimators show, for models of a task, by name."""
    found = {one.name: one.metadata[_KEY] for one in fields(kind) if _KEY in one.metadata}
    return {name: one for name, one in found.items() if task is None or one.task in (None, task)}


def arrays_of(model: Any) -> dict[str, NDArray[Any]]:
    """Return the fitted arrays for a model's folder."""
    found: dict[str, NDArray[Any]] = {}
    for name, one in fitted_fields(type(model), model.task).items():
        if one.rows is not None and len(getattr(model, name)):
            found |= to_arrays(one.rows, getattr(model, name))
        elif one.array is not None:
            found[one.array] = one.write(getattr(model, name))
    return found


def facts_of(model: Any) -> dict[str, Any]:
    """Return the fitted values that ``model.json`` stores in addition to those of every model."""
    known = fitted_fields(type(model), model.task).items()
    return {str(one.fact): one.write(getattr(model, name)) for name, one in known if one.fact is not None}


def restored_fields(
    kind: type[Any], task: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], width: int
) -> dict[str, Any]:
    """Return the fields from stored arrays and facts; missing optional rows become empty.

    Raises
    ------
    KeyError
        If a part is missing.
    ValueError
        If a part is invalid.
    """
    found: dict[str, Any] = {}
    for name, one in fitted_fields(kind, task).items():
        if one.array is not None:
            found[name] = one.read(arrays[one.array])
        elif one.fact is not None:
            found[name] = one.value_of(facts[one.fact])
        elif one.rows is not None:
            is_there = one.needed or any(key.partition(".")[0] == one.rows for key in arrays)
            found[name] = from_arrays(one.rows, arrays) if is_there else np.empty((0, width))
    return found
