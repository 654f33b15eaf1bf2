"""What predictions need of a model, made at the first one and kept beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Value = TypeVar("Value")

#: model -> its attributes when the values were made, and the values by name. Not among the attributes, which
#: predictions must not change and copies of the model would carry
_kept: WeakKeyDictionary[Any, tuple[dict[str, Any], dict[str, Any]]] = WeakKeyDictionary()


def kept(model: Any, name: str, make: Callable[[], Value]) -> Value:
    """The value ``name`` of a model, made anew once any of its attributes is another object than it was.

    A value must hold no reference to the model, which would live as long as the process then.
    """
    now = vars(model)
    before, values = _kept.get(model, ({}, {}))
    if before.keys() != now.keys() or any(before[key] is not value for key, value in now.items()):
        values = {}
        _kept[model] = dict(now), values
    if name not in values:
        values[name] = make()
    value: Value = values[name]
    return value
