"""Methods that an estimator has under a condition: scikit-learn's ``available_if`` with the reason said."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar

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
