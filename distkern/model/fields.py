"""What a fit leaves: fields of a model with their help, and how a model's files hold them.

``gamma: float = fitted("the kernel's gamma", fact="gamma", write=float)`` in the body of a model is the
field, the line of the docstring's table of its estimators, whose attribute is ``gamma_``, and what is saved
and restored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import from_arrays, to_arrays

_KEY = "fitted"
#: types that JSON may have for facts written as numbers or texts
_FACTS: dict[Any, tuple[type, ...]] = {int: (int,), float: (int, float), str: (str,)}


@dataclass(frozen=True)
class Fitted:
    """A field of a model that its estimators show.

    Attributes
    ----------
    help : what it is, with its shape and units
    array : name of the array of a model's folder that holds it
    rows : what the names of these arrays begin with, where it is rows, dense or sparse
    fact : key of ``model.json`` that holds it
    write : from its value to the one that is stored
    read : the other way round
    task : of the models that have it; None for all
    always : whether estimators show it where it is None
    needed : whether a model without these rows is damaged
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

    def taken(self, fact: Any) -> Any:
        """Return the value of a stored fact; raises ValueError where a number or a text is something else."""
        for kind, kinds in _FACTS.items():
            if self.write is kind and type(fact) not in kinds:
                raise ValueError(f"{self.fact} is {fact!r}")
        return self.read(fact)


def fitted(help: str, *, default: Any = MISSING, **how: Any) -> Any:
    """A dataclass field that estimators show, see :class:`Fitted`."""
    metadata = {_KEY: Fitted(help, **how)}
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


def fitted_fields(kind: type[Any], task: str | None = None) -> dict[str, Fitted]:
    """The fields of a dataclass that estimators show, those of models of a task, by name."""
    found = {one.name: one.metadata[_KEY] for one in fields(kind) if _KEY in one.metadata}
    return {name: one for name, one in found.items() if task is None or one.task in (None, task)}


def arrays_of(model: Any) -> dict[str, NDArray[Any]]:
    """The fitted arrays that a model's folder holds."""
    found: dict[str, NDArray[Any]] = {}
    for name, one in fitted_fields(type(model), model.task).items():
        if one.rows is not None and len(getattr(model, name)):
            found |= to_arrays(one.rows, getattr(model, name))
        elif one.array is not None:
            found[one.array] = one.write(getattr(model, name))
    return found


def facts_of(model: Any) -> dict[str, Any]:
    """The fitted numbers that ``model.json`` holds beside what it holds of every model."""
    known = fitted_fields(type(model), model.task).items()
    return {str(one.fact): one.write(getattr(model, name)) for name, one in known if one.fact is not None}


def restored_fields(
    kind: type[Any], task: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], width: int
) -> dict[str, Any]:
    """The fields that :func:`arrays_of` and :func:`facts_of` gave; no rows where no array holds them.

    Raises
    ------
    KeyError
        If a part is missing.
    ValueError
        If a part is not what it must be.
    """
    found: dict[str, Any] = {}
    for name, one in fitted_fields(kind, task).items():
        if one.array is not None:
            found[name] = one.read(arrays[one.array])
        elif one.fact is not None:
            found[name] = one.taken(facts[one.fact])
        elif one.rows is not None:
            is_there = one.needed or any(key.partition(".")[0] == one.rows for key in arrays)
            found[name] = from_arrays(one.rows, arrays) if is_there else np.empty((0, width))
    return found
